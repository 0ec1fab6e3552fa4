/* SPDX-License-Identifier: Apache-2.0 */
/*
 * carriers.c: a program that publishes OpenTelemetry's two records, and prints which of its calls carried which context.
 *
 *   carriers FILE PLACE [THREADS CALLS]
 *
 * PLACE: "own", a variable of the program, or the path of a library that has one. Each thread reads FILE, a call at a
 * position of its own, and prints "tid pos trace span" or "tid pos - -". Half of the threads swap the pointer to their record,
 * the others have a fixed one whose `valid` they take back while they write. With a third word the program does something
 * else: see `modes`.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_ \
	100 /* bytes of a line that is printed; rooms hold more lines than a mode has calls */

#ifndef PR_SET_VMA
#	define PR_SET_VMA 0x53564d41
#endif

struct record {
	uint8_t trace[16], span[8];
	uint8_t valid, flags;
	uint16_t attributes;
};

struct header {
	char signature[8];
	uint32_t version, size;
	uint64_t published_at, payload;
};

__attribute__((visibility("default"))) __thread struct record *volatile otel_thread_ctx_v1;

static struct record *volatile *own_variable(void)
{
	return &otel_thread_ctx_v1;
}

static struct record *volatile *(*variable)(void) = own_variable;
static int file;
static unsigned long calls = 1500;
static struct header *header;
static uint8_t payload[512];
static const char *name = "OTEL_CTX";

/* ---- the process context ---- */

static size_t put_bytes(uint8_t *to, int number, const void *data, size_t len)
{
	to[0] = (uint8_t)(number << 3 | 2);
	to[1] = (uint8_t)len;
	memcpy(to + 2, data, len);
	return len + 2;
}

static size_t put_attribute(uint8_t *to, int number, const char *key, const char *value)
{
	uint8_t any[100], pair[120];
	size_t n = put_bytes(any, 1, value, strlen(value)), m;

	m = put_bytes(pair, 1, key, strlen(key));
	m += put_bytes(pair + m, 2, any, n);
	return put_bytes(to, number, pair, m);
}

static void announce(void)
{
	prctl(PR_SET_VMA, 0, header, 4096, name);
}

/* Contexts are read from when the recorder has found the variable, which it does in its own time. */
static void be_found(void)
{
	const char *ms = getenv("CARRIERS_WAIT");

	usleep(ms ? 1000 * (unsigned int)strtoul(ms, NULL, 10) : 0);
}

static void publish(const char *schema)
{
	uint8_t resource[120];
	size_t n = put_attribute(resource, 1, "service.name", "carriers"), len;
	int fd;

	len = put_bytes(payload, 1, resource, n);
	if (schema)
		len += put_attribute(payload + len, 2, "threadlocal.schema_version", schema);
	fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 4096))
		_exit(7);
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	*header = (struct header){.version = 2,
				  .size = (uint32_t)len,
				  .published_at = 1,
				  .payload = (uintptr_t)payload};
	memcpy(header->signature, "OTEL_CTX", 8);
	madvise(header, 4096, MADV_DONTFORK);
	announce();
	be_found();
}

/* ---- threads ---- */

static void hex(char *to, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		snprintf(to + 2 * i, 3, "%02x", data[i]);
}

static void fill(struct record *r, uint32_t tid, unsigned long i)
{
	memset(r->trace, 0xa0, sizeof(r->trace));
	memcpy(r->trace, &tid, sizeof(tid));
	memset(r->span, 0, sizeof(r->span));
	memcpy(r->span, &tid, sizeof(tid));
	r->span[7] = (uint8_t)(i + 1);
	r->span[6] = (uint8_t)((i + 1) >> 8);
	r->span[5] = 1;
}

static void set(struct record pair[2], uint32_t tid, unsigned long i, int swap)
{
	struct record *r = swap ? &pair[i & 1] : &pair[0];

	r->valid = 0;
	atomic_signal_fence(memory_order_seq_cst);
	fill(r, tid, i);
	atomic_signal_fence(memory_order_seq_cst);
	r->valid = 1;
	atomic_signal_fence(memory_order_seq_cst);
	*variable() = r;
}

static void clear(struct record pair[2], int swap)
{
	if (swap)
		*variable() = NULL;
	else
		pair[0].valid = 0;
}

static void call(char *out, size_t *len, uint32_t tid, unsigned long pos, const struct record *r)
{
	char trace[33] = "-", span[17] = "-", byte;

	if (r) {
		hex(trace, r->trace, 16);
		hex(span, r->span, 8);
	}
	if (pread(file, &byte, 1, (off_t)pos) != 1)
		_exit(3);
	*len += (size_t)snprintf(out + *len, LINE_MAX_, "%u %lu %s %s\n", tid, pos, trace, span);
}

