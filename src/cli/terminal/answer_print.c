/* SPDX-License-Identifier: Apache-2.0 */
/* answer_print.c: prints an answer for programs: CSV and JSON on a stream. */
#include "cli/terminal/answer_print.h"

#include <errno.h>

#include "cli/terminal/text.h"
#include "engine/answer_json.h"

int answer_text_list(const struct answer_print *p, struct answer_list *list, struct error *err)
{
	_cleanup_answer_ struct answer rows = {0};
	int r = answer_of_list(&rows, list, true);

	return r < 0 ? error_errno(err, r, "cannot print the table") : answer_text(p, &rows, err);
}

struct answer_print answer_print_out(struct cell_style style, const char *more)
{
	bool terminal = text_terminal();

	return (struct answer_print){.out = stdout,
				     .style = style,
				     .width = terminal ? text_width() : 0,
				     .rows_max = terminal ? TEXT_ROWS_MAX : 0,
				     .more = more,
				     .colour = *text_style(TEXT_BOLD) != '\0'};
}

int answer_csv(FILE *out, struct answer *rows, struct error *err)
{
	answer_safe_fn *safe = out == stdout && text_terminal() ? format_safe : NULL;
	_cleanup_buf_ struct buf line = {0};
	int r = answer_csv_names(&line, rows, safe), next = 1;

	while (r >= 0 && next > 0 && !ferror(out)) {
		fwrite(line.data, 1, line.len, out);
		buf_clear(&line);
		next = answer_next(rows, err);
		if (next == 1)
			r = answer_csv_row(&line, rows, safe);
		else if (next == ANSWER_PAUSE)
			fflush(out);
	}
	fflush(out);
	if (next < 0)
		return next;
	return r < 0 ? error_errno(err, r, "cannot print the answer") : 0;
}

struct json_out {
	FILE *out;
	const struct answer_document *document;
};

static int print_put(void *arg, const void *data, size_t len)
{
	const struct json_out *o = arg;

	fwrite(data, 1, len, o->out);
	return ferror(o->out) ? -EIO : 0;
}

static int print_put_loss(void *arg, struct buf *to, struct error *err)
{
	const struct answer_document *d = ((const struct json_out *)arg)->document;
	struct loss loss;
	int r = d->loss ? 0 : loss_read(&loss, d->store, err);

	if (r >= 0)
		r = loss_put_text(to, d->loss ? d->loss : &loss);
	return r < 0 || !d->put_more ? r : d->put_more(d->arg, to, err);
}

int answer_print_json(FILE *out, struct answer *rows, const struct answer_document *d,
		      struct error *err)
{
	struct json_out o = {out, d};
	int r = answer_json(rows,
			    &(struct answer_json){.origin = d->origin,
						  .compact = d->compact,
						  .put_loss = print_put_loss,
						  .put = print_put,
						  .arg = &o},
			    err);

	fflush(out);
	/* main() handles a reader that went away */
	return r == -EIO ? 0 : r;
}
