/* SPDX-License-Identifier: GPL-2.0-only */
/* filter.h: an expression over a finished call, schema/call_filter.h. */
#pragma once

#include "bpf/call.h"

#define AT_CWD	  (-100)
#define MSG_PEEK  0x2
#define MSG_TRUNC 0x20

/* What a call with parts of variable size has in full only then. */
#define FILTER_WHOLE                                                                \
	(1 << FILTER_FD | 1 << FILTER_SIZE | 1 << FILTER_BYTES | 1 << FILTER_POS |  \
	 1 << FILTER_FLAGS | 1 << FILTER_PATH | 1 << FILTER_DEV | 1 << FILTER_INO | \
	 1 << FILTER_PATH2 | 1 << FILTER_FD2 | 1 << FILTER_POS2 | 1 << FILTER_PEER)

/* Whether `v` is a descriptor that the call names or returned, and not the working directory; as op_where() of decode.c. */
static __always_inline bool descriptor_given(__s64 v, __s8 fd, __s8 dirfd)
{
	return has(fd) || v != (has(dirfd) ? AT_CWD : -1);
}

static __always_inline enum known field_place(struct thread_state *ts, struct wire_plan *p,
					      __u32 field, __s64 ret, __s64 *v)
{
	struct wire_op *op = &ts->call.op;
	struct call_end *done = &ts->done;

	switch (field) {
	case FILTER_FD:
		if (!done->whole && (p->ret == RET_FD || p->fdpair >= 0))
			return FIELD_LATER;
		*v = done->whole ? done->fd : op->fd;
		return descriptor_given(*v, p->fd, p->dirfd) ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_SIZE:
		if (p->iov >= 0 || p->msg >= 0 || p->mmsg >= 0) {
			*v = done->size;
			return !done->whole			 ? FIELD_LATER
			       : done->size == WIRE_SIZE_UNKNOWN ? FIELD_UNKNOWN
								 : FIELD_KNOWN;
		}
		*v = op->size;
		return has(p->size) ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_BYTES:
		if (p->mmsg >= 0) {
			*v = done->bytes;
			return !done->whole	 ? FIELD_LATER
			       : *v == WIRE_NONE ? FIELD_UNKNOWN
						 : FIELD_KNOWN;
		}
		/* What it returned is not what it moved. */
		if ((p->flags & WIRE_PLAN_RECEIVES) && (op->flags & (MSG_PEEK | MSG_TRUNC)))
			return FIELD_LATER;
		*v = ret > 0 && p->ret == RET_BYTES ? ret : 0;
		return FIELD_KNOWN;
	case FILTER_POS:
		if (!done->whole && (p->flags & WIRE_PLAN_RICH))
			return FIELD_LATER;
		*v = done->pos;
		return *v != WIRE_NONE ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_FLAGS:
		if (p->how >= 0) {
			*v = done->flags;
			return done->whole ? FIELD_KNOWN : FIELD_LATER;
		}
		*v = op->flags;
		return has(p->opflags) || op->nr == WIRE_CALL_OTHER ? FIELD_KNOWN : FIELD_UNKNOWN;
	default:
		return FIELD_LATER;
	}
}

/* Does a path name the call's file, and not a descriptor that the call gave back? */
static __always_inline bool names_file(struct wire_plan *p, __s64 ret)
{
	return p->path >= 0 && !((p->flags & WIRE_PLAN_OPEN) && ret >= 0);
}

/* The file of a call that a path does not name: the one behind its descriptor, or the one it made. */
static __always_inline enum known whose_file(struct thread_state *ts, struct wire_plan *p,
					     __u64 *file, __u32 *kind)
{
	*file = ts->call.op.file;
	*kind = ts->call.kind;
	if ((p->ret == RET_FD && p->fd < 0) || p->fdpair >= 0) {
		if (!ts->done.whole)
			return FIELD_LATER;
		*file = ts->done.file;
		*kind = ts->done.kind;
	}
	return *file ? FIELD_KNOWN : FIELD_UNKNOWN;
}

/* The tests of the call's file, as bits by number. */
static __always_inline enum known field_file(struct thread_state *ts, struct wire_plan *p,
					     __u32 field, __s64 ret, __s64 *v)
{
	enum known known;
	__u64 file;
	__u32 kind;

	/* The recorder resolves what was given; of a call that failed it makes a name and nothing else. */
	if (names_file(p, ret))
		return field == FILTER_PATH || ret >= 0 || has(p->fd) ? FIELD_LATER : FIELD_UNKNOWN;
	known = whose_file(ts, p, &file, &kind);
	*v = kind >> KIND_WANTED_SHIFT >> 1;
	return known;
}

