/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expr.h: a typed expression, over a row of a table (EXPR_COLUMN, EXPR_NAME) or over a row of the
 * previous stage's output (EXPR_FIELD). Trees are immutable once made, and owned by a plan's arena.
 */
#pragma once

#include "base/buf.h"
#include "batch/batch.h"
#include "batch/dims.h"

enum query_type {
	QUERY_NULL, /* the literal null: fits any type */
	QUERY_BOOL,
	QUERY_INT,
	QUERY_UINT, /* 64 bits: addresses, raw arguments; flags (a set of bits with words) */
	QUERY_FLOAT,
	QUERY_DUR,  /* ns */
	QUERY_SIZE, /* bytes */
	QUERY_TIME, /* ns since the epoch */
	QUERY_CODE, /* a word of the vocabulary `vocab` */
	QUERY_TEXT,
	QUERY_ENTITY, /* `file`, `thread`, ...: an id of the table `entity` that stands for the thing
			 over all its versions; its text is its latest name */
	QUERY_HIST,   /* packed histogram, hist/sparse.h */
	QUERY_TALLY,  /* counts by value: quantize() and its kin, see plan.h */
	QUERY_DISTINCT, /* a mergeable set, only inside an engine; elsewhere QUERY_INT */
};

struct query_kind {
	enum query_type type;
	/* CODE: column name for vocab_word(); UINT: "flags", "status" or NULL; HIST, TALLY: the
	 * unit of what was counted */
	const char *vocab;
	/* ENTITY; INT: the table that an id refers to, TABLE_OP if the number is not an id */
	enum table_id entity;
};

/*
 * Names of a row that are looked up by an id in one of its columns: path by file_id, comm by
 * thread_id, ...
 * QUERY_NAMES(N): N(NAME, name, "id column", type, vocab or entity, "what it is")
 */
#define QUERY_NAMES(N)                                                                             \
	N(COMM, comm, "thread_id", TEXT, 0, "the thread's name at the time of the call")           \
	N(EXE, exe, "thread_id", TEXT, 0, "the program that the thread runs")                      \
	N(PID, pid, "thread_id", INT, 0, "process id")                                             \
	N(PPID, ppid, "thread_id", INT, 0, "process id of the parent")                             \
	N(INNER_PID, inner_pid, "thread_id", INT, 0, "process id in its own pid namespace")        \
	N(INNER_TID, inner_tid, "thread_id", INT, 0, "thread id in its own pid namespace")         \
	N(UID, uid, "thread_id", INT, 0, "effective user id")                                      \
	N(ARGV, argv, "thread_id", TEXT, 0, "the process's arguments, as a shell would take them") \
	N(CGROUP_PATH, cgroup, "thread_id", TEXT, 0, "control group")                              \
	N(CONTAINER, container, "thread_id", TEXT, 0, "container id, null if none")                \
	N(UNIT, unit, "thread_id", TEXT, 0, "systemd unit, null if none")                          \
	N(HOST_NAME, host, "thread_id", TEXT, 0, "host name")                                      \
	N(THREAD, thread, "thread_id", ENTITY, TABLE_THREAD, "the thread across all its versions") \
	N(PROCESS, process, "thread_id", ENTITY, TABLE_PROCESS, "the process")                     \
	N(PATH, path, "file_id", TEXT, 0, "path at the time of the call, as the process saw it")   \
	N(HOSTPATH, hostpath, "file_id", TEXT, 0, "path as the recorder saw it")                   \
	N(FILE, file, "file_id", ENTITY, TABLE_FILE, "the file across all its versions and names") \
	N(FILE_TYPE, file_type, "file_id", CODE, "type", "regular, directory, pipe, socket, ...")  \
	N(FS, fs, "file_id", TEXT, 0, "file system type")                                          \
	N(DEV, dev, "file_id", INT, 0, "device, major << 20 | minor")                              \
	N(INO, ino, "file_id", UINT, 0, "inode number")                                            \
	N(PATH2, path2, "file2_id", TEXT, 0, "path of the second file (rename, link, splice)")     \
	N(FILE2, file2, "file2_id", ENTITY, TABLE_FILE, "the second file")                         \
	N(PEER, peer, "peer_id", TEXT, 0,                                                          \
	  "the address passed to the call, else the socket's peer")                                \
	N(CONNECTION, connection, "file_id", UINT, 0,                                              \
	  "a number shared only by the two ends of a connection")                                  \
	N(CONNECTION2, connection2, "file2_id", UINT, 0, "the same for the second file (accept)")  \
	N(STACK, stack, "stack_id", TEXT, 0,                                                       \
	  "functions of the program that led to the call, outermost first: main;load;read")        \
	N(KSTACK, kstack, "kstack_id", TEXT, 0,                                                    \
	  "functions of the kernel in which the call slept for longest")

enum query_name {
#define N(NAME, name, id, type, more, doc) QNAME_##NAME,
	QUERY_NAMES(N)
#undef N
		QNAME_COUNT,
};

