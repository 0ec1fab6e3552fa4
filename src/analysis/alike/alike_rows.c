// SPDX-License-Identifier: Apache-2.0
/* alike_rows.c: tables of equal and similar data, and of reads by epoch. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/alike/alike.h"
#include "base/array.h"
#include "names/names.h"
#include "schema/ops.h"

#define ROWS_MOST  10000  /* of --similar */
#define DRAWN_MOST 200000 /* members and reads, unless the user gives a number */
#define STOP_EVERY 1024
#define ASKED_MOST 1000 /* kinds that --similar may select */

/* Location columns, which follow the specific columns in every table of calls. */
#define PLACE_COLUMNS                                                                              \
	{"host", {QUERY_TEXT}, .gives = 8}, {"process", {QUERY_TEXT}, .fixed = true},              \
		{"call", {QUERY_TEXT}}, {"way", {QUERY_TEXT}, .gives = 6}, {"file", {QUERY_TEXT}}, \
		{"pos", {QUERY_SIZE}, .gives = 4}, {"bytes", {QUERY_SIZE}},                        \
		{"calls", {QUERY_INT}, ANSWER_COUNT, .gives = 7}, {"at", {QUERY_TIME}},            \
	{                                                                                          \
		"op",                                                                              \
		{                                                                                  \
			QUERY_INT                                                                  \
		}                                                                                  \
	}

static const struct answer_column similar_columns[] = {
	{"data", {QUERY_TEXT}, .fixed = true},
	{"similarity", {QUERY_FLOAT}, ANSWER_SHARE},
	{"estimate", {QUERY_FLOAT}, ANSWER_SHARE},
	{"of_op", {QUERY_INT}, .gives = 9},
	PLACE_COLUMNS,
};

static const struct answer_column group_columns[] = {
	{"group", {QUERY_INT}},
	{"data", {QUERY_TEXT}, .fixed = true},
	{"similarity", {QUERY_FLOAT}, ANSWER_SHARE},
	{"members", {QUERY_INT}, ANSWER_COUNT},
	{"kinds", {QUERY_INT}, ANSWER_COUNT, .gives = 5},
	{"bytes", {QUERY_SIZE}},
	{"files", {QUERY_INT}, ANSWER_COUNT},
	{"file", {QUERY_TEXT}},
	{"first", {QUERY_TIME}},
	{"last", {QUERY_TIME}, .gives = 6},
};

static const struct answer_column member_columns[] = {
	{"group", {QUERY_INT}},
	{"kind", {QUERY_INT}},
	PLACE_COLUMNS,
};

static const struct answer_column link_columns[] = {
	{"a", {QUERY_INT}},
	{"b", {QUERY_INT}},
	{"similarity", {QUERY_FLOAT}, ANSWER_SHARE},
	{"estimate", {QUERY_FLOAT}, ANSWER_SHARE},
};

static const struct answer_column epoch_columns[] = {
	{"epoch", {QUERY_INT}},
	{"reads", {QUERY_INT}, ANSWER_COUNT},
	{"bytes", {QUERY_SIZE}},
	{"first", {QUERY_TIME}},
	{"last", {QUERY_TIME}},
	{"common", {QUERY_INT}, ANSWER_COUNT},
	{"order", {QUERY_TEXT}},
	{"tau", {QUERY_FLOAT}, ANSWER_MEAN},
	{"neighbours", {QUERY_FLOAT}, ANSWER_SHARE},
};

static const struct answer_column read_columns[] = {
	{"epoch", {QUERY_INT}},
	{"place", {QUERY_INT}},
	{"data", {QUERY_INT}},
	PLACE_COLUMNS,
};

/* ---- locations ---- */

static void put_host(struct answer_list *t, const struct alike *a, int64_t process_id)
{
	const struct dims_process *p = dims_process(a->dims, process_id);
	const struct dims_host *h = p ? dims_host(a->dims, p->host_id) : NULL;

	answer_list_some(t, h && h->name.len ? h->name : (struct bytes){0});
}

static int put_call(struct answer_list *t, const struct alike *a, const struct alike_call *c,
		    int64_t bytes, int64_t calls)
{
	int64_t process_id = names_process_of(a->dims, alike_thread_id(a, c));
	_cleanup_buf_ struct buf who = {0};
	char room[32];
	int r = names_process(a->dims, process_id, &who);

	put_host(t, a, process_id);
	answer_list_text(t, buf_bytes(&who));
	answer_list_str(t, op_name(c->op, room));
	answer_list_str(t, vocab_word("way", c->way));
	answer_list_some(t, c->file != ALIKE_NONE ? dims_file_name(a->dims, alike_file_id(a, c))
						  : (struct bytes){0});
	answer_list_if(t, c->pos >= 0 && a->unit == ALIKE_CALLS, c->pos);
	answer_list_int(t, bytes);
	answer_list_int(t, calls);
	answer_list_int(t, c->start);
	answer_list_known(t, c->row_id);
	return r;
}

