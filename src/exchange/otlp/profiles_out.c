// SPDX-License-Identifier: Apache-2.0
/*
 * profiles_out.c: aggregates calls by process, stack, class and span, then writes a request, from its dictionary to its
 * samples.
 */
#include "exchange/otlp/profiles_out.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "exchange/otlp/proto.h"
#include "exchange/span_out.h"
#include "names/names.h"

#define SCHEMA_NAME "weir"
#define LINK_BYTES  (TRACE_ID_TEXT + SPAN_ID_TEXT)

enum profile_value { PROFILE_IO_TIME, PROFILE_WAIT_TIME, PROFILE_BYTES, PROFILE_CALLS, PROFILES };
static const char *const profile_types[PROFILES][2] = {{"io_time", "nanoseconds"},
						       {"wait_time", "nanoseconds"},
						       {"io_bytes", "bytes"},
						       {"io_calls", "count"}};

/* Calls with the same key. */
struct profile_sample {
	uint32_t process;		 /* index in process_ids */
	uint32_t stack, link, attribute; /* indexes in the dictionary */
	int64_t values[PROFILES];
};

struct profiling {
	const struct profiles_options *opt;
	const struct dims *dims;
	struct spans spans;
	struct spans_out *ids;
	struct profiles_stats *stats;
	struct profile_sample *samples;
	size_t count, cap;
	struct map by_key;    /* hash -> sample */
	struct map processes; /* id + 1 -> index */
	int64_t *process_ids; /* -1: unknown */
	size_t process_count, process_cap;
	/* the dictionary; entry 0 of each table is empty */
	struct intern strings, functions, stacks,
		links;		       /* a stack: indexes of functions, the leaf first */
	uint32_t *span_links;	       /* [spans] + 1; 0: not computed yet */
	struct map stack_of;	       /* hash of call, file and stack -> index */
	uint32_t classes[CLASS_COUNT]; /* indexes of attributes; 0: class not seen */
	uint32_t class_count;
	/* state of a message that is written in pieces: the part of the dictionary already written */
	size_t functions_put, stacks_put, links_put, strings_put;
	uint32_t classes_put;
	bool begun; /* a piece has been written */
	struct buf room, out;
	int64_t time[2]; /* start and duration, the same for all profiles */
};

static void profiling_free(struct profiling *p)
{
	spanset_free(&p->spans);
	spans_out_free(p->ids);
	free(p->samples);
	map_free(&p->by_key);
	map_free(&p->processes);
	free(p->process_ids);
	intern_free(&p->strings);
	intern_free(&p->functions);
	intern_free(&p->stacks);
	intern_free(&p->links);
	free(p->span_links);
	map_free(&p->stack_of);
	buf_free(&p->room);
	buf_free(&p->out);
}

/* Adds the empty first entries of the dictionary. */
static int profiling_begin(struct profiling *p)
{
	struct intern *const tables[] = {&p->strings, &p->functions, &p->stacks, &p->links};
	uint32_t none;
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && r >= 0; i++)
		r = intern_add(tables[i], "", 0, &none);
	return r;
}

/* Drops the samples just written. The next piece continues the dictionary, or starts a new one. */
static int profiling_forget(struct profiling *p)
{
	map_free(&p->by_key);
	p->count = 0;
	p->begun = true;
	if (p->opt->protobuf) {
		p->functions_put = p->functions.count;
		p->stacks_put = p->stacks.count;
		p->links_put = p->links.count;
		p->strings_put = p->strings.count;
		p->classes_put = p->class_count + 1;
		return 0;
	}
	intern_free(&p->strings);
	intern_free(&p->functions);
	intern_free(&p->stacks);
	intern_free(&p->links);
	map_free(&p->stack_of);
	memset(p->span_links, 0, (p->spans.count + 1ull) * sizeof(*p->span_links));
	memset(p->classes, 0, sizeof(p->classes));
	p->class_count = 0;
	return profiling_begin(p);
}

/* ---- stacks ---- */

/* Appends a function of this name to p->room. */
static int profile_frame(struct profiling *p, const void *name, size_t len)
{
	uint32_t id;
	int r = intern_add(&p->functions, name, len, &id);

	return r < 0 ? r : buf_append(&p->room, &id, sizeof(id));
}

/* Appends the functions of a stack, innermost first. */
static int profile_frames(struct profiling *p, const struct dims_stack *s)
{
	struct bytes names = s->names.data ? s->names : s->frames;
	size_t end = names.len;
	int r = 0;

	while (end && names.data[end - 1] == '\n')
		end--;
	while (end && r >= 0) {
		size_t from = end;

		while (from && names.data[from - 1] != '\n' && names.data[from - 1] != ';')
			from--;
		if (from < end)
			r = profile_frame(p, names.data + from, end - from);
		end = from ? from - 1 : 0;
	}
	return r;
}

