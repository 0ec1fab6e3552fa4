/* SPDX-License-Identifier: Apache-2.0 */
/* details.h: the data that arguments of calls point to, and signals (src/bpf/details.bpf.c). */
#pragma once

#include <bpf/libbpf.h>

#include "capture/ebpf/calls/decode.h"
#include "schema/wire_detail.h"

/* Before the object is loaded. 0 or negative. */
int details_prepare(struct bpf_object *bpf, const struct ebpf_options *opt);
/* Keeps a record until the call of its thread comes. 0, -EBADMSG or -ENOMEM. */
int decode_detail(struct decode *d, const struct wire_detail *w);
/* Adds the rows of a call that was given, where a record of it came. 0 or negative. */
int decode_take_detail(struct decode *d, const struct wire_op *w, struct batch_set *out);
/* Adds the row of a signal. 0 or negative. */
int decode_signal(struct decode *d, const struct wire_head *h, struct batch_set *out);
