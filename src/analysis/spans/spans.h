/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.h: the spans of a trace in memory, and the calls that belong to them. There are two passes: the first reads the
 * spans (tables span and period, and contexts whose span was not recorded), the second streams the calls, so that no
 * call is held back until a span has ended. Memory: about 450 bytes per span, and 16 for each gap between the calls of
 * open spans.
 *
 * A call belongs to
 *   the span whose ids its thread carried when the call began (via context), else
 *   the innermost span open on its thread then (thread; for io_uring and libaio: work, the thread submitted it), else
 *   the span of the thread from which its thread received its current work (work): through a futex with FUTEX_WAIT_BITSET,
 *   which condition variables and semaphores use and mutexes do not, or by reading from a pipe, a socket or an eventfd.
 * In addition a span has the calls of threads for which its own waits, for as long as it does (wait): span_joins.h.
 *
 * Matches of a period whose definition has no parent form a lane of their own besides the spans of programs: a call may
 * belong to one span of each lane. `time`, for a call that overlaps a span on another thread, is provided on request
 * and never summed.
 */
#pragma once

#include "analysis/analysis.h"
#include "schema/vocab.h"

#define SPAN_NONE UINT32_MAX

/* Parts of the time of a span. */
enum span_time {
	SPAN_PROGRAM, /* outside of calls */
	/* without a CPU, outside of calls or at the end of a completed wait: table sched */
	SPAN_STALLED,
	SPAN_DATA,
	SPAN_META,
	SPAN_SYNC,
	SPAN_NET,
	SPAN_LOCK, /* futex: waits for another thread of the program */
	SPAN_WAIT, /* other calls of class wait */
	SPAN_OTHER,
	SPAN_UNSELECTED, /* in calls excluded by the selection */
	SPAN_TIMES,
};
/* "program", "data", ... */
const char *span_time_word(unsigned int t);

/* For calls recorded with phases; the last two need block requests as well. */
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

/* Times of a span that are covered by intervals: each includes the one before it. */
enum span_covered {
	SPAN_BUSY,  /* in a selected call that does not wait */
	SPAN_CALLS, /* in a selected call */
	SPAN_ALL,   /* in a call, selected or not */
	SPAN_OFF,   /* in a call or without a CPU */
	SPAN_COVERS,
};

/* A growing union of intervals. */
struct span_cover {
	struct span_piece {
		int64_t start, stop;
	} *pieces; /* disjoint, sorted */
	uint32_t count, cap;
	/* length of the intervals already added up and dropped, and their end */
	int64_t before, until;
};

/* The covers of a span while it receives calls. */
struct span_covers {
	struct span_cover by[SPAN_COVERS]; /* covers without a difference are empty */
	uint32_t span;
	uint8_t apart; /* bit for each cover that differs from the one before it */
};

/*
 * Sums include the calls of descendants, clipped to the span's time. A call that waits (lock, wait) counts as part of
 * dur only while no child of its span is open: then the wait is for what that child does.
 */
struct span_sums {
	int64_t summed[SPAN_TIMES];  /* sums over calls; may exceed dur if calls ran in parallel */
	int64_t length[SPAN_COVERS]; /* of dropped unions; of all, after spanset_settle() */
	int64_t until;		     /* end of the dropped ones */
	int64_t alone[2]; /* parts of the summed lock and wait that count as part of dur */
	int64_t bytes;
	int64_t self;			   /* dur minus the union of the children */
	uint32_t calls, own_calls, errors; /* own_calls: of this span only */
	uint32_t unphased;		   /* calls without phases */
	uint32_t covers;		   /* index in spans.covers + 1; 0: none */
	uint64_t waited_seen;		   /* the call counted last */
	int64_t waited;			   /* sum over calls for which it waited */
	uint32_t waited_calls;
	bool blurred; /* more pieces than memory allows: parts are estimates */
};

struct span {
	int64_t start, stop; /* for a running span: the last time of the trace */
	int64_t number;
	int64_t thread_id;		    /* -1: unknown */
	uint32_t parent;		    /* SPAN_NONE: none, or not in this trace */
	uint32_t root;			    /* the span itself if it has no parent */
	uint32_t first_child, next_sibling; /* in order of start */
	uint32_t below, below_count; /* range in spans.below: when one of its children is open */
	uint32_t name, service, trace_id, span_id, attributes; /* ids in texts; 0: none */
	uint8_t kind, status, source;			       /* kind 255: null */
	bool period, of_context;
	struct span_sums sums;
};

static inline int64_t span_dur(const struct span *s)
{
	return s->stop - s->start;
}

/* The reasons for which calls belong to spans: words of vocabulary `via` from VIA_CONTEXT on. */
#define SPAN_VIAS (VIA_TIME - VIA_CONTEXT + 1)

struct span_places; /* span_places.c */
struct span_joins;  /* span_joins.h */

struct spans {
	struct span *all; /* sorted by start */
	uint32_t count;
	size_t cap;
	struct intern texts; /* id 0 is the empty text */
	struct span_places *places;
	/* [count] at most; pieces of one span are contiguous and sorted */
	struct span_piece *below;
	struct span_joins *joins;
	/* first time at which a thread carried the ids of a span; INT64_MAX: none did */
	int64_t earliest;
	/* statistics about them */
	bool sched; /* the trace has rows of sched */
	uint32_t running, cut;
	uint32_t orphans; /* their parent is not in this trace */
	uint32_t loops;	  /* their chain of parents is a cycle: treated as spans without a parent */
	uint32_t crossed; /* another span on the thread began within them and ended after them */
	uint64_t contexts, unsure; /* rows of context, and those of threads with an event loop */
	uint64_t unjoined;	   /* waits and hand-overs left out at the limit */
	/* results of a pass that sums */
	uint64_t calls_via[SPAN_VIAS];
	int64_t time_via[SPAN_VIAS];
	int64_t (*phases)[SPAN_PHASES]; /* [count], as sums; NULL: no call had phases */
	struct span_covers *covers;
	size_t covers_count, covers_cap;
	size_t cover_bytes, cover_bytes_most; /* memory of all covers, and its limit */
};

