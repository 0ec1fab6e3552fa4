/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_kernel.c: the kernel's capabilities, as the kernel source probed them. */
#include "capture/ebpf/ebpf.h"
#include "cli/doctor/doctor.h"

#define PROBES_MAX 32

void doctor_check_kernel(struct doctor *d)
{
	struct ebpf_probe probes[PROBES_MAX];
	size_t count = ebpf_probe(probes, ARRAY_SIZE(probes));

	for (size_t i = 0; i < count; i++) {
		const struct ebpf_probe *p = &probes[i];
		static const enum doctor_result without[] = {[PROBE_NEEDED] = DOCTOR_NO,
							     [PROBE_PART] = DOCTOR_WARN,
							     [PROBE_EXTRA] = DOCTOR_NONE};
		enum doctor_result result = p->result >= 0 ? DOCTOR_OK : without[p->need];

		/* The remedy, if any, goes on the same line. */
		if (result == DOCTOR_NONE)
			doctor_add(d, result, p->name, NULL, "%s   %s", p->detail, p->remedy);
		else
			doctor_add(d, result, p->name, p->remedy, "%s", p->detail);
	}
}
