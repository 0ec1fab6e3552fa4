// SPDX-License-Identifier: Apache-2.0
#include "cli/queued.h"

#include "cli/format.h"
#include "schema/ops.h"

int queued_put(struct buf *out, const struct rollup *r)
{
	_cleanup_(rollup_freep) struct rollup *ops = NULL;
	const char *before = "";
	int e = rollup_project(r, ROLLUP_OP, &ops);

	for (size_t i = 0; e >= 0 && i < rollup_count(ops); i++) {
		const struct rollup_row *row = rollup_row(ops, i);
		char name[32];

		if (row->op < 0 || !op_hands_over((uint32_t)row->op))
			continue;
		e = buf_printf(out, "%s%s %s", before, op_name((uint32_t)row->op, name),
			       format_count(row->calls).s);
		before = ", ";
	}
	if (e >= 0 && *before)
		e = buf_printf(out, ": what they hand over is in no figure here");
	return e < 0 ? e : 0;
}
