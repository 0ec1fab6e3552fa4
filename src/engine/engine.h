/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine: executes plans and SQL. May use query, store and hist.
 *
 * engine.h: what an engine is, as callers and implementations see it. There are two kinds:
 *
 * - The embedded engine works on the blocks of trace files, which weir opens (struct store). It is duckdb/: DuckDB
 *   loaded from its shared library; docs/howto/sql.md says what a user of its SQL sees.
 * - Any other holds rows itself and is found by an address, `scheme://...`.
 *
 * Each is a `const struct engine_ops`, and the list of those in this binary is engines.c. A binary may have none: it
 * still reads rows (engine_scan_new(), ask.h).
 *
 *   engine_open(&e, store, &(struct engine_options){0}, &err);     or
 *   engine_connect(&e, "clickhouse://host/db", &(struct engine_options){0}, &err);
 *   engine_ask(e, plan, NULL, &result, &err);                      ask.h
 *   while (engine_result_next(result)) engine_result_text(result, 0, &buf);
 *
 * One thing runs at a time in one engine; engine_interrupt() and engine_progress() may be called from any thread.
 * docs/howto/add-an-engine.md lists what every engine must do alike.
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
struct ask_options; /* engine/ask.h, likewise the next four */
struct ask_step;
struct engine_follow;
struct engine_scan;
struct scan_request;
struct plan;	    /* query/plan/plan.h */
struct query_users; /* query/check/user_values.h */

struct engine;
struct engine_result;
struct engine_statements;

/* For the embedded engine; one behind an address uses hosts, and may use memory_max and threads. */
struct engine_options {
	const char *library;  /* libduckdb.so; NULL: $WEIR_DUCKDB, then weir's own folders */
	uint64_t memory_max;  /* bytes; 0: ENGINE_MEMORY_DEFAULT. Histograms are counted beside it,
				 to the same bound */
	uint64_t spill_max;   /* bytes; 0: ENGINE_SPILL_DEFAULT */
	unsigned int threads; /* 0: one per CPU */
	/* Behind an address: rows of recordings of these machines alone, whatever is asked. -ENOENT where there is none of one
	 * of them; the message names those there are. 0: all */
	const char *const *hosts;
	size_t host_count;
	struct annotations *annotations; /* of the store, shared; NULL: the engine makes its own */
	bool borrowed; /* the store is refreshed by its owner alone, while nothing runs here */
	bool confined; /* for SQL of other people: statements that read the trace, settings locked */
	int folder; /* confined: a descriptor of the folder for temporary files, to which the whole
			  process is confined for good; it must have one thread. 0: the engine makes its own */
};

/* ---- what an engine implements ---- */

/*
 * Members without "may be NULL" are needed. Functions return 0 or a negative errno with a message: -EINTR after
 * interrupt(), -ENOMEM where a bound was exceeded (the message names it and says how to raise it), -EIO else.
 */
struct engine_ops {
	const char *name;   /* for messages: "DuckDB" */
	const char *scheme; /* "clickhouse": addresses that begin with clickhouse:// are its own;
			       NULL: the embedded engine */

	/* The embedded engine: opens over the store (not owned, must outlive it). Else NULL. */
	int (*open)(struct engine **ret, struct store *store, const struct engine_options *opt,
		    struct error *err);
	/* The others: connects; the address is all of what the user wrote. -EINVAL: it is malformed;
	 * -ECONNREFUSED and the like. The embedded engine: NULL. */
	int (*connect)(struct engine **ret, const char *address, const struct engine_options *opt,
		       struct error *err);
	void (*free)(struct engine *e); /* never of NULL */
	/* The embedded engine: what is needed is there: its version ("v1.5.6") and place; either may be NULL. Else NULL. */
	int (*probe)(const char *library, const char **ret_version, const char **ret_path,
		     struct error *err);

