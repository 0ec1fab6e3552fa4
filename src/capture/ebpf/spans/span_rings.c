/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/spans/span_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "privilege/privilege.h"

/* Data copied and not taken yet: a ring of the largest size fits in addition to that of another program. */
#define AREA_BYTES     (2 * (size_t)SPAN_RING_MOST + (1u << 20))
#define AREA_KEPT      (1u << 20) /* bytes kept allocated after it was taken */
#define STAMP_ERROR_NS 1000	  /* error of timestamps that are newer than the adjacent moment */
#define STAMP_FAR_NS   1e18	  /* largest distance of a timestamp from the moments */
#define PAIRS	       8	  /* attempts per moment; the tightest pair counts */
#define ATTEMPTS       3	  /* to find a mapping that changes meanwhile */

struct area {
	uint8_t *data; /* [AREA_BYTES] */
	size_t len;
};

struct span_rings {
	pthread_mutex_t lock;
	struct span_process *list[SPAN_PROCESSES_MAX];
	size_t count;
	uint64_t attachments;
	struct area areas[2];
	unsigned int filling;		   /* index; the other one belongs to the decoder */
	uint32_t memfd_major, memfd_minor; /* of the file system of memfds */
	struct span_moment first, before;
};

/* ---- moments ---- */

static uint64_t tsc_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return (uint64_t)clock_monotonic_ns();
#endif
}

static struct span_moment moment_now(void)
{
	struct span_moment best = {0};
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < PAIRS; i++) {
		uint64_t from = tsc_now();
		int64_t ns = clock_monotonic_ns();
		uint64_t to = tsc_now();

		if (to - from < width) {
			width = to - from;
			best = (struct span_moment){from + (to - from) / 2, ns};
		}
	}
	return best;
}

/* Interpolates between two moments. */
static int64_t moment_between(const struct span_moment *a, const struct span_moment *b,
			      uint64_t tsc)
{
	double ns_per = b->tsc > a->tsc ? (double)(b->ns - a->ns) / (double)(b->tsc - a->tsc) : 0;
	double ns = (double)(int64_t)(tsc - a->tsc) * ns_per;

	ns = MIN(ns, STAMP_FAR_NS);
	ns = MAX(ns, -STAMP_FAR_NS);
	return a->ns + (int64_t)ns;
}

int64_t span_time(const struct span_chunk *c, uint64_t stamp)
{
	if (c->process->clock != SPAN_CLOCK_TSC)
		return (int64_t)MIN(stamp, (uint64_t)INT64_MAX);
	if (stamp >= c->before.tsc)
		return moment_between(&c->before, &c->at, stamp);
	/* If a ring could not be copied in its turn, the line over the longest time is the most accurate. */
	return c->before.ns - (moment_between(&c->first, &c->at, c->before.tsc) -
			       moment_between(&c->first, &c->at, stamp));
}

/* ---- copying ---- */

/* Files of other file systems may have the name of a memfd; opening one on FUSE blocks as long as its server likes. */
static int memfd_device(struct span_rings *r)
{
	int fd = memfd_create("weir", MFD_CLOEXEC), e;
	struct statx st;

	if (fd < 0)
		return -errno;
	e = statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) ? -errno : 0;
	close(fd);
	if (e)
		return e;
	r->memfd_major = st.stx_dev_major;
	r->memfd_minor = st.stx_dev_minor;
	return 0;
}

int span_rings_new(struct span_rings **ret)
{
	_cleanup_(span_rings_freep) struct span_rings *r = calloc(1, sizeof(*r));
	pthread_mutexattr_t attr;
	int e;

	if (!r)
		return -ENOMEM;
	/* as in ring_reader.c: the reader must not wait for a decoder without a CPU */
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&r->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	for (int i = 0; i < 2; i++) {
		void *p = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			return -errno;
		madvise(p, AREA_BYTES, MADV_NOHUGEPAGE);
		r->areas[i].data = p;
	}
	e = memfd_device(r);
	if (e < 0)
		return e;
	r->first = r->before = moment_now();
	*ret = TAKE_PTR(r);
	return 0;
}

