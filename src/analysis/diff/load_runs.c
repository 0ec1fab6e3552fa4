/* SPDX-License-Identifier: Apache-2.0 */
/* load_runs.c: reads the runs: sums by operation, file, thread and error; by parts of a run if there are few runs. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "analysis/diff/internal.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/saturate.h"

#define CHOSEN_MAX 200 /* keys of each kind to test: those with most calls and time */
#define NEW_MAX	   50  /* and additional ones that only one side has */
#define SUM_KEYS   (ROLLUP_OP | ROLLUP_CLASS | ROLLUP_FILE | ROLLUP_THREAD | ROLLUP_ERR)
#define FILE_KEYS  (ROLLUP_OP | ROLLUP_CLASS | ROLLUP_FILE | ROLLUP_ERR | ROLLUP_WINDOW)
#define PROC_KEYS  (ROLLUP_CLASS | ROLLUP_THREAD | ROLLUP_WINDOW)
#define KINDS	   (DIFF_BY_COUNT)

static int load_runs_scan(const struct work *w, const struct run *r, unsigned int keys,
			  int64_t window, const int64_t *alias, size_t aliases,
			  struct scan_result *ret, struct error *err)
{
	struct scan_options opt = {
		.keys = keys,
		.filter = r->in->filter,
		.threads = w->scan_threads,
		.window_ns = window,
		.rows_only = window && window % SUMMARY_WINDOW_NS,
		.file_alias = alias,
		.file_alias_count = aliases,
		.stopped = w->in->stopped,
		.stopped_arg = w->in->arg,
	};

	return scan_run(r->in->store, &opt, ret, err);
}

/* ---- runs in parallel ---- */

/* A job for one run, which writes only to that run. */
typedef int (*run_job)(struct work *w, struct run *run, struct error *err);

struct crew {
	struct work *w;
	run_job job;
	atomic_size_t next;
	pthread_mutex_t lock; /* protects the members below */
	struct error *err;
	int failed;
};

static void *crew_work(void *arg)
{
	struct crew *c = arg;

	for (;;) {
		size_t i = atomic_fetch_add(&c->next, 1);
		struct error err = {0};
		int r = i < c->w->run_count ? c->job(c->w, &c->w->runs[i], &err) : 1;

		if (r > 0)
			return NULL;
		if (r == 0)
			continue;
		pthread_mutex_lock(&c->lock);
		if (!c->failed && c->err)
			*c->err = err;
		c->failed = c->failed ? c->failed : r;
		pthread_mutex_unlock(&c->lock);
		return NULL;
	}
}

/*
 * Does the job for every run, several at a time: this leaves less for a single thread to merge than many threads
 * working on one run.
 */
static int each_run(struct work *w, run_job job, struct error *err)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int all = w->in->threads ? w->in->threads : (unsigned int)MAX(online, 1l);
	struct crew c = {.w = w, .job = job, .err = err};
	pthread_t threads[WALK_THREADS_MAX];
	unsigned int started = 1, crew = MIN(all, WALK_THREADS_MAX);

	crew = MIN(crew, (unsigned int)w->run_count);
	crew = MAX(crew, 1u);
	w->scan_threads = MAX(all / crew, 1u);
	pthread_mutex_init(&c.lock, NULL);
	while (started < crew && !pthread_create(&threads[started], NULL, crew_work, &c))
		started++;
	crew_work(&c);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&c.lock);
	return c.failed;
}

static bool same_trace(const struct work *w)
{
	for (size_t i = 0; i < w->run_count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (!strcmp(store_trace_path(w->runs[i].in->store, 0),
				    store_trace_path(w->runs[j].in->store, 0)))
				return true;
		}
	}
	return false;
}

