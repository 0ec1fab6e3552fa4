/* SPDX-License-Identifier: Apache-2.0 */
/* probe_file.h: the probes and functions of a program's file. */
#pragma once

#include "capture/ebpf/probes/probe_spec.h"

/*
 * Checks that the file has the probe with the requested arguments, and sets its provider. 0, or negative with a message
 * that lists the existing ones. The kernel matches a return probe to its entry by the position on the stack: if a
 * function continues on another stack, the kernel considers the call abandoned and kills the program when it returns. A
 * Go program, whose stacks move frequently, is rejected; for other files that can switch stacks p->switches is set.
 */
int probe_file_check(struct probe_point *p, struct error *err);
