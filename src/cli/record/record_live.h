/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_live.h: shared by the commands that record: converts options to a recording (record/recording.h), handles
 * signals, and prints messages.
 *
 *   _cleanup_(live_close) struct live live = {0};
 *   r = live_open(&live, &(struct live_options){.rec = &o->rec, .argc = argc, .argv = argv}, &err);
 *   live.rec.session.sinks = ...;
 *   r = live_run(&live, &totals, &err);
 *   return live_status(&totals);
 */
#pragma once

#include "cli/options/shared.h"
#include "cli/terminal/loss_text.h"
#include "record/recording.h"

struct live_options {
	const struct record_flags *rec;
	int argc; /* length of the command line; 0: no command */
	char **argv;
	const char *usage; /* "weir record": shown if no option says what to record */
	bool lossless, no_argv, keep_secrets;
	const struct option_list *spans; /* from --span; NULL: the command has no such option */
	/* words of --with whose rows the command shows, each preceded by a blank; NULL: all of them */
	const char *with;
	bool details; /* record what arguments point to, and signals, even without --with details */
	uint32_t detail_bytes; /* per buffer */
	bool stored;	       /* the rows go to a trace, which others may read as it grows */
	bool verbose;	       /* also report smaller rings */
};

struct live {
	struct recording rec;
	struct privilege_user user; /* -u */
	struct user account;
	struct probe_spans spans;
	char *selection;     /* as text */
	size_t missing_told; /* number of ebpf_source_missing() already reported */
	bool quiet;	     /* print nothing if all went well */
	bool others;	     /* also records processes that the command did not start */
};

/*
 * Checks the options, forks the command (which waits), loads the kernel programs. 0, 1 if --explain only was
 * requested (and is printed), -EINVAL for wrong usage (exit status 2), or another negative errno.
 */
int live_open(struct live *l, const struct live_options *o, struct error *err);
/*
 * Runs the session to its end; SIGINT, SIGTERM, SIGHUP and SIGQUIT stop it or are passed to the command. Never
 * -EINVAL.
 */
int live_run(struct live *l, struct record_totals *ret, struct error *err);
void live_close(struct live *l);

/* The exit status after a successful session: the command's own (128 + n if signal n ended it), else 0. */
int live_status(const struct record_totals *t);
/* Prints the error; exit status 2 for wrong usage (-EINVAL), else 1. */
int live_fail(int r, const struct error *err);
/*
 * Converts an error that occurred after the options were accepted: a refusal by the kernel or a file is not wrong
 * usage.
 */
int live_at_work(int r);
/* Number of calls that the selection dropped after they had ended, in the kernel and here. */
uint64_t live_left_out(const struct record_totals *t);
/* Collects processes whose io_uring the kernel polls. 0 or -ENOMEM. */
int live_polled(const struct record_totals *t, struct loss_polled *ret);
/*
 * Reports on standard error what was lost, or makes no calls (live_polled()), and what to do about it; prints nothing
 * if nothing is missing.
 */
void live_warn_lost(const struct record_totals *t, bool lossless);
/* Warns on standard error that a command left processes behind whose calls are no longer recorded. */
void live_warn_left(const struct live *l, const struct record_totals *t);
