/* SPDX-License-Identifier: Apache-2.0 */
/* report_next.c: the last line of the page: the commands to run next, ready to paste. */
#include <stdio.h>
#include <string.h>

#include "base/shell.h"
#include "cli/report/report_page.h"
#include "cli/trace/call_text.h"

/* A word for a shell. Bytes that a terminal would interpret are escaped within $'...'. */
static int report_next_put_word(struct buf *out, const char *name)
{
	const struct bytes text = {(const uint8_t *)name, strlen(name)};
	_cleanup_buf_ struct buf escaped = {0};
	size_t doubled = 0; /* backslashes, which escaping doubles */
	int r = call_text_escape(&escaped, text, "");

	for (size_t i = 0; i < text.len; i++)
		doubled += name[i] == '\\';
	if (r < 0 || escaped.len == text.len + doubled)
		return r < 0 ? r : shell_word(out, name, text.len);
	buf_clear(&escaped);
	r = call_text_escape(&escaped, text, "'");
	return r < 0 ? r : buf_printf(out, "$'%s'", buf_str(&escaped));
}

/* " x.trace 'two words'": the traces as named on this command line; nothing for the default. */
static int report_next_put_traces(const struct report *r, struct buf *out)
{
	const struct option_list *inputs = &r->opts->read.inputs;

	for (size_t i = 0; i < inputs->count + (size_t)r->name_count; i++) {
		bool input = i < inputs->count;
		const char *name = input ? inputs->items[i] : r->names[i - inputs->count];

		/* a file of such a name is in the working directory */
		buf_printf(out, input ? " -i " : *name != '-' ? " " : " ./");
		buf_fail(out, report_next_put_word(out, name));
	}
	return buf_status(out);
}

/* Commands are never cut, so that they can be pasted. */
static int print_commands(const struct report *r, bool errors)
{
	static const char *const tables[] = {"slow", "files", "errors"};
	_cleanup_buf_ struct buf traces = {0}, b = {0};
	int e;

	buf_fail(&b, report_next_put_traces(r, &traces));
	buf_printf(&b, "NEXT");
	for (size_t i = 0; i < ARRAY_SIZE(tables) - !errors; i++) {
		_cleanup_buf_ struct buf one = {0};

		buf_printf(&one, "   weir report %s%s", tables[i], buf_str(&traces));
		if (i && format_width(buf_str(&b)) + format_width(buf_str(&one)) > page_width())
			break;
		buf_add(&b, &one);
	}
	e = buf_status(&b);
	if (e < 0)
		return e;
	printf("%s\n", buf_str(&b));
	return e;
}

/* The option that would have kept all lost calls; NULL: there is none. */
static const char *remedy(const struct loss *l)
{
	if (l->events[CAUSE_DISK_FULL])
		return "free space, write elsewhere (-o) or bound the trace (--size)";
	if (l->events[CAUSE_RING_FULL])
		return "record with --lossless or a larger ring (--ring 64MiB)";
	return NULL;
}

/* Prints the next commands for this trace. 1 if damage left nothing to look at. */
int page_next(const struct report *r, const struct page_totals *t)
{
	uint64_t errors = 0;

	for (size_t i = 0; i < rollup_count(r->scan.rollup); i++)
		errors += rollup_row(r->scan.rollup, i)->errors;
	printf("\n");
	if (r->loss.damage.blocks) {
		_cleanup_buf_ struct buf traces = {0};
		int e = report_next_put_traces(r, &traces);

		if (e < 0)
			return e;
		printf("NEXT   weir check%s   (lists what is damaged%s)\n", buf_str(&traces),
		       t->calls ? "" : "; no call can be read here");
		if (!t->calls && !r->filtered && !r->ranged)
			return 1;
	}
	if (t->calls)
		return print_commands(r, errors);
	if (r->filtered || r->ranged)
		printf("NEXT   no call of the trace matches %s: try without %s\n",
		       r->filtered ? "the selection" : "--from and --to",
		       r->filtered ? "it" : "them");
	else if (loss_of_calls(&r->loss) && remedy(&r->loss))
		printf("NEXT   every call was lost: %s\n", remedy(&r->loss));
	else if (page_selected(r))
		printf("NEXT   no call matched the selection of the recording\n");
	else
		printf("NEXT   nothing was recorded here: weir doctor shows what can be "
		       "recorded\n");
	return 0;
}
