/* SPDX-License-Identifier: Apache-2.0 */
/* probe: prints what `weir doctor` will know of this kernel; fails where what it needs is not there. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/ebpf/ebpf.h"
#include "capture/ebpf/ring/priority.h"
#include "privilege/privilege.h"

/* Whether turns at priority are allowed is tried on this thread, which is as it was afterwards. `want`: what the kernel says. */
static int priority_is_kept(int want)
{
	struct sched_param before, after;
	int policy = sched_getscheduler(0), r;

	sched_getparam(0, &before);
	r = priority_probe();
	sched_getparam(0, &after);
	if (r == want && sched_getscheduler(0) == policy &&
	    before.sched_priority == after.sched_priority)
		return 0;
	printf("priority_probe: %d, not %d; policy %#x became %#x\n", r, want, policy,
	       sched_getscheduler(0));
	fflush(stdout);
	return 1;
}

/* In a process without CAP_SYS_NICE that may set real-time priorities up to `limit`, where this one may say so. */
static int limited(rlim_t limit, int want)
{
	const struct rlimit rtprio = {limit, limit};
	int status = 1;

	if (fork() == 0) {
		if (setrlimit(RLIMIT_RTPRIO, &rtprio))
			_exit(0);
		privilege_drop_thread(PRIVILEGE_NONE);
		_exit(priority_is_kept(want));
	}
	wait(&status);
	return status != 0;
}

/* Whether this machine lets root have real-time priority at all. */
static bool is_allowed(void)
{
	const struct sched_param real_time = {.sched_priority = 1}, none = {0};

	if (sched_setscheduler(0, SCHED_RR, &real_time))
		return false;
	return !sched_setscheduler(0, SCHED_OTHER, &none);
}

int main(void)
{
	struct ebpf_probe probes[32];
	size_t n = ebpf_probe(probes, ARRAY_SIZE(probes));
	int bad = 0;

	for (size_t i = 0; i < n; i++)
		printf("%-18s %4d  %s  %s\n", probes[i].name, probes[i].result, probes[i].detail,
		       probes[i].remedy);
	for (size_t i = 0; i < n; i++)
		bad |= !strcmp(probes[i].name, "BTF") && probes[i].result != 0;
	if (geteuid() == 0 && is_allowed())
		bad |= priority_is_kept(0) | limited(PRIORITY_DECODER, 0) | limited(0, -EPERM);
	return bad;
}
