/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder of what comes beside calls, with next to no memory: of a storm of short processes it keeps nothing for each, and
 * yet finds the first of them again. The records are made here; needs no kernel.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "capture/ebpf/side/block.h"
#include "capture/ebpf/calls/decode.h"

#define STORM	   200000
#define MEMORY_MAX (16u << 20)
#define NAMES	   "file\0a folder\0"

struct rig {
	struct decode *decode;
	struct wire_plan plans[WIRE_CALLS_MAX];
	struct wire_shared shared;
	struct select select;
	struct batch_set out;
	uint64_t now;
};

static void rig_open(struct rig *t)
{
	const struct decode_options opt = {
		.plans = t->plans,
		.select = &t->select,
		.shared = &t->shared,
		.kallsyms_fd = -1,
		.limits = {.runs = 1, .inodes = 1000, .ended = 1000, .paths = 1000, .asked = 1000}};
	struct error err = {0};

	for (uint32_t nr = 0; nr < WIRE_CALLS_MAX; nr++)
		plan_of_op(op_code_of_native(nr), true, &t->plans[nr]);
	assert_int_equal(decode_new(&t->decode, &opt, &err), 0);
	assert_int_equal(decode_expect(t->decode, true, true), 0);
}

static void rig_close(struct rig *t)
{
	decode_free(t->decode);
	batch_set_free(&t->out);
}

