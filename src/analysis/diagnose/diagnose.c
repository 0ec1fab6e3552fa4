// SPDX-License-Identifier: Apache-2.0
/* diagnose.c: the analysis that applies rules to the features of a trace. */
#include "analysis/diagnose/diagnose.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/features/feature_pass.h"
#include "analysis/flow/bytes/flow_table.h"
#include "analysis/spans/span_table.h"
#include "base/array.h"
#include "base/clock.h"

void finding_free(struct finding *f)
{
	struct buf *const texts[] = {&f->path,	 &f->pattern,  &f->peer,     &f->process,
				     &f->thread, &f->sentence, &f->evidence, &f->change,
				     &f->show,	 &f->exe,      &f->host};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		buf_free(texts[i]);
}

void diagnosis_free(struct diagnosis *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->count; i++)
		finding_free(&d->findings[i]);
	free(d->findings);
	for (size_t i = 0; i < d->lack_count; i++)
		buf_free(&d->lacks[i].words);
	free(d->lacks);
	buf_free(&d->with);
	buf_free(&d->lacking);
	buf_free(&d->lost_of);
	rules_free(&d->rules);
	free(d);
}
DEFINE_CLEANUP(struct diagnosis *, diagnosis_free)

/* ---- selection of rules ---- */

static bool diagnose_lists(const struct option_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->items[i], name) == 0)
			return true;
	}
	return false;
}

static int diagnose_check_names(const struct rules *rules, const struct option_list *names,
				const char *option, struct error *err)
{
	for (size_t i = 0; i < names->count; i++) {
		if (!rules_find(rules, names->items[i]))
			return error_set(
				err, -EINVAL,
				"%s %.80s: no such rule; weir diagnose --explain all lists them",
				option, names->items[i]);
	}
	return 0;
}

static int diagnose_load(struct rules *ret, const struct diagnose_flags *f, struct error *err)
{
	int r = rules_load(ret, &f->rules, err);

	if (r < 0)
		return r;
	r = diagnose_check_names(ret, &f->without, "--without", err);
	return r < 0 ? r : diagnose_check_names(ret, &f->only, "--only", err);
}

static int diagnose_check(const void *options, struct error *err)
{
	const struct diagnose_flags *f = options;

	if (f->level && rule_level_find(f->level) < 0)
		return error_set(err, -EINVAL, "--level %.40s: use note, warning or problem",
				 f->level);
	return 0;
}

/* ---- findings ---- */

static bool finding_same(const struct buf *a, const struct buf *b)
{
	return !bytes_compare(buf_bytes(a), buf_bytes(b));
}

/* True if both are about the same files of the same program. */
static bool finding_is_near(const struct finding *a, const struct finding *b)
{
	return finding_same(&a->process, &b->process) && finding_same(&a->pattern, &b->pattern);
}

/* True if `a` is about the same files, about the program as a whole, or about the executable that several processes run. */
static bool finding_is_about(const struct finding *a, const struct finding *b)
{
	if (b->exe.len && finding_same(&a->pattern, &b->exe))
		return true;
	return finding_same(&a->process, &b->process) &&
	       (!a->pattern.len || finding_same(&a->pattern, &b->pattern));
}

static bool rule_covers(const struct rule *rule, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = rule->covers; p && *p;) {
		size_t word = strcspn(p, " \n");

		if (word == len && !memcmp(p, name, len))
			return true;
		p += word;
		p += strspn(p, " \n");
	}
	return false;
}

static bool finding_is_covered(const struct diagnosis *d, const struct finding *f)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct rule *other = d->findings[i].rule;

		/* of two rules that cover each other, neither finding is dropped */
		if (rule_covers(other, f->rule->name) && !rule_covers(f->rule, other->name) &&
		    finding_is_about(&d->findings[i], f))
			return true;
	}
	return false;
}

/* Drops findings covered by another one. */
static void diagnose_drop_covered(struct diagnosis *d)
{
	bool *drop = calloc(d->count + 1, sizeof(*drop));
	size_t kept = 0;

	if (!drop)
		return; /* keep them: they are correct anyway */
	for (size_t i = 0; i < d->count; i++)
		drop[i] = finding_is_covered(d, &d->findings[i]);
	for (size_t i = 0; i < d->count; i++) {
		if (drop[i])
			finding_free(&d->findings[i]);
		else
			d->findings[kept++] = d->findings[i];
	}
	d->count = kept;
	free(drop);
}

