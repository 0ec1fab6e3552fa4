/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/analysis/analysis_command.h"

#include <stdio.h>

#include "analysis/periods/periods.h"
#include "cli/options/command.h"

static void periods_note(int64_t count, const char *one, const char *several)
{
	if (count)
		printf("%s %s\n", format_count((uint64_t)count).s, count == 1 ? one : several);
}

/* Reports definitions that find nothing, though their parents do. */
static void periods_unbegun(const struct periods_found *f, bool built_in)
{
	for (size_t i = 0; i < f->set.count; i++) {
		const struct period *d = f->set.items[i];

		if (!f->matches.begun[i] && (d->parent < 0 || f->matches.begun[d->parent]))
			printf("%s: no call meets its BEGIN%s\n", d->name,
			       built_in ? "; built-in definitions choose servers by their names "
					  "(docs/howto/periods.md)"
					: "");
	}
}

/* Reports definitions that cannot end: BEGIN has no value for a name that END compares with. */
static void periods_endless(const struct periods_found *f)
{
	for (size_t i = 0; i < f->set.count; i++) {
		if (f->matches.begun[i] && f->matches.endless[i] == f->matches.begun[i])
			printf("%s: no END can match: a value of BEGIN that it compares with is "
			       "unknown in all %s that began\n",
			       f->set.items[i]->name, format_count(f->matches.begun[i]).s);
	}
}

/* Prints sums, or the log; incomplete periods are reported below. */
int periods_screen(const struct analysis_view *v)
{
	const struct periods_flags *flags = analysis_own_options(v->opts);
	const struct periods_found *f = v->result->own;
	struct error err = {0};
	int r = analysis_put_table(v, flags->log ? PERIODS_ROWS : PERIODS_SUMS, &err);

	if (r >= 0 && f->aggregate_by >= 0)
		r = analysis_put_table(v, PERIODS_AGGREGATES, &err);
	if (r < 0) {
		fail(&err);
		return r;
	}
	if (f->cut || f->running)
		putchar('\n');
	periods_note(f->cut - f->lost, "was cut: its parent ended before it",
		     "were cut: their parents ended before them");
	periods_note(f->lost, "was cut, as calls of its thread are missing",
		     "were cut, as calls of their threads are missing");
	periods_note(f->running, "has no end in the recording", "have no end in the recording");
	periods_unbegun(f, flags->use.count > 0);
	periods_endless(f);
	fflush(stdout);
	loss_warn(&v->loss);
	return 0;
}
