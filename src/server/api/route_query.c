// SPDX-License-Identifier: Apache-2.0
/* route_query.c: /query, /check, /explain: queries over the trace. */
#include "server/api/route_query.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "engine/answer_json.h"
#include "engine/ask.h"
#include "query/kernel/pushdown.h"
#include "server/http/js.h"
#include "server/http/pool.h"

#define DOWNLOAD_NS  (120 * NSEC_PER_SEC)
#define DOWNLOAD_MAX (4ull << 30) /* bytes of a file made for a download, by default */
#define PIECE	     65536

/* ---- the plan ---- */

/* The error of a parser as the question's. */
static int query_wrong(struct question *q, int code, const struct query_error *why)
{
	q->placed = code == -EINVAL;
	q->pos = why->pos;
	q->len = why->len;
	return question_error(q, code, "%s", why->err.message);
}

static int route_query_parse(struct question *q, const char *text, struct plan **ret)
{
	struct query_error why = {0};
	int r;

	if (!text || !text[strspn(text, " \t\r\n")])
		return question_error(q, -EINVAL,
				      "q= is missing: a pipeline in the language of `weir query`");
	r = query_parse_users(text, strlen(text), annotations_get(q->server->annotations), ret,
			      &why);
	return r < 0 ? query_wrong(q, r, &why) : 0;
}

/* The page's filter is over calls; queries of other tables are not restricted by it. */
static int restrict_plan(struct question *q, struct plan *p)
{
	struct query_error why = {0};
	int r;

	p->from = q->from;
	p->to = q->to;
	if (!q->filter || p->table != TABLE_OP)
		return 0;
	r = plan_and_where(p, q->filter, &why);
	if (r < 0) {
		r = query_wrong(q, r, &why);
		error_prefix(&q->err, "the page's filter");
	}
	return r;
}

/* Parses `q`, and-s the page's filter to it, sets its range. -EINVAL with the place of the error. */
static int query_take(struct question *q, struct plan **ret)
{
	int r = route_query_parse(q, http_param(q->request, "q"), ret);

	return r < 0 ? r : restrict_plan(q, *ret);
}

/* The same with at most `limit` rows, so that the engine need not compute more. */
static int take_limited(struct question *q, int64_t limit, struct plan **ret)
{
	_cleanup_(plan_freep) struct plan *plain = NULL;
	_cleanup_buf_ struct buf text = {0};
	int r = query_take(q, &plain); /* error positions refer to the text as given */

	if (r >= 0)
		r = buf_printf(&text, "%s\n| head %" PRId64, http_param(q->request, "q"), limit);
	if (r < 0)
		return r;
	r = route_query_parse(q, buf_str(&text), ret);
	return r < 0 ? r : restrict_plan(q, *ret);
}

/* ---- a table ---- */

struct document {
	struct question *q;
	struct answer_limit limit;
};

static int put_document_loss(void *arg, struct buf *to, struct error *err)
{
	const struct document *d = arg;
	int r = buf_append(to, d->q->loss.data, d->q->loss.len);

	return r < 0 || !d->limit.more ? r : buf_printf(to, ", \"truncated\": true");
}

static int put_out(void *arg, const void *data, size_t len)
{
	struct question *q = ((struct document *)arg)->q;
	int r;

	if (question_stopped(q))
		return -EINTR;
	r = question_fits(q, q->out.len + len);
	return r < 0 ? r : buf_append(&q->out, data, len);
}

static int route_query_put_json(struct question *q, struct answer *rows, int64_t limit)
{
	struct document d = {.q = q, .limit = {.rows = rows, .left = (uint64_t)limit}};
	const struct answer_json j = {.origin = q->server->origin,
				      .compact = true,
				      .put_loss = put_document_loss,
				      .put = put_out,
				      .arg = &d};
	struct answer some = answer_limited(&d.limit);

	return answer_json(&some, &j, &q->err);
}

static int ask_once(struct question *q, const struct plan *p,
		    int (*give)(struct question *q, struct answer *rows, int64_t limit),
		    int64_t limit)
{
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	_cleanup_answer_ struct answer rows = {0};
	struct engine *e;
	int r = pool_take(q, &e);

	if (r < 0)
		return r;
	r = engine_ask(e, p, NULL, &result, &q->err);
	if (r >= 0)
		r = answer_of_result(&rows, p, result);
	if (r >= 0)
		r = give(q, &rows, limit);
	engine_result_free(TAKE_PTR(result));
	pool_give(q, e);
	return r;
}

