/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_reader.c: one thread, SCHED_FIFO if allowed, that only copies records out of the kernel's rings, so that a ring
 * never waits for decoding, compression or the disk. Data before a ring's head is complete, so it is not examined here.
 * Rings are read in rounds: everything that ended before a round began was copied by its end, which lets the decoder
 * order the records of all CPUs.
 */
#include "capture/ebpf/internal.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "capture/ebpf/spans/span_rings.h"
#include "privilege/privilege.h"

#define POLL_MS	     20 /* unless a ring fills earlier; 4 ms would cost a seventh more CPU */
#define POLL_HELD_MS 4	/* when programs may be delayed: they wait for the release */
#define POLL_SPAN_MS 4	/* when programs mark spans: those rings are small */
/* Bytes of the backlog: about 50 ms of calls at full rate, and a quarter of that once the decoder has caught up. */
#define RAISE_ABOVE (16u << 20)
#define LOWER_BELOW (4u << 20)
#define CHUNKS_KEPT 256 /* unused chunks that keep their memory, 8 MiB, for later rounds */
/* A record is timestamped before it is written; the delay is at most this. */
#define STAMP_SLACK_NS (300 * NSEC_PER_USEC)

/* The kernel's ring buffer for records of programs that may interrupt each other. */
struct side {
	unsigned long *read;	      /* position read up to, */
	const unsigned long *written; /* and written up to */
	const uint8_t *data;
	size_t bytes, mapped;
};

struct reader {
	const uint8_t *rings; /* in sequence */
	int64_t *horizons;    /* by ring, then that of the side ring */
	struct side side;
	size_t count;
	size_t ring_bytes;
	size_t page;
	unsigned long *bell_read;	   /* position of the bell's ring read up to, */
	const unsigned long *bell_written; /* and written up to */
	int epoll, wake, command;	   /* command: a pidfd; -1: none */
	bool running, hasty;
	struct wire_cpu *counters;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ready;
	struct chunk *first, **last; /* finished rounds */
	int64_t horizon;	     /* of the last round, even if it found no records */
	int64_t settled;	     /* everything found so far happened before this horizon */
	bool news;		     /* rounds or a horizon not taken yet */
	uint8_t *memory;	     /* of the chunks */
	size_t memory_bytes;
	struct chunk *chunks, *unused;
	struct chunk *spare; /* unused, with their memory still allocated */
	size_t spare_count, queued, backlog_max;
	bool finished;
	struct priority *priority;
	struct span_rings *spans;
	atomic_uint_fast64_t bytes; /* written by the thread, read by others */
};

/*
 * All memory for chunks is reserved at the start. An allocation in the thread would wait for the lock of the address
 * space, which the decoder may hold while it waits for a CPU: 270 ms were seen with 200 busy threads.
 */
static int chunks_new(struct reader *r, struct error *err)
{
	/* A round always finds room beyond the backlog, once for its records and once for nearly empty leaves. */
	size_t rings = r->count * r->ring_bytes + r->side.bytes;
	size_t count = (r->backlog_max + 2 * rings) / CHUNK_BYTES;
	void *p = mmap(NULL, count * CHUNK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return error_errno(err, -errno, "cannot reserve %zu bytes of memory",
				   count * CHUNK_BYTES);
	r->memory = p;
	r->memory_bytes = count * CHUNK_BYTES;
	/* Allocate single pages on first write, not 2 MiB. */
	madvise(p, r->memory_bytes, MADV_NOHUGEPAGE);
	r->chunks = calloc(count, sizeof(*r->chunks));
	if (!r->chunks)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = count; i-- > 0;) {
		r->chunks[i].data = r->memory + i * CHUNK_BYTES;
		r->chunks[i].next = r->unused;
		r->unused = &r->chunks[i];
	}
	return 0;
}

/* The memory used by a chunk. */
static size_t chunk_bytes(const struct chunk *c)
{
	return align_up(c->len, 4096);
}

static struct chunk *chunk_get(struct reader *r, uint32_t cpu)
{
	struct chunk **from, *c;

	pthread_mutex_lock(&r->lock);
	from = r->spare ? &r->spare : &r->unused;
	c = *from;
	if (c)
		*from = c->next;
	if (c && from == &r->spare)
		r->spare_count--;
	pthread_mutex_unlock(&r->lock);
	if (!c)
		return NULL;
	*c = (struct chunk){.data = c->data, .cpu = cpu};
	return c;
}

