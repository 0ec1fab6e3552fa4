// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/prompt.h"

#include <errno.h>
#include <histedit.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"

#define LIST_COLUMN_GAP 2
#define OFFERS_SHOWN	200 /* beyond this, offers are only counted */

/* The completions for Tab. */
struct offers {
	char **words;
	size_t count, cap;
	int error;
};

struct loop {
	const struct prompt *prompt;
	EditLine *edit;
	History *history;
	char *file;	  /* of the history; NULL: no history is kept */
	struct buf lines; /* the statement so far */
	bool cancelled;	  /* Ctrl-C ended the line */
	bool timing;
};

/* ---- history ---- */

static int prompt_make_folders(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

/* $XDG_STATE_HOME/weir/sql_history; NULL if there is no such folder. */
static char *history_file(const char *name)
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	char *path = NULL;
	int n;

	if (state && *state == '/')
		n = asprintf(&path, "%s/weir/%s_history", state, name);
	else if (home && *home == '/')
		n = asprintf(&path, "%s/.local/state/weir/%s_history", home, name);
	else
		return NULL;
	if (n < 0)
		return NULL;
	if (prompt_make_folders(path) < 0) {
		free(path);
		return NULL;
	}
	return path;
}

static void history_begin(struct loop *l)
{
	HistEvent event;

	l->history = history_init();
	if (!l->history)
		return;
	history(l->history, &event, H_SETSIZE, PROMPT_HISTORY_MAX);
	history(l->history, &event, H_SETUNIQUE, 1);
	el_set(l->edit, EL_HIST, history, l->history);
	l->file = history_file(l->prompt->name);
	if (l->file)
		history(l->history, &event, H_LOAD, l->file);
}

/* Keeps a statement on one line, so that it can be recalled and edited as a whole. */
static void history_keep(struct loop *l, const char *text)
{
	_cleanup_free_ char *line = strdup(text);
	HistEvent event;
	mode_t mask;
	size_t len;

	if (!line || !l->history)
		return;
	for (len = strlen(line); len && strchr(" \t\n", line[len - 1]); len--)
		line[len - 1] = '\0';
	/* a comment ends with its line, so such a statement keeps its lines */
	for (char *p = strstr(line, "--") ? NULL : line; p && *p; p++)
		*p = *p == '\n' ? ' ' : *p;
	if (!len)
		return;
	history(l->history, &event, H_ENTER, line);
	if (!l->file)
		return;
	mask = umask(0077);
	history(l->history, &event, H_SAVE, l->file);
	umask(mask);
}

/* ---- completion ---- */

static void take_offer(void *arg, const char *word)
{
	struct offers *o = arg;
	char *copy;

	for (size_t i = 0; i < o->count; i++) {
		if (strcmp(o->words[i], word) == 0)
			return;
	}
	copy = strdup(word);
	if (!copy || array_add(o->words, o->count, o->cap, copy) < 0) {
		free(copy);
		o->error = -ENOMEM;
	}
}

static void prompt_offers_free(struct offers *o)
{
	for (size_t i = 0; i < o->count; i++)
		free(o->words[i]);
	free(o->words);
}

static int prompt_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Length of the common prefix of all offers, in whole characters. */
static size_t common_prefix(const struct offers *o)
{
	size_t len = strlen(o->words[0]);

	for (size_t i = 1; i < o->count; i++) {
		size_t same = 0;

		while (same < len && o->words[i][same] == o->words[0][same])
			same++;
		len = same;
	}
	while (len && ((unsigned char)o->words[0][len] & 0xc0) == 0x80)
		len--;
	return len;
}

/* Prints the offers in columns below the line. */
static void prompt_list(const struct offers *o)
{
	size_t shown = MIN(o->count, (size_t)OFFERS_SHOWN), width = 0, columns, rows;

	for (size_t i = 0; i < shown; i++)
		width = MAX(width, format_width(o->words[i]) + LIST_COLUMN_GAP);
	width = MAX(width, (size_t)1);
	columns = MAX(text_width() / width, (size_t)1);
	rows = (shown + columns - 1) / columns;
	putchar('\n');
	for (size_t r = 0; r < rows; r++) {
		for (size_t c = 0; c < columns && c * rows + r < shown; c++) {
			_cleanup_buf_ struct buf cell = {0};
			const char *word = o->words[c * rows + r];

			if (format_safe(&cell, word, strlen(word)) == 0)
				printf("%s%*s", buf_str(&cell),
				       (int)(width - MIN(format_width(buf_str(&cell)), width)), "");
		}
		putchar('\n');
	}
	if (shown < o->count)
		printf("and %s more\n", format_count(o->count - shown).s);
	fflush(stdout);
}

static unsigned char on_tab(EditLine *edit, int key _unused_)
{
	const LineInfo *line = el_line(edit);
	size_t before = (size_t)(line->cursor - line->buffer), start, typed, same;
	_cleanup_buf_ struct buf text = {0};
	_cleanup_(prompt_offers_free) struct offers o = {0};
	struct loop *l = NULL;

	el_get(edit, EL_CLIENTDATA, &l);
	if (buf_append(&text, buf_str(&l->lines), l->lines.len) < 0 ||
	    buf_append(&text, line->buffer, before) < 0)
		return CC_ERROR;
	start = l->prompt->words(l->prompt->arg, buf_str(&text), text.len, take_offer, &o);
	if (!o.count || o.error || start > text.len)
		return CC_ERROR;
	typed = text.len - start;
	if (typed > before)
		return CC_ERROR;
	same = common_prefix(&o);
	/* the offer may be spelt differently ("sel" becomes "SELECT"): it replaces the typed text */
	if (same > typed || (o.count == 1 && same == typed)) {
		char *word = strndup(o.words[0], same);
		int r = -1;

		el_deletestr(edit, (int)typed);
		if (word)
			r = el_insertstr(edit, word);
		free(word);
		if (r == 0 && o.count == 1 && o.words[0][same - 1] != '(')
			r = el_insertstr(edit, " ");
		return r < 0 ? CC_ERROR : CC_REFRESH;
	}
	qsort(o.words, o.count, sizeof(*o.words), prompt_by_text);
	prompt_list(&o);
	return CC_REDISPLAY;
}

