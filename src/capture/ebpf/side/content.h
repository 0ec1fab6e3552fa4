/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content.h: turns content records (bpf/content.bpf.c, schema/wire_content.h) into rows of table chunk. They precede
 * the record of their call and describe the outcome of its bytes; bytes not described when the call arrives were lost
 * on the way, or belong to a call whose bytes the kernel programs cannot see. So the sizes of the rows with an outcome
 * add up to op.bytes.
 */
#pragma once

#include <bpf/libbpf.h>

#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/load/objects.h"
#include "schema/wire_content.h"

/* Sets in the content object, before it is loaded, what to record of which calls. 0. */
int content_prepare(struct bpf_object *bpf, const struct ebpf_options *opt);
/* The same for any other object: only the mode, if it reads content. */
int content_prepare_how(struct bpf_object *bpf, const struct ebpf_options *opt);
/*
 * Finds the kernel's tables of pages by means of a file with known content. If this fails, bytes moved within the
 * kernel are absent. Call before recording begins, as root.
 */
void content_find_pages(const struct objects *o);
/* Per-thread state between records. 0 or -ENOMEM. */
int contents_new(struct contents **ret, const struct wire_content_how *how);
void contents_free(struct contents *c);
/* Adds the remaining cuts at the end of recording. 0 or -ENOMEM. */
int contents_end(struct decode *d, struct batch_set *out);
/* Adds the rows of a record. 0, -ENOMEM or -EBADMSG. */
int decode_content(struct decode *d, const struct wire_content *w, struct batch_set *out);
/* A call that moved so many bytes has arrived: adds a row for those without a record. file: its key, -1: none. */
int decode_content_rest(struct decode *d, const struct wire_op *w, int64_t file, uint64_t moved,
			struct batch_set *out);
/* Adds a row for bytes that were moved other than by a call, and of which no record came. */
struct content_unseen {
	uint64_t start, end; /* on the monotonic clock; start 0: unknown */
	uint64_t file;	     /* file number; 0: none */
	int64_t pos;	     /* WIRE_NONE */
	uint64_t bytes;
	uint32_t thread, op;
	uint64_t done; /* bytes before these */
	bool lost;     /* its records found no room */
};
int decode_content_unseen(struct decode *d, const struct content_unseen *u, struct batch_set *out);

/* ---- rows ---- */

#define NO_OUTCOME (-1)

struct chunk_row {
	int64_t pos, call_pos, size;
	enum chunk_form form;
	int64_t outcome;      /* NO_OUTCOME: other rows describe the outcome of the bytes */
	const uint64_t *hash; /* NULL: none */
	struct bytes head, tail, content;
	int64_t peer; /* key of the message's address; 0: none */
};

/* Adds a row about bytes of a record's call. 0 or -ENOMEM. */
int content_row(struct decode *d, const struct wire_content *w, const struct chunk_row *c,
		struct batch_set *out);
