/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int session_child(struct session *s, int (*work)(void *arg), void *arg)
{
	char go;
	int pid;

	if (!s->go) {
		int gate[2];

		assert_int_equal(pipe(gate), 0);
		s->gate = gate[0];
		s->go = gate[1];
	}
	pid = fork();
	if (pid)
		return pid;
	close(s->go);
	if (read(s->gate, &go, 1) != 1)
		_exit(127);
	_exit(work(arg));
}

void session_start(struct session *s, const struct select *select, struct ebpf_options opt)
{
	struct error err = {0};
	int r;

	opt.select = select;
	r = ebpf_source_new(&s->source, &opt, &err);
	r = r ? r : source_start(s->source, &err);
	if (r)
		fail_msg("%s", err.message);
}

void session_go(struct session *s, int children)
{
	for (int i = 0; i < children; i++)
		assert_int_equal(write(s->go, "g", 1), 1);
}

static void count(struct session *s, const struct batch *b)
{
	for (size_t i = 0; i < b->rows; i++) {
		int64_t op = batch_get(b, OP_OP, i, -1);

		assert_in_range(op, 0, ARRAY_SIZE(s->counts) - 1);
		s->counts[op]++;
	}
}

static void keep(struct session *s, const struct batch_set *set)
{
	for (int t = 0; t < TABLE_COUNT; t++) {
		struct batch *b;

		if (!set->tables[t] || !set->tables[t]->rows)
			continue;
		if (s->counting && t == TABLE_OP) {
			count(s, set->tables[t]);
			continue;
		}
		assert_int_equal(batch_set_table(&s->rows, t, &b), 0);
		assert_int_equal(batch_append(b, set->tables[t], 0, set->tables[t]->rows), 0);
	}
}

int session_read(struct session *s, int timeout_ms)
{
	struct batch_set set = {0};
	struct error err = {0};
	int r = source_read(s->source, &set, timeout_ms, &err);

	if (r < 0)
		fail_msg("%s", err.message);
	keep(s, &set);
	batch_set_free(&set);
	return r;
}

void session_end(struct session *s)
{
	struct error err = {0};

	assert_int_equal(source_stop(s->source, &err), 0);
	while (session_read(s, 100) != SOURCE_END)
		;
	source_stats(s->source, &s->stats);
}

void session_free(struct session *s)
{
	source_free(s->source);
	batch_set_free(&s->rows);
	if (s->go) {
		close(s->go);
		close(s->gate);
	}
	*s = (struct session){0};
}

size_t session_count(const struct session *s, const char *op, int tid, size_t *ret_row)
{
	const struct batch *b = s->rows.tables[TABLE_OP];
	size_t count = 0;

	if (s->counting) {
		assert_true(!tid && !ret_row);
		return s->counts[op_find(op)];
	}
	for (size_t i = 0; b && i < b->rows; i++) {
		if (batch_get(b, OP_OP, i, -1) != op_find(op) ||
		    (tid && batch_get(b, OP_TID, i, 0) != tid))
			continue;
		count++;
		if (ret_row)
			*ret_row = i;
	}
	return count;
}

int64_t session_op(const struct session *s, size_t row, unsigned int column)
{
	return batch_get(s->rows.tables[TABLE_OP], column, row, INT64_MIN);
}

const char *session_path(const struct session *s, size_t row, unsigned int column)
{
	const struct batch *f = s->rows.tables[TABLE_FILE];
	int64_t key = session_op(s, row, column);
	static char text[4200];

	text[0] = 0;
	for (size_t i = 0; f && i < f->rows; i++) {
		struct bytes path = batch_get_bytes(f, FILE_PATH, i);

		if (batch_get(f, FILE_ID, i, -1) == key && path.data)
			snprintf(text, sizeof(text), "%.*s", (int)path.len,
				 (const char *)path.data);
	}
	return text;
}

int64_t session_loss(const struct session *s, enum loss_cause cause)
{
	const struct batch *b = s->rows.tables[TABLE_LOSS];
	int64_t sum = 0;

	for (size_t i = 0; b && i < b->rows; i++) {
		if (batch_get(b, LOSS_CAUSE, i, -1) == cause)
			sum += batch_get(b, LOSS_EVENTS, i, 0);
	}
	return sum;
}

void session_check_child(const struct session *s, int pid)
{
	const struct batch *p = s->rows.tables[TABLE_PROCESS], *t = s->rows.tables[TABLE_THREAD];
	char exe[4096], argv[4096];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe)), argv_len;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	struct bytes is;

	argv_len = read(fd, argv, sizeof(argv));
	close(fd);
	assert_true(len > 0 && argv_len > 1);
	assert_int_equal(p->rows, 1);
	assert_int_equal(t->rows, 1);
	assert_int_equal(batch_get(p, PROCESS_PID, 0, -1), pid);
	assert_int_equal(batch_get(p, PROCESS_PPID, 0, -1), getpid());
	assert_int_equal(batch_get(t, THREAD_UID, 0, -1), geteuid());
	is = batch_get_bytes(p, PROCESS_EXE, 0);
	assert_int_equal(is.len, len);
	assert_memory_equal(is.data, exe, is.len);
	is = batch_get_bytes(t, THREAD_EXE, 0);
	assert_int_equal(is.len, len);
	assert_memory_equal(is.data, exe, is.len);
	is = batch_get_bytes(p, PROCESS_ARGV, 0);
	assert_int_equal(is.len, argv_len - 1);
	assert_memory_equal(is.data, argv, is.len);
}
