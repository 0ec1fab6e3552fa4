/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: who answers a question about a trace. May use store and hist. One engine so far: duckdb/,
 * DuckDB loaded from its shared library, which reads the trace's blocks through table functions.
 * docs/howto/sql.md says what a user of its SQL sees.
 *
 *   engine_open(&e, store, &(struct engine_options){0}, &err);
 *   engine_parse(e, "SELECT op, count(*) FROM op GROUP BY op", &s, &err);
 *   engine_execute(s, 0, &r, &err);
 *   while (engine_result_next(r)) engine_result_text(r, 0, &buf);
 *
 * One statement runs at a time in one engine; engine_interrupt() may be called from any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "store/store.h"

#define ENGINE_MEMORY_DEFAULT (512ull << 20) /* bytes that DuckDB's buffers may take */
#define ENGINE_SPILL_DEFAULT  (4ull << 30)   /* bytes of temporary files */
/* Of `weir sql --confined`: where it gets its folder for temporary files, and what that is called. */
#define ENGINE_FOLDER_FD   3
#define ENGINE_FOLDER_NAME "files"

struct annotations; /* engine/annotations.h */

struct engine_options {
	const char *library;  /* libduckdb.so; NULL: $WEIR_DUCKDB, then weir's own folders */
	uint64_t memory_max;  /* bytes; 0: ENGINE_MEMORY_DEFAULT. Histograms are counted beside it,
				 to the same bound */
	uint64_t spill_max;   /* bytes; 0: ENGINE_SPILL_DEFAULT */
	unsigned int threads; /* 0: one per CPU */
	struct annotations *annotations; /* of the store, shared; NULL: the engine makes its own */
	bool borrowed; /* the store is refreshed by its owner alone, while nothing runs here */
	bool confined; /* for SQL of other people: statements that read the trace, settings locked */
	int folder; /* confined: a descriptor of the folder for temporary files, to which the whole
			  process is confined for good; it must have one thread. 0: the engine makes its own */
};

/*
 * Loads the library, as engine_open() would; its version ("v1.5.6") and path (either may be NULL).
 * Errors as engine_open()'s.
 */
int engine_probe(const char *library, const char **ret_version, const char **ret_path,
		 struct error *err);

struct engine;

/*
 * Loads the library, opens a database in memory and declares the tables of `store` (not owned, must
 * outlive it). -ENOENT: no library; -EPROTONOSUPPORT: too old; the message has the remedy.
 */
int engine_open(struct engine **ret, struct store *store, const struct engine_options *opt,
		struct error *err);
void engine_free(struct engine *e);
DEFINE_CLEANUP(struct engine *, engine_free)
/* The library's version ("v1.5.6") and path. */
const char *engine_version(const struct engine *e);
const char *engine_library(const struct engine *e);
/* Stops the running statement, which then fails with -EINTR. Any thread; not from a signal handler.
 */
void engine_interrupt(struct engine *e);
/* Blocks read and to be read by the running statement so far, over all its scans. Any thread. */
void engine_progress(const struct engine *e, uint64_t *ret_done, uint64_t *ret_total);
/* Removes the temporary folder at once, for an exit that cannot wait for engine_free(). */
void engine_abandon(struct engine *e);
/* The same for every engine of the process, also one that is being opened; when it returns, end the
 * process. Any thread; not from a signal handler. */
void engine_abandon_all(void);

/* -EINVAL where a user's table cannot bear the name: no name, weir's own, a word of SQL. */
int engine_check_name(struct engine *e, const char *name, struct error *err);

struct engine_statements;

/* Cuts a text into statements. -EINVAL: a syntax error; the message is one line and names the
 * place. */
int engine_parse(struct engine *e, const char *sql, struct engine_statements **ret,
		 struct error *err);
void engine_statements_free(struct engine_statements *s);
DEFINE_CLEANUP(struct engine_statements *, engine_statements_free)
size_t engine_statements_count(const struct engine_statements *s);

struct engine_result;

/*
 * Runs statement i. Blocks that were committed meanwhile are seen from the next statement on: every
 * scan of one statement reads the same blocks. -EINVAL: wrong SQL; -EINTR: interrupted; -ENOMEM:
 * over a limit; -EIO: anything else.
 */
int engine_execute(struct engine_statements *s, size_t i, struct engine_result **ret,
		   struct error *err);
void engine_result_free(struct engine_result *r);
DEFINE_CLEANUP(struct engine_result *, engine_result_free)

enum engine_type {
	ENGINE_BOOL,
	ENGINE_INT,   /* text is a whole number of any length */
	ENGINE_FLOAT, /* text is a number, or nan, inf, -inf */
	ENGINE_TIME,  /* a point in time: engine_result_time() */
	ENGINE_TEXT,
	ENGINE_BLOB,  /* text is \xHH for each byte that is not printable */
	ENGINE_OTHER, /* lists, structs, dates, ...: text as DuckDB writes it */
};

struct engine_column {
	const char *name;
	enum engine_type type;
	const char *unit; /* "ns", "bytes" where the name is that of a schema's column and the type
			     is a number; else "" */
	bool is_unsigned; /* ENGINE_INT: 64 bits without a sign */
};

/* False for statements without rows (CREATE, COPY, SET): then engine_result_changed() may tell
 * something. */
bool engine_result_has_rows(const struct engine_result *r);
/* Rows that COPY, INSERT, ... changed. */
uint64_t engine_result_changed(const struct engine_result *r);
size_t engine_result_columns(const struct engine_result *r);
const struct engine_column *engine_result_column(const struct engine_result *r, size_t column);
/* Goes to the next row (the first call: the first); false at the end. */
bool engine_result_next(struct engine_result *r);
bool engine_result_is_null(const struct engine_result *r, size_t column);
/* Appends the value as text; nothing for NULL. 0 or -ENOMEM. */
int engine_result_text(struct engine_result *r, size_t column, struct buf *out);
/* A column of type ENGINE_TIME as nanoseconds since the epoch; values outside of int64_t are its
 * ends. */
int64_t engine_result_time(const struct engine_result *r, size_t column);

/* Values by type, where the column's is known: a whole number (BOOL and TIME too), a float, bytes
 * (TEXT, BLOB; valid until the next row). 0 or nothing for NULL. */
int64_t engine_result_int(const struct engine_result *r, size_t column);
double engine_result_float(const struct engine_result *r, size_t column);
struct bytes engine_result_bytes(const struct engine_result *r, size_t column);

/*
 * Text for people from bytes of any kind: invalid UTF-8 becomes \xHH, so does NUL, and so does a
 * backslash that would otherwise read as such an escape. engine_unescape() gives the bytes back. 0
 * or -ENOMEM.
 */
int engine_escape(const void *data, size_t len, struct buf *out);
int engine_unescape(const char *text, size_t len, struct buf *out);
/* True where all of it is valid UTF-8 (no surrogates, no overlong forms). */
bool engine_is_utf8(const void *data, size_t len);
