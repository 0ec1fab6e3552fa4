/* SPDX-License-Identifier: Apache-2.0 */
/* stacks_screen.h: the screen of `weir stacks`, and its two exports. */
#pragma once

#include "cli/analysis/analysis_command.h"

/* 0 or negative. */
int stacks_screen(const struct analysis_view *v);
