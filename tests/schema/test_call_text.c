/* SPDX-License-Identifier: Apache-2.0 */
/* One call as one line: strace's spelling, names of descriptors, errors, and nothing that harms a
 * terminal. */
#include "cli/trace/call_text.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "schema/ops.h"

#define must(e) assert_true((e) >= 0)

enum { REGULAR, RELATIVE, PIPE, TCP, UNIX, HOSTILE, RENAMED, CONNECT, GONE, MEMFD };

static void file_text(struct batch *b, size_t row, unsigned int column, const char *text)
{
	if (text)
		must(batch_set_str(b, column, row, text));
}

static void add_file(struct batch *b, int type, const char *path, const char *base,
		     const char *argument)
{
	ssize_t row = batch_add_row(b);

	must(row);
	must(batch_set(b, FILE_ID, (size_t)row, row));
	must(batch_set(b, FILE_INODE, (size_t)row, row));
	must(batch_set(b, FILE_INO, (size_t)row, 100 + row));
	must(batch_set(b, FILE_TYPE, (size_t)row, type));
	file_text(b, (size_t)row, FILE_PATH, path);
	file_text(b, (size_t)row, FILE_BASE, base);
	file_text(b, (size_t)row, FILE_ARGUMENT, argument);
}

static void add_socket(struct batch *b, int family, const char *local, const char *peer)
{
	size_t row;

	add_file(b, FILE_TYPE_SOCKET, NULL, NULL, NULL);
	row = b->rows - 1;
	must(batch_set(b, FILE_FAMILY, row, family));
	must(batch_set(b, FILE_PROTO, row, SOCK_STREAM << 16));
	file_text(b, row, FILE_LOCAL, local);
	file_text(b, row, FILE_PEER, peer);
}

static struct dims *make_dims(void)
{
	_cleanup_(batch_freep) struct batch *b = NULL;
	struct dims *d;

	must(dims_new(&d));
	must(batch_new(&b, TABLE_FILE));
	add_file(b, FILE_TYPE_REGULAR, "/tmp/x", NULL, NULL);
	add_file(b, FILE_TYPE_UNKNOWN, NULL, "/tmp", "no\nsuch");
	must(batch_set(b, FILE_NAME_ONLY, 1, 1));
	add_file(b, FILE_TYPE_PIPE, "pipe:[4711]", NULL, NULL);
	add_socket(b, AF_INET, "127.0.0.1:80", "127.0.0.1:4711");
	add_socket(b, AF_UNIX, "unix:/run/x", NULL);
	add_file(b, FILE_TYPE_REGULAR, "/tmp/\033[31m<\377>\"\xc3\xa4\xe2\x80\xae", NULL, NULL);
	add_file(b, FILE_TYPE_REGULAR, "/tmp/y", "/tmp", "y");
	add_socket(b, AF_INET6, NULL, "[::1]:443");
	add_file(b, FILE_TYPE_REGULAR, "/tmp/gone", NULL, NULL);
	must(batch_set(b, FILE_DELETED, GONE, 1000));
	add_file(b, FILE_TYPE_REGULAR, "/memfd:a \"b\"", NULL, NULL);
	must(dims_apply(d, b));
	return d;
}

struct value {
	int column; /* + 1; 0 ends */
	int64_t value;
};
#define V(column, value)               \
	{                              \
		OP_##column + 1, value \
	}

static void expect(const char *call, const struct value *values,
		   const struct call_text_style *style, const char *want)
{
	_cleanup_(dims_freep) struct dims *d = make_dims();
	_cleanup_(batch_freep) struct batch *b = NULL;
	_cleanup_buf_ struct buf text = {0};
	ssize_t row;

	must(batch_new(&b, TABLE_OP));
	row = batch_add_row(b);
	must(row);
	if (op_find(call) >= 0)
		must(batch_set(b, OP_OP, (size_t)row, op_find(call)));
	for (; values->column; values++)
		must(batch_set(b, (unsigned int)values->column - 1, (size_t)row, values->value));
	must(call_text(&text, b, (size_t)row, d, style));
	assert_string_equal(buf_str(&text), want);
}