/* The tests of the peer: of the address given to the call, else of the socket. */
static __always_inline enum known field_peer(struct thread_state *ts, struct wire_plan *p,
					     __s64 ret, __s64 *v)
{
	enum known known;
	__u32 kind, *said;
	__u64 file;

	if (p->addr >= 0 || p->addrout >= 0 || p->msg >= 0 || p->mmsg >= 0) {
		if (!ts->done.whole)
			return FIELD_LATER;
		*v = ts->done.peer_tests;
		if (ts->done.peer_named)
			return FIELD_KNOWN;
	}
	if (names_file(p, ret))
		return ret >= 0 || has(p->fd) ? FIELD_LATER : FIELD_UNKNOWN;
	known = whose_file(ts, p, &file, &kind);
	if (known != FIELD_KNOWN)
		return known;
	if (!(kind & FILE_SOCKET))
		return FIELD_UNKNOWN;
	said = bpf_map_lookup_elem(&peers, &file);
	if (!said || (*said & (PEER_NAMED | PEER_STREAM)) != (PEER_NAMED | PEER_STREAM) ||
	    !sock_connected(ts->call.file, ts->call.op.fd))
		return FIELD_LATER; /* it may get one, or another */
	*v = *said;
	return FIELD_KNOWN;
}

/* The same of its second file. */
static __always_inline enum known field_file2(struct thread_state *ts, struct wire_plan *p,
					      __s64 *v)
{
	__u64 file = ts->call.key2;
	__u32 kind = ts->call.kind2;

	if (!(p->flags & WIRE_PLAN_RICH))
		return FIELD_UNKNOWN;
	if (p->path2 >= 0)
		return FIELD_LATER;
	if ((p->ret == RET_FD && p->fd >= 0) || p->fdpair >= 0) {
		if (!ts->done.whole)
			return FIELD_LATER;
		file = ts->done.file2;
		kind = ts->done.kind2;
	}
	*v = kind >> KIND_WANTED_SHIFT >> 1;
	return file ? FIELD_KNOWN : FIELD_UNKNOWN;
}

/* What only calls with parts of variable size have. */
static __always_inline enum known field_second(struct thread_state *ts, struct wire_plan *p,
					       __u32 field, __s64 *v)
{
	if (!(p->flags & WIRE_PLAN_RICH))
		return FIELD_UNKNOWN;
	if (!ts->done.whole)
		return FIELD_LATER;
	if (field == FILTER_POS2) {
		*v = ts->done.pos2;
		return *v != WIRE_NONE && p->mmsg < 0 ? FIELD_KNOWN : FIELD_UNKNOWN;
	}
	*v = ts->done.fd2;
	return descriptor_given(*v, p->fd2, p->dirfd2) ? FIELD_KNOWN : FIELD_UNKNOWN;
}

/* A raw argument, where the record will say it. */
static __always_inline enum known field_argument(struct thread_state *ts, struct wire_plan *p,
						 __u32 n, __s64 *v)
{
	barrier_var(n); /* else the compiler knows its range, and the verifier does not */
	n &= 7;
	if (!raw_args && !(p->raw >> n & 1))
		return FIELD_UNKNOWN;
	if (p->how >= 0 && n >= 4)
		return FIELD_LATER; /* openat2 has four, mode and resolve stand behind them */
	*v = arg(&ts->call, n) ^ FILTER_TURNED;
	return FIELD_KNOWN;
}

/* The tests of the version's control group, once the recorder has made them. */
verified_alone int cgroup_judged(struct thread_state *ts)
{
	__u32 *tests;
	__u64 id;

	if (!ts)
		return 0;
	if (ts->cgroup_judged)
		return 1;
	id = ts->cgroup;
	tests = bpf_map_lookup_elem(&judged, &id);
	if (!tests)
		return 0;
	ts->cgroup_tests = *tests;
	ts->cgroup_judged = 1;
	return 1;
}

