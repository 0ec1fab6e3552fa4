/* SPDX-License-Identifier: Apache-2.0 */
/* diagnose_screen.h: the screen of `weir diagnose`. */
#pragma once

#include "cli/analysis/analysis_command.h"

/* 0 or negative. */
int diagnose_screen(const struct analysis_view *v);
