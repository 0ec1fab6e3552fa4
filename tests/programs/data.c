/* SPDX-License-Identifier: Apache-2.0 */
/* data.c: calls that move data, each kind once and with the values at its edges, and each way they
 * fail. */
#include "truth.h"

#include <sys/inotify.h>
#include <sys/socket.h>

#define KIB 1024

static char buf[64 * KIB];

static int make(const char *name, long flags)
{
	long fd = MUST(openat, AT_FDCWD, dir(name), O_RDWR | O_CREAT | flags, 0644);

	is_file(name);
	return (int)fd;
}

static int run_plain(void)
{
	int fd = make("f", O_TRUNC);

	is_inode(fd);
	MUST(write, fd, buf, 100);
	is_file("f");
	is_pos(0);
	MUST(write, fd, buf, 0);
	is_pos(100);
	MUST(write, fd, buf, 4096);
	is_pos(100);
	is_inode(fd);
	MUST(lseek, fd, 10, SEEK_SET);
	is_file("f");
	MUST(read, fd, buf, 20);
	is_pos(10);
	is_file("f");
	MUST(read, fd, buf, sizeof(buf)); /* short: 4196 - 30 */
	is_pos(30);
	MUST(read, fd, buf, 10); /* end of file */
	is_pos(4196);
	MUST(pwrite64, fd, buf, 7, 1l << 40);
	is_pos(1l << 40);
	is_file("f");
	MUST(pread64, fd, buf, 7, 1l << 40);
	is_pos(1l << 40);
	MUST(pread64, fd, buf, 10, (1l << 40) + 3);
	is_pos((1l << 40) + 3);
	MUST(lseek, fd, 0, SEEK_END);
	MUST(lseek, fd, -7, SEEK_CUR);
	MUST(write, fd, buf, 1);
	is_pos(1l << 40);
	MUST(lseek, fd, 0, SEEK_HOLE);
	DO(lseek, fd, 8192, SEEK_DATA);
	MUST(fsync, fd);
	is_file("f");
	MUST(fdatasync, fd);
	MUST(sync_file_range, fd, 0, 4096, 2);
	is_pos(0);
	MUST(readahead, fd, 0, 4096);
	MUST(fadvise64, fd, 0, 4096, 4);
	MUST(ftruncate, fd, 5000);
	is_file("f");
	MUST(fallocate, fd, 1, 4096, 8192);
	is_file("f");
	MUST(close, fd);
	is_file("f");
	MUST(truncate, dir("f"), 10);
	is_file("f");
	MUST(unlink, dir("f"));
	is_file("f");
	return 0;
}

static int run_vectored(void)
{
	int fd = make("v", O_TRUNC);
	struct iovec three[3] = {{buf, 5}, {buf + 100, 0}, {buf + 200, 4091}};
	struct iovec many[1024];

	for (int i = 0; i < 1024; i++)
		many[i] = (struct iovec){buf + i, (size_t)i % 7};
	MUST(writev, fd, three, 3);
	is_file("v");
	is_size(4096);
	is_pos(0);
	MUST(writev, fd, many, 1024);
	is_size(1024 / 7 * 21 + 0 + 1);
	is_pos(4096);
	MUST(lseek, fd, 0, SEEK_SET);
	MUST(readv, fd, three, 3);
	is_size(4096);
	is_pos(0);
	MUST(readv, fd, many, 1024);
	is_pos(4096);
	MUST(pwritev, fd, three, 3, 1 << 20, 0);
	is_pos(1 << 20);
	is_size(4096);
	MUST(preadv, fd, three, 2, 1 << 20, 0);
	is_pos(1 << 20);
	is_size(5);
	MUST(pwritev2, fd, three, 3, 77, 0, 0);
	is_pos(77);
	MUST(lseek, fd, 33, SEEK_SET);
	MUST(pwritev2, fd, three, 3, -1, -1, 0); /* at the current position */
	is_pos(33);
	MUST(preadv2, fd, three, 3, 50, 0, 0);
	is_pos(50);
	MUST(preadv2, fd, three, 1, -1, -1, 0);
	is_pos(33 + 4096);
	MUST(pwritev2, fd, three, 1, 0, 0, 16); /* RWF_APPEND */
	is_pos((1 << 20) + 4096);
	MUST(writev, fd, three, 0);
	is_size(0);
	FAILS(EINVAL, writev, fd, three, 1025);
	FAILS(EINVAL, readv, fd, three, -1);
	FAILS(EFAULT, readv, fd, 8, 1);
	FAILS(EOPNOTSUPP, preadv2, fd, three, 1, 0, 0, 0x4000);
	MUST(close, fd);
	return 0;
}

