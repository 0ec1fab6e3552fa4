/* SPDX-License-Identifier: Apache-2.0 */
/*
 * made.h: tables made from a trace after it was recorded, and appended to it (docs/FORMAT.md, "Made tables"): those
 * that the schema declares as MADE, which weir computes, and those whose columns the file declares, which a user
 * appends (weir annotate). Recorded data are never modified.
 *
 * A table is appended as a generation. It takes effect with its last block, and then replaces the earlier generation
 * of that name; a crash before that leaves the earlier one in force. Made tables are in the trace itself, so a copy
 * of the file, or of its committed blocks, has them too, and one reader serves all. If the trace cannot be written,
 * they live as long as the reader (store_made_aside()).
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
#define MADE_COLUMN_MAX 255u	    /* bytes of a column's name */
#define MADE_TEXT_MAX	(1u << 20)  /* bytes of origin, options */
#define MADE_HEADS_MAX	(64u << 20) /* bytes of all heads, in addition to the size of the file */
#define MADE_HEAD_COST	4096u	    /* of each head, besides its texts */
#define MADE_BY_USER	"weir.annotate" /* origin of a user's own table */
/* Origin of a table `clock` that holds the correction applied to the rows before they were loaded into this trace. */
#define MADE_CLOCKS_APPLIED "weir.clocks-applied"

/* Heads beyond this are refused: readers keep them in memory, while repeated texts take next to nothing in the file. */
static inline uint64_t made_heads_max(uint64_t file_size)
{
	return MADE_HEADS_MAX + file_size;
}

/* A letter or _, then letters, digits and _; at most MADE_NAME_MAX. Names that differ only in case are the same. */
bool made_name_ok(const char *name, size_t len);

/* ---- reading ---- */

/* One generation of a table of one trace. Valid as long as the store. */
struct store_made {
	const char *name;    /* a user's table whose name weir now uses itself has _ appended */
	enum table_id table; /* a table of the schema, or TABLE_OWN */
	const struct table_def *def;
	uint32_t trace;
	/* Its origin: which computation, in which version, with which options. */
	const char *origin, *options;
	uint64_t version;
	uint64_t covered; /* end of the last recorded block when it was made */
	bool partial;	  /* it covers only a part of the trace */
	uint64_t rows;
	size_t first_block, block_count; /* as store_block() numbers them */
	uint64_t seq;			 /* number of its head among the blocks of its file */
	uint64_t
		sum; /* checksum over its blocks, which differs between copies of a file that were annotated differently */
};

/*
 * The number of table slots. A name of a trace keeps its slot, even while the table is dropped. Safe during
 * store_refresh().
 */
size_t store_made_count(const struct store *s);
/* The table in a slot; NULL while it is dropped. */
const struct store_made *store_made(const struct store *s, size_t i);
/* The generation without columns that dropped the table in a slot; NULL while there is a table. */
const struct store_made *store_made_dropped(const struct store *s, size_t i);
/* Incremented each time a table is made, replaced or dropped. */
uint64_t store_made_changes(const struct store *s);
/* The generation of a table that covers everything recorded so far in every trace; NULL: none. */
const struct store_made *store_made_current(const struct store *s, enum table_id table);
/* True if more was recorded since the table was made. */
bool store_made_is_stale(const struct store *s, const struct store_made *m);

/* ---- writing ---- */

/* The definition of a table that is not in the schema. */
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
	const struct table_def *
		own; /* its name and columns, valid until the end; without columns it hides the table */
	const char *origin;
	const char *options; /* NULL: none */
	uint64_t version;
	uint64_t covered; /* aside: store_recorded() when it was made; 0: the writer fills it in */
};

/* Bytes recorded so far, over all files. */
uint64_t store_recorded(const struct store *s);
/*
 * The writer of a temporary file that only this store reads: for tables of traces that cannot be written, that still
 * grow, or that are several. They replace the traces' own tables of the same name. Ids are those that the store
 * returns. The store owns the writer; store_refresh() then finds the tables.
 */
int store_made_aside(struct store *s, struct store_writer **ret, struct error *err);
/*
 * Calls `put` to write tables: with `keep` into the trace, if it is a single closed and writable one; else aside.
 * Readers of the store then find them. `put` copies `covered` into each store_making. 0 or negative.
 */
typedef int store_made_put_fn(void *arg, struct store_writer *w, uint64_t covered,
			      struct error *err);
int store_made_keep(struct store *s, bool keep, store_made_put_fn *put, void *arg,
		    struct error *err);
/*
 * The same for one table, begun and ended here: `rows` only adds its rows. With `inside` the table must go into the
 * trace itself: else -EROFS, with a message that names the rows ("edges").
 */
struct store_making;
typedef int store_made_rows_fn(void *arg, struct store_writer *w, struct error *err);
int store_made_table(struct store *s, bool keep, const struct store_making *what, bool partial,
		     const char *inside, store_made_rows_fn *rows, void *arg, struct error *err);

/*
 * Opens a closed trace for appending made tables. `s` must have that file alone open. -EBUSY: it is being written, or
 * was since it was opened; -EINVAL: it was never closed.
 */
int store_reopen(struct store_writer **ret, const struct store *s, struct error *err);
/* Ends a writer from store_reopen() in place of store_close(), and restores the file as it was. */
void store_abandon(struct store_writer *w);
DEFINE_CLEANUP(struct store_writer *, store_abandon)

/*
 * Begins a generation; until its end nothing else may be appended. -EINVAL with the reason: an invalid name,
 * duplicate columns, too many columns. If this or one of the next two functions fails, the generation never takes
 * effect.
 */
int store_made_begin(struct store_writer *w, const struct store_making *what, struct error *err);
int store_made_rows(struct store_writer *w, const struct batch *b, struct error *err);
/*
 * Returns a row to fill in at once; the next call, or the end, writes it. `r` is negative, with a message, on
 * failure.
 */
struct batch_row store_made_row(struct store_writer *w, struct error *err);
int store_made_end(struct store_writer *w, bool partial, struct error *err);
