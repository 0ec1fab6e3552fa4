// SPDX-License-Identifier: Apache-2.0
/*
 * requests_heat_screen.c: a heat map of requests by duration and time: a line per power of two, darker for more
 * requests.
 */
#include <stdio.h>

#include "cli/analysis/requests_screen.h"
#include "cli/terminal/heat_grid.h"
#include "cli/terminal/text.h"
#include "hist/hist.h"

#define HEAT_POWERS 64
#define HEAT_FOLDED 3  /* so many lines without a request are a single one */
#define HEAT_LABEL  10 /* width of the durations */

struct heat_screen {
	uint64_t cells[HEAT_POWERS][REQUESTS_HEAT_COLUMNS], most;
	bool any[HEAT_POWERS];
	unsigned int low, high; /* range of powers that occur */
	size_t columns;
};

/* Durations of 0 are shown with those of 1 ns. */
static unsigned int heat_power(uint64_t dur)
{
	return dur ? 63u - (unsigned int)__builtin_clzll(dur) : 0;
}

static void heat_take(struct heat_screen *s, const struct requests_heat *h)
{
	s->low = HEAT_POWERS;
	for (size_t i = 0; i < h->count; i++) {
		const struct requests_cell *c = &h->all[i];
		unsigned int power = heat_power(hist_lower(c->bucket));
		size_t column =
			MIN((size_t)c->column * s->columns / REQUESTS_HEAT_COLUMNS, s->columns - 1);

		s->cells[power][column] += c->requests;
		s->most = MAX(s->most, s->cells[power][column]);
		s->any[power] = true;
		s->low = MIN(s->low, power);
		s->high = MAX(s->high, power);
	}
}

/* Number of lines from p downwards that have no request; the lowest one has some. */
static unsigned int heat_empty_below(const struct heat_screen *s, unsigned int p)
{
	unsigned int n = 0;

	while (!s->any[p - n])
		n++;
	return n;
}

int requests_heat_screen(const struct analysis_view *v, const struct requests *q)
{
	const struct requests_heat *h = &q->heat;
	struct heat_screen s = {.columns = requests_between(requests_width() - HEAT_LABEL - 2, 10,
							    REQUESTS_HEAT_COLUMNS)};
	struct heat_grid grid = {.columns = s.columns,
				 .label = HEAT_LABEL,
				 .colour = *text_style(TEXT_BOLD) != '\0',
				 .out = stdout};
	_cleanup_buf_ struct buf from = {0}, to = {0}, scale = {0};
	int r = 0;

	if (!h->count)
		return 0;
	heat_take(&s, h);
	grid.max = s.most;
	putchar('\n');
	for (unsigned int p = s.high + 1; p-- > s.low && r >= 0;) {
		unsigned int empty = heat_empty_below(&s, p);

		r = heat_grid_line(&grid, empty < HEAT_FOLDED ? format_dur(1ll << p).s : "...",
				   s.cells[p]);
		if (empty >= HEAT_FOLDED)
			p -= empty - 1;
	}
	if (r >= 0)
		r = requests_put_at(&from, v, h->from);
	if (r >= 0)
		r = requests_put_at(&to, v, h->from + REQUESTS_HEAT_COLUMNS * h->step);
	if (r >= 0)
		r = heat_grid_scale(&grid, &scale);
	if (r < 0)
		return r;
	heat_grid_axis(&grid, buf_str(&from), buf_str(&to));
	printf("requests a cell: %s\n", buf_str(&scale));
	return 0;
}
