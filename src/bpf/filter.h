/* SPDX-License-Identifier: GPL-2.0-only */
/* filter.h: an expression over a finished call, schema/call_filter.h. */
#pragma once

#include "bpf/call.h"

enum known {
	FIELD_UNKNOWN,
	FIELD_KNOWN,
	FIELD_LATER /* told by the recorder, or when the record is put together: every test passes */
};

/* What a call with parts of variable size has in full only then. */
#define FILTER_WHOLE                                                               \
	(1 << FILTER_FD | 1 << FILTER_SIZE | 1 << FILTER_BYTES | 1 << FILTER_POS | \
	 1 << FILTER_FLAGS | 1 << FILTER_PATH)

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
		return *v != -1 || has(p->fd) ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_SIZE:
		if (p->iov >= 0 || p->msg >= 0 || p->mmsg >= 0) {
			*v = done->size;
			return done->whole ? FIELD_KNOWN : FIELD_LATER;
		}
		*v = op->size;
		return has(p->size) ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_BYTES:
		if (p->mmsg >= 0 && !done->whole)
			return FIELD_LATER;
		*v = ret <= 0 ? 0 : p->ret == RET_BYTES ? ret : p->mmsg >= 0 ? done->bytes : 0;
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
		return has(p->opflags) ? FIELD_KNOWN : FIELD_UNKNOWN;
	default:
		return FIELD_LATER;
	}
}

/* Whether a test of the names of the call's file passes. */
static __always_inline bool path_passes(struct thread_state *ts, struct wire_plan *p, __u32 test,
					__s64 ret)
{
	__u64 file = ts->call.op.file;
	__u32 kind = ts->call.kind;

	if ((p->flags & WIRE_PLAN_EXEC) ||
	    (p->path >= 0 && !((p->flags & WIRE_PLAN_OPEN) && ret >= 0)))
		return true; /* the recorder resolves what was given */
	if ((p->ret == RET_FD && p->fd < 0) || p->fdpair >= 0) {
		if (!ts->done.whole)
			return true;
		file = ts->done.file;
		kind = ts->done.kind;
	}
	return file && (kind >> KIND_WANTED_SHIFT & WANTED_TEST(test & FILTER_NAMES_MAX));
}

static __always_inline bool name_passes(struct thread_state *ts, struct wire_plan *p, __u32 field,
					__u32 test, __s64 ret)
{
	if (field == FILTER_PATH)
		return path_passes(ts, p, test, ret);
	/* the call belongs to the version of the thread at its enter */
	return ts->call.op.thread != ts->version || (ts->comm_tests >> (test & 31) & 1);
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
		return ret < 0 && ret >= -4095 ? FIELD_KNOWN : FIELD_UNKNOWN;
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
	default:
		return field_place(ts, p, field, ret, v);
	}
}

static __always_inline bool compare(__u32 code, enum known known, __s64 v, __s64 with)
{
	if (known == FIELD_LATER)
		return true;
	if (code == FILTER_NULL)
		return known == FIELD_UNKNOWN;
	if (known == FIELD_UNKNOWN)
		return false;
	switch (code) {
	case FILTER_BITS:
		return (v & with >> 32 & ~0u) == (with & ~0u);
	case FILTER_NOT_BITS:
		return (v & with >> 32 & ~0u) != (with & ~0u);
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
	} else if (code == FILTER_NAME) {
		passes = name_passes(ts, p, field, with, ret);
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
 * Where a plain call began, before the filter asks: what is recorded is what was tested, also where somebody else moves the
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