/* Adds a member: a call, or a file by its first call. */
static int put_alike_member(struct answer_list *t, const struct alike *a, uint32_t call)
{
	const struct alike_call *c = &a->calls[call];
	const struct alike_kind *k = &a->kinds[c->kind];

	return a->unit == ALIKE_FILES ? put_call(t, a, c, k->bytes, k->calls)
				      : put_call(t, a, c, (int64_t)c->bytes, 1);
}

/* True if the call represents a member. */
static bool is_member(const struct alike *a, uint32_t call)
{
	uint32_t kind = a->calls[call].kind;

	return kind != ALIKE_NONE && (a->unit == ALIKE_CALLS || a->kinds[kind].first == call);
}

/* ---- --similar ---- */

struct alike_match {
	uint32_t kind;
	uint32_t of; /* the selected kind */
	double exact, estimate;
};

static int match_compare(const void *a, const void *b)
{
	const struct alike_match *x = a, *y = b;

	return ORDER(y->exact, x->exact) ?: ORDER(x->kind, y->kind);
}

/* The kinds of the selected calls, mapped to the first such call. */
static int similar_asked(const struct alike *a, const struct map *of, struct map *ret)
{
	int r = 0;

	for (size_t i = 0; i < a->call_count && r >= 0; i++) {
		if (a->calls[i].kind == ALIKE_NONE ||
		    !map_get(of, (uint64_t)a->calls[i].row_id, NULL) ||
		    map_get(ret, a->calls[i].kind, NULL))
			continue;
		r = ret->count < ASKED_MOST ? map_set(ret, a->calls[i].kind, i) : -E2BIG;
	}
	return r < 0 || ret->count ? r : -ENODATA;
}

/* The similarity of a kind to the nearest of the selected ones. */
static bool similar_match(struct alike *a, uint32_t kind, const struct map *asked, double least,
			  struct alike_match *ret)
{
	size_t pos = 0;
	uint64_t of, call;

	*ret = (struct alike_match){.kind = kind, .exact = -1};
	if (map_get(asked, kind, NULL)) {
		*ret = (struct alike_match){kind, kind, 1, 1};
		return true;
	}
	while (map_next(asked, &pos, &of, &call)) {
		double estimate, exact;

		if (!alike_can(a, kind, (uint32_t)of, least))
			continue;
		estimate = alike_estimate(a, kind, (uint32_t)of);
		if (estimate >= 0 && estimate < least - ALIKE_MARGIN)
			continue;
		exact = alike_exact(a, kind, (uint32_t)of);
		a->compared++;
		if (exact > ret->exact)
			*ret = (struct alike_match){kind, (uint32_t)of, exact, estimate};
	}
	return ret->exact >= least;
}

static int similar_matches(struct alike *a, const struct map *asked, double least,
			   struct alike_match **ret, size_t *ret_count)
{
	size_t cap = 0;

	for (size_t i = 0; i < a->kind_count; i++) {
		struct alike_match m;

		if (i % STOP_EVERY == 0 && analysis_stopped(a->in))
			return -EINTR;
		if (!similar_match(a, (uint32_t)i, asked, least, &m))
			continue;
		if (grow((void **)ret, &cap, *ret_count + 1, sizeof(**ret)) < 0)
			return -ENOMEM;
		(*ret)[(*ret_count)++] = m;
	}
	array_sort(*ret, *ret_count, match_compare);
	return 0;
}

/* Links calls by kind: the first call of each kind, and the next one after each call. */
static int calls_by_kind(const struct alike *a, uint32_t **ret_first, uint32_t **ret_next)
{
	*ret_first = malloc((a->kind_count + 1) * sizeof(**ret_first));
	*ret_next = malloc((a->call_count + 1) * sizeof(**ret_next));
	if (!*ret_first || !*ret_next)
		return -ENOMEM;
	memset(*ret_first, 0xff, (a->kind_count + 1) * sizeof(**ret_first));
	for (size_t i = a->call_count; i-- > 0;) {
		if (!is_member(a, (uint32_t)i))
			continue;
		(*ret_next)[i] = (*ret_first)[a->calls[i].kind];
		(*ret_first)[a->calls[i].kind] = (uint32_t)i;
	}
	return 0;
}

