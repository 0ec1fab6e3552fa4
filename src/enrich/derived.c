/* SPDX-License-Identifier: Apache-2.0 */
/*
 * derived.c: ids, kind, class, err and bytes of calls. Works column by column; about 30 ns per call.
 *
 * When a read waits. Waiting is not I/O, so a call that takes data from a pipe, a socket, an event descriptor or a
 * terminal has the class `wait` if it found that empty, and so has io_uring_enter if it requests completions and finds
 * none:
 *   - it returned EAGAIN, or
 *   - it is still running, was interrupted, or was running when recording began, or
 *   - the thread slept in it (STATUS_SLEPT; a source that can see voluntary switches says so), or
 *   - it took longer than WAIT_FLOOR_NS plus one nanosecond per byte, without the time in which it had no CPU, which
 * moving data that is there does not. A read that got its data at once keeps its class: a server's reads of requests
 * are I/O.
 */
#include "enrich/internal.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <sys/socket.h>

#define WAIT_FLOOR_NS \
	1000000 /* without STATUS_SLEPT: far above a copy and most delays by other threads */
#define ERRNO_MAX 4095
#define RESTART_FIRST \
	512 /* ERESTARTSYS ... ERESTART_RESTARTBLOCK: internal to the kernel, not an error */
#define RESTART_LAST 516

void enrich_facts(struct op_facts facts[static OP_CODE_MAX])
{
	static const char *const receives[] = {"read",	   "readv",   "preadv2",
					       "recvfrom", "recvmsg", "recvmmsg"};

	for (uint32_t code = 0; code < OP_CODE_MAX; code++) {
		const struct op_def *def = op_def(code);

		facts[code] = (struct op_facts){.class = CLASS_OTHER};
		if (!def || !def->name)
			continue;
		facts[code].class = def->class;
		facts[code].moves_bytes = def->ret == RET_BYTES;
		for (int i = 0; i < OP_ARGS; i++)
			facts[code].counts_messages |= def->args[i].role == ARG_MMSG;
	}
	for (size_t i = 0; i < ARRAY_SIZE(receives); i++) {
		int code = op_find(receives[i]);

		assert(code >= 0 && code < OP_CODE_MAX);
		facts[code].receives = true;
		facts[code].has_msg_flags = facts[code].class == CLASS_NET;
	}
	facts[op_find("io_uring_enter")].completes = true;
}

static bool is_restart(int64_t ret)
{
	return ret <= -RESTART_FIRST && ret >= -RESTART_LAST;
}

/* Whether a read of this file can find it empty and wait for data. */
static bool can_be_empty(const struct enrich *e, const struct batch *b, size_t row)
{
	int64_t file = batch_get(b, OP_FILE_ID, row, -1);

	if (file < 0)
		return batch_get(b, OP_CLASS, row, CLASS_OTHER) == CLASS_NET;
	switch (e->file_facts[file] & FILE_FACT_TYPE) {
	case FILE_TYPE_PIPE:
	case FILE_TYPE_SOCKET:
	case FILE_TYPE_ANON:
	case FILE_TYPE_CHAR:
		return true;
	default:
		return false;
	}
}

/* io_uring_enter(fd, to_submit, min_complete, flags, ...): whether it requests completions. */
static bool wants_completions(const struct batch *b, size_t row)
{
	return batch_get(b, OP_FLAGS, row, 0) & IORING_ENTER_GETEVENTS &&
	       batch_get(b, OP_A2, row, 0) != 0;
}

static bool may_wait(const struct enrich *e, const struct op_facts *f, const struct batch *b,
		     size_t row)
{
	return (f->receives && can_be_empty(e, b, row)) ||
	       (f->completes && wants_completions(b, row));
}

static bool waited(const struct batch *b, size_t row)
{
	const int64_t hints =
		STATUS_UNFINISHED | STATUS_INTERRUPTED | STATUS_SLEPT | STATUS_NO_START;
	int64_t ret = batch_get(b, OP_RET, row, 0);

	if (batch_get(b, OP_STATUS, row, 0) & hints)
		return true;
	if (ret == -EAGAIN || is_restart(ret) || batch_is_null(b, OP_RET, row))
		return true;
	/* Time for which the source held the program, or it had no CPU, is not part of the call's own wait. */
	return batch_get(b, OP_DUR, row, 0) - batch_get(b, OP_HELD, row, 0) -
		       batch_get(b, OP_RUNQ, row, 0) >
	       WAIT_FLOOR_NS + MAX(ret, 0);
}

