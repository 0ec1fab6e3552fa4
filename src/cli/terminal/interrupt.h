/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.h: Ctrl-C and progress for commands that query a trace. Signals are blocked in every thread except one
 * that waits for them, because a signal handler may not stop an engine. The same thread draws the progress on
 * standard error.
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
	INTERRUPT_END, /* a signal stops the work; if that does not stop, the process ends */
	INTERRUPT_CANCEL, /* a prompt: SIGINT stops only the running statement, other signals end the process */
	INTERRUPT_IGNORE, /* the answer is complete and shown by a pager: SIGINT goes to the pager */
};

struct interrupt {
	pthread_t thread;
	sigset_t signals;
	pthread_mutex_t lock; /* protects everything below */
	enum interrupt_mode mode;
	struct engine *engine; /* the one whose statement runs; NULL: none */
	struct engine *used;   /* leaves a temporary folder behind if the process just ends */
	int signal;	       /* the received one */
	bool draws;	       /* show progress: standard error is a terminal */
	bool drawn;	       /* a progress line is on the screen */
	int64_t since;	       /* monotonic: when the running work began */
	/* returns units done and all, for work other than an engine's statement; NULL: blocks, as the engine knows them */
	void (*progress)(const void *arg, uint64_t *ret_done, uint64_t *ret_total);
	const void *progress_arg;
	const char *unit; /* "blocks" */
	const char *
		farewell; /* printed if a signal ends the process while work is running; NULL: nothing */
};

int interrupt_start(struct interrupt *it, enum interrupt_mode mode, struct error *err);
/* Sets the engine whose statement a signal stops and whose progress is shown; NULL: none. */
void interrupt_engine(struct interrupt *it, struct engine *e);
/* Call this before engine_free(). */
void interrupt_release(struct interrupt *it);
/* Sets what is printed if a signal ends the process. */
void interrupt_farewell(struct interrupt *it, const char *text);
/* Sets another source of progress, and its unit in the plural; NULL: none. */
void interrupt_progress(struct interrupt *it, const char *unit,
			void (*progress)(const void *arg, uint64_t *ret_done, uint64_t *ret_total),
			const void *arg);
void interrupt_mode(struct interrupt *it, enum interrupt_mode mode);
/* The received signal, or 0: for loops that check it themselves. */
int interrupt_signal(struct interrupt *it);
/*
 * Waits until there are rows or a signal arrives: an empty trace has no first time, to which other times are
 * relative.
 */
void interrupt_wait_rows(struct interrupt *it, struct store *s);
/* Forgets the signal, before the next statement of a prompt. */
void interrupt_forget(struct interrupt *it);
/*
 * Erases the progress line before output is printed; none is drawn until the next interrupt_engine() or
 * interrupt_progress().
 */
void interrupt_quiet(struct interrupt *it);
/* Ends the thread. Returns the status for the received signal, or `status`. */
int interrupt_stop(struct interrupt *it, int status);
