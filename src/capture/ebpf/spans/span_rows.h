/* SPDX-License-Identifier: Apache-2.0 */
/* span_rows.h: spans that are open, and the rows that they become. */
#pragma once

#include "batch/batch.h"
#include "capture/ebpf/spans/span_events.h"
#include "schema/vocab.h"

#define SPAN_ATTRIBUTES_MAX	  64   /* of a span; its further notes have rows of `note` alone */
#define SPAN_ATTRIBUTES_LEN	  8192 /* bytes of them */
#define SPAN_ATTRIBUTES_BYTES_MAX (64u << 20) /* of all open spans */
#define SPAN_NUMBERS_MAX \
	200000 /* spans that a later one can name as its parent, beside those that are open */
#define BLKIN_IDLE_NS (2 * NSEC_PER_SEC) /* without an annotation: it has ended */

struct open_span {
	uint64_t process, key;		 /* span_process.number; in span_rows.open */
	struct open_span *older, *newer; /* of BlkKin's: by their last annotation */
	uint64_t number, span, parent, trace[2];
	int64_t start, last; /* monotonic; last: of the last annotation of BlkKin's */
	int64_t thread;	     /* version; -1: not known */
	uint8_t kind, source;
	bool left_out; /* attributes are missing */
	struct buf attributes;
	size_t attribute_count;
	uint16_t name_len, service_len;
	char text[]; /* name, service */
};

struct span_rows {
	struct map open; /* by hash of (process, source, trace, id) -> struct open_span */
	struct open_span *oldest, *newest; /* of BlkKin's */
	struct map per_process;		   /* span_process.number -> how many are open */
	struct recent numbers; /* hash of (trace, id), of libweir-span's the id too -> number */
	uint64_t next_number;
	uint64_t stacks, stack_ids; /* how many span_stack.h made */
	size_t attribute_bytes;	    /* of all open spans */
	uint64_t
		refused; /* that began when SPANS_OPEN_MAX were open, or with the hash of an open one */
};

void span_rows_init(struct span_rows *s);
void span_rows_free(struct span_rows *s);
/* An event of a process, by a version of a thread (-1: not known), becomes part of a span, and rows. offset: wall minus
 * monotonic time. */
int span_rows_event(struct span_rows *s, const struct span_process *p, const struct span_event *e,
		    int64_t thread, int64_t offset, struct batch_set *out) _must_check_;
/* Rows for what is open of a process (0: of all), as `status`: SPAN_STATUS_RUNNING, or SPAN_STATUS_CUT at a time. Spans of
 * BlkKin end with their last annotation. */
int span_rows_close(struct span_rows *s, const struct span_process *p, enum span_status status,
		    int64_t time, int64_t offset, struct batch_set *out) _must_check_;
/* Rows for spans of BlkKin to which nothing was added for a while. */
int span_rows_idle(struct span_rows *s, int64_t now, int64_t offset,
		   struct batch_set *out) _must_check_;