static int load_run_called(struct work *w, struct run *run, struct error *err)
{
	size_t count = dims_dense(store_dims(run->in->store), TABLE_FILE, 0);
	_cleanup_scan_result_ struct scan_result sums = {0};
	_cleanup_free_ int64_t *alias = malloc((count + 1) * sizeof(*alias));
	int r;

	if (!alias)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		alias[i] = (int64_t)i;
	r = load_runs_scan(w, run, ROLLUP_CLASS, 0, alias, count, &sums, err);
	if (r >= 0) {
		run->called = TAKE_PTR(sums.file_seen);
		run->called_count = count;
	}
	return r;
}

/* Loads the names of files, which the store reads on first use. */
static int load_run_names(struct work *w _unused_, struct run *run, struct error *err _unused_)
{
	(void)store_dims(run->in->store);
	return 0;
}

/* Parts of one trace share a table of files: a part has those that its calls use. */
int load_called(struct work *w, struct error *err)
{
	int r = each_run(w, load_run_names, err);

	return r >= 0 && same_trace(w) ? each_run(w, load_run_called, err) : r;
}

/*
 * Gives files of one label a single id, so that a million of them make few keys; with `chosen`, those of labels that are
 * not tested get none: even fewer keys.
 */
static int alias_labels(const struct work *w, const struct run *run, bool chosen, int64_t **ret)
{
	_cleanup_free_ int64_t *alias = malloc((run->file_count + 1) * sizeof(*alias));
	_cleanup_free_ int64_t *first = malloc((w->texts.count + 1) * sizeof(*first));

	if (!alias || !first)
		return -ENOMEM;
	/* INT64_MAX: no file of the label has been seen */
	for (size_t i = 0; i < w->texts.count; i++)
		first[i] = chosen ? -1 : INT64_MAX;
	for (size_t i = 0; i < w->chosen_count && chosen; i++) {
		uint32_t label = w->keys[w->chosen[i]].label;

		if (label != LABEL_NONE)
			first[label] = INT64_MAX;
	}
	for (size_t i = 0; i < run->file_count; i++) {
		uint32_t label = run->file_labels[i];

		if (label != LABEL_NONE && first[label] == INT64_MAX)
			first[label] = (int64_t)i;
		alias[i] = label == LABEL_NONE ? -1 : first[label];
	}
	*ret = TAKE_PTR(alias);
	return 0;
}

static int load_run_sums(struct work *w, struct run *run, struct error *err)
{
	_cleanup_scan_result_ struct scan_result sums = {0};
	_cleanup_free_ int64_t *alias = NULL;
	int r = alias_labels(w, run, false, &alias);

	if (r >= 0)
		r = load_runs_scan(w, run, SUM_KEYS, 0, alias, run->file_count, &sums, err);
	if (r >= 0)
		r = names_count(w, run, sums.file_seen);
	if (r >= 0)
		run->sums = TAKE_PTR(sums.rollup);
	run->seconds = (double)(run->in->last - run->in->first) / 1e9;
	return r;
}

int load_sums(struct work *w, struct error *err)
{
	return each_run(w, load_run_sums, err);
}

/* ---- keys ---- */

static uint64_t load_runs_pack(const struct key *k)
{
	uint64_t h = hash_u64((uint64_t)k->by << 56 ^ (uint64_t)k->op << 32 ^ k->label);

	return k->err >= 0 ? hash_u64(h ^ (uint64_t)k->err) : h;
}

/* The index of the key; -1 if it is new and `add` is false, or -ENOMEM. */
static ssize_t key_find(struct work *w, const struct key *k, bool add)
{
	struct key *known;
	uint64_t at;
	bool is_new;

	if (!add)
		return map_get(&w->index, load_runs_pack(k), &at) ? (ssize_t)at : -1;
	known = array_of_key(w->keys, w->key_count, w->key_cap, &w->index, load_runs_pack(k),
			     &is_new);
	if (!known)
		return -ENOMEM;
	if (is_new)
		*known = *k;
	known->class = MIN(known->class, k->class);
	return known - w->keys;
}

