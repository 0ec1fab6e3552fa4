/* SPDX-License-Identifier: Apache-2.0 */
/* meta.c: calls on names, attributes and descriptors, and each way they fail. */
#include "truth.h"

#include <linux/openat2.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/xattr.h>

static char buf[65536];

static int make(const char *name)
{
	return (int)MUST(openat, AT_FDCWD, dir(name), O_RDWR | O_CREAT | O_TRUNC, 0640);
}

static int run_open(void)
{
	struct open_how how = {
		.flags = O_RDWR | O_CREAT | O_CLOEXEC, .mode = 0600, .resolve = RESOLVE_BENEATH};
	int folder, fd;

	MUST(mkdir, dir("sub"), 0755);
	is_file("sub");
	folder = (int)MUST(open, dir("sub"), O_RDONLY | O_DIRECTORY);
	is_file("sub");
	is_inode(folder);
	fd = (int)MUST(creat, dir("c"), 0600);
	is_file("c");
	MUST(close, fd);
	fd = (int)MUST(open, dir("c"), O_WRONLY | O_TRUNC | O_NOCTTY, 0);
	is_file("c");
	MUST(close, fd);
	fd = (int)MUST(openat2, folder, "beneath", &how, sizeof(how));
	is_file("sub/beneath");
	is_flags(O_RDWR | O_CREAT | O_CLOEXEC);
	is_inode(fd);
	MUST(close, fd);
	FAILS(EXDEV, openat2, folder, "../c", &how, sizeof(how));
	is_file("sub/../c");
	FAILS(EINVAL, openat2, folder, "x", &how, 3);
	fd = (int)MUST(openat, folder, "beneath", O_PATH);
	is_file("sub/beneath");
	FAILS(EBADF, read, fd, buf, 1);
	MUST(fstat, fd, buf);
	is_file("sub/beneath");
	MUST(close, fd);
	MUST(close, folder);
	return 0;
}

static int run_stat(void)
{
	int fd = make("s"), folder, same[2];

	MUST(symlink, "s", dir("l"));
	is_file("l");
	MUST(stat, dir("l"), buf);
	is_file("l");
	MUST(lstat, dir("l"), buf);
	is_file("l");
	MUST(fstat, fd, buf);
	is_file("s");
	MUST(newfstatat, AT_FDCWD, dir("s"), buf, 0);
	is_file("s");
	MUST(newfstatat, fd, "", buf, AT_EMPTY_PATH);
	is_file("s");
	MUST(statx, AT_FDCWD, dir("s"), AT_SYMLINK_NOFOLLOW, 0xfff, buf);
	is_file("s");
	MUST(statx, fd, "", AT_EMPTY_PATH, 0xfff, buf);
	is_file("s");
	/* Files of one name, so only their number tells them apart. */
	for (int i = 0; i < 2; i++)
		same[i] = (int)MUST(memfd_create, "same", 0);
	for (int i = 0; i < 2; i++) {
		MUST(newfstatat, same[i], "", buf, AT_EMPTY_PATH);
		is_inode(same[i]);
		MUST(statx, same[i], "", AT_EMPTY_PATH, 0xfff, buf);
		is_inode(same[i]);
		MUST(utimensat, same[i], NULL, NULL, 0);
		is_inode(same[i]);
	}
	for (int i = 0; i < 2; i++)
		MUST(close, same[i]);
	MUST(statfs, dir("s"), buf);
	is_file("s");
	MUST(fstatfs, fd, buf);
	is_file("s");
	MUST(access, dir("s"), R_OK);
	is_file("s");
	MUST(faccessat, AT_FDCWD, dir("s"), W_OK);
	is_file("s");
	MUST(faccessat2, AT_FDCWD, dir("s"), F_OK, AT_EACCESS);
	is_file("s");
	MUST(readlink, dir("l"), buf, 100);
	is_file("l");
	folder = (int)MUST(openat, AT_FDCWD, work_dir, O_RDONLY | O_DIRECTORY);
	MUST(readlinkat, folder, "l", buf, 100);
	is_file("l");
	MUST(getdents64, folder, buf, sizeof(buf));
	is_path(work_dir);
	MUST(getdents64, folder, buf, sizeof(buf));
	MUST(lseek, folder, 0, SEEK_SET);
	MUST(getdents, folder, buf, sizeof(buf));
	MUST(close, folder);
	MUST(close, fd);
	return 0;
}

