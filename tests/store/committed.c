/* SPDX-License-Identifier: Apache-2.0 */
/* Copies made of committed blocks: while the trace is written, after its writer was killed, from the middle on, past damage. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "common.h"

#define ROWS 500

/* Writes until it is killed, or `blocks` are written and the trace is closed. */
static void write_blocks(const char *path, uint64_t seed, unsigned int blocks)
{
	struct draw d = {.state = seed};
	struct store_writer *w;
	struct error err = {0};
	int64_t clock = 1000;

	assert_ok(store_create(&w, path, NULL, &err), err);
	for (unsigned int i = 0; i < blocks; i++) {
		_cleanup_(batch_freep) struct batch *b = likely_ops(&d, ROWS, &clock);

		assert_ok(store_append(w, b, &err), err);
		assert_ok(store_flush(w, true, &err), err);
	}
	assert_ok(store_close(w, &err), err);
}

/* Takes what there is; how many pieces. */
static size_t take_all(struct store_committed *c, size_t max, struct buf *copy)
{
	struct error err = {0};
	struct bytes piece;
	size_t n = 0;

	for (;; n++) {
		assert_ok(store_committed_next(c, max, &piece, &err), err);
		if (!piece.len)
			return n;
		assert_int_equal(buf_append(copy, piece.data, piece.len), 0);
	}
}

static void assert_prefix(const char *path, const struct buf *copy)
{
	size_t len;
	uint8_t *all = load_file(path, &len);

	assert_true(copy->len <= len);
	assert_memory_equal(all, copy->data, copy->len);
	free(all);
}

/* What can be read of the copy is what can be read of the trace. */
static void assert_same_rows(const char *path, const struct buf *copy)
{
	char of[4096];
	_cleanup_(store_freep) struct store *a = NULL, *b = NULL;
	struct store_damage damage;
	size_t rows = 0;

	snprintf(of, sizeof(of), "%s.copy", path);
	save_file(of, copy->data, copy->len);
	a = open_trace(path);
	b = open_trace(of);
	store_damage(b, &damage);
	assert_false(damage.torn);
	assert_int_equal(store_block_count(a), store_block_count(b));
	for (size_t i = 0; i < store_block_count(a); i++) {
		assert_int_equal(store_block(a, i)->offset, store_block(b, i)->offset);
		rows += store_block(b, i)->table == TABLE_OP ? store_block(b, i)->rows : 0;
	}
	assert_int_equal(rows % ROWS, 0);
	unlink(of);
}

static void closed(void **state _unused_)
{
	static const size_t sizes[] = {1, 4096, 1 << 20};
	const char *path;
	struct error err = {0};

	make_folder();
	path = in_folder("closed");
	write_blocks(path, 1, 40);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_(store_committed_freep) struct store_committed *c = NULL;
		_cleanup_buf_ struct buf copy = {0};
		struct stat st;

		assert_ok(store_committed_open(&c, path, 0, &err), err);
		assert_false(store_committed_ended(c));
		assert_true(take_all(c, sizes[i], &copy) >= 2);
		assert_true(store_committed_ended(c));
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(copy.len, st.st_size);
		assert_int_equal(store_committed_offset(c), st.st_size);
		assert_prefix(path, &copy);
	}
	remove_folder();
}

/* Goes on behind each piece with a copy that is opened there; anywhere else there is no block. */
static void from_an_offset(void **state _unused_)
{
	_cleanup_buf_ struct buf copy = {0};
	struct error err = {0};
	uint64_t offset = 0;
	const char *path;

	make_folder();
	path = in_folder("pieces");
	write_blocks(path, 2, 10);
	for (bool more = true; more;) {
		_cleanup_(store_committed_freep) struct store_committed *c = NULL;
		struct store_committed *none;
		struct bytes piece;

		assert_ok(store_committed_open(&c, path, offset, &err), err);
		if (offset)
			assert_int_equal(store_committed_open(&none, path, offset + 1, NULL),
					 -EINVAL);
		assert_ok(store_committed_next(c, 1, &piece, &err), err);
		assert_int_equal(buf_append(&copy, piece.data, piece.len), 0);
		offset = store_committed_offset(c);
		assert_int_equal(offset, copy.len);
		more = piece.len;
	}
	assert_prefix(path, &copy);
	assert_same_rows(path, &copy);
	remove_folder();
}

