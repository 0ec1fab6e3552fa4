/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/spans/span_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"
#include "capture/ebpf/spans/spans.h"

void span_rows_init(struct span_rows *s)
{
	*s = (struct span_rows){.numbers.max = 2 * SPAN_NUMBERS_MAX, .next_number = 1};
}

static void open_free(struct open_span *o)
{
	buf_free(&o->attributes);
	free(o);
}

void span_rows_free(struct span_rows *s)
{
	uint64_t key, value;
	size_t pos = 0;

	while (map_next(&s->open, &pos, &key, &value))
		open_free((void *)(uintptr_t)value);
	map_free(&s->open);
	map_free(&s->per_process);
	recent_free(&s->numbers);
}

static uint64_t open_key(const struct span_process *p, const struct span_event *e)
{
	bool blkin = e->type == SPAN_BLKIN;
	const uint64_t ident[4] = {p->number, blkin, blkin ? e->trace[1] : 0, e->span};

	return hash_bytes(ident, sizeof(ident));
}

static struct open_span *open_find(const struct span_rows *s, const struct span_process *p,
				   const struct span_event *e)
{
	const struct open_span *o;
	uint64_t value;

	if (!map_get(&s->open, open_key(p, e), &value))
		return NULL;
	o = (void *)(uintptr_t)value;
	/* ids are set by the program: two may have the same hash */
	if (o->process != p->number || o->span != e->span ||
	    (o->source == SPAN_SOURCE_BLKIN) != (e->type == SPAN_BLKIN) ||
	    (e->type == SPAN_BLKIN && o->trace[1] != e->trace[1]))
		return NULL;
	return (void *)(uintptr_t)value;
}

/* BlkKin's ids are chosen by the caller and may be reused in other traces. */
static uint64_t number_key(const uint64_t trace[2], uint64_t span)
{
	const uint64_t ident[3] = {trace[0], trace[1], span};

	return hash_bytes(ident, sizeof(ident));
}

/* Lets later spans and notes find this one. Notes of libweir-span do not contain the trace, and its ids are random. */
static int number_set(struct span_rows *s, const struct open_span *o)
{
	int r = recent_set(&s->numbers, number_key(o->trace, o->span), o->number);

	return r || o->source != SPAN_SOURCE_WEIR ? r : recent_set(&s->numbers, o->span, o->number);
}

static void rest_remove(struct span_rows *s, struct open_span *o)
{
	if (o->older)
		o->older->newer = o->newer;
	else if (s->oldest == o)
		s->oldest = o->newer;
	if (o->newer)
		o->newer->older = o->older;
	else if (s->newest == o)
		s->newest = o->older;
	o->older = o->newer = NULL;
}

/* Moves it to the end, after an annotation. */
static void rest_last(struct span_rows *s, struct open_span *o)
{
	if (s->newest == o)
		return;
	rest_remove(s, o);
	o->older = s->newest;
	if (s->newest)
		s->newest->newer = o;
	else
		s->oldest = o;
	s->newest = o;
}

static void open_remove(struct span_rows *s, struct open_span *o)
{
	uint64_t count = 0;

	rest_remove(s, o);
	assert(s->attribute_bytes >= o->attributes.len);
	s->attribute_bytes -= o->attributes.len;
	map_del(&s->open, o->key);
	map_get(&s->per_process, o->process, &count);
	if (count > 1)
		(void)!map_set(&s->per_process, o->process, count - 1); /* the entry exists */
	else
		map_del(&s->per_process, o->process);
	open_free(o);
}

/* NULL with 0: too many are open, or another one has the same hash. */
static int open_add(struct span_rows *s, const struct span_process *p, const struct span_event *e,
		    int64_t thread, struct open_span **ret)
{
	const uint8_t *name = (const uint8_t *)(e + 1);
	bool blkin = e->type == SPAN_BLKIN;
	const void *service = blkin ? (const char *)name + e->name_len : p->service;
	size_t service_len = blkin ? e->service_len : strlen(p->service);
	struct open_span *o;
	uint64_t count = 0;
	int r;

	*ret = NULL;
	map_get(&s->per_process, p->number, &count);
	if (count >= SPANS_OPEN_MAX || map_get(&s->open, open_key(p, e), NULL)) {
		s->refused++;
		return 0;
	}
	o = calloc(1, sizeof(*o) + e->name_len + service_len);
	if (!o)
		return -ENOMEM;
	*o = (struct open_span){
		.process = p->number,
		.key = open_key(p, e),
		.number = s->next_number++,
		.span = e->span,
		.parent = e->parent,
		.trace = {e->trace[0], e->trace[1]},
		.start = e->time,
		.last = e->time,
		.thread = thread,
		.kind = blkin ? SPAN_KIND_INTERNAL
			      : MIN(e->flags >> SPAN_KIND_SHIFT, SPAN_KIND_COUNT - 1),
		.source = blkin ? SPAN_SOURCE_BLKIN : p->source,
		.name_len = e->name_len,
		.service_len = (uint16_t)service_len};
	memcpy(o->text, name, e->name_len);
	memcpy(o->text + e->name_len, service, service_len);
	r = map_set(&s->per_process, p->number, count + 1);
	r = r ? r : number_set(s, o);
	r = r ? r : map_set(&s->open, o->key, (uintptr_t)o);
	if (r < 0) {
		open_free(o);
		return r;
	}
	*ret = o;
	return 0;
}

