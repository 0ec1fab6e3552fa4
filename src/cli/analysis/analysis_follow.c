/* SPDX-License-Identifier: Apache-2.0 */
/* analysis_follow.c: an analysis of a growing trace: prints rows as they arrive. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "cli/analysis/analysis_command.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/text.h"

#define FOLLOW_REST_NS (100 * NSEC_PER_MSEC)

struct following {
	struct analysis_view *v;
	struct answer list; /* the latest rows */
	int more;	    /* last result of the analysis; initially 1 */
	bool paused;
	unsigned int warned;
};

/* Lets the analysis look for further rows; if there may be none, waits first. */
static int following_look(struct following *f, struct error *err)
{
	struct analysis_view *v = f->v;
	int r;

	if (f->paused) {
		loss_warn_changes(v->traces[0].store, &f->warned);
		nanosleep(&(struct timespec){.tv_nsec = FOLLOW_REST_NS}, NULL);
	}
	if (interrupt_signal(v->it))
		return error_set(err, -EINTR, "interrupted");
	f->more = v->analysis->follow(v->in, v->result, err);
	answer_free(&f->list);
	f->list = (struct answer){0};
	if (f->more < 0)
		return f->more;
	f->paused = f->more && !answer_list_rows(&v->result->tables[0].rows);
	r = answer_of_list(&f->list, &v->result->tables[0].rows, true);
	return r < 0 ? error_errno(err, r, "cannot print the rows") : 0;
}

static int following_next(struct answer *r, struct error *err)
{
	struct following *f = r->arg;
	int next = f->list.next ? answer_next(&f->list, err) : 0;

	if (next)
		return next;
	if (!f->more)
		return 0;
	next = following_look(f, err);
	if (next < 0)
		return next;
	next = answer_next(&f->list, err);
	return next || !f->more ? next : ANSWER_PAUSE;
}

static struct value following_get(struct answer *r, size_t column)
{
	return answer_get(&((struct following *)r->arg)->list, column);
}

/* The columns are those of the first table, which the analysis creates on its first look. */
static int following_rows(struct following *f, struct answer *ret, struct error *err)
{
	int r = following_look(f, err);

	*ret = (struct answer){.columns = f->list.columns,
			       .count = f->list.count,
			       .next = following_next,
			       .get = following_get,
			       .endless = true,
			       .arg = f};
	return r;
}

static int following_print(struct following *f, struct error *err)
{
	const struct answer_print print = {.out = stdout,
					   .style = analysis_style(f->v),
					   .width = text_terminal() ? text_width() : 0,
					   .colour = *text_style(TEXT_BOLD) != '\0'};
	_cleanup_answer_ struct answer columns = {0};
	struct answer rows;
	int r = following_rows(f, &rows, err);

	if (r < 0)
		return r;
	/* they outlive the list of the current rows */
	r = answer_of_list(&columns, &f->v->result->tables[0].rows, true);
	if (r < 0)
		return error_errno(err, r, "cannot print the rows");
	rows.columns = columns.columns;
	if (f->v->opts->csv)
		return answer_csv(stdout, &rows, err);
	r = answer_text(&print, &rows, err);
	if (r >= 0 && f->v->result->findings.count)
		putchar('\n');
	return r < 0 || !f->v->result->findings.count ? r : analysis_put_findings(f->v, err);
}

/* Prints a document per line, with the rows since the previous one. */
static int following_documents(struct following *f, struct error *err)
{
	int r = 0;

	while (r >= 0 && f->more && !ferror(stdout)) {
		r = following_look(f, err);
		if (r >= 0 && !f->paused)
			r = loss_read(&f->v->loss, f->v->traces[0].store, err);
		if (r >= 0 && !f->paused)
			r = analysis_document(f->v, true, err);
		fflush(stdout);
	}
	return r;
}

int analysis_follow(struct analysis_view *v, struct error *err)
{
	struct analysis_input in = {.analysis = v->analysis,
				    .runs = v->runs,
				    .count = v->count,
				    .options = analysis_own_options(v->opts)};
	struct analysis_result result = {0};
	struct following f = {.v = v, .more = 1};
	int r;

	v->in = &in;
	v->result = &result;
	r = v->opts->read.json ? following_documents(&f, err) : following_print(&f, err);
	fflush(stdout);
	answer_free(&f.list);
	analysis_result_free(v->analysis, &result);
	return MIN(r, 0);
}
