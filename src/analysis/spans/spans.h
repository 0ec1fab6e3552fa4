/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h: the spans of a trace in memory, and which calls belong to them. Two passes: the first reads the spans (tables span and
 * period, and contexts whose span nobody recorded), the second streams the calls, so that no call is held back until a span
 * has ended. Memory: some 450 bytes a span, and 16 for each gap between the calls of spans that are open.
 *
 * A call belongs to
 *   the span whose ids its thread carried when the call began (via context), else
 *   the innermost span open on its thread then (thread; of io_uring and libaio: work, the thread submitted it), else
 *   the span of the thread from which its thread got what it works on (work): by a futex with FUTEX_WAIT_BITSET, which is how
 *   condition variables and semaphores wait and mutexes do not, or by what it read from a pipe, a socket or an eventfd.
 * Besides, a span has the calls of threads that its own waits for, for as long (wait): span_joins.h.
 * Matches of a period without a parent's definition are a lane of their own beside the spans of programs: a call may belong to
 * one span of each lane. `time`, a call that overlaps a span on another thread, is given on request and never summed.
 */
#pragma once

#include "analysis/analysis.h"
#include "schema/vocab.h"

#define SPAN_NONE UINT32_MAX

/* Where the time of a span goes. */
enum span_time {
	SPAN_PROGRAM, /* in no call */
	SPAN_STALLED, /* without a CPU, in no call or at the end of a wait that was over: table sched */
	SPAN_DATA,
	SPAN_META,
	SPAN_SYNC,
	SPAN_NET,
	SPAN_LOCK, /* a futex: another thread of the program */
	SPAN_WAIT, /* other calls of class wait */
	SPAN_OTHER,
	SPAN_UNSELECTED, /* in calls that the selection leaves out */
	SPAN_TIMES,
};
/* "program", "data", ... */
const char *span_time_word(unsigned int t);

/* Of calls that were recorded with phases, and with phases and block. */
enum span_phase {
	SPAN_CPU,
	SPAN_RUNQ,
	SPAN_IO_WAIT,
	SPAN_SLEEP,
	SPAN_QUEUED,
	SPAN_DEVICE,
	SPAN_PHASES,
};
const char *span_phase_word(unsigned int p);

/* Times of a span that are covered: each has what the one before it has, and more. */
enum span_covered {
	SPAN_BUSY,  /* in a selected call that does not wait */
	SPAN_CALLS, /* in a selected call */
	SPAN_ALL,   /* in a call, selected or not */
	SPAN_OFF,   /* in a call or without a CPU */
	SPAN_COVERS,
};

/* A union of intervals that grows. */
struct span_cover {
	struct span_piece {
		int64_t start, stop;
	} *pieces; /* apart from each other, in order */
	uint32_t count, cap;
	int64_t before, until; /* length of what was added up and forgotten, and its end */
};

/* The covers of a span while it gets calls. */
struct span_covers {
	struct span_cover by[SPAN_COVERS]; /* those that do not differ are empty */
	uint32_t span;
	uint8_t apart; /* a bit for each cover that differs from the one before it */
};

/*
 * All of it with the calls of the spans below it, cut to the span's time. A call that waits (lock, wait) counts in parts of dur
 * only while none of the spans directly below its own is open: then what that one does is what it waits for.
 */
struct span_sums {
	int64_t summed[SPAN_TIMES]; /* of calls, added up: more where they ran side by side */
	int64_t length
		[SPAN_COVERS]; /* of the unions that were given up; of all, after spanset_settle() */
	int64_t until;	       /* the end of those that were given up */
	int64_t alone[2];      /* of summed lock and wait, what counts in parts of dur */
	int64_t bytes;
	int64_t self;			   /* dur without the union of the spans directly below */
	uint32_t calls, own_calls, errors; /* own: of this span alone */
	uint32_t unphased;		   /* calls without phases */
	uint32_t covers;		   /* its place among spans.covers, + 1; 0: none */
	uint64_t waited_seen;		   /* the call that was counted last */
	int64_t waited;			   /* of calls that it waited for, added up */
	uint32_t waited_calls;
	bool blurred; /* more pieces than memory allows: parts are estimates */
};

