/* SPDX-License-Identifier: Apache-2.0 */
/* Dimension tables in memory: the last row of an id wins, names follow renames, addresses stay. */
#include "batch/dims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "schema/vocab.h"

#define must(e) assert_true((e) >= 0)

static size_t add_file(struct batch *b, int64_t id, int64_t inode)
{
	ssize_t row = batch_add_row(b);

	must(row);
	must(batch_set(b, FILE_ID, (size_t)row, id));
	must(batch_set(b, FILE_INODE, (size_t)row, inode));
	return (size_t)row;
}

static void assert_bytes(struct bytes b, const char *want)
{
	assert_int_equal(b.len, strlen(want));
	assert_memory_equal(b.data, want, b.len);
}

static void test_rename(void **state)
{
	_cleanup_(dims_freep) struct dims *d = NULL;
	_cleanup_(batch_freep) struct batch *b = NULL;
	struct dims_file first, room;
	size_t row;

	must(dims_new(&d));
	must(batch_new(&b, TABLE_FILE));
	row = add_file(b, 0, 0);
	must(batch_set_str(b, FILE_PATH, row, "/a"));
	must(dims_apply(d, b));
	assert_ptr_equal(dims_file(d, 0, &first), &first);
	batch_clear(b);
	row = add_file(b, 1, 0);
	must(batch_set_str(b, FILE_PATH, row, "/b"));
	for (int64_t id = 2; id < 1000; id++)
		add_file(b, id, id);
	must(dims_apply(d, b));
	assert_bytes(first.path, "/a"); /* texts stay where they are */
	assert_ptr_equal(first.path.data, dims_file(d, 0, &room)->path.data);
	assert_bytes(dims_file_name(d, 0), "/b");
	assert_bytes(dims_file_version_name(d, 0), "/a");
	assert_int_equal(dims_count(d, TABLE_FILE, 0), 1000);
	assert_int_equal(dims_rows(d, TABLE_FILE), 1000);
	assert_int_equal(dims_id_at(d, TABLE_FILE, 1), 1);
	assert_null(dims_file(d, 1000, &room));
	assert_null(dims_file(d, -1, &room));
	assert_true(dims_has(d, TABLE_FILE, 999));
	assert_false(dims_has(d, TABLE_FILE, 1000));
	assert_int_equal(dims_file_inode(d, 1), 0);
	assert_int_equal(dims_file_inode(d, 1000), -1);
	assert_bytes(dims_file_name(d, 4711), "?");
	assert_bytes(dims_file_name(d, 500), "?");
}

/* Rows of one thread or file from two CPUs: the newest is the one that says so, not the one that
 * came last. */
static void test_newest_by_since(void **state)
{
	static const struct {
		const char *name;
		int64_t since;
	} rows[] = {{"dd", 200}, {"weir", 100}};
	_cleanup_(dims_freep) struct dims *d = NULL;
	_cleanup_(batch_freep) struct batch *threads = NULL, *files = NULL;

	must(dims_new(&d));
	must(batch_new(&threads, TABLE_THREAD));
	must(batch_new(&files, TABLE_FILE));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ssize_t row = batch_add_row(threads);

		must(row);
		must(batch_set(threads, THREAD_ID, (size_t)row, (int64_t)i));
		must(batch_set(threads, THREAD_TASK, (size_t)row, 0));
		must(batch_set(threads, THREAD_SINCE, (size_t)row, rows[i].since));
		must(batch_set_str(threads, THREAD_COMM, (size_t)row, rows[i].name));
		row = (ssize_t)add_file(files, (int64_t)i, 0);
		must(batch_set(files, FILE_SINCE, (size_t)row, rows[i].since));
		must(batch_set_str(files, FILE_PATH, (size_t)row, rows[i].name));
	}
	must(dims_apply(d, threads));
	must(dims_apply(d, files));
	assert_int_equal(dims_latest_thread(d, 1), 0);
	assert_bytes(dims_file_name(d, 1), "dd");
}

