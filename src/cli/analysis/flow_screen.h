/* SPDX-License-Identifier: Apache-2.0 */
/* flow_screen.h: `weir flow` on a terminal. */
#pragma once

#include "cli/analysis/analysis_command.h"

int flow_screen(const struct analysis_view *v);
