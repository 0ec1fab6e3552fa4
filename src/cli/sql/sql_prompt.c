// SPDX-License-Identifier: Apache-2.0
/* sql_prompt.c: the prompt of `weir sql`. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/terminal/loss_text.h"
#include "cli/terminal/prompt.h"
#include "cli/sql/sql.h"
#include "engine/sql_text.h"

struct session {
	const struct sql_opts *opts;
	struct interrupt *it;
	struct store *store;
	struct engine *engine;
	struct buf words; /* the words that Tab offers, each NUL-terminated */
};

/* ---- words ---- */

/* Completions from the engine: its current tables and columns, its functions and keywords. */
static const char words_sql[] =
	"SELECT DISTINCT w FROM ("
	"SELECT table_name AS w FROM duckdb_tables() UNION ALL "
	"SELECT view_name FROM duckdb_views() WHERE NOT internal UNION ALL "
	"SELECT column_name FROM duckdb_columns() WHERE NOT internal UNION ALL "
	"SELECT function_name || '(' FROM duckdb_functions() WHERE function_name ~ '^[a-z]' UNION "
	"ALL "
	"SELECT upper(keyword_name) FROM duckdb_keywords() UNION ALL "
	"SELECT '\\' || w FROM (VALUES ('d'), ('q'), ('timing'), ('?')) t(w)"
	") ORDER BY w";

static int read_words(struct session *s, struct error *err)
{
	_cleanup_(engine_statements_freep) struct engine_statements *statements = NULL;
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	int r = engine_parse(s->engine, words_sql, &statements, err);

	if (r < 0)
		return r;
	r = engine_execute(statements, 0, &result, err);
	if (r < 0)
		return r;
	while (r >= 0 && engine_result_next(result)) {
		r = engine_result_text(result, 0, &s->words);
		if (r >= 0)
			r = buf_append(&s->words, "", 1);
	}
	return r;
}

static bool in_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static size_t sql_prompt_offer_words(void *arg, const char *text, size_t pos,
				     void (*offer)(void *offer_arg, const char *word),
				     void *offer_arg)
{
	struct session *s = arg;
	size_t start = pos, typed;

	while (start && in_word(text[start - 1]))
		start--;
	if (start == 1 && text[0] == '\\')
		start = 0;
	typed = pos - start;
	for (size_t at = 0; typed && at < s->words.len;
	     at += strlen((char *)s->words.data + at) + 1) {
		const char *word = (const char *)s->words.data + at;

		if (strncasecmp(word, text + start, typed) == 0)
			offer(offer_arg, word);
	}
	return start;
}

/* ---- input ---- */

static void sql_prompt_run_sql(struct session *s, const char *sql)
{
	struct error err = {0};
	struct loss loss;
	int r;

	interrupt_forget(s->it);
	interrupt_engine(s->it, s->engine);
	r = sql_run(s->opts, s->it, s->store, s->engine, sql, &err);
	interrupt_engine(s->it, NULL);
	fflush(stdout);
	if (r < 0 && interrupt_signal(s->it))
		fputs("interrupted\n", stderr);
	else if (r < 0)
		fail(&err);
	else if (loss_read(&loss, s->store, &err) >= 0)
		loss_warn(&loss);
}

static void sql_prompt_describe(struct session *s, const char *name)
{
	_cleanup_buf_ struct buf sql = {0};
	int r;

	if (!*name) {
		sql_prompt_run_sql(
			s, "SELECT name FROM (SELECT table_name AS name FROM duckdb_tables() WHERE "
			   "NOT internal UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT "
			   "internal) ORDER BY 1");
		return;
	}
	buf_printf(&sql, "SELECT column_name, column_type FROM (DESCRIBE \"");
	for (; *name; name++)
		buf_printf(&sql, *name == '"' ? "\"\"" : "%c", *name);
	r = buf_printf(&sql, "\")");
	if (r < 0)
		fail(&(struct error){.code = r});
	else
		sql_prompt_run_sql(s, buf_str(&sql));
}

static bool sql_prompt_helper(void *arg, const char *word, const char *rest)
{
	if (strcmp(word, "d") != 0 && strcmp(word, "dt") != 0)
		return false;
	sql_prompt_describe(arg, rest);
	return true;
}

static const char help[] = "\\d          the tables; \\d NAME: the columns of one\n"
			   "\\timing     show how long each statement takes, on or off\n"
			   "\\q          leave (also Ctrl-D)\n"
			   "Statements end with a semicolon. Tab completes, the arrows browse the "
			   "history, Ctrl-R searches\nit, Ctrl-C stops a running statement.";

static int sql_prompt_run(void *arg, char *text)
{
	struct session *s = arg;

	/* accepts the words that leave other SQL prompts */
	if (strncasecmp(text, "quit;", 5) == 0 || strncasecmp(text, "exit;", 5) == 0)
		return 1;
	sql_prompt_run_sql(s, text);
	return 0;
}

int sql_prompt(const struct sql_opts *o, struct interrupt *it, struct store *store,
	       struct engine *e, struct error *err)
{
	struct session s = {.opts = o, .it = it, .store = store, .engine = e};
	const struct prompt p = {.name = "sql",
				 .first = "sql> ",
				 .more = "...> ",
				 .arg = &s,
				 .is_complete = sql_is_complete,
				 .words = sql_prompt_offer_words,
				 .run = sql_prompt_run,
				 .helper = sql_prompt_helper,
				 .help = help};
	const char *version = NULL;
	int r = read_words(&s, err);

	if (r >= 0)
		r = engine_probe(o->engine.library, &version, NULL, err);
	if (r >= 0) {
		printf("%s %s over %s%s; \\? helps, \\q leaves\n", engine_name(e), version,
		       store_trace_path(store, 0), store_trace_count(store) > 1 ? ", ..." : "");
		r = prompt_loop(&p, err);
	}
	buf_free(&s.words);
	return r;
}
