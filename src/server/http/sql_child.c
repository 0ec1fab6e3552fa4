// SPDX-License-Identifier: Apache-2.0
#include "server/http/sql_child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "engine/engine.h"
#include "privilege/privilege.h"

#define SELF	 "/proc/self/exe"
#define CPU_MORE 2 /* s between SIGXCPU, on which the child can report the reason, and SIGKILL */
/* User ids that systemd leaves to dynamic services: no other process or file has them. */
#define USER_FIRST 61184
#define USER_COUNT (65519 - USER_FIRST + 1)

/* ---- its folder ---- */

/*
 * Creates two folders: the outer one shows that its owner is alive and belongs to this user; the inner one belongs to
 * the user that the child becomes, if this is root. If the child still sees names, it reaches the inner one by its
 * name.
 */
static int sql_child_make_folder(struct child *c, struct error *err)
{
	uid_t user = USER_FIRST + arc4random_uniform(USER_COUNT);
	int r = spill_make(&c->spill, err);

	if (r < 0)
		return r;
	if (mkdirat(c->spill.fd, ENGINE_FOLDER_NAME, 0700) < 0)
		return error_errno(err, -errno, "cannot create a folder in %.500s", c->spill.path);
	c->folder = openat(c->spill.fd, ENGINE_FOLDER_NAME,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (c->folder < 0)
		return error_errno(err, -errno, "cannot open a folder in %.500s", c->spill.path);
	if (geteuid() == 0 && fchown(c->folder, user, user) == 0 && fchmod(c->spill.fd, 0711) < 0)
		return error_errno(err, -errno, "cannot make %.500s accessible to another user",
				   c->spill.path);
	return 0;
}

/* ---- between fork and exec: only system calls ---- */

static void sql_child_limit(int what, rlim_t soft, rlim_t hard)
{
	const struct rlimit l = {soft, hard};

	setrlimit((__rlimit_resource_t)what, &l);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

/* What the child needs and only the parent can prepare. */
struct spawn {
	char *const *args;
	const struct child_limits *max;
	int fds[3], folder;
	char users[32], groups[32]; /* lines of uid_map and gid_map */
};

/* If the descriptor is already in place, dup2() would leave its close-on-exec flag set. */
static void sql_child_place(int fd, int at)
{
	if ((fd == at ? fcntl(fd, F_SETFD, 0) : dup2(fd, at)) < 0)
		_exit(127);
}

static void become(const struct spawn *p)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!SANITIZED)
		sql_child_limit(RLIMIT_AS, p->max->address_space, p->max->address_space);
	sql_child_limit(RLIMIT_CPU, p->max->cpu_s, p->max->cpu_s + CPU_MORE);
	sql_child_limit(RLIMIT_FSIZE, p->max->spill, p->max->spill);
	sql_child_limit(RLIMIT_CORE, 0, 0);
	for (int i = 0; i < 3; i++)
		sql_child_place(p->fds[i], i);
	sql_child_place(p->folder, ENGINE_FOLDER_FD);
	close_range(ENGINE_FOLDER_FD + 1, ~0u, 0);
	execv(SELF, p->args);
	_exit(127);
}

/*
 * Starts the child in its own pid namespace, if permitted: root may do so, others in a user namespace that keeps
 * their user id. Root would need more privileges for the latter.
 */
static pid_t start_apart(const struct spawn *p)
{
	int spaces = CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
	pid_t pid = SANITIZED ? -1
			      : (pid_t)syscall(SYS_clone, spaces | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0 && spaces & CLONE_NEWUSER) {
		write_file("/proc/self/setgroups", "deny");
		write_file("/proc/self/uid_map", p->users);
		write_file("/proc/self/gid_map", p->groups);
	}
	if (pid < 0)
		pid = fork();
	if (pid == 0)
		become(p);
	return pid;
}

/* ---- in the server's process ---- */

static int make_pipes(int ours[3], int theirs[3])
{
	for (int i = 0; i < 3; i++) {
		int p[2];

		if (pipe2(p, O_CLOEXEC) < 0)
			return -errno;
		ours[i] = p[i == 0];
		theirs[i] = p[i != 0];
	}
	return fcntl(ours[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

void child_shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int child_start(struct child *ret, char *const args[], const struct child_limits *max,
		struct error *err)
{
	_privileged_(PRIVILEGE_CHILD);
	struct spawn p = {.args = args, .max = max, .fds = {-1, -1, -1}};
	int ours[3] = {-1, -1, -1}, r;

	*ret = (struct child){
		.pid = -1, .spill = SPILL_NONE, .folder = -1, .spill_max = max->spill};
	snprintf(p.users, sizeof(p.users), "%u %u 1", geteuid(), geteuid());
	snprintf(p.groups, sizeof(p.groups), "%u %u 1", getegid(), getegid());
	r = sql_child_make_folder(ret, err);
	p.folder = ret->folder;
	if (r >= 0)
		r = make_pipes(ours, p.fds);
	ret->in = ours[0];
	ret->out = ours[1];
	ret->err = ours[2];
	if (r >= 0)
		ret->pid = start_apart(&p);
	if (r >= 0 && ret->pid < 0)
		r = -errno;
	for (int i = 0; i < 3; i++)
		child_shut(&p.fds[i]);
	return r < 0 ? error_errno(err, r, "cannot start a process for the statement") : 0;
}

bool child_over(const struct child *c)
{
	return spill_bytes(c->folder) > c->spill_max;
}

int child_end(struct child *c, bool at_once)
{
	int status = 0;

	if (c->pid > 0 && at_once)
		kill(c->pid, SIGKILL);
	child_shut(&c->in);
	child_shut(&c->out);
	child_shut(&c->err);
	while (c->pid > 0 && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	child_shut(&c->folder);
	spill_free(&c->spill);
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	if (WEXITSTATUS(status) > ENGINE_STATUS_SIGNAL)
		return WEXITSTATUS(status) - ENGINE_STATUS_SIGNAL;
	return WEXITSTATUS(status) ? -1 : 0;
}
