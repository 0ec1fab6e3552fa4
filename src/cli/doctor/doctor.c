/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir doctor: what can be recorded and read on this machine. Each capability is tried, and a missing one comes with
 * its remedy.
 */
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/terminal/format.h"
#include "cli/terminal/json_text.h"
#include "cli/terminal/text.h"
#include "privilege/privilege.h"

#define NAME_WIDTH	 17
#define REMEDY_INDENT	 11 /* column of a remedy, after its arrow */
#define LINE_MAX_COLUMNS 120
#define HOST_PID_NS \
	0xeffffffcul /* inode number of the initial pid namespace, PROC_PID_INIT_INO, since \
			Linux 3.8 */

struct doctor_opts {
	bool json;
};

void doctor_add(struct doctor *d, enum doctor_result result, const char *name, const char *remedy,
		const char *fmt, ...)
{
	struct doctor_line *l;
	va_list ap;

	assert(d->section);
	if (d->count == DOCTOR_LINES_MAX)
		return;
	l = &d->lines[d->count++];
	*l = (struct doctor_line){.section = d->section, .result = result};
	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->remedy, sizeof(l->remedy), "%s", remedy ? remedy : "");
	va_start(ap, fmt);
	vsnprintf(l->detail, sizeof(l->detail), fmt, ap);
	va_end(ap);
}

/* ---- printing ---- */

static const char *result_word(enum doctor_result result)
{
	static const char *const words[] = {"ok", "warn", "--", "no"};

	return words[result];
}

static enum text_style result_style(enum doctor_result result)
{
	static const enum text_style styles[] = {TEXT_GREEN, TEXT_YELLOW, TEXT_DIM, TEXT_RED};

	return styles[result];
}

static void os_name(char *buf, size_t size)
{
	char line[256];
	FILE *f = fopen("/etc/os-release", "re");

	snprintf(buf, size, "unknown system");
	while (f && fgets(line, sizeof(line), f)) {
		char name[128];

		if (sscanf(line, "PRETTY_NAME=\"%127[^\"]\"", name) == 1)
			snprintf(buf, size, "%s", name);
	}
	if (f)
		fclose(f);
}

/* Designed for 80 columns; lines much longer than 100 are hard to read. */
static size_t doctor_width(void)
{
	size_t width = MIN(text_width(), (size_t)LINE_MAX_COLUMNS);

	return MAX(width, (size_t)TEXT_WIDTH_MIN);
}

static void print_head(int64_t took_ns)
{
	struct utsname u = {0};
	struct stat ns = {0};
	size_t width = doctor_width();
	_cleanup_buf_ struct buf b = {0};
	char os[128];

	uname(&u);
	os_name(os, sizeof(os));
	format_next(&b, width, "weir " WEIR_VERSION);
	format_next(&b, width, "Linux %s %s", u.release, u.machine);
	format_next(&b, width, "%s", os);
	format_next(&b, width, "%s%s", geteuid() == 0 ? "root" : "not root",
		    stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino == HOST_PID_NS
			    ? ", host pid namespace"
			    : ", a pid namespace of its own");
	format_next(&b, width, "tried in %s", format_dur(took_ns).s);
	printf("%s\n", buf_str(&b));
}

static void print_line(const struct doctor_line *l)
{
	_cleanup_buf_ struct buf detail = {0}, remedy = {0};

	if (format_wrapped(&detail, l->detail, 9 + NAME_WIDTH, doctor_width()) < 0 ||
	    (l->remedy[0] && format_wrapped(&remedy, l->remedy, REMEDY_INDENT, doctor_width()) < 0))
		return;
	printf("  %s%-5s%s ", text_style(result_style(l->result)), result_word(l->result),
	       text_style(TEXT_PLAIN));
	if (strlen(l->name) > NAME_WIDTH) /* the name of a tracepoint */
		printf("%s\n%*s%s", l->name, 9 + NAME_WIDTH, "", buf_str(&detail));
	else
		printf("%-*s %s", NAME_WIDTH, l->name, buf_str(&detail));
	if (remedy.len)
		printf("%*s%s", REMEDY_INDENT, "-> ", buf_str(&remedy));
}

