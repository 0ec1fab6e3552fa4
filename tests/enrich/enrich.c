/* SPDX-License-Identifier: Apache-2.0 */
/* enrich: ids, versions that replace each other, class wait, err and bytes, unknown keys, names of
 * cgroups. */
#include <errno.h>
#include <linux/io_uring.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/clock.h"
#include "enrich/cgroup_parts.h"
#include "enrich/enrich.h"
#include "enrich/keys.h"
#include "schema/ops.h"

#define KEY_PIPE   900000000001ll
#define KEY_FILE   77ll
#define KEY_THREAD (5ll << 40)

static struct batch *table(struct batch_set *s, enum table_id id)
{
	struct batch *b;

	assert_int_equal(batch_set_table(s, id, &b), 0);
	return b;
}

static size_t add(struct batch *b)
{
	ssize_t row = batch_add_row(b);

	assert_true(row >= 0);
	return (size_t)row;
}

static void set(struct batch *b, unsigned int column, int64_t value)
{
	assert_int_equal(batch_set(b, column, b->rows - 1, value), 0);
}

static void text(struct batch *b, unsigned int column, const char *value)
{
	assert_int_equal(batch_set_str(b, column, b->rows - 1, value), 0);
}

static void add_file(struct batch_set *s, int64_t key, int64_t inode, int64_t type,
		     const char *path)
{
	struct batch *b = table(s, TABLE_FILE);

	add(b);
	set(b, FILE_ID, key);
	set(b, FILE_INODE, inode);
	set(b, FILE_TYPE, type);
	if (path)
		text(b, FILE_PATH, path);
}

static void add_thread(struct batch_set *s, int64_t key, int64_t task, int64_t process)
{
	struct batch *b = table(s, TABLE_THREAD);

	add(b);
	set(b, THREAD_ID, key);
	set(b, THREAD_TASK, task);
	set(b, THREAD_TID, 42);
	set(b, THREAD_PROCESS_ID, process);
	b = table(s, TABLE_PROCESS);
	add(b);
	set(b, PROCESS_ID, process);
	set(b, PROCESS_PID, 42);
}

static void add_process(struct batch_set *s, int64_t key, const char *argv, size_t len)
{
	struct batch *b = table(s, TABLE_PROCESS);

	add(b);
	set(b, PROCESS_ID, key);
	set(b, PROCESS_PID, 42);
	assert_int_equal(batch_set_bytes(b, PROCESS_ARGV, b->rows - 1, argv, len), 0);
	text(b, PROCESS_EXE, "/bin/app");
}

static struct batch *add_op(struct batch_set *s, const char *name, int64_t file, int64_t ret,
			    int64_t dur)
{
	struct batch *b = table(s, TABLE_OP);

	add(b);
	set(b, OP_START, 1000);
	set(b, OP_DUR, dur);
	set(b, OP_OP, op_find(name));
	set(b, OP_THREAD_ID, KEY_THREAD);
	if (file >= 0)
		set(b, OP_FILE_ID, file);
	set(b, OP_RET, ret);
	return b;
}

static struct enrich *make(void)
{
	struct enrich *e = NULL;
	struct error err = {0};

	assert_int_equal(enrich_new(&e, &err), 0);
	return e;
}

static void apply(struct enrich *e, struct batch_set *in, struct batch_set *out)
{
	struct error err = {0};

	batch_set_clear(out);
	if (enrich_apply(e, in, out, &err) < 0)
		fail_msg("%s", err.message);
	batch_set_clear(in);
}