#define EXPECT(call, want, ...) expect(call, (const struct value[]){__VA_ARGS__, {0}}, NULL, want)

static void test_files(void **state)
{
	EXPECT("openat", "openat(AT_FDCWD, \"/tmp/x\", O_RDONLY|O_CLOEXEC) = 3</tmp/x>",
	       V(A0, 0xffffff9c), V(FLAGS, O_CLOEXEC), V(FILE_ID, REGULAR), V(FD, 3), V(RET, 3));
	EXPECT("openat",
	       "openat(AT_FDCWD</tmp>, \"no\\nsuch\", O_RDWR|O_CREAT, 0600) = -1 ENOENT (No such "
	       "file or directory)",
	       V(A0, AT_FDCWD), V(FLAGS, O_RDWR | O_CREAT), V(A3, 0600), V(FILE_ID, RELATIVE),
	       V(RET, -ENOENT));
	EXPECT("openat", "openat(4, \"/tmp/x\", O_RDONLY) = 3</tmp/x>", V(A0, 4), V(FLAGS, 0),
	       V(FILE_ID, REGULAR), V(FD, 3), V(RET, 3));
	EXPECT("pread64", "pread64(3</tmp/x>, ..., 4096, 8192) = 4096", V(FD, 3),
	       V(FILE_ID, REGULAR), V(SIZE, 4096), V(POS, 8192), V(RET, 4096));
	EXPECT("read",
	       "read(5<pipe:[4711]>, ..., 64) = ? ERESTARTSYS (To be restarted if SA_RESTART is "
	       "set)",
	       V(FD, 5), V(FILE_ID, PIPE), V(SIZE, 64), V(RET, -512));
	EXPECT("read", "read(5<pipe:[4711]>, ..., 64) = ? (still running)", V(FD, 5),
	       V(FILE_ID, PIPE), V(SIZE, 64), V(STATUS, STATUS_UNFINISHED));
	EXPECT("read", "read(-1, ..., 64) = -1 EBADF (Bad file descriptor)", V(FD, -1), V(SIZE, 64),
	       V(RET, -EBADF));
	EXPECT("writev", "writev(3</tmp/x>, [...], 2) = 10", V(FD, 3), V(FILE_ID, REGULAR),
	       V(SIZE, 10), V(A2, 2), V(RET, 10));
	EXPECT("fstat", "fstat(3</tmp/gone>(deleted), ...) = 0", V(START, 2000), V(FD, 3),
	       V(FILE_ID, GONE), V(A1, 4711), V(RET, 0));
	EXPECT("fstat", "fstat(3</tmp/gone>, NULL) = -1 EFAULT (Bad address)", V(START, 900),
	       V(FD, 3), V(FILE_ID, GONE), V(A1, 0), V(RET, -EFAULT));
	EXPECT("renameat2",
	       "renameat2(AT_FDCWD, \"/tmp/x\", AT_FDCWD</tmp>, \"y\", RENAME_NOREPLACE) = 0",
	       V(FILE_ID, REGULAR), V(FILE2_ID, RENAMED), V(FLAGS, 1), V(RET, 0));
	EXPECT("rename", "rename(\"/tmp/x\", \"/tmp/y\") = 0", V(FILE_ID, REGULAR),
	       V(FILE2_ID, RENAMED), V(RET, 0));
	EXPECT("unlink", "unlink(\"/tmp/no\\nsuch\") = -1 ENOENT (No such file or directory)",
	       V(FILE_ID, RELATIVE), V(RET, -ENOENT));
	EXPECT("memfd_create", "memfd_create(\"a \\\"b\\\"\", MFD_CLOEXEC) = 3</memfd:a \"b\">",
	       V(A0, 4711), V(FLAGS, 1), V(FILE_ID, MEMFD), V(FD, 3), V(RET, 3));
	EXPECT("memfd_create", "memfd_create(..., 0) = -1 EMFILE (Too many open files)",
	       V(A0, 4711), V(FLAGS, 0), V(RET, -EMFILE));
	EXPECT("unlinkat", "unlinkat(AT_FDCWD</tmp>, \"y\", AT_REMOVEDIR) = 0", V(FD, AT_FDCWD),
	       V(FILE_ID, RENAMED), V(FLAGS, 0x200), V(RET, 0));
	EXPECT("dup2", "dup2(3</tmp/x>, 7) = 7</tmp/x>", V(FD, 3), V(FILE_ID, REGULAR), V(FD2, 7),
	       V(FILE2_ID, REGULAR), V(RET, 7));
	EXPECT("splice", "splice(5<pipe:[4711]>, NULL, 3</tmp/x>, [100], 4096, SPLICE_F_MOVE) = 10",
	       V(FD, 5), V(FILE_ID, PIPE), V(FD2, 3), V(FILE2_ID, REGULAR), V(POS2, 100),
	       V(SIZE, 4096), V(FLAGS, 1), V(RET, 10));
	EXPECT("lseek", "lseek(3</tmp/x>, -10, SEEK_END) = 90", V(FD, 3), V(FILE_ID, REGULAR),
	       V(A1, -10), V(A2, 2), V(RET, 90));
	EXPECT("mknodat", "mknodat(AT_FDCWD, \"/tmp/x\", S_IFCHR|0600, makedev(0x1, 0x3)) = 0",
	       V(FD, AT_FDCWD), V(FILE_ID, REGULAR), V(A2, S_IFCHR | 0600), V(A3, 0x103),
	       V(RET, 0));
	EXPECT("mknodat", "mknodat(AT_FDCWD, \"/tmp/x\", S_IFIFO|0600) = 0", V(FD, AT_FDCWD),
	       V(FILE_ID, REGULAR), V(A2, S_IFIFO | 0600), V(A3, 0), V(RET, 0));
	EXPECT("pipe2", "pipe2([4<pipe:[4711]>, 5<pipe:[4711]>], O_CLOEXEC) = 0", V(FD, 4),
	       V(FILE_ID, PIPE), V(FD2, 5), V(FILE2_ID, PIPE), V(FLAGS, O_CLOEXEC), V(RET, 0));
	EXPECT("openat2", "openat2(AT_FDCWD, \"/tmp/x\", {flags=O_RDONLY, ...}, 24) = 3</tmp/x>",
	       V(A0, AT_FDCWD), V(FLAGS, 0), V(A3, 24), V(FILE_ID, REGULAR), V(FD, 3), V(RET, 3));
	EXPECT("newfstatat", "newfstatat(3</tmp/x>, \"\", ..., AT_EMPTY_PATH) = 0", V(FD, 3),
	       V(FILE_ID, REGULAR), V(A2, 1), V(FLAGS, 0x1000), V(RET, 0));
	/* O_SYNC has the bit of AT_EMPTY_PATH in it */
	EXPECT("openat", "openat(AT_FDCWD, \"/tmp/x\", O_WRONLY|O_SYNC) = 3</tmp/x>",
	       V(A0, AT_FDCWD), V(FLAGS, O_WRONLY | O_SYNC), V(FILE_ID, REGULAR), V(FD, 3),
	       V(RET, 3));
	EXPECT("utimensat", "utimensat(0, NULL, ..., 0) = 0", V(FD, 0), V(A2, 1), V(FLAGS, 0),
	       V(RET, 0));
}

