/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several recordings read as one: what their kernels know as one process, thread or file is one, of two machines nothing is;
 * whatever the order of the files.
 */
#include "batch/ids.h"
#include "store/store.h"

#include "common.h"
#include "schema/vocab.h"

#define BORN 5000000000ll

struct recording {
	const char *name, *host, *boot;
	int64_t since; /* of its versions */
	int64_t first; /* ids begin here: what was seen before is another process, and another file */
	int64_t stopped; /* of the process; INT64_MIN: it was not seen to end */
	const char *path;
	bool twins; /* its versions of /data were made at one time */
};

static void set(struct batch *b, unsigned int column, size_t row, int64_t v)
{
	assert_int_equal(batch_set(b, column, row, v), 0);
}

static void text(struct batch *b, unsigned int column, size_t row, const char *v)
{
	assert_int_equal(batch_set_str(b, column, row, v), 0);
}

static struct batch *add(struct batch_set *s, enum table_id table, size_t *row)
{
	struct batch *b;

	assert_int_equal(batch_set_add_row(s, table, &b, row), 0);
	return b;
}

/* Process 100 with one thread, /data on a file system that knows when files were made, and a file of /proc. */
static void rows_of(const struct recording *r, struct batch_set *s)
{
	size_t i;
	struct batch *b = add(s, TABLE_HOST, &i);

	set(b, HOST_ID, i, 0);
	text(b, HOST_NAME, i, r->host);
	if (r->boot)
		text(b, HOST_BOOT, i, r->boot);
	b = add(s, TABLE_CGROUP, &i);
	set(b, CGROUP_ID, i, 0);
	set(b, CGROUP_KERNEL_ID, i, 77);
	for (int64_t id = 0; id <= r->first; id++) {
		bool it = id == r->first;

		b = add(s, TABLE_PROCESS, &i);
		set(b, PROCESS_ID, i, id);
		set(b, PROCESS_PID, i, 100);
		set(b, PROCESS_BORN, i, it ? BORN : BORN - 1 - id);
		set(b, PROCESS_HOST_ID, i, 0);
		text(b, PROCESS_EXE, i, r->path);
		if (it && r->stopped != INT64_MIN)
			set(b, PROCESS_STOPPED, i, r->stopped);
		b = add(s, TABLE_THREAD, &i);
		set(b, THREAD_ID, i, id);
		set(b, THREAD_TASK, i, id);
		set(b, THREAD_TID, i, 100);
		set(b, THREAD_BORN, i, it ? BORN : BORN - 1 - id);
		set(b, THREAD_PROCESS_ID, i, id);
		set(b, THREAD_CGROUP_ID, i, 0);
		set(b, THREAD_SINCE, i, r->since);
		b = add(s, TABLE_FILE, &i);
		set(b, FILE_ID, i, id);
		set(b, FILE_INODE, i, id);
		set(b, FILE_DEV, i, 8);
		set(b, FILE_INO, i, 12);
		set(b, FILE_TYPE, i, FILE_TYPE_REGULAR);
		set(b, FILE_BIRTH, i, it || r->twins ? 1000 : 1001 + id);
		/* how often a recording saw the number used again identifies nothing outside */
		set(b, FILE_GENERATION, i, id << 32);
		set(b, FILE_SINCE, i, r->since);
		text(b, FILE_PATH, i, r->path);
	}
	b = add(s, TABLE_FILE, &i);
	set(b, FILE_ID, i, r->first + 1);
	set(b, FILE_INODE, i, r->first + 1);
	set(b, FILE_DEV, i, 5);
	set(b, FILE_INO, i, 4);
	set(b, FILE_TYPE, i, FILE_TYPE_REGULAR);
	set(b, FILE_GENERATION, i, 0);
	set(b, FILE_SINCE, i, r->since);
	text(b, FILE_PATH, i, "/proc/stat");
	b = add(s, TABLE_OP, &i);
	set(b, OP_START, i, r->since);
	set(b, OP_DUR, i, 10);
	set(b, OP_THREAD_ID, i, r->first);
	set(b, OP_FILE_ID, i, r->first);
	set(b, OP_OP, i, 0);
}

