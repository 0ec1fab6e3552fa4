// SPDX-License-Identifier: Apache-2.0
#include "fixture.h"

#include <errno.h>

#include "../store/common.h"

static struct buf answer;
static struct error last;

const char *fixture_folder(void)
{
	return make_folder();
}

const char *fixture_file(const char *name, char buf[static 256])
{
	snprintf(buf, 256, "%s/%s", make_folder(), name);
	return buf;
}

void fixture_remove(void)
{
	remove_folder();
	buf_free(&answer);
}

struct bytes fixture_path(size_t i, char buf[static 64])
{
	static const struct {
		const char *text;
		size_t len;
	} hard[] = {
		{"/bad/\xff\xfe", 7},	  /* no UTF-8 at all */
		{"/bad/\\xff\\xfe", 13},  /* what the first looks like when escaped */
		{"/bad/\xc3", 6},	  /* cut in a character */
		{"/bad/\xed\xa0\x80", 8}, /* a surrogate */
		{"/bad/\xc0\xaf", 7},	  /* overlong */
		{"/new\nline", 9},
		{"/\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a", 10}, /* good UTF-8 of 2, 3 and 4 bytes */
		{"/quote'\"", 8},
		{"/dev-disk\\x2duuid", 17}, /* systemd's escapes stay */
		{"/bad/\\x5cxff", 12},	    /* looks like an escaped backslash */
	};
	int n;

	if (i < ARRAY_SIZE(hard))
		return (struct bytes){(const uint8_t *)hard[i].text, hard[i].len};
	n = snprintf(buf, 64, "/data/%zu/file-%zu.sst", i % 3, i);
	return (struct bytes){(const uint8_t *)buf, (size_t)n};
}

static uint64_t mix(uint64_t x)
{
	return hash_u64(x);
}

struct fixture_op fixture_op(uint64_t i)
{
	static const char *const names[] = {"pread64", "write", "fsync", "openat", "epoll_wait"};
	/* kept, as finding one takes longer than all else here; none of them is 0 */
	static _Atomic(uint32_t) codes[ARRAY_SIZE(names)];
	uint64_t r = mix(i);
	size_t name = (r >> 20) % ARRAY_SIZE(names);
	struct fixture_op o = {0};

	o.start = FIXTURE_ORIGIN + (int64_t)i * FIXTURE_STEP_NS;
	o.dur = (int64_t)(r % 100000) +
		(r % 97 == 0 ? 200000000 : 0); /* some take longer than 100 ms */
	o.thread_id = (int64_t)(r >> 8) % FIXTURE_THREADS;
	if (o.thread_id < 0)
		o.thread_id = -o.thread_id;
	if (!codes[name])
		codes[name] = (uint32_t)op_find(names[name]);
	o.op = codes[name];
	o.no_file = (r >> 24) % 5 == 0;
	o.file_id = (int64_t)((r >> 32) % FIXTURE_FILES);
	o.failed = (r >> 40) % 11 == 0;
	o.err = o.failed ? ((r >> 44) % 2 ? ENOENT : EAGAIN) : 0;
	o.bytes = o.failed ? 0 : (int64_t)((r >> 48) % 8192);
	o.ret = o.failed ? -o.err : o.bytes;
	o.pos = (int64_t)(r >> 30);
	o.no_start = i < 2;
	o.running = i % 1000 == 999 && i / 10000 % 2 == 0;
	return o;
}

static void set(struct batch *b, unsigned int column, size_t row, int64_t value)
{
	assert_int_equal(batch_set(b, column, row, value), 0);
}

static void text(struct batch *b, unsigned int column, size_t row, const char *s)
{
	assert_int_equal(batch_set_str(b, column, row, s), 0);
}

static void append(struct store_writer *w, struct batch *b)
{
	if (store_append(w, b, &last) < 0)
		fail_msg("%s", last.message);
	batch_free(b);
}

static struct batch *table(enum table_id id)
{
	struct batch *b;

	assert_int_equal(batch_new(&b, id), 0);
	return b;
}

static size_t row(struct batch *b)
{
	ssize_t r = batch_add_row(b);

	assert_true(r >= 0);
	return (size_t)r;
}

