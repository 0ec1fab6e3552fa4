/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel lets pass is never less than the filter, and exactly it where the filter has nothing else than what the
 * kernel tests: random filters over random calls. WEIR_SEED repeats a run. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/kernel/pushdown.h"
#include "query/query.h"
#include "query/eval/eval_rows.h"

#define die(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), fail())
#define FILTERS	 1500
#define ROWS	 200

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state = hash_u64(state);
	return state % below;
}

/* ---- filters ---- */

static void put_number(struct buf *b)
{
	static const char *const odd[] = {"-9223372036854775807", "9223372036854775807", "0", "-1"};

	if (draw(8) == 0)
		buf_printf(b, "%s", odd[draw(4)]);
	else
		buf_printf(b, "%lld", (long long)draw(12) - 3);
}

/* ---- names ---- */

static const char *const comms[] = {"redis",   "redis-server",	 "re", "a/redis", "x",
				    "redis/x", "123456789012345"};
/* The last ones are of what has no place in a tree. */
static const char *const paths[] = {
	"/",	  "/a",		  "/a/b",	 "/a/b/c.sst", "/ab",	"/a/b.sst", "/a/bc/x.sst",
	"/a/*/x", "/a/b/c.sst/d", "/b/a/b/sst.", "/b/.sst",    "/c\\d", "pipe:[1]", "socket:[22]"};

static const char *any_comm(void)
{
	return comms[draw(ARRAY_SIZE(comms))];
}

static void put_comm_test(struct buf *b)
{
	static const char *const globs[] = {
		"redis*",	    "re*", "r?d*", "*", "redis", "*x", "[r]edis", "redis-*",
		"123456789012345*", "a/*", "re**"};

	switch (draw(4)) {
	case 0:
		buf_printf(b, "comm %s \"%s\"", draw(2) ? "==" : "!=", any_comm());
		return;
	case 1:
		buf_printf(b, "comm in (\"%s\", \"%s\")", any_comm(), any_comm());
		return;
	case 2:
		buf_printf(b, "comm like \"%s\"", draw(2) ? "redis%" : "re_is%");
		return;
	default:
		buf_printf(b, "comm %s \"%s\"", draw(2) ? "~" : "!~",
			   globs[draw(ARRAY_SIZE(globs))]);
	}
}

static void put_cgroup_test(struct buf *b)
{
	static const char *const tests[] = {
		"cgroup ~ \"/a/**\"",	 "cgroup == \"/a/x.service\"",
		"unit == \"x.service\"", "container is not null",
		"cgroup =~ \"[xb]$\"",	 "len(unit) > 3",
		"cgroup is null",	 "unit != \"x.service\" or cgroup == \"/b\""};

	buf_printf(b, "%s", tests[draw(ARRAY_SIZE(tests))]);
}

/* Addresses as weir writes them; NULL: none. */
static const char *const peers[] = {"10.0.0.1:80", "10.0.1.1:443",  "[::1]:80",	   "[::1]:443",
				    "unix:/run/x", "unix:@x",	    "1.2.3.4:443", "unix:/a:443",
				    NULL,	   "[fe80::1]:443", "10.0.0.10:8", "unix:x"};

static void put_peer_test(struct buf *b)
{
	static const char *const texts[] = {
		"10.0.0.1:80", "[::1]:443", "unix:/run/x", "unix:@x", "unix:x", "10.0.0.01:80",
		"[0:0::1]:80", "10.0.0.1",  "1.2.3.4:443", "",	      "unix:"};
	static const char *const globs[] = {
		"10.*",	  "10.0.0.*", "*:443", "10.*:443",    "10.0.0.1*",  "*:0443",
		"**:80",  "unix:*",   "*x",    "x",	      "?0.0.0.1:*", "10.0.0.1:*",
		"1*:443", "010.*",    "*",     "10.0.0.1:80", "1.2.3.4:4*"};

	switch (draw(4)) {
	case 0:
		buf_printf(b, "peer is %snull", draw(2) ? "not " : "");
		return;
	case 1:
		buf_printf(b, "peer in (\"%s\", \"%s\")", texts[draw(ARRAY_SIZE(texts))],
			   texts[draw(ARRAY_SIZE(texts))]);
		return;
	case 2:
		buf_printf(b, "peer %s \"%s\"",
			   draw(2) ? "==" : "!=", texts[draw(ARRAY_SIZE(texts))]);
		return;
	default:
		buf_printf(b, "peer %s \"%s\"", draw(2) ? "~" : "!~",
			   globs[draw(ARRAY_SIZE(globs))]);
	}
}

