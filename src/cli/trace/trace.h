/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: shared by the files of `weir trace`. Not for other commands. */
#pragma once

#include <stdio.h>

#include "sums/rollup.h"
#include "base/buf.h"
#include "cli/options/shared.h"
#include "cli/trace/trace_beside.h"
#include "cli/trace/trace_held.h"

struct trace_opts {
	struct record_flags rec;
	struct option_list inputs; /* -i */
	struct option_list hosts;
	const char *from, *to;
	const char *output;
	bool relative; /* -r */
	bool summary;  /* -c */
	bool utc, rel;
	int64_t string_bytes; /* -s */
	bool stacks;	      /* -k */
	bool lossless, keep_secrets;
	int64_t duration_ns;
};

enum trace_times {
	TRACE_CLOCK,  /* 09:55:02.114000 */
	TRACE_EPOCH,  /* 1795254902.114000, -ttt */
	TRACE_DELTA,  /* seconds since the previous line, -r */
	TRACE_ORIGIN, /* seconds since the start of the trace, --rel */
};

/* Writes each thread's lines to a separate file. The prefix is borrowed. */
struct trace_files;
int trace_files_new(struct trace_files **ret, const char *prefix) _must_check_;
/* These return only that something failed; trace_files_close() returns the reason. */
int trace_files_line(struct trace_files *f, int64_t tid, struct bytes line);
int trace_files_flush(struct trace_files *f);
/* Flushes the files. 0, or the error of the first file that failed. */
int trace_files_close(struct trace_files *f, struct error *err);
void trace_files_free(struct trace_files *f);
DEFINE_CLEANUP(struct trace_files *, trace_files_free)

/* The destination and form of lines. */
struct trace_out {
	FILE *file;
	struct trace_files *files; /* -ff: files for the lines of threads; else NULL */
	enum trace_times times;
	bool utc, colour;
	bool phases;   /* end each line with where the time went */
	bool stacks;   /* follow each line with the functions that led to the call */
	bool by_start; /* order by start, else by end */
	bool detailed; /* details of calls were recorded */
	unsigned int content_max;
	int64_t one_tid; /* the tid of all lines so far; -1: none, -2: there are several threads */
	int64_t origin,
		before; /* start of the trace, and of the previous line; INT64_MIN: none yet */
	struct rollup *rollup; /* -c: sums in place of lines; else NULL */
	struct map ended;      /* processes whose end was printed */
	bool only_shown;       /* print the end only of processes that had a line */
	struct map shown;      /* these processes */
	struct buf line;
	struct held_lines held;
};

/* Lines go to `file` until trace_out_begin() opens the file of -o, with weir's privileges at that time. */
int trace_out_open(struct trace_out *t, const struct trace_opts *o, FILE *file);
int trace_out_begin(struct trace_out *t, const struct trace_opts *o, struct error *err);
/* Flushes the output, so that other programs see it. */
int trace_out_flush(struct trace_out *t);
void trace_out_close(struct trace_out *t);
/* Announces a thread that has or will have lines: if there are several, each line names its thread. */
void trace_thread(struct trace_out *t, int64_t tid);
/* Each function adds a line, which trace_release() prints. 0 or negative. `beside` may be NULL. */
int trace_call(struct trace_out *t, const struct batch *op, size_t row,
	       const struct trace_beside *beside, const struct dims *dims);
/* "--- SIGCHLD {si_signo=SIGCHLD, ...} ---" */
int trace_signal(struct trace_out *t, const struct batch *signal, size_t row,
		 const struct dims *dims);
/* " > /lib/libc.so.6(read+0x14)", a line per function of a stack, innermost first; nothing if there is no stack. */
int trace_put_stack(struct buf *to, const struct dims *dims, int64_t stack_id);
/* Prints the lines whose turn comes before `until`, in order. */
int trace_release(struct trace_out *t, int64_t until);
/* "... still in read(3</path>) 1.0 s": a call that has run for `ns` so far. */
int trace_still(struct trace_out *t, int64_t tid, struct bytes comm, struct bytes call, int64_t ns);
/* "--- missing: ring_full 1,234 ---": all rows of a batch of the table loss, in one line. */
int trace_loss(struct trace_out *t, const struct batch *loss);
/* "+++ exited with 0 +++", once per process. */
int trace_process(struct trace_out *t, const struct batch *process, size_t row);
/* The same for a process of a trace. */
int trace_ended(struct trace_out *t, int64_t process_id, const struct dims *dims);
/* Prints the table of strace -c, in elapsed time. */
int trace_summary(struct trace_out *t);

/*
 * Prints the lines of a stored trace, in the order in which the calls began. 0, -EINVAL for wrong usage, or another
 * negative errno.
 */
int trace_stored(const struct trace_opts *o, int argc, char **argv, struct trace_out *t,
		 struct error *err);
/* Prints lines as calls happen. Returns the exit status, or negative. */
int trace_live(const struct trace_opts *o, int argc, char **argv, struct trace_out *t,
	       struct error *err);

/* Finds calls that have been running for a second or more, by reading /proc/TID/syscall. */
struct trace_running;
int trace_running_new(struct trace_running **ret) _must_check_;
void trace_running_free(struct trace_running *r);
DEFINE_CLEANUP(struct trace_running *, trace_running_free)
/* Adds a process whose threads, and whose children's, are watched even if they have made no call yet. */
void trace_running_add(struct trace_running *r, int32_t pid);
/* Notes that a call of the thread ended: its current call began later. */
void trace_running_ended(struct trace_running *r, const struct batch *op, size_t row);
/* Examines the threads (at most every 150 ms) and prints the lines that are due. */
int trace_running_look(struct trace_running *r, const struct dims *dims, const struct select *s,
		       struct trace_out *t);
