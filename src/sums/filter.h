/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: an expression of the query language over op, and which sums of calls it can choose among. */
#pragma once

#include "query/eval/eval.h"
#include "sums/columns.h"

/* The columns of op that the part of a digest by file has for every call. */
#define SUMS_OF_FILES (1ull << OP_FILE_ID | 1ull << OP_CLASS | 1ull << OP_ERR)

struct sums_filter {
	struct plan *plan; /* whose `where` it is; owned. NULL: every call passes */
	struct eval *eval; /* NULL likewise */
	uint64_t columns;  /* of op */
	uint64_t missing;  /* of them those that a summary lacks */
	bool names_rows;   /* asks for single calls */
	bool by_summary;   /* reads nothing but what a summary has */
	bool by_times;	   /* nor files: the first part of a digest has it */
	bool by_files;	   /* nothing but files, classes and errors: the second part has it */
	int64_t *
		files; /* versions of files, ascending, without one of which no call passes; NULL: any */
	size_t file_count;
};

/* Takes the plan over; NULL lets every call pass. sums_filter_names() comes next. 0 or negative with a message. */
int sums_filter_new(struct sums_filter *ret, struct plan *plan, struct error *err) _must_check_;
void sums_filter_free(struct sums_filter *f);
#define _cleanup_sums_filter_ _cleanup_(sums_filter_free)
/* Sets what depends on the expression alone (NULL: every call passes); for a caller that has an eval of its own. */
void sums_filter_describe(struct sums_filter *f, const struct expr *where);
/* Before a pass, and when dimension rows came: see eval_names(). */
int sums_filter_names(struct sums_filter *f, const struct dims *d, struct error *err);
/* States that it lets no call pass but of these files. 0 or -ENOMEM. */
int sums_filter_name_files(struct sums_filter *f, const int64_t *ids, size_t count) _must_check_;
bool sums_filter_names_file(const struct sums_filter *f, int64_t id);
/* False where no call of the block is of these files, as its ids know; true where none are named. */
bool sums_filter_has_file(const struct sums_filter *f, const struct store *s, size_t block);
/* The rows of a batch (of those in `in`, or all n) that pass: see eval_filter(). All without an expression. */
ssize_t sums_filter_rows(const struct sums_filter *f, struct eval_scratch *scratch,
			 const struct batch *b, const uint32_t *in, size_t n, uint32_t *out,
			 struct error *err);
/* Whether a call of the block can pass, as its header and its ids know; `seconds`: also as seen from its second file. */
bool sums_filter_may_pass(const struct sums_filter *f, const struct store *s, size_t block,
			  bool seconds);
/* Whether each of them does, likewise. */
bool sums_filter_all_pass(const struct sums_filter *f, const struct store *s, size_t block,
			  bool seconds);
/* Whether the summary of the block suffices to find those that do: what it lacks of the expression's columns no call has. */
bool sums_filter_in_summary(const struct sums_filter *f, const struct store_block *b);