/* Number of rules with findings; findings are still sorted by rule. */
static size_t diagnose_count_found(const struct diagnosis *d)
{
	size_t count = 0;

	for (size_t i = 0; i < d->count; i++)
		count += !i || d->findings[i].rule != d->findings[i - 1].rule;
	return count;
}

static int diagnose_order(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int64_t tx = x->row.number[DIAGNOSE_TIME], ty = y->row.number[DIAGNOSE_TIME];

	if ((x->rule->level == RULE_PROBLEM) != (y->rule->level == RULE_PROBLEM))
		return x->rule->level == RULE_PROBLEM ? -1 : 1;
	if (tx != ty)
		return tx > ty ? -1 : 1; /* null sorts last */
	return strcmp(x->rule->name, y->rule->name);
}

/* True if both may count the same calls. */
static bool finding_may_overlap(const struct finding *a, const struct finding *b)
{
	bool apart = a->files == 1 && b->files == 1 && !finding_same(&a->path, &b->path);

	return !apart && finding_is_near(a, b);
}

/* Sums the cost; findings about the same files are counted once, those of elapsed time not at all. */
static void diagnose_sum_cost(struct diagnosis *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct finding *f = &d->findings[i];
		int64_t counted = 0;

		if (f->row.elapsed || f->summed == DIAGNOSE_NULL)
			continue;
		for (size_t k = 0; k < i; k++) {
			if (!d->findings[k].row.elapsed && finding_may_overlap(&d->findings[k], f))
				counted = MAX(counted, d->findings[k].summed);
		}
		d->cost += MAX(f->summed - counted, 0);
	}
	d->cost = MIN(d->cost, d->work_time);
}

static int diagnose_rule(const struct diagnose_context *c, const struct rule *rule,
			 struct error *err)
{
	struct diagnose_rows rows = {0};
	int r = diagnose_ask(c, rule, &rows, err);

	if (r >= 0)
		r = diagnose_group(c, rule, &rows, err);
	diagnose_rows_free(&rows);
	return r;
}

/* Marks the chosen rules for which the trace has the tables, in the order of the rules. */
static int diagnose_choose(const struct diagnose_context *c, bool *ret, struct error *err)
{
	const struct diagnose_flags *f = c->in->options;
	struct diagnosis *d = c->out;

	for (size_t i = 0; i < d->rules.count; i++) {
		const struct rule *rule = &d->rules.items[i];
		int r;

		if (diagnose_lists(&f->without, rule->name) ||
		    (f->only.count && !diagnose_lists(&f->only, rule->name)))
			continue;
		r = diagnose_lacks(c, rule, err);
		if (r < 0)
			return r;
		ret[i] = r == 0;
		d->ran += ret[i];
	}
	return 0;
}

static int diagnose_rules(const struct diagnose_context *c, struct error *err)
{
	_cleanup_free_ bool *runs = calloc(c->out->rules.count + 1, sizeof(*runs));
	int r = runs ? diagnose_choose(c, runs, err) : -ENOMEM;

	if (r < 0)
		return r;
	r = diagnose_when(c, runs, err);
	if (c->in->steps)
		c->in->steps->all += c->out->rules.count;
	for (size_t i = 0; i < c->out->rules.count && r >= 0; i++) {
		if (analysis_stopped(c->in))
			return -EINTR;
		r = runs[i] ? diagnose_rule(c, &c->out->rules.items[i], err) : 0;
		if (c->in->steps)
			c->in->steps->done++;
	}
	return r;
}

static bool diagnose_is_whole(const struct analysis_run *run)
{
	return !run->where && run->from == INT64_MIN && run->to == INT64_MAX;
}

static int diagnose_features(const struct diagnose_context *c, bool fresh, struct error *err)
{
	const struct analysis_run *run = c->run;
	const struct features_request q = {.from = run->from,
					   .to = run->to,
					   .where = run->where,
					   .lost = run->lost,
					   .keep = true,
					   .stopped = c->in->stopped,
					   .arg = c->in->arg};

	if (diagnose_is_whole(run) && !fresh && features_are_current(run->store))
		return 0;
	return features_make(run->store, &q, err);
}

