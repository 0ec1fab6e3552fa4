/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir cases: the programs with a known fault and their healthy twins, installed with weir. A Python harness records
 * and judges them (tests/cases/cases.py); this command finds the harness and executes it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"

/* Relative to the folder of the executable; in a build folder meson.build creates a link there. */
#define CASES_BESIDE_EXECUTABLE "../share/weir/cases"
#define CASES_HARNESS		"cases.py"
#define CASES_ARGS_MAX		8

struct cases_opts {
	const char *from, *only;
};

static const char *cases_action(size_t i)
{
	static const char *const actions[] = {"list", "run", "export"};

	return i < ARRAY_SIZE(actions) ? actions[i] : NULL;
}

static int cases_find(const char *from, const char *weir, char **ret, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	const char *slash = strrchr(weir, '/');
	int n = from ? asprintf(&path, "%s/" CASES_HARNESS, from)
		     : asprintf(&path, "%.*s/" CASES_BESIDE_EXECUTABLE "/" CASES_HARNESS,
				slash ? (int)(slash - weir) : 0, weir);

	if (n < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (access(path, X_OK) < 0)
		return error_errno(err, -errno,
				   "no cases in %s; name their folder with --from: tests/cases in "
				   "weir's source",
				   path);
	*ret = TAKE_PTR(path);
	return 0;
}

/* Executes the harness; returns only on failure. */
static int cases_become(const struct cases_opts *o, const char *action, const char *folder)
{
	_cleanup_free_ char *harness = NULL;
	struct error err = {0};
	char weir[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", weir, sizeof(weir) - 1);
	const char *args[CASES_ARGS_MAX] = {0};
	size_t n = 0;
	int r;

	weir[MAX(len, 0)] = '\0';
	r = cases_find(o->from, weir, &harness, &err);
	if (r < 0)
		return fail(&err);
	args[n++] = harness;
	args[n++] = weir;
	if (!strcmp(action, "list"))
		args[n++] = "--list";
	if (folder) {
		args[n++] = "--export";
		args[n++] = folder;
	}
	if (o->only) {
		args[n++] = "--only";
		args[n++] = o->only;
	}
	assert(n < CASES_ARGS_MAX);
	fflush(stdout);
	execv(harness, (char *const *)args);
	error_errno(&err, -errno, "cannot run %s, which needs Python 3", harness);
	return fail(&err);
}

static int cases_run(const void *opts, int argc, char **argv)
{
	const char *action = argc ? argv[0] : "list";
	bool export = !strcmp(action, "export"), known = false;

	for (size_t i = 0; cases_action(i); i++)
		known |= !strcmp(action, cases_action(i));
	if (!known)
		return fail_usage("cases: unknown command '%.80s'; use list, run or export DIR",
				  action);
	if (export && argc < 2)
		return fail_usage(
			"cases: the folder to export to is missing: weir cases export DIR");
	if (argc > 1 + export)
		return fail_extra("cases", argv[1 + export]);
	return cases_become(opts, action, export ? argv[1] : NULL);
}

static const struct option cases_options[] = {
	{0, "from", OPTION_STRING, "FOLDER",
	 "use the cases in this folder (default: those of this weir)",
	 offsetof(struct cases_opts, from)},
	{0, "only", OPTION_STRING, "NAME", "only these cases: names or globs, separated by commas",
	 offsetof(struct cases_opts, only)},
	{0},
};

static const struct command_example cases_examples[] = {
	{"weir cases export /tmp/labelled", "a trace and a label for each, for another tool"},
	{"weir cases run --only 'small-*'", "record these and judge what diagnose finds"},
	{0},
};

const struct command command_cases = {
	.name = "cases",
	.summary = "record programs with a known fault, and export them as labelled traces",
	.usage = "[options] [list | run | export DIR]",
	.words = cases_action,
	.description =
		"Each case is a small program with one fault, and a healthy twin that does the "
		"same work well; some are ordinary programs without a fault. `list` prints their "
		"names. `run` records them on this machine and compares the findings of weir "
		"diagnose with those that are expected, in TAP. `export` records them and writes "
		"CASE.TWIN.weir, a trace, and CASE.TWIN.json, its label, into the folder: what the "
		"program does and the findings that a tool should report (rule, path, peer, "
		"process, thread, range), so that any tool can be scored on them. A case that this "
		"machine cannot run is skipped, and the reason is printed. Recording needs root; "
		"the cases need Python 3.\n\n"
		"Exit status: 0 done, 1 a case failed, 2 wrong options.",
	.options = cases_options,
	.options_size = sizeof(struct cases_opts),
	.examples = cases_examples,
	.records = true, /* its child records, with weir's privileges */
	.run = cases_run,
};
