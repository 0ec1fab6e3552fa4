/* SPDX-License-Identifier: Apache-2.0 */
/* probe_file.h: the probes and functions of a program's file. */
#pragma once

#include "capture/ebpf/probes/probe_spec.h"

/* Checks that the file has the probe with the requested arguments, and sets its provider. 0, or negative with a message
 * that lists the existing ones. */
int probe_file_check(struct probe_point *p, struct error *err);
