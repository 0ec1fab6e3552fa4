/* SPDX-License-Identifier: Apache-2.0 */
/* share.c: one open file or one name used by several processes. */
#include "truth.h"

#include <sched.h>

#define ROUNDS 1000

static char buf[4096];

/* Two processes append 11 and 13 bytes in turn of chance; afterwards the file itself tells who wrote where. */
struct append {
	const char *name;
	char letter;
	int size;
};

static int appender(void *arg)
{
	const struct append *a = arg;
	int fd = (int)MUST(openat, AT_FDCWD, a->name, O_WRONLY | O_APPEND);

	memset(buf, a->letter, sizeof(buf));
	for (int i = 0; i < ROUNDS; i++)
		MUST(write, fd, buf, a->size);
	MUST(close, fd);
	return 0;
}

static int run_append_two(void)
{
	int fd = (int)MUST(openat, AT_FDCWD, "log", O_WRONLY | O_CREAT | O_TRUNC, 0600), one, two;

	is_file("log");
	MUST(close, fd);
	one = child(appender, &(struct append){"log", 'a', 11});
	two = child(appender, &(struct append){"log", 'b', 13});
	child_join(one);
	child_join(two);
	return 0;
}

/* The position belongs to the open file: fork and dup share it. No two at once here, so every place is certain. */
static int sharer(void *arg)
{
	int fd = *(int *)arg;

	MUST(write, fd, buf, 100);
	is_file("s");
	is_pos(50);
	MUST(lseek, fd, 1000, SEEK_SET);
	return 0;
}

static int run_share(void)
{
	int fd = (int)MUST(openat, AT_FDCWD, "s", O_RDWR | O_CREAT | O_TRUNC, 0600), copy;

	MUST(write, fd, buf, 50);
	is_pos(0);
	child_join(child(sharer, &fd));
	MUST(write, fd, buf, 10);
	is_file("s");
	is_pos(1000);
	copy = (int)MUST(dup, fd);
	MUST(write, copy, buf, 10);
	is_file("s");
	is_pos(1010);
	MUST(write, fd, buf, 10);
	is_pos(1020);
	MUST(lseek, copy, 5, SEEK_SET);
	MUST(read, fd, buf, 10);
	is_pos(5);
	MUST(close, copy);
	MUST(read, fd, buf, 10);
	is_pos(15);
	MUST(close, fd);
	return 0;
}

/* Two processes write through one open file at the same time: the pieces must tile the file (or say contested). */
static int racer(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < ROUNDS; i++)
		MUST(write, fd, buf, 7);
	return 0;
}

static int run_race(void)
{
	int fd = (int)MUST(openat, AT_FDCWD, "race", O_RDWR | O_CREAT | O_TRUNC, 0600), one, two;

	one = child(racer, &fd);
	two = child(racer, &fd);
	child_join(one);
	child_join(two);
	MUST(close, fd);
	return 0;
}

const struct work_case share_cases[] = {
	{"append_two", run_append_two, "two processes append to one file"},
	{"share", run_share, "a position shared over fork and dup"},
	{"race", run_race, "two processes write through one open file at once"},
	{0},
};
