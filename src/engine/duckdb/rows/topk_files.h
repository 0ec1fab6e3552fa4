/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk_files.h: finds the files with the largest sums without SQL. Ids of files are dense, so the sums are an array,
 * which takes a tenth of the memory and a third of the time of a hash table of groups.
 */
#pragma once

#include "base/map.h"
#include "engine/duckdb/translate/translate.h"

#define TOPK_BYTES_MAX (128ull << 20) /* for the sums: about sixteen million files */

/* The files that were found. */
struct topk_files_found {
	struct map ids; /* all their versions used by calls */
	bool null;	/* calls without a file are one of the groups */
	bool versions;	/* some ids are not those of the newest version */
	uint64_t files; /* number of files summed */
};

/* True if topk_files_files() can sort by this field. */
bool topk_files_adds(const struct plan_field *f);
/*
 * The first `count` files of the groups of `p` if its field `value` is sorted descending and ties ascending by `key`, a
 * file or its id. 1; 0 if SQL is needed; negative.
 */
int topk_files_files(struct duck *e, const struct plan *p, size_t key, size_t value, size_t count,
		     struct topk_files_found *ret, struct error *err);
/* The filter without the condition that there is a file; NULL: nothing remains. */
struct expr *topk_files_where(const struct plan *p, size_t key);
/*
 * The filter without conditions that hold for all calls on the files found, each of which has one version: names need
 * not be resolved again.
 */
struct expr *topk_files_rest(const struct duck *e, const struct plan *p, size_t key);