static int run_change(void)
{
	const struct timespec times[2] = {{1, 2}, {3, 4}};
	int fd = make("s"), handle_mount;

	MUST(chmod, dir("s"), 0600);
	is_file("s");
	MUST(fchmod, fd, 0644);
	is_file("s");
	MUST(fchmodat, AT_FDCWD, dir("s"), 0640);
	is_file("s");
	MUST(chown, dir("s"), -1, -1);
	is_file("s");
	MUST(lchown, dir("s"), -1, -1);
	MUST(fchown, fd, -1, -1);
	MUST(fchownat, AT_FDCWD, dir("s"), -1, -1, 0);
	MUST(utime, dir("s"), 0);
	is_file("s");
	MUST(utimes, dir("s"), 0);
	MUST(futimesat, AT_FDCWD, dir("s"), 0);
	MUST(utimensat, AT_FDCWD, dir("s"), times, 0);
	MUST(utimensat, fd, 0, times, 0);
	is_file("s");
	MUST(mknod, dir("fifo"), S_IFIFO | 0600, 0);
	is_file("fifo");
	MUST(mknodat, AT_FDCWD, dir("null"), S_IFCHR | 0600, makedev(1, 3));
	is_file("null");
	MUST(umask, 022);
	MUST(flock, fd, LOCK_EX);
	is_file("s");
	MUST(flock, fd, LOCK_UN);
	*(unsigned int *)buf = 128;
	DO(name_to_handle_at, AT_FDCWD, dir("s"), buf, &handle_mount, 0);
	MUST(getcwd, buf, sizeof(buf));
	MUST(unlink, dir("fifo"));
	MUST(unlinkat, AT_FDCWD, dir("null"), 0);
	is_file("null");
	MUST(mkdirat, AT_FDCWD, dir("d"), 0700);
	is_file("d");
	MUST(rmdir, dir("d"));
	is_file("d");
	MUST(mkdir, dir("d"), 0700);
	MUST(unlinkat, AT_FDCWD, dir("d"), AT_REMOVEDIR);
	is_file("d");
	MUST(close, fd);
	return 0;
}

static int run_xattr(void)
{
	int fd = make("x");

	if (DO(setxattr, dir("x"), "user.one", "12345", 5, 0) == -EOPNOTSUPP) {
		skip_reason = "this file system has no extended attributes of users";
		return 77;
	}
	is_file("x");
	MUST(lsetxattr, dir("x"), "user.two", "12", 2, 0);
	is_file("x");
	MUST(fsetxattr, fd, "user.three", "123", 3, XATTR_CREATE);
	is_file("x");
	FAILS(EEXIST, fsetxattr, fd, "user.three", "123", 3, XATTR_CREATE);
	MUST(getxattr, dir("x"), "user.one", buf, 100);
	is_file("x");
	MUST(lgetxattr, dir("x"), "user.one", buf, 100);
	MUST(fgetxattr, fd, "user.one", buf, 100);
	is_file("x");
	FAILS(ENODATA, fgetxattr, fd, "user.none", buf, 100);
	FAILS(ERANGE, fgetxattr, fd, "user.one", buf, 2);
	MUST(listxattr, dir("x"), buf, 1000);
	is_file("x");
	MUST(llistxattr, dir("x"), buf, 1000);
	MUST(flistxattr, fd, buf, 1000);
	is_file("x");
	MUST(removexattr, dir("x"), "user.one");
	is_file("x");
	MUST(lremovexattr, dir("x"), "user.two");
	MUST(fremovexattr, fd, "user.three");
	is_file("x");
	MUST(close, fd);
	return 0;
}

