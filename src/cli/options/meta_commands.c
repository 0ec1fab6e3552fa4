/* SPDX-License-Identifier: Apache-2.0 */
/* meta_commands.c: commands about commands: help and completion. */
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/options/help.h"

#include <string.h>

struct help_options {
	bool man, markdown;
};

/* For the build: prints every page from the tables. */
static int help_all_markdown(void)
{
	printf("# Commands\n\nGenerated from the option tables by `weir help --markdown`; `make "
	       "docs` updates it.\n");
	for (size_t i = 0; command_at(i); i++)
		help_markdown(stdout, command_at(i));
	return 0;
}

int command_unknown(const char *name)
{
	struct nearest near = {.word = name};

#ifndef WEIR_ENGINE
	if (!strcmp(name, "sql") || !strcmp(name, "annotate") || !strcmp(name, "serve"))
		return fail_usage("this weir was built without the engine that `weir %s` needs; "
				  "install the packages weir and weir-engine, or build with "
				  "-Dengine=true",
				  name);
#endif
	for (size_t i = 0; command_at(i); i++)
		nearest_offer(&near, command_at(i)->name);
	if (near.best)
		return fail_usage("'%.80s' is not a weir command; did you mean `weir %s`?", name,
				  near.best);
	return fail_usage("'%.80s' is not a weir command; `weir --help` lists them", name);
}

static int help_run(const void *opts, int argc, char **argv)
{
	const struct help_options *o = opts;
	const struct command *cmd = NULL;

	if (argc > 1)
		return fail_extra("help", argv[1]);
	if (o->markdown && argc == 0)
		return help_all_markdown();
	if (argc == 1 && !(o->man && strcmp(argv[0], "weir") == 0)) {
		cmd = command_find(argv[0]);
		if (!cmd)
			return command_unknown(argv[0]);
	}
	if (o->man)
		help_man(stdout, cmd);
	else if (o->markdown)
		help_markdown(stdout, cmd);
	else if (cmd)
		help_command(stdout, cmd);
	else
		help_overview(stdout);
	return 0;
}

static const struct option help_table[] = {
	{0, "man", OPTION_FLAG, NULL, "print the man page's source",
	 offsetof(struct help_options, man)},
	{0, "markdown", OPTION_FLAG, NULL, "print as Markdown",
	 offsetof(struct help_options, markdown)},
	{0},
};

static const struct command_example help_examples[] = {
	{"weir help record", "the same as weir record --help"},
	{"weir help --man record | man -l -", "the man page without installing it"},
	{0},
};

const struct command command_help = {
	.name = "help",
	.summary = "show what a command does, with its options and examples",
	.usage = "[COMMAND]",
	.words = command_name,
	.description = "Exit status: 0 done, 2 no such command.",
	.options = help_table,
	.options_size = sizeof(struct help_options),
	.examples = help_examples,
	.run = help_run,
};

struct completion_options {
	bool words;
};

static int completion_run(const void *opts, int argc, char **argv)
{
	const struct completion_options *o = opts;

	if (o->words)
		return complete_words(argc, argv);
	if (argc == 0)
		return fail_usage("completion: the shell is missing: bash, zsh or fish");
	if (argc > 1)
		return fail_extra("completion", argv[1]);
	if (!help_completion(stdout, argv[0]))
		return fail_usage("completion: no script for '%.80s'; use bash, zsh or fish",
				  argv[0]);
	return 0;
}

static const struct option completion_table[] = {
	/* only for the scripts: the words of a command line up to the cursor */
	{0, "words", OPTION_FLAG, NULL, NULL, offsetof(struct completion_options, words)},
	{0},
};

static const struct command_example completion_examples[] = {
	{"eval \"$(weir completion bash)\"", "completion in this shell, until it ends"},
	{0},
};

const struct command command_completion = {
	.name = "completion",
	.summary = "print a script that completes commands and options in a shell",
	.usage = "bash|zsh|fish",
	.words = help_shell,
	.description = "Exit status: 0 done, 2 no such shell.",
	.options = completion_table,
	.options_size = sizeof(struct completion_options),
	.examples = completion_examples,
	.run = completion_run,
};
