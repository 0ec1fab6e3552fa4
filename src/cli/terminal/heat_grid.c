// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/heat_grid.h"

#include <math.h>
#include <string.h>

#include "cli/terminal/bars.h"
#include "cli/terminal/format.h"

/* From dark blue to light yellow in xterm's palette. */
static const unsigned char heat_colours[] = {17, 18,  19,  25,	31,  37, 43,
					     79, 115, 151, 187, 223, 230};
static const char *const heat_blocks[] = {"░", "▒", "▓", "█"};
static const char *const heat_ascii[] = {".", ":", "-", "=", "+", "*", "#", "%", "@"};

static size_t heat_shades(const struct heat_grid *g)
{
	return g->colour     ? ARRAY_SIZE(heat_colours)
	       : bars_utf8() ? ARRAY_SIZE(heat_blocks)
			     : ARRAY_SIZE(heat_ascii);
}

static size_t heat_shade(const struct heat_grid *g, uint64_t count)
{
	size_t n = heat_shades(g);

	if (g->max < 2)
		return n - 1;
	return (size_t)(log((double)count) / log((double)g->max) * (double)(n - 1) + 0.5);
}

/* *at: the terminal's current colour, 0 for none. */
static void heat_put_cell(struct buf *out, const struct heat_grid *g, uint64_t count,
			  unsigned int *at)
{
	unsigned int colour = count && g->colour ? heat_colours[heat_shade(g, count)] : 0;

	if (colour != *at) {
		if (colour)
			buf_printf(out, "\033[48;5;%um", colour);
		else
			buf_printf(out, "\033[0m");
		*at = colour;
	}
	if (!count || colour)
		buf_append(out, " ", 1);
	else
		buf_printf(out, "%s",
			   (bars_utf8() ? heat_blocks : heat_ascii)[heat_shade(g, count)]);
}

int heat_grid_line(const struct heat_grid *g, const char *label, const uint64_t *cells)
{
	_cleanup_buf_ struct buf line = {0};
	unsigned int at = 0;
	int r;

	format_pad(&line, label, g->label, true);
	buf_printf(&line, " |");
	for (size_t c = 0; c < g->columns; c++)
		heat_put_cell(&line, g, cells[c], &at);
	if (at)
		buf_printf(&line, "\033[0m");
	r = buf_status(&line);
	if (r < 0)
		return r;
	while (line.data[line.len - 1] == ' ')
		line.len--;
	fprintf(g->out, "%s\n", buf_str(&line));
	return 0;
}

void heat_grid_axis(const struct heat_grid *g, const char *from, const char *to)
{
	int gap = (int)g->columns - (int)strlen(from) - (int)strlen(to);

	fprintf(g->out, "%*s +", (int)g->label, "");
	for (size_t c = 0; c < g->columns; c++)
		fputc('-', g->out);
	if (gap > 0)
		fprintf(g->out, "\n%*s  %s%*s%s\n", (int)g->label, "", from, gap, "", to);
	else
		fprintf(g->out, "\n%*s  %s\n", (int)g->label, "", from);
}

int heat_grid_scale(const struct heat_grid *g, struct buf *to)
{
	buf_printf(to, "1 ");
	for (size_t i = 0; i < heat_shades(g); i++) {
		if (g->colour)
			buf_printf(to, "\033[48;5;%um ", heat_colours[i]);
		else
			buf_printf(to, "%s", (bars_utf8() ? heat_blocks : heat_ascii)[i]);
	}
	buf_printf(to, "%s %s", g->colour ? "\033[0m" : "", format_count(g->max).s);
	return buf_status(to);
}