static void write_recording(const struct recording *r)
{
	_cleanup_batch_set_ struct batch_set s = {0};
	struct store_writer *w;
	struct error err = {0};

	rows_of(r, &s);
	assert_ok(store_create(&w, in_folder(r->name), NULL, &err), err);
	assert_ok(store_append_set(w, &s, &err), err);
	assert_ok(store_close(w, &err), err);
}

static const struct recording early = {"early", "alpha", "b1", 100, 0, INT64_MIN, "/old"};
static const struct recording later = {"later", "alpha", "b1", 200, 2, INT64_MIN, "/new"};

static struct store *open_two(const struct recording *a, const struct recording *b)
{
	char first[4096];
	const char *paths[2] = {first};
	struct store *s;
	struct error err = {0};

	snprintf(first, sizeof(first), "%s", in_folder(a->name));
	paths[1] = in_folder(b->name);
	assert_ok(store_open(&s, paths, 2, &err), err);
	return s;
}

static int64_t id_in(const struct store *s, size_t trace, int64_t own)
{
	return id_compose(own, trace);
}

static void two_recordings_of_one_process(void **state _unused_)
{
	make_folder();
	write_recording(&early);
	write_recording(&later);
	for (unsigned int swapped = 0; swapped < 2; swapped++) {
		_cleanup_(store_freep) struct store *s =
			swapped ? open_two(&later, &early) : open_two(&early, &later);
		const struct dims *d = store_dims(s);
		int64_t a = id_in(s, swapped, 0), b = id_in(s, !swapped, 2),
			other = id_in(s, !swapped, 0);
		const struct dims_thread *x = dims_thread(d, a), *y = dims_thread(d, b);
		struct dims_file room;

		assert_int_not_equal(a, b); /* versions are of a recording */
		assert_int_equal(x->process_id, y->process_id);
		assert_int_equal(x->task, y->task);
		assert_int_equal(x->cgroup_id, y->cgroup_id);
		assert_int_equal(dims_latest_thread(d, a), b);
		assert_int_equal(dims_latest_thread(d, b), b);
		assert_int_equal(dims_latest_file(d, a), b);
		assert_int_equal(dims_file_inode(d, a), dims_file_inode(d, b));
		assert_int_equal(dims_latest_file(d, id_in(s, swapped, 1)), id_in(s, !swapped, 3));
		/* one pid, one inode number: others before it */
		assert_int_not_equal(dims_thread(d, other)->process_id, x->process_id);
		assert_int_not_equal(dims_thread(d, other)->task, x->task);
		assert_int_not_equal(dims_file_inode(d, other), dims_file_inode(d, a));
		assert_int_equal(dims_rows(d, TABLE_HOST), 1);
		assert_int_equal(dims_rows(d, TABLE_CGROUP), 1);
		assert_int_equal(dims_rows(d, TABLE_PROCESS), 3);
		/* the recording that began later is right */
		assert_memory_equal(dims_process(d, x->process_id)->exe.data, "/new", 4);
		assert_memory_equal(dims_file(d, a, &room)->path.data, "/old", 4);
		assert_int_equal(dims_count(d, TABLE_FILE, swapped), 2);
		assert_int_equal(dims_count(d, TABLE_FILE, !swapped), 4);
		assert_int_equal(dims_count(d, TABLE_FILE, 2), 0);
	}
	remove_folder();
}

