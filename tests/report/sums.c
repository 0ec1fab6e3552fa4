/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over a trace: by summaries, by rows, with every filter, on one and on two threads, compared
 * with plain loops over the rows. And the replay source: the trace of a replayed trace has the same
 * sums.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../store/common.h"
#include "sums/scan.h"
#include "replay.h"
#include "capture/synth/synth.h"
#include "enrich/enrich.h"
#include "query/query.h"
#include "schema/ops.h"

#define ROWS 200000

static char folder[] = "/tmp/weir-sums-XXXXXX";
static char trace_path[64], hostile_path[64], again_path[64];

static void pump(struct source *source, const char *path)
{
	_cleanup_batch_set_ struct batch_set in = {0}, out = {0};
	_cleanup_(enrich_freep) struct enrich *enrich = NULL;
	struct store_options opt = {.owner = (uid_t)-1};
	struct store_writer *writer = NULL;
	struct error err = {0};

	assert_int_equal(enrich_new(&enrich, &err), 0);
	assert_int_equal(store_create(&writer, path, &opt, &err), 0);
	assert_int_equal(source_start(source, &err), 0);
	while (source_read(source, &in, 0, &err) != SOURCE_END) {
		assert_int_equal(err.code, 0);
		assert_int_equal(enrich_apply(enrich, &in, &out, &err), 0);
		assert_int_equal(store_append_set(writer, &out, &err), 0);
		batch_set_clear(&in);
		batch_set_clear(&out);
	}
	assert_int_equal(store_close(writer, &err), 0);
}

static int make_traces(void **state)
{
	struct error err = {0};
	_cleanup_(source_freep) struct source *mixed = NULL, *hostile = NULL;

	assert_non_null(mkdtemp(folder));
	snprintf(trace_path, sizeof(trace_path), "%s/mixed.trace", folder);
	snprintf(hostile_path, sizeof(hostile_path), "%s/hostile.trace", folder);
	snprintf(again_path, sizeof(again_path), "%s/again.trace", folder);
	assert_int_equal(
		synth_source_new(&mixed, &(struct synth_options){.seed = 3, .rows = ROWS}, &err),
		0);
	pump(mixed, trace_path);
	assert_int_equal(synth_source_new(&hostile,
					  &(struct synth_options){.profile = SYNTH_HOSTILE,
								  .seed = 3,
								  .rows = ROWS / 10},
					  &err),
			 0);
	pump(hostile, hostile_path);
	return 0;
}

static int remove_traces(void **state)
{
	unlink(trace_path);
	unlink(hostile_path);
	unlink(again_path);
	rmdir(folder);
	return 0;
}

/* ---- the plain loops ---- */

struct plain {
	uint64_t calls[OP_CODE_MAX], errors[OP_CODE_MAX], bytes[OP_CODE_MAX], time_ns[OP_CODE_MAX],
		max_ns[OP_CODE_MAX];
	uint64_t buckets[OP_CODE_MAX][HIST_BUCKETS];
	uint64_t running, all;
};

/* A filter, and the same in plain C. */
struct filter {
	int64_t from, to;
	const char *where;				/* NULL: all */
	bool (*takes)(const struct batch *b, size_t i); /* NULL likewise */
};

/* A call whose start or duration is not known ended in no range; one that had not ended is in each. */
static bool plain_in_range(const struct filter *f, const struct batch *b, size_t i)
{
	int64_t end;

	if (f->from == INT64_MIN && f->to == INT64_MAX)
		return true;
	if (batch_get(b, OP_STATUS, i, 0) & STATUS_UNFINISHED)
		return true;
	if (batch_is_null(b, OP_START, i) || batch_is_null(b, OP_DUR, i) ||
	    __builtin_add_overflow(batch_get(b, OP_START, i, 0), batch_get(b, OP_DUR, i, 0), &end))
		return false;
	return end >= f->from && end < f->to;
}

