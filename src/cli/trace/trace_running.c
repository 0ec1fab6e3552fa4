/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_running.c: calls that do not return. The kernel source reports a call when it ends, so hung threads are found
 * through /proc/TID/syscall. A call that stays the same for a second, with no other ended meanwhile, is printed after
 * 1 s, 10 s, 100 s, ... The printed duration is how long it was observed, a lower bound.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/uio.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/trace/call_text.h"
#include "cli/trace/trace.h"
#include "privilege/privilege.h"
#include "schema/ops.h"

#define LOOK_NS	       (150 * NSEC_PER_MSEC) /* at each tick of the session */
#define FIRST_NS       NSEC_PER_SEC
#define TREE_NS	       NSEC_PER_SEC /* interval of searching for children of the chosen processes */
#define TREE_DEPTH_MAX 32
#define THREADS_MAX    4096 /* threads examined at a time; of more, the newest are left out */

struct watched {
	int64_t tid, thread_id;	    /* its latest version */
	uint64_t ended;		    /* number of calls that ended so far */
	uint64_t seen_ended;	    /* and when it was first seen in this call */
	uint64_t call[OP_ARGS + 2]; /* number, arguments, stack pointer */
	int64_t since;		    /* monotonic; 0: not seen in a call */
	int64_t next_ns;	    /* the duration at which it is printed next */
};

struct trace_running {
	struct map by_tid; /* tid -> index */
	struct watched *threads;
	size_t count, cap;
	size_t rows; /* rows of thread in the dims examined so far */
	int64_t next, next_tree;
	int32_t roots[SELECT_LIST_MAX + 1]; /* the chosen processes */
	size_t root_count;
};