/* What is read block by block says the same as the rows in memory. */
static void blocks_say_the_same(void **state _unused_)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	_cleanup_(store_freep) struct store *s = NULL;
	struct error err = {0};
	size_t looked = 0;

	make_folder();
	write_recording(&early);
	write_recording(&later);
	s = open_two(&early, &later);
	assert_int_equal(store_cursor_new(&c, s), 0);
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_block *block = store_block(s, i);
		const struct dims *d = store_dims(s);
		const struct batch *b;

		assert_ok(store_decode(c, i, 1, &b, &err), err);
		assert_ok(store_decode_more(c, ~0ull, &err), err);
		for (size_t k = 0; k < b->rows; k++) {
			int64_t id = batch_get(b, 0, k, -1);

			if (block->table == TABLE_PROCESS || block->table == TABLE_HOST ||
			    block->table == TABLE_CGROUP) {
				assert_int_equal(id, dims_same(d, block->table, id));
				assert_true(dims_has(d, block->table, id));
				assert_true(id >= block->min[0] && id <= block->max[0]);
			} else if (block->table == TABLE_THREAD) {
				assert_int_equal(batch_get(b, THREAD_PROCESS_ID, k, -1),
						 dims_thread(d, id)->process_id);
				assert_int_equal(batch_get(b, THREAD_TASK, k, -1),
						 dims_thread(d, id)->task);
			} else if (block->table == TABLE_FILE) {
				assert_int_equal(batch_get(b, FILE_INODE, k, -1),
						 dims_file_inode(d, id));
			}
			looked++;
		}
	}
	assert_true(looked > 10);
	assert_int_equal(dims_same(store_dims(s), TABLE_PROCESS, id_compose(2, 1)), 0);
	remove_folder();
}

/* What a recording tells apart stays apart when it is read with another one. */
static void twins_of_one_recording(void **state _unused_)
{
	static const struct recording twins = {"twins", "beta",	   "b2",   300,
					       1,	INT64_MIN, "/new", true};
	_cleanup_(store_freep) struct store *s = NULL;
	const struct dims *d;

	make_folder();
	write_recording(&early);
	write_recording(&twins);
	s = open_two(&early, &twins);
	d = store_dims(s);
	assert_int_not_equal(dims_file_inode(d, id_in(s, 1, 0)),
			     dims_file_inode(d, id_in(s, 1, 1)));
	remove_folder();
}

static void an_end_that_one_saw(void **state _unused_)
{
	struct recording ended = early;

	ended.stopped = 150;
	make_folder();
	write_recording(&ended);
	write_recording(&later);
	for (unsigned int swapped = 0; swapped < 2; swapped++) {
		_cleanup_(store_freep) struct store *s =
			swapped ? open_two(&later, &ended) : open_two(&ended, &later);
		const struct dims *d = store_dims(s);
		const struct dims_process *p =
			dims_process(d, dims_thread(d, id_in(s, swapped, 0))->process_id);

		assert_int_equal(p->stopped, 150);
		assert_memory_equal(p->exe.data, "/new", 4);
	}
	remove_folder();
}

static void two_machines(void **state _unused_)
{
	static const struct recording others[] = {
		{"boot", "alpha", "b2", 200, 0, INT64_MIN, "/old"},
		{"name", "beta", "b1", 200, 0, INT64_MIN, "/old"},
		{"none", "alpha", NULL, 200, 0, INT64_MIN, "/old"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		_cleanup_(store_freep) struct store *s = NULL;
		const struct dims *d;
		int64_t b;

		make_folder();
		write_recording(&early);
		write_recording(&others[i]);
		s = open_two(&early, &others[i]);
		d = store_dims(s);
		b = id_in(s, 1, 0);
		assert_int_not_equal(b, 0);
		assert_int_equal(dims_latest_thread(d, 0), 0);
		assert_int_equal(dims_latest_thread(d, b), b);
		assert_int_equal(dims_latest_file(d, 0), 0);
		assert_int_equal(dims_latest_file(d, b), b);
		assert_int_not_equal(dims_thread(d, b)->process_id, dims_thread(d, 0)->process_id);
		assert_int_equal(dims_rows(d, TABLE_HOST), 2);
		assert_int_equal(dims_rows(d, TABLE_CGROUP), 2);
		assert_int_equal(dims_rows(d, TABLE_PROCESS), 2);
		remove_folder();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_recordings_of_one_process),
		cmocka_unit_test(blocks_say_the_same),
		cmocka_unit_test(twins_of_one_recording),
		cmocka_unit_test(an_end_that_one_saw),
		cmocka_unit_test(two_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