/* Reads the spans of a run that ended in its range, or were running. -EINTR, -ENOMEM, ... with a message. */
int spanset_load(struct spans *s, const struct analysis_input *in, const struct analysis_run *run,
		 struct error *err);
void spanset_free(struct spans *s);
#define _cleanup_spanset_ _cleanup_(spanset_free)
struct bytes spanset_text(const struct spans *s, uint32_t text);
/* The start of the first span and the end of the last; INT64_MAX and INT64_MIN if there are none. */
void spanset_range(const struct spans *s, int64_t *ret_from, int64_t *ret_to);
/* The first span from `from` on with this number, or SPAN_NONE. Spans of several traces may have the same one. */
uint32_t spanset_find(const struct spans *s, int64_t number, uint32_t from);
/* A key for a span number that is unique over recordings, given by the thread's id (-1: unknown), and over both tables. */
uint64_t spanset_number_key(int64_t number, int64_t thread_id, bool period);

/* A call that belongs to a span. */
struct span_call {
	const struct batch *b;
	size_t row;
	uint32_t span;
	enum block_via via;
	int64_t start, stop;
	/* time within the span; via wait: total time for which the span's threads waited */
	int64_t part;
	uint64_t seen;	 /* its number in the pass */
	bool unselected; /* excluded by the run's selection */
};

/* Called for each call of a span; rows come in the order of their ends. A negative result ends the pass. */
typedef int span_call_fn(void *arg, const struct span_call *c);
struct span_member;
struct span_pass {
	/* passes on calls that overlap [from, to), possibly others, and possibly not those that end more than a second later */
	int64_t from, to;
	bool time;	    /* also calls that merely overlap: only for `of` */
	bool unselected;    /* also calls excluded by the selection, except for `time` */
	uint32_t of;	    /* SPAN_NONE: calls of all spans */
	bool sum;	    /* adds calls, and times without a CPU, to the sums of the spans */
	uint64_t columns;   /* columns of op to read in addition to the required ones */
	span_call_fn *call; /* after its call is in the sums; NULL: not wanted */
	/*
	 * May be NULL: called once per selected call, with the spans to which it belongs, except by `wait` and `time`;
	 * there may be none.
	 */
	int (*row)(void *arg, const struct span_call *c, const struct span_member *members,
		   size_t count);
	void *arg;
};
int spanset_pass(struct spans *s, const struct analysis_input *in, const struct analysis_run *run,
		 const struct span_pass *p, struct error *err);
/* The part of a span's time to which a call belongs. */
enum span_time span_time_of(const struct batch *b, size_t row);

/* Call after a pass that sums: frees data needed only during it. */
void spanset_settle(struct spans *s);
/* Call after that: the parts of a span's dur; their sum is dur. */
void spanset_times(const struct span *k, int64_t ret[static SPAN_TIMES]);
/* Phases of its calls recorded with phases; [SPAN_PHASES]. */
const int64_t *spanset_phases(const struct spans *s, const struct span *k);

/* ---- internal ---- */

/* Adds an interval to this cover of a span, and to those after it. 0 or -ENOMEM. */
int span_covers_add(struct spans *s, struct span *k, unsigned int cover, int64_t start,
		    int64_t stop);
/* If covers take too much memory, reduces those of spans that have ended by now. */
void span_covers_trim(struct spans *s, int64_t now);

/* Finds the span of a thread at a time; made by spanset_load(). */
int span_places_new(struct span_places **ret, struct spans *s, const struct dims *d);
void span_places_free(struct span_places *p);
/* Adds a time during which a thread carried the ids of a span; in order of end. */
int span_places_context(struct span_places *p, int64_t thread_id, int64_t start, int64_t stop,
			uint32_t span);
/* Call after the last context. */
void span_places_ready(struct span_places *p);
/* Call before each pass. */
void span_places_restart(struct span_places *p);

/* At most one span in each lane. */
#define SPAN_LANES_MAX 16
struct span_member {
	uint32_t span;
	uint8_t via; /* enum block_via */
};
/*
 * The spans of a task's call that began at `start`; returns their number. Calls must come in the order of their ends.
 * SPAN_NONE: the thread has no task, and the call no span.
 */
size_t span_places_of(struct span_places *p, uint32_t task, const struct batch *b, size_t row,
		      int64_t start, struct span_member ret[static SPAN_LANES_MAX]);
/* The number of a thread over its versions; SPAN_NONE: none, or with `make` no memory. */
uint32_t span_places_task(struct span_places *p, int64_t thread_id, bool make);
size_t span_places_tasks(const struct span_places *p);
/* The id of a task's thread, as returned by names_task(). */
int64_t span_places_thread(const struct span_places *p, uint32_t task);
/* The spans of a task at a time; `given`: including work given to it. */
size_t span_places_look(struct span_places *p, uint32_t task, int64_t at, bool given,
			uint32_t ret[static SPAN_LANES_MAX]);
/*
 * From `at` on the task works on these spans, in lanes where it has none of its own; no spans ends that. Must be called
 * in order of time.
 */
int span_places_hand(struct span_places *p, uint32_t task, int64_t at, const uint32_t *spans,
		     size_t count);
/* True for a wait in the manner of condition variables and semaphores. */
bool span_places_is_idle(const struct span_places *p, const struct batch *b, size_t row);
