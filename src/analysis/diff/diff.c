// SPDX-License-Identifier: Apache-2.0
/* diff.c: the comparison as an analysis. */
#include <errno.h>
#include <string.h>

#include "analysis/diff/compare_runs.h"
#include "schema/ops.h"

static int diff_parse_per(const char *text, struct diff_options *ret, struct error *err)
{
	int op;

	if (strcmp(text, "auto") == 0)
		return 0;
	if (strcmp(text, "run") == 0) {
		ret->unit = DIFF_UNIT_RUN;
		return 0;
	}
	if (strcmp(text, "second") == 0 || strcmp(text, "s") == 0) {
		ret->unit = DIFF_UNIT_SECOND;
		return 0;
	}
	op = op_find(text);
	if (op < 0)
		return error_set(err, -EINVAL,
				 "--per '%.40s': use run, second or the name of an operation, such "
				 "as pread64",
				 text);
	ret->unit = DIFF_UNIT_OP;
	ret->unit_op = op;
	return 0;
}

static int diff_check(const void *options, struct error *err)
{
	struct diff_options o = {0};

	return diff_parse_per(((const struct diff_flags *)options)->per, &o, err);
}

static int diff_run(const struct analysis_input *in, struct analysis_result *out, struct error *err)
{
	const struct diff_flags *flags = in->options;
	struct diff_options options = {0};
	struct diff *d;
	int r = diff_parse_per(flags->per, &options, err);

	if (r < 0)
		return r;
	r = diff_compare(in, &options, &d, err);
	if (r < 0)
		return r;
	out->own = d;
	return diff_rows(d, out);
}

static void diff_free_own(void *own)
{
	diff_free(own);
}

static const char *diff_unit_word(size_t i)
{
	static const char *const words[] = {"auto", "run", "second"};

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static const struct option diff_options[] = {
	{0, "per", OPTION_STRING, "UNIT",
	 "give calls, bytes and time per run, per second, or per call of an operation (--per "
	 "fdatasync); auto: the unit in which most counts agree",
	 offsetof(struct diff_flags, per), .words = diff_unit_word, .otherwise = "auto"},
	{0, "head", OPTION_COUNT, "N", "show at most N changes (default 10)",
	 offsetof(struct diff_flags, head)},
	{0},
};

static const struct command_example diff_examples[] = {
	{"weir diff old.trace new.trace", "what changed from one run to another"},
	{"weir diff -a old.1 -a old.2 -a old.3 -b new.1 -b new.2 -b new.3",
	 "three runs of each, so that the noise between runs is known"},
	{"weir diff before/ after/", "the same: every trace in a folder is a run"},
	{"weir diff weir.trace --a-to +5s --b-from +5s", "the first five seconds and the rest"},
	{"weir diff weir.trace --a-where 'comm == \"old\"' --b-where 'comm == \"new\"'",
	 "two programs of one trace"},
	{"weir diff old.trace new.trace --per fdatasync -P /srv/db",
	 "what a commit costs below /srv/db"},
	{0},
};

const struct analysis analysis_diff = {
	.name = "diff",
	.summary = "show what changed between two traces, or two groups of them",
	.description =
		"Compares calls, latency, bytes and errors by operation, file, program and error, "
		"and lists what only one side has. Changes are ranked by how much of the "
		"difference in time they explain. Waiting is shown separately and is not "
		"ranked.\n\n"
		"The unit is the run: a million calls of one run are not a million independent "
		"samples. With three or more runs a side, a change is listed if it is larger than "
		"the differences between runs of one side. With fewer, parts of the runs are "
		"compared with one another, and a change must be larger than the differences that "
		"two runs of one program may show on one machine: latencies are then listed only "
		"if they change a lot. The false discovery rate over all tests is held at 5 % "
		"(Benjamini and Hochberg).\n\n"
		"A change that all calls share (a slower machine) is shown by itself and taken out "
		"of the others. Names that differ only in numbers or random letters (x.4711, "
		"000012.sst) count as one, with # in their place, unless every run has each of "
		"them.",
	.examples = diff_examples,
	.sides = 2,
	.order = ANALYSIS_SUMS,
	.options = diff_options,
	.options_size = sizeof(struct diff_flags),
	.check = diff_check,
	.run = diff_run,
	.put_members = diff_put_members,
	.free = diff_free_own,
};
