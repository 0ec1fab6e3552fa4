/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.h: decides which questions run. QUESTIONS_MAX run at once, plus LIGHT_MAX light ones (one call, lanes,
 * the figures of a file); the others wait, at most as long as a question may take. The next one is the oldest of the
 * client with the fewest running questions, so that pages take turns; a client is a value of the header Weir-Client,
 * which each page chooses at random, and requests without it are one client. SQL never has all turns. A question gets
 * more time for each one that runs at the same time: heavy load makes pages slow, not wrong. If ADMISSION_WAIT_MAX are
 * already waiting, a question is refused at once.
 */
#pragma once

#include "base/util.h"

#define ADMISSION_WAIT_MAX 64u /* ten pages with six requests each fit without a retry */
#define ADMISSION_WAIT_NS \
	120000000000ll /* the time of four questions that share the machine; then the client may retry */

struct question;
struct admission_waiter;

struct admission {
	struct admission_waiter *first; /* in the order of arrival */
	unsigned int waiting;
};

/*
 * 0; -EAGAIN with q->err if it got no turn in that time, -EINTR if its client has gone away. Running questions get
 * more time, as they share the machine.
 */
int admission_take(struct question *q) _must_check_;
void admission_end(struct question *q);
/* For background work: waits until no question is running. False: the server stops. */
struct server;
bool admission_idle(struct server *s);
/*
 * The same for work that questions may need: stops waiting once a question needs it, which admission_want_names()
 * signals.
 */
bool admission_idle_or_wanted(struct server *s);
void admission_want_names(struct server *s);
