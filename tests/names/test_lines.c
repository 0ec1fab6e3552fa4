/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are one, which are one line, and what lines are called, from rows as a recorder writes them. */
#include "names/file_lines.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "schema/vocab.h"

#define must(e) assert_true((e) >= 0)
#define TCP	((int64_t)SOCK_STREAM << 16)

struct lines {
	struct dims *dims;
	struct file_lines *lines;
};

static void lines_begin(struct lines *l)
{
	must(dims_new(&l->dims));
	must(file_lines_new(&l->lines));
}

static void lines_end(struct lines *l)
{
	file_lines_free(l->lines);
	dims_free(l->dims);
}

static struct batch *add_file(int64_t id, int64_t inode, int64_t type)
{
	struct batch *b = NULL;

	must(batch_new(&b, TABLE_FILE));
	must(batch_add_row(b));
	must(batch_set(b, FILE_ID, 0, id));
	must(batch_set(b, FILE_INODE, 0, inode));
	must(batch_set(b, FILE_TYPE, 0, type));
	must(batch_set(b, FILE_SINCE, 0, 100 + id));
	must(batch_set(b, FILE_DEV, 0, 8));
	return b;
}

static void add_path(struct lines *l, int64_t id, int64_t inode, const char *path,
		     const char *hostpath)
{
	_cleanup_(batch_freep) struct batch *b = add_file(id, inode, FILE_TYPE_REGULAR);

	must(batch_set_str(b, FILE_PATH, 0, path));
	if (hostpath)
		must(batch_set_str(b, FILE_HOSTPATH, 0, hostpath));
	must(dims_apply(l->dims, b));
}

/* A name that was asked for, of which nothing else is known. */
static void add_name(struct lines *l, int64_t id, const char *name)
{
	_cleanup_(batch_freep) struct batch *b = add_file(id, id, FILE_TYPE_UNKNOWN);

	must(batch_set_str(b, FILE_ARGUMENT, 0, name));
	must(batch_set(b, FILE_NAME_ONLY, 0, 1));
	must(dims_apply(l->dims, b));
}

static void add_socket(struct lines *l, int64_t id, int64_t family, const char *local,
		       const char *peer)
{
	_cleanup_(batch_freep) struct batch *b = add_file(id, id, FILE_TYPE_SOCKET);

	must(batch_set(b, FILE_FAMILY, 0, family));
	must(batch_set(b, FILE_PROTO, 0, TCP));
	if (local)
		must(batch_set_str(b, FILE_LOCAL, 0, local));
	if (peer)
		must(batch_set_str(b, FILE_PEER, 0, peer));
	must(dims_apply(l->dims, b));
}

#define assert_line(l, id, line, want)                                   \
	do {                                                             \
		_cleanup_buf_ struct buf name = {0};                     \
		int64_t is = file_lines_line((l)->lines, (l)->dims, id); \
		assert_int_equal(is, line);                              \
		must(file_lines_name((l)->lines, (l)->dims, is, &name)); \
		assert_string_equal(buf_str(&name), want);               \
	} while (0)

#define update(l) must(file_lines_update((l)->lines, (l)->dims))

static void test_versions(void **state)
{
	struct lines l;

	lines_begin(&l);
	add_path(&l, 0, 0, "/tmp/a", NULL);
	add_path(&l, 1, 0, "/tmp/b", NULL);
	add_path(&l, 2, 2, "/tmp/a", NULL);
	update(&l);
	assert_int_equal(file_lines_file(l.lines, l.dims, 1), 0);
	assert_line(&l, 1, 0, "/tmp/b");
	assert_line(&l, 2, 2, "/tmp/a"); /* the other is called otherwise by now */
	assert_int_equal(file_lines_file(l.lines, l.dims, 77), 77);
	assert_line(&l, -1, -1, "(no file)");
	assert_line(&l, 77, 77, "(unknown file)");
	lines_end(&l);
}

static void test_generations(void **state)
{
	struct lines l;

	lines_begin(&l);
	add_path(&l, 0, 0, "/tmp/wal", NULL);
	update(&l);
	add_path(&l, 1, 1, "/tmp/wal", NULL);
	add_path(&l, 2, 2, "/tmp/wal", "/var/lib/other/wal"); /* in another mount */
	add_path(&l, 3, 3, "/tmp/wal", NULL);
	update(&l);
	assert_line(&l, 1, 0, "/tmp/wal");
	assert_line(&l, 3, 0, "/tmp/wal");
	assert_line(&l, 2, 2, "/tmp/wal");
	assert_int_equal(file_lines_kind(l.lines, 0), FILE_LINE_FILES);
	/* the one that stood for all is renamed: another stands for the others */
	add_path(&l, 4, 0, "/tmp/wal.old", NULL);
	update(&l);
	assert_line(&l, 0, 0, "/tmp/wal.old");
	assert_line(&l, 4, 0, "/tmp/wal.old");
	assert_line(&l, 1, 1, "/tmp/wal");
	assert_line(&l, 3, 1, "/tmp/wal");
	lines_end(&l);
}