static bool plain_takes(const struct filter *f, const struct batch *b, size_t i)
{
	return !f || (plain_in_range(f, b, i) && (!f->takes || f->takes(b, i)));
}

static void plain_sum(const struct store *s, const struct filter *f, struct plain *p)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	struct error err = {0};

	memset(p, 0, sizeof(*p));
	assert_int_equal(store_cursor_new(&c, s), 0);
	for (size_t k = 0; k < store_block_count(s); k++) {
		const struct batch *b;

		if (store_block(s, k)->table != TABLE_OP)
			continue;
		assert_int_equal(store_decode(c, k, ~0ull, &b, &err), 0);
		for (size_t i = 0; i < b->rows; i++) {
			int64_t op = batch_get(b, OP_OP, i, 0), dur = batch_get(b, OP_DUR, i, 0);

			p->all++;
			if (!plain_takes(f, b, i))
				continue;
			if (batch_get(b, OP_STATUS, i, 0) & STATUS_UNFINISHED) {
				p->running++;
				continue;
			}
			p->calls[op]++;
			p->errors[op] += batch_get(b, OP_ERR, i, 0) > 0;
			p->bytes[op] += (uint64_t)batch_get(b, OP_BYTES, i, 0);
			if (__builtin_add_overflow(p->time_ns[op], (uint64_t)dur, &p->time_ns[op]))
				p->time_ns[op] = UINT64_MAX;
			p->max_ns[op] = MAX(p->max_ns[op], (uint64_t)dur);
			p->buckets[op][hist_bucket((uint64_t)dur)]++;
		}
	}
}

/* The filter as a scan has it. */
static void make_filter(struct store *s, const struct filter *f, struct scan_filter *ret,
			struct sums_filter *ret_where)
{
	struct query_error why = {0};
	struct plan *plan = NULL;
	struct error err = {0};

	*ret = (struct scan_filter){.from = f->from, .to = f->to};
	if (!f->where)
		return;
	assert_int_equal(query_parse_expr(f->where, strlen(f->where), TABLE_OP, true, &plan, &why),
			 0);
	assert_int_equal(sums_filter_new(ret_where, plan, &err), 0);
	assert_int_equal(sums_filter_names(ret_where, s, &err), 0);
	ret->where = ret_where;
}

static void compare(struct store *s, const struct filter *f, unsigned int threads, bool rows_only,
		    struct scan_result *ret)
{
	_cleanup_sums_filter_ struct sums_filter where = {0};
	struct scan_filter filter;
	struct plain *p = malloc(sizeof(*p));
	struct scan_options opt = {.keys = ROLLUP_OP,
				   .filter = f ? &filter : NULL,
				   .threads = threads,
				   .slowest = 20,
				   .rows_only = rows_only};
	struct error err = {0};
	size_t ops = 0;

	assert_non_null(p);
	plain_sum(s, f, p);
	if (f)
		make_filter(s, f, &filter, &where);
	assert_int_equal(scan_run(s, &opt, ret, &err), 0);
	for (size_t i = 0; i < rollup_count(ret->rollup); i++) {
		const struct rollup_row *row = rollup_row(ret->rollup, i);
		uint64_t total = 0;

		assert_int_equal(row->calls, p->calls[row->op]);
		assert_int_equal(row->errors, p->errors[row->op]);
		assert_int_equal(row->bytes, p->bytes[row->op]);
		assert_true(row->time_ns == p->time_ns[row->op]);
		assert_int_equal(row->max_ns, p->max_ns[row->op]);
		for (unsigned int k = 0; k < HIST_BUCKETS; k++)
			total += p->buckets[row->op][k];
		assert_int_equal(total, hist_total(&row->hist));
		for (unsigned int k = 0; k < hist_entries(&row->hist); k++) {
			struct hist_entry e = hist_entry(&row->hist, k);

			assert_int_equal(e.count, p->buckets[row->op][e.bucket]);
		}
	}
	for (size_t op = 0; op < OP_CODE_MAX; op++)
		ops += p->calls[op] > 0;
	assert_int_equal(rollup_count(ret->rollup), ops);
	assert_int_equal(rollup_running(ret->rollup), p->running);
	assert_int_equal(ret->running->rows, p->running);
	free(p);
}

