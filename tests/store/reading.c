/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: a file that grows, several as one, many threads, id sets, summaries, the order of commits. */
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

#include "common.h"
#include "base/clock.h"
#include "hist/sparse.h"
#include "schema/vocab.h"

static int setup(void **state)
{
	make_folder();
	return 0;
}

static int teardown(void **state)
{
	remove_folder();
	return 0;
}

static void write_ops(const char *path, const struct batch *files, const struct batch *ops)
{
	struct store_options opt = {.owner = (uid_t)-1};
	struct store_writer *w;
	struct error err = {0};

	assert_ok(store_create(&w, path, &opt, &err), err);
	if (files)
		assert_ok(store_append(w, files, &err), err);
	assert_ok(store_append(w, ops, &err), err);
	assert_ok(store_close(w, &err), err);
}

static void grows(void **state)
{
	struct draw d = {test_seed(11)};
	int64_t clock = 1700000000000000000;
	struct batch *files = file_rows(60), *all;
	struct store_damage damage;
	struct store_writer *w;
	struct error err = {0};
	struct stat st;
	struct store *s;
	char path[256];

	snprintf(path, sizeof(path), "%s", in_folder("grows"));
	assert_int_equal(batch_new(&all, TABLE_OP), 0);
	assert_ok(store_create(&w, path, NULL, &err), err);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(store_create(&w, path, NULL, &err), -EEXIST);
	err = (struct error){0};
	s = open_trace(path);
	assert_true(store_is_open_ended(s));
	assert_int_equal(store_block_count(s), 0);
	assert_ok(store_append(w, files, &err), err);
	for (unsigned int i = 0; i < 10; i++) {
		struct batch *b = likely_ops(&d, 1000, &clock), *got;

		assert_ok(store_append(w, b, &err), err);
		assert_int_equal(store_refresh(s, &err), 0);
		assert_ok(store_flush(w, true, &err), err);
		/* The first time files too; a summary each. */
		assert_int_equal(store_refresh(s, &err), i == 0 ? 3 : 2);
		assert_int_equal(batch_append(all, b, 0, b->rows), 0);
		got = read_rows(s, TABLE_OP);
		assert_int_equal(got->rows, all->rows);
		assert_rows(all, 0, got);
		assert_int_equal(dims_count(store_dims(s), TABLE_FILE, 0), 60);
		store_damage(s, &damage);
		assert_int_equal(damage.blocks, 0);
		batch_free(got);
		batch_free(b);
	}
	assert_true(store_is_open_ended(s));
	assert_ok(store_close(w, &err), err);
	assert_int_equal(store_refresh(s, &err), 0);
	assert_false(store_is_open_ended(s));
	store_free(s);
	batch_free(all);
	batch_free(files);
}

/* Blocks age: nothing goes out before, all does after. */
static void ages(void **state)
{
	struct store_options opt = {.owner = (uid_t)-1, .block_ns = 50000000};
	struct draw d = {1};
	int64_t clock = 1700000000000000000;
	struct batch *b = likely_ops(&d, 10, &clock);
	struct store_stats stats;
	struct store_writer *w;
	struct error err = {0};
	int64_t from = clock_monotonic_ns();

	assert_ok(store_create(&w, in_folder("ages"), &opt, &err), err);
	assert_ok(store_append(w, b, &err), err);
	assert_ok(store_flush(w, false, &err), err);
	store_writer_stats(w, &stats);
	if (clock_monotonic_ns() - from < (int64_t)opt.block_ns) /* else it is old already */
		assert_int_equal(stats.rows[TABLE_OP], 0);
	usleep(opt.block_ns / 1000);
	assert_ok(store_flush(w, false, &err), err);
	store_writer_stats(w, &stats);
	assert_int_equal(stats.rows[TABLE_OP], 10);
	assert_ok(store_close(w, &err), err);
	batch_free(b);
}

