/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_rows.h: turns hits of probes (bpf/probes.bpf.c) into rows of `span` and `note`. Spans of a thread nest. The
 * return of a function is matched by the stack pointer of its entry. A function that was left without returning
 * (longjmp(), exceptions) is cut when an earlier one returns, or when a function begins above it on the stack, or the
 * same one in its place. A span of other probes is cut when it begins again at the same instruction with the same stack
 * pointer, since its end was skipped then (an error that PostgreSQL jumps back from); one that begins in a recursion is
 * nested.
 */
#pragma once

#include "capture/ebpf/calls/decode.h"

struct probe_stacks;

void probe_stacks_free(struct probe_stacks *s);
/* Adds the rows of a record. 0 or negative; -EBADMSG: malformed. */
int decode_probe(struct decode *d, const struct wire_head *h, struct batch_set *out);
/* A thread ended, before it is forgotten: cuts its open spans. */
int probes_thread_gone(struct decode *d, const struct wire_thread_end *w, struct batch_set *out);
/* A process ended, or called exec: likewise. */
int probes_gone(struct decode *d, int32_t pid, uint64_t process_start, int64_t time,
		struct batch_set *out);
/* Recording ends: adds rows for all open spans. */
int probes_end(struct decode *d, struct batch_set *out);
