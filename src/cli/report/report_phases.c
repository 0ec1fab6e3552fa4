/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_phases.c: where the time of calls went, by process, file and operation. Summaries have no phases, so rows
 * are read.
 */
#include "cli/report/report_phases.h"

#include <errno.h>
#include <stdlib.h>

#include "base/saturate.h"
#include "sums/walk.h"

#define BAR_CELLS 12

/* The key of the sums. */
struct phases_key {
	int64_t who, file, op;
};

struct phases_sums {
	uint64_t calls, unknown; /* unknown: calls without phases, excluded from the rest */
	uint64_t time, part[REPORT_PHASES];
	uint64_t queued, device; /* of the wait for I/O */
	uint64_t misses, read;
};

/* Sums by key, of one worker or of all. */
struct phases_table {
	const struct report *report;
	struct intern keys;
	struct phases_sums *sums;
	size_t cap;
};

static const unsigned int parts[REPORT_PHASES] = {OP_CPU_TIME, OP_RUNQ, OP_IO_WAIT, OP_SLEEP};
static const char letters[] = "CRIS";

static void phases_table_free(struct phases_table *t)
{
	intern_free(&t->keys);
	free(t->sums);
}

static int phases_slot(struct phases_table *t, const struct phases_key *key,
		       struct phases_sums **ret)
{
	size_t before = t->keys.count;
	uint32_t at;
	int r = grow((void **)&t->sums, &t->cap, before + 1, sizeof(*t->sums));

	if (r >= 0)
		r = intern_add(&t->keys, key, sizeof(*key), &at);
	if (r < 0)
		return r;
	if (at == before)
		t->sums[at] = (struct phases_sums){0};
	*ret = &t->sums[at];
	return 0;
}

static uint64_t phases_value(const struct batch *b, unsigned int column, size_t row)
{
	return (uint64_t)MAX(batch_get(b, column, row, 0), 0);
}

static void phases_add(struct phases_sums *s, const struct batch *b, size_t row)
{
	bool known = !batch_is_null(b, OP_CPU_TIME, row);

	s->calls++;
	s->unknown += !known;
	s->misses = add_sat(s->misses, phases_value(b, OP_MISSES, row));
	s->read = add_sat(s->read, phases_value(b, OP_READ_BYTES, row));
	if (!known)
		return;
	s->time = add_sat(s->time, phases_value(b, OP_DUR, row));
	for (size_t i = 0; i < REPORT_PHASES; i++)
		s->part[i] = add_sat(s->part[i], phases_value(b, parts[i], row));
	s->queued = add_sat(s->queued, phases_value(b, OP_IO_QUEUED, row));
	s->device = add_sat(s->device, phases_value(b, OP_IO_DEVICE, row));
}

static void phases_merge(struct phases_sums *to, const struct phases_sums *from)
{
	to->calls += from->calls;
	to->unknown += from->unknown;
	to->time = add_sat(to->time, from->time);
	to->queued = add_sat(to->queued, from->queued);
	to->device = add_sat(to->device, from->device);
	to->misses = add_sat(to->misses, from->misses);
	to->read = add_sat(to->read, from->read);
	for (size_t i = 0; i < REPORT_PHASES; i++)
		to->part[i] = add_sat(to->part[i], from->part[i]);
}

/*
 * Requests and faults have no phases. Calls that wait for work (epoll_wait, futex) count if they are selected, as in
 * other tables.
 */
static int phases_take(void *state, const struct walk_rows *rows)
{
	struct phases_table *t = state;
	const struct report *r = t->report;
	const struct batch *b = rows->batch;
	int e = 0;

	for (size_t k = 0; k < rows->count && e >= 0; k++) {
		size_t row = rows->rows[k];
		struct phases_sums *s;
		struct phases_key key = {batch_get(b, OP_THREAD_ID, row, -1),
					 batch_get(b, OP_FILE_ID, row, -1),
					 batch_get(b, OP_OP, row, -1)};

		if (rollup_is_running(b, row) ||
		    batch_get(b, OP_KIND, row, KIND_SYSCALL) != KIND_SYSCALL ||
		    (!r->waits && batch_get(b, OP_CLASS, row, CLASS_OTHER) == CLASS_WAIT))
			continue;
		if (key.file >= 0 && (size_t)key.file < r->alias_count)
			key.file = r->alias[key.file];
		e = phases_slot(t, &key, &s);
		if (e >= 0)
			phases_add(s, b, row);
	}
	return e;
}