static void several(void **state)
{
	struct draw d = {test_seed(12)};
	int64_t clock = 1700000000000000000, first, last;
	struct batch *a = likely_ops(&d, 3000, &clock), *b = likely_ops(&d, 2000, &clock),
		     *files = file_rows(60);
	char one[256], two[256], folder[256];
	const char *paths[3] = {one, two, one}, *whole[1] = {folder};
	struct error err = {0};
	struct store *s;

	snprintf(one, sizeof(one), "%s", in_folder("1"));
	snprintf(two, sizeof(two), "%s", in_folder("2"));
	write_ops(one, files, a);
	write_ops(two, files, b);
	for (unsigned int how = 0; how < 2; how++) {
		struct batch *got;

		snprintf(folder, sizeof(folder), "%s", in_folder("."));
		assert_ok(store_open(&s, how ? whole : paths, how ? 1 : 3, &err), err);
		if (how == 0) /* a file that is named twice is read once */
			assert_int_equal(store_trace_count(s), 2);
		got = read_rows(s, TABLE_OP);
		if (how == 0)
			assert_int_equal(got->rows, 5000);
		for (size_t i = 0; how == 0 && i < got->rows; i++) {
			const struct batch *from = i < 3000 ? a : b;
			size_t k = i < 3000 ? i : i - 3000;
			int64_t add = i < 3000 ? 0 : 1ll << 40;

			assert_int_equal(batch_get(got, OP_START, i, 0),
					 batch_get(from, OP_START, k, 0));
			assert_int_equal(batch_get(got, OP_FILE_ID, i, 0),
					 batch_get(from, OP_FILE_ID, k, 0) | add);
			assert_int_equal(batch_get(got, OP_THREAD_ID, i, 0),
					 batch_get(from, OP_THREAD_ID, k, 0) | add);
			assert_int_equal(batch_get(got, OP_TID, i, 0),
					 batch_get(from, OP_TID, k, 0));
		}
		if (how == 0) {
			assert_true(dims_has(store_dims(s), TABLE_FILE, 5));
			assert_true(dims_has(store_dims(s), TABLE_FILE, 5 | 1ll << 40));
			assert_false(dims_has(store_dims(s), TABLE_FILE, 5 | 2ll << 40));
		}
		for (size_t i = 0; i < store_block_count(s); i++) {
			size_t sums = store_summary_of(s, i);

			/* blocks of both traces have the same numbers */
			assert_true((sums != SIZE_MAX) == (store_block(s, i)->table == TABLE_OP));
			if (sums != SIZE_MAX)
				assert_int_equal(store_block(s, sums)->trace,
						 store_block(s, i)->trace);
		}
		store_range(s, &first, &last);
		assert_true(first <= batch_get(a, OP_START, 0, 0) && last >= clock);
		batch_free(got);
		store_free(s);
	}
	batch_free(a);
	batch_free(b);
	batch_free(files);
}

static void id_sets(void **state)
{
	struct draw d = {test_seed(13)};
	struct batch *b;
	struct store *s;

	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (size_t i = 0; i < 5000; i++) {
		assert_true(batch_add_row(b) >= 0);
		if (draw(&d, 3))
			assert_int_equal(batch_set(b, OP_FILE_ID, i, (int64_t)draw(&d, 300) * 7),
					 0);
	}
	write_ops(in_folder("sets"), NULL, b);
	s = open_trace(in_folder("sets"));
	for (size_t k = 0; k < store_block_count(s); k++) {
		if (store_block(s, k)->table != TABLE_OP)
			continue;
		for (int64_t id = 0; id < 2200; id++) {
			bool there = false;

			for (size_t i = 0; i < b->rows && !there; i++)
				there = batch_get(b, OP_FILE_ID, i, -1) == id;
			assert_int_equal(store_block_has_id(s, k, OP_FILE_ID, id), there);
		}
		assert_false(store_block_has_id(s, k, OP_THREAD_ID, 0));
	}
	store_free(s);
	batch_free(b);
}

/* ---- summaries ---- */

struct totals {
	int64_t calls, bytes, time, max;
	struct hist hist;
};

static bool same_group(const struct batch *sums, size_t row, const struct batch *ops, size_t i)
{
	static const uint8_t pairs[][2] = {{SUMMARY_OP, OP_OP},
					   {SUMMARY_THREAD_ID, OP_THREAD_ID},
					   {SUMMARY_FILE_ID, OP_FILE_ID},
					   {SUMMARY_ERR, OP_ERR},
					   {SUMMARY_CLASS, OP_CLASS}};
	int64_t end = batch_get(ops, OP_START, i, 0) + batch_get(ops, OP_DUR, i, 0);

	for (size_t k = 0; k < ARRAY_SIZE(pairs); k++) {
		if (batch_get(sums, pairs[k][0], row, -5) != batch_get(ops, pairs[k][1], i, -5))
			return false;
	}
	return batch_get(sums, SUMMARY_WINDOW, row, 0) == end / 100000000 * 100000000;
}

