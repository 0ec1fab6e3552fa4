/* SPDX-License-Identifier: Apache-2.0 */
/*
 * priority.h: CPU time for the decoding thread when programs keep every CPU busy. Its nice value is -10 while
 * recording. Among a hundred runnable threads that is a small share: records accumulate behind the reader, and the
 * rings overflow once they fill its memory. So while records accumulate and the decoding thread is short of CPU, the
 * reader, which has a higher real-time priority, gives it SCHED_RR in turns of PRIORITY_TURN_NS with at least
 * PRIORITY_REST_NS between them: nine tenths of one CPU. Other programs keep the rest of that CPU and all others; the
 * kernel's own limit for real-time threads (sched_rt_runtime_us) still applies.
 *
 * Not SCHED_DEADLINE, which has such a budget built in: Linux 6.18 leaked the budget when a sleeping thread left the
 * policy, and left a thread throttled permanently; and the policy is refused if the CPUs of a process are restricted.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Together nine tenths of a CPU. Decoding two CPUs full of the cheapest calls (getppid) takes 0.86 of one. */
#define PRIORITY_TURN_NS 9000000 /* the longest that another program waits for the CPU */
#define PRIORITY_REST_NS 1000000
#define PRIORITY_DECODER 1 /* real-time priority of the decoding thread */
#define PRIORITY_READER	 2 /* and of the reader */

struct priority {
	pid_t thread;	 /* 0: priority_begin() was not called */
	clockid_t clock; /* of its CPU time */
	int nice_before;
	bool hurried;		       /* its nice value was changed */
	bool behind, raised;	       /* records accumulate; a turn is active */
	int64_t looked, cpu_ns;	       /* time of the last look, and its CPU time then */
	int64_t since;		       /* start of the turn or rest */
	atomic_int_fast64_t raised_ns; /* sum of completed turns */
	atomic_int refused; /* errno: why the kernel refused the last turn; 0: it was granted */
};

/* Sets the nice value of the calling thread, which is the decoding one. If the kernel refuses, nothing changes. */
void priority_begin(struct priority *p);
/* Restores the policy and the nice value. Call from the same thread, once priority_adjust() is no longer called. */
void priority_end(struct priority *p);
/*
 * Begins and ends turns. They begin when `behind` is true and the decoding thread got less CPU since the last look than
 * turns would give it, and repeat until `caught_up`. Call from one thread, with CAP_SYS_NICE effective, and again
 * within the returned number of ms (-1: at any time).
 */
int priority_adjust(struct priority *p, bool behind, bool caught_up);
/* Whether turns are allowed: tested on the calling thread, which keeps its policy. 0 or negative. */
int priority_probe(void);
