/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/stacks/stacks.h"
#include "base/array.h"
#include "schema/vocab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/strpool.h"
#include "symbols/symbols.h"

#define STACKS_UNNAMED	      "[no stack]"
#define STACKS_LINES_LIMIT_NS (60 * (int64_t)NSEC_PER_SEC)

static const char *const weight_words[] = {"time", "bytes", "calls", "errors"};
static_assert(ARRAY_SIZE(weight_words) == STACKS_WEIGHTS, "each weight has its word");

const char *stacks_weight_word(size_t i)
{
	return i < STACKS_WEIGHTS ? weight_words[i] : NULL;
}

static const struct analysis_reads stacks_reads[] = {
	{TABLE_OP, 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_BYTES | 1ull << OP_ERR |
			   1ull << OP_CLASS | 1ull << OP_STACK_ID | 1ull << OP_KSTACK_ID},
	{TABLE_COUNT},
};

static const struct answer_column stacks_columns[] = {
	{"time", {QUERY_DUR}, .weight = true},
	{"calls", {QUERY_INT}, ANSWER_COUNT},
	{"errors", {QUERY_INT}, ANSWER_COUNT, .dash = true},
	{"bytes", {QUERY_SIZE}, .dash = true},
	{"stack", {QUERY_TEXT}},
	{"kernel", {QUERY_TEXT}},
	{"cut", {QUERY_INT}, ANSWER_COUNT, .dash = true, .programs = true},
};

/* ---- sums by ids ---- */

struct pair {
	int64_t user, kernel; /* -1: none */
	uint64_t sums[STACKS_SUMS];
};

struct pairs {
	struct pair *all;
	size_t count, cap;
	struct map index; /* hash of both ids */
};

static void pairs_free(struct pairs *p)
{
	free(p->all);
	map_free(&p->index);
}

static struct pair *stacks_pair(struct pairs *p, int64_t user, int64_t kernel)
{
	const int64_t ids[] = {user, kernel};
	bool is_new;
	struct pair *pair = array_of_key(p->all, p->count, p->cap, &p->index,
					 hash_bytes(ids, sizeof(ids)), &is_new);

	if (pair && is_new)
		*pair = (struct pair){.user = user, .kernel = kernel};
	return pair;
}

static int pairs_take(struct pairs *p, const struct batch *b, size_t row)
{
	struct pair *at = stacks_pair(p, batch_get(b, OP_STACK_ID, row, -1),
				      batch_get(b, OP_KSTACK_ID, row, -1));

	const uint64_t of[STACKS_WEIGHTS] = {
		[STACKS_TIME] = (uint64_t)MAX(batch_get(b, OP_DUR, row, 0), (int64_t)0),
		[STACKS_BYTES] = (uint64_t)MAX(batch_get(b, OP_BYTES, row, 0), (int64_t)0),
		[STACKS_CALLS] = 1,
		[STACKS_ERRORS] = !batch_is_null(b, OP_ERR, row),
	};
	bool waits = batch_get(b, OP_CLASS, row, CLASS_OTHER) == CLASS_WAIT;

	if (!at)
		return -ENOMEM;
	for (int w = 0; w < STACKS_WEIGHTS; w++) {
		at->sums[w] += of[w];
		at->sums[STACKS_WAITING + w] += waits ? of[w] : 0;
	}
	return 0;
}

static int pairs_read(struct pairs *p, const struct analysis_input *in, struct error *err)
{
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	const struct batch *b;
	const uint32_t *rows;
	size_t which;
	ssize_t n;
	int r = analysis_stream(&m, in, &in->runs[0], err);

	while (r >= 0 && (n = engine_merge_next(m, &which, &b, &rows, err)) != 0) {
		if (n < 0)
			return (int)n;
		if (analysis_stopped(in))
			return error_set(err, -EINTR, "interrupted");
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = pairs_take(p, b, rows[i]);
	}
	return r;
}

/* ---- names ---- */

static struct bytes names_of(const struct dims *d, int64_t id, uint64_t *cut)
{
	const struct dims_stack *s = id < 0 ? NULL : dims_stack(d, id);

	*cut = s ? s->cut : 0;
	if (!s)
		return (struct bytes){NULL, 0};
	return s->names.data ? s->names : s->frames;
}

