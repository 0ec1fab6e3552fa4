/* SPDX-License-Identifier: Apache-2.0 */
/* top_table.h: the table of `weir top`, like iotop's but by any grouping: rates, and the share of time spent in I/O. */
#pragma once

#include "cli/stat/stat_table.h"

/* Prints titles and the first rows in at most `width` columns; rates over `span_ns`. 0 or negative. */
int top_table_print(FILE *out, const struct stat_table *f, enum stat_table_by by, size_t rows,
		    size_t width, int64_t span_ns);
