// SPDX-License-Identifier: Apache-2.0
/*
 * group.c: groups rows of a rule to findings. A row is about one file of one process. A problem in five hundred files
 * is reported as one finding about these files, or about the program, instead of five hundred: the finest of the
 * perspectives below is chosen in which few groups explain most of the cost.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diagnose/diagnose.h"
#include "base/amount.h"
#include "base/array.h"
#include "names/names.h"

#define GROUPS_SHOWN   3   /* maximum number of findings per rule */
#define GROUPS_EXPLAIN 0.8 /* fraction of the rule's cost that they must explain */

enum perspective {
	/*
	 * the processes of a program on one machine, of which each does the same with one file, or with files whose names
	 * have one pattern, by threads of one name, to one peer: several findings would differ in a number only
	 */
	BY_ALIKE,
	BY_PROGRAM_FILE, /* the same, whatever thread, peer and machine */
	BY_PROCESS,	 /* all files of a process */
	BY_PROGRAM,
	PERSPECTIVES
};

struct group {
	size_t first, count; /* range of its rows in `order` */
	int64_t cost;
};

struct grouping {
	const struct diagnose_rows *rows;
	struct intern texts;
	uint32_t (*keys)[PERSPECTIVES]; /* [row] */
	size_t *order;			/* rows, sorted by group, the most expensive first */
	struct group *groups;
	size_t group_count;
};

static void grouping_free(struct grouping *g)
{
	intern_free(&g->texts);
	free(g->keys);
	free(g->order);
	free(g->groups);
}

/* The weight of a row: time if the rule provides it, otherwise bytes, otherwise calls. */
static int64_t group_cost(const struct diagnose_row *row)
{
	static const enum diagnose_number numbers[] = {DIAGNOSE_TIME, DIAGNOSE_BYTES,
						       DIAGNOSE_CALLS};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (row->number[numbers[i]] != DIAGNOSE_NULL)
			return MAX(row->number[numbers[i]], 0);
	}
	return 0;
}

/* ---- keys ---- */

static struct bytes finding_peer(const struct dims_file *peer)
{
	return dims_peer(peer).len ? dims_peer(peer) : peer->path;
}

static int group_put_name(struct buf *out, struct bytes name, bool as_pattern)
{
	bool changed;
	int r = as_pattern ? names_pattern(name, out, &changed)
			   : buf_append(out, name.data, name.len);

	return r < 0 ? r : buf_append(out, "\n", 1);
}

/* The row's machine, thread and peer, with # for numbers. */
static int group_put_who(struct buf *out, const struct dims *d, const struct diagnose_row *row)
{
	const int64_t *id = row->id;
	const struct dims_thread *t =
		id[DIAGNOSE_THREAD] >= 0 ? dims_thread(d, id[DIAGNOSE_THREAD]) : NULL;
	int64_t known = id[DIAGNOSE_PROCESS] >= 0 ? id[DIAGNOSE_PROCESS] : id[DIAGNOSE_THREAD];
	struct dims_file room;
	const struct dims_file *peer =
		id[DIAGNOSE_PEER] >= 0 ? dims_file(d, id[DIAGNOSE_PEER], &room) : NULL;
	int r = 0;

	if (known >= 0)
		r = buf_printf(out, "%lld\n", (long long)dims_machine(d, known));
	if (r >= 0 && t)
		r = group_put_name(out, t->comm, true);
	if (r >= 0 && peer)
		r = group_put_name(out, finding_peer(peer), false);
	return r;
}

static int group_key(struct grouping *g, const struct dims *d, const struct diagnose_row *row,
		     enum perspective p, struct buf *scratch, uint32_t *ret)
{
	int r = 0;

	buf_clear(scratch);
	if (p == BY_PROCESS)
		r = buf_printf(scratch, "%lld ", (long long)row->id[DIAGNOSE_PROCESS]);
	else if (row->id[DIAGNOSE_PROCESS] >= 0)
		r = group_put_name(scratch, names_program(d, row->id[DIAGNOSE_PROCESS]), false);
	if (r >= 0 && p == BY_ALIKE)
		r = group_put_who(scratch, d, row);
	if (r >= 0 && (p == BY_ALIKE || p == BY_PROGRAM_FILE)) {
		if (row->pattern.len)
			r = buf_append(scratch, row->pattern.data, row->pattern.len);
		else if (row->id[DIAGNOSE_FILE] >= 0)
			r = group_put_name(scratch, dims_file_name(d, row->id[DIAGNOSE_FILE]),
					   true);
	}
	return r < 0 ? r : intern_add(&g->texts, scratch->data, scratch->len, ret);
}

