/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: executes plans and SQL. May use query, store and hist.
 *
 * engine.h: the interface of an engine, for callers and implementations. There are two kinds:
 * - The embedded engine works on the blocks of trace files opened by weir (struct store). It is duckdb/: DuckDB, loaded from its
 *   shared library; docs/howto/sql.md describes its SQL.
 * - All others store rows themselves and are selected by an address, `scheme://...`.
 * Each is a `const struct engine_ops`; engines.c lists those in this binary. A binary may have none: it can still read
 * rows (engine_scan_new(), ask.h).
 *
 *   engine_open(&e, store, &(struct engine_options){0}, &err);     or
 *   engine_connect(&e, "clickhouse://host/db", &(struct engine_options){0}, &err);
 *   engine_ask(e, plan, NULL, &result, &err);                      ask.h
 *   while (engine_result_next(result)) engine_result_text(result, 0, &buf);
 *
 * An engine runs one operation at a time; engine_interrupt() and engine_progress() may be called from any thread.
 * docs/howto/add-an-engine.md lists the behaviour that all engines must share.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "store/store.h"

#define ENGINE_MEMORY_DEFAULT (512ull << 20) /* bytes for DuckDB's buffers */
#define ENGINE_SPILL_DEFAULT  (4ull << 30)   /* bytes of temporary files */
/* The exit status of a confined process is this plus the signal that ended it, as in shells. */
#define ENGINE_STATUS_SIGNAL 128
/* `weir sql --confined`: the descriptor and name of its folder for temporary files. */
#define ENGINE_FOLDER_FD   3
#define ENGINE_FOLDER_NAME "files"

struct annotations; /* engine/annotations.h */
struct ask_options; /* engine/ask.h, also the next four */
struct ask_step;
struct engine_follow;
struct engine_scan;
struct scan_request;
struct plan;	    /* query/plan/plan.h */
struct query_users; /* query/check/user_values.h */

struct engine;
struct engine_result;
struct engine_statements;

/* For the embedded engine. Engines behind an address use hosts, and may use memory_max and threads. */
struct engine_options {
	const char *library; /* libduckdb.so; NULL: $WEIR_DUCKDB, then weir's own folders */
	/* bytes; 0: ENGINE_MEMORY_DEFAULT. Histograms are counted separately, with the same limit */
	uint64_t memory_max;
	uint64_t spill_max;   /* bytes; 0: ENGINE_SPILL_DEFAULT */
	unsigned int threads; /* 0: one per CPU */
	bool only_rows; /* threads 0: fewer, if the store has few rows and nothing else is read */
	/*
	 * Behind an address: use only recordings of these machines, in all queries. -ENOENT if one has none; the
	 * message lists the existing ones. 0: all
	 */
	const char *const *hosts;
	size_t host_count;
	/* annotations of the store, shared; NULL: the engine makes its own */
	struct annotations *annotations;
	bool borrowed; /* only the owner of the store refreshes it, while nothing runs here */
	/* for untrusted SQL: only statements that read the trace; settings are locked */
	bool confined;
	/*
	 * confined: a descriptor of the folder for temporary files, to which the whole process is permanently confined;
	 * it must have one thread. 0: the engine makes its own
	 */
	int folder;
};

/* ---- operations that an engine implements ---- */

/*
 * Members are required unless marked "may be NULL". Functions return 0 or a negative errno with a message: -EINTR after
 * interrupt(), -ENOMEM if a limit was exceeded (the message names it and how to raise it), otherwise -EIO.
 */
struct engine_ops {
	const char *name; /* for messages: "DuckDB" */
	/* "clickhouse": it handles addresses that begin with clickhouse://; NULL: the embedded engine */
	const char *scheme;

