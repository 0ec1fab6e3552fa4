/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/text.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#define PAGER_DEFAULT "less"
#define WIDTH_LEAST   20 /* minimum width assumed for a terminal */

/* The pager of this process: its pid or -1, and the terminal that was standard output before. */
static pid_t pager_pid = -1;
static sighandler_t before_int, before_quit; /* handlers of SIGINT and SIGQUIT before the pager */
static int pager_terminal = -1;

bool text_terminal(void)
{
	return pager_pid > 0 || isatty(STDOUT_FILENO);
}

size_t text_width(void)
{
	return text_width_of(pager_terminal >= 0 ? pager_terminal : STDOUT_FILENO);
}

size_t text_width_of(int fd)
{
	const char *columns = getenv("COLUMNS");
	char *end = NULL;
	unsigned long n = columns ? strtoul(columns, &end, 10) : 0;
	struct winsize size;

	if (!n || *end)
		n = ioctl(fd, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
	if (!n)
		return TEXT_WIDTH_PIPE;
	return n < WIDTH_LEAST ? WIDTH_LEAST : MIN((size_t)n, (size_t)TEXT_WIDTH_MAX);
}

bool text_narrow(void)
{
	return text_terminal() && text_width() < TEXT_WIDTH_PIPE;
}

size_t text_rows_max(void)
{
	return text_terminal() ? TEXT_ROWS_MAX : SIZE_MAX;
}

const char *text_style(enum text_style style)
{
	static const char *const codes[] = {"\033[0m",	"\033[1m",  "\033[2m", "\033[31m",
					    "\033[32m", "\033[33m", "\033[34m"};
	const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!text_terminal() || (no_colour && *no_colour) || !term || strcmp(term, "dumb") == 0)
		return "";
	return codes[style];
}

static const char *pager_command(void)
{
	const char *command = secure_getenv("WEIR_PAGER");

	if (!command)
		command = secure_getenv("PAGER");
	if (!command)
		command = PAGER_DEFAULT;
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

int text_flush(FILE *f)
{
	if (fflush(f))
		return -errno;
	return ferror(f) ? -EIO : 0;
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
		sigset_t none;

		/* the pager must not inherit blocked signals */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		dup2(ends[0], STDIN_FILENO);
		close(ends[0]);
		close(ends[1]);
		setenv("LESS", "FRX",
		       0); /* quit if it fits on one screen, pass colours, leave the text on the screen */
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	if (pager_pid > 0) {
		/* Interrupt keys go to the pager; when the user leaves it, this process ends by SIGPIPE. */
		before_int = signal(SIGINT, SIG_IGN);
		before_quit = signal(SIGQUIT, SIG_IGN);
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
	signal(SIGINT, before_int);
	signal(SIGQUIT, before_quit);
}
