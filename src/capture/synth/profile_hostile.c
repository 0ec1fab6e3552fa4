/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_hostile.c: input that breaks careless readers: names with newlines, escapes, invalid UTF-8, quotes and NUL,
 * paths of 4,095 bytes, empty names; extreme and missing values; reused ids of threads and inodes; a clock that goes
 * backwards; durations of centuries; unknown operations, classes and errors; losses of every cause.
 */
#include "capture/synth/stream.h"

#include <errno.h>
#include <string.h>

#define HOSTILE_PATH_MAX 4095

static const char *const hostile_names[] = {
	"/tmp/new\nline",
	"/tmp/\033[2J\033[1;31mred",
	"/tmp/\xff\xfe\xc0\x80",
	"",
	"/",
	"relative",
	"/tmp/'; drop table op; --",
	"/tmp/\"quoted\",\\back",
	"/tmp/\xe2\x80\xaegnp.exe",
	"/tmp/日本語",
	"/tmp/tab\there\r",
	"/tmp/\xed\xa0\x80",
	"/tmp/%s%n%d",
	"/tmp/<b>&amp;",
	"//double//slash/",
	"/tmp/e\xcc\x81",
	" ",
	".",
	"/tmp/deleted (deleted)",
};

static const int64_t hostile_values[] = {
	0,    1,     -1,    INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, UINT32_MAX,
	4096, -4095, -4096, -512,      1ll << 62, 255,	     65536,
};

static int64_t hostile_value(struct actor *a)
{
	return hostile_values[rng_below(&a->rng, ARRAY_SIZE(hostile_values))];
}

static int64_t hostile_file(struct stream *s, struct actor *a)
{
	char longest[HOSTILE_PATH_MAX];
	struct synth_file f = {.type = (enum file_type)rng_below(&a->rng, FILE_TYPE_COUNT),
			       .fs = "ext4"};

	f.path = hostile_names[rng_below(&a->rng, ARRAY_SIZE(hostile_names))];
	/* An inode number is reused by another generation. */
	f.ino = 1 + rng_below(&a->rng, 4);
	f.generation = a->serial;
	if (rng_chance(&a->rng, 100)) {
		memset(longest, 'x', sizeof(longest));
		for (size_t i = 0; i < sizeof(longest); i += 255)
			longest[i] = '/';
		f.path = longest;
		f.path_len = sizeof(longest);
	} else if (rng_chance(&a->rng, 100)) {
		f.path = "/tmp/nul\0inside";
		f.path_len = 15;
	} else if (rng_chance(&a->rng, 100)) {
		f.path = NULL;
	} else if (rng_chance(&a->rng, 100)) {
		f.name_only = true;
	} else if (rng_chance(&a->rng, 200)) {
		f.type = FILE_TYPE_SOCKET;
		f.path = NULL;
		f.family = 1 + (int64_t)rng_below(&a->rng, 40);
		f.local = "unix:@\n\033]0;x\a";
		f.peer = "[fe80::1%eth0]:99999";
	}
	return stream_file(s, &f);
}

/* Another version of the thread: the same tid, another name or another task. */
static void hostile_thread(struct stream *s, struct actor *a)
{
	static const char *const names[] = {
		"a\nb", "\033[7m", "", "\xff\xff", "very long comm!", "((sd-pam))", "kworker/0:1"};
	struct batch_row row = batch_set_row(s->out, TABLE_THREAD);

	a->thread = s->next_key++;
	row_set(&row, THREAD_ID, a->thread);
	row_set(&row, THREAD_TASK, a->thread);
	row_set(&row, THREAD_TID, a->tid);
	row_set(&row, THREAD_PROCESS_ID, a->process);
	row_set(&row, THREAD_SINCE, a->now);
	row_set_str(&row, THREAD_COMM, names[rng_below(&a->rng, ARRAY_SIZE(names))]);
	stream_fail(s, row.r);
}

#define HOSTILE_CAUSES \
	(CAUSE_WRITE_FAILED + 1) /* later ones are excluded: a seed's stream is stable */

