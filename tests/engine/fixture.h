/* SPDX-License-Identifier: Apache-2.0 */
/* fixture.h: a trace whose rows are all known, an engine over it, and answers as text. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/engine.h"
#include "schema/ops.h"
#include "schema/vocab.h"

#define FIXTURE_ORIGIN	1795254902114000000ll
#define FIXTURE_THREADS 6
#define FIXTURE_FILES	40
#define FIXTURE_STEP_NS 1000 /* from one call to the next */

/* Bytes of path i: an ordinary name, or one that breaks careless readers. */
struct bytes fixture_path(size_t i, char buf[static 64]);

/* Row i of op as the fixture writes it; a pure function, so that plain loops can be compared with
 * SQL. */
struct fixture_op {
	int64_t start, dur, thread_id, op, ret, err, bytes, file_id, pos;
	bool no_start, no_file, failed, running;
};
struct fixture_op fixture_op(uint64_t i);

/* Writes a trace with `rows` rows of op. Fails the test on any error. */
void fixture_write(const char *path, uint64_t rows);
/* Appends rows [from, to) of op; for traces that grow. */
void fixture_append_ops(struct store_writer *w, uint64_t from, uint64_t to);
void fixture_append_dims(struct store_writer *w);

/* A new folder (static storage), and its removal. */
const char *fixture_folder(void);
const char *fixture_file(const char *name, char buf[static 256]);
void fixture_remove(void);

/* Ends the program with status 77 (skipped) if DuckDB's library is not installed. */
void fixture_need_library(void);

struct fixture {
	struct store *store;
	struct engine *engine;
};

/* Opens an engine over the traces; `opt` may be NULL. */
void fixture_open(struct fixture *f, const char *const *paths, size_t count,
		  const struct engine_options *opt);
void fixture_close(struct fixture *f);

/* All rows as text: columns separated by '|', rows by '\n', NULL as NULL. Static storage until the
 * next call. */
const char *ask(struct fixture *f, const char *sql);
/* The number in the first column of a single row. */
int64_t ask_number(struct fixture *f, const char *sql);
/* Runs SQL that must fail; returns the message (static storage) and the code. */
const char *ask_error(struct fixture *f, const char *sql, int *ret_code);