static int run_append(void)
{
	int fd = make("a", O_TRUNC | O_APPEND);

	MUST(write, fd, buf, 10);
	is_pos(0);
	MUST(write, fd, buf, 10);
	is_pos(10);
	MUST(lseek, fd, 3, SEEK_SET);
	MUST(write, fd, buf, 5);
	is_pos(20);
	MUST(pwrite64, fd, buf, 5, 2); /* Linux appends all the same */
	is_pos(25);
	is_file("a");
	if (DO(pwritev2, fd, (&(struct iovec){buf, 5}), 1, 2, 0, 0x20) > 0) /* RWF_NOAPPEND */
		is_pos(2);
	MUST(lseek, fd, 0, SEEK_CUR);
	MUST(read, fd, buf, 10);
	is_pos(25);
	MUST(fcntl, fd, F_SETFL, 0);
	MUST(write, fd, buf, 2);
	is_pos(30);
	MUST(close, fd);
	return 0;
}

static int run_between(void)
{
	int in = make("in", O_TRUNC), out = make("out", O_TRUNC), pipes[2], more[2];
	loff_t from = 100, to = 5000;

	MUST(write, in, buf, 10000);
	MUST(sendfile, out, in, &from, 200);
	is_file("out");
	is_file2("in");
	is_pos2(100);
	is_pos(0);
	MUST(lseek, in, 50, SEEK_SET);
	MUST(sendfile, out, in, 0, 300);
	is_pos2(50);
	is_pos(200);
	from = 10;
	DO(copy_file_range, in, &from, out, &to, 400, 0);
	is_file("in");
	is_file2("out");
	is_pos(10);
	is_pos2(5000);
	MUST(lseek, out, 7, SEEK_SET);
	DO(copy_file_range, in, 0, out, 0, 100, 0);
	is_pos(350);
	is_pos2(7);
	MUST(pipe2, pipes, 0);
	MUST(pipe2, more, O_NONBLOCK);
	from = 20;
	MUST(splice, in, &from, pipes[1], 0, 500, 0);
	is_file("in");
	is_pos(20);
	MUST(tee, pipes[0], more[1], 300, 0);
	MUST(splice, pipes[0], 0, out, &to, 500, 0);
	is_file2("out");
	is_pos2(to - 500);
	MUST(vmsplice, pipes[1], (&(struct iovec){buf, 100}), 1, 0);
	is_size(100);
	MUST(read, pipes[0], buf, 1000);
	MUST(read, more[0], buf, 1000);
	FAILS(EAGAIN, read, more[0], buf, 1000);
	for (int i = 0; i < 2; i++) {
		MUST(close, pipes[i]);
		MUST(close, more[i]);
	}
	FAILS(EINVAL, splice, in, 0, out, 0, 10, 0);
	FAILS(EBADF, sendfile, 77, in, 0, 10);
	FAILS(EBADF, copy_file_range, in, 0, 77, 0, 10, 0);
	MUST(close, in);
	MUST(close, out);
	return 0;
}

static void is_pipe2(int fd)
{
	char name[64];

	snprintf(name, sizeof(name), "pipe:[%ld]", ino_of(fd));
	is_path2(name);
}

