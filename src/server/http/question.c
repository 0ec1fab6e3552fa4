// SPDX-License-Identifier: Apache-2.0
/* question.c: the steps of every request that reads the trace: admission, parameters, the lock, the cache, errors. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "server/internal.h"
#include "server/http/js.h"

#define JSON	    "application/json"
#define COLUMNS	    "application/vnd.weir.columns"
#define ETAG_MAX    96
#define RETRY_AFTER "1"
#define AGAIN_MAX   3u /* damage found on every attempt means that the file is being overwritten */

/* ---- errors ---- */

int question_error(struct question *q, int code, const char *fmt, ...)
{
	va_list ap;

	if (!q->err.code) {
		q->err.code = code;
		va_start(ap, fmt);
		vsnprintf(q->err.message, sizeof(q->err.message), fmt, ap);
		va_end(ap);
	}
	return code;
}

int question_fits(struct question *q, size_t bytes)
{
	return bytes <= ANSWER_MAX
		       ? 0
		       : question_error(
				 q, -E2BIG,
				 "the result is larger than %u MiB: use head, or download it",
				 ANSWER_MAX >> 20);
}

static unsigned int status_of(const struct question *q, int code)
{
	int why = http_stopped(q->request);

	if (q->status)
		return q->status;
	if (why == -ETIMEDOUT || code == -ETIMEDOUT)
		return 408;
	if (why == -ECANCELED) /* the client is gone, or has closed only its sending half */
		return 503;
	switch (code) {
	case -EINVAL:
		return 400;
	case -ENOENT:
		return 404;
	case -E2BIG:
	case -ENOMEM:
		return 413;
	case -EAGAIN:
		return 429;
	case -EPROTONOSUPPORT:
	case -ENOPKG:
		return 503;
	}
	return 500;
}

/* {"error": {...}} with the status that the code means. */
static void question_fail(struct question *q, int code)
{
	unsigned int status = status_of(q, code);
	struct js j = {.to = &q->out};

	buf_clear(&q->out);
	js_open(&j, '{');
	js_key_open(&j, "error", '{');
	if (status == 408 && code != -ETIMEDOUT)
		js_key_string(&j, "message",
			      "this took longer than allowed; use a shorter time range or a "
			      "narrower filter");
	else
		js_key_string(&j, "message", q->err.message[0] ? q->err.message : strerror(-code));
	if (q->placed) {
		js_key_uint(&j, "pos", q->pos);
		js_key_uint(&j, "len", q->len);
	}
	js_close(&j, '}');
	js_close(&j, '}');
	if (status == 429)
		http_add_header(q->request, "Retry-After", RETRY_AFTER);
	http_reply(q->request, status, JSON, &q->out);
}

bool question_stops(const void *arg)
{
	return question_stopped(arg);
}

bool question_stopped(const struct question *q)
{
	return http_stopped(q->request) != 0;
}

void question_deadline(struct question *q, int64_t ns)
{
	q->allowed_ns = ns;
	http_deadline(q->request, ns * MAX(atomic_load(&q->shares), 1u));
}

void question_share(struct question *q)
{
	if (atomic_load(&q->shares) >= RUNNING_MAX)
		return;
	atomic_fetch_add(&q->shares, 1);
	http_extend(q->request, atomic_load(&q->allowed_ns));
}

/* ---- parameters ---- */

int question_parse(const char *text, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	return errno || end == text || *end ? -EINVAL : 0;
}

int question_number(struct question *q, const char *name, int64_t min, int64_t max,
		    int64_t otherwise, int64_t *ret)
{
	const char *text = http_param(q->request, name);

	*ret = otherwise;
	if (!text || !*text)
		return 0;
	if (question_parse(text, ret) < 0 || *ret < min || *ret > max)
		return question_error(
			q, -EINVAL, "%s=%.40s: must be a whole number from %" PRId64 " to %" PRId64,
			name, text, min, max);
	return 0;
}

int question_time(struct question *q, const char *name, int64_t open, int64_t *ret)
{
	int64_t since;
	const char *text = http_param(q->request, name);
	int r;

	*ret = open;
	if (!text || !*text)
		return 0;
	r = question_number(q, name, INT64_MIN, INT64_MAX, 0, &since);
	if (r < 0)
		return r;
	if (__builtin_add_overflow(since, q->server->origin, ret))
		*ret = since < 0 ? INT64_MIN : INT64_MAX;
	*ret = store_time_near(*ret);
	return 0;
}