int trace_running_new(struct trace_running **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void trace_running_free(struct trace_running *r)
{
	if (!r)
		return;
	map_free(&r->by_tid);
	free(r->threads);
	free(r);
}

/* The thread's entry, created if needed; NULL: no room. */
static struct watched *trace_running_watch(struct trace_running *r, int64_t tid)
{
	struct watched *w;
	bool new;

	if (tid <= 0 || (r->count >= THREADS_MAX && !map_get(&r->by_tid, (uint64_t)tid, NULL)))
		return NULL;
	w = array_of_key(r->threads, r->count, r->cap, &r->by_tid, (uint64_t)tid, &new);
	if (w && new)
		*w = (struct watched){.tid = tid, .thread_id = -1};
	return w;
}

void trace_running_ended(struct trace_running *r, const struct batch *op, size_t row)
{
	struct watched *w = trace_running_watch(r, batch_get(op, OP_TID, row, -1));

	if (w) {
		w->thread_id = batch_get(op, OP_THREAD_ID, row, -1);
		w->ended++;
	}
}

void trace_running_add(struct trace_running *r, int32_t pid)
{
	if (r->root_count < ARRAY_SIZE(r->roots))
		r->roots[r->root_count++] = pid;
}

static void trace_running_forget(struct trace_running *r, size_t i)
{
	map_del(&r->by_tid, (uint64_t)r->threads[i].tid);
	r->threads[i] = r->threads[--r->count];
	if (i < r->count)
		(void)!map_set(&r->by_tid, (uint64_t)r->threads[i].tid,
			       i); /* replacing the value of an existing key needs no memory */
}

/*
 * Watches every thread of a process and of its children: a thread that hangs in its first selected call is otherwise
 * unknown.
 */
static void watch_tree(struct trace_running *r, int32_t pid, unsigned int depth_left)
{
	_privileged_(PRIVILEGE_PROC);
	char path[64];
	struct dirent *entry;
	DIR *dir = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (pid != getpid()) /* weir's own calls are not recorded */
		dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char name[400];
		int child;
		FILE *f;

		if (entry->d_name[0] == '.')
			continue;
		trace_running_watch(r, strtoll(entry->d_name, NULL, 10));
		snprintf(name, sizeof(name), "%s/%s/children", path, entry->d_name);
		f = depth_left ? fopen(name, "re") : NULL;
		while (f && fscanf(f, "%d", &child) == 1)
			watch_tree(r, child, depth_left - 1);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
}

/* ---- a thread's current call ---- */

/*
 * Parses "202 0x7f.. 0x80 0x0 0x0 0x0 0xffffffff 0x7ffe.. 0x7f.."; false if the thread runs, sleeps outside a call or
 * is gone; only for the last is *ret_gone true.
 */
static bool read_call(int64_t tid, uint64_t call[OP_ARGS + 2], bool *ret_gone)
{
	_privileged_(PRIVILEGE_PROC);
	char path[64], text[256];
	_cleanup_close_ int fd = -1;
	char *at = text, *end;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%lld/syscall", (long long)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	*ret_gone = n < 0 && (errno == ENOENT || errno == ESRCH);
	if (n <= 0 || text[0] < '0' || text[0] > '9')
		return false;
	text[n] = 0;
	for (size_t i = 0; i < OP_ARGS + 2; i++) {
		call[i] = strtoull(at, &end, 0);
		if (end == at)
			return false;
		at = end;
	}
	return true;
}

/* Adds a file row with the name of a descriptor, from /proc. */
static int add_fd_name(struct batch *files, int64_t tid, int64_t fd, int64_t *ret_id)
{
	char path[64], name[4096];
	ssize_t row, n;
	int r;

	snprintf(path, sizeof(path), "/proc/%lld/fd/%lld", (long long)tid, (long long)fd);
	n = fd < 0 ? -1 : readlink(path, name, sizeof(name));
	if (n <= 0)
		return 0;
	row = batch_add_row(files);
	r = row < 0 ? (int)row : batch_set(files, FILE_ID, (size_t)row, row);
	if (r == 0)
		r = batch_set_bytes(files, FILE_PATH, (size_t)row, name, (size_t)n);
	*ret_id = row;
	return r;
}

/* Adds a file row with a path argument, read from the thread's memory. */
static int add_path(struct batch *files, int64_t tid, uint64_t address, int64_t *ret_id)
{
	char text[4096];
	struct iovec to = {text, sizeof(text)},
		     from = {(void *)(uintptr_t)address, sizeof(text)}; /* NOLINT: theirs */
	ssize_t n, row;
	int r;

	/* first up to the end of the page: the next one may not be mapped */
	from.iov_len = 4096 - address % 4096;
	n = process_vm_readv((pid_t)tid, &to, 1, &from, 1, 0);
	if (n <= 0 || !memchr(text, 0, (size_t)n))
		return 0;
	row = batch_add_row(files);
	r = row < 0 ? (int)row : batch_set(files, FILE_ID, (size_t)row, row);
	if (r == 0)
		r = batch_set_str(files, FILE_ARGUMENT, (size_t)row, text);
	if (r == 0)
		r = batch_set(files, FILE_NAME_ONLY, (size_t)row, 1);
	*ret_id = row;
	return r;
}

/* Puts one argument into the columns where a recorded call has it. */
static int set_argument(struct batch *op, struct batch *files, int64_t tid,
			const struct op_arg *arg, unsigned int i, uint64_t value)
{
	int64_t id = -1, fd = (int32_t)value;
	unsigned int file = OP_FILE_ID;
	int r = 0;

	switch ((enum arg_role)arg->role) {
	case ARG_FD:
		r = batch_set(op, OP_FD, 0, fd);
		if (r == 0)
			r = add_fd_name(files, tid, fd, &id);
		break;
	case ARG_FD2:
		file = OP_FILE2_ID;
		r = batch_set(op, OP_FD2, 0, fd);
		if (r == 0)
			r = add_fd_name(files, tid, fd, &id);
		break;
	case ARG_PATH:
		r = add_path(files, tid, value, &id);
		break;
	case ARG_PATH2:
	case ARG_TARGET:
		file = OP_FILE2_ID;
		r = add_path(files, tid, value, &id);
		break;
	case ARG_SIZE:
	case ARG_LEN:
		r = batch_set(op, OP_SIZE, 0, (int64_t)value);
		break;
	case ARG_POS:
		r = batch_set(op, OP_POS, 0, (int64_t)value);
		break;
	case ARG_FLAGS:
		r = batch_set(op, OP_FLAGS, 0, (int64_t)value);
		break;
	case ARG_POSP:
	case ARG_POSP2:
	case ARG_HOW:
		break;
	default:
		r = batch_set(op, OP_A0 + i, 0, (int64_t)value);
	}
	return r < 0 || id < 0 ? r : batch_set(op, file, 0, id);
}

/* "read(3</path>, ..., 64)" */
static int call_of(const uint64_t *call, int64_t tid, struct buf *ret)
{
	_privileged_(PRIVILEGE_PROC);
	_cleanup_(batch_freep) struct batch *op = NULL, *files = NULL;
	_cleanup_(dims_freep) struct dims *dims = NULL;
	uint32_t code = op_code_of_native((uint32_t)call[0]);
	const struct op_def *def = op_def(code);
	int r = batch_new(&op, TABLE_OP);

	if (r == 0)
		r = batch_new(&files, TABLE_FILE);
	if (r == 0)
		r = dims_new(&dims);
	if (r == 0 && batch_add_row(op) != 0)
		r = -ENOMEM;
	if (r == 0)
		r = batch_set(op, OP_OP, 0, code);
	if (r == 0)
		r = batch_set(op, OP_STATUS, 0, STATUS_UNFINISHED | STATUS_ARG_UNREAD);
	for (unsigned int i = 0; r == 0 && i < (def ? def->arg_count : OP_ARGS); i++)
		r = def ? set_argument(op, files, tid, &def->args[i], i, call[i + 1])
			: batch_set(op, OP_A0 + i, 0, (int64_t)call[i + 1]);
	if (r == 0)
		r = dims_apply(dims, files);
	return r < 0 ? r : call_text_entry(ret, op, 0, dims, NULL);
}

/* ---- watching ---- */

/* Adds the thread rows that came since. */
static void trace_running_follow(struct trace_running *r, const struct dims *dims)
{
	for (; r->rows < dims_rows(dims, TABLE_THREAD); r->rows++) {
		int64_t id = dims_id_at(dims, TABLE_THREAD, r->rows);
		struct watched *w = trace_running_watch(r, dims_thread(dims, id)->tid);

		if (w)
			w->thread_id = id;
	}
}

/* The name as recorded, else the current one. */
static struct bytes comm_of(int64_t tid, const struct dims_thread *thread, char buf[static 32])
{
	char path[64];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	if (thread)
		return thread->comm;
	snprintf(path, sizeof(path), "/proc/%lld/comm", (long long)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, buf, 32);
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	return n > 0 ? (struct bytes){(const uint8_t *)buf, (size_t)n}
		     : (struct bytes){(const uint8_t *)"?", 1};
}

static int trace_running_look_at(struct watched *w, const struct dims *dims, const struct select *s,
				 int64_t now, struct trace_out *t, bool *ret_gone)
{
	const struct dims_thread *thread = dims_thread(dims, w->thread_id);
	uint64_t call[OP_ARGS + 2];
	_cleanup_buf_ struct buf text = {0};
	const struct op_def *def;
	char comm[32];
	int r;

	if (thread && thread->stopped != INT64_MIN) {
		*ret_gone = true;
		return 0;
	}
	/* a thread that has made no call yet is known only by its tid */
	if (!read_call(w->tid, call, ret_gone)) {
		w->since = 0;
		return 0;
	}
	if (!w->since || w->ended != w->seen_ended || memcmp(call, w->call, sizeof(call))) {
		memcpy(w->call, call, sizeof(call));
		w->seen_ended = w->ended;
		w->since = now;
		w->next_ns = FIRST_NS;
		return 0;
	}
	if (now - w->since < w->next_ns)
		return 0;
	w->next_ns *= 10;
	def = op_def(op_code_of_native((uint32_t)call[0]));
	/* when tracing a whole host, threads that wait for work are normal */
	if (!select_op(s, op_code_of_native((uint32_t)call[0])) ||
	    (s->everything && def && def->class == CLASS_WAIT))
		return 0;
	r = call_of(call, w->tid, &text);
	return r < 0 ? r
		     : trace_still(t, w->tid, comm_of(w->tid, thread, comm), buf_bytes(&text),
				   now - w->since);
}

int trace_running_look(struct trace_running *r, const struct dims *dims, const struct select *s,
		       struct trace_out *t)
{
	int64_t now = clock_monotonic_ns();
	int e = 0;

	if (now < r->next || s->failed_only || s->path_count)
		return 0; /* whether such a call is selected is known only when it ends */
	r->next = now + LOOK_NS;
	trace_running_follow(r, dims);
	for (size_t i = 0; now >= r->next_tree && i < r->root_count; i++)
		watch_tree(r, r->roots[i], s->follow ? TREE_DEPTH_MAX : 0);
	if (now >= r->next_tree)
		r->next_tree = now + TREE_NS;
	for (size_t i = 0; i < r->count && e == 0;) {
		bool gone = false;

		e = trace_running_look_at(&r->threads[i], dims, s, now, t, &gone);
		if (gone)
			trace_running_forget(r, i);
		else
			i++;
	}
	return e;
}
