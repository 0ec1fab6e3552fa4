/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.c: libweir-span: records of spans in memory that a recorder maps too (layout.h). No call is made while recording: a thread
 * writes into a ring of its own, stamps are the processor's counter where the kernel's clock is made of it.
 *
 * A forked child has its parent's memory mapped, but not its rings (MADV_DONTFORK), and must not write there. A page that the
 * kernel empties in a child (MADV_WIPEONFORK, after a clone() of any kind) holds the epoch that a thread compares before it
 * writes; where they differ, the process makes memory of its own, or the thread takes a ring.
 */
#include "weir-span.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"

#ifndef PR_SET_VMA
#	define PR_SET_VMA	     0x53564d41
#	define PR_SET_VMA_ANON_NAME 0
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define AT_START    __attribute__((constructor))
#define AT_END	    __attribute__((destructor))

#define WAIT_MS_MAX 1000 /* for a recorder, as the program ends */
#define NAME_SLOTS \
	4096 /* of the table by text; fuller than 3/4: further names go with each record */
#define POINTER_IDS  1024 /* of the cache by address */
#define EPOCH_MAKING 1	  /* in the page that fork() empties: another thread makes the memory */
#define EPOCH_FIRST  2
#define CHANCE_STEP  0x9e3779b97f4a7c15ull

static const volatile uint32_t never_on = SPAN_OFF;
EXPORT const volatile uint32_t *weir_span_on_ = &never_on;

/* What a thread needs to write. */
struct writer {
	uint64_t epoch;		/* 0 before it has a ring, or has been refused one */
	struct span_ring *ring; /* NULL: it was refused */
	uint8_t *data;
	uint64_t head, tail;	 /* the tail as it was seen last */
	uint64_t ends;		 /* bytes that the ends of open spans will take */
	uint64_t chance;	 /* for ids */
	uint64_t span, trace[2]; /* the innermost open span; 0: none */
	uint32_t busy;
};

#define AT_ONCE __attribute__((tls_model("initial-exec"))) /* without a call */
static __thread struct writer self AT_ONCE;

/* The process's; made anew in a child. */
static struct {
	struct span_control *control; /* NULL: nothing can be recorded */
	uint8_t *names, *areas;
	uint32_t ring_bytes;
	_Atomic(uint64_t) *epoch; /* in the page that fork() empties */
	uint64_t last_epoch;
	_Atomic(uint32_t) by_pointer[POINTER_IDS]; /* ids by a hash of the address: a guess */
	uint32_t by_text[NAME_SLOTS], name_count;
	atomic_flag names_busy;
	pthread_key_t key; /* for its destructor */
	bool key_made;
	char service[sizeof(((struct span_control *)0)->service)];
} all;

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* ---- the memory of the process ---- */

static uint32_t clock_kind(void)
{
#if defined(__x86_64__)
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char text[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n >= 4 && !memcmp(text, "tsc\n", 4))
		return SPAN_CLOCK_TSC;
#endif
	return SPAN_CLOCK_MONOTONIC;
}

static uint32_t ring_bytes_wanted(void)
{
	const char *text = secure_getenv("WEIR_SPAN_RING_KIB");
	uint64_t bytes = text ? strtoull(text, NULL, 10) << 10 : 0, size = SPAN_RING_LEAST;

	if (!bytes)
		return SPAN_RING_BYTES;
	while (size < bytes && size < SPAN_RING_MOST)
		size *= 2;
	return (uint32_t)size;
}

/* The memfd, mapped without a right but for its first part: what is not in use costs nothing, also under mlockall(). */
static uint8_t *memory_map(size_t size)
{
	const size_t first = SPAN_PAGE + SPAN_NAME_BYTES;
	int fd = memfd_create(SPAN_MEMFD, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint8_t *p = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!ftruncate(fd, (off_t)size) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		p = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_DONTDUMP);
	if (madvise(p + first, size - first, MADV_DONTFORK) ||
	    mprotect(p, first, PROT_READ | PROT_WRITE)) {
		munmap(p, size);
		return NULL;
	}
	return p;
}

