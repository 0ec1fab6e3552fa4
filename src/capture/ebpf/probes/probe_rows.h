/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_rows.h: what threads came upon at probes (bpf/probes.bpf.c) becomes rows of `span` and `note`. Spans of a thread nest.
 * The return of a function is found by the stack pointer of its entry. A function that was left without its return (longjmp(),
 * exceptions) is cut when one that began before returns, or when the same one begins again in its place on the stack, or any above
 * it. A span of other probes is cut when it begins again at the same instruction with the same stack pointer, since its end was
 * left out then (an error that PostgreSQL jumps back from); one that begins in a recursion is nested.
 */
#pragma once

#include "capture/ebpf/calls/decode.h"

struct probe_stacks;

void probe_stacks_free(struct probe_stacks *s);
/* Adds what a record says. 0 or negative; -EBADMSG: malformed. */
int decode_probe(struct decode *d, const struct wire_head *h, struct batch_set *out);
/* A thread ended, before it is forgotten: what it has open is cut. */
int probes_thread_gone(struct decode *d, const struct wire_thread_end *w, struct batch_set *out);
/* A process ended, or ran exec: likewise. */
int probes_gone(struct decode *d, int32_t pid, uint64_t process_start, int64_t time,
		struct batch_set *out);
/* Recording ends: rows for all that is open. */
int probes_end(struct decode *d, struct batch_set *out);