static int profile_stack(struct profiling *p, const struct batch *b, size_t row, uint32_t *ret)
{
	int64_t op = batch_get(b, OP_OP, row, -1), stack = batch_get(b, OP_STACK_ID, row, -1);
	const struct dims_stack *s = stack < 0 ? NULL : dims_stack(p->dims, stack);
	int64_t file = s ? -1 : batch_get(b, OP_FILE_ID, row, -1);
	const int64_t what[] = {op, s ? stack : -1, file};
	uint64_t key = hash_bytes(what, sizeof(what)), at;
	const char *word = vocab_word("op", op);
	struct bytes name;
	int r;

	p->stats->stacked += s != NULL;
	if (map_get(&p->stack_of, key, &at)) {
		*ret = (uint32_t)at;
		return 0;
	}
	buf_clear(&p->room);
	r = profile_frame(p, word ? word : "call", strlen(word ? word : "call"));
	if (r >= 0 && s)
		r = profile_frames(p, s);
	if (r >= 0 && file >= 0) {
		name = dims_file_name(p->dims, file);
		r = name.len ? profile_frame(p, name.data, name.len) : 0;
	}
	if (r < 0)
		return r;
	r = intern_add(&p->stacks, p->room.data, p->room.len, ret);
	return r < 0 ? r : map_set(&p->stack_of, key, *ret);
}

/* ---- links ---- */

static bool profile_is_hex(struct bytes text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!isxdigit(text.data[i]))
			return false;
	}
	return true;
}

static void profile_span_ids(const struct profiling *p, const struct span *k, struct span_ids *ids)
{
	struct bytes trace = spanset_text(&p->spans, k->trace_id),
		     span = spanset_text(&p->spans, k->span_id);

	*ids = (struct span_ids){0};
	if (!k->of_context) {
		spans_out_ids(p->ids, id_recording(k->thread_id), k->number, ids);
	} else if (trace.len == TRACE_ID_TEXT && span.len == SPAN_ID_TEXT &&
		   profile_is_hex(trace) && profile_is_hex(span)) {
		memcpy(ids->trace, trace.data, trace.len);
		memcpy(ids->span, span.data, span.len);
	}
}

/* The link for a call. A program's span takes precedence over the match of a period; 0: the call belongs to neither. */
static int profile_link(struct profiling *p, const struct span_member *members, size_t count,
			uint32_t *ret)
{
	uint32_t of = count ? members[0].span : SPAN_NONE, *known;
	char text[LINK_BYTES];
	struct span_ids ids;
	int r;

	for (size_t i = 1; i < count && p->spans.all[of].period; i++)
		of = p->spans.all[members[i].span].period ? of : members[i].span;
	*ret = 0;
	if (of == SPAN_NONE)
		return 0;
	p->stats->linked++;
	known = &p->span_links[of];
	if (!*known) {
		profile_span_ids(p, &p->spans.all[of], &ids);
		memcpy(text, ids.trace, TRACE_ID_TEXT);
		memcpy(text + TRACE_ID_TEXT, ids.span, SPAN_ID_TEXT);
		r = intern_add(&p->links, text, *ids.trace ? sizeof(text) : 0, ret);
		if (r < 0)
			return r;
		*known = *ret + 1;
	}
	*ret = *known - 1;
	return 0;
}

/* ---- calls ---- */

static int profile_process(struct profiling *p, int64_t thread_id, uint32_t *ret)
{
	int64_t id = names_process_of(p->dims, thread_id), *known;

	known = array_of_key(p->process_ids, p->process_count, p->process_cap, &p->processes,
			     (uint64_t)id + 1, NULL);
	if (!known)
		return -ENOMEM;
	*known = id;
	*ret = (uint32_t)(known - p->process_ids);
	return 0;
}

static int profile_sample_of(struct profiling *p, const struct profile_sample *like,
			     struct profile_sample **ret)
{
	const uint32_t what[] = {like->process, like->stack, like->link, like->attribute};
	bool is_new;

	*ret = array_of_key(p->samples, p->count, p->cap, &p->by_key,
			    hash_bytes(what, sizeof(what)), &is_new);
	if (*ret && is_new)
		**ret = *like;
	return *ret ? 0 : -ENOMEM;
}