static void test_sockets(void **state)
{
	EXPECT("read", "read(6<TCP:[127.0.0.1:80->127.0.0.1:4711]>, ..., 64) = 0", V(FD, 6),
	       V(FILE_ID, TCP), V(SIZE, 64), V(RET, 0));
	EXPECT("listen", "listen(6<UNIX-STREAM:[104,\"/run/x\"]>, 5) = 0", V(FD, 6),
	       V(FILE_ID, UNIX), V(A1, 5), V(RET, 0));
	EXPECT("socket",
	       "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = "
	       "6<TCP:[127.0.0.1:80->127.0.0.1:4711]>",
	       V(A0, 2), V(FLAGS, SOCK_STREAM | SOCK_CLOEXEC), V(A2, 6), V(FILE_ID, TCP), V(FD, 6),
	       V(RET, 6));
	EXPECT("connect",
	       "connect(6, {sa_family=AF_INET6, sin6_port=htons(443), inet_pton(AF_INET6, \"::1\", "
	       "&sin6_addr)}, 28) "
	       "= -1 ECONNREFUSED (Connection refused)",
	       V(FD, 6), V(PEER_ID, CONNECT), V(RET, -ECONNREFUSED));
	EXPECT("connect", "connect(6, {sa_family=AF_UNIX, sun_path=\"/run/x\"}, ...) = 0", V(FD, 6),
	       V(PEER_ID, UNIX), V(RET, 0));
	EXPECT("recvfrom", "recvfrom(6, ..., 64, MSG_DONTWAIT, NULL, NULL) = 3", V(FD, 6),
	       V(SIZE, 64), V(FLAGS, 0x40), V(A5, 0), V(RET, 3));
	EXPECT("sendto", "sendto(6, ..., 64, 0, NULL, 0) = 64", V(FD, 6), V(SIZE, 64), V(FLAGS, 0),
	       V(RET, 64));
	EXPECT("setsockopt", "setsockopt(6, SOL_SOCKET, SO_REUSEADDR, ..., 4) = 0", V(FD, 6),
	       V(A1, 1), V(A2, 2), V(A3, 99), V(A4, 4), V(RET, 0));
	EXPECT("accept4",
	       "accept4(5, NULL, NULL, SOCK_CLOEXEC) = 6<TCP:[127.0.0.1:80->127.0.0.1:4711]>",
	       V(FD, 5), V(FLAGS, O_CLOEXEC), V(A2, 0), V(FD2, 6), V(FILE2_ID, TCP), V(RET, 6));
	EXPECT("accept", "accept(5, ..., ...) = 6<TCP:[127.0.0.1:80->127.0.0.1:4711]>", V(FD, 5),
	       V(A2, 4096), V(FD2, 6), V(FILE2_ID, TCP), V(RET, 6), V(STATUS, STATUS_ARG_UNREAD));
}

