// SPDX-License-Identifier: Apache-2.0
/* query_prompt.c: the prompt of `weir query`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal/prompt.h"
#include "cli/query/query.h"
#include "schema/schema.h"

/* A line that ends with `|` or a backslash continues on the next. */
static bool query_prompt_is_complete(const char *text)
{
	size_t len = strlen(text);

	while (len && strchr(" \t\n", text[len - 1]))
		len--;
	return *text == '\\' || (len && text[len - 1] != '|' && text[len - 1] != '\\');
}

static size_t query_prompt_offer_words(void *arg, const char *text, size_t pos,
				       void (*offer)(void *offer_arg, const char *word),
				       void *offer_arg)
{
	const struct query_session *query = arg;
	const char *value_of = NULL;
	size_t start = pos;

	query_complete(text, pos, annotations_get(query->annotations), offer, offer_arg, &start,
		       &value_of);
	if (value_of && query->store)
		(void)query_complete_values(store_dims(query->store), value_of, text, start, pos,
					    QUERY_VALUES_MAX, SIZE_MAX, offer, offer_arg);
	return start;
}

/* ---- input ---- */

static void query_prompt_put_names(enum table_id table)
{
	static const struct {
		const char *name, *id, *doc;
	} names[] = {
#define N(NAME, name, id, type, more, doc) {#name, id, doc},
		QUERY_NAMES(N)
#undef N
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (schema_column_find(table, names[i].id) >= 0)
			printf("  %-12s %s\n", names[i].name, names[i].doc);
	}
}

static void query_prompt_describe(const char *name)
{
	int table = *name ? schema_table_find(name) : -1;

	if (*name && table < 0) {
		fprintf(stderr, "weir: no table '%.40s'; \\d lists the tables\n", name);
		return;
	}
	for (int t = 0; t < TABLE_COUNT && !*name; t++)
		printf("  %-12s %s\n", schema_table((enum table_id)t)->name,
		       schema_table((enum table_id)t)->doc);
	for (unsigned int c = 0; *name && c < schema_table((enum table_id)table)->column_count;
	     c++) {
		const struct column_def *column = &schema_table((enum table_id)table)->columns[c];

		printf("  %-12s %s\n", column->name, column->doc);
	}
	if (*name)
		query_prompt_put_names((enum table_id)table);
}

static void put_functions(void)
{
	static const struct {
		const char *signature, *doc;
	} list[] = {
#define A(NAME, name, sig, doc) {sig, doc},
		QUERY_AGGREGATES(A)
#undef A
#define F(NAME, name, sig, doc) {sig, doc},
			QUERY_FUNCTIONS(F)
#undef F
	};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		printf("  %-42s %s\n", list[i].signature, list[i].doc);
}

static bool query_prompt_helper(void *arg, const char *word, const char *rest)
{
	if (strcmp(word, "d") == 0)
		query_prompt_describe(rest);
	else if (strcmp(word, "f") == 0)
		put_functions();
	else
		return false;
	return true;
}

static const char help[] =
	"\\d          the tables; \\d NAME: the names of one\n"
	"\\f          aggregates and functions\n"
	"\\timing     show how long each answer takes, on or off\n\\q          leave (also "
	"Ctrl-D)\n"
	"A line is a pipeline; one that ends with | continues. Tab completes, also values from the "
	"trace;\nthe arrows browse the history, Ctrl-R searches it, Ctrl-C stops a running query.";

static int query_prompt_run(void *arg, char *text)
{
	struct query_session *query = arg;
	size_t len = strlen(text);
	struct error err = {0};

	if (strcmp(text, "quit\n") == 0 || strcmp(text, "exit\n") == 0)
		return 1;
	/* accepts the semicolon of SQL prompts */
	while (len && strchr(" \t\n;", text[len - 1]))
		len--;
	for (size_t i = 0; i + 1 < len; i++) {
		if (text[i] == '\\' && text[i + 1] == '\n')
			text[i] = ' ';
	}
	interrupt_forget(query->it);
	/* includes what a recorder has committed meanwhile */
	if (query->store && store_refresh(query->store, &err) < 0)
		fail(&err);
	query_statement(query, text, len);
	if (interrupt_signal(query->it))
		fputs("interrupted\n", stderr);
	return 0;
}

int query_prompt(struct query_session *query, struct error *err)
{
	const struct prompt p = {.name = "query",
				 .first = "query> ",
				 .more = "...> ",
				 .arg = query,
				 .is_complete = query_prompt_is_complete,
				 .words = query_prompt_offer_words,
				 .run = query_prompt_run,
				 .helper = query_prompt_helper,
				 .help = help};

	printf("%s%s; \\? helps, \\q leaves\n", query->name,
	       query->store && store_trace_count(query->store) > 1 ? ", ..." : "");
	return prompt_loop(&p, err);
}