static void compare_all(struct store *s, const struct filter *f)
{
	for (unsigned int threads = 1; threads <= 2; threads++) {
		_cleanup_scan_result_ struct scan_result fast = {0}, slow = {0};

		compare(s, f, threads, false, &fast);
		compare(s, f, threads, true, &slow);
		assert_int_equal(fast.slowest->rows, slow.slowest->rows);
		for (size_t i = 0; i < fast.slowest->rows; i++) {
			assert_int_equal(batch_get(fast.slowest, OP_DUR, i, 0),
					 batch_get(slow.slowest, OP_DUR, i, 0));
			assert_int_equal(batch_get(fast.slowest, OP_START, i, 0),
					 batch_get(slow.slowest, OP_START, i, 0));
			assert_true(i == 0 || batch_get(fast.slowest, OP_DUR, i, 0) <=
						      batch_get(fast.slowest, OP_DUR, i - 1, 0));
			assert_int_not_equal(batch_get(fast.slowest, OP_CLASS, i, 0), CLASS_WAIT);
		}
	}
}

/* ---- tests ---- */

static void everything(void **state)
{
	_cleanup_(store_freep) struct store *s = open_trace(trace_path);
	_cleanup_scan_result_ struct scan_result fast = {0};

	compare_all(s, NULL);
	compare(s, NULL, 1, false, &fast);
	/* Summaries did the work, but for the last block, which has the running calls. */
	assert_true(fast.blocks_summed > fast.blocks_read);
}

static void hostile(void **state)
{
	_cleanup_(store_freep) struct store *s = open_trace(hostile_path);
	int64_t first, last, mid;

	store_range(s, &first, &last);
	mid = first / 2 + last / 2;
	compare_all(s, NULL);
	compare_all(s, &(struct filter){.from = INT64_MIN, .to = mid});
	compare_all(s, &(struct filter){.from = mid, .to = INT64_MAX});
	compare_all(s, &(struct filter){.from = first, .to = mid});
}

static void ranges(void **state)
{
	_cleanup_(store_freep) struct store *s = open_trace(trace_path);
	int64_t first, last, step;

	store_range(s, &first, &last);
	step = (last - first) / 7;
	for (int i = 0; i < 6; i += 2) {
		struct filter f = {.from = first + i * step, .to = first + (i + 2) * step};
		struct filter tail = {.from = f.from, .to = INT64_MAX},
			      head = {.from = INT64_MIN, .to = f.to};

		compare_all(s, &f);
		compare_all(s, &tail);
		compare_all(s, &head);
	}
}

static bool failed(const struct batch *b, size_t i)
{
	return !batch_is_null(b, OP_ERR, i);
}

static bool slow(const struct batch *b, size_t i)
{
	return batch_get(b, OP_DUR, i, 0) >= 100000;
}

/* Known of every block that it takes all of. */
static bool any_dur(const struct batch *b, size_t i)
{
	return batch_get(b, OP_DUR, i, 0) >= 0;
}

static bool by_op(const struct batch *b, size_t i)
{
	int64_t op = batch_get(b, OP_OP, i, 0);

	return op == op_find("sendto") || op == op_find("write");
}

static bool by_thread(const struct batch *b, size_t i)
{
	int64_t thread = batch_get(b, OP_THREAD_ID, i, -1);

	return thread == 1 || thread == 4;
}

static bool third(int64_t file)
{
	return file >= 0 && file < 90 && file % 3 == 0;
}

static bool by_file(const struct batch *b, size_t i)
{
	return third(batch_get(b, OP_FILE_ID, i, -1)) || third(batch_get(b, OP_FILE2_ID, i, -1));
}

static bool by_all(const struct batch *b, size_t i)
{
	return slow(b, i) && by_thread(b, i) && by_file(b, i);
}

