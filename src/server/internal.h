/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: the server and a question to it, for the files of server/ alone. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "engine/annotations.h"
#include "net/http.h"
#include "server/http/memory_budget.h"
#include "server/http/server.h"
#include "server/http/admission.h"

/* ---- limits, each with its reason ---- */

#define QUESTIONS_MAX 4u /* at once: each may use every CPU and its share of memory */
#define LIGHT_MAX     2u /* more, of those that take little */
#define RUNNING_MAX   (QUESTIONS_MAX + LIGHT_MAX)
#define QUESTION_NS   30000000000ll /* that it may take, by itself */
#define WITHIN_MAX    60000	    /* ms in which a part of an answer may be wanted */
#define WIDTH_MAX     4000u	    /* time buckets or pixels: no screen shows more */
#define LANES_MAX     200u	    /* of one picture of the timeline */
#define TABLE_TOP     20u	    /* rows of a table of the overview */
#define ROWS_DEFAULT  10000u	    /* of a table, where no limit is given */
#define ROWS_MAX      1000000u	    /* and at most: a page holds it in memory */
#define ANSWER_MAX    (64u << 20)   /* bytes: the same */
#define CACHE_BYTES   (64u << 20)   /* of recent answers, for requests that repeat */
#define FILTER_MAX    (8u << 10)    /* bytes of a filter */
#define SQL_MAX	      (1u << 20)    /* bytes of a statement */
#define DASHBOARD_MAX (256u << 10)  /* bytes of one */
#define SAVED_MAX     (64u << 10) /* bytes of a question that is kept: longer ones are no questions */
#define TOKEN_BYTES   16
#define TOKEN_TEXT    (2 * TOKEN_BYTES)
#define COOKIES_MAX   64u /* users of the machine who have the link */

struct cache;
struct catalog;
struct file_lines;
struct overview_parts;
struct pool;
struct access_map_store;
struct intake;

/* What is known to be wrong with the trace, by now. */
struct known_loss {
	uint64_t generation;
	uint64_t blocks, rows, calls, bytes; /* struct store_damage */
	unsigned int files;		     /* STORE_FILE_... */
	size_t changed;			     /* traces to which that happened */
};

/* Lets in a user's browser where it cannot send the token. */
struct cookie {
	uid_t user;
	char value[TOKEN_TEXT + 1];
};

struct server {
	struct server_options opt;
	char token[TOKEN_TEXT + 1];
	char url[128];
	pthread_mutex_t cookies_lock; /* of what follows */
	struct cookie cookies[COOKIES_MAX];
	size_t cookie_count;
	char etag_salt[17]; /* another for each start: numbers of blocks may differ */
	char *command;	    /* that was recorded */
	struct http_options http_options;
	uint16_t port;
	struct http *http;

	pthread_rwlock_t lock; /* who writes it refreshes the store */
	struct store *store;
	struct annotations *annotations; /* tables that users appended to it */
	uint64_t generation;
	bool live;
	bool has_folders;    /* are served */
	int64_t looked;	     /* into them, and at files that do not grow */
	int64_t origin;	     /* of all times in answers: the trace's first */
	struct buf document; /* of /trace, up to what is missing */
	struct buf windows;  /* of "loss" there */
	struct map blocks;   /* trace << 48 | seq -> block: of op */
	size_t blocks_known;

	pthread_mutex_t loss_lock; /* of what follows, beside the other; see answer_loss.c */
	struct buf loss;	   /* the member "loss" of every answer */
	struct known_loss known;   /* what it says */
	uint64_t loss_version;	   /* another one whenever it says something else */
	uint64_t loss_told;	   /* the one that viewers know */

	pthread_mutex_t news_lock; /* of what follows; signalled when it changes */
	pthread_cond_t news;
	uint64_t news_generation;
	bool news_end, stopping;
	struct question *running[RUNNING_MAX];
	unsigned int questions; /* of them */
	bool names_wanted;	/* by one of them, now or before */
	struct admission admission;
	struct memory_budget memory_budget;