static void *carrier(void *arg)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct record *pair = calloc(2, sizeof(*pair));
	int swap = (int)(intptr_t)arg & 1;
	char *out = malloc(calls * LINE_MAX_);
	size_t len = 0;

	for (unsigned long i = 0; i < calls; i++) {
		if (i % 5 == 4) { /* two that carry the same, and one that carries none */
			call(out, &len, tid, i, *variable());
			continue;
		}
		if (i % 5 == 2)
			clear(pair, swap);
		else
			set(pair, tid, i, swap);
		call(out, &len, tid, i, i % 5 == 2 ? NULL : *variable());
	}
	if (fwrite(out, 1, len, stdout) != len)
		_exit(4);
	*variable() = NULL;
	free(pair);
	free(out);
	return NULL;
}

static void threads(unsigned long count)
{
	pthread_t all[64];

	for (unsigned long i = 0; i < count && i < 64; i++)
		pthread_create(&all[i], NULL, carrier, (void *)(intptr_t)i);
	for (unsigned long i = 0; i < count && i < 64; i++)
		pthread_join(all[i], NULL);
}

/* ---- other modes ---- */

/* A loop that waits with the context of what it put aside. */
static void mode_loop(void)
{
	static struct record pair[2];
	struct epoll_event e = {.events = EPOLLIN};
	int ends[2], epoll = epoll_create1(0);
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	char out[4000];
	size_t len = 0;

	publish("tlsdesc_v1_dev");
	if (pipe(ends) || write(ends[1], "x", 1) != 1 ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &e))
		_exit(5);
	for (unsigned long i = 0; i < 10; i++) {
		set(pair, tid, i, 1);
		call(out, &len, tid, i, *variable());
		epoll_wait(epoll, &e, 1, 0);
		call(out, &len, tid, 100 + i, *variable());
	}
	fwrite(out, 1, len, stdout);
}

/* A thread that waits for one descriptor alone runs no loop. */
static void mode_one(void)
{
	static struct record pair[2];
	struct pollfd p = {.fd = 0, .events = POLLIN};
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	char out[4000];
	size_t len = 0;

	publish("tlsdesc_v1_dev");
	for (unsigned long i = 0; i < 10; i++) {
		set(pair, tid, i, 1);
		call(out, &len, tid, i, *variable());
		poll(&p, 1, 0);
	}
	fwrite(out, 1, len, stdout);
}