/* Unfinished calls are in no range. */
static bool profile_is_in(const struct profiling *p, const struct span_call *c)
{
	const struct profiles_options *o = p->opt;

	if (o->from == INT64_MIN && o->to == INT64_MAX)
		return true;
	return !batch_is_null(c->b, OP_START, c->row) && !batch_is_null(c->b, OP_DUR, c->row) &&
	       !(batch_get(c->b, OP_STATUS, c->row, 0) & STATUS_UNFINISHED) && c->stop >= o->from &&
	       c->stop < o->to;
}

static int profiles_put_piece(struct profiling *p);

static int profile_row(void *arg, const struct span_call *c, const struct span_member *members,
		       size_t count)
{
	struct profiling *p = arg;
	int64_t what = batch_get(c->b, OP_CLASS, c->row, CLASS_OTHER),
		dur = MAX(batch_get(c->b, OP_DUR, c->row, 0), (int64_t)0);
	struct profile_sample like = {0}, *s;
	int64_t *time;
	int r;

	if (!profile_is_in(p, c))
		return 0;
	r = p->count < PROFILE_SAMPLES_MAX ? 0 : profiles_put_piece(p);
	if (r < 0)
		return r;
	what = what < 0 || what >= CLASS_COUNT ? CLASS_OTHER : what;
	if (!p->classes[what])
		p->classes[what] = ++p->class_count;
	like.attribute = p->classes[what];
	p->stats->calls++;
	r = profile_process(p, batch_get(c->b, OP_THREAD_ID, c->row, -1), &like.process);
	if (r >= 0)
		r = profile_stack(p, c->b, c->row, &like.stack);
	if (r >= 0)
		r = profile_link(p, members, count, &like.link);
	if (r >= 0)
		r = profile_sample_of(p, &like, &s);
	if (r < 0)
		return r;
	time = &s->values[what == CLASS_WAIT ? PROFILE_WAIT_TIME : PROFILE_IO_TIME];
	*time = add_sat_signed(*time, dur);
	s->values[PROFILE_BYTES] =
		add_sat_signed(s->values[PROFILE_BYTES], batch_get(c->b, OP_BYTES, c->row, 0));
	s->values[PROFILE_CALLS]++;
	return 0;
}

static int profiling_read(struct profiling *p, struct store *s, struct error *err)
{
	const struct spans_out_options brief = {
		.from = INT64_MIN, .to = INT64_MAX, .apart = true, .brief = true, .calls_ns = -1};
	struct analysis_run run = {
		.store = s, .from = INT64_MIN, .to = INT64_MAX, .where = p->opt->where};
	const struct analysis_input in = {.runs = &run, .count = 1};
	const struct span_pass pass = {.from = p->opt->from,
				       .to = p->opt->to,
				       .of = SPAN_NONE,
				       .columns = 1ull << OP_STACK_ID | 1ull << OP_FILE_ID |
						  1ull << OP_STATUS,
				       .row = profile_row,
				       .arg = p};
	int r = spans_out_new(&p->ids, s, &brief, err);

	store_range(s, &run.first, &run.last);
	p->time[0] = MAX(run.first, p->opt->from);
	p->time[0] = MAX(p->time[0], (int64_t)0);
	p->time[1] = MIN(run.last, p->opt->to);
	p->time[1] = MAX(p->time[1], p->time[0]) - p->time[0];
	if (r >= 0)
		r = spanset_load(&p->spans, &in, &run, err);
	if (r < 0)
		return r;
	p->dims = store_dims(s);
	p->span_links = calloc(p->spans.count + 1ull, sizeof(*p->span_links));
	r = p->span_links ? profiling_begin(p) : -ENOMEM;
	return r < 0 ? error_errno(err, r, "reading calls")
		     : spanset_pass(&p->spans, &in, &run, &pass, err);
}

/* ---- the dictionary ---- */

static json_t *profile_number(int64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)v);
	return json_string(text);
}

/* The index of a string. NULL: no memory. */
static json_t *profile_string(struct profiling *p, struct bytes text)
{
	uint32_t id;

	return intern_add(&p->strings, text.data, text.len, &id) < 0 ? NULL : json_integer(id);
}

/*
 * A table of the dictionary, without its first `put` entries, which were written with earlier pieces. Entry 0 is empty;
 * `entry` makes the others (NULL: no memory).
 */
