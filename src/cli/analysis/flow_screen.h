/* SPDX-License-Identifier: Apache-2.0 */
/* flow_screen.h: `weir flow` on a terminal. */
#pragma once

#include "cli/analysis/analysis_command.h"

struct flow_state;
/* flow_export.c: prints the graph in the format of another tool: "dot", "shiviz". 0 or -ENOMEM. */
int flow_export(const struct flow_state *s, const char *as);
struct alike;
struct alike_options;
/* alike_screen.c: prints equal and similar data, or the order of reads, in place of the usual screen. 0 or -ENOMEM. */
int alike_screen(const struct analysis_view *v, const struct alike *a,
		 const struct alike_options *o);
