/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk_files.h: the files with the largest sums, found without SQL: ids of files are dense, so that a sum for each is an array,
 * which takes a tenth of the memory and a third of the time of a table of groups.
 */
#pragma once

#include "base/map.h"
#include "engine/duckdb/translate/translate.h"

#define BEST_BYTES_MAX (128ull << 20) /* of the sums: some sixteen million files */

/* The files that were found. */
struct topk_files_found {
	struct map ids; /* of all their versions that calls refer to */
	bool null;	/* calls without a file are one of them */
	bool versions;	/* an id is not that of the newest version */
	uint64_t files; /* that were added up */
};

/* True for a field that topk_files_files() can sort by. */
bool topk_files_adds(const struct plan_field *f);
/*
 * The files that are first among the groups of `p` when its field `value` is sorted downwards and ties by `key`, a file or
 * its id, upwards: at most `count`. 1; 0 where it takes SQL; negative.
 */
int topk_files_files(struct duck *e, const struct plan *p, size_t key, size_t value, size_t count,
		     struct topk_files_found *ret, struct error *err);
/* The filter without the condition that there is a file; NULL: nothing is left. */
struct expr *topk_files_where(const struct plan *p, size_t key);
/* The filter without what all calls of the files meet, each of one version: names need not be looked at again. */
struct expr *topk_files_rest(const struct duck *e, const struct plan *p, size_t key);
