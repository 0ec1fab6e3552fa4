/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.c: the command that a session starts. It is forked before the source exists and waits before its exec, so that
 * its pid is part of the selection, its first recorded call is execve, and it keeps all privileges of the caller. If
 * the recorder dies, a waiting command ends with it.
 */
#include "record/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin" /* if PATH is not set, as in execvp() */

/* The identity of the child, looked up before the fork. */
struct identity {
	bool wanted;
	const struct privilege_user *user;
	struct privilege_groups groups;
};

static int try_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return access(path, X_OK) < 0 ? -errno : 0;
}

/* Tries name in every folder of PATH; returns the most informative failure. */
static int search_path(const char *name, char **ret)
{
	const char *path = getenv("PATH"), *p, *end;
	int result = -ENOENT;

	for (p = path && *path ? path : DEFAULT_PATH;; p = end + 1) {
		_cleanup_free_ char *full = NULL;
		int r;

		end = strchrnul(p, ':');
		if (asprintf(&full, "%.*s%s%s", (int)(end - p), p, end > p ? "/" : "./", name) < 0)
			return -ENOMEM;
		r = try_file(full);
		if (r == 0) {
			*ret = TAKE_PTR(full);
			return 0;
		}
		if (r == -EACCES)
			result = r;
		if (!*end)
			return result;
	}
}

/* 0 with the path of the program in *ret, or an error that states what is wrong with it. */
static int find_command(const char *name, char **ret, struct error *err)
{
	int r;

	if (!*name)
		return error_set(err, -ENOENT,
				 "the command is empty: give a program's name after --");
	if (!strchr(name, '/')) {
		r = search_path(name, ret);
		if (r == -ENOENT)
			return error_set(err, r, "%s: no such command in PATH", name);
	} else {
		r = try_file(name);
		if (r == 0)
			*ret = strdup(name);
		if (r == 0 && !*ret)
			r = -ENOMEM;
	}
	if (r == -EISDIR)
		return error_set(err, r, "%s: is a folder, not a program", name);
	if (r == -EACCES)
		return error_set(err, r,
				 "%s: not executable (chmod +x it, or run it by its interpreter)",
				 name);
	return r < 0 ? error_errno(err, r, "%s", name) : 0;
}

static int find_identity(const struct privilege_user *user, struct identity *ret, struct error *err)
{
	if (geteuid() != 0 && geteuid() != user->uid)
		return error_set(err, -EPERM, "-u %s: only root can run a command as another user",
				 user->name);
	ret->wanted = geteuid() == 0;
	ret->user = user;
	privilege_groups_find(user, &ret->groups);
	return 0;
}

static void restore_signals(void)
{
	static const int changed[] = {SIGINT,  SIGTERM, SIGQUIT,  SIGHUP,
				      SIGPIPE, SIGTSTP, SIGWINCH, SIGCHLD};
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
		struct sigaction now;

		/* exec resets the recorder's handlers anyway; signals that the caller ignored stay ignored. */
		if (sigaction(changed[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			signal(changed[i], SIG_DFL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The child: everything is prepared before the wait, so that the first call after it is execve. */
static _Noreturn void child_main(const struct record_command *cmd, const char *path,
				 const struct identity *id, int go, int result)
{
	char byte;
	int r;

	restore_signals();
	r = id->wanted ? privilege_become(id->user, &id->groups) : 0;
	if (r == 0 && read(go, &byte, 1) != 1)
		_exit(127); /* the recorder gave up or died: the command must not run unrecorded */
	if (r == 0) {
		execv(path, cmd->argv);
		r = -errno;
	}
	(void)!write(result, &r, sizeof(r));
	_exit(127);
}

int record_child_new(struct record_child *ret, const struct record_command *cmd, struct error *err)
{
	struct record_child c = RECORD_CHILD_NONE;
	struct identity id = {0};
	int go[2], result[2], r;

	if (cmd->user) {
		r = find_identity(cmd->user, &id, err);
		if (r < 0)
			return r;
	}
	r = find_command(cmd->argv[0], &c.path, err);
	if (r < 0)
		return r;
	/* A socket, not a pipe: writing to a child that died must not raise SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0) {
		free(c.path);
		return error_errno(err, -errno, "cannot make a socket pair");
	}
	if (pipe2(result, O_CLOEXEC) < 0) {
		r = error_errno(err, -errno, "cannot make a pipe");
		close(go[0]);
		close(go[1]);
		free(c.path);
		return r;
	}
	c.pid = fork();
	if (c.pid == 0) {
		close(go[1]);
		close(result[0]);
		child_main(cmd, c.path, &id, go[0], result[1]);
	}
	r = c.pid < 0 ? error_errno(err, -errno, "cannot fork") : 0;
	close(go[0]);
	close(result[1]);
	c.go_fd = go[1];
	c.result_fd = result[0];
	c.pid = MAX(c.pid, 0);
	if (r < 0) {
		record_child_free(&c);
		return r;
	}
	c.command = cmd;
	*ret = c;
	return 0;
}

int record_child_go(struct record_child *c, struct error *err)
{
	int failure = 0;
	ssize_t n;

	assert(c->pid > 0 && c->go_fd >= 0);
	/* If this fails, the child is gone already and has reported why. */
	(void)!send(c->go_fd, "x", 1, MSG_NOSIGNAL);
	close(TAKE_FD(c->go_fd));
	do {
		n = read(c->result_fd, &failure, sizeof(failure));
	} while (n < 0 && errno == EINTR);
	close(TAKE_FD(c->result_fd));
	if (n != sizeof(failure))
		return 0;
	waitpid(c->pid, NULL, 0);
	c->pid = 0;
	if (failure == -ENOEXEC)
		return error_set(
			err, failure,
			"%s: not a program this machine can run (a script needs a first line "
			"like #!/bin/sh)",
			c->path);
	return error_errno(err, failure, "cannot run %s", c->path);
}

void record_child_free(struct record_child *c)
{
	if (c->go_fd >= 0) {
		close(c->go_fd);
		if (c->pid > 0)
			waitpid(c->pid, NULL, 0);
	}
	if (c->result_fd >= 0)
		close(c->result_fd);
	free(c->path);
	*c = RECORD_CHILD_NONE;
}
