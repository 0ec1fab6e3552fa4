/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_end.h: what became of the file of a recording: told while it is written, put right at the end, and summed up.
 * Only for `weir record`.
 */
#pragma once

#include "record/record.h"

/* What of the file's state the user has been told. */
struct record_told {
	enum store_fate fate;
	bool changed;
};

/* Says on standard error that the file was deleted, renamed, cut, ..., once for each change. */
void record_tell(struct record_told *told, const char *path, const struct record_totals *t);

/* How a recording ended. */
struct record_end {
	const char *path;  /* as it was given */
	const char *found; /* where the trace is; NULL: it is gone */
	char *saved;	   /* a copy that was made of a file without a name */
	struct store_place place;
	uint64_t calls;	    /* in the trace that can be read */
	uint64_t missing;   /* calls that were written and cannot be read */
	bool more;	    /* calls may be missing that nobody counted */
	struct error error; /* why the exit status is 1; code 0: it is not */
};

/*
 * Looks where the file is that `fd` has open, saves it where it has no name any more, and reads it back where something
 * went wrong. `failed`: why recording or closing failed, code 0 where it did not.
 */
void record_end(struct record_end *ret, int fd, const char *path, const struct record_totals *t,
		const struct error *failed);
void record_end_free(struct record_end *e);
