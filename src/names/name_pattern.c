// SPDX-License-Identifier: Apache-2.0
/* name_pattern.c: names without what numbers them. */
#include <ctype.h>
#include <string.h>

#include "names/names.h"

#define RANDOM_MIN  6  /* letters of mkstemp() */
#define RANDOM_LONG 10 /* of mktemp(1) */
#define HEX_MIN	    4  /* a part of a UUID */

/* A word of letters and digits that looks as if no person had chosen it. */
static bool pattern_is_random(const uint8_t *s, size_t len, bool after_mark, bool temporary)
{
	size_t digits = 0, hex = 0, turns = 0;

	for (size_t i = 0; i < len; i++) {
		digits += !!isdigit(s[i]);
		hex += !!isxdigit(s[i]);
		turns += i && !islower(s[i - 1]) != !islower(s[i]);
	}
	if (digits && digits < len && (len >= RANDOM_MIN || (len >= HEX_MIN && hex == len)))
		return true;
	/* what mkstemp() and mktemp(1) put behind a name */
	if (after_mark && (len == RANDOM_MIN || len == RANDOM_LONG) && (temporary || turns >= 2))
		return true;
	return temporary && len >= RANDOM_MIN && turns >= 3;
}

static int pattern_put_word(struct buf *out, const uint8_t *s, size_t len, bool random,
			    bool *changed)
{
	int r = 0;

	if (random) {
		*changed = true;
		return buf_append(out, "#", 1);
	}
	for (size_t i = 0; i < len && r >= 0; i++) {
		if (!isdigit(s[i])) {
			r = buf_append(out, s + i, 1);
		} else if (i == 0 || !isdigit(s[i - 1])) {
			*changed = true;
			r = buf_append(out, "#", 1);
		}
	}
	return r;
}

int names_pattern(struct bytes text, struct buf *out, bool *ret_changed)
{
	bool changed = false, temporary = memmem(text.data, text.len, "/tmp/", 5) ||
					  memmem(text.data, text.len, "/shm/", 5);
	int r = 0;

	for (size_t i = 0; i < text.len && r >= 0;) {
		size_t end = i;
		bool mark = i && strchr(".-_", text.data[i - 1]);

		while (end < text.len && isalnum(text.data[end]))
			end++;
		if (end == i)
			r = buf_append(out, text.data + end++, 1);
		else
			r = pattern_put_word(
				out, text.data + i, end - i,
				pattern_is_random(text.data + i, end - i, mark, temporary),
				&changed);
		i = end;
	}
	*ret_changed = changed;
	return r;
}
