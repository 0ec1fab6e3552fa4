/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: what the files of engine/duckdb share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "engine/duckdb/library/duckdb_api.h"
#include "engine/annotations.h"
#include "engine/engine.h"
#include "engine/live_rows.h"
#include "engine/spill.h"

struct duck; /* the engine, below */

#define DUCKDB_MAJOR_MIN 1
#define DUCKDB_MINOR_MIN 5
#define VECTOR_ROWS \
	2048 /* of the library; checked when it is loaded, as vectors are cut at multiples of 64 \
		rows */

/* loader.c: finds and loads the library, once in a process: later calls get the one that is there.
 */
int duckdb_load(const char *library, const struct duckdb_api **ret, const char **ret_path,
		struct error *err);
/* The functions, for the library's callbacks. */
const struct duckdb_api *duckdb_loaded(void);

/*
 * enum_types.c: an ENUM type with the ordinal of each code or id. Its values are sorted, so that ORDER
 * BY an ENUM is ORDER BY its text.
 */
#define WORD_NULL UINT32_MAX /* no ordinal */

struct words {
	duckdb_logical_type type;
	duckdb_type internal; /* DUCKDB_TYPE_UTINYINT, USMALLINT or UINTEGER */
	uint32_t *ordinals;   /* by code, or by number of a dictionary */
	size_t ordinal_count;
};

void words_free(const struct duckdb_api *d, struct words *w);
/* The vocabulary of a CODE column, codes without a word included. */
int words_of_vocab(const struct duckdb_api *d, const char *column, struct words *ret);

/* table_names.c: the rows of dimension tables that hold, over blocks [0, pin) of the store. */
struct names {
	size_t pin; /* made for this many blocks */
	struct live live[TABLE_COUNT];
	bool live_made[TABLE_COUNT];
	struct names_column {
		struct intern texts; /* escaped, by ordinal of words before they were sorted */
		struct words words;
		bool made;
	} columns[4]; /* names of threads and files that are ENUMs in their own tables */
};

void duck_names_free(const struct duckdb_api *d, struct names *n);
/* Texts of a column of a dimension table; *ret: NULL: it is VARCHAR. */
int names_column(struct duck *e, enum table_id table, unsigned int column,
		 const struct names_column **ret, struct error *err);
/* Made when it is first asked for. */
int names_live(struct duck *e, enum table_id table, const struct live **ret, struct error *err);
/*
 * An ENUM of more texts takes longer to declare, and more memory, than it saves: the column is
 * VARCHAR then. From the blocks' headers; no name is read.
 */
#define NAMES_ENUM_MAX (1u << 17)
bool names_many(const struct duck *e, enum table_id table);
/* Reads the rows of files, unless they are there; -EINTR where the statement is interrupted. */
int names_load_files(struct duck *e, struct error *err);

struct duck {
	struct engine head;
	const struct duckdb_api *api;
	const char *library;
	struct store *store;
	duckdb_database db;
	duckdb_connection con;
	struct spill spill;	 /* for temporary files; none in a confined process */
	struct duck *next_alive; /* of the process; see duck_abandon_all() */
	unsigned int threads;
	unsigned int follows;				   /* made so far; each has a table */
	struct annotations *annotations, *annotations_own; /* the first is used; the second freed */
	bool borrowed;					   /* the store: its owner refreshes it */
	bool confined;					   /* SQL of other people */
	uint64_t users_seen; /* store_made_changes() of the views that there are */
	/* one statement at a time: these change between statements only */
	size_t pin; /* blocks that the statement sees */
	struct words vocab[32];
	const char *vocab_columns[32];
	size_t vocab_count;
	struct names names;
	struct rows_exprs *rows_kept; /* expressions of weir_rows(), newest first */
	pthread_mutex_t names_lock;   /* binds of one statement may come from several threads */
	_Atomic uint64_t blocks_done, blocks_total;
	_Atomic uint64_t blocks_read[TABLE_OWN + 1]; /* those that were decoded */
	_Atomic bool interrupted;
	/* memory of aggregates' states, which DuckDB does not see */
	_Atomic uint64_t state_bytes;
	uint64_t state_bytes_max;
};

static inline struct duck *duck_of(struct engine *e)
{
	return (struct duck *)e;
}

/* The ENUM of a CODE column; never NULL for a column of the schema. */
const struct words *duck_vocab(const struct duck *e, const char *column);

/*
 * confine.c: from here on this process has no files but those in the folder (a descriptor), which is its working directory, and
 * no network, privileges or other processes. It must have one thread.
 */
int confine_process(int folder, struct error *err);
/* admit.c: -EINVAL where SQL of other people may not have a statement of this type; `sql` is all of it. */
int admit_statement(duckdb_statement_type type, const char *sql, struct error *err);
/* weir_tables.c: declares weir_<table>(), weir_op_named() and weir_user(). */
int tables_register(struct duck *e, struct error *err);
/* table_made.c: declares a view per table of which traces declare the columns, as they come. */
int users_declare(struct duck *e, struct error *err);
/* rows_bind.c: declares weir_rows(). */
int rows_register(struct duck *e, struct error *err);
/* rows_exprs.c: forgets the expressions that were kept. */
void rows_exprs_free_all(struct duck *e);
/* sql_functions.c: what translated expressions call. */
int sql_functions_register(struct duck *e, struct error *err);
/* duckdb.c: runs a statement of the engine's own. */
int duck_run(struct duck *e, const char *sql, struct error *err);
/* Pins the next statement to the blocks that are committed now. */
int duck_pin(struct duck *e, struct error *err);
/* Runs one statement over the blocks that are pinned. */
int duck_run_text(struct duck *e, const char *sql, struct engine_result **ret, struct error *err);
/* hist_functions.c: hist, hist_merge, hist_quantile, hist_count, p50 ... */
int hist_functions_register(struct duck *e, struct error *err);
/* distinct_functions.c: distinct_set, distinct_set_text, distinct_merge, distinct_count,
 * distinct_estimated */
int distinct_functions_register(struct duck *e, struct error *err);
/* tally_functions.c: quantize, lquantize, llquantize, tally_merge */
int tally_functions_register(struct duck *e, struct error *err);
/* message.c: DuckDB's message (JSON, as errors_as_json gives it, or text) as one line; returns the
 * negative errno. */
int message_from_duckdb(const char *message, const char *sql, struct error *err);
/* " (line 2, character 7)" of a byte offset into a statement; "" where it is outside. */
void message_place(const char *sql, size_t offset, char *out, size_t size);
/* literals.c: -EINVAL where a word is compared with a column of a vocabulary that does not have it.
 */
int literals_check(const char *sql, struct error *err);
/* ask.c, follow.c, table_users.c: members of struct engine_ops. */
int duck_check_name(struct engine *engine, const char *name, struct error *err);
int duck_ask(struct engine *engine, const struct plan *p, const struct ask_options *opt,
	     struct engine_result **ret, struct error *err);
int duck_explain(struct engine *engine, const struct plan *p, struct buf *out, struct error *err);
int duck_follow(struct engine_follow **ret, struct engine *engine, const struct plan *p,
		struct error *err);
int duck_follow_refresh(struct engine_follow *follow, struct engine_result **ret,
			struct error *err);
void duck_follow_free(struct engine_follow *follow);
/* duckdb_result.c: takes over the library's result. */
int result_new(struct duck *e, duckdb_result *raw, struct engine_result **ret, struct error *err);
