/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of loss of a window: by cause, CPU and, where a thread's share is known, thread; they add up to the counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "capture/ebpf/load/load.h"
#include "capture/ebpf/ring/loss.h"

#define CPUS 2

/* Events of the rows of a cause; cpu and thread -1: any. */
static int64_t events(const struct batch_set *set, enum loss_cause cause, int64_t cpu,
		      int64_t thread)
{
	const struct batch *b = set->tables[TABLE_LOSS];
	int64_t sum = 0;

	for (size_t i = 0; b && i < b->rows; i++) {
		if (batch_get(b, LOSS_CAUSE, i, -1) == cause &&
		    (cpu < 0 || batch_get(b, LOSS_CPU, i, -1) == cpu) &&
		    (thread < 0 || batch_get(b, LOSS_THREAD_ID, i, -1) == thread))
			sum += batch_get(b, LOSS_EVENTS, i, 0);
	}
	return sum;
}

static struct loss_thread share(uint32_t thread, uint16_t cpu, uint16_t kind, uint64_t count)
{
	return (struct loss_thread){.key = {.thread = thread, .cpu = cpu, .kind = kind},
				    .count = count};
}

static void test_threads(void **state)
{
	struct wire_cpu cpus[CPUS] = {0};
	const uint64_t none[LOSS_COUNTERS] = {0};
	struct batch_set out = {0};
	struct losses l = {.since = 1000};
	struct loss_thread t[4];

	assert_int_equal(losses_init(&l, CPUS), 0);
	assert_false(losses_look(&l, cpus));
	assert_int_equal(losses_give(&l, NULL, 0, none, 2000, &out), 0);
	assert_int_equal(batch_set_count(&out), 0);

	/* Two threads explain a part; the rest is nobody's. Another counter stays apart. */
	cpus[0].lost = 100;
	cpus[1].lost = 7;
	cpus[1].compat = 5;
	cpus[1].unread = 3;
	assert_true(losses_look(&l, cpus));
	t[0] = share(11, 0, WIRE_MISSING_RING, 60);
	t[1] = share(12, 0, WIRE_MISSING_RING, 30);
	t[2] = share(12, 1, WIRE_MISSING_RING, 7);
	t[3] = share(12, 1, WIRE_MISSING_COMPAT, 5);
	assert_int_equal(losses_give(&l, t, 4, none, 3000, &out), 0);
	assert_int_equal(events(&out, CAUSE_RING_FULL, 0, 11), 60);
	assert_int_equal(events(&out, CAUSE_RING_FULL, 0, 12), 30);
	assert_int_equal(events(&out, CAUSE_RING_FULL, 0, -1), 100);
	assert_int_equal(events(&out, CAUSE_RING_FULL, 1, 12), 7);
	assert_int_equal(events(&out, CAUSE_RING_FULL, -1, -1), 107);
	assert_int_equal(events(&out, CAUSE_COMPAT, 1, 12), 5);
	assert_int_equal(events(&out, CAUSE_COMPAT, -1, -1), 5);
	assert_int_equal(events(&out, CAUSE_ARG_UNREAD, -1, -1), 3);

	/* A share that is ahead of the counter, as the programs go on between the two looks, waits for it. */
	batch_set_clear(&out);
	cpus[0].lost = 110;
	assert_true(losses_look(&l, cpus));
	t[0].count = 90;
	assert_int_equal(losses_give(&l, t, 4, none, 4000, &out), 0);
	assert_int_equal(events(&out, CAUSE_RING_FULL, 0, 11), 10);
	assert_int_equal(events(&out, CAUSE_RING_FULL, -1, -1), 10);
	batch_set_clear(&out);
	cpus[0].lost = 130;
	assert_true(losses_look(&l, cpus));
	assert_int_equal(losses_give(&l, t, 4, none, 5000, &out), 0);
	assert_int_equal(events(&out, CAUSE_RING_FULL, 0, 11), 20);
	assert_int_equal(events(&out, CAUSE_RING_FULL, -1, -1), 20);

	/* Nothing new: no row. A share of a CPU that is not there is nobody's. */
	batch_set_clear(&out);
	t[0] = share(11, CPUS, WIRE_MISSING_RING, 1000);
	t[1] = share(11, 0, WIRE_MISSING_KINDS, 1000);
	assert_false(losses_look(&l, cpus));
	assert_int_equal(losses_give(&l, t, 2, none, 6000, &out), 0);
	assert_int_equal(batch_set_count(&out), 0);
	batch_set_free(&out);
	losses_free(&l);
}

/* Rows of other tables: by cause and table, what each grew by. */
static void test_beside(void **state)
{
	struct source_beside now[] = {{CAUSE_SIDE_FULL, TABLE_SCHED, 5},
				      {CAUSE_SIDE_FULL, TABLE_REQUEST, 2},
				      {CAUSE_SIDE_UNSEEN, TABLE_SCHED, 1}};
	struct losses l = {.since = 1000};
	struct batch_set out = {0};
	const struct batch *b;

	assert_int_equal(losses_init(&l, CPUS), 0);
	assert_int_equal(losses_give_beside(&l, now, ARRAY_SIZE(now), 2000, &out), 0);
	b = out.tables[TABLE_LOSS];
	assert_int_equal(b->rows, 3);
	assert_int_equal(events(&out, CAUSE_SIDE_FULL, -1, -1), 7);
	assert_int_equal(events(&out, CAUSE_SIDE_UNSEEN, -1, -1), 1);
	assert_memory_equal(batch_get_bytes(b, LOSS_OF, 0).data, "sched", 5);
	assert_memory_equal(batch_get_bytes(b, LOSS_OF, 1).data, "block", 5);

	batch_set_clear(&out);
	now[1].count = 9;
	assert_int_equal(losses_give_beside(&l, now, ARRAY_SIZE(now), 3000, &out), 0);
	assert_int_equal(events(&out, CAUSE_SIDE_FULL, -1, -1), 7);
	assert_int_equal(batch_set_count(&out), 1);
	assert_int_equal(losses_give_unknown(&l, CAUSE_SIDE_UNREAD, TABLE_MEM, 3000, &out), 0);
	b = out.tables[TABLE_LOSS];
	assert_true(batch_is_null(b, LOSS_EVENTS, 1));
	assert_memory_equal(batch_get_bytes(b, LOSS_OF, 1).data, "mem", 3);
	batch_set_free(&out);
	losses_free(&l);
}

#define MIB ((size_t)1 << 20)

/* The rings of all CPUs that may come take no more than is told, those of CPUs that are there are not made smaller. */
static void test_ring_size(void **state)
{
	assert_int_equal(load_ring_size(4 * MIB, 2, 2), 4 * MIB);
	assert_int_equal(load_ring_size(16 * MIB, 16, 16), 16 * MIB);
	assert_int_equal(load_ring_size(4 * MIB, 128, 128), 4 * MIB);
	assert_int_equal(load_ring_size(4 * MIB, 64, 2), 4 * MIB);
	assert_int_equal(load_ring_size(4 * MIB, 240, 2), MIB);
	assert_int_equal(load_ring_size(16 * MIB, 240, 2), MIB);
	assert_int_equal(load_ring_size(16 * MIB, 128, 128), 8 * MIB);
	assert_int_equal(load_ring_size(16 * MIB, WIRE_CPUS_MAX, WIRE_CPUS_MAX), MIB);
	assert_int_equal(load_ring_size(65536, WIRE_CPUS_MAX, 1), 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_ring_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
