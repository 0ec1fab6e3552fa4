// SPDX-License-Identifier: Apache-2.0
#include "cli/record/record_after.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"

/* Terminal signals are meant for the command; they take effect again once the diagnosis runs. */
static const int after_signals[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM};

static void after_signal(void (*how)(int))
{
	for (size_t i = 0; i < ARRAY_SIZE(after_signals); i++)
		(void)signal(after_signals[i], how);
}

/* The waiting process. If the socket closes without a path, there is nothing to do. */
static void __attribute__((noreturn)) after_child(int fd)
{
	char path[PATH_MAX + 1];
	size_t len = 0;
	ssize_t n = 1;

	after_signal(SIG_IGN);
	while (len < sizeof(path) && (n = read(fd, path + len, sizeof(path) - len)) > 0)
		len += (size_t)n;
	if (n < 0 || !len || len > PATH_MAX || path[len - 1])
		_exit(0);
	close(fd);
	after_signal(SIG_DFL);
	/* printed to standard error, like all output of record, apart from the command's own */
	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || setenv("WEIR_PAGER", "cat", 1) < 0)
		_exit(1);
	execl("/proc/self/exe", "weir", "diagnose", "-i", path, (char *)NULL);
	fprintf(stderr, "weir: cannot start weir diagnose: %s\n", strerror(errno));
	_exit(1);
}

int record_after_prepare(struct record_after *a, struct error *err)
{
	int fds[2];

	*a = (struct record_after){.fd = -1};
	/* A socket, not a pipe: writing to a dead process must not raise SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return error_errno(err, -errno, "cannot prepare the diagnosis");
	fflush(NULL);
	a->pid = fork();
	if (a->pid < 0) {
		close(fds[0]);
		close(fds[1]);
		a->pid = 0;
		return error_errno(err, -errno, "cannot prepare the diagnosis");
	}
	if (a->pid == 0) {
		close(fds[1]);
		after_child(fds[0]);
	}
	close(fds[0]);
	a->fd = fds[1];
	return 0;
}

void record_after_free(struct record_after *a)
{
	size_t len = a->path ? strlen(a->path) + 1 : 0;
	bool asked = a->pid && len;
	int status = 0;

	if (asked && send(a->fd, a->path, len, MSG_NOSIGNAL) != (ssize_t)len) {
		fprintf(stderr, "weir: cannot start weir diagnose: %s\n", strerror(errno));
		asked = false;
	}
	free(a->path);
	a->path = NULL;
	if (!a->pid)
		return;
	close(a->fd);
	while (waitpid(a->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (asked && WIFSIGNALED(status))
		fprintf(stderr, "weir: weir diagnose was killed by signal %d\n", WTERMSIG(status));
	*a = (struct record_after){.fd = -1};
}
