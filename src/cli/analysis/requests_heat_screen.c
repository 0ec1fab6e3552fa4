// SPDX-License-Identifier: Apache-2.0
/*
 * requests_heat_screen.c: a heat map of requests by duration and time: a line per power of two, darker for more
 * requests.
 */
#include <stdio.h>
#include <string.h>

#include "cli/analysis/requests_screen.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"
#include "hist/hist.h"

#define HEAT_POWERS 64
#define HEAT_LEFT   11 /* columns for the duration */

struct heat_screen {
	uint64_t cells[HEAT_POWERS][REQUESTS_HEAT_COLUMNS], most;
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
		s->low = MIN(s->low, power);
		s->high = MAX(s->high, power);
	}
}

/* Darker for a larger count, by powers of the largest. */
static const char *heat_sign(uint64_t n, uint64_t most)
{
	static const char *const shades[] = {"░", "▒", "▓", "█"}, *const plain[] = {".", "-", "+",
										    "#"};
	size_t at = most > 1 ? (size_t)heat_power(n) * 3 / MAX(heat_power(most), 1u) : 3;

	return !n ? " " : bars_utf8() ? shades[MIN(at, (size_t)3)] : plain[MIN(at, (size_t)3)];
}

int requests_heat_screen(const struct analysis_view *v, const struct requests *q)
{
	const struct requests_heat *h = &q->heat;
	struct heat_screen s = {.columns = requests_between(requests_width() - HEAT_LEFT - 1, 10,
							    REQUESTS_HEAT_COLUMNS)};
	_cleanup_buf_ struct buf from = {0}, to = {0};
	int r;

	if (!h->count)
		return 0;
	heat_take(&s, h);
	putchar('\n');
	for (unsigned int p = s.high + 1; p-- > s.low;) {
		_cleanup_buf_ struct buf line = {0};

		r = buf_printf(&line, "%*s ", HEAT_LEFT - 1, format_dur((int64_t)(1ull << p)).s);
		for (size_t i = 0; i < s.columns && r >= 0; i++)
			r = buf_printf(&line, "%s", heat_sign(s.cells[p][i], s.most));
		if (r < 0)
			return r;
		requests_line(&line);
	}
	r = requests_put_at(&from, v, h->from);
	if (r < 0)
		return r;
	r = requests_put_at(&to, v, h->from + REQUESTS_HEAT_COLUMNS * h->step);
	if (r < 0)
		return r;
	printf("%*s%s%*s\n", HEAT_LEFT, "", buf_str(&from),
	       (int)MAX(s.columns, strlen(buf_str(&from)) + 1) - (int)strlen(buf_str(&from)),
	       buf_str(&to));
	return r;
}
