/* SPDX-License-Identifier: Apache-2.0 */
/* route_query.h: a pipeline of a request, for the files that answer, check or explain it. */
#pragma once

#include "query/query.h"
#include "server/internal.h"

/* What a file that is made for a download may have, and what is said of one that is larger (-E2BIG). */
uint64_t query_download_max(const struct question *q);
int query_download_too_large(struct question *q);
/* route_parquet.c: a nameless file with the answer; negative with q->err. */
int parquet_write(struct question *q, const struct plan *p);
