/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h: the kernel objects other than calls, one for each kind of data, each a row in the table of objects.c. An
 * object is loaded if its data is requested; if the kernel refuses it, that data is missing and recording continues.
 * They are loaded by a separate thread while the programs of calls are verified (load.c). Each costs 1 to 30 ms of CPU
 * at the start, mostly in the verifier, and nothing per call; the wakers object costs 5 to 25 ns for each wake-up of
 * the host.
 *
 * Objects share maps by name: if the calls object has a map of the same name (select_pids, rings, ...), both use that
 * map. The same holds for sections that end in .shared, so their contents must be declared identically
 * (bpf/lib/thread/selected.h, state.h). Everything else is private to an object. Records of programs that may run in
 * interrupts go through the side ring (bpf/lib/side.h); programs in thread context that run outside of any other
 * program may use the rings of calls (bpf/lib/ring.h).
 */
#pragma once

#include <bpf/libbpf.h>

#include "batch/batch.h"
#include "capture/ebpf/ebpf.h"
#include "capture/ebpf/load/kernel_btf.h"

#define OBJECT_PROGRAMS_MAX 16	      /* per object */
#define OBJECT_UPROBES	    "uprobes" /* a requirement in place of a tracepoint */

struct objects {
	struct object {
		struct bpf_object *bpf; /* NULL: not requested, or refused */
		struct bpf_link *links[OBJECT_PROGRAMS_MAX];
	} all[OBJECT_COUNT];
	struct ebpf_missing missing[OBJECT_COUNT + 1]; /* plus what load.c adds */
	size_t missing_count;
};

/* The size of the side ring for the requested objects: a power of two, at least a page. */
size_t objects_side_bytes(const struct ebpf_options *opt);
/* Whether a recording sets none of the options that plain objects leave out (OPTION in src/bpf/lib/kernel.h). */
bool objects_plain(const struct ebpf_options *opt);
/* Which objects, and which form of each, a recording opens; never 0. */
uint64_t objects_key(const struct ebpf_options *opt);
/* Opens the requested objects and adds their types; failures are added to o->missing. 0 or -ENOMEM. */
int objects_open(struct objects *o, struct kernel_btf *k, const struct ebpf_options *opt);
/* Loads the opened objects; requires the maps of `calls`, to be shared, and that `k` is written. Failures are added to
 * o->missing. */
void objects_load(struct objects *o, struct bpf_object *calls, const struct kernel_btf *k,
		  const struct ebpf_options *opt);
/*
 * Attaches the loaded objects, `before` or after the calls object; iterators are used by object_program(). Failures are
 * added to o->missing.
 */
void objects_attach(struct objects *o, bool before);
/* The data of an object is unavailable: closes the object, and adds it to o->missing. */
void objects_miss(struct objects *o, enum object_id id, int error);
void objects_detach(struct objects *o);
void objects_free(struct objects *o);
/* The descriptor of an object's map or program; -1 if the object is not loaded. */
int object_map(const struct objects *o, enum object_id id, const char *name);
int object_program(const struct objects *o, enum object_id id, const char *name);
/* The map of an object's private section, before or after loading; NULL: there is none. */
struct bpf_map *object_section(const struct bpf_object *bpf, const char *name);
/* How often the kernel skipped a program of the object because it was already running on the CPU. */
uint64_t object_misses(const struct objects *o, enum object_id id);
/* What an object shows, and the tracepoint that it needs, for probes. NULL past the last. */
const char *object_shows(size_t i, const char **ret_tracepoint);
/*
 * Adds the mark "weir.with": the names of --with whose objects are loaded, "block,sched", so that readers of an empty
 * table know whether it was recorded; no mark if there are none. 0 or -ENOMEM.
 */
int objects_mark(const struct objects *o, int64_t now, struct batch_set *out);
