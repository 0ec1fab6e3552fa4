/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects.h: the kernel objects beside that of calls, one for each kind of data, a row each in the table of objects.c. An
 * object is loaded where its data is requested; where the kernel refuses it, that data is missing and recording goes on.
 * Each costs some 10 ms of CPU at the start, as libbpf reads the kernel's types for it anew, and nothing per call.
 *
 * Objects share maps by name: a map of one that the object of calls has too (select_pids, rings, ...) is that map, and so
 * are the sections .rodata.shared and .data.shared. Whatever else an object declares is its own.
 */
#pragma once

#include <bpf/libbpf.h>

#include "capture/ebpf/ebpf.h"

enum object_id {
	OBJECT_POLLED,	/* polled.bpf.c */
	OBJECT_SIGNALS, /* signals.bpf.c */
	OBJECT_COUNT,
};

#define OBJECT_PROGRAMS_MAX 8 /* of one object */

struct objects {
	struct object {
		struct bpf_object *bpf; /* NULL: not requested, or refused */
		struct bpf_link *links[OBJECT_PROGRAMS_MAX];
	} all[OBJECT_COUNT];
	struct ebpf_missing missing[OBJECT_COUNT];
	size_t missing_count;
};

/* Loads what the options request; `calls` is loaded and lends its maps. What the kernel refuses is in o->missing. */
void objects_load(struct objects *o, struct bpf_object *calls, const struct ebpf_options *opt);
/* Attaches what is loaded; iterators are for object_program(). 0, or the error of an object that was loaded. */
int objects_attach(struct objects *o);
void objects_detach(struct objects *o);
void objects_free(struct objects *o);
/* The descriptor of a map or program of an object; -1 where the object is not there. */
int object_map(const struct objects *o, enum object_id id, const char *name);
int object_program(const struct objects *o, enum object_id id, const char *name);
/* What an object shows, and the tracepoint that it needs: for probes. NULL past the last. */
const char *object_shows(size_t i, const char **ret_tracepoint);
