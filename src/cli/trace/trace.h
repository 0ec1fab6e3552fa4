/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h: what the files of `weir trace` share. Not for other commands. */
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
	TRACE_DELTA,  /* seconds since the line before, -r */
	TRACE_ORIGIN, /* seconds since the start of the trace, --rel */
};

/* A file for each thread's lines. The prefix is borrowed. */
struct trace_files;
int trace_files_new(struct trace_files **ret, const char *prefix) _must_check_;
/* These return only that something failed; trace_files_close() has the reason. */
int trace_files_line(struct trace_files *f, int64_t tid, struct bytes line);
int trace_files_flush(struct trace_files *f);
/* Writes out what is left. 0, or the error of the first file that failed. */
int trace_files_close(struct trace_files *f, struct error *err);
void trace_files_free(struct trace_files *f);
DEFINE_CLEANUP(struct trace_files *, trace_files_free)

/* Where lines go, and how they look. */
struct trace_out {
	FILE *file;
	struct trace_files *files; /* -ff: lines of threads go there; else NULL */
	enum trace_times times;
	bool utc, colour;
	bool phases;   /* each line ends with where the time went */
	bool stacks;   /* each is followed by the functions that led to the call */
	bool by_start; /* in the order in which calls began, else in that of their ends */
	bool detailed; /* details of calls were recorded */
	unsigned int content_max;
	int64_t one_tid;	/* of all lines so far; -1: none, -2: there are several threads */
	int64_t origin, before; /* starts: of the trace, of the line before; INT64_MIN: none yet */
	struct rollup *rollup;	/* -c: sums instead of lines; else NULL */
	struct map ended;	/* processes whose end was said */
	bool only_shown;	/* the end of no other process than those that had a line */
	struct map shown;	/* these */
	struct buf line;
	struct held_lines held;
};

/* Lines go to `file`, until trace_out_begin() opens that of -o, with the rights that weir has by then. */
int trace_out_open(struct trace_out *t, const struct trace_opts *o, FILE *file);
int trace_out_begin(struct trace_out *t, const struct trace_opts *o, struct error *err);
/* What was printed is seen by others from now on. */
int trace_out_flush(struct trace_out *t);
void trace_out_close(struct trace_out *t);
/* A thread that has lines, or will have: where there are several each line names its own. */
void trace_thread(struct trace_out *t, int64_t tid);
/* Each makes a line, which trace_release() prints. 0 or negative. `beside` may be NULL. */
int trace_call(struct trace_out *t, const struct batch *op, size_t row,
	       const struct trace_beside *beside, const struct dims *dims);
/* "--- SIGCHLD {si_signo=SIGCHLD, ...} ---" */
int trace_signal(struct trace_out *t, const struct batch *signal, size_t row,
		 const struct dims *dims);
/* " > /lib/libc.so.6(read+0x14)", a line for each function of a stack, the innermost first; nothing where there is none. */
int trace_put_stack(struct buf *to, const struct dims *dims, int64_t stack_id);
/* Prints the lines whose turn comes before `until`, in order. */
int trace_release(struct trace_out *t, int64_t until);
/* "... still in read(3</path>) 1.0 s": a call of `ns` so far. */
int trace_still(struct trace_out *t, int64_t tid, struct bytes comm, struct bytes call, int64_t ns);
/* "--- missing: ring_full 1,234 ---": all rows of a batch of the table loss in one line. */
int trace_loss(struct trace_out *t, const struct batch *loss);
/* "+++ exited with 0 +++", once per process. */
int trace_process(struct trace_out *t, const struct batch *process, size_t row);
/* The same of a process of a trace. */
int trace_ended(struct trace_out *t, int64_t process_id, const struct dims *dims);
/* The table of strace -c, of wall time. */
int trace_summary(struct trace_out *t);

/* Lines of a stored trace, in the order in which the calls began. 0, -EINVAL for wrong usage, or another
 * negative errno. */
int trace_stored(const struct trace_opts *o, int argc, char **argv, struct trace_out *t,
		 struct error *err);
/* Lines as they happen. The exit status, or negative. */
int trace_live(const struct trace_opts *o, int argc, char **argv, struct trace_out *t,
	       struct error *err);

/* Calls that have been running for a second or more, found by looking at /proc/TID/syscall. */
struct trace_running;
int trace_running_new(struct trace_running **ret) _must_check_;
void trace_running_free(struct trace_running *r);
DEFINE_CLEANUP(struct trace_running *, trace_running_free)
/* A process whose threads, and whose children's, are looked at even if they have made no call yet.
 */
void trace_running_add(struct trace_running *r, int32_t pid);
/* A call of the thread ended: what it is in now began later. */
int trace_running_ended(struct trace_running *r, const struct batch *op, size_t row);
/* Looks at the threads (at most every 150 ms) and prints what is due. */
int trace_running_look(struct trace_running *r, const struct dims *dims, const struct select *s,
		       struct trace_out *t);