#define THREADS "thread_id in (1, 4)"
#define FILES	"(file_id < 90 and file_id % 3 == 0 or file2_id < 90 and file2_id % 3 == 0)"

static void selections(void **state)
{
	_cleanup_(store_freep) struct store *s = open_trace(trace_path);

	compare_all(s, &(struct filter){INT64_MIN, INT64_MAX, "err is not null", failed});
	compare_all(s, &(struct filter){INT64_MIN, INT64_MAX, "dur >= 100us", slow});
	compare_all(s, &(struct filter){INT64_MIN, INT64_MAX, "dur >= 0ns", any_dur});
	compare_all(s, &(struct filter){INT64_MIN, INT64_MAX, "op in (sendto, write)", by_op});
	compare_all(s, &(struct filter){INT64_MIN, INT64_MAX, THREADS, by_thread});
	compare_all(s, &(struct filter){INT64_MIN, INT64_MAX, FILES, by_file});
	compare_all(s, &(struct filter){INT64_MIN, INT64_MAX,
					"dur >= 100us and " THREADS " and " FILES, by_all});
}

static void replayed(void **state)
{
	_cleanup_(store_freep) struct store *s = open_trace(trace_path), *again = NULL;
	_cleanup_(source_freep) struct source *source = NULL;
	struct error err = {0};
	struct plain *a = malloc(sizeof(*a)), *b = malloc(sizeof(*b));

	assert_int_equal(replay_source_new(&source, s, &err), 0);
	pump(source, again_path);
	again = open_trace(again_path);
	plain_sum(s, NULL, a);
	plain_sum(again, NULL, b);
	assert_memory_equal(a, b, sizeof(*a));
	assert_int_equal(a->all, ROWS);
	assert_int_equal(dims_rows(store_dims(s), TABLE_THREAD),
			 dims_rows(store_dims(again), TABLE_THREAD));
	free(a);
	free(b);
}

static void regrouped(void **state)
{
	_cleanup_(store_freep) struct store *s = open_trace(trace_path);
	_cleanup_(rollup_freep) struct rollup *by_op = NULL;
	_cleanup_scan_result_ struct scan_result wide = {0}, narrow = {0};
	struct scan_options all = {.keys = ROLLUP_OP | ROLLUP_THREAD | ROLLUP_FILE | ROLLUP_ERR |
					   ROLLUP_CLASS | ROLLUP_WINDOW};
	struct scan_options op = {.keys = ROLLUP_OP};
	struct error err = {0};

	assert_int_equal(scan_run(s, &all, &wide, &err), 0);
	assert_int_equal(scan_run(s, &op, &narrow, &err), 0);
	assert_int_equal(rollup_project(wide.rollup, ROLLUP_OP, &by_op), 0);
	assert_int_equal(rollup_count(by_op), rollup_count(narrow.rollup));
	for (size_t i = 0; i < rollup_count(by_op); i++) {
		for (size_t k = 0; k < rollup_count(narrow.rollup); k++) {
			const struct rollup_row *x = rollup_row(by_op, i),
						*y = rollup_row(narrow.rollup, k);

			if (x->op != y->op)
				continue;
			assert_int_equal(x->calls, y->calls);
			assert_int_equal(x->bytes, y->bytes);
			assert_int_equal(x->time_ns, y->time_ns);
			assert_int_equal(hist_quantile(&x->hist, 0.99),
					 hist_quantile(&y->hist, 0.99));
		}
	}
}

/* ---- calls that no kernel would give ---- */

#define START 1700000000000000000ll /* a summary's window begins here */

struct crafted_call {
	const char *op;
	int64_t start, dur, file_id, file2_id, pos, pos2; /* files, positions: -1 is null */
	int64_t status;					  /* other than 0: no return value */
};

static void set_known(struct batch *b, unsigned int column, size_t row, int64_t value)
{
	if (value >= 0)
		assert_int_equal(batch_set(b, column, row, value), 0);
}

