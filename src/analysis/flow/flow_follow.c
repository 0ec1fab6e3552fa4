// SPDX-License-Identifier: Apache-2.0
/*
 * flow_follow.c: growing traces: the pass continues from where it stopped. It processes rows that ended before a time
 * up to which all traces are complete; later rows are left to the result, which is computed in a copy of the process.
 *
 * Names may be recorded slightly later than the calls that use them, such as the addresses of a socket; the time
 * therefore lags slightly. A trace that does not grow is not waited for. If it later continues with calls from before
 * that time, the pass starts again; likewise if spans are added for calls that it has already processed.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/flow/flow.h"
#include "base/clock.h"
#include "sums/order.h"

#define SETTLE_NS (250 * NSEC_PER_MSEC)
#define IDLE_NS	  (2 * NSEC_PER_SEC)

struct taken_trace {
	int64_t settled; /* last value of store_trace_settled() */
	int64_t grew;	 /* monotonic time at which it changed */
};

struct flow_taken {
	struct flow_state state;
	int64_t until;	/* rows that ended before it are in the state */
	size_t blocks;	/* number of blocks in the store at that time */
	int64_t run[2]; /* range of the run */
	struct taken_trace *traces;
	size_t trace_count;
};

static void taken_restart(struct flow_taken *t)
{
	flow_state_free(&t->state);
	t->state = (struct flow_state){0};
	t->until = INT64_MIN;
	t->blocks = 0;
}

void flow_taken_free(void *taken)
{
	struct flow_taken *t = taken;

	if (!t)
		return;
	taken_restart(t);
	free(t->traces);
	free(t);
}

/* The time up to which the traces are complete; INT64_MIN: unknown. */
static int64_t taken_settled(struct flow_taken *t, const struct store *s)
{
	int64_t least = INT64_MAX, now = clock_monotonic_ns();

	for (size_t i = 0; i < t->trace_count; i++) {
		struct taken_trace *k = &t->traces[i];
		int64_t settled = store_trace_settled(s, i);

		if (settled != k->settled || !k->grew)
			*k = (struct taken_trace){settled, now};
		if (settled != INT64_MAX && now - k->grew < IDLE_NS)
			least = MIN(least, settled);
	}
	return least == INT64_MIN || least == INT64_MAX ? INT64_MIN : least - SETTLE_NS;
}

/* True if new blocks have rows that the pass should already have processed. */
static bool taken_is_late(const struct flow_taken *t, const struct analysis_input *in)
{
	const struct store *s = in->runs[0].store;

	for (size_t i = t->blocks; i < store_block_count(s); i++) {
		const struct store_block *b = store_block(s, i);

		if (b->table == TABLE_SPAN)
			return true;
		/* positions that were taken to be certain are not */
		if (b->table == TABLE_LOSS && (in->runs[0].lost || in->runs[0].lost_unknown) &&
		    b->min[LOSS_START] < MIN(t->until, flow_loss_from(&t->state, b->recording)))
			return true;
		for (const struct analysis_reads *r = in->analysis->reads; r->table != TABLE_COUNT;
		     r++) {
			if (b->table == r->table && order_block_part(b, INT64_MIN, t->until))
				return true;
		}
	}
	return false;
}

static int taken_new(struct flow_taken **ret, const struct store *s)
{
	struct flow_taken *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	*ret = t;
	t->until = INT64_MIN;
	t->trace_count = store_trace_count(s);
	t->traces = calloc(t->trace_count + 1, sizeof(*t->traces));
	return t->traces ? 0 : -ENOMEM;
}

int flow_take_in(const struct analysis_input *in, void **taken, struct error *err)
{
	const struct analysis_run *run = &in->runs[0];
	const struct flow_options *o = in->options;
	struct flow_taken *t = *taken;
	int64_t until, from;
	int r = 0;

	if (!run->store || alike_wanted(&o->alike))
		return 0;
	if (!t)
		r = taken_new(&t, run->store);
	*taken = t;
	if (r < 0)
		return error_errno(err, r, "cannot follow the trace");
	if (t->until != INT64_MIN &&
	    (t->run[0] != run->from || t->run[1] != run->to || taken_is_late(t, in)))
		taken_restart(t);
	t->blocks = store_block_count(run->store);
	t->run[0] = run->from;
	t->run[1] = run->to;
	until = taken_settled(t, run->store);
	from = t->until;
	if (until <= from)
		return 0;
	t->until = until;
	return flow_take(&t->state, in, run, from, until, err);
}

int64_t flow_taken_use(void *taken, struct flow_state *ret)
{
	struct flow_taken *t = taken;

	*ret = t->state;
	t->state = (struct flow_state){0};
	return t->until;
}
