/* SPDX-License-Identifier: Apache-2.0 */
/* periods_screen.h: the screen of `weir periods`. */
#pragma once

#include "cli/analysis/analysis_command.h"

/* 0 or negative. */
int periods_screen(const struct analysis_view *v);
