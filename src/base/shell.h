/* SPDX-License-Identifier: Apache-2.0 */
/* shell.h: arguments quoted as for a shell. */
#pragma once

#include "base/buf.h"

/* Appends one word, quoted if a shell requires it: a.out, 'two words', 'it'\''s'. 0 or -ENOMEM. */
int shell_word(struct buf *b, const void *word, size_t len);
/* Appends NUL-terminated words (the last NUL may be missing), separated by spaces. 0 or -ENOMEM. */
int shell_words(struct buf *b, const void *words, size_t len);
