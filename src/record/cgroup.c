/* SPDX-License-Identifier: Apache-2.0 */
/* A cgroup for the command: made before the source starts, removed when the session is over. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "record/record.h"

/* The recorder's own place in a hierarchy: "0::/PATH" of v2, "6:freezer:/PATH" of v1; NULL: not
 * there. */
static char *own_cgroup(const char *controller)
{
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	char *found = NULL;
	FILE *f = fopen("/proc/self/cgroup", "re");

	if (!f)
		return NULL;
	while (!found && getline(&line, &cap, f) > 0) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		if (!strcmp(names + 1, controller))
			found = strdup(path);
	}
	fclose(f);
	return found;
}

/* Folders of recorders that were killed: empty, and of no living process. rmdir() refuses what is
 * in use. */
static void sweep(const char *parent)
{
	DIR *dir = opendir(parent);
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		int pid;

		if (sscanf(e->d_name, "weir-%d", &pid) == 1 && pid > 0 && kill(pid, 0) < 0 &&
		    errno == ESRCH)
			unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
}

static int make_folder(struct record_cgroup *c, const char *mount, const char *controller,
		       const char *freezer)
{
	_cleanup_free_ char *own = own_cgroup(controller), *parent = NULL;

	if (!own)
		return -ENOENT;
	if (asprintf(&parent, "%s%s", mount, strcmp(own, "/") ? own : "") < 0) {
		parent = NULL;
		return -ENOMEM;
	}
	if (asprintf(&c->path, "%s/weir-%d", parent, (int)getpid()) < 0) {
		c->path = NULL;
		return -ENOMEM;
	}
	sweep(parent);
	if (mkdir(c->path, 0755) == 0) {
		c->fd = open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/* Opened now: version 1 asks who opened it whether processes of root may be moved. */
		c->above = openat(c->fd, "../cgroup.procs", O_WRONLY | O_CLOEXEC);
		if (c->fd >= 0 && c->above >= 0 && faccessat(c->fd, freezer, W_OK, 0) == 0)
			return 0;
		if (c->above >= 0)
			close(c->above);
		if (c->fd >= 0)
			close(c->fd);
		rmdir(c->path);
	}
	free(c->path);
	*c = RECORD_CGROUP_NONE;
	return -ENOENT;
}

int record_cgroup_new(struct record_cgroup *ret, struct error *err)
{
	static const struct {
		const char *mount, *controller, *freezer;
	} tries[] = {
		{"/sys/fs/cgroup", "", "cgroup.freeze"},	 /* unified */
		{"/sys/fs/cgroup/unified", "", "cgroup.freeze"}, /* hybrid */
		{"/sys/fs/cgroup/freezer", "freezer", "freezer.state"},
	};

	*ret = RECORD_CGROUP_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		if (make_folder(ret, tries[i].mount, tries[i].controller, tries[i].freezer) == 0)
			return 0;
	}
	return error_set(
		err, -ENOENT,
		"cannot make a cgroup for the command (no writable cgroup file system under "
		"/sys/fs/cgroup): --lossless can then slow the program down but not freeze it");
}

static void write_at(int dir, const char *file, const char *text)
{
	_cleanup_close_ int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

/* Moves every process of the folder to the one above; processes that it forks meanwhile are caught
 * next round. */
static void move_up(const struct record_cgroup *c)
{
	_cleanup_close_ int procs = openat(c->fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	FILE *f = procs >= 0 ? fdopen(procs, "r") : NULL;

	if (!f)
		return;
	TAKE_FD(procs);
	while (getline(&line, &cap, f) > 0)
		(void)!write(c->above, line, strlen(line));
	fclose(f);
}

void record_cgroup_free(struct record_cgroup *c)
{
	_privileged_(RECORD_CGROUP_PRIVILEGE);

	if (c->fd < 0)
		return;
	write_at(c->fd, "cgroup.freeze", "0");
	write_at(c->fd, "freezer.state", "THAWED");
	for (unsigned int i = 0; i < 10 && rmdir(c->path) < 0 && errno == EBUSY; i++) {
		move_up(c);
		usleep(1000);
	}
	close(c->above);
	close(c->fd);
	free(c->path);
	*c = RECORD_CGROUP_NONE;
}