static void test_ids_and_versions(void **unused)
{
	_cleanup_(enrich_freep) struct enrich *e = make();
	_cleanup_batch_set_ struct batch_set in = {0}, out = {0};
	const struct dims_file *f;
	struct dims_file room;

	add_file(&in, KEY_FILE, 500, FILE_TYPE_REGULAR, "/tmp/a");
	add_file(&in, KEY_PIPE, 501, FILE_TYPE_PIPE, NULL);
	add_thread(&in, KEY_THREAD, 9, 4711);
	add_op(&in, "read", KEY_PIPE, 10, 100);
	apply(e, &in, &out);
	assert_int_equal(batch_get(out.tables[TABLE_OP], OP_FILE_ID, 0, -1), 1);
	assert_int_equal(batch_get(out.tables[TABLE_OP], OP_THREAD_ID, 0, -1), 0);
	assert_int_equal(batch_get(out.tables[TABLE_THREAD], THREAD_PROCESS_ID, 0, -1), 0);
	assert_int_equal(batch_get(out.tables[TABLE_THREAD], THREAD_TASK, 0, -1), 0);

	/* a second version of the first file (renamed), then the first version again (deleted) */
	add_file(&in, 78, 500, FILE_TYPE_REGULAR, "/tmp/b");
	add_file(&in, KEY_FILE, 500, FILE_TYPE_REGULAR, "/tmp/a");
	set(in.tables[TABLE_FILE], FILE_DELETED, 2000);
	apply(e, &in, &out);
	assert_int_equal(batch_get(out.tables[TABLE_FILE], FILE_ID, 0, -1), 2);
	assert_int_equal(batch_get(out.tables[TABLE_FILE], FILE_INODE, 0, -1), 0);
	assert_int_equal(batch_get(out.tables[TABLE_FILE], FILE_ID, 1, -1), 0);
	f = dims_file(enrich_dims(e), 0, &room);
	assert_non_null(f);
	assert_int_equal(f->deleted, 2000);
	assert_int_equal(dims_file_inode(enrich_dims(e), 2), 0);
}

static int64_t class_of(struct enrich *e, const char *name, int64_t file, int64_t ret, int64_t dur,
			int64_t status)
{
	_cleanup_batch_set_ struct batch_set in = {0}, out = {0};
	struct batch *b = add_op(&in, name, file, ret, dur);

	if (status)
		set(b, OP_STATUS, status);
	apply(e, &in, &out);
	return batch_get(out.tables[TABLE_OP], OP_CLASS, 0, -1);
}

static void test_waiting(void **unused)
{
	_cleanup_(enrich_freep) struct enrich *e = make();
	_cleanup_batch_set_ struct batch_set in = {0}, busy = {0}, out = {0};

	add_file(&in, KEY_FILE, 500, FILE_TYPE_REGULAR, "/tmp/a");
	add_file(&in, KEY_PIPE, 501, FILE_TYPE_PIPE, NULL);
	add_thread(&in, KEY_THREAD, 9, 4711);
	apply(e, &in, &out);

	/* data that was there: I/O */
	assert_int_equal(class_of(e, "read", KEY_PIPE, 100, 1800, 0), CLASS_DATA);
	assert_int_equal(class_of(e, "recvfrom", KEY_PIPE, 100, 1800, 0), CLASS_NET);
	/* an empty pipe, told in four ways */
	assert_int_equal(class_of(e, "read", KEY_PIPE, -EAGAIN, 900, 0), CLASS_WAIT);
	assert_int_equal(class_of(e, "read", KEY_PIPE, 100, 9000, STATUS_SLEPT), CLASS_WAIT);
	assert_int_equal(class_of(e, "recvmsg", KEY_PIPE, 100, 5000000, 0), CLASS_WAIT);
	assert_int_equal(class_of(e, "read", KEY_PIPE, -512, 5000, STATUS_INTERRUPTED), CLASS_WAIT);
	/* a slow file is no wait, nor is a full pipe */
	assert_int_equal(class_of(e, "read", KEY_FILE, 100, 5000000, STATUS_SLEPT), CLASS_DATA);
	assert_int_equal(class_of(e, "write", KEY_PIPE, 100, 5000000, STATUS_SLEPT), CLASS_DATA);
	/* a large transfer may take its time: 64 MiB in 30 ms */
	assert_int_equal(class_of(e, "read", KEY_PIPE, 64 << 20, 30000000, 0), CLASS_DATA);
	/* nor is a lack of CPUs a wait for data */
	set(add_op(&busy, "read", KEY_PIPE, 100, 5000000), OP_RUNQ, 4500000);
	apply(e, &busy, &out);
	assert_int_equal(batch_get(out.tables[TABLE_OP], OP_CLASS, 0, -1), CLASS_DATA);
	assert_int_equal(class_of(e, "epoll_wait", -1, 1, 10, 0), CLASS_WAIT);
	/* it ran when recording began: for how long is not known */
	assert_int_equal(class_of(e, "read", KEY_PIPE, 100, 0, STATUS_NO_START), CLASS_WAIT);
	assert_int_equal(class_of(e, "read", KEY_FILE, 100, 0, STATUS_NO_START), CLASS_DATA);
}

