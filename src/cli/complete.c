// SPDX-License-Identifier: Apache-2.0
/* complete.c: `weir completion --words`: what the completion scripts ask about a pipeline or an
 * expression, with values of the trace in question. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "cli/help.h"
#include "cli/query.h"

#define WHERE	      "where " /* what makes an expression a pipeline */
#define VALUES_WAIT_S 2

struct place {
	const struct command *cmd;
	struct option_list inputs;
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
	const char *text; /* all of it, with what was put before the word */
	size_t added;	  /* bytes that were */
	size_t start;	  /* where the offers begin */
};

static void print(void *arg, const char *word)
{
	const struct printer *p = arg;

	/* a shell takes lines */
	if (!strpbrk(word, "\n\r"))
		printf("%.*s%s\n", (int)(p->start - MIN(p->added, p->start)), p->text + p->added,
		       word);
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

static void give_up(int sig _unused_)
{
	_exit(0);
}

/* Values of the trace in question. Without a trace, or where it takes too long, there are none:
 * nobody waits for completion. */
static void print_values(const struct place *p, const char *name, size_t pos,
			 struct printer *printer)
{
	static const struct itimerval limit = {.it_value.tv_sec = VALUES_WAIT_S};
	_cleanup_(store_freep) struct store *store = NULL;
	const struct read_flags flags = {.inputs = p->inputs};

	fflush(stdout);
	signal(SIGALRM, give_up);
	setitimer(ITIMER_REAL, &limit, NULL);
	if (read_flags_open(&flags, 0, NULL, &store, NULL) >= 0)
		query_values(store, name, printer->text, printer->start, pos, print, printer);
}

/* The words, then the values; the start of both is known only when the words are. */
static void offer(const struct place *p, const char *text, size_t len, size_t added)
{
	struct printer printer = {.text = text, .added = added, .start = len};
	const char *value_of = NULL;
	struct offers offers = {0};

	query_complete(text, len, keep, &offers, &printer.start, &value_of);
	for (size_t i = 0; i < offers.count; i++) {
		print(&printer, offers.words[i]);
		free(offers.words[i]);
	}
	free(offers.words);
	if (value_of)
		print_values(p, value_of, len, &printer);
}

int complete_words(int argc, char **argv)
{
	struct place p = {.cmd = argc > 1 ? command_find(argv[0]) : NULL};
	_cleanup_buf_ struct buf text = {0};
	const char *word;

	if (!p.cmd)
		return 0;
	find_place(&p, argc, argv);
	if (p.pipeline || p.expression) {
		/* the shell's own quote is not part of the text */
		word = argv[argc - 1];
		word += *word == '\'' || *word == '"';
		if (buf_printf(&text, "%s%s", p.expression ? WHERE : "", word) < 0)
			return 1;
		offer(&p, buf_str(&text), text.len, p.expression ? strlen(WHERE) : 0);
	}
	free(p.inputs.items);
	return 0;
}