static int similar_row(struct answer_list *t, const struct alike *a, const struct alike_match *m,
		       uint32_t call, uint64_t of)
{
	bool equal = a->unit == ALIKE_CALLS && m->kind == m->of;

	answer_list_str(t, call == of	   ? "asked for"
			   : equal	   ? "equal"
			   : m->exact >= 1 ? "same parts"
					   : "similar");
	answer_list_float(t, m->exact);
	answer_list_float(t, m->estimate < 0 ? (double)NAN : m->estimate);
	answer_list_int(t, a->calls[of].row_id);
	return put_alike_member(t, a, call);
}

int alike_put_similar(struct alike *a, const struct map *of, double least,
		      struct analysis_result *out)
{
	struct answer_list *t =
		analysis_table(out, "similar", similar_columns, ARRAY_SIZE(similar_columns));
	_cleanup_(map_free) struct map asked = {0};
	_cleanup_free_ struct alike_match *matches = NULL;
	_cleanup_free_ uint32_t *first = NULL, *next = NULL;
	size_t count = 0, rows = 0;
	int r = similar_asked(a, of, &asked);

	if (r >= 0)
		r = similar_matches(a, &asked, least, &matches, &count);
	if (r >= 0)
		r = calls_by_kind(a, &first, &next);
	for (size_t i = 0; i < count && r >= 0; i++) {
		uint64_t call = 0;

		map_get(&asked, matches[i].of, &call);
		for (uint32_t c = first[matches[i].kind]; c != ALIKE_NONE && r >= 0; c = next[c]) {
			if (rows++ < ROWS_MOST)
				r = similar_row(t, a, &matches[i], c, call);
			else
				a->rows_left_out++;
		}
	}
	return r;
}

/* ---- --groups ---- */

static size_t drawn_most(const struct alike_options *o)
{
	return o->most > 0 ? (size_t)o->most : DRAWN_MOST;
}

struct group_files {
	uint32_t files, file; /* the call whose file is shown */
	int64_t first, last;
};

/* For each file version, the first one of the same file. */
static uint32_t *files_same(const struct alike *a)
{
	uint32_t *same = malloc((a->files.count + 1) * sizeof(*same));
	_cleanup_(map_free) struct map of = {0};

	for (size_t i = 0; same && i < a->files.count; i++) {
		uint64_t inode = (uint64_t)names_inode(a->dims, a->files.all[i]), first = i;

		if (!map_get(&of, inode, &first) && map_set(&of, inode, i) < 0) {
			free(same);
			return NULL;
		}
		same[i] = (uint32_t)first;
	}
	return same;
}

static void group_look(const struct alike *a, struct group_files *g, const uint32_t *same,
		       uint32_t *seen, uint32_t call, uint32_t stamp)
{
	const struct alike_call *c = &a->calls[call];

	g->last = MAX(g->last, alike_call_end(c));
	if (c->file == ALIKE_NONE || seen[same[c->file]] == stamp)
		return;
	seen[same[c->file]] = stamp;
	g->files++;
}

/* The files of the first `most` groups. */
static int groups_look(const struct alike *a, struct group_files *g, size_t most)
{
	_cleanup_free_ uint32_t *first = malloc((most + 1) * sizeof(*first)),
				*next = malloc((a->call_count + 1) * sizeof(*next)),
				*same = files_same(a),
				*seen = calloc(a->files.count + 1, sizeof(*seen));

	if (!first || !next || !same || !seen)
		return -ENOMEM;
	memset(first, 0xff, most * sizeof(*first));
	for (size_t i = a->call_count; i-- > 0;) {
		uint32_t kind = a->calls[i].kind,
			 group = kind == ALIKE_NONE ? ALIKE_NONE : a->kinds[kind].group;

		if (group >= most)
			continue;
		next[i] = first[group];
		first[group] = (uint32_t)i;
	}
	for (uint32_t i = 0; i < most; i++) {
		g[i].file = first[i];
		g[i].first = g[i].last = a->calls[first[i]].start;
		for (uint32_t c = first[i]; c != ALIKE_NONE; c = next[c])
			group_look(a, &g[i], same, seen, c, i + 1);
	}
	return 0;
}

static const char *group_word(const struct alike *a, const struct alike_group *g)
{
	if (a->kinds[g->first].zeros && g->kinds == 1)
		return "zeros";
	if (a->unit == ALIKE_CALLS && g->kinds == 1)
		return "equal";
	return g->least >= 1 ? "same parts" : "similar";
}

