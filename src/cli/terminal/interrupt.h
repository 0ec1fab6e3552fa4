/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.h: Ctrl-C and progress for commands that ask a trace. Signals are blocked in every
 * thread and taken by one that waits for them: telling an engine to stop is nothing that a signal
 * handler may do. The same thread draws the progress of what runs on standard error.
 *
 *   struct interrupt it;
 *   interrupt_start(&it, &err);
 *   interrupt_engine(&it, engine);      // what Ctrl-C stops from now on
 *   ...
 *   interrupt_engine(&it, NULL);
 *   return interrupt_stop(&it, status); // 130 after Ctrl-C
 */
#pragma once

#include <pthread.h>
#include <signal.h>

#include "engine/engine.h"

enum interrupt_mode {
	INTERRUPT_END, /* a signal stops what runs; where that does not heed it, the process ends */
	INTERRUPT_CANCEL, /* a prompt: SIGINT stops what runs and nothing else, the others end */
	INTERRUPT_IGNORE, /* the answer is there, a pager shows it: SIGINT is the pager's */
};

struct interrupt {
	pthread_t thread;
	sigset_t signals;
	pthread_mutex_t lock; /* all below */
	enum interrupt_mode mode;
	struct engine *engine; /* whose statement runs; NULL while none does */
	struct engine *used;   /* leaves a temporary folder where the process just ends */
	int signal;	       /* the one that came */
	bool draws;	       /* progress is wanted: standard error is a terminal */
	bool drawn;	       /* a line of it is on the screen */
	int64_t since;	       /* monotonic: when the running thing began */
	/* blocks done and all, for work other than a statement of the engine; NULL: ask the engine */
	void (*progress)(const void *arg, uint64_t *ret_done, uint64_t *ret_total);
	const void *progress_arg;
};

int interrupt_start(struct interrupt *it, enum interrupt_mode mode, struct error *err);
/* The engine whose statement a signal stops and whose progress is shown; NULL: none runs. */
void interrupt_engine(struct interrupt *it, struct engine *e);
/* Before engine_free(). */
void interrupt_release(struct interrupt *it);
/* Another source of progress; NULL: none any more. */
void interrupt_progress(struct interrupt *it,
			void (*progress)(const void *arg, uint64_t *ret_done, uint64_t *ret_total),
			const void *arg);
void interrupt_mode(struct interrupt *it, enum interrupt_mode mode);
/* The signal that came, 0 for none: what loops of one's own look at. */
int interrupt_signal(struct interrupt *it);
/* Until there are rows or a signal comes: a trace that is only beginning has no first time yet, from which others are told. */
void interrupt_wait_rows(struct interrupt *it, struct store *s);
/* Forgets the signal: the next statement of a prompt. */
void interrupt_forget(struct interrupt *it);
/* Takes the progress line away before something is printed; none is drawn until the next
 * interrupt_engine() or interrupt_progress(). */
void interrupt_quiet(struct interrupt *it);
/* Ends the thread; the status that a signal asks for, or `status`. */
int interrupt_stop(struct interrupt *it, int status);