static void test_others(void **state)
{
	EXPECT("mmap", "mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3</tmp/x>, 0) = 0x7f0000000000",
	       V(A0, 0), V(SIZE, 4096), V(A2, 1), V(FLAGS, 2), V(FD, 3), V(FILE_ID, REGULAR),
	       V(POS, 0), V(RET, 0x7f0000000000));
	EXPECT("exit_group", "exit_group(1) = ?", V(A0, 1), V(STATUS, STATUS_NORETURN));
	EXPECT("fcntl", "fcntl(3</tmp/x>, F_GETFL) = 0x8002 (flags O_RDWR|O_LARGEFILE)", V(FD, 3),
	       V(FILE_ID, REGULAR), V(A1, F_GETFL), V(A2, 0), V(RET, 0x8002));
	EXPECT("fcntl", "fcntl(3, F_SETFD, FD_CLOEXEC) = 0", V(FD, 3), V(A1, F_SETFD), V(A2, 1),
	       V(RET, 0));
	EXPECT("fcntl", "fcntl(3, F_DUPFD_CLOEXEC, 10) = 10", V(FD, 3), V(A1, F_DUPFD_CLOEXEC),
	       V(A2, 10), V(RET, 10));
	EXPECT("clone",
	       "clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, "
	       "child_tidptr=0x7f00) = 4711",
	       V(A1, 0), V(FLAGS, 0x1200011), V(A3, 0x7f00), V(RET, 4711));
	EXPECT("umask", "umask(022) = 077", V(A0, 022), V(RET, 077));
	EXPECT("poll", "poll(..., 1, -1) = 0 (Timeout)", V(A0, 1), V(A1, 1), V(A2, 0xffffffff),
	       V(RET, 0));
	EXPECT("kill", "kill(4711, SIGTERM) = 0", V(A0, 4711), V(A1, 15), V(RET, 0));
	EXPECT("tuxcall", "tuxcall(0x1, 0x2) = -1 ENOSYS (Function not implemented)", V(A0, 1),
	       V(A1, 2), V(RET, -ENOSYS));
	expect("-", (const struct value[]){V(OP, 500), V(A0, 7), V(RET, -1), {0}}, NULL,
	       "syscall_0x1f4(0x7) = -1 EPERM (Operation not permitted)");
	EXPECT("syscall",
	       "syscall_0x1388(0x7, 0, ?, ?, ?, ?) = -1 ENOSYS (Function not implemented)",
	       V(FLAGS, 5000), V(A0, 7), V(A1, 0), V(RET, -ENOSYS));
	expect("-", (const struct value[]){V(RET, 0), {0}}, NULL, "?() = 0");
	EXPECT("read", "read(?, ..., ?) = -1 (errno 2000)", V(RET, -2000));
}