static size_t memory(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

/* A process that is not recorded writes: who it is. */
static void give_owner(struct rig *t, uint32_t owner)
{
	struct wire_block_owner w = {
		.thread = {.head = {.type = WIRE_BLOCK_OWNER, .size = sizeof(w), .time = ++t->now},
			   .thread = WIRE_OWNER_THREADS | owner,
			   .task = WIRE_OWNER_THREADS | owner,
			   .tid = (int32_t)owner,
			   .tgid = (int32_t)owner,
			   .process_start = owner,
			   .reason = WIRE_THREAD_SEEN},
		.owner = owner};

	batch_set_clear(&t->out);
	assert_int_equal(decode_side(t->decode, &w.thread.head, &t->out), 0);
	assert_int_equal(t->out.tables[TABLE_PROCESS]->rows, 1);
	assert_int_equal(t->out.tables[TABLE_THREAD]->rows, 1);
}

static void give_inode(struct rig *t, uint32_t inode)
{
	struct {
		struct wire_block_inode w;
		char names[sizeof(NAMES) - 1];
	} r = {.w = {.head = {.type = WIRE_BLOCK_INODE, .size = sizeof(r), .time = ++t->now},
		     .ino = 1000 + inode,
		     .inode = inode,
		     .mode = S_IFREG,
		     .names_len = sizeof(r.names)}};

	memcpy(r.names, NAMES, sizeof(r.names));
	batch_set_clear(&t->out);
	assert_int_equal(decode_side(t->decode, &r.w.head, &t->out), 0);
}

/* A request of that owner for that file has both, and the row of the file is there. */
static void give_request(struct rig *t, uint32_t number)
{
	struct {
		struct wire_block w;
		struct wire_block_part part;
	} r = {.w = {.head = {.type = WIRE_BLOCK, .size = sizeof(r), .time = t->now + 3},
		     .id = number,
		     .queued = t->now + 1,
		     .bytes = 4096,
		     .size = 4096,
		     .opf = 1,
		     .bios = 1,
		     .parts = 1},
	       .part = {.inode = number,
			.owner = number,
			.bytes = 4096,
			.via = WIRE_VIA_CURRENT,
			.origin = WIRE_ORIGIN_FILE}};
	const struct batch *b;

	t->now += 3;
	batch_set_clear(&t->out);
	assert_int_equal(decode_side(t->decode, &r.w.head, &t->out), 0);
	b = t->out.tables[TABLE_REQUEST];
	assert_int_equal(b->rows, 1);
	assert_int_equal(batch_get(b, REQUEST_THREAD_ID, 0, -1), WIRE_OWNER_THREADS | number);
	assert_int_equal(batch_get(b, REQUEST_FILE_ID, 0, -1), KEY_BLOCK_BASE + number);
	b = t->out.tables[TABLE_FILE];
	assert_int_equal(b->rows, 1);
	assert_int_equal(batch_get(b, FILE_ID, 0, -1), KEY_BLOCK_BASE + number);
	assert_true(batch_get_bytes(b, FILE_PATH, 0).len > 0);
}

static void owners(void **state)
{
	struct rig t = {0};
	size_t before = memory();

	rig_open(&t);
	for (uint32_t i = 1; i <= STORM; i++) {
		give_owner(&t, i);
		give_inode(&t, i);
		give_request(&t, i);
	}
	give_request(&t, 1);
	give_request(&t, STORM / 2);
	batch_set_free(&t.out);
	if (memory() >= before + MEMORY_MAX)
		fail_msg("%zu bytes for %d owners", memory() - before, STORM);
	rig_close(&t);
}

static size_t rows_of(const struct rig *t, enum table_id table)
{
	return t->out.tables[table] ? t->out.tables[table]->rows : 0;
}

/* A process that is met as an owner and recorded later is one, whose end is seen. */
static void owner_recorded(void **state)
{
	struct wire_thread w = {.head = {.type = WIRE_THREAD, .size = sizeof(w), .time = 10},
				.thread = 1,
				.task = 1,
				.tid = 5,
				.tgid = 5,
				.process_start = 5};
	struct wire_thread_end end = {
		.head = {.type = WIRE_THREAD_END, .size = sizeof(end), .time = 20},
		.thread = 1,
		.tgid = 5,
		.process_start = 5,
		.process_ended = 1};
	struct rig t = {0};
	int64_t key;

	rig_open(&t);
	give_owner(&t, 5);
	key = batch_get(t.out.tables[TABLE_PROCESS], PROCESS_ID, 0, -1);
	assert_false(decode_knows_tid(t.decode, 5));
	batch_set_clear(&t.out);
	assert_int_equal(decode_dimension(t.decode, &w.head, &t.out), 0);
	assert_int_equal(rows_of(&t, TABLE_PROCESS), 1);
	assert_int_equal(batch_get(t.out.tables[TABLE_PROCESS], PROCESS_ID, 0, -1), key);
	assert_int_equal(batch_get(t.out.tables[TABLE_THREAD], THREAD_PROCESS_ID, 0, -1), key);
	assert_true(decode_knows_tid(t.decode, 5));
	batch_set_clear(&t.out);
	assert_int_equal(decode_dimension(t.decode, &end.head, &t.out), 0);
	assert_int_equal(rows_of(&t, TABLE_PROCESS), 1);
	assert_int_equal(batch_get(t.out.tables[TABLE_PROCESS], PROCESS_ID, 0, -1), key);
	assert_false(batch_is_null(t.out.tables[TABLE_PROCESS], PROCESS_STOPPED, 0));
	rig_close(&t);
}

/* One that waits for direct I/O is known by its address alone: it has one row, whether it is recorded or not. */
static void waiter(void **state)
{
	struct wire_thread recorded = {
		.head = {.type = WIRE_THREAD, .size = sizeof(recorded), .time = 1},
		.thread = 9,
		.task = 9,
		.tid = 50,
		.tgid = 50,
		.process_start = 7,
		.start = 7,
		.comm = "recorded"};
	struct wire_block_owner w = {.thread = recorded};
	static const struct {
		uint32_t owner;
		int32_t tid;
		uint64_t start;
		const char *comm;
		uint32_t thread;
		bool row;
	} facts[] = {
		{1, 50, 7, "renamed", 9, false},
		{2, 50, 8, "another", WIRE_OWNER_THREADS | 2, true}, /* its number was used again */
		{3, 60, 7, "one", WIRE_OWNER_THREADS | 3, true},
		{4, 60, 7, "one", WIRE_OWNER_THREADS | 3, false},
		{5, 60, 7, "other", WIRE_OWNER_THREADS | 5, true},
	};
	struct rig t = {0};

	rig_open(&t);
	assert_int_equal(decode_dimension(t.decode, &recorded.head, &t.out), 0);
	w.thread.head.type = WIRE_BLOCK_OWNER;
	w.thread.head.size = sizeof(w);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		const uint64_t *key;

		w.owner = facts[i].owner;
		w.thread.thread = w.thread.task = WIRE_OWNER_THREADS | w.owner;
		w.thread.tid = facts[i].tid;
		w.thread.start = facts[i].start;
		snprintf(w.thread.comm, sizeof(w.thread.comm), "%s", facts[i].comm);
		batch_set_clear(&t.out);
		assert_int_equal(decode_side(t.decode, &w.thread.head, &t.out), 0);
		assert_int_equal(rows_of(&t, TABLE_THREAD), facts[i].row);
		key = records_get(&t.decode->block->owners, w.owner, NULL);
		assert_non_null(key);
		assert_int_equal((uint32_t)*key, facts[i].thread);
	}
	rig_close(&t);
}