static int profile_table(struct profiling *p, json_t *dictionary, const char *name, size_t put,
			 size_t count, json_t *(*entry)(struct profiling *p, uint32_t i))
{
	json_t *list = json_array();
	int r = json_object_set_new(dictionary, name, list);

	if (r >= 0 && !put)
		r = json_array_append_new(list, json_object());
	for (size_t i = MAX(put, 1u); i < count && r >= 0; i++)
		r = json_array_append_new(list, entry(p, (uint32_t)i));
	return r < 0 ? -ENOMEM : 0;
}

static json_t *profile_function(struct profiling *p, uint32_t i)
{
	return json_pack("{s:o}", "nameStrindex", profile_string(p, intern_get(&p->functions, i)));
}

/* Each function has one location, of the same index. */
static json_t *profile_location(struct profiling *p, uint32_t i)
{
	return json_pack("{s:[{s:I}]}", "lines", "functionIndex", (json_int_t)i);
}

static json_t *profile_stack_entry(struct profiling *p, uint32_t i)
{
	struct bytes all = intern_get(&p->stacks, i);
	json_t *list = json_array();
	int r = 0;

	for (size_t k = 0; k < all.len && r >= 0; k += sizeof(uint32_t)) {
		uint32_t id;

		memcpy(&id, all.data + k, sizeof(id));
		r = json_array_append_new(list, json_integer(id));
	}
	if (r >= 0)
		return json_pack("{s:o}", "locationIndices", list);
	json_decref(list);
	return NULL;
}

static json_t *profile_link_entry(struct profiling *p, uint32_t i)
{
	const char *text = (const char *)intern_get(&p->links, i).data;

	return json_pack("{s:s#,s:s#}", "traceId", text, TRACE_ID_TEXT, "spanId",
			 text + TRACE_ID_TEXT, SPAN_ID_TEXT);
}

/* The attribute weir.io.class, with a class that occurs. */
static json_t *profile_class(struct profiling *p, uint32_t i)
{
	int64_t what = 0;

	while (p->classes[what] != i)
		what++;
	return json_pack("{s:o,s:{s:s}}", "keyStrindex",
			 profile_string(p, bytes_of("weir.io.class")), "value", "stringValue",
			 vocab_word("class", what));
}

static int profiles_put_strings(struct profiling *p, json_t *dictionary)
{
	json_t *strings = json_array();
	int r = json_object_set_new(dictionary, "stringTable", strings);

	for (size_t i = p->strings_put; i < p->strings.count && r >= 0; i++)
		r = json_array_append_new(strings,
					  json_mended(intern_get(&p->strings, (uint32_t)i)));
	return r < 0 ? -ENOMEM : 0;
}

static int profiles_put_dictionary(struct profiling *p, json_t *to)
{
	const struct {
		const char *name;
		size_t put, count;
		json_t *(*entry)(struct profiling *p, uint32_t i);
	} tables[] = {
		{"mappingTable", p->begun && p->opt->protobuf, 0, NULL},
		{"functionTable", p->functions_put, p->functions.count, profile_function},
		{"locationTable", p->functions_put, p->functions.count, profile_location},
		{"linkTable", p->links_put, p->links.count, profile_link_entry},
		{"attributeTable", p->classes_put, p->class_count + 1ull, profile_class},
		{"stackTable", p->stacks_put, p->stacks.count, profile_stack_entry},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && r >= 0; i++)
		r = profile_table(p, to, tables[i].name, tables[i].put, tables[i].count,
				  tables[i].entry);
	return r < 0 ? r : profiles_put_strings(p, to); /* after all strings are known */
}

/* ---- profiles ---- */

static int profiles_put_sample(json_t *samples, const struct profile_sample *s,
			       enum profile_value v)
{
	json_t *o = json_pack("{s:I,s:[I],s:[o]}", "stackIndex", (json_int_t)s->stack,
			      "attributeIndices", (json_int_t)s->attribute, "values",
			      profile_number(s->values[v]));

	if (o && s->link && json_object_set_new(o, "linkIndex", json_integer(s->link)) < 0) {
		json_decref(o);
		return -ENOMEM;
	}
	return json_array_append_new(samples, o);
}

/* A profile of the samples [from, to), all of one process. A profile without values is omitted. */
static int profiles_put_profile(struct profiling *p, json_t *profiles, size_t from, size_t to,
				enum profile_value v)
{
	_cleanup_json_ json_t *samples = json_array();
	json_t *type, *unit;
	int r = samples ? 0 : -ENOMEM;

