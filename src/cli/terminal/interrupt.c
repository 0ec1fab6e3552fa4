// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "cli/terminal/format.h"

#define GRACE_NS (25 * NSEC_PER_MSEC) /* time to stop after a signal; then the process just ends */
#define POLL_NS	 (5 * NSEC_PER_MSEC)
#define BEGIN_NS (50 * NSEC_PER_MSEC)
#define TICK_NS	 (100 * NSEC_PER_MSEC)
/* shorter work shows no progress */
#define PROGRESS_AFTER_NS (400 * NSEC_PER_MSEC)

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* ---- progress; with the lock held ---- */

static void erase(struct interrupt *it)
{
	if (it->drawn)
		fputs("\r\033[K", stderr);
	it->drawn = false;
}

static void interrupt_draw(struct interrupt *it)
{
	uint64_t done = 0, total = 0;

	if (!it->draws || it->mode == INTERRUPT_IGNORE || !it->since ||
	    clock_monotonic_ns() - it->since < PROGRESS_AFTER_NS)
		return;
	if (it->progress)
		it->progress(it->progress_arg, &done, &total);
	else if (it->engine)
		engine_progress(it->engine, &done, &total);
	if (!total)
		return;
	fprintf(stderr, "\r%s of %s %s, %s, %s\033[K", format_count(done).s, format_count(total).s,
		it->progress ? it->unit : "blocks", format_percent(MIN(done, total), total).s,
		format_dur(clock_monotonic_ns() - it->since).s);
	it->drawn = true;
}

/* ---- the thread ---- */

/* Stops the running work; if it does not stop in time, ends the process and does not return. */
static void stop_running(struct interrupt *it, int sig)
{
	for (int64_t waited = 0; waited < GRACE_NS; waited += POLL_NS) {
		pthread_mutex_lock(&it->lock);
		if (it->engine)
			engine_interrupt(it->engine);
		pthread_mutex_unlock(&it->lock);
		sleep_ns(POLL_NS);
	}
	/* A sort's merge and some functions do not check for interrupts. */
	pthread_mutex_lock(&it->lock);
	erase(it);
	if (it->farewell)
		fputs(it->farewell, stderr);
	engine_abandon_all();
	_exit(128 + sig);
}

/* Interrupts the statement of a prompt, repeatedly, until it ends; not the next one, which may begin at once. */
static void cancel_running(struct interrupt *it)
{
	int64_t since = 0; /* when the statement began */
	bool running = true;

	while (running) {
		pthread_mutex_lock(&it->lock);
		since = since ? since : it->since;
		running = it->engine && it->since == since;
		if (running)
			engine_interrupt(it->engine);
		pthread_mutex_unlock(&it->lock);
		sleep_ns(POLL_NS);
	}
}

static void interrupt_take(struct interrupt *it, int sig)
{
	enum interrupt_mode mode;

	pthread_mutex_lock(&it->lock);
	mode = it->mode;
	if (mode != INTERRUPT_IGNORE || sig != SIGINT)
		it->signal = sig;
	erase(it);
	pthread_mutex_unlock(&it->lock);
	if (mode == INTERRUPT_IGNORE && sig == SIGINT)
		return;
	if (mode == INTERRUPT_CANCEL && sig == SIGINT)
		cancel_running(it);
	else
		stop_running(it, sig);
}

static void *interrupt_watch(void *arg)
{
	const struct timespec tick = {.tv_nsec = TICK_NS};
	struct interrupt *it = arg;

	for (;;) {
		int sig = sigtimedwait(&it->signals, NULL, &tick);

		if (sig == SIGUSR2)
			return NULL; /* the command has finished */
		if (sig > 0)
			interrupt_take(it, sig);
		pthread_mutex_lock(&it->lock);
		interrupt_draw(it);
		pthread_mutex_unlock(&it->lock);
	}
}