void fixture_append_ops(struct store_writer *w, uint64_t from, uint64_t to)
{
	struct batch *b = table(TABLE_OP);

	for (uint64_t i = from; i < to; i++) {
		struct fixture_op o = fixture_op(i);
		size_t r;

		if (b->rows == BATCH_ROWS_MAX) {
			append(w, b);
			b = table(TABLE_OP);
		}
		r = row(b);
		if (!o.no_start)
			set(b, OP_START, r, o.start);
		set(b, OP_DUR, r, o.dur);
		set(b, OP_THREAD_ID, r, o.thread_id);
		set(b, OP_TID, r, 100 + o.thread_id);
		set(b, OP_KIND, r, KIND_SYSCALL);
		set(b, OP_OP, r, o.op);
		set(b, OP_CLASS, r, CLASS_DATA);
		if (!o.running)
			set(b, OP_RET, r, o.ret);
		if (o.failed)
			set(b, OP_ERR, r, o.err);
		set(b, OP_BYTES, r, o.bytes);
		if (!o.no_file) {
			set(b, OP_FILE_ID, r, o.file_id);
			set(b, OP_POS, r, o.pos);
		}
		set(b, OP_FLAGS, r, -1); /* all 64 bits: an unsigned column */
		set(b, OP_STATUS, r, o.running ? STATUS_UNFINISHED : 0);
	}
	append(w, b);
}

static void append_threads(struct store_writer *w)
{
	struct batch *b = table(TABLE_THREAD);

	/* an early version of thread 0 that the later row replaces */
	for (int64_t i = -1; i < FIXTURE_THREADS; i++) {
		int64_t id = i < 0 ? 0 : i;
		char name[32];
		size_t r = row(b);

		set(b, THREAD_ID, r, id);
		set(b, THREAD_TASK, r, id);
		set(b, THREAD_TID, r, 100 + id);
		set(b, THREAD_PROCESS_ID, r, id / 3);
		snprintf(name, sizeof(name),
			 i < 0	   ? "replaced"
			 : id == 5 ? "bad\xff"
				   : "worker-%lld",
			 (long long)(9 - id));
		text(b, THREAD_COMM, r, name);
		text(b, THREAD_EXE, r, "/usr/bin/server");
		set(b, THREAD_CGROUP_ID, r, 0);
		set(b, THREAD_UID, r, 1000);
		set(b, THREAD_SINCE, r, FIXTURE_ORIGIN);
	}
	append(w, b);
}

static void append_processes(struct store_writer *w)
{
	static const char argv[] = "server\0--dir\0/a b\0it's";
	struct batch *b = table(TABLE_PROCESS);

	for (int64_t id = 0; id < 2; id++) {
		size_t r = row(b);

		set(b, PROCESS_ID, r, id);
		set(b, PROCESS_PID, r, 100 + id * 3);
		set(b, PROCESS_PPID, r, 1);
		assert_int_equal(batch_set_bytes(b, PROCESS_ARGV, r, argv, sizeof(argv) - 1), 0);
		text(b, PROCESS_EXE, r, "/usr/bin/server");
		set(b, PROCESS_STARTED, r, FIXTURE_ORIGIN - 1000);
		set(b, PROCESS_HOST_ID, r, 0);
	}
	append(w, b);
	b = table(TABLE_CGROUP);
	row(b);
	set(b, CGROUP_ID, 0, 0);
	set(b, CGROUP_KERNEL_ID, 0, 4711);
	text(b, CGROUP_PATH, 0, "/system.slice/dev-disk\\x2duuid.service");
	text(b, CGROUP_UNIT, 0, "server.service");
	append(w, b);
	b = table(TABLE_HOST);
	row(b);
	set(b, HOST_ID, 0, 0);
	text(b, HOST_NAME, 0, "alpha");
	set(b, HOST_CPUS, 0, 2);
	append(w, b);
}