struct span {
	int64_t start, stop; /* of one that was running the last time of the trace */
	int64_t number;
	int64_t thread_id;		    /* -1: not known */
	uint32_t parent;		    /* SPAN_NONE: none, or not in this trace */
	uint32_t root;			    /* itself, where it has no parent */
	uint32_t first_child, next_sibling; /* in order of start */
	uint32_t below, below_count; /* pieces of spans.below: when one of its children is open */
	uint32_t name, service, trace_id, span_id, attributes; /* of texts; 0: none */
	uint8_t kind, status, source;			       /* kind 255: null */
	bool period, of_context;
	struct span_sums sums;
};

static inline int64_t span_dur(const struct span *s)
{
	return s->stop - s->start;
}

/* Why calls belong to spans, in order of vocabulary `via` from VIA_CONTEXT on. */
#define SPAN_VIAS (VIA_TIME - VIA_CONTEXT + 1)

struct span_places; /* span_places.c */
struct span_joins;  /* span_joins.h */

struct spans {
	struct span *all; /* in order of start */
	uint32_t count;
	size_t cap;
	struct intern texts; /* 0 is the empty one */
	struct span_places *places;
	struct span_piece *below; /* [count] at most, of each span together and in order */
	struct span_joins *joins;
	int64_t earliest; /* from when on a thread carried the ids of one; INT64_MAX: none did */
	/* what was found about them */
	bool sched; /* the trace has rows of sched */
	uint32_t running, cut;
	uint32_t orphans; /* their parent is not in this trace */
	uint32_t loops;	  /* their parents lead back to them: taken for spans without one */
	uint32_t crossed; /* on one thread another began in them and ended after them */
	uint64_t contexts, unsure; /* rows of context, and those of threads with an event loop */
	uint64_t unjoined; /* waits and hand-overs that were left out, as there are too many */
	/* what spanset_sum() found */
	uint64_t calls_via[SPAN_VIAS];
	int64_t time_via[SPAN_VIAS];
	int64_t (*phases)[SPAN_PHASES]; /* [count], as sums; NULL: no call had phases */
	struct span_covers *covers;
	size_t covers_count, covers_cap;
	size_t cover_bytes, cover_bytes_most; /* memory of all covers */
};

/* Reads the spans of a run that ended in its range, or were running. -EINTR, -ENOMEM, ... with a message. */
int spanset_load(struct spans *s, const struct analysis_input *in, const struct analysis_run *run,
		 struct error *err);
void spanset_free(struct spans *s);
#define _cleanup_spanset_ _cleanup_(spanset_free)
struct bytes spanset_text(const struct spans *s, uint32_t text);
/* The span with this number; SPAN_NONE. */
uint32_t spanset_find(const struct spans *s, int64_t number);
/* A number among those of all recordings, as that of the thread has it (-1: not known), and of both tables. */
uint64_t spanset_number_key(int64_t number, int64_t thread_id, bool period);

/* A call that belongs to a span. */
struct span_call {
	const struct batch *b;
	size_t row;
	uint32_t span;
	enum block_via via;
	int64_t start, stop;
	int64_t part; /* of it that lies in the span; via wait: for which the span's threads waited, added up */
	uint64_t seen;	 /* its number in the pass */
	bool unselected; /* left out by the run's selection */
};

