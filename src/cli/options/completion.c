/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c: `weir completion SHELL`: generates scripts that complete commands and options from the tables. */
#include "cli/options/help.h"

#include <string.h>

#define FISH_WORDS \
	"weir completion --words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null"

static void words(FILE *out, const struct command *cmd)
{
	for (const struct option *o = cmd->options; !option_end(o); o++) {
		if (o->help && o->long_name)
			fprintf(out, "--%s ", o->long_name);
		if (o->help && o->short_name)
			fprintf(out, "-%c ", o->short_name);
	}
	fputs("--help", out);
}

static void bash(FILE *out)
{
	fputs("# bash completion for weir: eval \"$(weir completion bash)\"\n"
	      "_weir()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} words=\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords='",
	      out);
	for (size_t i = 0; command_at(i); i++)
		fprintf(out, "%s ", command_at(i)->name);
	fputs("--help --version'\n\telif [[ $cur == -* ]]; then\n\t\tcase ${COMP_WORDS[1]} in\n",
	      out);
	for (size_t i = 0; command_at(i); i++) {
		fprintf(out, "\t\t%s) words='", command_at(i)->name);
		words(out, command_at(i));
		fputs("' ;;\n", out);
	}
	fputs("\t\tesac\n\telif [[ $cur != /* ]]; then\n"
	      /* a pipeline is one quoted word, of which the last part is completed */
	      "\t\tlocal IFS=$'\\n'\n"
	      "\t\tCOMPREPLY=($(weir completion --words -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
	      "2>/dev/null))\n"
	      "\t\tif [[ ${#COMPREPLY[@]} -gt 0 && $cur != *[\\\"\\'\\ ]* && "
	      "${COMP_WORDS[COMP_CWORD-1]} "
	      "!= [-=]* ]]; then\n"
	      "\t\t\tcase ${COMP_WORDS[1]} in\n",
	      out);
	for (size_t i = 0; command_at(i); i++) {
		if (command_at(i)->or_files)
			fprintf(out, "\t\t\t%s) COMPREPLY+=($(compgen -f -- \"$cur\")) ;;\n",
				command_at(i)->name);
	}
	fputs("\t\t\tesac\n\t\tfi\n"
	      "\t\tif [ ${#COMPREPLY[@]} -gt 0 ]; then\n"
	      /* the shell would close the quote after a single offer */
	      "\t\t\t[ ${#COMPREPLY[@]} -gt 1 ] || COMPREPLY+=(\"${COMPREPLY[0]} \")\n"
	      "\t\t\tcompopt +o filenames -o nospace 2>/dev/null\n\t\t\treturn\n\t\tfi\n"
	      "\tfi\n"
	      "\tif [ -n \"$words\" ]; then\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "\telse\n\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\tfi\n}\n"
	      "complete -o filenames -F _weir weir\n",
	      out);
}

/* Prints text inside a shell's single quotes, without characters that zsh's _arguments interprets. */
static void completion_quoted(FILE *out, const char *text)
{
	for (; *text && *text != '\n'; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

/* True if weir itself can complete the value. */
static bool completion_has_words(const struct option *o)
{
	return o->words || option_is_expression(o);
}

static void zsh_option(FILE *out, const struct option *o, bool is_long)
{
	bool repeats = o->type == OPTION_LIST;

	fprintf(out, " \\\n\t\t\t'%s%s", repeats ? "*" : "", is_long ? "--" : "-");
	if (is_long)
		fputs(o->long_name, out);
	else
		fputc(o->short_name, out);
	fputc('[', out);
	completion_quoted(out, o->help);
	fputc(']', out);
	if (o->value) {
		fputc(':', out);
		completion_quoted(out, o->value);
		fputs(completion_has_words(o) ? ":_weir_words" : ":_files", out);
	}
	fputc('\'', out);
}

static const char *zsh_argument(const struct command *cmd)
{
	if (strcmp(cmd->name, "query") == 0)
		return "'1:pipeline:_weir_words' ";
	if (!cmd->words)
		return "";
	return cmd->or_files ? "'1:argument:_weir_words_or_files' " : "'1:argument:_weir_words' ";
}

static void zsh(FILE *out)
{
	fputs("#compdef weir\n# zsh completion for weir: weir completion zsh > "
	      "~/.zfunc/_weir\n"
	      "_weir_words()\n{\n"
	      "\tlocal -a found=(${(f)\"$(weir completion --words -- $name "
	      "\"${(@)words[2,CURRENT]}\" "
	      "2>/dev/null)\"})\n"
	      "\t(( $#found )) && compadd -Q -U -S '' -P \"${words[CURRENT][1][(r)[\\'\\\"]]}\" -- "
	      "$found\n}\n"
	      "_weir_words_or_files()\n{\n\t_weir_words\n\t_files\n}\n"
	      "_weir()\n{\n"
	      "\tlocal -a cmds=(\n",
	      out);
	for (size_t i = 0; command_at(i); i++) {
		fprintf(out, "\t\t'%s:", command_at(i)->name);
		completion_quoted(out, command_at(i)->summary);
		fputs("'\n", out);
	}
	fputs("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command cmds\n\t\treturn\n\tfi\n"
	      "\tlocal name=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $name in\n",
	      out);
	for (size_t i = 0; command_at(i); i++) {
		fprintf(out, "\t%s)\n\t\t_arguments -s", command_at(i)->name);
		for (const struct option *o = command_at(i)->options; !option_end(o); o++) {
			if (o->help && o->long_name)
				zsh_option(out, o, true);
			if (o->help && o->short_name)
				zsh_option(out, o, false);
		}
		fprintf(out, " \\\n\t\t\t'--help[this text]' %s'*:argument:_files' ;;\n",
			zsh_argument(command_at(i)));
	}
	fputs("\tesac\n}\n_weir \"$@\"\n", out);
}

static void fish(FILE *out)
{
	fputs("# fish completion for weir: weir completion fish > "
	      "~/.config/fish/completions/weir.fish\n",
	      out);
	for (size_t i = 0; command_at(i); i++) {
		const struct command *c = command_at(i);

		fprintf(out, "complete -c weir -n __fish_use_subcommand -f -a %s -d '", c->name);
		completion_quoted(out, c->summary);
		fputs("'\n", out);
		for (const struct option *o = c->options; !option_end(o); o++) {
			if (!o->help)
				continue;
			fprintf(out, "complete -c weir -n '__fish_seen_subcommand_from %s'",
				c->name);
			if (o->short_name)
				fprintf(out, " -s %c", o->short_name);
			if (o->long_name)
				fprintf(out, " -l %s", o->long_name);
			fputs(completion_has_words(o) ? " -x -a '(" FISH_WORDS ")'"
			      : o->value	      ? " -r"
						      : "",
			      out);
			fputs(" -d '", out);
			completion_quoted(out, o->help);
			fputs("'\n", out);
		}
	}
	fputs("complete -c weir -n 'not __fish_use_subcommand' -a '(" FISH_WORDS ")'\n", out);
}

static const struct {
	const char *name;
	void (*print)(FILE *out);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

const char *help_shell(size_t i)
{
	return i < ARRAY_SIZE(shells) ? shells[i].name : NULL;
}

bool help_completion(FILE *out, const char *shell)
{
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(shell, shells[i].name) == 0) {
			shells[i].print(out);
			return true;
		}
	}
	return false;
}