	/* Embedded engine: opens the store (borrowed, must outlive the engine). Otherwise NULL. */
	int (*open)(struct engine **ret, struct store *store, const struct engine_options *opt,
		    struct error *err);
	/*
	 * Other engines: connects to an address, given exactly as the user wrote it. -EINVAL: malformed; -ECONNREFUSED
	 * and the like. Embedded engine: NULL.
	 */
	int (*connect)(struct engine **ret, const char *address, const struct engine_options *opt,
		       struct error *err);
	void (*free)(struct engine *e); /* never called with NULL */
	/*
	 * Embedded engine: checks that the library is available; returns its version ("v1.5.6") and path; either may be
	 * NULL. Otherwise NULL.
	 */
	int (*probe)(const char *library, const char **ret_version, const char **ret_path,
		     struct error *err);

	/*
	 * From any thread, at any time: the running operation fails with -EINTR soon, on the server too; later ones are
	 * unaffected.
	 */
	void (*interrupt)(struct engine *e);
	/* From any thread: parts (blocks) that the running operation has read, and all that it will read. May be NULL. */
	void (*progress)(const struct engine *e, uint64_t *ret_done, uint64_t *ret_total);
	/*
	 * Removes temporary files immediately, since free() may not be reached: of this engine, or of all in the
	 * process. May be NULL.
	 */
	void (*abandon)(struct engine *e);
	void (*abandon_all)(void);

	/*
	 * First and last time of the rows of op, ns since the epoch; INT64_MIN twice if there are none. --from and --to
	 * are relative to these.
	 */
	int (*range)(struct engine *e, int64_t *ret_first, int64_t *ret_last, struct error *err);
	/*
	 * Runs a plan over the current rows. Columns of the result are those of plan_output(); entities (processes,
	 * files, ...) are returned by name, codes as words or numbers, histograms and tallies packed (hist/sparse.h).
	 * The plan must outlive the result. opt may be NULL.
	 */
	int (*ask)(struct engine *e, const struct plan *p, const struct ask_options *opt,
		   struct engine_result **ret, struct error *err);
	/*
	 * Reads columns of one table in the trace's order (order.h): rows of the range that pass the filter. Ids in the
	 * batches are the engine's own; rows of dimension tables, scanned likewise, use the same ids. Names are
	 * therefore resolved with a struct dims filled by scans of `thread`, `file`, ... The request is copied; its
	 * filter must outlive the scan. A request with `follow` may be rejected with -EOPNOTSUPP.
	 */
	int (*scan)(struct engine *e, const struct scan_request *q, struct engine_scan **ret,
		    struct error *err);

	/*
	 * Behind an address: the users' tables that it currently stores, for the parser; *ret, NULL if there are none,
	 * lives as long as the engine. May be NULL: it stores none.
	 */
	int (*users)(struct engine *e, const struct query_users **ret, struct error *err);
	/* Appends the SQL that ask() would run. May be NULL. */
	int (*explain)(struct engine *e, const struct plan *p, struct buf *out, struct error *err);
	/* Runs one plan repeatedly: engine_follow_*() in ask.h. All three may be NULL. */
	int (*follow)(struct engine_follow **ret, struct engine *e, const struct plan *p,
		      struct error *err);
	int (*follow_refresh)(struct engine_follow *f, struct engine_result **ret,
			      struct error *err);
	void (*follow_free)(struct engine_follow *f);

	/* SQL: engine_parse() and the functions after it below. All four may be NULL. */
	int (*parse)(struct engine *e, const char *sql, struct engine_statements **ret,
		     struct error *err);
	int (*execute)(struct engine_statements *s, size_t i, struct engine_result **ret,
		       struct error *err);
	void (*statements_free)(struct engine_statements *s);
	int (*check_name)(struct engine *e, const char *name, struct error *err);
};

/* First member of every engine's own struct, and of its statements; connect(), parse(), ... set it. */
struct engine {
	const struct engine_ops *ops;
};

struct engine_statements {
	const struct engine_ops *ops;
	size_t count;
};

enum engine_type {
	ENGINE_BOOL,
	ENGINE_INT,   /* its text is an integer of any length */
	ENGINE_FLOAT, /* its text is a number, or nan, inf, -inf */
	ENGINE_TIME,  /* a timestamp: engine_result_time() */
	ENGINE_TEXT,
	ENGINE_BLOB,  /* its text has \xHH for each byte that is not printable */
	ENGINE_OTHER, /* lists, structs, dates, ...: text in DuckDB's notation */
};

