/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: a recording session: source -> enrich -> sinks, with stop conditions. Shared by the commands that record
 * (record, trace, stat, top). May use capture, enrich, store. Never prints.
 */
#pragma once

#include <sys/types.h>

#include "base/clock.h"
#include "capture/source.h"
#include "enrich/enrich.h"
#include "privilege/privilege.h"
#include "query/eval/eval_rows.h"
#include "store/store.h"

/* Receives the finished rows. Called in order, from the session's thread. */
struct record_sink {
	int (*take)(void *arg, const struct batch_set *rows, const struct dims *dims,
		    struct error *err);
	void *arg;
};

/* ---- the command that a session starts ---- */

struct record_command {
	char *const *argv;
	const struct privilege_user *user; /* -u; NULL: the caller's */
};

/*
 * The command is forked before the source is created (which then selects its pid) and waits before its exec until
 * record_run() releases it, so that its first call is recorded. If the recorder dies before that, the command does not
 * run.
 */
struct record_child {
	pid_t pid; /* 0: none */
	int go_fd; /* a byte releases it to exec; closing it without one ends it; -1: released */
	int result_fd; /* the errno of a failed exec; end of file: it is running */
	char *path;    /* the executable */
	const struct record_command *command;
};

#define RECORD_CHILD_NONE ((struct record_child){.go_fd = -1, .result_fd = -1})

/*
 * Looks up the command like execvp() and forks. An error states what is wrong (no such command, a folder, not
 * executable, not allowed to become that user). `cmd` must live as long as the child.
 */
int record_child_new(struct record_child *ret, const struct record_command *cmd, struct error *err);
/* Ends a child that was not released; a running one is left alone. */
void record_child_free(struct record_child *c);

/* The smallest memory limit, in bytes, of this process's control groups; UINT64_MAX: none. */
uint64_t record_memory_limit(void);

/* ---- the session ---- */

struct record_totals;

/* Filled by the caller's signal handler; the session reads it. */
struct record_signals {
	volatile int count;	/* SIGINT and SIGTERM so far */
	volatile int number;	/* the last one */
	volatile int by_kernel; /* sent by the terminal, and therefore also to the command */
};

struct record_mark {
	const char *name, *text;
};

#define RECORD_TICK_NS	   (200 * NSEC_PER_MSEC) /* interval at which blocks are committed */
#define RECORD_TICK_MIN_NS (20 * NSEC_PER_MSEC)	 /* timeout of one read of the source */

/* A recording in several files, BASE.1, BASE.2, ..., of which the oldest are removed. */
struct record_rotation {
	const char *base;
	uint64_t size;	  /* the next file begins at about this many bytes; 0: no limit */
	int64_t every_ns; /* or at this age; 0: no limit */
	uint64_t keep;	  /* number of files kept, including the current one; 0: all */
};

/* The name of one of its files, for the caller to free. 0 or -ENOMEM. */
int record_part_name(const char *base, uint64_t number, char **ret) _must_check_;

struct record_options {
	struct record_child *child; /* NULL: none */
	int64_t duration_ns;	    /* stop after; 0: no limit */
	uint64_t size_max;	    /* stop at this size of the trace, in bytes; 0: no limit */
	bool stop_with_targets; /* stop when every selected process has ended (needs targets_gone)
				 */
	const struct record_sink *sinks;
	size_t sink_count;
	struct store_writer *store; /* NULL: no file */
	const struct record_rotation
		*rotation;     /* NULL: one file; else the store is its first, with `parts` */
	struct enrich *enrich; /* the caller's, whose names outlive the session; NULL: its own */
	const struct record_mark
		*marks; /* written at the start, with weir.version and weir.command */
	size_t mark_count;
	const struct expr *where; /* rows of op for which it is not true are dropped; NULL: none */
	bool no_argv;		  /* omit the command's arguments from weir.command */
	bool keep_secrets; /* arguments that look like passwords are not masked (enrich/secret.h) */
	/* Called once recording has begun, when it is known what is unavailable. May be NULL. */
	void (*begun)(void *arg);
	void *begun_arg;
	/* Called with the totals every RECORD_TICK_NS, plus at most one read of the source; nonzero stops the session. */
	int (*tick)(void *arg, const struct record_totals *totals);
	void *tick_arg;
	int64_t every_ns; /* ticks are shortened to meet multiples of it; 0: not aligned */
	/*
	 * Signals: without a command the first one stops the session cleanly. With a command, the first is forwarded to
	 * it (unless the terminal sent it there) and recording continues until the command has ended; the second stops
	 * the session.
	 */
	const struct record_signals *signals;
	/* A feature of the source beyond its contract (ebpf_source_targets_gone); NULL: not available. */
	bool (*targets_gone)(struct source *s);
	/* ebpf_source_shared_signal: the command received the signal itself; NULL: it receives those of the terminal. */
	bool (*shared_signal)(struct source *s, int number);
};

struct record_totals {
	struct source_stats source;
	struct store_stats store;
	int64_t now;	   /* ns since the epoch */
	int64_t ran_ns;	   /* recording time: since the command was released, or all was attached */
	int64_t cpu_ns;	   /* CPU time of the recorder so far */
	uint64_t left_out; /* calls that `where` dropped here; the source counts its own */
	uint64_t masked;   /* arguments that look like secrets */
	bool disk_full;	   /* the store refused rows; they are counted in its stats */
	struct store_place place; /* the state of the trace's file, checked once a second */
	bool command_ended;
	int command_status;	 /* wait status */
	int32_t command_pid;	 /* 0: none */
	const char *why_stopped; /* "the command ended", "interrupted", "duration", "size", "targets
				  ended", ... */
};

/* True if the numbers of the records prove that nothing was lost, and the trace contains all of it. */
bool record_gap_free(const struct record_totals *t);

/* Runs a session to its end. Starts and stops the source; the store is flushed, not closed. */
int record_run(struct source *source, const struct record_options *opt, struct record_totals *ret,
	       struct error *err);
