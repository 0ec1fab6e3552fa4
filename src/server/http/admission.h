/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.h: which questions run. QUESTIONS_MAX run at once, and LIGHT_MAX more of those that need little (one call, lanes,
 * the figures of a file); the others wait, for as long as a question may take. The next one is the oldest of the client
 * with the fewest running questions, so that pages take turns; a client is a value of the header Weir-Client, which each
 * page chooses at random, and requests without it are one client. SQL never has all turns. A question gets more time
 * for each one that runs beside it: heavy load makes pages slow, not wrong. When TURNS_WAIT_MAX wait already, a
 * question is refused at once.
 */
#pragma once

#include "base/util.h"

#define TURNS_WAIT_MAX 64u /* ten pages that ask six each: they need not ask again */
#define TURNS_WAIT_NS \
	120000000000ll /* what four questions that share the machine may take; then the client may ask again */

struct question;
struct admission_waiter;

struct admission {
	struct admission_waiter *first; /* in the order of arrival */
	unsigned int waiting;
};

/*
 * 0; -EAGAIN with q->err if it got no turn in that time, -EINTR if its client has gone away. Questions that run get more
 * time, as they share the machine.
 */
int admission_take(struct question *q) _must_check_;
void admission_end(struct question *q);
/* For background work: waits until no question is being answered. False: the server stops. */
struct server;
bool admission_idle(struct server *s);
/* The same for what questions may wait for: waits no longer once one does, which the second states. */
bool admission_idle_or_wanted(struct server *s);
void admission_want_names(struct server *s);