	/* Any thread, at any time: what runs fails with -EINTR soon, on the server too; what begins later does not. */
	void (*interrupt)(struct engine *e);
	/* Any thread: parts (blocks) that were read and that will be by what runs. May be NULL. */
	void (*progress)(const struct engine *e, uint64_t *ret_done, uint64_t *ret_total);
	/* Temporary files go at once, as free() may not be reached: of this engine, of all of them in the process. May
	 * be NULL. */
	void (*abandon)(struct engine *e);
	void (*abandon_all)(void);

	/* First and last time of the rows of op, ns since the epoch; INT64_MIN twice where there are none. What --from
	 * and --to are relative to. */
	int (*range)(struct engine *e, int64_t *ret_first, int64_t *ret_last, struct error *err);
	/*
	 * The answer to a plan over the rows that are there now. Columns of the result are plan_output(); entities
	 * (processes, files, ...) come by name, codes as words or as numbers, histograms and tallies packed (hist/sparse.h).
	 * The plan outlives the result. opt may be NULL.
	 */
	int (*ask)(struct engine *e, const struct plan *p, const struct ask_options *opt,
		   struct engine_result **ret, struct error *err);
	/*
	 * Rows of one table with their columns, in the trace's order (order.h), those of the range that pass the filter. Ids in
	 * the batches are the engine's own, and the rows of dimension tables, scanned likewise, have the same: names are looked
	 * up in a struct dims that scans of `thread`, `file`, ... have filled. The request is copied, its filter outlives the
	 * scan. A request with `follow` may be refused with -EOPNOTSUPP.
	 */
	int (*scan)(struct engine *e, const struct scan_request *q, struct engine_scan **ret,
		    struct error *err);

	/* Behind an address: users' own tables that it holds by now, for the parser; *ret, NULL where there are none, lives as long
	 * as the engine. May be NULL: it holds none. */
	int (*users)(struct engine *e, const struct query_users **ret, struct error *err);
	/* The statement(s) that ask() would run, appended. May be NULL. */
	int (*explain)(struct engine *e, const struct plan *p, struct buf *out, struct error *err);
	/* The same plan again and again: engine_follow_*() in ask.h. May be NULL, all three. */
	int (*follow)(struct engine_follow **ret, struct engine *e, const struct plan *p,
		      struct error *err);
	int (*follow_refresh)(struct engine_follow *f, struct engine_result **ret,
			      struct error *err);
	void (*follow_free)(struct engine_follow *f);

	/* SQL: engine_parse() and what follows it below. May be NULL, all four. */
	int (*parse)(struct engine *e, const char *sql, struct engine_statements **ret,
		     struct error *err);
	int (*execute)(struct engine_statements *s, size_t i, struct engine_result **ret,
		       struct error *err);
	void (*statements_free)(struct engine_statements *s);
	int (*check_name)(struct engine *e, const char *name, struct error *err);
};

/* The head of every engine's own struct, and of those that it hands out; connect(), ask(), ... fill it in. */
struct engine {
	const struct engine_ops *ops;
};

struct engine_statements {
	const struct engine_ops *ops;
	size_t count;
};

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

/* Values are those of the row at hand, by the column's type (see engine_result_*() below). */
struct engine_result_ops {
	bool (*next)(struct engine_result *r);
	bool (*is_null)(const struct engine_result *r, size_t column);
	int64_t (*get_int)(const struct engine_result *r, size_t column);
	double (*get_float)(const struct engine_result *r, size_t column);
	struct bytes (*get_bytes)(const struct engine_result *r, size_t column);
	int64_t (*get_time)(const struct engine_result *r, size_t column);
	int (*text)(struct engine_result *r, size_t column, struct buf *out);
	bool (*estimated)(const struct engine_result *r, size_t column); /* NULL: none ever is */
	void (*free)(struct engine_result *r);
};

struct engine_result {
	const struct engine_result_ops *ops;
	struct engine_column *columns; /* [count] */
	size_t count;
	bool has_rows;		/* false for SQL without rows */
	uint64_t changed;	/* by such */
	struct ask_step *steps; /* [step_count] where ask_options.analyze wanted them */
	size_t step_count;
};

