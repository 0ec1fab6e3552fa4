/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: opens, configures and loads the kernel programs. */
#pragma once

#include "capture/ebpf/load/faults.h"
#include "capture/ebpf/internal.h"
#include "capture/ebpf/load/objects.h"
#include "capture/ebpf/probes/probe_attach.h"

struct calls_bpf;

/* Whether a process has ended, reaped or not; for a thread that is not a leader, whether its id is free. */
bool load_has_ended(uint32_t id);

struct loaded {
	struct calls_bpf *skel;
	struct objects objects;	   /* all but the calls object */
	bool uring_left_out;	   /* the selection contains no requests of io_uring */
	struct faults faults;	   /* with OBJECT_FAULTS */
	struct probe_links probes; /* with OBJECT_PROBES */
	int rings_fd;		   /* map of the rings of all possible CPUs, in sequence */
	int bell_fd;		   /* ring buffer that wakes the reader when a ring fills */
	int side_fd;		   /* the side ring */
	size_t side_bytes;
	size_t cpus;
	size_t ring_bytes;	   /* per ring; a power of two */
	struct wire_cpu *counters; /* [WIRE_CPUS_MAX], the programs' own memory */
	struct wire_plan *plans;   /* [WIRE_CALLS_MAX] */
	struct cgroup_hierarchy cgroups;
	uint64_t root; /* of this process, as in struct wire_name */
	bool attached;
};

/* The size of one of `possible` rings, a power of two: `want`, or less if far more CPUs are possible than online, or
 * the rings would take too much memory in total. */
size_t load_ring_size(size_t want, size_t possible, size_t online);
/* Opens the calls object, for a kernel with or without casts, `plain` or with options; NULL with errno. */
struct calls_bpf *load_open_calls(const struct kernel_btf *k, bool plain);
/* Loads the programs for a selection; attaches nothing. Errors name what the kernel refuses and the remedy. */
int load_programs(struct loaded *ret, const struct ebpf_options *opt, struct error *err);
void loaded_free(struct loaded *l);
int load_attach(struct loaded *l, struct error *err);
/* Returns the monotonic time from which nothing new is recorded in tables other than op: detaching takes a while. */
uint64_t load_over(struct loaded *l);
/* After this, enters are no longer traced; exits of calls that have begun are. */
void load_detach_enter(struct loaded *l);
/* After this, there are no more events. */
void load_detach(struct loaded *l);
/* Whether any selected process or thread is left. */
bool load_targets_left(const struct loaded *l);
/* How many selected processes have not ended, and the lowest pid among them. */
size_t load_processes_left(const struct loaded *l, int32_t *ret_first);
/* Passes the location of the variable through which a process's threads publish contexts to the programs, and removes
 * it. */
int load_publish(struct loaded *l, int32_t pid, uint64_t process_start, int64_t offset,
		 uint32_t module);
void load_unpublish(struct loaded *l, int32_t pid);