static void test_names_alone(void **state)
{
	struct lines l;
	struct file_lines_walk w = {0};
	int64_t id, file;

	lines_begin(&l);
	add_name(&l, 0, "/etc/");
	add_name(&l, 1, "/etc");
	add_name(&l, 2, "/none/.");
	add_name(&l, 3, "/none");
	update(&l);
	assert_line(&l, 0, 0, "/etc");
	assert_line(&l, 1, 0, "/etc");
	assert_line(&l, 3, 2, "/none");
	add_path(&l, 4, 4, "/etc", NULL);
	update(&l);
	assert_line(&l, 0, 4, "/etc");
	assert_line(&l, 1, 4, "/etc");
	for (int n = 0; n < 3; n++)
		assert_true(file_lines_next_other(l.lines, l.dims, &w, &id, &file));
	assert_false(file_lines_next_other(l.lines, l.dims, &w, &id, &file));
	lines_end(&l);
}

static void test_anonymous(void **state)
{
	struct lines l;

	lines_begin(&l);
	for (int64_t id = 0; id < 3; id++) {
		_cleanup_(batch_freep) struct batch *b = add_file(id, id, FILE_TYPE_ANON);

		must(batch_set_str(b, FILE_PATH, 0,
				   id < 2 ? "anon_inode:[eventfd]" : "anon_inode:[timerfd]"));
		must(dims_apply(l.dims, b));
	}
	update(&l);
	assert_line(&l, 1, 0, "anon_inode:[eventfd]");
	assert_line(&l, 2, 2, "anon_inode:[timerfd]");
	lines_end(&l);
}

static void test_sockets(void **state)
{
	struct lines l;
	struct file_lines_walk w = {0};
	int64_t id, line;
	size_t others = 0;

	lines_begin(&l);
	add_socket(&l, 0, AF_INET, "10.0.0.1:80", NULL);
	update(&l);
	assert_line(&l, 0, 0, "tcp 10.0.0.1:80");
	assert_true(file_lines_is_listener(l.lines, 0));
	add_socket(&l, 1, AF_INET, "10.0.0.1:80", "10.0.0.2:1001");
	add_socket(&l, 2, AF_INET, "10.0.0.1:80", "10.0.0.2:1002");
	add_socket(&l, 3, AF_INET, "10.0.0.2:1001", "10.0.0.1:80");
	add_socket(&l, 4, AF_INET, "10.0.0.2:1002", "10.0.0.1:80");
	add_socket(&l, 5, AF_INET, "10.0.0.2:1003", "10.0.0.9:53");
	update(&l);
	assert_false(file_lines_is_listener(l.lines, 1));
	assert_line(&l, 0, 0, "clients, 10.0.0.1:80");
	assert_line(&l, 2, 0, "clients, 10.0.0.1:80");
	assert_int_equal(file_lines_kind(l.lines, 0), FILE_LINE_CLIENTS);
	assert_line(&l, 4, 3, "to 10.0.0.1:80");
	assert_int_equal(file_lines_kind(l.lines, 4), FILE_LINE_PEER);
	assert_line(&l, 5, 5, "tcp 10.0.0.2:1003->10.0.0.9:53");
	/* the port of a client that is used again is no service */
	add_socket(&l, 6, AF_INET, "10.0.0.2:1001", "10.0.0.1:80");
	update(&l);
	assert_line(&l, 3, 3, "to 10.0.0.1:80");
	assert_line(&l, 6, 3, "to 10.0.0.1:80");
	/* an address that only a later version has */
	add_socket(&l, 7, AF_UNIX, "unix:", NULL);
	add_socket(&l, 8, AF_UNIX, "unix:", NULL);
	update(&l);
	assert_int_equal(file_lines_line(l.lines, l.dims, 8), 8);
	add_socket(&l, 8, AF_INET, "10.0.0.2:1009", "10.0.0.9:53");
	update(&l);
	assert_line(&l, 8, 5, "to 10.0.0.9:53");
	while (file_lines_next_line(l.lines, l.dims, &w, &id, &line))
		others += id != line;
	assert_int_equal(others, 5);
	lines_end(&l);
}