static int take_parameters(struct question *q)
{
	int64_t width;
	int r = question_time(q, "from", INT64_MIN, &q->from);

	if (r == 0)
		r = question_time(q, "to", INT64_MAX, &q->to);
	if (r == 0 && q->from > q->to)
		r = question_error(q, -EINVAL, "from is later than to");
	if (r == 0)
		r = question_number(q, "width", 1, WIDTH_MAX, 600, &width);
	if (r < 0)
		return r;
	q->width = (unsigned int)width;
	q->filter = http_param(q->request, "filter");
	if (q->filter && !q->filter[strspn(q->filter, " \t\r\n")])
		q->filter = NULL;
	if (q->filter && strlen(q->filter) > FILTER_MAX)
		return question_error(q, -E2BIG, "the filter is longer than %u KiB",
				      FILTER_MAX >> 10);
	return 0;
}

void question_range(const struct question *q, int64_t *ret_from, int64_t *ret_to)
{
	int64_t first, last;

	store_range(q->server->store, &first, &last);
	if (first == INT64_MIN || last == INT64_MIN)
		first = last = q->server->origin;
	*ret_from = q->from == INT64_MIN ? first : q->from;
	*ret_to = q->to == INT64_MAX ? last + 1 : q->to;
	if (*ret_to <= *ret_from)
		*ret_to = *ret_from + 1;
}

/* ---- answering ---- */

/* Version, server start and form: an answer may be reused only if all match. */
static void make_etag(const struct question *q, char etag[static ETAG_MAX])
{
	snprintf(etag, ETAG_MAX, "\"%s-%" PRIu64 "%s\"", q->server->etag_salt, q->version,
		 q->columns ? "-c" : "");
}

static bool question_is_same(const struct question *q, const char *etag)
{
	const char *given = http_header(q->request, "If-None-Match");

	return given && strstr(given, etag);
}

static int begin_key(const struct question *q, struct buf *key)
{
	return buf_printf(key, "%s%s?", q->columns ? "c " : "j ", http_path(q->request));
}

static int question_make_key(const struct question *q, struct buf *key)
{
	begin_key(q, key);
	return buf_printf(key, "%s", http_query(q->request));
}

static bool question_is_one_of(const char *param, size_t len, const char *const names[])
{
	for (size_t i = 0; names[i]; i++) {
		size_t n = strlen(names[i]);

		if (len >= n && strncmp(param, names[i], n) == 0 && (len == n || param[n] == '='))
			return true;
	}
	return false;
}

int question_key_without(const struct question *q, const char *const names[], struct buf *key)
{
	bool first = true;

	begin_key(q, key);
	for (const char *p = http_query(q->request); *p;) {
		size_t n = strcspn(p, "&");

		if (!question_is_one_of(p, n, names)) {
			buf_printf(key, "%s%.*s", first ? "" : "&", (int)n, p);
			first = false;
		}
		p += n + (p[n] == '&');
	}
	return buf_status(key);
}

static void reply(struct question *q, const char *etag)
{
	if (!q->unfinished)
		http_add_header(q->request, "ETag", etag);
	http_add_header(q->request, "Vary", "Accept, Accept-Encoding, Authorization, Cookie");
	http_reply(q->request, 200, q->type, &q->out);
}

/* Runs a question that needs no lock and is not cached. */
static void answer_apart(struct server *s, struct question *q, question_fn *fn)
{
	int r = admission_take(q);

	if (r >= 0) {
		question_deadline(q, QUESTION_NS);
		r = fn(q);
		memory_budget_give(q);
		if (r >= 0 && question_stopped(q))
			r = -EINTR;
		admission_end(q);
	}
	if (r < 0)
		question_fail(q, r);
	else
		http_reply(q->request, 200, q->type, &q->out);
}

/* Takes the answer from the cache, or from another viewer's question in progress. */
static bool answered(struct server *s, struct question *q, const char *key, bool wait)
{
	struct cache_entry kept = {0};
	bool found = wait ? cache_claim(s->cache, q, q->version, key, &kept)
			  : cache_get(s->cache, q->version, key, &kept);

	if (found) {
		q->out = kept.body;
		q->type = kept.type;
	}
	return found;
}

/*
 * If damage is found on the way, only some of the figures or none of the report may reflect it, or the answer may
 * have failed: it is computed again with that knowledge.
 */
