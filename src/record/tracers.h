/* SPDX-License-Identifier: Apache-2.0 */
/* tracers.h: other programs of this machine that look at system calls, and so cost what is traced something too. */
#pragma once

#include <stdint.h>

/* Calls `each` for every tracer and audit daemon that runs, until it returns something else than 0, which is returned. */
int tracers_each(int (*each)(void *arg, int32_t pid, const char *comm), void *arg);
