/* SPDX-License-Identifier: GPL-2.0-only */
/* filter.h: an expression over a finished call, schema/call_filter.h. */
#pragma once

#include "bpf/call.h"
#include "schema/call_filter.h"

/* Set before loading. count 0: none, and the verifier takes all of this out. */
const volatile struct call_filter filter;

enum known {
	FIELD_UNKNOWN,
	FIELD_KNOWN,
	FIELD_LATER /* told by the recorder: every test passes */
};

static __always_inline enum known field_place(struct thread_state *ts, struct wire_plan *p,
					      __u32 field, __s64 ret, __s64 *v)
{
	struct wire_op *op = &ts->call.op;

	switch (field) {
	case FILTER_FD:
		if (p->ret == RET_FD || p->fdpair >= 0)
			return FIELD_LATER;
		*v = op->fd;
		return op->fd != -1 || has(p->fd) ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_SIZE:
		if (p->iov >= 0 || p->msg >= 0 || p->mmsg >= 0)
			return FIELD_LATER;
		*v = op->size;
		return has(p->size) ? FIELD_KNOWN : FIELD_UNKNOWN;
	case FILTER_BYTES:
		if (p->mmsg >= 0)
			return FIELD_LATER;
		*v = p->ret == RET_BYTES && ret > 0 ? ret : 0;
		return FIELD_KNOWN;
	default:
		return FIELD_LATER;
	}
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
	__u32 stack, code;
	__s64 v = 0;
	enum known known;

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
	known = field_value(ts, p, filter.steps[i].field, ret, end, &v);
	ts->stack = stack << 1 | compare(code, known, v, filter.steps[i].value);
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
