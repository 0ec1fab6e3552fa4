/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_stack.h: spans that nest, of a process or a thread: an end closes the innermost one of its key, and cuts those that began
 * in it. For spans whose program has no ids for them: markers.h, probe_rows.h.
 */
#pragma once

#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/spans/span_rows.h"
#include "schema/vocab.h"

#define SPAN_STACK_MAX 1024 /* open at once; what begins beyond is counted */

struct span_stack_open {
	uint64_t span;	  /* its id */
	uint64_t key, at; /* the caller's: what it is, and where */
};

struct span_stack {
	struct span_process
		as;	   /* what span_rows.h needs of it: pid, process_start, number, source */
	uint64_t trace[2]; /* of the outermost span, and so of all */
	size_t count, cap;
	size_t beyond; /* how many began with SPAN_STACK_MAX open, whose ends are to come */
	struct span_stack_open *open;
};

void span_stack_init(struct decode *d, struct span_stack *s, enum span_source source, int32_t pid,
		     uint64_t process_start);
void span_stack_free(struct span_stack *s);
/* A span begins; thread: version, -1: not known. 0 or negative. */
int span_stack_begin(struct decode *d, struct span_stack *s, struct span_stack_open what,
		     struct bytes name, int64_t thread, int64_t time, struct batch_set *out);
/* The innermost one of this key, and with at != 0 of this place. False: none is open. */
bool span_stack_find(const struct span_stack *s, uint64_t key, uint64_t at, size_t *ret);
/* The span at this place ends, or is cut, and those within are cut. */
int span_stack_end(struct decode *d, struct span_stack *s, size_t at, bool cut, int64_t thread,
		   int64_t time, struct batch_set *out);
/* A note of the innermost span; of none where none is open. flags: enum span_flag; integer with SPAN_INTEGER, else value. */
int span_stack_note(struct decode *d, const struct span_stack *s, struct bytes name,
		    struct bytes value, int64_t integer, uint8_t flags, int64_t thread,
		    int64_t time, struct batch_set *out);
/* Rows for all that is open, as SPAN_STATUS_CUT or SPAN_STATUS_RUNNING. */
int span_stack_close(struct decode *d, struct span_stack *s, enum span_status status, int64_t time,
		     struct batch_set *out);