static int groups_rows(struct alike *a, struct answer_list *t)
{
	size_t most = MIN(a->group_count, (size_t)DRAWN_MOST);
	_cleanup_free_ struct group_files *files = calloc(most + 1, sizeof(*files));
	int r = files ? groups_look(a, files, most) : -ENOMEM;

	a->rows_left_out += a->group_count - most;
	for (size_t i = 0; i < most && r >= 0; i++) {
		const struct alike_group *g = &a->groups[a->ranked[i]];
		const struct alike_call *c = &a->calls[files[i].file];

		answer_list_uint(t, i + 1);
		answer_list_str(t, group_word(a, g));
		answer_list_float(t, (double)g->least);
		answer_list_uint(t, a->unit == ALIKE_FILES ? g->kinds : g->calls);
		answer_list_int(t, g->kinds);
		answer_list_uint(t, g->bytes);
		answer_list_int(t, files[i].files);
		answer_list_some(t, c->file != ALIKE_NONE
					    ? dims_file_name(a->dims, alike_file_id(a, c))
					    : (struct bytes){0});
		answer_list_int(t, files[i].first);
		answer_list_int(t, files[i].last);
	}
	return r;
}

static int members_rows(const struct alike *a, struct answer_list *t, size_t most)
{
	size_t count = 0, step, n = 0;
	int r = 0;

	for (size_t i = 0; i < a->call_count; i++)
		count +=
			is_member(a, (uint32_t)i) && a->kinds[a->calls[i].kind].group != ALIKE_NONE;
	step = MAX((count + most - 1) / most, (size_t)1);
	for (size_t i = 0; i < a->call_count && r >= 0; i++) {
		const struct alike_kind *k;

		if (!is_member(a, (uint32_t)i))
			continue;
		k = &a->kinds[a->calls[i].kind];
		if (k->group == ALIKE_NONE || n++ % step)
			continue;
		answer_list_int(t, (int64_t)k->group + 1);
		answer_list_int(t, a->calls[i].kind);
		r = put_alike_member(t, a, (uint32_t)i);
	}
	return r;
}

int alike_put_groups(struct alike *a, const struct alike_options *o, struct analysis_result *out)
{
	int r = groups_rows(
		a, analysis_table(out, "groups", group_columns, ARRAY_SIZE(group_columns)));
	struct answer_list *links;

	if (r < 0 || !o->list)
		return r;
	r = members_rows(a,
			 analysis_table(out, "members", member_columns, ARRAY_SIZE(member_columns)),
			 drawn_most(o));
	links = analysis_table(out, "links", link_columns, ARRAY_SIZE(link_columns));
	for (size_t i = 0; i < a->link_count; i++) {
		answer_list_int(links, a->links[i].a);
		answer_list_int(links, a->links[i].b);
		answer_list_float(links, (double)a->links[i].exact);
		answer_list_float(links, (double)a->links[i].estimate);
	}
	return r;
}

/* ---- --order ---- */

static void put_epoch(struct answer_list *t, const struct alike_epoch *e, int64_t number)
{
	answer_list_int(t, number);
	answer_list_uint(t, e->reads);
	answer_list_uint(t, e->bytes);
	answer_list_int(t, e->from);
	answer_list_int(t, e->to);
	answer_list_int(t, e->common);
	answer_list_str(t, e->order);
	answer_list_float(t, e->tau);
	answer_list_float(t, e->neighbours);
}

int alike_put_order(struct alike *a, const struct alike_options *o, struct analysis_result *out)
{
	struct answer_list *epochs = analysis_table(out, "epochs", epoch_columns,
						    ARRAY_SIZE(epoch_columns)),
			   *reads = analysis_table(out, "reads", read_columns,
						   ARRAY_SIZE(read_columns));
	size_t most = drawn_most(o), step = MAX((a->read_count + most - 1) / most, (size_t)1);
	_cleanup_free_ uint32_t *number = malloc((a->kind_count + 1) * sizeof(*number));
	uint32_t numbers = 0;
	size_t epoch = 0;
	int r = number ? 0 : -ENOMEM;

	for (size_t i = 0; i < a->epoch_count; i++)
		put_epoch(epochs, &a->epochs[i], (int64_t)i + 1);
	if (r >= 0)
		memset(number, 0xff, (a->kind_count + 1) * sizeof(*number));
	for (size_t i = 0; i < a->read_count && r >= 0; i++) {
		const struct alike_call *c = &a->calls[a->reads[i]];

		while (i >= a->epochs[epoch].first + a->epochs[epoch].reads)
			epoch++;
		if (number[c->kind] == ALIKE_NONE)
			number[c->kind] = ++numbers;
		if (i % step)
			continue;
		answer_list_uint(reads, epoch + 1);
		answer_list_uint(reads, i - a->epochs[epoch].first + 1);
		answer_list_int(reads, number[c->kind]);
		r = put_call(reads, a, c, (int64_t)c->bytes, 1);
	}
	return r;
}
