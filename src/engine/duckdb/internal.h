/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared by the files of engine/duckdb. */
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
/* vector size of the library; checked when it is loaded, because vectors are split at multiples of 64 rows */
#define VECTOR_ROWS 2048

/* loader.c: finds and loads the library once per process; later calls return the same one. ret_path may be NULL. */
int duckdb_load(const char *library, const struct duckdb_api **ret, const char **ret_path,
		struct error *err);
/* The functions of the loaded library, for callbacks. */
const struct duckdb_api *duckdb_loaded(void);

/* enum_types.c: an ENUM type, and the ordinal of each code or id. Values are sorted, so that ORDER BY the ENUM orders by text. */
#define WORD_NULL UINT32_MAX /* no ordinal */

struct words {
	duckdb_logical_type type;
	duckdb_type internal; /* DUCKDB_TYPE_UTINYINT, USMALLINT or UINTEGER */
	uint32_t *ordinals;   /* by code, or by index in a dictionary */
	size_t ordinal_count;
};

void words_free(const struct duckdb_api *d, struct words *w);
/* The vocabulary of a CODE column, including codes without a word. */
int words_of_vocab(const struct duckdb_api *d, const char *column, struct words *ret);

/* table_names.c: the current rows of dimension tables, over blocks [0, pin) of the store. */
struct names {
	size_t pin; /* number of blocks read */
	struct live live[TABLE_COUNT];
	bool live_made[TABLE_COUNT];
	struct names_column {
		struct intern texts; /* escaped, in the order before words were sorted */
		struct words words;
		bool made;
	} columns[4]; /* names of threads and files that are ENUMs in their own tables */
};

void duck_names_free(const struct duckdb_api *d, struct names *n);
/* Texts of a column of a dimension table; *ret is NULL if it is a VARCHAR. */
int names_column(struct duck *e, enum table_id table, unsigned int column,
		 const struct names_column **ret, struct error *err);
/* The current rows of a dimension table, computed on first use. */
int names_live(struct duck *e, enum table_id table, const struct live **ret, struct error *err);
/*
 * An ENUM with more texts takes more time and memory to declare than it saves; the column is then a VARCHAR. Decided
 * from block headers; no name is read.
 */
#define NAMES_ENUM_MAX (1u << 17)
bool names_many(const struct duck *e, enum table_id table);
/* Reads the rows of files unless already read; -EINTR if the statement is interrupted. */
int names_load_files(struct duck *e, struct error *err);

struct duck {
	struct engine head;
	const struct duckdb_api *api;
	struct store *store;
	duckdb_database db;
	duckdb_connection con;
	struct spill spill;	 /* for temporary files; none in a confined process */
	struct duck *next_alive; /* list of all engines of the process; see duck_abandon_all() */
	unsigned int threads;
	unsigned int follows; /* number made so far; each has a table */
	/* `annotations` is used; `annotations_own` is freed */
	struct annotations *annotations, *annotations_own;
	bool borrowed;			 /* the store is borrowed: its owner refreshes it */
	bool confined;			 /* for untrusted SQL */
	bool view_made[TABLE_COUNT + 1]; /* weir's own; the last one is op_named */
	bool macros_made;
	uint64_t users_seen; /* store_made_changes() when the views of other tables were made */
	/* one statement runs at a time: the members below change only between statements */
	size_t pin; /* number of blocks that the statement sees */
	struct words vocab[32];
	const char *vocab_columns[32];
	size_t vocab_count;
	struct names names;
	struct rows_exprs *rows_kept; /* expressions of weir_rows(), newest first */
	pthread_mutex_t names_lock;   /* binds of one statement may come from several threads */
	_Atomic uint64_t blocks_done, blocks_total;
	_Atomic uint64_t blocks_read[TABLE_OWN + 1]; /* number of blocks decoded */
	_Atomic bool interrupted;
	/* memory of aggregate states, which DuckDB does not see */
	_Atomic uint64_t state_bytes;
	uint64_t state_bytes_max;
};

static inline struct duck *duck_of(struct engine *e)
{
	return (struct duck *)e;
}

/*
 * The ENUM of a CODE column, made on first use: the 21 vocabularies take a twelfth of the time of opening the engine.
 * *ret is NULL for a column that the schema does not have. Under names_lock.
 */
int duck_vocab(struct duck *e, const char *column, const struct words **ret, struct error *err);

/*
 * confine.c: from here on this process has no files except those in the folder (a descriptor), which is its working
 * directory, and no network, privileges or other processes. It must have one thread.
 */
int confine_process(int folder, struct error *err);
/* admit.c: -EINVAL if untrusted SQL may not run a statement of this type; `sql` is the complete text. */
int admit_statement(duckdb_statement_type type, const char *sql, struct error *err);
/* weir_tables.c: declares weir_<table>(), weir_op_named() and weir_user(). */
int tables_register(struct duck *e, struct error *err);
/* table_made.c: declares a view for each table declared by a trace, as they appear. */
int users_declare(struct duck *e, struct error *err);
/* True if the statement names such a table. */
bool users_in(const struct duck *e, const char *sql);
/* rows_bind.c: declares weir_rows(). */
int rows_register(struct duck *e, struct error *err);
/* rows_exprs.c: frees the cached expressions. */
void rows_exprs_free_all(struct duck *e);
/* sql_functions.c: functions used by translated expressions. */
int sql_functions_register(struct duck *e, struct error *err);
/*
 * Declares the macros, once a statement names one (NULL: at once): they take a fifteenth of the time of opening the engine.
 */
int macros_declare(struct duck *e, const char *sql, struct error *err);
/* duckdb.c: runs an internal statement. */
int duck_run(struct duck *e, const char *sql, struct error *err);
/* Pins the next statement to the blocks committed so far. */
int duck_pin(struct duck *e, struct error *err);
/* Runs one statement over the pinned blocks. */
int duck_run_text(struct duck *e, const char *sql, struct engine_result **ret, struct error *err);
/* hist_functions.c: hist, hist_merge, hist_quantile, hist_count, p50 ... */
int hist_functions_register(struct duck *e, struct error *err);
/* distinct_functions.c: distinct_set, distinct_set_text, distinct_merge, distinct_count,
 * distinct_estimated */
int distinct_functions_register(struct duck *e, struct error *err);
/* tally_functions.c: quantize, lquantize, llquantize, tally_merge */
int tally_functions_register(struct duck *e, struct error *err);
/* message.c: converts DuckDB's message (JSON, with errors_as_json, or text) to one line; returns the negative errno. */
int message_from_duckdb(const char *message, const char *sql, struct error *err);
/* " (line 2, character 7)" for a byte offset in a statement; "" if it is outside. */
void message_place(const char *sql, size_t offset, char *out, size_t size);
/* literals.c: -EINVAL if a word is compared with a column whose vocabulary lacks it. */
int literals_check(const char *sql, struct error *err);
/* ask.c, follow.c, table_made.c: members of struct engine_ops. */
int duck_check_name(struct engine *engine, const char *name, struct error *err);
int duck_ask(struct engine *engine, const struct plan *p, const struct ask_options *opt,
	     struct engine_result **ret, struct error *err);
int duck_explain(struct engine *engine, const struct plan *p, struct buf *out, struct error *err);
int duck_follow(struct engine_follow **ret, struct engine *engine, const struct plan *p,
		struct error *err);
int duck_follow_refresh(struct engine_follow *follow, struct engine_result **ret,
			struct error *err);
void duck_follow_free(struct engine_follow *follow);
/* duckdb_result.c: takes ownership of the library's result. */
int result_new(struct duck *e, duckdb_result *raw, struct engine_result **ret, struct error *err);
