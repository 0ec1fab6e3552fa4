/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_live.h: what the commands that record have in common: options -> recording (record/recording.h), signals, and
 * what is printed about it.
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
	int argc; /* the command; 0: none */
	char **argv;
	const char *usage; /* "weir record": named where nothing says what to record */
	bool lossless, no_argv, keep_secrets;
	const struct option_list *spans; /* of --span; NULL: the command has no such option */
	/* of the words of --with those whose rows the command shows, each behind a blank; NULL: all of them */
	const char *with;
	bool details;	       /* what arguments point to, and signals, without --with details */
	uint32_t detail_bytes; /* of each buffer */
	bool stored;	       /* in a trace, which others may read as it grows */
	bool verbose;	       /* say that rings were made smaller, too */
};

struct live {
	struct recording rec;
	struct privilege_user user; /* -u */
	struct user account;
	struct probe_spans spans;
	char *selection;     /* in words */
	size_t missing_told; /* of ebpf_source_missing() */
	bool quiet;	     /* nothing is said where all went well */
	bool others;	     /* processes are recorded that the command did not start */
};

/*
 * Checks the options, forks the command (which waits), loads the kernel programs. 0, 1 where only --explain was
 * asked for (and is printed), -EINVAL for wrong usage (exit status 2), or another negative errno.
 */
int live_open(struct live *l, const struct live_options *o, struct error *err);
/* Runs the session to its end; SIGINT, SIGTERM, SIGHUP and SIGQUIT stop it or go to the command. Never -EINVAL. */
int live_run(struct live *l, struct record_totals *ret, struct error *err);
void live_close(struct live *l);

/* Exit status after a session that worked: the command's own (128 + n where signal n ended it),
 * else 0. */
int live_status(const struct record_totals *t);
/* Prints the error; exit status 2 for wrong usage (-EINVAL), else 1. */
int live_fail(int r, const struct error *err);
/* An error that came at work, when the options were found to be right: what the kernel or a file refuses is no wrong usage. */
int live_at_work(int r);
/* Calls that the selection left out after they had ended, in the kernel and here. */
uint64_t live_left_out(const struct record_totals *t);
/* Processes whose io_uring the kernel polls. 0 or -ENOMEM. */
int live_polled(const struct record_totals *t, struct loss_polled *ret);
/* Says on standard error what was lost, or is no call (live_polled()), and what to do about it; nothing where nothing was. */
void live_warn_lost(const struct record_totals *t, bool lossless);
/* Says on standard error where a command that ended left processes behind: whoever waits for their calls is told. */
void live_warn_left(const struct live *l, const struct record_totals *t);
