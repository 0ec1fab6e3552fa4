/* SPDX-License-Identifier: Apache-2.0 */
/* shared_memory.c: the memory shared with a recorder (layout.h), created at the start of a process and again in a
 * forked child. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "internal.h"

#define AT_START __attribute__((constructor))
#define AT_END	 __attribute__((destructor))

#define WAIT_MS_MAX 1000 /* wait for a recorder at exit */

static const volatile uint32_t never_on = SPAN_OFF, always_on = SPAN_ON;
EXPORT const volatile uint32_t *weir_span_on_ = &never_on;

__thread struct writer weir_span_self_ AT_ONCE;
struct span_process weir_span_all_;

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

/* Maps the memfd, all but its first part without access rights: unused areas cost nothing, even under mlockall(). */
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

/* Creates the memory and announces it to recorders. After a failure the library stays off. */
static void memory_make(void)
{
	const uint32_t ring_bytes = ring_bytes_wanted();
	const size_t size = span_ring_at(SPAN_NAME_BYTES, ring_bytes, SPAN_RING_MAX);
	uint8_t *p = memory_map(size);
	struct span_control *c = (struct span_control *)p;

	weir_span_on_ = weir_span_all_.publishing ? &always_on : &never_on;
	__atomic_store_n(&weir_span_all_.control, c, __ATOMIC_RELAXED);
	if (!c)
		return;
	weir_span_all_.names = p + SPAN_PAGE;
	weir_span_all_.areas = p + SPAN_PAGE + SPAN_NAME_BYTES;
	weir_span_all_.ring_bytes = ring_bytes;
	memset(weir_span_all_.by_text, 0, sizeof(weir_span_all_.by_text));
	for (size_t i = 0; i < POINTER_IDS; i++)
		atomic_store_explicit(&weir_span_all_.by_pointer[i], 0, memory_order_relaxed);
	weir_span_all_.name_count = 0;
	atomic_flag_clear(&weir_span_all_.names_busy);
	*c = (struct span_control){.magic = SPAN_MAGIC,
				   .version = SPAN_VERSION,
				   .pid = getpid(),
				   .clock = clock_kind(),
				   .ring_max = SPAN_RING_MAX,
				   .ring_bytes = ring_bytes,
				   .name_bytes = SPAN_NAME_BYTES,
				   .born = weir_span_monotonic_ns_(),
				   .name_used = 8,
				   .on = SPAN_EARLY};
	memcpy(c->service, weir_span_all_.service, sizeof(c->service));
	if (!weir_span_all_.publishing)
		weir_span_on_ = &c->on;
	/* A kernel may refuse to name such memory; recorders observe the call. */
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, p, SPAN_PAGE, SPAN_MEMFD);
	weir_span_publish_process_();
}

/*
 * If a signal handler interrupts a record and forks, the child continues with that record. It gets private memory in
 * place of the rings, which nobody reads.
 */
static void fork_child(void)
{
	struct writer *w = &weir_span_self_;
	const size_t ring = SPAN_PAGE + (size_t)weir_span_all_.ring_bytes;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
	int saved = errno;

	if (w->busy == WRITER_BUSY && weir_span_all_.control &&
	    mmap(weir_span_all_.areas, ring * SPAN_RING_MAX, PROT_READ | PROT_WRITE, flags, -1,
		 0) == MAP_FAILED &&
	    w->ring)
		mmap(w->ring, ring, PROT_READ | PROT_WRITE, flags, -1, 0);
	errno = saved;
}

static void thread_ends(void *ring);
static AT_START void process_begins(void);
static AT_END void process_ends(void);

static void process_begins(void)
{
	const char *service = secure_getenv("OTEL_SERVICE_NAME"),
		   *publish = secure_getenv("WEIR_SPAN_PUBLISH");
	void *page =
		mmap(NULL, SPAN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || madvise(page, SPAN_PAGE, MADV_WIPEONFORK))
		return;
	weir_span_all_.key_made = !pthread_key_create(&weir_span_all_.key, thread_ends);
	if (service)
		snprintf(weir_span_all_.service, sizeof(weir_span_all_.service), "%s", service);
	weir_span_all_.publishing = publish && !strcmp(publish, "1");
	weir_span_all_.last_epoch = EPOCH_FIRST;
	pthread_atfork(NULL, NULL, fork_child);
	memory_make();
	weir_span_all_.epoch = page;
	atomic_store(weir_span_all_.epoch, EPOCH_FIRST);
}

/* If requested, a program that ends at once stays until a recorder has found its spans. */
static void process_ends(void)
{
	const char *text = secure_getenv("WEIR_SPAN_WAIT_MS");
	uint64_t left = text ? strtoull(text, NULL, 10) : 0;

	if (left > WAIT_MS_MAX)
		left = WAIT_MS_MAX;
	for (; left && weir_span_all_.control && weir_span_all_.control->pid == getpid() &&
	       weir_span_all_.control->rings &&
	       __atomic_load_n(&weir_span_all_.control->on, __ATOMIC_RELAXED) == SPAN_EARLY;
	     left--)
		usleep(1000);
	/* The library may be unmapped now (dlclose): threads must no longer call thread_ends(). */
	if (weir_span_all_.key_made)
		pthread_key_delete(weir_span_all_.key);
}

/* In a forked child, the first thread that marks a span creates the memory; none waits, whatever their priorities. */
uint64_t weir_span_epoch_(void)
{
	int saved = errno;
	uint64_t e = 0;

	if (atomic_compare_exchange_strong(weir_span_all_.epoch, &e, EPOCH_MAKING)) {
		memory_make();
		e = ++weir_span_all_.last_epoch;
		atomic_store(weir_span_all_.epoch, e);
	}
	errno = saved;
	return e;
}

/* ---- a thread's ring ---- */

struct span_ring *weir_span_ring_reuse_(void)
{
	uint32_t count = __atomic_load_n(&weir_span_all_.control->rings, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count && i < SPAN_RING_MAX; i++) {
		struct span_ring *r = weir_span_ring_at_(i);
		uint32_t left = SPAN_RING_LEFT;

		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == SPAN_RING_LEFT &&
		    __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) == r->head &&
		    __atomic_compare_exchange_n(&r->state, &left, SPAN_RING_USED, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return r;
	}
	return NULL;
}

struct span_ring *weir_span_ring_new_(void)
{
	uint32_t i = __atomic_load_n(&weir_span_all_.control->rings, __ATOMIC_RELAXED);
	struct span_ring *r;

	do {
		if (i >= SPAN_RING_MAX)
			return NULL;
		r = weir_span_ring_at_(i);
		if (mprotect(r, SPAN_PAGE + weir_span_all_.ring_bytes, PROT_READ | PROT_WRITE))
			return NULL;
	} while (!__atomic_compare_exchange_n(&weir_span_all_.control->rings, &i, i + 1, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	__atomic_store_n(&r->state, SPAN_RING_USED, __ATOMIC_RELAXED);
	return r;
}

/* Runs when a thread ends, possibly after other destructors have ended spans. */
static void thread_ends(void *ring)
{
	struct span_ring *r = ring;

	if (!weir_span_all_.epoch || weir_span_self_.ring != r ||
	    weir_span_self_.epoch != atomic_load(weir_span_all_.epoch))
		return;
	weir_span_self_.epoch = 0;
	weir_span_self_.ring = NULL;
	__atomic_store_n(&r->state, SPAN_RING_LEFT, __ATOMIC_RELEASE);
}
