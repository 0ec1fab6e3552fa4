// SPDX-License-Identifier: Apache-2.0
/* server.c: opening, refreshing, stopping; and the table of routes. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "engine/spill.h"
#include "names/file_lines.h"
#include "server/sums/catalog.h"
#include "server/internal.h"
#include "server/sums/who.h"
#include "server/api/overview_parts.h"
#include "server/http/intake.h"
#include "server/http/pool.h"
#include "server/sums/access_map.h"
#include "store/made/made.h"
#include "store/file/read/verify.h"

/* Together with ID_RECORDING_BITS 53 bits: every call number is exact as a double. */
#define ROW_BITS  16
#define SEQ_BITS  29
#define LOOK_NS	  NSEC_PER_SEC	       /* interval at which files that do not grow are checked */
#define VERIFY_NS (20 * NSEC_PER_MSEC) /* per tick */

/* Only scripts from this server run in a page, and no other site can frame it. */
static const char *const headers[] = {
	"Content-Security-Policy",
	"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options",
	"nosniff",
	"Referrer-Policy",
	"no-referrer",
	"X-Frame-Options",
	"DENY",
	"Cross-Origin-Opener-Policy",
	"same-origin",
	"Cross-Origin-Resource-Policy",
	"same-origin",
	"Cache-Control",
	"private, no-cache",
	NULL,
};

/* Routes that answer a question: how it runs, and the function that answers it. */
#define QUESTION_ROUTE(name, run, answer)                         \
	static void name(void *arg, struct http_request *request) \
	{                                                         \
		run(arg, request, answer);                        \
	}
QUESTION_ROUTE(trace_get, question_quick, trace_answer)
QUESTION_ROUTE(query_get, question_run, query_answer)
QUESTION_ROUTE(check_get, question_quick, check_answer)
QUESTION_ROUTE(explain_get, question_run_light, explain_answer)
QUESTION_ROUTE(complete_get, question_quick, complete_answer)
QUESTION_ROUTE(sql_post, question_apart, sql_answer)
QUESTION_ROUTE(file_get, question_run_by_filter, file_answer)
QUESTION_ROUTE(density_get, question_run, density_answer)
QUESTION_ROUTE(call_get, question_run_light, call_answer)
QUESTION_ROUTE(call_next_get, question_run, call_next_answer)
QUESTION_ROUTE(latency_get, question_run, latency_answer)
QUESTION_ROUTE(lanes_get, question_run_by_filter, lanes_answer)
QUESTION_ROUTE(timeline_get, question_run_by_filter, timeline_answer)
QUESTION_ROUTE(jaeger_services_get, question_run_light, jaeger_answer_services)
QUESTION_ROUTE(jaeger_operations_of_get, question_run_light, jaeger_answer_operations_of)
QUESTION_ROUTE(jaeger_operations_get, question_run_light, jaeger_answer_operations)
QUESTION_ROUTE(jaeger_traces_get, question_run, jaeger_answer_traces)
QUESTION_ROUTE(jaeger_trace_get, question_run, jaeger_answer_trace)
QUESTION_ROUTE(jaeger_dependencies_get, question_run, jaeger_answer_dependencies)
QUESTION_ROUTE(jaeger_services_v3_get, question_run_light, jaeger_answer_services_v3)
QUESTION_ROUTE(jaeger_operations_v3_get, question_run_light, jaeger_answer_operations_v3)
QUESTION_ROUTE(jaeger_summaries_get, question_run, jaeger_answer_summaries)

