// SPDX-License-Identifier: Apache-2.0
/*
 * spans_out.c: reads spans three times: for numbers and ids, by which children find their parents; for notes; and for
 * the rows themselves, block by block.
 */
#include "exchange/spans_out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "exchange/span_out.h"
#include "schema/vocab.h"

#define ANCESTORS_MAX 256 /* parents may form a loop */
#define FLAG_RANDOM   2	  /* in W3C's trace flags: the last 56 bits of the trace id are random */

/* A stored note; its texts are in spans_out.texts. */
struct note_kept {
	int64_t number, at;
	uint32_t name, text;
	size_t order;
};

typedef int row_fn(struct spans_out *o, const struct batch *b, size_t row);

struct spans_out {
	struct store *store;
	struct spans_out_options opt;
	const struct dims *dims;
	uint64_t recording; /* of the current block */
	bool period;	    /* the current block has periods */
	int64_t last;	    /* end of the trace: running spans are cut there */
	struct map numbers;
	struct span_known *known;
	size_t known_count, known_cap;
	struct note_kept *notes;
	size_t note_count, note_cap;
	struct intern texts;
	struct note_out *shown; /* notes of one span */
	size_t shown_cap;
	struct spans_calls calls;
	struct spans_sample sample;
	row_fn *take_row;   /* of the current pass */
	spans_out_fn *take; /* of spans_out_each(), with its argument */
	void *take_arg;
};

const struct spans_sample *spans_out_sample(const struct spans_out *o)
{
	return o->opt.sample ? &o->sample : NULL;
}

uint64_t spans_out_calls_lost(const struct spans_out *o)
{
	return o->calls.lost;
}

void spans_out_free(struct spans_out *o)
{
	if (!o)
		return;
	map_free(&o->numbers);
	free(o->known);
	free(o->notes);
	intern_free(&o->texts);
	free(o->shown);
	spans_calls_free(&o->calls);
	spans_sample_free(&o->sample);
	free(o);
}

/* ---- blocks ---- */

#define TABLES_OF_SPANS (1ull << TABLE_SPAN | 1ull << TABLE_PERIOD)

/* Passes on each row of a block. */
static int spans_take_block(void *arg, const struct store_block *block, const struct batch *b)
{
	struct spans_out *o = arg;
	int r = 0;

	o->recording = block->recording;
	o->period = block->table == TABLE_PERIOD;
	for (size_t row = 0; row < b->rows && r >= 0; row++)
		r = o->take_row(o, b, row);
	return r;
}

/* Calls `take` with the rows of these tables. */
static int spans_each_row(struct spans_out *o, const char *what, uint64_t tables, uint64_t columns,
			  row_fn *take, struct error *err)
{
	int r;

	o->take_row = take;
	r = store_each(o->store, tables, columns, spans_take_block, o, err);
	return r < 0 ? error_errno(err, r, "%s", what) : 0;
}

/* A span number in the current block, made unique over recordings. 0: null. */
static int64_t number_at(const struct spans_out *o, const struct batch *b, unsigned int column,
			 size_t row)
{
	int64_t number = batch_get(b, column, row, 0);

	return number ? span_key(o->recording, number) : 0;
}

/* The key under which the calls of a span are stored. */
static uint64_t calls_key_at(const struct spans_out *o, const struct batch *b, size_t row)
{
	return spanset_number_key(batch_get(b, SPAN_NUMBER, row, -1),
				  batch_get(b, SPAN_THREAD_ID, row, -1), o->period);
}

/* ---- numbers and ids ---- */

static uint64_t hex_of(struct bytes text, size_t from)
{
	char half[SPAN_ID_TEXT + 1] = "";

	if (text.len < from + SPAN_ID_TEXT)
		return 0;
	memcpy(half, text.data + from, SPAN_ID_TEXT);
	return strtoull(half, NULL, 16);
}

static uint64_t made_id(uint64_t number)
{
	return hash_u64(number) | 1; /* never zero */
}

/* A duration limited so that the end is a time that a trace can represent. */
static int64_t near_dur(int64_t start, int64_t dur)
{
	return dur < 0 ? 0 : MIN(dur, STORE_TIME_MAX - start);
}

/* Its end, or its start if the end is unknown. */
static int64_t span_end(const struct batch *b, size_t row)
{
	int64_t start = store_time_near(batch_get(b, SPAN_START, row, 0));

	return start + near_dur(start, batch_get(b, SPAN_DUR, row, 0));
}

