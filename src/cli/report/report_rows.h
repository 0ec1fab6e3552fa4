/* SPDX-License-Identifier: Apache-2.0 */
/* report_rows.h: the rows of a `report` table, before they become text or JSON. */
#pragma once

#include "cli/report/report.h"
#include "cli/terminal/cell.h"
#include "engine/answer.h"

/* Fills a table: ops, files, dirs, processes, threads, peers, errors, slow, phases; sorted, cut to --head. 0 or negative. */
int report_rows(struct report *r, const char *which, struct answer_list *ret, struct error *err);
/* How points in time are shown: on a narrow terminal also relative to the start, unless --utc requests dates. */
enum cell_times report_times(const struct report *r);