/* ---- attributes: length of key, of value, integer?, key, value; a later value of a key replaces an earlier one ---- */

struct attribute {
	uint16_t key_len, value_len;
	bool integer;
};

static int attribute_add(struct span_rows *s, struct open_span *o, const struct span_event *e,
			 const uint8_t *key, size_t key_len, const uint8_t *value)
{
	struct attribute a = {(uint16_t)key_len, e->value_len, e->flags & SPAN_INTEGER};
	size_t at = 0, size, before;
	int r;

	if (a.integer)
		a.value_len = sizeof(e->integer);
	while (at < o->attributes.len) {
		struct attribute other;

		memcpy(&other, o->attributes.data + at, sizeof(other));
		size = sizeof(other) + other.key_len + other.value_len;
		if (other.key_len == key_len &&
		    !memcmp(o->attributes.data + at + sizeof(other), key, key_len)) {
			memmove(o->attributes.data + at, o->attributes.data + at + size,
				o->attributes.len - at - size);
			o->attributes.len -= size;
			s->attribute_bytes -= size;
			o->attribute_count--;
			continue;
		}
		at += size;
	}
	if (o->attribute_count >= SPAN_ATTRIBUTES_MAX ||
	    at + sizeof(a) + key_len + a.value_len > SPAN_ATTRIBUTES_LEN ||
	    s->attribute_bytes + sizeof(a) + key_len + a.value_len > SPAN_ATTRIBUTES_BYTES_MAX) {
		o->left_out = true;
		return 0;
	}
	before = o->attributes.len;
	r = buf_append(&o->attributes, &a, sizeof(a));
	r = r ? r : buf_append(&o->attributes, key, key_len);
	r = r ? r
	      : buf_append(&o->attributes, a.integer ? (const void *)&e->integer : value,
			   a.value_len);
	if (r < 0) {
		o->attributes.len = before;
		return r;
	}
	o->attribute_count++;
	s->attribute_bytes += o->attributes.len - before;
	return 0;
}

static int json_text(struct buf *to, const void *data, size_t len)
{
	int r = buf_append(to, "\"", 1);

	r = r ? r : json_escape(to, data, len, "");
	return r ? r : buf_append(to, "\"", 1);
}

static int attributes_json(const struct open_span *o, struct buf *to)
{
	size_t at = 0;
	int r = buf_append(to, "{", 1);

	while (at < o->attributes.len && !r) {
		const uint8_t *text = o->attributes.data + at + sizeof(struct attribute);
		struct attribute a;
		int64_t integer;

		memcpy(&a, o->attributes.data + at, sizeof(a));
		r = at ? buf_append(to, ",", 1) : 0;
		r = r ? r : json_text(to, text, a.key_len);
		r = r ? r : buf_append(to, ":", 1);
		if (a.integer)
			memcpy(&integer, text + a.key_len, sizeof(integer));
		r = r		? r
		    : a.integer ? buf_printf(to, "%lld", (long long)integer)
				: json_text(to, text + a.key_len, a.value_len);
		at += sizeof(a) + a.key_len + a.value_len;
	}
	if (o->left_out)
		r = r ? r
		      : buf_printf(to, "%s\"weir.left_out\":true", o->attributes.len ? "," : "");
	return r ? r : buf_append(to, "}", 1);
}

/* ---- rows ---- */

#define ID_DIGITS 16

/* Writes an id in digits, without NUL: snprintf() is slow for several per row. */
static void id_digits(char to[ID_DIGITS], uint64_t id)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = ID_DIGITS; i > 0; id >>= 4)
		to[--i] = digits[id & 15];
}

static void ids_set(struct batch_row *row, unsigned int trace_column, unsigned int span_column,
		    const uint64_t trace[2], uint64_t span)
{
	char text[2 * ID_DIGITS];

	id_digits(text, trace[0]);
	id_digits(text + ID_DIGITS, trace[1]);
	row_set_bytes(row, trace_column, text, sizeof(text));
	id_digits(text, span);
	row_set_bytes(row, span_column, text, ID_DIGITS);
}

