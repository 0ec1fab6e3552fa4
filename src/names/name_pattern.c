// SPDX-License-Identifier: Apache-2.0
/* name_pattern.c: names with their variable parts replaced. */
#include <ctype.h>
#include <string.h>

#include "names/names.h"

#define RANDOM_MIN  6  /* random letters appended by mkstemp() */
#define RANDOM_LONG 10 /* the same by mktemp(1) */
#define HEX_MIN	    4  /* shortest group of hex digits in a UUID */

/* True for a word of letters and digits that looks generated. */
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
	/* the suffix of mkstemp() or mktemp(1); six lower-case letters are more likely a word */
	if (after_mark && (len == RANDOM_MIN || len == RANDOM_LONG) &&
	    (turns >= 2 || (temporary && (turns || len == RANDOM_LONG))))
		return true;
	return temporary && len >= RANDOM_MIN && turns >= 3;
}

/* Returns the end of the output. */
static uint8_t *pattern_put_word(uint8_t *to, const uint8_t *s, size_t len, bool random,
				 bool *changed)
{
	if (random) {
		*changed = true;
		*to++ = '#';
		return to;
	}
	for (size_t i = 0; i < len; i++) {
		if (!isdigit(s[i])) {
			*to++ = s[i];
		} else if (i == 0 || !isdigit(s[i - 1])) {
			*changed = true;
			*to++ = '#';
		}
	}
	return to;
}

int names_pattern(struct bytes text, struct buf *out, bool *ret_changed)
{
	bool changed = false, temporary = text.len && (memmem(text.data, text.len, "/tmp/", 5) ||
						       memmem(text.data, text.len, "/shm/", 5));
	int r = buf_reserve(out, text.len + 1); /* a pattern is never longer than its text */
	uint8_t *to;

	if (r < 0)
		return r;
	to = out->data + out->len;
	for (size_t i = 0; i < text.len;) {
		size_t end = i;
		uint8_t before = i ? text.data[i - 1] : '/';
		bool mark = !before || before == '.' || before == '-' || before == '_';

		while (end < text.len && isalnum(text.data[end]))
			end++;
		if (end == i)
			*to++ = text.data[end++];
		else
			to = pattern_put_word(
				to, text.data + i, end - i,
				pattern_is_random(text.data + i, end - i, mark, temporary),
				&changed);
		i = end;
	}
	out->len = (size_t)(to - out->data);
	*ret_changed = changed;
	return 0;
}
