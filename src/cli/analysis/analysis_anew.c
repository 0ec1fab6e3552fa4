/* SPDX-License-Identifier: Apache-2.0 */
/* analysis_anew.c: an analysis of growing traces, computed again each second. */
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/analysis/analysis_command.h"
#include "cli/record/record_live.h"

#define ANEW_POLL_NS 20000000

/* Computes the answer in a copy of the process, as that consumes what was taken in. */
static void anew_child(struct analysis_view *v)
{
	struct error err = {0};
	int r;

	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* the copy does not have the thread that draws progress and takes signals */
	r = analysis_run_all(v, NULL, &err);
	fflush(stdout);
	_exit(r < 0 ? live_fail(r, &err) : v->status);
}

static int anew_answer(struct analysis_view *v, struct error *err)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		anew_child(v);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return error_errno(err, -errno, "cannot start a process for the answer");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE) { /* the reader went away */
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	if (WIFSIGNALED(status))
		return error_set(err, -ECHILD, "the process for the answer was ended by signal %d",
				 WTERMSIG(status));
	v->status = WEXITSTATUS(status);
	return 0;
}

/* Refreshes the traces, opening them again if there are others, and takes in what is new. */
static int anew_look(struct analysis_view *v, int argc, char **argv, struct error *err)
{
	int r = v->traces ? analysis_again(v, err) : 0;

	if (!r) {
		analysis_close(v);
		*v = (struct analysis_view){.analysis = v->analysis, .opts = v->opts, .it = v->it};
		r = analysis_open(v, argc, argv, err);
	}
	if (r >= 0 && v->analysis->take_in)
		r = v->analysis->take_in(
			&(struct analysis_input){.analysis = v->analysis,
						 .runs = v->runs,
						 .count = v->count,
						 .options = analysis_own_options(v->opts),
						 .follow = true},
			&v->taken, err);
	return r;
}

int analysis_follow_anew(struct analysis_view *v, int argc, char **argv, struct error *err)
{
	bool grows = true;
	int r = 0;

	while (r >= 0 && grows && !interrupt_signal(v->it) && !ferror(stdout) && !v->status) {
		int64_t next = clock_monotonic_ns() + NSEC_PER_SEC;

		r = anew_look(v, argc, argv, err);
		grows = r >= 0 && v->runs[0].store && store_is_open_ended(v->runs[0].store);
		if (r >= 0)
			r = v->analysis->take_in ? anew_answer(v, err)
						 : analysis_run_all(v, v->it, err);
		fflush(stdout);
		while (grows && clock_monotonic_ns() < next && !interrupt_signal(v->it))
			nanosleep(&(struct timespec){.tv_nsec = ANEW_POLL_NS}, NULL);
	}
	return r;
}
