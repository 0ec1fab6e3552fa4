/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_text.h: one row of op as one line of text in strace's spelling, with names from the dimension tables.
 *
 *   openat(AT_FDCWD</tmp>, "x", O_RDONLY|O_CLOEXEC) = 3</tmp/x>
 *   pread64(3</tmp/x>, ..., 4096, 8192) = 4096
 *   read(5<pipe:[4711]>, ..., 64) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)
 *
 * Anything that the trace lacks is "...": buffers and structures are present only if recorded with details (--with
 * details, as `weir trace` does) or content (--content=bytes). Names that programs chose are escaped, so that they
 * cannot send control sequences to a terminal.
 */
#pragma once

#include "base/buf.h"
#include "batch/batch.h"
#include "batch/dims.h"

/* Rows of another table that belong to the call. */
struct call_rows {
	const struct batch *batch;
	const uint32_t *rows;
	size_t count;
};

struct call_text_style {
	bool brief; /* omits buffers, structures and error descriptions; sizes as "1,812 B" */
	unsigned int path_max; /* maximum columns of a name, cut in the middle; 0: unlimited */
	unsigned int align;    /* minimum column of the result; 0: directly after the call */
	bool detailed;	       /* details of calls were recorded: rows of detail, of chunk */
	struct call_rows details, content;
	unsigned int content_max; /* bytes of a buffer; 0: 32 */
};

/* "name(arguments) = result". 0 or -ENOMEM. */
int call_text(struct buf *to, const struct batch *op, size_t row, const struct dims *dims,
	      const struct call_text_style *style);
/* "name(arguments)", for calls that are still running. */
int call_text_entry(struct buf *to, const struct batch *op, size_t row, const struct dims *dims,
		    const struct call_text_style *style);
/* The result alone: "4096", "-1 ENOENT (No such file or directory)", "?". */
int call_text_result(struct buf *to, const struct batch *op, size_t row, const struct dims *dims,
		     const struct call_text_style *style);
/*
 * " ([{fd=3</tmp/p>, revents=POLLIN}])", or " (waited on [{fd=3</tmp/p>, events=POLLIN}, ...])" if none was ready:
 * rows of the table poll, after the result of their call.
 */
int call_text_waited(struct buf *to, const struct call_rows *poll, const struct dims *dims);
/*
 * " (in [3], left {tv_sec=0, tv_usec=998})": the values that the call returned through its arguments, if details were
 * recorded.
 */
int call_text_returned(struct buf *to, const struct batch *op, size_t row, const struct dims *dims,
		       const struct call_text_style *style);
/* "SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, ...}": a row of the table signal. */
int call_text_signal(struct buf *to, const struct batch *signal, size_t row);
/*
 * Escapes text like a string in strace:
 * , \t, octal for control bytes, invalid UTF-8, and characters that change text direction or are invisible; also for
 * those in `also` ("<>" in descriptors, "\"" in quotes).
 */
int call_text_escape(struct buf *to, struct bytes text, const char *also);
/* The same for binary data: octal for all bytes that are not ASCII. */
int call_text_escape_bytes(struct buf *to, struct bytes text);
