// SPDX-License-Identifier: Apache-2.0
/* spans_in.c: the rows of what was read: kept until all is there, then sorted by their end. */
#include "exchange/spans_in.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/utf8.h"
#include "exchange/internal.h"
#include "schema/vocab.h"
#include "store/store.h"

#define PIECE_ROWS  4096u
#define PIECE_BYTES (16u << 20)	      /* of attributes: a block's column holds little more */
#define NUMBER_MASK ((1ll << 53) - 1) /* exact in a page's numbers */

/* Where a row stands and when it ended. */
struct row_at {
	int64_t at;
	uint32_t batch, row;
};

/* Rows of one table in the order in which they came. */
struct rows_in {
	struct batch **batches;
	size_t count, cap;
	struct row_at *order;
	size_t rows, order_cap, taken;
};

struct spans_in {
	struct rows_in spans, notes;
	struct spans_counts counts;
	int64_t first, last;
	int64_t number;	     /* of the span that was put last */
	struct span_ids ids; /* and its ids */
	bool rejected;	     /* it was left out, with its notes */
	uint64_t room;	     /* SPANS_COMMON_* */
	struct map numbers;  /* number -> hash of what has it */
	struct buf text;     /* scratch */
};

int spans_in_new(struct spans_in **ret, struct error *err)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return error_set(err, -ENOMEM, "out of memory");
	(*ret)->first = (*ret)->last = INT64_MIN;
	return 0;
}

static void rows_in_free(struct rows_in *r)
{
	for (size_t i = 0; i < r->count; i++)
		batch_free(r->batches[i]);
	free(r->batches);
	free(r->order);
}

void spans_in_free(struct spans_in *s)
{
	if (!s)
		return;
	rows_in_free(&s->spans);
	rows_in_free(&s->notes);
	map_free(&s->numbers);
	buf_free(&s->text);
	free(s);
}

const struct spans_counts *spans_in_counts(const struct spans_in *s)
{
	return &s->counts;
}

void spans_in_range(const struct spans_in *s, int64_t *ret_first, int64_t *ret_last)
{
	*ret_first = s->first;
	*ret_last = s->last;
}

void spans_in_mended(struct spans_in *s)
{
	s->counts.cut++;
}

void spans_in_more_room(struct spans_in *s, size_t body_bytes)
{
	s->room += SPANS_COMMON_TIMES * (uint64_t)body_bytes + SPANS_COMMON_LEAST;
}

bool spans_in_room(struct spans_in *s, size_t bytes)
{
	if (bytes > s->room) {
		s->counts.cut++;
		return false;
	}
	s->room -= bytes;
	return true;
}

int spans_counts_put(const struct spans_counts *c, struct buf *to)
{
	const struct {
		uint64_t count;
		const char *what;
	} parts[] = {
		{c->rejected, "left out: no usable time"},
		{c->rejected_notes, "notes left out: no usable time"},
		{c->repeated, "left out: the same as an earlier one"},
		{c->bad_ids, "ids left out: not of the right length, or zero"},
		{c->backwards, "ended before they began: taken as 0 ns long"},
		{c->cut, "texts cut or mended"},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts) && r >= 0; i++) {
		if (parts[i].count)
			r = buf_printf(to, "%s%llu %s", to->len ? "; " : "",
				       (unsigned long long)parts[i].count, parts[i].what);
	}
	return r;
}

/* ---- ids ---- */

void spans_in_id(struct spans_in *s, char *to, size_t digits, struct bytes text, bool pad)
{
	size_t zeros = pad && text.len < digits ? digits - text.len : 0, set = 0;

	*to = '\0';
	if (!text.len)
		return;
	if (text.len + zeros != digits) {
		s->counts.bad_ids++;
		return;
	}
	memset(to, '0', zeros);
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		c = c >= 'A' && c <= 'F' ? (uint8_t)(c - 'A' + 'a') : c;
		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			break;
		set += c != '0';
		to[zeros + i] = (char)c;
		to[zeros + i + 1] = '\0';
	}
	if (strlen(to) == digits && set)
		return;
	*to = '\0';
	s->counts.bad_ids++;
}

