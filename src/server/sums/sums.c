// SPDX-License-Identifier: Apache-2.0
#include "server/sums/sums.h"

#include <errno.h>

#include "sums/order.h"
#include "schema/ops.h"
#include "server/sums/file_pile.h"
#include "server/sums/who.h"
#include "base/array.h"

#define CALLS_READ	2000000u
#define CALLS_READ_LIVE 400000u

uint64_t sums_columns(void)
{
	return rollup_op_columns | order_columns(TABLE_OP);
}

/* ---- the axis ---- */

static int64_t floor_to(int64_t t, int64_t step)
{
	int64_t down = t / step * step;

	return down > t ? down - step : down;
}

/* The shortest bucket: reading calls costs about 0.1 us each, and viewers of a growing trace ask repeatedly. */
static int64_t least_step(const struct question *q, int64_t from, int64_t to)
{
	uint64_t most = q->server->live ? CALLS_READ_LIVE : CALLS_READ;

	return sums_overlapping_rows(q->server->store, from, to) > most ? SUMMARY_WINDOW_NS : 1;
}

void sums_axis_make(const struct question *q, int64_t from, int64_t to, struct sums_axis *ret)
{
	static const int64_t of_ten[] = {1, 2, 5};
	int64_t power = 1, step = 1, least = least_step(q, from, to);
	uint64_t span = (uint64_t)to - (uint64_t)from;
	unsigned int width = MAX(q->width, 3u);

	assert(to > from);
	/* one bucket more than the span has: neither end need be aligned */
	for (unsigned int i = 0; span / (uint64_t)step + 2 > width || step < least; i++) {
		if (power > INT64_MAX / 100)
			break;
		if (i && i % 3 == 0)
			power *= 10;
		step = of_ten[i % 3] * power;
	}
	ret->step = step;
	ret->from = floor_to(from, step);
	ret->count =
		(unsigned int)(((uint64_t)(to - 1) - (uint64_t)ret->from) / (uint64_t)step + 1);
}

/* A total order, so that rows always come in the same order. */
static int sums_compare_keys(const struct rollup_row *x, const struct rollup_row *y)
{
	return ORDER(x->op, y->op) ?: ORDER(x->thread_id, y->thread_id)
				   ?: ORDER(x->file_id, y->file_id)
				   ?: ORDER(x->err, y->err)
				   ?: ORDER(x->class, y->class)
				   ?: ORDER(x->cpu, y->cpu);
}

int sums_by_time(const void *a, const void *b)
{
	const struct rollup_row *x = *(const struct rollup_row *const *)a;
	const struct rollup_row *y = *(const struct rollup_row *const *)b;

	return ORDER(y->time_ns, x->time_ns) ?: ORDER(y->calls, x->calls) ?: sums_compare_keys(x, y);
}

/* The bucket of a time; -1 if outside. */
static int64_t bucket_of(const struct sums_axis *a, int64_t t)
{
	uint64_t i;

	if (t < a->from)
		return -1;
	i = ((uint64_t)t - (uint64_t)a->from) / (uint64_t)a->step;
	return i < a->count ? (int64_t)i : -1;
}

/* ---- one worker's sums ---- */