/* For each call that a span has; rows come in order of their end. Negative ends the pass. */
typedef int span_call_fn(void *arg, const struct span_call *c);
struct span_member;
struct span_pass {
	/* calls that overlap [from, to) come; others may, and those that end a second later may not */
	int64_t from, to;
	bool time;	    /* also calls that merely overlap: only of `of` */
	bool unselected;    /* also those that the selection leaves out, but for `time` */
	uint32_t of;	    /* SPAN_NONE: of every span */
	uint64_t columns;   /* of op, that are read beside those that are anyway */
	span_call_fn *call; /* NULL: not wanted */
	/* May be NULL: once for each selected call, with the spans that have it, but for `wait` and `time`; there may be none. */
	int (*row)(void *arg, const struct span_call *c, const struct span_member *members,
		   size_t count);
	/* May be NULL: for each time for which a span's thread had no CPU, in calls and not, in one order with them. */
	int (*stall)(void *arg, uint32_t span, int64_t start, int64_t stop);
	void *arg;
};
int spanset_pass(struct spans *s, const struct analysis_input *in, const struct analysis_run *run,
		 const struct span_pass *p, struct error *err);
/* What time of a span a call is. */
enum span_time span_time_of(const struct batch *b, size_t row);

/* Adds a call to its span and all above. The argument is the struct spans. */
int spanset_sum(void *arg, const struct span_call *c);
/* Likewise a time without a CPU. */
int spanset_sum_stall(void *arg, uint32_t span, int64_t start, int64_t stop);
/* After the last call: gives up what only the pass needs. */
void spanset_settle(struct spans *s);
/* Then: the parts of a span's dur, which they add up to. */
void spanset_times(const struct span *k, int64_t ret[static SPAN_TIMES]);
/* Of its calls that were recorded with phases; [SPAN_PHASES]. */
const int64_t *spanset_phases(const struct spans *s, const struct span *k);

/* ---- between the files of this folder ---- */

/* A time of this cover of a span, and of those behind it. 0 or -ENOMEM. */
int span_covers_add(struct spans *s, struct span *k, unsigned int cover, int64_t start,
		    int64_t stop);
/* Where covers take too much memory: those of spans that ended by now are given up. */
void span_covers_trim(struct spans *s, int64_t now);

/* Which span a thread has at a time: made by spanset_load(). */
int span_places_new(struct span_places **ret, struct spans *s, const struct dims *d);
void span_places_free(struct span_places *p);
/* A time for which a thread carried the ids of a span; in order of end. */
int span_places_context(struct span_places *p, int64_t thread_id, int64_t start, int64_t stop,
			uint32_t span);
/* After the last context. */
void span_places_ready(struct span_places *p);
/* Before each pass. */
void span_places_restart(struct span_places *p);

/* One span in each lane. */
#define SPAN_LANES_MAX 16
struct span_member {
	uint32_t span;
	uint8_t via; /* enum block_via */
};
/* The spans that a thread works on at a time; at most SPAN_LANES_MAX. */
size_t span_places_at(struct span_places *p, int64_t thread_id, int64_t at,
		      uint32_t ret[static SPAN_LANES_MAX]);
/* Those that a call which began at `start` belongs to; how many. Calls come in order of their end. */
size_t span_places_of(struct span_places *p, const struct batch *b, size_t row, int64_t start,
		      struct span_member ret[static SPAN_LANES_MAX]);
/* The number of a thread over its versions; SPAN_NONE: it has none, or with `make` there is no memory. */
uint32_t span_places_task(struct span_places *p, int64_t thread_id, bool make);
size_t span_places_tasks(const struct span_places *p);
/* The id of a task's thread, as names_task() has it. */
int64_t span_places_thread(const struct span_places *p, uint32_t task);
/* The spans of a task at a time; `given`: also what it was given. */
size_t span_places_look(struct span_places *p, uint32_t task, int64_t at, bool given,
			uint32_t ret[static SPAN_LANES_MAX]);
/* From then on it carries on these spans, where it has none of its own in their lanes: none ends that. In order of time. */
int span_places_hand(struct span_places *p, uint32_t task, int64_t at, const uint32_t *spans,
		     size_t count);
/* True for a wait as condition variables and semaphores have it. */
bool span_places_is_idle(const struct span_places *p, const struct batch *b, size_t row);
