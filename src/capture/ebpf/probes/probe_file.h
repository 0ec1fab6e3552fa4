/* SPDX-License-Identifier: Apache-2.0 */
/* probe_file.h: the probes and functions of a program's file. */
#pragma once

#include "capture/ebpf/probes/probe_spec.h"

/* Sees that the file has the probe, with the arguments that are wanted, and fills in its provider. 0, or negative with what is
 * wrong and which there are. */
int probe_file_check(struct probe_point *p, struct error *err);
