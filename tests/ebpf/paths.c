/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The selection by path: the kernel programs leave out what no selected path can mean, and what is
 * recorded equals what the same program's whole recording holds for these paths.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "session.h"

#define LOAD 20000

struct folders {
	char dir[32];
	char in[64], out[64];
};

static bool folders_make(struct folders *f)
{
	snprintf(f->dir, sizeof(f->dir), "/tmp/weir-paths-XXXXXX");
	if (!mkdtemp(f->dir))
		return false;
	snprintf(f->in, sizeof(f->in), "%s/in", f->dir);
	snprintf(f->out, sizeof(f->out), "%s/in-not", f->dir); /* begins alike, within a name */
	return !mkdir(f->in, 0700) && !mkdir(f->out, 0700);
}

static void folders_remove(const struct folders *f)
{
	static const char *const names[] = {"a.log", "b.txt", "c", "moved"};
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", f->in, names[i]);
		unlink(path);
		snprintf(path, sizeof(path), "%s/%s", f->out, names[i]);
		unlink(path);
	}
	rmdir(f->in);
	rmdir(f->out);
	rmdir(f->dir);
}

static int open_in(const char *dir, const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, flags, 0600);
}

/* Files inside and outside, copies between them, renames into and out of the folder while they are
 * open, relative names, sockets, pipes, descriptors of descriptors. */
static int work(void *arg)
{
	const struct folders *f = arg;
	int a = open_in(f->in, "a.log", O_RDWR | O_CREAT),
	    b = open_in(f->in, "b.txt", O_RDWR | O_CREAT);
	int c = open_in(f->out, "c", O_RDWR | O_CREAT), pair[2], ends[2], copy;
	char from[128], to[128], x = 'x';
	loff_t zero = 0;

	if (a < 0 || b < 0 || c < 0 || write(a, "abc", 3) != 3 || write(b, "def", 3) != 3 ||
	    write(c, "ghi", 3) != 3)
		return 1;
	for (int i = 0; i < LOAD; i++) {
		if (pread(c, &x, 1, 0) != 1)
			return 1;
	}
	if (pread(a, &x, 1, 0) != 1 || copy_file_range(c, &zero, a, NULL, 3, 0) != 3)
		return 1;
	copy = dup(a);
	if (copy < 0 || close(copy) || (copy = dup(c)) < 0 || close(copy))
		return 1;
	snprintf(from, sizeof(from), "%s/c", f->out);
	snprintf(to, sizeof(to), "%s/moved", f->in);
	if (rename(from, to) || pread(c, &x, 1, 0) != 1 || rename(to, from) ||
	    pread(c, &x, 1, 0) != 1)
		return 1;
	if (chdir(f->in) || access("b.txt", R_OK) || access("../in-not/c", R_OK) ||
	    !access("none", R_OK))
		return 1;
	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || write(ends[1], &x, 1) != 1 ||
	    write(pair[1], &x, 1) != 1)
		return 1;
	return fsync(b) || close(a) || close(b) || close(c) ? 1 : 0;
}

/* Records `work` under the selection (NULL: everything that it does). */
static void record(struct session *s, struct folders *f, char *const globs[], size_t count)
{
	struct select select = {0};
	struct error err = {0};
	int pid, status;

	assert_true(folders_make(f));
	for (size_t i = 0; i < count; i++) {
		char path[128];

		snprintf(path, sizeof(path), globs[i], f->dir);
		assert_int_equal(select_path_add(&select, path, &err), 0);
	}
	pid = session_child(s, work, f);
	select.pids[select.pid_count++] = pid;
	session_start(s, &select, (struct ebpf_options){0});
	session_go(s, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	session_end(s);
	assert_int_equal(s->stats.lost, 0);
	assert_true(s->stats.sequence_proved);
	source_free(s->source); /* with the selection that it borrowed */
	s->source = NULL;
	select_free(&select);
	folders_remove(f);
}

/* "op path path2", with the folder's random name left out. */
static void call_text(const struct session *s, size_t row, const struct folders *f, char *buf,
		      size_t size)
{
	const unsigned int columns[] = {OP_FILE_ID, OP_FILE2_ID};
	char name[32];
	size_t n = snprintf(buf, size, "%s", op_name(session_op(s, row, OP_OP), name));

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const char *path = session_path(s, row, columns[i]);
		bool inside = !strncmp(path, f->dir, strlen(f->dir));

		/* sockets and pipes have numbers of their own each time */
		n += snprintf(buf + n, size - n, " %s",
			      inside	     ? path + strlen(f->dir)
			      : *path == '/' ? path
					     : "-");
	}
}

static bool selected(const struct session *s, size_t row, const struct select *select)
{
	const char *path = session_path(s, row, OP_FILE_ID);

	if (*path && select_path_match(select, path, strlen(path)))
		return true;
	path = session_path(s, row, OP_FILE2_ID);
	return *path && select_path_match(select, path, strlen(path));
}

static void compare(char *const globs[], size_t count)
{
	struct session whole = {0}, part = {0};
	struct folders fw, fp;
	struct select select = {0};
	struct error err = {0};
	size_t at = 0, rows;

	record(&whole, &fw, NULL, 0);
	record(&part, &fp, globs, count);
	for (size_t i = 0; i < count; i++) {
		char path[128];

		snprintf(path, sizeof(path), globs[i], fw.dir);
		assert_int_equal(select_path_add(&select, path, &err), 0);
	}
	rows = part.rows.tables[TABLE_OP]->rows;
	for (size_t i = 0; i < whole.rows.tables[TABLE_OP]->rows; i++) {
		char want[512], is[512] = "nothing";

		if (session_op(&whole, i, OP_OP) == op_find("pread64") &&
		    !strcmp(strrchr(session_path(&whole, i, OP_FILE_ID), '/'), "/c") && i > 100 &&
		    i < LOAD)
			continue; /* the load, for speed */
		if (!selected(&whole, i, &select))
			continue;
		call_text(&whole, i, &fw, want, sizeof(want));
		if (at < rows)
			call_text(&part, at, &fp, is, sizeof(is));
		assert_string_equal(is, want);
		at++;
	}
	assert_int_equal(at, rows);
	assert_true(rows > 5);
	/* The kernel left the load out: its records alone would be larger. */
	assert_true(part.stats.filtered >= LOAD);
	assert_true(part.stats.ring_bytes < LOAD);
	assert_true(whole.stats.ring_bytes > LOAD * 80);
	select_free(&select);
	session_free(&whole);
	session_free(&part);
}

static void test_folder(void **state)
{
	char *globs[] = {"%s/in"};

	compare(globs, 1);
}

static void test_glob(void **state)
{
	char *globs[] = {"%s/in/*.log"};

	compare(globs, 1);
}

static void test_several(void **state)
{
	char *globs[] = {"/nowhere/at/all", "%s/in/b.txt", "%s/in/mov*"};

	compare(globs, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_glob),
		cmocka_unit_test(test_several),
	};

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