/* Appends the frames of a stack without symbols, on one line. */
static int put_names(struct buf *out, struct bytes names)
{
	size_t from = out->len;

	if (names.len)
		buf_append(out, names.data, names.len);
	while (out->len > from && out->data[out->len - 1] == '\n')
		out->len--;
	for (size_t i = from; i < out->len; i++) {
		if (out->data[i] == '\n')
			out->data[i] = ';';
	}
	return buf_status(out);
}

/* ---- names with lines ---- */

/* Stacks of programs with source lines; empty if lines were not requested. */
struct lined {
	struct symbols_text *texts;
	size_t count, given;
	struct map by_id;    /* stack id -> index */
	struct bytes *names; /* [count] */
	struct strpool pool;
};

static void lined_free(struct lined *l)
{
	free(l->texts);
	free(l->names);
	map_free(&l->by_id);
	strpool_free(&l->pool);
}

static int lined_take(void *arg, size_t stack, struct bytes names)
{
	struct lined *l = arg;

	l->given++;
	return strpool_add(&l->pool, names.data, names.len, &l->names[stack]);
}

static int lined_make(struct lined *l, const struct pairs *p, const struct dims *d,
		      struct error *err)
{
	uint64_t at;
	int r = 0;

	l->texts = calloc(p->count + 1, sizeof(*l->texts));
	l->names = calloc(p->count + 1, sizeof(*l->names));
	if (!l->texts || !l->names)
		return -ENOMEM;
	for (size_t i = 0; i < p->count && r >= 0; i++) {
		int64_t id = p->all[i].user;
		const struct dims_stack *s = id < 0 ? NULL : dims_stack(d, id);

		if (!s || map_get(&l->by_id, (uint64_t)id, &at))
			continue;
		l->texts[l->count] = (struct symbols_text){s->names, s->frames, s->modules};
		r = map_set(&l->by_id, (uint64_t)id, l->count++);
	}
	r = r < 0 ? r : symbols_look_up(l->texts, l->count, STACKS_LINES_LIMIT_NS, lined_take, l);
	if (r == -ETIME)
		return error_set(err, r,
				 "the functions of %zu of %zu stacks were not looked up within %d "
				 "s: select fewer calls, or leave out --lines",
				 l->count - l->given, l->count,
				 (int)(2 * STACKS_LINES_LIMIT_NS / NSEC_PER_SEC));
	return r == -ECHILD
		       ? error_set(err, -EIO,
				   "looking up functions failed at stack %zu of %zu: a program "
				   "file or its "
				   "debug information is damaged; leave out --lines",
				   l->given + 1, l->count)
		       : r;
}

/* ---- sums by names ---- */

/* Stacks with the same names; the one in which calls slept most is shown with them. */
struct group {
	uint32_t names, kernel; /* ids in texts; kernel 0: none */
	uint64_t cut, slept,
		slept_working; /* time of all, and of those that do not wait for work */
	uint64_t sums[STACKS_SUMS];
};

struct groups {
	struct intern texts;
	struct group *all;
	size_t count, cap;
	struct map by_name;
	struct buf room;
};

static void groups_free(struct groups *g)
{
	intern_free(&g->texts);
	free(g->all);
	map_free(&g->by_name);
	buf_free(&g->room);
}

static int groups_text(struct groups *g, struct bytes names, uint32_t *ret)
{
	int r;

	buf_clear(&g->room);
	r = put_names(&g->room, names);
	return r < 0 ? r
		     : intern_add(&g->texts, g->room.data ? g->room.data : (void *)"", g->room.len,
				  ret);
}