/* `name`: path, path2 or exe. */
static void put_path_test(struct buf *b, const char *name)
{
	static const char *const globs[] = {
		"/a/b/**", "/a/b/*", "/a/b",	    "/a/b*", "/**/c.sst",  "*.sst",    "**.sst",
		"c*",	   "c*.sst", "/a/b/",	    "b",     "/*",	   "/",	       "?.sst",
		"*",	   "pipe*",  "/a/**/*.sst", "[bc]*", "/a/\\\\*/x", "socket:*", "/a//b"};
	static const char *const likes[] = {"/a/b/%", "/a/b", "/a/b%", "%.sst", "/a/_/%", "/%"};
	const char *path = paths[draw(ARRAY_SIZE(paths))];

	switch (draw(7)) {
	case 0:
		buf_printf(b, "%s %s \"%s\"", name,
			   draw(2) ? "==" : "!=", strchr(path, '\\') ? "/a" : path);
		return;
	case 1:
		buf_printf(b, "%s in (\"/a/b\", \"/a\", \"/\")", name);
		return;
	case 2:
		buf_printf(b, "base(%s) %s \"%s\"", name, draw(2) ? "==" : "~",
			   draw(2) ? "c.sst" : "b*");
		return;
	case 3:
		buf_printf(b, "%s(%s) == \"%s\"", draw(2) ? "ext" : "dir", name,
			   draw(2) ? "sst" : "/a/b");
		return;
	case 4:
		buf_printf(b, "%s like \"%s\"", name, likes[draw(ARRAY_SIZE(likes))]);
		return;
	case 5:
		buf_printf(b, "%s is %snull", name, draw(2) ? "not " : "");
		return;
	default:
		buf_printf(b, "%s %s \"%s\"", name, draw(2) ? "~" : "!~",
			   globs[draw(ARRAY_SIZE(globs))]);
	}
}

/* What has no sign, or hangs on the file. */
static void put_file_test(struct buf *b)
{
	static const char *const fields[] = {"a0", "a3", "a5", "ino", "dev"};
	static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
	const char *field = fields[draw(ARRAY_SIZE(fields))];

	switch (draw(5)) {
	case 0:
		buf_printf(b, "%s is %snull", field, draw(2) ? "not " : "");
		return;
	case 1:
		buf_printf(b, "%s in (1, 2, 3, %s)", field,
			   *field == 'd' ? "7" : "18446744073709551615");
		return;
	case 2:
		buf_printf(b, "%s between 1 and %s", field,
			   *field == 'd' ? "9" : "9223372036854775808");
		return;
	case 3:
		buf_printf(b, "bitand(a3, %s) == 2", draw(2) ? "3" : "0x300000003");
		return;
	default:
		buf_printf(
			b, "%s %s %llu", field, signs[draw(6)],
			(unsigned long long)(*field != 'd' && draw(4) == 0 ? 1ull << 63 : draw(8)));
	}
}

static void put_flags_test(struct buf *b)
{
	static const char *const words[] = {"O_CREAT", "O_RDWR", "O_CLOEXEC", "0x3", "1"};

	if (draw(2))
		buf_printf(b, "flags has %s", words[draw(ARRAY_SIZE(words))]);
	else
		buf_printf(b, "flags %s %u", draw(2) ? "==" : "<", (unsigned int)draw(4));
}

/* Of what stands behind an id. */
static void put_id_test(struct buf *b)
{
	static const char *const named[] = {"path", "path2", "exe"};

	switch (draw(5)) {
	case 0:
		put_peer_test(b);
		return;
	case 1:
		put_cgroup_test(b);
		return;
	case 2:
		put_file_test(b);
		return;
	default:
		put_path_test(b, named[draw(ARRAY_SIZE(named))]);
	}
}

