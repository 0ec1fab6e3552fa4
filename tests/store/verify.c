/* SPDX-License-Identifier: Apache-2.0 */
/* A block counts whole or not at all, whoever reads what of it; and what happens to a file while it is open is noticed. */
#include "store/file/read/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "common.h"
#include "store/file/block.h"

#define BLOCKS 6
#define ROWS   300

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

/* A closed trace of BLOCKS blocks of op with a summary each. */
static void write_trace(const char *path, uint64_t seed)
{
	struct draw d = {seed};
	int64_t clock = 1700000000000000000;
	struct batch *files = file_rows(60);
	struct store_writer *w;
	struct error err = {0};

	assert_ok(store_create(&w, path, NULL, &err), err);
	assert_ok(store_append(w, files, &err), err);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		struct batch *b = likely_ops(&d, ROWS, &clock);

		assert_ok(store_append(w, b, &err), err);
		assert_ok(store_flush(w, true, &err), err);
		batch_free(b);
	}
	assert_ok(store_close(w, &err), err);
	batch_free(files);
}

static void flip(const char *path, uint64_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
	byte ^= 0x40;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	close(fd);
}

static size_t find_block(const struct store *s, enum table_id table, unsigned int number)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		if (store_block(s, i)->table == table && number-- == 0)
			return i;
	}
	fail_msg("no such block");
	return 0;
}

static uint64_t calls_lost(const struct store *s)
{
	struct store_damage d;

	store_damage(s, &d);
	return d.calls;
}

/* Calls that count by rows of `columns`, or by summaries where those are good. */
static uint64_t count_calls(struct store *s, uint64_t columns, bool summaries)
{
	struct store_cursor *c;
	uint64_t calls = 0;

	assert_int_equal(store_cursor_new(&c, s), 0);
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_block *b = store_block(s, i);
		struct error err = {0};
		const struct batch *rows;
		size_t sums = store_summary_of(s, i);

		if (b->table != TABLE_OP)
			continue;
		if (summaries && sums != SIZE_MAX &&
		    store_decode(c, sums, ~0ull, &rows, &err) == 0 &&
		    store_summary_counts(rows, b->rows, true))
			calls += b->rows;
		else if (store_decode(c, i, columns, &rows, &err) == 0)
			calls += rows->rows;
	}
	store_cursor_free(c);
	return calls;
}

/* One byte anywhere in a block of calls: no reader counts any of it, and each finds the damage. */
static void whole_or_not(void **state)
{
	const uint64_t columns[] = {0, 1ull << OP_DUR, 1ull << OP_FILE_ID | 1ull << OP_BYTES,
				    ~0ull};
	char path[256];
	struct store *s;
	struct store_block b;

	snprintf(path, sizeof(path), "%s", in_folder("whole"));
	write_trace(path, 21);
	s = open_trace(path);
	memcpy(&b, store_block(s, find_block(s, TABLE_OP, 2)), sizeof(b));
	assert_int_equal(count_calls(s, 0, true), BLOCKS * ROWS);
	store_free(s);
	for (uint64_t at = b.offset + b.bytes - 1; at > b.offset + b.bytes / 2; at -= 97) {
		flip(path, at);
		for (unsigned int k = 0; k < 2 * ARRAY_SIZE(columns); k++) {
			s = open_trace(path);
			assert_int_equal(count_calls(s, columns[k / 2], k % 2),
					 (BLOCKS - 1) * ROWS);
			assert_int_equal(calls_lost(s), ROWS);
			store_free(s);
		}
		flip(path, at);
	}
}

/* A summary that is damaged costs no call: its block has them all. */
static void summaries(void **state)
{
	struct store_damage d;
	struct store *s;
	char path[256];
	const struct store_block *b;

	snprintf(path, sizeof(path), "%s", in_folder("summaries"));
	write_trace(path, 22);
	s = open_trace(path);
	b = store_block(s, find_block(s, TABLE_SUMMARY, 1));
	flip(path, b->offset + b->bytes - 1);
	assert_int_equal(count_calls(s, 0, true), BLOCKS * ROWS);
	store_damage(s, &d);
	assert_int_equal(d.calls, 0);
	assert_int_equal(d.blocks, 1);
	store_free(s);
}

static bool after_two(void *arg)
{
	return (*(unsigned int *)arg)++ == 2;
}

