/* SPDX-License-Identifier: Apache-2.0 */
/* manual.c: the man pages and docs/commands.md, generated from the same tables as --help. */
#include "cli/options/help.h"

#include <ctype.h>
#include <string.h>

/* Escapes text for roff, in which a backslash, a hyphen, and a dot or quote at the start of a line are special. */
static void roff(FILE *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else if (text[0] == '\n' && text[1] == '\n')
			fputs("\n.PP", out);
		else
			fputc(*text, out);
		line_start = *text == '\n';
	}
	fputc('\n', out);
}

static void roff_option(FILE *out, const struct option *o)
{
	char text[512];

	fputs(".TP\n", out);
	if (o->short_name)
		fprintf(out, "\\fB\\-%c\\fR%s", o->short_name, o->long_name ? ", " : "");
	if (o->long_name) {
		fputs("\\fB\\-\\-", out);
		for (const char *c = o->long_name; *c; c++)
			fputs(*c == '-' ? "\\-" : (char[]){*c, 0}, out);
		fputs("\\fR", out);
	}
	if (o->value)
		fprintf(out, "%s\\fI%s\\fR%s", o->bare ? "[=" : " ", o->value, o->bare ? "]" : "");
	fputc('\n', out);
	roff(out, option_text(o, text, sizeof(text)));
}

static void man_weir(FILE *out)
{
	fputs(".TH WEIR 1 \"\" \"weir " WEIR_VERSION "\" \"User Commands\"\n"
	      ".SH NAME\nweir \\- record every I/O of a program and show where it went\n"
	      ".SH SYNOPSIS\n.B weir\n.I COMMAND\n[options] [arguments]\n"
	      ".SH DESCRIPTION\n"
	      "weir records the calls of a program, a container or a whole host that touch files, "
	      "sockets, pipes and\n"
	      "memory maps, in the kernel, with BPF, and stores them in a trace file for reports, "
	      "queries and SQL.\nAnything that could not be recorded is counted, stored in the "
	      "trace and reported.\n"
	      ".PP\nRecording needs root, or the capabilities that\n.B weir doctor\nnames. Reading "
	      "a trace needs neither.\n"
	      ".SH COMMANDS\n",
	      out);
	for (size_t i = 0; command_at(i); i++) {
		fprintf(out, ".TP\n.B %s\n", command_at(i)->name);
		roff(out, command_at(i)->summary);
	}
	fputs(".SH EXAMPLES\n"
	      ".TP\n.B weir record \\-\\- make\nRecords a command into weir.trace.\n"
	      ".TP\n.B weir report\nShows on one page where its I/O went.\n"
	      ".TP\n.B weir report slow \\-e fdatasync\nThe slowest calls of a kind.\n"
	      ".TP\n.B weir trace \\-p 4711 \\-Z\nA line for each failed call of a running "
	      "process.\n"
	      ".TP\n.B weir query \\(aqby path | sum(bytes)\\(aq\nAny other question.\n"
	      ".TP\n.B weir diff before.trace after.trace\nWhat changed between two runs.\n",
	      out);
	fputs(".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\nThe command failed.\n.TP\n.B "
	      "2\n"
	      "The command line is wrong.\n.PP\n.B weir record \\-\\- CMD\nends with the status of "
	      "CMD.\n"
	      ".SH FILES\n.TP\n.I weir.trace\nThe trace that is written and read by default; an "
	      "existing one is renamed to\n.IR weir.trace.old .\n"
	      ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nNo colours, also on a terminal.\n"
	      ".TP\n.B WEIR_PAGER, PAGER\nShows long output on a terminal;\n.I cat\nturns it "
	      "off.\n.SH SEE ALSO\n",
	      out);
	for (size_t i = 0; command_at(i); i++)
		fprintf(out, ".BR weir\\-%s (1)%s\n", command_at(i)->name,
			command_at(i + 1) ? "," : "");
}

/* True if the page must refer to that of the language. */
static bool takes_conditions(const struct command *cmd)
{
	for (const struct option *o = cmd->options; !option_end(o); o++) {
		if (o->long_name && !strcmp(o->long_name, "where"))
			return true;
	}
	return !strcmp(cmd->name, "query");
}

void help_man(FILE *out, const struct command *cmd)
{
	if (!cmd) {
		man_weir(out);
		return;
	}
	fputs(".TH WEIR\\-", out);
	for (const char *c = cmd->name; *c; c++)
		fputc(toupper((unsigned char)*c), out);
	fprintf(out, " 1 \"\" \"weir %s\" \"User Commands\"\n.SH NAME\nweir\\-%s \\- ",
		WEIR_VERSION, cmd->name);
	roff(out, cmd->summary);
	fprintf(out, ".SH SYNOPSIS\n.B weir %s\n", cmd->name);
	roff(out, cmd->usage);
	if (cmd->description) {
		fputs(".SH DESCRIPTION\n", out);
		roff(out, cmd->description);
	}
	fputs(".SH OPTIONS\n", out);
	for (const struct option *o = cmd->options; !option_end(o); o++) {
		if (o->help)
			roff_option(out, o);
	}
	fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShows usage, options and examples.\n", out);
	if (cmd->examples && cmd->examples[0].line) {
		fputs(".SH EXAMPLES\n", out);
		for (const struct command_example *e = cmd->examples; e->line; e++) {
			fputs(".TP\n.B ", out);
			roff(out, e->line);
			roff(out, e->what);
		}
	}
	fprintf(out, ".SH SEE ALSO\n.BR weir (1)%s\n",
		takes_conditions(cmd) ? ",\n.BR weir\\-query\\-language (7)" : "");
}

/* Prints a cell of a Markdown table. */
static void cell(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '|' || *text == '<')
			fputc('\\', out);
		fputc(*text == '\n' ? ' ' : *text, out);
	}
}

void help_markdown(FILE *out, const struct command *cmd)
{
	char title[128], text[512];

	fprintf(out, "\n## weir %s\n\n`weir %s %s`: %s.\n", cmd->name, cmd->name, cmd->usage,
		cmd->summary);
	if (cmd->description)
		fprintf(out, "\n%s\n", cmd->description);
	fputs("\n| option | |\n|---|---|\n", out);
	for (const struct option *o = cmd->options; !option_end(o); o++) {
		if (!o->help)
			continue;
		option_title(o, title, sizeof(title));
		fprintf(out, "| `%s` | ", title + strspn(title, " "));
		cell(out, option_text(o, text, sizeof(text)));
		fputs(" |\n", out);
	}
	fputs("| `-h, --help` | usage, options and examples |\n", out);
	for (const struct command_example *e = cmd->examples; e && e->line; e++)
		fprintf(out, "%s%s\n    # %s\n", e == cmd->examples ? "\n```\n" : "", e->line,
			e->what);
	if (cmd->examples && cmd->examples[0].line)
		fputs("```\n", out);
}
