// SPDX-License-Identifier: Apache-2.0
/*
 * work.c: a program that prints which of its calls happened because of which. Calls are named TID:NAME:KEY=VALUE, unique in the
 * trace. Lines:
 *   edge VIA CALL CALL            one led to the other for certain
 *   true VIA CALL CALL            one led to the other, as content shows; order alone does not
 *   stream ID VIA out|in CALL N   the call moved the next N bytes of one end
 *   file write|read CALL POS N    in the order in which they happened
 *
 *   work all | server PORT | client PORT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINES  5000
#define ROUNDS 100

/* Shared by all processes. */
static struct shared {
	atomic_int lines, size, crowd, word[ROUNDS], turn, woke[ROUNDS];
	char text[LINES][96];
} *shared;

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(shared->text[atomic_fetch_add(&shared->lines, 1)], 96, fmt, ap);
	va_end(ap);
}

static long tid(void)
{
	return syscall(SYS_gettid);
}

/* A size that no other call has. */
static size_t fresh(void)
{
	return (size_t)atomic_fetch_add(&shared->size, 1);
}

static char data[1 << 16];

/* ---- streams ---- */

static void put(int id, const char *via, int fd, const char *name)
{
	size_t n = fresh();
	ssize_t r = name[0] == 's' ? send(fd, data, n, 0) : write(fd, data, n);

	say("stream %d %s out %ld:%s:bytes=%zd %zd", id, via, tid(), name, r, r);
}

/* Reads until the end. */
static void take(int id, const char *via, int fd, const char *name)
{
	for (;;) {
		size_t n = fresh();
		ssize_t r = !strcmp(name, "recvfrom") ? recv(fd, data, n, 0) : read(fd, data, n);

		if (r <= 0)
			return;
		say("stream %d %s in %ld:%s:size=%zu %zd", id, via, tid(), name, n, r);
	}
}

static void fork_and_wait(void)
{
	pid_t child = fork();

	if (!child) {
		getppid();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	say("edge fork %d:clone|fork|clone3|vfork:ret=%d %d:*:first=1", getpid(), child, child);
	say("edge join %d:*:last=1 %d:wait4:ret=%d", child, getpid(), child);
}

/* One writer, one reader, in a process each. */
static void one_stream(int id, const char *via, int out, int in, const char *put_name,
		       const char *take_name)
{
	pid_t child = fork();

	if (!child) {
		close(in);
		for (int i = 0; i < 40; i++) {
			put(id, via, out, put_name);
			if (i % 7 == 0)
				usleep(500);
		}
		_exit(0);
	}
	close(out);
	take(id, via, in, take_name);
	waitpid(child, NULL, 0);
	close(in);
}

static void streams(void)
{
	int p[2];

	if (pipe(p) == 0)
		one_stream(1, "pipe", p[1], p[0], "write", "read");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, p) == 0)
		one_stream(2, "stream", p[1], p[0], "sendto", "recvfrom");
}

/* A pipe from which one process takes bytes by reads and, in between, by vmsplice. */
static void spliced(void)
{
	int p[2];
	pid_t child;

	if (pipe(p))
		return;
	child = fork();
	if (!child) {
		for (int i = 0; i < 40; i++)
			put(1, "pipe", p[1], "write");
		_exit(0);
	}
	close(p[1]);
	for (int i = 0;; i++) {
		struct iovec v = {data, fresh()};
		ssize_t r = i % 2 ? vmsplice(p[0], &v, 1, 0) : read(p[0], data, v.iov_len);

		if (r <= 0)
			break;
		if (i % 2)
			say("stream 1 pipe in %ld:vmsplice:count=%d %zd", tid(), i / 2, r);
		else
			say("stream 1 pipe in %ld:read:size=%zu %zd", tid(), v.iov_len, r);
	}
	waitpid(child, NULL, 0);
	close(p[0]);
}

/* Three writers: the reader sees by what it gets whose bytes they are. */
struct record {
	int writer, size; /* of the whole write, which no other has */
	long rest;
};

static void write_records(int fd)
{
	for (int i = 0; i < 150; i++) {
		int n = 16 * (64 + atomic_fetch_add(&shared->crowd, 1));

		for (int k = 0; k < n; k += 16)
			memcpy(data + k, &(struct record){(int)tid(), n, 0}, 16);
		if (write(fd, data, (size_t)n) != n)
			_exit(1);
	}
	_exit(0);
}

static void crowd(void)
{
	int p[2];

	if (pipe(p))
		return;
	for (int w = 0; w < 3; w++) {
		if (!fork())
			write_records(p[1]);
	}
	close(p[1]);
	for (int turn = 0;; turn++) {
		struct iovec v = {data, (size_t)16 * (50 + (size_t)turn)};
		ssize_t r = readv(p[0], &v, 1);
		int before = 0;

		if (r <= 0)
			break;
		for (ssize_t k = 0; k < r; k += 16) {
			const struct record *c = (void *)(data + k);

			if (c->size != before)
				say("true pipe %d:write:bytes=%d %ld:readv:size=%zu", c->writer,
				    c->size, tid(), v.iov_len);
			before = c->size;
		}
	}
	close(p[0]);
	while (wait(NULL) > 0)
		;
}

