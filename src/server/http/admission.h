/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.h: whose question is worked on. So many run at once; the others wait for as long as a question may take. Next
 * is who came first of those whose client (the header Weir-Client, which each page makes up for itself; all without one
 * are one) has the fewest that run; SQL never has all turns. What takes little has some for itself. Where too many wait
 * already, one is turned away at once.
 */
#pragma once

#include "base/util.h"

#define TURNS_WAIT_MAX 64u /* ten pages that ask six each: they need not ask again */
#define TURNS_WAIT_NS \
	120000000000ll /* what four that share the machine may take: then who asks may ask again */

struct question;
struct admission_waiter;

struct admission {
	struct admission_waiter *first; /* in the order of coming */
	unsigned int waiting;
};

/*
 * 0; -EAGAIN with q->err where it had no turn, -EINTR where nobody wants its answer any more. Those that run get more time:
 * they share the machine.
 */
int admission_take(struct question *q) _must_check_;
void admission_end(struct question *q);
/* Waits until no question is being answered, for what can wait. False: the server stops. */
struct server;
bool admission_idle(struct server *s);
