/* SPDX-License-Identifier: Apache-2.0 */
/* Digests sum up what the summaries of their blocks say; where one is damaged or missing, nothing is lost. */
#include <errno.h>
#include <fcntl.h>

#include "common.h"
#include "schema/vocab.h"
#include "store/file/check_trace.h"
#include "store/file/read/reader.h"
#include "store/summary/digest.h"

#define ROWS   200
#define BLOCKS (2 * DIGEST_BLOCKS_MAX + 3)

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

static void write_trace(const char *path, uint64_t seed, unsigned int blocks)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct draw d = {seed};
	int64_t clock = 1700000000000000000;
	struct batch *files = file_rows(60);
	struct store_writer *w;
	struct error err = {0};

	assert_ok(store_create(&w, path, &opt, &err), err);
	assert_ok(store_append(w, files, &err), err);
	for (unsigned int i = 0; i < blocks; i++) {
		struct batch *b = likely_ops(&d, ROWS, &clock);

		assert_ok(store_append(w, b, &err), err);
		assert_ok(store_flush(w, true, &err), err);
		batch_free(b);
	}
	assert_ok(store_close(w, &err), err);
	batch_free(files);
}

/* The digests, each once. */
static size_t list_digests(const struct store *s, const struct store_digest **ret, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_digest *d =
			store_block(s, i)->table == TABLE_OP ? store_digest_of(s, i) : NULL;

		if (!d || d->blocks[0] != i)
			continue;
		assert_true(n < max);
		ret[n++] = d;
	}
	return n;
}

/* Changes the byte before `at`. */
static void flip_before(const char *path, uint64_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)at - 1), 1);
	byte ^= 0x20;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at - 1), 1);
	close(fd);
}

struct figures {
	uint64_t calls, bytes, time, max, errors;
};

static void add_row(struct figures *f, const struct batch *b, size_t i)
{
	uint64_t calls = (uint64_t)batch_get(b, SUMMARY_CALLS, i, 0);

	f->calls += calls;
	f->bytes += (uint64_t)batch_get(b, SUMMARY_BYTES, i, 0);
	f->time += (uint64_t)batch_get(b, SUMMARY_TIME, i, 0);
	f->max = MAX(f->max, (uint64_t)batch_get(b, SUMMARY_MAX, i, 0));
	f->errors += batch_is_null(b, SUMMARY_ERR, i) ? 0 : calls;
}

/* Of a file; -1: of all. */
static struct figures sum_rows(const struct batch *b, int64_t file)
{
	struct figures f = {0};

	for (size_t i = 0; i < b->rows; i++) {
		if (file < 0 || batch_get(b, SUMMARY_FILE_ID, i, -1) == file)
			add_row(&f, b, i);
	}
	return f;
}

static void add_second(struct figures *f, const struct batch *b, int64_t file)
{
	for (size_t i = 0; i < b->rows; i++) {
		if (batch_get(b, SUMMARY_FILE2_ID, i, -1) == file &&
		    batch_is_null(b, SUMMARY_ERR, i))
			add_row(f, b, i);
	}
}

static void add_figures(struct figures *to, struct figures f)
{
	to->calls += f.calls;
	to->bytes += f.bytes;
	to->time += f.time;
	to->max = MAX(to->max, f.max);
	to->errors += f.errors;
}

/* Of the summaries of the digest's blocks. */
static struct figures sum_blocks(struct store_cursor *c, const struct store *s,
				 const struct store_digest *d, int64_t file)
{
	struct figures sum = {0};

	for (size_t i = 0; i < d->count; i++) {
		const struct batch *b;
		struct error err = {0};

		assert_ok(store_decode(c, store_summary_of(s, d->blocks[i]), ~0ull, &b, &err), err);
		add_figures(&sum, sum_rows(b, file));
		if (file >= 0)
			add_second(&sum, b, file);
	}
	return sum;
}

static void same(struct figures a, struct figures b)
{
	assert_int_equal(a.calls, b.calls);
	assert_int_equal(a.bytes, b.bytes);
	assert_int_equal(a.time, b.time);
	assert_int_equal(a.max, b.max);
	assert_int_equal(a.errors, b.errors);
}

/* Each of them is what its blocks' summaries say. */
static void check_digests(const struct store *s, size_t count)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	const struct store_digest *list[4];

	assert_int_equal(store_cursor_new(&c, s), 0);
	assert_int_equal(list_digests(s, list, ARRAY_SIZE(list)), count);
	for (size_t k = 0; k < count; k++) {
		const struct batch *b;
		struct error err = {0};
		struct figures of;

		assert_int_equal(list[k]->count, DIGEST_BLOCKS_MAX);
		assert_int_equal(list[k]->calls, DIGEST_BLOCKS_MAX * ROWS);
		assert_ok(store_decode_digest(c, list[k], STORE_DIGEST_TIMES, ~0ull, &b, &err),
			  err);
		assert_false(batch_has(b, SUMMARY_FILE_ID));
		assert_true(store_summary_counts(b, list[k]->calls, true));
		of = sum_rows(b, -1);
		same(of, sum_blocks(c, s, list[k], -1));
		assert_true(store_digest_has_files(list[k]));
		for (int64_t file = 0; file < 60; file++) {
			assert_ok(store_decode_digest(c, list[k], STORE_DIGEST_FILES, ~0ull, &b,
						      &err),
				  err);
			of = sum_rows(b, file);
			same(of, sum_blocks(c, s, list[k], file));
		}
	}
}

