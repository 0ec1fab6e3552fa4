/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load: traces into a store that holds those of many machines. May use store, query (names) and net.
 *
 * load.h: what a target is, and the loop that brings blocks to it. A target is a `const struct load_target_ops` and a line in
 * targets.c; it has the scheme of the engine that later answers from the same rows.
 *
 *   load_target_connect(&t, "clickhouse://host/db", &options, &err);
 *   load_trace(t, "app.weir", &(struct load_loop){...}, &totals, &err);
 *
 * A block of a table is loaded once, whatever breaks on the way: it is known by its recording, by the file of that, and by its
 * number there (struct load_block), and a target tells by what it holds which ones are there. Nothing is kept beside the
 * trace or in a file of the loader's: loading again continues, from any machine.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/made/made.h"
#include "store/store.h"

/* A recording: host, boot and key together are unique. */
struct load_recording {
	struct bytes host, boot; /* {NULL, 0}: the trace names none */
	uint64_t key;		 /* store_trace_identity() */
	int64_t began;		 /* ns since the epoch */
	int64_t ahead;		 /* taken from its times: store_recording_clock() */
	int64_t first, last;	 /* of its calls so far in this file; INT64_MIN: none yet */
};

/*
 * What rows of a table that was made after recording know their generation by: where it begins; of a user's table also what it
 * says, as copies of a file can be annotated differently.
 */
static inline uint64_t load_generation(const struct store_made *m)
{
	return m->table == TABLE_OWN ? (m->seq & INT32_MAX) << 32 | (uint32_t)m->sum
				     : m->first_block;
}

/* Rows of one table as they lie in one block of a file. */
struct load_block {
	enum table_id table;
	uint64_t part; /* number of the file in its recording */
	uint64_t seq;  /* number of the block in the file */
	/* Of a table that was made after recording: load_generation(); else UINT64_MAX. */
	uint64_t generation;
	bool long_calls; /* rows behind those of other blocks, where they ended at one time (sums/order.h) */
	const struct batch *rows; /* ids are those of the recording: 0, 1, 2, ... */
	const int64_t *ends; /* when each row ended (order_ends()), 0 where rows are not events */
	struct store *store; /* of this file alone: names are in its store_dims() */
};

struct load_target;

struct load_options {
	int64_t keep_ns; /* rows may be dropped so long after they ended; 0: never */
};

struct load_target_ops {
	const char *name;   /* for messages: "ClickHouse" */
	const char *scheme; /* as the engine's */
	/* All that makes the tables, for --schema: what `version` of the store (NULL: the newest) is given. */
	int (*schema)(const struct load_options *opt, const char *version, struct buf *out);
	/* Connects and makes what is missing. Errors as engine_ops.connect()'s. */
	int (*connect)(struct load_target **ret, const char *address,
		       const struct load_options *opt, struct error *err);
	/*
	 * The blocks that follow are of this file. Finds out which of them are there; waits until what an earlier loader
	 * has begun is over. -EBUSY: another loader is at this recording.
	 */
	int (*begin)(struct load_target *t, const struct load_recording *rec, uint64_t part,
		     struct error *err);
	/* True where a block is there already. */
	bool (*has)(struct load_target *t, enum table_id table, uint64_t seq);
	/* Takes a block, which the caller then changes; may keep rows back until flush(). */
	int (*put)(struct load_target *t, const struct load_block *b, struct error *err);
	/* All that was put is in the store when it returns. */
	int (*flush)(struct load_target *t, struct error *err);
	/* All rows of a generation are flushed: it replaces what was made of that table of the file before; one without columns
	 * drops it. May be NULL: such tables stay behind. */
	int (*made)(struct load_target *t, const struct store_made *m, struct error *err);
	/* The blocks of TABLE_OWN that follow, and made(), are of this table of a user's; has() then knows its blocks. -EINVAL: the
	 * store cannot have it, and the message says why. May be NULL: users' tables stay behind. */
	int (*own)(struct load_target *t, const struct store_made *m, struct error *err);
	/* What own() makes, for --schema. */
	int (*own_schema)(const struct store_made *m, const struct load_options *opt,
			  struct buf *out, struct error *err);
	/* All blocks of a file that is closed were put and flushed: what is made of them together, spans in another tool's layout.
	 * *ret: how many rows. May be NULL. */
	int (*finish)(struct load_target *t, struct store *s, uint64_t *ret, struct error *err);
	void (*interrupt)(struct load_target *t); /* any thread: what runs ends with -EINTR */
	void (*free)(struct load_target *t);	  /* never of NULL */
};

/* The head of every target's own struct. */
struct load_target {
	const struct load_target_ops *ops;
	int64_t ahead; /* what is taken from times of the recording at hand: begin() sets what its rows there were loaded with */
};

/* Ends with NULL. */
extern const struct load_target_ops *const load_targets[];

/* The target with the scheme of an address; NULL with a message that names those there are. */
const struct load_target_ops *load_target_find(const char *address, struct error *err);
static inline void load_target_free(struct load_target *t)
{
	if (t)
		t->ops->free(t);
}
DEFINE_CLEANUP(struct load_target *, load_target_free)

struct load_totals {
	_Atomic uint64_t blocks, rows, calls; /* that were loaded; rows of all tables, of op */
	_Atomic uint64_t known;		      /* blocks that were there already */
	_Atomic uint64_t damaged;   /* blocks that cannot be read: they are rows of loss now */
	_Atomic uint64_t seen, all; /* blocks looked at, and those known of, for progress */
	_Atomic uint64_t
		clocks; /* files whose clock is another than that with which they were loaded */
	_Atomic uint64_t made;	/* tables made after recording, which stay behind */
	_Atomic uint64_t spans; /* that were added in another tool's layout */
	_Atomic uint64_t traces;
	_Atomic uint64_t retries;
	_Atomic uint64_t missing; /* files that the recorder removed before they were loaded */
};

struct load_loop {
	bool follow; /* goes on while the trace is being recorded */
	/* Ends with -EINTR soon after this is true; may be NULL. */
	bool (*stopped)(void *arg);
	void *arg;
	int64_t patience_ns; /* tries again for so long where the target does not answer */
	/* A user's table stays behind, and why; may be NULL. */
	void (*refused)(const char *why);
	/* load_growing(): so many files more were removed before they were loaded; may be NULL. */
	void (*missed)(uint64_t files);
};

/* The recording and the number of the only file of `s`; the texts are the store's. */
void load_describe(struct store *s, struct load_recording *ret, uint64_t *ret_part);
/* Loads one file. 0, or negative with a message; what was flushed until then is there. */
int load_trace(struct load_target *t, const char *path, const struct load_loop *loop,
	       struct load_totals *totals, struct error *err);
/*
 * Loads what is at a path, one file after the other, and what comes while the newest is being recorded: further files of
 * `weir record --rotate` too. Returns when none has come for two seconds after the last was closed. Files that are removed
 * before they are loaded count as `missing`.
 */
int load_growing(struct load_target *t, const char *path, const struct load_loop *loop,
		 struct load_totals *totals, struct error *err);