/* Makes the tables that rules read about spans, if there are spans. */
static int diagnose_spans(const struct diagnose_context *c, bool fresh, struct error *err)
{
	const struct analysis_run *run = c->run;

	if (run->where || !span_table_has_spans(run->store) ||
	    (diagnose_is_whole(run) && !fresh && span_table_is_current(run->store)))
		return 0;
	return span_table_make(c->in, run, err);
}

/* Makes the table of errors in data, if content was recorded. */
static int diagnose_content(const struct diagnose_context *c, bool fresh, struct error *err)
{
	const struct analysis_run *run = c->run;

	if (run->where || !flow_table_has_content(run->store) ||
	    (diagnose_is_whole(run) && !fresh && flow_table_is_current(run->store)))
		return 0;
	return flow_table_make(c->in, run, err);
}

static int diagnose_one(const struct analysis_input *in, const struct analysis_run *run,
			struct diagnosis **ret, struct error *err)
{
	const struct diagnose_flags *f = in->options;
	_cleanup_(diagnosis_freep) struct diagnosis *d = calloc(1, sizeof(*d));
	const struct diagnose_context c = {.in = in, .run = run, .out = d};
	int r;

	if (!d)
		return -ENOMEM;
	if (!run->store)
		return error_set(err, -EOPNOTSUPP, "%s: diagnose reads trace files, not a store",
				 run->name);
	d->name = run->name;
	d->first = run->first;
	d->last = run->last;
	d->lost = run->lost;
	d->lost_unknown = run->lost_unknown;
	d->lost_beside = run->lost_beside;
	r = diagnose_load(&d->rules, f, err);
	if (r >= 0)
		r = diagnose_features(&c, f->fresh, err);
	if (r >= 0)
		r = diagnose_spans(&c, f->fresh, err);
	if (r >= 0)
		r = diagnose_content(&c, f->fresh, err);
	if (r >= 0)
		r = diagnose_confine(&c, err);
	if (r >= 0)
		r = diagnose_work_time(&c, &d->work_time, err);
	if (r >= 0)
		r = diagnose_with(&c, err);
	if (r >= 0)
		r = diagnose_rules(&c, err);
	if (r < 0)
		return r;
	diagnose_drop_covered(d);
	d->found = diagnose_count_found(d);
	array_sort(d->findings, d->count, diagnose_order);
	diagnose_sum_cost(d);
	/* findings of a part of the trace, or of some rules only, are not stored as the trace's */
	r = diagnose_keep(run->store,
			  diagnose_is_whole(run) && !f->only.count && !f->without.count &&
				  !f->rules.count,
			  d, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

/* ---- comparison with an earlier trace ---- */

static bool finding_is_same(const struct finding *a, const struct finding *b)
{
	return strcmp(a->rule->name, b->rule->name) == 0 && finding_is_near(a, b);
}

static bool diagnosis_has(const struct diagnosis *d, size_t count, const struct finding *f)
{
	for (size_t i = 0; i < count; i++) {
		if (finding_is_same(&d->findings[i], f))
			return true;
	}
	return false;
}

/* True if the rule could not run on that trace: its findings there are unknown. */
static bool diagnosis_lacks(const struct diagnosis *d, const struct rule *rule)
{
	for (size_t i = 0; i < d->lack_count; i++) {
		if (strcmp(d->lacks[i].rule->name, rule->name) == 0)
			return true;
	}
	return false;
}

/* Marks new findings, and adds those of the earlier trace that are gone. */
static int diagnose_compare(struct diagnosis *d, struct diagnosis *old)
{
	size_t now = d->count, kept = 0;

	/* allocate first: a finding that is moved always has exactly one owner */
	if (grow((void **)&d->findings, &d->cap, now + old->count, sizeof(*d->findings)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < now; i++) {
		struct finding *f = &d->findings[i];

		f->since = diagnosis_has(old, old->count, f) ? DIAGNOSE_SAME
			   : diagnosis_lacks(old, f->rule)   ? DIAGNOSE_UNKNOWN
							     : DIAGNOSE_NEW;
	}
	for (size_t i = 0; i < old->count; i++) {
		struct finding *f = &old->findings[i];
		const struct rule *rule = rules_find(&d->rules, f->rule->name);

		if (!rule || diagnosis_lacks(d, rule) || diagnosis_has(d, now, f)) {
			old->findings[kept++] = *f;
			continue;
		}
		f->rule = rule;
		f->since = DIAGNOSE_MENDED;
		d->findings[d->count++] = *f;
		d->mended++;
	}
	old->count = kept;
	return 0;
}

/* Diagnoses traces opened only for this. If the run has no range, they are diagnosed completely. */
static int diagnose_paths(const struct analysis_input *in, const char *const *paths, size_t count,
			  struct analysis_run *run, struct diagnosis **ret, struct error *err)
{
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(engine_freep) struct engine *e = NULL;
	int64_t first, last;
	int r = store_open_corrected(&s, paths, count, err);

	if (r >= 0)
		r = engine_open(&e, s,
				&(struct engine_options){.threads = in->threads, .only_rows = true},
				err);
	if (r < 0)
		return r;
	run->store = s;
	run->engine = e;
	store_range(s, &first, &last);
	analysis_run_within(run, first, last);
	return diagnose_one(in, run, ret, err);
}

static int diagnose_old(const struct analysis_input *in, struct diagnosis *d, struct error *err)
{
	const struct diagnose_flags *f = in->options;
	_cleanup_(diagnosis_freep) struct diagnosis *old = NULL;
	struct analysis_run run = {.name = f->against, .from = INT64_MIN, .to = INT64_MAX};
	int r = diagnose_paths(in, &f->against, 1, &run, &old, err);

	return r < 0 ? r : diagnose_compare(d, old);
}

/* ---- rows ---- */

static const struct answer_column diagnose_columns[] = {
	{"rule", {QUERY_TEXT}},
	{"level", {QUERY_TEXT}},
	{"sentence", {QUERY_TEXT}},
	{"path", {QUERY_TEXT}},
	{"pattern", {QUERY_TEXT}},
	{"files", {QUERY_INT}, ANSWER_COUNT},
	{"peer", {QUERY_TEXT}},
	{"process", {QUERY_TEXT}},
	{"pid", {QUERY_INT}},
	{"thread", {QUERY_TEXT}},
	{"tid", {QUERY_INT}},
	{"calls", {QUERY_INT}, ANSWER_COUNT},
	{"bytes", {QUERY_SIZE}, .word = "size"},
	{"time", {QUERY_DUR}, .word = "dur"},
	{"share", {QUERY_FLOAT}},
	{"sure", {QUERY_TEXT}},
	{"pos", {QUERY_SIZE}, .word = "size"},
	{"stop_pos", {QUERY_SIZE}, .word = "size"},
	{"start", {QUERY_TIME}, .word = "time"},
	{"stop", {QUERY_TIME}, .word = "time"},
	{"evidence", {QUERY_TEXT}},
	{"change", {QUERY_TEXT}},
	{"query", {QUERY_TEXT}},
	{"since", {QUERY_TEXT}},
	{"file_id", {QUERY_INT}},
	{"process_id", {QUERY_INT}},
	{"thread_id", {QUERY_INT}},
};

static void diagnose_put_number(struct answer_list *to, const struct finding *f,
				enum diagnose_number n)
{
	answer_list_if(to, f->row.number[n] != DIAGNOSE_NULL, f->row.number[n]);
}

static void diagnose_put_row(struct answer_list *to, const struct finding *f, bool compared)
{
	static const char *const words[] = {"before", "new", "mended", "unknown"};

	answer_list_str(to, f->rule->name);
	answer_list_str(to, rule_level_word(f->rule->level));
	answer_list_some(to, buf_bytes(&f->sentence));
	answer_list_some(to, buf_bytes(&f->path));
	answer_list_some(to, buf_bytes(&f->pattern));
	answer_list_uint(to, f->files);
	answer_list_some(to, buf_bytes(&f->peer));
	answer_list_some(to, buf_bytes(&f->process));
	answer_list_known(to, f->pid);
	answer_list_some(to, buf_bytes(&f->thread));
	answer_list_known(to, f->tid);
	for (unsigned int i = DIAGNOSE_CALLS; i <= DIAGNOSE_TIME; i++)
		diagnose_put_number(to, f, i);
	answer_list_float(to, f->share);
	answer_list_str(to, f->sure);
	for (unsigned int i = DIAGNOSE_POS; i < DIAGNOSE_NUMBERS; i++)
		diagnose_put_number(to, f, i);
	answer_list_some(to, buf_bytes(&f->evidence));
	answer_list_some(to, buf_bytes(&f->change));
	answer_list_some(to, buf_bytes(&f->show));
	answer_list_str(to, compared ? words[f->since] : NULL);
	answer_list_known(to, f->row.id[DIAGNOSE_FILE]);
	answer_list_known(to, f->row.id[DIAGNOSE_PROCESS]);
	answer_list_known(to, f->row.id[DIAGNOSE_THREAD]);
}

/* Waits until the diagnosis of another viewer is done; its features can then be reused. */
static int diagnose_take_turn(const struct analysis_input *in, pthread_mutex_t *turn)
{
	static const struct timespec pause = {.tv_nsec = 20 * NSEC_PER_MSEC};

	while (pthread_mutex_trylock(turn)) {
		if (analysis_stopped(in))
			return -EINTR;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Opens the traces of a shared store again, because making features changes a store's tables. */
static int diagnose_apart(const struct analysis_input *in, const struct analysis_run *shared,
			  struct diagnosis **ret, struct error *err)
{
	size_t count = store_trace_count(shared->store);
	_cleanup_free_ const char **paths = calloc(count, sizeof(*paths));
	struct analysis_run run = *shared;

	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		paths[i] = store_trace_path(shared->store, i);
	return diagnose_paths(in, paths, count, &run, ret, err);
}

static int diagnose_shared(const struct analysis_input *in, const struct analysis_run *run,
			   struct diagnosis **ret, struct error *err)
{
	static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
	int r = diagnose_take_turn(in, &turn);

	if (r < 0)
		return r;
	r = diagnose_apart(in, run, ret, err);
	pthread_mutex_unlock(&turn);
	return r;
}

static int diagnose_run(const struct analysis_input *in, struct analysis_result *out,
			struct error *err)
{
	const struct diagnose_flags *f = in->options;
	const struct analysis_run *run = &in->runs[0];
	struct answer_list *rows;
	struct diagnosis *d;
	int r;

	/* a network client allowed to read a trace must not read other files */
	if (in->shared && (f->against || f->rules.count))
		return error_set(
			err, -EINVAL,
			"%s names files: it works only in weir diagnose on the command line",
			f->against ? "against=" : "rules=");
	r = in->shared && run->store ? diagnose_shared(in, run, &d, err)
				     : diagnose_one(in, run, &d, err);
	if (r < 0)
		return r;
	out->own = d;
	if (f->against)
		r = diagnose_old(in, d, err);
	if (r < 0)
		return r;
	rows = analysis_table(out, "rows", diagnose_columns, ARRAY_SIZE(diagnose_columns));
	for (size_t i = 0; i < d->count; i++)
		diagnose_put_row(rows, &d->findings[i], f->against);
	return rows->error;
}

static int diagnose_put_members(const struct analysis_input *in _unused_,
				const struct analysis_result *r, struct buf *to)
{
	const struct diagnosis *d = r->own;

	/* names and words need no escaping */

	buf_printf(to,
		   ", \"rules\": %zu, \"rules_found\": %zu, \"work_time\": %lld, \"cost\": %lld, "
		   "\"summed\": %s",
		   d->ran, d->found, (long long)d->work_time, (long long)d->cost,
		   diagnosis_is_summed(d) ? "true" : "false");
	for (size_t i = 0; i < d->lack_count; i++)
		buf_printf(to, "%s{\"rule\": \"%s\", \"needs\": \"%s\"}",
			   i ? ", " : ", \"not_run\": [", d->lacks[i].rule->name,
			   buf_str(&d->lacks[i].words));
	return buf_printf(to, "%s", d->lack_count ? "]" : ", \"not_run\": []");
}

static void diagnose_free_own(void *own)
{
	diagnosis_free(own);
}

/* ---- the contract ---- */

static int diagnose_status(const void *options, const struct analysis_result *r)
{
	const struct diagnose_flags *f = options;
	const struct diagnosis *d = r->own;

	for (size_t i = 0; f->level && i < d->count; i++) {
		if (d->findings[i].since != DIAGNOSE_MENDED &&
		    (int)d->findings[i].rule->level >= rule_level_find(f->level))
			return 3;
	}
	return 0;
}

static int diagnose_instead(const void *options, struct buf *text, struct error *err)
{
	const struct diagnose_flags *f = options;
	_cleanup_rules_ struct rules rules = {0};
	int r;

	if (!f->explain)
		return 0;
	r = rules_load(&rules, &f->rules, err);
	if (r < 0)
		return r;
	r = rules_explain(&rules, f->explain, text, err);
	return r < 0 ? r : 1;
}

static const char *diagnose_rule_word(size_t i)
{
	return rule_texts[i].name;
}

static const struct option diagnose_options[] = {
	{0, "rules", OPTION_LIST, "FILE",
	 "additional rules: a file, or a folder of *.rule files; a rule of an existing name "
	 "replaces that one",
	 offsetof(struct diagnose_flags, rules)},
	{0, "only", OPTION_LIST, "RULE", "run this rule alone; repeatable",
	 offsetof(struct diagnose_flags, only), .words = diagnose_rule_word},
	{0, "without", OPTION_LIST, "RULE", "leave this rule out; repeatable",
	 offsetof(struct diagnose_flags, without), .words = diagnose_rule_word},
	{0, "level", OPTION_STRING, "LEVEL",
	 "exit with status 3 if a finding has this level or a higher one: note, warning, problem",
	 offsetof(struct diagnose_flags, level)},
	{0, "against", OPTION_STRING, "TRACE",
	 "compare with the findings of this trace: show which are new and which are fixed",
	 offsetof(struct diagnose_flags, against)},
	{0, "explain", OPTION_STRING, "RULE",
	 "print what a rule looks for, why, and with which thresholds; all: list the rules; "
	 "markdown: all of them as a page",
	 offsetof(struct diagnose_flags, explain), .words = diagnose_rule_word},
	{0, "fresh", OPTION_FLAG, NULL, "compute the features again, even if the trace has them",
	 offsetof(struct diagnose_flags, fresh)},
	{0},
};

static const struct command_example diagnose_examples[] = {
	{"weir diagnose", "what is wrong with the program in weir.trace"},
	{"weir record --diagnose -- ./server", "record a program, then diagnose it"},
	{"weir record --with block,phases,sched,net --diagnose -- ./server",
	 "the same, with data about disks, CPUs and the network"},
	{"weir diagnose new.trace --against old.trace", "what a change fixed, and what it broke"},
	{"weir diagnose --level warning --json",
	 "for a CI pipeline: exit status 3 if there are findings"},
	{"weir diagnose --explain small-writes", "what a rule looks for"},
	{0},
};

const struct analysis analysis_diagnose = {
	.files = true,
	.name = "diagnose",
	.summary = "find what is wrong with a program's I/O",
	.description =
		"Lists findings, the most expensive first. Each says what is wrong, where, what it "
		"costs, how certain it is, what to change, and which command shows more.\n\n"
		"A pass over the trace computes its features: tables that are stored in the trace "
		"and can be queried (from use, habit, stall, press, rival, fdlife). A rule is a "
		"file with a query over these tables; docs/howto/write-a-rule.md describes how to "
		"write one.\n\n"
		"Some rules need the tables of record --with block,phases,sched,net; if the trace "
		"lacks them, these rules are listed as not run.",
	.examples = diagnose_examples,
	.order = ANALYSIS_ASKS,
	.steps = "rules",
	.options = diagnose_options,
	.options_size = sizeof(struct diagnose_flags),
	.check = diagnose_check,
	.instead = diagnose_instead,
	.run = diagnose_run,
	.status = diagnose_status,
	.put_members = diagnose_put_members,
	.free = diagnose_free_own,
};
