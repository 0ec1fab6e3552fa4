/* SPDX-License-Identifier: Apache-2.0 */
/* command.c: parses a command line according to the command's table and runs the command. */
#include "cli/options/command.h"
#include "base/nearest.h"
#include "cli/analysis/analysis_command.h"
#include "cli/trace/call_text.h"
#include "cli/options/help.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define OPTION_SHOWN_MAX 80 /* bytes of an invalid option shown in a message */

void put_message(const char *text)
{
	_cleanup_buf_ struct buf shown = {0};
	int r = 0;

	while (*text && r >= 0) {
		size_t len = strcspn(text, "\n\\");

		r = call_text_escape(&shown, (struct bytes){(const uint8_t *)text, len}, "");
		text += len;
		if (*text && r >= 0)
			r = buf_append(&shown, text++, 1);
	}
	fflush(stdout);
	fprintf(stderr, "weir: %s\n", buf_str(&shown));
}

int fail(const struct error *err)
{
	put_message(err->message[0] ? err->message : strerror(-err->code));
	return 1;
}

int fail_usage(const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	put_message(text ? text : strerror(ENOMEM));
	return 2;
}

int fail_extra(const char *command, const char *argument)
{
	return fail_usage("unexpected argument '%s'; `weir %s --help` shows the usage", argument,
			  command);
}

const struct command command_analyses;

const struct command *command_at(size_t i)
{
	for (size_t k = 0; commands[k]; k++) {
		const struct command *c = commands[k];

		for (size_t j = 0; commands[k] == &command_analyses && (c = analysis_command(j));
		     j++) {
			if (i-- == 0)
				return c;
		}
		if (c && i-- == 0)
			return c;
	}
	return NULL;
}

const char *command_name(size_t i)
{
	const struct command *c = command_at(i);

	return c ? c->name : NULL;
}

const struct command *command_find(const char *name)
{
	const struct command *c;

	for (size_t i = 0; (c = command_at(i)); i++) {
		if (strcmp(c->name, name) == 0)
			return c;
	}
	return NULL;
}

/* The state of parsing one command line. */
struct parse {
	const struct command *cmd;
	char *opts; /* the command's options struct */
	int argc;
	char **argv;
	int next; /* the next argument to parse */
	int left; /* number of arguments kept in argv[1 .. left] */
	bool help;
};

static int unknown_option(const struct command *cmd, const char *shown, const char *name)
{
	struct nearest near = {.word = name};

	for (const struct option *o = cmd->options; !option_end(o); o++) {
		if (o->long_name && o->help)
			nearest_offer(&near, o->long_name);
	}
	nearest_offer(&near, "help");
	if (near.best)
		return fail_usage("%s: no option '%.*s'; did you mean --%s?", cmd->name,
				  OPTION_SHOWN_MAX, shown, near.best);
	return fail_usage("%s: no option '%.*s'; `weir %s --help` lists them", cmd->name,
			  OPTION_SHOWN_MAX, shown, cmd->name);
}

/* Stores the value (NULL for a flag) in the options struct. 0 or an exit status. */
static int option_store(struct parse *p, const struct option *o, const char *shown,
			const char *value)
{
	struct error err = {0};
	int r;

	if (value && !*value)
		return fail_usage("%s: %s: '' is not a %s", p->cmd->name, shown, o->value);
	r = option_take(o, p->opts, value, &err);
	if (r == -ENOMEM)
		return fail(&err);
	return r < 0 ? fail_usage("%s: %s: %s", p->cmd->name, shown, err.message) : 0;
}

/* Takes the next argument as the value of an option without an attached one. 0 or an exit status. */
static int option_value(struct parse *p, const struct option *o, const char *shown)
{
	if (p->next >= p->argc)
		return fail_usage("%s: %s needs a value: %s %s", p->cmd->name, shown, shown,
				  o->value);
	return option_store(p, o, shown, p->argv[p->next++]);
}

static bool takes_value(const struct option *o)
{
	return o->type != OPTION_FLAG && o->type != OPTION_TIMES;
}

