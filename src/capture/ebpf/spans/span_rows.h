/* SPDX-License-Identifier: Apache-2.0 */
/* span_rows.h: open spans, and the rows that they become. */
#pragma once

#include "batch/batch.h"
#include "capture/ebpf/spans/span_events.h"
#include "schema/vocab.h"

#define SPAN_ATTRIBUTES_MAX	  64	      /* per span; further notes only have rows of `note` */
#define SPAN_ATTRIBUTES_LEN	  8192	      /* bytes per span */
#define SPAN_ATTRIBUTES_BYTES_MAX (64u << 20) /* all open spans together */
#define SPAN_NUMBERS_MAX	  200000 /* ended spans that a later one can refer to as its parent */
#define BLKIN_IDLE_NS		  (2 * NSEC_PER_SEC) /* without an annotation: it is considered ended */

struct open_span {
	uint64_t process, key;		 /* span_process.number; key in span_rows.open */
	struct open_span *older, *newer; /* for BlkKin: ordered by the last annotation */
	uint64_t number, span, parent, trace[2];
	int64_t start, last; /* monotonic; last: BlkKin's last annotation */
	int64_t thread;	     /* version; -1: unknown */
	uint8_t kind, source;
	bool left_out; /* attributes are incomplete */
	struct buf attributes;
	size_t attribute_count;
	uint16_t name_len, service_len;
	char text[]; /* name, service */
};

struct span_rows {
	struct map open; /* by hash of (process, source, trace, id) -> struct open_span */
	struct open_span *oldest, *newest; /* for BlkKin */
	struct map per_process;		   /* span_process.number -> number of open spans */
	struct recent numbers; /* hash of (trace, id), for libweir-span also of the id -> number */
	uint64_t next_number;
	uint64_t stacks, stack_ids; /* numbers of those created by span_stack.h */
	size_t attribute_bytes;	    /* of all open spans */
	uint64_t refused; /* began when SPANS_OPEN_MAX were open, or with the hash of an open one */
};

void span_rows_init(struct span_rows *s);
void span_rows_free(struct span_rows *s);
/* Processes an event of a process, by a version of a thread (-1: unknown), into a span and rows. offset: wall minus
 * monotonic time. */
int span_rows_event(struct span_rows *s, const struct span_process *p, const struct span_event *e,
		    int64_t thread, int64_t offset, struct batch_set *out) _must_check_;
/* Adds rows for the open spans of a process (0: of all), as `status`: SPAN_STATUS_RUNNING, or SPAN_STATUS_CUT at a
 * time. BlkKin's spans end with their last annotation. */
int span_rows_close(struct span_rows *s, const struct span_process *p, enum span_status status,
		    int64_t time, int64_t offset, struct batch_set *out) _must_check_;
/* Adds rows for BlkKin's spans without recent annotations. */
int span_rows_idle(struct span_rows *s, int64_t now, int64_t offset,
		   struct batch_set *out) _must_check_;
