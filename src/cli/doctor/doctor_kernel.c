/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_kernel.c: what the kernel allows, as the kernel source tried it. */
#include <string.h>

#include "capture/ebpf/ebpf.h"
#include "cli/doctor/doctor.h"

#define PROBES_MAX 32

/* What recording works without: its absence is shown, not held against the machine. */
static bool is_extra(const char *name)
{
	static const char *const extras[] = {"fentry", "LSM", "kprobe", "real-time"};

	for (size_t i = 0; i < ARRAY_SIZE(extras); i++) {
		if (strcasestr(name, extras[i]))
			return true;
	}
	return false;
}

void doctor_check_kernel(struct doctor *d)
{
	struct ebpf_probe probes[PROBES_MAX];
	size_t count = ebpf_probe(probes, ARRAY_SIZE(probes));

	for (size_t i = 0; i < count; i++) {
		const struct ebpf_probe *p = &probes[i];
		enum doctor_result result = p->result >= 0	? DOCTOR_OK
					    : is_extra(p->name) ? DOCTOR_NONE
								: DOCTOR_NO;

		/* Its remedy, if any, stands on its own line. */
		if (result == DOCTOR_NONE)
			doctor_add(d, result, p->name, NULL, "%s   %s", p->detail, p->remedy);
		else
			doctor_add(d, result, p->name, p->remedy, "%s", p->detail);
	}
}
