/* SPDX-License-Identifier: Apache-2.0 */
/* help.c: --help, of weir and of each command. */
#include "cli/options/help.h"

#include <string.h>
#include <unistd.h>

#include "cli/terminal/text.h"

#define HELP_WIDTH 100 /* maximum columns; the width in manuals and documents */
#define HELP_COLUMN_MAX \
	26 /* maximum width of an option's name; after a longer one the text starts on the next line \ */

/* Prints text in lines that fit, all but the first indented; keeps its newlines. */
static void wrapped(FILE *out, const char *text, size_t indent)
{
	size_t width = isatty(fileno(out)) ? text_width_of(fileno(out)) : HELP_WIDTH;
	size_t column = indent;

	width = MIN(width, (size_t)HELP_WIDTH);

	while (*text) {
		size_t word = strcspn(text, " \n");

		if (column > indent && column + 1 + word > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fwrite(text, 1, word, out);
		column += word;
		text += word;
		if (*text == '\n') {
			fputc('\n', out);
			if (text[1] && text[1] != '\n')
				fprintf(out, "%*s", (int)indent, "");
			column = indent;
		}
		if (*text)
			text++;
	}
	fputc('\n', out);
}

void option_title(const struct option *o, char *buf, size_t size)
{
	char shown[] = {'-', o->short_name, 0};

	snprintf(buf, size, "%s%s%s%s%s%s%s", o->short_name ? shown : "  ",
		 o->short_name && o->long_name ? ", "
		 : o->short_name	       ? ""
					       : "  ",
		 o->long_name ? "--" : "", o->long_name ? o->long_name : "",
		 !o->value ? ""
		 : o->bare ? "[="
			   : " ",
		 o->value ? o->value : "", o->bare ? "]" : "");
}

const char *option_text(const struct option *o, char *buf, size_t size)
{
	if (!o->otherwise)
		return o->help;
	snprintf(buf, size, "%s (default %s)", o->help, o->otherwise);
	return buf;
}

void help_overview(FILE *out)
{
	fputs("weir shows where the I/O of a program goes.\n\n"
	      "usage: weir COMMAND [options] [arguments]\n\n",
	      out);
	for (size_t i = 0; command_at(i); i++)
		fprintf(out, "  %-11s %s\n", command_at(i)->name, command_at(i)->summary);
	fputs("\n  weir COMMAND --help   shows a command's options, with examples\n"
	      "  weir --version        shows the version\n",
	      out);
}

static void help_options(FILE *out, const struct command *cmd)
{
	char title[128], text[512];
	size_t width = 0;

	for (const struct option *o = cmd->options; !option_end(o); o++) {
		option_title(o, title, sizeof(title));
		if (o->help && strlen(title) <= HELP_COLUMN_MAX)
			width = MAX(width, strlen(title));
	}
	width = MAX(width, strlen("-h, --help"));
	fputs("\noptions:\n", out);
	for (const struct option *o = cmd->options; !option_end(o); o++) {
		if (!o->help)
			continue;
		option_title(o, title, sizeof(title));
		if (strlen(title) > width)
			fprintf(out, "  %s\n%*s", title, (int)width + 4, "");
		else
			fprintf(out, "  %-*s  ", (int)width, title);
		wrapped(out, option_text(o, text, sizeof(text)), width + 4);
	}
	fprintf(out, "  %-*s  this text\n", (int)width, "-h, --help");
}

void help_command(FILE *out, const struct command *cmd)
{
	fprintf(out, "weir %s: %s\n\nusage: weir %s %s\n", cmd->name, cmd->summary, cmd->name,
		cmd->usage);
	if (cmd->description) {
		fputc('\n', out);
		wrapped(out, cmd->description, 0);
	}
	help_options(out, cmd);
	if (cmd->examples && cmd->examples[0].line) {
		fputs("\nexamples:\n", out);
		for (const struct command_example *e = cmd->examples; e->line; e++) {
			fprintf(out, "  %s\n      ", e->line);
			wrapped(out, e->what, 6);
		}
	}
}
