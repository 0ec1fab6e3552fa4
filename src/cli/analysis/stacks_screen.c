/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/analysis/analysis_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/stacks/stacks.h"
#include "base/fd.h"
#include "base/array.h"
#include "cli/options/command.h"
#include "cli/record/recorded.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"
#include "symbols/symbols.h"

#define SCREEN_STACKS 12

static int stacks_screen_write(const char *path, const struct buf *b)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct error err = {0};
	int r = fd < 0 ? -errno : fd_write(fd, b->data, b->len);

	if (r >= 0)
		return 0;
	error_set(&err, r, "--pprof: cannot write %s: %s", path, strerror(-r));
	fail(&err);
	return -EIO;
}

static int export_pprof(const struct stacks_sums *s, const char *path)
{
	_cleanup_buf_ struct buf b = {0};
	int r = stacks_put_pprof(s, &b);

	return r < 0 ? r : stacks_screen_write(path, &b);
}

static int print_folded(const struct stacks_sums *s)
{
	_cleanup_buf_ struct buf b = {0};
	int r = stacks_put_folded(s, &b);

	if (r < 0)
		return r;
	fwrite(b.data ? b.data : (const uint8_t *)"", 1, b.len, stdout);
	return r;
}

/* "main > load > read", wrapped. */
static int print_names(const char *before, struct bytes names)
{
	_cleanup_buf_ struct buf text = {0}, safe = {0}, lines = {0};
	size_t from = 0;
	int r;

	buf_printf(&text, "%s", before);
	for (size_t i = 0; i <= names.len; i++) {
		if (i < names.len && names.data[i] != ';')
			continue;
		buf_printf(&text, "%s%.*s", from ? " > " : "", (int)(i - from),
			   (const char *)names.data + from);
		from = i + 1;
	}
	buf_fail(&safe, buf_status(&text));
	buf_fail(&lines, format_safe(&safe, text.data, text.len));
	r = format_wrapped(&lines, buf_str(&safe), 10, MAX(text_width(), (size_t)TEXT_WIDTH_MIN));
	if (r < 0)
		return r;
	printf("          %s", buf_str(&lines));
	return r;
}

/* Without functions that every call and every sleep has: the syscall entry, and the scheduler. */
static struct bytes own_functions(struct bytes names)
{
	static const char *const outer[] = {"entry_SYSCALL_64_after_hwframe;", "do_syscall_64;"},
				 *const inner[] = {";__schedule", ";schedule"};
	const struct bytes all = names;

	for (size_t i = 0; i < ARRAY_SIZE(outer); i++) {
		size_t len = strlen(outer[i]);

		if (names.len > len && !memcmp(names.data, outer[i], len))
			names = (struct bytes){names.data + len, names.len - len};
	}
	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		size_t len = strlen(inner[i]);

		if (names.len > len && !memcmp(names.data + names.len - len, inner[i], len))
			names.len -= len;
	}
	return names.len ? names : all;
}

static struct text weight_text(enum stacks_weight w, uint64_t v)
{
	return w == STACKS_TIME	   ? format_dur((int64_t)v)
	       : w == STACKS_BYTES ? format_size(v)
				   : format_count(v);
}

static int print_row(const struct stacks_sums *s, const struct stacks_row *row, uint64_t all)
{
	uint64_t own = row->sums[s->weight];
	int r;

	printf("%s%9s%s %5s   %s call%s", text_style(TEXT_BOLD), weight_text(s->weight, own).s,
	       text_style(TEXT_PLAIN), format_percent(own, all).s,
	       format_count(row->sums[STACKS_CALLS]).s, row->sums[STACKS_CALLS] == 1 ? "" : "s");
	if (s->weight != STACKS_TIME)
		printf("   %s", format_dur((int64_t)row->sums[STACKS_TIME]).s);
	if (row->sums[STACKS_BYTES] && s->weight != STACKS_BYTES)
		printf("   %s", format_size(row->sums[STACKS_BYTES]).s);
	if (row->sums[STACKS_ERRORS] && s->weight != STACKS_ERRORS)
		printf("   %s failed", format_count(row->sums[STACKS_ERRORS]).s);
	putchar('\n');
	r = print_names(row->cut & SYMBOLS_CUT_TOP ? "... > " : "", row->names);
	if (r >= 0 && row->kernel.len) {
		fputs(text_style(TEXT_DIM), stdout);
		r = print_names("slept in ", own_functions(row->kernel));
		fputs(text_style(TEXT_PLAIN), stdout);
	}
	return r;
}