static int group_make_keys(struct grouping *g, const struct dims *d)
{
	_cleanup_buf_ struct buf scratch = {0};
	size_t n = g->rows->count;

	g->keys = calloc(n, sizeof(*g->keys));
	g->order = calloc(n, sizeof(*g->order));
	g->groups = calloc(n, sizeof(*g->groups));
	if (!g->keys || !g->order || !g->groups)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		for (unsigned int p = 0; p < PERSPECTIVES; p++) {
			int r = group_key(g, d, &g->rows->items[i], p, &scratch, &g->keys[i][p]);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* ---- groups ---- */

struct group_sort {
	const struct grouping *g;
	enum perspective by;
};

static int group_compare_rows(const void *a, const void *b, void *arg)
{
	const struct group_sort *s = arg;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	uint32_t kx = s->g->keys[x][s->by], ky = s->g->keys[y][s->by];
	int64_t cx = group_cost(&s->g->rows->items[x]), cy = group_cost(&s->g->rows->items[y]);

	return ORDER(kx, ky) ?: ORDER(cy, cx) ?: ORDER(x, y);
}

static int group_compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return ORDER(y->cost, x->cost) ?: ORDER(x->first, y->first);
}

static void group_gather(struct grouping *g, enum perspective by)
{
	size_t n = g->rows->count;

	for (size_t i = 0; i < n; i++)
		g->order[i] = i;
	array_sort_by(g->order, n, group_compare_rows, &(struct group_sort){g, by});
	g->group_count = 0;
	for (size_t i = 0; i < n; i++) {
		bool same = i && g->keys[g->order[i]][by] == g->keys[g->order[i - 1]][by];
		struct group *last;

		if (!same)
			g->groups[g->group_count++] = (struct group){.first = i};
		last = &g->groups[g->group_count - 1];
		last->count++;
		last->cost += group_cost(&g->rows->items[g->order[i]]);
	}
	array_sort(g->groups, g->group_count, group_compare);
}

/* True if the first groups explain enough of the cost. */
static bool group_explains(const struct grouping *g)
{
	double all = 0, shown = 0;

	for (size_t i = 0; i < g->group_count; i++) {
		all += (double)g->groups[i].cost;
		shown += i < GROUPS_SHOWN ? (double)g->groups[i].cost : 0;
	}
	return g->group_count <= GROUPS_SHOWN || shown >= GROUPS_EXPLAIN * all;
}

/* ---- a finding ---- */

/* Sets the sums of the group; other values are those of its most expensive row. */
static void finding_sum(struct finding *f, const struct grouping *g, const struct group *group)
{
	f->row = g->rows->items[g->order[group->first]];
	f->rows = group->count;
	for (size_t i = 1; i < group->count; i++) {
		const struct diagnose_row *row = &g->rows->items[g->order[group->first + i]];
		int64_t *to = f->row.number;

		for (unsigned int k = DIAGNOSE_CALLS; k <= DIAGNOSE_TIME; k++) {
			if (row->number[k] != DIAGNOSE_NULL)
				to[k] = to[k] == DIAGNOSE_NULL ? row->number[k]
							       : to[k] + row->number[k];
		}
		if (row->number[DIAGNOSE_FIRST] != DIAGNOSE_NULL)
			to[DIAGNOSE_FIRST] = MIN(to[DIAGNOSE_FIRST], row->number[DIAGNOSE_FIRST]);
		to[DIAGNOSE_LAST] = MAX(to[DIAGNOSE_LAST], row->number[DIAGNOSE_LAST]);
		f->row.inexact |= row->inexact;
	}
}

/* Counts distinct ids in the group's rows. */
static int finding_count(const struct grouping *g, const struct group *group, enum diagnose_id id,
			 size_t *ret)
{
	struct map seen = {0};
	int r = 0;

	for (size_t i = 0; i < group->count && r >= 0; i++) {
		int64_t v = g->rows->items[g->order[group->first + i]].id[id];

		if (v >= 0)
			r = map_set(&seen, (uint64_t)v, 1);
	}
	*ret = seen.count;
	map_free(&seen);
	return r;
}

static int finding_put_bytes(struct buf *out, struct bytes text)
{
	return buf_append(out, text.data, text.len);
}

/* Several rows of different processes, or one whose column `who` counts them. */
static bool finding_is_of_several(const struct finding *f)
{
	bool several = f->processes > 1;

	for (size_t i = 0; i < f->row.extra_count; i++)
		several |= !strcmp(f->row.extra[i].name, "who") &&
			   f->row.extra[i].kind != SENTENCE_NULL && f->row.extra[i].number > 1;
	return several;
}

static int finding_name(struct finding *f, const struct dims *d)
{
	const int64_t *id = f->row.id;
	const struct dims_thread *t =
		id[DIAGNOSE_THREAD] >= 0 ? dims_thread(d, id[DIAGNOSE_THREAD]) : NULL;
	const struct dims_process *p;
	struct dims_file room;
	const struct dims_file *peer =
		id[DIAGNOSE_PEER] >= 0 ? dims_file(d, id[DIAGNOSE_PEER], &room) : NULL;
	bool changed;
	int r = 0;

	if (id[DIAGNOSE_PROCESS] < 0 && t)
		f->row.id[DIAGNOSE_PROCESS] = t->process_id;
	p = id[DIAGNOSE_PROCESS] >= 0 ? dims_process(d, id[DIAGNOSE_PROCESS]) : NULL;
	f->pid = p ? p->pid : -1;
	f->tid = t ? t->tid : -1;
	if (id[DIAGNOSE_PROCESS] >= 0)
		r = finding_put_bytes(&f->process, names_program(d, id[DIAGNOSE_PROCESS]));
	if (r >= 0 && t)
		r = finding_put_bytes(&f->thread, t->comm);
	if (r >= 0 && id[DIAGNOSE_FILE] >= 0)
		r = finding_put_bytes(&f->path, dims_file_name(d, id[DIAGNOSE_FILE]));
	if (r >= 0 && peer)
		r = finding_put_bytes(&f->peer, finding_peer(peer));
	if (r >= 0 && p && finding_is_of_several(f))
		r = finding_put_bytes(&f->exe, p->exe);
	if (r < 0)
		return r;
	return f->row.pattern.len ? finding_put_bytes(&f->pattern, f->row.pattern)
				  : names_pattern(buf_bytes(&f->path), &f->pattern, &changed);
}

/* ---- its texts ---- */

#define FINDING_VALUES (DIAGNOSE_EXTRA_MAX + 26)

static struct sentence_value finding_text_value(const char *name, const struct buf *b)
{
	return (struct sentence_value){.name = name,
				       .kind = b->len ? SENTENCE_TEXT : SENTENCE_NULL,
				       .text = {b->data, b->len}};
}

static struct sentence_value finding_number_value(const char *name, int64_t v,
						  enum sentence_kind kind)
{
	return (struct sentence_value){
		.name = name, .kind = v == DIAGNOSE_NULL ? SENTENCE_NULL : kind, .number = v};
}

/* "/tmp/spill.#" as a glob of the language: /tmp/spill.* */
static int finding_put_glob(struct buf *out, const struct buf *pattern)
{
	for (size_t i = 0; i < pattern->len; i++) {
		char c = ((const char *)pattern->data)[i];

		if (c != '#' && strchr("*?[\\", c))
			buf_append(out, "\\", 1);
		buf_append(out, c == '#' ? "*" : &c, 1);
	}
	return buf_status(out);
}

/* -1: none. */
static struct sentence_value finding_id_value(const char *name, int64_t id)
{
	return finding_number_value(name, id < 0 ? DIAGNOSE_NULL : id, SENTENCE_PLAIN);
}

/* Relative to the first call of the trace. */
static struct sentence_value finding_time_value(const struct diagnose_context *c, const char *name,
						int64_t at)
{
	return finding_number_value(
		name, at == DIAGNOSE_NULL ? DIAGNOSE_NULL : MAX(at - c->run->first, (int64_t)0),
		SENTENCE_DUR);
}

/* Conditions of the language that select the calls of a finding, whose processes and files may be several. */
struct finding_where {
	struct buf glob, actor, place;
};

static void finding_where_free(struct finding_where *w)
{
	buf_free(&w->glob);
	buf_free(&w->actor);
	buf_free(&w->place);
}

static int finding_where(const struct finding *f, struct finding_where *ret)
{
	int r = finding_put_glob(&ret->glob, &f->pattern);

	if (r >= 0 && f->exe.len) {
		buf_append(&ret->actor, "exe == ", 7);
		r = sentence_put_quoted(&ret->actor, buf_bytes(&f->exe));
	} else if (r >= 0) {
		r = buf_printf(&ret->actor, "pid == %lld", (long long)f->pid);
	}
	if (r < 0)
		return r;
	if (f->files > 1) {
		buf_append(&ret->place, "file ~ ", 7);
		return sentence_put_quoted(&ret->place, buf_bytes(&ret->glob));
	}
	buf_append(&ret->place, "file == ", 8);
	return sentence_put_quoted(&ret->place, buf_bytes(&f->path));
}

/* `n`: numbers of the finding, or of one of its rows. */
static size_t finding_values(const struct diagnose_context *c, const struct finding *f,
			     const int64_t *n, const struct finding_where *where,
			     struct sentence_value *to)
{
	size_t count = 0;

	to[count++] = finding_text_value("file", &f->path);
	to[count++] = finding_text_value("pattern", &f->pattern);
	to[count++] = finding_text_value("glob", &where->glob);
	to[count++] = finding_text_value("actor", &where->actor);
	to[count++] = finding_text_value("place", &where->place);
	to[count++] = finding_text_value("peer", &f->peer);
	to[count++] = finding_text_value("process", &f->process);
	to[count++] = finding_text_value("thread", &f->thread);
	to[count++] = finding_id_value("pid", f->pid);
	to[count++] = finding_id_value("tid", f->tid);
	to[count++] = finding_id_value("process_id", f->row.id[DIAGNOSE_PROCESS]);
	to[count++] = finding_id_value("thread_id", f->row.id[DIAGNOSE_THREAD]);
	to[count++] = finding_id_value("file_id", f->row.id[DIAGNOSE_FILE]);
	to[count++] = finding_number_value("calls", n[DIAGNOSE_CALLS], SENTENCE_COUNT);
	to[count++] = finding_number_value("bytes", n[DIAGNOSE_BYTES], SENTENCE_SIZE);
	to[count++] = finding_number_value("time", n[DIAGNOSE_TIME], SENTENCE_DUR);
	to[count++] = finding_number_value("pos", n[DIAGNOSE_POS], SENTENCE_COUNT);
	to[count++] = finding_number_value("stop_pos", n[DIAGNOSE_STOP_POS], SENTENCE_COUNT);
	to[count++] = finding_number_value("files", (int64_t)f->files, SENTENCE_COUNT);
	to[count++] = finding_number_value("processes", (int64_t)f->processes, SENTENCE_COUNT);
	to[count++] = finding_number_value("cases", (int64_t)f->rows, SENTENCE_COUNT);
	to[count++] = finding_time_value(c, "start", n[DIAGNOSE_FIRST]);
	to[count++] = finding_time_value(c, "stop", n[DIAGNOSE_LAST]);
	to[count++] = finding_number_value("span", c->run->last - c->run->first, SENTENCE_DUR);
	for (size_t i = 0; i < f->row.extra_count; i++)
		to[count++] = f->row.extra[i];
	assert(count <= FINDING_VALUES);
	return count;
}

static int finding_fill(const struct diagnose_context *c, const struct finding *f, const char *form,
			const struct sentence_value *values, size_t count, struct buf *out,
			struct error *err)
{
	const char *unknown = "";
	size_t len = 0;
	int r = form ? sentence_fill(out, form, values, count, store_dims(c->run->store), &unknown,
				     &len)
		     : 0;

	if (r == -EINVAL)
		return error_set(err, r,
				 "rule %s (%s): %.*s is not a column of its query, or cannot be "
				 "shown in this form",
				 f->rule->name, f->rule->file, (int)MIN(len, (size_t)64), unknown);
	return r < 0 ? error_errno(err, r, "rule %s", f->rule->name) : 0;
}

/* Sets the machine that a finding is about, if the traces are of several, and names it in the evidence. */
static int finding_put_host(const struct diagnose_context *c, struct finding *f)
{
	const struct dims *d = store_dims(c->run->store);
	static const enum table_id tables[DIAGNOSE_IDS] = {
		[DIAGNOSE_PROCESS] = TABLE_PROCESS,
		[DIAGNOSE_THREAD] = TABLE_THREAD,
		[DIAGNOSE_FILE] = TABLE_FILE,
		[DIAGNOSE_PEER] = TABLE_FILE,
	};
	struct bytes name = {NULL, 0};
	bool several = names_hosts(d) > 1;
	int r;

	for (size_t i = 0; i < DIAGNOSE_IDS && several && !name.data; i++)
		name = names_host(d, tables[i], f->row.id[i]);
	/* a group of several processes may be of several machines */
	if (!name.data || (f->rows > 1 && f->processes != 1))
		return 0;
	r = buf_append(&f->host, name.data, name.len);
	return r < 0 ? r
		     : buf_printf(&f->evidence, "host %s%s", buf_str(&f->host),
				  f->rule->evidence ? ": " : "");
}

/* Fills the sentence, with the number of processes if there are several. */
static int finding_put_sentence(const struct diagnose_context *c, struct finding *f,
				const struct sentence_value *values, size_t count,
				struct error *err)
{
	const char *many = f->rule->many;
	/* several processes, or threads, with the same file: a sentence about files does not fit */
	bool one_file = many && f->files == 1 && strstr(many, "{files}");
	bool several = f->rows > 1 && many && !one_file;
	const char *form = several ? many : f->rule->sentence;
	int r = finding_fill(c, f, form, values, count, &f->sentence, err);

	if (r < 0)
		return r;
	if (f->rows > 1 && !many && f->rows != f->processes)
		return buf_printf(&f->sentence, ", and %zu more like it", f->rows - 1);
	return f->processes > 1 && !strstr(form, "{processes}")
		       ? buf_printf(&f->sentence, " (%zu processes)", f->processes)
		       : 0;
}

/* Fills the evidence, which is that of the largest row; `largest`: its numbers. */
static int finding_put_evidence(const struct diagnose_context *c, struct finding *f,
				const int64_t *largest, const struct finding_where *where,
				struct error *err)
{
	struct sentence_value values[FINDING_VALUES];
	size_t count = finding_values(c, f, largest, where, values);
	int r = finding_put_host(c, f);

	if (r >= 0 && f->processes > 1 && f->rule->evidence)
		r = buf_printf(&f->evidence, "the largest: ");
	if (r >= 0)
		r = finding_fill(c, f, f->rule->evidence, values, count, &f->evidence, err);
	if (r >= 0 && f->summed > f->row.number[DIAGNOSE_TIME])
		r = buf_printf(&f->evidence, "%s%s summed over concurrent calls",
			       f->evidence.len ? "; " : "", format_dur(f->summed).s);
	return r;
}

static int finding_write(const struct diagnose_context *c, struct finding *f,
			 const int64_t *largest, struct error *err)
{
	_cleanup_(finding_where_free) struct finding_where where = {0};
	struct sentence_value values[FINDING_VALUES];
	int r = finding_where(f, &where);
	size_t count = finding_values(c, f, f->row.number, &where, values);

	if (r >= 0)
		r = finding_put_sentence(c, f, values, count, err);
	if (r >= 0)
		r = finding_put_evidence(c, f, largest, &where, err);
	if (r >= 0)
		r = finding_fill(c, f, f->rule->change, values, count, &f->change, err);
	if (r >= 0)
		r = finding_fill(c, f, f->rule->show, values, count, &f->show, err);
	return r < 0 ? error_errno(err, r, "rule %s", f->rule->name) : 0;
}

static const char *finding_sure(const struct diagnose_context *c, const struct finding *f)
{
	bool calls = c->run->lost || c->run->lost_unknown,
	     lost = calls || diagnose_lost_needs(c->out, f->rule);

	if (lost && f->rule->loss == RULE_LOSS_WRONG)
		return calls ? "calls were lost: one of them could change this"
			     : "rows of other tables were lost: one of them could change this";
	if (f->row.inexact && f->rule->loss == RULE_LOSS_WRONG)
		return "there were too many ranges to keep: this may be inexact";
	if (lost || f->row.inexact)
		return "at least";
	return "yes";
}

/*
 * Sets what the finding costs, and its share of the time that work was blocked. Both sums count each of several
 * concurrent calls. The cost is at most the time that passed, as no more can be saved.
 */
static void finding_set_cost(const struct diagnose_context *c, struct finding *f)
{
	int64_t *n = f->row.number;
	int64_t first = n[DIAGNOSE_FIRST] != DIAGNOSE_NULL ? n[DIAGNOSE_FIRST] : c->run->first;
	int64_t last = n[DIAGNOSE_LAST] != DIAGNOSE_NULL ? n[DIAGNOSE_LAST] : c->run->last;

	f->summed = n[DIAGNOSE_TIME];
	f->share = (double)NAN;
	if (f->summed == DIAGNOSE_NULL)
		return;
	if (!f->row.elapsed && c->out->work_time > 0)
		f->share = (double)f->summed / (double)c->out->work_time;
	if (last > first)
		n[DIAGNOSE_TIME] = MIN(f->summed, last - first);
}

static int finding_add(const struct diagnose_context *c, const struct rule *rule,
		       const struct grouping *g, const struct group *group, struct error *err)
{
	struct diagnosis *out = c->out;
	struct finding *f;
	int r;

	if (grow((void **)&out->findings, &out->cap, out->count + 1, sizeof(*out->findings)) < 0)
		return -ENOMEM;
	f = &out->findings[out->count++];
	*f = (struct finding){.rule = rule};
	finding_sum(f, g, group);
	r = finding_count(g, group, DIAGNOSE_FILE, &f->files);
	if (r >= 0)
		r = finding_count(g, group, DIAGNOSE_PROCESS, &f->processes);
	if (r >= 0)
		r = finding_name(f, store_dims(c->run->store));
	if (r < 0)
		return r;
	finding_set_cost(c, f);
	f->sure = finding_sure(c, f);
	r = finding_write(c, f, g->rows->items[g->order[group->first]].number, err);
	/* extra values belong to the rows, which are freed */
	f->row.extra_count = 0;
	f->row.pattern = (struct bytes){NULL, 0};
	return r;
}

/* Counts the further, less expensive groups of the rule. */
static int finding_add_others(struct finding *f, size_t others)
{
	f->others = others;
	return buf_printf(&f->evidence, "%sand %zu smaller case%s found by this rule",
			  f->evidence.len ? "; " : "", others, others == 1 ? "" : "s");
}

/* Checks placeholders immediately, not only when a trace has the problem. */
static int group_check_texts(const struct diagnose_context *c, const struct rule *rule,
			     const struct diagnose_rows *rows, struct error *err)
{
	struct finding f = {.rule = rule, .rows = 1};
	struct buf *const texts[] = {&f.path, &f.pattern, &f.peer, &f.process, &f.thread};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts) && r >= 0; i++)
		r = buf_append(texts[i], "x", 1);
	for (unsigned int i = 0; i < DIAGNOSE_NUMBERS; i++)
		f.row.number[i] = 1;
	f.row.extra_count = rows->name_count;
	for (size_t i = 0; i < rows->name_count; i++)
		f.row.extra[i] = (struct sentence_value){
			.name = rows->names[i],
			.kind = rows->is_text[i] ? SENTENCE_TEXT : SENTENCE_COUNT,
		};
	if (r >= 0)
		r = finding_write(c, &f, f.row.number, err);
	f.rows = 2;
	if (r >= 0)
		r = finding_write(c, &f, f.row.number, err);
	finding_free(&f);
	return r;
}

