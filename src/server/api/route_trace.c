// SPDX-License-Identifier: Apache-2.0
/* route_trace.c: /trace: describes the recording. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "schema/vocab.h"
#include "server/internal.h"
#include "server/http/js.h"
#include "store/file/read/verify.h"

#define LOSS_WINDOWS_MAX \
	2000u /* loss windows listed; a trace with more has only the sums in `loss` */

/* ---- the recorded command and losses, which have their own blocks ---- */

static int take_command(struct server *s, const struct batch *b)
{
	for (size_t i = 0; i < b->rows && !s->command; i++) {
		struct bytes name = batch_get_bytes(b, MARK_NAME, i);
		struct bytes text = batch_get_bytes(b, MARK_TEXT, i);

		if (!text.data ||
		    (!bytes_is(name, "weir.command") && !bytes_is(name, "weir.synth")))
			continue;
		s->command = strndup((const char *)text.data, text.len);
		if (!s->command)
			return -ENOMEM;
	}
	return 0;
}

/* From the first marks of a recording. */
static int take_selection(struct server *s, const struct batch *b, bool first)
{
	struct bytes text = {(const uint8_t *)"", 0};

	for (size_t i = 0; i < b->rows; i++) {
		struct bytes given = batch_get_bytes(b, MARK_TEXT, i);

		if (given.data && bytes_is(batch_get_bytes(b, MARK_NAME, i), "weir.selection"))
			text = given;
	}
	if (!first) {
		s->selections_differ |= !bytes_is(text, s->selection);
		return 0;
	}
	free(s->selection);
	s->selection = strndup((const char *)text.data, text.len);
	s->selections_differ = false;
	return s->selection ? 0 : -ENOMEM;
}

static void put_window(const struct server *s, struct js *j, const struct batch *b, size_t i)
{
	static const struct bytes op = {(const uint8_t *)"op", 2};
	int64_t cause = batch_get(b, LOSS_CAUSE, i, CAUSE_DECODE);
	const char *word = vocab_word("cause", cause);
	int64_t from = batch_get(b, LOSS_START, i, s->origin);
	int64_t events = batch_get(b, LOSS_EVENTS, i, -1);
	struct bytes of = batch_get_bytes(b, LOSS_OF, i);

	js_open(j, '{');
	js_key_int(j, "from", clock_between(s->origin, from));
	js_key_int(j, "to", clock_between(s->origin, batch_get(b, LOSS_STOP, i, from)));
	js_key_string(j, "cause", word ? word : "decode");
	js_key_bytes(j, "table", of.data || cause_is_beside((enum loss_cause)cause) ? of : op);
	js_key_known(j, "events", events >= 0, events);
	js_close(j, '}');
}

/* Reads the first marks of each recording, more until the command is found, and the blocks of `loss`. */
static int read_blocks(struct server *s, struct js *windows, struct error *err)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	_cleanup_(map_free) struct map marked = {0}; /* recordings whose first marks were read */
	int r = store_cursor_new(&cursor, s->store);
	size_t told = 0;

	for (size_t i = 0; i < store_block_count(s->store) && r >= 0; i++) {
		enum table_id table = store_block(s->store, i)->table;
		uint64_t recording = store_block(s->store, i)->recording;
		bool known = map_get(&marked, recording, NULL);
		struct error unread = {0};
		const struct batch *b;

		if (table != TABLE_LOSS && (table != TABLE_MARK || (known && s->command)))
			continue;
		r = store_decode(cursor, i, ~0ull, &b, &unread);
		if (r == -EBADMSG) { /* was counted as damage */
			r = 0;
			continue;
		}
		if (r >= 0 && table == TABLE_MARK)
			r = take_command(s, b);
		if (r >= 0 && table == TABLE_MARK && !known) {
			r = take_selection(s, b, !marked.count);
			if (r >= 0)
				r = map_set(&marked, recording, 1);
		}
		for (size_t row = 0; r >= 0 && table == TABLE_LOSS && row < b->rows; row++) {
			if (told++ < LOSS_WINDOWS_MAX)
				put_window(s, windows, b, row);
		}
	}
	return r < 0 ? error_errno(err, r, "reading the trace") : windows->error;
}

/* ---- the document ---- */

static void route_trace_put_traces(const struct server *s, struct js *j)
{
	js_key_open(j, "traces", '[');
	for (size_t i = 0; i < store_trace_count(s->store); i++) {
		js_open(j, '{');
		js_key_string(j, "path",
			      s->opt.shown ? s->opt.shown(store_trace_path(s->store, i))
					   : store_trace_path(s->store, i));
		js_key_uint(j, "bytes", store_trace_bytes(s->store, i));
		js_close(j, '}');
	}
	js_close(j, ']');
}

