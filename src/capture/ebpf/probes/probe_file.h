/* SPDX-License-Identifier: Apache-2.0 */
/* probe_file.h: the probes and functions of a program's file. */
#pragma once

#include "capture/ebpf/probes/probe_spec.h"

/*
 * Sees that the file has the probe, with the arguments that are wanted, and fills in its provider. 0, or negative with what is
 * wrong and which there are. The kernel finds what a return probe belongs to by the place on the stack: where a function goes on
 * on another stack, it takes the call for abandoned and kills the program when it returns. A Go program, whose stacks move all
 * the time, is refused; other files that can switch stacks have p->switches set.
 */
int probe_file_check(struct probe_point *p, struct error *err);
