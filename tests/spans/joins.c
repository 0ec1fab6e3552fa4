// SPDX-License-Identifier: Apache-2.0
/*
 * joins.c FILE: a program whose threads and processes wait for one another and give each other work, and that prints its own truth.
 * Each call that counts is a pread() of one byte at a position of its own. Lines: "span NUMBER PARENT NAME TID START STOP", times
 * of CLOCK_REALTIME; "call POSITION NUMBER VIA", with - for none, and several where a call belongs to several spans; "path NUMBER
 * POSITION": the call is on the span's critical path.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "span_clock.h"

static int file;
static struct shared { /* between processes */
	atomic_int positions, numbers;
} *all;

static struct mark begin(const char *name, int parent)
{
	struct mark m = {atomic_fetch_add(&all->numbers, 1) + 1, parent, name, apart()};

	return m;
}

static int tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* One write() a line, also from children. */
#define SAY(...) dprintf(1, __VA_ARGS__)

static void end(const struct mark *m)
{
	long long stop = apart();

	SAY("span %d %d %s %d %lld %lld\n", m->number, m->parent, m->name, tid(), m->start, stop);
}

static int call(int number, const char *via)
{
	char c;
	int at = atomic_fetch_add(&all->positions, 1);

	SAY("call %d %d %s\n", at, number, via);
	if (pread(file, &c, 1, at) < 0)
		exit(3);
	return at;
}

/* Until a thread sleeps in a system call, which it was about to enter. */
static void until_asleep(int of_pid, int of)
{
	char path[64], text[256];
	int asleep = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", of_pid, of);
	while (asleep < 3) {
		FILE *f = fopen(path, "r");
		char state = 0;

		if (!f || !fgets(text, sizeof(text), f) ||
		    sscanf(text, "%*d (%*[^)]) %c", &state) != 1)
			exit(5);
		fclose(f);
		asleep = state == 'S' ? asleep + 1 : 0;
		usleep(1000);
	}
}

static void start(pthread_t *t, void *(*run)(void *), void *arg)
{
	if (pthread_create(t, NULL, run, arg))
		exit(6);
}

struct job {
	int of, number; /* thread that waits, its span */
	int in, out;
	pthread_mutex_t lock;
	atomic_int ready, go;
};

static void until(atomic_int *what)
{
	while (!atomic_load(what))
		usleep(500);
}

/* ---- a lock that another thread holds; it has a span of its own once ---- */

static void *holder(void *arg)
{
	struct job *j = arg;
	struct mark m = {0};

	if (j->in)
		m = begin("holder", 0);
	pthread_mutex_lock(&j->lock);
	call(m.number, m.number ? "thread" : "-");
	atomic_store(&j->ready, 1);
	until(&j->go);
	until_asleep(getpid(), j->of);
	for (int i = 0; i < 3; i++) {
		int at = call(j->number, "wait");

		if (m.number)
			SAY("call %d %d thread\n", at, m.number);
		SAY("path %d %d\n", j->number, at);
	}
	apart();
	pthread_mutex_unlock(&j->lock);
	apart();
	call(m.number, m.number ? "thread" : "-");
	if (m.number)
		end(&m);
	return NULL;
}

static void locks(int own)
{
	struct job j = {.of = tid(), .in = own, .lock = PTHREAD_MUTEX_INITIALIZER};
	struct mark m;
	pthread_t t;

	start(&t, holder, &j);
	until(&j.ready);
	m = begin("locked", 0);
	j.number = m.number;
	SAY("path %d %d\n", m.number, call(m.number, "thread"));
	atomic_store(&j.go, 1);
	pthread_mutex_lock(&j.lock);
	SAY("path %d %d\n", m.number, call(m.number, "thread"));
	end(&m);
	pthread_mutex_unlock(&j.lock);
	pthread_join(t, NULL);
}

/* ---- a pipe, and a thread behind its writer ---- */

static void *second(void *arg)
{
	struct job *j = arg;

	until_asleep(getpid(), j->of);
	SAY("path %d %d\n", j->number, call(j->number, "wait"));
	apart();
	if (write(j->out, "x", 1) != 1)
		exit(7);
	apart();
	call(0, "-");
	return NULL;
}