static void craft(const char *path, const struct crafted_call *calls, size_t count, bool summary,
		  struct store_writer **ret)
{
	const struct store_options opt = {.owner = (uid_t)-1, .no_summary = !summary};
	_cleanup_(batch_freep) struct batch *b = NULL;
	struct error err = {0};

	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(batch_add_row(b), i);
		set_known(b, OP_OP, i, op_find(calls[i].op));
		set_known(b, OP_CLASS, i, CLASS_DATA);
		set_known(b, OP_START, i, calls[i].start);
		set_known(b, OP_DUR, i, calls[i].dur);
		if (calls[i].status)
			set_known(b, OP_STATUS, i, calls[i].status);
		else
			set_known(b, OP_RET, i, 0);
		set_known(b, OP_THREAD_ID, i, 0);
		set_known(b, OP_FILE_ID, i, calls[i].file_id);
		set_known(b, OP_FILE2_ID, i, calls[i].file2_id);
		set_known(b, OP_POS, i, calls[i].pos);
		set_known(b, OP_POS2, i, calls[i].pos2);
	}
	unlink(path);
	assert_ok(store_create(ret, path, &opt, &err), err);
	assert_ok(store_append(*ret, b, &err), err);
	assert_ok(store_flush(*ret, true, &err), err);
}

static struct store *open_crafted(const char *path, struct store_writer *w)
{
	struct error err = {0};

	assert_ok(store_close(w, &err), err);
	return open_trace(path);
}

/* Calls of a file, seen from both of their files. */
static uint64_t calls_of(struct store *s, const struct filter *f, int64_t file)
{
	_cleanup_sums_filter_ struct sums_filter where = {0};
	_cleanup_scan_result_ struct scan_result r = {0};
	struct scan_filter filter;
	const struct scan_options opt = {
		.keys = ROLLUP_FILE, .filter = &filter, .seconds = true, .threads = 1};
	struct error err = {0};
	uint64_t calls = 0;

	make_filter(s, f, &filter, &where);
	assert_ok(scan_run(s, &opt, &r, &err), err);
	for (size_t i = 0; i < rollup_count(r.rollup); i++) {
		if (rollup_row(r.rollup, i)->file_id == file)
			calls += rollup_row(r.rollup, i)->calls;
	}
	return calls;
}

/* The end of a call is beyond all numbers: it is in no range, though the windows of all others are in it. */
static void no_end(void **state)
{
	const struct crafted_call calls[] = {
		{"read", START + 1000, 10, 0, -1, 0, -1},
		{"read", INT64_MAX - 5, 100, 0, -1, 0, -1},
	};
	_cleanup_(store_freep) struct store *s = NULL;
	struct store_writer *w;

	craft(again_path, calls, ARRAY_SIZE(calls), true, &w);
	s = open_crafted(again_path, w);
	compare_all(s, &(struct filter){.from = START, .to = START + SUMMARY_WINDOW_NS});
	compare_all(s, &(struct filter){.from = START, .to = INT64_MAX});
}

/* exit has no return value, but an end: the summary counts it, unlike a call that is still running. */
static void without_return(void **state)
{
	const struct crafted_call calls[] = {
		{"read", START + 1000, 10, 0, -1, 0, -1},
		{"exit_group", START + 2000, 30, -1, -1, -1, -1, STATUS_NORETURN},
		{"futex", START + 3000, 20, -1, -1, -1, -1, STATUS_NORETURN | STATUS_UNFINISHED},
		{"pread64", START + 3000, -1, 0, -1, 0, -1, STATUS_NO_END},
	};

	for (size_t count = 2; count <= ARRAY_SIZE(calls); count++) {
		_cleanup_(store_freep) struct store *s = NULL;
		_cleanup_scan_result_ struct scan_result r = {0};
		struct store_writer *w;

		craft(again_path, calls, count, true, &w);
		s = open_crafted(again_path, w);
		compare_all(s, NULL);
		compare_all(s, &(struct filter){.from = START, .to = START + SUMMARY_WINDOW_NS});
		compare(s, NULL, 1, false, &r);
		assert_int_equal(r.blocks_summed, count == 2);
	}
}

