/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.c: libweir-span: writes records of spans to memory shared with a recorder (layout.h). Recording makes no system
 * calls: each thread writes to its own ring, and timestamps are read from the processor's counter if the kernel's clock
 * is based on it.
 *
 * A forked child inherits its parent's mapping, except the rings (MADV_DONTFORK), and must not write to it. A page that
 * the kernel clears in a child (MADV_WIPEONFORK, after any clone()) holds the epoch that a thread compares before it
 * writes; if it differs, the process creates its own memory, or the thread takes a ring.
 */
#include "internal.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_NONE   UINT32_MAX /* of a span that is published but not recorded */
#define CHANCE_STEP 0x9e3779b97f4a7c15ull

static void lost_add(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Whether spans that begin now are kept. */
static bool is_on(void)
{
	struct span_control *c = weir_span_all_.control;
	uint32_t on = __atomic_load_n(&c->on, __ATOMIC_RELAXED), early = SPAN_EARLY;

	if (likely(on == SPAN_ON))
		return true;
	if (on != SPAN_EARLY)
		return false;
	if (weir_span_monotonic_ns_() - c->born < SPAN_EARLY_NS)
		return true;
	__atomic_compare_exchange_n(&c->on, &early, SPAN_OFF, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	return early == SPAN_ON;
}

/* splitmix64, by Vigna and Steele: the output for a state that advances by CHANCE_STEP. */
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

/* A random number from the kernel; salt: an address of this thread, in case the kernel has none yet. */
static uint64_t chance_seed(const void *salt)
{
	uint64_t seed;
	int saved = errno;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = weir_span_monotonic_ns_() * CHANCE_STEP ^ (uint64_t)getpid() << 40 ^
		       (uintptr_t)salt;
	errno = saved;
	return seed;
}

static uint64_t now(void)
{
#if defined(__x86_64__)
	if (likely(weir_span_all_.control->clock == SPAN_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
#endif
	return weir_span_monotonic_ns_();
}

/*
 * Reserves `need` bytes such that `spare` further bytes still fit; NULL: no room. While the reader makes no progress,
 * this is the entire cost of a call.
 */
static void *room(struct writer *w, uint32_t need, uint64_t spare)
{
	const uint64_t bytes = weir_span_all_.ring_bytes;
	uint64_t pos = w->head & (bytes - 1), fill = bytes - pos < need ? bytes - pos : 0;
	struct span_head *h;

	if (unlikely(w->head + fill + need + spare - w->tail > bytes)) {
		w->tail = __atomic_load_n(&w->ring->tail, __ATOMIC_ACQUIRE);
		if (w->head + fill + need + spare - w->tail > bytes)
			return NULL;
	}
	if (unlikely(fill)) {
		h = (struct span_head *)(w->data + pos);
		h->size = (uint16_t)fill; /* may be only 8 bytes, without room for a time */
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

	if (!r) /* cannot fail in an empty ring */
		return;
	*r = (struct span_thread){.head = head_of(size, SPAN_THREAD, 0, 0), .tid = tid};
	publish(w, size);
}

/* Called before a thread's first span in a process: a forked child needs a different seed. */
static void writer_meet(struct writer *w, uint64_t epoch)
{
	w->chance = chance_seed(w);
	weir_span_publish_thread_(w);
	w->met = epoch;
}

/* Gives the thread a ring in the memory of this epoch. In a child, the span in which it was forked stays the innermost. */
static void writer_attach(struct writer *w, uint64_t epoch)
{
	struct span_ring *r = NULL;
	int saved = errno;
	int32_t tid;

	if (weir_span_all_.control->pid !=
	    getpid()) /* after vfork() the waiting thread continues with it */
		return;
	r = weir_span_ring_reuse_();
	if (!r)
		r = weir_span_ring_new_();
	if (w->met != epoch)
		writer_meet(w, epoch);
	w->epoch = epoch;
	w->ring = r;
	w->ends = 0;
	if (r) {
		tid = (int32_t)syscall(SYS_gettid);
		w->data = (uint8_t *)r + SPAN_PAGE;
		w->head = w->tail = r->head;
		r->tid = tid;
		r->ended_elsewhere = 0;
		thread_record(w, tid);
		if (weir_span_all_.key_made)
			pthread_setspecific(weir_span_all_.key, r);
	}
	errno = saved;
}

static struct writer *writer_lost(void)
{
	struct span_control *c = __atomic_load_n(&weir_span_all_.control, __ATOMIC_RELAXED);

	if (c)
		lost_add(&c->lost);
	return NULL;
}

/*
 * Begins writing: returns the writer of this thread, to be released by writer_done(). NULL: nothing is to be written,
 * or it was counted as lost. begins: a span begins, which is kept only while a recorder is attached.
 */
static struct writer *writer_take(bool begins)
{
	struct writer *w = &weir_span_self_;
	uint64_t epoch;

	if (unlikely(!weir_span_all_.epoch))
		return NULL;
	if (unlikely(w->busy)) /* in a signal handler that interrupted it, or it has left */
		return writer_lost();
	w->busy = WRITER_BUSY;
	atomic_signal_fence(memory_order_seq_cst);
	epoch = atomic_load_explicit(weir_span_all_.epoch, memory_order_acquire);
	if (unlikely(epoch < EPOCH_FIRST))
		epoch = weir_span_epoch_();
	if (unlikely(epoch == EPOCH_MAKING)) {
		w->busy = WRITER_FREE;
		return writer_lost();
	}
	if (weir_span_all_.control && (!begins || is_on())) {
		if (unlikely(w->epoch != epoch))
			writer_attach(w, epoch);
		if (likely(w->epoch == epoch && w->ring))
			return w;
		writer_lost();
	}
	w->busy = WRITER_FREE;
	return NULL;
}

static void writer_done(struct writer *w)
{
	atomic_signal_fence(memory_order_seq_cst);
	w->busy = WRITER_FREE;
}

/* ---- publishing the innermost span ---- */

/* `valid` is set only while the ids are consistent: readers look at a thread that is stopped or in a call. */
static void context_publish(struct writer *w)
{
	struct span_published *p = &w->published;

	p->valid = 0;
	if (!w->span)
		return;
	atomic_signal_fence(memory_order_seq_cst);
	p->trace[0] = htobe64(w->trace[0]);
	p->trace[1] = htobe64(w->trace[1]);
	p->span = htobe64(w->span);
	atomic_signal_fence(memory_order_seq_cst);
	p->valid = 1;
}

static void span_enter(struct writer *w, struct weir_span *s)
{
	s->outer = w->span;
	s->outer_trace[0] = w->trace[0];
	s->outer_trace[1] = w->trace[1];
	w->span = s->id;
	w->trace[0] = s->trace[0];
	w->trace[1] = s->trace[1];
	context_publish(w);
}

static void span_leave(struct writer *w, const struct weir_span *s)
{
	if (unlikely(w->span != s->id))
		return;
	w->span = s->outer;
	w->trace[0] = s->outer_trace[0];
	w->trace[1] = s->outer_trace[1];
	context_publish(w);
}

/* ---- names ---- */

static struct span_name *name_at(uint32_t id)
{
	return (struct span_name *)(weir_span_all_.names + (uint64_t)id * 8);
}

static uint32_t name_hash(const char *text, size_t len)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * 16777619u;
	return h;
}

/* The id of a text, which is copied if new. 0: no room. Must be called by one thread at a time. */
static uint32_t name_add(const char *text, size_t len)
{
	const uint32_t used = weir_span_all_.control->name_used,
		       size = (uint32_t)(sizeof(struct span_name) + len + 1 + 7) & ~7u;
	uint32_t slot = name_hash(text, len) & (NAME_SLOTS - 1);
	struct span_name *n;

	for (; weir_span_all_.by_text[slot]; slot = (slot + 1) & (NAME_SLOTS - 1)) {
		n = name_at(weir_span_all_.by_text[slot]);
		if (n->len == len && !memcmp(n->text, text, len))
			return weir_span_all_.by_text[slot];
	}
	if (weir_span_all_.name_count >= NAME_SLOTS / 4 * 3 || used + size > SPAN_NAME_BYTES)
		return 0;
	n = name_at(used / 8);
	n->len = (uint16_t)len;
	memcpy(n->text, text, len);
	n->text[len] = 0;
	weir_span_all_.name_count++;
	weir_span_all_.by_text[slot] = used / 8;
	__atomic_store_n(&weir_span_all_.control->name_used, used + size, __ATOMIC_RELEASE);
	return used / 8;
}

static uint32_t name_id_slow(const char *text, _Atomic(uint32_t) *guess)
{
	size_t len = strnlen(text, SPAN_NAME_LEN);
	uint32_t id;

	if (atomic_flag_test_and_set_explicit(&weir_span_all_.names_busy, memory_order_acquire))
		return 0; /* another thread is adding one */
	id = name_add(text, len);
	atomic_flag_clear_explicit(&weir_span_all_.names_busy, memory_order_release);
	atomic_store_explicit(guess, id, memory_order_release);
	return id;
}

/* The id of a text; 0: it must be sent with the record. Usually it is a literal, at the same address as in the last
 * call. */
static uint32_t name_id(const char *text)
{
	uint64_t hash = (uint64_t)(uintptr_t)text * 0x9e3779b97f4a7c15ull;
	_Atomic(uint32_t) *guess = &weir_span_all_.by_pointer[hash >> 54];
	uint32_t id = atomic_load_explicit(guess, memory_order_acquire);

	_Static_assert(POINTER_IDS == 1 << 10, "the hash's upper bits");
	return likely(id && !strcmp(name_at(id)->text, text)) ? id : name_id_slow(text, guess);
}

/* ---- records ---- */

static uint32_t size_up(size_t size)
{
	return (uint32_t)(size + 7) & ~7u;
}

/* The space reserved for ends of open spans, plus a filler before one of them. */
static uint64_t ends_spare(struct writer *w)
{
	uint64_t elsewhere = __atomic_exchange_n(&w->ring->ended_elsewhere, 0, __ATOMIC_RELAXED) *
			     sizeof(struct span_end);

	w->ends -= elsewhere < w->ends ? elsewhere : w->ends;
	return w->ends + sizeof(struct span_end);
}

/* The same without checking other threads, for a ring that is far from full. */
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
	s->ring = (uint32_t)(((uint8_t *)w->ring - weir_span_all_.areas) /
			     (SPAN_PAGE + weir_span_all_.ring_bytes));
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
	span_enter(w, s);
}

/* The parent's id, 0: none; and the trace. */
static uint64_t parent_choose(struct writer *w, struct weir_span *s,
			      const struct weir_span_context *parent)
{
	if (parent && parent->span) {
		s->trace[0] = parent->trace[0];
		s->trace[1] = parent->trace[1];
		return parent->span;
	}
	if (!parent && w->span) {
		s->trace[0] = w->trace[0];
		s->trace[1] = w->trace[1];
		return w->span;
	}
	s->trace[0] = chance(w);
	s->trace[1] = chance(w);
	return 0;
}

/* Begins a span that is published but not recorded. */
static void begin_published(struct weir_span *s, const struct weir_span_context *parent)
{
	struct writer *w = &weir_span_self_;
	uint64_t epoch = weir_span_all_.epoch ? atomic_load(weir_span_all_.epoch) : 0;

	if (w->busy || epoch < EPOCH_FIRST)
		return;
	w->busy = WRITER_BUSY;
	atomic_signal_fence(memory_order_seq_cst);
	if (w->met != epoch) {
		int saved = errno;

		writer_meet(w, epoch);
		errno = saved;
	}
	parent_choose(w, s, parent);
	s->id = chance(w);
	s->failed = 0;
	s->ring = RING_NONE;
	span_enter(w, s);
	writer_done(w);
}

EXPORT void weir_span_begin_(struct weir_span *s, const char *name, enum weir_span_kind kind,
			     const struct weir_span_context *parent)
{
	struct writer *w = writer_take(true);

	s->id = 0;
	if (likely(w)) {
		begin_write(w, s, name, kind, parent_choose(w, s, parent));
		writer_done(w);
	} else if (weir_span_all_.publishing) {
		begin_published(s, parent);
	}
}

/* The space of an end was reserved when the span began, unless another thread writes it. */
static struct span_end *end_room(struct writer *w, const struct weir_span *s)
{
	const uint32_t size = sizeof(struct span_end);

	if (likely((uint8_t *)w->ring - weir_span_all_.areas ==
		   (ptrdiff_t)((uint64_t)s->ring * (SPAN_PAGE + weir_span_all_.ring_bytes)))) {
		w->ends -= w->ends < size ? w->ends : size;
		return room(w, size, 0);
	}
	if (s->ring < SPAN_RING_MAX &&
	    s->ring < __atomic_load_n(&weir_span_all_.control->rings, __ATOMIC_ACQUIRE))
		lost_add(&weir_span_ring_at_(s->ring)->ended_elsewhere);
	return room_beside_ends(w, size, 0);
}

EXPORT void weir_span_end_(struct weir_span *s)
{
	const uint32_t size = sizeof(struct span_end);
	struct span_end *r;
	struct writer *w;

	if (unlikely(s->ring == RING_NONE)) {
		span_leave(&weir_span_self_, s);
		s->id = 0;
		return;
	}
	w = writer_take(false);
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
	span_leave(w, s);
	s->id = 0;
	writer_done(w);
}

static void note_write(const struct weir_span *s, const char *key, const void *value, size_t len,
		       unsigned int flags)
{
	struct writer *w = s && s->ring == RING_NONE ? NULL : writer_take(!s);
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

/* Only seeding makes a system call: programs create an id for each request, recorded or not. A forked process makes one
 * each time until it has an epoch. */
EXPORT int64_t weir_span_new_id(void)
{
	static __thread struct {
		uint64_t epoch, chance;
	} ids AT_ONCE;
	uint64_t epoch = weir_span_all_.epoch ? atomic_load(weir_span_all_.epoch) : 0, id;

	do {
		if (likely(ids.epoch == epoch && epoch >= EPOCH_FIRST)) {
			/* atomic, for signal handlers */
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
	else if (!s && weir_span_self_.span)
		*ret = (struct weir_span_context){
			{weir_span_self_.trace[0], weir_span_self_.trace[1]},
			weir_span_self_.span,
			1,
			0};
	return ret->span != 0;
}

EXPORT void weir_span_set_current(const struct weir_span_context *context,
				  struct weir_span_context *ret_before)
{
	struct weir_span_context before, none = {0};

	weir_span_context(NULL, &before);
	if (!context)
		context = &none;
	weir_span_self_.span = context->span;
	weir_span_self_.trace[0] = context->trace[0];
	weir_span_self_.trace[1] = context->trace[1];
	if (weir_span_recorded() && weir_span_all_.epoch && !weir_span_self_.met)
		weir_span_publish_thread_(&weir_span_self_);
	context_publish(&weir_span_self_);
	if (ret_before)
		*ret_before = before;
}

EXPORT void weir_span_service(const char *name)
{
	int saved;

	snprintf(weir_span_all_.service, sizeof(weir_span_all_.service), "%s", name);
	if (!weir_span_all_.control || weir_span_all_.control->pid != getpid())
		return;
	memcpy(weir_span_all_.control->service, weir_span_all_.service,
	       sizeof(weir_span_all_.service));
	saved = errno;
	weir_span_publish_process_();
	errno = saved;
}

EXPORT void weir_span_leave(void)
{
	weir_span_self_.busy = WRITER_LEFT;
}
