/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h: the subcommands, each defined in the file of its name. */
#pragma once

#include "cli/options/command.h"

/* One line each, in alphabetical order. */
extern const struct command command_annotate;
extern const struct command command_cases;
extern const struct command command_check;
extern const struct command command_completion;
extern const struct command command_doctor;
extern const struct command command_export;
extern const struct command command_help;
extern const struct command command_import;
extern const struct command command_load;
extern const struct command command_query;
extern const struct command command_record;
extern const struct command command_serve;
extern const struct command command_sql;
extern const struct command command_stat;
extern const struct command command_top;
extern const struct command command_report;
extern const struct command command_trace;
extern const struct command command_synth;

/* Reports that there is no such command, and names the nearest one. Returns 2. */
int command_unknown(const char *name);