static void *first(void *arg)
{
	struct job *j = arg, k = {.number = j->number, .of = tid()};
	int ends[2];
	pthread_t t;
	char c;

	until_asleep(getpid(), j->of);
	SAY("path %d %d\n", j->number, call(j->number, "wait"));
	if (pipe(ends) < 0)
		exit(8);
	k.out = ends[1];
	start(&t, second, &k);
	if (read(ends[0], &c, 1) != 1)
		exit(9);
	SAY("path %d %d\n", j->number, call(j->number, "wait"));
	apart();
	if (write(j->out, "x", 1) != 1)
		exit(7);
	apart();
	call(0, "-");
	pthread_join(t, NULL);
	return NULL;
}

static void pipes(void)
{
	struct job j = {.of = tid()};
	int ends[2];
	struct mark m;
	pthread_t t;
	char c;

	if (pipe(ends) < 0)
		exit(8);
	m = begin("piped", 0);
	j.number = m.number;
	j.out = ends[1];
	start(&t, first, &j);
	if (read(ends[0], &c, 1) != 1)
		exit(9);
	SAY("path %d %d\n", m.number, call(m.number, "thread"));
	end(&m);
	pthread_join(t, NULL);
}

/* ---- a child, and a thread that is joined ---- */

static void *joined(void *arg)
{
	struct job *j = arg;

	until_asleep(getpid(), j->of);
	SAY("path %d %d\n", j->number, call(j->number, "wait"));
	return NULL;
}

static void children(void)
{
	int parent = getpid(), self = tid();
	struct mark m = begin("forking", 0);
	struct job j = {.of = self, .number = m.number};
	pid_t child = fork();
	pthread_t t;
	int status;

	if (!child) {
		until_asleep(parent, self);
		for (int i = 0; i < 2; i++)
			SAY("path %d %d\n", m.number, call(m.number, "wait"));
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		exit(10);
	start(&t, joined, &j);
	pthread_join(t, NULL);
	SAY("path %d %d\n", m.number, call(m.number, "thread"));
	end(&m);
}

/* ---- a pool behind a pipe or an eventfd: jobs of spans and of none, also several in the queue ---- */

static atomic_int done;

static void *pool_worker(void *arg)
{
	struct job *j = arg;
	long long number;

	atomic_store(&j->ready, tid());
	for (;;) {
		until(&j->go);
		if (read(j->in, &number, sizeof(number)) != sizeof(number))
			exit(9);
		number--;
		if (number > 1000)
			return NULL;
		for (int i = 0; i < 2; i++)
			call((int)number, number ? "work" : "-");
		apart();
		atomic_fetch_add(&done, 1);
	}
}

static void give(int to, int number)
{
	long long what = number + 1;

	if (write(to, &what, sizeof(what)) != sizeof(what))
		exit(7);
}

static void until_done(int count)
{
	while (atomic_load(&done) < count)
		usleep(500);
}

static void pool(int event)
{
	struct job j = {0};
	int ends[2], count = 0;
	pthread_t t;

	atomic_store(&done, 0);
	ends[0] = ends[1] = event ? eventfd(0, 0) : -1;
	if (!event && pipe(ends) < 0)
		exit(8);
	j.in = ends[0];
	atomic_store(&j.go, 1);
	start(&t, pool_worker, &j);
	until(&j.ready);
	for (int i = 0; i < 3; i++) {
		struct mark m = begin(event ? "evented" : "queued", 0);

		give(ends[1], m.number);
		until_done(++count);
		end(&m);
		give(ends[1], 0);
		until_done(++count);
	}
	if (!event) { /* the worker sleeps no more: it finds the next one there */
		until_asleep(getpid(), j.ready);
		atomic_store(&j.go, 0);
		give(ends[1], 0); /* it waits in read() for this one */
		until_done(++count);
		usleep(5000);
		for (int i = 0; i < 3; i++) {
			struct mark m = begin("heaped", 0);

			give(ends[1], m.number);
			end(&m);
			give(ends[1], 0);
			count += 2;
		}
		atomic_store(&j.go, 1);
		until_done(count);
	}
	give(ends[1], 10000);
	pthread_join(t, NULL);
	close(ends[0]);
}

/* ---- a pool whose queue is memory: a busy worker takes the next job without a wait; and a lock that waits as a queue does ---- */

static struct turn { /* as CPython's global lock */
	pthread_mutex_t lock;
	pthread_cond_t freed;
	bool taken;
	int last; /* who had it: the other one is next */
} turn = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0};

