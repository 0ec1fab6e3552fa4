/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: where events come from. One contract, a folder per source behind it: ebpf/ (the kernel), synth/
 * (seeded streams). May use batch; ebpf also bpf.
 * A source does not depend on its readers.
 *
 * What a source gives
 * - Batches of any table, one set per source_read(). Rows of `op` are ordered by their end, as far as the
 *   source can tell; a call that has ended before source_stop() returned is given before SOURCE_END.
 * - The id columns hold the source's own keys (any number >= 0 that fits 63 bits, unique over the recording);
 *   enrich/ turns them into the dense ids of the trace. A dimension row comes in the same set as the first
 *   row that refers to it, or earlier; a later row with the same key replaces it.
 * - For a file: the key names one version (one generation under one name); `inode` holds the key of the
 *   generation (equal for all its versions). For a thread: the key names one version, `task` the thread.
 * - Whatever is missing is a row of `loss`, given at the latest at the end.
 *
 * Who owns what: the caller owns the batch set and clears it; the source may append to a set that holds rows.
 * Threads: all calls from one thread; a source may run threads of its own.
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
		0, /* nothing new within the time; the set is unchanged or holds a few late rows */
	SOURCE_ROWS = 1, /* rows were appended */
	SOURCE_END = 2,	 /* after source_stop(), or the stream ended: no more rows will come */
};

/* Processes with an io_uring that the kernel polls (SQPOLL), whose requests make no calls. */
struct source_polled {
	size_t processes;
	int32_t pid;   /* of the first */
	char comm[16]; /* its name */
};

/* Rows of other tables than op that are missing, or events that should be in them. */
struct source_beside {
	enum loss_cause cause;
	enum table_id table;
	uint64_t count; /* 0: some, it is not known how many */
};
#define SOURCE_BESIDE_MAX 32

/* Running totals; monotonic, readable at any time from the reading thread. */
struct source_stats {
	uint64_t ops;	     /* rows of op given */
	uint64_t lost;	     /* calls known to be lost, all causes */
	uint64_t compat;     /* of them 32-bit calls, which are counted and not recorded */
	uint64_t unfollowed; /* processes that could not be recorded, beside what is lost */
	uint64_t ring_bytes; /* bytes taken from the kernel */
	uint64_t held_ns;    /* time for which programs were held (back-pressure) */
	int64_t raised_ns;   /* time for which the decoding thread had real-time priority */
	int raise_refused;   /* errno: it needed it, and the kernel refused */
	uint64_t filtered; /* calls that the selection left out, where the source can count them */
	bool sequence_proved; /* the source proves losslessness by gap-free numbers */
	struct source_polled polled;
	bool uring_seen, aio_seen; /* requests of io_uring and libaio are rows */
	struct source_beside beside[SOURCE_BESIDE_MAX];
	size_t beside_count;
	int running_error; /* why not all calls are known that were running at the stop; 0: they are */
};

struct source;

struct source_ops {
	const char *name;
	/* Begins recording; from here on every selected call is seen. */
	int (*start)(struct source *s, struct error *err);
	/* Waits up to timeout_ms for rows and appends them. enum source_result, or negative. */
	int (*read)(struct source *s, struct batch_set *out, int timeout_ms, struct error *err);
	/* No new events; what was seen before is still read. Also gives what is still running. */
	int (*stop)(struct source *s, struct error *err);
	void (*stats)(const struct source *s, struct source_stats *ret);
	void (*free)(struct source *s);
	/* The numbers of what was given so far, an element per CPU; returns how many there are. The source owns them, they
	 * are valid until its next call. NULL: this source numbers nothing. */
	size_t (*events)(const struct source *s, const struct event_count **ret);
	/* Every call that ended before (ns since the epoch; never falls) was given, or is counted in rows of loss that were.
	 * NULL: this source does not know. */
	int64_t (*until)(const struct source *s);
	/* Now, as the times of its rows have it, whatever the clock was set to meanwhile. NULL: as this machine's clock has it. */
	int64_t (*now)(const struct source *s);
};

/* The head of every source's own struct. */
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
/* 0 where the source numbers nothing. */
static inline size_t source_events(const struct source *s, const struct event_count **ret)
{
	*ret = NULL;
	return s->ops->events ? s->ops->events(s, ret) : 0;
}
/* INT64_MIN where the source does not know. */
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
