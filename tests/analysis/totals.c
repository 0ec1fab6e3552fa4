// SPDX-License-Identifier: Apache-2.0
#include "gaps.h"

#include "schema/vocab.h"

static const struct answer_column totals_columns[] = {
	{"op", {QUERY_TEXT}},
	{"n", {QUERY_INT}},
};

static int totals_ask(const struct analysis_run *run, const char *pipeline, struct answer_list *to,
		      struct error *err)
{
	_cleanup_(analysis_asked_free) struct analysis_asked a = {0};
	int r = analysis_ask(&a, run, pipeline, err);

	while (r >= 0 && (r = answer_next(&a.rows, err)) == 1) {
		struct value op = answer_get(&a.rows, 0);

		if (op.t.data)
			answer_list_text(to, op.t);
		else
			answer_list_str(to, vocab_word("op", op.i));
		answer_list_int(to, answer_get(&a.rows, 1).i);
	}
	return r;
}

static int totals_run(const struct analysis_input *in, struct analysis_result *out,
		      struct error *err)
{
	struct answer_list *ops =
		analysis_table(out, "ops", totals_columns, ARRAY_SIZE(totals_columns));
	struct answer_list *errors =
		analysis_table(out, "errors", totals_columns, ARRAY_SIZE(totals_columns));
	int r = totals_ask(&in->runs[0], "by op | count() as n | sort n desc", ops, err);

	return r < 0 ? r
		     : totals_ask(&in->runs[0],
				  "where err is not null | by op | count() as n | sort n desc",
				  errors, err);
}

static const struct command_example totals_examples[] = {
	{"weir totals", "calls and errors by operation"},
	{0},
};

const struct analysis analysis_totals = {
	.name = "totals",
	.summary = "count calls and errors by operation",
	.description = "Asks the engine.",
	.examples = totals_examples,
	.order = ANALYSIS_ASKS,
	.run = totals_run,
};
