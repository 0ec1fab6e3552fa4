/* SPDX-License-Identifier: Apache-2.0 */
/*
 * contexts.h: processes that publish the contexts of their threads, and rows of table context. When a process announces
 * itself, the recorder reads what it published (otel_process.h) and passes the location of its threads' variable to the
 * kernel programs (bpf/lib/thread/published.h). This takes some ms, for which the contexts of calls are unknown. A row
 * is added when its context ends.
 */
#pragma once

#include "capture/ebpf/contexts/announce.h"

struct contexts;
struct bpf_map;

/*
 * Call before loading the programs: replaces the map by the one in which OpenTelemetry's eBPF instrumentation (OBI)
 * stores the contexts of threads, if it is pinned. 0, also if there is none; -EINVAL: a different map, or another
 * negative errno.
 */
int contexts_share(struct bpf_map *map, bool *ret_there);

void contexts_free(struct contexts *c);
/* For the table of announce.c: a process announced that it publishes, called exec, or ended. */
int contexts_announced(struct decode *d, const struct announcement *a, struct batch_set *out);
/* Retries processes whose record was being changed, or whose announcements were too frequent to be read. */
void contexts_look(struct decode *d);
int decode_context(struct decode *d, const struct wire_context *w, struct batch_set *out);
/* A thread ended, or recording ends while it carries a context, until the given time (0: unknown). */
int contexts_end_of(struct decode *d, uint32_t thread, uint64_t until, uint32_t flags,
		    struct batch_set *out);
/* Adds the remaining rows. */
int contexts_end(struct decode *d, struct batch_set *out);
/* Contexts that could not be read, and processes whose contexts are missing: not found, not understood, or over the
 * limit. */
uint64_t contexts_unfound(const struct decode *d);
