/* SPDX-License-Identifier: Apache-2.0 */
/* weir check: reads every byte of traces and reports what is damaged, and how much can be read. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/terminal/format.h"
#include "cli/terminal/json_text.h"
#include "cli/options/shared.h"
#include "store/file/check_trace.h"

#define HEAD_DEFAULT   20
#define STATUS_LINE_NS (500 * NSEC_PER_MSEC)

struct check_opts {
	struct option_list inputs;
	int64_t head;
	bool fast, json, quiet, utc;
};

struct check {
	const struct check_opts *opts;
	struct buf name; /* of the current trace, safe to print */
	uint64_t shown;	 /* number of its faults already printed */
	size_t traces, bad;
	int64_t next_status; /* monotonic; when the status line is due next */
	bool status_shown;
};

/* ---- the terminal ---- */

static void clear_status(struct check *c)
{
	if (c->status_shown)
		fputs("\r\033[K", stderr);
	c->status_shown = false;
}

static int check_show_progress(void *arg, uint64_t done, uint64_t all)
{
	struct check *c = arg;
	int64_t now = clock_monotonic_ns();

	if (now < c->next_status)
		return 0;
	c->next_status = now + STATUS_LINE_NS;
	fprintf(stderr, "\r%s  %s\033[K", format_percent(done, all).s, buf_str(&c->name));
	c->status_shown = true;
	return 0;
}

/* ---- faults ---- */

static struct text when(const struct check *c, int64_t ns)
{
	return format_when(ns, c->opts->utc ? FORMAT_UTC : FORMAT_LOCAL);
}

/* "block 17 at byte 9,000 (op, 65,536 rows, 21 Nov 09:55:02.114 +0000 to ...): checksum of column dur" */
static void print_fault(const struct check *c, const struct check_fault *f)
{
	printf("%s: block %s", buf_str((struct buf *)&c->name), format_count(f->seq).s);
	if (f->blocks > 1)
		printf(" and %s more", format_count(f->blocks - 1).s);
	printf(" at byte %s", format_count(f->offset).s);
	if (*f->kind)
		printf(" (%s", f->kind);
	if (*f->kind && f->rows)
		printf(", %s", format_counted(f->rows, "row").s);
	if (f->first != INT64_MIN)
		printf("%s%s %s", *f->kind ? ", " : " (", f->kind[0] ? "from" : "after",
		       when(c, f->first).s);
	if (f->last != INT64_MIN)
		printf("%s %s",
		       f->first != INT64_MIN ? " to"
		       : *f->kind	     ? ", to"
					     : " (before",
		       when(c, f->last).s);
	printf("%s: %s\n", *f->kind || f->first != INT64_MIN || f->last != INT64_MIN ? ")" : "",
	       f->what);
}

static void check_put_time(const char *name, int64_t ns)
{
	if (ns == INT64_MIN)
		printf(", \"%s\": null", name);
	else
		printf(", \"%s\": \"%lld\"", name, (long long)ns);
}

static void json_fault(const struct check_fault *f, bool first)
{
	printf("%s\n    {\"block\": %llu, \"blocks\": %llu, \"offset\": %llu, \"bytes\": %llu, "
	       "\"kind\": \"%s\", \"rows\": %u, \"rows_unknown\": %s",
	       first ? "" : ",", (unsigned long long)f->seq, (unsigned long long)f->blocks,
	       (unsigned long long)f->offset, (unsigned long long)f->bytes, f->kind, f->rows,
	       f->rows_unknown ? "true" : "false");
	check_put_time("first", f->first);
	check_put_time("last", f->last);
	fputs(", \"what\": ", stdout);
	json_put_string(stdout, f->what, strlen(f->what));
	putchar('}');
}

static void on_fault(void *arg, const struct check_fault *f)
{
	struct check *c = arg;
	int64_t head = c->opts->head ? c->opts->head : c->opts->json ? INT64_MAX : HEAD_DEFAULT;

	if (c->opts->quiet || c->shown >= (uint64_t)head)
		return;
	clear_status(c);
	if (c->opts->json)
		json_fault(f, c->shown == 0);
	else
		print_fault(c, f);
	c->shown++;
}

/* ---- the result for one trace ---- */

static const char *status_word(const struct check_result *r)
{
	return r->faults ? "damaged" : r->closed ? "intact" : r->growing ? "growing" : "unclosed";
}

