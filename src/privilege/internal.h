/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of privilege/. */
#pragma once

#include "privilege/privilege.h"

/* filter.c: from here on only system calls that recording makes; others fail with ENOSYS. 0 also where the
 * kernel has no filters. */
int filter_install(struct error *err);
/* From here on, the kernel reports no types of modules to this process. */
int filter_hide_modules(struct error *err);
