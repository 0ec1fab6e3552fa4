/* SPDX-License-Identifier: GPL-2.0-only */
/* content_none.h: what content_uring.h does for requests of io_uring, where their bytes are not recorded: nothing. */
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
