/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h: operations of the language on single texts: patterns, dir(), the words of codes. */
#pragma once

#include "base/error.h"
#include "query/expr.h"

/*
 * Limits of a regular expression on one text. Ordinary expressions take under a thousand steps; a hostile one could
 * run for hours.
 */
#define REGEX_STEPS_MAX	   200000
#define REGEX_DEPTH_MAX	   2000
#define REGEX_HEAP_KIB_MAX 4096
#define REGEX_LEN_MAX	   4096 /* bytes of a regular expression, as for a glob */

struct query_pattern;

/*
 * Compiles a glob, a regular expression or a LIKE (kind: EXPR_GLOB, EXPR_REGEX, EXPR_LIKE). -EINVAL: the pattern is
 * malformed; the message gives the reason and the character.
 *
 * A glob is glob_match() of schema/select.h; one without a slash is also tried on the last part of a text, so that
 * "*.sst" finds /var/db/1.sst. A regular expression is PCRE2's, over bytes, and may match anywhere. In LIKE `%`
 * matches any run, `_` one (UTF-8) character; there is no escape.
 */
int query_pattern_new(struct query_pattern **ret, enum expr_kind kind, struct bytes pattern,
		      struct error *err);
void query_pattern_free(struct query_pattern *p);
DEFINE_CLEANUP(struct query_pattern *, query_pattern_free)
/* Returns 1 for a match, 0 for none, -EOVERFLOW past the limit of steps, -ENOMEM. Callable from any thread. */
int query_pattern_match(const struct query_pattern *p, struct bytes text);

/* dir, base, ext, lower of a text. The result points into the text or into scratch (which is cleared). 0 or -ENOMEM. */
int query_text_function(enum query_function f, struct bytes text, struct buf *scratch,
			struct value *ret);
/* Appends the word of a code, "err_4000" if the vocabulary has none. 0 or -ENOMEM. */
int query_code_text(const char *vocab, int64_t code, struct buf *out);
