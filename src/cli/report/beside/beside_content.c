/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beside_content.c: the outcome of recording the content that calls moved, from the table chunk: a line of the page,
 * and `weir report content` with a row per process, operation and file, those with the most unhandled bytes first.
 */
#include <errno.h>

#include "base/saturate.h"
#include "cli/report/beside/beside.h"
#include "cli/terminal/format.h"
#include "names/names.h"
#include "schema/ops.h"
#include "schema/vocab.h"

const struct answer_column beside_content_columns[BESIDE_CONTENT_COLUMNS] = {
	BESIDE_SIZE("bytes", .weight = true),
	BESIDE_SIZE("handled", .weight = true),
	BESIDE_SIZE("incomplete", .alarm = true, .gives = 2),
	BESIDE_SIZE("truncated", .alarm = true, .gives = 3),
	BESIDE_SIZE("lost", .alarm = true),
	BESIDE_SIZE("discarded", .gives = 1),
	BESIDE_SIZE("absent"),
	{"op", {QUERY_TEXT}, .fixed = true},
	{"process", {QUERY_TEXT}},
	{"file", {QUERY_TEXT}},
};

struct moved {
	int64_t thread, file; /* + 1; 0: none */
	int64_t op;
	uint64_t bytes[OUTCOME_COUNT];
};

struct all_moved {
	const struct report *r;
	bool by_op; /* grouped only by it */
	struct beside_groups groups;
	uint64_t bytes[OUTCOME_COUNT];
};

static int take_chunk(void *arg, const struct batch *b, size_t row)
{
	struct all_moved *all = arg;
	int64_t outcome = batch_get(b, CHUNK_OUTCOME, row, -1),
		op = batch_get(b, CHUNK_OP, row, -1),
		thread = batch_get(b, CHUNK_THREAD_ID, row, -1),
		file = batch_get(b, CHUNK_FILE_ID, row, -1);
	uint64_t size = (uint64_t)MAX(batch_get(b, CHUNK_SIZE, row, 0), 0);
	int64_t key[3] = {op, -1, -1};
	struct moved *m;

	if (outcome < 0 || outcome >= OUTCOME_COUNT) /* another row accounts for it */
		return 0;
	all->bytes[outcome] = add_sat(all->bytes[outcome], size);
	if (all->by_op && outcome == OUTCOME_HANDLED)
		return 0;
	if (!all->by_op) {
		key[1] = thread < 0 ? -1 : names_process_of(all->r->dims, thread);
		key[2] = file;
	}
	m = beside_group(&all->groups, hash_bytes(key, sizeof(key)));
	if (!m)
		return -ENOMEM;
	m->op = op;
	m->thread = thread + 1;
	m->file = file + 1;
	m->bytes[outcome] = add_sat(m->bytes[outcome], size);
	return 0;
}

#define CHUNK_COLUMNS                                                         \
	(1ull << CHUNK_OUTCOME | 1ull << CHUNK_OP | 1ull << CHUNK_THREAD_ID | \
	 1ull << CHUNK_FILE_ID | 1ull << CHUNK_SIZE | 1ull << CHUNK_START | 1ull << CHUNK_DUR)

/* Never 100 if something is missing. */
static double floor_percent(uint64_t part, uint64_t all)
{
	double percent = 100.0 * (double)part / (double)all;

	return part == all ? 100 : MIN(percent, 99.99);
}

static uint64_t sum_of(const uint64_t bytes[OUTCOME_COUNT])
{
	uint64_t sum = 0;

	for (int i = 0; i < OUTCOME_COUNT; i++)
		sum = add_sat(sum, bytes[i]);
	return sum;
}

static const char *chunk_op_word(int64_t code)
{
	const struct op_def *def = op_def((uint32_t)code);

	return def && def->name ? def->name : "?";
}

int beside_content(struct report *r, struct answer_list *t, struct error *err)
{
	struct all_moved all = {.r = r, .groups.size = sizeof(struct moved)};
	int e = beside_scan(r, TABLE_CHUNK, CHUNK_COLUMNS, BESIDE_TASKS, CHUNK_THREAD_ID,
			    take_chunk, &all);

	for (size_t i = 0; e >= 0 && i < all.groups.count; i++) {
		const struct moved *m = (struct moved *)all.groups.all + i;

		answer_list_int(t, (int64_t)sum_of(m->bytes));
		for (int k = 0; k < OUTCOME_COUNT; k++)
			answer_list_int(t, (int64_t)m->bytes[k]);
		answer_list_str(t, chunk_op_word(m->op));
		e = beside_put_process(r, t, m->thread - 1);
		if (m->file)
			answer_list_text(t, dims_file_version_name(r->dims, m->file - 1));
		else
			answer_list_null(t);
	}
	beside_groups_free(&all.groups);
	return e;
}

/* "absent 4.00 KiB (sendfile, fault)": the operations with the most bytes of an outcome. */
static int put_outcome(struct buf *b, struct all_moved *all, int outcome)
{
	struct moved *list = all->groups.all;
	const char *separator = " (";
	int e = buf_printf(b, "   %s %s", vocab_word("outcome", outcome),
			   format_size(all->bytes[outcome]).s);

	for (int n = 0; n < 3 && e >= 0; n++) {
		struct moved *most = NULL;

		for (size_t i = 0; i < all->groups.count; i++) {
			if (list[i].bytes[outcome] &&
			    (!most || list[i].bytes[outcome] > most->bytes[outcome]))
				most = &list[i];
		}
		if (!most)
			break;
		e = buf_printf(b, "%s%s", separator, chunk_op_word(most->op));
		most->bytes[outcome] = 0;
		separator = ", ";
	}
	return e < 0 ? e : buf_printf(b, ")");
}

int beside_content_line(const struct report *r, struct buf *b)
{
	struct all_moved all = {.r = r, .by_op = true, .groups.size = sizeof(struct moved)};
	int e = beside_scan(r, TABLE_CHUNK, CHUNK_COLUMNS, BESIDE_ALL, 0, take_chunk, &all);
	uint64_t sum = sum_of(all.bytes);

	if (e >= 0 && sum)
		e = buf_printf(b, "CONTENT  %s of %s handled (%.4g %%)",
			       format_size(all.bytes[OUTCOME_HANDLED]).s, format_size(sum).s,
			       floor_percent(all.bytes[OUTCOME_HANDLED], sum));
	for (int i = 0; i < OUTCOME_COUNT && e >= 0; i++) {
		if (i != OUTCOME_HANDLED && all.bytes[i])
			e = put_outcome(b, &all, i);
	}
	beside_groups_free(&all.groups);
	return e;
}