static void process_free(struct span_process *p)
{
	if (!p)
		return;
	if (p->map)
		munmap(p->map, p->size);
	if (p->fd >= 0)
		close(p->fd);
	map_free(&p->threads);
	free(p->rings);
	free(p);
}
DEFINE_CLEANUP(struct span_process *, process_free)

void span_rings_free(struct span_rings *r)
{
	if (!r)
		return;
	while (r->count) {
		struct span_process *p = r->list[0];

		span_rings_leave(r, p, false);
		span_rings_detach(r, p);
	}
	for (int i = 0; i < 2; i++) {
		if (r->areas[i].data)
			munmap(r->areas[i].data, AREA_BYTES);
	}
	pthread_mutex_destroy(&r->lock);
	free(r);
}

/* Copies the content of a ring; false: there was no room. */
static bool span_ring_copy(struct span_rings *r, struct span_process *p, uint32_t i,
			   const struct span_moment *at)
{
	volatile struct span_ring *shared = span_ring_of(p, i);
	struct span_ring_read *ring = &p->rings[i];
	struct area *a = &r->areas[r->filling];
	const uint8_t *data = (const uint8_t *)shared + SPAN_PAGE;
	uint64_t head = __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE);
	uint64_t len = head - ring->tail, pos = ring->tail & (p->ring_bytes - 1);
	struct span_chunk *c = (void *)(a->data + a->len);
	size_t first;

	if (!len || ring->stopped)
		return true;
	if (len > p->ring_bytes || head % 8) {
		ring->stopped = true;
		ring->reason = head < ring->tail ? "its head moved back"
			       : head % 8	 ? "its head is misaligned"
						 : "its head is beyond the end of the ring";
		return true;
	}
	if (a->len + sizeof(*c) + len > AREA_BYTES)
		return false;
	*c = (struct span_chunk){.process = p,
				 .ring = i,
				 .len = (uint32_t)len,
				 .first = r->first,
				 .before = r->before,
				 .at = *at};
	first = MIN(len, p->ring_bytes - pos);
	memcpy(c + 1, data + pos, first);
	memcpy((uint8_t *)(c + 1) + first, data, len - first);
	c->until = clock_monotonic_ns() + STAMP_ERROR_NS;
	ring->tail = head;
	__atomic_store_n(&shared->tail, head, __ATOMIC_RELEASE);
	a->len += sizeof(*c) + len;
	return true;
}

static bool process_copy(struct span_rings *r, struct span_process *p, const struct span_moment *at)
{
	uint32_t count = p->asks || p->left ? 0 : span_rings_count(p);
	bool all = true;

	for (uint32_t i = 0; i < count; i++)
		all &= span_ring_copy(r, p, i, at);
	return all;
}

bool span_rings_copy(struct span_rings *r)
{
	struct span_moment at;
	bool any;

	pthread_mutex_lock(&r->lock);
	/* Heads are read after this moment: an event caused by a record on another thread cannot precede it. */
	at = moment_now();
	for (size_t i = 0; i < r->count; i++)
		process_copy(r, r->list[i], &at);
	r->before = at;
	any = r->count > 0;
	pthread_mutex_unlock(&r->lock);
	return any;
}

bool span_rings_last(struct span_rings *r, struct span_process *p)
{
	struct span_moment at;
	bool all;

	pthread_mutex_lock(&r->lock);
	at = moment_now();
	all = process_copy(r, p, &at);
	pthread_mutex_unlock(&r->lock);
	return all;
}

struct bytes span_rings_take(struct span_rings *r)
{
	struct area *done = &r->areas[r->filling ^ 1], *full;

	if (done->len > AREA_KEPT)
		madvise(done->data + AREA_KEPT, AREA_BYTES - AREA_KEPT, MADV_DONTNEED);
	done->len = 0;
	pthread_mutex_lock(&r->lock);
	full = &r->areas[r->filling];
	r->filling ^= 1;
	pthread_mutex_unlock(&r->lock);
	return (struct bytes){full->data, full->len};
}

