/* SPDX-License-Identifier: GPL-2.0-only */
/* filter.h: evaluates an expression over a finished call, schema/call_filter.h. */
#pragma once

#include "bpf/lib/call/call.h"

#define AT_CWD	  (-100)
#define MSG_PEEK  0x2
#define MSG_TRUNC 0x20

enum known {
	FIELD_UNKNOWN,
	FIELD_KNOWN,
	FIELD_LATER /* known only to the recorder or once the record is complete: every test passes */
};

static __always_inline bool compare(__u32 code, enum known known, __s64 v, __s64 with)
{
	if (known == FIELD_LATER)
		return true;
	if (code == FILTER_NULL)
		return known == FIELD_UNKNOWN;
	if (known == FIELD_UNKNOWN)
		return false;
	switch (code) {
	case FILTER_NAME: /* bits by test number */
		return v >> (with & 31) & 1;
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
		return true; /* FILTER_KNOWN */
	}
}

/* The descriptor of the call, unless it is the working directory; as op_where() of decode.c. */
static __always_inline enum known field_fd(struct thread_state *ts, struct wire_plan *p, __s64 *v)
{
	if (p->ret == RET_FD || p->fdpair >= 0 || waits_on_one(p))
		return FIELD_LATER;
	*v = ts->call.op.fd;
	return has(p->fd) || *v != (has(p->dirfd) ? AT_CWD : -1) ? FIELD_KNOWN : FIELD_UNKNOWN;
}

/* The bytes requested and the bytes moved, unless a vector or message determines them. */
static __always_inline enum known field_bytes(struct thread_state *ts, struct wire_plan *p,
					      __u32 field, __s64 ret, __s64 *v)
{
	if (field == FILTER_SIZE) {
		*v = ts->call.op.size;
		return p->iov >= 0 || p->msg >= 0 || p->mmsg >= 0 ? FIELD_LATER
		       : has(p->size)				  ? FIELD_KNOWN
								  : FIELD_UNKNOWN;
	}
	/* The return value is not the number of bytes moved. */
	if (p->mmsg >= 0 ||
	    ((p->flags & WIRE_PLAN_RECEIVES) && (ts->call.op.flags & (MSG_PEEK | MSG_TRUNC))))
		return FIELD_LATER;
	*v = ret > 0 && p->ret == RET_BYTES ? ret : 0;
	return FIELD_KNOWN;
}

/* Whether the call's file is that of a descriptor it returns. */
static __always_inline bool returns_file(struct wire_plan *p)
{
	return (p->ret == RET_FD && p->fd < 0) || p->fdpair >= 0;
}

/* The results of the tests of the call's file, as bits by number. */
static __always_inline enum known field_file(struct thread_state *ts, struct wire_plan *p,
					     __s64 ret, __s64 *v)
{
	/* The recorder resolves a path that names the file, unless the call returned a descriptor. */
	if (p->path >= 0 && !((p->flags & WIRE_PLAN_OPEN) && ret >= 0))
		return FIELD_LATER;
	if ((returns_file(p) && !ts->returned) || waits_on_one(p))
		return FIELD_LATER;
	*v = ts->call.kind >> KIND_WANTED_SHIFT >> 1;
	return ts->call.op.file ? FIELD_KNOWN : FIELD_UNKNOWN;
}

static __always_inline enum known field_value(struct thread_state *ts, struct wire_plan *p,
					      __u32 field, __s64 ret, __u64 end, __s64 *v)
{
	struct wire_op *op = &ts->call.op;
	struct task_struct *task;

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
	case FILTER_TID:
		*v = (__s32)op->tid;
		return FIELD_KNOWN;
	case FILTER_PID:
		task = bpf_get_current_task_btf();
		*v = pid_here(BPF_CORE_READ(task, group_leader, thread_pid));
		return FIELD_KNOWN;
	case FILTER_UID: /* the call belongs to the version of the thread at its enter */
		*v = ts->uid;
		return op->thread == ts->version ? FIELD_KNOWN : FIELD_LATER;
	case FILTER_COMM: /* and so does the name */
		*v = ts->comm_tests;
		return op->thread == ts->version ? FIELD_KNOWN : FIELD_LATER;
	case FILTER_EXE:
		if (op->thread != ts->version)
			return FIELD_LATER;
		*v = ts->exe_tests;
		return ts->exe ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_FD:
		return field_fd(ts, p, v);
	case FILTER_SIZE:
	case FILTER_BYTES:
		return field_bytes(ts, p, field, ret, v);
	case FILTER_PATH:
		return field_file(ts, p, ret, v);
	default:
		return FIELD_LATER;
	}
}

/*
 * One step. The stack consists of bits of a word in memory, which is unknown to the verifier: all steps look the same
 * to it. Verified separately, so that its paths do not multiply with the steps.
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

/* Whether the call may pass: conditions that only the recorder can decide count as true. */
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
 * True if it was shorter than the given minimum. If its start was not seen, it lasted at least since the programs were
 * attached, or since its thread was selected, which is unknown.
 */
static __always_inline bool call_too_short(struct thread_state *ts, __u64 end)
{
	__u64 start = ts->call.op.start;

	if (!start && min_dur_ns)
		start = (ts->flags & THREAD_WAS_OUT) ? end : attached_at;
	return min_dur_ns && end - start < min_dur_ns;
}

/* Whether the selection wants a call, now that its end is known, as far as it can be decided here. */
static __always_inline bool call_selected(struct thread_state *ts, struct wire_plan *p, __s64 ret,
					  __u64 end)
{
	return !(failed_only && (ret >= 0 || is_restart(ret))) && !call_too_short(ts, end) &&
	       (!call_unwanted(&ts->call, p) || call_may_name_one(ts, p)) &&
	       (!filter.count || call_passes(ts, p, ret, end));
}
