/* SPDX-License-Identifier: Apache-2.0 */
/* aio.c: requests of libaio, by system calls alone. */
#include "truth.h"

#include <linux/aio_abi.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#define KIND   2 /* libaio */
#define DEPTH  64
#define BLOCK  4096
#define NO_END (1 << 16) /* bits of op.status */
#define REAPED (1 << 19)
#define NONE   (-1l)

static char buf[DEPTH][BLOCK] __attribute__((aligned(BLOCK)));
static const char *const names[] = {[IOCB_CMD_PREAD] = "pread64",  [IOCB_CMD_PWRITE] = "pwrite64",
				    [IOCB_CMD_FSYNC] = "fsync",	   [IOCB_CMD_FDSYNC] = "fdatasync",
				    [IOCB_CMD_POLL] = "poll",	   [IOCB_CMD_PREADV] = "preadv",
				    [IOCB_CMD_PWRITEV] = "pwritev"};

/* A request and what a recorder must see of it. */
struct request {
	struct iocb cb; /* aio_data: of this */
	long pos, size;
};

static struct request all[DEPTH];
static aio_context_t context;

static bool setup(void)
{
	context = 0;
	if (!syscall(SYS_io_setup, DEPTH, &context))
		return true;
	skip_reason = "libaio is not allowed here";
	return false;
}

static struct iocb *prepare(struct request *r, int command, int fd, void *data, long len, long pos)
{
	*r = (struct request){.cb = {.aio_data = (uintptr_t)r,
				     .aio_lio_opcode = (uint16_t)command,
				     .aio_fildes = (uint32_t)fd,
				     .aio_buf = (uintptr_t)data,
				     .aio_nbytes = (uint64_t)len,
				     .aio_offset = pos},
			      .pos = pos,
			      .size = len};
	return &r->cb;
}

static void submit(struct iocb **list, long count)
{
	CHECK(syscall(SYS_io_submit, context, count, list) == count);
}

static void fact_of(const struct request *r)
{
	is_any("kind", KIND);
	is_any("fd", r->cb.aio_fildes);
	if (r->pos != NONE)
		is_pos(r->pos);
	if (r->size != NONE)
		is_size(r->size);
}

/* Fetches results and writes their facts; how many. */
static long reap(long least, long most)
{
	struct io_event events[DEPTH];
	long n = syscall(SYS_io_getevents, context, least, most, events, NULL);

	CHECK(n >= least);
	for (long i = 0; i < n; i++) {
		const struct request *r = (void *)(uintptr_t)events[i].data;

		fact_note(names[r->cb.aio_lio_opcode], -1, 0, 0, 0, 0, 0, 0, 0, events[i].res);
		fact_of(r);
		if (r->pos != NONE)
			is_file("f");
		is_any("bits", REAPED);
	}
	return n;
}

static int file_new(void)
{
	int fd = open(dir("f"), O_RDWR | O_CREAT | O_TRUNC, 0600);

	for (int i = 0; i < DEPTH && fd >= 0; i++)
		pwrite(fd, buf, BLOCK, i * BLOCK);
	CHECK(fd >= 0);
	return fd;
}

