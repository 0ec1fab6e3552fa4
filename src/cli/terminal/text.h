/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: the terminal: width, colour, pager. Figures and names are formatted in cli/terminal/format.h. */
#pragma once

#include <stdio.h>

#include "base/util.h"

#define TEXT_WIDTH_MIN	80   /* minimum columns that screens are designed for */
#define TEXT_WIDTH_MAX	1000 /* a larger width is not used */
#define TEXT_WIDTH_PIPE 100  /* width of a screen without a terminal */
#define TEXT_ROWS_MAX	50   /* rows of a list on a terminal; a pipe gets all */

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_GREEN, TEXT_YELLOW };

/* True if standard output is a terminal. */
bool text_terminal(void);
/*
 * Columns of the terminal on standard output, even if a pager is between; $COLUMNS overrides them. TEXT_WIDTH_PIPE if
 * there is neither.
 */
size_t text_width(void);
/* The same for the terminal on that descriptor. */
size_t text_width_of(int fd);
/* True on a terminal too narrow for dates: points in time are then relative to the start. */
bool text_narrow(void);
/* The maximum number of rows to list: TEXT_ROWS_MAX on a terminal, else unlimited. */
size_t text_rows_max(void);
/* The escape sequence; "" if standard output is not a terminal, $NO_COLOR is set or the terminal is dumb. */
const char *text_style(enum text_style style);

/*
 * Flushes the output, so that other programs see it. 0, the errno of the failure, or -EIO if an earlier print failed.
 */
int text_flush(FILE *f);

/* Until text_pager_end(), standard output goes through $WEIR_PAGER, $PAGER or less, if it is a terminal. */
void text_pager_begin(void);
void text_pager_end(void);
