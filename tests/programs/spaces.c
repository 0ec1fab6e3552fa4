/* SPDX-License-Identifier: Apache-2.0 */
/* spaces.c: what a process sees need not be what the host sees: chroot, mounts, namespaces. */
#include "truth.h"

#include <sched.h>
#include <sys/mount.h>

static char buf[4096];

static int need_root(void)
{
	if (geteuid() == 0)
		return 0;
	skip_reason = "needs root";
	return 77;
}

static int write_file(const char *arg, const char *seen)
{
	int fd = (int)MUST(openat, AT_FDCWD, arg, O_RDWR | O_CREAT, 0600);

	is_path(seen);
	is_inode(fd);
	MUST(write, fd, buf, 10);
	is_path(seen);
	return fd;
}

static int in_chroot(void *arg)
{
	int outside = (int)MUST(openat, AT_FDCWD, "outside", O_RDWR | O_CREAT, 0600);

	is_file("outside");
	MUST(mkdir, "jail", 0700);
	MUST(mkdir, "jail/in", 0700);
	MUST(chroot, "jail");
	MUST(chdir, "/");
	MUST(close, write_file("/in/f", "/in/f"));
	MUST(close, write_file("in/g", "/in/g"));
	FAILS(ENOENT, stat, "/none", buf);
	is_path("/none");
	MUST(stat, "/in/f", buf);
	is_path("/in/f");
	MUST(unlink, "/in/f");
	is_path("/in/f");
	MUST(write, outside, buf, 10); /* its path is not reachable from this root */
	is_inode(outside);
	MUST(close, outside);
	return 0;
}

/* One name below two roots is two files. */
static int in_two_roots(void *arg)
{
	int outside = (int)MUST(openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY), one, two;

	MUST(mkdir, "one", 0700);
	MUST(mkdir, "two", 0700);
	MUST(chroot, dir("one"));
	one = write_file("/same", "/same");
	MUST(fchdir, outside);
	MUST(chroot, ".");
	MUST(chroot, dir("two"));
	two = write_file("/same", "/same");
	MUST(stat, "/same", buf);
	is_path("/same");
	is_inode(two);
	MUST(fchdir, outside);
	MUST(chroot, ".");
	MUST(chdir, dir("one"));
	FAILS(ENOENT, openat, AT_FDCWD, "none", O_RDONLY);
	is_file("one/none");
	MUST(chroot, "."); /* the working directory stays and has another name */
	MUST(stat, "/same", buf);
	is_path("/same");
	is_inode(one);
	MUST(truncate, "same", 5);
	is_path("/same");
	is_inode(one);
	FAILS(ENOENT, openat, AT_FDCWD, "none", O_RDONLY);
	is_path("/none");
	MUST(close, one);
	MUST(close, two);
	MUST(close, outside);
	return 0;
}

static int run_chroot(void)
{
	if (need_root())
		return 77;
	child_join(child(in_chroot, NULL));
	child_join(child(in_two_roots, NULL));
	return 0;
}

/* In a chroot that is no mount point nothing can be made private: mounts would reach the host. */
static int need_mounts(void)
{
	struct statx root;

	if (need_root())
		return 77;
	if (statx(AT_FDCWD, "/", 0, STATX_BASIC_STATS, &root) == 0 &&
	    !(root.stx_attributes & STATX_ATTR_MOUNT_ROOT)) {
		skip_reason = "the root folder is no mount point (a chroot)";
		return 77;
	}
	return 0;
}

static int own_mounts(void)
{
	long ret = DO(unshare, CLONE_NEWNS);

	if (ret < 0) {
		skip_reason = "mount namespaces are not allowed";
		return 77;
	}
	MUST(mount, "none", "/", 0, MS_REC | MS_PRIVATE, 0);
	return 0;
}

static int in_mounts(void *arg)
{
	int before, fd;

	if (own_mounts())
		return 1;
	MUST(mkdir, "real", 0700);
	MUST(mkdir, "bound", 0700);
	MUST(mkdir, "tmp", 0700);
	before = write_file("real/f", dir("real/f"));
	MUST(mount, dir("real"), dir("bound"), 0, MS_BIND, 0);
	fd = (int)MUST(openat, AT_FDCWD, "bound/f", O_RDWR);
	is_file("bound/f");
	is_inode(before);
	MUST(write, fd, buf, 10);
	is_file("bound/f");
	MUST(write, before, buf, 10);
	is_file("real/f");
	MUST(stat, "bound/f", buf);
	is_file("bound/f");
	MUST(close, fd);
	/* The kernel gives the same struct file again at once. */
	for (int i = 0; i < 10; i++) {
		const char *name = i & 1 ? "bound/f" : "real/f";

		fd = (int)MUST(openat, AT_FDCWD, name, O_RDWR);
		is_file(name);
		MUST(write, fd, buf, 10);
		is_file(name);
		MUST(close, fd);
	}
	MUST(mount, "weir", dir("tmp"), "tmpfs", 0, 0);
	MUST(close, write_file("tmp/t", dir("tmp/t")));
	MUST(mkdir, "tmp/sub", 0700);
	MUST(close, write_file("tmp/sub/t", dir("tmp/sub/t")));
	MUST(umount2, dir("bound"), 0);
	MUST(umount2, dir("tmp"), MNT_DETACH);
	FAILS(ENOENT, stat, "bound/f", buf);
	is_file("bound/f");
	/* A file bound over a file. */
	MUST(close, write_file("over", dir("over")));
	MUST(mount, dir("real/f"), dir("over"), 0, MS_BIND, 0);
	fd = (int)MUST(openat, AT_FDCWD, "over", O_RDWR);
	is_file("over");
	is_inode(before);
	MUST(close, fd);
	MUST(umount2, dir("over"), 0);
	MUST(close, before);
	return 0;
}