/* Groups by the program's functions alone, or also by the kernel's. */
static int groups_add(struct groups *g, const struct dims *d, const struct lined *lined,
		      const struct pair *p, bool kernel)
{
	uint64_t cut, ignored, key, at, working;
	struct bytes user = names_of(d, p->user, &cut), inner = names_of(d, p->kernel, &ignored);
	uint32_t name, where = 0;
	struct group *to;
	int r;

	if (map_get(&lined->by_id, (uint64_t)p->user, &at) && lined->names[at].len)
		user = lined->names[at];
	r = groups_text(g, user, &name);

	if (r >= 0 && inner.len)
		r = groups_text(g, inner, &where);
	if (r < 0)
		return r;
	key = (uint64_t)name << 32 | (kernel ? where : 0);
	to = array_of_key(g->all, g->count, g->cap, &g->by_name, key, NULL);
	if (!to)
		return -ENOMEM;
	to->names = name;
	to->cut |= cut;
	for (int i = 0; i < STACKS_SUMS; i++)
		to->sums[i] += p->sums[i];
	working = p->sums[STACKS_TIME] - p->sums[STACKS_WAITING + STACKS_TIME];
	if (inner.len && (working > to->slept_working ||
			  (working == to->slept_working && p->sums[STACKS_TIME] > to->slept))) {
		to->slept = p->sums[STACKS_TIME];
		to->slept_working = working;
		to->kernel = where;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct stacks_row *x = a, *y = b;
	enum stacks_weight w = *(const enum stacks_weight *)arg;
	int order =
		ORDER(y->sums[w], x->sums[w]) ?: ORDER(y->sums[STACKS_TIME], x->sums[STACKS_TIME]);

	return order ?: bytes_compare(x->names, y->names);
}

static void sums_free(void *own)
{
	struct stacks_sums *s = own;

	if (s->memory)
		groups_free(s->memory);
	free(s->memory);
	free(s->rows);
	free(s);
}

static int sums_fill(struct stacks_sums *s, const struct groups *g)
{
	s->rows = calloc(g->count + 1, sizeof(*s->rows));
	if (!s->rows)
		return -ENOMEM;
	for (size_t i = 0; i < g->count; i++) {
		const struct group *from = &g->all[i];
		struct stacks_row *to = &s->rows[s->count++];

		to->names = intern_get(&g->texts, from->names);
		if (from->slept)
			to->kernel = intern_get(&g->texts, from->kernel);
		to->cut = from->cut;
		memcpy(to->sums, from->sums, sizeof(to->sums));
	}
	array_sort_by(s->rows, s->count, compare_rows, &s->weight);
	return 0;
}

static int sums_make(struct stacks_sums *s, const struct pairs *p, const struct dims *d,
		     const struct lined *lined, bool kernel)
{
	struct groups *g = calloc(1, sizeof(*g));
	int r = 0;

	s->memory = g;
	if (!g)
		return -ENOMEM;
	for (size_t i = 0; i < p->count && r >= 0; i++) {
		bool has = p->all[i].user >= 0;

		for (int w = 0; w < STACKS_SUMS; w++)
			*(has ? &s->with[w] : &s->without[w]) += p->all[i].sums[w];
		if (has)
			r = groups_add(g, d, lined, &p->all[i], kernel);
	}
	return r < 0 ? r : sums_fill(s, g);
}

/* ---- the analysis ---- */

static int stacks_check(const void *options, struct error *err)
{
	const struct stacks_options *o = options;

	for (size_t i = 0; i < STACKS_WEIGHTS; i++) {
		if (!strcmp(weight_words[i], o->weight))
			return 0;
	}
	return error_set(err, -EINVAL, "--weight '%.40s': use time, bytes, calls or errors",
			 o->weight);
}

static void stacks_put_rows(struct answer_list *to, const struct stacks_sums *s, size_t top)
{
	for (size_t i = 0; i < s->count && i < top; i++) {
		const struct stacks_row *row = &s->rows[i];

		answer_list_uint(to, row->sums[STACKS_TIME]);
		answer_list_uint(to, row->sums[STACKS_CALLS]);
		answer_list_uint(to, row->sums[STACKS_ERRORS]);
		answer_list_uint(to, row->sums[STACKS_BYTES]);
		answer_list_text(to, row->names);
		answer_list_some(to, row->kernel);
		answer_list_uint(to, row->cut);
	}
}

static int stacks_run(const struct analysis_input *in, struct analysis_result *out,
		      struct error *err)
{
	const struct stacks_options *o = in->options;
	_cleanup_(pairs_free) struct pairs p = {0};
	_cleanup_(lined_free) struct lined lined = {0};
	struct answer_list *rows =
		analysis_table(out, "stacks", stacks_columns, ARRAY_SIZE(stacks_columns));
	struct stacks_sums *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	out->own = s;
	if (!in->runs[0].store)
		return error_set(err, -ENOTSUP, "stacks are read from trace files");
	r = pairs_read(&p, in, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < STACKS_WEIGHTS; i++) {
		if (!strcmp(weight_words[i], o->weight))
			s->weight = (enum stacks_weight)i;
	}
	s->kernel = o->kernel;
	if (o->lines)
		r = lined_make(&lined, &p, store_dims(in->runs[0].store), err);
	if (r >= 0)
		r = sums_make(s, &p, store_dims(in->runs[0].store), &lined, o->kernel);
	if (r < 0)
		return r;
	stacks_put_rows(rows, s, (size_t)o->top);
	return 0;
}

/* `"with"` and `"without"`: sums over calls with and without a stack. */
static int stacks_put_members(const struct analysis_input *in, const struct analysis_result *r,
			      struct buf *to)
{
	const struct stacks_sums *s = r->own;

	for (int k = 0; k < 2; k++) {
		buf_printf(to, ",\n\"%s\": {", k ? "without" : "with");
		for (int i = 0; i < STACKS_WEIGHTS; i++)
			buf_printf(to, "%s\"%s\": %llu", i ? ", " : "", weight_words[i],
				   (unsigned long long)(k ? s->without[i] : s->with[i]));
		buf_printf(to, "}");
	}
	return buf_status(to);
}

/* Appends names with the suffix by which flamegraph.pl recognizes kernel functions. */
static int put_kernel(struct buf *out, struct bytes names)
{
	size_t from = 0;

	for (size_t i = 0; i <= names.len && names.len; i++) {
		if (i < names.len && names.data[i] != ';')
			continue;
		buf_printf(out, ";%.*s_[k]", (int)(i - from), (const char *)names.data + from);
		from = i + 1;
	}
	return buf_status(out);
}

int stacks_put_folded(const struct stacks_sums *s, struct buf *out)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct stacks_row *row = &s->rows[i];

		if (!row->sums[s->weight])
			continue;
		if (row->names.len)
			buf_append(out, row->names.data, row->names.len);
		else
			buf_printf(out, STACKS_UNNAMED);
		if (s->kernel)
			put_kernel(out, row->kernel);
		buf_printf(out, " %llu\n", (unsigned long long)row->sums[s->weight]);
	}
	return buf_status(out);
}

