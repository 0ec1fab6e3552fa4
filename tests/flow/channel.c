// SPDX-License-Identifier: Apache-2.0
/*
 * channel.c: flow_channel.h against simulated pipes. Three writers and a reader run in turns of random length. Calls may return
 * long after their bytes have moved, as on a busy machine. All edges must be found, and none that is certain may be wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "analysis/flow/edges/flow_channel.h"
#include "base/array.h"

#define WRITERS	 3
#define WRITES	 60 /* of each */
#define CALLS	 4000
#define CAPACITY 65536
#define ATOMIC	 4096
#define SEEDS	 60

struct sim_call {
	int task;
	int64_t start, end, bytes;
	uint32_t node;
};

/* One write at a time is a call; bytes in the pipe belong to calls. */
struct sim {
	unsigned int seed;
	int64_t now;
	struct sim_call calls[CALLS];
	uint32_t count, done[CALLS], done_count; /* done: in the order of return */
	struct {
		uint32_t call;
		int64_t bytes;
	} queue[CALLS];
	uint32_t first, last;
	int64_t used;
	struct {
		uint32_t from, to;
	} truth[4 * CALLS];
	uint32_t truth_count;
	/* of each task, the reader last */
	uint32_t call[WRITERS + 1];
	int64_t left[WRITERS + 1], writes[WRITERS + 1];
	bool running[WRITERS + 1];
};

static uint32_t sim_random(struct sim *s, uint32_t below)
{
	return (uint32_t)rand_r(&s->seed) / 7 % below;
}

static void sim_begin(struct sim *s, int task, int64_t bytes)
{
	assert_true(s->count < CALLS);
	s->calls[s->count] = (struct sim_call){.task = task, .start = s->now};
	s->call[task] = s->count++;
	s->left[task] = bytes;
	s->running[task] = true;
	s->writes[task]++;
}

static void sim_return(struct sim *s, int task)
{
	s->calls[s->call[task]].end = s->now;
	s->done[s->done_count++] = s->call[task];
	s->running[task] = false;
}

/* A writer's turn goes on as long as it returns true. */
static bool sim_write(struct sim *s, int task)
{
	int64_t n;

	if (!s->running[task]) {
		if (s->writes[task] == WRITES)
			return false;
		sim_begin(s, task, 16 * (64 + (int64_t)s->count));
	}
	n = MIN(s->left[task], CAPACITY - s->used);
	if (s->left[task] > 0) {
		if (s->calls[s->call[task]].bytes == 0 && s->left[task] <= ATOMIC &&
		    n < s->left[task])
			return false;
		if (n == 0)
			return false;
		s->queue[s->last].call = s->call[task];
		s->queue[s->last++].bytes = n;
		assert_true(s->last < CALLS);
		s->used += n;
		s->left[task] -= n;
		s->calls[s->call[task]].bytes += n;
		if (s->left[task] > 0 || sim_random(s, 10) == 0)
			return false; /* blocks, or is interrupted before it returns */
	}
	sim_return(s, task);
	return true;
}

static bool sim_read(struct sim *s)
{
	const int task = WRITERS;

	if (!s->running[task])
		sim_begin(s, task, 16 * (50 + (int64_t)s->count));
	if (!s->calls[s->call[task]].bytes) {
		if (!s->used)
			return false;
		while (s->left[task] > 0 && s->used > 0) {
			int64_t n = MIN(s->left[task], s->queue[s->first].bytes);

			s->truth[s->truth_count].from = s->queue[s->first].call;
			s->truth[s->truth_count++].to = s->call[task];
			s->left[task] -= n;
			s->used -= n;
			s->calls[s->call[task]].bytes += n;
			s->queue[s->first].bytes -= n;
			s->first += s->queue[s->first].bytes == 0;
		}
		if (sim_random(s, 10) == 0)
			return false;
	}
	sim_return(s, task);
	return true;
}

static bool sim_ended(const struct sim *s)
{
	for (int task = 0; task < WRITERS; task++) {
		if (s->running[task] || s->writes[task] < WRITES)
			return false;
	}
	return !s->used && (!s->running[WRITERS] || !s->calls[s->call[WRITERS]].bytes);
}

