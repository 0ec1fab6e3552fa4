/* SPDX-License-Identifier: GPL-2.0-only */
/* floor.h: shared by the floor's kernel program and its reader. */
#pragma once

#define FLOOR_RING_BYTES (16 << 20) /* per CPU */
#define FLOOR_CPUS_MAX	 256	    /* a power of two */

struct floor_record {
	unsigned long long start, dur;
	int tid, cpu;
	unsigned long long nr;
	long long ret;
	unsigned long long args[3];
};
_Static_assert(sizeof(struct floor_record) == 64, "the floor's record is 64 bytes");
