/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: the terminal: width, colour, pager. How figures and names are written: cli/terminal/format.h. */
#pragma once

#include <stdio.h>

#include "base/util.h"

#define TEXT_WIDTH_MAX \
	100 /* columns of a report, also where the terminal is wider or there is none */
#define TEXT_ROWS_MAX 50 /* rows of a list on a terminal; a pipe gets all */

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_GREEN, TEXT_YELLOW, TEXT_BLUE };

/* True where standard output is a terminal. */
bool text_terminal(void);
/* Columns of the terminal on standard output, at most TEXT_WIDTH_MAX. */
unsigned int text_width(void);
/* The most rows to list: TEXT_ROWS_MAX on a terminal, else no limit. */
size_t text_rows_max(void);
/* The escape sequence, "" where standard output is no terminal, $NO_COLOR is set or the terminal is
 * dumb. */
const char *text_style(enum text_style style);

/* What was printed is seen by others from now on. 0, the errno that it failed with, or -EIO where an
 * earlier print failed. */
int text_flush(FILE *f);

/* From here to text_pager_end() standard output goes through $WEIR_PAGER, $PAGER or less, if it is
 * a terminal. */
void text_pager_begin(void);
void text_pager_end(void);
