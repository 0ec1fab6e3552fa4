/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: the server and a question to it; only inside server/. */
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

#define QUESTIONS_MAX 4u /* run at once: each may use every CPU and its share of memory */
#define LIGHT_MAX     2u /* additional ones, for light questions */
#define RUNNING_MAX   (QUESTIONS_MAX + LIGHT_MAX)
#define QUESTION_NS   30000000000ll /* time limit of a question that runs alone */
#define WITHIN_MAX    60000	    /* ms; limit for requesting a partial answer */
#define WIDTH_MAX     4000u	    /* time buckets or pixels: no screen shows more */
#define LANES_MAX     200u	    /* in one picture of the timeline */
#define TABLE_TOP     20u	    /* rows of a table of the overview */
#define ROWS_DEFAULT  10000u	    /* rows of a table if no limit is given */
#define ROWS_MAX      1000000u	    /* and the maximum: a page holds them in memory */
#define ANSWER_MAX    (64u << 20)   /* bytes, for the same reason */
#define CACHE_BYTES   (64u << 20)   /* recent answers, for repeated requests */
#define FILTER_MAX    (8u << 10)    /* bytes of a filter */
#define SQL_MAX	      (1u << 20)    /* bytes of a statement */
#define DASHBOARD_MAX (256u << 10)  /* bytes of a dashboard */
#define SAVED_MAX     (64u << 10)   /* bytes of a saved question; longer ones are not genuine */
#define TOKEN_BYTES   16
#define TOKEN_TEXT    (2 * TOKEN_BYTES)
#define COOKIES_MAX   64u /* users of the machine who opened the link */

struct cache;
struct catalog;
struct file_lines;
struct overview_parts;
struct pool;
struct access_map_store;
struct intake;

/* The problems of the trace known so far. */
struct known_loss {
	uint64_t generation;
	uint64_t blocks, rows, calls, bytes; /* struct store_damage */
	unsigned int files;		     /* STORE_FILE_... */
	size_t changed;			     /* traces affected by those changes */
};

/* Admits a user's browser when it cannot send the token. */
struct cookie {
	uid_t user;
	char value[TOKEN_TEXT + 1];
};

struct server {
	struct server_options opt;
	char token[TOKEN_TEXT + 1];
	char url[128];
	pthread_mutex_t cookies_lock; /* for the following members */
	struct cookie cookies[COOKIES_MAX];
	size_t cookie_count;
	char etag_salt[17];	/* new at each start, as block numbers may differ */
	char *command;		/* the recorded command */
	char *selection;	/* the options that selected calls to record; "": all were */
	bool selections_differ; /* between recordings: `selection` is the first one's */
	struct http_options http_options;
	uint16_t port;
	struct http *http;

	pthread_rwlock_t lock; /* the thread that holds it for writing refreshes the store */
	struct store *store;
	struct annotations *annotations; /* tables that users appended to the traces */
	uint64_t generation;
	bool live;
	bool has_folders;    /* folders are served */
	int64_t looked;	     /* when folders, and files that do not grow, were last checked */
	int64_t origin;	     /* of all times in answers: the first time of the trace */
	struct buf document; /* of /trace, without the missing data */
	struct buf windows;  /* for "loss" there */
	struct map blocks;   /* trace << 48 | seq -> block, for op */
	size_t blocks_known;

	pthread_mutex_t
		loss_lock; /* for the following members; independent of `lock`; see answer_loss.c */
	struct buf loss;   /* the member "loss" of every answer */
	struct known_loss known; /* its contents */
	uint64_t loss_version;	 /* incremented whenever its contents change */
	uint64_t loss_told;	 /* the version last sent to viewers */

	pthread_mutex_t news_lock; /* for the following members; signalled when they change */
	pthread_cond_t news;
	uint64_t news_generation;
	bool news_end, stopping;
	struct question *running[RUNNING_MAX];
	unsigned int questions;	 /* number of running ones */
	bool names_wanted;	 /* a question needs them, or has needed them */
	atomic_bool names_later; /* only questions run that do not need them; or the server stops */
	struct admission admission;
	struct memory_budget memory_budget;

	pthread_mutex_t names_lock, catalog_lock; /* for computing the following; see who.h */
	struct file_lines *lines;
	struct catalog *catalog;
	pthread_t warming; /* computes them at the start */
	bool warms;

	struct cache *cache;
	struct pool *pool;
	struct access_map_store *access_map;
	struct overview_parts *parts;
	struct intake *intake; /* NULL: spans are not accepted */
};

/* A request that reads the trace. */
struct question {
	struct server *server;
	struct http_request *request;
	const char *client;	 /* identifies the client, for admission.h */
	bool apart;		 /* SQL: runs in a separate process */
	bool light;		 /* needs little, whatever the size of the trace */
	struct buf out;		 /* the answer's body */
	struct buf loss;	 /* its member "loss" */
	struct known_loss known; /* the contents of that */
	uint64_t version;	 /* of the trace and of known_loss: answers are cached by it */
	const char *type;
	bool columns;	    /* the compact form was requested */
	int64_t from, to;   /* ns since the epoch; INT64_MIN, INT64_MAX: open */
	const char *filter; /* NULL: none */
	unsigned int width;
	struct error err;
	bool placed; /* the error has a position: pos, len of the query */
	size_t pos, len;
	unsigned int status; /* of the error, if its code does not imply one; else 0 */
	bool streamed;	     /* the request was answered already */
	bool unfinished;     /* the same question has more to read: this answer is not cached */
	_Atomic int64_t allowed_ns; /* time that it may take, apart from waiting; 0: no limit */
	atomic_uint shares;	    /* itself and the most questions that ran at the same time */
	uint64_t room;		    /* bytes of the memory budget that it holds */
	bool wide;		    /* half of the memory was not enough: it takes all of it */
};

