/* SPDX-License-Identifier: Apache-2.0 */
/* query.h: a pipeline of a request, for the files that answer, check or explain it. */
#pragma once

#include "query/query.h"
#include "server/internal.h"

/* Parses `q`, and-s the page's filter to it, sets its range. -EINVAL with the place of the error. */
int query_take(struct question *q, struct plan **ret);
/* The error of a parser as the question's. */
int query_wrong(struct question *q, int code, const struct query_error *why);
