/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: the terminal: width, colour, pager. How figures and names are written: cli/terminal/format.h. */
#pragma once

#include <stdio.h>

#include "base/util.h"

#define TEXT_WIDTH_MIN	80   /* columns that screens are made for, at the least */
#define TEXT_WIDTH_MAX	1000 /* nothing is wider */
#define TEXT_WIDTH_PIPE 100  /* of a screen, where there is no terminal */
#define TEXT_ROWS_MAX	50   /* rows of a list on a terminal; a pipe gets all */

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_GREEN, TEXT_YELLOW, TEXT_BLUE };

/* True where standard output is a terminal. */
bool text_terminal(void);
/* Columns of the terminal on standard output, also behind a pager; $COLUMNS overrides them. TEXT_WIDTH_PIPE where there is
 * neither. */
size_t text_width(void);
/* The same of the terminal on that descriptor. */
size_t text_width_of(int fd);
/* True on a terminal that has no room for dates: points in time are shown since the start there. */
bool text_narrow(void);
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
