/* SPDX-License-Identifier: Apache-2.0 */
/* report_page.c: the lines, names and sums of the page; its line of where the calls are from. */
#include "cli/report/report_page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/text.h"
#include "names/names.h"

size_t page_width(void)
{
	return MAX(text_width(), (size_t)TEXT_WIDTH_MIN);
}

int page_table(struct answer_list *list)
{
	const struct answer_print print = {.out = stdout,
					   .style = {.null = ""},
					   .width = page_width(),
					   .colour = *text_style(TEXT_BOLD) != '\0'};

	if (list->error < 0 || !list->count)
		return list->error;
	printf("\n");
	return answer_text_list(&print, list, NULL);
}

void page_rest(struct answer_list *list)
{
	do
		answer_list_null(list);
	while (list->error >= 0 && list->count % list->column_count);
}

void page_share(struct answer_list *list, uint64_t part, uint64_t whole)
{
	answer_list_str(list, format_percent(part, whole).s);
}

int page_line(struct buf *b)
{
	_cleanup_buf_ struct buf lines = {0};
	int e = buf_fail(&lines, buf_status(b));

	if (e >= 0)
		e = format_wrapped(&lines, buf_str(b), 0, page_width());
	if (e < 0)
		return e;
	printf("%s", buf_str(&lines));
	return 0;
}

int page_row_order(const void *a, const void *b)
{
	const struct rollup_row *x = *(const struct rollup_row *const *)a,
				*y = *(const struct rollup_row *const *)b;

	return ORDER(y->time_ns, x->time_ns) ?: ORDER(y->calls, x->calls)
					     ?: ORDER(x->op, y->op)
					     ?: ORDER(x->thread_id, y->thread_id);
}

int page_calls_order(const void *a, const void *b)
{
	const struct rollup_row *x = *(const struct rollup_row *const *)a,
				*y = *(const struct rollup_row *const *)b;

	return ORDER(y->calls, x->calls) ?: ORDER(x->op, y->op);
}

int page_sum(const struct rollup_row *const *rows, size_t from, size_t count,
	     struct rollup_row *ret)
{
	*ret = (struct rollup_row){.op = -1};
	for (size_t i = from; i < count; i++) {
		int e = hist_merge(&ret->hist, &rows[i]->hist);

		if (e < 0)
			return e;
		ret->calls += rows[i]->calls;
		ret->errors += rows[i]->errors;
		ret->bytes = add_sat(ret->bytes, rows[i]->bytes);
		ret->time_ns = add_sat(ret->time_ns, rows[i]->time_ns);
		ret->max_ns = MAX(ret->max_ns, rows[i]->max_ns);
	}
	return 0;
}

/* ---- where the calls are from ---- */

/* Columns of the names in the head, and how many hosts it names: the first for which it fits the page is used. */
static const struct head_names {
	size_t path, command, host, hosts;
} head_names[] = {
	{40, 48, REPORT_HOST_MAX, 3},
	{40, 36, REPORT_HOST_MAX, 3},
	{32, 28, REPORT_HOST_MAX, 3},
	{24, 28, REPORT_HOST_MAX, 2},
	{24, 20, REPORT_HOST_MAX, 1},
	{20, 20, REPORT_HOST_MAX, 0},
	{16, 16, 8, 0},
	{12, 12, 8, 0},
};

/* "redis-server --port 0": a command as it begins, without the folder of its program. */
static int put_command(const char *text, size_t width, struct buf *out)
{
	_cleanup_buf_ struct buf safe = {0};
	const char *end = strchrnul(text, ' '), *slash = memrchr(text, '/', (size_t)(end - text));
	const char *from = slash && slash + 1 < end ? slash + 1 : text;

	buf_fail(out, format_safe(&safe, from, strlen(from)));
	if (format_width(buf_str(&safe)) <= width)
		return buf_append(out, safe.data, safe.len);
	format_pad(out, buf_str(&safe), width - 3, false);
	return buf_printf(out, "...");
}