/* No byte of a name reaches the terminal as anything but text. */
static void test_hostile(void **state)
{
	EXPECT("close", "close(3</tmp/\\33[31m\\74\\377\\76\"\xc3\xa4\\342\\200\\256>) = 0",
	       V(FD, 3), V(FILE_ID, HOSTILE), V(RET, 0));
}

static void test_escape(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"a\0011", "a\\0011"},
		{"a\001x", "a\\1x"},
		{"\\", "\\\\"},
		{"\xc3", "\\303"},
		{"\xc2\x9b", "\\302\\233"},
		{"\xed\xa0\x80", "\\355\\240\\200"},
		{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
		{"\x7f", "\\177"},
		{"\xc0\xaf", "\\300\\257"},
		{"\xe2\x80", "\\342\\200"},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf b = {0};

		must(call_text_escape(
			&b, (struct bytes){(const uint8_t *)cases[i].text, strlen(cases[i].text)},
			""));
		assert_string_equal(buf_str(&b), cases[i].want);
	}
}

static void test_styles(void **state)
{
	const struct call_text_style brief = {.brief = true, .path_max = 12},
				     aligned = {.align = 30};
	const struct value write_values[] = {
		V(FD, 3), V(FILE_ID, REGULAR), V(SIZE, 1812), V(RET, 1812), {0}};

	expect("write", write_values, &brief, "write(3</tmp/x>, 1,812 B) = 1812");
	expect("fsync", write_values, &aligned, "fsync(3</tmp/x>)              = 1812");
}

/* Whatever a damaged trace holds, there is a text. */
static void test_any_row(void **state)
{
	_cleanup_(dims_freep) struct dims *d = make_dims();
	_cleanup_(batch_freep) struct batch *b = NULL;
	uint64_t seed = 1;

	must(batch_new(&b, TABLE_OP));
	for (uint32_t i = 0; i < 4 * op_code_end(); i++) {
		_cleanup_buf_ struct buf text = {0};
		ssize_t row = batch_add_row(b);

		must(row);
		must(batch_set(b, OP_OP, (size_t)row, i % (op_code_end() + 8)));
		for (unsigned int c = 0; c < OP_COLUMNS; c++) {
			seed = hash_u64(seed);
			if (c != OP_OP && seed % 3)
				must(batch_set(b, c, (size_t)row,
					       seed % 5 ? (int64_t)(seed >> 32) % 12
							: (int64_t)seed));
		}
		must(call_text(&text, b, (size_t)row, d, NULL));
		assert_true(text.len > 4);
		assert_null(strpbrk(buf_str(&text), "\n\033"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),	cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_others),	cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_escape),	cmocka_unit_test(test_styles),
		cmocka_unit_test(test_any_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