static const struct http_route routes[] = {
	{"POST", "/api/v1/session", 0, session_post, ""},
	{"GET", "/api/v1/trace", 0, trace_get, ""},
	{"GET", "/api/v1/events", 0, events_get, ""},
	{"GET", "/api/v1/query", 0, query_get, "q filter from to limit format download"},
	/* checks its parameters itself */
	{"GET", "/api/v1/analysis/{}", 0, analysis_get, NULL},
	{"GET", "/api/v1/check", 0, check_get, "q filter"},
	{"GET", "/api/v1/explain", 0, explain_get, "q filter from to"},
	{"GET", "/api/v1/complete", 0, complete_get, "q filter pos"},
	{"POST", "/api/v1/sql", SQL_MAX, sql_post, ""},
	{"GET", "/api/v1/dashboards", 0, dashboards_get, ""},
	{"GET", "/api/v1/dashboards/{}", 0, dashboard_get, ""},
	{"PUT", "/api/v1/dashboards/{}", DASHBOARD_MAX, dashboard_put, ""},
	{"DELETE", "/api/v1/dashboards/{}", 0, dashboard_delete, ""},
	{"GET", "/api/v1/queries", 0, saved_get, ""},
	{"PUT", "/api/v1/queries/{}", SAVED_MAX, saved_put, ""},
	{"DELETE", "/api/v1/queries/{}", 0, saved_delete, ""},
	{"GET", "/api/v1/files", 0, files_get, "dir find section filter from to"},
	{"GET", "/api/v1/file/{}", 0, file_get, "filter from to"},
	{"GET", "/api/v1/file/{}/density", 0, density_get,
	 "filter from to width height pos_from pos_to within format"},
	{"GET", "/api/v1/op/{}", 0, call_get, "near"},
	{"GET", "/api/v1/op/{}/next", 0, call_next_get, "same back at filter"},
	{"GET", "/api/v1/overview", 0, overview_get, "filter from to width brief within"},
	{"GET", "/api/v1/latency", 0, latency_get, "filter from to width by"},
	{"GET", "/api/v1/lanes", 0, lanes_get, "filter from to"},
	{"GET", "/api/v1/timeline", 0, timeline_get, "lanes filter from to width format"},
	{"GET", "/api/v1/openapi.yaml", 0, openapi_get, ""},
	{"POST", "/v1/traces", INTAKE_MAX, otlp_post, ""},
	{"POST", "/api/v2/spans", INTAKE_MAX, zipkin_post, ""},
	{"GET", "/api/services", 0, jaeger_services_get, ""},
	{"GET", "/api/services/{}/operations", 0, jaeger_operations_of_get, ""},
	{"GET", "/api/operations", 0, jaeger_operations_get, "service spanKind"},
	{"GET", "/api/traces", 0, jaeger_traces_get,
	 "service operation limit start end minDuration maxDuration lookback tags tag traceID"},
	{"GET", "/api/traces/{}", 0, jaeger_trace_get, "start end prettyPrint raw"},
	{"GET", "/api/dependencies", 0, jaeger_dependencies_get, "endTs lookback"},
	{"GET", "/api/v3/services", 0, jaeger_services_v3_get, ""},
	{"GET", "/api/v3/operations", 0, jaeger_operations_v3_get, "service spanKind"},
	{"GET", "/api/v3/trace-summaries", 0, jaeger_summaries_get,
	 "query.serviceName query.operationName query.startTimeMin query.startTimeMax "
	 "query.durationMin query.durationMax query.searchDepth query.attributes"},
	{0},
};

/* ---- call numbers ---- */

static uint64_t block_key(uint64_t trace, uint64_t seq)
{
	return trace << 48 | seq;
}

int64_t server_row_number(const struct server *s, size_t block, size_t row)
{
	const struct store_block *b = store_block(s->store, block);

	return (int64_t)((uint64_t)b->trace << (SEQ_BITS + ROW_BITS) | b->seq << ROW_BITS | row);
}

int server_row_find(const struct server *s, int64_t number, size_t *ret_block, size_t *ret_row)
{
	uint64_t n = (uint64_t)number, row = n & ((1u << ROW_BITS) - 1), block;
	uint64_t seq = n >> ROW_BITS & ((1ull << SEQ_BITS) - 1), trace = n >> (SEQ_BITS + ROW_BITS);

	if (number < 0 || !map_get(&s->blocks, block_key(trace, seq), &block) ||
	    row >= store_block(s->store, block)->rows)
		return -ENOENT;
	*ret_block = block;
	*ret_row = row;
	return 0;
}

/* ---- refreshing ---- */

/* Takes new blocks, with the lock held for writing. */
static int take_blocks(struct server *s, struct error *err)
{
	size_t count = store_block_count(s->store);
	int r = 0;

	for (; s->blocks_known < count && r >= 0; s->blocks_known++) {
		const struct store_block *b = store_block(s->store, s->blocks_known);

		if (b->table == TABLE_OP)
			r = map_set(&s->blocks, block_key(b->trace, b->seq), s->blocks_known);
	}
	if (r < 0)
		return error_errno(err, r, "reading the trace");
	s->live = store_is_growing(s->store);
	return trace_describe(s, err);
}

