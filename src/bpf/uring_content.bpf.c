// SPDX-License-Identifier: GPL-2.0-only
/* uring_content.bpf.c: uring.bpf.c including the bytes that requests move; loaded instead of it by record --content. */
#define URING_CONTENT
#include "bpf/uring.bpf.c"
