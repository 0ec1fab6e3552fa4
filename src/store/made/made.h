/* SPDX-License-Identifier: Apache-2.0 */
/*
 * made.h: tables that are made from a trace after it was recorded, and appended to it (docs/FORMAT.md, "Made tables"): those
 * that the schema declares as MADE, computed by weir, and those of which the file declares the columns, which a user appends
 * (weir annotate). Nothing that was recorded is touched.
 *
 * A table is appended as a generation, which counts once its last block is there and then replaces what was made of that
 * name before. A crash on the way leaves the earlier one in force. They stand in the trace itself: a copy of the file, or of
 * its committed blocks, has them, and there is one reader. Where that is impossible they live as long as the reader does
 * (store_made_aside()).
 *
 *   store_reopen(&w, s, &err);                        // a closed trace, or the writer of a recording
 *   store_made_begin(w, &(struct store_making){.table = TABLE_FINDING, .origin = "weir.diagnosis", .version = 3}, &err);
 *   store_made_rows(w, rows, &err);                   // as often as needed
 *   store_made_end(w, false, &err);
 *   store_close(w, &err);                             // or store_abandon(w): the file is as it was
 */
#pragma once

#include "store/store.h"

#define MADE_NAME_MAX	63u
#define MADE_COLUMN_MAX 255u		/* bytes of a column's name */
#define MADE_TEXT_MAX	(1u << 20)	/* bytes of origin, options */
#define MADE_HEADS_MAX	(64u << 20)	/* bytes of all heads, beyond the size of the file */
#define MADE_HEAD_COST	4096u		/* of each, beside its texts */
#define MADE_BY_USER	"weir.annotate" /* origin of a user's own table */
/* Origin of a table `clock` that says how the trace's rows were corrected before they came into it. */
#define MADE_CLOCKS_APPLIED "weir.clocks-applied"

/* Heads beyond this are refused: readers keep them in memory, and repeated texts take next to nothing in the file. */
static inline uint64_t made_heads_max(uint64_t file_size)
{
	return MADE_HEADS_MAX + file_size;
}

/* A letter or _, then letters, digits and _; at most MADE_NAME_MAX. Names differ in more than case. */
bool made_name_ok(const char *name, size_t len);

/* ---- reading ---- */

/* One generation of a table of one trace. Lives as long as the store. */
struct store_made {
	const char *
		name; /* of a user's table that is now called like one of weir's: with _ behind it */
	enum table_id table; /* of the schema, or TABLE_OWN */
	const struct table_def *def;
	uint32_t trace;
	/* What made it: which computation, which version of it, with which options. */
	const char *origin, *options;
	uint64_t version;
	uint64_t covered; /* where the last block ended that had been recorded when it was made */
	bool partial;	  /* it is of a part of the trace only */
	uint64_t rows;
	size_t first_block, block_count; /* as store_block() numbers them */
	uint64_t seq;			 /* of its head among the blocks of its file */
	uint64_t
		sum; /* of what its blocks say: of copies of a file that were annotated differently another */
};

/*
 * Places of tables: a name of a trace keeps its own, also while the table is dropped. Safe beside
 * store_refresh().
 */
size_t store_made_count(const struct store *s);
/* The table at a place; NULL while it is dropped. */
const struct store_made *store_made(const struct store *s, size_t i);
/* What dropped the table at a place, without columns; NULL while there is a table. */
const struct store_made *store_made_dropped(const struct store *s, size_t i);
/* Grows with each table that came, was replaced or dropped. */
uint64_t store_made_changes(const struct store *s);
/* The generation of a table that is of all that every trace has by now; NULL: there is none. */
const struct store_made *store_made_current(const struct store *s, enum table_id table);
/* True where more was recorded since the table was made. */
bool store_made_is_stale(const struct store *s, const struct store_made *m);

/* ---- writing ---- */

/* The definition of a table that is not of the schema. */
static inline struct table_def made_own(const char *name, const struct column_def *columns,
					size_t count)
{
	return (struct table_def){.name = name,
				  .doc = "",
				  .kind = TABLE_IS_MADE,
				  .start = NO_COLUMN,
				  .dur = NO_COLUMN,
				  .stop = NO_COLUMN,
				  .columns = columns,
				  .column_count = (unsigned int)count};
}

struct store_making {
	enum table_id table; /* a MADE table of the schema, or TABLE_OWN with: */
	const struct table_def
		*own; /* its name and columns, until the end; without columns it hides the table */
	const char *origin;
	const char *options; /* NULL: none */
	uint64_t version;
	uint64_t covered; /* aside: store_recorded() when it was made; 0: the writer knows */
};

/* Bytes of all files that were recorded so far. */
uint64_t store_recorded(const struct store *s);
/*
 * Has `put` write tables: with `keep` into the trace, if it is one, closed, and may be written; else aside. Readers of the
 * store find them then. What `put` gets as `covered` goes into each store_making. 0 or negative.
 */
typedef int store_made_put_fn(void *arg, struct store_writer *w, uint64_t covered,
			      struct error *err);
int store_made_keep(struct store *s, bool keep, store_made_put_fn *put, void *arg,
		    struct error *err);
/*
 * The same of one table, which need not be begun and ended: `rows` puts its rows. With `inside` it must be in the trace itself:
 * else -EROFS with a message that calls its rows so ("edges").
 */
struct store_making;
typedef int store_made_rows_fn(void *arg, struct store_writer *w, struct error *err);
int store_made_table(struct store *s, bool keep, const struct store_making *what, bool partial,
		     const char *inside, store_made_rows_fn *rows, void *arg, struct error *err);

/*
 * Opens a closed trace for made tables and nothing else. `s` is the file alone, opened. -EBUSY: it is being written, or was
 * since; -EINVAL: it was never closed.
 */
int store_reopen(struct store_writer **ret, const struct store *s, struct error *err);
/* The end of a writer that store_reopen() gave, in place of store_close(): the file is as it was. */
void store_abandon(struct store_writer *w);
DEFINE_CLEANUP(struct store_writer *, store_abandon)

/* Begins a generation; until its end nothing else is appended. -EINVAL with the reason: a name that cannot be, columns of
 * one name, too many. After a failure of this or of the next two the generation never counts. */
int store_made_begin(struct store_writer *w, const struct store_making *what, struct error *err);
int store_made_rows(struct store_writer *w, const struct batch *b, struct error *err);
/* The same row by row, to be filled at once; the next one, or the end, writes it. `r` is negative with a message. */
struct batch_row store_made_row(struct store_writer *w, struct error *err);
int store_made_end(struct store_writer *w, bool partial, struct error *err);