static void sim_run(struct sim *s)
{
	while (!sim_ended(s)) {
		int task = (int)sim_random(s, WRITERS + 1);
		uint32_t turn = 1 + sim_random(s, 15);
		bool more = true;

		for (uint32_t i = 0; i < turn && more && !sim_ended(s); i++) {
			s->now += 1 + sim_random(s, 1000);
			more = task < WRITERS ? sim_write(s, task) : sim_read(s);
		}
	}
}

static bool is_true(const struct sim *s, const struct flow_arc *e)
{
	for (uint32_t i = 0; i < s->truth_count; i++) {
		if (s->calls[s->truth[i].from].node == e->from &&
		    s->calls[s->truth[i].to].node == e->to)
			return true;
	}
	return false;
}

static bool is_found(const struct sim *s, const struct flow_graph *g, uint32_t i)
{
	uint32_t from = s->calls[s->truth[i].from].node,
		 e = g->nodes[s->calls[s->truth[i].to].node].in;

	while (e != FLOW_NONE && g->edges[e].from != from)
		e = g->edges[e].next_in;
	return e != FLOW_NONE;
}

static void sim_take(struct sim *s, struct flow_channels *all, struct flow_channel *c)
{
	for (uint32_t i = 0; i < s->done_count; i++) {
		struct sim_call *k = &s->calls[s->done[i]];
		struct flow_item item = {
			.bytes = k->bytes, .moved = k->bytes, .start = k->start, .end = k->end};

		k->node = flow_graph_node(all->graph,
					  &(struct flow_operation){.start = k->start,
								   .dur = k->end - k->start,
								   .task = (uint32_t)k->task});
		item.node = k->node;
		flow_channel_take(all, c, k->task < WRITERS ? FLOW_SEND : FLOW_RECEIVE, &item, -1,
				  false);
		assert_int_equal(all->graph->r, 0);
	}
}

static void test_writers_that_return_late(void **state)
{
	struct sim *s = malloc(sizeof(*s));
	uint32_t edges = 0, truth = 0;

	(void)state;
	for (unsigned int seed = 1; seed <= SEEDS; seed++) {
		struct flow_graph g = {0};
		struct flow_channels all = {.graph = &g};
		struct flow_channel c = {.chain = FLOW_NONE, .via = VIA_PIPE};

		*s = (struct sim){.seed = seed};
		sim_run(s);
		sim_take(s, &all, &c);
		for (uint32_t i = 0; i < s->truth_count; i++) {
			if (!is_found(s, &g, i))
				fail_msg("seed %u: edge %u of %u is missing", seed, i,
					 s->truth_count);
		}
		for (uint32_t i = 0; i < g.edge_count; i++) {
			if (g.edges[i].certainty == CERTAINTY_CERTAIN && !is_true(s, &g.edges[i]))
				fail_msg("seed %u: a certain edge is wrong", seed);
		}
		truth += s->truth_count;
		edges += (uint32_t)g.edge_count;
		assert_int_equal(g.left_out, 0);
		flow_channel_free(&all, &c);
		flow_graph_free(&g);
	}
	print_message("%u edges for %u true ones\n", edges, truth);
	assert_true(edges < 6 * truth);
	free(s);
}

static uint32_t take_at(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
			int64_t start, int64_t pos)
{
	struct flow_item item = {.bytes = 100, .moved = 100, .start = start, .end = start + 5};

	item.node = flow_graph_node(
		all->graph,
		&(struct flow_operation){.start = start, .dur = 5, .task = (uint32_t)side});
	flow_channel_take(all, c, side, &item, pos, pos >= 0);
	assert_int_equal(all->graph->r, 0);
	return item.node;
}

static bool is_counted(const struct flow_channels *all, const struct flow_channel *c, uint32_t edge)
{
	const struct flow_arc *e = &all->graph->edges[edge];

	return flow_channel_counts(all, c, e->from, e->to);
}