static void test_names(void **state)
{
	_cleanup_(dims_freep) struct dims *d = NULL;
	_cleanup_(batch_freep) struct batch *b = NULL;
	struct dims_file room;
	size_t row;

	must(dims_new(&d));
	must(batch_new(&b, TABLE_FILE));
	row = add_file(b, 0, 0);
	must(batch_set(b, FILE_TYPE, row, FILE_TYPE_SOCKET));
	must(batch_set(b, FILE_FAMILY, row, AF_INET));
	must(batch_set(b, FILE_PROTO, row, SOCK_STREAM << 16 | 6));
	must(batch_set_str(b, FILE_LOCAL, row, "10.0.0.1:80"));
	must(batch_set_str(b, FILE_PEER, row, "10.0.0.2:4711"));
	row = add_file(b, 1, 1);
	must(batch_set(b, FILE_TYPE, row, FILE_TYPE_PIPE));
	must(batch_set(b, FILE_INO, row, 4711));
	row = add_file(b, 2, 2);
	must(batch_set(b, FILE_FAMILY, row, AF_UNIX));
	must(batch_set(b, FILE_TYPE, row, FILE_TYPE_SOCKET));
	must(batch_set_str(b, FILE_LOCAL, row, "unix:/run/x"));
	row = add_file(b, 3, 3);
	must(batch_set(b, FILE_FAMILY, row, AF_UNIX));
	must(batch_set(b, FILE_INO, row, 99));
	row = add_file(b, 4, 4);
	must(batch_set(b, FILE_NAME_ONLY, row, 1));
	must(batch_set_str(b, FILE_BASE, row, "/tmp"));
	must(batch_set_str(b, FILE_ARGUMENT, row, "../x"));
	row = add_file(b, 5, 5);
	must(batch_set_str(b, FILE_BASE, row, "/tmp"));
	must(batch_set_str(b, FILE_ARGUMENT, row, "/abs"));
	must(dims_apply(d, b));
	assert_bytes(dims_file_name(d, 0), "tcp 10.0.0.1:80->10.0.0.2:4711");
	assert_bytes(dims_file_name(d, 1), "pipe:[4711]");
	assert_bytes(dims_file_name(d, 2), "unix:/run/x");
	assert_bytes(dims_file_name(d, 3), "unix:[99]");
	assert_bytes(dims_file_name(d, 4), "/tmp/../x");
	assert_bytes(dims_file_name(d, 5), "/abs");
	assert_true(dims_file(d, 4, &room)->name_only);
}

static void test_last_row_wins(void **state)
{
	_cleanup_(dims_freep) struct dims *d = NULL;
	_cleanup_(batch_freep) struct batch *b = NULL;

	must(dims_new(&d));
	must(batch_new(&b, TABLE_THREAD));
	for (int i = 0; i < 2; i++) {
		ssize_t row = batch_add_row(b);

		must(row);
		must(batch_set(b, THREAD_ID, (size_t)row, 7));
		must(batch_set_str(b, THREAD_COMM, (size_t)row, i ? "new" : "old"));
		if (!i)
			must(batch_set(b, THREAD_TID, (size_t)row, 4711));
	}
	must(dims_apply(d, b));
	assert_bytes(dims_thread(d, 7)->comm, "new");
	assert_int_equal(dims_thread(d, 7)->tid, -1);
	assert_int_equal(dims_thread(d, 7)->stopped, INT64_MIN);
	assert_null(dims_thread(d, 7)->exe.data);
	assert_int_equal(dims_count(d, TABLE_THREAD, 0), 8);
	assert_int_equal(dims_rows(d, TABLE_THREAD), 1);
	assert_null(dims_thread(d, 3));
}

/* Two recordings read as one: the generation is an id as the others are. */
static void test_composed_ids(void **state)
{
	const int64_t second = 1ll << 40;
	_cleanup_(dims_freep) struct dims *d = NULL;
	_cleanup_(batch_freep) struct batch *b = NULL;
	size_t row;

	must(dims_new(&d));
	must(batch_new(&b, TABLE_FILE));
	row = add_file(b, 0, 0);
	must(batch_set_str(b, FILE_PATH, row, "/one"));
	row = add_file(b, second | 0, second);
	must(batch_set_str(b, FILE_PATH, row, "/two"));
	row = add_file(b, second | 1, second);
	must(batch_set_str(b, FILE_PATH, row, "/three"));
	must(dims_apply(d, b));
	assert_bytes(dims_file_name(d, 0), "/one");
	assert_bytes(dims_file_name(d, second), "/three");
	assert_int_equal(dims_count(d, TABLE_FILE, 0), 1);
	assert_int_equal(dims_rows(d, TABLE_FILE), 3);
	assert_int_equal(dims_id_at(d, TABLE_FILE, 2), second | 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rename),		cmocka_unit_test(test_names),
		cmocka_unit_test(test_newest_by_since), cmocka_unit_test(test_last_row_wins),
		cmocka_unit_test(test_composed_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