/* Files of two recordings whose host is not the same are never one. */
static void test_machines(void **state)
{
	const int64_t other = (int64_t)1 << ID_SHIFT;
	struct lines l;

	lines_begin(&l);
	dims_unite(l.dims);
	add_path(&l, 0, 0, "/tmp/wal", NULL);
	add_path(&l, 1, 1, "/tmp/wal", NULL);
	add_path(&l, other, other, "/tmp/wal", NULL);
	add_path(&l, other + 1, other + 1, "/tmp/wal", NULL);
	update(&l);
	assert_line(&l, 1, 0, "/tmp/wal");
	assert_line(&l, other + 1, other, "/tmp/wal");
	lines_end(&l);
}

static size_t step_all(struct lines *l, enum file_lines_part part, size_t most)
{
	size_t steps = 0;
	int r;

	while ((r = file_lines_step(l->lines, l->dims, part, most)) > 0)
		steps++;
	must(r);
	return steps;
}

/* In steps the same comes out as at once, also where more comes in between; files are known before sockets. */
static void test_steps(void **state)
{
	const int64_t sockets = 3000; /* more than the first table of addresses has room for */
	_cleanup_(file_lines_freep) struct file_lines *at_once = NULL;
	struct lines l;

	lines_begin(&l);
	add_path(&l, 0, 0, "/tmp/a", NULL);
	for (int64_t i = 0; i < sockets; i++) {
		char peer[32];

		snprintf(peer, sizeof(peer), "10.0.0.2:%d", (int)i);
		add_socket(&l, 10 + i, AF_INET, "10.0.0.1:80", peer);
	}
	add_path(&l, 1, 0, "/tmp/b", NULL);
	add_name(&l, 2, "/tmp/b");
	assert_true(step_all(&l, FILE_LINES_FILES, 1) > (size_t)sockets);
	assert_int_equal(file_lines_file(l.lines, l.dims, 1), 0);
	assert_int_equal(file_lines_file(l.lines, l.dims, 2), 0);
	assert_int_equal(step_all(&l, FILE_LINES_FILES, 1), 0);
	must(file_lines_step(l.lines, l.dims, FILE_LINES_ALL, 100));
	add_path(&l, 3, 3, "/tmp/b", NULL);
	add_socket(&l, 10, AF_INET, "10.0.0.7:80", "10.0.0.2:7");
	step_all(&l, FILE_LINES_FILES, 7);
	assert_int_equal(file_lines_file(l.lines, l.dims, 3), 3);
	step_all(&l, FILE_LINES_ALL, 100);
	assert_line(&l, 12, 11, "clients, 10.0.0.1:80");
	must(file_lines_new(&at_once));
	must(file_lines_update(at_once, l.dims));
	for (int64_t id = 0; id < 10 + sockets; id++) {
		assert_int_equal(file_lines_file(l.lines, l.dims, id),
				 file_lines_file(at_once, l.dims, id));
		assert_int_equal(file_lines_is_shared(l.lines, id),
				 file_lines_is_shared(at_once, id));
	}
	lines_end(&l);
}

/* The linker leads calloc() here: so many bytes fail once. */
static size_t calloc_fails;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	if (!calloc_fails || n * size != calloc_fails)
		return __real_calloc(n, size);
	calloc_fails = 0;
	return NULL;
}

/* Without memory for more addresses the update fails, and the next one goes on from there. */
static void test_no_memory(void **state)
{
	const int64_t sockets = 1200;
	struct lines l;

	lines_begin(&l);
	for (int64_t id = 0; id < sockets; id++) {
		char peer[32];

		snprintf(peer, sizeof(peer), "10.0.0.2:%d", (int)id + 1000);
		add_socket(&l, 2 * id, AF_INET, "10.0.0.1:80", peer);
		add_socket(&l, 2 * id + 1, AF_INET, peer, "10.0.0.1:80");
	}
	calloc_fails = 4096 * sizeof(uint64_t);
	assert_int_equal(file_lines_update(l.lines, l.dims), -ENOMEM);
	assert_int_equal(calloc_fails, 0);
	update(&l);
	assert_line(&l, 2 * sockets - 2, 0, "clients, 10.0.0.1:80");
	assert_line(&l, 2 * sockets - 1, 1, "to 10.0.0.1:80");
	lines_end(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),    cmocka_unit_test(test_generations),
		cmocka_unit_test(test_names_alone), cmocka_unit_test(test_anonymous),
		cmocka_unit_test(test_sockets),	    cmocka_unit_test(test_machines),
		cmocka_unit_test(test_steps),	    cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