/* Makes the memory and tells recorders. What fails leaves the library off. */
static void memory_make(void)
{
	const uint32_t ring_bytes = ring_bytes_wanted();
	const size_t size = span_ring_at(SPAN_NAME_BYTES, ring_bytes, SPAN_RING_MAX);
	uint8_t *p = memory_map(size);
	struct span_control *c = (struct span_control *)p;

	weir_span_on_ = &never_on;
	all.control = c;
	if (!c)
		return;
	all.names = p + SPAN_PAGE;
	all.areas = p + SPAN_PAGE + SPAN_NAME_BYTES;
	all.ring_bytes = ring_bytes;
	memset(all.by_text, 0, sizeof(all.by_text));
	for (size_t i = 0; i < POINTER_IDS; i++)
		atomic_store_explicit(&all.by_pointer[i], 0, memory_order_relaxed);
	all.name_count = 0;
	atomic_flag_clear(&all.names_busy);
	*c = (struct span_control){.magic = SPAN_MAGIC,
				   .version = SPAN_VERSION,
				   .pid = getpid(),
				   .clock = clock_kind(),
				   .ring_max = SPAN_RING_MAX,
				   .ring_bytes = ring_bytes,
				   .name_bytes = SPAN_NAME_BYTES,
				   .born = monotonic_ns(),
				   .name_used = 8,
				   .on = SPAN_EARLY};
	memcpy(c->service, all.service, sizeof(c->service));
	weir_span_on_ = &c->on;
	/* A kernel may refuse it for such memory; recorders see the call. */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, SPAN_PAGE, SPAN_MEMFD);
}

static void thread_ends(void *ring);
static AT_START void process_begins(void);
static AT_END void process_ends(void);

static void process_begins(void)
{
	const char *service = secure_getenv("OTEL_SERVICE_NAME");
	void *page =
		mmap(NULL, SPAN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || madvise(page, SPAN_PAGE, MADV_WIPEONFORK))
		return;
	all.key_made = !pthread_key_create(&all.key, thread_ends);
	if (service)
		snprintf(all.service, sizeof(all.service), "%s", service);
	all.last_epoch = EPOCH_FIRST;
	memory_make();
	all.epoch = page;
	atomic_store(all.epoch, EPOCH_FIRST);
}

/* Where it is asked for: a program that ends at once stays until a recorder has found what it marked. */
static void process_ends(void)
{
	const char *text = secure_getenv("WEIR_SPAN_WAIT_MS");
	uint64_t left = text ? strtoull(text, NULL, 10) : 0;

	if (left > WAIT_MS_MAX)
		left = WAIT_MS_MAX;
	for (; left && all.control && all.control->pid == getpid() && all.control->rings &&
	       *weir_span_on_ == SPAN_EARLY;
	     left--)
		usleep(1000);
	/* The library may be unmapped now (dlclose): no thread is to call thread_ends() any more. */
	if (all.key_made)
		pthread_key_delete(all.key);
}

/* The first of a forked child's threads that marks a span makes the child's memory. */
static uint64_t epoch_made(void)
{
	int saved = errno;
	uint64_t e = 0;

	if (atomic_compare_exchange_strong(all.epoch, &e, EPOCH_MAKING)) {
		memory_make();
		e = ++all.last_epoch;
		atomic_store(all.epoch, e);
	}
	while (e == EPOCH_MAKING) {
		sched_yield();
		e = atomic_load(all.epoch);
	}
	errno = saved;
	return e;
}

