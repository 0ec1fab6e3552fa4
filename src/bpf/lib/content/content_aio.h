/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * content_aio.h: the bytes of libaio requests, read at the end of the call that fetches their results, before the calls
 * object sends their records (aio.h).
 */
#pragma once

#include "bpf/lib/request/aio_map.h"
#include "bpf/lib/content/content_request.h"

/* Set before loading, by IOCB_CMD_*; 1: it writes to the file. */
const volatile __u8 content_aio_out[WIRE_AIO_OPS];

/* Requests or events of a call. */
struct content_aio {
	__u64 context, at, now;
};

static long aio_save_step(__u32 i, struct content_aio *c)
{
	struct vector_key v = {.of = c->context};
	struct aio_key k = {.context = c->context};
	struct wire_live *p;

	if (bpf_probe_read_user(&k.iocb, sizeof(k.iocb), (void *)(c->at + 8 * (__u64)i)))
		return 0;
	p = bpf_map_lookup_elem(&aio_requests, &k);
	if (!p || p->memory_state != WIRE_MEMORY_VECTOR)
		return 0;
	v.at = k.iocb;
	vector_save(p, &v);
	return 0;
}

static long aio_take_step(__u32 i, struct content_aio *c)
{
	struct vector_key v = {.of = c->context};
	struct aio_key k = {.context = c->context};
	struct request_end e = {.now = c->now};
	struct content_room *m;
	struct aio_event event;
	struct wire_live *p;

	if (bpf_probe_read_user(&event, sizeof(event), (void *)(c->at + sizeof(event) * (__u64)i)))
		return 0;
	k.iocb = v.at = event.obj;
	p = bpf_map_lookup_elem(&aio_requests, &k);
	if (!p)
		return 0;
	e.ret = event.res;
	e.pos = p->pos;
	e.file = p->file;
	if (!end_left_out(p, &e) && memory_is_here(p, &e)) {
		m = memory_begin(p, &e, KIND_LIBAIO,
				 content_aio_out[p->opcode & (WIRE_AIO_OPS - 1)]);
		if (m)
			memory_end(m, p, &v);
	}
	bpf_map_delete_elem(&content_vectors, &v);
	return 0;
}

/* The exit of a libaio call. */
static __always_inline int content_aio(struct thread_state *ts, struct wire_plan *p, __s64 ret)
{
	struct content_aio c = {};
	__u64 *args;

	if (!ts || !p || ret <= 0)
		return 0;
	args = ts->call.args;
	c.context = aio_context(args[0]);
	if (!c.context)
		return 0;
	c.now = bpf_ktime_get_ns();
	if (p->flags & WIRE_PLAN_SUBMITS) {
		c.at = args[2];
		bpf_loop(ret < AIO_BATCH ? ret : AIO_BATCH, aio_save_step, &c, 0);
	} else {
		c.at = args[3];
		ts->content.fetched = c.now;
		bpf_loop(ret < AIO_BATCH ? ret : AIO_BATCH, aio_take_step, &c, 0);
	}
	return 0;
}
