/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.h: a JSON string on a stream, for commands whose documents are short and of fixed form.
 */
#pragma once

#include <stdio.h>

#include "base/util.h"

/* Prints the text with its quotes; bytes that are no UTF-8 become U+FFFD. */
void json_put_string(FILE *out, const void *data, size_t len);
