/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h: requests of io_uring and libaio (bpf/uring.bpf.c, bpf/lib/request/aio.h), which become rows of op beside those of
 * calls.
 *
 * A request is named after the call that does the same: IORING_OP_READV is `readv` and IORING_OP_SEND is `sendto`; `kind` is
 * what tells them apart. Where no call does the same the name begins with uring_.
 */
#pragma once

#include <bpf/libbpf.h>

#include "capture/ebpf/calls/decode.h"

/*
 * The operation of an opcode of io_uring (enum io_uring_op) or libaio (IOCB_CMD_*); of one that is not known uring_other. `flags`:
 * what the request says beside, which tells fsync from fdatasync.
 */
uint32_t request_op(enum call_kind kind, uint8_t opcode, uint32_t flags);
/* Whether the selection takes any request. */
bool requests_selected(const struct ebpf_options *opt);
/* What the object of calls does for requests of libaio: ret[WIRE_AIO_OPS]. */
void requests_of_aio(const struct select *s, struct wire_request_op *ret);
/* Tells the object of io_uring, before it is loaded, which operations are recorded, and how. 0. */
int requests_prepare(struct bpf_object *bpf, const struct ebpf_options *opt);
/* Adds the row of a request. 1: added, 0: the selection left it out; -EBADMSG: malformed. */
int decode_request(struct decode *d, const struct wire_request *w, uint32_t cpu,
		   struct batch_set *out);
struct loaded;
/* Known at the end: submitted and not seen to end; not remembered as there was no room. */
struct requests_missing {
	uint64_t missing, full;
	uint64_t forgotten; /* by requests_forget() */
};

/* The mark "weir.requests", which says of which interfaces requests are recorded. 0 or -ENOMEM. */
int requests_mark(const struct loaded *l, int64_t now, struct batch_set *out);
/*
 * Where very many of libaio have not ended, adds rows for those of processes that are no more, whose results nobody fetches:
 * they make room. 0 or negative.
 */
int requests_forget(const struct loaded *l, struct decode *d, struct batch_set *out,
		    struct requests_missing *m, uint64_t *ret_ops);
/* Adds rows for those that have not ended, and says what is missing. 0 or negative. */
int requests_end(const struct loaded *l, struct decode *d, struct batch_set *out,
		 struct requests_missing *m, uint64_t *ret_ops);
/* Whether the kernel lets requests of a kind be seen. */
bool requests_seen(const struct loaded *l, enum call_kind kind);
