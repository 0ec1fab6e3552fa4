// SPDX-License-Identifier: Apache-2.0
/*
 * flow_keep_clocks.c: stores the clocks of recordings in table `clock` of their traces, with which readers correct
 * times (store_open_corrected()). The times read were already corrected by existing tables; the offsets found are added
 * to these.
 */
#include <errno.h>
#include <math.h>

#include "analysis/flow/flow.h"
#include "base/saturate.h"
#include "store/made/made.h"

#define CLOCKS_ORIGIN  "weir.clocks"
#define CLOCKS_VERSION 1

struct clock_row {
	const struct flow_clock *clock;
	struct buf host, against;
	uint64_t key;
	int64_t was, ahead, bound;
};

static void clock_row_free(struct clock_row *c)
{
	buf_free(&c->host);
	buf_free(&c->against);
}

int64_t flow_clock_middle(const struct flow_clock *k, int64_t *ret_bound)
{
	const struct flow_clock_window *w = k->windows, *last = &w[k->window_count - 1];
	double middle = flow_clock_offset(k, w->from + (last->to - w->from) / 2, NULL), most = 0;

	assert(k->window_count);
	for (size_t i = 0; i < k->window_count; i++) {
		for (int e = 0; e < 2; e++) {
			most = fmax(most, fabs(k->windows[i].low[e] - middle));
			most = fmax(most, fabs(k->windows[i].high[e] - middle));
		}
	}
	*ret_bound = (int64_t)ceil(most);
	return (int64_t)middle;
}

static int clocks_fill(const struct clock_row *c, struct batch *b)
{
	const struct flow_clock_window *w = c->clock->windows,
				       *last = &w[c->clock->window_count - 1];
	/* converts the time back to the recording's own clock, then to the time that readers will see with the new correction */
	int64_t more = c->ahead - c->was;
	struct batch_row row = batch_row(b);

	row_set(&row, CLOCK_SINCE, add_sat_signed(w->from, more));
	row_set(&row, CLOCK_UNTIL, add_sat_signed(last->to, more));
	row_set_bytes(&row, CLOCK_OF_HOST, c->host.data, c->host.len);
	row_set(&row, CLOCK_OF_RECORDING, (int64_t)c->key);
	row_set_bytes(&row, CLOCK_AGAINST, c->against.data, c->against.len);
	row_set(&row, CLOCK_AHEAD, c->ahead);
	row_set(&row, CLOCK_BOUND, c->bound);
	row_set(&row, CLOCK_PAIRS, (int64_t)c->clock->pairs);
	if (c->clock->window_count == 1) {
		row_set(&row, CLOCK_DRIFT_LOW, (int64_t)floor(w->drift_low * 1e9));
		row_set(&row, CLOCK_DRIFT_HIGH, (int64_t)ceil(w->drift_high * 1e9));
	}
	return row.r;
}

static int clocks_write(const struct store *s, size_t trace, const struct batch *rows,
			struct error *err)
{
	const struct store_making what = {
		.table = TABLE_CLOCK, .origin = CLOCKS_ORIGIN, .version = CLOCKS_VERSION};
	const char *path = store_trace_path(s, trace);
	_cleanup_(store_freep) struct store *one = NULL;
	_cleanup_(store_abandonp) struct store_writer *w = NULL;
	int r = store_open_corrected(&one, &path, 1, err);

	if (r < 0)
		return r;
	r = store_reopen(&w, one, err);
	if (r < 0)
		return r;
	r = store_made_begin(w, &what, err);
	if (r < 0)
		return r;
	r = store_made_rows(w, rows, err);
	if (r < 0)
		return r;
	r = store_made_end(w, false, err);
	return r < 0 ? r : store_close(TAKE_PTR(w), err);
}

/* Stores it in each file of the recording, because a file can be read without the others. */
static int clocks_keep(const struct flow_state *f, size_t place, struct error *err)
{
	struct store *s = f->run->store;
	_cleanup_(clock_row_free) struct clock_row c = {.clock = flow_clock(f->clocks, place)};
	_cleanup_(batch_freep) struct batch *rows = NULL;
	uint64_t key, part;
	int r = flow_place_name(f, place, &c.host);

	if (r >= 0)
		r = flow_place_name(f, 0, &c.against);
	if (r >= 0)
		r = batch_new(&rows, TABLE_CLOCK);
	c.was = store_recording_clock(s, place).ahead;
	c.ahead = c.was + flow_clock_middle(c.clock, &c.bound);
	for (size_t i = 0; i < store_trace_count(s) && r >= 0; i++) {
		if (store_trace_recording(s, i) != place)
			continue;
		store_trace_identity(s, i, &key, &part);
		c.key = key;
		batch_clear(rows);
		r = clocks_fill(&c, rows);
		if (r >= 0)
			r = clocks_write(s, i, rows, err);
	}
	return r < 0 ? error_errno(err, r, "cannot store the clocks") : 0;
}

int flow_keep_clocks(const struct flow_state *f, size_t *ret_count, struct error *err)
{
	int r = 0;

	*ret_count = 0;
	for (size_t i = 1; i < store_recording_count(f->run->store) && r >= 0; i++) {
		const struct flow_clock *k = flow_clock(f->clocks, i);

		if (k->same || !k->known)
			continue;
		r = clocks_keep(f, i, err);
		*ret_count += r >= 0;
	}
	return r;
}
