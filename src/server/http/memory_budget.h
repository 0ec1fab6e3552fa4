/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_budget.h: the memory (--memory) that questions share, in addition to what the server keeps of the trace. A
 * question that needs more than is free waits in a FIFO queue before it starts; one that needs more than the whole
 * budget waits for all of it. Engines, SQL processes and passes by file take shares. An engine or an SQL statement
 * gets half, so that two run at once; a question that fails with half runs again with all (pool_again()).
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "base/util.h"

#define MEMORY_BUDGET_DEFAULT (512ull << 20)
/* Of one thread of a pass by file, for its other needs; and of such a pass for each file, independent of the threads. */
#define MEMORY_BUDGET_WORKER   (25ull << 20)
#define MEMORY_BUDGET_PER_FILE 100ull
/*
 * Reserved for passes that do not count by file, four at once: they never wait, because the first figures of a page
 * need them.
 */
#define MEMORY_BUDGET_PASSES	   (64ull << 20)
#define MEMORY_BUDGET_PASSES_SHARE 8u /* at most one in this many */

struct question;
struct memory_budget_waiter;
struct server;

struct memory_budget {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t all, left;
	struct memory_budget_waiter *first; /* waiting questions, in order */
};

void memory_budget_init(struct memory_budget *r, uint64_t bytes);
void memory_budget_free(struct memory_budget *r);
/*
 * Called once per question. The wait does not count as the question's time. 0, or -EINTR if its client has gone away.
 */
int memory_budget_take(struct question *q, uint64_t bytes) _must_check_;
/* The same for the memory of sums over all files. */
int memory_budget_take_files(struct question *q) _must_check_;
/* Returns the question's share, if it has one. */
void memory_budget_give(struct question *q);
/* The same for memory that no longer belongs to a question. */
void memory_budget_return(struct server *s, uint64_t bytes);