static unsigned char on_interrupt(EditLine *edit, int key _unused_)
{
	struct loop *l = NULL;

	el_get(edit, EL_CLIENTDATA, &l);
	l->cancelled = true;
	return CC_EOF;
}

/* ---- lines ---- */

static char *prompt_text(EditLine *edit)
{
	struct loop *l = NULL;

	el_get(edit, EL_CLIENTDATA, &l);
	return (char *)(l->lines.len ? l->prompt->more : l->prompt->first);
}

static int loop_begin(struct loop *l, struct error *err)
{
	l->edit = el_init("weir", stdin, stdout, stderr);
	if (!l->edit)
		return error_set(err, -ENOTTY, "this terminal does not support a prompt");
	el_set(l->edit, EL_CLIENTDATA, l);
	el_set(l->edit, EL_PROMPT, prompt_text);
	el_set(l->edit, EL_EDITOR, "emacs");
	el_set(l->edit, EL_ADDFN, "weir-complete", "offer words", on_tab);
	el_set(l->edit, EL_ADDFN, "weir-cancel", "forget the statement", on_interrupt);
	/* while a line is edited Ctrl-C is a key; while a statement runs it raises a signal */
	el_set(l->edit, EL_SETTY, "-d", "-isig", NULL);
	history_begin(l);
	el_source(l->edit, NULL);
	el_set(l->edit, EL_BIND, "^I", "weir-complete", NULL);
	el_set(l->edit, EL_BIND, "^C", "weir-cancel", NULL);
	el_set(l->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
	return 0;
}

static void loop_end(struct loop *l)
{
	if (l->history)
		history_end(l->history);
	if (l->edit)
		el_end(l->edit);
	free(l->file);
	buf_free(&l->lines);
}

/* Reads one line. 1: continue, 0: the user leaves, negative. */
static int prompt_step(struct loop *l)
{
	const char *line;
	int count = 0;

	l->cancelled = false;
	el_resize(l->edit);
	/* before the prompt appears, as a key typed with it would otherwise be handled by the terminal */
	el_set(l->edit, EL_PREP_TERM, 1);
	line = el_gets(l->edit, &count);
	if (l->cancelled) {
		puts("^C");
		buf_clear(&l->lines);
		return 1;
	}
	if (!line || count <= 0) {
		putchar('\n');
		return 0;
	}
	/* blank lines before a statement are ignored */
	if (!l->lines.len && line[strspn(line, " \t\n")] == '\0')
		return 1;
	if (buf_append(&l->lines, line, strlen(line)) < 0)
		return -ENOMEM;
	return 1;
}

/* ---- input ---- */

/* Runs a line that begins with a backslash. 1: the user leaves. */
static int run_helper(struct loop *l, char *text)
{
	const struct prompt *p = l->prompt;
	char *word = text + 1, *rest = word + strcspn(word, " \t\n;"), *end;

	if (*rest)
		*rest++ = '\0';
	rest += strspn(rest, " \t");
	for (end = rest + strlen(rest); end > rest && strchr(" \t\n;", end[-1]); end--)
		;
	*end = '\0';
	if (strcmp(word, "q") == 0 || strcmp(word, "quit") == 0)
		return 1;
	if (strcmp(word, "timing") == 0) {
		l->timing = !l->timing;
		printf("timing is %s\n", l->timing ? "on" : "off");
	} else if (strcmp(word, "?") == 0 || strcmp(word, "h") == 0) {
		puts(p->help);
	} else if (!p->helper(p->arg, word, rest)) {
		fprintf(stderr, "weir: unknown command \\%.40s; \\? lists the commands\n", word);
	}
	return 0;
}

static int prompt_run(struct loop *l, char *text)
{
	int64_t began = clock_monotonic_ns();
	int r;

	if (*text == '\\')
		return run_helper(l, text);
	r = l->prompt->run(l->prompt->arg, text);
	if (!r && l->timing)
		printf("%s\n", format_dur(clock_monotonic_ns() - began).s);
	return r;
}

int prompt_loop(const struct prompt *p, struct error *err)
{
	_cleanup_(loop_end) struct loop l = {.prompt = p};
	int r = loop_begin(&l, err);

	if (r < 0)
		return r;
	while ((r = prompt_step(&l)) > 0) {
		_cleanup_free_ char *text = NULL;

		if (!l.lines.len || !p->is_complete(buf_str(&l.lines)))
			continue;
		text = strdup(buf_str(&l.lines));
		if (!text)
			return error_errno(err, -ENOMEM, "prompt");
		buf_clear(&l.lines);
		history_keep(&l, text);
		if (prompt_run(&l, text))
			return 0;
		fflush(stdout);
	}
	return r < 0 ? error_errno(err, r, "prompt") : 0;
}