static void append_files(struct store_writer *w)
{
	struct batch *b = table(TABLE_FILE);

	for (size_t id = 0; id < FIXTURE_FILES; id++) {
		char buf[64];
		struct bytes path = fixture_path(id, buf);
		size_t r = row(b);

		set(b, FILE_ID, r, (int64_t)id);
		set(b, FILE_INODE, r, (int64_t)id);
		set(b, FILE_INO, r, (int64_t)(1000 + id));
		set(b, FILE_TYPE, r, id == 12 ? FILE_TYPE_SOCKET : FILE_TYPE_REGULAR);
		text(b, FILE_FS, r, "ext4");
		if (id != 12)
			assert_int_equal(batch_set_bytes(b, FILE_PATH, r, path.data, path.len), 0);
		if (id == 12) {
			set(b, FILE_FAMILY, r, 2);
			text(b, FILE_PEER, r, "10.0.0.2:4711");
		}
		set(b, FILE_SINCE, r, FIXTURE_ORIGIN);
	}
	append(w, b);
}

void fixture_append_dims(struct store_writer *w)
{
	append_processes(w);
	append_threads(w);
	append_files(w);
}

static void append_marks(struct store_writer *w)
{
	struct batch *b = table(TABLE_LOSS);
	size_t r = row(b);

	set(b, LOSS_START, r, FIXTURE_ORIGIN);
	set(b, LOSS_STOP, r, FIXTURE_ORIGIN + 5000);
	set(b, LOSS_CAUSE, r, CAUSE_RING_FULL);
	set(b, LOSS_EVENTS, r, 17);
	append(w, b);
	b = table(TABLE_MARK);
	r = row(b);
	set(b, MARK_AT, r, FIXTURE_ORIGIN);
	text(b, MARK_NAME, r, "weir.command");
	text(b, MARK_TEXT, r, "server --dir '/a b'");
	append(w, b);
}

void fixture_write(const char *path, uint64_t rows)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct store_writer *w;

	if (store_create(&w, path, &opt, &last) < 0)
		fail_msg("%s", last.message);
	fixture_append_dims(w);
	append_marks(w);
	fixture_append_ops(w, 0, rows);
	if (store_close(w, &last) < 0)
		fail_msg("%s", last.message);
}

void fixture_open(struct fixture *f, const char *const *paths, size_t count,
		  const struct engine_options *opt)
{
	const struct engine_options none = {0};

	last = (struct error){0};
	if (store_open(&f->store, paths, count, &last) < 0)
		fail_msg("%s", last.message);
	if (engine_open(&f->engine, f->store, opt ? opt : &none, &last) < 0)
		fail_msg("%s", last.message);
}

void fixture_close(struct fixture *f)
{
	engine_free(f->engine);
	store_free(f->store);
	*f = (struct fixture){0};
}

void fixture_need_library(void)
{
	struct error err = {0};

	if (engine_probe(NULL, NULL, NULL, &err) < 0) {
		printf("1..0 # SKIP %s\n", err.message);
		exit(77);
	}
}

static int ask_all(struct fixture *f, const char *sql)
{
	_cleanup_(engine_statements_freep) struct engine_statements *s = NULL;
	int r;

	last = (struct error){0};
	buf_clear(&answer);
	r = engine_parse(f->engine, sql, &s, &last);
	for (size_t i = 0; r >= 0 && i < engine_statements_count(s); i++) {
		_cleanup_(engine_result_freep) struct engine_result *result = NULL;

		r = engine_execute(s, i, &result, &last);
		while (r >= 0 && engine_result_next(result)) {
			for (size_t c = 0; c < engine_result_columns(result); c++) {
				if (c)
					assert_int_equal(buf_append(&answer, "|", 1), 0);
				if (engine_result_is_null(result, c))
					assert_int_equal(buf_append(&answer, "NULL", 4), 0);
				else
					assert_int_equal(engine_result_text(result, c, &answer), 0);
			}
			assert_int_equal(buf_append(&answer, "\n", 1), 0);
		}
	}
	if (answer.len)
		answer.len--; /* no line break at the end */
	return r;
}

const char *ask(struct fixture *f, const char *sql)
{
	if (ask_all(f, sql) < 0)
		fail_msg("%s: %s", sql, last.message);
	return buf_str(&answer);
}

int64_t ask_number(struct fixture *f, const char *sql)
{
	return strtoll(ask(f, sql), NULL, 10);
}

const char *ask_error(struct fixture *f, const char *sql, int *ret_code)
{
	int r = ask_all(f, sql);

	if (r >= 0)
		fail_msg("%s: no error but %s", sql, buf_str(&answer));
	if (ret_code)
		*ret_code = r;
	return last.message;
}