static int phases_walk(struct report *r, struct phases_table *all, struct error *err)
{
	struct walk w = {
		.ask = report_ask(r),
		.columns = 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_THREAD_ID |
			   1ull << OP_FILE_ID | 1ull << OP_OP | 1ull << OP_KIND | 1ull << OP_CLASS |
			   1ull << OP_STATUS | 1ull << OP_IO_WAIT | 1ull << OP_SLEEP |
			   1ull << OP_RUNQ | 1ull << OP_CPU_TIME | 1ull << OP_MISSES |
			   1ull << OP_READ_BYTES | 1ull << OP_IO_QUEUED | 1ull << OP_IO_DEVICE,
		.take = phases_take,
		.workers = walk_workers(0),
	};

	for (unsigned int i = 0; i < w.workers; i++) {
		all[i].report = r;
		w.states[i] = &all[i];
	}
	return walk_run(&w, err);
}

/* Replaces ids by lines: processes and paths. */
static int phases_group(struct phases_table *to, const struct phases_table *from,
			struct grouping *who, struct grouping *file)
{
	int e = 0;

	for (uint32_t i = 0; i < from->keys.count && e >= 0; i++) {
		struct phases_key key;
		struct phases_sums *s;

		memcpy(&key, intern_get(&from->keys, i).data, sizeof(key));
		key.who = grouping_of(who, key.who);
		key.file = grouping_of(file, key.file);
		e = who->error ? who->error : file->error;
		if (e >= 0)
			e = phases_slot(to, &key, &s);
		if (e >= 0)
			phases_merge(s, &from->sums[i]);
	}
	return e;
}

/* "IIIIIIIIISSC": the parts of the time, the largest first; "" if unknown. */
static void put_bar(struct answer_list *t, const struct phases_sums *s)
{
	char bar[BAR_CELLS + 1] = "";
	uint64_t left[REPORT_PHASES], sum = 0, shown = 0;
	size_t at = 0;

	for (size_t i = 0; i < REPORT_PHASES; i++) {
		left[i] = s->part[i];
		sum = add_sat(sum, s->part[i]);
	}
	for (size_t n = 0; n < REPORT_PHASES && sum; n++) {
		size_t most = 0;

		for (size_t i = 1; i < REPORT_PHASES; i++)
			most = left[i] > left[most] ? i : most;
		shown = add_sat(shown, left[most]);
		/* rounds the cumulative sum, so that the bar always has its full length */
		while (at < BAR_CELLS && (double)at + 0.5 < (double)shown / (double)sum * BAR_CELLS)
			bar[at++] = letters[most];
		left[most] = 0;
	}
	bar[at] = '\0';
	answer_list_str(t, bar);
}

static void put_keyed(struct answer_list *t, const struct phases_key *key,
		      const struct phases_sums *s, const struct grouping *who,
		      const struct grouping *file)
{
	char name[32];

	answer_list_uint(t, s->calls);
	answer_list_uint(t, s->time);
	for (size_t i = 0; i < REPORT_PHASES; i++)
		answer_list_uint(t, s->part[i]);
	answer_list_uint(t, s->queued);
	answer_list_uint(t, s->device);
	put_bar(t, s);
	answer_list_uint(t, s->misses);
	answer_list_uint(t, s->read);
	answer_list_uint(t, s->unknown);
	answer_list_str(t, report_op_name(key->op, name));
	answer_list_text(t, key->who < 0 ? (struct bytes){NULL, 0} : who->groups[key->who].name);
	answer_list_text(t, key->file < 0 ? (struct bytes){NULL, 0} : file->groups[key->file].name);
}

/* False if no call has phases, so that all calls need not be read to show none. */
static bool phases_any(const struct store *s)
{
	bool any = false;

	for (size_t i = 0; i < store_block_count(s) && !any; i++) {
		const struct store_block *b = store_block(s, i);

		any = b->table == TABLE_OP && store_block_counts(b) &&
		      b->min[OP_CPU_TIME] <= b->max[OP_CPU_TIME];
	}
	return any;
}

int report_fill_phases(struct report *r, struct answer_list *t, struct error *err)
{
	struct phases_table workers[WALK_THREADS_MAX] = {0}, sums = {.report = r};
	struct grouping who = {.report = r, .fn = group_process},
			file = {.report = r, .fn = group_path, .members = true};
	int e = phases_any(r->store) ? phases_walk(r, workers, err) : 0;

	for (unsigned int i = 0; i < WALK_THREADS_MAX; i++) {
		if (e >= 0)
			e = phases_group(&sums, &workers[i], &who, &file);
		phases_table_free(&workers[i]);
	}
	for (uint32_t i = 0; i < sums.keys.count && e >= 0; i++) {
		struct phases_key key;

		memcpy(&key, intern_get(&sums.keys, i).data, sizeof(key));
		put_keyed(t, &key, &sums.sums[i], &who, &file);
	}
	phases_table_free(&sums);
	grouping_free(&who);
	grouping_free(&file);
	return e;
}
