// SPDX-License-Identifier: Apache-2.0
/*
 * complete_word.c: `weir completion --words`, which the completion scripts call for the current word: completes a
 * pipeline or an expression, with values of the trace in question, or one of a few words.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#include "base/array.h"
#include "cli/options/help.h"
#include "cli/query/query.h"

#define WHERE	      "where " /* turns an expression into a pipeline */
#define VALUES_WAIT_S 2

struct place {
	const struct command *cmd;
	struct option_list inputs;
	bool pipeline, expression; /* the kind of the current word */
	word_fn *words;		   /* or it is one of these */
	size_t attached;	   /* its offset in the argument: after "--where=" */
};

static const struct option *find_option(const struct command *cmd, const char *word)
{
	for (const struct option *o = cmd->options; !option_end(o); o++) {
		if (word[1] == '-' && o->long_name &&
		    strlen(o->long_name) == strcspn(word + 2, "=") &&
		    strncmp(word + 2, o->long_name, strlen(o->long_name)) == 0)
			return o;
		if (word[1] != '-' && word[1] == o->short_name && !word[2])
			return o;
	}
	return NULL;
}

static void add_input(struct place *p, char *word)
{
	(void)array_add(p->inputs.items, p->inputs.count, p->inputs.cap, word);
}

static void complete_word_take_value(struct place *p, const struct option *o, char *value,
				     bool last)
{
	if (o->short_name == 'i')
		add_input(p, value);
	if (last) {
		p->expression = option_is_expression(o);
		p->words = o->words;
	}
}

/* Determines what the last word is from those before it. bash splits --by=file into --by, =, file. */
static void complete_word_find_place(struct place *p, int argc, char **argv)
{
	int args = 0;

	for (int i = 1; i < argc; i++) {
		const struct option *o =
			argv[i][0] == '-' && argv[i][1] ? find_option(p->cmd, argv[i]) : NULL;
		bool last = i + 1 == argc;
		char *value = o && o->value ? strchr(argv[i], '=') : NULL;

		if (value) {
			value++;
			p->attached = last ? (size_t)(value - argv[i]) : 0;
			complete_word_take_value(p, o, value, last);
			continue;
		}
		if (o && o->value && !last) {
			i += i + 2 < argc && strcmp(argv[i + 1], "=") == 0 ? 2 : 1;
			complete_word_take_value(p, o, argv[i], i + 1 == argc);
			continue;
		}
		if (p->cmd->takes_command && (argv[i][0] != '-' || strcmp(argv[i], "--") == 0))
			return; /* the rest belongs to the command to run */
		if (argv[i][0] == '-' && argv[i][1])
			continue;
		if (last && args == 0) {
			p->pipeline = strcmp(p->cmd->name, "query") == 0;
			p->words = p->cmd->words;
		}
		args++;
	}
}

/* Offers the words that begin with the typed text. In a list the last one is completed: "openat,%fi", "!%net". */
static void complete_word_offer_words(const struct place *p, const char *typed)
{
	size_t before = 0, len;
	const char *word;

	if (strcmp(typed, "=") == 0)
		typed++;
	for (size_t i = 0; typed[i]; i++) {
		if (strchr(",!=", typed[i]))
			before = i + 1;
	}
	len = strlen(typed + before);
	for (size_t i = 0; (word = p->words(i)); i++) {
		if (strncmp(word, typed + before, len) == 0)
			printf("%.*s%s\n", (int)before, typed, word);
	}
}

struct printer {
	const char *text;    /* the whole text, including what was prepended */
	size_t added;	     /* number of bytes prepended */
	size_t start;	     /* where the offers begin */
	struct bytes before; /* part of the word before the text: "--where=" */
	struct buf out;
};

static void complete_word_print(void *arg, const char *word)
{
	struct printer *p = arg;

	/* the shell splits the output at lines */
	if (!strpbrk(word, "\n\r"))
		(void)!buf_printf(
			&p->out, "%.*s%.*s%s\n", (int)p->before.len, (const char *)p->before.data,
			(int)(p->start - MIN(p->added, p->start)), p->text + p->added, word);
}