static int run_until_current(struct question *q, question_fn *fn)
{
	int r = 0;

	for (unsigned int again = 0;; again++) {
		int taken;

		r = fn(q);
		memory_budget_give(q);
		if ((r < 0 && r != -EBADMSG) || q->streamed || again == AGAIN_MAX ||
		    loss_is_current(q) || question_stopped(q))
			break;
		buf_clear(&q->out);
		q->unfinished = false;
		q->err = (struct error){0};
		taken = loss_take(q);
		if (taken < 0)
			return taken;
	}
	return r;
}

/* Computes the answer, unless another viewer's same question has done so meanwhile. */
static int work_out(struct server *s, struct question *q, question_fn *fn, const char *key)
{
	int r;

	if (answered(s, q, key, true))
		return 0;
	r = run_until_current(q, fn);
	if (r >= 0 && question_stopped(q))
		r = -EINTR;
	if (r >= 0 && !q->streamed && !q->unfinished)
		cache_put(s->cache, q->version, key, &q->out, q->type);
	cache_release(s->cache, key);
	return r;
}

static int take_turn(struct server *s, struct question *q, question_fn *fn, const char *key,
		     char etag[static ETAG_MAX])
{
	int r = admission_take(q);

	if (r < 0)
		return r;
	question_deadline(q, QUESTION_NS);
	pthread_rwlock_rdlock(&s->lock);
	r = loss_take(q);
	/* read again, as the trace's origin may have been unknown before */
	if (r >= 0)
		r = take_parameters(q);
	if (r >= 0)
		r = work_out(s, q, fn, key);
	make_etag(q, etag);
	pthread_rwlock_unlock(&s->lock);
	admission_end(q);
	return r;
}

static void question_answer(struct server *s, struct question *q, question_fn *fn, bool turn)
{
	_cleanup_buf_ struct buf key = {0};
	char etag[ETAG_MAX];
	bool done;
	int r;

	pthread_rwlock_rdlock(&s->lock);
	r = take_parameters(q);
	if (r >= 0)
		r = question_make_key(q, &key);
	done = r >= 0 && turn && answered(s, q, buf_str(&key), false);
	if (r >= 0 && !turn)
		r = run_until_current(q, fn);
	make_etag(q, etag);
	pthread_rwlock_unlock(&s->lock);
	if (r >= 0 && turn && !done)
		r = take_turn(s, q, fn, buf_str(&key), etag);
	if (q->streamed)
		return;
	if (r < 0)
		question_fail(q, r);
	else
		reply(q, etag);
}

static void question_handle(struct server *s, struct http_request *r, question_fn *fn, bool turn,
			    bool light)
{
	const char *accept = http_header(r, "Accept"), *format = http_param(r, "format");
	struct question q = {.server = s, .request = r, .type = JSON, .light = light};
	char etag[ETAG_MAX];
	int e;

	q.columns =
		(accept && strstr(accept, COLUMNS)) || (format && strcmp(format, "columns") == 0);
	if (q.columns)
		q.type = COLUMNS;
	pthread_rwlock_rdlock(&s->lock);
	e = loss_take(&q);
	make_etag(&q, etag);
	pthread_rwlock_unlock(&s->lock);
	if (e < 0) {
		question_fail(&q, e);
	} else if (question_is_same(&q, etag)) {
		http_add_header(r, "ETag", etag);
		http_reply_text(r, 304, NULL, "");
	} else {
		question_answer(s, &q, fn, turn);
	}
	buf_free(&q.out);
	buf_free(&q.loss);
}

void question_run(struct server *s, struct http_request *r, question_fn *fn)
{
	question_handle(s, r, fn, true, false);
}

void question_run_light(struct server *s, struct http_request *r, question_fn *fn)
{
	question_handle(s, r, fn, true, true);
}

void question_run_by_filter(struct server *s, struct http_request *r, question_fn *fn)
{
	const char *filter = http_param(r, "filter");

	question_handle(s, r, fn, true, !filter || !*filter);
}

void question_apart(struct server *s, struct http_request *r, question_fn *fn)
{
	struct question q = {.server = s, .request = r, .type = JSON, .apart = true};

	answer_apart(s, &q, fn);
	buf_free(&q.out);
}

void question_quick(struct server *s, struct http_request *r, question_fn *fn)
{
	question_handle(s, r, fn, false, true);
}
