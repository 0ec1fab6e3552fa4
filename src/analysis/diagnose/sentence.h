/* SPDX-License-Identifier: Apache-2.0 */
/* sentence.h: replaces the {placeholders} in a rule's texts with the values of a finding. */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "batch/dims.h"

enum sentence_kind {
	SENTENCE_NULL,
	SENTENCE_PLAIN, /* 30617 */
	SENTENCE_COUNT, /* 30,617 */
	SENTENCE_SIZE,
	SENTENCE_DUR,
	SENTENCE_TEXT,
};

struct sentence_value {
	const char *name;
	enum sentence_kind kind; /* default format, unless the placeholder has another */
	int64_t number;
	struct bytes text;
};

/*
 * Appends `form` with each {name} replaced. {name:count}, :size, :dur, :plain select the format of a number,
 * {name:process} names the process with that id, {name:quoted} makes a text a literal of weir's language. Null becomes
 * "?", and `{{` becomes a brace. Returns 0, -ENOMEM, or -EINVAL, with the name in *ret_unknown, if there is no such value
 * or the form is malformed.
 */
int sentence_fill(struct buf *out, const char *form, const struct sentence_value *values,
		  size_t count, const struct dims *d, const char **ret_unknown, size_t *ret_len);
/* Appends a literal of the language; quotes and backslashes are escaped. 0 or -ENOMEM. */
int sentence_put_quoted(struct buf *out, struct bytes text);
