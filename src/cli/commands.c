/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c: every subcommand, in the order of `weir --help`: one line each, declared in
 * commands.h. */
#include "cli/commands.h"

const struct command *const commands[] = {
#ifdef WEIR_ENGINE
	&command_sql,
#endif
	&command_report,
	&command_synth,
	&command_help,
	&command_completion,
	NULL,
};
