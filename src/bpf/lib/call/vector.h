/* SPDX-License-Identifier: GPL-2.0-only */
/* vector.h: the number of bytes that vectors in user memory request. */
#pragma once

#include "bpf/lib/state.h"

#define IOV_MAX 1024

struct iov {
	__u64 base, len;
};

struct msg {
	__u64 name;
	__u32 namelen, pad;
	__u64 iov, iovlen;
	__u64 control, controllen;
	__u32 flags, pad2;
};

struct mmsg {
	struct msg msg;
	__u32 len, pad;
};

/* Nothing here counts down: the verifier would track every value as a distinct state. */
struct vector_ctx {
	__u64 at; /* user address of the first element */
	__u64 sum;
	__u64 unread; /* nonzero: parts could not be read, or the sum is too large */
	/* For messages: */
	__u64 moved;	   /* bytes moved according to the kernel, */
	__u64 done;	   /* in this many messages; the others' results are stale */
	__u64 trunc;	   /* MSG_TRUNC: results are lengths of datagrams */
	struct scratch *s; /* counts the parts */
};

static long vector_step(__u32 i, struct vector_ctx *v)
{
	struct iov e;

	if (bpf_probe_read_user(&e, sizeof(e), (void *)(v->at + i * sizeof(e)))) {
		v->unread = 1;
		return 1;
	}
	v->sum += e.len;
	return 0;
}

/* WIRE_SIZE_UNKNOWN: parts could not be read, or it is longer than the kernel accepts. */
verified_alone __u64 vector_sum(__u64 at, __u64 count)
{
	struct vector_ctx v = {.at = at};

	if (count > IOV_MAX)
		return WIRE_SIZE_UNKNOWN;
	bpf_loop(count, vector_step, &v, 0);
	return v.unread ? WIRE_SIZE_UNKNOWN : v.sum;
}