/* Adds the row of a span; dur negative: still running. */
static int span_row(struct span_rows *s, const struct open_span *o, enum span_status status,
		    int64_t dur, int64_t offset, struct batch_set *out)
{
	_cleanup_buf_ struct buf json = {0};
	uint64_t parent;
	char text[ID_DIGITS];
	struct batch_row row = batch_set_row(out, TABLE_SPAN);

	row_set(&row, SPAN_START, o->start + offset);
	row_set_if(&row, dur >= 0, SPAN_DUR, dur);
	row_set(&row, SPAN_NUMBER, (int64_t)o->number);
	row_set_if(&row,
		   o->parent && recent_get(&s->numbers, number_key(o->trace, o->parent), &parent),
		   SPAN_PARENT, (int64_t)parent);
	ids_set(&row, SPAN_TRACE_ID, SPAN_SPAN_ID, o->trace, o->span);
	id_digits(text, o->parent);
	if (o->parent)
		row_set_bytes(&row, SPAN_PARENT_ID, text, ID_DIGITS);
	row_set_bytes(&row, SPAN_NAME, o->text, o->name_len);
	if (o->service_len)
		row_set_bytes(&row, SPAN_SERVICE, o->text + o->name_len, o->service_len);
	row_set(&row, SPAN_SPAN_KIND, o->kind);
	row_set(&row, SPAN_SPAN_STATUS, status);
	row_set(&row, SPAN_SOURCE, o->source);
	row_set_if(&row, o->thread >= 0, SPAN_THREAD_ID, o->thread);
	if (o->attribute_count || o->left_out) {
		row.r = row.r ? row.r : attributes_json(o, &json);
		row_set_bytes(&row, SPAN_ATTRIBUTES, json.data, json.len);
	}
	return row.r;
}

/* A note of an open span, or of an ended one by number (0: none). */
static int note_row(const struct open_span *o, uint64_t number, const struct span_event *e,
		    const uint8_t *key, size_t key_len, const uint8_t *value, int64_t thread,
		    int64_t offset, struct batch_set *out)
{
	static const char more[] = "\xe2\x80\xa6"; /* an ellipsis: truncated */
	char text[SPAN_VALUE_LEN + sizeof(more)];
	size_t len = MIN(e->value_len, (size_t)SPAN_VALUE_LEN);
	struct batch_row row = batch_set_row(out, TABLE_NOTE);

	row_set(&row, NOTE_START, e->time + offset);
	row_set_if(&row, number, NOTE_NUMBER, (int64_t)number);
	if (o)
		ids_set(&row, NOTE_TRACE_ID, NOTE_SPAN_ID, o->trace, o->span);
	row_set_if(&row, thread >= 0, NOTE_THREAD_ID, thread);
	row_set_bytes(&row, NOTE_NAME, key, key_len);
	if (e->flags & SPAN_EVENT)
		return row.r;
	if (e->flags & SPAN_INTEGER) {
		len = (size_t)snprintf(text, sizeof(text), "%lld", (long long)e->integer);
	} else {
		memcpy(text, value, len);
		if (e->flags & SPAN_CUT) {
			memcpy(text + len, more, sizeof(more) - 1);
			len += sizeof(more) - 1;
		}
	}
	row_set_bytes(&row, NOTE_TEXT, text, len);
	return row.r;
}

static int event_note(struct span_rows *s, const struct span_process *p, const struct span_event *e,
		      int64_t thread, int64_t offset, struct batch_set *out)
{
	const uint8_t *key = (const uint8_t *)(e + 1), *value = key + e->name_len;
	struct open_span *o = open_find(s, p, e);
	uint64_t number = 0;
	int r = 0;

	if (o)
		number = o->number;
	else /* a span of the parent that forked this process, or an ended one */
		recent_get(&s->numbers, e->span, &number);
	if (o && !(e->flags & SPAN_EVENT))
		r = attribute_add(s, o, e, key, e->name_len, value);
	return r ? r : note_row(o, number, e, key, e->name_len, value, thread, offset, out);
}