static void lost_add(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Whether what begins now is to be kept. */
static bool is_on(void)
{
	uint32_t on = *weir_span_on_, early = SPAN_EARLY;

	if (likely(on == SPAN_ON))
		return true;
	if (on != SPAN_EARLY)
		return false;
	if (monotonic_ns() - all.control->born < SPAN_EARLY_NS)
		return true;
	__atomic_compare_exchange_n(&all.control->on, &early, SPAN_OFF, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return early == SPAN_ON;
}

/* ---- a thread's ring ---- */

static struct span_ring *ring_at(uint32_t i)
{
	return (struct span_ring *)(all.areas + (uint64_t)i * (SPAN_PAGE + all.ring_bytes));
}

/* One that a thread left and that was read to its end. */
static struct span_ring *ring_reuse(void)
{
	uint32_t count = __atomic_load_n(&all.control->rings, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count && i < SPAN_RING_MAX; i++) {
		struct span_ring *r = ring_at(i);
		uint32_t left = SPAN_RING_LEFT;

		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == SPAN_RING_LEFT &&
		    __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) == r->head &&
		    __atomic_compare_exchange_n(&r->state, &left, SPAN_RING_USED, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return r;
	}
	return NULL;
}

static struct span_ring *ring_new(void)
{
	uint32_t i = __atomic_load_n(&all.control->rings, __ATOMIC_RELAXED);
	struct span_ring *r;

	do {
		if (i >= SPAN_RING_MAX)
			return NULL;
		r = ring_at(i);
		if (mprotect(r, SPAN_PAGE + all.ring_bytes, PROT_READ | PROT_WRITE))
			return NULL;
	} while (!__atomic_compare_exchange_n(&all.control->rings, &i, i + 1, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	r->state = SPAN_RING_USED;
	return r;
}

/* Runs as a thread ends, also after it ended spans in destructors of others. */
static void thread_ends(void *ring)
{
	struct span_ring *r = ring;

	if (!all.epoch || self.ring != r || self.epoch != atomic_load(all.epoch))
		return;
	self.epoch = 0;
	self.ring = NULL;
	__atomic_store_n(&r->state, SPAN_RING_LEFT, __ATOMIC_RELEASE);
}

/* splitmix64, by Vigna and Steele: numbers of a state that goes on by CHANCE_STEP. */
static uint64_t chance_of(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t chance(struct writer *w)
{
	uint64_t x;

	do {
		x = chance_of(w->chance += CHANCE_STEP);
	} while (!x);
	return x;
}

/* A number that the kernel draws; salt: an address of this thread, for where it has none yet. */
static uint64_t chance_seed(const void *salt)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = monotonic_ns() * CHANCE_STEP ^ (uintptr_t)salt;
	return seed;
}

static uint64_t now(void)
{
#if defined(__x86_64__)
	if (likely(all.control->clock == SPAN_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
#endif
	return monotonic_ns();
}

/*
 * A place for `need` bytes, so that `spare` further ones still find room behind it; NULL: there is none. Without a reader that
 * goes on, this is what a call costs.
 */
static void *room(struct writer *w, uint32_t need, uint64_t spare)
{
	const uint64_t bytes = all.ring_bytes;
	uint64_t pos = w->head & (bytes - 1), fill = bytes - pos < need ? bytes - pos : 0;
	struct span_head *h;

	if (unlikely(w->head + fill + need + spare - w->tail > bytes)) {
		w->tail = __atomic_load_n(&w->ring->tail, __ATOMIC_ACQUIRE);
		if (w->head + fill + need + spare - w->tail > bytes)
			return NULL;
	}
	if (unlikely(fill)) {
		h = (struct span_head *)(w->data + pos);
		h->size = (uint16_t)fill; /* 8 bytes at least: its time may not be there */
		h->type = SPAN_FILL;
		w->head += fill;
		pos = 0;
	}
	return w->data + pos;
}

static void publish(struct writer *w, uint32_t size)
{
	w->head += size;
	__atomic_store_n(&w->ring->head, w->head, __ATOMIC_RELEASE);
}

static struct span_head head_of(uint32_t size, enum span_type type, unsigned int flags,
				uint32_t name)
{
	return (struct span_head){(uint16_t)size, (uint8_t)type, (uint8_t)flags, name, now()};
}

static void thread_record(struct writer *w, int32_t tid)
{
	const uint32_t size = sizeof(struct span_thread);
	struct span_thread *r = room(w, size, 0);

	if (!r) /* an empty ring has room */
		return;
	*r = (struct span_thread){.head = head_of(size, SPAN_THREAD, 0, 0), .tid = tid};
	publish(w, size);
}

/* Gives the thread a ring of the memory of this epoch. */
static void writer_attach(struct writer *w, uint64_t epoch)
{
	const struct writer before = *w;
	bool child_of_vfork = all.control && all.control->pid != getpid();
	struct span_ring *r = !all.control || child_of_vfork ? NULL : ring_reuse();
	int32_t tid = (int32_t)syscall(SYS_gettid);

	if (!r && all.control && !child_of_vfork)
		r = ring_new();
	if (child_of_vfork) /* the thread that waits for it goes on with this memory */
		return;
	/* A child goes on below the span in which it was forked, with other chances. */
	*w = (struct writer){.epoch = epoch,
			     .ring = r,
			     .busy = 1,
			     .span = before.span,
			     .trace = {before.trace[0], before.trace[1]}};
	w->chance = chance_seed(w);
	if (!r)
		return;
	w->data = (uint8_t *)r + SPAN_PAGE;
	w->head = w->tail = r->head;
	r->tid = tid;
	r->ended_elsewhere = 0;
	thread_record(w, tid);
	if (all.key_made)
		pthread_setspecific(all.key, r);
}

/*
 * Begins writing: the thread's ring, to be given back by writer_done(). NULL: nothing is to be written, or it was counted as lost.
 * begins: what begins now, which is kept only while somebody records.
 */
static struct writer *writer_take(bool begins)
{
	struct writer *w = &self;
	uint64_t epoch;

	if (unlikely(!all.epoch))
		return NULL;
	if (unlikely(w->busy)) { /* in a signal handler, upon itself */
		if (all.control)
			lost_add(&all.control->lost);
		return NULL;
	}
	w->busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	epoch = atomic_load_explicit(all.epoch, memory_order_acquire);
	if (unlikely(epoch < EPOCH_FIRST))
		epoch = epoch_made();
	if (all.control && (!begins || is_on())) {
		if (unlikely(w->epoch != epoch))
			writer_attach(w, epoch);
		if (likely(w->epoch == epoch && w->ring))
			return w;
		lost_add(&all.control->lost);
	}
	w->busy = 0;
	return NULL;
}

static void writer_done(struct writer *w)
{
	atomic_signal_fence(memory_order_seq_cst);
	w->busy = 0;
}

/* ---- names ---- */

static struct span_name *name_at(uint32_t id)
{
	return (struct span_name *)(all.names + (uint64_t)id * 8);
}

static uint32_t name_hash(const char *text, size_t len)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * 16777619u;
	return h;
}

/* The id of a text, which is copied where it is new. 0: there is no room for it. To be called by one thread at a time. */
static uint32_t name_add(const char *text, size_t len)
{
	const uint32_t used = all.control->name_used,
		       size = (uint32_t)(sizeof(struct span_name) + len + 1 + 7) & ~7u;
	uint32_t slot = name_hash(text, len) & (NAME_SLOTS - 1);
	struct span_name *n;

	for (; all.by_text[slot]; slot = (slot + 1) & (NAME_SLOTS - 1)) {
		n = name_at(all.by_text[slot]);
		if (n->len == len && !memcmp(n->text, text, len))
			return all.by_text[slot];
	}
	if (all.name_count >= NAME_SLOTS / 4 * 3 || used + size > SPAN_NAME_BYTES)
		return 0;
	n = name_at(used / 8);
	n->len = (uint16_t)len;
	memcpy(n->text, text, len);
	n->text[len] = 0;
	all.name_count++;
	all.by_text[slot] = used / 8;
	__atomic_store_n(&all.control->name_used, used + size, __ATOMIC_RELEASE);
	return used / 8;
}

static uint32_t name_id_slow(const char *text, _Atomic(uint32_t) *guess)
{
	size_t len = strnlen(text, SPAN_NAME_LEN);
	uint32_t id;

	if (atomic_flag_test_and_set_explicit(&all.names_busy, memory_order_acquire))
		return 0; /* another thread adds one */
	id = name_add(text, len);
	atomic_flag_clear_explicit(&all.names_busy, memory_order_release);
	atomic_store_explicit(guess, id, memory_order_release);
	return id;
}

/* The id of a text; 0: it has to go with the record. Mostly it is a literal, which the last call had at this address too. */
static uint32_t name_id(const char *text)
{
	uint64_t hash = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15ull;
	_Atomic(uint32_t) *guess = &all.by_pointer[hash >> 54];
	uint32_t id = atomic_load_explicit(guess, memory_order_acquire);

	_Static_assert(POINTER_IDS == 1 << 10, "the hash's upper bits");
	return likely(id && !strcmp(name_at(id)->text, text)) ? id : name_id_slow(text, guess);
}

/* ---- records ---- */

static uint32_t size_up(size_t size)
{
	return (uint32_t)(size + 7) & ~7u;
}

/* Room that ends keep: those of open spans, and a filler before one of them. */
static uint64_t ends_spare(struct writer *w)
{
	uint64_t elsewhere = __atomic_exchange_n(&w->ring->ended_elsewhere, 0, __ATOMIC_RELAXED) *
			     sizeof(struct span_end);

	w->ends -= elsewhere < w->ends ? elsewhere : w->ends;
	return w->ends + sizeof(struct span_end);
}

/* The same without a look at other threads, for a ring that is far from full. */
static void *room_beside_ends(struct writer *w, uint32_t need, uint64_t more)
{
	void *p = room(w, need, w->ends + more + sizeof(struct span_end));

	return likely(p) ? p : room(w, need, ends_spare(w) + more);
}

static void begin_write(struct writer *w, struct weir_span *s, const char *name,
			enum weir_span_kind kind, uint64_t parent)
{
	uint32_t id = name_id(name);
	size_t len = id ? 0 : strnlen(name, SPAN_NAME_LEN);
	uint32_t size = size_up(sizeof(struct span_begin) + len);
	struct span_begin *r = room_beside_ends(w, size, sizeof(struct span_end));

	if (unlikely(!r)) {
		w->ring->lost_begins++;
		return;
	}
	s->id = chance(w);
	s->failed = 0;
	s->ring = (uint32_t)(((uint8_t *)w->ring - all.areas) / (SPAN_PAGE + all.ring_bytes));
	r->span = s->id;
	r->parent = parent;
	r->trace[0] = s->trace[0];
	r->trace[1] = s->trace[1];
	r->name_len = (uint32_t)len;
	r->pad = 0;
	memcpy(r + 1, name, len);
	r->head = head_of(size, SPAN_BEGIN, (unsigned int)kind << SPAN_KIND_SHIFT, id);
	publish(w, size);
	w->ends += sizeof(struct span_end);
	s->outer = w->span;
	s->outer_trace[0] = w->trace[0];
	s->outer_trace[1] = w->trace[1];
	w->span = s->id;
	w->trace[0] = s->trace[0];
	w->trace[1] = s->trace[1];
}

EXPORT void weir_span_begin_(struct weir_span *s, const char *name, enum weir_span_kind kind,
			     const struct weir_span_context *parent)
{
	struct writer *w = writer_take(true);
	uint64_t of = 0;

	s->id = 0;
	if (!w)
		return;
	if (parent && parent->span) {
		of = parent->span;
		s->trace[0] = parent->trace[0];
		s->trace[1] = parent->trace[1];
	} else if (!parent && w->span) {
		of = w->span;
		s->trace[0] = w->trace[0];
		s->trace[1] = w->trace[1];
	} else {
		s->trace[0] = chance(w);
		s->trace[1] = chance(w);
	}
	begin_write(w, s, name, kind, of);
	writer_done(w);
}

/* An end has had its room since the begin, unless another thread writes it. */
static struct span_end *end_room(struct writer *w, const struct weir_span *s)
{
	const uint32_t size = sizeof(struct span_end);

	if (likely((uint8_t *)w->ring - all.areas ==
		   (ptrdiff_t)((uint64_t)s->ring * (SPAN_PAGE + all.ring_bytes)))) {
		w->ends -= w->ends < size ? w->ends : size;
		return room(w, size, 0);
	}
	if (s->ring < SPAN_RING_MAX &&
	    s->ring < __atomic_load_n(&all.control->rings, __ATOMIC_ACQUIRE))
		lost_add(&ring_at(s->ring)->ended_elsewhere);
	return room_beside_ends(w, size, 0);
}

EXPORT void weir_span_end_(struct weir_span *s)
{
	const uint32_t size = sizeof(struct span_end);
	struct writer *w = writer_take(false);
	struct span_end *r;

	if (!w)
		return;
	r = end_room(w, s);
	if (likely(r)) {
		r->span = s->id;
		r->head = head_of(size, SPAN_END, s->failed ? SPAN_ERROR : 0, 0);
		publish(w, size);
	} else {
		w->ring->lost_ends++;
	}
	if (likely(w->span == s->id)) {
		w->span = s->outer;
		w->trace[0] = s->outer_trace[0];
		w->trace[1] = s->outer_trace[1];
	}
	s->id = 0;
	writer_done(w);
}

static void note_write(const struct weir_span *s, const char *key, const void *value, size_t len,
		       unsigned int flags)
{
	struct writer *w = writer_take(!s);
	uint64_t span = s ? s->id : w ? w->span : 0;
	struct span_note *r;
	uint32_t id, size;
	size_t key_len;

	if (!w)
		return;
	if (span) {
		id = name_id(key);
		key_len = id ? 0 : strnlen(key, SPAN_NAME_LEN);
		size = size_up(sizeof(*r) + key_len + len);
		r = room_beside_ends(w, size, 0);
		if (likely(r)) {
			r->span = span;
			r->key_len = (uint16_t)key_len;
			r->value_len = (uint16_t)len;
			r->pad = 0;
			memcpy(r + 1, key, key_len);
			memcpy((uint8_t *)(r + 1) + key_len, value, len);
			r->head = head_of(size, SPAN_NOTE, flags, id);
			publish(w, size);
		} else {
			w->ring->lost_notes++;
		}
	}
	writer_done(w);
}

EXPORT void weir_span_note_(const struct weir_span *s, const char *key, const char *value)
{
	size_t len = value ? strnlen(value, SPAN_VALUE_LEN) : 0;

	note_write(s, key, value ? value : "", len,
		   !value	? SPAN_EVENT
		   : value[len] ? SPAN_CUT
				: 0);
}

EXPORT void weir_span_note_int_(const struct weir_span *s, const char *key, int64_t value)
{
	note_write(s, key, &value, sizeof(value), SPAN_INTEGER);
}

EXPORT int weir_span_annotate_blkin(uint64_t trace, uint64_t span, uint64_t parent,
				    const char *name, const char *service, const char *key,
				    const char *value, bool is_integer, int64_t integer)
{
	const char *texts[] = {name ? name : "", service ? service : "", key ? key : "",
			       is_integer ? (const char *)&integer
			       : value	  ? value
					  : ""};
	uint16_t lens[4] = {
		(uint16_t)strnlen(texts[0], SPAN_NAME_LEN),
		(uint16_t)strnlen(texts[1], SPAN_NAME_LEN),
		(uint16_t)strnlen(texts[2], SPAN_NAME_LEN),
		(uint16_t)(is_integer ? sizeof(integer) : strnlen(texts[3], SPAN_VALUE_LEN))};
	uint32_t size = size_up(sizeof(struct span_blkin) + lens[0] + lens[1] + lens[2] + lens[3]);
	struct writer *w = weir_span_recorded() ? writer_take(true) : NULL;
	struct span_blkin *r;
	uint8_t *at;

	if (!w)
		return 0;
	r = room_beside_ends(w, size, 0);
	if (r) {
		r->trace = trace;
		r->span = span;
		r->parent = parent;
		r->name_len = lens[0];
		r->service_len = lens[1];
		r->key_len = lens[2];
		r->value_len = lens[3];
		at = (uint8_t *)(r + 1);
		for (int i = 0; i < 4; at += lens[i++])
			memcpy(at, texts[i], lens[i]);
		r->head = head_of(size, SPAN_BLKIN,
				  is_integer	   ? SPAN_INTEGER
				  : !value	   ? SPAN_EVENT
				  : value[lens[3]] ? SPAN_CUT
						   : 0,
				  0);
		publish(w, size);
	} else {
		w->ring->lost_notes++;
	}
	writer_done(w);
	return 0;
}

/* A call for each seed alone: programs make an id for each request, recorded or not. What was forked asks until it has an epoch. */
EXPORT int64_t weir_span_new_id(void)
{
	static __thread struct {
		uint64_t epoch, chance;
	} ids AT_ONCE;
	uint64_t epoch = all.epoch ? atomic_load(all.epoch) : 0, id;

	do {
		if (likely(ids.epoch == epoch && epoch >= EPOCH_FIRST)) {
			/* at once, for signal handlers */
			id = chance_of(
				__atomic_add_fetch(&ids.chance, CHANCE_STEP, __ATOMIC_RELAXED));
		} else {
			id = ids.chance = chance_seed(&ids);
			ids.epoch = epoch;
		}
		id &= INT64_MAX;
	} while (!id);
	return (int64_t)id;
}

/* ---- contexts ---- */

EXPORT bool weir_span_context(const struct weir_span *s, struct weir_span_context *ret)
{
	*ret = (struct weir_span_context){0};
	if (s && s->id)
		*ret = (struct weir_span_context){{s->trace[0], s->trace[1]}, s->id, 1, 0};
	else if (!s && self.span)
		*ret = (struct weir_span_context){{self.trace[0], self.trace[1]}, self.span, 1, 0};
	return ret->span != 0;
}

EXPORT void weir_span_set_current(const struct weir_span_context *context,
				  struct weir_span_context *ret_before)
{
	struct weir_span_context before, none = {0};

	weir_span_context(NULL, &before);
	if (!context)
		context = &none;
	self.span = context->span;
	self.trace[0] = context->trace[0];
	self.trace[1] = context->trace[1];
	if (ret_before)
		*ret_before = before;
}

EXPORT void weir_span_service(const char *name)
{
	snprintf(all.service, sizeof(all.service), "%s", name);
	if (all.control && all.control->pid == getpid())
		memcpy(all.control->service, all.service, sizeof(all.service));
}
