/* SPDX-License-Identifier: Apache-2.0 */
/* details.h: the data that arguments of calls point to, and signals (src/bpf/details.bpf.c). */
#pragma once

#include <bpf/libbpf.h>

#include "capture/ebpf/calls/decode.h"
#include "schema/wire_detail.h"

/* Sets up the object before it is loaded. 0 or negative. */
int details_prepare(struct bpf_object *bpf, const struct ebpf_options *opt);
/* Keeps a record until its thread's call arrives. 0, -EBADMSG or -ENOMEM. */
int decode_detail(struct decode *d, const struct wire_detail *w);
/* Adds the detail rows of a delivered call, if a record of it came. 0 or negative. */
int decode_take_detail(struct decode *d, const struct wire_op *w, struct batch_set *out);
/* Adds the row of a signal. 0 or negative. */
int decode_signal(struct decode *d, const struct wire_head *h, struct batch_set *out);