static int run_descriptors(void)
{
	int fd = make("d"), pipes[2], e;
	sigset_t none;

	MUST(dup, fd);
	is_file("d");
	MUST(dup2, fd, 100);
	is_file("d");
	MUST(dup2, fd, fd);
	MUST(dup3, fd, 101, O_CLOEXEC);
	is_file("d");
	MUST(fcntl, fd, F_DUPFD, 110);
	is_file("d");
	MUST(fcntl, fd, F_DUPFD_CLOEXEC, 110);
	is_file("d");
	MUST(write, 100, buf, 5);
	is_file("d");
	is_pos(0);
	MUST(write, 111, buf, 5);
	is_file("d");
	is_pos(5);
	MUST(fcntl, fd, F_GETFD);
	MUST(fcntl, fd, F_SETFD, FD_CLOEXEC);
	is_file("d");
	MUST(fcntl, fd, F_GETFL);
	MUST(fcntl, fd, F_SETFL, O_APPEND | O_NONBLOCK);
	MUST(fcntl, fd, F_SETLK, (&(struct flock){.l_type = F_WRLCK}));
	MUST(fcntl, fd, F_OFD_GETLK, (&(struct flock){.l_type = F_WRLCK}));
	FAILS(EBADF, fcntl, 77, F_GETFD);
	FAILS(EINVAL, fcntl, fd, 9999);
	MUST(close_range, 100, 101, 0);
	MUST(close_range, 110, 120, 4);
	FAILS(EINVAL, close_range, 10, 5, 0);
	FAILS(EBADF, write, 100, buf, 5);
	FAILS(EBADF, dup2, 100, 5);
	FAILS(EINVAL, dup3, fd, fd, 0);
	FAILS(EBADF, dup2, fd, -1);
	MUST(pipe2, pipes, O_CLOEXEC | O_NONBLOCK);
	MUST(fcntl, pipes[0], F_SETPIPE_SZ, 65536);
	MUST(ioctl, pipes[0], 0x541b, buf); /* FIONREAD */
	FAILS(ENOTTY, ioctl, fd, 0x5413, buf);
	is_file("d");
	e = (int)MUST(eventfd2, 3, EFD_NONBLOCK);
	MUST(read, e, buf, 8);
	FAILS(EAGAIN, read, e, buf, 8);
	MUST(write, e, (&(uint64_t){7}), 8);
	FAILS(EINVAL, write, e, buf, 4);
	MUST(close, e);
	sigemptyset(&none);
	e = (int)MUST(signalfd4, -1, &none, 8, SFD_NONBLOCK);
	FAILS(EAGAIN, read, e, buf, 128);
	MUST(close, e);
	e = (int)MUST(timerfd_create, CLOCK_MONOTONIC, TFD_NONBLOCK);
	MUST(timerfd_settime, e, 0, (&(struct itimerspec){.it_value = {1000, 0}}), 0);
	MUST(timerfd_gettime, e, buf);
	FAILS(EAGAIN, read, e, buf, 8);
	MUST(close, e);
	e = (int)DO(pidfd_open, getpid(), 0);
	if (e >= 0)
		MUST(close, e);
	MUST(close, pipes[0]);
	MUST(close, pipes[1]);
	MUST(close, fd);
	return 0;
}