void reader_put(struct reader *r, struct chunk *c)
{
	bool spare;

	pthread_mutex_lock(&r->lock);
	r->queued -= chunk_bytes(c);
	spare = r->spare_count < CHUNKS_KEPT;
	if (spare) {
		c->next = r->spare;
		r->spare = c;
		r->spare_count++;
	}
	pthread_mutex_unlock(&r->lock);
	if (spare)
		return;
	madvise(c->data, CHUNK_BYTES, MADV_DONTNEED);
	pthread_mutex_lock(&r->lock);
	c->next = r->unused;
	r->unused = c;
	pthread_mutex_unlock(&r->lock);
}

/* How much to copy at once from `from` on: everything, but at most to the end of a leaf, which records do not cross. */
static size_t ring_span(uint64_t from, uint64_t to)
{
	return MIN(to, (from & ~(uint64_t)(CHUNK_BYTES - 1)) + CHUNK_BYTES) - from;
}

struct round {
	struct chunk *first, **last, *tail;
	size_t bytes; /* of memory used */
};

static void round_add(struct round *round, struct chunk *c)
{
	*round->last = c;
	round->last = &c->next;
	round->tail = c;
	round->bytes += chunk_bytes(c);
}

/* Copies the content of a ring. False if something was left because all chunks are in use. */
static bool ring_copy(struct reader *r, size_t cpu, struct round *round)
{
	struct wire_cpu *shared = &r->counters[cpu];
	uint64_t from = shared->tail;
	uint64_t to = __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE);

	while (from < to) {
		size_t span = ring_span(from, to);
		struct chunk *c = chunk_get(r, cpu);

		if (!c)
			return false;
		memcpy(c->data, r->rings + cpu * r->ring_bytes + (from & (r->ring_bytes - 1)),
		       span);
		c->len = span;
		from += span;
		__atomic_store_n(&shared->tail, from, __ATOMIC_RELEASE);
		r->bytes += span;
		round_add(round, c);
	}
	return true;
}

static size_t backlog(struct reader *r)
{
	size_t queued;

	pthread_mutex_lock(&r->lock);
	queued = r->queued;
	pthread_mutex_unlock(&r->lock);
	return queued;
}

/*
 * Whether to let the rings fill. A round is never cut short, nor withheld from a decoder that has taken everything: it
 * may need that very round for calls after the horizon. So the backlog can exceed its limit by the content of the
 * rings.
 */
static bool backlog_full(struct reader *r)
{
	bool full;

	pthread_mutex_lock(&r->lock);
	full = r->first && r->queued >= r->backlog_max;
	pthread_mutex_unlock(&r->lock);
	return full;
}

/* Layout of a kernel ring buffer's records: after a header of 8 bytes, at multiples of 8. */
#define SIDE_HEAD 8

/* The length in a record's header; with SIDE_BUSY it is still being written, with SIDE_DISCARD it is empty. */
#define SIDE_BUSY    (1u << 31)
#define SIDE_DISCARD (1u << 30)

/*
 * Copies the content of the side ring. Unlike a CPU's ring it has several writers, so an unfinished record may precede
 * a complete one: copying stops there. False if something was left.
 */
static bool side_copy(struct reader *r, struct round *round)
{
	struct side *s = &r->side;
	unsigned long at = *s->read, to = __atomic_load_n(s->written, __ATOMIC_ACQUIRE);
	struct chunk *c = NULL;

	while (at < to) {
		const uint8_t *head = s->data + (at & (s->bytes - 1));
		uint32_t word = __atomic_load_n((const uint32_t *)head, __ATOMIC_ACQUIRE);
		uint32_t len = word & ~(SIDE_BUSY | SIDE_DISCARD);
		bool kept = !(word & SIDE_DISCARD) && len <= CHUNK_BYTES;

		if (word & SIDE_BUSY)
			break;
		if (kept && (!c || c->len + len > CHUNK_BYTES)) {
			if (c)
				round_add(round, c);
			c = chunk_get(r, (uint32_t)r->count);
			if (!c)
				break;
		}
		if (kept) {
			memcpy(c->data + c->len, head + SIDE_HEAD, len);
			c->len += len;
			r->bytes += len;
		}
		at += align_up(len + SIDE_HEAD, 8);
		__atomic_store_n(s->read, at, __ATOMIC_RELEASE);
	}
	if (c)
		round_add(round, c);
	return at >= to;
}

