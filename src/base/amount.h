/* SPDX-License-Identifier: Apache-2.0 */
/* amount.h: formats amounts for people: on a terminal, in a sentence; and floating-point numbers for programs. */
#pragma once

#include "base/util.h"

#define FORMAT_TEXT_MAX 64 /* bytes of the longest number with its unit */

struct text {
	char s[FORMAT_TEXT_MAX];
};

/*
 * %g with the fewest significant digits, but at least `digits`, that reads back as the same number; as the same float if
 * `single`.
 */
struct text format_shortest(double v, int digits, bool single);
/* 498,448 */
struct text format_count(uint64_t n);
/* Sizes and durations have three significant digits and a space before the unit, as on the pages
 * (web/src/lib/format.ts). 108 MiB, 4.10 KiB, 610 B */
struct text format_size(uint64_t bytes);
/* 850 ns, 5.20 us, 51.8 ms, 3.09 s, 1,234 s; "-" if negative, which means unknown */
struct text format_dur(int64_t ns);
/* 47 %, <1 %, 0 %; "-" if the whole is 0 */
struct text format_percent(uint64_t part, uint64_t whole);
/* Bytes or calls per second: 12.1 MiB/s, 48,000/s; "-" if the duration is 0 */
struct text format_rate(uint64_t n, int64_t dur_ns, bool bytes);
