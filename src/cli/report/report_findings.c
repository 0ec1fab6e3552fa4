// SPDX-License-Identifier: Apache-2.0
/* report_findings.c: the findings of `weir diagnose` in the trace, if it was run. */
#include <stdio.h>

#include "cli/report/report_page.h"
#include "cli/terminal/text.h"
#include "store/made/made.h"

static int findings_put_first(const struct report *r, const struct store_made *m)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	_cleanup_buf_ struct buf line = {0};
	const struct batch *rows;
	struct error err = {0};
	struct bytes sentence;
	int e = store_cursor_new(&c, r->store);

	if (e < 0)
		return e;
	if (store_decode(c, m->first_block, 1ull << FINDING_SENTENCE, &rows, &err) < 0 ||
	    !rows->rows)
		return 0; /* was counted as damage */
	sentence = batch_get_bytes(rows, FINDING_SENTENCE, 0);
	e = buf_printf(&line, "FOUND  ");
	if (e >= 0)
		e = format_safe(&line, sentence.data, sentence.len);
	if (e >= 0 && m->rows > 1)
		e = buf_printf(&line, "   (and %llu more: weir diagnose)",
			       (unsigned long long)m->rows - 1);
	if (e >= 0)
		e = page_line(&line);
	return e;
}

int page_findings(const struct report *r)
{
	const struct store_made *m = r->filtered || r->ranged || store_trace_count(r->store) != 1
					     ? NULL
					     : store_made_current(r->store, TABLE_FINDING);

	if (!m)
		return 0;
	printf("\n");
	if (m->rows)
		return findings_put_first(r, m);
	printf("FOUND  nothing   (weir diagnose)\n");
	return 0;
}