static int know_row(struct spans_out *o, const struct batch *b, size_t row)
{
	struct bytes trace = batch_get_bytes(b, SPAN_TRACE_ID, row);
	uint64_t number = (uint64_t)number_at(o, b, SPAN_NUMBER, row);
	struct span_known k = {
		.parent = number_at(o, b, SPAN_PARENT, row),
		.id = hex_of(batch_get_bytes(b, SPAN_SPAN_ID, row), 0),
		.trace = {hex_of(trace, 0), hex_of(trace, SPAN_ID_TEXT)},
	};

	k.has_trace = k.trace[0] || k.trace[1];
	o->last = MAX(o->last, span_end(b, row));
	k.id = k.id ? k.id : made_id(number);
	if (map_set(&o->numbers, number, o->known_count) < 0)
		return -ENOMEM;
	return array_add(o->known, o->known_count, o->known_cap, k);
}

static const struct span_known *known_of(const struct spans_out *o, int64_t number)
{
	uint64_t i;

	return number && map_get(&o->numbers, (uint64_t)number, &i) ? &o->known[i] : NULL;
}

/* The trace of a span without a trace id: that of the nearest ancestor that has one, or one generated from the outermost. */
static void span_find_trace(const struct spans_out *o, int64_t number, uint64_t trace[static 2])
{
	const struct span_known *k = known_of(o, number);

	for (int i = 0; i < ANCESTORS_MAX && k && !k->has_trace; i++) {
		const struct span_known *parent = known_of(o, k->parent);

		if (!parent)
			break;
		number = k->parent;
		k = parent;
	}
	if (k && k->has_trace) {
		memcpy(trace, k->trace, sizeof(k->trace));
		return;
	}
	trace[0] = made_id((uint64_t)number ^ UINT64_MAX);
	trace[1] = made_id((uint64_t)number);
}

/* True for the server's side of a call whose two sides share one id (Zipkin): the client's side is its parent. */
static bool span_is_shared(const struct spans_out *o, const struct span_known *k)
{
	const struct span_known *parent = k ? known_of(o, k->parent) : NULL;

	return parent && parent != k && parent->id == k->id;
}

/* The id of a span. With `apart` the server's side of a shared id gets an id that differs from its parent's. */
static uint64_t span_id_of(const struct spans_out *o, int64_t number)
{
	const struct span_known *k = known_of(o, number);

	if (!k || (o->opt.apart && span_is_shared(o, k)))
		return made_id((uint64_t)number);
	return k->id;
}

/* The id of its parent: that in the row, unless two spans share it. 0: none. */
static uint64_t span_parent_id(const struct spans_out *o, const struct batch *b, size_t row)
{
	int64_t parent = number_at(o, b, SPAN_PARENT, row);
	struct bytes own = batch_get_bytes(b, SPAN_PARENT_ID, row);
	const struct span_known *k = known_of(o, number_at(o, b, SPAN_NUMBER, row));

	if (own.len &&
	    !(o->opt.apart && (span_is_shared(o, k) || span_is_shared(o, known_of(o, parent)))))
		return hex_of(own, 0);
	return known_of(o, parent) ? span_id_of(o, parent) : 0;
}

/* The ids of a span except its parent's. */
static void span_own_ids(const struct spans_out *o, int64_t number, struct span_ids *ids)
{
	uint64_t trace[2];

	*ids = (struct span_ids){0};
	span_find_trace(o, number, trace);
	snprintf(ids->trace, sizeof(ids->trace), "%016lx%016lx", trace[0], trace[1]);
	snprintf(ids->span, sizeof(ids->span), "%016lx", span_id_of(o, number));
}

static void span_make_ids(const struct spans_out *o, const struct batch *b, size_t row,
			  struct span_ids *ids)
{
	uint64_t parent = span_parent_id(o, b, row);

	span_own_ids(o, number_at(o, b, SPAN_NUMBER, row), ids);
	if (parent)
		snprintf(ids->parent, sizeof(ids->parent), "%016lx", parent);
}

void spans_out_ids(const struct spans_out *o, uint64_t recording, int64_t number,
		   struct span_ids *ids)
{
	int64_t key = number ? span_key(recording, number) : 0;

	*ids = (struct span_ids){0};
	if (known_of(o, key))
		span_own_ids(o, key, ids);
}

/* ---- notes ---- */

