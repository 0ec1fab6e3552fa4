// SPDX-License-Identifier: Apache-2.0
/* spans_in.c: collects the rows read until the input is complete, then sorts them by their end. */
#include "exchange/spans_in.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/utf8.h"
#include "exchange/otlp/base64.h"
#include "exchange/internal.h"
#include "schema/vocab.h"
#include "store/store.h"

#define PIECE_ROWS  4096u
#define PIECE_BYTES (16u << 20) /* bytes of attributes: the column of a block holds little more */
#define NUMBER_MASK ((1ll << 53) - 1) /* numbers that JavaScript represents exactly */

/* Position and end of a row. */
struct row_at {
	int64_t at;
	uint32_t batch, row;
};

/* Rows of one table, in order of arrival. */
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
	int64_t number;	     /* of the span added last */
	struct span_ids ids; /* its ids */
	bool rejected;	     /* it was rejected, with its notes */
	uint64_t room;	     /* bytes left for shared attributes: SPANS_COMMON_* */
	struct map numbers;  /* number -> hash of the span that has it */
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

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (parts[i].count)
			buf_printf(to, "%s%llu %s", to->len ? "; " : "",
				   (unsigned long long)parts[i].count, parts[i].what);
	}
	return buf_status(to);
}

/* ---- ids ---- */

/*
 * Decodes an id in base64, as protobuf's standard JSON writes bytes, unlike OTLP's. Its length never is that of
 * hexadecimal digits.
 */
static bool id_of_base64(struct bytes *text, size_t digits, char ret[static TRACE_ID_TEXT])
{
	static const char hex[] = "0123456789abcdef";
	_cleanup_buf_ struct buf copy = {0}, bytes = {0};

	if (text->len != (digits / 2 + 2) / 3 * 4 || buf_append(&copy, text->data, text->len) < 0 ||
	    base64_take(&bytes, buf_str(&copy)) < 0 || bytes.len * 2 != digits)
		return false;
	for (size_t i = 0; i < bytes.len; i++) {
		ret[2 * i] = hex[bytes.data[i] >> 4];
		ret[2 * i + 1] = hex[bytes.data[i] & 15];
	}
	*text = (struct bytes){(const uint8_t *)ret, digits};
	return true;
}

