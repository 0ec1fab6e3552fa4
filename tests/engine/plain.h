/* SPDX-License-Identifier: Apache-2.0 */
/* plain.h: questions answered by plain loops over the fixture's rows, to compare engines with. */
#pragma once

#include "fixture.h"

/* A row of op with the names for its ids. */
struct plain_row {
	struct fixture_op o;
	int64_t tid, pid;
	struct bytes comm, path; /* path {NULL, 0}: unknown */
	char comm_room[32], path_room[64];
};

struct cell {
	enum { CELL_NULL, CELL_INT, CELL_FLOAT, CELL_BOOL, CELL_TEXT } kind;
	int64_t i;
	double f;
	char text[96]; /* escaped like the engine's texts */
};

enum { PLAIN_FALSE, PLAIN_TRUE, PLAIN_UNKNOWN };

typedef int plain_condition(const struct plain_row *r);
typedef struct cell plain_key(const struct plain_row *r);
/* Aggregates the rows of one group. */
typedef struct cell plain_aggregate(const struct plain_row *rows, const uint32_t *in, size_t n);

/* The same condition in weir's language, in SQL over the Parquet file, and in C. */
struct condition {
	const char *weir, *sql;
	plain_condition *plain;
};
struct key {
	const char *weir, *sql;
	plain_key *plain;
};
struct aggregate {
	const char *weir, *sql;
	plain_aggregate *plain;
};
extern const struct condition plain_conditions[];
extern const struct key plain_keys[];
extern const struct aggregate plain_aggregates[];
extern const size_t plain_condition_count, plain_key_count, plain_aggregate_count;

#define PLAIN_CONDITIONS 3
#define PLAIN_KEYS	 3
#define PLAIN_AGGREGATES 3

struct plain_question {
	/* c0 AND/OR c1 ...: AND binds closer */
	size_t condition_count;
	struct {
		plain_condition *is;
		bool either, negated;
	} conditions[PLAIN_CONDITIONS];
	size_t key_count;
	plain_key *keys[PLAIN_KEYS];
	size_t aggregate_count;
	plain_aggregate *aggregates[PLAIN_AGGREGATES];
	size_t head; /* the first groups by the first aggregate, descending, then the keys; 0: all */
};

/* Rows 0 .. count of the fixture; the caller frees them. */
struct plain_row *plain_rows(size_t count);
/* Lines of cells separated by '|', unordered. */
void plain_answer(const struct plain_question *q, const struct plain_row *rows, size_t count,
		  struct buf *out);
struct cell plain_int(int64_t v);
struct cell plain_text(struct bytes text);
void plain_put(const struct cell *c, struct buf *out);
