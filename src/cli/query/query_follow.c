// SPDX-License-Identifier: Apache-2.0
/* query_follow.c: the answer to a growing trace: in place on a terminal, one after another in a pipe. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/clock.h"
#include "cli/query/query.h"
#include "cli/terminal/text.h"

#define POLL_NS	    (20 * NSEC_PER_MSEC)
#define TITLE_LINES 3 /* lines reserved for titles and the note on omitted rows */
#define ROWS_MIN    5

struct screen {
	size_t lines;	/* lines drawn by the last refresh */
	uint64_t drawn; /* number of refreshes */
};

static size_t terminal_rows(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row < TITLE_LINES + ROWS_MIN)
		return TEXT_ROWS_MAX;
	return (size_t)size.ws_row - TITLE_LINES;
}

/* Moves the cursor back to the start of the last answer and overwrites it. */
static void query_follow_show(struct screen *screen, const char *text, size_t len)
{
	size_t lines = 0;

	/* a long line must not wrap */
	fputs("\033[?7l", stdout);
	if (screen->lines)
		printf("\033[%zuA", screen->lines);
	for (const char *p = text, *end; p < text + len; p = end + 1) {
		end = memchr(p, '\n', len - (size_t)(p - text));
		if (!end)
			break;
		/* erases the rest of a line that was longer before */
		printf("%.*s\033[K\n", (int)(end - p), p);
		lines++;
	}
	fputs("\033[J\033[?7h", stdout);
	fflush(stdout);
	screen->lines = lines;
}

static int print_screen(struct query_session *s, const struct plan *p, struct answer *rows,
			struct screen *screen, struct error *err)
{
	struct answer_print print = {.style = query_style(s, p),
				     .width = text_width(),
				     .rows_max = MIN((size_t)TEXT_ROWS_MAX, terminal_rows()),
				     .colour = *text_style(TEXT_BOLD) != '\0',
				     .trends = !query_wants_rows(p)};
	char *text = NULL;
	size_t len = 0;
	int r;

	print.out = open_memstream(&text, &len);
	if (!print.out)
		return error_errno(err, -ENOMEM, "cannot print the answer");
	r = query_print(&print, rows, err);
	fclose(print.out);
	if (r >= 0)
		query_follow_show(screen, text, len);
	free(text);
	return r;
}

static int print_pipe(struct query_session *s, struct answer *rows, struct screen *screen,
		      struct error *err)
{
	const struct answer_print print = {.out = stdout, .style = s->style};
	const struct answer_document document = query_document(s, true);
	int r;

	if (s->opts->read.json)
		return answer_print_json(stdout, rows, &document, err);
	if (screen->drawn)
		putchar('\n');
	r = s->opts->csv ? answer_csv(stdout, rows, err) : query_print(&print, rows, err);
	fflush(stdout);
	return r;
}

static int query_follow_refresh(struct query_session *s, const struct plan *p,
				struct engine_follow *follow, struct screen *screen,
				struct error *err)
{
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	_cleanup_answer_ struct answer rows = {0};
	bool plain = !text_terminal() || s->opts->read.json || s->opts->csv;
	int r;

	interrupt_engine(s->it, s->engine);
	r = engine_follow_refresh(follow, &result, err);
	interrupt_engine(s->it, NULL);
	if (r >= 0)
		r = answer_of_result(&rows, p, result);
	if (r >= 0)
		r = plain ? print_pipe(s, &rows, screen, err)
			  : print_screen(s, p, &rows, screen, err);
	screen->drawn++;
	return r;
}

/* Waits until the next refresh is due, or a signal arrives. */
static void rest(struct query_session *s, int64_t until)
{
	while (clock_monotonic_ns() < until && !interrupt_signal(s->it) && !ferror(stdout))
		nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

int query_follow(struct query_session *s, const struct plan *p, struct error *err)
{
	_cleanup_(engine_follow_freep) struct engine_follow *follow = NULL;
	int64_t every = s->opts->every_ns ? s->opts->every_ns : NSEC_PER_SEC;
	struct screen screen = {0};
	unsigned int warned = 0;
	bool grows = true;
	int r = query_engine(s, err);

	if (r >= 0)
		r = engine_follow_new(&follow, s->engine, p, err);
	while (r >= 0 && grows && !interrupt_signal(s->it) && !ferror(stdout)) {
		int64_t began = clock_monotonic_ns();

		/* checked before the refresh, so that the last one includes all rows */
		grows = !s->store || store_is_open_ended(s->store);
		r = query_follow_refresh(s, p, follow, &screen, err);
		if (s->store)
			loss_warn_changes(s->store, &warned);
		if (r >= 0 && grows)
			rest(s, began + every);
	}
	return r;
}