void spans_in_id(struct spans_in *s, char *to, size_t digits, struct bytes text, bool pad)
{
	size_t zeros = pad && text.len < digits ? digits - text.len : 0, set = 0;
	char decoded[TRACE_ID_TEXT];

	*to = '\0';
	if (!text.len)
		return;
	if (!pad)
		id_of_base64(&text, digits, decoded);
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

/* The number of a span with these ids: the same in each import, and positive. */
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

/* Appends a row; `at`: its end. */
static struct batch_row rows_in_add(struct rows_in *r, enum table_id table, unsigned int large,
				    int64_t at)
{
	struct batch *last = r->count ? r->batches[r->count - 1] : NULL;
	struct batch_row row = {0};

	if (!last || last->rows == PIECE_ROWS || last->columns[large].data_len > PIECE_BYTES) {
		struct batch *next = NULL;

		row.r = batch_new(&next, table);
		if (row.r >= 0)
			row.r = array_add(r->batches, r->count, r->cap, next);
		if (row.r < 0) {
			batch_free(next);
			return row;
		}
		last = next;
	}
	row = batch_row(last);
	if (row.r >= 0)
		row.r = array_add(r->order, r->rows, r->order_cap,
				  (struct row_at){.at = at,
						  .batch = (uint32_t)(r->count - 1),
						  .row = (uint32_t)row.at});
	return row;
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

/* Stores up to SPANS_TEXT_MAX bytes. */
static void set_text(struct spans_in *s, struct batch_row *row, unsigned int column,
		     struct bytes text)
{
	if (!text.data)
		return;
	s->counts.cut += spans_in_shorten(&text, SPANS_TEXT_MAX);
	row_set_bytes(row, column, text.data, text.len);
}

/* Stores an object as text that is safe on a terminal; an empty object becomes null. */
static void set_object(struct spans_in *s, struct batch_row *row, unsigned int column,
		       const json_t *object)
{
	_cleanup_free_ char *text =
		json_object_size(object) ? json_dumps(object, JSON_COMPACT) : NULL;
	int r;

	if (!json_object_size(object))
		return;
	buf_clear(&s->text);
	r = text ? json_escape_document(&s->text, text, strlen(text)) : -ENOMEM;
	if (r >= 0 && s->text.len > SPANS_ATTRIBUTES_MAX) {
		s->counts.cut++;
		buf_clear(&s->text);
		r = buf_printf(&s->text, "{\"" NAME_LEFT_OUT "\":%zu}", strlen(text));
	}
	row->r = row->r < 0 ? row->r : r;
	row_set_bytes(row, column, s->text.data, s->text.len);
}

static void in_set_id(struct batch_row *row, unsigned int column, const char *id)
{
	if (*id)
		row_set_str(row, column, id);
}

/* Hash that distinguishes spans with the same ids. */
static uint64_t likeness(const struct span_in *in, int64_t start, int64_t dur)
{
	return hash_u64(hash_u64((uint64_t)start) ^ (uint64_t)dur) ^
	       hash_bytes(in->name.data ? (const void *)in->name.data : "", in->name.len);
}

/* Assigns a number that no other span has. 1, 0 if the span is identical to an earlier one, or negative. */
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

/* Start and duration (-1: running); false if a trace cannot represent them. */
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

static void in_set_span(struct spans_in *s, const struct span_in *in, struct batch_row *row,
			int64_t start, int64_t dur)
{
	int status = dur < 0 ? SPAN_STATUS_RUNNING : in->status;

	row_set(row, SPAN_START, start);
	row_set_if(row, dur >= 0, SPAN_DUR, dur);
	row_set(row, SPAN_NUMBER, s->number);
	in_set_id(row, SPAN_TRACE_ID, in->ids.trace);
	in_set_id(row, SPAN_SPAN_ID, in->ids.span);
	in_set_id(row, SPAN_PARENT_ID, in->ids.parent);
	set_text(s, row, SPAN_NAME, in->name);
	set_text(s, row, SPAN_SERVICE, in->service);
	row_set_if(row, in->kind >= 0, SPAN_SPAN_KIND, in->kind);
	row_set_if(row, status >= 0, SPAN_SPAN_STATUS, status);
	row_set(row, SPAN_SOURCE, SPAN_SOURCE_IMPORT);
	set_object(s, row, SPAN_ATTRIBUTES, in->attributes);
	/* with a shared id, the server's side is the client's child */
	row_set_if(row, in->shared && *in->ids.span, SPAN_PARENT,
		   number_of(in->ids.trace, in->ids.span, false));
}

int spans_in_put(struct spans_in *s, const struct span_in *in)
{
	int64_t start = 0, dur = 0, stop;
	struct batch_row row;
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
	row = rows_in_add(&s->spans, TABLE_SPAN, SPAN_ATTRIBUTES, stop);
	in_set_span(s, in, &row, start, dur);
	if (row.r < 0)
		return row.r;
	s->counts.spans++;
	if (s->first == INT64_MIN || start < s->first)
		s->first = start;
	s->last = MAX(s->last, stop);
	return 1;
}

int spans_in_put_note(struct spans_in *s, uint64_t at, struct bytes name, json_t *attributes)
{
	struct batch_row row;

	if (s->rejected)
		return 0;
	if (!at || at > STORE_TIME_MAX) {
		s->counts.rejected_notes++;
		return 0;
	}
	row = rows_in_add(&s->notes, TABLE_NOTE, NOTE_TEXT, (int64_t)at);
	row_set(&row, NOTE_START, (int64_t)at);
	row_set(&row, NOTE_NUMBER, s->number);
	in_set_id(&row, NOTE_TRACE_ID, s->ids.trace);
	in_set_id(&row, NOTE_SPAN_ID, s->ids.span);
	set_text(s, &row, NOTE_NAME, name);
	set_object(s, &row, NOTE_TEXT, attributes);
	s->counts.notes += row.r >= 0;
	return row.r;
}

/* ---- after the last body ---- */

static int in_compare_rows(const void *a, const void *b)
{
	const struct row_at *x = a, *y = b;

	return ORDER(x->at, y->at) ?: ORDER(x->batch, y->batch) ?: ORDER(x->row, y->row);
}

/* The number of a row's parent; if two sides share its id, the server's side. 0: the parent is missing. */
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