static int fill_class(struct enrich *e, struct batch *b, size_t first)
{
	const int64_t *op = b->columns[OP_OP].val;

	for (size_t i = first; i < b->rows; i++) {
		uint64_t code = op ? (uint64_t)op[i] : OP_CODE_MAX;
		const struct op_facts *f = code < OP_CODE_MAX ? &e->ops[code] : NULL;
		int r;

		if (!batch_is_null(b, OP_CLASS, i)) /* a replayed or generated row has its own */
			continue;
		r = batch_set(b, OP_CLASS, i, f ? f->class : CLASS_OTHER);
		if (r >= 0 && f && may_wait(e, f, b, i) && waited(b, i))
			r = batch_set(b, OP_CLASS, i, CLASS_WAIT);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Whether the number of bytes moved is unknown: ret counts messages, or is the length of a message that was truncated
 * to an unknown size, and the source did not sum the bytes. */
static bool bytes_unknown(const struct op_facts *f, const struct batch *b, size_t row, int64_t ret)
{
	int64_t flags = f && f->has_msg_flags ? batch_get(b, OP_FLAGS, row, 0) : 0;

	if (!f || ret <= 0 || flags & MSG_PEEK)
		return false;
	return f->counts_messages || (flags & MSG_TRUNC && batch_is_null(b, OP_SIZE, row));
}

/* The bytes moved by a call that returned `ret`. */
static int64_t bytes_moved(const struct op_facts *f, const struct batch *b, size_t row, int64_t ret)
{
	int64_t flags;

	if (!f || !f->moves_bytes || ret <= 0)
		return 0;
	flags = f->has_msg_flags ? batch_get(b, OP_FLAGS, row, 0) : 0;
	if (flags & MSG_PEEK)
		return 0; /* the data stays in the socket, and a later call moves it */
	/* With MSG_TRUNC a call returns the length of the message but moves only what fits. */
	return flags & MSG_TRUNC ? MIN(ret, batch_get(b, OP_SIZE, row, ret)) : ret;
}

/* Derives err and bytes from ret. */
static int fill_result(struct enrich *e, struct batch *b, size_t first)
{
	const struct column *ret = &b->columns[OP_RET];
	const int64_t *op = b->columns[OP_OP].val;
	int r = 0;

	for (size_t i = first; i < b->rows && r >= 0; i++) {
		bool null = batch_is_null(b, OP_RET, i);
		int64_t v = null ? 0 : ret->val[i];
		uint64_t code = op ? (uint64_t)op[i] : OP_CODE_MAX;
		const struct op_facts *f = code < OP_CODE_MAX ? &e->ops[code] : NULL;

		if (v < 0 && v >= -ERRNO_MAX && !is_restart(v) && batch_is_null(b, OP_ERR, i))
			r = batch_set(b, OP_ERR, i, -v);
		if (r >= 0 && batch_is_null(b, OP_BYTES, i) && !bytes_unknown(f, b, i, v))
			r = batch_set(b, OP_BYTES, i, bytes_moved(f, b, i, v));
	}
	return r;
}

/* A constant column costs nothing on disk, so the kind is set in every row. */
static int fill_kind(struct batch *b, size_t first)
{
	int r = 0;

	for (size_t i = first; i < b->rows && r >= 0; i++) {
		if (batch_is_null(b, OP_KIND, i))
			r = batch_set(b, OP_KIND, i, KIND_SYSCALL);
	}
	return r;
}

int enrich_ops(struct enrich *e, const struct batch *in, struct batch_set *out)
{
	struct missing m = MISSING_NONE;
	struct batch *b;
	size_t first;
	int r;

	r = batch_set_table(out, TABLE_OP, &b);
	if (r < 0)
		return r;
	first = b->rows;
	r = batch_append(b, in, 0, in->rows);
	if (r < 0)
		return r;
	enrich_references(e, b, first, &m);
	r = fill_kind(b, first);
	if (r < 0)
		return r;
	r = fill_class(e, b, first);
	if (r < 0)
		return r;
	r = fill_result(e, b, first);
	return r < 0 ? r : enrich_missing(out, &m);
}
