/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_rings.h: memory in which recorded programs mark spans (span/layout.h). The reader's thread copies what their rings hold; the
 * decoder attaches processes, takes what was copied, and closes them.
 *
 * The program owns that memory and may write anything, at any time: each word is read once, and nothing that was read is
 * trusted. It cannot take the memory away, as only files that are sealed against shrinking are mapped.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "span/layout.h"

#define SPAN_MEMORIES_MAX  8   /* of one process: a library each that has libweir-span linked in */
#define SPAN_PROCESSES_MAX 512 /* attached at once; each takes a descriptor and a mapping */

/* A time of the processor's counter and of the kernel's monotonic clock. */
struct span_moment {
	uint64_t tsc;
	int64_t ns;
};

/* What the reader knows of a ring. */
struct span_ring_read {
	uint64_t tail;
	uint64_t lost; /* as counted when it was looked at last; of the decoder, as the next two */
	int64_t last;  /* time of the last record, ns */
	int32_t tid;
	bool stopped;	    /* it made no sense */
	const char *reason; /* why it stopped; NULL: said already */
};

struct span_process {
	int32_t pid;
	uint64_t process_start; /* 0: not known */
	uint64_t number;	/* of this attachment: 1, 2, ... */
	int fd;			/* of the memfd, which holds the lock against other recorders */
	uint8_t *map;
	size_t size;
	/* As they were when it was attached */
	uint32_t ring_max, ring_bytes, name_bytes, clock;
	int64_t attached, born; /* monotonic; when the program made it, as it says */
	int64_t announced;	/* that it was, of the kernel's record where there is one */
	bool asks; /* the memory of a parent, which was not recorded: only its word was set */
	bool left; /* nothing more is copied */
	uint8_t source; /* enum span_source; of others than SPAN_SOURCE_WEIR there is no memory: span_stack.h */
	uint64_t lost; /* of threads without a ring, as counted when it was looked at last */
	bool lost_ends;
	struct map threads; /* tid as the program has it -> version, as it was last */
	char service[64];
	struct span_ring_read *rings; /* [ring_max] */
};

/* What was copied of one ring at once; `len` bytes follow. */
struct span_chunk {
	struct span_process *process;
	uint32_t ring, len;
	int64_t until; /* when all of it had happened */
	struct span_moment first, before,
		at; /* of the recorder's start, of the last round and of this one */
};

struct span_rings;

int span_rings_new(struct span_rings **ret);
void span_rings_free(struct span_rings *r);
DEFINE_CLEANUP(struct span_rings *, span_rings_free)

/* ---- the reader ---- */

/* Copies what all rings hold. True where some process is attached: look again soon. */
bool span_rings_copy(struct span_rings *r);

/* ---- the decoder ---- */

/*
 * Attaches the memory of a process that is mapped at addr, or with addr 0 all of its own, of which there may be none. Memory that
 * is attached already is left out, unless it was for a child's sake and this process made it. Adds the processes to
 * ret[SPAN_MEMORIES_MAX]. 0, or negative with *ret_why: it marks spans that cannot be read; -ENOSPC: beside others that can.
 */
int span_rings_attach(struct span_rings *r, int32_t pid, uint64_t addr, struct span_process **ret,
		      size_t *ret_count, const char **ret_why);
/* Copies what is left of a process; false: take what was copied and call again. */
bool span_rings_last(struct span_rings *r, struct span_process *p);
/*
 * No more of it is copied, and it is turned off. gone: its process ended, or runs another program; children that still map it are
 * to make their own.
 */
void span_rings_leave(struct span_rings *r, struct span_process *p, bool gone);
/* Frees it, after span_rings_leave(); nothing that was copied of it may be left. */
void span_rings_detach(struct span_rings *r, struct span_process *p);
/* What was copied since the last time: chunks one behind the other, at multiples of 8, valid until the next call. */
struct bytes span_rings_take(struct span_rings *r);
/* The attached process at *pos, which moves on; NULL: there is no further one. Start with 0. */
struct span_process *span_rings_next(struct span_rings *r, size_t *pos);
/* The text of a name; its length, 0: there is none. text[SPAN_NAME_LEN] */
size_t span_name_read(const struct span_process *p, uint32_t id, char *text);
/* A stamp of a program in a chunk, ns of the monotonic clock. */
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
/* How many rings it has by now. */
static inline uint32_t span_rings_count(const struct span_process *p)
{
	return MIN(__atomic_load_n(&span_control_of(p)->rings, __ATOMIC_ACQUIRE), p->ring_max);
}