static void put_test(struct buf *b)
{
	static const char *const fields[] = {"ret", "fd",  "size", "bytes", "tid",
					     "cpu", "pos", "fd2",  "pos2"};
	static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
	const char *field = fields[draw(ARRAY_SIZE(fields))];

	switch (draw(17)) {
	case 16:
		put_id_test(b);
		return;
	case 15:
		put_flags_test(b);
		return;
	case 14:
		put_comm_test(b);
		return;
	case 13:
		put_id_test(b);
		return;
	case 12:
		buf_printf(b, draw(2) ? "op ~ \"*e*\"" : "op !~ \"op*\"");
		return;
	case 11:
		buf_printf(b, draw(2) ? "class == %s" : "class in (sync, %s)",
			   draw(3)   ? "data"
			   : draw(2) ? "meta"
				     : "wait");
		return;
	case 10:
		buf_printf(b, "dur %s %uns", signs[draw(6)], (unsigned int)draw(9));
		return;
	case 0:
		buf_printf(b, "%s is %snull", field, draw(2) ? "not " : "");
		return;
	case 1:
		buf_printf(b, "op %s read", draw(2) ? "==" : "!=");
		return;
	case 2:
		buf_printf(b, "op in (read, write, openat, close)");
		return;
	case 3:
		buf_printf(b, "err %s ENOENT", draw(2) ? "==" : "!=");
		return;
	case 4:
		buf_printf(b, "%s in (1, 2, 3, 7, %u)", field, 1 + (unsigned int)draw(9));
		return;
	case 5:
		buf_printf(b, "ret between 1 and %u", 1 + (unsigned int)draw(5));
		return;
	case 6:
		buf_printf(b, "held > 3ns"); /* the kernel does not test it */
		return;
	case 7:
		buf_printf(b, "ret %s %u.5", signs[draw(6)], (unsigned int)draw(5));
		return;
	default:
		if (draw(3) == 0) {
			put_number(b);
			buf_printf(b, " %s %s", signs[draw(6)], field);
			return;
		}
		buf_printf(b, "%s %s ", field, signs[draw(6)]);
		put_number(b);
		return;
	}
}

/* What the kernel decides of every call: none has more steps than there is room for. */
static void put_exact_test(struct buf *b)
{
	static const char *const fields[] = {"ret", "fd", "size", "bytes", "tid", "dur"};
	static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
	const char *field = fields[draw(ARRAY_SIZE(fields))];

	switch (draw(7)) {
	case 0:
		buf_printf(b, "%s is %snull", field, draw(2) ? "not " : "");
		return;
	case 1:
		buf_printf(b, "op %s read", draw(2) ? "==" : "!=");
		return;
	case 2:
		buf_printf(b, "op %s \"*e*\"", draw(2) ? "~" : "!~");
		return;
	case 3:
		buf_printf(b, "err %s ENOENT", draw(2) ? "==" : "!=");
		return;
	case 4:
		buf_printf(b, "ret between %d and %u.5", (int)draw(3) - 1, (unsigned int)draw(5));
		return;
	case 5:
		buf_printf(b, "comm in (\"%s\", \"%s\")", any_comm(), any_comm());
		return;
	default:
		buf_printf(b, "%s %s %d%s", field, signs[draw(6)], (int)draw(12) - 3,
			   *field == 'd' ? "ns" : "");
		return;
	}
}

static void put_exact_filter(struct buf *b)
{
	buf_printf(b, "%s(", draw(2) ? "!" : "");
	put_exact_test(b);
	buf_printf(b, draw(2) ? " and not (" : " or (");
	put_exact_test(b);
	buf_printf(b, "))");
}

static void put_filter(struct buf *b, unsigned int depth)
{
	if (!depth || draw(4) == 0) {
		put_test(b);
		return;
	}
	buf_printf(b, "%s(", draw(3) == 0 ? "!" : "");
	put_filter(b, depth - 1);
	buf_printf(b, " %s ", draw(2) ? "and" : "or");
	put_filter(b, depth - 1);
	buf_printf(b, ")");
}

/* ---- calls, and the kernel ---- */