/* ---- futexes ---- */

static long waits_tid;

static void *waker(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_load(&shared->turn) != i + 1)
			;
		usleep(300); /* it sleeps by now */
		atomic_store(&shared->word[i], 1);
		atomic_store(&shared->woke[i], (int)syscall(SYS_futex, &shared->word[i], FUTEX_WAKE,
							    1, NULL, NULL, 0));
	}
	return (void *)tid();
}

static void futexes(void)
{
	pthread_t t;
	void *by;
	bool slept[ROUNDS];

	pthread_create(&t, NULL, waker, NULL);
	waits_tid = tid();
	for (int i = 0; i < ROUNDS; i++) {
		atomic_store(&shared->turn, i + 1);
		slept[i] = !syscall(SYS_futex, &shared->word[i], FUTEX_WAIT, 0, NULL, NULL, 0);
	}
	pthread_join(t, &by);
	for (int i = 0; i < ROUNDS; i++) {
		if (slept[i] && shared->woke[i] == 1)
			say("edge futex %ld:futex:a0=%ld %ld:futex:a0=%ld", (long)by,
			    (long)&shared->word[i], waits_tid, (long)&shared->word[i]);
	}
}

/* ---- files ---- */

static void on_turn(int me, int all)
{
	while (atomic_load(&shared->turn) % all != me)
		usleep(50);
}

