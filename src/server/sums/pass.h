/* SPDX-License-Identifier: Apache-2.0 */
/* pass.h: filters of questions, and passes (sums/walk.h) for them. */
#pragma once

#include "server/internal.h"
#include "sums/walk.h"

/* Parses; NULL or "" lets everything pass (ret->eval is NULL). -EINVAL with q->err, pos, len. */
int question_filter(struct question *q, const char *text, struct sums_filter *ret);
/* Parses alone. */
int question_filter_check(struct question *q, const char *text);

/* How many workers a question may have. */
unsigned int question_workers(const struct question *q);
/* What is asked of the calls of the question's range that the filter takes. */
struct sums_ask question_ask(const struct question *q, const struct sums_filter *filter);
/* A pass over them that ends when the question is stopped. */
struct walk question_pass(const struct question *q, const struct sums_filter *filter);
/* Runs. 0; -EINTR where the question was stopped; negative with q->err. */
int question_walk(struct question *q, struct walk *w);