static void doctor_print_verdict(const struct doctor *d, int status)
{
	_cleanup_buf_ struct buf in_part = {0}, missing = {0}, said = {0}, lines = {0};
	int r;

	for (size_t i = 0; i < d->count; i++) {
		const struct doctor_line *l = &d->lines[i];
		struct buf *b = l->result == DOCTOR_NO	   ? &missing
				: l->result == DOCTOR_WARN ? &in_part
							   : NULL;

		if (b)
			buf_printf(b, "%s%s", b->len ? ", " : "", l->name);
	}
	printf("\n");
	if (missing.len)
		buf_printf(&said, "Not everything works here: %s.", buf_str(&missing));
	else
		buf_printf(&said,
			   "Everything that weir " WEIR_VERSION
			   " records can be recorded here%s%s.",
			   in_part.len ? "; warnings: " : "", buf_str(&in_part));
	r = buf_printf(&said, "   exit %d", status);
	if (r >= 0)
		r = format_wrapped(&lines, buf_str(&said), 0, doctor_width());
	printf("%s", buf_str(&lines));
}

static void print_text(const struct doctor *d, int64_t took_ns, int status)
{
	print_head(took_ns);
	for (size_t i = 0; i < d->count; i++) {
		if (i == 0 || d->lines[i].section != d->lines[i - 1].section)
			printf("\n%s%s%s\n", text_style(TEXT_BOLD), d->lines[i].section,
			       text_style(TEXT_PLAIN));
		print_line(&d->lines[i]);
	}
	doctor_print_verdict(d, status);
}

static void put_member(const char *name, const char *value, const char *after)
{
	printf("\"%s\": ", name);
	json_put_string(stdout, value, strlen(value));
	fputs(after, stdout);
}

static void print_json(const struct doctor *d)
{
	static const char *const columns[] = {"section", "result", "name", "detail", "remedy"};

	printf("{\"origin\": \"%lld\", \"columns\": [", (long long)clock_realtime_ns());
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		printf("%s{\"name\": \"%s\", \"type\": \"text\", \"unit\": \"\"}", i ? ", " : "",
		       columns[i]);
	printf("], \"rows\": [");
	for (size_t i = 0; i < d->count; i++) {
		const struct doctor_line *l = &d->lines[i];

		printf("%s{", i ? ", " : "");
		put_member("section", l->section, ", ");
		put_member("result", result_word(l->result), ", ");
		put_member("name", l->name, ", ");
		put_member("detail", l->detail, ", ");
		put_member("remedy", l->remedy, "}");
	}
	fputs("], \"loss\": ", stdout);
	loss_put_json(stdout, &d->loss);
	fputs("}\n", stdout);
}

/* ---- the command ---- */

static int doctor_main(const void *opts, int argc, char **argv)
{
	const struct doctor_opts *o = opts;
	_cleanup_free_ struct doctor *d = calloc(1, sizeof(*d));
	int64_t start = clock_monotonic_ns();
	struct error err = {0};
	int status = 0;

	if (!d)
		return fail(&(struct error){.code = -ENOMEM});
	d->section = "RECORD";
	doctor_try_recording(d);
	doctor_check_kernel(d);
	doctor_check_tracers(d);
	d->section = "READ";
	/* From here on the engine's library is loaded, and a trace in the working directory is read. */
	if (privilege_drop(privilege_files(), &err) < 0)
		return fail(&err);
	doctor_check_reading(d);
	d->section = "WITHOUT ROOT";
	doctor_check_rights(d);
	for (size_t i = 0; i < d->count; i++)
		status |= d->lines[i].result == DOCTOR_NO;
	if (o->json)
		print_json(d);
	else
		print_text(d, clock_monotonic_ns() - start, status);
	return status;
}

static const struct option doctor_options[] = {
	{0, "json", OPTION_FLAG, NULL, "print one JSON document",
	 offsetof(struct doctor_opts, json)},
	{0},
};

static const struct command_example doctor_examples[] = {
	{"sudo weir doctor", "test what can be recorded here, and how to fix what cannot"},
	{0},
};

const struct command command_doctor = {
	.name = "doctor",
	.summary = "test what can be recorded on this machine, and how to fix what cannot",
	.usage = "[options]",
	.description = "Records a test process whose calls are known, checks that every call was "
		       "seen with the right arguments and paths, measures the cost of recording a "
		       "call, and checks the environment: kernel permissions, control groups, "
		       "other tracers, the query engine, free disk space, and whether a weir.trace "
		       "in the working folder is complete.\n\n"
		       "Exit status: 0 everything works (also with warnings), 1 something does "
		       "not, 2 wrong options.",
	.options = doctor_options,
	.options_size = sizeof(struct doctor_opts),
	.examples = doctor_examples,
	.no_args = true,
	.records = true,
	.run = doctor_main,
};