static void hostile_loss(struct stream *s, struct actor *a)
{
	struct batch_row row = batch_set_row(s->out, TABLE_LOSS);

	row_set(&row, LOSS_START, a->now - 1000);
	row_set(&row, LOSS_STOP, a->now);
	row_set(&row, LOSS_CAUSE, (int64_t)rng_below(&a->rng, HOSTILE_CAUSES));
	row_set_if(&row, rng_chance(&a->rng, 800), LOSS_EVENTS,
		   1 + (int64_t)rng_below(&a->rng, 99));
	stream_fail(s, row.r);
}

static void hostile_extremes(struct actor *a)
{
	static const enum op_column any[] = {
		OP_FD, OP_POS, OP_SIZE, OP_FLAGS, OP_FD2, OP_POS2, OP_A0,
		OP_A1, OP_A2,  OP_A3,	OP_A4,	  OP_A5,  OP_HELD,
	};

	for (size_t i = 0; i < ARRAY_SIZE(any); i++) {
		if (rng_chance(&a->rng, 120))
			act_set(a, any[i], hostile_value(a));
	}
	if (rng_chance(&a->rng, 50))
		a->set &= ~(1ull << OP_START);
	if (rng_chance(&a->rng, 20))
		act_set(a, OP_CLASS, CLASS_COUNT + (int64_t)rng_below(&a->rng, 3));
	if (rng_chance(&a->rng, 20))
		act_set(a, OP_ERR, 134 + (int64_t)rng_below(&a->rng, 4000));
	if (rng_chance(&a->rng, 30))
		act_set(a, OP_STATUS,
			(int64_t)rng_below(&a->rng, 1024) & ~(int64_t)STATUS_UNFINISHED);
	if (rng_chance(&a->rng, 20))
		act_set(a, OP_BYTES, (int64_t)rng_below(&a->rng, 1ull << 32) << 10);
	if (rng_chance(&a->rng, 20))
		a->set &= ~(1ull << OP_CPU | 1ull << OP_KIND);
	if (rng_chance(&a->rng, 10))
		act_set(a, OP_FILE_ID, 1ll << 40); /* a file without a row */
}

static void hostile_step(struct stream *s, struct actor *a)
{
	int64_t dur = (int64_t)rng_below(&a->rng, 20000), end;

	if (rng_chance(&a->rng, 20))
		hostile_thread(s, a);
	if (rng_chance(&a->rng, 5))
		hostile_loss(s, a);
	act_begin(a, (enum call)rng_below(&a->rng, rng_chance(&a->rng, 50) ? 4096 : 460),
		  (enum op_class)rng_below(&a->rng, CLASS_COUNT),
		  (int64_t)rng_below(&a->rng, 2000));
	if (!rng_chance(&a->rng, 300)) {
		unsigned int slot = (unsigned int)rng_below(&a->rng, SYNTH_FILES_MAX);

		if (!a->files[slot] || rng_chance(&a->rng, 50)) {
			a->files[slot] = hostile_file(s, a);
			a->serial++;
		} else if (rng_chance(&a->rng, 20)) {
			a->files[slot] = stream_rename(s, a->files[slot],
						       hostile_names[rng_below(&a->rng, 4)]);
		}
		a->fds[slot] = slot;
		act_file(a, slot);
	}
	act_end(a, dur,
		rng_chance(&a->rng, 300) ? hostile_value(a) : (int64_t)rng_below(&a->rng, 4096));
	end = a->end;
	if (rng_chance(&a->rng, 2))
		act_set(a, OP_DUR,
			3600 * NSEC_PER_SEC * (1 + (int64_t)rng_below(&a->rng, 1000000)));
	if (rng_chance(&a->rng, 10))
		act_set(a, OP_START,
			a->v[OP_START] -
				(int64_t)rng_below(&a->rng, 1000000000)); /* the clock went back */
	hostile_extremes(a);
	a->now = a->end = end;
}

void profile_hostile(struct stream *s)
{
	struct actor *a = stream_process(s, "ho\nst\033[m", "evil --arg=\n \xff", hostile_step);

	for (unsigned int i = 0; i < 7 && a; i++) {
		struct actor *t = stream_thread(s, a, i % 2 ? "" : "\xff\xfe", hostile_step);

		if (!t)
			return;
		/* A thread id in use by two threads, as after a wrap of the pid counter. */
		if (i == 3)
			t->tid = a->tid;
	}
	if (a)
		stream_process(s, "same-pid", "same-pid", hostile_step);
}
