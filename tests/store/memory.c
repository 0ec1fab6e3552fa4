/* SPDX-License-Identifier: Apache-2.0 */
/* Out of memory at every single allocation of writing and reading: a clean error or none, never a crash. */
#include <errno.h>

#include "common.h"

/* glibc's own, so that the wrappers below need no dlsym(), which allocates. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static long countdown = -1; /* allocations until one fails; negative: none does */
static bool failed;

static bool fails(void)
{
	if (countdown < 0 || countdown-- > 0)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

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

static int write_trace(const char *path, const struct batch *files, const struct batch *ops,
		       uint64_t *ret_lost)
{
	struct store_writer *w;
	struct store_stats stats;
	struct error err = {0};
	int r = store_create(&w, path, NULL, &err), later;

	if (r < 0) {
		assert_true(*err.message);
		return r;
	}
	r = store_append(w, files, &err);
	later = store_append(w, ops, &err);
	r = r < 0 ? r : later;
	later = store_flush(w, true, &err);
	r = r < 0 ? r : later;
	store_writer_stats(w, &stats);
	*ret_lost = stats.lost_rows;
	later = store_close(w, &err);
	return r < 0 ? r : later;
}

static int read_trace(const char *path, size_t *ret_rows)
{
	struct store *s = NULL;
	struct store_cursor *c = NULL;
	struct error err = {0};
	int r = store_open(&s, &path, 1, &err);

	*ret_rows = 0;
	if (r < 0) {
		assert_true(*err.message);
		return r;
	}
	r = store_cursor_new(&c, s);
	for (size_t i = 0; r >= 0 && i < store_block_count(s); i++) {
		const struct batch *b;

		r = store_decode(c, i, ~0ull, &b, &err);
		*ret_rows += r >= 0 && b->table == TABLE_OP ? b->rows : 0;
	}
	store_cursor_free(c);
	store_free(s);
	return r;
}

static void everywhere(void **state)
{
	struct draw d = {test_seed(21)};
	int64_t clock = 1700000000000000000;
	struct batch *files = file_rows(60), *ops = likely_ops(&d, 300, &clock);
	char path[256];
	uint64_t lost;
	size_t rows;
	long n;

	snprintf(path, sizeof(path), "%s", in_folder("memory"));
	for (n = 0; n < 100000; n++) {
		int r;

		unlink(path);
		failed = false;
		countdown = n;
		r = write_trace(path, files, ops, &lost);
		countdown = -1;
		if (!failed)
			break;
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
	}
	print_message("writing: %ld allocations\n", n);
	assert_int_equal(read_trace(path, &rows), 0);
	assert_int_equal(rows, 300);
	for (n = 0; n < 100000; n++) {
		int r;

		failed = false;
		countdown = n;
		r = read_trace(path, &rows);
		countdown = -1;
		if (!failed)
			break;
		assert_true(r == -ENOMEM || (r == 0 && rows == 300));
	}
	print_message("reading: %ld allocations\n", n);
	batch_free(files);
	batch_free(ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everywhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
