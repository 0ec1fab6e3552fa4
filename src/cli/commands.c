/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c: all subcommands, in the order of `weir --help`, declared in commands.h. */
#include "cli/commands.h"

/* clang-format off */
const struct command *const commands[] = {
	&command_record,
	&command_trace,
	&command_stat,
	&command_top,
	&command_report,
	&command_analyses,
	&command_check,
	&command_doctor,
	&command_query,
#ifdef WEIR_ENGINE
	&command_sql,
	&command_annotate,
	&command_serve,
	&command_load,
#endif
	&command_synth,
	&command_import,
	&command_export,
	&command_cases,
	&command_help,
	&command_completion,
	NULL,
};
/* clang-format on */