static int event_end(struct span_rows *s, const struct span_process *p, const struct span_event *e,
		     int64_t thread, int64_t offset, struct batch_set *out)
{
	struct open_span *o = open_find(s, p, e);
	bool cut = p->source != SPAN_SOURCE_WEIR && e->flags & SPAN_CUT;
	int r;

	if (!o) /* it began before recording, or in the parent that forked this process */
		return 0;
	if (o->thread < 0 &&
	    p->source == SPAN_SOURCE_PROBE) /* it ends on the thread that began it */
		o->thread = thread;
	r = span_row(s, o,
		     e->flags & SPAN_ERROR ? SPAN_STATUS_ERROR
		     : cut		   ? SPAN_STATUS_CUT
					   : SPAN_STATUS_UNSET,
		     MAX(e->time - o->start, (int64_t)0), offset, out);
	open_remove(s, o);
	return r;
}

/* The kind, from BlkKin's annotations: "cs" and "cr" come from a client, "sr" and "ss" from a server. */
static void blkin_kind(struct open_span *o, const uint8_t *key, size_t len)
{
	if (len < 2 || len > 3 || o->kind != SPAN_KIND_INTERNAL || (len == 3 && key[2] != 'f'))
		return;
	if (key[1] == 's' || key[1] == 'r')
		o->kind = key[0] == 'c'	  ? SPAN_KIND_CLIENT
			  : key[0] == 's' ? SPAN_KIND_SERVER
					  : SPAN_KIND_INTERNAL;
}

static int event_blkin(struct span_rows *s, const struct span_process *p,
		       const struct span_event *e, int64_t thread, int64_t offset,
		       struct batch_set *out)
{
	const uint8_t *key = (const uint8_t *)(e + 1) + e->name_len + e->service_len;
	const uint8_t *value = key + e->key_len;
	struct open_span *o = open_find(s, p, e);
	int r = 0;

	if (!o)
		r = open_add(s, p, e, thread, &o);
	if (r || !o)
		return r;
	o->last = e->time;
	rest_last(s, o);
	if (e->flags & SPAN_EVENT)
		blkin_kind(o, key, e->key_len);
	else
		r = attribute_add(s, o, e, key, e->key_len, value);
	return r ? r : note_row(o, o->number, e, key, e->key_len, value, thread, offset, out);
}

int span_rows_event(struct span_rows *s, const struct span_process *p, const struct span_event *e,
		    int64_t thread, int64_t offset, struct batch_set *out)
{
	struct open_span *o;

	switch (e->type) {
	case SPAN_BEGIN: /* a repeated id of an open span is ignored */
		return open_find(s, p, e) ? 0 : open_add(s, p, e, thread, &o);
	case SPAN_NOTE:
		return event_note(s, p, e, thread, offset, out);
	case SPAN_END:
		return event_end(s, p, e, thread, offset, out);
	default:
		return event_blkin(s, p, e, thread, offset, out);
	}
}

/* The open spans of a process (NULL: all). */
static struct open_span **open_list(struct span_rows *s, const struct span_process *p,
				    size_t *ret_count)
{
	struct open_span **list = calloc(s->open.count + 1, sizeof(struct open_span *));
	uint64_t key, value;
	size_t pos = 0;

	*ret_count = 0;
	while (list && *ret_count < SPANS_OPEN_MAX && map_next(&s->open, &pos, &key, &value)) {
		struct open_span *o = (void *)(uintptr_t)value;

		if (!p || o->process == p->number)
			list[(*ret_count)++] = o;
	}
	return list;
}

static int by_span_number(const void *a, const void *b)
{
	const struct open_span *x = *(struct open_span *const *)a;
	const struct open_span *y = *(struct open_span *const *)b;

	return ORDER(x->number, y->number);
}

int span_rows_close(struct span_rows *s, const struct span_process *p, enum span_status status,
		    int64_t time, int64_t offset, struct batch_set *out)
{
	size_t count;
	_cleanup_free_ struct open_span **list = open_list(s, p, &count);
	int r = list ? 0 : -ENOMEM;

	if (list)
		qsort(list, count, sizeof(struct open_span *), by_span_number);
	for (size_t i = 0; i < count && !r; i++) {
		struct open_span *o = list[i];

		if (o->source == SPAN_SOURCE_BLKIN)
			r = span_row(s, o, SPAN_STATUS_UNSET, o->last - o->start, offset, out);
		else
			r = span_row(s, o, status,
				     status == SPAN_STATUS_RUNNING
					     ? -1
					     : MAX(time - o->start, (int64_t)0),
				     offset, out);
		open_remove(s, o);
	}
	return r;
}

int span_rows_idle(struct span_rows *s, int64_t now, int64_t offset, struct batch_set *out)
{
	int r = 0;

	while (s->oldest && s->oldest->last <= now - BLKIN_IDLE_NS && !r) {
		struct open_span *o = s->oldest;

		r = span_row(s, o, SPAN_STATUS_UNSET, o->last - o->start, offset, out);
		open_remove(s, o);
	}
	return r;
}
