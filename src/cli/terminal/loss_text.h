/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_text.h: what is missing from an answer, by cause, in the form that every command reports: rows of the table
 * `loss`, and unreadable blocks of a trace.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/terminal/format.h"
#include "schema/vocab.h"
#include "store/store.h"

/* Recordings that ended because of a failure, or whose file another program wrote into. */
struct loss_failed {
	size_t count;
	int64_t at;    /* time of the first, ns since the epoch */
	char why[256]; /* the recorder's message in the trace */
};

/* Processes with an io_uring that the kernel polls: their I/O through it makes no calls and is in no figure. */
struct loss_polled {
	size_t processes;
	char first[80]; /* "fio (4711)", safe to print */
};

/* Number of recordings with rows for io_uring and libaio requests; older ones have none. */
struct loss_requests {
	size_t recordings, io_uring, libaio;
};

/* Missing rows of a table other than op, or events missing from them, by cause. */
struct loss_beside {
	enum table_id table; /* TABLE_COUNT: unknown, in a trace of an earlier version */
	enum loss_cause cause;
	uint64_t rows;
	bool more; /* plus an unknown number */
};
#define LOSS_BESIDE_MAX 32

struct loss {
	struct loss_beside beside_of[LOSS_BESIDE_MAX]; /* the parts of `beside` */
	size_t beside_count;
	uint64_t events[CAUSE_COUNT];
	bool more[CAUSE_COUNT]; /* an unknown number more than `events` */
	uint64_t lost, cut,
		no_file; /* calls without a row; rows with a truncated part; rows without a file */
	uint64_t beside; /* lost rows of tables other than op, as far as known */
	bool beside_unknown; /* plus an unknown number */
	bool at_least;	     /* `lost` is a lower bound */
	bool running_unread; /* more calls were running at the end than have rows */
	struct store_damage damage;
	struct store_unclosed
		unclosed; /* traces whose recorder was killed: later calls may be missing */
	struct store_file_changes changes; /* changes to the files since they were opened */
	struct loss_failed failed;
	struct loss_polled polled;
	struct loss_requests requests;
};

/* Adds rows of the table `loss`. */
void loss_add(struct loss *l, const struct batch *rows);
/* Adds missing rows of a table other than op; `more`: plus an unknown number. */
void loss_add_beside(struct loss *l, enum table_id table, enum loss_cause cause, uint64_t rows,
		     bool more);
/* Adds what is missing from another trace. */
void loss_merge(struct loss *to, const struct loss *from);
/* The counters may be ahead of the rows of loss: at least this many were lost so far. */
void loss_raise(struct loss *l, uint64_t lost);
/* Replaces the damage known before by the damage that the store knows now. */
void loss_take_damage(struct loss *l, const struct store *s);
/* Adds a process, possibly one of several, to those whose io_uring is polled. `comm` may be any bytes. 0 or -ENOMEM. */
int loss_add_polled(struct loss_polled *p, size_t processes, long pid, struct bytes comm);
/*
 * Reads a trace's rows of loss, its marks of failures and of polled rings, and its damage so far. Damaged blocks of
 * these tables count too.
 */
int loss_read(struct loss *ret, const struct store *s, struct error *err);
/* The same for the rows in an engine, without damage, which concerns only files. */
struct engine;
int loss_read_engine(struct loss *ret, struct engine *e, struct error *err);

/* True if calls are missing. */
static inline bool loss_of_calls(const struct loss *l)
{
	return l->lost || l->at_least;
}
/* "1,234 calls", "at least 12 calls", "an unknown number of calls". 0 or -ENOMEM. */
int loss_put_calls(struct buf *out, const struct loss *l);
/* "ring_full 17, torn ?": at most `max` causes of missing calls or, with `parts`, of incomplete rows. 0 or -ENOMEM. */
int loss_put_causes(struct buf *out, const struct loss *l, bool parts, unsigned int max);
/*
 * "5 rows of sched (side_unseen), an unknown number of rows of irq (side_unread)": what is missing from tables other
 * than op; nothing if they are complete. `explain`: each cause in words. 0 or -ENOMEM.
 */
int loss_put_beside(struct buf *out, const struct loss *l, bool explain);
/* "2 blocks, at least 3,000 rows: block 7 at byte 9000: header checksum". 0 or -ENOMEM. */
int loss_put_damage(struct buf *out, const struct loss *l);

/* "(recorder killed, or file cut): calls after 21 Nov 09:55:02.114 +0000 may be missing". 0 or -ENOMEM. */
int loss_put_unclosed(struct buf *out, const struct loss *l, enum format_zone zone);

/* "after 0.224 s: cannot keep 4,800 rows ...": why a recording failed. 0 or -ENOMEM. */
int loss_put_failed(struct buf *out, const struct loss *l);

/*
 * "fio (4711) has an io_uring that the kernel polls ...": I/O that is in no figure; nothing if there is none. 0 or
 * -ENOMEM.
 */
int loss_put_polled(struct buf *out, const struct loss_polled *p);

/* "a.trace was deleted: what is shown was read from the deleted file". 0 or -ENOMEM. */
int loss_put_changes(struct buf *out, const struct loss *l);

/* Prints a line on standard error if data is missing from a trace, and one if its file changed. */
void loss_warn(const struct loss *l);
/* Prints only the second, for commands that follow a trace: each change once, when it happens (*warned starts as 0). */
void loss_warn_changes(const struct store *s, unsigned int *warned);

/*
 * The member "loss" of every document: {"events": calls lost, "causes": {word: events}, ...}. A cause of unknown
 * number has 0 there and "at_least" is true. If a recorder was killed there is also "unclosed": {"traces": n,
 * "complete_until": "ns since the epoch" or null}; if files changed since they were opened, "files": {"traces": n,
 * "path": of the first, "what": ["deleted", "moved", "replaced", "cut"]}; if recording failed, "failed":
 * {"recordings": n, "at": "ns since the epoch", "why": text}; if processes have an io_uring that the kernel polls,
 * "polled": {"processes": n, "first": "fio (4711)"}; if tables other than op lack rows, "beside": [{"table": "sched",
 * "cause": "side_unseen", "rows": n, "at_least": false}].
 */
json_t *loss_json(const struct loss *l);
void loss_put_json(FILE *out, const struct loss *l);
/* The same into a buffer, on one line. 0 or -ENOMEM. */
int loss_put_text(struct buf *out, const struct loss *l);