static int keep_note(struct spans_out *o, const struct batch *b, size_t row)
{
	struct bytes name = batch_get_bytes(b, NOTE_NAME, row);
	struct bytes text = batch_get_bytes(b, NOTE_TEXT, row);
	struct note_kept n = {.number = number_at(o, b, NOTE_NUMBER, row),
			      .at = batch_get(b, NOTE_START, row, 0),
			      .text = UINT32_MAX,
			      .order = o->note_count};
	int r = intern_add(&o->texts, name.data, name.len, &n.name);

	if (r >= 0 && text.data)
		r = intern_add(&o->texts, text.data, text.len, &n.text);
	return r < 0 ? r : array_add(o->notes, o->note_count, o->note_cap, n);
}

static int compare_notes(const void *a, const void *b)
{
	const struct note_kept *x = a, *y = b;

	return ORDER(x->number, y->number) ?: ORDER(x->at, y->at) ?: ORDER(x->order, y->order);
}

/* The first note with this number or a higher one. */
static size_t find_notes(const struct spans_out *o, int64_t number)
{
	return array_first(i, 0, o->note_count, o->notes[i].number >= number);
}

static int show_notes(struct spans_out *o, int64_t number, struct span_out *s)
{
	size_t first = find_notes(o, number), n = 0;

	while (number && first + n < o->note_count && o->notes[first + n].number == number)
		n++;
	if (grow((void **)&o->shown, &o->shown_cap, n + 1, sizeof(*o->shown)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct note_kept *k = &o->notes[first + i];

		o->shown[i] =
			(struct note_out){.at = k->at, .name = intern_get(&o->texts, k->name)};
		if (k->text != UINT32_MAX)
			o->shown[i].text = intern_get(&o->texts, k->text);
	}
	s->notes = o->shown;
	s->note_count = n;
	return 0;
}

/* ---- a span ---- */

static bool text_is(struct bytes b, const char *text)
{
	return !text || bytes_compare(b, bytes_of(text)) == 0;
}

static bool service_is(struct bytes b, const char *text)
{
	return text_is(b, text) || (!b.data && strcmp(text, SPANS_NO_SERVICE) == 0);
}

static bool is_wanted(const struct spans_out *o, const struct span_out *s)
{
	uint32_t i;

	return s->start < o->opt.to && s->start + s->dur >= o->opt.from &&
	       s->dur >= o->opt.dur_min && s->dur <= o->opt.dur_max &&
	       service_is(s->service, o->opt.service) && text_is(s->name, o->opt.name) &&
	       (!o->opt.traces ||
		intern_find(o->opt.traces, s->ids.trace, strlen(s->ids.trace), &i));
}

static int set_int(json_t *to, const char *name, int64_t v)
{
	return json_object_set_new(to, name, json_integer(v)) < 0 ? -ENOMEM : 0;
}

/* The thread, under the names of OpenTelemetry's conventions. */
static int span_put_thread(const struct spans_out *o, int64_t id, json_t *to)
{
	const struct dims_thread *t = id < 0 ? NULL : dims_thread(o->dims, id);
	const struct dims_process *p = t ? dims_process(o->dims, t->process_id) : NULL;
	int r = 0;

	if (t)
		r = set_int(to, "thread.id", t->tid);
	if (r >= 0 && t && t->comm.data)
		r = json_set_some(to, "thread.name", json_mended(t->comm));
	if (r >= 0 && p)
		r = set_int(to, "process.pid", p->pid);
	return r;
}

static const char *word(const char *column, int64_t code)
{
	const char *w = vocab_word(column, code);

	return w ? w : "";
}

static int span_read_attributes(struct spans_out *o, const struct batch *b, size_t row,
				struct span_out *s)
{
	struct bytes text = batch_get_bytes(b, SPAN_ATTRIBUTES, row);
	int64_t source = batch_get(b, SPAN_SOURCE, row, -1);
	int r = 0;

	s->attributes = text.len ? json_loadb((const char *)text.data, text.len, 0, NULL) : NULL;
	if (!json_is_object(s->attributes)) {
		json_decref(s->attributes);
		s->attributes = json_object();
		if (text.len) /* not JSON: kept as text */
			r = json_set_some(s->attributes, "weir.attributes", json_mended(text));
	}
	if (!s->attributes)
		return -ENOMEM;
	if (r >= 0 && (s->status == SPAN_STATUS_RUNNING || s->status == SPAN_STATUS_CUT))
		r = json_set_some(s->attributes, NAME_STATUS,
				  json_string(word("span_status", s->status)));
	if (r >= 0 && source >= 0 && source != SPAN_SOURCE_IMPORT)
		r = json_set_some(s->attributes, NAME_SOURCE, json_string(word("source", source)));
	if (r < 0)
		return r;
	r = span_put_thread(o, batch_get(b, SPAN_THREAD_ID, row, -1), s->attributes);
	return r < 0 ? r : spans_calls_put(&o->calls, calls_key_at(o, b, row), s->attributes);
}

static void span_read_span(struct spans_out *o, const struct batch *b, size_t row,
			   struct span_out *s)
{
	*s = (struct span_out){
		.name = batch_get_bytes(b, SPAN_NAME, row),
		.service = batch_get_bytes(b, SPAN_SERVICE, row),
		.start = store_time_near(batch_get(b, SPAN_START, row, 0)),
		.dur = batch_get(b, SPAN_DUR, row, -1),
		.kind = (int)batch_get(b, SPAN_SPAN_KIND, row, -1),
		.status = (int)batch_get(b, SPAN_SPAN_STATUS, row, SPAN_STATUS_UNSET),
	};
	if (s->dur < 0) {
		s->status = SPAN_STATUS_RUNNING;
		s->dur = o->last - s->start;
	}
	s->dur = near_dur(s->start, s->dur);
	span_make_ids(o, b, row, &s->ids);
}

/* ---- sampling ---- */

static int sample_row(struct spans_out *o, const struct batch *b, size_t row)
{
	struct bytes text = batch_get_bytes(b, SPAN_ATTRIBUTES, row);
	/* few attributes have these members, and parsing JSON is slow */
	bool says = text.len && memmem(text.data, text.len, "\"otel.", 6);
	_cleanup_json_ json_t *a =
		says ? json_loadb((const char *)text.data, text.len, 0, NULL) : NULL;
	struct span_out s;

	span_read_span(o, b, row, &s);
	if (!is_wanted(o, &s))
		return 0;
	return spans_sample_take(
		&o->sample,
		&(struct sample_span){
			.trace = s.ids.trace,
			.name = s.name,
			.service = s.service,
			.start = s.start,
			.dur = s.dur,
			.parent = known_of(o, number_at(o, b, SPAN_PARENT, row)) != NULL,
			.failed = s.status == SPAN_STATUS_ERROR,
			.random = json_integer_value(json_object_get(a, NAME_FLAGS)) & FLAG_RANDOM,
			.state = json_string_value(json_object_get(a, NAME_TRACE_STATE))});
}

/* Adds the sampling weight of its request to the attributes of a span. */
static int sample_put(const struct spans_out *o, const struct sample_request *q, json_t *to)
{
	_cleanup_buf_ struct buf state = {0};
	int r = spans_sample_state(
		&o->sample, q, json_string_value(json_object_get(to, NAME_TRACE_STATE)), &state);

	if (r >= 0 && state.len)
		r = json_set_some(to, NAME_TRACE_STATE, json_mended(buf_bytes(&state)));
	else if (r >= 0)
		json_object_del(to, NAME_TRACE_STATE);
	if (r >= 0)
		r = json_set_some(to, NAME_WEIGHT, json_real(q->weight));
	return r < 0 ? r
		     : json_set_some(to, NAME_RULE,
				     json_string(sample_word(o->sample.rules.all[q->rule].kind)));
}

/* Exports a call as a child of its span. */
static int each_call(const struct spans_out *o, const struct call_out *c,
		     const struct span_out *parent)
{
	/* the child belongs to the same group and has the same weight */
	static const char *const same[] = {NAME_RESOURCE, NAME_RESOURCE_SCHEMA, NAME_LOCAL,
					   NAME_WEIGHT, NAME_RULE};
	struct bytes file =
		c->file_id < 0 ? (struct bytes){0} : dims_file_name(o->dims, c->file_id);
	struct span_out s = {.name = bytes_of(word("op", c->op)),
			     .service = parent->service,
			     .start = store_time_near(c->start),
			     .kind = SPAN_KIND_INTERNAL,
			     .status = SPAN_STATUS_UNSET,
			     .ids = parent->ids,
			     .attributes = json_object()};
	int r = s.attributes ? set_int(s.attributes, "weir.io.bytes", c->bytes) : -ENOMEM;

	s.dur = near_dur(s.start, c->dur);
	memcpy(s.ids.parent, parent->ids.span, sizeof(s.ids.parent));
	snprintf(s.ids.span, sizeof(s.ids.span), "%016lx",
		 made_id((uint64_t)c->id ^ made_id(c->key)));
	if (r >= 0)
		r = json_set_some(s.attributes, "weir.io.class",
				  json_string(word("class", c->class)));
	if (r >= 0 && c->err >= 0)
		r = json_set_some(s.attributes, "error.type", json_string(word("err", c->err)));
	if (r >= 0 && file.len)
		r = json_set_some(s.attributes, "file.path", json_mended(file));
	for (size_t i = 0; i < ARRAY_SIZE(same) && r >= 0; i++) {
		json_t *v = json_object_get(parent->attributes, same[i]);

		r = v ? json_set_some(s.attributes, same[i], json_incref(v)) : 0;
	}
	if (r >= 0)
		r = o->take(o->take_arg, &s);
	json_decref(s.attributes);
	return r;
}

static int each_span(struct spans_out *o, const struct batch *b, size_t row)
{
	int64_t number = number_at(o, b, SPAN_NUMBER, row);
	const struct sample_request *sampled = NULL;
	const struct call_out *calls;
	size_t count = 0;
	struct span_out s;
	int r;

	span_read_span(o, b, row, &s);
	if (!is_wanted(o, &s))
		return 0;
	if (o->opt.sample) {
		sampled = spans_sample_kept(&o->sample, s.ids.trace);
		if (!sampled)
			return 0;
	}
	calls = spans_calls_of(&o->calls, calls_key_at(o, b, row), &count);
	r = o->opt.brief ? 0 : span_read_attributes(o, b, row, &s);
	if (r >= 0 && !o->opt.brief)
		r = show_notes(o, number, &s);
	if (r >= 0 && sampled && !o->opt.brief)
		r = sample_put(o, sampled, s.attributes);
	/* before the span itself, whose writer removes members from its attributes */
	for (size_t i = 0; i < count && r >= 0; i++)
		r = each_call(o, &calls[i], &s);
	if (r >= 0)
		r = o->take(o->take_arg, &s);
	json_decref(s.attributes);
	return r;
}

int spans_out_each(struct spans_out *o, spans_out_fn *take, void *arg, struct error *err)
{
	o->take = take;
	o->take_arg = arg;
	return spans_each_row(o, "writing spans", TABLES_OF_SPANS, UINT64_MAX, each_span, err);
}

/* ---- opening ---- */

static int open_all(struct spans_out *o, struct error *err)
{
	const uint64_t ids = 1u << SPAN_START | 1u << SPAN_DUR | 1u << SPAN_NUMBER |
			     1u << SPAN_PARENT | 1u << SPAN_TRACE_ID | 1u << SPAN_SPAN_ID;
	int64_t first;
	int r;

	o->dims = o->opt.calls ? store_dims(o->store) : store_dims_few(o->store);
	store_range(o->store, &first, &o->last);
	r = spans_each_row(o, "reading spans", TABLES_OF_SPANS, ids, know_row, err);
	if (r >= 0 && !o->opt.brief)
		r = spans_each_row(o, "reading notes", 1ull << TABLE_NOTE, UINT64_MAX, keep_note,
				   err);
	if (r >= 0 && o->note_count)
		array_sort(o->notes, o->note_count, compare_notes);
	if (r >= 0 && o->opt.sample) {
		o->sample.rules = *o->opt.sample;
		r = spans_each_row(o, "reading spans", TABLES_OF_SPANS, UINT64_MAX, sample_row,
				   err);
		if (r >= 0 && spans_sample_decide(&o->sample) < 0)
			r = error_set(err, -ENOMEM, "out of memory");
	}
	if (r >= 0 && o->opt.calls)
		r = spans_calls_read(&o->calls, o->store, &o->opt, err);
	return r;
}

int spans_out_new(struct spans_out **ret, struct store *s, const struct spans_out_options *opt,
		  struct error *err)
{
	struct spans_out *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return error_set(err, -ENOMEM, "out of memory");
	o->store = s;
	o->opt = *opt;
	o->opt.dur_max = opt->dur_max ? opt->dur_max : INT64_MAX;
	r = open_all(o, err);
	if (r < 0) {
		spans_out_free(o);
		return r;
	}
	*ret = o;
	return 0;
}
