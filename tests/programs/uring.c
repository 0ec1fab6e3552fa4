/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uring.c: requests of io_uring. A request is prepared with what a recorder must see of it; its fact is written when it has
 * completed, as it is only then that its result is known.
 */
#include "ring.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#define ENTRIES	   64
#define KIND	   1 /* io_uring */
#define BLOCK	   4096
#define NONE	   LONG_MIN
#define OWN_POS	   (~0ull)
#define NO_END	   (1 << 16) /* bits of op.status */
#define SHOT	   (1 << 17)
#define POLLED	   (1 << 18)
#define OVERFLOWED (1 << 20)

/* Since later headers. */
#ifndef IORING_SETUP_SINGLE_ISSUER
#	define IORING_SETUP_SINGLE_ISSUER (1u << 12)
#endif
#ifndef IORING_SETUP_DEFER_TASKRUN
#	define IORING_SETUP_DEFER_TASKRUN (1u << 13)
#endif

/* What is known of a request before it completes. */
struct expected {
	const char *op, *file;
	long fd, fd2, pos, size, flags;
	long status, not_status; /* bits that its row must have, and must not */
};

struct work {
	struct ring ring;
	struct expected all[1024];
	unsigned int count;
	long status; /* of every request */
};

static char buf[1 << 16];

static int work_open(struct work *w, unsigned int entries, unsigned int flags)
{
	int r;

	memset(w, 0, sizeof(*w));
	r = ring_open(&w->ring, entries, flags);
	if (r < 0)
		skip_reason = r == -EINVAL ? "this kernel has no such io_uring"
					   : "io_uring is not allowed here";
	return r < 0 ? 77 : 0;
}

/* Prepares a request. */
static struct io_uring_sqe *prepare(struct work *w, int opcode, struct expected e)
{
	struct io_uring_sqe *sqe = ring_sqe(&w->ring);

	e.status |= w->status;
	w->all[w->count] = e;
	sqe->opcode = (uint8_t)opcode;
	sqe->fd = (int)(e.fd2 != NONE && e.fd == NONE ? e.fd2 : e.fd);
	sqe->user_data = ++w->count; /* 0 stays for what has no fact */
	return sqe;
}

static void fact_of(const struct expected *e, long ret)
{
	fact_note(e->op, -1, 0, 0, 0, 0, 0, 0, 0, ret);
	is_any("kind", KIND);
	if (e->file)
		is_file(e->file);
	if (e->fd != NONE)
		is_any("fd", e->fd);
	if (e->fd2 != NONE || (!strcmp(e->op, "accept4") && ret >= 0))
		is_any("fd2", e->fd2 == NONE ? ret : e->fd2);
	if (e->pos != NONE)
		is_pos(e->pos);
	if (e->size != NONE)
		is_size(e->size);
	if (e->flags != NONE)
		is_flags(e->flags);
	if (e->status)
		is_any("bits", e->status);
	if (e->not_status)
		is_any("no_bits", e->not_status);
}

/* Takes a completion and writes its fact; the result. */
static int complete(struct work *w)
{
	struct completion cqe = ring_reap(&w->ring);

	if (!cqe.user_data || cqe.user_data > w->count)
		return cqe.res;
	fact_of(&w->all[cqe.user_data - 1], cqe.res);
	return cqe.res;
}

static void complete_all(struct work *w, unsigned int count)
{
	ring_submit(&w->ring, count);
	while (count--)
		complete(w);
}

static int one(struct work *w)
{
	ring_submit(&w->ring, 1);
	return complete(w);
}

#define EXPECT(...)         \
	((struct expected){ \
		.fd = NONE, .fd2 = NONE, .pos = NONE, .size = NONE, .flags = NONE, __VA_ARGS__})

static struct io_uring_sqe *prepare_rw(struct work *w, int opcode, struct expected e, void *data,
				       uint32_t len, uint64_t off)
{
	struct io_uring_sqe *sqe;

	if (e.size == NONE)
		e.size = len;
	if (e.pos == NONE && off != OWN_POS)
		e.pos = (long)off;
	sqe = prepare(w, opcode, e);
	sqe->addr = (uintptr_t)data;
	sqe->len = len;
	sqe->off = off;
	return sqe;
}

