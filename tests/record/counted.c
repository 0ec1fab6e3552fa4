/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counted SECONDS FOLDER: reads as fast as it can, one read of a pipe that lasts as long as the program, a file that is used at the
 * beginning and at the end only, and files that come and go; prints how many calls of each it made:
 *   pread64 N
 *   files N
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int fds[2];

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *wait_for_end(void *arg)
{
	char c;

	if (read(fds[0], &c, 1) != 1)
		exit(1);
	return arg;
}

int main(int argc, char **argv)
{
	double end = now() + (argc == 3 ? strtod(argv[1], NULL) : 0);
	long reads = 0, files = 0;
	pthread_t waiter;
	char buf[64] = {0};
	int fd, idle;

	if (argc != 3 || chdir(argv[2]) < 0 || pipe(fds) < 0)
		return 2;
	fd = open("data", O_RDWR | O_CREAT, 0600);
	idle = open("idle", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || idle < 0 || write(fd, buf, sizeof(buf)) < 0 || write(idle, buf, 10) != 10)
		return 1;
	if (pthread_create(&waiter, NULL, wait_for_end, NULL))
		return 1;
	while (now() < end) {
		char name[32];

		for (int i = 0; i < 1000; i++)
			reads += pread(fd, buf, (size_t)(i % 60), i % 32) >= 0;
		snprintf(name, sizeof(name), "file%ld", files++);
		close(open(name, O_RDWR | O_CREAT, 0600));
		unlink(name);
	}
	if (write(idle, buf, 11) != 11 || write(fds[1], buf, 1) != 1)
		return 1;
	pthread_join(waiter, NULL);
	printf("pread64 %ld\nfiles %ld\n", reads, files);
	return 0;
}