/* One round over all rings. */
static void reader_round(struct reader *r)
{
	struct round round = {.last = &round.first};
	int64_t now = clock_monotonic_ns(), horizon = INT64_MAX;

	for (size_t i = 0; i < r->count; i++) {
		if (ring_copy(r, i, &round))
			r->horizons[i] = now - STAMP_SLACK_NS;
		/* The next crossing of the mark wakes again, even if the programs never saw the ring below it. */
		__atomic_store_n(&r->counters[i].above, 0, __ATOMIC_RELAXED);
		horizon = MIN(horizon, r->horizons[i]);
	}
	if (side_copy(r, &round))
		r->horizons[r->count] = now - STAMP_SLACK_NS;
	horizon = MIN(horizon, r->horizons[r->count]);
	span_rings_copy(
		r->spans); /* before the horizon is set: spans marked until then are included */
	if (round.first) {
		round.tail->last = true;
		round.tail->horizon = horizon;
		r->settled = clock_monotonic_ns();
	}
	pthread_mutex_lock(&r->lock);
	if (round.first) {
		*r->last = round.first;
		r->last = round.last;
		r->queued += round.bytes;
	}
	/* An empty round is news for a decoder that waits with calls after the last round's horizon. */
	r->news |= round.first || r->horizon < r->settled;
	r->horizon = horizon;
	if (r->news)
		pthread_cond_signal(&r->ready);
	pthread_mutex_unlock(&r->lock);
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct epoll_event events[16];
	const int longest_ms = r->hasty ? POLL_HELD_MS : POLL_MS;
	int poll_ms = longest_ms;
	int64_t now, round = 0; /* latest time of the next round */

	/* It copies, writes to an open descriptor, and gives the decoder its turns. */
	privilege_drop_thread(PRIVILEGE_PRIORITY);
	for (;;) {
		int n = epoll_wait(r->epoll, events, ARRAY_SIZE(events), poll_ms);
		bool stop = false, spans;
		size_t queued;

		for (int i = 0; i < n; i++)
			stop |= events[i].data.fd == r->wake;
		/* The bell carries no data. */
		__atomic_store_n(r->bell_read, __atomic_load_n(r->bell_written, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
		now = clock_monotonic_ns();
		if (stop || ((n || now >= round) && !backlog_full(r))) {
			reader_round(r);
			round = now + longest_ms * NSEC_PER_MSEC;
		}
		if (stop)
			return NULL;
		spans = span_rings_copy(r->spans);
		queued = backlog(r);
		poll_ms = priority_adjust(r->priority, queued >= RAISE_ABOVE, queued < LOWER_BELOW);
		poll_ms = poll_ms < 0 ? longest_ms : MIN(poll_ms, longest_ms);
		poll_ms = spans ? MIN(poll_ms, POLL_SPAN_MS) : poll_ms;
	}
}

static int rings_map(struct reader *r, int fd, struct error *err)
{
	void *p = mmap(NULL, r->count * r->ring_bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return error_errno(err, -errno, "cannot map %zu rings of %zu bytes", r->count,
				   r->ring_bytes);
	r->rings = p;
	return 0;
}

static int bell_map(struct reader *r, int fd, struct error *err)
{
	void *p = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return error_errno(err, -errno, "cannot map a ring buffer");
	r->bell_read = p;
	p = mmap(NULL, r->page, PROT_READ, MAP_SHARED, fd, (off_t)r->page);
	if (p == MAP_FAILED)
		return error_errno(err, -errno, "cannot map a ring buffer");
	r->bell_written = p;
	return 0;
}

static int side_map(struct reader *r, int fd, size_t bytes, struct error *err)
{
	struct side *s = &r->side;
	void *p = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return error_errno(err, -errno, "cannot map a ring buffer");
	s->read = p;
	/* The data is mapped twice, in sequence, so that no record is split. */
	s->mapped = r->page + 2 * bytes;
	p = mmap(NULL, s->mapped, PROT_READ, MAP_SHARED, fd, (off_t)r->page);
	if (p == MAP_FAILED)
		return error_errno(err, -errno, "cannot map a ring buffer of %zu bytes", bytes);
	s->written = p;
	s->data = (const uint8_t *)p + r->page;
	s->bytes = bytes;
	return 0;
}

static int watch(struct reader *r, int fd, uint32_t events, struct error *err)
{
	struct epoll_event e = {.events = events, .data.fd = fd};

	if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, fd, &e))
		return error_errno(err, -errno, "epoll_ctl");
	return 0;
}

/* Delivers the last calls of a command when it ends, up to POLL_MS earlier. Without pidfds (Linux 5.3) they come at the
 * regular time. */
static int watch_command(struct reader *r, int32_t pid, struct error *err)
{
	r->command = pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	return r->command < 0 ? 0 : watch(r, r->command, EPOLLIN | EPOLLET, err);
}

/* With SCHED_FIFO it takes 30-90 us from the mark to the reader, otherwise 1.5-9 ms, and more with busy threads. */
static int thread_start(struct reader *r, struct error *err)
{
	_privileged_(PRIVILEGE_PRIORITY);
	struct sched_param param = {.sched_priority = PRIORITY_READER};
	pthread_attr_t attr;
	int e;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	pthread_attr_setschedparam(&attr, &param);
	e = pthread_create(&r->thread, &attr, reader_main, r);
	pthread_attr_destroy(&attr);
	if (e)
		e = pthread_create(&r->thread, NULL, reader_main, r);
	if (e)
		return error_errno(err, -e, "cannot start the reader thread");
	r->running = true;
	return 0;
}

/* With priority inheritance the holder runs at the reader's priority: otherwise the decoder would have to wait for a
 * CPU. */
static void lock_init(struct reader *r)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&r->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

int reader_new(struct reader **ret, const struct reader_options *opt, struct error *err)
{
	_cleanup_(reader_freep) struct reader *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return error_set(err, -ENOMEM, "out of memory");
	r->epoll = r->wake = r->command = -1;
	r->ring_bytes = opt->ring_bytes;
	r->priority = opt->priority;
	r->spans = opt->spans;
	r->hasty = opt->lossless;
	r->counters = opt->counters;
	r->page = sysconf(_SC_PAGESIZE);
	r->last = &r->first;
	r->backlog_max = MAX(opt->backlog_max, (size_t)8 * CHUNK_BYTES);
	lock_init(r);
	clock_cond_init(&r->ready);
	r->horizons = calloc(opt->count + 1, sizeof(*r->horizons));
	if (!r->horizons)
		return error_set(err, -ENOMEM, "out of memory");
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->epoll < 0 || r->wake < 0)
		return error_errno(err, -errno, "cannot create an epoll descriptor");
	r->count = opt->count;
	e = rings_map(r, opt->rings_fd, err);
	e = e ? e : bell_map(r, opt->bell_fd, err);
	e = e ? e : side_map(r, opt->side_fd, opt->side_bytes, err);
	e = e ? e : chunks_new(r, err);
	e = e ? e : watch(r, r->wake, EPOLLIN, err);
	e = e ? e : watch(r, opt->bell_fd, EPOLLIN | EPOLLET, err);
	e = e ? e : watch(r, opt->side_fd, EPOLLIN | EPOLLET, err);
	e = e ? e : watch_command(r, opt->command_pid, err);
	e = e ? e : thread_start(r, err);
	if (e)
		return e;
	*ret = TAKE_PTR(r);
	return 0;
}

