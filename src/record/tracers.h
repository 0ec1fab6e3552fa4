/* SPDX-License-Identifier: Apache-2.0 */
/* tracers.h: other programs on this machine that observe system calls, and so slow down the traced programs too. */
#pragma once

#include <stdint.h>

/*
 * Calls `each` for every running tracer and audit daemon until it returns nonzero, which is then returned. The name of
 * another weir is followed by what it records: "weir -p 17,18".
 */
int tracers_each(int (*each)(void *arg, int32_t pid, const char *name), void *arg);