struct engine_column {
	const char *name;
	enum engine_type type;
	/* "ns" or "bytes" if the name is that of a schema's column and the type is a number; else "" */
	const char *unit;
	bool is_unsigned; /* ENGINE_INT: unsigned 64 bits */
};

/* Access to the current row, by the column's type (see engine_result_*() below). */
struct engine_result_ops {
	bool (*next)(struct engine_result *r);
	bool (*is_null)(const struct engine_result *r, size_t column);
	int64_t (*get_int)(const struct engine_result *r, size_t column);
	double (*get_float)(const struct engine_result *r, size_t column);
	struct bytes (*get_bytes)(const struct engine_result *r, size_t column);
	int64_t (*get_time)(const struct engine_result *r, size_t column);
	int (*text)(struct engine_result *r, size_t column, struct buf *out);
	bool (*estimated)(const struct engine_result *r, size_t column); /* NULL: no value is one */
	void (*free)(struct engine_result *r);
};

struct engine_result {
	const struct engine_result_ops *ops;
	struct engine_column *columns; /* [count] */
	size_t count;
	bool has_rows;		/* false for statements that return no rows */
	uint64_t changed;	/* number of rows changed by such a statement */
	struct ask_step *steps; /* [step_count], if ask_options.analyze was set */
	size_t step_count;
};

/* ---- the engines of this binary: engines.c ---- */

/* Terminated by NULL; at most one is embedded. */
extern const struct engine_ops *const engines[];

/*
 * Opens the embedded engine over a store. -ENOENT: no library; -EPROTONOSUPPORT: too old; -EOPNOTSUPP: this binary has
 * no embedded engine. The message names the remedy.
 */
int engine_open(struct engine **ret, struct store *store, const struct engine_options *opt,
		struct error *err);
/* Connects to the engine at an address, for which engine_address() has returned 1. */
int engine_connect(struct engine **ret, const char *address, const struct engine_options *opt,
		   struct error *err);
/*
 * 1 if the text is an engine's address, 0 if it is a path. -EINVAL: no engine of this binary has its scheme; the
 * message lists the existing schemes.
 */
int engine_address(const char *text, struct error *err);
/* The embedded engine's version and library, from ops.probe(). Errors as for engine_open(). */
int engine_probe(const char *library, const char **ret_version, const char **ret_path,
		 struct error *err);
/*
 * Removes the temporary files of every engine of the process, including one that is being opened. The caller must then
 * end the process. Thread-safe; not async-signal-safe.
 */
void engine_abandon_all(void);
/* -EOPNOTSUPP with a message: "ENGINE cannot WHAT". */
int engine_cannot(const struct engine *e, const char *what, struct error *err);

static inline void engine_free(struct engine *e)
{
	if (e)
		e->ops->free(e);
}
DEFINE_CLEANUP(struct engine *, engine_free)
static inline const char *engine_name(const struct engine *e)
{
	return e->ops->name;
}
/* Not async-signal-safe. */
static inline void engine_interrupt(struct engine *e)
{
	e->ops->interrupt(e);
}
static inline void engine_progress(const struct engine *e, uint64_t *ret_done, uint64_t *ret_total)
{
	*ret_done = *ret_total = 0;
	if (e->ops->progress)
		e->ops->progress(e, ret_done, ret_total);
}
static inline void engine_abandon(struct engine *e)
{
	if (e->ops->abandon)
		e->ops->abandon(e);
}
static inline int engine_users(struct engine *e, const struct query_users **ret, struct error *err)
{
	*ret = NULL;
	return e->ops->users ? e->ops->users(e, ret, err) : 0;
}
static inline int engine_range(struct engine *e, int64_t *ret_first, int64_t *ret_last,
			       struct error *err)
{
	return e->ops->range(e, ret_first, ret_last, err);
}

/* ---- SQL ---- */