static int run_inotify(void)
{
	int watch = (int)MUST(inotify_init1, IN_NONBLOCK), id, fd, folder, fan;

	id = (int)MUST(inotify_add_watch, watch, work_dir, IN_ALL_EVENTS);
	fd = make("seen");
	MUST(close, fd);
	MUST(read, watch, buf, 4096);
	FAILS(EAGAIN, read, watch, buf, 4096);
	FAILS(ENOENT, inotify_add_watch, watch, dir("none"), IN_ALL_EVENTS);
	MUST(inotify_rm_watch, watch, id);
	FAILS(EINVAL, inotify_rm_watch, watch, 99);
	MUST(mkdir, "folder", 0700);
	MUST(mkdir, "folder/below", 0700);
	folder = (int)MUST(openat, AT_FDCWD, "folder", O_RDONLY | O_DIRECTORY);
	fan = (int)DO(fanotify_init, FAN_CLASS_NOTIF, O_RDONLY);
	if (fan >= 0) { /* root alone may */
		DO(fanotify_mark, fan, FAN_MARK_ADD, FAN_OPEN, folder, "below");
		is_file("folder/below");
		DO(fanotify_mark, fan, FAN_MARK_ADD, FAN_OPEN, folder, NULL);
		is_inode(folder);
		MUST(close, fan);
	}
	MUST(close, folder);
	MUST(close, watch);
	return 0;
}

/* Opens, with `plain` open as fd. */
static void fail_open(int fd)
{
	static char deep[6000];

	memset(deep, 'a', sizeof(deep));
	FAILS(ENOENT, openat, AT_FDCWD, dir("none"), O_RDONLY, 0);
	is_file("none");
	FAILS(ENOENT, openat, AT_FDCWD, "", O_RDONLY, 0);
	FAILS(EEXIST, openat, AT_FDCWD, dir("plain"), O_RDWR | O_CREAT | O_EXCL, 0600);
	is_file("plain");
	FAILS(ENOTDIR, openat, AT_FDCWD, dir("plain/x"), O_RDONLY, 0);
	is_file("plain/x");
	FAILS(ENOTDIR, openat, AT_FDCWD, dir("plain"), O_RDONLY | O_DIRECTORY, 0);
	FAILS(ELOOP, openat, AT_FDCWD, dir("loop"), O_RDONLY, 0);
	is_file("loop");
	FAILS(ELOOP, openat, AT_FDCWD, dir("loop"), O_RDONLY | O_NOFOLLOW, 0);
	FAILS(EISDIR, openat, AT_FDCWD, dir("full"), O_RDWR, 0);
	is_file("full");
	FAILS(EBADF, openat, 77, "relative", O_RDONLY, 0);
	FAILS(ENOTDIR, openat, fd, "relative", O_RDONLY, 0);
	is_file("plain/relative");
	FAILS(EFAULT, openat, AT_FDCWD, 8, O_RDONLY, 0);
	FAILS(EFAULT, openat, AT_FDCWD, 0, O_RDONLY, 0);
	deep[300] = 0;
	FAILS(ENAMETOOLONG, openat, AT_FDCWD, dir(deep), O_RDONLY, 0);
	is_file(deep);
	deep[300] = 'a';
	deep[5999] = 0;
	FAILS(ENAMETOOLONG, openat, AT_FDCWD, deep, O_RDONLY, 0);
}

