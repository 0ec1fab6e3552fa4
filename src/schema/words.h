/* SPDX-License-Identifier: Apache-2.0 */
/* words.h: the tables behind flags.h; only for flags.c and its tests. */
#pragma once

#include "schema/flags.h"

struct flag_word {
	uint64_t value;
	const char *name;
};

/*
 * A value consists of a code (the bits of `mask`, one name for all of them) and bits (one name each). A command is only
 * a code, most flags are only bits. open's flags have both: O_RDWR is a code of the mask 3, O_CREAT a bit.
 */
struct flag_set {
	uint64_t mask;
	const struct flag_word *codes, *bits; /* in printing order */
	uint16_t code_count, bit_count;
	bool code_last;	    /* the code is printed after the bits (clone's signal) */
	bool wide;	    /* all 64 bits count; else the kernel uses 32 */
	uint64_t number;    /* these bits are a number, printed last even if 0: a mode of IPC, a
			     priority of swapon */
	bool octal;	    /* the number is a mode */
	unsigned int shift; /* bits from here on are a number: 21<<MAP_HUGE_SHIFT; 0: none */
	const char *none;   /* the name of 0 if it is neither a code nor a bit; NULL: "0" */
	const char *what;   /* "O_???": printed after values without any known bit */
};

const struct flag_set *flag_set(enum word_set set);
