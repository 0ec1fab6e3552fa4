// SPDX-License-Identifier: Apache-2.0
/* complete.c: `weir completion --words`: what the completion scripts ask about a pipeline or an
 * expression, with values of the trace in question. */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "cli/query.h"

#define WHERE "where " /* what makes an expression a pipeline */

struct place {
	const struct command *cmd;
	struct option_list inputs;
	char **trace; /* arguments behind the pipeline */
	int trace_count;
	bool pipeline, expression; /* the word at hand is one */
};

static const struct option *find_option(const struct command *cmd, const char *word)
{
	for (const struct option *o = cmd->options; !option_end(o); o++) {
		if (word[1] == '-' && o->long_name && strcmp(word + 2, o->long_name) == 0)
			return o;
		if (word[1] != '-' && word[1] == o->short_name && !word[2])
			return o;
	}
	return NULL;
}

static void add_input(struct place *p, char *word)
{
	if (grow((void **)&p->inputs.items, &p->inputs.cap, p->inputs.count + 1, sizeof(char *)) ==
	    0)
		p->inputs.items[p->inputs.count++] = word;
}

/* What the words before the last one say of it. */
static void find_place(struct place *p, int argc, char **argv)
{
	int args = 0;

	for (int i = 1; i < argc; i++) {
		const struct option *o =
			argv[i][0] == '-' && argv[i][1] ? find_option(p->cmd, argv[i]) : NULL;
		bool last = i + 1 == argc;

		if (o && o->value && !last) {
			i++;
			if (o->short_name == 'i')
				add_input(p, argv[i]);
			p->expression |=
				i + 1 == argc && o->long_name && strcmp(o->long_name, "where") == 0;
			continue;
		}
		if (argv[i][0] == '-' && argv[i][1])
			continue;
		p->pipeline |= last && args == 0 && strcmp(p->cmd->name, "query") == 0;
		args++;
	}
}

struct printer {
	const char *before; /* the word up to where the offer begins */
	size_t len;
};

static void print(void *arg, const char *word)
{
	const struct printer *p = arg;

	/* a shell takes lines */
	if (!strpbrk(word, "\n\r"))
		printf("%.*s%s\n", (int)p->len, p->before, word);
}

struct offers {
	char **words;
	size_t count, cap;
};

static void keep(void *arg, const char *word)
{
	struct offers *o = arg;
	char *copy = strdup(word);

	if (!copy || grow((void **)&o->words, &o->cap, o->count + 1, sizeof(char *)) < 0) {
		free(copy);
		return;
	}
	o->words[o->count++] = copy;
}

int complete_words(int argc, char **argv)
{
	struct place p = {.cmd = argc > 1 ? command_find(argv[0]) : NULL};
	_cleanup_(store_freep) struct store *store = NULL;
	_cleanup_buf_ struct buf text = {0};
	struct read_flags flags = {0};
	struct offers offers = {0};
	struct printer printer;
	size_t added, start;
	const char *word;

	if (!p.cmd)
		return 0;
	find_place(&p, argc, argv);
	if (!p.pipeline && !p.expression)
		return 0;
	/* the shell's own quote is not part of the text */
	word = argv[argc - 1];
	word += *word == '\'' || *word == '"';
	added = p.expression ? strlen(WHERE) : 0;
	if (buf_printf(&text, "%s%s", p.expression ? WHERE : "", word) < 0)
		return 1;
	flags.inputs = p.inputs;
	/* without a trace there are no values; that is all */
	if (read_flags_open(&flags, 0, NULL, &store, NULL) < 0)
		store = NULL;
	start = query_words(store, buf_str(&text), text.len, keep, &offers);
	printer = (struct printer){word, start - MIN(added, start)};
	for (size_t i = 0; i < offers.count; i++) {
		print(&printer, offers.words[i]);
		free(offers.words[i]);
	}
	free(offers.words);
	free(p.inputs.items);
	return 0;
}
