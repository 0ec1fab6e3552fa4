/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of privilege/. */
#pragma once

#include "privilege/privilege.h"

/* filter.c: permits only the system calls that recording makes; from now on others fail with ENOSYS. 0 also if the
 * kernel has no filters. */
int filter_install(struct error *err);
/* Hides the types of kernel modules from this process. */
int filter_hide_modules(struct error *err);
