/* SPDX-License-Identifier: Apache-2.0 */
/*
 * priority.h: how much CPU the decoding thread gets beside programs that keep every CPU busy. Its nice value is -10
 * while recording. Beside a hundred runnable threads that is a small share: records pile up behind the reader, and the
 * rings overflow once they fill its memory. So while records pile up and the decoding thread is short of CPU, the
 * reader, which has a higher real-time priority, gives it SCHED_RR in turns of PRIORITY_TURN_NS with at least
 * PRIORITY_REST_NS between them: nine tenths of one CPU. Other programs keep the rest of that CPU and all others; the
 * kernel's own limit for real-time threads (sched_rt_runtime_us) is behind it.
 *
 * Not SCHED_DEADLINE, which has such a budget built in: Linux 6.18 leaked the budget when a sleeping thread left the
 * policy, left a thread throttled for good, and the policy is refused where the CPUs of a process are restricted.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Together nine tenths of a CPU. Two CPUs full of the cheapest calls (getppid) take 0.86 of one to decode. */
#define PRIORITY_TURN_NS 9000000 /* so long another program may have to wait for the CPU */
#define PRIORITY_REST_NS 1000000
#define PRIORITY_DECODER 1 /* the real-time priorities of the decoding thread, */
#define PRIORITY_READER	 2 /* and of the reader */

struct priority {
	pid_t thread;	 /* 0: priority_begin() was not called */
	clockid_t clock; /* of its CPU time */
	int nice_before;
	bool hurried;		       /* its nice value was changed */
	bool behind, raised;	       /* records pile up; it is its turn */
	int64_t looked, cpu_ns;	       /* when its CPU time was looked at, and what it was */
	int64_t since;		       /* the start of the turn, or of the rest */
	atomic_int_fast64_t raised_ns; /* all turns that are over */
	atomic_int refused; /* errno: why the kernel refused the last turn; 0: it did not */
};

/* Sets the nice value of the calling thread, which is the decoding one. What the kernel refuses stays as it is. */
void priority_begin(struct priority *p);
/* The policy and the nice value as they were. From the same thread, once no other calls priority_adjust(). */
void priority_end(struct priority *p);
/*
 * Begins and ends turns. They begin when `behind` is true and the decoding thread got less of a CPU since the last look
 * than turns would give it, and follow one another until `caught_up`. From one thread, with CAP_SYS_NICE in force, which
 * calls it again within the number of ms that it returns (-1: whenever it likes).
 */
int priority_adjust(struct priority *p, bool behind, bool caught_up);
/* Whether turns are allowed: tried on the calling thread, which keeps its policy. 0 or negative. */
int priority_probe(void);
