/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder under a storm of files, with next to no memory: what it has forgotten it reads back or asks for again,
 * and every call still has its path. The records are made here, the truth is known; needs no kernel.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "base/clock.h"
#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/calls/running.h"

#define ROUNDS	   100000
#define WINDOW	   4096 /* files whose records come in the order of another CPU */
#define MNT_NS	   7
#define FOLDER	   1
#define PROGRAM	   2
#define SYMLINK	   999999 /* beyond those of the storm */
#define MEMORY_MAX (24u << 20)

static const char unread[] = ""; /* a path that could not be read */

struct rig {
	struct decode *decode;
	struct wire_plan plans[WIRE_CALLS_MAX];
	struct select select;
	struct batch_set out;
	struct map paths;  /* key -> hash of the path in its last row */
	struct map inodes; /* key -> inode */
	uint64_t now;
	size_t ops;
};

static void rig_open(struct rig *t, const char *glob)
{
	struct decode_options opt = {.mnt_ns = MNT_NS,
				     .plans = t->plans,
				     .select = &t->select,
				     .limits = {.runs = 1,
						.inodes = 4 * WINDOW,
						.ended = 10,
						.paths = 4 * WINDOW,
						.asked = 100}};
	struct error err = {0};

	for (uint32_t nr = 0; nr < WIRE_CALLS_MAX; nr++)
		plan_of_op(op_code_of_native(nr), true, &t->plans[nr]);
	if (glob)
		assert_int_equal(select_path_add(&t->select, glob, &err), 0);
	assert_int_equal(decode_new(&t->decode, &opt, &err), 0);
}

static void rig_close(struct rig *t)
{
	decode_free(t->decode);
	batch_set_free(&t->out);
	select_free(&t->select);
	map_free(&t->paths);
	map_free(&t->inodes);
}

/* Notes what the rows of files say. */
static void note_files(struct rig *t)
{
	const struct batch *b = t->out.tables[TABLE_FILE];

	for (size_t i = 0; b && i < b->rows; i++) {
		struct bytes path = batch_get_bytes(b, FILE_PATH, i);
		int64_t key = batch_get(b, FILE_ID, i, -1);

		assert_int_equal(map_set(&t->paths, key, hash_bytes(path.data, path.len)), 0);
		assert_int_equal(map_set(&t->inodes, key, batch_get(b, FILE_INODE, i, -1)), 0);
	}
}

static void give_dimension(struct rig *t, const void *record)
{
	batch_set_clear(&t->out);
	assert_int_equal(decode_dimension(t->decode, record, &t->out), 0);
	note_files(t);
}

/* A file "/NAME" or "/folder/NAME". */
static void give_file(struct rig *t, uint64_t number, uint64_t ino, const char *name,
		      bool in_folder)
{
	struct {
		struct wire_file f;
		char names[128];
	} r = {.f = {.head = {.type = WIRE_FILE, .time = ++t->now},
		     .file = number,
		     .ino = ino,
		     .generation = 1,
		     .dev = 5,
		     .mode = number == FOLDER	 ? S_IFDIR
			     : number == SYMLINK ? S_IFLNK
						 : S_IFREG,
		     .mnt_ns = MNT_NS}};
	size_t len = strlen(name) + 1;

	memcpy(r.names, name, len);
	if (in_folder) {
		memcpy(r.names + len, "folder", 7);
		len += 7;
	}
	r.f.path_len = r.f.root_at = len;
	r.f.head.size = align_up(sizeof(r.f) + len, 8);
	give_dimension(t, &r);
	assert_int_equal(decode_file_turn(t->decode, &r.f), 0);
}