static struct batch *make_rows(void)
{
	static const unsigned int columns[] = {OP_DUR, OP_RET, OP_FD,  OP_SIZE, OP_BYTES,
					       OP_TID, OP_CPU, OP_POS, OP_ERR,	OP_A0,
					       OP_A3,  OP_A5,  OP_FD2, OP_POS2, OP_HELD};
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (size_t i = 0; i < ROWS; i++) {
		size_t row = (size_t)batch_add_row(b);

		int64_t op = (int64_t)draw(5), class = op_def((uint32_t)op)->class;

		assert_int_equal(batch_set(b, OP_OP, row, op), 0);
		/* two of each are not known: the last id has no row, or there is none */
		if (draw(10))
			assert_int_equal(batch_set(b, OP_THREAD_ID, row,
						   (int64_t)draw(ARRAY_SIZE(comms) + 1)),
					 0);
		if (draw(10))
			assert_int_equal(
				batch_set(b, OP_FILE_ID, row, (int64_t)draw(ARRAY_SIZE(paths) + 1)),
				0);
		if (draw(2))
			assert_int_equal(batch_set(b, OP_FILE2_ID, row,
						   (int64_t)draw(ARRAY_SIZE(paths) + 1)),
					 0);
		if (draw(3) == 0)
			assert_int_equal(
				batch_set(b, OP_PEER_ID, row, (int64_t)draw(ARRAY_SIZE(paths))), 0);
		if (draw(2))
			assert_int_equal(batch_set(b, OP_FLAGS, row,
						   (int64_t)(draw(4) ? draw(4) : draw(1u << 20))),
					 0);
		/* a read may have waited */
		class = op == 0 && draw(2) ? CLASS_WAIT : class;
		assert_int_equal(batch_set(b, OP_CLASS, row, class), 0);
		for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
			int64_t v = draw(20) ? (int64_t)draw(12) - 3
					     : (draw(2) ? INT64_MIN : INT64_MAX);

			if (draw(4))
				assert_int_equal(batch_set(b, columns[c], row, v), 0);
		}
	}
	return b;
}

static const char *const cgroup_paths[] = {"/b", "/a/x.service", NULL, "/a/bx"};

/* One thread has no program that is known. */
static const char *exe_of(size_t thread)
{
	return thread ? paths[thread % 12] : NULL;
}

/* 0: none; and some beyond the numbers with a sign. */
static uint64_t ino_of(size_t file)
{
	return file % 3 ? file : file << 62;
}

static struct dims *make_dims(void)
{
	_cleanup_(batch_freep) struct batch *threads = NULL, *files = NULL, *cgroups = NULL;
	struct dims *d;