/* The writer is killed at any instant: what was copied is a trace, and all that was committed is there. */
static void killed(void **state _unused_)
{
	uint64_t seed = test_seed(3);

	for (unsigned int i = 0; i < 8; i++) {
		_cleanup_(store_committed_freep) struct store_committed *c = NULL;
		_cleanup_buf_ struct buf copy = {0};
		struct draw d = {.state = seed + i};
		size_t enough = 4000 + draw(&d, 200000);
		struct error err = {0};
		const char *path;
		struct stat st;
		pid_t writer;

		make_folder();
		path = in_folder("killed");
		writer = fork();
		if (!writer) {
			write_blocks(path, seed + i, 1u << 30);
			_exit(1);
		}
		while (stat(path, &st) < 0 || st.st_size < 64)
			usleep(100);
		assert_ok(store_committed_open(&c, path, 0, &err), err);
		while (copy.len < enough)
			take_all(c, 10000, &copy);
		kill(writer, SIGKILL);
		assert_int_equal(waitpid(writer, NULL, 0), writer);
		take_all(c, 10000, &copy);
		assert_false(store_committed_ended(c));
		assert_prefix(path, &copy);
		assert_same_rows(path, &copy);
		remove_folder();
	}
}

/* A block that was changed on the disk is missing in the copy; those behind it are there. */
static void damaged(void **state _unused_)
{
	_cleanup_(store_committed_freep) struct store_committed *c = NULL;
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_buf_ struct buf copy = {0};
	struct store_damage damage;
	struct error err = {0};
	const char *path;
	size_t len, blocks;
	uint8_t *all;

	make_folder();
	path = in_folder("damaged");
	write_blocks(path, 4, 10);
	s = open_trace(path);
	blocks = store_block_count(s);
	all = load_file(path, &len);
	all[store_block(s, 4)->offset + store_block(s, 4)->bytes - 1] ^= 1; /* of its payload */
	all[store_block(s, 8)->offset + 20] ^= 1;			    /* of its header */
	store_free(TAKE_PTR(s));
	save_file(path, all, len);
	free(all);
	assert_ok(store_committed_open(&c, path, 0, &err), err);
	take_all(c, 1, &copy);
	assert_true(store_committed_ended(c));
	save_file(in_folder("copy"), copy.data, copy.len);
	s = open_trace(in_folder("copy"));
	store_damage(s, &damage);
	assert_int_equal(store_block_count(s), blocks - 2);
	assert_int_equal(damage.blocks, 2);
	assert_true(damage.gaps);
	remove_folder();
}

/* A closed trace behind which a table was torn, as a power failure leaves it. */
static void torn_table(void **state)
{
	char path[4096];
	_cleanup_(store_committed_freep) struct store_committed *c = NULL;
	_cleanup_buf_ struct buf copy = {0};
	struct error err = {0};
	size_t len;
	uint8_t *all;

	make_folder();
	snprintf(path, sizeof(path), "%s", in_folder("trace"));
	write_blocks(path, 5, 3);
	all = load_file(path, &len);
	all = realloc(all, len + 100);
	assert_non_null(all);
	memcpy(all + len, all + 64, 100); /* the beginning of a block */
	save_file(path, all, len + 100);
	free(all);
	assert_ok(store_committed_open(&c, path, 0, &err), err);
	assert_false(store_committed_ended(c));
	take_all(c, 1, &copy);
	assert_true(store_committed_ended(c));
	assert_int_equal(copy.len, len);
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed),     cmocka_unit_test(from_an_offset),
		cmocka_unit_test(killed),     cmocka_unit_test(damaged),
		cmocka_unit_test(torn_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
