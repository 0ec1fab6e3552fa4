/* SPDX-License-Identifier: Apache-2.0 */
/* A recording in several files at the writer: what a file refers to is in it, whatever ended before, and however much that is. */
#include <errno.h>
#include <unistd.h>

#include "common.h"
#include "schema/vocab.h"
#include "store/file/check_trace.h"

static void set(struct batch *b, unsigned int column, size_t row, int64_t v)
{
	assert_int_equal(batch_set(b, column, row, v), 0);
}

static void append_row(struct store_writer *w, enum table_id table, const int64_t (*cells)[2],
		       size_t count)
{
	_cleanup_(batch_freep) struct batch *b = NULL;
	struct error err = {0};

	assert_int_equal(batch_new(&b, table), 0);
	assert_int_equal(batch_add_row(b), 0);
	for (size_t i = 0; i < count; i++)
		set(b, (unsigned int)cells[i][0], 0, cells[i][1]);
	assert_ok(store_append(w, b, &err), err);
}
#define APPEND(w, table, ...)                                   \
	append_row(w, table, (const int64_t[][2]){__VA_ARGS__}, \
		   sizeof((const int64_t[][2]){__VA_ARGS__}) / sizeof(int64_t[2]))

static void assert_intact(const char *path, uint64_t calls)
{
	const struct check_options all = {0};
	_cleanup_(store_freep) struct store *s = open_trace(path);
	struct check_result result;
	struct error err = {0};

	assert_ok(store_check(s, 0, &all, &result, &err), err);
	assert_true(check_is_intact(&result));
	assert_int_equal(result.rows[TABLE_OP], calls);
}

static const char *part(unsigned int number)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s.%u", in_folder("set"), number);
	return path;
}

static void add_host_and_process(struct store_writer *w)
{
	APPEND(w, TABLE_HOST, {HOST_ID, 0});
	APPEND(w, TABLE_PROCESS, {PROCESS_ID, 0}, {PROCESS_PID, 7}, {PROCESS_HOST_ID, 0});
	APPEND(w, TABLE_THREAD, {THREAD_ID, 0}, {THREAD_TASK, 0}, {THREAD_TID, 7},
	       {THREAD_PROCESS_ID, 0});
}

/* A thread whose end comes in the file after that of its process; and a call of it after that. */
static void ends_in_the_next(void **state _unused_)
{
	const struct store_options opt = {.parts = true, .owner = (uid_t)-1};
	struct store_writer *w;
	struct error err = {0};

	make_folder();
	assert_ok(store_create(&w, part(1), &opt, &err), err);
	add_host_and_process(w);
	APPEND(w, TABLE_PROCESS, {PROCESS_ID, 0}, {PROCESS_PID, 7}, {PROCESS_STOPPED, 5},
	       {PROCESS_HOST_ID, 0});
	assert_ok(store_rotate(w, part(2), &err), err);
	APPEND(w, TABLE_THREAD, {THREAD_ID, 0}, {THREAD_TASK, 0}, {THREAD_TID, 7},
	       {THREAD_PROCESS_ID, 0}, {THREAD_STOPPED, 6});
	assert_ok(store_rotate(w, part(3), &err), err);
	APPEND(w, TABLE_OP, {OP_START, 1}, {OP_DUR, 2}, {OP_THREAD_ID, 0});
	assert_ok(store_close(w, &err), err);
	assert_intact(part(1), 0);
	assert_intact(part(2), 0);
	assert_intact(part(3), 1);
	remove_folder();
}

#define FILES 200000

/* More files in one block's calls than a batch has room for, after files of which none was used. */
static void many_files(void **state _unused_)
{
	const struct store_options opt = {.parts = true, .owner = (uid_t)-1};
	const char *path;
	struct store_writer *w;
	struct error err = {0};

	make_folder();
	assert_ok(store_create(&w, part(1), &opt, &err), err);
	add_host_and_process(w);
	for (int64_t id = 0; id < FILES;) {
		_cleanup_(batch_freep) struct batch *b = NULL;

		assert_int_equal(batch_new(&b, TABLE_FILE), 0);
		for (int i = 0; i < 50000 && id < FILES; i++, id++) {
			ssize_t row = batch_add_row(b);

			set(b, FILE_ID, (size_t)row, id);
			set(b, FILE_INODE, (size_t)row, id);
			assert_int_equal(batch_set_str(b, FILE_PATH, (size_t)row, "/some/where"),
					 0);
		}
		assert_ok(store_append(w, b, &err), err);
	}
	for (unsigned int number = 2; number <= 3; number++) {
		_cleanup_(batch_freep) struct batch *b = NULL;

		assert_ok(store_rotate(w, part(number), &err), err);
		assert_int_equal(batch_new(&b, TABLE_OP), 0);
		for (int64_t i = 0; i < 60000; i++) {
			ssize_t row = batch_add_row(b);

			set(b, OP_START, (size_t)row, i);
			set(b, OP_DUR, (size_t)row, 1);
			set(b, OP_THREAD_ID, (size_t)row, 0);
			set(b, OP_FILE_ID, (size_t)row, 3 * i);
			set(b, OP_FILE2_ID, (size_t)row, 3 * i + 1);
		}
		assert_ok(store_append(w, b, &err), err);
	}
	assert_ok(store_close(w, &err), err);
	assert_intact(part(2), 60000);
	assert_intact(part(3), 60000);
	path = in_folder("set");
	{
		_cleanup_(store_freep) struct store *s = open_trace(path);

		assert_int_equal(store_trace_count(s), 3);
		assert_int_equal(store_recording_count(s), 1);
		assert_int_equal(dims_rows(store_dims(s), TABLE_FILE), FILES);
	}
	remove_folder();
}

/* Where there is no room for another name the recording goes on where it is. */
static void refused(void **state _unused_)
{
	const struct store_options opt = {.parts = true, .owner = (uid_t)-1};
	struct store_writer *w;
	struct error err = {0};

	make_folder();
	assert_ok(store_create(&w, part(1), &opt, &err), err);
	add_host_and_process(w);
	save_file(part(2), (const uint8_t *)"mine", 4);
	assert_int_equal(store_rotate(w, part(2), &err), -EEXIST);
	APPEND(w, TABLE_OP, {OP_START, 1}, {OP_DUR, 2}, {OP_THREAD_ID, 0});
	store_remove_part(w, part(1)); /* it is being written */
	store_remove_part(w, part(2)); /* it is another's */
	assert_ok(store_rotate(w, part(3), &err), err);
	assert_int_equal(access(part(2), F_OK), 0);
	assert_intact(part(1), 1);
	store_remove_part(w, part(1));
	assert_int_equal(access(part(1), F_OK), -1);
	assert_ok(store_close(w, &err), err);
	remove_folder();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_in_the_next),
		cmocka_unit_test(many_files),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