static int file_new(const char *name, int flags)
{
	int fd = open(dir(name), O_RDWR | O_CREAT | O_TRUNC | flags, 0600);

	for (int i = 0; i < 16 && fd >= 0; i++)
		pwrite(fd, buf, BLOCK, i * BLOCK);
	CHECK(fd >= 0);
	return fd;
}

/* Reads and writes of a file, in all ways. */
static void plain_file(struct work *w, int fd)
{
	struct iovec v[2] = {{buf, 100}, {buf + 100, 300}};

	prepare_rw(w, IORING_OP_READ, EXPECT(.op = "read", .file = "f", .fd = fd), buf, BLOCK,
		   8192);
	prepare_rw(w, IORING_OP_WRITE, EXPECT(.op = "write", .file = "f", .fd = fd), buf, 700, 300);
	complete_all(w, 2);
	prepare_rw(w, IORING_OP_READV, EXPECT(.op = "readv", .file = "f", .fd = fd, .size = 400), v,
		   2, 10);
	prepare_rw(w, IORING_OP_WRITEV, EXPECT(.op = "writev", .file = "f", .fd = fd, .size = 400),
		   v, 2, 5000);
	complete_all(w, 2);
	lseek(fd, 1000, SEEK_SET);
	prepare_rw(w, IORING_OP_READ, EXPECT(.op = "read", .file = "f", .fd = fd, .pos = 1000), buf,
		   50, OWN_POS);
	CHECK(one(w) == 50);
	prepare_rw(w, IORING_OP_READ, EXPECT(.op = "read", .file = "f", .fd = fd, .pos = 1050), buf,
		   50, OWN_POS);
	CHECK(one(w) == 50);
	prepare_rw(w, IORING_OP_READ, EXPECT(.op = "read", .file = "f", .fd = fd), buf, 50,
		   1 << 20);
	CHECK(one(w) == 0);
	prepare(w, IORING_OP_FSYNC, EXPECT(.op = "fsync", .file = "f", .fd = fd));
	CHECK(one(w) == 0);
	prepare(w, IORING_OP_FSYNC, EXPECT(.op = "fdatasync", .file = "f", .fd = fd))->fsync_flags =
		IORING_FSYNC_DATASYNC;
	CHECK(one(w) == 0);
}

