/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/ring/priority.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "privilege/privilege.h"

#define NICE_RECORDING (-10)		    /* ten times the share of an ordinary thread */
#define LOOK_NS	       (10 * NSEC_PER_MSEC) /* several time slices */

void priority_begin(struct priority *p)
{
	_privileged_(PRIVILEGE_PRIORITY);

	assert(!p->thread);
	p->thread = gettid();
	pthread_getcpuclockid(pthread_self(), &p->clock);
	errno = 0;
	p->nice_before = getpriority(PRIO_PROCESS, 0);
	p->hurried = !errno && p->nice_before > NICE_RECORDING &&
		     !setpriority(PRIO_PROCESS, 0, NICE_RECORDING);
}

static int set_policy(pid_t thread, int policy, int priority)
{
	_privileged_(PRIVILEGE_PRIORITY);
	const struct sched_param param = {.sched_priority = priority};

	return sched_setscheduler(thread, policy | SCHED_RESET_ON_FORK, &param) ? -errno : 0;
}

static void turn_begin(struct priority *p, int64_t now)
{
	int r = set_policy(p->thread, SCHED_RR, PRIORITY_DECODER);

	p->refused = -r;
	p->raised = r >= 0;
	p->behind = r >= 0;
	p->since = now;
}

static void turn_end(struct priority *p, int64_t now)
{
	set_policy(p->thread, SCHED_OTHER, 0);
	p->raised = false;
	p->raised_ns += now - p->since;
	p->since = now;
}

void priority_end(struct priority *p)
{
	if (!p->thread)
		return;
	if (p->raised)
		turn_end(p, clock_monotonic_ns());
	if (p->hurried)
		setpriority(PRIO_PROCESS, 0, p->nice_before);
	p->thread = 0;
}

/* Whether the thread got less CPU since the last look than turns would give it. */
static bool is_starved(struct priority *p, int64_t now)
{
	int64_t cpu_ns, had, passed;
	struct timespec t;

	if (clock_gettime(p->clock, &t))
		return false;
	cpu_ns = t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
	had = cpu_ns - p->cpu_ns;
	passed = now - p->looked;
	p->cpu_ns = cpu_ns;
	p->looked = now;
	/* in ms, as the first look covers the time since the machine started */
	static_assert(PRIORITY_TURN_NS % NSEC_PER_MSEC == 0 &&
			      PRIORITY_REST_NS % NSEC_PER_MSEC == 0,
		      "turns and rests are whole ms");
	return had * ((PRIORITY_TURN_NS + PRIORITY_REST_NS) / NSEC_PER_MSEC) <
	       passed * (PRIORITY_TURN_NS / NSEC_PER_MSEC);
}

int priority_adjust(struct priority *p, bool behind, bool caught_up)
{
	int64_t now = clock_monotonic_ns(), left;

	assert(p->thread && !(behind && caught_up));
	p->behind &= !caught_up;
	if (p->raised && (!p->behind || now - p->since >= PRIORITY_TURN_NS))
		turn_end(p, now);
	else if (!p->raised && p->behind && now - p->since >= PRIORITY_REST_NS)
		turn_begin(p, now);
	else if (!p->behind && now - p->looked >= LOOK_NS && is_starved(p, now) && behind)
		turn_begin(p, now);
	if (!p->behind)
		return -1;
	left = p->since + (p->raised ? PRIORITY_TURN_NS : PRIORITY_REST_NS) - now;
	return (int)((MAX(left, 0) + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

int priority_probe(void)
{
	_privileged_(PRIVILEGE_PRIORITY);
	struct sched_param before;
	int policy = sched_getscheduler(0), r;

	if (policy < 0 || sched_getparam(0, &before))
		return -errno;
	/* A turn also sets SCHED_RESET_ON_FORK, which needs no further privilege, but which this thread could not clear
	 * again. */
	r = sched_setscheduler(0, SCHED_RR | (policy & SCHED_RESET_ON_FORK),
			       &(struct sched_param){.sched_priority = PRIORITY_DECODER});
	return r || sched_setscheduler(0, policy, &before) ? -errno : 0;
}
