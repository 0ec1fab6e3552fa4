/* SPDX-License-Identifier: Apache-2.0 */
/* share.c: one open file or one name used by several processes. */
#include "truth.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

#define ROUNDS 1000

static char buf[4096];

/* Two processes append 11 and 13 bytes in turn of chance; afterwards the file itself tells who
 * wrote where. */
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

/* The position belongs to the open file: fork and dup share it. No two at once here, so every place
 * is certain. */
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

/* Two processes write through one open file at the same time: the pieces must tile the file (or say
 * contested). */
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

static void *reads_before(void *arg)
{
	int *pipes = arg;
	long n = syscall(SYS_read, pipes[0], buf, 10);

	fact_note("read", SYS_read, 3, pipes[0], (long)buf, 10, 0, 0, 0, n);
	is_any("no_start", 1);
	return NULL;
}

static int tcp_pair(int *ret_other)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(bind(listener, (struct sockaddr *)&a, sizeof(a)) == 0 && listen(listener, 1) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&a, &len) == 0);
	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	*ret_other = accept(listener, NULL, NULL);
	return fd;
}

/*
 * Everything is open, and a thread waits in read, before the recorder comes (record -p): prints
 * "ready", then waits for the file "go".
 */
static int run_attached(void)
{
	int fd = open("before", O_RDWR | O_CREAT | O_TRUNC, 0600),
	    gone = open("gone", O_RDWR | O_CREAT, 0600), other;
	int append = open("appended", O_WRONLY | O_CREAT | O_APPEND, 0600), pipes[2],
	    sock = tcp_pair(&other);
	char text[64];
	pthread_t t;
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	CHECK(pipe(pipes) == 0 && write(fd, buf, 100) == 100 && write(append, buf, 20) == 20);
	unlink("gone");
	CHECK(pthread_create(&t, NULL, reads_before, pipes) == 0);
	CHECK(mkdir("folder", 0700) == 0 && chdir("folder") == 0);
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; access(dir("go"), F_OK) != 0 && i < 30000; i++)
		usleep(10000);
	MUST(write, fd, buf, 7);
	is_file("before");
	is_pos(100);
	is_inode(fd);
	MUST(pwrite64, gone, buf, 7, 5);
	is_pos(5);
	is_inode(gone);
	MUST(write, append, buf, 5);
	is_file("appended");
	is_pos(20);
	MUST(write, sock, buf, 12);
	MUST(getpeername, sock, &a, &len);
	snprintf(text, sizeof(text), "127.0.0.1:%d", ntohs(a.sin_port));
	is_remote(text);
	MUST(read, other, buf, 100);
	is_local(text);
	MUST(close, (int)MUST(openat, AT_FDCWD, "inner", O_RDWR | O_CREAT, 0600));
	is_file("folder/inner");
	FAILS(ENOENT, unlink, "none");
	is_file("folder/none");
	MUST(write, pipes[1], buf, 5);
	pthread_join(t, NULL);
	return 0;
}

const struct work_case share_cases[] = {
	{"append_two", run_append_two, "two processes append to one file"},
	{"share", run_share, "a position shared over fork and dup"},
	{"attached", run_attached,
	 "all is open before the recorder comes (prints \"ready\", waits for the file go)"},
	{"race", run_race, "two processes write through one open file at once"},
	{0},
};