static void add_up(void **state)
{
	_cleanup_(store_freep) struct store *s = NULL;
	const char *path = in_folder("sums");

	write_trace(path, 31, BLOCKS);
	s = open_trace(path);
	check_digests(s, 2); /* what came last is in none */
}

/* Damage in a part costs no call and not the other part; store_check() finds it. */
static void damaged(void **state)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	_cleanup_(store_freep) struct store *s = NULL;
	const char *path = in_folder("damaged");
	struct check_options opt = {0};
	const struct store_digest *d;
	struct store_damage damage;
	struct check_result r;
	uint64_t faults;
	struct error err = {0};
	const struct batch *b;

	write_trace(path, 32, DIGEST_BLOCKS_MAX + 1);
	s = open_trace(path);
	assert_ok(store_check(s, 0, &opt, &r, &err), err);
	faults = r.faults; /* threads have no rows */
	assert_int_equal(r.bad_blocks, 0);
	assert_int_equal(list_digests(s, &d, 1), 1);
	flip_before(path, digest_part(d, STORE_DIGEST_FILES)->pub.offset +
				  digest_part(d, STORE_DIGEST_FILES)->pub.bytes);
	store_free(TAKE_PTR(s));
	s = open_trace(path);
	assert_int_equal(store_cursor_new(&c, s), 0);
	assert_int_equal(list_digests(s, &d, 1), 1);
	assert_int_equal(store_decode_digest(c, d, STORE_DIGEST_FILES, ~0ull, &b, &err), -EBADMSG);
	assert_false(store_digest_has_files(d));
	err = (struct error){0};
	assert_ok(store_decode_digest(c, d, STORE_DIGEST_TIMES, ~0ull, &b, &err), err);
	store_damage(s, &damage);
	assert_int_equal(damage.blocks, 1);
	assert_int_equal(damage.calls, 0);
	assert_ok(store_check(s, 0, &opt, &r, &err), err);
	assert_int_equal(r.faults, faults + 1);
	assert_int_equal(r.bad_blocks, 1);
	assert_int_equal(r.rows[TABLE_OP], (DIGEST_BLOCKS_MAX + 1) * ROWS);
}

/* A block of calls that is damaged is in no digest any more: its calls must not count there. */
static void of_damaged_block(void **state)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	_cleanup_(store_freep) struct store *s = NULL;
	const char *path = in_folder("block");
	const struct store_digest *d;
	const struct store_block *b;
	const struct batch *rows;
	struct error err = {0};

	write_trace(path, 33, DIGEST_BLOCKS_MAX + 1);
	s = open_trace(path);
	assert_int_equal(list_digests(s, &d, 1), 1);
	b = store_block(s, d->blocks[7]);
	flip_before(path, b->offset + b->bytes);
	assert_int_equal(store_cursor_new(&c, s), 0);
	assert_int_equal(store_decode_digest(c, d, STORE_DIGEST_TIMES, ~0ull, &rows, &err),
			 -EBADMSG);
	assert_int_equal(list_digests(s, &d, 1), 0);
}

/* Calls that had not ended are in no summary, and their block is in no digest. */
static void unfinished(void **state)
{
	_cleanup_(store_freep) struct store *s = NULL;
	const char *path = in_folder("unfinished");
	struct draw draw = {34};
	int64_t clock = 1700000000000000000;
	const struct store_digest *d;
	struct store_writer *w;
	struct error err = {0};

	assert_ok(store_create(&w, path, NULL, &err), err);
	for (unsigned int i = 0; i < DIGEST_BLOCKS_MAX + 2; i++) {
		struct batch *b = likely_ops(&draw, ROWS, &clock);

		if (i == 5)
			assert_int_equal(batch_set(b, OP_STATUS, 0, STATUS_UNFINISHED), 0);
		assert_ok(store_append(w, b, &err), err);
		assert_ok(store_flush(w, true, &err), err);
		batch_free(b);
	}
	assert_ok(store_close(w, &err), err);
	s = open_trace(path);
	assert_int_equal(list_digests(s, &d, 1), 1);
	assert_int_equal(d->count, DIGEST_BLOCKS_MAX);
	assert_int_equal(d->blocks[5], d->blocks[4] + 4); /* op, summary, and both of the sixth */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add_up),
		cmocka_unit_test(damaged),
		cmocka_unit_test(of_damaged_block),
		cmocka_unit_test(unfinished),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