struct span_process *span_rings_next(struct span_rings *r, size_t *pos)
{
	return *pos < r->count ? r->list[(*pos)++] : NULL;
}

size_t span_name_read(const struct span_process *p, uint32_t id, char *text)
{
	uint64_t at = (uint64_t)id * 8;
	const uint8_t *names = p->map + SPAN_PAGE;
	uint16_t len;

	if (at < 8 || at + sizeof(len) > p->name_bytes)
		return 0;
	len = __atomic_load_n((const uint16_t *)(names + at), __ATOMIC_RELAXED);
	if (len > SPAN_NAME_LEN || at + sizeof(len) + len > p->name_bytes)
		return 0;
	memcpy(text, names + at + sizeof(len), len);
	return len;
}

/* ---- attaching ---- */

/* The program's layout, as far as it is valid. */
static int layout_take(struct span_process *p, const char **ret_why)
{
	const struct span_control c = *(const struct span_control *)p->map;

	if (c.magic != SPAN_MAGIC || c.version != SPAN_VERSION) {
		*ret_why = "their layout belongs to another version of libweir-span";
		return -EPROTO;
	}
	if (c.ring_max < 1 || c.ring_max > SPAN_RING_MAX || c.ring_bytes < SPAN_RING_LEAST ||
	    c.ring_bytes > SPAN_RING_MOST || c.ring_bytes & (c.ring_bytes - 1) ||
	    c.name_bytes % SPAN_PAGE || c.name_bytes > SPAN_NAME_BYTES ||
	    (c.clock != SPAN_CLOCK_TSC && c.clock != SPAN_CLOCK_MONOTONIC) ||
	    span_ring_at(c.name_bytes, c.ring_bytes, c.ring_max) > p->size) {
		*ret_why = "the description of their layout is malformed";
		return -EBADMSG;
	}
	p->ring_max = c.ring_max;
	p->ring_bytes = c.ring_bytes;
	p->name_bytes = c.name_bytes;
	p->clock = c.clock;
	p->born = (int64_t)c.born;
	p->rings = calloc(c.ring_max, sizeof(*p->rings));
	return p->rings ? 0 : -ENOMEM;
}

static int memfd_check(struct span_process *p, const char **ret_why)
{
	int seals = fcntl(p->fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(p->fd, &st)) {
		*ret_why = "their memory is not sealed against shrinking";
		return -EPERM;
	}
	if (st.st_size < SPAN_PAGE ||
	    (uint64_t)st.st_size > span_ring_at(SPAN_NAME_BYTES, SPAN_RING_MOST, SPAN_RING_MAX)) {
		*ret_why = "the size of their memory is invalid";
		return -EBADMSG;
	}
	if (flock(p->fd, LOCK_EX | LOCK_NB)) {
		*ret_why = "another recorder reads them";
		return -EBUSY;
	}
	p->size = (size_t)st.st_size;
	return 0;
}

/* Sets where reading begins in each ring: at the start if nobody read it before. */
static void rings_begin(struct span_process *p, bool early)
{
	uint32_t count = span_rings_count(p);

	for (uint32_t i = 0; i < count; i++) {
		volatile struct span_ring *shared = span_ring_of(p, i);
		struct span_ring_read *ring = &p->rings[i];

		ring->tid = shared->tid;
		if (early)
			continue;
		ring->tail = __atomic_load_n(&shared->head, __ATOMIC_ACQUIRE);
		ring->lost = shared->lost_begins + shared->lost_notes + shared->lost_ends;
		__atomic_store_n(&shared->tail, ring->tail, __ATOMIC_RELEASE);
	}
	p->lost = early ? 0 : span_control_of(p)->lost;
}

