/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h: the memory that a program with libweir-span shares with a recorder, and the records in it.
 *
 * It is one memfd, "weir-span", sealed against a change of its size:
 *   0          struct span_control
 *   4096       names: entries of struct span_name, each at a multiple of 8; a name's id is its offset here / 8, never 0
 *   + names    ring_max areas of 4096 + ring_bytes: struct span_ring, and from its second page on the records
 * A ring has one writer, a thread of the program. Positions count bytes and never wrap; a record never crosses the end
 * of a ring: SPAN_FILL pads the rest. The program owns all of it: readers copy, and check what they copied.
 */
#pragma once

#include <stdint.h>

#define EXPORT __attribute__((visibility("default"))) /* libweir-span hides everything else */

#define SPAN_MEMFD	"weir-span" /* name of the memfd and, by prctl(PR_SET_VMA), of its mapping */
#define SPAN_MAGIC	0x4e41505352494557ull /* "WEIRSPAN" */
#define SPAN_VERSION	1
#define SPAN_PAGE	4096
#define SPAN_RING_MAX	256	   /* concurrent threads */
#define SPAN_RING_BYTES (1u << 20) /* some 9,000 spans with a note */
#define SPAN_RING_LEAST (1u << 14)
#define SPAN_RING_MOST	(1u << 24)
#define SPAN_NAME_BYTES (1u << 20)
#define SPAN_NAME_LEN	255  /* longest name or key; longer ones are truncated */
#define SPAN_VALUE_LEN	4000 /* longest value; longer ones are truncated and marked SPAN_CUT */
#define SPAN_RECORD_MAX 8192

/* Values of span_control.on. The inlined check of weir-span.h tests for 0. */
enum span_on {
	SPAN_OFF,
	SPAN_ON,    /* set and cleared by a recorder */
	SPAN_EARLY, /* set at the start: keeps spans for a recorder that is about to attach */
	SPAN_ASK, /* set by a recorder in a forked child's inherited memory: the child creates its own */
};
#define SPAN_EARLY_NS 1000000000ll /* for this time; then the program clears it */

enum span_clock {
	SPAN_CLOCK_MONOTONIC = 1, /* ns of CLOCK_MONOTONIC */
	SPAN_CLOCK_TSC =
		2, /* cycles of the time stamp counter, on which the kernel's clock is based */
};

struct span_control {
	uint64_t magic;
	uint32_t version;
	int32_t pid; /* in the program's own pid namespace; if different, a child inherited this */
	uint32_t clock;
	uint32_t ring_max, ring_bytes, name_bytes;
	uint64_t born; /* CLOCK_MONOTONIC */
	uint8_t pad0[24];
	uint32_t on; /* enum span_on */
	uint8_t pad1[60];
	uint32_t rings;	    /* areas that are or were in use, from the first one on */
	uint32_t name_used; /* bytes of names */
	uint64_t
		lost; /* records of threads without a ring, or of signal handlers that interrupted the library */
	uint8_t pad2[48];
	char service[64]; /* "": not set */
};
_Static_assert(sizeof(struct span_control) == 256, "struct span_control");

struct span_name {
	uint16_t len;
	char text[]; /* NUL-terminated */
};

enum span_ring_state { SPAN_RING_FREE, SPAN_RING_USED, SPAN_RING_LEFT /* its thread ended */ };

struct span_ring {
	uint64_t head;
	uint64_t lost_begins;		/* spans without any record, */
	uint64_t lost_notes, lost_ends; /* and missing records of other spans */
	int32_t tid; /* in the program's own pid namespace, as in the last SPAN_THREAD */
	uint32_t state;
	uint64_t
		ended_elsewhere; /* spans that began here and ended on other threads: used by the writer only */
	uint8_t pad0[16];
	uint64_t tail; /* written by the recorder */
	uint8_t pad1[56];
};
_Static_assert(sizeof(struct span_ring) == 128, "struct span_ring");

enum span_type {
	SPAN_FILL = 1, /* only struct span_head, but of any size */
	SPAN_THREAD,   /* struct span_thread: the writer of the records that follow */
	SPAN_BEGIN,    /* struct span_begin, and the name if head.name is 0 */
	SPAN_NOTE,     /* struct span_note, the key if head.name is 0, the value */
	SPAN_END,      /* struct span_end */
	SPAN_BLKIN,    /* struct span_blkin, and three texts */
	SPAN_TYPES
};

enum span_flag {
	SPAN_ERROR = 1,	     /* of an end: the span failed */
	SPAN_CUT = 2,	     /* of a note: the value was truncated */
	SPAN_INTEGER = 4,    /* the value is an int64_t */
	SPAN_EVENT = 8,	     /* of a note: no value */
	SPAN_KIND_SHIFT = 4, /* of a begin: the kind, in the upper bits */
};

struct span_head {
	uint16_t size; /* of the whole record, a multiple of 8 */
	uint8_t type, flags;
	uint32_t name; /* id; 0: the text follows the struct */
	uint64_t time; /* in the unit of span_control.clock */
};

struct span_thread {
	struct span_head head;
	int32_t tid;
	uint32_t pad;
};

struct span_begin {
	struct span_head head;
	uint64_t span, parent;	/* ids; parent 0: none */
	uint64_t trace[2];	/* high half first */
	uint32_t name_len, pad; /* of the text, if head.name is 0 */
};
_Static_assert(sizeof(struct span_begin) == 56, "struct span_begin");

struct span_note {
	struct span_head head;
	uint64_t span;
	uint16_t key_len, value_len; /* of the texts that follow, excluding NUL */
	uint32_t pad;
};
_Static_assert(sizeof(struct span_note) == 32, "struct span_note");

struct span_end {
	struct span_head head;
	uint64_t span;
};

/* An annotation of BlkKin; head.name is 0. The names of the trace and the service, the key and the value follow. */
struct span_blkin {
	struct span_head head;
	uint64_t trace, span, parent;
	uint16_t name_len, service_len, key_len, value_len;
};
_Static_assert(sizeof(struct span_blkin) == 48, "struct span_blkin");

static inline uint64_t span_ring_at(uint32_t name_bytes, uint32_t ring_bytes, uint32_t i)
{
	return SPAN_PAGE + name_bytes + (uint64_t)i * (SPAN_PAGE + (uint64_t)ring_bytes);
}
