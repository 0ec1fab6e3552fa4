/* SPDX-License-Identifier: GPL-2.0-only */
/* content_none.h: empty versions of content_uring.h's functions, for recordings without the bytes of io_uring requests. */
#pragma once

#include "bpf/lib/request/request.h"

static __always_inline void memory_fill(struct wire_live *p, const void *s,
					const volatile struct wire_request_op *op)
{
}

static __always_inline void memory_keep(struct wire_live *p, __u64 request)
{
}

static __always_inline void memory_take(struct wire_live *p, struct request_end *e)
{
}

static __always_inline void memory_again(struct wire_live *p, struct request_end *e)
{
}

static __always_inline void memory_forget(__u64 request)
{
}
