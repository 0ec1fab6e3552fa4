/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of libweir-span. A program that links the archive contains these names too. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "layout.h"
#include "weir-span.h"

#pragma GCC visibility push(hidden)

#ifndef PR_SET_VMA
#	define PR_SET_VMA	     0x53564d41
#	define PR_SET_VMA_ANON_NAME 0
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define NAME_SLOTS \
	4096 /* in the table of texts; above 3/4, further names are sent with each record */
#define POINTER_IDS  1024 /* of the cache by address */
#define EPOCH_MAKING 1 /* in the page that fork() clears: another thread is creating the memory */
#define EPOCH_FIRST  2

/* The record of OpenTelemetry's thread context (OTEP 4947): the bytes of ids are in W3C's order. */
struct span_published {
	uint64_t trace[2], span;
	uint8_t valid, flags;
	uint16_t attributes_size;
};
_Static_assert(offsetof(struct span_published, attributes_size) == 26, "as others read it");

enum { WRITER_FREE, WRITER_BUSY, WRITER_LEFT /* weir_span_leave() */ };

/* Writer state of a thread. */
struct writer {
	uint64_t epoch;		/* 0 until it has a ring or was refused one */
	struct span_ring *ring; /* NULL: it was refused */
	uint8_t *data;
	uint64_t head, tail;	 /* the last tail seen */
	uint64_t ends;		 /* bytes reserved for the ends of open spans */
	uint64_t chance;	 /* random state for ids */
	uint64_t span, trace[2]; /* the innermost open span; 0: none */
	uint64_t met;		 /* the epoch in which it was seeded and its record published */
	uint32_t busy;		 /* WRITER_* */
	struct span_published published;
};

#define AT_ONCE __attribute__((tls_model("initial-exec"))) /* accessed without a call */
extern __thread struct writer weir_span_self_ AT_ONCE;

/* State of the process; recreated in a child. */
struct span_process {
	struct span_control *control; /* NULL: nothing can be recorded */
	uint8_t *names, *areas;
	uint32_t ring_bytes;
	bool publishing;	  /* spans are published even when nobody records */
	_Atomic(uint64_t) *epoch; /* in the page that fork() clears */
	uint64_t last_epoch;
	_Atomic(uint32_t) by_pointer[POINTER_IDS]; /* ids by hash of the address: a guess */
	uint32_t by_text[NAME_SLOTS], name_count;
	atomic_flag names_busy;
	pthread_key_t key; /* for its destructor */
	bool key_made;
	char service[sizeof(((struct span_control *)0)->service)];
};
extern struct span_process weir_span_all_;

static inline uint64_t weir_span_monotonic_ns_(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline struct span_ring *weir_span_ring_at_(uint32_t i)
{
	return (struct span_ring *)(weir_span_all_.areas +
				    (uint64_t)i * (SPAN_PAGE + weir_span_all_.ring_bytes));
}

/* ---- shared_memory.c ---- */

/* In a forked child: the epoch of its memory, which this thread may create; EPOCH_MAKING: another thread is creating
 * it. */
uint64_t weir_span_epoch_(void);
/* A ring whose thread ended and that was read completely, or a new one; NULL: none left. */
struct span_ring *weir_span_ring_reuse_(void);
struct span_ring *weir_span_ring_new_(void);

/* ---- publish.c ---- */

/* Publishes the process context; called again when the service name changes. */
void weir_span_publish_process_(void);
/* Publishes `w->published` as the thread's context, unless another library publishes there. */
void weir_span_publish_thread_(struct writer *w);

#pragma GCC visibility pop
