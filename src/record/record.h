/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: a recording session: source -> enrich -> sinks, with stop conditions. Shared by the commands that
 * record (record, trace, stat, top) and later by the agent. May use capture, enrich, store. Never prints.
 */
#pragma once

#include "capture/source.h"
#include "enrich/enrich.h"
#include "store/store.h"

/* Who takes the finished rows. Called in order, from the session's thread. */
struct record_sink {
	int (*take)(void *arg, const struct batch_set *rows, const struct dims *dims, struct error *err);
	void *arg;
};

struct record_command {
	char *const *argv;   /* NULL: none */
	const char *user;    /* -u, NULL: as the caller is */
	bool hold_cgroup;    /* start it in a cgroup of its own, which --lossless can freeze */
};

struct record_totals;

struct record_options {
	struct record_command command;
	int64_t duration_ns;   /* stop after; 0: no limit */
	uint64_t size_max;     /* stop when the trace has this many bytes; 0: no limit */
	bool stop_with_targets; /* stop when every selected process has ended */
	const struct record_sink *sinks;
	size_t sink_count;
	struct store_writer *store; /* NULL: no file */
	/* Called about every 200 ms with the totals; nonzero stops the session. */
	int (*tick)(void *arg, const struct record_totals *totals);
	void *tick_arg;
	const volatile int *stop_signal; /* becomes nonzero on SIGINT, SIGTERM: a clean stop */
};

struct record_totals {
	struct source_stats source;
	struct store_stats store;
	int64_t started, now;    /* ns since the epoch */
	int64_t cpu_ns;          /* CPU time of the recorder so far */
	bool command_ended;
	int command_status;      /* wait status */
	const char *why_stopped; /* "the command ended", "interrupted", "duration", "size", "targets ended" */
};

/* Runs a session to its end. The source is started and stopped here; the store is flushed, not closed. */
int record_run(struct source *source, const struct record_options *opt, struct record_totals *ret, struct error *err);