static int64_t class_of_enter(struct enrich *e, int64_t min_complete, int64_t flags, int64_t status)
{
	_cleanup_batch_set_ struct batch_set in = {0}, out = {0};
	struct batch *b = add_op(&in, "io_uring_enter", KEY_FILE, 1, 100);

	set(b, OP_A1, 1);
	set(b, OP_A2, min_complete);
	set(b, OP_FLAGS, flags);
	set(b, OP_STATUS, status);
	apply(e, &in, &out);
	return batch_get(out.tables[TABLE_OP], OP_CLASS, 0, -1);
}

static void test_completions(void **unused)
{
	_cleanup_(enrich_freep) struct enrich *e = make();
	_cleanup_batch_set_ struct batch_set in = {0}, out = {0};

	add_file(&in, KEY_FILE, 500, FILE_TYPE_ANON, "anon_inode:[io_uring]");
	add_thread(&in, KEY_THREAD, 9, 4711);
	apply(e, &in, &out);
	assert_int_equal(class_of_enter(e, 1, IORING_ENTER_GETEVENTS, STATUS_SLEPT), CLASS_WAIT);
	assert_int_equal(class_of_enter(e, 1, IORING_ENTER_GETEVENTS, STATUS_UNFINISHED),
			 CLASS_WAIT);
	assert_int_equal(class_of_enter(e, 1, IORING_ENTER_GETEVENTS, 0), CLASS_DATA);
	/* it slept while it handed requests over: that is I/O */
	assert_int_equal(class_of_enter(e, 0, IORING_ENTER_GETEVENTS, STATUS_SLEPT), CLASS_DATA);
	assert_int_equal(class_of_enter(e, 1, 0, STATUS_SLEPT), CLASS_DATA);
}

static void test_results(void **unused)
{
	_cleanup_(enrich_freep) struct enrich *e = make();
	_cleanup_batch_set_ struct batch_set in = {0}, out = {0};
	const struct batch *b;

	add_file(&in, KEY_FILE, 500, FILE_TYPE_REGULAR, "/tmp/a");
	add_thread(&in, KEY_THREAD, 9, 4711);
	add_op(&in, "write", KEY_FILE, 4096, 10);
	add_op(&in, "write", KEY_FILE, -ENOSPC, 10);
	add_op(&in, "fsync", KEY_FILE, 0, 10);
	add_op(&in, "openat", KEY_FILE, 7, 10);
	add_op(&in, "pread64", KEY_FILE, -512, 10);
	set(add_op(&in, "write", KEY_FILE, 0, 10), OP_OP,
	    999999); /* no such operation: a row all the same */
	batch_set_null(in.tables[TABLE_OP], OP_RET, 0);
	set(add_op(&in, "write", KEY_FILE, 4096, 10), OP_CLASS,
	    CLASS_SYNC); /* the source knows better */
	/* The length of a message is not what was taken of it. */
	set(add_op(&in, "recvfrom", KEY_FILE, 20, 10), OP_FLAGS, MSG_PEEK | MSG_TRUNC);
	set(add_op(&in, "recvmsg", KEY_FILE, 20, 10), OP_FLAGS, MSG_TRUNC);
	set(in.tables[TABLE_OP], OP_SIZE, 5);
	apply(e, &in, &out);
	b = out.tables[TABLE_OP];
	assert_true(batch_is_null(b, OP_ERR, 0));
	assert_int_equal(batch_get(b, OP_BYTES, 0, -1), 0);
	assert_int_equal(batch_get(b, OP_ERR, 1, -1), ENOSPC);
	assert_int_equal(batch_get(b, OP_BYTES, 1, -1), 0);
	assert_int_equal(batch_get(b, OP_BYTES, 2, -1), 0);
	assert_int_equal(batch_get(b, OP_CLASS, 2, -1), CLASS_SYNC);
	assert_int_equal(batch_get(b, OP_BYTES, 3, -1), 0);
	assert_true(batch_is_null(b, OP_ERR, 4));
	assert_int_equal(batch_get(b, OP_CLASS, 5, -1), CLASS_OTHER);
	assert_int_equal(batch_get(b, OP_BYTES, 6, -1), 4096);
	assert_int_equal(batch_get(b, OP_CLASS, 6, -1), CLASS_SYNC);
	assert_int_equal(batch_get(b, OP_BYTES, 7, -1), 0);
	assert_int_equal(batch_get(b, OP_BYTES, 8, -1), 5);
	for (size_t i = 0; i < b->rows; i++)
		assert_int_equal(batch_get(b, OP_KIND, i, -1), KIND_SYSCALL);
}