static int run_plain(void)
{
	struct iovec v[2] = {{buf[0], 100}, {buf[1], 300}};
	struct iocb *list[8];
	int fd, pipes[2];

	if (!setup())
		return 77;
	fd = file_new();
	CHECK(!pipe(pipes));
	list[0] = prepare(&all[0], IOCB_CMD_PREAD, fd, buf[2], BLOCK, 8192);
	list[1] = prepare(&all[1], IOCB_CMD_PWRITE, fd, buf[3], 700, 300);
	list[2] = prepare(&all[2], IOCB_CMD_PREADV, fd, v, 2, 5000);
	all[2].size = 400;
	list[3] = prepare(&all[3], IOCB_CMD_PWRITEV, fd, v, 2, 9000);
	all[3].size = 400;
	list[4] = prepare(&all[4], IOCB_CMD_PREAD, fd, buf[4], 10, 1 << 20);
	submit(list, 5);
	reap(5, 5);
	list[0] = prepare(&all[0], IOCB_CMD_FSYNC, fd, NULL, 0, 0);
	list[1] = prepare(&all[1], IOCB_CMD_FDSYNC, fd, NULL, 0, 0);
	list[2] = prepare(&all[2], IOCB_CMD_POLL, pipes[1], (void *)POLLOUT, 0, 0);
	for (int i = 0; i < 3; i++)
		all[i].pos = all[i].size = NONE;
	submit(list, 3);
	reap(3, 3);
	/* The kernel takes the first; of the second nothing is submitted. */
	list[0] = prepare(&all[0], IOCB_CMD_PREAD, fd, buf[0], 10, 20);
	list[1] = prepare(&all[1], IOCB_CMD_PREAD, 777, buf[0], 10, 30);
	CHECK(syscall(SYS_io_submit, context, 2, list) == 1);
	reap(1, 1);
	CHECK(syscall(SYS_io_submit, context, 1, &list[1]) == -1 && errno == EBADF);
	syscall(SYS_io_destroy, context);
	return 0;
}

static atomic_long reaped;
#define ROUNDS 200

static void *reaper(void *tid)
{
	facts_tid((int)(intptr_t)tid); /* what it fetches was submitted there */
	while (atomic_load(&reaped) < ROUNDS) {
		struct timespec soon = {.tv_nsec = 1000000};
		struct io_event e;

		if (syscall(SYS_io_getevents, context, 1, 1, &e, &soon) == 1) {
			const struct request *r = (void *)(uintptr_t)e.data;

			fact_note("pread64", -1, 0, 0, 0, 0, 0, 0, 0, e.res);
			fact_of(r);
			is_file("f");
			is_any("bits", REAPED);
			atomic_fetch_add(&reaped, 1);
		}
	}
	return NULL;
}

/* One thread submits, two fetch the results. */
static int run_threads(void)
{
	static struct request requests[ROUNDS];
	pthread_t threads[2];
	int fd;

	if (!setup())
		return 77;
	fd = file_new();
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, reaper, (void *)(intptr_t)gettid()));
	for (int i = 0; i < ROUNDS; i++) {
		struct iocb *cb = prepare(&requests[i], IOCB_CMD_PREAD, fd, buf[i % DEPTH], 100 + i,
					  i * 1000);
		while (syscall(SYS_io_submit, context, 1, &cb) != 1)
			CHECK(errno == EAGAIN);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* The head of the memory that the kernel shares with a context. */
struct aio_ring {
	uint32_t id, nr, head, tail;
};

/* Fetches its results without a call, as QEMU and fio can: when they ended is not known. */
static int run_silent(void)
{
	struct aio_ring *ring;
	int fd;

	if (!setup())
		return 77;
	ring = (struct aio_ring *)(uintptr_t)context;
	fd = file_new();
	for (int i = 0; i < 20; i++) {
		struct iocb *cb =
			prepare(&all[i % 4], IOCB_CMD_PREAD, fd, buf[0], 100 + i, i * 1000);

		fact_before("pread64", -1, 0, 0, 0, 0, 0, 0, 0);
		fact_of(&all[i % 4]);
		is_file("f");
		is_any("bits", NO_END);
		submit(&cb, 1);
		while (*(volatile uint32_t *)&ring->tail == ring->head)
			;
		ring->head = (ring->head + 1) % ring->nr;
	}
	return 0;
}

const struct work_case aio_cases[] = {
	{"aio_plain", run_plain, "libaio: reads, writes, fsync, poll and what is refused"},
	{"aio_threads", run_threads, "libaio: two threads fetch results"},
	{"aio_silent", run_silent, "libaio: results that are fetched without a call"},
	{0}};
