/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: the terminal (width, colour, pager) and how figures are written. */
#pragma once

#include "base/util.h"

#define TEXT_WIDTH_MAX 100 /* columns of a report, also where the terminal is wider or there is none */
#define TEXT_ROWS_MAX 50   /* rows of a list on a terminal; a pipe gets all */
#define TEXT_FIGURE_MAX 32 /* bytes of a formatted figure, terminator included */

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM, TEXT_RED, TEXT_GREEN, TEXT_YELLOW, TEXT_BLUE };

/* True where standard output is a terminal. */
bool text_terminal(void);
/* Columns of the terminal on standard output, at most TEXT_WIDTH_MAX. */
unsigned int text_width(void);
/* The most rows to list: TEXT_ROWS_MAX on a terminal, else no limit. */
size_t text_rows_max(void);
/* The escape sequence, "" where standard output is no terminal, $NO_COLOR is set or the terminal is dumb. */
const char *text_style(enum text_style style);

/* From here to text_pager_end() standard output goes through $WEIR_PAGER, $PAGER or less, if it is a terminal. */
void text_pager_begin(void);
void text_pager_end(void);

/* "1,078,501" */
const char *text_count(char buf[static TEXT_FIGURE_MAX], uint64_t count);
/* "172.5 MiB", "610 B" */
const char *text_bytes(char buf[static TEXT_FIGURE_MAX], uint64_t bytes);
/* Three digits and a unit: "146ns", "5.2us", "19ms", "2.1ms", "3.09s" */
const char *text_dur(char buf[static TEXT_FIGURE_MAX], int64_t ns);
/* Share of a whole, "47 %"; "-" of nothing. */
const char *text_percent(char buf[static TEXT_FIGURE_MAX], double part, double whole);

/* Columns that UTF-8 text takes on a terminal; control characters and invalid bytes count as four (\x1b). */
size_t text_columns(const char *text, size_t len);
/* Prints text of a traced program (a path, a name) with control characters and invalid UTF-8 as \xNN, \n as \n. */
void text_escape(char *buf, size_t size, const char *text, size_t len);