static void plain_rest(struct work *w)
{
	struct io_uring_sqe *sqe;
	int fd = open(dir("log"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	prepare_rw(w, IORING_OP_WRITE, EXPECT(.op = "write", .file = "log", .fd = fd, .pos = 0),
		   buf, 30, 0);
	CHECK(one(w) == 30);
	prepare_rw(w, IORING_OP_WRITE, EXPECT(.op = "write", .file = "log", .fd = fd, .pos = 30),
		   buf, 12, 0);
	CHECK(one(w) == 12);
	sqe = prepare(w, IORING_OP_FALLOCATE,
		      EXPECT(.op = "fallocate", .flags = 0, .file = "log", .fd = fd, .pos = 4096,
			     .size = 8192));
	sqe->off = 4096;
	sqe->addr = 8192;
	one(w);
	sqe = prepare(w, IORING_OP_CLOSE, EXPECT(.op = "close", .file = "log", .fd = fd));
	sqe->off = 1; /* refused before it is a request */
	CHECK(one(w) == -EINVAL);
	prepare(w, IORING_OP_CLOSE, EXPECT(.op = "close", .file = "log", .fd = fd));
	CHECK(one(w) == 0);
	prepare(w, IORING_OP_NOP, EXPECT(.op = "uring_nop"));
	CHECK(one(w) == 0);
	prepare_rw(w, IORING_OP_READ, EXPECT(.op = "read", .fd = 888, .pos = NONE), buf, 1,
		   OWN_POS);
	CHECK(one(w) == -EBADF);
	prepare(w, 200, EXPECT(.op = "uring_other", .flags = 200));
	CHECK(one(w) == -EINVAL);
	sqe = prepare(w, IORING_OP_OPENAT, EXPECT(.op = "openat", .file = "f", .flags = O_RDONLY));
	sqe->fd = AT_FDCWD;
	sqe->addr = (uintptr_t)dir("f");
	w->all[w->count - 1].fd = dup(0);
	close((int)w->all[w->count - 1].fd); /* it gets the lowest descriptor that is free */
	fd = one(w);
	CHECK(fd >= 0);
	close(fd);
	sqe = prepare(w, IORING_OP_OPENAT, EXPECT(.op = "openat", .flags = O_RDONLY));
	sqe->fd = AT_FDCWD;
	sqe->addr = (uintptr_t) "/none/such";
	CHECK(one(w) == -ENOENT);
}

static int run_plain(void)
{
	struct work w;
	int fd, r = work_open(&w, ENTRIES, 0);

	if (r)
		return r;
	fd = file_new("f", 0);
	plain_file(&w, fd);
	plain_rest(&w);
	ring_close(&w.ring);
	return 0;
}

static int run_direct(void)
{
	static char aligned[BLOCK * 16] __attribute__((aligned(BLOCK)));
	struct work w;
	int fd, r = work_open(&w, ENTRIES, 0);

	if (r)
		return r;
	close(file_new("f", 0));
	fd = open(dir("f"), O_RDWR | O_DIRECT);
	if (fd < 0) {
		skip_reason = "this file system has no direct I/O";
		return 77;
	}
	for (unsigned int i = 0; i < 16; i++)
		prepare_rw(&w, i % 2 ? IORING_OP_WRITE : IORING_OP_READ,
			   EXPECT(.op = i % 2 ? "write" : "read", .file = "f", .fd = fd),
			   aligned + i * BLOCK, BLOCK, (uint64_t)(15 - i) * BLOCK);
	complete_all(&w, 16);
	return 0;
}

static int run_sockets(void)
{
	struct work w;
	struct msghdr m = {0};
	struct iovec v = {buf, 40};
	int pair[2], r = work_open(&w, ENTRIES, 0);

	if (r)
		return r;
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	m.msg_iov = &v;
	m.msg_iovlen = 1;
	prepare_rw(&w, IORING_OP_SEND,
		   EXPECT(.op = "sendto", .flags = 0, .fd = pair[0], .pos = NONE), buf, 100,
		   OWN_POS)
		->off = 0;
	CHECK(one(&w) == 100);
	prepare_rw(&w, IORING_OP_RECV,
		   EXPECT(.op = "recvfrom", .flags = 0, .fd = pair[1], .pos = NONE), buf, 60,
		   OWN_POS)
		->off = 0;
	CHECK(one(&w) == 60);
	prepare_rw(&w, IORING_OP_RECVMSG,
		   EXPECT(.op = "recvmsg", .flags = 0, .fd = pair[1], .size = 40), &m, 1, OWN_POS)
		->off = 0;
	CHECK(one(&w) == 40);
	prepare_rw(&w, IORING_OP_SENDMSG,
		   EXPECT(.op = "sendmsg", .flags = 0, .fd = pair[1], .size = 40), &m, 1, OWN_POS)
		->off = 0;
	CHECK(one(&w) == 40);
	prepare(&w, IORING_OP_POLL_ADD, EXPECT(.op = "poll", .fd = pair[0]))->poll_events = POLLIN;
	CHECK(one(&w) == POLLIN);
	prepare(&w, IORING_OP_SHUTDOWN, EXPECT(.op = "shutdown", .fd = pair[0]))->len = SHUT_WR;
	CHECK(one(&w) == 0);
	return 0;
}

/* Registered files and buffers. */
static int run_fixed(void)
{
	struct iovec v = {buf, sizeof(buf)};
	struct io_uring_sqe *sqe;
	struct work w;
	int fd, r = work_open(&w, ENTRIES, 0);

	if (r)
		return r;
	fd = file_new("f", 0);
	CHECK(!syscall(__NR_io_uring_register, w.ring.fd, IORING_REGISTER_FILES, &fd, 1));
	CHECK(!syscall(__NR_io_uring_register, w.ring.fd, IORING_REGISTER_BUFFERS, &v, 1));
	for (unsigned int i = 0; i < 8; i++) {
		sqe = prepare_rw(&w, i % 2 ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED,
				 EXPECT(.op = i % 2 ? "write" : "read", .file = "f"), buf, 512 + i,
				 i * 1000);
		sqe->fd = 0;
		sqe->flags = IOSQE_FIXED_FILE;
	}
	complete_all(&w, 8);
	return 0;
}

/* Handed to workers of the kernel at once. */
static int run_async(void)
{
	struct work w;
	int fd, r = work_open(&w, ENTRIES, 0);

	if (r)
		return r;
	fd = file_new("f", 0);
	for (unsigned int i = 0; i < 32; i++)
		prepare_rw(&w, i % 2 ? IORING_OP_WRITE : IORING_OP_READ,
			   EXPECT(.op = i % 2 ? "write" : "read", .file = "f", .fd = fd),
			   buf + i * 1000, 100 + i, i * 2000)
			->flags = IOSQE_ASYNC;
	complete_all(&w, 32);
	return 0;
}

static int run_link(void)
{
	struct work w;
	int fd, r = work_open(&w, ENTRIES, 0);

	if (r)
		return r;
	fd = file_new("f", 0);
	prepare_rw(&w, IORING_OP_WRITE, EXPECT(.op = "write", .file = "f", .fd = fd), buf, 10, 0)
		->flags = IOSQE_IO_LINK;
	prepare_rw(&w, IORING_OP_READ, EXPECT(.op = "read", .file = "f", .fd = fd), buf, 20, 0)
		->flags = IOSQE_IO_LINK;
	prepare(&w, IORING_OP_FSYNC, EXPECT(.op = "fsync", .file = "f", .fd = fd));
	complete_all(&w, 3);
	/* The first fails, the others are cancelled. */
	prepare_rw(&w, IORING_OP_READ, EXPECT(.op = "read", .fd = 777, .pos = 0), buf, 10, 0)
		->flags = IOSQE_IO_LINK;
	prepare_rw(&w, IORING_OP_READ, EXPECT(.op = "read", .fd = fd), buf, 20, 0)->flags =
		IOSQE_IO_LINK;
	prepare_rw(&w, IORING_OP_WRITE, EXPECT(.op = "write", .fd = fd), buf, 30, 0);
	complete_all(&w, 3);
	/* One of a chain is none. */
	prepare_rw(&w, IORING_OP_READ, EXPECT(.op = "read", .fd = fd), buf, 20, 0)->flags =
		IOSQE_IO_LINK;
	prepare(&w, 201, EXPECT(.op = "uring_other", .flags = 201));
	complete_all(&w, 2);
	return 0;
}

/* Waits that end by what comes, by time, or because they are not wanted any more. */
static int run_cancel(void)
{
	struct __kernel_timespec soon = {.tv_nsec = 1000000};
	struct io_uring_sqe *sqe;
	struct work w;
	int pipes[2], r = work_open(&w, ENTRIES, 0);
	unsigned int waiting;

	if (r)
		return r;
	CHECK(!pipe(pipes));
	prepare_rw(&w, IORING_OP_READ, EXPECT(.op = "read", .fd = pipes[0], .pos = NONE), buf, 10,
		   OWN_POS)
		->off = 0;
	w.all[w.count - 1].pos = NONE;
	waiting = w.count;
	CHECK(ring_submit(&w.ring, 0) == 1);
	prepare(&w, IORING_OP_ASYNC_CANCEL, EXPECT(.op = "uring_cancel"))->addr = waiting;
	complete_all(&w, 2);
	sqe = prepare(&w, IORING_OP_TIMEOUT, EXPECT(.op = "uring_timeout"));
	sqe->addr = (uintptr_t)&soon;
	sqe->len = 1;
	CHECK(one(&w) == -ETIME);
	/* A read with a limit. */
	prepare_rw(&w, IORING_OP_READ, EXPECT(.op = "read", .fd = pipes[0], .pos = NONE), buf, 10,
		   OWN_POS)
		->flags = IOSQE_IO_LINK;
	sqe = prepare(&w, IORING_OP_LINK_TIMEOUT, EXPECT(.op = "uring_link_timeout"));
	sqe->addr = (uintptr_t)&soon;
	sqe->len = 1;
	complete_all(&w, 2);
	return 0;
}

/* A poll and an accept that complete several times. */
static int run_multishot(void)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct io_uring_sqe *sqe;
	struct work w;
	int pipes[2], sock, r = work_open(&w, ENTRIES, 0);

	if (r)
		return r;
	CHECK(!pipe(pipes));
	sqe = prepare(&w, IORING_OP_POLL_ADD, EXPECT(.op = "poll", .fd = pipes[0], .status = SHOT));
	sqe->poll_events = POLLIN;
	sqe->len = IORING_POLL_ADD_MULTI;
	CHECK(ring_submit(&w.ring, 0) == 1);
	for (int i = 0; i < 5; i++) {
		CHECK(write(pipes[1], buf, 1) == 1);
		CHECK(complete(&w) == POLLIN);
		CHECK(read(pipes[0], buf, 1) == 1);
	}
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(name.sun_path, sizeof(name.sun_path), "s");
	CHECK(!bind(sock, (struct sockaddr *)&name, sizeof(name)) && !listen(sock, 10));
	sqe = prepare(&w, IORING_OP_ACCEPT,
		      EXPECT(.op = "accept4", .flags = 0, .fd = sock, .status = SHOT));
	sqe->ioprio = IORING_ACCEPT_MULTISHOT;
	CHECK(ring_submit(&w.ring, 0) == 1);
	for (int i = 0; i < 4; i++) {
		int to = socket(AF_UNIX, SOCK_STREAM, 0), got;

		CHECK(!connect(to, (struct sockaddr *)&name, sizeof(name)));
		got = complete(&w);
		CHECK(got >= 0);
	}
	/* Both end here: cancelled, with one more completion each. */
	prepare(&w, IORING_OP_ASYNC_CANCEL, EXPECT(.op = "uring_cancel"))->addr = 1;
	complete_all(&w, 2);
	prepare(&w, IORING_OP_ASYNC_CANCEL, EXPECT(.op = "uring_cancel"))->addr = 2;
	complete_all(&w, 2);
	return 0;
}

/* A completion queue that is too small. */
static int run_overflow(void)
{
	struct work w;
	int fd, r = work_open(&w, 8, 0);

	if (r)
		return r;
	fd = file_new("f", 0);
	for (unsigned int i = 0; i < 48; i++) {
		prepare_rw(&w, IORING_OP_READ,
			   EXPECT(.op = "read", .file = "f", .fd = fd,
				  .status = i < w.ring.p.cq_entries ? 0 : OVERFLOWED,
				  .not_status = i < w.ring.p.cq_entries ? OVERFLOWED : 0),
			   buf, 100 + i, i * 10);
		CHECK(ring_submit(&w.ring, 0) == 1);
	}
	for (int i = 0; i < 48; i++)
		complete(&w);
	return 0;
}

/* Requests that say nothing when they succeed. */
static int run_skip(void)
{
	struct work w;
	int fd, r = work_open(&w, ENTRIES, 0);

	if (r)
		return r;
	if (!(w.ring.p.features & IORING_FEAT_CQE_SKIP)) {
		skip_reason = "this kernel has no IOSQE_CQE_SKIP_SUCCESS";
		return 77;
	}
	fd = file_new("f", 0);
	for (unsigned int i = 0; i < 10; i++) {
		struct expected e = EXPECT(.op = "read", .fd = fd, .status = NO_END);

		prepare_rw(&w, IORING_OP_READ, e, buf, 10 + i, i * 100)->flags =
			IOSQE_CQE_SKIP_SUCCESS;
		e.size = 10 + i;
		e.pos = i * 100;
		fact_before("read", -1, 0, 0, 0, 0, 0, 0, 0);
		is_any("kind", KIND);
		is_any("fd", fd);
		is_pos(e.pos);
		is_size(e.size);
		is_any("bits", NO_END);
		CHECK(ring_submit(&w.ring, 0) == 1);
	}
	/* What fails says so. */
	prepare_rw(&w, IORING_OP_READ, EXPECT(.op = "read", .fd = 777), buf, 1, 0)->flags =
		IOSQE_CQE_SKIP_SUCCESS;
	CHECK(one(&w) == -EBADF);
	return 0;
}

struct thread {
	struct work w;
	pthread_t id;
	int fd, number;
};

static void *thread_run(void *arg)
{
	struct thread *t = arg;
	char data[1000];

	for (unsigned int i = 0; i < 50; i++) {
		prepare_rw(&t->w, i % 2 ? IORING_OP_WRITE : IORING_OP_READ,
			   EXPECT(.op = i % 2 ? "write" : "read", .file = "f", .fd = t->fd), data,
			   100 + i, (uint64_t)(t->number * 50 + (int)i) * 1000);
		if (i % 5 == 4)
			complete_all(&t->w, 5);
	}
	return NULL;
}

static int run_threads(void)
{
	static struct thread all[4];
	int fd = file_new("f", 0);

	for (int i = 0; i < 4; i++) {
		int r = work_open(&all[i].w, ENTRIES, 0);

		if (r)
			return r;
		all[i].fd = fd;
		all[i].number = i;
	}
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_create(&all[i].id, NULL, thread_run, &all[i]));
	for (int i = 0; i < 4; i++)
		pthread_join(all[i].id, NULL);
	return 0;
}

