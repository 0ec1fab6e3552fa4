/* SPDX-License-Identifier: Apache-2.0 */
/* csv_out.h: cells of base/csv.h on a stream. */
#pragma once

#include <stdio.h>

/* A cell that is no text: a number, true, a drawing of a histogram. */
void csv_print(FILE *out, const char *value, size_t len);
/* A text. A terminal gets it as other tables show it; a pipe or file has its bytes, behind an apostrophe where a spreadsheet
 * would take it for a formula. */
void csv_print_text(FILE *out, const char *text, size_t len);
