/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content.h: records of content (bpf/content.bpf.c, schema/wire_content.h) become rows of table chunk. They come before the
 * record of their call, and say what became of its bytes; what of those is missing when the call comes was lost on the way, or is
 * of a call whose bytes the kernel programs cannot see. So the sizes of the rows that have an outcome add up to op.bytes.
 */
#pragma once

#include <bpf/libbpf.h>

#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/load/objects.h"
#include "schema/wire_content.h"

/* Tells the object of content, before it is loaded, what to record of which calls. 0. */
int content_prepare(struct bpf_object *bpf, const struct ebpf_options *opt);
/* The same of any object that reads content: which form it has. */
int content_prepare_how(struct bpf_object *bpf, const struct ebpf_options *opt);
/*
 * Finds out where the kernel has its tables of pages, by a file of which the content is known. Where that fails what calls move
 * within the kernel is absent. Before recording begins, as root.
 */
void content_find_pages(const struct objects *o);
/* What is kept of threads between their records. 0 or -ENOMEM. */
int contents_new(struct contents **ret, const struct wire_content_how *how);
void contents_free(struct contents *c);
/* Adds what is left of cuts as recording ends. 0 or -ENOMEM. */
int contents_end(struct decode *d, struct batch_set *out);
/* Adds the rows of a record. 0, -ENOMEM or -EBADMSG. */
int decode_content(struct decode *d, const struct wire_content *w, struct batch_set *out);
/* A call has come that moved so many bytes: adds a row for those of which nothing came. file: its key, -1: none. */
int decode_content_rest(struct decode *d, const struct wire_op *w, int64_t file, uint64_t moved,
			struct batch_set *out);
/* Adds a row for bytes that something other than a call moved, of which no record came. */
struct content_unseen {
	uint64_t start, end; /* of the monotonic clock; start 0: not known */
	uint64_t file;	     /* file number; 0: none */
	int64_t pos;	     /* WIRE_NONE */
	uint64_t bytes;
	uint32_t thread, op;
	uint64_t done; /* bytes before them */
	bool lost;     /* there was no room for records */
};
int decode_content_unseen(struct decode *d, const struct content_unseen *u, struct batch_set *out);

/* ---- rows ---- */

#define NO_OUTCOME (-1)

struct chunk_row {
	int64_t pos, call_pos, size;
	enum chunk_form form;
	int64_t outcome;      /* NO_OUTCOME: other rows say what became of the bytes */
	const uint64_t *hash; /* NULL: none */
	struct bytes head, tail, content;
};

/* Adds a row about bytes of a record's call. 0 or -ENOMEM. */
int content_row(struct decode *d, const struct wire_content *w, const struct chunk_row *c,
		struct batch_set *out);
