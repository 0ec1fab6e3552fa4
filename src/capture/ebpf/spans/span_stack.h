/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_stack.h: nested spans of a process or a thread: an end closes the innermost one with its key, and cuts those
 * that began in it. For programs without span ids: markers.h, probe_rows.h.
 */
#pragma once

#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/spans/span_rows.h"
#include "schema/vocab.h"

#define SPAN_STACK_MAX 1024 /* open at once; further ones are counted */

struct span_stack_open {
	uint64_t span;	  /* its id */
	uint64_t key, at; /* set by the caller: what it is, and where */
};

struct span_stack {
	struct span_process as; /* required by span_rows.h: pid, process_start, number, source */
	uint64_t trace[2];	/* of the outermost span, and thus of all */
	size_t count, cap;
	size_t beyond; /* number begun at SPAN_STACK_MAX, whose ends are pending */
	struct span_stack_open *open;
};

void span_stack_init(struct decode *d, struct span_stack *s, enum span_source source, int32_t pid,
		     uint64_t process_start);
void span_stack_free(struct span_stack *s);
/* Begins a span; thread: version, -1: unknown. 0 or negative. */
int span_stack_begin(struct decode *d, struct span_stack *s, struct span_stack_open what,
		     struct bytes name, int64_t thread, int64_t time, struct batch_set *out);
/* The innermost span with this key and, if at != 0, this place. False: none is open. */
bool span_stack_find(const struct span_stack *s, uint64_t key, uint64_t at, size_t *ret);
/* Ends the span at this index, or cuts it; those within are cut. */
int span_stack_end(struct decode *d, struct span_stack *s, size_t at, bool cut, int64_t thread,
		   int64_t time, struct batch_set *out);
/* Adds a note to the innermost span, or to none if none is open. flags: enum span_flag; integer with SPAN_INTEGER, else
 * value. */
int span_stack_note(struct decode *d, const struct span_stack *s, struct bytes name,
		    struct bytes value, int64_t integer, uint8_t flags, int64_t thread,
		    int64_t time, struct batch_set *out);
/* Adds rows for all open spans, as SPAN_STATUS_CUT or SPAN_STATUS_RUNNING. */
int span_stack_close(struct decode *d, struct span_stack *s, enum span_status status, int64_t time,
		     struct batch_set *out);
