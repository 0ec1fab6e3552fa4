// SPDX-License-Identifier: Apache-2.0
/* query_parquet.c: `weir query --parquet`: the engine writes the answer to a file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/terminal/output.h"
#include "cli/query/query.h"
#include "engine/ask.h"
#include "engine/sql_text.h"

/* Runs the statements before the last one, and sends the rows of the last to the file. */
int query_parquet(struct query_session *s, const struct plan *p, const char *file,
		  struct error *err)
{
	_cleanup_(engine_statements_freep) struct engine_statements *statements = NULL;
	_cleanup_buf_ struct buf sql = {0}, all = {0};
	uint64_t rows = 0;
	bool made = access(file, F_OK) < 0;
	int r = output_spare_trace("--parquet", file, err);

	if (r >= 0)
		r = query_engine(s, err);
	if (r >= 0)
		r = engine_explain(s->engine, p, &sql, err);
	if (r < 0)
		return r;
	r = sql_copy_to_parquet(buf_str(&sql), file, &all);
	if (r < 0)
		return error_errno(err, r, "--parquet");
	interrupt_engine(s->it, s->engine);
	r = engine_parse(s->engine, buf_str(&all), &statements, err);
	for (size_t i = 0; r >= 0 && i < engine_statements_count(statements); i++) {
		_cleanup_(engine_result_freep) struct engine_result *result = NULL;

		r = engine_execute(statements, i, &result, err);
		if (r >= 0)
			rows = engine_result_changed(result);
	}
	interrupt_engine(s->it, NULL);
	if (r < 0 && made)
		(void)unlink(file); /* an incomplete file is not an answer */
	if (r >= 0 && isatty(STDOUT_FILENO))
		printf("%s rows in %s\n", format_count(rows).s, s->opts->parquet);
	return r;
}