/* Records that make no sense are counted, and those behind them come. */
static void malformed(void **state)
{
	struct wire_net good = {.head = {.type = WIRE_NET, .size = sizeof(good), .time = 5}},
			bad = good, end = good;
	struct buf records = {0};
	struct rig t = {0};
	uint64_t count = 0;

	rig_open(&t);
	bad.event = NET_EVENT_COUNT;
	end.head.size = 3;
	assert_int_equal(buf_append(&records, &bad, sizeof(bad)), 0);
	assert_int_equal(buf_append(&records, &good, sizeof(good)), 0);
	assert_int_equal(buf_append(&records, &end, sizeof(end)), 0);
	assert_int_equal(decode_side_all(t.decode, &records, &t.out, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(rows_of(&t, TABLE_NET), 1);
	buf_free(&records);
	rig_close(&t);
}

static void give_stack(struct rig *t, uint64_t hash)
{
	struct {
		struct wire_stack w;
		uint64_t frame;
	} r = {.w = {.head = {.type = WIRE_STACK, .size = sizeof(r), .time = ++t->now},
		     .stack = hash,
		     .thread = 1,
		     .flags = WIRE_STACK_BOTTOM,
		     .frames = 1},
	       .frame = 4096};

	assert_int_equal(decode_dimension(t->decode, &r.w.head, &t->out), 0);
}

/* Each process has the same stack at addresses of its own, and of some calls the records are lost. */
static void stacks(void **state)
{
	struct wire_op op = {.thread = 7, .call = 3};
	struct rig t = {0};
	size_t before;
	int64_t user, kernel;

	rig_open(&t);
	give_stack(&t, 1);
	before = memory();
	for (uint32_t i = 1; i <= STORM; i++) {
		struct wire_call_stacks w = {
			.head = {.type = WIRE_CALL_STACKS, .size = sizeof(w), .time = ++t.now},
			.thread = i,
			.call = 3,
			.user = i};

		give_stack(&t, i);
		assert_int_equal(decode_dimension(t.decode, &w.head, &t.out), 0);
	}
	assert_int_equal(t.decode->stacks_left_out, 0);
	assert_int_equal(rows_of(&t, TABLE_STACK), 1);
	op.thread = STORM;
	decode_take_stacks(t.decode, &op, &user, &kernel);
	assert_int_equal(user, 0);
	assert_int_equal(kernel, -1);
	decode_take_stacks(t.decode, &op, &user, &kernel);
	assert_int_equal(user, -1);
	if (memory() >= before + MEMORY_MAX)
		fail_msg("%zu bytes for %d stacks", memory() - before, STORM);
	/* one that was forgotten is counted */
	assert_int_equal(decode_call_stacks(
				 t.decode,
				 &(struct wire_call_stacks){
					 .head.size = sizeof(struct wire_call_stacks), .user = 1}),
			 0);
	assert_int_equal(t.decode->stacks_left_out, 1);
	rig_close(&t);
}

/* Of threads that ended nothing is kept; calls that had requests before that are not known. */
static void split(void **state)
{
	static const struct wire_wait waits[] = {{110, 250}};
	struct io_split s = {0};
	struct io_parts parts;
	size_t before = memory();

	for (uint32_t i = 0; i < STORM; i++) {
		const struct io_request request = {i, i + 1, i + 2};

		assert_int_equal(io_split_request(&s, i, i, &request), 0);
	}
	assert_true(s.calls.count <= IO_SPLIT_CALLS_MAX);
	assert_true(memory() < before + MEMORY_MAX);
	assert_false(io_split_take(&s, 1, 1, waits, 1, &parts));
	assert_true(io_split_take(&s, STORM - 1, STORM - 1, waits, 1, &parts));
	assert_true(io_split_take(&s, 1, STORM, waits, 1, &parts));
	io_split_free(&s);
}

/* The device's time of a read of 100 ns that waited. */
static int64_t device_time(struct rig *t)
{
	struct {
		struct wire_op op;
		struct wire_away away;
		struct wire_phases phases;
		struct wire_wait wait;
	} r = {.op = {.head = {.type = WIRE_OP,
			       .parts = WIRE_PART_AWAY,
			       .size = sizeof(r),
			       .time = t->now + 100},
		      .start = t->now,
		      .thread = 1,
		      .fd = 3,
		      .pos = WIRE_NONE,
		      .nr = (uint16_t)op_find("read")},
	       .away = {.phases = 1},
	       .phases = {.io_wait = 50, .waits = 1, .kept = 1},
	       .wait = {t->now + 10, t->now + 60}};

	batch_set_clear(&t->out);
	assert_int_equal(decode_op(t->decode, &r.op, 0, &t->out), 1);
	assert_int_equal(batch_get(t->out.tables[TABLE_OP], OP_IO_WAIT, 0, -1), 50);
	return batch_get(t->out.tables[TABLE_OP], OP_IO_DEVICE, 0, -1);
}

/* Records of requests found no room from 2000 to 3000: what calls of that time waited for is not known. */
static void lost(void **state)
{
	struct rig t = {.now = 2500};

	rig_open(&t);
	assert_int_equal(device_time(&t), 0);
	t.shared.block_lost_first = 2000;
	t.shared.block_lost_last = 3000;
	assert_int_equal(device_time(&t), -1);
	t.now = 1950;
	assert_int_equal(device_time(&t), -1);
	t.now = 1850;
	assert_int_equal(device_time(&t), 0);
	t.now = 2990;
	assert_int_equal(device_time(&t), -1);
	t.now = 3001;
	assert_int_equal(device_time(&t), 0);
	rig_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners),    cmocka_unit_test(owner_recorded),
		cmocka_unit_test(stacks),    cmocka_unit_test(split),
		cmocka_unit_test(lost),	     cmocka_unit_test(waiter),
		cmocka_unit_test(malformed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