/* The engine returns rows in an order that changes from run to run; of equally expensive ones the first is shown. */
static int group_row_order(const void *a, const void *b)
{
	const struct diagnose_row *x = a, *y = b;
	int r = ORDER(x->number[DIAGNOSE_FIRST], y->number[DIAGNOSE_FIRST]);

	for (unsigned int i = 0; i < DIAGNOSE_IDS && !r; i++)
		r = ORDER(x->id[i], y->id[i]);
	for (unsigned int i = 0; i < DIAGNOSE_NUMBERS && !r; i++)
		r = ORDER(x->number[i], y->number[i]);
	return r;
}

int diagnose_group(const struct diagnose_context *c, const struct rule *rule,
		   struct diagnose_rows *rows, struct error *err)
{
	_cleanup_(grouping_free) struct grouping g = {.rows = rows};
	int r;

	r = group_check_texts(c, rule, rows, err);
	if (r < 0 || !rows->count)
		return r;
	array_sort(rows->items, rows->count, group_row_order);
	r = group_make_keys(&g, store_dims(c->run->store));
	for (unsigned int by = 0; by < PERSPECTIVES && r >= 0; by++) {
		group_gather(&g, by);
		if (group_explains(&g))
			break;
	}
	for (size_t i = 0; i < MIN(g.group_count, (size_t)GROUPS_SHOWN) && r >= 0; i++)
		r = finding_add(c, rule, &g, &g.groups[i], err);
	if (r >= 0 && g.group_count > GROUPS_SHOWN)
		r = finding_add_others(&c->out->findings[c->out->count - 1],
				       g.group_count - GROUPS_SHOWN);
	return r < 0 ? error_errno(err, r, "rule %s", rule->name) : 0;
}