static void put_hosts(const struct server *s, struct js *j)
{
	const struct dims *d = store_dims_few(s->store);

	js_key_open(j, "hosts", '[');
	for (size_t i = 0; i < dims_rows(d, TABLE_HOST); i++) {
		int64_t id = dims_id_at(d, TABLE_HOST, i);
		const struct dims_host *h = dims_host(d, id);
		struct store_clock clock;

		if (!h)
			continue;
		clock = store_host_clock(s->store, id_recording(id), h->name);
		js_open(j, '{');
		js_key_bytes(j, "name", h->name);
		js_key_bytes(j, "kernel", h->kernel);
		js_key_bytes(j, "machine", h->machine);
		js_key_int(j, "cpus", h->cpus);
		if (h->end_at != INT64_MIN) /* it was closed properly */
			js_key_int(j, "drift", h->end_offset - h->clock_offset);
		if (clock.known) {
			js_key_int(j, "ahead", clock.ahead);
			js_key_int(j, "bound", clock.bound);
		}
		js_close(j, '}');
	}
	js_close(j, ']');
}

static void put_limits(struct js *j)
{
	js_key_open(j, "limits", '{');
	js_key_int(j, "questions", QUESTIONS_MAX);
	js_key_int(j, "seconds", QUESTION_NS / 1000000000);
	js_key_int(j, "rows", ROWS_MAX);
	js_key_int(j, "width", WIDTH_MAX);
	js_key_int(j, "lanes", LANES_MAX);
	js_close(j, '}');
}

/* Writes the member "loss" of all answers, with details that only this one has. */
static void route_trace_put_loss(const struct question *q, struct js *j)
{
	assert(q->loss.len && q->loss.data[q->loss.len - 1] == '}');
	js_key(j, "loss");
	js_raw(j, q->loss.data, q->loss.len - 1);
	j->comma = true;
	js_key_uint(j, "unverified_blocks", store_unverified(q->server->store));
	js_key(j, "windows");
	js_raw(j, q->server->windows.data, q->server->windows.len);
	js_close(j, '}');
}

/* Writes the number of rows of each non-empty table of events; "ops" are the calls. */
static void route_trace_put_rows(const struct server *s, struct js *j)
{
	uint64_t rows[TABLE_COUNT] = {0};

	for (size_t i = 0; i < store_block_count(s->store); i++) {
		const struct store_block *b = store_block(s->store, i);

		if (!b->damaged && b->table < TABLE_COUNT && store_block_counts(b))
			rows[b->table] += b->rows;
	}
	js_key_uint(j, "ops", rows[TABLE_OP]);
	js_key_open(j, "rows", '{');
	for (int t = 0; t < TABLE_COUNT; t++) {
		if (rows[t])
			js_key_uint(j, schema_table((enum table_id)t)->name, rows[t]);
	}
	js_close(j, '}');
}

/* Seconds east of UTC in the server's time zone, in which it interprets times; at the trace's beginning. */
static int64_t zone_offset(int64_t origin)
{
	time_t seconds = (time_t)(origin / NSEC_PER_SEC);
	struct tm tm;

	return localtime_r(&seconds, &tm) ? tm.tm_gmtoff : 0;
}

static int write_document(struct server *s)
{
	const struct dims *d = store_dims_few(s->store);
	struct js j = {.to = &s->document};
	int64_t first, last;

	store_range(s->store, &first, &last);
	buf_clear(&s->document);
	js_open(&j, '{');
	js_key_string(&j, "version", WEIR_VERSION);
	route_trace_put_traces(s, &j);
	js_key_exact(&j, "origin", s->origin);
	js_key_int(&j, "offset", zone_offset(s->origin));
	js_key_int(&j, "first", first == INT64_MIN ? 0 : first - s->origin);
	js_key_int(&j, "last", last == INT64_MIN ? 0 : last - s->origin);
	js_key_bool(&j, "live", s->live);
	js_key_bool(&j, "follow", s->live || s->has_folders);
	js_key_uint(&j, "generation", s->generation);
	put_hosts(s, &j);
	js_key_string(&j, "command", s->command ? s->command : "");
	js_key(&j, "selection");
	if (s->selections_differ)
		js_null(&j);
	else
		js_string(&j, s->selection ? s->selection : "");
	js_key_uint(&j, "threads", dims_rows(d, TABLE_THREAD));
	put_limits(&j);
	return j.error;
}

static int put_document(const struct question *q, struct buf *to)
{
	const struct server *s = q->server;
	struct js j = {.to = to};

	js_raw(&j, s->document.data, s->document.len);
	route_trace_put_rows(s, &j);
	route_trace_put_loss(q, &j);
	js_close(&j, '}');
	return j.error;
}

int trace_put(struct server *s, struct buf *to, struct error *err)
{
	struct question q = {.server = s};
	int r = loss_take(&q);

	if (r >= 0)
		r = put_document(&q, to);
	buf_free(&q.loss);
	return r < 0 ? error_errno(err, r, "describing the trace") : 0;
}

int trace_describe(struct server *s, struct error *err)
{
	struct js j = {.to = &s->windows};
	int64_t first, last;
	int r;

	store_range(s->store, &first, &last);
	if (first != INT64_MIN)
		s->origin = first;
	buf_clear(&s->windows);
	js_open(&j, '[');
	r = read_blocks(s, &j, err);
	js_close(&j, ']');
	if (r < 0)
		return r;
	return write_document(s) < 0 ? error_errno(err, -ENOMEM, "describing the trace") : 0;
}

int trace_answer(struct question *q)
{
	return put_document(q, &q->out);
}