/* The number of a span of these ids: the same in each import. Positive. */
static int64_t number_of(const char *trace, const char *span, bool shared)
{
	char half[SPAN_ID_TEXT + 1] = "";
	uint64_t h;

	memcpy(half, trace, SPAN_ID_TEXT);
	h = hash_u64(strtoull(half, NULL, 16) ^ shared);
	if (*trace)
		h = hash_u64(h ^ strtoull(trace + SPAN_ID_TEXT, NULL, 16));
	return (int64_t)(hash_u64(h ^ strtoull(span, NULL, 16)) & NUMBER_MASK) | 1;
}

/* ---- rows ---- */

/* A row of its own at the end; `at`: when it ended. */
static int rows_in_add(struct rows_in *r, enum table_id table, unsigned int large, int64_t at,
		       struct batch **ret, size_t *ret_row)
{
	struct batch *last = r->count ? r->batches[r->count - 1] : NULL;
	ssize_t row;
	int e;

	if (!last || last->rows == PIECE_ROWS || last->columns[large].data_len > PIECE_BYTES) {
		e = grow((void **)&r->batches, &r->cap, r->count + 1, sizeof(*r->batches));
		if (e >= 0)
			e = batch_new(&last, table);
		if (e < 0)
			return e;
		r->batches[r->count++] = last;
	}
	e = grow((void **)&r->order, &r->order_cap, r->rows + 1, sizeof(*r->order));
	if (e < 0)
		return e;
	row = batch_add_row(last);
	if (row < 0)
		return (int)row;
	r->order[r->rows++] =
		(struct row_at){.at = at, .batch = (uint32_t)(r->count - 1), .row = (uint32_t)row};
	*ret = last;
	*ret_row = (size_t)row;
	return 0;
}

bool spans_in_shorten(struct bytes *text, size_t max)
{
	if (text->len <= max)
		return false;
	text->len = max;
	while (text->len && (text->data[text->len] & 0xc0) == 0x80)
		text->len--;
	return true;
}

/* Up to SPANS_TEXT_MAX bytes. */
static int set_text(struct spans_in *s, struct batch *b, unsigned int column, size_t row,
		    struct bytes text)
{
	if (!text.data)
		return 0;
	s->counts.cut += spans_in_shorten(&text, SPANS_TEXT_MAX);
	return batch_set_bytes(b, column, row, text.data, text.len);
}

/* An object as text that is harmless on a terminal; an empty one is null. */
static int set_object(struct spans_in *s, struct batch *b, unsigned int column, size_t row,
		      const json_t *object)
{
	_cleanup_free_ char *text = NULL;
	int r;

	if (!json_object_size(object))
		return 0;
	text = json_dumps(object, JSON_COMPACT);
	if (!text)
		return -ENOMEM;
	buf_clear(&s->text);
	r = json_escape_document(&s->text, text, strlen(text));
	if (r < 0)
		return r;
	if (s->text.len <= SPANS_ATTRIBUTES_MAX)
		return batch_set_bytes(b, column, row, s->text.data, s->text.len);
	s->counts.cut++;
	buf_clear(&s->text);
	r = buf_printf(&s->text, "{\"" NAME_LEFT_OUT "\":%zu}", strlen(text));
	return r < 0 ? r : batch_set_bytes(b, column, row, s->text.data, s->text.len);
}

static int in_set_id(struct batch *b, unsigned int column, size_t row, const char *id)
{
	return *id ? batch_set_str(b, column, row, id) : 0;
}

static int set_code(struct batch *b, unsigned int column, size_t row, int code)
{
	return code >= 0 ? batch_set(b, column, row, code) : 0;
}

/* What tells two spans of one id apart. */
static uint64_t likeness(const struct span_in *in, int64_t start, int64_t dur)
{
	return hash_u64(hash_u64((uint64_t)start) ^ (uint64_t)dur) ^
	       hash_bytes(in->name.data ? (const void *)in->name.data : "", in->name.len);
}

