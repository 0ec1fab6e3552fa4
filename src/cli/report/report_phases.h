/* SPDX-License-Identifier: Apache-2.0 */
/* report_phases.h: the table of phases; a file of its own, as its rows are not those of the sums. */
#pragma once

#include "cli/report/report.h"
#include "engine/answer.h"

#define REPORT_PHASES 4 /* on a CPU, ready to run, blocked on I/O, blocked otherwise */

/*
 * Cells: calls, time, the four phases, of the wait for I/O what requests were queued and in a device, a bar, misses, bytes read,
 * calls without phases, operation, process, file. 0 or negative; -ENODATA with a message where no call has phases.
 */
int report_fill_phases(struct report *r, struct answer_list *t, struct error *err);