static void tell_news(struct server *s)
{
	pthread_mutex_lock(&s->news_lock);
	s->news_generation = s->generation;
	s->news_end = !s->live && !s->has_folders;
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->news_lock);
}

/*
 * Takes the lock for writing. False if running questions hold it: they go first, and viewers are notified a little
 * later.
 */
static bool lock_to_write(struct server *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 100 * NSEC_PER_MSEC;
	until.tv_sec += until.tv_nsec / NSEC_PER_SEC;
	until.tv_nsec %= NSEC_PER_SEC;
	return pthread_rwlock_timedwrlock(&s->lock, &until) == 0;
}

/* With the lock held: takes new blocks; 1 if viewers are to be notified. */
static int server_refresh(struct server *s, bool more, struct error *err)
{
	uint64_t users = store_made_changes(s->store), version;
	bool live = store_is_growing(s->store);
	ssize_t found = store_refresh(s->store, err);
	int r;

	if (found < 0)
		return (int)found;
	r = loss_version(s, &version, err);
	if (r < 0)
		return r;
	if (!found && !more && live == s->live && users == store_made_changes(s->store) &&
	    version == s->loss_told)
		return 0;
	s->generation++;
	r = take_blocks(s, err);
	if (r < 0)
		return r;
	r = loss_version(s, &s->loss_told, err);
	return r < 0 ? r : 1;
}

/* ---- verifying unread blocks ---- */

static bool is_over(void *arg)
{
	return clock_monotonic_ns() > *(int64_t *)arg;
}

/* Verifies some of the blocks, so that damage is known before they are read; takes a small share of one CPU. */
static void verify_some(struct server *s)
{
	int64_t until = clock_monotonic_ns() + VERIFY_NS;

	pthread_rwlock_rdlock(&s->lock);
	/* without memory: tried again later */
	(void)!store_verify(s->store, SIZE_MAX, is_over, &until, NULL);
	pthread_rwlock_unlock(&s->lock);
}

int server_tick(struct server *s, struct error *err)
{
	bool due = clock_monotonic_ns() - s->looked >= LOOK_NS, more = false;
	int r = 0;

	overview_parts_drop(s, OVERVIEW_PARTS_IDLE_NS);
	verify_some(s);
	if (!s->live && !due)
		return 0;
	if (!lock_to_write(s))
		return 0;
	if (due) {
		s->looked = clock_monotonic_ns();
		more = s->has_folders && store_look_again(s->store, ID_RECORDINGS_MAX) > 0;
	}
	r = server_refresh(s, more, err);
	pthread_rwlock_unlock(&s->lock);
	if (r > 0)
		tell_news(s);
	return MIN(r, 0);
}

/* ---- starting and stopping ---- */

static const struct http_options *http_options(struct server *s)
{
	s->http_options = (struct http_options){
		.routes = routes,
		.otherwise = pages_get,
		.admit = session_admit,
		.finish = loss_header,
		.headers = headers,
		.arg = s,
	};
	return &s->http_options;
}

static void init_locks(struct server *s)
{
	pthread_rwlock_init(&s->lock, NULL);
	pthread_mutex_init(&s->cookies_lock, NULL);
	pthread_mutex_init(&s->loss_lock, NULL);
	pthread_mutex_init(&s->news_lock, NULL);
	pthread_mutex_init(&s->names_lock, NULL);
	pthread_mutex_init(&s->catalog_lock, NULL);
	clock_cond_init(&s->news);
}

/*
 * Prepares what the first questions would wait for: reads the rows of files, and computes their names; questions that
 * do not need the latter go first.
 */
static void *warm_up(void *arg)
{
	struct server *s = arg;
	int r = 1;

	/* on failure, they are read when they are needed */
	for (int e = -EINTR; e == -EINTR && admission_idle_or_wanted(s);) {
		pthread_rwlock_rdlock(&s->lock);
		e = store_load_files(s->store, &s->names_later, NULL);
		pthread_rwlock_unlock(&s->lock);
	}
	while (r > 0 && admission_idle_or_wanted(s)) {
		pthread_rwlock_rdlock(&s->lock);
		r = names_step(s); /* on failure, the question that needs it reports the error */
		pthread_rwlock_unlock(&s->lock);
	}
	/* a question that needs folders finds them itself */
	if (r == 0 && admission_idle(s)) {
		pthread_rwlock_rdlock(&s->lock);
		(void)!names_prepare_folders(s); /* likewise */
		pthread_rwlock_unlock(&s->lock);
	}
	return NULL;
}

