/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#define PAGER_DEFAULT "less"

/* The pager of this process: -1, or its pid and the terminal that standard output was before. */
static pid_t pager_pid = -1;
static int pager_terminal = -1;

bool text_terminal(void)
{
	return pager_pid > 0 || isatty(STDOUT_FILENO);
}

unsigned int text_width(void)
{
	struct winsize size;
	int fd = pager_terminal >= 0 ? pager_terminal : STDOUT_FILENO;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return TEXT_WIDTH_MAX;
	return MIN((unsigned int)size.ws_col, (unsigned int)TEXT_WIDTH_MAX);
}

size_t text_rows_max(void)
{
	return text_terminal() ? TEXT_ROWS_MAX : SIZE_MAX;
}

const char *text_style(enum text_style style)
{
	static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", "\033[34m"};
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!text_terminal() || (no_colour && *no_colour) || !term || strcmp(term, "dumb") == 0)
		return "";
	return codes[style];
}

static const char *pager_command(void)
{
	const char *command = getenv("WEIR_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = PAGER_DEFAULT;
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

void text_pager_begin(void)
{
	const char *command = pager_command();
	int ends[2];

	if (pager_pid > 0 || !isatty(STDOUT_FILENO) || !command || pipe(ends) < 0)
		return;
	fflush(stdout);
	pager_pid = fork();
	if (pager_pid == 0) {
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		setenv("LESS", "FRX", 0); /* quit at once if it fits, keep colours, leave the text on the screen */
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pager_pid > 0) {
		pager_terminal = dup(STDOUT_FILENO);
		dup2(ends[1], STDOUT_FILENO);
	}
	close(ends[0]);
	close(ends[1]);
}

void text_pager_end(void)
{
	if (pager_pid <= 0)
		return;
	fflush(stdout);
	dup2(pager_terminal, STDOUT_FILENO);
	close(pager_terminal);
	pager_terminal = -1;
	waitpid(pager_pid, NULL, 0);
	pager_pid = -1;
}

const char *text_count(char buf[static TEXT_FIGURE_MAX], uint64_t count)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count), at = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
	return buf;
}

const char *text_bytes(char buf[static TEXT_FIGURE_MAX], uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;

	if (bytes < 1024) {
		snprintf(buf, TEXT_FIGURE_MAX, "%u B", (unsigned int)bytes);
		return buf;
	}
	/* 1023.95 would be shown as 1024.0 */
	for (value /= 1024; value >= 1023.95 && unit + 1 < ARRAY_SIZE(units); unit++)
		value /= 1024;
	snprintf(buf, TEXT_FIGURE_MAX, "%.1f %s", value, units[unit]);
	return buf;
}

const char *text_dur(char buf[static TEXT_FIGURE_MAX], int64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)ns;
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1000;
		unit++;
	}
	/* one decimal below ten, of seconds two: a report adds seconds up */
	if (unit == 3)
		snprintf(buf, TEXT_FIGURE_MAX, "%.2fs", value);
	else
		snprintf(buf, TEXT_FIGURE_MAX, "%.*f%s", unit && value < 9.95 ? 1 : 0, value, units[unit]);
	return buf;
}

const char *text_percent(char buf[static TEXT_FIGURE_MAX], double part, double whole)
{
	if (whole > 0)
		snprintf(buf, TEXT_FIGURE_MAX, "%.0f %%", 100 * part / whole);
	else
		snprintf(buf, TEXT_FIGURE_MAX, "-");
	return buf;
}

/* Length of the valid UTF-8 character at text, 0 where there is none. */
static size_t utf8_length(const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t need = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
		      : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;

	if (!need || need > len)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	}
	/* overlong forms, surrogates, beyond U+10FFFF; C1 controls steer terminals too */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] >= 0x90) || (s[0] == 0xc2 && s[1] < 0xa0))
		return 0;
	return need;
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

size_t text_columns(const char *text, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_length(text + i, len - i);
		columns += n && !is_control(text[i]) ? 1 : text[i] == '\n' || text[i] == '\t' ? 2 : 4;
		n = MAX(n, (size_t)1);
	}
	return columns;
}

void text_escape(char *buf, size_t size, const char *text, size_t len)
{
	size_t at = 0;

	assert(size > 0);
	for (size_t i = 0, n; i < len; i += n) {
		char hex[5];
		const char *out = text + i;
		size_t out_len = n = utf8_length(text + i, len - i);

		if (!n || is_control(text[i])) {
			n = 1;
			if (text[i] == '\n' || text[i] == '\t')
				snprintf(hex, sizeof(hex), "\\%c", text[i] == '\n' ? 'n' : 't');
			else
				snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)text[i]);
			out = hex;
			out_len = strlen(hex);
		}
		if (at + out_len >= size)
			break;
		memcpy(buf + at, out, out_len);
		at += out_len;
	}
	buf[at] = 0;
}