/* A call with a path relative to the folder: its file must have the path that it asked for. */
static void give_call(struct rig *t, const char *name, int64_t ret, uint64_t want, bool selected)
{
	struct {
		struct wire_op op;
		struct wire_name n;
		char text[128];
	} r = {.op = {.head = {.type = WIRE_OP, .parts = WIRE_PART_PATH, .time = ++t->now},
		      .start = t->now,
		      .ret = ret,
		      .pos = WIRE_NONE,
		      .thread = 1,
		      .tid = 4711,
		      .fd = -1,
		      .nr = 257},
	       .n = {.base = FOLDER, .len = strlen(name)}};
	char path[160];
	int64_t key;
	uint64_t got = 0;
	size_t len = snprintf(path, sizeof(path), "/folder/%s", name);
	int given;

	if (!strcmp(name, "."))
		len = strlen("/folder"); /* a path is tidy */
	memcpy(r.text, name, r.n.len);
	r.op.call = t->ops++;
	r.op.head.size = sizeof(r.op) + sizeof(r.n) + align_up(r.n.len, 8);
	batch_set_clear(&t->out);
	given = decode_op(t->decode, &r.op, 0, &t->out);
	note_files(t);
	assert_int_equal(given, selected);
	if (!selected)
		return;
	key = batch_get(t->out.tables[TABLE_OP], OP_FILE_ID, 0, -1);
	assert_true(map_get(&t->paths, key, &got));
	assert_int_equal(got, hash_bytes(path, len));
	if (want)
		assert_int_equal(key, want);
}

static void give_thread(struct rig *t)
{
	struct wire_thread w = {.head = {.type = WIRE_THREAD, .size = sizeof(w), .time = ++t->now},
				.thread = 1,
				.task = 1,
				.tid = 4711,
				.tgid = 4711,
				.process_start = 1,
				.exe = PROGRAM};

	give_dimension(t, &w);
}

static void expect_exe(const struct rig *t, enum table_id table, unsigned int column)
{
	struct bytes exe = batch_get_bytes(t->out.tables[table], column, 0);

	assert_int_equal(exe.len, 8);
	assert_memory_equal(exe.data, "/program", 8);
}

/* After the storm: what was told at the beginning is still known. */
static void check_beginning(struct rig *t)
{
	struct wire_file_gone gone = {
		.head = {.type = WIRE_FILE_GONE, .size = sizeof(gone), .time = ++t->now},
		.file = FOLDER};
	struct wire_thread_end end = {
		.head = {.type = WIRE_THREAD_END, .size = sizeof(end), .time = ++t->now},
		.thread = 1,
		.tgid = 4711,
		.process_start = 1,
		.process_ended = 1};
	struct bytes path;

	give_dimension(t, &gone);
	path = batch_get_bytes(t->out.tables[TABLE_FILE], FILE_PATH, 0);
	assert_int_equal(path.len, 7);
	assert_memory_equal(path.data, "/folder", 7);
	assert_false(batch_is_null(t->out.tables[TABLE_FILE], FILE_DELETED, 0));
	give_dimension(t, &end);
	expect_exe(t, TABLE_THREAD, THREAD_EXE);
	expect_exe(t, TABLE_PROCESS, PROCESS_EXE);
}

/* The i-th file to be told: within a window the even ones come first, as from another CPU. */
static uint64_t shuffled(uint64_t i)
{
	uint64_t at = i % WINDOW, begin = i - at;

	return begin + (at < WINDOW / 2 ? 2 * at : 2 * (at - WINDOW / 2) + 1);
}

/* Each file: made, found, renamed, found under the other name, removed; a name that nothing has. */
static void storm(struct rig *t, bool all)
{
	uint64_t inode;
	char a[32], b[32], none[32];

	give_file(t, FOLDER, 1, "folder", false);
	give_file(t, PROGRAM, 2, "program", false);
	give_thread(t);
	expect_exe(t, TABLE_THREAD, THREAD_EXE);
	for (uint64_t i = 0; i < ROUNDS / WINDOW * WINDOW; i++) {
		uint64_t file = PROGRAM + 1 + 2 * shuffled(i), ino = 100 + i;

		snprintf(a, sizeof(a), "a-%zu", (size_t)i);
		snprintf(b, sizeof(b), "b-%zu", (size_t)i);
		snprintf(none, sizeof(none), "none-%zu", (size_t)(i % 5000));
		give_file(t, file, ino, a, true);
		give_call(t, a, 3, file, all || i % 2);
		give_call(t, none, -2, 0, all);
		give_file(t, file + 1, ino, b, true);
		assert_true(map_get(&t->inodes, file + 1, &inode));
		assert_int_equal(inode, file);
		give_call(t, b, 0, file + 1, all);
		give_call(t, ".", 0, 0, all);
	}
	check_beginning(t);
}

