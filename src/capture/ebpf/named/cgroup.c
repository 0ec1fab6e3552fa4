/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/named/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "privilege/privilege.h"

#define FILEID_KERNFS 0xfe /* a handle that is the 64-bit id, in cgroup file systems */

/* One line of /proc/self/mounts: "cgroup /sys/fs/cgroup/pids cgroup rw,relatime,pids 0 0". */
struct mount_line {
	char dir[256], type[64], options[512];
};

static bool next_mount(FILE *f, struct mount_line *ret)
{
	char line[4096];

	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %255s %63s %511s", ret->dir, ret->type, ret->options) == 3 &&
		    !strncmp(ret->type, "cgroup", 6))
			return true;
	}
	return false;
}

const char *cgroup_controller_name(enum wire_controller controller)
{
	static const char *const names[WIRE_CONTROLLERS] = {
		[WIRE_CONTROLLER_PIDS] = "pids",       [WIRE_CONTROLLER_MEMORY] = "memory",
		[WIRE_CONTROLLER_CPU] = "cpu",	       [WIRE_CONTROLLER_BLKIO] = "blkio",
		[WIRE_CONTROLLER_DEVICES] = "devices", [WIRE_CONTROLLER_FREEZER] = "freezer",
		[WIRE_CONTROLLER_CPUSET] = "cpuset",   [WIRE_CONTROLLER_CPUACCT] = "cpuacct",
	};

	return names[controller];
}

/* The controller of a v1 mount; WIRE_CONTROLLER_NONE: it cannot hold processes by itself. */
static enum wire_controller v1_controller(const struct mount_line *m)
{
	for (enum wire_controller c = WIRE_CONTROLLER_NONE + 1; c < WIRE_CONTROLLERS; c++) {
		const char *name = cgroup_controller_name(c), *at = strstr(m->options, name);
		size_t n = strlen(name);

		if (at && (at == m->options || at[-1] == ',') && (!at[n] || at[n] == ','))
			return c;
	}
	return WIRE_CONTROLLER_NONE;
}

static bool lies_under(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (!path[n] || path[n] == '/');
}

/* True if this process is below the root of v2, so that v2 determines the groups of processes. */
static bool v2_in_use(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool v1 = false, below = false;

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "0::", 3))
			v1 = true;
		else
			below = strcmp(line, "0::/\n") != 0;
	}
	fclose(f);
	return below || !v1;
}

int cgroup_choose(const char *path, struct cgroup_hierarchy *ret)
{
	FILE *f = fopen("/proc/self/mounts", "re");
	bool v2 = v2_in_use(), found = false;
	struct mount_line m;
	size_t best = 0;

	if (!f)
		return -errno;
	while (next_mount(f, &m)) {
		bool is_v2 = !strcmp(m.type, "cgroup2");
		struct cgroup_hierarchy h = {0};
		size_t rank;

		if (!is_v2 && !(h.controller = v1_controller(&m)))
			continue;
		if (path && !lies_under(path, m.dir))
			continue;
		rank = path				      ? strlen(m.dir)
		       : is_v2				      ? (v2 ? 4 : 1)
		       : h.controller == WIRE_CONTROLLER_PIDS ? 3
							      : 2;
		if (found && rank <= best)
			continue;
		snprintf(h.mount, sizeof(h.mount), "%s", m.dir);
		*ret = h;
		best = rank;
		found = true;
	}
	fclose(f);
	return found ? 0 : -ENOENT;
}

int cgroup_id(const char *path, uint64_t *ret, struct error *err)
{
	union {
		struct file_handle h;
		uint8_t space[sizeof(struct file_handle) + 8];
	} u = {.h.handle_bytes = 8};
	int mount_id;

	if (name_to_handle_at(AT_FDCWD, path, &u.h, &mount_id, 0))
		return error_errno(err, -errno, "cannot find the control group %s", path);
	memcpy(ret, u.h.f_handle, sizeof(*ret));
	return 0;
}

int cgroup_path(const struct cgroup_hierarchy *h, uint64_t id, char *buf, size_t size)
{
	_privileged_(PRIVILEGE_PROC);
	union {
		struct file_handle h;
		uint8_t space[sizeof(struct file_handle) + 8];
	} u = {.h.handle_bytes = 8, .h.handle_type = FILEID_KERNFS};
	_cleanup_close_ int root = open(h->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	char link[64], text[4096];
	size_t skip = strlen(h->mount);
	ssize_t n;

	if (root < 0)
		return -errno;
	memcpy(u.h.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(root, &u.h, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = 0;
	if (!lies_under(text, h->mount))
		return -ENOENT;
	if (snprintf(buf, size, "%s", text[skip] ? text + skip : "/") >= (int)size)
		return -ENAMETOOLONG;
	return 0;
}