/* ---- the engines of this binary: engines.c ---- */

/* Ends with NULL; at most one is embedded. */
extern const struct engine_ops *const engines[];

/*
 * The embedded engine over a store. -ENOENT: no library; -EPROTONOSUPPORT: too old; -EOPNOTSUPP: this binary has no
 * embedded engine. The message has the remedy.
 */
int engine_open(struct engine **ret, struct store *store, const struct engine_options *opt,
		struct error *err);
/* The engine at an address: engine_address() must have found one. */
int engine_connect(struct engine **ret, const char *address, const struct engine_options *opt,
		   struct error *err);
/*
 * 1 where the text is an engine's address, 0 where it is a path. -EINVAL: it has a scheme that no engine of this binary
 * declares; the message names those that there are.
 */
int engine_address(const char *text, struct error *err);
/* The embedded engine's version and library, as of ops.probe(). Errors as engine_open()'s. */
int engine_probe(const char *library, const char **ret_version, const char **ret_path,
		 struct error *err);
/* Removes the temporary files of every engine of the process, also of one that is being opened; when it returns, end
 * the process. Any thread; not from a signal handler. */
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
/* Not from a signal handler. */
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

/* Cuts a text into statements. -EINVAL: a syntax error; the message is one line and names the place. */
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
 * Runs statement i. Blocks that were committed meanwhile are seen from the next statement on: every
 * scan of one statement reads the same blocks. -EINVAL: wrong SQL; -EINTR: interrupted; -ENOMEM:
 * over a limit; -EIO: anything else.
 */
static inline int engine_execute(struct engine_statements *s, size_t i, struct engine_result **ret,
				 struct error *err)
{
	return s->ops->execute(s, i, ret, err);
}
/* -EINVAL where a user's table cannot bear the name: no name, weir's own, a word of SQL. */
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
/* False for statements without rows (CREATE, COPY, SET); engine_result_changed() is then the number of rows that COPY,
 * INSERT, ... changed. */
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
/* Goes to the next row (the first call: the first); false at the end. */
static inline bool engine_result_next(struct engine_result *r)
{
	return r->ops->next(r);
}
static inline bool engine_result_is_null(const struct engine_result *r, size_t column)
{
	return r->ops->is_null(r, column);
}
/* Appends the value as text; nothing for NULL. 0 or -ENOMEM. */
static inline int engine_result_text(struct engine_result *r, size_t column, struct buf *out)
{
	return r->ops->text(r, column, out);
}
/* A column of type ENGINE_TIME as nanoseconds since the epoch; values outside of int64_t are its ends. */
static inline int64_t engine_result_time(const struct engine_result *r, size_t column)
{
	return r->ops->get_time(r, column);
}
/* Values by type, where the column's is known: a whole number (BOOL and TIME too), a float, bytes
 * (TEXT, BLOB; valid until the next row). 0 or nothing for NULL. */
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
/* A distinct() that went over DISTINCT_EXACT_MAX: the value is an estimate. */
static inline bool engine_result_estimated(const struct engine_result *r, size_t column)
{
	return r->ops->estimated && r->ops->estimated(r, column);
}

/*
 * Text for people from bytes of any kind: invalid UTF-8 becomes \xHH, so does NUL, and so does a
 * backslash that would otherwise read as such an escape. engine_unescape() gives the bytes back. 0
 * or -ENOMEM.
 */
int engine_escape(const void *data, size_t len, struct buf *out);
/* True where engine_escape() changes nothing, as is seen at a glance: ASCII without a backslash. */
bool engine_is_plain(const void *data, size_t len);
int engine_unescape(const char *text, size_t len, struct buf *out);
/* True where all of it is valid UTF-8 (no surrogates, no overlong forms). */
bool engine_is_utf8(const void *data, size_t len);