static void print_readable(const struct check_result *r)
{
	uint64_t calls = r->rows[TABLE_OP], bad = r->bad_rows[TABLE_OP];

	printf("%s", format_count(calls).s);
	if (bad)
		printf(" of %s%s", r->rows_unknown ? "at least " : "", format_count(calls + bad).s);
	printf(" call%s can be read", calls + bad == 1 ? "" : "s");
	if (bad && !r->rows_unknown)
		printf(" (%.3g %%)", 100.0 * (double)calls / (double)(calls + bad));
	if (!bad && r->rows_unknown)
		printf(", an unknown number cannot be read");
	printf(", %s of %s", format_size(r->bytes - r->bad_bytes).s, format_size(r->bytes).s);
}

static void check_print_verdict(const struct check *c, const struct check_result *r)
{
	const char *name = buf_str((struct buf *)&c->name);

	if (c->shown && r->faults > c->shown)
		printf("%s: and %s more: --head %llu\n", name, format_count(r->faults - c->shown).s,
		       (unsigned long long)r->faults);
	printf("%s: ", name);
	if (r->faults) {
		printf("DAMAGED in %s: ", format_counted(r->faults, "place").s);
		print_readable(r);
	} else {
		printf("%s   %s   %s   %s",
		       r->closed    ? "intact"
		       : r->growing ? "intact so far, still being recorded"
				    : "NOT CLOSED (recorder killed, or file cut)",
		       format_counted(r->rows[TABLE_OP], "call").s,
		       format_counted(r->blocks, "block").s, format_size(r->bytes).s);
	}
	putchar('\n');
	if (r->closed || r->growing)
		return;
	if (r->until == INT64_MIN)
		printf("%s: not closed: its last calls may be missing\n", name);
	else
		printf("%s: not closed: calls after %s may be missing\n", name,
		       when(c, r->until).s);
}

static void json_verdict(const struct check_result *r)
{
	printf("%s],\n   \"status\": \"%s\", \"blocks\": %llu, \"bad_blocks\": %llu, \"bytes\": "
	       "%llu, \"bad_bytes\": %llu, \"rows_unknown\": %s, \"rows\": {",
	       r->faults ? "\n   " : "", status_word(r), (unsigned long long)r->blocks,
	       (unsigned long long)r->bad_blocks, (unsigned long long)r->bytes,
	       (unsigned long long)r->bad_bytes, r->rows_unknown ? "true" : "false");
	for (unsigned int t = 0; t < TABLE_COUNT; t++)
		printf("%s\"%s\": {\"read\": %llu, \"bad\": %llu}", t ? ", " : "",
		       schema_table(t)->name, (unsigned long long)r->rows[t],
		       (unsigned long long)r->bad_rows[t]);
	putchar('}');
	check_put_time("first", r->first);
	check_put_time("last", r->last);
	if (!r->closed)
		check_put_time("complete_until", r->until);
	putchar('}');
}

/* Reports a trace of which nothing can be read. */
static void print_unread(const struct check *c, const struct error *err)
{
	if (c->opts->json) {
		fputs("],\n   \"status\": \"unreadable\", \"what\": ", stdout);
		json_put_string(stdout, err->message, strlen(err->message));
		putchar('}');
	} else {
		fail(err);
	}
}

/* ---- traces ---- */

/* Returns 0 whatever is found; negative only if the check itself failed. */
static int check_each_trace(struct check *c, const char *path, struct error *err)
{
	const struct check_options verify = {
		.quick = c->opts->fast,
		.found = on_fault,
		.progress = isatty(STDERR_FILENO) && !c->opts->quiet ? check_show_progress : NULL,
		.arg = c};
	_cleanup_(store_freep) struct store *s = NULL;
	struct check_result result;
	struct error why = {0};
	int r;

	buf_clear(&c->name);
	r = format_safe(&c->name, path, strlen(path));
	if (r < 0)
		return error_errno(err, r, "cannot check %s", path);
	c->shown = 0;
	c->next_status = clock_monotonic_ns() + STATUS_LINE_NS;
	if (c->opts->json) {
		printf("%s\n  {\"trace\": ", c->traces ? "," : "");
		json_put_string(stdout, path, strlen(path));
		fputs(", \"faults\": [", stdout);
	}
	c->traces++;
	r = store_open(&s, &path, 1, &why);
	if (r >= 0)
		r = store_check(s, 0, &verify, &result, &why);
	clear_status(c);
	if (r == -ENOMEM)
		return error_set(err, r, "%s", why.message);
	c->bad += r < 0 || !check_is_intact(&result);
	if (r < 0)
		print_unread(c, &why);
	else if (c->opts->json)
		json_verdict(&result);
	else if (!c->opts->quiet || !check_is_intact(&result))
		check_print_verdict(c, &result);
	return 0;
}

