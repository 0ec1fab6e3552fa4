/* SPDX-License-Identifier: Apache-2.0 */
/* disks_screen.h: `weir disks` on a terminal. */
#pragma once

#include "cli/analysis/analysis_command.h"

/* Prints the disks, one after another. 0 or negative. */
int disks_screen(const struct analysis_view *v);
