/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contexts.h: processes that publish the contexts of their threads, and rows of table context. Where a process announced
 * itself, the recorder reads what it published (otel_process.h) and gives the kernel programs the place of its threads'
 * variable (bpf/lib/thread/published.h), which takes some ms: what calls carry until then is not known. A row is given when its
 * context ends.
 */
#pragma once

#include "capture/ebpf/contexts/announce.h"

struct contexts;
struct bpf_map;

/*
 * Before the programs are loaded: the map becomes that in which OpenTelemetry's eBPF instrumentation (OBI) has the contexts of
 * threads, if it is pinned. 0, also where there is none; -EINVAL: it is another one, or another negative errno.
 */
int contexts_share(struct bpf_map *map, bool *ret_there);

void contexts_free(struct contexts *c);
/* A process that publishes announced that, ran exec, or ended: for the table of announce.c. */
int contexts_announced(struct decode *d, const struct announcement *a, struct batch_set *out);
/* Reads what was being changed when it was read, or has not been read as it was announced too often. */
void contexts_look(struct decode *d);
int decode_context(struct decode *d, const struct wire_context *w, struct batch_set *out);
/* A thread ended, or lives as recording ends with a context that it carried until then (0: not known). */
int contexts_end_of(struct decode *d, uint32_t thread, uint64_t until, uint32_t flags,
		    struct batch_set *out);
/* The rows of those that are left. */
int contexts_end(struct decode *d, struct batch_set *out);
/* Contexts that could not be read, and processes whose are missing: not found, not understood, or one too many. */
uint64_t contexts_unfound(const struct decode *d);
