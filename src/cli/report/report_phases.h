/* SPDX-License-Identifier: Apache-2.0 */
/* report_phases.h: the table of phases, in a separate file because its rows do not come from the sums. */
#pragma once

#include "cli/report/report.h"
#include "engine/answer.h"

#define REPORT_PHASES 4 /* on a CPU, ready to run, blocked on I/O, blocked otherwise */

/*
 * Cells: calls, time, the four phases, of the wait for I/O the time queued and in the device, a bar, misses, bytes
 * read, calls without phases, operation, process, file. No row if no call has phases. 0 or negative.
 */
int report_fill_phases(struct report *r, struct answer_list *t, struct error *err);
