/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.h: the rows of an answer to a plan, one after another, wherever they come from: an
 * engine's result or a scan of one's own. What printers and the server read.
 *
 *   answer_of_result(&a, plan, result);
 *   while ((r = answer_next(&a, &err)) > 0) { v = answer_get(&a, 0); ... }
 *   answer_free(&a);
 */
#pragma once

#include "engine/ask.h"
#include "query/plan/plan.h"

struct answer {
	const struct plan_field **fields; /* what is shown: without the hidden ones */
	bool *keys;			  /* which of them rows were grouped by: plan_is_key() */
	size_t count;
	/* 1: at the next row; 0: at the end; ANSWER_PAUSE: no more right now, print what there
	 * is; negative */
	int (*next)(struct answer *r, struct error *err);
	/* a value of the row at hand; bytes are valid until the next row. Texts are escaped as
	 * engine_escape() does */
	struct value (*get)(struct answer *r, size_t column);
	bool (*estimated)(const struct answer *r, size_t column); /* NULL: none is */
	bool endless; /* to count what is left would be to read the whole trace */
	void *arg;
};

#define ANSWER_PAUSE 2

/* Fills fields and count from what the plan gives. 0 or -ENOMEM; answer_free(). */
int answer_init(struct answer *r, const struct plan *p);
void answer_free(struct answer *r);
#define _cleanup_answer_ _cleanup_(answer_free)

static inline int answer_next(struct answer *r, struct error *err)
{
	return r->next(r, err);
}

static inline struct value answer_get(struct answer *r, size_t column)
{
	return r->get(r, column);
}

static inline bool answer_estimated(const struct answer *r, size_t column)
{
	return r->estimated && r->estimated(r, column);
}

/* The rows of an engine's result, which is not owned. 0 or -ENOMEM. */
int answer_of_result(struct answer *ret, const struct plan *p, struct engine_result *result);

/*
 * A value without its unit: nanoseconds, bytes, ns since the epoch, a word, a text; a histogram or a tally as
 * "256:6743 512:80", lower end and count of each bucket. Not null. 0, -ENOMEM, or -EBADMSG where it is malformed.
 */
int answer_put_plain(struct buf *out, const struct plan_field *f, const struct value *v);
