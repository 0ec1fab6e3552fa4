/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of events in the headers of blocks: what was noted is told once, by the next block of calls or marks. */
#include "common.h"

#include "base/clock.h"
#include "store/file/format.h"

#define CPUS 3

static int setup(void **state)
{
	make_folder();
	return 0;
}

static int teardown(void **state)
{
	remove_folder();
	return 0;
}

static struct store_writer *create(const char *path)
{
	struct store_options opt = {.owner = (uid_t)-1, .block_ns = INT64_MAX};
	struct store_writer *w;
	struct error err = {0};

	assert_ok(store_create(&w, path, &opt, &err), err);
	return w;
}

static void append(struct store_writer *w, struct batch *b)
{
	struct error err = {0};

	assert_ok(store_append(w, b, &err), err);
	batch_free(b);
}

static void flush(struct store_writer *w)
{
	struct error err = {0};

	assert_ok(store_flush(w, true, &err), err);
}

static struct store_events events_of(const char *path)
{
	struct store *s = open_trace(path);
	struct store_events e;

	store_events(s, &e);
	store_free(s);
	return e;
}

static void told_once(void **state)
{
	struct draw d = {test_seed(7)};
	const char *path = in_folder("events");
	struct event_count cpus[CPUS] = {0};
	struct store_writer *w = create(path);
	uint64_t numbers = 0, missing = 0, filtered = 0;
	struct error err = {0};
	struct store_events e;
	int64_t clock = 1;

	/* Calls, then files alone, which tell nothing, then marks: all that was noted is told by the end. */
	for (unsigned int round = 0; round < 40; round++) {
		if (round < 30)
			append(w, likely_ops(&d, 1 + draw(&d, 300), &clock));
		else if (round < 39)
			append(w, file_rows(1));
		else
			append(w, random_rows(&d, TABLE_MARK, 1));
		for (unsigned int i = 0; i < CPUS; i++) {
			uint64_t n = draw(&d, 3) ? draw(&d, 1000) : 0, lost = draw(&d, n / 10 + 1);
			uint64_t out = draw(&d, 50);

			cpus[i].next += n;
			cpus[i].came += n - lost;
			cpus[i].filtered += out;
			numbers += n;
			missing += lost;
			filtered += out;
		}
		assert_int_equal(store_note_events(w, cpus, CPUS), 0);
		if (!draw(&d, 3) || round == 39)
			flush(w);
	}
	assert_ok(store_close(w, &err), err);
	e = events_of(path);
	assert_true(e.told);
	assert_int_equal(e.gaps, 0);
	assert_int_equal(e.numbers, numbers);
	assert_int_equal(e.missing, missing);
	assert_int_equal(e.filtered, filtered);
}

/* A source that numbers nothing leaves headers as they were. */
static void nothing_told(void **state)
{
	struct draw d = {test_seed(8)};
	const char *path = in_folder("silent");
	struct store_writer *w = create(path);
	struct error err = {0};
	int64_t clock = 1;

	append(w, likely_ops(&d, 100, &clock));
	assert_ok(store_close(w, &err), err);
	assert_false(events_of(path).told);
}

/* A block whose header is destroyed leaves a hole in the numbers, whatever its neighbours say. */
static void missing_block(void **state)
{
	struct draw d = {test_seed(9)};
	struct event_count cpu = {0};
	char path[256], hurt[256];
	struct store_writer *w;
	struct error err = {0};
	uint64_t offset = 0;
	struct store *s;
	int64_t clock = 1;
	uint8_t *data;
	size_t len;

	snprintf(path, sizeof(path), "%s", in_folder("whole"));
	snprintf(hurt, sizeof(hurt), "%s", in_folder("hurt"));
	w = create(path);
	for (unsigned int i = 0; i < 5; i++) {
		append(w, likely_ops(&d, 50, &clock));
		cpu.next += 60;
		cpu.came += 60;
		assert_int_equal(store_note_events(w, &cpu, 1), 0);
		flush(w);
	}
	assert_ok(store_close(w, &err), err);
	assert_int_equal(events_of(path).gaps, 0);
	s = open_trace(path);
	for (size_t i = 0, ops = 0; i < store_block_count(s) && !offset; i++) {
		if (store_block(s, i)->table == TABLE_OP && ++ops == 3)
			offset = store_block(s, i)->offset;
	}
	store_free(s);
	assert_true(offset > 0);
	data = load_file(path, &len);
	memset(data + offset, 0x55, 64);
	/* without the end mark, else the index still knows the header */
	save_file(hurt, data, len - sizeof(struct block_header));
	free(data);
	assert_true(events_of(hurt).told);
	assert_int_equal(events_of(hurt).gaps, 1);
	assert_int_equal(events_of(hurt).missing, 0);
}

