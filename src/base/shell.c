/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shell.h"

#include <string.h>

static bool shell_is_plain(const uint8_t *word, size_t len)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

	for (size_t i = 0; i < len; i++) {
		if (!word[i] || !strchr(plain, word[i]))
			return false;
	}
	return len > 0;
}

int shell_word(struct buf *b, const void *word, size_t len)
{
	const uint8_t *from = word;

	if (shell_is_plain(word, len))
		return buf_append(b, word, len);
	buf_append(b, "'", 1);
	for (size_t i = 0; i < len; i++) {
		if (from[i] == '\'')
			buf_append(b, "'\\''", 4);
		else
			buf_append(b, from + i, 1);
	}
	return buf_append(b, "'", 1);
}

int shell_words(struct buf *b, const void *words, size_t len)
{
	const char *from = words;

	for (size_t at = 0; at < len;) {
		size_t word = strnlen(from + at, len - at);

		if (at)
			buf_append(b, " ", 1);
		shell_word(b, from + at, word);
		at += word + 1;
	}
	return buf_status(b);
}