	pthread_mutex_t names_lock, catalog_lock; /* of the making of what follows; see who.h */
	struct file_lines *lines;
	struct catalog *catalog;
	pthread_t warming;	    /* makes them at the start */
	atomic_bool opened, beside; /* beside: warm_up() reads the store without the lock */
	bool warms;

	struct cache *cache;
	struct pool *pool;
	struct access_map_store *access_map;
	struct overview_parts *parts;
	struct intake *intake; /* NULL: no spans are taken */
};

/* A request that reads the trace. */
struct question {
	struct server *server;
	struct http_request *request;
	const char *client;	 /* whose it is, for admission.h */
	bool apart;		 /* SQL: worked on in a process of its own */
	bool light;		 /* takes little, whatever the trace */
	struct buf out;		 /* the answer's body */
	struct buf loss;	 /* the member "loss" of it */
	struct known_loss known; /* what that says */
	uint64_t version; /* of the trace and of what is known of it: answers are kept by it */
	const char *type;
	bool columns;	    /* the compact form is wanted */
	int64_t from, to;   /* ns since the epoch; INT64_MIN, INT64_MAX: open */
	const char *filter; /* NULL: none */
	unsigned int width;
	struct error err;
	bool placed; /* the error is at pos, len of the query */
	size_t pos, len;
	unsigned int status; /* of the error, where the code does not say it; 0 */
	bool streamed;	     /* the request has its answer already */
	bool unfinished;     /* the same question has more to say: this answer is not kept */
	int64_t allowed_ns;  /* that it may take, once it has what it waits for; 0: no limit */
	atomic_uint shares;  /* of the time: how many ran beside it at most, and itself */
	uint64_t room;	     /* bytes that it has of the server's */
	bool wide;	     /* the engine's part was not enough: it takes all of it */
};

/* An answer to a question; the trace does not change meanwhile. 0, or negative and q->err. */
typedef int question_fn(struct question *q);

/* Waits for its turn, reads the common parameters, runs fn, answers; keeps what it answered. */
void question_run(struct server *s, struct http_request *r, question_fn *fn);
/* The same for what is light: it does not wait for what is not. */
void question_run_light(struct server *s, struct http_request *r, question_fn *fn);
/* The same for what is light unless it has a filter, for which calls may have to be read. */
void question_run_by_filter(struct server *s, struct http_request *r, question_fn *fn);
/* The same for what takes no time: no turn, no deadline. */
void question_quick(struct server *s, struct http_request *r, question_fn *fn);
/* The same as question_run() for what reads the trace in a process of its own: nothing is locked or
 * kept. */
void question_apart(struct server *s, struct http_request *r, question_fn *fn);
int question_error(struct question *q, int code, const char *fmt, ...) _printf_(3, 4);
/* -E2BIG, and what to do, where an answer of so many bytes is too large. */
int question_fits(struct question *q, size_t bytes);
/* A whole number of the query, `otherwise` where absent; -EINVAL where it is none or outside. */
int question_number(struct question *q, const char *name, int64_t min, int64_t max,
		    int64_t otherwise, int64_t *ret);
/* A point in time of the query, given since the origin, in ns since the epoch; `open` where absent. */
int question_time(struct question *q, const char *name, int64_t open, int64_t *ret);
/* What the answer to the same question without some parameters (NULL behind the last) is kept by. */
int question_key_without(const struct question *q, const char *const names[], struct buf *key);
/* True where the client is gone or the time is up: -EINTR soon. */
bool question_stopped(const struct question *q);
/* It may take that long from now on, and as much again for each other that runs beside it. */
void question_deadline(struct question *q, int64_t ns);
/* One more runs beside it. */
void question_share(struct question *q);
/* [from, to) with open ends put to the trace's. */
void question_range(const struct question *q, int64_t *ret_from, int64_t *ret_to);

/* The number of a call: trace << 45 | sequence number of its block << 16 | row. */
int64_t server_row_number(const struct server *s, size_t block, size_t row);
/* -ENOENT where there is no such call. */
int server_row_find(const struct server *s, int64_t number, size_t *ret_block, size_t *ret_row);