/* Answers a question; the trace does not change meanwhile. 0, or negative and q->err. */
typedef int question_fn(struct question *q);

/* Waits for admission, reads the common parameters, runs fn, sends the answer and caches it. */
void question_run(struct server *s, struct http_request *r, question_fn *fn);
/* The same for a light question, which does not wait for others. */
void question_run_light(struct server *s, struct http_request *r, question_fn *fn);
/* The same for a question that is light unless it has a filter, which may require reading calls. */
void question_run_by_filter(struct server *s, struct http_request *r, question_fn *fn);
/* The same for a question that takes no time: no admission, no deadline. */
void question_quick(struct server *s, struct http_request *r, question_fn *fn);
/* Like question_run() for a question that reads the trace in a separate process: nothing is locked or cached. */
void question_apart(struct server *s, struct http_request *r, question_fn *fn);
int question_error(struct question *q, int code, const char *fmt, ...) _printf_(3, 4);
/* -E2BIG, with advice, if an answer of that size is too large. */
int question_fits(struct question *q, size_t bytes);
/* Parses a whole number; -EINVAL if the text is anything else. */
int question_parse(const char *text, int64_t *ret);
/* Reads a whole number from the query, `otherwise` if absent; -EINVAL if it is not a number or out of range. */
int question_number(struct question *q, const char *name, int64_t min, int64_t max,
		    int64_t otherwise, int64_t *ret);
/* Reads a point in time, given since the origin, and returns ns since the epoch; `open` if absent. */
int question_time(struct question *q, const char *name, int64_t open, int64_t *ret);
/* The cache key of the same question without some parameters (names ends with NULL). */
int question_key_without(const struct question *q, const char *const names[], struct buf *key);
/* True if the client is gone or the time is up: the caller soon returns -EINTR. */
bool question_stopped(const struct question *q);
/* The same as a callback of a pass; arg: the question. */
bool question_stops(const void *arg);
/* Allows that much time from now on, and as much again for each question that runs at the same time. */
void question_deadline(struct question *q, int64_t ns);
/* Another question started to run. */
void question_share(struct question *q);
/* [from, to), with open ends set to the trace's. */
void question_range(const struct question *q, int64_t *ret_from, int64_t *ret_to);

/* The number of a call: trace << 45 | sequence number of its block << 16 | row. */
int64_t server_row_number(const struct server *s, size_t block, size_t row);
/* -ENOENT if there is no such call. */
int server_row_find(const struct server *s, int64_t number, size_t *ret_block, size_t *ret_row);

/* ---- login.c ---- */
int session_init(struct server *s, struct error *err);
bool session_admit(void *arg, struct http_request *r, const struct http_route *route);
void session_post(void *arg, struct http_request *r);

/* ---- params.c ---- */
/* True if the route knows every parameter of the request; else the request was answered with an error. */
bool params_admit(struct http_request *r, const struct http_route *route);

/* ---- answer_loss.c; called with the trace's lock held, except for the header ---- */
/* Sets q->loss, q->known, q->version to the current state. 0, or negative and q->err. */
int loss_take(struct question *q);
/* False if more is known by now than q->loss contains. */
bool loss_is_current(const struct question *q);
/* Writes the member "loss". */
struct js;
void loss_put(const struct question *q, struct js *j);
/* A number that changes whenever the known losses change. 0 or negative. */
int loss_version(struct server *s, uint64_t *ret, struct error *err);
/* Adds the header Weir-Damage of every answer. */
void loss_header(void *arg, struct http_request *r);

/* ---- answer_table.c ---- */
struct answer;
/* Writes at most `limit` rows of an answer to q->out as columns, in the compact form. 0 or negative. */
int table_columns(struct question *q, struct answer *rows, int64_t limit);

/* ---- route_trace.c ---- */
/* Rebuilds s->document and s->windows; the lock is held for writing. */
int trace_describe(struct server *s, struct error *err);
/* Writes the document of /trace, including what is missing so far. 0 or negative. */
int trace_put(struct server *s, struct buf *to, struct error *err);
question_fn trace_answer;

/* ---- the others: a function per route; server.c tells how those that answer a question run ---- */
question_fn latency_answer, lanes_answer, timeline_answer, call_answer, call_next_answer,
	file_answer, file_list_answer, density_answer, query_answer, check_answer, explain_answer,
	complete_answer, sql_answer;
question_fn jaeger_answer_services, jaeger_answer_operations, jaeger_answer_operations_of,
	jaeger_answer_traces, jaeger_answer_trace, jaeger_answer_dependencies,
	jaeger_answer_services_v3, jaeger_answer_operations_v3, jaeger_answer_summaries;
void events_get(void *arg, struct http_request *r);
void pages_get(void *arg, struct http_request *r);
void overview_get(void *arg, struct http_request *r);
void files_get(void *arg, struct http_request *r);
void analysis_get(void *arg, struct http_request *r);
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

/* ---- cache.c: bodies of answers; callable from any thread ---- */
struct cache_entry {
	struct buf body;
	const char *type; /* a string literal */
};
int cache_new(struct cache **ret);
void cache_free(struct cache *c);
/* Copies the answer to `key` of that generation, if cached. */
bool cache_get(struct cache *c, uint64_t generation, const char *key, struct cache_entry *ret);
/*
 * The same; if another request computes this answer, waits for it, which does not count as the question's time.
 * False: the caller must compute it and call cache_release(), or the question was stopped.
 */
bool cache_claim(struct cache *c, struct question *q, uint64_t generation, const char *key,
		 struct cache_entry *ret);
void cache_release(struct cache *c, const char *key);
void cache_put(struct cache *c, uint64_t generation, const char *key, const struct buf *body,
	       const char *type);