/* Each summary row is the sum of its rows, and every finished call is in one. */
static void summaries(void **state)
{
	struct draw d = {test_seed(14)};
	int64_t clock = 1700000000000000000;
	struct batch *ops = likely_ops(&d, 4000, &clock), *sums;
	size_t unfinished = 0, counted = 0;
	struct store *s;

	for (size_t i = 0; i < ops->rows; i++) {
		if (draw(&d, 9) == 0)
			assert_int_equal(batch_set(ops, OP_ERR, i, (int64_t)draw(&d, 3)), 0);
		if (draw(&d, 9) == 0)
			batch_set_null(ops, OP_FILE_ID, i);
		if (draw(&d, 50) == 0) {
			assert_int_equal(batch_set(ops, OP_STATUS, i, STATUS_UNFINISHED), 0);
			unfinished++;
		}
		if (draw(&d, 200) == 0)
			assert_int_equal(batch_set(ops, OP_DUR, i, 200000000), 0);
	}
	write_ops(in_folder("sums"), NULL, ops);
	s = open_trace(in_folder("sums"));
	sums = read_rows(s, TABLE_SUMMARY);
	for (size_t k = 0; k < sums->rows; k++) {
		bool far = batch_get(sums, SUMMARY_MAX, k, 0) > 100000000;
		struct bytes packed = batch_get_bytes(sums, SUMMARY_HIST, k);
		struct totals want = {0};
		struct hist got = {0};
		uint8_t a[HIST_PACKED_MAX], b[HIST_PACKED_MAX];

		for (size_t i = 0; i < ops->rows; i++) {
			int64_t dur = batch_get(ops, OP_DUR, i, 0);

			if ((dur > 100000000) != far ||
			    (batch_get(ops, OP_STATUS, i, 0) & STATUS_UNFINISHED) ||
			    !same_group(sums, k, ops, i))
				continue;
			want.calls++;
			want.bytes += batch_get(ops, OP_BYTES, i, 0);
			want.time += dur;
			want.max = MAX(want.max, dur);
			assert_int_equal(hist_add(&want.hist, (uint64_t)dur, 1), 0);
		}
		assert_int_equal(batch_get(sums, SUMMARY_CALLS, k, 0), want.calls);
		assert_int_equal(batch_get(sums, SUMMARY_BYTES, k, 0), want.bytes);
		assert_int_equal(batch_get(sums, SUMMARY_TIME, k, 0), want.time);
		assert_int_equal(batch_get(sums, SUMMARY_MAX, k, 0), want.max);
		assert_int_equal(hist_unpack(&got, packed.data, packed.len), 0);
		assert_int_equal(hist_pack(&got, a), hist_pack(&want.hist, b));
		assert_memory_equal(a, b, hist_pack(&got, a));
		counted += (size_t)want.calls;
		hist_free(&got);
		hist_free(&want.hist);
	}
	assert_int_equal(counted + unfinished, ops->rows);
	assert_true(store_summary_counts(sums, counted, true));
	assert_false(store_summary_counts(sums, counted + 1, true));
	assert_int_equal(
		batch_set(sums, SUMMARY_CALLS, 0, batch_get(sums, SUMMARY_CALLS, 0, 0) + 1), 0);
	assert_true(store_summary_counts(sums, counted + 1, false));
	assert_false(store_summary_counts(sums, counted + 1,
					  true)); /* a histogram says another number */
	assert_int_equal(
		batch_set(sums, SUMMARY_CALLS, 0, batch_get(sums, SUMMARY_CALLS, 0, 0) - 1), 0);
	memset(sums->columns[SUMMARY_HIST].data, 0xff, sums->columns[SUMMARY_HIST].data_len);
	assert_true(store_summary_counts(sums, counted, false));
	assert_false(store_summary_counts(sums, counted, true)); /* or none */
	batch_free(sums);
	batch_free(ops);
	store_free(s);
}

/* The rows that an op names are in blocks before its own; each block of op is followed by its summary. */
static void order(void **state)
{
	struct draw d = {test_seed(15)};
	int64_t clock = 1700000000000000000;
	struct batch_set set = {
		.tables = {[TABLE_OP] = likely_ops(&d, 100, &clock), [TABLE_FILE] = file_rows(60)}};
	struct store_writer *w;
	struct error err = {0};
	size_t files = 0;
	struct store *s;

	assert_ok(store_create(&w, in_folder("order"), NULL, &err), err);
	for (unsigned int i = 0; i < 4; i++) {
		assert_ok(store_append_set(w, &set, &err), err);
		assert_ok(store_flush(w, true, &err), err);
	}
	assert_ok(store_close(w, &err), err);
	s = open_trace(in_folder("order"));
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_block *b = store_block(s, i);

		files += b->table == TABLE_FILE;
		if (b->table != TABLE_OP)
			continue;
		assert_true(files > 0);
		assert_true(i + 1 < store_block_count(s));
		assert_int_equal(store_block(s, i + 1)->table, TABLE_SUMMARY);
		assert_int_equal(store_block(s, i + 1)->seq, b->seq + 1);
		assert_int_equal(store_block(s, i + 1)->min[SUMMARY_BLOCK], b->seq);
		assert_int_equal(store_summary_of(s, i), i + 1);
		assert_int_equal(store_block(s, i + 1)->pair, i);
	}
	batch_set_free(&set);
	store_free(s);
}

/* ---- threads ---- */

struct reader {
	struct store *store;
	uint64_t sum;
};