static void test_unknown_keys(void **unused)
{
	_cleanup_(enrich_freep) struct enrich *e = make();
	_cleanup_batch_set_ struct batch_set in = {0}, out = {0};
	const struct batch *loss;

	add_thread(&in, KEY_THREAD, 9, 4711);
	add_op(&in, "read", 12345, 1, 10);
	set(add_op(&in, "rename", 12346, 0, 10), OP_FILE2_ID, 12347);
	add(table(&in, TABLE_LOSS));
	set(in.tables[TABLE_LOSS], LOSS_CAUSE, CAUSE_RING_FULL);
	set(in.tables[TABLE_LOSS], LOSS_EVENTS, 7);
	set(in.tables[TABLE_LOSS], LOSS_THREAD_ID, KEY_THREAD);
	apply(e, &in, &out);
	loss = out.tables[TABLE_LOSS];
	assert_int_equal(loss->rows, 2);
	for (size_t i = 0; i < 2; i++) {
		bool ring = batch_get(loss, LOSS_CAUSE, i, -1) == CAUSE_RING_FULL;

		assert_int_equal(batch_get(loss, LOSS_EVENTS, i, -1), ring ? 7 : 3);
		assert_int_equal(batch_get(loss, LOSS_THREAD_ID, i, -1), ring ? 0 : -1);
	}
	assert_true(batch_is_null(out.tables[TABLE_OP], OP_FILE_ID, 0));
	assert_true(batch_is_null(out.tables[TABLE_OP], OP_FILE2_ID, 1));
}

#define KEYS	 100000
#define KEY_FAR	 (1ll << 40) /* where another kind of key begins */
#define KEY_SKIP 777	     /* every so many keys come when their page is long packed */

/* Ids are what they were set to, in whatever order keys come and however far apart their ids are. */
static void test_ids_by_key(void **unused)
{
	struct idmap m = {0};
	_cleanup_(map_free) struct map truth = {0};
	uint64_t id = 0, want;

	for (int64_t k = 0; k < KEYS; k++) {
		/* Alone, next to another kind of key, and when its page is long packed. */
		const int64_t keys[] = {
			k % KEY_SKIP ? k : -1, k % 3 && k % 5000 > 2000 ? KEY_FAR + k : -1,
			k > 20000 && k % KEY_SKIP == 1 ? k - 10000 - k % KEY_SKIP : -1};

		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			if (keys[i] < 0 || map_get(&truth, (uint64_t)keys[i], NULL))
				continue;
			/* Some pages are too wide to be packed, others run in even steps. */
			id += k % 1000 < 100 ? 300 : 1;
			assert_int_equal(idmap_set(&m, keys[i], (int64_t)id), 0);
			assert_int_equal(map_set(&truth, (uint64_t)keys[i], id), 0);
		}
	}
	for (int64_t k = 0; k < 2 * KEYS; k++) {
		int64_t key = k < KEYS ? k : KEY_FAR + k - KEYS;

		assert_int_equal(idmap_get(&m, key),
				 map_get(&truth, (uint64_t)key, &want) ? (int64_t)want : -1);
	}
	idmap_free(&m);
}

static void check_cgroup(const char *path, const char *unit, const char *container)
{
	struct bytes p = {(const uint8_t *)path, strlen(path)}, u = cgroup_unit(p),
		     c = cgroup_container(p);

	assert_int_equal(u.len, strlen(unit));
	assert_true(!u.len || !memcmp(u.data, unit, u.len));
	assert_int_equal(c.len, strlen(container));
	assert_true(!c.len || !memcmp(c.data, container, c.len));
}

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_cgroups(void **unused)
{
	check_cgroup("/", "", "");
	check_cgroup("/system.slice/redis-server.service", "redis-server.service", "");
	check_cgroup("/user.slice/user-0.slice", "user-0.slice", "");
	check_cgroup("/system.slice/docker-" HEX64 ".scope", "docker-" HEX64 ".scope", HEX64);
	check_cgroup("/docker/" HEX64, "", HEX64);
	check_cgroup("/kubepods.slice/pod1.slice/cri-containerd-" HEX64 ".scope/sub",
		     "cri-containerd-" HEX64 ".scope", HEX64);
	check_cgroup("/lxc.payload.web/system.slice/cron.service", "cron.service", "web");
	check_cgroup("/x/" HEX64 "0", "", ""); /* 65 digits are no id */
}

