/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall.h: the table `stall`; private to features/stall/. What a thread waits for, and whether work is blocked by it.
 *   stall.c        the feature: classifies calls, and their effect on sockets and threads
 *   stall_waits.c  whether a wait is idle or in the middle of work: the evidence
 *   stall_asks.c   repeated requests with the same result: retry and poll
 *   stall_rows.c   the rows
 *
 * A wait counts as work only if the trace shows that something is blocked by it:
 *   - a wait for the response on a socket that this program connected, or on which it sent before it received. It has sent and
 *     received nothing since; or it connected and has received nothing yet; or a further part of the response came within
 *     STALL_PART_NS;
 *   - the wait for such a connection, or until a socket accepts more bytes;
 *   - the wait for a file lock, or for a futex that is a lock: FUTEX_LOCK_PI, or FUTEX_WAIT for a value of 2, with which glibc and
 *     Go mark a lock that has waiters (Rust's locks cannot be distinguished from condition variables);
 *   - a sleep after a file lock was refused, until the thread tries again: SQLite waits for a busy database in this way;
 *   - any wait between receiving from a client and sending to a client: a request waits with the thread, unless another one
 *     answers it meanwhile.
 * Everything else is idle: repetitions of the same wait, sleeps, accept, reading what a client may send next, children,
 * jobs from other threads (futex, eventfd, a pipe by which the program wakes itself). poll, select and epoll_wait are judged
 * by the descriptor that they found ready. If it was not recorded, they are judged by the descriptor that the thread uses
 * next; if none was ready, by the one on which it sent just before, provided that it waited for a single descriptor or uses
 * that one afterwards.
 *
 * Sleeps (and other waits that ended by timeout, or with a child) between two equal requests with equal results belong
 * to the row of the request, and have none of their own.
 */
#pragma once

#include "analysis/features/feature.h"
#include "base/map.h"
#include "hist/sparse.h"

#define STALL_TASKS_MAX 32768 /* threads followed at the same time, 700 bytes each */
/* beyond it, rows combine several objects of a thread, then several threads */
#define STALL_ROWS_MAX	 32768
#define STALL_ROWS_SPARE 4096 /* reserved for rows of a thread with several objects */
#define STALL_DENSE_MAX	 4096 /* maximum number of histograms stored as arrays */
/* a call of class `wait` that took this long did wait, whether or not it was seen sleeping */
#define STALL_FLOOR_NS 50000
/* TCP's minimum retransmission timeout: a later part is a message of its own */
#define STALL_PART_NS	  200000000ll
#define STALL_JOB_NS	  10000000ll /* a shorter futex wait is lock contention, not a wait for a job */
#define STALL_ASKS	  4	     /* requests remembered per thread */
#define STALL_PAUSED_MIN  3	     /* consecutive equal results with waits between them: poll */
#define STALL_FAILED_MIN  2	     /* failures with waits between them: retry */
#define STALL_RETRIES_MIN 4	     /* failures without waits: retry */
#define STALL_ASKED_MIN	  16	     /* equal results without waits: poll */
#define STALL_READY_MAX	  8	     /* descriptors of one call in the table `poll` */
#define STALL_READY	  64	     /* rows of `poll` stored until their call comes */
#define STALL_OBJECTS_MAX (1u << 18) /* addresses of peers and locks; further locks share one */
#define STALL_ADJACENT	  16	     /* calls after a wait that can show what it was for */

/* Operations (schema/ops.def) that need more than their class of effect. */
enum stall_op {
	STALL_OP_POLL = 7,
	STALL_OP_SELECT = 23,
	STALL_OP_PSELECT6 = 270,
	STALL_OP_PPOLL = 271,
	STALL_OP_RECVMMSG = 299,
	STALL_OP_SENDMMSG = 307,
};

enum stall_what { STALL_IDLE, STALL_WORK, STALL_RETRY, STALL_POLL };

/* The kind of object that a thread waited for; with thread and call it identifies a row. */
enum stall_kind {
	STALL_NOTHING, /* none, or several */
	STALL_FILE,    /* object: number of the file */
	STALL_PEER,    /* an address */
	STALL_FUTEX,   /* process and address */
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
	int64_t longest;			       /* longest single wait */
	int64_t thread_id, file_id, peer_id, waker_id; /* -1: none */
	int64_t runq;				       /* FEATURE_NULL: unknown */
	uint32_t process, file;
	uint32_t times; /* number of waits that it represents */
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

/* Classes of calls by their effect on this feature. */
enum stall_act {
	ACT_NONE,
	ACT_READ,  /* read and similar, on files, pipes and sockets */
	ACT_WRITE, /* likewise */
	ACT_RECV,
	ACT_SEND,
	ACT_ACCEPT,
	ACT_CONNECT,
	ACT_LISTEN,
	ACT_CLOSE,
	ACT_TOUCH,  /* examines a descriptor */
	ACT_ASK,    /* looks up a name or attributes */
	ACT_OPEN,   /* likewise, for reading */
	ACT_CHANGE, /* modifies names or files */
	ACT_MULTI,  /* waits for one of several descriptors */
	ACT_SLEEP,
	ACT_FUTEX,
	ACT_CHILD,
	ACT_FLOCK,
	ACT_FCNTL,
	ACT_WAIT, /* on anything else */
	ACT_EXIT,
};

enum stall_role {
	ROLE_UNKNOWN,
	ROLE_LISTENER,
	ROLE_SERVER, /* the peer connected, or sent first */
	ROLE_CLIENT, /* this program connected, or sent first */
};

/* State of a file, by its number. */
struct stall_file {
	uint8_t type;	       /* enum file_type + 1; 0: not looked up */
	uint8_t role : 2;      /* enum stall_role */
	uint8_t addressed : 1; /* the addresses were already checked for the role */
	uint8_t datagrams : 1;
	uint8_t virtual : 1; /* on proc, sysfs, ...: it provides no notification */
	uint8_t clients : 1; /* the peer is a client: it connected, or sent a datagram first */
	uint8_t connecting : 1;
	uint8_t connected : 1; /* by a call in the trace */
	uint8_t received : 1;
	uint8_t unanswered; /* number of messages sent without a response; for streams 0 or 1 */
	uint8_t user;	    /* the lowest bits of the last task that sent or received on it */
	uint32_t writer;    /* pipe: the process that wrote to it last, + 1 */
};

/* A row of `poll`: a descriptor that a call found ready, or waited for without success. */
struct stall_ready {
	int64_t thread_id, start; /* of the call */
	int64_t file_id;
	uint32_t file; /* FEATURE_NONE: no call has used it */
};

/* A wait that has ended but is not judged yet. */
struct stall_wait {
	struct stall_sample sample;
	uint32_t file; /* that it waited for; FEATURE_NONE: unknown, or several */
	/* the socket on which the thread sent between the previous wait and this one, FEATURE_NONE */
	uint32_t sent;
	int64_t sent_id;
	/* Descriptors that were ready, or else waited for, as far as recorded. */
	uint32_t ready[STALL_READY_MAX];
	int64_t ready_ids[STALL_READY_MAX];
	uint8_t ready_count;
	bool recorded;	/* they were recorded */
	uint32_t futex; /* object number of the lock */
	uint32_t hard;	/* the thread's `hard` when it ended */
	uint16_t op;
	uint8_t act;	/* enum stall_act; ACT_NONE: no wait */
	bool one;	/* it waited for a single descriptor */
	bool confirmed; /* after the timeout the thread used `sent` */
	bool lock;
};

/* A request, and its last result. */
struct stall_ask {
	uint64_t key;		       /* 0: none */
	int64_t answer;		       /* -err, or a number */
	int64_t start;		       /* of the run of equal results */
	int64_t last;		       /* time of the last result */
	int64_t time, paused, longest; /* of the run, until it has a row */
	uint32_t run;		       /* number of equal results in a row */
	uint32_t hard, soft;	       /* the thread's counters at the last request */
	bool has_row;
	/* the first pause, until there is a row: it may turn out not to be one */
	struct stall_sample held;
	uint16_t held_op; /* 0: none held */
	bool held_work;
};

/* State of a thread. */
struct stall_task {
	uint32_t task;
	uint32_t sent; /* socket on which it sent, or began to connect, since its last wait */
	int64_t sent_id;
	uint32_t given_to; /* socket of the last call with an address, */
	int64_t given;	   /* and that address */
	/* client socket from which it received a request that is not answered yet */
	uint32_t request;
	uint32_t denied; /* file whose lock it was refused just now */
	int64_t denied_id;
	uint32_t hard;	   /* counts progress: received, read, woken by an event */
	uint32_t soft;	   /* counts changes: written, created, ... */
	uint32_t calls;	   /* number since its last wait */
	uint16_t last_op;  /* of that wait */
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
	uint32_t *slots; /* [task]: index in tasks, FEATURE_NONE */
	size_t slot_count, slot_cap;
	struct stall_task *tasks;
	size_t task_count, task_cap;
	size_t hand;			       /* next slot to reuse when there are too many */
	struct intern objects;		       /* addresses of peers and futexes */
	struct stall_ready ready[STALL_READY]; /* the last rows of `poll` */
	size_t ready_count;
};

/* The state of a file; its type is looked up on first use. */
struct stall_file *stall_file(struct stall *s, uint32_t file, int64_t file_id);
/* The role of a socket. */
enum stall_role stall_role(struct stall *s, struct stall_file *f, int64_t file_id);
/*
 * The number of the address of the socket's peer, or if it has none, of the row `given`; *ret_id: the row with the
 * address, -1: none. 0 or -ENOMEM.
 */
int stall_peer(struct stall *s, int64_t file_id, int64_t given, uint32_t *ret,
	       int64_t *ret_id) _must_check_;

/* The number of an address; FEATURE_NONE: too many. 0 or -ENOMEM. */
int stall_object(struct stall *s, const void *address, size_t len, uint32_t *ret) _must_check_;

/*
 * True if the thread received a request that is not answered yet. Another thread may have answered it: a runtime such as
 * Go's moves requests between threads.
 */
static inline bool stall_has_request(const struct stall *s, const struct stall_task *t)
{
	return t->request != FEATURE_NONE && s->files[t->request].user == (uint8_t)t->task;
}

/* Stores rows of `poll`, which precede their call. */
void stall_take_ready(struct stall *s, const struct batch *b, const uint32_t *files, size_t from,
		      size_t to);
/* True if the call waited, or is still waiting. */
bool stall_is_wait(struct stall *s, const struct feature_call *c, enum stall_act act);
/* Processes a call that waited: it is judged now, or once later calls show what it was for. 0 or -ENOMEM. */
int stall_waited(struct stall *s, struct stall_task *t, const struct feature_call *c,
		 enum stall_act act) _must_check_;
/* Processes a call after a wait that is not judged yet, before the call's own effect. 0 or -ENOMEM. */
int stall_followed(struct stall *s, struct stall_task *t, const struct feature_call *c,
		   enum stall_act act) _must_check_;
/* Judges that wait; `file`: the file that the thread used next, FEATURE_NONE: unknown. 0 or -ENOMEM. */
int stall_judge(struct stall *s, struct stall_task *t, uint32_t file, int64_t file_id) _must_check_;

/*
 * STALL_RETRY or STALL_POLL for a call that requests something, or failed with an error after which programs retry;
 * else STALL_IDLE.
 */
enum stall_what stall_asks(struct stall *s, const struct feature_call *c, enum stall_act act);
/* Processes such a call. 0 or -ENOMEM. */
int stall_asked(struct stall *s, struct stall_task *t, const struct feature_call *c,
		enum stall_what what) _must_check_;

/* Ends the requests of a thread that is no longer followed. 0 or -ENOMEM. */
int stall_asks_end(struct stall *s, struct stall_task *t) _must_check_;

struct stall_sample stall_sample(const struct feature_call *c);
/* Classifies a call whose arguments can change its class: poll() of nothing sleeps, fcntl() may not lock. */
enum stall_act stall_act(const struct stall *s, const struct feature_call *c);
/* True if it opens for writing. */
bool stall_opens_to_write(const struct feature_call *c, enum stall_act act);

/* poll and ppoll: their second argument is the number of descriptors. */
static inline bool stall_is_poll(uint16_t op)
{
	return op == STALL_OP_POLL || op == STALL_OP_PPOLL;
}

static inline bool stall_moved(const struct feature_call *c)
{
	return c->bytes > 0 || (c->no_bytes && c->ret > 0);
}