static int check_folder(struct check *c, const char *path, struct error *err)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort), r = 0;
	size_t before = c->traces;

	if (n < 0)
		return error_errno(err, -errno, "cannot read the folder %s", path);
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *file = NULL;

		if (r >= 0 && names[i]->d_name[0] != '.') {
			if (asprintf(&file, "%s/%s", path, names[i]->d_name) < 0)
				r = error_errno(err, -ENOMEM, "cannot read the folder %s", path);
			else if (store_path_is_trace(file))
				r = check_each_trace(c, file, err);
		}
		free(names[i]);
	}
	free(names);
	if (r >= 0 && c->traces == before)
		r = error_set(err, -ENOENT, "no trace in the folder %s", path);
	return r;
}

/* Checks the files of a recording in several, each separately. */
static int check_parts(struct check *c, const char *path, struct error *err)
{
	_cleanup_(store_freep) struct store *s = NULL;
	int r = input_is_path(path, err);

	if (r < 0)
		return r;
	r = store_open(&s, &path, 1, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < store_trace_count(s); i++) {
		r = check_each_trace(c, store_trace_path(s, i), err);
		if (r < 0)
			return r;
	}
	return r;
}

static int check_path(struct check *c, const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0 && errno == ENOENT)
		return check_parts(c, path, err);
	if (stat(path, &st) < 0)
		return error_errno(err, -errno, "cannot open the trace %s", path);
	return S_ISDIR(st.st_mode) ? check_folder(c, path, err) : check_each_trace(c, path, err);
}

static int check_run(const void *opts, int argc, char **argv)
{
	struct check c = {.opts = opts};
	const struct option_list *inputs = &c.opts->inputs;
	struct error err = {0};
	int r = 0;

	if (c.opts->json)
		fputs("{\"traces\": [", stdout);
	for (size_t i = 0; i < inputs->count && r >= 0; i++)
		r = check_path(&c, inputs->items[i], &err);
	for (int i = 0; i < argc && r >= 0; i++)
		r = check_path(&c, argv[i], &err);
	if (!inputs->count && !argc)
		r = check_path(&c, TRACE_DEFAULT, &err);
	if (c.opts->json)
		printf("\n ],\n \"checked\": %zu, \"bad\": %zu}\n", c.traces, c.bad);
	buf_free(&c.name);
	if (r < 0)
		return fail(&err);
	return c.bad ? 1 : 0;
}

static const struct option options[] = {
	{'i', "input", OPTION_LIST, "TRACE", "check this trace, or every trace in this folder",
	 offsetof(struct check_opts, inputs)},
	{0, "fast", OPTION_FLAG, NULL,
	 "check only checksums, numbers and references: do not unpack blocks of calls whose "
	 "checksums match",
	 offsetof(struct check_opts, fast)},
	{0, "json", OPTION_FLAG, NULL, "print one JSON document",
	 offsetof(struct check_opts, json)},
	{0, "head", OPTION_COUNT, "N",
	 "list at most N damaged places of a trace (default: 20; JSON: all)",
	 offsetof(struct check_opts, head)},
	{0, "utc", OPTION_FLAG, NULL, "times in UTC instead of local time",
	 offsetof(struct check_opts, utc)},
	{'q', "quiet", OPTION_FLAG, NULL, "print nothing about traces that are intact",
	 offsetof(struct check_opts, quiet)},
	{0},
};

static const struct command_example examples[] = {
	{"weir check", "weir.trace in this folder"},
	{"weir check -q /var/lib/weir || echo damaged", "every trace in a folder, for a script"},
	{0},
};

const struct command command_check = {
	.name = "check",
	.summary = "check every byte of a trace, and list what is damaged",
	.usage = "[options] [TRACE...]",
	.description =
		"Reads traces from the first byte to the last and checks everything: the "
		"checksums of headers and columns, that columns unpack, that blocks are numbered "
		"without a gap, that the index matches the blocks, that every thread, process and "
		"file that a row refers to exists, and the end mark. Each damaged place is listed "
		"with the number and offset of its block, its table, and the rows and the time "
		"range that are lost; then how much can be read. A folder stands for the traces in "
		"it. A trace that is being recorded is checked up to its current end.\n\n"
		"A trace without its end mark is not intact: its recorder was killed or the "
		"file was cut, and its last calls may be missing.\n\n"
		"Exit status: 0 all traces are intact, 1 some are not or cannot be read, 2 wrong "
		"options.",
	.options = options,
	.options_size = sizeof(struct check_opts),
	.examples = examples,
	.or_files = true,
	.run = check_run,
};