/* ---- login.c ---- */
int session_init(struct server *s, struct error *err);
bool session_admit(void *arg, struct http_request *r, const struct http_route *route);
void session_post(void *arg, struct http_request *r);

/* ---- params.c ---- */
/* True where the route knows every parameter of the request; else it was answered. */
bool params_admit(struct http_request *r, const struct http_route *route);

/* ---- answer_loss.c; the trace's lock is held, but for the header ---- */
/* Sets q->loss, q->known, q->version to what is known by now. 0, or negative and q->err. */
int loss_take(struct question *q);
/* False where more is known by now than q->loss says. */
bool loss_is_current(const struct question *q);
/* Writes the member "loss". */
struct js;
void loss_put(const struct question *q, struct js *j);
/* Another number whenever something else is known. 0 or negative. */
int loss_version(struct server *s, uint64_t *ret, struct error *err);
/* Adds the header Weir-Damage, which every answer has. */
void loss_header(void *arg, struct http_request *r);

/* ---- route_trace.c ---- */
/* Makes s->document, s->windows again; the lock is held for writing. */
int trace_describe(struct server *s, struct error *err);
/* The document of /trace, with what is missing by now. 0 or negative. */
int trace_put(struct server *s, struct buf *to, struct error *err);
void trace_get(void *arg, struct http_request *r);

/* ---- the others: one function per route ---- */
void events_get(void *arg, struct http_request *r);
void pages_get(void *arg, struct http_request *r);
void overview_get(void *arg, struct http_request *r);
void latency_get(void *arg, struct http_request *r);
void lanes_get(void *arg, struct http_request *r);
void timeline_get(void *arg, struct http_request *r);
void call_get(void *arg, struct http_request *r);
void call_next_get(void *arg, struct http_request *r);
void files_get(void *arg, struct http_request *r);
void file_get(void *arg, struct http_request *r);
void density_get(void *arg, struct http_request *r);
void query_get(void *arg, struct http_request *r);
void analysis_get(void *arg, struct http_request *r);
void check_get(void *arg, struct http_request *r);
void explain_get(void *arg, struct http_request *r);
void complete_get(void *arg, struct http_request *r);
void sql_post(void *arg, struct http_request *r);
void dashboards_get(void *arg, struct http_request *r);
void dashboard_get(void *arg, struct http_request *r);
void dashboard_put(void *arg, struct http_request *r);
void dashboard_delete(void *arg, struct http_request *r);
void saved_get(void *arg, struct http_request *r);
void saved_put(void *arg, struct http_request *r);
void saved_delete(void *arg, struct http_request *r);
void openapi_get(void *arg, struct http_request *r);
void otlp_post(void *arg, struct http_request *r);
void zipkin_post(void *arg, struct http_request *r);
void jaeger_services_get(void *arg, struct http_request *r);
void jaeger_operations_get(void *arg, struct http_request *r);
void jaeger_operations_of_get(void *arg, struct http_request *r);
void jaeger_traces_get(void *arg, struct http_request *r);
void jaeger_trace_get(void *arg, struct http_request *r);
void jaeger_dependencies_get(void *arg, struct http_request *r);
void jaeger_services_v3_get(void *arg, struct http_request *r);
void jaeger_operations_v3_get(void *arg, struct http_request *r);
void jaeger_summaries_get(void *arg, struct http_request *r);

/* ---- cache.c: bodies by question; any thread ---- */
struct cache_entry {
	struct buf body;
	const char *type; /* a literal */
};
int cache_new(struct cache **ret);
void cache_free(struct cache *c);
/* A copy of what was answered to `key` in that generation. */
bool cache_get(struct cache *c, uint64_t generation, const char *key, struct cache_entry *ret);
/*
 * The same; if another request computes this answer, waits for it, which does not count as the question's time. False:
 * the caller is to compute it, until cache_release(), or the question was stopped.
 */
bool cache_claim(struct cache *c, struct question *q, uint64_t generation, const char *key,
		 struct cache_entry *ret);
void cache_release(struct cache *c, const char *key);
void cache_put(struct cache *c, uint64_t generation, const char *key, const struct buf *body,
	       const char *type);