static int ask(struct question *q, const struct plan *p,
	       int (*give)(struct question *q, struct answer *rows, int64_t limit), int64_t limit)
{
	int r;

	do {
		r = ask_once(q, p, give, limit);
	} while (pool_again(q, r));
	return r;
}

/* ---- downloads: written to a file, then sent, so that a slow connection does not occupy an engine ---- */

uint64_t query_download_max(const struct question *q)
{
	return q->server->opt.download_max ? q->server->opt.download_max : DOWNLOAD_MAX;
}

int query_download_too_large(struct question *q)
{
	return question_error(q, -E2BIG,
			      "the download is larger than %" PRIu64
			      " MiB (weir serve --download-max): select fewer calls or columns, or "
			      "use weir query or weir sql",
			      query_download_max(q) >> 20);
}

struct download {
	struct question *q;
	int fd;
	uint64_t bytes;
	struct buf piece;
};

static int route_query_put_file(void *arg, const void *data, size_t len)
{
	struct download *d = arg;
	int r;

	if (question_stopped(d->q))
		return -EINTR;
	d->bytes += len;
	if (d->bytes > query_download_max(d->q))
		return query_download_too_large(d->q);
	r = fd_write(d->fd, data, len);
	return r < 0 ? question_error(d->q, -EIO, "cannot write the download: %s", strerror(-r))
		     : 0;
}

static int flush_piece(struct download *d, size_t least)
{
	int r = 0;

	if (d->piece.len >= least && d->piece.len) {
		r = route_query_put_file(d, d->piece.data, d->piece.len);
		buf_clear(&d->piece);
	}
	return r;
}

static int csv_rows(struct download *d, struct answer *rows)
{
	int r = answer_csv_names(&d->piece, rows, NULL), next = 0;

	while (r >= 0 && (next = answer_next(rows, &d->q->err)) > 0) {
		r = answer_csv_row(&d->piece, rows, NULL);
		if (r >= 0)
			r = flush_piece(d, PIECE);
	}
	if (r >= 0 && next >= 0)
		r = flush_piece(d, 0);
	return next < 0 ? next : r;
}

static int open_spool(struct question *q)
{
	int fd = open(temporary_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? question_error(q, -errno, "cannot create a file for the download: %s",
				       strerror(errno))
		      : fd;
}

static void send_file(struct question *q, int fd, const char *type, const char *name)
{
	char disposition[64];

	snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"", name);
	http_add_header(q->request, "Content-Disposition", disposition);
	http_reply_file(q->request, type, fd);
	q->streamed = true;
}

static int give_csv(struct question *q, struct answer *rows, int64_t limit)
{
	_cleanup_close_ int fd = open_spool(q);
	struct download d = {.q = q, .fd = fd};
	int r = fd < 0 ? fd : csv_rows(&d, rows);

	buf_free(&d.piece);
	if (r < 0)
		return r;
	send_file(q, TAKE_FD(fd), "text/csv; charset=utf-8", "weir.csv");
	return r;
}

/* The file is sent once, so it includes losses found while it was written. */
static int put_file_loss(void *arg, struct buf *to, struct error *err)
{
	struct question *q = ((struct download *)arg)->q;
	int r = loss_take(q);

	return r < 0 ? r : buf_append(to, q->loss.data, q->loss.len);
}

static int give_json_file(struct question *q, struct answer *rows, int64_t limit)
{
	_cleanup_close_ int fd = open_spool(q);
	struct download d = {.q = q, .fd = fd};
	const struct answer_json j = {.origin = q->server->origin,
				      .put_loss = put_file_loss,
				      .put = route_query_put_file,
				      .arg = &d};
	int r = fd < 0 ? fd : answer_json(rows, &j, &q->err);

	if (r < 0)
		return r;
	send_file(q, TAKE_FD(fd), "application/json", "weir.json");
	return r;
}

