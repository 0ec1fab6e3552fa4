/* SPDX-License-Identifier: Apache-2.0 */
/* help.h: what is said about the commands, all of it made from their tables. */
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
/* A completion script; shell is "bash", "zsh" or "fish". False for another. */
bool help_completion(FILE *out, const char *shell);

/* The shells that there are scripts for. */
const char *help_shell(size_t i);

/* What may stand for the last of a command line's words (without "weir"), a line each; nothing where
 * that is no pipeline, no expression and none of a few words. 0, or 1 without memory. */
int complete_words(int argc, char **argv);

/* True where the value is an expression of the query language. */
static inline bool option_is_expression(const struct option *o)
{
	return o->value && strcmp(o->value, "EXPR") == 0;
}
/* "-p, --pid PID" into buf. */
void option_title(const struct option *o, char *buf, size_t size);
/* Its sentence, in buf with the default behind it where it has one. */
const char *option_text(const struct option *o, char *buf, size_t size);