static void turn_take(void)
{
	pthread_mutex_lock(&turn.lock);
	while (turn.taken || turn.last == tid()) {
		struct timespec t;

		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_sec += 10;
		pthread_cond_timedwait(&turn.freed, &turn.lock, &t);
	}
	turn.taken = true;
	turn.last = tid();
	pthread_mutex_unlock(&turn.lock);
}

/* Once the other one waits for it. */
static void turn_drop(int waiting)
{
	until_asleep(getpid(), waiting);
	pthread_mutex_lock(&turn.lock);
	turn.taken = false;
	pthread_cond_signal(&turn.freed);
	pthread_mutex_unlock(&turn.lock);
}

enum { TURNS = 5 };

struct memory_job {
	struct memory_job *next;
	atomic_int of;
	int number;
	bool done, turns;
	pthread_mutex_t lock;
	pthread_cond_t answered;
};

static struct memory_job *queued;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static atomic_int worker, other, turns, first_job, working, second_job, both;

static void *busy_worker(void *arg)
{
	(void)arg;
	atomic_store(&worker, tid());
	for (int i = 0; i < 2; i++) {
		struct memory_job *j;
		int at;

		pthread_mutex_lock(&queue_lock);
		while (!queued)
			pthread_cond_wait(&queue_filled, &queue_lock);
		j = queued;
		queued = j->next;
		pthread_mutex_unlock(&queue_lock);
		call(j->number, "work");
		atomic_store(&working, 1);
		for (int k = 0; j->turns && k < TURNS; k++) {
			turn_take();
			until_asleep(getpid(), atomic_load(&other));
			SAY("call %d %d wait\n", call(j->number, "work"), atomic_load(&turns));
			turn_drop(atomic_load(&other));
		}
		until(&both);
		at = call(j->number, "work");
		if (j->turns) /* the other one waits for this thread, too */
			SAY("call %d %d wait\n", at, atomic_load(&second_job));
		until_asleep(getpid(), j->of);
		pthread_mutex_lock(&j->lock);
		j->done = true;
		pthread_cond_signal(&j->answered);
		pthread_mutex_unlock(&j->lock);
		apart();
	}
	return NULL;
}

static void *asks_worker(void *arg)
{
	struct memory_job *j = arg, **last = &queued;
	struct mark m = begin("busy", 0);

	j->number = m.number;
	atomic_store(j->turns ? &first_job : &second_job, m.number);
	pthread_mutex_lock(&queue_lock);
	while (*last)
		last = &(*last)->next;
	*last = j;
	pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
	atomic_store(&j->of, tid()); /* from here on it sleeps only until its job is done */
	pthread_mutex_lock(&j->lock);
	while (!j->done)
		pthread_cond_wait(&j->answered, &j->lock);
	pthread_mutex_unlock(&j->lock);
	end(&m);
	return NULL;
}

