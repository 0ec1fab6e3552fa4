/* SPDX-License-Identifier: Apache-2.0 */
/* shell.h: arguments as a shell would take them. */
#pragma once

#include "base/buf.h"

/* Appends one word, in quotes where a shell would need them: a.out, 'two words', 'it'\''s'. 0 or -ENOMEM. */
int shell_word(struct buf *b, const void *word, size_t len);
/* Appends words that a NUL ends (behind the last it may be missing), a blank between them. 0 or -ENOMEM. */
int shell_words(struct buf *b, const void *words, size_t len);