/*
 * True if calls that wait for work are listed apart: with time as the weight they would hide all others, unless a
 * selection chose what is shown.
 */
static bool stacks_screen_splits(const struct analysis_view *v, const struct stacks_sums *s)
{
	return s->weight == STACKS_TIME && !v->runs[0].where;
}

static void stacks_screen_subtract(uint64_t sums[STACKS_SUMS])
{
	for (int w = 0; w < STACKS_WEIGHTS; w++)
		sums[w] -= sums[STACKS_WAITING + w];
}

static int stacks_screen_compare(const void *a, const void *b)
{
	const struct stacks_row *x = a, *y = b;

	return ORDER(y->sums[STACKS_TIME], x->sums[STACKS_TIME])
		       ?: bytes_compare(x->names, y->names);
}

/*
 * Takes the calls that wait for work out of the sums, into *ret_apart, the rows in their new order; `to` has room for
 * all. Returns the number of stacks of such calls.
 */
static size_t stacks_screen_split(struct stacks_sums *to, struct stacks_row *rows,
				  const struct stacks_sums *s, struct stacks_row *ret_apart)
{
	size_t waiting = 0;

	*to = *s;
	to->rows = rows;
	to->count = 0;
	for (size_t i = 0; i < s->count; i++) {
		struct stacks_row row = s->rows[i];

		waiting += row.sums[STACKS_WAITING + STACKS_CALLS] > 0;
		stacks_screen_subtract(row.sums);
		if (row.sums[STACKS_CALLS])
			rows[to->count++] = row;
	}
	for (int w = 0; w < STACKS_WEIGHTS; w++)
		ret_apart->sums[w] = s->with[STACKS_WAITING + w];
	stacks_screen_subtract(to->with);
	stacks_screen_subtract(to->without);
	qsort(rows, to->count, sizeof(*rows), stacks_screen_compare);
	return waiting;
}

static void stacks_screen_head(const struct stacks_sums *s, const struct stacks_row *apart,
			       size_t stacks)
{
	uint64_t calls = s->with[STACKS_CALLS];

	printf("%s%s in %s call%s with a stack%s   %s call%s without one   by %s\n",
	       text_style(TEXT_BOLD), format_dur((int64_t)s->with[STACKS_TIME]).s,
	       format_count(calls).s, calls == 1 ? "" : "s", text_style(TEXT_PLAIN),
	       format_count(s->without[STACKS_CALLS]).s, s->without[STACKS_CALLS] == 1 ? "" : "s",
	       stacks_weight_word(s->weight));
	if (stacks)
		printf("waiting for work: %s in %s call%s, %zu stack%s: --where 'class == wait'\n",
		       format_dur((int64_t)apart->sums[STACKS_TIME]).s,
		       format_count(apart->sums[STACKS_CALLS]).s,
		       apart->sums[STACKS_CALLS] == 1 ? "" : "s", stacks, stacks == 1 ? "" : "s");
	putchar('\n');
}

int stacks_screen(const struct analysis_view *v)
{
	const struct stacks_options *o = analysis_own_options(v->opts);
	const struct stacks_sums *s = v->result->own;
	size_t most = text_terminal() && o->top == STACKS_TOP ? SCREEN_STACKS : s->count;
	_cleanup_free_ struct stacks_row *rows = NULL;
	struct stacks_row apart = {0};
	struct stacks_sums split;
	size_t waiting = 0;
	bool gaps = false;
	int r = o->pprof ? export_pprof(s, o->pprof) : 0;

	if (r < 0 || o->folded)
		return r < 0 ? r : print_folded(s);
	if (o->pprof)
		return 0;
	if (!s->count) {
		return recorded_put_none(stdout, v->runs[0].store, "stacks");
	}
	if (stacks_screen_splits(v, s)) {
		rows = calloc(s->count, sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		waiting = stacks_screen_split(&split, rows, s, &apart);
		s = &split;
	}
	stacks_screen_head(s, &apart, waiting);
	most = MIN(most, (size_t)o->top);
	most = MIN(most, s->count);
	for (size_t i = 0; i < most && r >= 0; i++) {
		r = print_row(s, &s->rows[i], s->with[s->weight]);
		gaps |= s->rows[i].cut & SYMBOLS_CUT_GAP;
	}
	if (s->count > most)
		printf("%s%zu more stacks: --top N, pipe the output, or use --csv%s\n",
		       text_style(TEXT_DIM), s->count - most, text_style(TEXT_PLAIN));
	if (gaps)
		printf("\n[...]: functions may be missing there (no frame pointers)\n");
	return r;
}
