/* SPDX-License-Identifier: Apache-2.0 */
/* filter.h: a filter over calls (an expression of the query language on op), and which kinds of sums can evaluate it. */
#pragma once

#include "query/eval/eval.h"
#include "sums/columns.h"

/* The columns of op for which the by-file part of a digest has values of every call. */
#define SUMS_OF_FILES (1ull << OP_FILE_ID | 1ull << OP_CLASS | 1ull << OP_ERR)

struct sums_filter {
	struct plan *plan; /* owns the expression (its `where`); NULL: every call passes */
	struct eval *eval; /* NULL if plan is NULL */
	uint64_t columns;  /* columns of op that it reads */
	uint64_t missing;  /* those of them that a summary lacks */
	bool names_rows;   /* selects single calls */
	bool by_summary;   /* can be evaluated on rows of a summary */
	bool by_times; /* reads no files either: can be evaluated on the by-time part of a digest */
	/* reads only files, classes and errors: can be evaluated on the by-file part */
	bool by_files;
	/* file versions, ascending: calls on other files do not pass; NULL: any file */
	int64_t *files;
	size_t file_count;
};

/* Takes ownership of the plan; NULL lets every call pass. Call sums_filter_names() next. 0 or negative with a message. */
int sums_filter_new(struct sums_filter *ret, struct plan *plan, struct error *err) _must_check_;
void sums_filter_free(struct sums_filter *f);
#define _cleanup_sums_filter_ _cleanup_(sums_filter_free)
/* Sets the members that depend only on the expression (NULL: every call passes); for a caller with an eval of its own. */
void sums_filter_describe(struct sums_filter *f, const struct expr *where);
/* Call before a pass and after new dimension rows: see eval_names(). Reads rows of files only if their names are used. */
int sums_filter_names(struct sums_filter *f, const struct store *s, struct error *err);
/* Declares that only calls on these files can pass. 0 or -ENOMEM. */
int sums_filter_name_files(struct sums_filter *f, const int64_t *ids, size_t count) _must_check_;
bool sums_filter_names_file(const struct sums_filter *f, int64_t id);
/* False if the block's list of ids shows that no call is on these files; true if no files are declared. */
bool sums_filter_has_file(const struct sums_filter *f, const struct store *s, size_t block);
/* The rows of a batch that pass (of those in `in`, or all n): see eval_filter(). All rows if there is no expression. */
ssize_t sums_filter_rows(const struct sums_filter *f, struct eval_scratch *scratch,
			 const struct batch *b, const uint32_t *in, size_t n, uint32_t *out,
			 struct error *err);
/* False if the header and ids of the block show that no call can pass; `seconds`: nor as seen from its second file. */
bool sums_filter_may_pass(const struct sums_filter *f, const struct store *s, size_t block,
			  bool seconds);
/* True if they show that every call passes, likewise. */
bool sums_filter_all_pass(const struct sums_filter *f, const struct store *s, size_t block,
			  bool seconds);
/*
 * True if the summary of the block suffices to evaluate the filter: no call has a value in the filter's columns that
 * the summary lacks.
 */
bool sums_filter_in_summary(const struct sums_filter *f, const struct store_block *b);
