/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h: formats numbers and names for a terminal. Shared by report, stat, top, trace, record. Texts go into a
 * struct text (returned by value), so that several fit into one printf:
 *
 *   printf("%s of %s\n", format_size(done).s, format_size(all).s);     "108 MiB of 1.20 GiB"
 */
#pragma once

#include <stdio.h>

#include "base/amount.h"
#include "base/buf.h"
#include "base/map.h"
#include "hist/sparse.h"

#define FORMAT_SPARK_WIDTH 12 /* columns of format_spark(): half decades from 1 us to 1 s */
#define FORMAT_SPARK_TITLE "1us..1ms..1s"

enum format_zone {
	FORMAT_LOCAL, /* the zone of TZ, with its offset */
	FORMAT_UTC,
};
/* 21 Nov 09:55:02.114 +0000: a point in time, ns since the epoch */
struct text format_when(int64_t ns, enum format_zone zone);
/* +1.234 s, +0.000012 s: a point relative to the start of the trace, with six digits, or with `digits` */
struct text format_rel(int64_t ns, int digits);

/* "1 call", "4,711 calls", "2 processes" */
struct text format_counted(uint64_t n, const char *what);

/* Spark line of a histogram of durations, FORMAT_SPARK_WIDTH columns wide (spaces for zero counts). */
struct text format_spark(const struct hist *h);
/* The same from counts per column. */
struct text format_spark_counts(const uint64_t counts[static FORMAT_SPARK_WIDTH]);

/*
 * Appends bytes that a program chose (paths, names) in a harmless form: control characters, invalid UTF-8, direction
 * overrides and the like become
 * , \t, \33, \x9f; a backslash stays. 0 or -ENOMEM.
 */
int format_safe(struct buf *out, const void *data, size_t len);
/* The same, cut in the middle to at most `width` columns, at a folder ("/srv/.../appendonly.aof") if possible. */
int format_path(struct buf *out, const void *data, size_t len, size_t width);
/* Columns that a text of printable UTF-8 takes on the screen. */
size_t format_width(const char *s);
/* Pads or cuts (at the end) a printable text to exactly `width` columns and appends it. */
int format_pad(struct buf *out, const char *s, size_t width, bool right);
/*
 * Appends a part of a line after three blanks, or on a new line if the line would exceed `width` columns (0: no
 * limit). 0 or -ENOMEM.
 */
int format_next(struct buf *out, size_t width, const char *fmt, ...) _printf_(3, 4);
/*
 * Appends a text that begins in column `indent`, wrapped between words into lines of at most `width` columns, each
 * ended by a newline. A longer word is not broken. 0 or -ENOMEM.
 */
int format_wrapped(struct buf *out, const char *text, size_t indent, size_t width);
/* Wraps the text of a buffer like that. */
int format_wrap(struct buf *text, size_t indent, size_t width);
