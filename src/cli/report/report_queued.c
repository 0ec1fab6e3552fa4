// SPDX-License-Identifier: Apache-2.0
#include "cli/report/report_queued.h"

#include <string.h>

#include "cli/report/report_page.h"
#include "schema/ops.h"

static bool hands_over(const struct rollup_row *row)
{
	return row->op >= 0 && op_hands_over((uint32_t)row->op);
}

static bool has_rows(uint32_t op, const struct loss_requests *q)
{
	char name[32];
	size_t with = strncmp(op_name(op, name), "io_uring", 8) == 0 ? q->io_uring : q->libaio;

	return q->recordings && with >= q->recordings;
}

int queued_put(struct buf *out, const struct rollup *r, const struct loss_requests *requests)
{
	_cleanup_(rollup_freep) struct rollup *ops = NULL;
	_cleanup_free_ const struct rollup_row **rows = NULL;
	size_t count = 0;
	int e = rollup_project(r, ROLLUP_OP, &ops);

	if (e >= 0)
		e = rollup_sorted(ops, hands_over, page_calls_order, &rows, &count);
	for (size_t i = 0; e >= 0 && i < count; i++) {
		char name[32];

		if (has_rows((uint32_t)rows[i]->op, requests))
			continue;
		e = buf_printf(out, "%s%s %s", out->len ? ", " : "",
			       op_name((uint32_t)rows[i]->op, name),
			       format_count(rows[i]->calls).s);
	}
	if (e >= 0 && out->len)
		e = buf_printf(out, ": the requests they submit are not included here");
	return e < 0 ? e : 0;
}
