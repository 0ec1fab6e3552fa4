/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: finds the subcommand, runs it, and checks that its output arrived. */
#include "cli/commands.h"
#include "cli/options/help.h"
#include "privilege/privilege.h"

#include <errno.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

/* Lost output (as on a full disk) is a failure, even if the command did everything else right. */
static int main_finish(int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	/* the reason is unknown if an earlier flush failed */
	fprintf(stderr, "weir: the output could not be written%s%s\n", errno ? ": " : "",
		errno ? strerror(errno) : "");
	return status ? status : 1;
}

static bool main_is_word(const char *arg, const char *a, const char *b)
{
	return strcmp(arg, a) == 0 || strcmp(arg, b) == 0;
}

/* `weir report stacks` means `weir stacks`: removes the word, unless a file has that name. */
static bool take_stacks(int *argc, char **argv)
{
	for (int i = 2; i < *argc; i++) {
		if (strcmp(argv[i], "stacks") != 0 || (i > 2 && access(argv[i], F_OK) == 0))
			continue;
		memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof(*argv));
		(*argc)--;
		return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	struct error err = {0};

	if (privilege_begin(&err) < 0)
		return fail(&err);
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	if (argc < 2) {
		help_overview(stderr);
		return 2;
	}
	if (main_is_word(argv[1], "--help", "-h")) {
		help_overview(stdout);
		return main_finish(0);
	}
	if (main_is_word(argv[1], "--version", "-V")) {
		puts("weir " WEIR_VERSION);
		return main_finish(0);
	}
	if (argv[1][0] == '-')
		return fail_usage("the command must come first: weir COMMAND [options]; `weir "
				  "--help` lists them");
	if (strcmp(argv[1], "report") == 0 && take_stacks(&argc, argv))
		argv[1] = "stacks";
	cmd = command_find(argv[1]);
	if (!cmd)
		return command_unknown(argv[1]);
	if (!cmd->records && !cmd->drops && privilege_drop(privilege_files(), &err) < 0)
		return fail(&err);
	return main_finish(command_run(cmd, argc - 1, argv + 1));
}