/* Gives it a number that no other span has. 1, 0 where it is the same as an earlier one, or negative. */
static int take_number(struct spans_in *s, const struct span_in *in, int64_t start, int64_t dur)
{
	uint64_t like = likeness(in, start, dur), other;
	int64_t n = *in->ids.span ? number_of(in->ids.trace, in->ids.span, in->shared)
				  : (int64_t)(hash_u64(like + s->spans.rows) & NUMBER_MASK) | 1;
	int r;

	while (map_get(&s->numbers, (uint64_t)n, &other)) {
		if (other == like && *in->ids.span)
			return 0;
		n = (int64_t)(hash_u64((uint64_t)n ^ like) & NUMBER_MASK) | 1;
	}
	r = map_set(&s->numbers, (uint64_t)n, like);
	s->number = n;
	return r < 0 ? r : 1;
}

/* When it began and how long it took (-1: it was running); false where that is none that a trace can hold. */
static bool take_time(struct spans_in *s, const struct span_in *in, int64_t *ret_start,
		      int64_t *ret_dur)
{
	if (!in->start || in->start > STORE_TIME_MAX || in->end > STORE_TIME_MAX)
		return false;
	*ret_start = (int64_t)in->start;
	*ret_dur = in->dur;
	if (!in->end)
		return in->dur <= STORE_TIME_MAX - *ret_start;
	*ret_dur = (int64_t)in->end - *ret_start;
	if (*ret_dur < 0) {
		s->counts.backwards++;
		*ret_dur = 0;
	}
	return true;
}

static int in_set_span(struct spans_in *s, const struct span_in *in, struct batch *b, size_t row,
		       int64_t start, int64_t dur)
{
	int r = batch_set(b, SPAN_START, row, start);

	if (r >= 0 && dur >= 0)
		r = batch_set(b, SPAN_DUR, row, dur);
	if (r >= 0)
		r = batch_set(b, SPAN_NUMBER, row, s->number);
	if (r >= 0)
		r = in_set_id(b, SPAN_TRACE_ID, row, in->ids.trace);
	if (r >= 0)
		r = in_set_id(b, SPAN_SPAN_ID, row, in->ids.span);
	if (r >= 0)
		r = in_set_id(b, SPAN_PARENT_ID, row, in->ids.parent);
	if (r >= 0)
		r = set_text(s, b, SPAN_NAME, row, in->name);
	if (r >= 0)
		r = set_text(s, b, SPAN_SERVICE, row, in->service);
	if (r >= 0)
		r = set_code(b, SPAN_SPAN_KIND, row, in->kind);
	if (r >= 0)
		r = set_code(b, SPAN_SPAN_STATUS, row, dur < 0 ? SPAN_STATUS_RUNNING : in->status);
	if (r >= 0)
		r = batch_set(b, SPAN_SOURCE, row, SPAN_SOURCE_IMPORT);
	if (r >= 0)
		r = set_object(s, b, SPAN_ATTRIBUTES, row, in->attributes);
	/* of a shared id the server's side is the client's child */
	if (r >= 0 && in->shared && *in->ids.span)
		r = batch_set(b, SPAN_PARENT, row, number_of(in->ids.trace, in->ids.span, false));
	return r;
}

int spans_in_put(struct spans_in *s, const struct span_in *in)
{
	int64_t start = 0, dur = 0, stop;
	struct batch *b;
	size_t row;
	int r;

	s->rejected = true;
	if (!take_time(s, in, &start, &dur)) {
		s->counts.rejected++;
		return 0;
	}
	r = take_number(s, in, start, dur);
	if (r <= 0) {
		s->counts.repeated += r == 0;
		return r;
	}
	s->rejected = false;
	s->ids = in->ids;
	stop = start + MAX(dur, 0);
	r = rows_in_add(&s->spans, TABLE_SPAN, SPAN_ATTRIBUTES, stop, &b, &row);
	if (r >= 0)
		r = in_set_span(s, in, b, row, start, dur);
	if (r < 0)
		return r;
	s->counts.spans++;
	if (s->first == INT64_MIN || start < s->first)
		s->first = start;
	s->last = MAX(s->last, stop);
	return 1;
}

