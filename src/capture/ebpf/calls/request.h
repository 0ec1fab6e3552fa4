/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h: requests of io_uring and libaio (bpf/uring.bpf.c, bpf/lib/request/aio.h), which become rows of op like
 * calls.
 *
 * A request is named after the equivalent call: IORING_OP_READV is `readv` and IORING_OP_SEND is `sendto`; `kind`
 * distinguishes them. If there is no equivalent call the name begins with uring_.
 */
#pragma once

#include <bpf/libbpf.h>

#include "capture/ebpf/calls/decode.h"

/*
 * The operation of an opcode of io_uring (enum io_uring_op) or libaio (IOCB_CMD_*); uring_other if unknown. `flags`:
 * those of the request, which distinguish fsync from fdatasync.
 */
uint32_t request_op(enum call_kind kind, uint8_t opcode, uint32_t flags);
/* Whether the selection contains any request. */
bool requests_selected(const struct ebpf_options *opt);
/* The plans of libaio requests for the calls object: ret[WIRE_AIO_OPS]. */
void requests_of_aio(const struct select *s, struct wire_request_op *ret);
/* Sets in the io_uring object, before it is loaded, which operations are recorded, and how. 0. */
int requests_prepare(struct bpf_object *bpf, const struct ebpf_options *opt);
/* Adds the row of a request. 1: added, 0: rejected by the selection; -EBADMSG: malformed. */
int decode_request(struct decode *d, const struct wire_request *w, uint32_t cpu,
		   struct batch_set *out);
struct loaded;
/* Known at the end: submitted and not seen to end; found no room to be remembered. */
struct requests_missing {
	uint64_t missing, full;
	uint64_t forgotten; /* by requests_forget() */
};

/* Adds the mark "weir.requests", which lists the interfaces whose requests are recorded. 0 or -ENOMEM. */
int requests_mark(const struct loaded *l, int64_t now, struct batch_set *out);
/*
 * If very many libaio requests have not ended, adds rows for those of processes that no longer exist, whose results
 * nobody fetches, and frees their space. 0 or negative.
 */
int requests_forget(const struct loaded *l, struct decode *d, struct batch_set *out,
		    struct requests_missing *m, uint64_t *ret_ops);
/* Adds rows for those that have not ended, and reports what is missing. 0 or negative. */
int requests_end(const struct loaded *l, struct decode *d, struct batch_set *out,
		 struct requests_missing *m, uint64_t *ret_ops);
/* Whether the kernel makes requests of a kind visible. */
bool requests_seen(const struct loaded *l, enum call_kind kind);