/* --name, --name=value, --name value. */
static int parse_long(struct parse *p, const char *arg)
{
	const char *name = arg + 2, *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	char word[OPTION_SHOWN_MAX];

	for (const struct option *o = p->cmd->options; !option_end(o); o++) {
		if (!o->long_name || strlen(o->long_name) != len ||
		    strncmp(o->long_name, name, len) != 0)
			continue;
		snprintf(word, sizeof(word), "--%s", o->long_name);
		if (!takes_value(o) && equals)
			return fail_usage("%s: %s takes no value", p->cmd->name, word);
		if (!takes_value(o))
			return option_store(p, o, word, NULL);
		if (!equals && o->bare)
			return option_store(p, o, word, o->bare);
		return equals ? option_store(p, o, word, equals + 1) : option_value(p, o, word);
	}
	if (len == 4 && strncmp(name, "help", len) == 0) {
		p->help = true;
		return 0;
	}
	snprintf(word, sizeof(word), "%.*s", (int)MIN(len, sizeof(word) - 1), name);
	return unknown_option(p->cmd, arg, word);
}

/* -x, -xyz for flags, -oVALUE, -o VALUE. */
static int parse_short(struct parse *p, const char *arg)
{
	for (const char *c = arg + 1; *c; c++) {
		const struct option *o = p->cmd->options;
		char shown[] = {'-', *c, 0};
		int r;

		while (!option_end(o) && o->short_name != *c)
			o++;
		if (!o || o->short_name != *c) {
			if (*c != 'h')
				return unknown_option(p->cmd, arg, arg + 1);
			p->help = true;
			continue;
		}
		if (takes_value(o))
			return c[1] ? option_store(p, o, shown, c + 1) : option_value(p, o, shown);
		r = option_store(p, o, shown, NULL);
		if (r)
			return r;
	}
	return 0;
}

static int keep_rest(struct parse *p)
{
	while (p->next < p->argc)
		p->argv[++p->left] = p->argv[p->next++];
	return 0;
}

/*
 * True if an argument that begins with two dashes is an option and not a text that begins with an SQL comment. Option
 * names have no blanks; "--slower 1ms" as one word is still treated as an option, so that the message can explain it.
 */
static bool command_is_long(const char *arg)
{
	static const char blank[] = " \t\r\n";
	size_t name = strcspn(arg, "=");

	return !strchr(blank, arg[2]) && (strcspn(arg, blank) >= name || !strchr(arg, '\n'));
}

static int parse_all(struct parse *p)
{
	while (p->next < p->argc && !p->help) {
		char *arg = p->argv[p->next++];
		int r = 0;

		if (strcmp(arg, "--") == 0)
			return keep_rest(p);
		if (arg[0] != '-' || !arg[1] || (arg[1] == '-' && !command_is_long(arg))) {
			p->argv[++p->left] = arg;
			if (p->cmd->takes_command)
				return keep_rest(p);
		} else if (arg[1] == '-') {
			r = parse_long(p, arg);
		} else {
			r = parse_short(p, arg);
		}
		if (r)
			return r;
	}
	return 0;
}

/* Parses the command line and, with `run`, executes the command. */
static int command_line(const struct command *cmd, int argc, char **argv, bool run)
{
	struct parse p = {.cmd = cmd, .argc = argc, .argv = argv, .next = 1};
	int status;

	p.opts = calloc(1, MAX(cmd->options_size, (size_t)1));
	if (!p.opts)
		return fail(&(struct error){.code = -ENOMEM});
	options_defaults(cmd->options, p.opts);
	status = parse_all(&p);
	if (!status && !p.help && cmd->no_args && p.left)
		status = fail_extra(cmd->name, argv[1]);
	if (!status && run && p.help) {
		help_command(stdout, cmd);
	} else if (!status && run) {
		/* a command line among the arguments is passed to execvp(): it must end with NULL */
		argv[p.left + 1] = NULL;
		status = cmd->analysis
				 ? analysis_main(cmd->analysis, (void *)p.opts, p.left, argv + 1)
				 : cmd->run(p.opts, p.left, argv + 1);
	}
	options_release(cmd->options, p.opts);
	free(p.opts);
	return status;
}

int command_run(const struct command *cmd, int argc, char **argv)
{
	return command_line(cmd, argc, argv, true);
}

int command_try(const struct command *cmd, int argc, char **argv)
{
	return command_line(cmd, argc, argv, false);
}
