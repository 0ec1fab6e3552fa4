// SPDX-License-Identifier: GPL-2.0-only
/* uring_content.bpf.c: uring.bpf.c with the bytes that requests move; loaded in its place by record --content. */
#define URING_CONTENT
#include "bpf/uring.bpf.c"
