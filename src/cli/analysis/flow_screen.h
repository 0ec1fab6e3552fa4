/* SPDX-License-Identifier: Apache-2.0 */
/* flow_screen.h: `weir flow` on a terminal. */
#pragma once

#include "cli/analysis/analysis_command.h"

struct flow_state;
/* flow_export.c: prints the graph as another tool reads it: "dot", "shiviz". 0 or -ENOMEM. */
int flow_export(const struct flow_state *s, const char *as);
int flow_screen(const struct analysis_view *v);