uint64_t reader_bytes(const struct reader *r)
{
	return r->bytes;
}

struct chunk *reader_take(struct reader *r, int timeout_ms, int64_t *ret_horizon)
{
	struct chunk *c;
	struct timespec until;

	clock_after(timeout_ms * NSEC_PER_MSEC, &until);
	pthread_mutex_lock(&r->lock);
	while (!r->news && !r->finished && timeout_ms > 0) {
		if (pthread_cond_timedwait(&r->ready, &r->lock, &until) == ETIMEDOUT)
			break;
	}
	c = r->first;
	r->first = NULL;
	r->last = &r->first;
	r->news = false;
	*ret_horizon = r->horizon;
	pthread_mutex_unlock(&r->lock);
	return c;
}

void reader_finish(struct reader *r)
{
	uint64_t one = 1;

	if (!r->running)
		return;
	while (write(r->wake, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(r->thread, NULL);
	r->running = false;
	r->finished = true;
}

void reader_free(struct reader *r)
{
	if (!r)
		return;
	reader_finish(r);
	if (r->rings)
		munmap((void *)r->rings, r->count * r->ring_bytes);
	if (r->bell_read)
		munmap(r->bell_read, r->page);
	if (r->bell_written)
		munmap((void *)r->bell_written, r->page);
	if (r->side.read)
		munmap(r->side.read, r->page);
	if (r->side.written)
		munmap((void *)r->side.written, r->side.mapped);
	free(r->horizons);
	if (r->memory)
		munmap(r->memory, r->memory_bytes);
	free(r->chunks);
	if (r->epoll >= 0)
		close(r->epoll);
	if (r->wake >= 0)
		close(r->wake);
	if (r->command >= 0)
		close(r->command);
	pthread_cond_destroy(&r->ready);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