static void memory_pool(void)
{
	struct memory_job jobs[2] = {
		{.turns = true,
		 .lock = PTHREAD_MUTEX_INITIALIZER,
		 .answered = PTHREAD_COND_INITIALIZER},
		{.lock = PTHREAD_MUTEX_INITIALIZER, .answered = PTHREAD_COND_INITIALIZER}};
	struct mark m;
	pthread_t t[3];

	atomic_store(&other, tid());
	start(&t[2], busy_worker, NULL);
	until(&worker);
	until_asleep(getpid(), atomic_load(&worker));
	m = begin("turns", 0);
	atomic_store(&turns, m.number);
	turn_take();
	start(&t[0], asks_worker, &jobs[0]);
	until(&working); /* else it is asleep as it has no job yet */
	for (int i = 0; i < TURNS; i++) {
		turn_drop(atomic_load(&worker));
		turn_take();
		if (i < TURNS - 1) {
			until_asleep(getpid(), atomic_load(&worker));
			SAY("call %d %d wait\n", call(m.number, "thread"), atomic_load(&first_job));
		}
	}
	end(&m);
	start(&t[1], asks_worker, &jobs[1]);
	until(&jobs[1].of);
	until_asleep(getpid(), jobs[1].of);
	atomic_store(&both, 1); /* the second job is in the queue, and its thread waits */
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

/* ---- a server in a process of its own: TCP with epoll, or a unix socket; it asks a second one in turn ---- */

static void answer(int s, int number)
{
	if (send(s, &number, sizeof(number), 0) != sizeof(number))
		exit(11);
}

static int ask(int s, int number)
{
	int got;

	answer(s, number);
	if (recv(s, &got, sizeof(got), 0) != sizeof(got))
		exit(12);
	return got;
}

static void backend(int s)
{
	int number;

	while (recv(s, &number, sizeof(number), 0) == sizeof(number)) {
		call(number, number ? "work" : "-");
		answer(s, number);
	}
	_exit(0);
}

static void serve(int listening, int behind)
{
	int e = epoll_create1(0), open_ones = 0, s, number;
	struct epoll_event what = {.events = EPOLLIN, .data.fd = listening};

	epoll_ctl(e, EPOLL_CTL_ADD, listening, &what);
	for (;;) {
		if (epoll_wait(e, &what, 1, -1) != 1)
			exit(13);
		if (what.data.fd == listening) {
			s = accept(listening, NULL, NULL);
			call(0, "-");
			what = (struct epoll_event){.events = EPOLLIN, .data.fd = s};
			epoll_ctl(e, EPOLL_CTL_ADD, s, &what);
			open_ones++;
			continue;
		}
		s = what.data.fd;
		if (recv(s, &number, sizeof(number), 0) != sizeof(number)) {
			close(s);
			if (!--open_ones)
				_exit(0);
			continue;
		}
		call(number, number ? "work" : "-");
		ask(behind, number);
		call(number, number ? "work" : "-");
		answer(s, number);
	}
}

static int tcp_listen(struct sockaddr_in *at)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*at);

	*at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	if (bind(s, (struct sockaddr *)at, len) < 0 || listen(s, 8) < 0 ||
	    getsockname(s, (struct sockaddr *)at, &len) < 0)
		exit(14);
	return s;
}

static void servers(void)
{
	struct sockaddr_in at;
	int listening = tcp_listen(&at), pair[2], s[2];
	pid_t one, two;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		exit(15);
	one = fork();
	if (!one) {
		close(pair[0]);
		close(listening);
		backend(pair[1]);
	}
	close(pair[1]);
	two = fork();
	if (!two)
		serve(listening, pair[0]);
	close(pair[0]);
	close(listening);
	for (int i = 0; i < 2; i++) {
		s[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(s[i], (struct sockaddr *)&at, sizeof(at)) < 0)
			exit(16);
	}
	for (int i = 0; i < 2; i++) /* its answer shows that it accepted it, before any span */
		ask(s[i], 0);
	for (int i = 0; i < 4; i++) {
		struct mark m = begin("asked", 0);

		SAY("path %d %d\n", m.number, call(m.number, "thread"));
		ask(s[i & 1], m.number);
		SAY("path %d %d\n", m.number, call(m.number, "thread"));
		end(&m);
		ask(s[1], 0);
	}
	close(s[0]);
	close(s[1]);
	waitpid(two, NULL, 0);
	waitpid(one, NULL, 0);
}

int main(int argc, char **argv)
{
	file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (file < 0 || all == MAP_FAILED)
		return 2;
	for (int i = 0; i < 3; i++)
		locks(i & 1);
	pipes();
	children();
	pool(0);
	pool(1);
	memory_pool();
	servers();
	SAY("end\n");
	return 0;
}
