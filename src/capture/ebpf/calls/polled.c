/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/calls/polled.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "capture/ebpf/calls/running.h"
#include "privilege/privilege.h"
#include "calls.skel.h"

int polled_look(const struct loaded *l)
{
	_privileged_(PRIVILEGE_BPF);
	_cleanup_buf_ struct buf nothing = {0};
	int program = object_program(&l->objects, OBJECT_POLLED, "weir_polled");

	return program < 0 ? 0 : running_read(program, &nothing);
}

/* Whether the process or one of its threads was selected. */
static bool is_selected(const struct loaded *l, const struct select *s, int32_t pid)
{
	char path[64];
	uint32_t one;

	if (!bpf_map_lookup_elem(bpf_map__fd(l->skel->maps.select_pids), &pid, &one))
		return true;
	for (size_t i = 0; i < s->tid_count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, s->tids[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

static int give_one(const struct wire_polled_key *k, const struct wire_polled *p, int64_t now,
		    struct source_polled *polled, struct batch_set *out)
{
	char text[sizeof(p->comm) + 16];
	int n = snprintf(text, sizeof(text), "%d %.*s", k->tgid, (int)sizeof(p->comm), p->comm);

	if (!polled->processes++) {
		polled->pid = k->tgid;
		snprintf(polled->comm, sizeof(polled->comm), "%.*s", (int)sizeof(p->comm), p->comm);
	}
	return batch_set_add_mark(out, now, "weir.polled", text, (size_t)n);
}

int polled_give(const struct loaded *l, const struct select *s, int64_t now,
		struct source_polled *polled, struct batch_set *out)
{
	_privileged_(PRIVILEGE_BPF | PRIVILEGE_PROC);
	int fd = object_map(&l->objects, OBJECT_POLLED, "polled"), r = 0;
	struct wire_polled_key key;
	void *at = NULL;

	while (!r && !bpf_map_get_next_key(fd, at, &key)) {
		struct wire_polled p;

		at = &key;
		if (bpf_map_lookup_elem(fd, &key, &p) || p.reported)
			continue;
		p.reported = 1;
		if (bpf_map_update_elem(fd, &key, &p, BPF_EXIST))
			return -errno;
		if (p.sure || is_selected(l, s, key.tgid))
			r = give_one(&key, &p, now, polled, out);
	}
	return r;
}
