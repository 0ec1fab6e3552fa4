/* SPDX-License-Identifier: Apache-2.0 */
/* probe: prints what `weir doctor` will know of this kernel; fails where what it needs is not there. */
#include <stdio.h>
#include <string.h>

#include "capture/ebpf/ebpf.h"

int main(void)
{
	struct ebpf_probe probes[16];
	size_t n = ebpf_probe(probes, ARRAY_SIZE(probes));
	int bad = 0;

	for (size_t i = 0; i < n; i++)
		printf("%-18s %4d  %s  %s\n", probes[i].name, probes[i].result, probes[i].detail,
		       probes[i].remedy);
	for (size_t i = 0; i < n; i++)
		bad |= !strcmp(probes[i].name, "BTF") && probes[i].result != 0;
	return bad;
}
