/* SPDX-License-Identifier: Apache-2.0 */
/* words.h: the tables behind flags.h; for flags.c and its tests alone. */
#pragma once

#include "schema/flags.h"

struct flag_word {
	uint64_t value;
	const char *name;
};

/*
 * A value is a code (the bits of `mask`, one word for the whole) and bits (a word each); a command
 * is all code, most flags are all bits. open's flags have both: O_RDWR is a code of the mask 3,
 * O_CREAT a bit.
 */
struct flag_set {
	uint64_t mask;
	const struct flag_word *codes, *bits; /* in the order in which they are printed */
	uint16_t code_count, bit_count;
	bool code_last;	    /* the code stands behind the bits (clone's signal) */
	bool wide;	    /* 64 bits count; else the kernel looks at 32 */
	uint64_t number;    /* these bits are a number, printed last even if 0: a mode of IPC, a
			       priority of swapon */
	bool octal;	    /* the number is a mode */
	unsigned int shift; /* the bits from here on are a number as well: 21<<MAP_HUGE_SHIFT; 0:
			       none are */
	const char *none;   /* the word for 0 if it is neither a code nor a bit; NULL: "0" */
	const char *what;   /* "O_???": printed after values of which no bit is known */
};

const struct flag_set *flag_set(enum word_set set);