/* A thread of the kernel takes the requests from the ring. */
static int polled(unsigned int flags, long status)
{
	struct work w;
	int fd, r = work_open(&w, ENTRIES, IORING_SETUP_SQPOLL | flags);

	if (r)
		return r;
	w.status = status;
	fd = file_new("f", 0);
	for (unsigned int i = 0; i < 40; i++) {
		prepare_rw(&w, i % 2 ? IORING_OP_WRITE : IORING_OP_READ,
			   EXPECT(.op = i % 2 ? "write" : "read", .file = "f", .fd = fd,
				  .not_status = status ? 0 : POLLED),
			   buf, 100 + i, i * 1000);
		ring_offer(&w.ring);
		complete(&w);
	}
	return 0;
}

static int run_polled(void)
{
	return polled(0, POLLED);
}

static int run_single(void)
{
	return polled(IORING_SETUP_SINGLE_ISSUER, 0);
}

/* Completions are made where the program waits for them. */
static int run_deferred(void)
{
	struct work w;
	int fd, pipes[2],
		r = work_open(&w, ENTRIES, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);

	if (r)
		return r;
	fd = file_new("f", 0);
	CHECK(!pipe(pipes));
	plain_file(&w, fd);
	prepare_rw(&w, IORING_OP_READ, EXPECT(.op = "read", .fd = pipes[0], .pos = NONE), buf, 10,
		   OWN_POS);
	CHECK(ring_submit(&w.ring, 0) == 1);
	CHECK(write(pipes[1], buf, 7) == 7);
	CHECK(one(&w) == 7);
	return 0;
}

const struct work_case uring_cases[] = {
	{"uring_plain", run_plain, "io_uring: reads, writes, opens and what fails"},
	{"uring_direct", run_direct, "io_uring: direct reads and writes"},
	{"uring_sockets", run_sockets, "io_uring: sends, receives, poll"},
	{"uring_fixed", run_fixed, "io_uring: registered files and buffers"},
	{"uring_async", run_async, "io_uring: by workers of the kernel"},
	{"uring_link", run_link, "io_uring: chains, and chains that fail"},
	{"uring_cancel", run_cancel, "io_uring: waits that are cancelled or take too long"},
	{"uring_multishot", run_multishot, "io_uring: requests that complete several times"},
	{"uring_overflow", run_overflow, "io_uring: more completions than the ring has room for"},
	{"uring_skip", run_skip, "io_uring: requests that do not complete when they succeed"},
	{"uring_threads", run_threads, "io_uring: several threads"},
	{"uring_polled", run_polled,
	 "io_uring: a thread of the kernel takes requests from the ring"},
	{"uring_single", run_single, "io_uring: the same where one thread alone may submit"},
	{"uring_deferred", run_deferred, "io_uring: completions where the program waits"},
	{0}};
