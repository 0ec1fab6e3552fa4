/* SPDX-License-Identifier: Apache-2.0 */
/* help.h: documentation of the commands, generated from their tables. */
#pragma once

#include "cli/options/command.h"

#include <stdio.h>
#include <string.h>

/* `weir --help`: every command with its summary. */
void help_overview(FILE *out);
/* `weir COMMAND --help`. */
void help_command(FILE *out, const struct command *cmd);
/* The page for man(1), in roff; NULL: weir(1) itself. */
void help_man(FILE *out, const struct command *cmd);
/* The command's part of docs/commands.md. */
void help_markdown(FILE *out, const struct command *cmd);
/* Prints a completion script; shell is "bash", "zsh" or "fish". False for any other. */
bool help_completion(FILE *out, const char *shell);

/* The shells with completion scripts. */
const char *help_shell(size_t i);

/*
 * Prints completions for the last word of a command line (without "weir"), one per line; none unless the word is a
 * pipeline, an expression or one of a few words. 0, or 1 without memory.
 */
int complete_words(int argc, char **argv);

/* True if the value is an expression of the query language. */
static inline bool option_is_expression(const struct option *o)
{
	return o->value && strcmp(o->value, "EXPR") == 0;
}
/* Formats "-p, --pid PID" into buf. */
void option_title(const struct option *o, char *buf, size_t size);
/* The option's description, in buf if its default has to be appended. */
const char *option_text(const struct option *o, char *buf, size_t size);