/* Of a call without a position it is not known whether calls are missing before it: its edges count on that none are. */
static void test_position_after_missing_call(void **state)
{
	struct flow_graph g = {0};
	struct flow_channels all = {.graph = &g};
	struct flow_channel c = {.chain = FLOW_NONE, .via = VIA_STREAM};
	uint32_t sends[3], edges = 0;

	(void)state;
	sends[0] = take_at(&all, &c, FLOW_SEND, 10, 1000);
	take_at(&all, &c, FLOW_RECEIVE, 20, 1000);
	sends[1] =
		take_at(&all, &c, FLOW_SEND, 30, -1); /* at 1200: the call before it is missing */
	take_at(&all, &c, FLOW_RECEIVE, 40, 1100);
	sends[2] = take_at(&all, &c, FLOW_SEND, 50, 1300);
	take_at(&all, &c, FLOW_RECEIVE, 60, 1300);
	for (uint32_t i = 0; i < g.edge_count; i++) {
		bool counts = is_counted(&all, &c, i);

		assert_int_equal(counts, g.edges[i].from == sends[1]);
		edges += !counts && (g.edges[i].from == sends[0] || g.edges[i].from == sends[2]);
	}
	assert_int_equal(edges, 2);
	assert_int_equal(g.edge_count, 3);
	flow_channel_free(&all, &c);
	map_free(&all.counted);
	flow_graph_free(&g);
}

/* No call is missing if the next known position is where the count has arrived. */
static void test_position_proven(void **state)
{
	struct flow_graph g = {0};
	struct flow_channels all = {.graph = &g};
	struct flow_channel c = {.chain = FLOW_NONE, .via = VIA_STREAM};

	(void)state;
	take_at(&all, &c, FLOW_SEND, 10, 1000);
	take_at(&all, &c, FLOW_SEND, 20, -1);
	take_at(&all, &c, FLOW_RECEIVE, 30, 1000);
	take_at(&all, &c, FLOW_RECEIVE, 40, 1100);
	assert_int_equal(g.edge_count, 2);
	assert_true(is_counted(&all, &c, 1));
	take_at(&all, &c, FLOW_SEND, 50, 1200);
	assert_false(is_counted(&all, &c, 1));
	flow_channel_free(&all, &c);
	map_free(&all.counted);
	flow_graph_free(&g);
}

/* An end whose first position is known late: what was counted before may be wrong, what comes after is not. */
static void test_position_known_late(void **state)
{
	struct flow_graph g = {0};
	struct flow_channels all = {.graph = &g};
	struct flow_channel c = {.chain = FLOW_NONE, .via = VIA_STREAM};
	const int64_t origin = (1ll << 32) - 150; /* it wraps */
	uint32_t sends[4], receives[4];

	(void)state;
	sends[0] = take_at(&all, &c, FLOW_SEND, 10, -1);
	receives[0] = take_at(&all, &c, FLOW_RECEIVE, 20, origin);
	sends[1] = take_at(&all, &c, FLOW_SEND, 30, -1);
	receives[1] = take_at(&all, &c, FLOW_RECEIVE, 40, origin + 100);
	take_at(&all, &c, FLOW_SEND, 50, -1);
	/* a call is missing here */
	sends[3] = take_at(&all, &c, FLOW_SEND, 60, (uint32_t)(origin + 400));
	take_at(&all, &c, FLOW_RECEIVE, 70, (uint32_t)(origin + 300));
	receives[3] = take_at(&all, &c, FLOW_RECEIVE, 80, (uint32_t)(origin + 400));
	assert_true(c.ends[FLOW_SEND].known && c.ends[FLOW_RECEIVE].known);
	for (uint32_t i = 0; i < g.edge_count; i++)
		assert_int_equal(is_counted(&all, &c, i), g.edges[i].from != sends[3]);
	assert_int_equal(g.edges[g.edge_count - 1].from, sends[3]);
	assert_int_equal(g.edges[g.edge_count - 1].to, receives[3]);
	assert_int_equal(g.edges[0].from, sends[0]);
	assert_int_equal(g.edges[0].to, receives[0]);
	assert_int_equal(g.edges[1].from, sends[1]);
	assert_int_equal(g.edges[1].to, receives[1]);
	flow_channel_free(&all, &c);
	map_free(&all.counted);
	flow_graph_free(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_writers_that_return_late),
					   cmocka_unit_test(test_position_after_missing_call),
					   cmocka_unit_test(test_position_proven),
					   cmocka_unit_test(test_position_known_late)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