	assert_int_equal(dims_new(&d), 0);
	assert_int_equal(batch_new(&threads, TABLE_THREAD), 0);
	assert_int_equal(batch_new(&files, TABLE_FILE), 0);
	assert_int_equal(batch_new(&cgroups, TABLE_CGROUP), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cgroup_paths); i++) {
		size_t row = (size_t)batch_add_row(cgroups);

		assert_int_equal(batch_set(cgroups, CGROUP_ID, row, (int64_t)i), 0);
		if (cgroup_paths[i])
			assert_int_equal(batch_set_str(cgroups, CGROUP_PATH, row, cgroup_paths[i]),
					 0);
		if (i == 1)
			assert_int_equal(batch_set_str(cgroups, CGROUP_UNIT, row, "x.service"), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(comms); i++) {
		size_t row = (size_t)batch_add_row(threads);

		assert_int_equal(batch_set(threads, THREAD_ID, row, (int64_t)i), 0);
		assert_int_equal(batch_set_str(threads, THREAD_COMM, row, comms[i]), 0);
		if (i) /* the first has none */
			assert_int_equal(batch_set(threads, THREAD_CGROUP_ID, row,
						   (int64_t)(i % ARRAY_SIZE(cgroup_paths))),
					 0);
		if (exe_of(i))
			assert_int_equal(batch_set_str(threads, THREAD_EXE, row, exe_of(i)), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		size_t row = (size_t)batch_add_row(files);

		assert_int_equal(batch_set(files, FILE_ID, row, (int64_t)i), 0);
		assert_int_equal(batch_set_str(files, FILE_PATH, row, paths[i]), 0);
		if (peers[i % ARRAY_SIZE(peers)])
			assert_int_equal(
				batch_set_str(files, FILE_PEER, row, peers[i % ARRAY_SIZE(peers)]),
				0);
		assert_int_equal(batch_set(files, FILE_DEV, row, (int64_t)i % 5), 0);
		assert_int_equal(batch_set(files, FILE_INO, row, (int64_t)ino_of(i)), 0);
	}
	assert_int_equal(dims_apply(d, cgroups), 0);
	assert_int_equal(dims_apply(d, threads), 0);
	assert_int_equal(dims_apply(d, files), 0);
	return d;
}

/* ---- what the kernel programs do, plainly ---- */

static bool begins(const char *text, const struct call_filter_name *n)
{
	return strlen(text) >= n->len && !memcmp(text, n->text, n->len);
}

static bool equals(const char *text, const struct call_filter_name *n)
{
	return begins(text, n) && strlen(text) == n->len;
}

static bool comm_fits(const char *comm, const struct call_filter_name *n)
{
	bool fits = n->how == NAME_EQUAL ? equals(comm, n) : begins(comm, n);

	assert_true(n->how == NAME_EQUAL || n->how == NAME_BEGINS);
	return fits != n->opposite || (n->pattern && strchr(comm, '/'));
}

static bool path_fits(const char *path, const struct call_filter_name *n)
{
	const char *base = strrchr(path, '/');
	/* "/" has no names at all */
	const char *names = !strcmp(path, "/") ? "" : path;
	bool is_base = n->how >= NAME_BASE, fits;

	if (*path != '/')
		return is_base || n->opposite;
	base = base ? base + 1 : path;
	fits = n->how == NAME_BASE	    ? equals(base, n)
	       : n->how == NAME_BASE_BEGINS ? begins(base, n)
	       : n->how == NAME_EQUAL	    ? equals(names, n)
	       : n->how == NAME_BELOW
		       ? begins(names, n) && names[n->len] == '/'
		       : equals(names, n) || (begins(names, n) && names[n->len] == '/');
	return fits != n->opposite;
}

/* What the kernel does not know it lets pass; what it knows not to be there it does not. */
static bool name_passes(enum filter_field field, const struct call_filter_name *n,
			const struct batch *b, size_t row)
{
	int64_t id;

	if (field == FILTER_COMM || field == FILTER_EXE) {
		id = batch_get(b, OP_THREAD_ID, row, -1);
		if (id < 0 || id >= (int64_t)ARRAY_SIZE(comms))
			return true;
		return field == FILTER_COMM
			       ? comm_fits(comms[id], n)
			       : exe_of((size_t)id) && path_fits(exe_of((size_t)id), n);
	}
	id = batch_get(b, OP_FILE_ID, row, -1);
	if (id < 0 || id >= (int64_t)ARRAY_SIZE(paths))
		return id >= 0;
	assert_int_equal(n->field, FILTER_PATH);
	return path_fits(paths[id], n);
}

/* `path is null`, ... */
static bool names_known(enum filter_field field, uint8_t code, const struct batch *b, size_t row)
{
	int64_t id = batch_get(b, field == FILTER_EXE ? OP_THREAD_ID : OP_FILE_ID, row, -1);

	if (field == FILTER_EXE)
		return id < 0 || id >= (int64_t)ARRAY_SIZE(comms) ||
		       !exe_of((size_t)id) == (code == FILTER_NULL);
	return id >= (int64_t)ARRAY_SIZE(paths) || (id < 0) == (code == FILTER_NULL);
}

static bool number_passes(uint8_t code, int64_t v, int64_t with)
{
	switch (code) {
	case FILTER_LT:
		return v < with;
	case FILTER_LE:
		return v <= with;
	case FILTER_GT:
		return v > with;
	case FILTER_GE:
		return v >= with;
	case FILTER_EQ:
		return v == with;
	case FILTER_NE:
		return v != with;
	default:
		return true;
	}
}

static bool test_passes(const struct call_filter *f, const struct call_filter_step *s,
			const struct batch *b, size_t row)
{
	static const unsigned int columns[FILTER_FIELDS] = {
		[FILTER_OP] = OP_OP,	 [FILTER_DUR] = OP_DUR,	    [FILTER_RET] = OP_RET,
		[FILTER_ERR] = OP_ERR,	 [FILTER_TID] = OP_TID,	    [FILTER_FD] = OP_FD,
		[FILTER_SIZE] = OP_SIZE, [FILTER_BYTES] = OP_BYTES,
	};
	unsigned int column = columns[s->field];
	int64_t v = batch_get(b, column, row, 0);

	if (s->code == FILTER_NAME)
		return name_passes(s->field, &f->names[s->value], b, row);
	if (s->field == FILTER_PATH || s->field == FILTER_EXE)
		return names_known(s->field, s->code, b, row);
	assert_true(column);
	if (s->code == FILTER_SET)
		return f->sets[s->value][v / 64] >> (v % 64) & 1;
	if (s->code == FILTER_NULL)
		return batch_is_null(b, column, row);
	if (batch_is_null(b, column, row))
		return false;
	return number_passes(s->code, v, s->value);
}

static bool kernel_passes(const struct call_filter *f, const struct batch *b, size_t row)
{
	bool stack[FILTER_DEPTH_MAX + 1];
	size_t top = 0;

	for (uint32_t i = 0; i < f->count; i++) {
		const struct call_filter_step *s = &f->steps[i];

		if (s->code == FILTER_AND || s->code == FILTER_OR) {
			assert_true(top >= 2);
			top--;
			stack[top - 1] = s->code == FILTER_AND ? stack[top - 1] && stack[top]
							       : stack[top - 1] || stack[top];
		} else {
			assert_true(top < FILTER_DEPTH_MAX);
			stack[top++] = test_passes(f, s, b, row);
		}
	}
	assert_int_equal(top, f->count > 0);
	return !f->count || stack[0];
}

/* ---- checks ---- */

struct counts {
	size_t some, none, fewer, names, sets, fields;
};

static void check_rows(const struct plan *p, bool exact, const struct batch *b,
		       const struct dims *d, struct counts *counts)
{
	_cleanup_(query_rows_freep) struct query_rows *q = NULL;
	_cleanup_(query_cursor_freep) struct query_cursor *cursor = NULL;
	uint64_t ops[OP_CODE_CALLS / 64];
	struct call_filter f;
	struct error err = {0};
	const uint32_t *rows;
	ssize_t count, at = 0;

	memset(ops, 0xff, sizeof(ops));
	assert_true(query_pushdown_ops(p->where, ops, &err) >= 0);
	query_pushdown(p->where, draw(2) ? ops : NULL, &f);
	assert_int_equal(query_rows_new(&q, p->where, &err), 0);
	assert_int_equal(query_rows_names(q, d, &err), 0);
	assert_int_equal(query_cursor_new(&cursor, q), 0);
	count = query_cursor_rows(cursor, b, &rows, &err);
	assert_true(count >= 0);
	for (size_t row = 0; row < b->rows; row++) {
		bool want = at < count && rows[at] == row, pass = kernel_passes(&f, b, row);
		int64_t op = batch_get(b, OP_OP, row, 0);

		at += want;
		pass &= ops[op / 64] >> (op % 64) & 1; /* when the call begins */
		if (want ? !pass
			 : pass && exact &&
				    batch_get(b, OP_THREAD_ID, row, 99) <
					    (int64_t)ARRAY_SIZE(comms))
			die("row %zu of \"%s\"", row, p->text);
	}
	counts->some += f.count > 0;
	counts->none += !f.count;
	counts->fewer += !(ops[0] & 1);
	counts->names += f.name_count;
	counts->sets += f.set_count;
	counts->fields |= f.fields;
}

/* The kernel's part as text is an expression that says the same. */
static void check_text(const struct plan *p, bool exact, const struct batch *b)
{
	_cleanup_(plan_freep) struct plan *again = NULL;
	_cleanup_buf_ struct buf text = {0};
	struct query_error where;
	struct call_filter f, g;

	query_pushdown(p->where, NULL, &f);
	if (!f.count)
		return;
	assert_true(query_pushdown_text(&f, &text) >= 0);
	if (query_parse_expr(buf_str(&text), text.len, TABLE_OP, true, &again, &where) < 0)
		die("\"%s\": %s", buf_str(&text), where.err.message);
	query_pushdown(again->where, NULL, &g);
	/* Read back it may nest otherwise, and be too deep. */
	for (size_t row = 0; row < b->rows; row++) {
		bool before = kernel_passes(&f, b, row), after = kernel_passes(&g, b, row);

		if ((before && !after) || (exact && after && !before))
			die("row %zu of \"%s\" and of its text \"%s\"", row, p->text,
			    buf_str(&text));
	}
}

static void random_filters(void **unused)
{
	const char *given = getenv("WEIR_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : 1;
	_cleanup_(dims_freep) struct dims *d = make_dims();
	struct counts counts = {0};

	fprintf(stderr, "seed %#llx\n", (unsigned long long)seed);
	state = seed;
	for (size_t i = 0; i < FILTERS; i++) {
		_cleanup_(plan_freep) struct plan *p = NULL;
		_cleanup_buf_ struct buf text = {0};
		_cleanup_(batch_freep) struct batch *b = make_rows();
		struct query_error where = {0};

		if (i % 3 == 0)
			put_exact_filter(&text);
		else
			put_filter(&text, (unsigned int)draw(5));
		if (query_parse_expr(buf_str(&text), text.len, TABLE_OP, true, &p, &where) < 0)
			die("\"%s\": %s", buf_str(&text), where.err.message);
		check_rows(p, i % 3 == 0, b, d, &counts);
		check_text(p, i % 3 == 0, b);
	}
	/* Each kind is there, else nothing was tested. */
	assert_true(counts.some && counts.none && counts.fewer && counts.names && counts.sets);
	for (unsigned int field = 0; field < FILTER_FIELDS; field++)
		assert_true(field == FILTER_PID || field == FILTER_UID ||
			    counts.fields >> field & 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_filters)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