static struct batch *one_call(int64_t end, int64_t dur)
{
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	assert_int_equal(batch_add_row(b), 0);
	assert_int_equal(batch_set(b, OP_START, 0, end - dur), 0);
	assert_int_equal(batch_set(b, OP_DUR, 0, dur), 0);
	return b;
}

/* What a copy of the unfinished file says, as after the writer was killed. */
static struct store_unclosed unclosed_of(const char *path)
{
	struct store_unclosed u;
	char copy[256];
	struct store *s;
	uint8_t *data;
	size_t len;

	snprintf(copy, sizeof(copy), "%s.copy", path);
	data = load_file(path, &len);
	save_file(copy, data, len);
	free(data);
	s = open_trace(path);
	store_unclosed(s, &u);
	assert_int_equal(u.traces, 0); /* somebody writes it */
	store_free(s);
	s = open_trace(copy);
	store_unclosed(s, &u);
	assert_int_equal(u.traces, 1);
	u.path = NULL; /* it goes with the store */
	store_free(s);
	return u;
}

/* Up to when a file without an end is complete: nothing is promised of what still waits. */
static void complete_until(void **state)
{
	const int64_t t0 = 1700000000 * NSEC_PER_SEC;
	struct draw d = {test_seed(10)};
	struct store_unclosed u;
	struct store_writer *w;
	struct error err = {0};
	char path[256];
	struct store *s;
	int64_t clock = t0 + 30;

	snprintf(path, sizeof(path), "%s", in_folder("until"));
	w = create(path);
	assert_int_equal(unclosed_of(path).until, INT64_MIN); /* nothing is known */
	store_note_until(w, t0);
	append(w, one_call(t0 + 10, 5));
	store_note_until(w, t0 + 10);
	flush(w);
	assert_int_equal(unclosed_of(path).until, t0 + 10);
	/* a call of long duration waits in a block of its own, while another block fills */
	append(w, one_call(t0 + 20, NSEC_PER_SEC));
	store_note_until(w, t0 + 20);
	for (unsigned int i = 0; i < 7; i++)
		append(w, likely_ops(&d, 10000, &clock));
	store_note_until(w, clock);
	assert_int_equal(unclosed_of(path).until, t0 + 10);
	flush(w);
	assert_int_equal(unclosed_of(path).until, clock);
	assert_ok(store_close(w, &err), err);
	s = open_trace(path);
	store_unclosed(s, &u);
	assert_int_equal(u.traces, 0);
	store_free(s);
}

/* Nor of the rows of poll: a call without one would be taken for one that did not sleep. */
static void complete_with_waits(void **state)
{
	const int64_t t0 = 1700000000 * NSEC_PER_SEC;
	struct draw d = {test_seed(11)};
	struct store_writer *w;
	struct error err = {0};
	struct batch *poll;
	char path[256];
	int64_t clock = t0 + 30, noted;

	snprintf(path, sizeof(path), "%s", in_folder("waits"));
	w = create(path);
	store_note_until(w, t0);
	assert_true(batch_new(&poll, TABLE_POLL) == 0 && batch_add_row(poll) == 0);
	assert_int_equal(batch_set(poll, POLL_START, 0, t0 + 5), 0);
	assert_int_equal(batch_set(poll, POLL_DUR, 0, 5), 0);
	append(w, poll);
	for (unsigned int i = 0; i < 7; i++)
		append(w, likely_ops(&d, 10000, &clock));
	store_note_until(w, clock);
	noted = clock;
	for (unsigned int i = 0; i < 7; i++) /* a second block */
		append(w, likely_ops(&d, 10000, &clock));
	assert_int_equal(unclosed_of(path).until, t0);
	flush(w);
	assert_int_equal(unclosed_of(path).until, noted);
	assert_ok(store_close(w, &err), err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_told, setup, teardown),
		cmocka_unit_test_setup_teardown(missing_block, setup, teardown),
		cmocka_unit_test_setup_teardown(complete_until, setup, teardown),
		cmocka_unit_test_setup_teardown(complete_with_waits, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