/* The keys to which a row of calls contributes; returns their number. */
static unsigned int keys_of(const struct run *run, const struct rollup_row *row,
			    struct key ret[static KINDS])
{
	struct key k = {.op = row->op, .err = -1, .class = row->class, .label = LABEL_NONE};
	uint32_t label;
	unsigned int n = 0;

	if (row->op >= 0) {
		k.by = DIFF_OP;
		ret[n++] = k;
	}
	if (row->op >= 0 && row->err > 0) {
		k.by = DIFF_ERROR;
		k.err = row->err;
		ret[n++] = k;
		k.err = -1;
	}
	label = label_of(run->file_labels, run->file_count, row->file_id);
	if (label != LABEL_NONE) {
		k.label = label;
		k.by = DIFF_OP_FILE;
		ret[n++] = k;
		k.by = DIFF_FILE;
		k.op = -1;
		ret[n++] = k;
	}
	label = label_of(run->thread_labels, run->thread_count, row->thread_id);
	if (label != LABEL_NONE) {
		k.label = label;
		k.by = DIFF_PROCESS;
		k.op = -1;
		ret[n++] = k;
	}
	return n;
}

/* ln(dur) by bucket. */
static void logs_make(double logs[static HIST_BUCKETS])
{
	for (unsigned int i = 0; i < HIST_BUCKETS; i++)
		logs[i] = log((double)MAX(hist_middle(i), 1ull));
}

/* Adds sums of ln(dur) from a histogram. */
static void add_logs(struct cell *c, const struct hist *h, const double *logs)
{
	for (unsigned int i = 0; i < hist_entries(h); i++) {
		struct hist_entry e = hist_entry(h, i);
		double count = (double)e.count, ln = logs[e.bucket];

		c->log += count * ln;
		c->log2 += count * ln * ln;
	}
}

static struct cell cell_of_row(const struct rollup_row *row, const double *logs)
{
	struct cell c = {.calls = (double)row->calls,
			 .errors = (double)row->errors,
			 .bytes = (double)row->bytes,
			 .time = (double)row->time_ns};

	add_logs(&c, &row->hist, logs);
	return c;
}

static void sum_add(struct diff_sum *to, const struct rollup_row *row)
{
	to->calls += row->calls;
	to->errors += row->errors;
	to->bytes = add_sat(to->bytes, row->bytes);
	to->time_ns = add_sat(to->time_ns, row->time_ns);
	to->max_ns = MAX(to->max_ns, row->max_ns);
}

/* Makes room for the sums of `count` keys. */
static int make_cells(struct run *run, size_t count)
{
	return grow_zeroed((void **)&run->cells, &run->cell_cap, count, sizeof(*run->cells));
}

static int load_runs_add_row(struct work *w, struct run *run, const struct rollup_row *row,
			     const double *logs)
{
	struct key keys[KINDS];
	struct cell c = cell_of_row(row, logs);
	unsigned int n = keys_of(run, row, keys);
	int r = 0;

	if (!class_is_io(row->class)) {
		cell_add(row->class == CLASS_WAIT ? &run->waiting : &run->other, &c);
		return 0;
	}
	cell_add(&run->io, &c);
	for (unsigned int i = 0; r >= 0 && i < n; i++) {
		ssize_t at = key_find(w, &keys[i], true);

		r = at < 0 ? (int)at : make_cells(run, (size_t)at + 1);
		if (r < 0)
			return r;
		if (run->cells[at].calls == 0)
			w->keys[at].side[run->in->side].runs++;
		cell_add(&run->cells[at], &c);
		sum_add(&w->keys[at].side[run->in->side], row);
	}
	return r;
}