/* Opens a mapping if it is a memfd: other files must not be opened. */
static int memfd_open(const struct span_rings *r, int32_t pid, const char *range,
		      const char **ret_why)
{
	char path[96];
	struct statx st;
	int fd, file, e;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%s", pid, range);
	file = open(path, O_PATH | O_CLOEXEC);
	if (file < 0) {
		*ret_why = errno == EPERM || errno == EACCES
				   ? "opening their memory requires CAP_CHECKPOINT_RESTORE"
				   : "their memory cannot be opened";
		return -errno;
	}
	if (statx(file, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) ||
	    st.stx_dev_major != r->memfd_major || st.stx_dev_minor != r->memfd_minor) {
		*ret_why = "their memory is not a memfd";
		close(file);
		return -EPERM;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fd = open(path, O_RDWR | O_CLOEXEC);
	e = -errno;
	close(file);
	if (fd < 0) {
		*ret_why = "their memory cannot be opened";
		return e;
	}
	return fd;
}

/* Attaches the memfd mapped at a range, with the pid of the process that created it. */
static int mapping_attach(const struct span_rings *rings, struct span_process **ret, int32_t pid,
			  const char *range, int32_t pid_inside, const char **ret_why)
{
	_cleanup_(process_freep) struct span_process *p = calloc(1, sizeof(*p));
	bool early;
	int r;

	if (!p)
		return -ENOMEM;
	p->pid = pid;
	p->fd = memfd_open(rings, pid, range, ret_why);
	if (p->fd < 0)
		return p->fd;
	r = memfd_check(p, ret_why);
	if (r < 0)
		return r;
	p->map = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
	if (p->map == MAP_FAILED) {
		p->map = NULL;
		*ret_why = "their memory cannot be mapped";
		return -errno;
	}
	r = layout_take(p, ret_why);
	if (r < 0)
		return r;
	p->attached = clock_monotonic_ns();
	p->asks = span_control_of(p)->pid != pid_inside;
	early = span_control_of(p)->on == SPAN_EARLY;
	p->asked = p->asks && span_control_of(p)->on == SPAN_ASK;
	if (!p->asks)
		rings_begin(p, early);
	__atomic_store_n(&span_control_of(p)->on, p->asks ? SPAN_ASK : SPAN_ON, __ATOMIC_RELEASE);
	*ret = TAKE_PTR(p);
	return 0;
}

/* A process's pid in its own pid namespace. */
static int32_t pid_inside(int32_t pid)
{
	char path[64], line[256];
	int32_t value = pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NStgid:", 7) && last)
			value = (int32_t)strtol(last, NULL, 10);
	}
	if (f)
		fclose(f);
	return value;
}

/* The attachment of a memfd, in whatever process it was found. */
static struct span_process *attached(const struct span_rings *r, ino_t ino)
{
	struct stat st;

	for (size_t i = 0; i < r->count; i++) {
		if (!fstat(r->list[i]->fd, &st) && st.st_ino == ino)
			return r->list[i];
	}
	return NULL;
}

/* Whether a process created memory that was attached for its child. */
static bool made_by(const struct span_process *p, int32_t pid, int32_t pid_inside)
{
	return p->asks && p->pid != pid && span_control_of(p)->pid == pid_inside;
}

/* Takes over such memory: its rings are read from now on; children still create their own. */
static void take_over(struct span_rings *r, struct span_process *p, int32_t pid)
{
	pthread_mutex_lock(&r->lock);
	p->pid = pid;
	p->attached = clock_monotonic_ns();
	p->asks = p->asked = p->left = false;
	rings_begin(p, false);
	pthread_mutex_unlock(&r->lock);
	__atomic_store_n(&span_control_of(p)->on, SPAN_ON, __ATOMIC_RELEASE);
}

static void process_add(struct span_rings *r, struct span_process *p)
{
	pthread_mutex_lock(&r->lock);
	assert(r->count < SPAN_PROCESSES_MAX);
	p->number = ++r->attachments;
	r->list[r->count++] = p;
	pthread_mutex_unlock(&r->lock);
}

