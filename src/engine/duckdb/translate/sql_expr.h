/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sql_expr.h: translates an expression of the language to equivalent SQL: three-valued logic, `/` gives a float,
 * division by 0 and overflow give null, texts are compared as bytes.
 *
 * In SQL a BOOL is BOOLEAN; INT, DUR, SIZE, TIME and entities are BIGINT; UINT is UBIGINT; FLOAT is DOUBLE; a CODE is
 * the vocabulary's ENUM; a TEXT is an ENUM or VARCHAR, escaped.
 */
#pragma once

#include "base/buf.h"
#include "query/plan/plan.h"

/* Writes the SQL for a column, name or field. 0 or negative. */
typedef int (*sql_leaf_t)(void *arg, const struct expr *e, struct buf *out);

int sql_expr(const struct expr *e, sql_leaf_t leaf, void *arg, struct buf *out);
/* The same as a VARCHAR: words of codes, names of entities. */
int sql_expr_text(const struct expr *e, sql_leaf_t leaf, void *arg, struct buf *out);
/* The same as an answer shows it: names of entities with their machine (query_entity_shown()). */
int sql_expr_shown(const struct expr *e, sql_leaf_t leaf, void *arg, struct buf *out);
/* 'text' with quotes doubled; unchanged, or escaped as names are. */
int sql_string(const char *text, size_t len, struct buf *out);
/* "name", quotes doubled. */
int sql_name(const char *name, struct buf *out);
