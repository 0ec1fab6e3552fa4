/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_end.h: the state of a recording's file: reported while it is written, repaired and summarized at the end.
 * Only for `weir record`.
 */
#pragma once

#include "record/record.h"

/* The part of the file's state that was reported to the user. */
struct record_told {
	enum store_fate fate;
	bool changed;
};

/* Reports on standard error that the file was deleted, renamed, cut, ..., once per change. */
void record_tell(struct record_told *told, const char *path, const struct record_totals *t);

/* How a recording ended. */
struct record_end {
	const char *path;  /* as given by the user */
	const char *found; /* where the trace is; NULL: it is gone */
	char *saved;	   /* a copy made of a file without a name */
	struct store_place place;
	uint64_t calls;	    /* readable calls of the trace */
	uint64_t missing;   /* calls that were written but cannot be read */
	bool more;	    /* an uncounted number of calls may be missing */
	struct error error; /* the reason for exit status 1; code 0: none */
};

/*
 * Finds the file that `fd` has open, saves a copy if it has no name any more, and reads it back if something went
 * wrong. `failed`: why recording or closing failed, code 0 if it did not.
 */
void record_end(struct record_end *ret, int fd, const char *path, const struct record_totals *t,
		const struct error *failed);
void record_end_free(struct record_end *e);