enum expr_kind {
	EXPR_CONST,  /* value */
	EXPR_COLUMN, /* a column of the plan's table */
	EXPR_STOP,   /* `stop` of a table with start and dur: their sum, null while unfinished */
	EXPR_NAME,   /* name, over the id in `column` */
	EXPR_FIELD,  /* field `column` of the previous stage */
	EXPR_NOT,
	EXPR_NEG,
	EXPR_IS_NULL, /* never unknown */
	EXPR_AND,     /* arg[0], arg[1] */
	EXPR_OR,
	EXPR_COMPARE, /* cmp, arg[0], arg[1] of comparable types (units agreed) */
	EXPR_IN,      /* arg[0] in list[count] of constants, none of them null */
	EXPR_RANGE,   /* arg[0] between arg[1] and arg[2], inclusive */
	EXPR_GLOB,    /* arg[0] text (or code: its word; entity: its name), pattern */
	EXPR_REGEX,   /* the same; PCRE, may match anywhere */
	EXPR_LIKE,    /* SQL's: % and _ */
	EXPR_HAS,     /* all bits (or, with mask, the code) of arg[0]: (arg & mask) == bits */
	EXPR_ARITH,   /* op, arg[0], arg[1]; type says int or float */
	EXPR_CALL,    /* function, arg[0..arg_count) */
	EXPR_CASE,    /* if(cond, a, b) */
	EXPR_ROW,     /* row_id: identifies a stored call; null for a row of no stored block */
	EXPR_USER,    /* a user's column, from the row whose key is arg[0]; see user_values.h */
};

enum expr_compare { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };
enum expr_arith { ARITH_ADD, ARITH_SUB, ARITH_MUL, ARITH_DIV, ARITH_MOD };

/* QUERY_FUNCTIONS(F): F(NAME, name, "signature", "what it gives") */
#define QUERY_FUNCTIONS(F)                                                                       \
	F(DIR, dir, "dir(text)", "the folder of a path, \"/\" for entries of the root")          \
	F(BASE, base, "base(text)", "the last part of a path")                                   \
	F(EXT, ext, "ext(text)", "the suffix after the last dot of the last part; null if none") \
	F(LOWER, lower, "lower(text)", "ASCII letters in lower case")                            \
	F(LEN, len, "len(text)", "bytes")                                                        \
	F(BUCKET, bucket, "bucket(x, width)", "x rounded down to a multiple of width")           \
	F(LOG2, log2, "log2(x)",                                                                 \
	  "the power of two at or below x; 0 for 0, null for negative numbers")                  \
	F(HOUR, hour, "hour(t)", "hour of the day, 0..23, in UTC")                               \
	F(MINUTE, minute, "minute(t)", "minute of the hour")                                     \
	F(ABS, abs, "abs(x)", "absolute value")                                                  \
	F(BITAND, bitand, "bitand(a, b)", "bits in both")                                        \
	F(BITOR, bitor, "bitor(a, b)", "bits in either")                                         \
	F(COALESCE, coalesce, "coalesce(a, b)", "a, or b if a is unknown")                       \
	F(TEXT, text, "text(x)", "x as text: a word, a name, a number")                          \
	F(ID, id, "id(entity)", "the number of a file, thread or process")

enum query_function {
#define F(NAME, name, sig, doc) FUNCTION_##NAME,
	QUERY_FUNCTIONS(F)
#undef F
		FUNCTION_COUNT,
};

struct query_user_table;

/* A value of any kind; `i` holds bools (0, 1), codes, ids, times, ... */
struct value {
	bool null;
	bool estimate; /* of an engine's result */
	int64_t i;
	double f;
	struct bytes t;
};

struct expr {
	enum expr_kind kind;
	struct query_kind type;
	uint32_t pos, len; /* in the query's text, for errors */
	unsigned int
		row; /* number of the row: 0 the row itself, others as passed to query_parse_expr_rows() */
	union {
		struct value value; /* CONST */
		struct {
			unsigned int column; /* COLUMN, FIELD; NAME: the id column of the table */
			enum query_name name;
		};
		enum table_id table; /* STOP: the table whose rows have start and dur */
		struct {	     /* USER */
			const struct query_user_table *user;
			size_t user_column, user_key; /* of its columns; both must be loaded */
#define EXPR_USER_PLACE SIZE_MAX		      /* user_key: arg[0] is the row of the table */
		};
		struct {
			enum expr_compare cmp;
			enum expr_arith arith;
			enum query_function function;
			uint64_t mask, bits;  /* HAS */
			struct bytes pattern; /* GLOB, REGEX, LIKE */
			struct value *list;   /* IN: sorted (ints by value, texts by bytes) */
			size_t count;
		};
	};
	struct expr *arg[3];
	unsigned int arg_count;
};

/* The name of each enum query_type. */
extern const char *const query_type_names[];
/* The unit of a type: "ns", "bytes" or "". */
const char *query_kind_unit(struct query_kind k);
/* True for types whose values are int64_t. */
bool query_kind_is_int(struct query_kind k);

/* The type of a column of the schema. */
struct query_kind query_column_kind(const struct table_def *t, unsigned int column);
/* Columns of the table that the expression reads (ids behind names included), as a set of bits. */
uint64_t expr_columns(const struct expr *e);
/* True for a column of thread or file ids, through which names are looked up. */
bool expr_is_id(const struct expr *e);
/* The expression as text of the language; parses to the same expression. 0 or -ENOMEM. */
int expr_text(const struct expr *e, enum table_id table, struct buf *out);

/*
 * The value of a name for an id, from the dimension tables; the only place that computes it. Text lives as long as
 * the dims, unless it had to be composed (file names, argv): then it is in scratch.
 */
int query_name_value(enum query_name name, const struct dims *d, int64_t id, struct buf *scratch,
		     struct value *ret);
/* The dimension table whose rows hold a name. */
enum table_id query_name_table(enum query_name name);
/* The id that stands for an entity (the latest version of a file's generation, of a thread), and the
 * entity's text for display. */
int64_t query_entity_id(enum table_id entity, const struct dims *d, int64_t id);
int query_entity_text(enum table_id entity, const struct dims *d, int64_t id, struct buf *out);
/* The same as it is shown in an answer: with its machine if there are several, "db1:fio 30625". */
int query_entity_shown(enum table_id entity, const struct dims *d, int64_t id, struct buf *out);
