/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load: loads traces into a store for many machines. May use store, query (names) and net.
 *
 * load.h: the interface of a target, and the loop that passes blocks to it. A target is a `const struct
 * load_target_ops` and a line in targets.c; it has the scheme of the engine that later queries the same rows.
 *
 *   load_target_connect(&t, "clickhouse://host/db", &options, &err);
 *   load_trace(t, "app.weir", &(struct load_loop){...}, &totals, &err);
 *
 * A block of a table is loaded exactly once, whatever fails on the way: it is identified by its recording, the file
 * within the recording, and its number in the file (struct load_block), and a target finds out from its own contents
 * which blocks it has. The loader keeps no state next to the trace or in a file: loading again continues, from any
 * machine.
 */
#pragma once

#include <stdatomic.h>

#include "base/buf.h"
#include "base/error.h"
#include "store/made/made.h"
#include "store/store.h"

/* A recording: host, boot and key together are unique. */
struct load_recording {
	struct bytes host, boot; /* {NULL, 0}: not in the trace */
	uint64_t key;		 /* store_trace_identity() */
	int64_t began;		 /* ns since the epoch */
	int64_t ahead;		 /* subtracted from its times: store_recording_clock() */
	int64_t first, last;	 /* of its calls so far in this file; INT64_MIN: none yet */
};

/*
 * Identifies the generation of rows of a table made after recording: the offset where it begins; for a user's table
 * also a checksum, as copies of a file can be annotated differently.
 */
static inline uint64_t load_generation(const struct store_made *m)
{
	return m->table == TABLE_OWN ? (m->seq & INT32_MAX) << 32 | (uint32_t)m->sum
				     : m->first_block;
}

/* Rows of one table in one block of a file. */
struct load_block {
	enum table_id table;
	uint64_t part; /* number of the file in its recording */
	uint64_t seq;  /* number of the block in the file */
	/* For a table made after recording, load_generation(); else UINT64_MAX. */
	uint64_t generation;
	bool long_calls; /* sorts after rows of other blocks that ended at the same time (sums/order.h) */
	const struct batch *rows; /* with the recording's own ids: 0, 1, 2, ... */
	const int64_t *ends;	  /* when each row ended (order_ends()); 0 if rows are not events */
	struct store *store;	  /* with this file alone: names are in its store_dims() */
};

struct load_target;

struct load_options {
	int64_t keep_ns; /* rows may be dropped this long after they ended; 0: never */
};

struct load_target_ops {
	const char *name;   /* for messages: "ClickHouse" */
	const char *scheme; /* same as the engine's */
	/*
	 * Writes the statements that create the tables, for --schema, for a `version` of the store (NULL: the
	 * newest).
	 */
	int (*schema)(const struct load_options *opt, const char *version, struct buf *out);
	/* Connects and creates what is missing. Errors are those of engine_ops.connect(). */
	int (*connect)(struct load_target **ret, const char *address,
		       const struct load_options *opt, struct error *err);
	/*
	 * Announces the file of the following blocks. Determines which of them are present, and waits until the
	 * requests of an earlier loader have ended. -EBUSY: another loader is loading this recording.
	 */
	int (*begin)(struct load_target *t, const struct load_recording *rec, uint64_t part,
		     struct error *err);
	/* True if a block is present already. */
	bool (*has)(struct load_target *t, enum table_id table, uint64_t seq);
	/* Takes a block, which the caller then modifies; may hold rows back until flush(). */
	int (*put)(struct load_target *t, const struct load_block *b, struct error *err);
	/* On return, all rows of put() are in the store. */
	int (*flush)(struct load_target *t, struct error *err);
	/* Removes a block that is present and no longer true. The store may do so after the return. */
	int (*drop)(struct load_target *t, enum table_id table, uint64_t seq, struct error *err);
	/*
	 * Called once all rows of a generation are flushed: it replaces the file's earlier table of that name; one
	 * without columns drops it. May be NULL: such tables are not loaded.
	 */
	int (*made)(struct load_target *t, const struct store_made *m, struct error *err);
	/*
	 * Announces that the following blocks of TABLE_OWN, and made(), belong to this user's table; has() then knows
	 * its blocks. -EINVAL: the store cannot have it, and the message gives the reason. May be NULL: users' tables
	 * are not loaded.
	 */
	int (*own)(struct load_target *t, const struct store_made *m, struct error *err);
	/* Writes the statements of own(), for --schema. */
	int (*own_schema)(const struct store_made *m, const struct load_options *opt,
			  struct buf *out, struct error *err);
	/*
	 * Called once all blocks of a closed file were put and flushed, for what is derived from them together: spans
	 * in another tool's layout. *ret: number of rows. May be NULL.
	 */
	int (*finish)(struct load_target *t, struct store *s, uint64_t *ret, struct error *err);
	void (*free)(struct load_target *t); /* never called with NULL */
};

/* The first member of every target's own struct. */
struct load_target {
	const struct load_target_ops *ops;
	int64_t ahead; /* subtracted from the current recording's times; begin() sets it to that of present rows */
};

/* Ends with NULL. */
extern const struct load_target_ops *const load_targets[];
extern const struct load_target_ops clickhouse_target, opensearch_target;

/* The target with the scheme of an address; NULL with a message that lists the known schemes. */
const struct load_target_ops *load_target_find(const char *address, struct error *err);
static inline void load_target_free(struct load_target *t)
{
	if (t)
		t->ops->free(t);
}
DEFINE_CLEANUP(struct load_target *, load_target_free)

struct load_totals {
	_Atomic uint64_t blocks, rows, calls; /* loaded; rows of all tables, of op */
	_Atomic uint64_t known;		      /* blocks that were present already */
	_Atomic uint64_t damaged;   /* blocks that cannot be read, recorded as rows of loss */
	_Atomic uint64_t unclosed;  /* files whose recorder was killed, or that are cut; the same */
	_Atomic uint64_t seen, all; /* blocks processed, and blocks known, for progress */
	_Atomic uint64_t
		clocks;	       /* files whose clock differs from that with which they were loaded */
	_Atomic uint64_t made; /* tables made after recording that were not loaded */
	_Atomic uint64_t spans; /* added in another tool's layout */
	_Atomic uint64_t traces;
	_Atomic uint64_t retries;
	_Atomic uint64_t missing; /* files that the recorder removed before they were loaded */
};

struct load_loop {
	bool follow; /* continue while the trace is being recorded */
	/* Loading ends with -EINTR soon after this returns true; may be NULL. */
	bool (*stopped)(void *arg);
	void *arg;
	int64_t patience_ns; /* how long to retry if the target does not answer */
	/* Called with the reason why a user's table was not loaded; may be NULL. */
	void (*refused)(const char *why);
	/*
	 * Called by load_growing() with the number of further files that were removed before they were loaded; may be
	 * NULL.
	 */
	void (*missed)(uint64_t files);
};

/* Gets the recording and the number of the only file of `s`; the texts belong to the store. */
void load_describe(struct store *s, struct load_recording *ret, uint64_t *ret_part);
/* Loads one file. 0, or negative with a message; rows flushed before the failure are present. */
int load_trace(struct load_target *t, const char *path, const struct load_loop *loop,
	       struct load_totals *totals, struct error *err);
/*
 * Loads the files at a path, one after the other, and what is added while the newest is being recorded, including
 * further files of `weir record --rotate`. Returns when none has appeared for two seconds after the last was closed.
 * Files that are removed before they are loaded count as `missing`.
 */
int load_growing(struct load_target *t, const char *path, const struct load_loop *loop,
		 struct load_totals *totals, struct error *err);
