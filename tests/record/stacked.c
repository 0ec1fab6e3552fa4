// SPDX-License-Identifier: Apache-2.0
/*
 * stacked: makes calls from known functions and prints which, by the C library's backtrace() and the program's own symbols.
 *
 *   stacked CASE    nested, threads, mapping, deep, sleep, jit
 *
 * A line for each call of pread64, which its position names: "POS main;alpha;beta;gamma". Built with frame pointers and without.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES_MAX 512
#define DEEP	   300

static int fd;
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

long gamma_call(long pos);
long beta_call(long pos);
long alpha_call(long pos);
long even_call(long pos);
long odd_call(long pos);
long deep_call(long pos, int left);
void *thread_main(void *arg);

/* The program's own functions on the stack, outermost first. */
static void print_truth(long pos)
{
	void *frames[FRAMES_MAX];
	int count = backtrace(frames, FRAMES_MAX);
	const char *before = "";

	pthread_mutex_lock(&printing);
	printf("%ld ", pos);
	for (int i = count; i-- > 1;) {
		Dl_info info;

		/* what libraries call is theirs, and this function is not on the way of the call */
		if (!dladdr((char *)frames[i] - 1, &info) || !info.dli_sname ||
		    strncmp(info.dli_sname, "_", 1) == 0 || !strstr(info.dli_fname, "stacked"))
			continue;
		printf("%s%s", before, info.dli_sname);
		before = ";";
	}
	putchar('\n');
	pthread_mutex_unlock(&printing);
}

__attribute__((noinline)) long gamma_call(long pos)
{
	char buf[16];
	volatile long r;

	print_truth(pos);
	r = pread(fd, buf, sizeof(buf), pos);
	return r + 1;
}

__attribute__((noinline)) long beta_call(long pos)
{
	volatile long r = gamma_call(pos);

	return r + 1;
}

__attribute__((noinline)) long alpha_call(long pos)
{
	volatile long r = beta_call(pos);

	return r + 1;
}

__attribute__((noinline)) long even_call(long pos)
{
	volatile long r = beta_call(pos);

	return r + 2;
}

__attribute__((noinline)) long odd_call(long pos)
{
	volatile long r = gamma_call(pos);

	return r + 3;
}

__attribute__((noinline)) long deep_call(long pos, int left)
{
	volatile long r = left ? deep_call(pos, left - 1) : gamma_call(pos);

	return r + 1;
}

__attribute__((noinline)) void *thread_main(void *arg)
{
	long pos = (long)arg;
	volatile long r = 0;

	for (int i = 0; i < 5; i++)
		r += pos % 2 ? odd_call(pos) : even_call(pos);
	return r > 0 ? NULL : arg;
}

static int case_threads(void)
{
	pthread_t all[8];

	for (long i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, thread_main, (void *)i);
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
	return 0;
}

static atomic_int mapping_state; /* 1: mappings change, 2: no more */

static void *change_mappings(void *arg)
{
	const size_t bytes = 32 << 20;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	for (mapping_state = 1; mapping_state == 1;) {
		mprotect(p, bytes, PROT_READ);
		mprotect(p, bytes, PROT_READ | PROT_WRITE);
	}
	return arg;
}

/* Calls while another thread holds the lock of the process's mappings almost all the time. */
static int case_mapping(void)
{
	pthread_t changer;

	if (pthread_create(&changer, NULL, change_mappings, NULL))
		return 1;
	while (!mapping_state)
		usleep(1000);
	for (long i = 0; i < 8; i++)
		thread_main((void *)i);
	mapping_state = 2;
	pthread_join(changer, NULL);
	return 0;
}

static void *write_later(void *arg)
{
	usleep(20000);
	return write(*(int *)arg, "x", 1) == 1 ? NULL : arg;
}

static int case_sleep(void)
{
	int ends[2];
	pthread_t writer;
	char c;

	if (pipe(ends) || pthread_create(&writer, NULL, write_later, &ends[1]))
		return 1;
	if (read(ends[0], &c, 1) != 1)
		return 1;
	pthread_join(writer, NULL);
	return 0;
}

/* A function that was made at run time, with a frame pointer, and calls the one it is given. */
static int case_jit(void)
{
#if defined(__x86_64__)
	static const unsigned char code[] = {
		0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8,  /* push; mov; mov %rdi,%rax */
		0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3}; /* mov %rsi,%rdi; call; pop; ret */
	unsigned char *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long (*jitted)(long (*)(long), long);
	char path[64];
	FILE *map;

	memcpy(page, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "we");
	if (!map)
		return 1;
	fprintf(map, "%lx %zx made_at_run_time\n", (unsigned long)page, sizeof(code));
	fclose(map);
	*(void **)&jitted = page;
	return jitted(gamma_call, 7) < 0;
#else
	return 0;
#endif
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "nested";

	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (!strcmp(name, "threads"))
		return case_threads();
	if (!strcmp(name, "mapping"))
		return case_mapping();
	if (!strcmp(name, "sleep"))
		return case_sleep();
	if (!strcmp(name, "jit"))
		return case_jit();
	if (!strcmp(name, "deep"))
		return deep_call(1, DEEP) < 0;
	for (long i = 0; i < 3; i++)
		alpha_call(i);
	return open("/no/such/file", O_RDONLY | O_CLOEXEC) >= 0;
}