struct offers {
	char **words;
	size_t count, cap;
};

static void complete_word_offers_free(struct offers *o)
{
	for (size_t i = 0; i < o->count; i++)
		free(o->words[i]);
	free(o->words);
}

static void complete_word_keep(void *arg, const char *word)
{
	struct offers *o = arg;
	char *copy = strdup(word);

	if (!copy || array_add(o->words, o->count, o->cap, copy) < 0)
		free(copy);
}

/* Collects the words that may stand there in `printer`, including users' names. The start is known only afterwards. */
static void take_words(const char *text, size_t len, const struct query_users *users,
		       struct printer *printer, const char **ret_value_of)
{
	_cleanup_(complete_word_offers_free) struct offers offers = {0};

	query_complete(text, len, users, complete_word_keep, &offers, &printer->start,
		       ret_value_of);
	for (size_t i = 0; i < offers.count; i++)
		complete_word_print(printer, offers.words[i]);
}

/* Printed if the trace takes too long, as completion must not block. */
static const char *late;
static size_t late_len;

static void complete_word_give_up(int sig _unused_)
{
	(void)!write(STDOUT_FILENO, late, late_len);
	_exit(0);
}

static int complete_word_open_trace(const struct place *p, struct store **ret)
{
	static const struct itimerval limit = {.it_value.tv_sec = VALUES_WAIT_S};
	const struct read_flags flags = {.inputs = p->inputs};

	for (size_t i = 0; i < p->inputs.count; i++) {
		if (strstr(p->inputs.items[i], "://")) /* never fetch rows for a key */
			return -EOPNOTSUPP;
	}
	signal(SIGALRM, complete_word_give_up);
	setitimer(ITIMER_REAL, &limit, NULL);
	return read_flags_open(&flags, 0, NULL, ret, NULL);
}

/* Offers words, then values of the trace in question. Without a trace, only words. */
static void complete_word_offer(const struct place *p, struct bytes before, const char *text,
				size_t len, size_t added)
{
	static const struct itimerval off;
	struct printer plain = {.text = text, .added = added, .start = len, .before = before},
		       full = plain;
	_cleanup_(store_freep) struct store *store = NULL;
	_cleanup_(annotations_freep) struct annotations *own = NULL;
	const char *value_of = NULL;

	take_words(text, len, NULL, &plain, &value_of);
	late = buf_str(&plain.out);
	late_len = plain.out.len;
	if (complete_word_open_trace(p, &store) >= 0 && annotations_new(&own, store, NULL) >= 0) {
		take_words(text, len, annotations_get(own), &full, &value_of);
		if (value_of)
			(void)query_complete_values(store_dims(store), value_of, text, full.start,
						    len, QUERY_VALUES_MAX, SIZE_MAX,
						    complete_word_print, &full);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	printf("%s", buf_str(own ? &full.out : &plain.out));
	buf_free(&plain.out);
	buf_free(&full.out);
}

int complete_words(int argc, char **argv)
{
	struct place p = {.cmd = argc > 1 ? command_find(argv[0]) : NULL};
	_cleanup_buf_ struct buf text = {0};
	const char *word;

	if (!p.cmd)
		return 0;
	complete_word_find_place(&p, argc, argv);
	if (p.pipeline || p.expression) {
		/* the shell's quote is not part of the text */
		word = argv[argc - 1] + p.attached;
		word += *word == '\'' || *word == '"';
		if (buf_printf(&text, "%s%s", p.expression ? WHERE : "", word) < 0)
			return 1;
		complete_word_offer(&p, (struct bytes){(const uint8_t *)argv[argc - 1], p.attached},
				    buf_str(&text), text.len, p.expression ? strlen(WHERE) : 0);
	} else if (p.words) {
		complete_word_offer_words(&p, argv[argc - 1]);
	}
	free(p.inputs.items);
	return 0;
}
