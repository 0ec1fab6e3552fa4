/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c: loads for the bench and the robustness tests: many calls, no facts but the last line,
 * which says how many calls were made, how long they took and what CPU time the calling thread
 * spent: load calls=1000000 wall_ns=... cpu_ns=... bytes=... WORK_CALLS, WORK_THREADS, WORK_SIZE
 * and WORK_SECONDS in the environment set the amount. With WORK_TURN=250 a line follows for every
 * 250 calls (turns.h).
 */
#include "truth.h"
#include "turns.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

static long setting(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text ? strtol(text, NULL, 0) : otherwise;
}

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

struct load {
	pthread_t thread;
	long calls, done, bytes;
	size_t size;
	int64_t wall_ns, cpu_ns;
	int number;
	struct turns turns;
	void (*work)(struct load *l);
};

static pthread_barrier_t start_line;

static void *load_thread(void *arg)
{
	struct load *l = arg;
	int64_t wall, cpu;

	turns_begin(&l->turns, setting("WORK_TURN", 0), l->calls, l->number);
	pthread_barrier_wait(&start_line);
	wall = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_THREAD_CPUTIME_ID);
	l->work(l);
	l->cpu_ns = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
	l->wall_ns = now(CLOCK_MONOTONIC) - wall;
	return NULL;
}

static int run_load(void (*work)(struct load *), long calls)
{
	static struct load loads[256];
	long count = setting("WORK_THREADS", 1), done = 0, bytes = 0;
	int64_t wall = 0, cpu = 0;

	if (count < 1 || count > 256)
		return 2;
	pthread_barrier_init(&start_line, NULL, (unsigned int)count);
	for (int i = 0; i < count; i++) {
		loads[i] = (struct load){.calls = setting("WORK_CALLS", calls),
					 .size = (size_t)setting("WORK_SIZE", 1),
					 .number = i,
					 .work = work};
		pthread_create(&loads[i].thread, NULL, load_thread, &loads[i]);
	}
	for (int i = 0; i < count; i++) {
		pthread_join(loads[i].thread, NULL);
		done += loads[i].done;
		bytes += loads[i].bytes;
		cpu += loads[i].cpu_ns;
		if (loads[i].wall_ns > wall)
			wall = loads[i].wall_ns;
	}
	printf("load calls=%ld wall_ns=%lld cpu_ns=%lld bytes=%ld\n", done, (long long)wall,
	       (long long)cpu, bytes);
	for (int i = 0; i < count; i++)
		turns_print(&loads[i].turns);
	return 0;
}

static void pread_work(struct load *l)
{
	char *data = aligned_alloc(4096, 1 << 20);
	int fd = open("data", O_RDONLY);

	for (long i = 0; i < l->calls; i++) {
		l->bytes += pread(fd, data, l->size, (i * 37 & 255) * 4096);
		turns_step(&l->turns, 1);
	}
	l->done = l->calls;
	close(fd);
	free(data);
}

static int run_pread(void)
{
	int fd = open("data", O_RDWR | O_CREAT, 0600);
	static char page[4096];

	for (int i = 0; i < 260; i++)
		if (write(fd, page, sizeof(page)) != sizeof(page))
			return 1;
	close(fd);
	return run_load(pread_work, 1000000);
}

/* Create, write, stat, rename, unlink: seven calls a round, each with a path or on a new file. */
static void meta_work(struct load *l)
{
	char one[64], two[64];
	struct stat st;

	for (long i = 0; i < l->calls / 7; i++) {
		int fd;

		snprintf(one, sizeof(one), "m%d-%ld", l->number, i % 100);
		snprintf(two, sizeof(two), "n%d-%ld", l->number, i % 100);
		fd = open(one, O_RDWR | O_CREAT, 0600);
		l->bytes += write(fd, one, 8);
		syscall(SYS_fstat, fd, &st);
		close(fd);
		stat(one, &st);
		rename(one, two);
		unlink(two);
		turns_step(&l->turns, 7);
	}
	l->done = l->calls / 7 * 7;
}

static int run_meta(void)
{
	return run_load(meta_work, 200000);
}

/* Files with names of their own, by relative paths, each created, renamed and removed; then waits at most
 * WORK_WAIT seconds for a file "end", so that what its recorder remembers can be looked at. */
static int run_names(void)
{
	long rounds = setting("WORK_CALLS", 100000) / 4;
	char one[64], two[64];

	for (long i = 0; i < rounds; i++) {
		snprintf(one, sizeof(one), "one-%ld", i);
		snprintf(two, sizeof(two), "two-%ld", i);
		if (close(open(one, O_RDWR | O_CREAT, 0600)) || rename(one, two) || unlink(two))
			return 1;
	}
	printf("load calls=%ld\n", rounds * 4);
	fflush(stdout);
	for (long i = 100 * setting("WORK_WAIT", 0); i > 0 && access("end", F_OK); i--)
		usleep(10000);
	return 0;
}

/* A call with a path argument, relative to the working directory. */
static void stat_work(struct load *l)
{
	struct stat st;

	for (long i = 0; i < l->calls; i++) {
		stat("data", &st);
		turns_step(&l->turns, 1);
	}
	l->done = l->calls;
}

static int run_stat(void)
{
	close(open("data", O_RDWR | O_CREAT, 0600));
	return run_load(stat_work, 1000000);
}

static void getppid_work(struct load *l)
{
	for (long i = 0; i < l->calls; i++)
		syscall(SYS_getppid);
	l->done = l->calls;
}

struct echo {
	int from, to;
};

static void *wake_echo(void *arg)
{
	const struct echo *e = arg;
	char byte;

	while (read(e->from, &byte, 1) == 1 && write(e->to, &byte, 1) == 1)
		;
	return NULL;
}