/* Adds histograms to the keys that are shown; those of all keys would take too much memory. */
static int load_runs_add_hist(struct work *w, const struct run *run, const struct rollup_row *row)
{
	struct key keys[KINDS];
	unsigned int n = class_is_io(row->class) ? keys_of(run, row, keys) : 0;
	int r = 0;

	for (unsigned int i = 0; r >= 0 && i < n; i++) {
		struct key *k = &w->keys[key_find(w, &keys[i], false)];

		if (k->chosen)
			r = hist_merge(&k->side[run->in->side].hist, &row->hist);
	}
	return r;
}

/* ---- keys to test ---- */

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static void score_keys(struct work *w)
{
	struct cell all[2] = {{0}};

	for (size_t k = 0; k < w->run_count; k++)
		cell_add(&all[w->runs[k].in->side], &w->runs[k].io);
	for (size_t i = 0; i < w->key_count; i++) {
		struct key *k = &w->keys[i];

		for (unsigned int s = 0; s < 2; s++)
			k->score = MAX(k->score,
				       share((double)k->side[s].time_ns, all[s].time) +
					       share((double)k->side[s].calls, all[s].calls));
	}
}

/* Heaviest first, ties by name: keys are in an order that depends on the threads that read the trace. */
static int by_score(const void *a, const void *b, void *arg)
{
	const struct work *w = arg;
	const struct key *x = &w->keys[*(const size_t *)a], *y = &w->keys[*(const size_t *)b];
	int r = ORDER(y->score, x->score) ?: ORDER(x->by, y->by);

	r = r ?: ORDER(x->op, y->op) ?: ORDER(x->err, y->err);
	if (r || x->label == LABEL_NONE || y->label == LABEL_NONE)
		return r ?: (x->label == LABEL_NONE) - (y->label == LABEL_NONE);
	return bytes_compare(w->labels[x->label].text, w->labels[y->label].text);
}

/* Selects keys to test. Every test reduces the power of the others, so keys with a millionth of the time are not worth one. */
static int choose_keys(struct work *w)
{
	_cleanup_free_ size_t *order = calloc(w->key_count + 1, sizeof(*order));
	size_t chosen[DIFF_BY_COUNT] = {0}, fresh[DIFF_BY_COUNT] = {0};

	w->chosen = calloc(w->key_count + 1, sizeof(*w->chosen));
	if (!order || !w->chosen)
		return -ENOMEM;
	score_keys(w);
	for (size_t i = 0; i < w->key_count; i++)
		order[i] = i;
	array_sort_by(order, w->key_count, by_score, w);
	for (size_t i = 0; i < w->key_count; i++) {
		struct key *k = &w->keys[order[i]];
		bool one_sided = !k->side[0].calls || !k->side[1].calls;

		if (chosen[k->by] >= CHOSEN_MAX && !(one_sided && fresh[k->by] < NEW_MAX))
			continue;
		fresh[k->by] += chosen[k->by] >= CHOSEN_MAX;
		chosen[k->by]++;
		k->chosen = true;
		k->row = w->chosen_count;
		w->chosen[w->chosen_count++] = order[i];
	}
	return 0;
}

static void count_names(struct work *w)
{
	for (size_t i = 0; i < w->key_count; i++) {
		struct key *k = &w->keys[i];

		for (size_t j = 0; k->label != LABEL_NONE && j < w->run_count; j++) {
			struct diff_sum *sum = &k->side[w->runs[j].in->side];
			uint64_t names = w->runs[j].label_names[k->label];

			if (w->runs[j].cells[i].calls > 0)
				sum->names = MAX(sum->names, names);
		}
	}
}

int load_keys(struct work *w)
{
	double logs[HIST_BUCKETS];
	int r = 0;

	logs_make(logs);
	for (size_t k = 0; r >= 0 && k < w->run_count; k++) {
		struct run *run = &w->runs[k];

		for (size_t i = 0; r >= 0 && i < rollup_count(run->sums); i++)
			r = load_runs_add_row(w, run, rollup_row(run->sums, i), logs);
	}
	for (size_t k = 0; r >= 0 && k < w->run_count; k++)
		r = make_cells(&w->runs[k], w->key_count + 1);
	if (r < 0)
		return r;
	count_names(w);
	r = choose_keys(w);
	for (size_t k = 0; r >= 0 && k < w->run_count; k++) {
		struct run *run = &w->runs[k];

		for (size_t i = 0; r >= 0 && i < rollup_count(run->sums); i++)
			r = load_runs_add_hist(w, run, rollup_row(run->sums, i));
		rollup_free(TAKE_PTR(run->sums));
	}
	return r;
}