static __always_inline enum known field_value(struct thread_state *ts, struct wire_plan *p,
					      __u32 field, __s64 ret, __u64 end, __s64 *v)
{
	struct wire_op *op = &ts->call.op;

	switch (field) {
	case FILTER_DUR:
		*v = end - op->start;
		return op->start ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_RET:
		*v = ret;
		return FIELD_KNOWN;
	case FILTER_ERR:
		*v = -ret;
		return ret < 0 && ret >= -4095 && !is_restart(ret) ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_OP: /* the loader turns codes into this machine's numbers */
		*v = op->nr;
		return FIELD_KNOWN;
	case FILTER_TID:
		*v = (__s32)op->tid;
		return FIELD_KNOWN;
	case FILTER_PID:
		*v = tgid_of(bpf_get_current_task_btf());
		return FIELD_KNOWN;
	case FILTER_UID: /* the call belongs to the version of the thread at its enter */
		*v = ts->uid;
		return op->thread == ts->version ? FIELD_KNOWN : FIELD_LATER;
	case FILTER_CPU:
		*v = bpf_get_smp_processor_id();
		return FIELD_KNOWN;
	case FILTER_COMM: /* so is its name */
		*v = ts->comm_tests;
		return op->thread == ts->version ? FIELD_KNOWN : FIELD_LATER;
	case FILTER_EXE:
		if (op->thread != ts->version)
			return FIELD_LATER;
		*v = ts->exe_tests;
		return ts->exe ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_CGROUP:
		if (op->thread != ts->version || !cgroup_judged(ts))
			return FIELD_LATER;
		*v = ts->cgroup_tests;
		return FIELD_KNOWN;
	case FILTER_PEER:
		return field_peer(ts, p, ret, v);
	case FILTER_PATH:
	case FILTER_DEV:
	case FILTER_INO:
		return field_file(ts, p, field, ret, v);
	case FILTER_PATH2:
		return field_file2(ts, p, v);
	case FILTER_FD2:
	case FILTER_POS2:
		return field_second(ts, p, field, v);
	case FILTER_A0 ... FILTER_A5:
		return field_argument(ts, p, field - FILTER_A0, v);
	default:
		return field_place(ts, p, field, ret, v);
	}
}

/*
 * One step. The stack is bits of a word in memory, of which the verifier knows nothing: all steps look the
 * same to it. Verified for itself, so that the paths through it do not multiply with the steps.
 */
verified_alone int filter_step(struct thread_state *ts, struct wire_plan *p, __u32 i, __s64 ret,
			       __u64 end)
{
	__u32 stack, code, field;
	__s64 v = 0, with;
	enum known known;
	bool passes;

	if (!ts || !p || i >= FILTER_STEPS_MAX)
		return 0;
	stack = ts->stack;
	code = filter.steps[i].code;
	if (code == FILTER_AND) {
		ts->stack = stack >> 1 & (stack | ~1u);
		return 0;
	}
	if (code == FILTER_OR) {
		ts->stack = stack >> 1 | (stack & 1);
		return 0;
	}
	field = filter.steps[i].field;
	with = filter.steps[i].value;
	if (code == FILTER_SET) {
		passes = p->sets >> (with & (FILTER_SETS_MAX - 1)) & 1;
	} else {
		known = field_value(ts, p, field, ret, end, &v);
		passes = compare(code, known, v, with);
	}
	ts->stack = stack << 1 | passes;
	return 0;
}

/* Whether the call may be wanted: what is known only to the recorder counts as passed. */
verified_alone int call_passes(struct thread_state *ts, struct wire_plan *p, __s64 ret, __u64 end)
{
	if (!ts || !p)
		return 1;
	ts->stack = 0;
	for (__u32 i = 0; i < FILTER_STEPS_MAX; i++) {
		if (i >= filter.count)
			break;
		filter_step(ts, p, i, ret, end);
	}
	return ts->stack & 1;
}

/*
 * Where a plain call began, before the filter asks: what is recorded is what was tested, even if another thread moves the
 * position meanwhile.
 */
verified_alone int call_pos_early(struct thread_state *ts, struct wire_plan *p, __s64 ret)
{
	__s64 pos = WIRE_NONE;
	__u16 status = 0;

	if (!ts || !p)
		return 0;
	if ((ts->call.kind & FILE_SEEKABLE) || has(p->pos))
		pos = call_pos(bpf_get_current_task_btf(), &ts->call, p, ret, &status);
	ts->done.pos = pos;
	ts->done.status = status;
	return 0;
}