/* Whether a line "7f12c000-7f12d000 rw-s 00000000 00:01 1234 /memfd:weir-span (deleted)" is the start of such a memfd. */
static bool line_is_ours(const char *line, uint64_t addr, char range[64], ino_t *ret_ino)
{
	unsigned long long from, to, offset, ino;
	int n = 0;

	if (!strstr(line, "/memfd:" SPAN_MEMFD " ") ||
	    sscanf(line, "%llx-%llx %*s %llx %*s %llu %n", &from, &to, &offset, &ino, &n) != 4 ||
	    !n || strncmp(line + n, "/memfd:", 7) != 0 || offset)
		return false;
	snprintf(range, 64, "%llx-%llx", from, to);
	*ret_ino = (ino_t)ino;
	return !addr || (addr >= from && addr < to);
}

/* Whether another memory of a process may be attached. */
static bool rings_have_room(const struct span_rings *r, int32_t pid, const char **ret_why)
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += r->list[i]->pid == pid && !r->list[i]->left;
	if (count < SPAN_MEMORIES_MAX && r->count < SPAN_PROCESSES_MAX)
		return true;
	*ret_why = count < SPAN_MEMORIES_MAX ? "too many processes mark spans"
					     : "it has more span buffers than can be read";
	return false;
}

/* Examines such a mapping of a process. 1 with *ret: it was attached; 0: it already was. */
static int mapping_look(struct span_rings *r, int32_t pid, int32_t inside, const char *range,
			ino_t ino, struct span_process **ret, const char **ret_why)
{
	struct span_process *p = attached(r, ino);
	int e;

	if (p && !made_by(p, pid, inside))
		return 0;
	if (!rings_have_room(r, pid, ret_why))
		return -ENOSPC;
	if (p) {
		take_over(r, p, pid);
	} else {
		e = mapping_attach(r, &p, pid, range, inside, ret_why);
		if (e < 0)
			return e;
		process_add(r, p);
	}
	*ret = p;
	return 1;
}

static int maps_attach(struct span_rings *r, int32_t pid, uint64_t addr, struct span_process **ret,
		       size_t *ret_count, const char **ret_why)
{
	char path[64], line[512], range[64];
	int32_t inside = pid_inside(pid);
	int error = addr ? -ENOENT : 0;
	ino_t ino;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f)
		return addr ? -errno : 0;
	while (fgets(line, sizeof(line), f)) {
		struct span_process *p = NULL;
		int e;

		if (!line_is_ours(line, addr, range, &ino))
			continue;
		e = mapping_look(r, pid, inside, range, ino, &p, ret_why);
		if (p) {
			assert(*ret_count < SPAN_MEMORIES_MAX);
			ret[(*ret_count)++] = p;
		}
		if (e < 0 || error == -ENOENT)
			error = MIN(e, 0);
	}
	fclose(f);
	return error;
}

int span_rings_attach(struct span_rings *r, int32_t pid, uint64_t addr, struct span_process **ret,
		      size_t *ret_count, const char **ret_why)
{
	_privileged_(PRIVILEGE_PROC | PRIVILEGE_MAPS);
	int e = -ENOENT;

	*ret_count = 0;
	*ret_why = "the process ended before their memory was found";
	for (int i = 0; i < ATTEMPTS && e == -ENOENT; i++)
		e = maps_attach(r, pid, addr, ret, ret_count, ret_why);
	return e;
}

void span_rings_leave(struct span_rings *r, struct span_process *p, bool gone)
{
	uint32_t on = p->asks ? SPAN_ASK : SPAN_ON;
	uint32_t next = gone || p->asked ? SPAN_ASK : SPAN_OFF;

	pthread_mutex_lock(&r->lock);
	p->left = true;
	pthread_mutex_unlock(&r->lock);
	__atomic_compare_exchange_n((uint32_t *)&span_control_of(p)->on, &on, next, false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void span_rings_detach(struct span_rings *r, struct span_process *p)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->count; i++) {
		if (r->list[i] == p) {
			r->list[i] = r->list[--r->count];
			break;
		}
	}
	pthread_mutex_unlock(&r->lock);
	process_free(p);
}