static void verifies(void **state)
{
	struct store_damage d;
	unsigned int asked = 0;
	uint64_t blocks;
	struct store *s;
	char path[256];

	snprintf(path, sizeof(path), "%s", in_folder("verifies"));
	write_trace(path, 23);
	s = open_trace(path);
	for (unsigned int i = 1; i < BLOCKS; i += 2) {
		const struct store_block *b = store_block(s, find_block(s, TABLE_OP, i));

		flip(path, b->offset + b->bytes - 1);
	}
	blocks = store_unverified(s);
	assert_true(blocks >= 2 * BLOCKS);
	assert_int_equal(store_verify(s, SIZE_MAX, after_two, &asked, NULL), -EINTR);
	assert_int_equal(store_unverified(s), blocks - 2);
	assert_int_equal(store_verify(s, 0, NULL, NULL, &d), 0);
	assert_int_equal(d.blocks, BLOCKS / 2);
	assert_int_equal(d.calls, BLOCKS / 2 * ROWS);
	assert_int_equal(store_unverified(s), 0);
	store_free(s);
}

/* ---- files that change while they are open ---- */

static unsigned int changes(const struct store *s)
{
	struct store_file_changes c;

	store_file_changes(s, &c);
	assert_int_equal(c.traces, c.what != 0);
	assert_true(!c.what || strstr(c.path, "/changes"));
	return c.what;
}

static void refresh(struct store *s)
{
	struct error err = {0};

	/* the clock of files stands still for some milliseconds */
	usleep(20000);
	assert_ok(store_refresh(s, &err), err);
}

static void names_change(void **state)
{
	char path[256], other[256];
	struct store *s;

	snprintf(path, sizeof(path), "%s", in_folder("changes"));
	snprintf(other, sizeof(other), "%s", in_folder("other"));
	write_trace(path, 24);
	s = open_trace(path);
	assert_int_equal(changes(s), 0);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(changes(s), STORE_FILE_MOVED);
	write_trace(path, 25);
	assert_int_equal(changes(s), STORE_FILE_REPLACED);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(changes(s), STORE_FILE_DELETED | STORE_FILE_REPLACED);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(changes(s), STORE_FILE_DELETED);
	/* all of it can still be read */
	refresh(s);
	assert_int_equal(count_calls(s, ~0ull, true), BLOCKS * ROWS);
	assert_int_equal(calls_lost(s), 0);
	store_free(s);
}

static void is_cut(void **state)
{
	uint64_t end;
	char path[256];
	struct store *s;

	snprintf(path, sizeof(path), "%s", in_folder("changes"));
	write_trace(path, 26);
	s = open_trace(path);
	assert_int_equal(count_calls(s, 0, true), BLOCKS * ROWS);
	end = store_block(s, find_block(s, TABLE_OP, 3))->offset + 10;
	assert_int_equal(truncate(path, (off_t)end), 0);
	assert_int_equal(changes(s), STORE_FILE_CUT);
	refresh(s);
	assert_int_equal(calls_lost(s), (BLOCKS - 3) * ROWS);
	assert_int_equal(count_calls(s, 0, true), 3 * ROWS);
	assert_true(store_is_open_ended(s));
	assert_int_equal(truncate(path, 0), 0);
	refresh(s);
	assert_int_equal(calls_lost(s), BLOCKS * ROWS);
	assert_int_equal(count_calls(s, 0, true), 0);
	store_free(s);
}

/* What is known of an overwritten file is what is found by those who open it now. */
static void is_overwritten(void **state)
{
	struct draw d = {test_seed(28)};
	char path[256];
	size_t len;

	snprintf(path, sizeof(path), "%s", in_folder("changes"));
	for (unsigned int i = 0; i < 40; i++) {
		struct store *s, *anew;
		uint64_t before;
		uint8_t *data;
		int fd;

		unlink(path);
		write_trace(path, 27);
		data = load_file(path, &len);
		s = open_trace(path);
		before = count_calls(s, 0, i % 2);
		assert_int_equal(before, BLOCKS * ROWS);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		for (unsigned int k = 0; k < 1 + i / 4; k++) {
			size_t at = 64 + draw(&d, len - 64), n = MIN(draw(&d, 900), len - at);

			for (size_t j = at; j < at + n; j++)
				data[j] = (uint8_t)draw(&d, 256);
			assert_int_equal(pwrite(fd, data + at, n, (off_t)at), n);
		}
		close(fd);
		refresh(s);
		anew = open_trace(path);
		assert_int_equal(count_calls(s, 0, i % 2), count_calls(anew, ~0ull, i % 3));
		assert_int_equal(count_calls(s, 0, true) + calls_lost(s), BLOCKS * ROWS);
		store_free(anew);
		store_free(s);
		free(data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_or_not, setup, teardown),
		cmocka_unit_test_setup_teardown(summaries, setup, teardown),
		cmocka_unit_test_setup_teardown(verifies, setup, teardown),
		cmocka_unit_test_setup_teardown(names_change, setup, teardown),
		cmocka_unit_test_setup_teardown(is_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(is_overwritten, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