/* Splits a text into statements. -EINVAL: a syntax error; the message is one line and includes the position. */
static inline int engine_parse(struct engine *e, const char *sql, struct engine_statements **ret,
			       struct error *err)
{
	return e->ops->parse ? e->ops->parse(e, sql, ret, err) : engine_cannot(e, "run SQL", err);
}
static inline void engine_statements_free(struct engine_statements *s)
{
	if (s)
		s->ops->statements_free(s);
}
DEFINE_CLEANUP(struct engine_statements *, engine_statements_free)
static inline size_t engine_statements_count(const struct engine_statements *s)
{
	return s->count;
}
/*
 * Runs statement i. All scans of a statement read the same blocks; blocks committed meanwhile are seen by the next
 * statement. -EINVAL: wrong SQL; -EINTR: interrupted; -ENOMEM: over a limit; -EIO: anything else.
 */
static inline int engine_execute(struct engine_statements *s, size_t i, struct engine_result **ret,
				 struct error *err)
{
	return s->ops->execute(s, i, ret, err);
}
/* -EINVAL if a user's table cannot have this name: not a valid name, reserved by weir, or a keyword of SQL. */
static inline int engine_check_name(struct engine *e, const char *name, struct error *err)
{
	return e->ops->check_name ? e->ops->check_name(e, name, err)
				  : engine_cannot(e, "store user-defined tables", err);
}

/* ---- results ---- */

static inline void engine_result_free(struct engine_result *r)
{
	if (r)
		r->ops->free(r);
}
DEFINE_CLEANUP(struct engine_result *, engine_result_free)
/*
 * False for statements that return no rows (CREATE, COPY, SET); engine_result_changed() is then the number of rows that
 * COPY, INSERT, ... changed.
 */
static inline bool engine_result_has_rows(const struct engine_result *r)
{
	return r->has_rows;
}
static inline uint64_t engine_result_changed(const struct engine_result *r)
{
	return r->changed;
}
static inline size_t engine_result_columns(const struct engine_result *r)
{
	return r->count;
}
static inline const struct engine_column *engine_result_column(const struct engine_result *r,
							       size_t column)
{
	assert(column < r->count);
	return &r->columns[column];
}
/* Advances to the next row (initially to the first); false at the end. */
static inline bool engine_result_next(struct engine_result *r)
{
	return r->ops->next(r);
}
static inline bool engine_result_is_null(const struct engine_result *r, size_t column)
{
	return r->ops->is_null(r, column);
}
/* Appends the value as text; nothing if it is NULL. 0 or -ENOMEM. */
static inline int engine_result_text(struct engine_result *r, size_t column, struct buf *out)
{
	return r->ops->text(r, column, out);
}
/* A column of type ENGINE_TIME as nanoseconds since the epoch, saturated to int64_t. */
static inline int64_t engine_result_time(const struct engine_result *r, size_t column)
{
	return r->ops->get_time(r, column);
}
/*
 * The value for a known type: an integer (also BOOL and TIME), a float, bytes (TEXT, BLOB; valid until the next row). 0
 * or empty for NULL.
 */
static inline int64_t engine_result_int(const struct engine_result *r, size_t column)
{
	return r->ops->get_int(r, column);
}
static inline double engine_result_float(const struct engine_result *r, size_t column)
{
	return r->ops->get_float(r, column);
}
static inline struct bytes engine_result_bytes(const struct engine_result *r, size_t column)
{
	return r->ops->get_bytes(r, column);
}
/* True for a distinct() above DISTINCT_SET_MAX, whose value is an estimate. */
static inline bool engine_result_estimated(const struct engine_result *r, size_t column)
{
	return r->ops->estimated && r->ops->estimated(r, column);
}

/*
 * Converts bytes to readable text: invalid UTF-8 becomes \xHH, and so do NUL and a backslash that would otherwise read
 * as such an escape. engine_unescape() reverses this. 0 or -ENOMEM.
 */
int engine_escape(const void *data, size_t len, struct buf *out);
/* True if a quick check shows that engine_escape() changes nothing: ASCII without a backslash. */
bool engine_is_plain(const void *data, size_t len);
int engine_unescape(const char *text, size_t len, struct buf *out);
/* True if all of it is valid UTF-8 (no surrogates, no overlong forms). */
bool engine_is_utf8(const void *data, size_t len);
