/* SPDX-License-Identifier: Apache-2.0 */
/* pushdown_internal.h: declarations that the files of the kernel's part share. */
#pragma once

#include "query/kernel/pushdown.h"

/* How much of an expression the steps test; TRUE: it holds for every call and needs no step. */
enum pushed { PUSHED_NONE, PUSHED_TEST, PUSHED_TRUE };

struct pusher {
	struct call_filter *f;
	const uint64_t *ops;  /* a bit for each possible call; NULL: any */
	unsigned int waiting; /* values on the stack */
};

/* A state to which push_undo() returns. */
struct mark {
	uint32_t count;
	unsigned int waiting;
	uint32_t sets, names;
};
struct mark push_mark(const struct pusher *p);
enum pushed push_undo(struct pusher *p, struct mark m);
/* False if there is no room. */
bool push_step(struct pusher *p, enum filter_code code, enum filter_field field, int64_t value);

/* ---- pushdown_names.c: tests of texts ---- */

/* The kernel field of a name (path, exe) that the kernel can test for null. */
bool push_names_field(const struct expr *e, enum filter_field *ret);

/* comm == "x", path == "/a/b", base(path) == "x", ...; with `want` false the opposite. */
enum pushed push_names_compare(struct pusher *p, const struct expr *e, bool want);
/* comm in ("x", "y") */
enum pushed push_names_in(struct pusher *p, const struct expr *e, bool want);
/* comm ~ "x*", path ~ "/a/b/" "**", path like "/a/%" */
enum pushed push_names_pattern(struct pusher *p, const struct expr *e, bool want);
