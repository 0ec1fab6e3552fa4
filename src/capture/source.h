/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: sources of events. One contract, with a folder per source behind it: ebpf/ (the kernel), synth/ (seeded
 * streams). May use batch; ebpf also bpf. A source does not depend on its readers.
 *
 * What a source returns
 * - Batches of any table, one set per source_read(). Rows of `op` are ordered by their end, as far as the
 *   source can tell; a call that ended before source_stop() returned is delivered before SOURCE_END.
 * - The id columns hold the source's own keys (any number >= 0 that fits 63 bits, unique over the recording);
 *   enrich/ turns them into the dense ids of the trace. A dimension row comes in the same set as the first
 *   row that refers to it, or earlier; a later row with the same key replaces it.
 * - For a file: the key identifies one version (one generation under one name); `inode` holds the key of the
 *   generation (equal for all its versions). For a thread: the key identifies one version, `task` the thread.
 * - Anything missing is a row of `loss`, delivered at the latest at the end.
 *
 * Ownership: the caller owns the batch set and clears it; the source may append to a set that holds rows. Threads: all
 * calls are made from one thread; a source may run threads of its own.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "batch/batch.h"
#include "batch/events.h"
#include "schema/select.h"
#include "schema/vocab.h"

enum source_result {
	SOURCE_TIMEOUT =
		0,	 /* nothing new in time; the set is unchanged or contains a few late rows */
	SOURCE_ROWS = 1, /* rows were appended */
	SOURCE_END = 2,	 /* after source_stop() or the end of the stream: no more rows come */
};

/* Processes with an io_uring polled by a kernel thread (SQPOLL), whose requests need no calls. */
struct source_polled {
	size_t processes;
	int32_t pid;   /* of the first one */
	char comm[16]; /* its name */
};

/* Missing rows of tables other than op, or missing events that should be in them. */
struct source_beside {
	enum loss_cause cause;
	enum table_id table;
	uint64_t count; /* 0: some, the number is unknown */
};
#define SOURCE_BESIDE_MAX 32

/* Running totals; monotonic, may be read at any time by the reading thread. */
struct source_stats {
	uint64_t ops;	      /* rows of op delivered */
	uint64_t lost;	      /* calls known to be lost, all causes */
	uint64_t compat;      /* 32-bit calls among them, which are counted but not recorded */
	uint64_t unfollowed;  /* processes that could not be recorded, not included in `lost` */
	uint64_t ring_bytes;  /* bytes taken from the kernel */
	uint64_t held_ns;     /* time for which programs were delayed (back-pressure) */
	int64_t raised_ns;    /* time for which the decoding thread had real-time priority */
	int raise_refused;    /* errno: it was needed, but the kernel refused */
	uint64_t filtered;    /* calls that the selection rejected, if the source can count them */
	bool sequence_proved; /* gap-free sequence numbers prove that nothing was lost */
	struct source_polled polled;
	bool uring_seen, aio_seen; /* requests of io_uring and libaio are recorded as rows */
	struct source_beside beside[SOURCE_BESIDE_MAX];
	size_t beside_count;
	int running_error; /* why some calls running at the stop are unknown; 0: all are known */
	uint64_t running_unread; /* threads in them; 0: unknown */
};

struct source;

struct source_ops {
	const char *name;
	/* Begins recording; every selected call from here on is recorded. */
	int (*start)(struct source *s, struct error *err);
	/* Waits up to timeout_ms for rows and appends them. Returns enum source_result, or negative. */
	int (*read)(struct source *s, struct batch_set *out, int timeout_ms, struct error *err);
	/* Stops new events; earlier ones can still be read. Also delivers calls that are still running. */
	int (*stop)(struct source *s, struct error *err);
	void (*stats)(const struct source *s, struct source_stats *ret);
	void (*free)(struct source *s);
	/* The event numbers delivered so far, one element per CPU; returns the number of elements. The source owns
	 * them; they are valid until its next call. NULL: this source does not number events. */
	size_t (*events)(const struct source *s, const struct event_count **ret);
	/* Every call that ended before this time (ns since the epoch; never decreases) was delivered, or is counted in
	 * delivered rows of loss. NULL: this source does not know. */
	int64_t (*until)(const struct source *s);
	/* The current time on the clock of its rows, unaffected by setting the system clock. NULL: this machine's
	 * clock. */
	int64_t (*now)(const struct source *s);
};

/* The first member of every source's own struct. */
struct source {
	const struct source_ops *ops;
};

static inline int source_start(struct source *s, struct error *err)
{
	return s->ops->start(s, err);
}
static inline int source_read(struct source *s, struct batch_set *out, int timeout_ms,
			      struct error *err)
{
	return s->ops->read(s, out, timeout_ms, err);
}
static inline int source_stop(struct source *s, struct error *err)
{
	return s->ops->stop(s, err);
}
static inline void source_stats(const struct source *s, struct source_stats *ret)
{
	s->ops->stats(s, ret);
}
/* 0 if the source does not number events. */
static inline size_t source_events(const struct source *s, const struct event_count **ret)
{
	*ret = NULL;
	return s->ops->events ? s->ops->events(s, ret) : 0;
}
/* INT64_MIN if the source does not know. */
static inline int64_t source_until(const struct source *s)
{
	return s->ops->until ? s->ops->until(s) : INT64_MIN;
}
static inline int64_t source_now(const struct source *s)
{
	return s->ops->now ? s->ops->now(s) : clock_realtime_ns();
}
static inline void source_free(struct source *s)
{
	if (s)
		s->ops->free(s);
}
DEFINE_CLEANUP(struct source *, source_free)
