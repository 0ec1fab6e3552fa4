/* SPDX-License-Identifier: Apache-2.0 */
/* pass.h: the filters of questions, and their passes (sums/walk.h). */
#pragma once

#include "server/internal.h"
#include "sums/walk.h"

/* Parses a filter; NULL or "" passes everything (ret->eval is NULL). -EINVAL with q->err, pos, len. */
int question_filter(struct question *q, const char *text, struct sums_filter *ret);
/* Only parses it. */
int question_filter_check(struct question *q, const char *text);

/* The number of workers that a question may use. */
unsigned int question_workers(const struct question *q);
/* Describes the calls of the question's range that the filter passes. */
struct sums_ask question_ask(const struct question *q, const struct sums_filter *filter);
/* A pass over them that ends when the question is stopped. */
struct walk question_pass(const struct question *q, const struct sums_filter *filter);
/* Runs the pass. 0; -EINTR if the question was stopped; negative with q->err. */
int question_walk(struct question *q, struct walk *w);
