/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: a recording session: source -> enrich -> sinks, with stop conditions. Shared by the
 * commands that record (record, trace, stat, top) and later by the agent. May use capture, enrich,
 * store. Never prints.
 */
#pragma once

#include <sys/types.h>

#include "base/clock.h"
#include "capture/source.h"
#include "enrich/enrich.h"
#include "privilege/privilege.h"
#include "query/eval/eval_rows.h"
#include "store/store.h"

/* Who takes the finished rows. Called in order, from the session's thread. */
struct record_sink {
	int (*take)(void *arg, const struct batch_set *rows, const struct dims *dims,
		    struct error *err);
	void *arg;
};

/* ---- the command that a session starts ---- */

struct record_command {
	char *const *argv;
	const struct privilege_user *user; /* -u; NULL: as the caller is */
};

/*
 * The command is forked before the source is made (which then selects its pid) and waits at the
 * door of exec until record_run() lets it go, so that its first call is seen. Where the recorder
 * dies meanwhile it ends unrun.
 */
struct record_child {
	pid_t pid; /* 0: none */
	int go_fd; /* a byte here lets it exec; closing it without one ends it; -1: it has been let
		      go */
	int result_fd; /* the errno of a failed exec; end of file: it runs */
	char *path;    /* what it executes */
	const struct record_command *command;
};

#define RECORD_CHILD_NONE ((struct record_child){.go_fd = -1, .result_fd = -1})

/*
 * Looks the command up as execvp() would and forks. An error says what is wrong with it (no such
 * command, a folder, not executable, not allowed to become that user). `cmd` must live as long as
 * the child.
 */
int record_child_new(struct record_child *ret, const struct record_command *cmd, struct error *err);
/* Ends a child that was not let go; one that runs is left alone. */
void record_child_free(struct record_child *c);

/* Bytes of memory that the control groups of this process allow, the least of them; UINT64_MAX: no limit. */
uint64_t record_memory_limit(void);

/* ---- the session ---- */

struct record_totals;

/* Filled by the caller's signal handler; the session reads it. */
struct record_signals {
	volatile int count;	/* SIGINT and SIGTERM so far */
	volatile int number;	/* the last one */
	volatile int by_kernel; /* it came from the terminal, so that the command has it too */
};

struct record_mark {
	const char *name, *text;
};

#define RECORD_TICK_NS	   (200 * NSEC_PER_MSEC) /* so often blocks are committed */
#define RECORD_TICK_MIN_NS (20 * NSEC_PER_MSEC)	 /* how long one read of the source waits */

/* A recording in several files, of which the oldest are removed: BASE.1, BASE.2, ... */
struct record_rotation {
	const char *base;
	uint64_t
		size; /* the next file begins when one has about so many bytes; 0: whatever its size */
	int64_t every_ns; /* or is so old; 0: whatever its age */
	uint64_t keep;	  /* so many files are kept, with the one that is written; 0: all */
};

struct record_options {
	struct record_child *child; /* NULL: none */
	int64_t duration_ns;	    /* stop after; 0: no limit */
	uint64_t size_max;	    /* stop when the trace has this many bytes; 0: no limit */
	bool stop_with_targets; /* stop when every selected process has ended (needs targets_gone)
				 */
	const struct record_sink *sinks;
	size_t sink_count;
	struct store_writer *store; /* NULL: no file */
	const struct record_rotation
		*rotation; /* NULL: one file; the store was created as its first, with `parts` */
	struct enrich
		*enrich; /* the caller's, whose names outlive the session; NULL: one of its own */
	const struct record_mark
		*marks; /* written at the start, beside weir.version and weir.command */
	size_t mark_count;
	const struct expr *where; /* rows of op for which it is not true are left out; NULL: none */
	bool no_argv;		  /* keep the command's arguments out of weir.command */
	bool keep_secrets; /* arguments that look like passwords are not masked (enrich/secret.h) */
	/* Called once recording has begun: what could not be had is known. NULL: nobody. */
	void (*begun)(void *arg);
	void *begun_arg;
	/* Called with the totals every RECORD_TICK_NS, but for the wait of one read of the source;
	 * nonzero stops the session. */
	int (*tick)(void *arg, const struct record_totals *totals);
	void *tick_arg;
	int64_t every_ns; /* ticks are as much shorter as it takes to meet the multiples of it; 0: they are not */
	/*
	 * Signals: without a command the first one stops the session cleanly. With one, the first
	 * is passed on to it (unless the terminal did) and recording goes on until the command has
	 * ended; the second stops the session.
	 */
	const struct record_signals *signals;
	/* What the source offers beside its contract (ebpf_source_targets_gone); NULL: nothing. */
	bool (*targets_gone)(struct source *s);
	/* ebpf_source_shared_signal: the command has the signal by itself; NULL: it has what comes from the terminal. */
	bool (*shared_signal)(struct source *s, int number);
};

struct record_totals {
	struct source_stats source;
	struct store_stats store;
	int64_t now; /* ns since the epoch */
	int64_t ran_ns; /* for how long was recorded: since the command was let go, or all was attached */
	int64_t cpu_ns;		  /* CPU time of the recorder so far */
	uint64_t left_out;	  /* calls that `where` left out here; the source counts its own */
	uint64_t masked;	  /* arguments that look like secrets */
	bool disk_full;		  /* the store refused rows; they are counted in its stats */
	struct store_place place; /* what became of the trace's file, looked at once a second */
	bool command_ended;
	int command_status;	 /* wait status */
	int32_t command_pid;	 /* 0: none */
	const char *why_stopped; /* "the command ended", "interrupted", "duration", "size", "targets
				    ended", ... */
};

/* True where the numbers of the records prove that nothing was lost, and the trace took it all. */
bool record_gap_free(const struct record_totals *t);

/* Runs a session to its end. The source is started and stopped here; the store is flushed, not
 * closed. */
int record_run(struct source *source, const struct record_options *opt, struct record_totals *ret,
	       struct error *err);