/* ---- parts of runs ---- */

/*
 * The length of BLOCKS windows that cover the run; a multiple of 100 ms unless that is too long, because summaries have
 * such windows.
 */
static int64_t load_runs_window_of(const struct run *run)
{
	int64_t span = MAX(run->in->last - run->in->first, (int64_t)1);
	int64_t window = span / (BLOCKS - 1) + 1;

	return window < SUMMARY_WINDOW_NS
		       ? window
		       : (window + SUMMARY_WINDOW_NS - 1) / SUMMARY_WINDOW_NS * SUMMARY_WINDOW_NS;
}

static void load_runs_add_block(struct work *w, struct run *run, const struct rollup_row *row,
				int64_t window, enum diff_by only, const double *logs)
{
	int64_t first = run->in->first / window * window;
	int64_t at = clock_between(first, row->window) / window;
	struct cell c = cell_of_row(row, logs);
	struct key keys[KINDS];
	unsigned int n = class_is_io(row->class) ? keys_of(run, row, keys) : 0;

	at = at < 0 || row->window == -1 ? 0 : MIN(at, (int64_t)BLOCKS - 1);
	while (n--) {
		ssize_t k = (keys[n].by == DIFF_PROCESS) == (only == DIFF_PROCESS)
				    ? key_find(w, &keys[n], false)
				    : -1;

		if (k >= 0 && w->keys[k].chosen)
			cell_add(&run->blocks[w->keys[k].row * BLOCKS + (size_t)at], &c);
	}
}

static int load_run_blocks(struct work *w, struct run *run, struct error *err)
{
	static const enum diff_by kinds[] = {DIFF_OP_FILE, DIFF_PROCESS};
	_cleanup_free_ int64_t *alias = NULL;
	int64_t window = load_runs_window_of(run);
	double logs[HIST_BUCKETS];
	int r = alias_labels(w, run, true, &alias);

	logs_make(logs);
	run->blocks = calloc(w->chosen_count * BLOCKS + 1, sizeof(*run->blocks));
	if (!run->blocks)
		r = -ENOMEM;
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(kinds); i++) {
		_cleanup_scan_result_ struct scan_result sums = {0};
		bool files = kinds[i] == DIFF_OP_FILE;

		r = load_runs_scan(w, run, files ? FILE_KEYS : PROC_KEYS, window,
				   files ? alias : NULL, files ? run->file_count : 0, &sums, err);
		for (size_t k = 0; r >= 0 && k < rollup_count(sums.rollup); k++)
			load_runs_add_block(w, run, rollup_row(sums.rollup, k), window, kinds[i],
					    logs);
	}
	return r;
}

int load_blocks(struct work *w, struct error *err)
{
	return each_run(w, load_run_blocks, err);
}

void load_free(struct work *w)
{
	for (size_t k = 0; k < w->run_count; k++) {
		struct run *run = &w->runs[k];

		rollup_free(run->sums);
		free(run->file_labels);
		free(run->thread_labels);
		free(run->label_names);
		free(run->file_names);
		free(run->called);
		free(run->cells);
		free(run->blocks);
	}
	for (size_t i = 0; i < w->key_count; i++) {
		hist_free(&w->keys[i].side[0].hist);
		hist_free(&w->keys[i].side[1].hist);
	}
	free(w->keys);
	free(w->chosen);
	free(w->labels);
	free(w->runs);
	intern_free(&w->paths);
	map_free(&w->index);
}