int spans_in_put_note(struct spans_in *s, uint64_t at, struct bytes name, json_t *attributes)
{
	struct batch *b;
	size_t row;
	int r;

	if (s->rejected)
		return 0;
	if (!at || at > STORE_TIME_MAX) {
		s->counts.rejected_notes++;
		return 0;
	}
	r = rows_in_add(&s->notes, TABLE_NOTE, NOTE_TEXT, (int64_t)at, &b, &row);
	if (r >= 0)
		r = batch_set(b, NOTE_START, row, (int64_t)at);
	if (r >= 0)
		r = batch_set(b, NOTE_NUMBER, row, s->number);
	if (r >= 0)
		r = in_set_id(b, NOTE_TRACE_ID, row, s->ids.trace);
	if (r >= 0)
		r = in_set_id(b, NOTE_SPAN_ID, row, s->ids.span);
	if (r >= 0)
		r = set_text(s, b, NOTE_NAME, row, name);
	if (r >= 0)
		r = set_object(s, b, NOTE_TEXT, row, attributes);
	s->counts.notes += r >= 0;
	return r;
}

/* ---- all was read ---- */

static int in_compare_rows(const void *a, const void *b)
{
	const struct row_at *x = a, *y = b;

	return ORDER(x->at, y->at) ?: ORDER(x->batch, y->batch) ?: ORDER(x->row, y->row);
}

/* The number of a row's parent: where two sides share its id, the server's; 0: it is not here. */
static int64_t find_parent(const struct spans_in *s, const struct batch *b, size_t row)
{
	struct bytes trace = batch_get_bytes(b, SPAN_TRACE_ID, row);
	struct bytes parent = batch_get_bytes(b, SPAN_PARENT_ID, row);
	int64_t number = batch_get(b, SPAN_PARENT, row, 0);
	struct span_ids ids = {0};

	if (number)
		return map_get(&s->numbers, (uint64_t)number, NULL) ? number : 0;
	if (!parent.len)
		return 0;
	if (trace.len)
		memcpy(ids.trace, trace.data, MIN(trace.len, (size_t)TRACE_ID_TEXT));
	memcpy(ids.parent, parent.data, MIN(parent.len, (size_t)SPAN_ID_TEXT));
	for (int shared = 1; shared >= 0; shared--) {
		number = number_of(ids.trace, ids.parent, shared);
		if (map_get(&s->numbers, (uint64_t)number, NULL) &&
		    number != batch_get(b, SPAN_NUMBER, row, 0))
			return number;
	}
	return 0;
}

int spans_in_finish(struct spans_in *s, struct error *err)
{
	for (size_t i = 0; i < s->spans.count; i++) {
		struct batch *b = s->spans.batches[i];

		for (size_t row = 0; row < b->rows; row++) {
			int64_t parent = find_parent(s, b, row);

			if (!parent)
				batch_set_null(b, SPAN_PARENT, row);
			else if (batch_set(b, SPAN_PARENT, row, parent) < 0)
				return error_set(err, -ENOMEM, "out of memory");
		}
	}
	array_sort(s->spans.order, s->spans.rows, in_compare_rows);
	array_sort(s->notes.order, s->notes.rows, in_compare_rows);
	return 0;
}

static int rows_in_next(struct rows_in *r, enum table_id table, unsigned int large,
			struct batch_set *out)
{
	struct batch *to;
	int e = r->taken < r->rows ? batch_set_table(out, table, &to) : 0;

	while (e >= 0 && r->taken < r->rows && to->rows < PIECE_ROWS &&
	       to->columns[large].data_len <= PIECE_BYTES) {
		const struct row_at *at = &r->order[r->taken++];

		e = batch_append_rows(to, r->batches[at->batch], &at->row, 1);
	}
	return e;
}

int spans_in_next(struct spans_in *s, struct batch_set *out)
{
	int r;

	if (s->spans.taken < s->spans.rows)
		r = rows_in_next(&s->spans, TABLE_SPAN, SPAN_ATTRIBUTES, out);
	else
		r = rows_in_next(&s->notes, TABLE_NOTE, NOTE_TEXT, out);
	return r < 0 ? r : batch_set_count(out) > 0;
}