/* Not a benchmark, but a guard: ids and derived columns must not cost more than the capture itself.
 */
static void test_speed(void **unused)
{
	_cleanup_(enrich_freep) struct enrich *e = make();
	_cleanup_batch_set_ struct batch_set in = {0}, dimensions = {0}, out = {0};
	struct error err = {0};
	int64_t best = INT64_MAX;

	for (int64_t i = 0; i < 1000; i++)
		add_file(&dimensions, 10 + i * 7, 10 + i * 7, FILE_TYPE_REGULAR, "/srv/data/file");
	add_thread(&dimensions, KEY_THREAD, 9, 4711);
	apply(e, &dimensions, &out);
	for (int64_t i = 0; i < 50000; i++) {
		struct batch *b = add_op(&in, i % 3 ? "pread64" : "fsync", 10 + i % 1000 * 7,
					 i % 3 ? 4096 : 0, 500);

		set(b, OP_TID, 42);
		set(b, OP_CPU, 1);
		set(b, OP_FD, 3);
		set(b, OP_POS, i * 4096);
		set(b, OP_SIZE, 4096);
	}
	for (unsigned int round = 0; round < 5; round++) {
		int64_t start = clock_cpu_ns();

		batch_set_clear(&out);
		assert_int_equal(enrich_apply(e, &in, &out, &err), 0);
		best = MIN(best, clock_cpu_ns() - start);
	}
	print_message("%lld ns per call\n", (long long)(best / 50000));
	assert_true(best / 50000 <
		    1000); /* generous: sanitizers and busy machines; 100 is the goal */
}

static void assert_argv(const struct batch *b, size_t row, const char *argv, size_t len)
{
	struct bytes v = batch_get_bytes(b, PROCESS_ARGV, row),
		     exe = batch_get_bytes(b, PROCESS_EXE, row);

	assert_int_equal(v.len, len);
	assert_memory_equal(v.data, argv, len);
	assert_int_equal(exe.len, strlen("/bin/app"));
}

/* What arguments hold that looks like a secret, in any row of the process, counted once. */
static void secrets_of_arguments(void **state)
{
	static const char argv[] = "app\0--password=hunter2\0--token\0abc\0x",
			  masked[] = "app\0--password=***\0--token\0***\0x",
			  longer[] = "mysql\0-pab\0db", longer_masked[] = "mysql\0-p***\0db";

	for (int keep = 0; keep < 2; keep++) {
		_cleanup_(enrich_freep) struct enrich *e = NULL;
		struct batch_set in = {0}, out = {0};
		struct batch *b;

		assert_int_equal(enrich_new(&e, NULL), 0);
		if (keep)
			enrich_keep_secrets(e);
		add_process(&in, 7, argv, sizeof(argv) - 1);
		add_process(&in, 8, "ls\0-l", 5);
		add_process(&in, 9, longer, sizeof(longer) - 1);
		add_process(&in, 7, argv, sizeof(argv) - 1); /* it ended */
		assert_int_equal(enrich_apply(e, &in, &out, NULL), 0);
		b = table(&out, TABLE_PROCESS);
		assert_argv(b, 0, keep ? argv : masked,
			    keep ? sizeof(argv) - 1 : sizeof(masked) - 1);
		assert_argv(b, 1, "ls\0-l", 5);
		assert_argv(b, 2, keep ? longer : longer_masked,
			    keep ? sizeof(longer) - 1 : sizeof(longer_masked) - 1);
		assert_argv(b, 3, keep ? argv : masked,
			    keep ? sizeof(argv) - 1 : sizeof(masked) - 1);
		assert_int_equal(enrich_masked(e), keep ? 0 : 3);
		batch_set_free(&in);
		batch_set_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_and_versions), cmocka_unit_test(test_waiting),
		cmocka_unit_test(secrets_of_arguments),	 cmocka_unit_test(test_completions),
		cmocka_unit_test(test_results),		 cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_cgroups),		 cmocka_unit_test(test_speed),
		cmocka_unit_test(test_ids_by_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
