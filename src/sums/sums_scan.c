// SPDX-License-Identifier: Apache-2.0
#include "sums/scan.h"

#include <errno.h>
#include <stdlib.h>

#include "batch/seconds.h"

bool scan_filter_time(const struct scan_filter *f, const struct batch *b, size_t row)
{
	int64_t end = rollup_end(b, row);

	return !f || (end >= f->from && (end < f->to || f->to == INT64_MAX));
}

/* ---- one worker ---- */

struct scan_worker {
	struct rollup *rollup;
	struct slowest slowest;
	bool slow; /* slowest calls are wanted */
	uint8_t *seen;
	uint64_t summed, read;
};

static void scan_worker_free(struct scan_worker *w)
{
	rollup_free(w->rollup);
	slowest_free(&w->slowest);
	free(w->seen);
}

static int scan_worker_init(struct scan_worker *w, const struct scan_options *o)
{
	uint32_t wait = 1u << CLASS_WAIT, all = (1u << CLASS_COUNT) - 1;
	int r = rollup_new(&w->rollup, o->keys);

	if (r < 0)
		return r;
	if (o->window_ns)
		rollup_window(w->rollup, o->window_ns);
	w->slow = o->slowest > 0;
	w->slowest.classes =
		((o->slowest_io ? SLOWEST_IO : all) & ~wait) | (o->slowest_waits ? wait : 0);
	if (!o->file_alias)
		return 0;
	w->seen = calloc(o->file_alias_count + 1, 1);
	if (!w->seen)
		return -ENOMEM;
	rollup_alias(w->rollup, o->file_alias, w->seen, o->file_alias_count);
	return 0;
}

static int scan_take(void *state, const struct walk_rows *rows)
{
	struct scan_worker *w = state;
	int r = w->slow && !rows->second ? slowest_note(&w->slowest, rows) : 0;

	if (!rows->second)
		*(rows->batch->table == TABLE_SUMMARY ? &w->summed : &w->read) +=
			rows->digest ? rows->digest->count : 1;
	rollup_seconds(w->rollup, rows->second);
	for (size_t k = 0; k < rows->count && r >= 0; k++) {
		/* clip_find() counts unfinished calls, also for ranges without any */
		if (!rollup_is_running(rows->batch, rows->rows[k]))
			r = rollup_add_row(w->rollup, rows->batch, rows->rows[k]);
	}
	return r;
}

/* ---- all of them ---- */

static struct sums_ask scan_ask(const struct store *s, const struct scan_options *o)
{
	const struct scan_filter *f = o->filter;
	uint32_t not_io = o->slowest && (!o->slowest_io || o->slowest_waits);

	return (struct sums_ask){
		.store = s,
		.filter = f ? f->where : NULL,
		.from = f ? f->from : INT64_MIN,
		.to = f ? f->to : INT64_MAX,
		.summaries = !o->rows_only && !(o->keys & ROLLUP_CPU),
		.windowless = !(o->keys & ROLLUP_WINDOW),
		.times = !(o->keys & ROLLUP_FILE) && !o->file_alias && !o->seconds && !not_io,
		.seconds = o->seconds,
	};
}

static int scan_collect(struct scan_worker *all, unsigned int count, const struct scan_options *o,
			struct scan_result *ret)
{
	assert(count > 0);
	ret->rollup = TAKE_PTR(all[0].rollup);
	ret->file_seen = TAKE_PTR(all[0].seen);
	rollup_alias(ret->rollup, NULL, NULL, 0);
	for (unsigned int i = 0; i < count; i++) {
		int r = i ? rollup_merge(ret->rollup, all[i].rollup) : 0;

		if (i && r >= 0)
			r = slowest_merge(&all[0].slowest, &all[i].slowest);
		if (r < 0)
			return r;
		for (size_t k = 0; i && all[i].seen && k < o->file_alias_count; k++)
			ret->file_seen[k] |= all[i].seen[k];
		ret->blocks_summed += all[i].summed;
		ret->blocks_read += all[i].read;
	}
	return 0;
}

/* Marks files used by unfinished calls too. */
static void scan_see_files(const struct scan_options *o, struct scan_result *ret)
{
	for (size_t i = 0; o->file_alias && i < ret->running->rows; i++) {
		const int64_t files[] = {batch_get(ret->running, OP_FILE_ID, i, -1),
					 o->seconds ? seconds_file(ret->running, i) : -1};

		for (size_t k = 0; k < ARRAY_SIZE(files); k++) {
			if (files[k] >= 0 && (size_t)files[k] < o->file_alias_count)
				ret->file_seen[files[k]] = 1;
		}
	}
}

/* Finds single calls: the unfinished and the slowest. */
static int scan_calls(const struct walk *w, const struct slowest *noted,
		      const struct scan_options *o, struct scan_result *ret, struct error *err)
{
	_cleanup_free_ struct call_ref *slowest = NULL;
	size_t count = 0;
	int r = clip_find(w, &ret->clip, err);

	if (r < 0)
		return r;
	rollup_add_running(ret->rollup, ret->clip.running_all);
	r = slowest_fetch(w->ask.store, ret->clip.running, &ret->clip.running_count, &ret->running,
			  err);
	if (r < 0)
		return r;
	scan_see_files(o, ret);
	r = slowest_find(noted, w, MIN(o->slowest, (size_t)BATCH_ROWS_MAX), &slowest, &count, err);
	return r < 0 ? r : slowest_fetch(w->ask.store, slowest, &count, &ret->slowest, err);
}

int scan_run(const struct store *s, const struct scan_options *opt, struct scan_result *ret,
	     struct error *err)
{
	struct scan_worker workers[WALK_THREADS_MAX] = {0};
	struct walk w = {
		.ask = scan_ask(s, opt),
		.columns = rollup_op_columns | (opt->keys & ROLLUP_CPU ? 1ull << OP_CPU : 0),
		.stopped = opt->stopped,
		.stopped_arg = opt->stopped_arg,
		.take = scan_take,
		.workers = walk_workers(opt->threads),
	};
	int r = 0;

	*ret = (struct scan_result){0};
	for (unsigned int i = 0; i < w.workers && r >= 0; i++) {
		w.states[i] = &workers[i];
		r = scan_worker_init(&workers[i], opt);
	}
	if (r < 0)
		error_errno(err, r, "reading the trace");
	else
		r = walk_run(&w, err);
	if (r >= 0 && scan_collect(workers, w.workers, opt, ret) < 0)
		r = error_errno(err, -ENOMEM, "merging sums");
	if (r >= 0)
		r = scan_calls(&w, &workers[0].slowest, opt, ret, err);
	for (unsigned int i = 0; i < w.workers; i++)
		scan_worker_free(&workers[i]);
	return r;
}

void scan_result_free(struct scan_result *r)
{
	rollup_free(r->rollup);
	clip_free(&r->clip);
	batch_free(r->running);
	batch_free(r->slowest);
	free(r->file_seen);
	*r = (struct scan_result){0};
}
