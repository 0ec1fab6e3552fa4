/* SPDX-License-Identifier: Apache-2.0 */
/* route_query.h: a request's pipeline, for the files that answer, check or explain it. */
#pragma once

#include "query/query.h"
#include "server/internal.h"

/* Parses `q`, joins the page's filter by `and`, sets the range. -EINVAL with the position of the error. */
int query_take(struct question *q, struct plan **ret);
/* Reports a parser's error as the question's. */
int query_wrong(struct question *q, int code, const struct query_error *why);
/* The size limit of a file made for a download, and the error for a larger one (-E2BIG). */
uint64_t query_download_max(const struct question *q);
int query_download_too_large(struct question *q);
/* route_parquet.c: writes the answer to a nameless file; negative with q->err. */
int parquet_write(struct question *q, const struct plan *p);