static int run_fail(void)
{
	int fd = make("plain"), folder;

	MUST(mkdir, dir("full"), 0700);
	MUST(mkdir, dir("full/inner"), 0700);
	MUST(symlink, "loop", dir("loop"));
	fail_open(fd);
	FAILS(ENOENT, stat, dir("none"), buf);
	is_file("none");
	FAILS(ENOENT, newfstatat, AT_FDCWD, dir("none/deeper"), buf, 0);
	is_file("none/deeper");
	FAILS(ENOENT, unlink, dir("none"));
	is_file("none");
	FAILS(EISDIR, unlink, dir("full"));
	is_file("full");
	FAILS(ENOTEMPTY, rmdir, dir("full"));
	is_file("full");
	FAILS(ENOTDIR, rmdir, dir("plain"));
	FAILS(EINVAL, rmdir, ".");
	FAILS(EEXIST, mkdir, dir("full"), 0700);
	is_file("full");
	FAILS(ENOENT, mkdir, dir("a/b/c"), 0700);
	is_file("a/b/c");
	FAILS(ENOENT, rename, dir("none"), dir("other"));
	is_file("none");
	is_file2("other");
	FAILS(EINVAL, rename, dir("full"), dir("full/inner/x"));
	FAILS(EISDIR, rename, dir("plain"), dir("full"));
	FAILS(EEXIST, renameat2, AT_FDCWD, dir("plain"), AT_FDCWD, dir("full"), 1);
	is_file("plain");
	is_file2("full");
	FAILS(ENOENT, link, dir("none"), dir("other"));
	is_file("none");
	is_file2("other");
	FAILS(EEXIST, link, dir("plain"), dir("plain"));
	FAILS(EEXIST, symlink, "anything", dir("plain"));
	is_file("plain");
	FAILS(EINVAL, readlink, dir("plain"), buf, 100);
	is_file("plain");
	FAILS(ENOENT, chmod, dir("none"), 0600);
	is_file("none");
	FAILS(ENOENT, truncate, dir("none"), 0);
	is_file("none");
	FAILS(ENOENT, chdir, dir("none"));
	is_file("none");
	FAILS(ENOTDIR, chdir, dir("plain"));
	FAILS(ENOTDIR, fchdir, fd);
	is_file("plain");
	FAILS(ENOENT, statfs, dir("none"), buf);
	FAILS(ENOENT, execve, dir("none"), 0, 0);
	is_file("none");
	FAILS(EACCES, execve, dir("plain"), 0, 0);
	is_file("plain");
	FAILS(ENOENT, mount, "none", dir("none"), "tmpfs", 0, 0);
	FAILS(EINVAL, umount2, dir("full"), 0);
	folder = (int)MUST(openat, AT_FDCWD, dir("full"), O_RDONLY | O_DIRECTORY);
	FAILS(ENOENT, unlinkat, folder, "none", 0);
	is_file("full/none");
	FAILS(EISDIR, unlinkat, folder, "inner", 0);
	is_file("full/inner");
	MUST(close, folder);
	MUST(close, fd);
	return 0;
}

static int run_sizes(void)
{
	int fd = make("f");

	is_any("file_size", 0);
	is_any("first_size", 0);
	MUST(write, fd, buf, 5000);
	MUST(close, fd);
	fd = (int)MUST(openat, AT_FDCWD, dir("f"), O_RDONLY);
	is_any("file_size", 5000);
	MUST(close, fd);
	/* Another name is another version, which is seen for the first time. */
	MUST(link, dir("f"), dir("g"));
	fd = (int)MUST(open, dir("g"), O_WRONLY | O_APPEND);
	is_any("file_size", 5000);
	is_any("first_size", 5000);
	MUST(write, fd, buf, 1);
	MUST(close, fd);
	fd = (int)MUST(openat, AT_FDCWD, dir("f"), O_WRONLY | O_TRUNC);
	is_any("file_size", 0);
	MUST(close, fd);
	fd = (int)MUST(openat, AT_FDCWD, dir(""), O_RDONLY | O_DIRECTORY);
	is_any("file_size", -1);
	MUST(close, fd);
	fd = (int)MUST(openat, AT_FDCWD, "/dev/null", O_WRONLY);
	is_any("file_size", -1);
	MUST(close, fd);
	FAILS(ENOENT, openat, AT_FDCWD, dir("none"), O_RDONLY);
	is_any("file_size", -1);
	return 0;
}

const struct work_case meta_cases[] = {
	{"open", run_open, "open, creat, openat2, O_PATH"},
	{"sizes", run_sizes, "how large files are when they are opened"},
	{"stat", run_stat, "the stat family, links read, folders listed"},
	{"change", run_change, "modes, owners, times, nodes, locks"},
	{"xattr", run_xattr, "extended attributes"},
	{"descriptors", run_descriptors,
	 "dup, fcntl, close_range, pipe, eventfd, signalfd, timerfd"},
	{"inotify", run_inotify, "inotify"},
	{"meta_fail", run_fail, "calls on names that fail"},
	{0},
};