	for (size_t i = from; i < to && r >= 0; i++) {
		if (p->samples[i].values[v])
			r = profiles_put_sample(samples, &p->samples[i], v);
	}
	if (r < 0 || !json_array_size(samples))
		return r;
	p->stats->samples += json_array_size(samples);
	type = profile_string(p, bytes_of(profile_types[v][0]));
	unit = profile_string(p, bytes_of(profile_types[v][1]));
	r = json_array_append_new(profiles,
				  json_pack("{s:{s:o,s:o},s:O,s:o,s:o}", "sampleType",
					    "typeStrindex", type, "unitStrindex", unit, "samples",
					    samples, "timeUnixNano", profile_number(p->time[0]),
					    "durationNano", profile_number(p->time[1])));
	return r < 0 ? -ENOMEM : 0;
}

/* The process as a resource. An unnamed service gets the name that OpenTelemetry's conventions prescribe. */
static json_t *profile_resource(const struct profiling *p, int64_t process_id)
{
	const struct dims_process *d = process_id < 0 ? NULL : dims_process(p->dims, process_id);
	struct bytes name = d ? names_program(p->dims, process_id) : (struct bytes){0};
	_cleanup_buf_ struct buf service = {0};
	_cleanup_json_ json_t *all = json_object();
	json_t *list;
	int r;

	buf_printf(&service, "unknown_service");
	if (name.len)
		buf_printf(&service, ":%.*s", (int)MIN(name.len, (size_t)4096), name.data);
	r = buf_status(&service);
	if (r >= 0)
		r = json_set_some(all, "service.name", json_mended(buf_bytes(&service)));
	if (r >= 0 && d)
		r = json_set_some(all, "process.pid", json_integer(d->pid));
	if (r >= 0 && name.len)
		r = json_set_some(all, "process.executable.name", json_mended(name));
	list = r < 0 ? NULL : otlp_list(all);
	return list ? json_pack("{s:o}", "attributes", list) : NULL;
}

static int sample_order_process(const void *a, const void *b)
{
	const struct profile_sample *x = a, *y = b;
	int r = ORDER(x->process, y->process) ?: ORDER(x->stack, y->stack);

	return r ?: ORDER(x->link, y->link) ?: ORDER(x->attribute, y->attribute);
}

static int profiles_put_resources(struct profiling *p, json_t *list)
{
	int r = 0;

	for (size_t from = 0, to; from < p->count && r >= 0; from = to) {
		uint32_t process = p->samples[from].process;
		json_t *profiles = json_array(), *resource;

		for (to = from; to < p->count && p->samples[to].process == process; to++)
			;
		for (unsigned int v = 0; v < PROFILES && r >= 0; v++)
			r = profiles_put_profile(p, profiles, from, to, v);
		resource = r < 0 ? NULL : profile_resource(p, p->process_ids[process]);
		if (!resource) {
			json_decref(profiles);
			return -ENOMEM;
		}
		r = json_array_append_new(list, json_pack("{s:o,s:[{s:{s:s,s:s},s:o}]}", "resource",
							  resource, "scopeProfiles", "scope",
							  "name", SCHEMA_NAME, "version",
							  WEIR_VERSION, "profiles", profiles));
	}
	return r < 0 ? -ENOMEM : 0;
}

static int profiles_put_request(struct profiling *p, json_t *request)
{
	json_t *resources = json_array(), *dictionary = json_object();
	int r = json_object_set_new(request, "resourceProfiles", resources) < 0 ||
				json_object_set_new(request, "dictionary", dictionary) < 0
			? -ENOMEM
			: 0;

	array_sort(p->samples, p->count, sample_order_process);
	if (r >= 0)
		r = profiles_put_resources(p, resources);
	return r < 0 ? r : profiles_put_dictionary(p, dictionary);
}

static int profiles_put_piece(struct profiling *p)
{
	_cleanup_json_ json_t *request = json_object();
	int r = profiles_put_request(p, request);

	if (r >= 0 && p->opt->protobuf)
		r = proto_write(&p->out, proto_profiles, request);
	else if (r >= 0)
		r = json_write(&p->out, request) < 0 ? -ENOMEM : buf_append(&p->out, "\n", 1);
	if (r < 0)
		return r;
	r = p->opt->flush(p->opt->arg, &p->out);
	return r < 0 ? r : profiling_forget(p);
}

int profiles_write(struct store *s, const struct profiles_options *opt, struct profiles_stats *ret,
		   struct error *err)
{
	_cleanup_(profiling_free) struct profiling p = {.opt = opt, .stats = ret};
	int r;

	*ret = (struct profiles_stats){0};
	r = profiling_read(&p, s, err);
	if (r < 0)
		return r;
	r = p.count || !p.begun ? profiles_put_piece(&p) : 0;
	return r < 0 ? error_errno(err, r, "cannot write the profiles") : 0;
}