/* No call has a position in its first file, which a summary could say; in their second files they have one. */
static void second_positions(void **state)
{
	const struct crafted_call calls[] = {
		{"sendfile", START + 1000, 10, 0, 1, -1, 4096},
		{"sendfile", START + 2000, 10, 0, 1, -1, 0},
		{"write", START + 3000, 10, 1, -1, -1, -1},
	};
	_cleanup_(store_freep) struct store *s = NULL;
	struct store_writer *w;

	craft(again_path, calls, ARRAY_SIZE(calls), true, &w);
	s = open_crafted(again_path, w);
	assert_int_equal(calls_of(s, &(struct filter){INT64_MIN, INT64_MAX, "pos > 0", NULL}, 1),
			 1);
	assert_int_equal(
		calls_of(s, &(struct filter){INT64_MIN, INT64_MAX, "pos is null", NULL}, 1), 1);
	assert_int_equal(calls_of(s, &(struct filter){INT64_MIN, INT64_MAX, NULL, NULL}, 1), 3);
}

static void add_sum(struct batch *b, int64_t block, const struct crafted_call *call,
		    const char *hist)
{
	size_t i = b->rows;

	assert_int_equal(batch_add_row(b), i);
	set_known(b, SUMMARY_BLOCK, i, block);
	set_known(b, SUMMARY_WINDOW, i, START);
	set_known(b, SUMMARY_OP, i, op_find(call->op));
	set_known(b, SUMMARY_CLASS, i, CLASS_DATA);
	set_known(b, SUMMARY_THREAD_ID, i, 0);
	set_known(b, SUMMARY_FILE_ID, i, call->file_id);
	set_known(b, SUMMARY_FILE2_ID, i, call->file2_id);
	set_known(b, SUMMARY_CALLS, i, 1);
	set_known(b, SUMMARY_BYTES, i, 0);
	set_known(b, SUMMARY_TIME, i, call->dur);
	set_known(b, SUMMARY_MAX, i, call->dur);
	assert_int_equal(batch_set_bytes(b, SUMMARY_HIST, i, hist, 2), 0);
}

/* A histogram counts two calls where there is one, and only calls seen from their second file need it. */
static void second_histogram(void **state)
{
	const struct crafted_call calls[] = {
		{"write", START + 1000, 10, 1, -1, -1, -1},
		{"sendfile", START + 2000, 10, 0, 1, -1, -1},
	};
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(batch_freep) struct batch *sums = NULL;
	struct error err = {0};
	struct store_writer *w;

	craft(again_path, calls, ARRAY_SIZE(calls), false, &w);
	s = open_trace(again_path);
	assert_int_equal(batch_new(&sums, TABLE_SUMMARY), 0);
	for (size_t i = 0; i < store_block_count(s); i++) {
		if (store_block(s, i)->table != TABLE_OP)
			continue;
		add_sum(sums, (int64_t)store_block(s, i)->seq, &calls[0], "\x0a\x01");
		add_sum(sums, (int64_t)store_block(s, i)->seq, &calls[1], "\x0a\x02");
	}
	assert_int_equal(sums->rows, 2);
	assert_ok(store_append(w, sums, &err), err);
	store_free(s);
	s = open_crafted(again_path, w);
	assert_int_equal(
		calls_of(s, &(struct filter){INT64_MIN, INT64_MAX, "file_id == 1", NULL}, 1), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything),	    cmocka_unit_test(hostile),
		cmocka_unit_test(ranges),	    cmocka_unit_test(selections),
		cmocka_unit_test(replayed),	    cmocka_unit_test(regrouped),
		cmocka_unit_test(no_end),	    cmocka_unit_test(without_return),
		cmocka_unit_test(second_positions), cmocka_unit_test(second_histogram),
	};

	return cmocka_run_group_tests(tests, make_traces, remove_traces);
}
