/* SPDX-License-Identifier: Apache-2.0 */
/* load.h: opening, configuring and loading the kernel programs. */
#pragma once

#include "capture/ebpf/faults.h"
#include "capture/ebpf/internal.h"
#include "capture/ebpf/objects.h"
#include "capture/ebpf/probe_attach.h"

struct calls_bpf;

/* Whether a process has ended, waited for or not; of a thread that leads none, whether its number is free. */
bool load_has_ended(uint32_t id);

struct loaded {
	struct calls_bpf *skel;
	struct objects objects;	   /* beside that of calls */
	bool uring_left_out;	   /* the selection takes no requests of io_uring */
	struct faults faults;	   /* with OBJECT_FAULTS */
	struct probe_links probes; /* with OBJECT_PROBES */
	int rings_fd;		   /* map of the rings of all possible CPUs, one behind the other */
	int bell_fd;		   /* ring buffer whose wake-ups say that a ring fills */
	int side_fd;		   /* the side ring */
	size_t side_bytes;
	size_t cpus;
	size_t ring_bytes;	   /* of each; a power of two */
	struct wire_cpu *counters; /* [WIRE_CPUS_MAX], the programs' own memory */
	struct wire_plan *plans;   /* [WIRE_CALLS_MAX] */
	struct cgroup_hierarchy cgroups;
	uint64_t root; /* of this process, as in struct wire_name */
	bool attached;
};

/* The size of one of `possible` rings, a power of two: `want`, or less where there are far more CPUs than are online, or so
 * many that the rings together would take too much. */
size_t load_ring_size(size_t want, size_t possible, size_t online);
/* Opens the object of calls, for a kernel with casts or without them; NULL with errno. */
struct calls_bpf *load_open_calls(const struct kernel_btf *k);
/* Loads the programs for a selection; attaches nothing. Errors say what the kernel refuses and the remedy. */
int load_programs(struct loaded *ret, const struct ebpf_options *opt, struct error *err);
void loaded_free(struct loaded *l);
int load_attach(struct loaded *l, struct error *err);
/* In the tables beside calls nothing begins after this returned the time, monotonic: to detach takes a while. */
uint64_t load_over(struct loaded *l);
/* No call begins after this returned; those that have begun are seen to end. */
void load_detach_enter(struct loaded *l);
/* No event comes after this returned. */
void load_detach(struct loaded *l);
/* Adds a process to the selection; where processes are followed all its descendants too. */
int load_add_pid(struct loaded *l, int32_t pid, struct error *err);
/* Whether any selected process or thread is left. */
bool load_targets_left(const struct loaded *l);
/* How many selected processes have not ended, and the lowest number among them. */
size_t load_processes_left(const struct loaded *l, int32_t *ret_first);
/* Tells the programs where a process has the variable by which its threads publish contexts, and that it has none any more. */
int load_publish(struct loaded *l, int32_t pid, uint64_t process_start, int64_t offset,
		 uint32_t module);
void load_unpublish(struct loaded *l, int32_t pid);