/* What has no position: both sides are named, the one of a file has its own. */
static int run_between_ends(void)
{
	int in = make("in", O_TRUNC), sides[2], pipes[2];
	loff_t from = 4000;

	MUST(write, in, buf, 10000);
	MUST(socketpair, AF_UNIX, SOCK_STREAM, 0, sides);
	MUST(pipe2, pipes, 0);
	MUST(sendfile, sides[0], in, &from, 300); /* a file to a socket */
	is_inode(sides[0]);
	is_file2("in");
	is_pos2(4000);
	is_any("no_pos", 1);
	MUST(lseek, in, 77, SEEK_SET);
	MUST(sendfile, pipes[1], in, 0, 200); /* to a pipe, from the file's own position */
	is_inode(pipes[1]);
	is_file2("in");
	is_pos2(77);
	is_any("no_pos", 1);
	MUST(splice, in, 0, pipes[1], 0, 100, 0);
	is_file("in");
	is_pos(277);
	is_pipe2(pipes[1]);
	is_any("no_pos2", 1);
	MUST(splice, pipes[0], 0, sides[1], 0, 300, 0); /* a pipe to a socket */
	is_inode(pipes[0]);
	is_any("no_pos", 1);
	is_any("no_pos2", 1);
	MUST(splice, sides[0], 0, pipes[1], 0, 250, 0); /* and a socket to a pipe */
	is_inode(sides[0]);
	is_pipe2(pipes[1]);
	is_any("no_pos", 1);
	is_any("no_pos2", 1);
	MUST(lseek, in, 0, SEEK_END);
	MUST(splice, pipes[0], 0, in, 0, 1000, 0); /* less than was asked for */
	is_inode(pipes[0]);
	is_file2("in");
	is_pos2(10000);
	is_any("no_pos", 1);
	from = 10200;
	MUST(sendfile, sides[1], in, &from, 1000); /* up to the end of the file: 50 bytes */
	is_file2("in");
	is_pos2(10200);
	MUST(sendfile, sides[1], in, &from, 1000); /* there */
	is_pos2(10250);
	FAILS(EAGAIN, splice, pipes[0], 0, in, 0, 10, SPLICE_F_NONBLOCK);
	for (int i = 0; i < 2; i++) {
		MUST(close, pipes[i]);
		MUST(close, sides[i]);
	}
	MUST(close, in);
	return 0;
}