static int who(const struct report *r, const struct head_names *names, struct buf *out)
{
	const struct dims_process *p = NULL;
	_cleanup_buf_ struct buf key = {0}, name = {0};
	size_t processes = dims_rows(r->dims, TABLE_PROCESS);

	if (r->command.differ) {
		size_t traces = r->sources;
		bool same = r->command.count >= traces && r->synthetic % traces == 0;

		return buf_printf(out, "   %s%zu %s", same && r->synthetic ? "synthetic: " : "",
				  traces,
				  !same		 ? "traces"
				  : r->synthetic ? "streams"
						 : "commands");
	}
	if (r->command.text) {
		buf_printf(out, "   %s", r->synthetic ? "synthetic: " : "");
		put_command(r->command.text, names->command, out);
		p = processes == 1 ? dims_process(r->dims, dims_id_at(r->dims, TABLE_PROCESS, 0))
				   : NULL;
		return p ? buf_printf(out, ", pid %lld", (long long)p->pid) : buf_status(out);
	}
	for (size_t i = 0; processes == 1 && i < dims_rows(r->dims, TABLE_THREAD); i++) {
		int64_t id = dims_id_at(r->dims, TABLE_THREAD, i);
		const struct dims_thread *t = dims_thread(r->dims, id);

		p = dims_process(r->dims, t->process_id);
		if (!p)
			continue;
		buf_fail(out, group_process(r, id, &key, &name));
		/* without the pid, which is shown separately */
		while (name.len && name.data[name.len - 1] != ' ')
			name.len--;
		buf_printf(out, "   ");
		format_path(out, name.data, name.len ? name.len - 1 : 0,
			    MIN(names->command, (size_t)24));
		return buf_printf(out, ", pid %lld", (long long)p->pid);
	}
	return buf_status(out);
}

/* "   host db1", "   hosts db1, db2 and 6 more", "   8 hosts" */
static int page_put_hosts(const struct report *r, const struct head_names *names, struct buf *out)
{
	size_t shown = 0;

	if (r->hosts > 1 && !names->hosts)
		return buf_printf(out, "   %zu hosts", r->hosts);
	for (size_t i = 0; i < dims_rows(r->dims, TABLE_HOST) && shown < MAX(names->hosts, 1u);
	     i++) {
		int64_t id = dims_id_at(r->dims, TABLE_HOST, i);
		const struct dims_host *h = dims_host(r->dims, id);

		if (!h->name.len || !names_host_is_new(r->dims, i))
			continue;
		buf_printf(out, "%s", shown++ ? ", " : r->hosts > 1 ? "   hosts " : "   host ");
		format_path(out, h->name.data, h->name.len, names->host);
	}
	if (shown && r->hosts > shown)
		buf_printf(out, " and %zu more", r->hosts - shown);
	return buf_status(out);
}

/* "redis.trace   redis-server --port 0, pid 7208   host db1": where the calls are from */
static int put_origin(const struct report *r, const struct head_names *names, struct buf *out)
{
	const char *path = input_shown(store_trace_path(r->store, 0));
	size_t traces = store_trace_count(r->store);

	format_path(out, path, strlen(path), names->path);
	if (traces > 1)
		buf_printf(out, " and %zu more", traces - 1);
	who(r, names, out);
	return page_put_hosts(r, names, out);
}

int page_origin(const struct report *r)
{
	_cleanup_buf_ struct buf b = {0};
	char when[80];
	int e;

	for (size_t i = 0;
	     i < ARRAY_SIZE(head_names) && (!i || format_width(buf_str(&b)) > page_width()); i++) {
		buf_clear(&b);
		e = put_origin(r, &head_names[i], &b);
		if (e < 0)
			return e;
	}
	if (r->first || r->last)
		snprintf(when, sizeof(when), "%.40s, %.24s",
			 format_when(r->first, r->opts->read.utc ? FORMAT_UTC : FORMAT_LOCAL).s,
			 format_dur(r->last - r->first).s);
	else
		snprintf(when, sizeof(when), "empty");
	/* On one line if it fits. */
	if (format_width(buf_str(&b)) + 3 + strlen(when) > page_width()) {
		e = page_line(&b);
		if (e < 0)
			return e;
		buf_clear(&b);
	} else {
		buf_printf(&b, "   ");
	}
	buf_printf(&b, "%s", when);
	return page_line(&b);
}
