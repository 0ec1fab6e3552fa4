/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_rings.h: memory in which recorded programs mark spans (span/layout.h). The reader's thread copies the content of
 * their rings; the decoder attaches processes, takes the copies, and closes them.
 *
 * The program owns that memory and may write anything at any time: each word is read once, and nothing that was read is
 * trusted. It cannot remove the memory, as only files sealed against shrinking are mapped.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "span/layout.h"

#define SPAN_MEMORIES_MAX  8   /* per process: one for each library linked with libweir-span */
#define SPAN_PROCESSES_MAX 512 /* attached at once; each needs a descriptor and a mapping */

/* One moment on the processor's counter and on the kernel's monotonic clock. */
struct span_moment {
	uint64_t tsc;
	int64_t ns;
};

/* The reader's state of a ring. */
struct span_ring_read {
	uint64_t tail;
	uint64_t lost; /* count at the last look; this and the next two are the decoder's */
	int64_t last;  /* time of the last record, ns */
	int32_t tid;
	bool stopped;	    /* its data was invalid */
	const char *reason; /* why it stopped; NULL: already reported */
};

struct span_process {
	int32_t pid;
	uint64_t process_start; /* 0: unknown */
	uint64_t number;	/* of this attachment: 1, 2, ... */
	int fd;			/* of the memfd; holds the lock against other recorders */
	uint8_t *map;
	size_t size;
	/* Values when it was attached. */
	uint32_t ring_max, ring_bytes, name_bytes, clock;
	int64_t attached, born; /* monotonic; born: its creation, according to the program */
	int64_t announced; /* time of the announcement, from the kernel's record if there is one */
	bool asks;	   /* memory of an unrecorded parent, in which only the word was set */
	bool asked;	   /* and it was set before, by a recorder for which the parent has ended */
	bool left;	   /* nothing more is copied */
	uint8_t source; /* enum span_source; only SPAN_SOURCE_WEIR has memory: see span_stack.h */
	uint64_t lost;	/* of threads without a ring, count at the last look */
	bool lost_ends;
	struct map threads; /* tid in the program's pid namespace -> its last version */
	char service[64];
	struct span_ring_read *rings; /* [ring_max] */
};

/* Data copied from one ring at once; `len` bytes follow. */
struct span_chunk {
	struct span_process *process;
	uint32_t ring, len;
	int64_t until; /* all of it happened before */
	struct span_moment first, before,
		at; /* the recorder's start, the last round, and this one */
};

struct span_rings;

int span_rings_new(struct span_rings **ret);
void span_rings_free(struct span_rings *r);
DEFINE_CLEANUP(struct span_rings *, span_rings_free)

/* ---- the reader ---- */

/* Copies the content of all rings. True if a process is attached: look again soon. */
bool span_rings_copy(struct span_rings *r);

/* ---- the decoder ---- */

/*
 * Attaches the memory of a process mapped at addr, or with addr 0 all of its memories, of which there may be none.
 * Skips attached memory, unless it was attached for a child and this process created it. Adds the processes to
 * ret[SPAN_MEMORIES_MAX]. 0, or negative with *ret_why: its spans cannot be read; -ENOSPC: others can.
 */
int span_rings_attach(struct span_rings *r, int32_t pid, uint64_t addr, struct span_process **ret,
		      size_t *ret_count, const char **ret_why);
/* Copies the remaining data of a process; false: take the copies and call again. */
bool span_rings_last(struct span_rings *r, struct span_process *p);
/*
 * Stops copying from it, and turns it off. gone: its process ended, or executes another program; children that still
 * map it must create their own. They also must if another recorder asked them before.
 */
void span_rings_leave(struct span_rings *r, struct span_process *p, bool gone);
/* Frees it, after span_rings_leave(), once all of its copies were processed. */
void span_rings_detach(struct span_rings *r, struct span_process *p);
/* The data copied since the last call: consecutive chunks at multiples of 8, valid until the next call. */
struct bytes span_rings_take(struct span_rings *r);
/* The attached process at *pos, which advances; NULL: no more. Start with 0. */
struct span_process *span_rings_next(struct span_rings *r, size_t *pos);
/* Reads the text of a name to text[SPAN_NAME_LEN]; returns its length, 0: there is none. */
size_t span_name_read(const struct span_process *p, uint32_t id, char *text);
/* Converts a program's timestamp in a chunk to ns of the monotonic clock. */
int64_t span_time(const struct span_chunk *c, uint64_t stamp);

static inline volatile struct span_control *span_control_of(const struct span_process *p)
{
	return (volatile struct span_control *)p->map;
}
static inline volatile struct span_ring *span_ring_of(const struct span_process *p, uint32_t i)
{
	return (volatile struct span_ring *)(p->map +
					     span_ring_at(p->name_bytes, p->ring_bytes, i));
}
/* The number of rings used so far. */
static inline uint32_t span_rings_count(const struct span_process *p)
{
	return MIN(__atomic_load_n(&span_control_of(p)->rings, __ATOMIC_ACQUIRE), p->ring_max);
}