static void test_storm(void **state)
{
	struct rig t = {0};
	struct mallinfo2 before = mallinfo2(), after;

	rig_open(&t, NULL);
	storm(&t, true);
	map_free(&t.paths);
	map_free(&t.inodes);
	batch_set_free(&t.out);
	after = mallinfo2();
	assert_true(after.uordblks + after.hblkhd < before.uordblks + before.hblkhd + MEMORY_MAX);
	rig_close(&t);
}

/* No file can be written: it costs memory, and nothing else. */
static void test_no_file(void **state)
{
	struct rlimit was, none;
	struct rig t = {0};

	getrlimit(RLIMIT_FSIZE, &was);
	none = (struct rlimit){100000, was.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	rig_open(&t, NULL);
	storm(&t, true);
	rig_close(&t);
	setrlimit(RLIMIT_FSIZE, &was);
}

/* The selection by path of files that are long forgotten. */
static void test_selected(void **state)
{
	struct rig t = {0};

	rig_open(&t, "/folder/a-*[13579]");
	storm(&t, false);
	rig_close(&t);
}

/* By number: a call on the first of many files, which is selected, and on the last, which is not. */
static void test_selected_number(void **state)
{
	struct wire_op op = {.head = {.type = WIRE_OP, .size = sizeof(op)},
			     .start = 1,
			     .pos = WIRE_NONE,
			     .thread = 1,
			     .tid = 1};
	struct rig t = {0};
	char name[32];

	rig_open(&t, "/folder/wanted");
	give_file(&t, 1, 1, "wanted", true);
	for (uint64_t i = 2; i < 5 * RECORDS_RUN; i++) {
		snprintf(name, sizeof(name), "x-%zu", (size_t)i);
		give_file(&t, i, i, name, true);
	}
	op.file = 1;
	assert_int_equal(decode_op(t.decode, &op, 0, &t.out), 1);
	op.file = 5 * RECORDS_RUN - 1;
	op.call = 1;
	assert_int_equal(decode_op(t.decode, &op, 0, &t.out), 0);
	op.file = 1ull << 30; /* there was no room for its record */
	op.call = 2;
	assert_int_equal(decode_op(t.decode, &op, 0, &t.out), 1);
	rig_close(&t);
}

/* A successful call with up to two paths, relative to the folder or absolute; the key of its file. */
static int64_t call_paths(struct rig *t, const char *op, const char *path, const char *path2,
			  uint8_t type)
{
	struct {
		struct wire_op op;
		uint8_t names[256];
	} r = {.op = {.head = {.type = type, .parts = WIRE_PART_PATH, .time = ++t->now},
		      .start = t->now,
		      .pos = WIRE_NONE,
		      .thread = 1,
		      .tid = 4711,
		      .fd = -1}};
	const char *const paths[] = {path, path2};
	size_t at = 0;

	while ((int)op_code_of_native(r.op.nr) != op_find(op))
		r.op.nr++;
	for (size_t i = 0; i < 2 && paths[i]; i++) {
		struct wire_name n = {.base = paths[i][0] == '/' ? 0 : FOLDER,
				      .len = strlen(paths[i]),
				      .error = paths[i] == unread};

		r.op.head.parts |= i ? WIRE_PART_PATH2 : 0;
		memcpy(r.names + at, &n, sizeof(n));
		memcpy(r.names + at + sizeof(n), paths[i], n.len);
		at += sizeof(n) + align_up(n.len, 8);
	}
	r.op.call = t->ops++;
	r.op.head.size = sizeof(r.op) + at;
	batch_set_clear(&t->out);
	assert_int_equal(decode_op(t->decode, &r.op, 0, &t->out), type == WIRE_OP);
	if (type == WIRE_FATE) {
		assert_int_equal(batch_set_count(&t->out), 0); /* not even a name: nobody asked */
		return 0;
	}
	return batch_get(t->out.tables[TABLE_OP], OP_FILE_ID, 0, -1);
}

static bool leads_to(struct rig *t, const char *path, int64_t file)
{
	return call_paths(t, "stat", path, NULL, WIRE_OP) == file;
}

static void open_file(struct rig *t, uint64_t file)
{
	struct wire_op op = {.head = {.type = WIRE_OP, .size = sizeof(op), .time = ++t->now},
			     .start = t->now,
			     .ret = 3,
			     .pos = WIRE_NONE,
			     .file = file,
			     .fd = 3,
			     .thread = 1,
			     .tid = 4711,
			     .call = t->ops++,
			     .nr = 257};

	batch_set_clear(&t->out);
	assert_int_equal(decode_op(t->decode, &op, 0, &t->out), 1);
}

/* One file by several spellings of its path. */
static void test_spellings(void **state)
{
	struct rig t = {0};

	rig_open(&t, NULL);
	give_file(&t, FOLDER, 1, "folder", false);
	give_file(&t, 10, 10, "a", true);
	assert_true(leads_to(&t, "/folder//./a", 10) && leads_to(&t, "./a", 10));
	assert_true(leads_to(&t, ".", FOLDER) && leads_to(&t, "/folder/", FOLDER));
	/* By ".." it may lead elsewhere, and only a folder has something in it. */
	assert_false(leads_to(&t, "../folder/a", 10) || leads_to(&t, "a/", 10));
	assert_false(leads_to(&t, "a/.", 10));
	rig_close(&t);
}

/* What calls do to names: as much is forgotten as may have changed, and what is opened is known again. */
static void test_fates(void **state)
{
	struct wire_file_gone gone = {.head = {.type = WIRE_FILE_GONE, .size = sizeof(gone)},
				      .file = 11};
	struct rig t = {0};

	rig_open(&t, NULL);
	give_file(&t, FOLDER, 1, "folder", false);
	give_file(&t, 10, 10, "a", true);
	give_file(&t, 11, 11, "b", true);
	assert_true(leads_to(&t, "/folder/a", 10) && leads_to(&t, "b", 11));
	/* What nobody has seen is no folder with files that somebody has. */
	call_paths(&t, "rename", "/folder/x", "/folder/y", WIRE_OP);
	call_paths(&t, "rename", "x", "y", WIRE_OP);
	call_paths(&t, "rename", "/z", "/y", WIRE_OP);
	call_paths(&t, "rename", "/folder/./x", "/./folder//y/", WIRE_OP);
	assert_true(leads_to(&t, "a", 10) && leads_to(&t, "/folder/b", 11));
	/* Wanted or not. */
	call_paths(&t, "rename", "a", "b", WIRE_FATE);
	assert_false(leads_to(&t, "a", 10) || leads_to(&t, "b", 11));
	open_file(&t, 10);
	open_file(&t, 11);
	assert_true(leads_to(&t, "a", 10) && leads_to(&t, "b", 11));
	call_paths(&t, "unlink", "./b", NULL, WIRE_FATE);
	assert_false(leads_to(&t, "b", 11));
	assert_true(leads_to(&t, "a", 10));
	call_paths(&t, "unlink", "../x", NULL, WIRE_FATE);
	assert_false(leads_to(&t, "a", 10));
	open_file(&t, 10);
	/* It may be a link to the folder, or have one on its way. */
	call_paths(&t, "rename", "/link/x", "/link/y", WIRE_OP);
	assert_false(leads_to(&t, "a", 10));
	open_file(&t, 10);
	assert_true(leads_to(&t, "a", 10));
	call_paths(&t, "rename", "sub/x", "y", WIRE_OP);
	assert_false(leads_to(&t, "a", 10));
	open_file(&t, 10);
	call_paths(&t, "rename", "/folder", "/moved", WIRE_OP);
	assert_false(leads_to(&t, "/folder/a", 10));
	open_file(&t, 10);
	call_paths(&t, "mount", "/x", NULL, WIRE_OP);
	assert_false(leads_to(&t, "/folder/a", 10));
	open_file(&t, 10);
	/* What open_tree() gave, by its descriptor. */
	assert_true(leads_to(&t, "/folder/a", 10));
	call_paths(&t, "move_mount", "", "/x", WIRE_OP);
	assert_false(leads_to(&t, "/folder/a", 10));
	open_file(&t, 10);
	call_paths(&t, "rename", "x", unread, WIRE_FATE);
	assert_false(leads_to(&t, "a", 10));
	open_file(&t, 10);
	/* One took the name of the other, and the other came back. */
	give_file(&t, 12, 12, "a", true);
	open_file(&t, 12);
	assert_true(leads_to(&t, "a", 12));
	open_file(&t, 10);
	assert_true(leads_to(&t, "a", 10));
	/* A symbolic link that was opened itself: its name leads elsewhere. */
	give_file(&t, SYMLINK, 13, "link", true);
	open_file(&t, SYMLINK);
	assert_false(leads_to(&t, "link", SYMLINK));
	/* Opened by its descriptor: no name leads there. */
	give_dimension(&t, &gone);
	open_file(&t, 11);
	assert_false(leads_to(&t, "b", 11));
	/* A call that never came may have been any. */
	assert_true(leads_to(&t, "a", 10));
	t.ops++;
	assert_false(leads_to(&t, "a", 10));
	rig_close(&t);
}

#define SOCKETS 40000 /* more than are remembered */

/* A UDP socket is connected to a port; the key of the row that says so. */
static int64_t connect_socket(struct rig *t, uint64_t file, uint16_t port)
{
	struct wire_sock w = {.head = {.type = WIRE_SOCK, .size = sizeof(w), .time = ++t->now},
			      .file = file,
			      .family = AF_INET,
			      .type = SOCK_DGRAM,
			      .peer_port = port,
			      .peer_len = 4,
			      .peer = {127, 0, 0, 1}};

	give_dimension(t, &w);
	return batch_get(t->out.tables[TABLE_FILE], FILE_ID, 0, -1);
}

/* What was said of a socket's peer stays true of the calls before, also of one whose peer was forgotten. */
static void test_sockets(void **state)
{
	struct rig t = {0};
	int64_t first, again;

	rig_open(&t, NULL);
	for (uint64_t i = 1; i <= SOCKETS; i++)
		give_file(&t, i, i, "socket:[1]", false);
	first = connect_socket(&t, 1, 53);
	assert_int_equal(connect_socket(&t, 1, 53), first);
	again = connect_socket(&t, 1, 54);
	assert_int_not_equal(again, first);
	assert_int_equal(connect_socket(&t, 1, 54), again);
	first = connect_socket(&t, 2, 53);
	for (uint64_t i = 3; i <= SOCKETS; i++)
		assert_int_equal(connect_socket(&t, i, 53), i);
	assert_int_not_equal(connect_socket(&t, 2, 54), first);
	rig_close(&t);
}

static int64_t connect_unix(struct rig *t, uint64_t file, uint64_t ino, uint64_t peer_ino)
{
	struct wire_sock w = {.head = {.type = WIRE_SOCK, .size = sizeof(w), .time = ++t->now},
			      .file = file,
			      .family = AF_UNIX,
			      .type = SOCK_STREAM,
			      .ino = ino,
			      .peer_ino = peer_ino};

	give_dimension(t, &w);
	return batch_get(t->out.tables[TABLE_FILE], FILE_PEER_INO, 0, -1);
}

/* One that connected gets its peer's inode when that is accepted, once. */
static void test_unix_peers(void **state)
{
	const struct batch *b;
	struct rig t = {0};

	rig_open(&t, NULL);
	for (uint64_t i = 1; i <= 3; i++)
		give_file(&t, i, 10 * i, "socket:[1]", false);
	assert_int_equal(connect_unix(&t, 1, 10, 0), -1);
	assert_int_equal(connect_unix(&t, 2, 20, 10), 10);
	b = t.out.tables[TABLE_FILE];
	assert_int_equal(b->rows, 2);
	assert_int_equal(batch_get(b, FILE_ID, 1, -1), 1);
	assert_int_equal(batch_get(b, FILE_PEER_INO, 1, -1), 20);
	assert_int_equal(connect_unix(&t, 3, 30, 10), 10);
	assert_int_equal(t.out.tables[TABLE_FILE]->rows, 1);
	rig_close(&t);
}

static void give_version(struct rig *t, uint32_t version, uint64_t run_delay)
{
	struct wire_thread w = {.head = {.type = WIRE_THREAD, .size = sizeof(w), .time = ++t->now},
				.thread = version,
				.task = 1,
				.tid = 4711,
				.tgid = 4711,
				.process_start = 1,
				.run_delay = run_delay};

	give_dimension(t, &w);
}

static void expect_waited(const struct rig *t, uint32_t version, int64_t runq)
{
	const struct batch *b = t->out.tables[TABLE_THREAD];

	assert_int_equal(batch_get(b, THREAD_ID, b->rows - 1, -1), version);
	assert_int_equal(batch_get(b, THREAD_RUNQ, b->rows - 1, -1), runq);
}

/* Each version of a thread has what the thread waited for a CPU while it held. */
static void test_versions(void **state)
{
	struct wire_thread_end end = {.head = {.type = WIRE_THREAD_END, .size = sizeof(end)},
				      .thread = 3,
				      .tgid = 4711,
				      .process_start = 1,
				      .run_delay = 1700};
	struct wire_waited lives = {.thread = 2, .run_delay = 1350};
	const struct buf waited = {.data = (void *)&lives, .len = sizeof(lives)};
	struct rig t = {0};

	rig_open(&t, NULL);
	give_version(&t, 1, 1000);
	give_version(&t, 2, 1200);
	expect_waited(&t, 1, 200);
	batch_set_clear(&t.out);
	assert_int_equal(decode_waited(t.decode, &waited, &t.out), 0);
	expect_waited(&t, 2, 150);
	give_version(&t, 3, 1600);
	expect_waited(&t, 2, 400);
	give_dimension(&t, &end);
	expect_waited(&t, 3, 100);
	batch_set_clear(&t.out);
	assert_int_equal(decode_waited(t.decode, &waited, &t.out), 0);
	assert_int_equal(t.out.tables[TABLE_THREAD]->rows, 0); /* it has ended */
	rig_close(&t);
}

/* A poll of which the record has `count` descriptors and says that it has `told`. */
static int give_poll(struct rig *t, uint32_t count, uint32_t told)
{
	struct {
		struct wire_op op;
		struct wire_away away;
		struct wire_ready ready[WIRE_READY_MAX + 1];
	} r = {.op = {.head = {.type = WIRE_OP, .parts = WIRE_PART_AWAY, .time = t->now + 50},
		      .start = ++t->now,
		      .ret = count,
		      .thread = 1,
		      .fd = -1,
		      .pos = WIRE_NONE,
		      .nr = (uint16_t)op_find("poll"),
		      .status = STATUS_SLEPT},
	       .away = {.runq = 7, .count = told, .left = 2}};

	for (uint32_t i = 0; i < count; i++)
		r.ready[i] = (struct wire_ready){.fd = (int)i, .events = 1, .revents = i & 1};
	r.op.head.size = (uint16_t)(sizeof(r.op) + sizeof(r.away) + count * sizeof(r.ready[0]));
	batch_set_clear(&t->out);
	return decode_op(t->decode, &r.op, 0, &t->out);
}

static void test_several(void **state)
{
	const struct batch *b;
	struct rig t = {0};

	rig_open(&t, NULL);
	assert_int_equal(give_poll(&t, 8, 8), 1);
	assert_int_equal(batch_get(t.out.tables[TABLE_OP], OP_RUNQ, 0, -1), 7);
	b = t.out.tables[TABLE_POLL];
	assert_int_equal(b->rows, 8);
	for (size_t i = 0; i < b->rows; i++) {
		assert_int_equal(batch_get(b, POLL_FD, i, -1), i);
		assert_int_equal(batch_get(b, POLL_REVENTS, i, -1), i & 1 ? 1 : -1);
		assert_int_equal(batch_get(b, POLL_LEFT_OUT, i, -1), 2);
	}
	assert_int_equal(give_poll(&t, 8, 7), 1);
	assert_int_equal(give_poll(&t, 7, 8), -EBADMSG);
	assert_int_equal(give_poll(&t, 9, 9), -EBADMSG);
	assert_int_equal(give_poll(&t, 1, UINT32_MAX), -EBADMSG);
	rig_close(&t);
}

/* A read of 50 ns with phases, or without a word of them. */
static int give_phases(struct rig *t, const struct wire_phases *ph, uint64_t start)
{
	struct {
		struct wire_op op;
		struct wire_away away;
		struct wire_phases phases;
	} r = {.op = {.head = {.type = WIRE_OP, .time = t->now + 51},
		      .start = start ? ++t->now : 0,
		      .thread = 1,
		      .fd = 3,
		      .pos = WIRE_NONE,
		      .nr = (uint16_t)op_find("read")},
	       .away = {.runq = 7, .phases = 1}};

	r.op.head.size = sizeof(r.op);
	if (ph) {
		r.phases = *ph;
		r.op.head.parts = WIRE_PART_AWAY;
		r.op.head.size = sizeof(r);
	}
	batch_set_clear(&t->out);
	return decode_op(t->decode, &r.op, 0, &t->out);
}

static void expect_phases(const struct rig *t, int64_t io, int64_t slept, int64_t runq, int64_t cpu)
{
	const struct batch *b = t->out.tables[TABLE_OP];

	assert_int_equal(batch_get(b, OP_IO_WAIT, 0, -1), io);
	assert_int_equal(batch_get(b, OP_SLEEP, 0, -1), slept);
	assert_int_equal(batch_get(b, OP_RUNQ, 0, -1), runq);
	assert_int_equal(batch_get(b, OP_CPU_TIME, 0, -1), cpu);
}

static void test_phases(void **state)
{
	const uint64_t no = WIRE_TIME_UNKNOWN;
	struct rig t = {0};

	rig_open(&t, NULL);
	t.decode->opt.phases = t.decode->opt.reads_counted = true;
	assert_int_equal(give_phases(&t, NULL, 1), 1);
	expect_phases(&t, 0, 0, 0, 50);
	assert_int_equal(batch_get(t.out.tables[TABLE_OP], OP_MISSES, 0, -1), 0);
	assert_int_equal(batch_get(t.out.tables[TABLE_OP], OP_READ_BYTES, 0, -1), 0);
	assert_int_equal(give_phases(&t, &(struct wire_phases){20, 10, 5, 4096, 2, 0}, 1), 1);
	expect_phases(&t, 20, 10, 5, 15);
	assert_int_equal(batch_get(t.out.tables[TABLE_OP], OP_MISSES, 0, -1), 2);
	assert_int_equal(batch_get(t.out.tables[TABLE_OP], OP_READ_BYTES, 0, -1), 4096);
	assert_int_equal(give_phases(&t, &(struct wire_phases){20, 20, 10, 0, 0, 0}, 1), 1);
	expect_phases(&t, 20, 20, 10, 0);
	/* not all was seen; more than the call took; its start was not seen */
	assert_int_equal(give_phases(&t, &(struct wire_phases){no, no, no, 0, 1, 0}, 1), 1);
	expect_phases(&t, -1, -1, -1, -1);
	assert_int_equal(batch_get(t.out.tables[TABLE_OP], OP_MISSES, 0, -1), 1);
	assert_int_equal(give_phases(&t, &(struct wire_phases){20, 20, 11, 0, 0, 0}, 1), 1);
	expect_phases(&t, -1, -1, -1, -1);
	assert_int_equal(give_phases(&t, &(struct wire_phases){20, 0, 0, 0, 0, 0}, 0), 1);
	expect_phases(&t, -1, -1, -1, -1);
	/* without them the kernel's own figure is kept */
	t.decode->opt.phases = false;
	assert_int_equal(give_phases(&t, &(struct wire_phases){20, 10, 5, 0, 0, 0}, 1), 1);
	expect_phases(&t, -1, -1, 7, -1);
	rig_close(&t);
}

/* Requests overlap, are queued while others are in the device, and outlive the wait. */
static void test_io_split(void **state)
{
	static const struct io_request requests[] = {
		{100, 150, 300}, {120, 160, 200}, {310, 350, 400}, {0, 380, 420}};
	static const struct wire_wait waits[] = {{110, 250}, {320, 410}};
	struct io_split s = {0};
	struct io_parts parts;

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		assert_int_equal(io_split_request(&s, 1, 90, &requests[i]), 0);
	assert_int_equal(io_split_request(&s, 1, 80, &requests[0]), 0); /* of the call before */
	assert_true(io_split_take(&s, 1, 90, waits, 2, &parts));
	assert_int_equal(parts.device, 100 + 60);
	assert_int_equal(parts.queued, 40 + 30);
	/* nothing is left of it, and another call has none of them */
	assert_true(io_split_take(&s, 1, 90, waits, 2, &parts));
	assert_int_equal(parts.device + parts.queued, 0);
	assert_int_equal(io_split_request(&s, 1, 90, &requests[0]), 0);
	assert_int_equal(io_split_request(&s, 1, 500, &requests[0]), 0);
	assert_true(io_split_take(&s, 1, 90, waits, 2, &parts));
	assert_int_equal(parts.device + parts.queued, 0);
	for (size_t i = 0; i < IO_SPLIT_REQUESTS_MAX; i++)
		assert_int_equal(io_split_request(&s, 1, 500, &requests[1]), 0);
	assert_false(io_split_take(&s, 1, 500, waits, 2, &parts));
	assert_int_equal(io_split_request(&s, 2, 500, &requests[0]), 0);
	io_split_free(&s);
}

static void test_recent(void **state)
{
	struct recent c = {.max = 1000};
	uint64_t v;

	for (uint64_t i = 0; i < 100000; i++) {
		assert_int_equal(recent_set(&c, i, ~i), 0);
		assert_true(recent_get(&c, i, &v) && v == ~i);
		if (i >= 150)
			assert_true(recent_get(&c, i - 150, NULL) && c.young.count <= 500);
		if (i)
			assert_true(recent_get(&c, 0, &v) && v == ~0ull); /* used all the time */
		assert_true(c.young.count + c.old.count <= 1000);
	}
	recent_del(&c, 0);
	assert_false(recent_get(&c, 0, NULL));
	assert_false(recent_get(&c, 50000, NULL));
	recent_free(&c);
}

static bool marks(struct running_marks *m, const char *text, int64_t seconds)
{
	return running_marks_due(m, (struct bytes){(const uint8_t *)text, strlen(text)},
				 1000 * NSEC_PER_SEC + seconds * NSEC_PER_SEC);
}

/* What changes is marked at once; what stays less and less often, so that a trace of a program that waits hardly grows. */
static void test_running_marks(void **state)
{
	struct running_marks m = {0};
	int64_t last = 0, count = 0;

	assert_false(marks(&m, "", 0));
	assert_true(marks(&m, "7 read 5", 0));
	for (int64_t i = 1; i < 86400; i++) {
		if (!marks(&m, "7 read 5", i))
			continue;
		assert_true(i - last >= 5);
		assert_true(i < 40 ? i - last == 5 : i - last <= i / 8 + 1);
		last = i;
		count++;
	}
	assert_in_range(count, 50, 100);
	assert_true(marks(&m, "8 read 6", 86400));
	assert_false(marks(&m, "8 read 6", 86404));
	assert_true(marks(&m, "8 read 6", 86405));
	assert_true(marks(&m, "", 86406));
	assert_false(marks(&m, "", 86500));
	assert_true(marks(&m, "8 read 6", 86501));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recent),		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_no_file),		cmocka_unit_test(test_selected),
		cmocka_unit_test(test_selected_number), cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_fates),		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_running_marks),	cmocka_unit_test(test_unix_peers),
		cmocka_unit_test(test_versions),	cmocka_unit_test(test_several),
		cmocka_unit_test(test_phases),		cmocka_unit_test(test_io_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
