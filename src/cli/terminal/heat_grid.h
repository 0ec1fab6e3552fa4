/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat_grid.h: heat maps: time to the right, values upwards, counts as shades: the first for 1, the last for the largest,
 * by their logarithm.
 */
#pragma once

#include <stdio.h>

#include "base/buf.h"

struct heat_grid {
	size_t columns;
	size_t label; /* width of the text before the cells */
	uint64_t max; /* the largest count */
	bool colour;
	FILE *out;
};

/* Prints a line of cells after its label. 0 or -ENOMEM. */
int heat_grid_line(const struct heat_grid *g, const char *label,
		   const uint64_t *cells) _must_check_;
/* Prints the axis below the lines, with the texts of its ends; if both do not fit, only the first. */
void heat_grid_axis(const struct heat_grid *g, const char *from, const char *to);
/* Appends the scale of the shades, from 1 to the largest count. 0 or -ENOMEM, which sticks in the buffer. */
int heat_grid_scale(const struct heat_grid *g, struct buf *to);