static int give_parquet(struct question *q, const struct plan *p)
{
	int fd = parquet_write(q, p);

	if (fd >= 0)
		send_file(q, fd, "application/vnd.apache.parquet", "weir.parquet");
	return MIN(fd, 0);
}

static int download(struct question *q, const char *format)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	int r = query_take(q, &plan);

	if (r < 0)
		return r;
	question_deadline(q, DOWNLOAD_NS);
	if (strcmp(format, "parquet") == 0)
		return give_parquet(q, plan);
	return ask(q, plan, strcmp(format, "csv") == 0 ? give_csv : give_json_file, 0);
}

int query_answer(struct question *q)
{
	const char *format = http_param(q->request, "format");
	_cleanup_(plan_freep) struct plan *plan = NULL;
	bool wanted = http_param(q->request, "download") != NULL;
	int64_t limit;
	int r = question_number(q, "limit", 1, ROWS_MAX, ROWS_DEFAULT, &limit);

	if (r < 0)
		return r;
	if (format && strcmp(format, "json") != 0 && strcmp(format, "columns") != 0 &&
	    strcmp(format, "csv") != 0 && strcmp(format, "parquet") != 0)
		return question_error(
			q, -EINVAL, "format=%.40s: must be json, columns, csv or parquet", format);
	if (format && (*format == 'p' || strcmp(format, "csv") == 0 || (wanted && *format == 'j')))
		return download(q, format);
	/* one row more than is shown, to know whether there are more */
	r = take_limited(q, limit + 1, &plan);
	if (r < 0)
		return r;
	return ask(q, plan, q->columns ? table_columns : route_query_put_json, limit);
}

/* ---- check, explain ---- */

int check_answer(struct question *q)
{
	const char *text = http_param(q->request, "q");
	_cleanup_(plan_freep) struct plan *plan = NULL;
	struct query_error why = {0};
	struct js j = {.to = &q->out};
	const struct plan_field *fields;
	size_t count = 0;
	int r = 0;

	if (q->filter)
		r = query_parse_expr_users(q->filter, strlen(q->filter), TABLE_OP, true,
					   annotations_get(q->server->annotations), &plan, &why);
	if (r < 0)
		return query_wrong(q, r, &why);
	if (text) {
		plan_free(TAKE_PTR(plan));
		r = route_query_parse(q, text, &plan);
		if (r < 0)
			return r;
	}
	js_open(&j, '{');
	js_key_bool(&j, "ok", true);
	if (text) {
		fields = plan_output(plan, &count);
		js_key_open(&j, "columns", '[');
		for (size_t i = 0; i < count; i++) {
			if (fields[i].hidden)
				continue;
			js_open(&j, '{');
			js_key_string(&j, "name", fields[i].name);
			js_key_string(&j, "type", answer_json_type(fields[i].type));
			js_key_string(&j, "unit", query_kind_unit(fields[i].type));
			js_close(&j, '}');
		}
		js_close(&j, ']');
		js_key_bool(&j, "stream", plan_is_stream(plan));
	}
	js_close(&j, '}');
	return j.error;
}

static int explain_kernel(const struct plan *p, struct buf *text)
{
	struct call_filter part = {0};

	if (!p->where || p->table != TABLE_OP)
		return 0;
	query_pushdown(p->where, NULL, &part);
	buf_printf(text, "\nTHE KERNEL COULD TEST\n");
	buf_fail(text, part.count ? query_pushdown_text(&part, text) : buf_printf(text, "nothing"));
	return buf_printf(text, "\n");
}

int explain_answer(struct question *q)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	_cleanup_buf_ struct buf text = {0};
	struct js j = {.to = &q->out};
	struct engine *e;
	int r = query_take(q, &plan);

	buf_printf(&text, "PLAN\n");
	if (r >= 0)
		r = plan_text(plan, &text);
	if (r >= 0)
		r = explain_kernel(plan, &text);
	if (r >= 0)
		r = pool_take_for_text(q, &e);
	if (r < 0)
		return r;
	buf_printf(&text, "\nSQL\n");
	r = engine_explain(e, plan, &text, &q->err);
	pool_give(q, e);
	js_open(&j, '{');
	js_key_bytes(&j, "text", buf_bytes(&text));
	js_close(&j, '}');
	return r < 0 ? r : j.error;
}
