/* SPDX-License-Identifier: Apache-2.0 */
/* analysis_screen.c: prints the result of an analysis on a terminal. */
#include <stdio.h>
#include <string.h>

#include "cli/analysis/analysis_command.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/text.h"

/* Analyses with their own screens. */
static const struct {
	const char *name;
	int (*print)(const struct analysis_view *v);
} screens[] = {
	{"diagnose", diagnose_screen}, {"diff", diff_screen},	    {"stacks", stacks_screen},
	{"disks", disks_screen},       {"periods", periods_screen}, {"requests", requests_screen},
	{"flow", flow_screen},
};

static int analysis_put_sentence(enum text_style style, struct bytes text, size_t indent)
{
	_cleanup_buf_ struct buf safe = {0}, lines = {0};
	size_t width = MAX(text_width(), (size_t)TEXT_WIDTH_MIN);
	int r = format_safe(&safe, text.data, text.len);

	if (r < 0)
		return r;
	r = format_wrapped(&lines, buf_str(&safe), indent, width);
	if (r < 0)
		return r;
	printf("%*s%s%s%s", (int)indent, "", text_style(style), buf_str(&lines),
	       text_style(TEXT_PLAIN));
	return r;
}

int analysis_put_findings(const struct analysis_view *v, struct error *err)
{
	_cleanup_answer_ struct answer rows = {0};
	int r = answer_of_list(&rows, &v->result->findings, true);
	bool any = false;

	while (r >= 0 && (r = answer_next(&rows, err)) == 1) {
		const struct value severity = answer_get(&rows, 0), text = answer_get(&rows, 2),
				   advice = answer_get(&rows, 3);

		any = true;
		r = analysis_put_sentence(severity.t.data[0] == 'p'   ? TEXT_RED
					  : severity.t.data[0] == 'w' ? TEXT_YELLOW
								      : TEXT_BOLD,
					  text.t, 0);
		if (r >= 0 && !advice.null)
			r = analysis_put_sentence(TEXT_PLAIN, advice.t, 4);
	}
	if (r >= 0 && v->analysis->finds && !any)
		puts("nothing found");
	return r;
}

struct cell_style analysis_style(const struct analysis_view *v)
{
	const struct read_flags *f = &v->opts->read;

	return (struct cell_style){.origin = v->origin, .times = cell_times_of(f->rel, f->utc)};
}

int analysis_put_table(const struct analysis_view *v, size_t i, struct error *err)
{
	const struct answer_print print = answer_print_out(
		analysis_style(v), "pipe the output, or use --csv, to get them all");

	if (i || v->result->findings.count)
		putchar('\n');
	if (v->result->count > 1)
		printf("%s%s%s\n", text_style(TEXT_BOLD), v->result->tables[i].name,
		       text_style(TEXT_PLAIN));
	return answer_text_list(&print, &v->result->tables[i].rows, err);
}

int analysis_screen(const struct analysis_view *v, struct error *err)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(screens); i++) {
		if (strcmp(screens[i].name, v->analysis->name) == 0)
			return screens[i].print(v);
	}
	r = analysis_put_findings(v, err);
	for (size_t i = 0; i < v->result->count && r >= 0; i++)
		r = analysis_put_table(v, i, err);
	fflush(stdout);
	loss_warn(&v->loss);
	return r;
}
