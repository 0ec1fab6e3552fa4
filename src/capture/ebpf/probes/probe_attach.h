/* SPDX-License-Identifier: Apache-2.0 */
/* probe_attach.h: attaches the programs of bpf/probes.bpf.c to the probes of probe_spec.h. */
#pragma once

#include <bpf/libbpf.h>

#include "capture/ebpf/ebpf.h"
#include "capture/ebpf/load/objects.h"

struct probe_links {
	struct bpf_link *all[2 * WIRE_PROBE_SPANS];
};

/* For the table of objects.c. */
bool probes_requested(const struct ebpf_options *opt);
int probes_prepare(struct bpf_object *bpf, const struct ebpf_options *opt);
/* Checks that the probes exist, before anything is loaded. 0, or negative with a message. */
int probes_check(struct probe_spans *spans, struct error *err);
/*
 * Attaches the programs to every probe, in all current and future processes that use its file; nothing is recorded yet.
 * 0, or negative with a message. If the kernel refused the programs, nothing is attached.
 */
int probes_attach(struct probe_links *links, const struct objects *o,
		  const struct probe_spans *spans, struct error *err);
void probes_detach(struct probe_links *links);