/* A byte to another thread on the same CPU and back: each of the two wakes the other once and is switched out once. */
static void wake_work(struct load *l)
{
	int there[2], back[2];
	struct echo e;
	pthread_t other;
	char byte = 0;

	if (pipe(there) || pipe(back))
		return;
	e = (struct echo){there[0], back[1]};
	pthread_create(&other, NULL, wake_echo, &e);
	for (long i = 0; i < l->calls; i += 2) {
		if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			break;
		turns_step(&l->turns, 2);
		l->done += 2;
	}
	close(there[1]);
	pthread_join(other, NULL);
	close(there[0]);
	close(back[0]);
	close(back[1]);
}

static int run_wake(void)
{
	return run_load(wake_work, 100000);
}

static int run_getppid(void)
{
	return run_load(getppid_work, 1000000);
}

/* Writes 8-byte numbers 0, 1, 2, ... for WORK_SECONDS, or until there is a file "end": what a trace of it must hold is
 * known whatever was cut. With WORK_PAUSE it sleeps that many microseconds after every 100. */
static int run_count(void)
{
	int fd = open("count", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int64_t stop = now(CLOCK_MONOTONIC) + setting("WORK_SECONDS", 2) * 1000000000ll;
	int64_t i = 0, cpu = now(CLOCK_THREAD_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
	long pause = setting("WORK_PAUSE", 0);

	for (; now(CLOCK_MONOTONIC) < stop && (i % 1000 || access("end", F_OK)); i++) {
		if (pwrite(fd, &i, sizeof(i), i * 8) != sizeof(i))
			return 1;
		if (pause && i % 100 == 99)
			usleep((useconds_t)pause);
	}
	printf("load calls=%lld wall_ns=%lld cpu_ns=%lld bytes=%lld\n", (long long)i,
	       (long long)(now(CLOCK_MONOTONIC) - wall),
	       (long long)(now(CLOCK_THREAD_CPUTIME_ID) - cpu), (long long)i * 8);
	return 0;
}

/* A program that notices when it is stopped: the longest gap between two calls. */
static int run_gap(void)
{
	int64_t stop = now(CLOCK_MONOTONIC) + setting("WORK_SECONDS", 2) * 1000000000ll,
		last = now(CLOCK_MONOTONIC), gap = 0;
	long calls = 0;

	for (int64_t t = last; t < stop; last = t) {
		syscall(SYS_getppid);
		calls++;
		t = now(CLOCK_MONOTONIC);
		if (t - last > gap)
			gap = t - last;
	}
	printf("load calls=%ld gap_ns=%lld\n", calls, (long long)gap);
	return 0;
}

/* WORK_CALLS children, WORK_THREADS of them at once, every tenth a child's child. Each writes its number at its place, so that
 * it is known which rows a trace of it must hold. */
static void leave_number(int fd, long number)
{
	int64_t n = number;

	if (number % 10 == 9) {
		pid_t pid = fork();

		if (pid)
			_exit(pid < 0 || waitpid(pid, NULL, 0) != pid);
	}
	_exit(pwrite(fd, &n, sizeof(n), n * 8) != sizeof(n));
}

static int run_forks(void)
{
	int fd = open("count", O_RDWR | O_CREAT | O_TRUNC, 0600), status;
	long count = setting("WORK_CALLS", 1000), at_once = setting("WORK_THREADS", 200);
	long begun = 0, running = 0, failed = 0;

	while (begun < count || running) {
		pid_t pid = begun < count && running < at_once ? fork() : -1;

		if (!pid)
			leave_number(fd, begun);
		if (pid > 0) {
			begun++;
			running++;
			continue;
		}
		if (wait(&status) < 0)
			return 1;
		running--;
		failed += status != 0;
	}
	printf("load calls=%ld failed=%ld\n", count, failed);
	return failed != 0;
}

/*
 * --cpu FILE CMD...: runs a command and writes what it cost by itself, whoever traces it:
 *   wall_ns user_ns system_ns maxrss_kib
 */
int load_cpu(const char *path, char **argv)
{
	int64_t wall = now(CLOCK_MONOTONIC);
	struct rusage used;
	int status;
	pid_t pid = fork();
	FILE *f;

	if (pid == 0) {
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	wall = now(CLOCK_MONOTONIC) - wall;
	f = fopen(path, "we");
	if (!f)
		return 1;
	fprintf(f, "%lld %lld %lld %ld\n", (long long)wall,
		used.ru_utime.tv_sec * 1000000000ll + used.ru_utime.tv_usec * 1000ll,
		used.ru_stime.tv_sec * 1000000000ll + used.ru_stime.tv_usec * 1000ll,
		used.ru_maxrss);
	fclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const struct work_case load_cases[] = {
	{"load_pread", run_pread, "load: pread of WORK_SIZE bytes from the page cache"},
	{"load_stat", run_stat, "load: stat of a path"},
	{"load_wake", run_wake, "load: a byte to another thread on the same CPU and back"},
	{"load_meta", run_meta, "load: create, write, stat, rename, unlink"},
	{"load_names", run_names, "load: create, rename, unlink, each file under names of its own"},
	{"load_getppid", run_getppid, "load: the shortest call"},
	{"load_count", run_count, "load: numbered writes for WORK_SECONDS"},
	{"load_forks", run_forks, "load: WORK_CALLS children, each of which writes its number"},
	{"load_sqpoll", run_sqpoll, "load: writes through an io_uring that the kernel polls"},
	{"load_gap", run_gap, "load: the longest pause between two calls"},
	{0},
};