/* Reads what every page shows; warm_up() waits for the lock. */
static int server_read(struct server *s, struct error *err)
{
	int r;

	pthread_rwlock_wrlock(&s->lock);
	s->warms = pthread_create(&s->warming, NULL, warm_up, s) == 0;
	s->has_folders = store_has_folders(s->store);
	s->generation = 1;
	r = take_blocks(s, err);
	if (r >= 0)
		r = loss_version(s, &s->loss_told, err);
	pthread_rwlock_unlock(&s->lock);
	return r;
}

static int server_open_all(struct server *s, struct error *err)
{
	uint16_t port = s->opt.port ? s->opt.port : SERVER_PORT;
	int r = store_open_corrected(&s->store, s->opt.paths, s->opt.path_count, err), fd;

	if (r >= 0)
		r = annotations_new(&s->annotations, s->store, err);
	if (r >= 0)
		r = session_init(s, err);
	if (r >= 0 && store_trace_count(s->store) > ID_RECORDINGS_MAX)
		r = error_set(err, -E2BIG, "%zu traces at once; the limit is %u",
			      store_trace_count(s->store), ID_RECORDINGS_MAX);
	if (r >= 0 &&
	    (cache_new(&s->cache) < 0 || pool_new(&s->pool, s) < 0 ||
	     catalog_new(&s->catalog) < 0 || file_lines_new(&s->lines) < 0 ||
	     access_map_store_new(&s->access_map) < 0 || overview_parts_new(&s->parts) < 0))
		r = error_errno(err, -ENOMEM, "cannot serve");
	if (r >= 0 && s->opt.spans)
		r = intake_new(&s->intake, s->opt.spans, err);
	if (r >= 0)
		r = server_read(s, err);
	if (r < 0)
		return r;
	tell_news(s);
	fd = http_listen(port, !s->opt.port, &s->port, err);
	if (fd < 0)
		return fd;
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u/#token=%s", s->port, s->token);
	return http_start(&s->http, fd, http_options(s), err);
}

int server_start(struct server **ret, const struct server_options *opt, struct error *err)
{
	struct server *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_errno(err, -ENOMEM, "cannot serve");
	s->opt = *opt;
	init_locks(s);
	spill_sweep(); /* deletes what killed servers left behind */
	memory_budget_init(&s->memory_budget,
			   opt->memory_max ? opt->memory_max : MEMORY_BUDGET_DEFAULT);
	r = server_open_all(s, err);
	if (r < 0) {
		server_stop(s);
		return r;
	}
	*ret = s;
	return 0;
}

const char *server_url(const struct server *s)
{
	return s->url;
}

void server_stop(struct server *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->news_lock);
	s->stopping = true;
	atomic_store(&s->names_later, true);
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->news_lock);
	http_stop(s->http);
	if (s->warms)
		pthread_join(s->warming, NULL);
	pool_free(s->pool); /* first, as engines read the following */
	intake_free(s->intake);
	cache_free(s->cache);
	annotations_free(s->annotations);
	store_free(s->store);
	buf_free(&s->document);
	buf_free(&s->windows);
	buf_free(&s->loss);
	map_free(&s->blocks);
	catalog_free(s->catalog);
	file_lines_free(s->lines);
	access_map_store_free(s->access_map);
	overview_parts_free(s->parts);
	pthread_mutex_destroy(&s->names_lock);
	pthread_mutex_destroy(&s->catalog_lock);
	free(s->command);
	free(s->selection);
	memory_budget_free(&s->memory_budget);
	pthread_cond_destroy(&s->news);
	pthread_mutex_destroy(&s->news_lock);
	pthread_mutex_destroy(&s->loss_lock);
	pthread_mutex_destroy(&s->cookies_lock);
	pthread_rwlock_destroy(&s->lock);
	free(s);
}
