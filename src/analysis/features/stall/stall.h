/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall.h: the table `stall`, for features/stall/ only. What a thread waits for, and whether work waits with it.
 *
 *   stall.c        the feature: which call is what, and its effect on sockets and threads
 *   stall_waits.c  a wait is idle or in the middle of work: the evidence
 *   stall_asks.c   the same question with the same answer: retry and poll
 *   stall_rows.c   the rows
 *
 * A wait counts as work only where the trace shows that something waits with it:
 *   - a wait for the answer on a socket that this program connected, or on which it sent before it received. It has sent and
 *     received nothing since; or it connected and received nothing yet; or a further part of the answer came within
 *     STALL_PART_NS;
 *   - the wait for such a connection, or until a socket takes more bytes;
 *   - the wait for a lock of a file, or for a futex that is a lock: FUTEX_LOCK_PI, or FUTEX_WAIT for a value of 2, by which
 *     glibc and Go mark a lock that has waiters (Rust's locks cannot be told from condition variables);
 *   - any wait between receiving from a client and sending to a client: a request waits with the thread.
 * Everything else is idle: the same wait again and again, sleeps, accept, reading what a client may send next, children, jobs
 * from other threads (futex, pipe, eventfd). poll, select and epoll_wait are judged by the descriptor that they found ready.
 * Where a trace does not have it, by the one that the thread uses next; and if nothing was ready, by the one that it sent on
 * just before, if it waited for one descriptor only or turns to that one afterwards.
 *
 * Sleeps (and other waits that ended by their time-out, or with a child) between two equal questions with equal answers belong
 * to the row of the question, not to one of their own.
 */
#pragma once

#include "analysis/features/feature.h"
#include "base/map.h"
#include "hist/sparse.h"

#define STALL_TASKS_MAX 32768 /* threads that are followed at once, 700 bytes each */
#define STALL_ROWS_MAX \
	32768 /* beyond: rows of a thread for several things, then of several threads */
#define STALL_ROWS_SPARE 4096 /* of a thread for several things */
#define STALL_DENSE_MAX	 4096 /* histograms that may be arrays */
#define STALL_FLOOR_NS \
	50000 /* a call of the class `wait` that took as long waited, whether seen asleep or not */
#define STALL_PART_NS \
	200000000ll /* TCP's shortest time-out of retransmission: a later part is a message of its own */
#define STALL_JOB_NS \
	10000000ll	     /* a shorter wait for a futex is an exchange of locks, not of jobs */
#define STALL_ASKS	  4  /* questions of a thread that are remembered */
#define STALL_PAUSED_MIN  3  /* equal answers in a row, with waits between: poll */
#define STALL_FAILED_MIN  2  /* failures with waits between: retry */
#define STALL_RETRIES_MIN 4  /* without: retry */
#define STALL_ASKED_MIN	  16 /* without: poll */
#define STALL_READY_MAX	  8  /* descriptors of one call in the table `poll` */
#define STALL_READY	  64 /* rows of it that are remembered until their call comes */
#define STALL_OBJECTS_MAX (1u << 18) /* addresses of peers and locks; further locks are one */
#define STALL_ADJACENT	  16	     /* calls after a wait that can show what it was for */

/* Operations (schema/ops.def) of which more matters than what they do. */
enum stall_op {
	STALL_OP_POLL = 7,
	STALL_OP_SELECT = 23,
	STALL_OP_PSELECT6 = 270,
	STALL_OP_PPOLL = 271,
	STALL_OP_RECVMMSG = 299,
	STALL_OP_SENDMMSG = 307,
};

enum stall_what { STALL_IDLE, STALL_WORK, STALL_RETRY, STALL_POLL };

/* What a thread waited for: with thread and call it makes a row. */
enum stall_kind {
	STALL_NOTHING, /* or several things */
	STALL_FILE,    /* object: number of the file */
	STALL_PEER,    /* of the address */
	STALL_FUTEX,   /* of process and address */
};

struct stall_key {
	uint32_t task; /* FEATURE_NONE: several */
	uint32_t object;
	uint16_t op, err;
	uint16_t what; /* enum stall_what */
	uint16_t kind; /* enum stall_kind */
};
_Static_assert(sizeof(struct stall_key) == 16, "a key without padding");

/* A wait; or failures with the pauses before them. */
struct stall_sample {
	int64_t start, stop, time, paused;	       /* ns */
	int64_t longest;			       /* of those that it stands for */
	int64_t thread_id, file_id, peer_id, waker_id; /* -1: none */
	int64_t runq;				       /* FEATURE_NULL: not known */
	uint32_t process, file;
	uint32_t times; /* that it stands for */
	uint16_t err;
	bool timed_out;
};

struct stall_rows;
int stall_rows_new(struct stall_rows **ret) _must_check_;
void stall_rows_free(struct stall_rows *r);
/* Adds a sample to its row. 0 or -ENOMEM. */
int stall_rows_add(struct stall_rows *r, const struct stall_key *key,
		   const struct stall_sample *s) _must_check_;
/* 0 or negative. */
int stall_rows_put(const struct stall_rows *r, const struct feature_world *w,
		   struct feature_rows *out) _must_check_;

/* What a call does, as far as this feature is concerned. */
enum stall_act {
	ACT_NONE,
	ACT_READ,  /* read and its kin: of files, pipes and sockets */
	ACT_WRITE, /* likewise */
	ACT_RECV,
	ACT_SEND,
	ACT_ACCEPT,
	ACT_CONNECT,
	ACT_LISTEN,
	ACT_CLOSE,
	ACT_TOUCH,  /* looks at a descriptor */
	ACT_ASK,    /* asks for a name or for attributes */
	ACT_OPEN,   /* likewise, where it is for reading */
	ACT_CHANGE, /* of names or files */
	ACT_MULTI,  /* waits for one of several descriptors */
	ACT_SLEEP,
	ACT_FUTEX,
	ACT_CHILD,
	ACT_FLOCK,
	ACT_FCNTL,
	ACT_WAIT, /* for anything else */
	ACT_EXIT,
};

enum stall_role {
	ROLE_UNKNOWN,
	ROLE_LISTENER,
	ROLE_SERVER, /* the peer connected, or spoke first */
	ROLE_CLIENT, /* this program did */
};

/* Of a file, by its number. */
struct stall_file {
	uint8_t type;	       /* enum file_type + 1; 0: not looked up */
	uint8_t role : 2;      /* enum stall_role */
	uint8_t addressed : 1; /* the addresses were looked at for the role */
	uint8_t datagrams : 1;
	uint8_t virtual : 1; /* of proc, sysfs, ...: no notification exists */
	uint8_t clients : 1; /* the peer is a client: it connected, or sent a datagram first */
	uint8_t connecting : 1;
	uint8_t connected : 1; /* by a call in the trace */
	uint8_t received : 1;
	uint8_t unanswered; /* sent without an answer; of streams 0 or 1 */
};

/* A row of `poll`: a descriptor that a call found ready, or waited on in vain. */
struct stall_ready {
	int64_t thread_id, start; /* of the call */
	int64_t file_id;
	uint32_t file; /* FEATURE_NONE: no call was on it */
};

/* A wait that ended and is not judged yet. */
struct stall_wait {
	struct stall_sample sample;
	uint32_t file; /* that it waited for, FEATURE_NONE: not known, or several */
	uint32_t
		sent; /* the socket that the thread sent on between the wait before and this one, FEATURE_NONE */
	int64_t sent_id;
	/* What was ready, or else waited on, as far as the trace has it. */
	uint32_t ready[STALL_READY_MAX];
	int64_t ready_ids[STALL_READY_MAX];
	uint8_t ready_count;
	bool recorded;	/* it has it */
	uint32_t futex; /* number of the lock */
	uint32_t hard;	/* the thread's, when it ended */
	uint16_t op;
	uint8_t act;	/* enum stall_act; ACT_NONE: there is no wait */
	bool one;	/* a single descriptor was waited for */
	bool confirmed; /* after the time-out the thread turned to `sent` */
	bool lock;
};

/* A question, and the answer that it had last. */
struct stall_ask {
	uint64_t key;		       /* 0: none */
	int64_t answer;		       /* -err, or a number */
	int64_t start;		       /* of the run */
	int64_t last;		       /* when it was answered last */
	int64_t time, paused, longest; /* of the run, while it has no row */
	uint32_t run;		       /* times that the answer was the same */
	uint32_t hard, soft;	       /* the thread's, when it was asked last */
	bool has_row;
	/* the first pause, while there is no row: perhaps it was none */
	struct stall_sample held;
	uint16_t held_op; /* 0: nothing is held */
	bool held_work;
};

/* Of a thread. */
struct stall_task {
	uint32_t task;
	uint32_t sent; /* socket that it sent on, or began to connect, since its last wait */
	int64_t sent_id;
	uint32_t given_to; /* socket of the last call with an address, */
	int64_t given;	   /* and the address */
	uint32_t request;  /* socket of a client from which it received what has no answer yet */
	uint32_t hard;	   /* what it got done: received, read, was woken by an event */
	uint32_t soft;	   /* what it changed: written, created, ... */
	uint32_t calls;	   /* since its last wait */
	uint16_t last_op;  /* of that */
	uint8_t pipe_role; /* enum stall_role of its pipes */
	bool pipe_sent;
	uint8_t next_ask;
	struct stall_wait wait;
	struct stall_ask asks[STALL_ASKS];
};

struct stall {
	const struct feature_world *world;
	struct stall_rows *rows;
	uint8_t acts[OP_CODE_MAX]; /* enum stall_act */
	struct stall_file *files;
	size_t file_count;
	uint32_t *slots; /* [task]: in tasks, FEATURE_NONE */
	size_t slot_count, slot_cap;
	struct stall_task *tasks;
	size_t task_count, task_cap;
	size_t hand;	       /* the next that makes room when there are too many */
	struct intern objects; /* addresses of peers and futexes */
	struct stall_ready ready[STALL_READY]; /* the last rows of `poll` */
	size_t ready_count;
};

/* The file's facts; its type is looked up the first time. */
struct stall_file *stall_file(struct stall *s, uint32_t file, int64_t file_id);
/* Of a socket. */
enum stall_role stall_role(struct stall *s, struct stall_file *f, int64_t file_id);
/*
 * Numbers the address of the socket's peer, or if it has none that of the row `given`; *ret_id: the row that has it, -1: none.
 * 0 or -ENOMEM.
 */
int stall_peer(struct stall *s, int64_t file_id, int64_t given, uint32_t *ret,
	       int64_t *ret_id) _must_check_;

/* The number of an address; FEATURE_NONE: there are too many. 0 or -ENOMEM. */
int stall_object(struct stall *s, const void *address, size_t len, uint32_t *ret) _must_check_;

/* Rows of `poll`, which come before their call. */
void stall_take_ready(struct stall *s, const struct batch *b, const uint32_t *files, size_t from,
		      size_t to);
/* Whether the call waited, or waits still. */
bool stall_is_wait(struct stall *s, const struct feature_call *c, enum stall_act act);
/* Takes a call that did: it is judged now, or when later calls show what it was for. 0 or -ENOMEM. */
int stall_waited(struct stall *s, struct stall_task *t, const struct feature_call *c,
		 enum stall_act act) _must_check_;
/* A call behind a wait that is not judged yet, before it has its effect. 0 or -ENOMEM. */
int stall_followed(struct stall *s, struct stall_task *t, const struct feature_call *c,
		   enum stall_act act) _must_check_;
/* Judges that wait; `file`: what the thread turned to, FEATURE_NONE: not known. 0 or -ENOMEM. */
int stall_judge(struct stall *s, struct stall_task *t, uint32_t file, int64_t file_id) _must_check_;

/* STALL_RETRY or STALL_POLL for a call that asks, or failed so that programs try again; else STALL_IDLE. */
enum stall_what stall_asks(struct stall *s, const struct feature_call *c, enum stall_act act);
/* Takes such a call. 0 or -ENOMEM. */
int stall_asked(struct stall *s, struct stall_task *t, const struct feature_call *c,
		enum stall_what what) _must_check_;

/* Of a thread that is not followed any more. 0 or -ENOMEM. */
int stall_asks_end(struct stall *s, struct stall_task *t) _must_check_;

struct stall_sample stall_sample(const struct feature_call *c);
/* What the call is, of an act that its arguments can change: poll() of nothing sleeps, fcntl() may be no lock. */
enum stall_act stall_act(const struct stall *s, const struct feature_call *c);
/* It opens for writing. */
bool stall_opens_to_write(const struct feature_call *c, enum stall_act act);

/* poll and ppoll: their second argument is how many descriptors there are. */
static inline bool stall_is_poll(uint16_t op)
{
	return op == STALL_OP_POLL || op == STALL_OP_PPOLL;
}

static inline bool stall_moved(const struct feature_call *c)
{
	return c->bytes > 0 || (c->no_bytes && c->ret > 0);
}
