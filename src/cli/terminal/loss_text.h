/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loss_text.h: what is missing from an answer, by cause, as every command says it: rows of the table
 * `loss`, and blocks of a trace that cannot be read.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/buf.h"
#include "cli/terminal/format.h"
#include "schema/vocab.h"
#include "store/store.h"

/* Recordings that ended because something failed, or into whose file another program wrote. */
struct loss_failed {
	size_t count;
	int64_t at;    /* the first: when, ns since the epoch */
	char why[256]; /* as the recorder wrote it into the trace */
};

/* Processes with an io_uring that the kernel polls: their I/O through it makes no calls, so that no figure has it. */
struct loss_polled {
	size_t processes;
	char first[80]; /* "fio (4711)", safe to print */
};

/* Of recordings, how many have rows for requests of io_uring and libaio; older ones have none. */
struct loss_requests {
	size_t recordings, io_uring, libaio;
};

/* Of a table beside calls: rows that are missing, or events that should be in them, by cause. */
struct loss_beside {
	enum table_id table; /* TABLE_COUNT: not known, of a trace of an earlier version */
	enum loss_cause cause;
	uint64_t rows;
	bool more; /* an unknown number */
};
#define LOSS_BESIDE_MAX 32

struct loss {
	struct loss_beside beside_of[LOSS_BESIDE_MAX]; /* what `beside` is made of */
	size_t beside_count;
	uint64_t events[CAUSE_COUNT];
	bool more[CAUSE_COUNT];	     /* more than `events` says: by how much is not known */
	uint64_t lost, cut, no_file; /* calls without a row; rows with a part cut; without a file */
	uint64_t beside;     /* rows of other tables than op that were lost, as far as is known */
	bool beside_unknown; /* and more, by how many is not known */
	bool at_least;	     /* more calls are lost than `lost` says */
	bool running_unread; /* more calls were still running at the end than there are rows of */
	struct store_damage damage;
	struct store_unclosed
		unclosed; /* traces whose recorder was killed: later calls may be missing */
	struct store_file_changes changes; /* what became of the files since they were opened */
	struct loss_failed failed;
	struct loss_polled polled;
	struct loss_requests requests;
};

/* Adds rows of the table `loss`. */
void loss_add(struct loss *l, const struct batch *rows);
/* Adds rows that are missing of a table beside calls; `more`: and an unknown number of others. */
void loss_add_beside(struct loss *l, enum table_id table, enum loss_cause cause, uint64_t rows,
		     bool more);
/* Adds what is missing from another trace. */
void loss_merge(struct loss *to, const struct loss *from);
/* Counters are ahead of the rows of loss: at least so many are lost by now. */
void loss_raise(struct loss *l, uint64_t lost);
/* Takes the damage that the store knows of by now, in place of what it knew before. */
void loss_take_damage(struct loss *l, const struct store *s);
/* Adds a process to those of which there may be none. `comm` may be any bytes. 0 or -ENOMEM. */
int loss_add_polled(struct loss_polled *p, size_t processes, long pid, struct bytes comm);
/* Reads a trace's rows of loss, its marks of failure and of rings that the kernel polls, and its damage so far. Blocks that
 * are damaged themselves count. */
int loss_read(struct loss *ret, const struct store *s, struct error *err);
/* The same of the rows that an engine holds: damage is of files, and none of its business. */
struct engine;
int loss_read_engine(struct loss *ret, struct engine *e, struct error *err);

/* True where calls are missing. */
static inline bool loss_of_calls(const struct loss *l)
{
	return l->lost || l->at_least;
}
/* "1,234 calls", "at least 12 calls", "an unknown number of calls". 0 or -ENOMEM. */
int loss_put_calls(struct buf *out, const struct loss *l);
/* "ring_full 17, torn ?": at most `max` causes why calls are missing, or (`parts`) why rows lack
 * something. 0 or -ENOMEM. */
int loss_put_causes(struct buf *out, const struct loss *l, bool parts, unsigned int max);
/*
 * "5 rows of sched (side_unseen), an unknown number of rows of irq (side_unread)": what is missing beside calls; nothing where
 * all is there. `explain`: each cause in words. 0 or -ENOMEM.
 */
int loss_put_beside(struct buf *out, const struct loss *l, bool explain);
/* "2 blocks, at least 3,000 rows: block 7 at byte 9000: header checksum". 0 or -ENOMEM. */
int loss_put_damage(struct buf *out, const struct loss *l);

/* "(recorder killed, or file cut): calls after 21 Nov 09:55:02.114 +0000 may be missing". 0 or -ENOMEM. */
int loss_put_unclosed(struct buf *out, const struct loss *l, enum format_zone zone);

/* "after 0.224 s: cannot keep 4,800 rows ...": why recording failed. 0 or -ENOMEM. */
int loss_put_failed(struct buf *out, const struct loss *l);

/* "fio (4711) has an io_uring that the kernel polls ...": what is in no figure; nothing where there is none. 0 or -ENOMEM. */
int loss_put_polled(struct buf *out, const struct loss_polled *p);

/* "a.trace was deleted: what is shown was read from the deleted file". 0 or -ENOMEM. */
int loss_put_changes(struct buf *out, const struct loss *l);

/* One line on standard error where something is missing from a trace, one where its file changed. */
void loss_warn(const struct loss *l);
/* The second alone, for what is followed: as soon as it happens, each change (*warned, 0 at first) once. */
void loss_warn_changes(const struct store *s, unsigned int *warned);

/*
 * The member "loss" of every document: {"events": calls lost, "causes": {word: events}, ...}. A
 * cause whose number is not known has 0 there and "at_least" is true. Where a recorder was killed there is also
 * "unclosed": {"traces": n, "complete_until": "ns since the epoch" or null}; where something happened to the files since
 * they were opened, "files": {"traces": n, "path": of the first, "what": ["deleted", "moved", "replaced", "cut"]};
 * where recording failed, "failed": {"recordings": n, "at": "ns since the epoch", "why": text}; where processes have an
 * io_uring that the kernel polls, "polled": {"processes": n, "first": "fio (4711)"}; where tables beside calls lack rows,
 * "beside": [{"table": "sched", "cause": "side_unseen", "rows": n, "at_least": false}].
 */
json_t *loss_json(const struct loss *l);
void loss_put_json(FILE *out, const struct loss *l);
/* The same into a buffer, on one line. 0 or -ENOMEM. */
int loss_put_text(struct buf *out, const struct loss *l);