int interrupt_start(struct interrupt *it, enum interrupt_mode mode, struct error *err)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2};

	*it = (struct interrupt){.mode = mode, .draws = isatty(STDERR_FILENO)};
	sigemptyset(&it->signals);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&it->signals, signals[i]);
	pthread_mutex_init(&it->lock, NULL);
	/* the temporary folder must be removed even if the reader goes away */
	signal(SIGPIPE, SIG_IGN);
	if (pthread_sigmask(SIG_BLOCK, &it->signals, NULL) ||
	    pthread_create(&it->thread, NULL, interrupt_watch, it))
		return error_set(err, -EAGAIN, "cannot start a thread");
	return 0;
}

void interrupt_engine(struct interrupt *it, struct engine *e)
{
	pthread_mutex_lock(&it->lock);
	it->engine = e;
	it->used = e ? e : it->used;
	it->since = e ? clock_monotonic_ns() : 0;
	erase(it);
	pthread_mutex_unlock(&it->lock);
}

void interrupt_release(struct interrupt *it)
{
	pthread_mutex_lock(&it->lock);
	/* the process may end before engine_free() has finished */
	if (it->used && it->signal)
		engine_abandon(it->used);
	it->engine = it->used = NULL;
	pthread_mutex_unlock(&it->lock);
}

void interrupt_farewell(struct interrupt *it, const char *text)
{
	pthread_mutex_lock(&it->lock);
	it->farewell = text;
	pthread_mutex_unlock(&it->lock);
}

void interrupt_progress(struct interrupt *it, const char *unit,
			void (*progress)(const void *arg, uint64_t *ret_done, uint64_t *ret_total),
			const void *arg)
{
	pthread_mutex_lock(&it->lock);
	it->progress = progress;
	it->unit = unit;
	it->progress_arg = arg;
	it->since = progress ? clock_monotonic_ns() : 0;
	erase(it);
	pthread_mutex_unlock(&it->lock);
}

void interrupt_mode(struct interrupt *it, enum interrupt_mode mode)
{
	pthread_mutex_lock(&it->lock);
	it->mode = mode;
	erase(it);
	pthread_mutex_unlock(&it->lock);
}

int interrupt_signal(struct interrupt *it)
{
	int sig;

	pthread_mutex_lock(&it->lock);
	sig = it->signal;
	pthread_mutex_unlock(&it->lock);
	return sig;
}

void interrupt_wait_rows(struct interrupt *it, struct store *s)
{
	int64_t first, last;

	for (;;) {
		store_range(s, &first, &last);
		if (first != INT64_MIN || !store_is_open_ended(s) || interrupt_signal(it) ||
		    store_refresh(s, NULL) < 0)
			return;
		sleep_ns(BEGIN_NS);
	}
}

void interrupt_forget(struct interrupt *it)
{
	pthread_mutex_lock(&it->lock);
	it->signal = 0;
	pthread_mutex_unlock(&it->lock);
}

void interrupt_quiet(struct interrupt *it)
{
	pthread_mutex_lock(&it->lock);
	it->since = 0;
	erase(it);
	pthread_mutex_unlock(&it->lock);
}

/* A reader that went away (`| head`) is not reported: weir ends by SIGPIPE, like other programs. */
static void end_with_reader(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

	fflush(stdout); /* the rest may be the only output */
	if (!ferror(stdout) || poll(&out, 1, 0) < 1 || !(out.revents & POLLERR))
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

int interrupt_stop(struct interrupt *it, int status)
{
	int sig = interrupt_signal(it);

	/* The thread may be about to end the process with the same status: let it. */
	if (sig && it->mode != INTERRUPT_CANCEL)
		return 128 + sig;
	pthread_kill(it->thread, SIGUSR2);
	pthread_join(it->thread, NULL);
	sig = it->mode == INTERRUPT_CANCEL ? 0 : interrupt_signal(it);
	if (!sig)
		end_with_reader();
	return sig ? 128 + sig : status;
}