/* A child has its parent's record, and is not known to publish; a thread that lives to the end. */
static void mode_fork(void)
{
	static struct record pair[2];
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	char out[1000];
	size_t len = 0;

	publish("tls_v1");
	set(pair, tid, 0, 0);
	call(out, &len, tid, 0, *variable());
	if (!fork()) {
		len = 0;
		tid = (uint32_t)syscall(SYS_gettid);
		call(out, &len, tid, 1, NULL);
		fwrite(out, 1, len, stdout);
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	prctl(PR_SET_NAME, "renamed");
	call(out, &len, tid, 2, *variable());
	fwrite(out, 1, len, stdout);
}

/* A child that publishes: first what its parent left it, which may be another's request, then a context of its own. */
static void mode_heir(void)
{
	static struct record pair[2];
	char out[1000];
	size_t len = 0;
	uint32_t tid;

	publish("tls_v1");
	set(pair, (uint32_t)getpid(), 0, 0);
	call(out, &len, (uint32_t)getpid(), 0, *variable());
	fwrite(out, 1, len, stdout);
	fflush(stdout);
	if (fork()) {
		wait(NULL);
		return;
	}
	publish("tls_v1");
	tid = (uint32_t)getpid();
	len = 0;
	call(out, &len, tid, 100, *variable());
	set(pair, tid, 1, 1);
	call(out, &len, tid, 1, *variable());
	fwrite(out, 1, len, stdout);
}

/* A name that is in no memory yet, of a call that does not read it where the kernel refuses it. */
static void mode_cold(void)
{
	int fd = memfd_create("name", MFD_CLOEXEC);

	if (write(fd, name, 9) != 9)
		_exit(8);
	name = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	publish("tls_v1");
	threads(1);
}

/* The program that execve starts announces nothing: its argument says which file to read. */
static void mode_exec(const char *self, const char *path)
{
	static struct record pair[2];
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	char out[1000];
	size_t len = 0;

	publish("tlsdesc_v1_dev");
	set(pair, tid, 0, 0);
	call(out, &len, tid, 0, *variable());
	fwrite(out, 1, len, stdout);
	fflush(stdout);
	execl(self, self, path, "own", "after", NULL);
}

static void mode_after(void)
{
	static struct record pair[2];
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	char out[1000];
	size_t len = 0;

	set(pair, tid, 1, 0);
	call(out, &len, tid, 1, NULL);
	fwrite(out, 1, len, stdout);
}

/* Memory that cannot be what it says; calls go on, and none has a context. */
static void mode_hostile(void)
{
	struct record *volatile *v = variable();
	uint32_t tid = (uint32_t)syscall(SYS_gettid), seed = 4711;
	uint64_t page = (uintptr_t)mmap(NULL, 8192, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char out[40000];
	size_t len = 0;

	publish("tlsdesc_v1_dev");
	munmap((void *)(page + 4096), 4096);
	memset((void *)page, 0xff, 4096);
	/* not readable, of the kernel, across the end of a page, no record, ids of 0 */
	for (unsigned long i = 0; i < 6; i++) {
		static struct record zero = {.valid = 1};
		const uintptr_t bad[] = {8,    0xffffffff81000000, page + 4096 - 10,
					 page, (uintptr_t)&zero,   0x8000000000000000};

		*v = (void *)bad[i];
		call(out, &len, tid, i, NULL);
	}
	*v = NULL;
	for (unsigned long i = 6; i < 300; i++) { /* and a process context of noise */
		if (i % 10 == 6) {
			for (size_t k = 0; k < sizeof(payload); k++)
				payload[k] = (uint8_t)((seed = seed * 1103515245 + 12345) >> 16);
			header->size = i % 20 == 6 ? sizeof(payload) : seed;
			header->payload = i % 40 == 6 ? seed : (uintptr_t)payload;
			header->published_at = i;
			header->version = i % 50 == 6 ? 77 : 2;
			announce();
			usleep(20000);
		}
		call(out, &len, tid, i, NULL);
	}
	prctl(PR_SET_VMA, 0, page + 4090, ~0ul, "OTEL_CTX");
	prctl(PR_SET_VMA, 0, 8, 0, "OTEL_CTX");
	prctl(PR_SET_VMA, 0, 0xffffffff81000000, 4096, "OTEL_CTX");
	prctl(PR_SET_VMA, 0, header, 4096, 8);
	prctl(PR_SET_VMA, 0, header, 4096, page + 4093);
	fwrite(out, 1, len, stdout);
}

/* It was there before the recorder: waits for a line on standard input. */
static void mode_older(void)
{
	char line[10];

	publish("tls_v1");
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		_exit(6);
	be_found(); /* it is seen by the call that ended */
	threads(2);
}

/* How long a call takes, by the clock of the thread's CPU: with contexts that stay as they are, then without. */
static void mode_cost(const char *what)
{
	static struct record pair[2];
	struct timespec a, b;
	char byte;

	if (!strcmp(what, "published")) {
		publish("tls_v1");
		set(pair, 1, 1, 0);
	}
	for (int round = 0; round < 5; round++) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
		for (int i = 0; i < 200000; i++)
			(void)!pread(file, &byte, 1, 0);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
		printf("%.1f\n",
		       ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) /
			       200000);
	}
}

static void mode(const char *what, const char *self, const char *path)
{
	if (!strcmp(what, "loop"))
		mode_loop();
	else if (!strcmp(what, "one"))
		mode_one();
	else if (!strcmp(what, "fork"))
		mode_fork();
	else if (!strcmp(what, "heir"))
		mode_heir();
	else if (!strcmp(what, "cold"))
		mode_cold();
	else if (!strcmp(what, "exec"))
		mode_exec(self, path);
	else if (!strcmp(what, "after"))
		mode_after();
	else if (!strcmp(what, "hostile"))
		mode_hostile();
	else if (!strcmp(what, "older"))
		mode_older();
	else
		mode_cost(what);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	file = open(argv[1], O_RDONLY);
	if (strcmp(argv[2], "own") != 0) {
		void *library = dlopen(argv[2], RTLD_NOW);

		variable = library ? (struct record *volatile * (*)(void))
					     dlsym(library, "carriers_variable")
				   : NULL;
		if (!variable) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
	}
	if (argc > 3 && (argv[3][0] < '0' || argv[3][0] > '9')) {
		mode(argv[3], argv[0], argv[1]);
		return 0;
	}
	if (argc > 4)
		calls = strtoul(argv[4], NULL, 10);
	publish("tlsdesc_v1_dev");
	threads(argc > 3 ? strtoul(argv[3], NULL, 10) : 3);
	return 0;
}