static const struct option stacks_options_table[] = {
	{0, "weight", OPTION_STRING, "WHAT", "weight of a stack: time, bytes, calls or errors",
	 offsetof(struct stacks_options, weight), .words = stacks_weight_word, .otherwise = "time"},
	{0, "kernel", OPTION_FLAG, NULL,
	 "also distinguish stacks by where in the kernel their calls slept longest",
	 offsetof(struct stacks_options, kernel)},
	{0, "lines", OPTION_FLAG, NULL,
	 "look up functions again, with source lines: in the debug information of this machine or, "
	 "if DEBUGINFOD_URLS is set, of a server",
	 offsetof(struct stacks_options, lines)},
	{0, "folded", OPTION_FLAG, NULL,
	 "print a line for each stack, as flamegraph.pl and speedscope read it: main;load;read "
	 "4711",
	 offsetof(struct stacks_options, folded)},
	{0, "pprof", OPTION_STRING, "FILE", "write a profile for pprof",
	 offsetof(struct stacks_options, pprof)},
	/* STACKS_TOP */
	{0, "top", OPTION_COUNT, "N", "print at most N stacks",
	 offsetof(struct stacks_options, top), .otherwise = "5000"},
	/* for compatibility with report */
	{0, "head", OPTION_COUNT, "N", NULL, offsetof(struct stacks_options, top)},
	{0},
};

static const struct command_example stacks_examples[] = {
	{"weir record --stacks -- make",
	 "record a command, with the stacks of slow and failed calls"},
	{"weir stacks", "where in the program the time of its calls comes from"},
	{"weir stacks --weight bytes -e write,pwrite64", "which functions write most"},
	{"weir stacks --lines -e fsync", "the lines of source that lead to fsync"},
	{"weir stacks --folded | flamegraph.pl > io.svg", "a flame graph, drawn by another tool"},
	{0},
};

const struct analysis analysis_stacks = {
	.files = true,
	.name = "stacks",
	.summary = "show which functions of a program led to its calls",
	.description = "Sums up calls by the stack of functions that led to them, in a trace "
		       "recorded with weir record --stacks; weir report stacks is the same. By "
		       "default stacks are recorded for calls that failed or took 1 ms or longer; "
		       "the others are counted as calls without a stack. `[...]` in a stack stands "
		       "for functions that may be missing: a program or library there keeps no "
		       "frame pointers and could not be unwound.",
	.examples = stacks_examples,
	.order = ANALYSIS_STREAM,
	.reads = stacks_reads,
	.options = stacks_options_table,
	.options_size = sizeof(struct stacks_options),
	.check = stacks_check,
	.run = stacks_run,
	.put_members = stacks_put_members,
	.free = sums_free,
};