static int run_mounts(void)
{
	if (need_mounts())
		return 77;
	child_join(child(in_mounts, NULL));
	return 0;
}

static int in_overlay(void *arg)
{
	char options[8192];
	int fd, low, life = 0;

	if (own_mounts())
		return 1;
	MUST(mkdir, "o", 0700);
	MUST(mount, "weir", dir("o"), "tmpfs", 0, 0);
	for (const char *const *d =
		     (const char *const[]){"o/lower", "o/upper", "o/work", "o/merged", NULL};
	     *d; d++)
		MUST(mkdir, *d, 0700);
	MUST(close, write_file("o/lower/low", dir("o/lower/low")));
	snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s", dir("o/lower"),
		 dir("o/upper"), dir("o/work"));
	if (DO(mount, "overlay", dir("o/merged"), "overlay", 0, options) < 0)
		return 3;
	low = (int)MUST(openat, AT_FDCWD, "o/merged/low", O_RDONLY);
	is_file("o/merged/low");
	is_inode(low);
	MUST(read, low, buf, 10);
	is_file("o/merged/low");
	fd = (int)MUST(openat, AT_FDCWD, "o/merged/low", O_RDWR); /* copied up */
	is_file("o/merged/low");
	MUST(write, fd, buf, 5);
	is_file("o/merged/low");
	is_pos(0);
	MUST(close, fd);
	MUST(close, low);
	for (int i = 0; i < 4; i++) { /* the same device and inode number, with generation 0 */
		fd = write_file("o/merged/new", dir("o/merged/new"));
		is_any("life", life);
		MUST(pwrite64, fd, buf, 1, 0);
		is_any("life", life);
		MUST(close, fd);
		MUST(unlink, "o/merged/new");
		life++;
	}
	MUST(umount2, dir("o/merged"), 0);
	MUST(umount2, dir("o"), MNT_DETACH);
	return 0;
}

static int run_overlay(void)
{
	int pid, status;

	if (need_mounts())
		return 77;
	pid = child(in_overlay, NULL);
	MUST(wait4, pid, &status, 0, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
		skip_reason = "no overlay file system";
		return 77;
	}
	return status ? 1 : 0;
}

/* A container by hand: user sees pid 1, its own root, its own mounts. */
struct outside {
	_Atomic int pid;
};

static int in_container(void *arg)
{
	struct outside *o = arg;

	while (!o->pid)
		sched_yield();
	facts_tid(o->pid);
	CHECK(getpid() == 1);
	MUST(mount, "none", "/", 0, MS_REC | MS_PRIVATE, 0);
	MUST(mount, "weir", dir("root"), "tmpfs", 0, 0);
	MUST(chdir, "root");
	MUST(mkdir, "old", 0700);
	MUST(pivot_root, ".", "old");
	MUST(chdir, "/");
	MUST(umount2, "/old", MNT_DETACH);
	MUST(mkdir, "/data", 0700);
	MUST(close, write_file("/data/f", "/data/f"));
	MUST(close, write_file("data/g", "/data/g"));
	is_any("tid_ns", 1);
	FAILS(ENOENT, stat, "/none", buf);
	is_path("/none");
	return 0;
}

static int run_container(void)
{
	struct outside *o =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int pid;

	if (need_mounts())
		return 77;
	MUST(mkdir, "root", 0700);
	pid = (int)DO(clone, CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | SIGCHLD, 0,
		      0, 0, 0);
	if (pid == 0)
		_exit(in_container(o));
	if (pid < 0) {
		skip_reason = "namespaces are not allowed";
		return 77;
	}
	o->pid = pid;
	child_join(pid);
	return 0;
}

const struct work_case space_cases[] = {
	{"chroot", run_chroot, "another root"},
	{"mounts", run_mounts,
	 "bind mounts, tmpfs, a file bound over a file, in a mount namespace"},
	{"overlay", run_overlay, "an overlay: copy-up, inode numbers used again"},
	{"container", run_container, "pid and mount namespaces and a new root"},
	{0},
};
