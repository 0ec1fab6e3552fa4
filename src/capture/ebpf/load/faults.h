/* SPDX-License-Identifier: Apache-2.0 */
/*
 * faults.h: the perf events that run weir_fault (bpf/faults.bpf.c) at the end of each major page fault, one for each
 * CPU that is online when recording begins. Opening one requires CAP_PERFMON, which the recorder gives up, so faults on
 * a CPU that comes online later are not seen.
 */
#pragma once

#include "capture/ebpf/internal.h"

struct faults {
	size_t cpus; /* 0: faults are not recorded */
	int *events, *links;
	uint64_t *counts;    /* counts of perf; set by faults_detach() */
	uint64_t online_sum; /* checksum of the list of online CPUs */
	bool cpu_added;	     /* a CPU without an event was online */
};

/* Opens the events, disabled. 0, or why the kernel refuses them; then there are none. */
int faults_open(struct faults *f, size_t cpus);
/* 0, or why the kernel refuses it; faults_free() must follow. */
int faults_attach(struct faults *f, int program);
/* Whether the set of online CPUs changed: an event does not come back with its CPU. */
bool faults_cpus_changed(struct faults *f);
void faults_detach(struct faults *f);
void faults_free(struct faults *f);
/* Faults of any thread for which the program did not run, by its own count (map `runs`); call after faults_detach(). */
uint64_t faults_skipped(const struct faults *f, int runs);