/* Three processes by turns, each of which writes and reads ranges of one file. */
static void files(void)
{
	int fd = open("ranges", O_RDWR | O_CREAT | O_TRUNC, 0600);

	atomic_store(&shared->turn, 0);
	for (int me = 0; me < 3; me++) {
		if (fork())
			continue;
		srandom((unsigned int)me + 1);
		for (int i = 0; i < 60; i++) {
			size_t n = fresh();
			long pos = random() % 30000;
			ssize_t r;

			on_turn(me, 3);
			r = pwrite(fd, data, n, pos);
			say("file write %ld:pwrite64:bytes=%zd %ld %zd", tid(), r, pos, r);
			n = fresh() + 5000;
			pos = random() % 30000;
			r = pread(fd, data, n, pos);
			say("file read %ld:pread64:size=%zu %ld %zd", tid(), n, pos, r);
			atomic_fetch_add(&shared->turn, 1);
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	close(fd);
}

static void locks(void)
{
	pid_t child[2];

	atomic_store(&shared->turn, 0);
	close(open("locked", O_CREAT | O_RDWR, 0600));
	for (int me = 0; me < 2; me++) {
		child[me] = fork();
		if (child[me])
			continue;
		int fd = open("locked", O_RDWR);

		for (int i = 0; i < 50; i++) {
			on_turn(me, 2);
			flock(fd, LOCK_EX);
			say("locked %ld %d", tid(), i);
			atomic_fetch_add(&shared->turn,
					 1); /* the other waits for the lock from now on */
			usleep(200);
			flock(fd, LOCK_UN);
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
}

/* A child opens the file that a call published. */
static void opened(const char *name, const char *call)
{
	pid_t child = fork();

	if (!child) {
		close(open(name, O_RDONLY));
		_exit(0);
	}
	waitpid(child, NULL, 0);
	say("edge publish %d:%s %d:openat:count=0", getpid(), call, child);
}

static void publishes(void)
{
	int fd = open("pub.tmp", O_CREAT | O_RDWR, 0600);
	char name[32];

	close(fd);
	rename("pub.tmp", "pub.done");
	opened("pub.done", "rename:count=0");
	link("pub.done", "pub.too");
	opened("pub.too", "link:count=0");
	close(open("pub.one", O_CREAT | O_RDWR, 0600));
	close(open("pub.two", O_CREAT | O_RDWR, 0600));
	renameat2(AT_FDCWD, "pub.one", AT_FDCWD, "pub.two", RENAME_EXCHANGE);
	opened("pub.one", "renameat2:count=0");
	opened("pub.two", "renameat2:count=0");
	fd = open(".", O_TMPFILE | O_RDWR, 0600);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	linkat(AT_FDCWD, name, AT_FDCWD, "pub.linked", AT_SYMLINK_FOLLOW);
	close(fd);
	opened("pub.linked", "linkat:count=0");
}

/* The same by msync() of the first page: the other write is not in it. */
static void mapped_sync(void)
{
	int fd = open("mapped", O_CREAT | O_RDWR, 0600);
	pid_t child;
	char *map;

	ftruncate(fd, 8192);
	map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	child = fork();
	if (!child)
		_exit(pwrite(fd, data, 100, 0) + pwrite(fd, data, 100, 4096) != 200);
	waitpid(child, NULL, 0);
	msync(map, 4096, MS_ASYNC);
	msync(map, 4096, MS_SYNC);
	munmap(map, 8192);
	close(fd);
	say("edge sync %d:pwrite64:count=0 %d:msync:count=1", child, getpid());
}

/* A process makes another one's writes durable. */
static void syncs(void)
{
	int fd = open("synced", O_CREAT | O_RDWR, 0600);
	pid_t child = fork();

	if (!child)
		_exit(pwrite(fd, data, 100, 0) != 100);
	waitpid(child, NULL, 0);
	fsync(fd);
	close(fd);
	say("edge sync %d:pwrite64:count=0 %d:fsync:count=0", child, getpid());
	mapped_sync();
}

static void execs(void)
{
	pid_t child = fork();

	if (!child) {
		execl("/proc/self/exe", "work", "nothing", NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	say("edge exec %d:execve:count=0 %d:brk:first=1", child, child);
}

static void on_signal(int number)
{
	(void)number;
}

static void signals(void)
{
	sigset_t one, none;
	pid_t child;

	sigemptyset(&none);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigprocmask(SIG_BLOCK, &one, NULL); /* until the child waits for it */
	child = fork();
	if (!child) {
		signal(SIGUSR1, on_signal);
		sigsuspend(&none);
		_exit(0);
	}
	/* it may not have made a call yet */
	kill(child, SIGUSR1);
	waitpid(child, NULL, 0);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	say("edge signal %d:kill:count=0 %d:rt_sigreturn:count=0", getpid(), child);
}

/* Requests of io_uring, each submitted by a call and waited for by another. */
static void requests(void)
{
	struct io_uring_params p = {0};
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p), fd;
	struct io_uring_sqe *s;
	char *r;

	if (ring < 0)
		return; /* the kernel refuses it to everyone */
	fd = open("requested", O_CREAT | O_RDWR, 0600);
	r = mmap(NULL, p.sq_off.array + 16, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		 IORING_OFF_SQ_RING);
	s = mmap(NULL, 4 * sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	for (unsigned int i = 0; i < 3; i++) {
		size_t n = fresh();

		s[i] = (struct io_uring_sqe){.opcode = IORING_OP_WRITE,
					     .fd = fd,
					     .addr = (uintptr_t)data,
					     .len = (unsigned int)n};
		((unsigned int *)(r + p.sq_off.array))[i] = i;
		atomic_store((atomic_uint *)(r + p.sq_off.tail), i + 1);
		syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0);
		syscall(SYS_io_uring_enter, ring, 0, i + 1, IORING_ENTER_GETEVENTS, NULL, 0);
		say("edge uring %ld:io_uring_enter:count=%u %ld:write:bytes=%zu", tid(), 2 * i,
		    tid(), n);
		say("edge uring %ld:write:bytes=%zu %ld:io_uring_enter:count=%u", tid(), n, tid(),
		    2 * i + 1);
	}
	close(fd);
	close(ring);
}

static int event;

static void *eventful(void *arg)
{
	uint64_t one = 1;

	(void)arg;
	usleep(1000);
	if (write(event, &one, 8) != 8)
		return NULL;
	say("edge eventfd %ld:write:count=0 %d:read:bytes=8", tid(), getpid());
	return NULL;
}

static void events(void)
{
	uint64_t n;
	pthread_t t;

	event = eventfd(0, 0);
	pthread_create(&t, NULL, eventful, NULL);
	if (read(event, &n, 8) != 8)
		exit(1);
	pthread_join(t, NULL);
}

/* ---- over TCP ---- */

static int tcp(int port, bool server)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1, c = s;

	if (server) {
		setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(s, (void *)&a, sizeof(a)) || listen(s, 5))
			exit(1);
		printf("ready\n");
		fflush(stdout);
		c = accept(s, NULL, NULL);
		say("tcp accept %ld:accept:count=0", tid());
	} else {
		/* as event loops do: begin, and ask for the result when the server has long accepted */
		fcntl(s, F_SETFL, O_NONBLOCK);
		connect(s, (void *)&a, sizeof(a));
		usleep(50000);
		if (connect(s, (void *)&a, sizeof(a)))
			exit(1);
		fcntl(s, F_SETFL, 0);
		say("tcp connect %ld:connect:first=0", tid());
	}
	for (int i = 0; i < 80; i++) {
		put(server ? 11 : 10, "stream", c, "sendto");
		if (i % 5 == 0)
			usleep(1000);
	}
	shutdown(c, SHUT_WR);
	take(server ? 10 : 11, "stream", c, "recvfrom");
	close(c);
	return 0;
}

int main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	atomic_store(&shared->size, argc > 1 && argv[1][0] == 's' ? 3001 : 1001);
	if (argc > 2) {
		tcp((int)strtol(argv[2], NULL, 10), argv[1][0] == 's');
	} else if (argc > 1 && argv[1][0] == 'v') {
		spliced();
	} else if (argc > 1 && argv[1][0] == 'a') {
		fork_and_wait();
		streams();
		crowd();
		futexes();
		files();
		locks();
		publishes();
		syncs();
		execs();
		signals();
		requests();
		events();
	}
	for (int i = 0; i < shared->lines; i++)
		printf("%s\n", shared->text[i]);
	return 0;
}