int sums_new(struct sums **ret, const struct sums_want *want)
{
	const struct sums_axis *axis = want->axis;
	_cleanup_(sums_freep) struct sums *s = calloc(1, sizeof(*s));
	int r = s ? 0 : -ENOMEM;

	if (r == 0 && (want->keys || want->other_keys))
		r = rollup_new(&s->both, want->keys | want->other_keys);
	if (r < 0)
		return r;
	s->axis = axis;
	s->by_file = want->files;
	s->by_slow = want->slowest;
	s->slowest.classes = SLOWEST_IO;
	s->by_failure = want->failures;
	if (axis) {
		s->series = calloc(OP_CODE_MAX, sizeof(*s->series));
		s->errors = calloc(axis->count, sizeof(*s->errors));
		s->cells = calloc((size_t)axis->count * HIST_BUCKETS, sizeof(*s->cells));
		if (!s->series || !s->errors || !s->cells)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(s);
	return 0;
}

static void sums_drop_hists(struct sums *s)
{
	for (size_t i = 0; s->file_hists && i < s->file_count; i++)
		hist_free(&s->file_hists[i]);
	free(s->file_hists);
	s->file_hists = NULL;
	s->file_hists_cap = 0;
	s->keep_hists = false;
}

void sums_free(struct sums *s)
{
	if (!s)
		return;
	rollup_free(s->rollup);
	rollup_free(s->other);
	rollup_free(s->both);
	map_free(&s->file_index);
	sums_drop_hists(s);
	failures_free(&s->failures);
	free(s->files);
	for (size_t i = 0; s->series && i < OP_CODE_MAX; i++) {
		free(s->series[i].calls);
		free(s->series[i].bytes);
	}
	free(s->series);
	free(s->errors);
	free(s->cells);
	slowest_free(&s->slowest);
	map_free(&s->running_by);
	if (s->owns_pile)
		file_pile_free(s->pile);
	free(s);
}

static struct sums_series *series_of(struct sums *s, int64_t op)
{
	struct sums_series *t = &s->series[op < 0 || op >= OP_CODE_MAX ? OP_CODE_MAX - 1 : op];

	if (!t->calls) {
		t->calls = calloc(s->axis->count, sizeof(*t->calls));
		t->bytes = calloc(s->axis->count, sizeof(*t->bytes));
	}
	return t->calls && t->bytes ? t : NULL;
}

/* Waiting is not counted, but bytes that were waited for are. */
static int add_series(struct sums *s, const struct rollup_row *f, int64_t bucket)
{
	struct sums_series *t = series_of(s, f->op);

	if (!t)
		return -ENOMEM;
	t->bytes[bucket] += f->bytes;
	t->all += f->calls;
	if (f->class == CLASS_WAIT)
		return 0;
	t->calls[bucket] += f->calls;
	s->errors[bucket] += f->errors;
	return 0;
}

static int add_running(struct sums *s, int64_t thread_id, uint64_t n)
{
	uint64_t before = 0;

	s->running += n;
	map_get(&s->running_by, (uint64_t)thread_id, &before);
	return map_set(&s->running_by, (uint64_t)thread_id, before + n);
}

static int new_file(struct sums *s, int64_t id)
{
	size_t at = s->file_count;
	int r = grow((void **)&s->files, &s->file_cap, at + 1, sizeof(*s->files));

	if (s->keep_hists && at >= SUMS_FILE_HISTS_MAX)
		sums_drop_hists(s);
	if (r >= 0 && s->keep_hists)
		r = grow((void **)&s->file_hists, &s->file_hists_cap, at + 1,
			 sizeof(*s->file_hists));
	if (r >= 0)
		r = map_set(&s->file_index, (uint64_t)id, at);
	if (r < 0)
		return r;
	if (s->keep_hists)
		s->file_hists[at] = (struct hist){0};
	s->files[s->file_count++] = (struct sums_file){.id = id};
	s->last_file = at;
	return 0;
}

static int sums_find_file(struct sums *s, int64_t id, size_t *ret)
{
	uint64_t at;

	if (s->file_count && s->files[s->last_file].id == id) {
		*ret = s->last_file;
		return 0;
	}
	if (map_get(&s->file_index, (uint64_t)id, &at)) {
		*ret = s->last_file = at;
		return 0;
	}
	*ret = s->file_count;
	return new_file(s, id);
}

int sums_add_file(struct sums *s, const struct sums_file *f)
{
	size_t at;
	int r = sums_find_file(s, f->id, &at);

	if (r < 0)
		return r;
	file_sums_add(&s->files[at], f);
	return 0;
}

/* For the rows of a digest, which are sorted by file and go to the pile, so that no lookup is needed. */
static int append_file(struct sums *s, const struct sums_file *f)
{
	if (s->file_count && s->files[s->file_count - 1].id == f->id) {
		file_sums_add(&s->files[s->file_count - 1], f);
		return 0;
	}
	return array_add(s->files, s->file_count, s->file_cap, *f);
}

/* `sorted`: see append_file(). */
static int add_to_file(struct sums *s, const struct rollup_row *f, bool of_op, bool sorted)
{
	bool io = class_is_io(f->class);
	const struct sums_file sum = {.id = f->file_id,
				      .all = f->calls,
				      .calls = io ? f->calls : 0,
				      .errors = io ? f->errors : 0,
				      .bytes = io || f->class == CLASS_WAIT ? f->bytes : 0,
				      .time = io ? f->time_ns : 0,
				      .max = io ? f->max_ns : 0};
	int r;

	if (f->file_id < 0)
		return 0;
	r = sorted ? append_file(s, &sum) : sums_add_file(s, &sum);
	/* the file that was added to last */
	return r >= 0 && of_op && io && s->keep_hists
		       ? hist_add(&s->file_hists[s->last_file], f->time_ns, 1)
		       : r;
}

/* Adds a packed histogram (hist/sparse.h) to one bucket's cells; -EBADMSG if it is malformed. */
static int sums_add_hist(uint64_t *cells, struct bytes packed)
{
	struct hist_walk w = hist_walk_start(packed.data, packed.len);
	struct hist_entry e;

	while (hist_walk_next(&w, &e))
		cells[e.bucket] += e.count;
	return w.bad ? -EBADMSG : 0;
}

static int sums_take_axis(struct sums *s, const struct batch *b, size_t i,
			  const struct rollup_row *f)
{
	int64_t bucket = bucket_of(s->axis, f->window);
	uint64_t *cells;
	int r = 0;

	if (bucket < 0)
		return 0;
	cells = s->cells + bucket * HIST_BUCKETS;
	if (class_is_io(f->class) && b->table == TABLE_OP)
		cells[hist_bucket(f->time_ns)]++;
	else if (class_is_io(f->class))
		r = sums_add_hist(cells, batch_get_bytes(b, SUMMARY_HIST, i));
	return r < 0 || (f->class == CLASS_WAIT && !f->bytes) ? r : add_series(s, f, bucket);
}

static int sums_take_row(struct sums *s, const struct walk_rows *rows, size_t i)
{
	const struct batch *b = rows->batch;
	bool running = rollup_is_running(b, i);
	/* of a digest, the second part has all files, the first everything else */
	bool files = !rows->digest || rows->part == STORE_DIGEST_FILES;
	struct rollup_row f;
	int r = 0;

	rollup_read(b, i, &f);
	if (s->by_file && files && !running)
		r = add_to_file(s, &f, b->table == TABLE_OP, rows->digest && s->pile);
	if (r < 0 || rows->second) /* everything else counted it already */
		return r;
	if (s->by_failure && f.errors && files && !running)
		r = failures_add(&s->failures, f.op, f.err, f.file_id, f.calls);
	if (r < 0 || (rows->digest && files))
		return r;
	if (s->both)
		r = rollup_add_row(s->both, b, i);
	if (r >= 0 && running)
		r = add_running(s, f.thread_id, 1);
	return r < 0 || !s->axis || running ? r : sums_take_axis(s, b, i, &f);
}

/* Files are flushed to the pile: otherwise memory would grow with the number of workers. */
static int flush_files(struct sums *s)
{
	int r;

	if (!s->pile || s->keep_hists || !s->file_count)
		return 0;
	r = file_pile_add(s->pile, s->files, s->file_count);
	map_clear(&s->file_index);
	s->file_count = s->last_file = 0;
	return r;
}

static int sums_take(void *state, const struct walk_rows *rows)
{
	struct sums *s = state;
	bool files = rows->digest && rows->part == STORE_DIGEST_FILES;
	int r = s->by_slow && !rows->second && !files ? slowest_note(&s->slowest, rows) : 0;

	if (rows->batch->table == TABLE_SUMMARY)
		sums_drop_hists(s); /* flushed files have none */
	for (size_t k = 0; k < rows->count && r >= 0; k++)
		r = sums_take_row(s, rows, rows->rows[k]);
	return r < 0 ? r : flush_files(s);
}

/* ---- combining ---- */

static int merge_series(struct sums *a, const struct sums *b)
{
	for (size_t op = 0; op < OP_CODE_MAX; op++) {
		const struct sums_series *from = &b->series[op];
		struct sums_series *to;

		if (!from->calls || !from->bytes)
			continue;
		to = series_of(a, (int64_t)op);
		if (!to)
			return -ENOMEM;
		for (unsigned int i = 0; i < a->axis->count; i++) {
			to->calls[i] += from->calls[i];
			to->bytes[i] += from->bytes[i];
		}
		to->all += from->all;
	}
	for (unsigned int i = 0; i < a->axis->count; i++)
		a->errors[i] += b->errors[i];
	for (size_t i = 0; i < (size_t)a->axis->count * HIST_BUCKETS; i++)
		a->cells[i] += b->cells[i];
	return 0;
}

/* Adds b to a. */
static int sums_merge(struct sums *a, struct sums *b)
{
	int r = a->both ? rollup_merge(a->both, b->both) : 0;
	uint64_t thread, n;
	size_t pos = 0;

	if (!b->keep_hists)
		sums_drop_hists(a);
	for (size_t i = 0; i < b->file_count && r >= 0; i++) {
		r = sums_add_file(a, &b->files[i]);
		if (r >= 0 && a->keep_hists)
			r = hist_merge(&a->file_hists[a->last_file], &b->file_hists[i]);
	}
	if (r >= 0)
		r = failures_merge(&a->failures, &b->failures);
	if (r >= 0 && a->axis)
		r = merge_series(a, b);
	while (r >= 0 && map_next(&b->running_by, &pos, &thread, &n))
		r = add_running(a, (int64_t)thread, n);
	return r < 0 ? r : slowest_merge(&a->slowest, &b->slowest);
}

/* The columns of summary to read, of which the axis and the rollups need many. */
static uint64_t sums_summary_columns(const struct sums_want *want)
{
	if (want->axis || want->keys || want->other_keys)
		return ~(1ull << SUMMARY_BLOCK);
	return 1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_CLASS | 1ull << SUMMARY_ERR |
	       1ull << SUMMARY_CALLS | 1ull << SUMMARY_BYTES | 1ull << SUMMARY_TIME |
	       1ull << SUMMARY_MAX | 1ull << SUMMARY_OP;
}

/* Rows are added to one table; the two rollups are made from it, for a partial result or at the end. */
static int make_rollups(struct sums *s, const struct sums_want *want)
{
	int r = 0;

	rollup_free(s->rollup);
	rollup_free(s->other);
	s->rollup = s->other = NULL;
	if (want->keys)
		r = rollup_project(s->both, want->keys, &s->rollup);
	if (r >= 0 && want->other_keys)
		r = rollup_project(s->both, want->other_keys, &s->other);
	return r;
}

/* All workers share the first one's pile. */
static int share_pile(const struct question *q, const struct sums_want *want, struct sums *first,
		      struct sums *s)
{
	int r = 0;

	if (!want->files)
		return 0;
	if (s == first) {
		r = file_pile_new(&s->pile, q->server->store);
		s->owns_pile = r >= 0;
	}
	s->pile = first->pile;
	return r;
}

/* Creates a worker's own sums. */
static int begin_worker(struct sums_job *j, const struct question *q, unsigned int i)
{
	const struct sums_want *want = &j->want;
	int r = sums_new((struct sums **)&j->pass.states[i], want);
	struct sums *s = j->pass.states[i];

	if (r < 0)
		return r;
	s->keep_hists = want->files && j->pass.ask.filter->eval && !j->pass.ask.filter->by_summary;
	return share_pile(q, want, j->pass.states[0], s);
}

int sums_job_begin(struct sums_job *j, struct question *q, const struct sums_filter *filter,
		   const struct sums_want *want)
{
	bool by_cpu = want->keys & ROLLUP_CPU;
	int r = 0;

	j->want = *want;
	j->pass = (struct walk){
		.ask = question_ask(q, filter),
		.columns = (sums_columns() | (by_cpu ? 1ull << OP_CPU : 0)) &
			   ~(want->files || want->failures ? 0 : 1ull << OP_FILE_ID),
		.sums = sums_summary_columns(want),
		.take = sums_take,
		.workers = question_workers(q),
	};
	j->pass.ask.summaries =
		!by_cpu && (!want->axis || want->axis->step % SUMMARY_WINDOW_NS == 0);
	j->pass.ask.windowless = !want->axis;
	j->pass.ask.times = want->axis || want->keys || want->other_keys || want->slowest;
	j->pass.ask.files = want->files || want->failures;
	j->pass.ask.seconds = want->files;
	for (unsigned int i = 0; i < j->pass.workers && r >= 0; i++)
		r = begin_worker(j, q, i);
	return r;
}

void sums_job_free(struct sums_job *j)
{
	/* the first owns what they share */
	for (unsigned int i = WALK_THREADS_MAX; i-- > 0;)
		sums_free(j->pass.states[i]);
	walk_list_free(&j->list);
	*j = (struct sums_job){0};
}

/* Merges the workers' results so far into the first one's. */
static int sums_collect(struct sums_job *j, const struct question *q, bool again)
{
	int r = 0;

	for (unsigned int i = 1; i < j->pass.workers && r >= 0; i++) {
		r = sums_merge(j->pass.states[0], j->pass.states[i]);
		sums_free(j->pass.states[i]);
		j->pass.states[i] = NULL;
		if (r >= 0 && again)
			r = begin_worker(j, q, i);
	}
	return r;
}

int sums_job_part(struct sums_job *j, struct question *q, int64_t until, struct sums **ret)
{
	int r;

	j->pass.until = until;
	j->pass.list = &j->list;
	r = question_walk(q, &j->pass);
	if (r >= 0)
		r = sums_collect(j, q, true);
	if (r >= 0)
		r = make_rollups(j->pass.states[0], &j->want);
	*ret = j->pass.states[0];
	return r;
}

double sums_job_share(const struct sums_job *j)
{
	return walk_list_share(&j->list);
}

static int run_once(struct question *q, const struct sums_filter *filter,
		    const struct sums_want *want, struct sums **ret)
{
	_cleanup_(sums_job_free) struct sums_job j = {0};
	int r = sums_job_begin(&j, q, filter, want);

	if (r >= 0)
		r = question_walk(q, &j.pass);
	if (r >= 0)
		r = sums_collect(&j, q, false);
	if (r >= 0)
		r = make_rollups(j.pass.states[0], want);
	if (r < 0)
		return r;
	*ret = j.pass.states[0];
	j.pass.states[0] = NULL;
	rollup_free((*ret)->both);
	(*ret)->both = NULL;
	return 0;
}

/* If the filter excludes digests only because of files, files get a separate pass. */
int sums_run(struct question *q, const struct sums_filter *filter, const struct sums_want *want,
	     struct sums **ret)
{
	struct sums_want files = {.files = true, .failures = want->failures}, others = *want;
	_cleanup_(sums_freep) struct sums *s = NULL, *by_file = NULL;
	int r = want->files ? memory_budget_take_files(q) : 0;

	if (r < 0)
		return r;
	if (!want->files || !filter->by_times || filter->by_files ||
	    (!want->axis && !want->keys && !want->other_keys))
		return run_once(q, filter, want, ret);
	others.files = others.failures = false;
	r = run_once(q, filter, &others, &s);
	if (r >= 0)
		r = run_once(q, filter, &files, &by_file);
	for (size_t i = 0; r >= 0 && i < by_file->file_count; i++)
		r = sums_add_file(s, &by_file->files[i]);
	if (r >= 0)
		r = failures_merge(&s->failures, &by_file->failures);
	if (r >= 0) {
		s->pile = by_file->pile;
		s->owns_pile = by_file->owns_pile;
		by_file->owns_pile = false;
		*ret = TAKE_PTR(s);
	}
	return r;
}

/* ---- the range ---- */

void sums_within_free(struct sums_within *w)
{
	map_free(&w->io);
	map_free(&w->wait);
}

int sums_within_find(struct question *q, const struct sums_filter *filter, struct sums_within *ret)
{
	const struct walk pass = question_pass(q, filter);
	_cleanup_clip_ struct clip clip = {0};
	uint64_t key, ns, sum;
	size_t pos = 0;
	int r = clip_find(&pass, &clip, &q->err);

	while (r >= 0 && map_next(&clip.by, &pos, &key, &ns)) {
		int64_t class = clip_class(key);
		struct map *to = class == CLASS_WAIT ? &ret->wait : &ret->io;
		int64_t task = names_task(store_dims_few(q->server->store), clip_thread(key));

		if (class != CLASS_WAIT && !class_is_io(class))
			continue;
		sum = 0;
		map_get(to, (uint64_t)task, &sum);
		r = map_set(to, (uint64_t)task, sum + ns);
	}
	return r;
}

uint64_t sums_within_time(const struct map *m, int64_t task, uint64_t whole)
{
	uint64_t more = 0;

	map_get(m, (uint64_t)task, &more);
	return (int64_t)more < 0 && -more > whole ? 0 : whole + more;
}

void sums_put_quantile(struct js *j, const char *key, const struct hist *h, double q, uint64_t max)
{
	js_key_uint(j, key, hist_quantile_at_most(h, q, max));
}

void sums_put_cells(struct js *j, const char *key, const struct sums *s)
{
	js_key_open(j, key, '[');
	for (unsigned int t = 0; t < s->axis->count; t++) {
		const uint64_t *row = s->cells + (size_t)t * HIST_BUCKETS;

		for (unsigned int h = 0; h < HIST_BUCKETS; h++) {
			if (!row[h])
				continue;
			js_uint(j, t);
			js_uint(j, h);
			js_uint(j, row[h]);
		}
	}
	js_close(j, ']');
}