static int run_memory(void)
{
	int fd = make("m", O_TRUNC), anon;
	char *p;

	MUST(ftruncate, fd, 64 * KIB);
	p = (char *)MUST(mmap, 0, 64 * KIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	is_file("m");
	is_pos(4096);
	p[5] = 'x';
	MUST(msync, p, 64 * KIB, MS_SYNC);
	MUST(mprotect, p, 4096, PROT_READ);
	MUST(mprotect, p, 4096, PROT_READ | PROT_WRITE);
	MUST(madvise, p, 4096, MADV_WILLNEED);
	p = (char *)MUST(mremap, p, 64 * KIB, 128 * KIB, MREMAP_MAYMOVE);
	MUST(munmap, p, 128 * KIB);
	FAILS(EBADF, mmap, 0, 4096, PROT_READ, MAP_SHARED, 77, 0);
	FAILS(EINVAL, munmap, 1, 4096);
	MUST(close, fd);
	anon = (int)MUST(memfd_create, "name", 1);
	MUST(write, anon, buf, 4096);
	is_pos(0);
	MUST(pread64, anon, buf, 10, 4000);
	is_pos(4000);
	MUST(close, anon);
	fd = (int)MUST(openat, AT_FDCWD, work_dir, O_TMPFILE | O_RDWR, 0600);
	is_inode(fd);
	MUST(write, fd, buf, 123);
	is_pos(0);
	is_inode(fd);
	snprintf(buf, sizeof(buf), "/proc/self/fd/%d", fd);
	MUST(linkat, AT_FDCWD, buf, AT_FDCWD, dir("named"), AT_SYMLINK_FOLLOW);
	is_file2("named");
	MUST(write, fd, buf, 1);
	is_pos(123);
	is_inode(fd);
	MUST(close, fd);
	return 0;
}

static int run_fail(void)
{
	int fd = make("e", O_TRUNC), folder, full, zero, null, pipes[2];

	FAILS(EBADF, read, 77, buf, 10);
	FAILS(EBADF, write, -1, buf, 10);
	FAILS(EBADF, close, 1 << 20);
	FAILS(EBADF, fsync, 77);
	FAILS(EFAULT, write, fd, 8, 10);
	is_file("e");
	FAILS(EINVAL, pread64, fd, buf, 10, -5);
	FAILS(EINVAL, lseek, fd, 0, 99);
	FAILS(EINVAL, lseek, fd, -1, SEEK_SET);
	FAILS(EINVAL, ftruncate, fd, -1);
	FAILS(EINVAL, fallocate, fd, 0, 0, 0);
	folder = (int)MUST(openat, AT_FDCWD, work_dir, O_RDONLY | O_DIRECTORY);
	is_path(work_dir);
	FAILS(EISDIR, read, folder, buf, 10);
	is_path(work_dir);
	FAILS(EBADF, write, folder, buf, 10);
	MUST(close, folder);
	full = (int)MUST(openat, AT_FDCWD, "/dev/full", O_RDWR);
	is_path("/dev/full");
	FAILS(ENOSPC, write, full, buf, 10);
	is_path("/dev/full");
	MUST(close, full);
	zero = (int)MUST(openat, AT_FDCWD, "/dev/zero", O_RDONLY);
	MUST(read, zero, buf, 4096);
	is_path("/dev/zero");
	MUST(close, zero);
	null = (int)MUST(openat, AT_FDCWD, "/dev/null", O_WRONLY);
	MUST(write, null, buf, 4096);
	is_path("/dev/null");
	FAILS(EBADF, read, null, buf, 10);
	MUST(close, null);
	MUST(pipe, pipes);
	FAILS(ESPIPE, pread64, pipes[0], buf, 10, 0);
	FAILS(ESPIPE, lseek, pipes[0], 0, SEEK_SET);
	MUST(close, pipes[0]);
	FAILS(EPIPE, write, pipes[1], buf, 10);
	MUST(close, pipes[1]);
	FAILS(ENOSYS, vserver);
	FAILS(EBADF, getdents64, 77, buf, 100);
	MUST(close, fd);
	return 0;
}

/* Many reads and writes in a row, to see that no record is missed or doubled. */
static int run_many(void)
{
	int fd = make("many", O_TRUNC);

	for (int i = 0; i < 5000; i++) {
		MUST(pwrite64, fd, buf, 1 + i % 4096, (long)i * 4096);
		is_pos((long)i * 4096);
	}
	for (int i = 0; i < 5000; i++) {
		MUST(pread64, fd, buf, 1 + i % 4096, (long)i * 4096);
		is_pos((long)i * 4096);
	}
	MUST(close, fd);
	return 0;
}

const struct work_case data_cases[] = {
	{"plain", run_plain, "read, write, pread64, pwrite64, lseek, sync, truncate, fallocate"},
	{"vectored", run_vectored, "readv ... pwritev2: the sum of the parts"},
	{"append", run_append, "O_APPEND, also with pwrite64"},
	{"between", run_between, "sendfile, splice, tee, vmsplice, copy_file_range"},
	{"between_ends", run_between_ends, "sendfile and splice with sockets and pipes"},
	{"memory", run_memory, "mmap and its family, memfd, O_TMPFILE"},
	{"data_fail", run_fail, "calls on data that fail"},
	{"many", run_many, "10,000 calls, each with its own size and place"},
	{0},
};