static void *sum_starts(void *arg)
{
	struct reader *r = arg;
	struct store_cursor *c;
	struct error err = {0};

	if (store_cursor_new(&c, r->store) < 0)
		return NULL;
	for (size_t i = 0; i < store_block_count(r->store); i++) {
		const struct batch *b;

		if (store_block(r->store, i)->table != TABLE_OP ||
		    store_decode(c, i, 1ull << OP_START, &b, &err) < 0)
			continue;
		for (size_t k = 0; k < b->rows; k++)
			r->sum += (uint64_t)batch_get(b, OP_START, k, 0);
	}
	store_cursor_free(c);
	return NULL;
}

static void many_threads(void **state)
{
	struct draw d = {test_seed(16)};
	int64_t clock = 1700000000000000000;
	struct batch *ops = likely_ops(&d, 60000, &clock);
	struct reader readers[4] = {0};
	pthread_t threads[4];
	uint64_t want = 0;
	struct store *s;

	for (size_t i = 0; i < ops->rows; i++)
		want += (uint64_t)batch_get(ops, OP_START, i, 0);
	write_ops(in_folder("threads"), NULL, ops);
	s = open_trace(in_folder("threads"));
	for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++) {
		readers[i].store = s;
		assert_int_equal(pthread_create(&threads[i], NULL, sum_starts, &readers[i]), 0);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].sum, want);
	}
	batch_free(ops);
	store_free(s);
}

/* Damage that several threads come upon: each leaves the block out, it is counted once. */
static void *sum_whole(void *arg)
{
	struct reader *r = arg;

	for (size_t i = 0; i < store_block_count(r->store); i++)
		r->sum += store_block(r->store, i)->damaged; /* another may find it now */
	r->sum = 0;
	return sum_starts(arg);
}

static void many_threads_damage(void **state)
{
	struct draw d = {test_seed(19)};
	int64_t clock = 1700000000000000000;
	struct batch *ops = likely_ops(&d, 60000, &clock);
	struct reader readers[4] = {0};
	pthread_t threads[4];
	struct store_damage damage;
	_cleanup_free_ uint8_t *data = NULL;
	const struct store_block *b = NULL;
	char path[256];
	struct store *s;
	size_t len;

	snprintf(path, sizeof(path), "%s", in_folder("hurt"));
	write_ops(path, NULL, ops);
	s = open_trace(path);
	for (size_t i = 0; i < store_block_count(s) && !b; i++) {
		if (store_block(s, i)->table == TABLE_OP)
			b = store_block(s, i);
	}
	assert_non_null(b);
	data = load_file(path, &len);
	for (size_t at = b->bytes / 4; at < b->bytes; at += 64)
		data[b->offset + at] ^= 1; /* in every column, not in the header */
	store_free(s);
	save_file(path, data, len);
	s = open_trace(path);
	for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++) {
		readers[i].store = s;
		assert_int_equal(pthread_create(&threads[i], NULL, sum_whole, &readers[i]), 0);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].sum, readers[0].sum);
	}
	store_damage(s, &damage);
	assert_int_equal(damage.blocks, 1);
	batch_free(ops);
	store_free(s);
}

/* More blocks than one index names; the same blocks by index and by walking. */
static void long_index(void **state)
{
	struct draw d = {test_seed(17)};
	int64_t clock = 1700000000000000000;
	struct store_writer *w;
	struct error err = {0};
	struct store *s, *walked;
	char path[256];
	uint8_t *data;
	size_t len;

	snprintf(path, sizeof(path), "%s", in_folder("index"));
	assert_ok(store_create(&w, path, NULL, &err), err);
	for (unsigned int i = 0; i < 400; i++) {
		struct batch *b = likely_ops(&d, 5, &clock);

		assert_ok(store_append(w, b, &err), err);
		assert_ok(store_flush(w, true, &err), err);
		batch_free(b);
	}
	assert_ok(store_close(w, &err), err);
	s = open_trace(path);
	data = load_file(path, &len);
	save_file(path, data, len - 64); /* no end mark, no way to the index */
	walked = open_trace(path);
	assert_int_equal(store_block_count(s), 800);
	assert_int_equal(store_block_count(walked), 800);
	for (size_t i = 0; i < 800; i++) {
		const struct store_block *a = store_block(s, i), *b = store_block(walked, i);

		assert_int_equal(a->offset, b->offset);
		assert_int_equal(a->seq, b->seq);
		assert_int_equal(a->rows, b->rows);
		assert_int_equal(a->table, b->table);
	}
	assert_false(store_is_open_ended(s));
	assert_true(store_is_open_ended(walked));
	store_free(walked);
	store_free(s);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),	cmocka_unit_test(ages),
		cmocka_unit_test(several),	cmocka_unit_test(id_sets),
		cmocka_unit_test(summaries),	cmocka_unit_test(order),
		cmocka_unit_test(many_threads), cmocka_unit_test(many_threads_damage),
		cmocka_unit_test(long_index),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
