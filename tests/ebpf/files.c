/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recorded of a file beside its path: when it was created, and its device, both as statx() tells them, on every
 * kind of file system that this machine has. Subvolumes of a btrfs have devices of their own.
 */
#include <fcntl.h>
#include <linux/btrfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "session.h"

#include "base/clock.h"

#define IMAGE_BYTES (320u << 20) /* sparse; mkfs.xfs takes no less than 300 MiB */
#define FILES	    3

struct place {
	char dirs[FILES][128]; /* where a file "f" is made; "": not used */
};

/* The wait status of a shell's command. */
static int run(const char *fmt, const char *a, const char *b)
{
	char text[512];
	int pid, status;

	snprintf(text, sizeof(text), fmt, a, b);
	pid = fork();
	if (!pid) {
		execl("/bin/sh", "sh", "-c", text, NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int make_files(void *arg)
{
	const struct place *p = arg;

	for (int i = 0; i < FILES; i++) {
		char path[160];
		int fd;

		if (!*p->dirs[i])
			continue;
		snprintf(path, sizeof(path), "%s/f", p->dirs[i]);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd < 0 || write(fd, "abc", 3) != 3 || close(fd))
			return 1;
	}
	return 0;
}

/* The row of a file by its path. */
static ssize_t find_file(const struct session *s, const char *path)
{
	const struct batch *b = s->rows.tables[TABLE_FILE];

	for (size_t i = 0; b && i < b->rows; i++) {
		struct bytes name = batch_get_bytes(b, FILE_PATH, i);

		if (name.len == strlen(path) && !memcmp(name.data, path, name.len) &&
		    !batch_is_null(b, FILE_INO, i))
			return (ssize_t)i;
	}
	return -1;
}

static ssize_t find_in(const struct session *s, const char *dir)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/f", dir);
	return find_file(s, path);
}

static void check_file(const struct session *s, const char *dir)
{
	const struct batch *b = s->rows.tables[TABLE_FILE];
	char path[160];
	struct statx sx;
	int64_t birth;
	ssize_t row;

	snprintf(path, sizeof(path), "%s/f", dir);
	row = find_in(s, dir);
	assert_true(row >= 0);
	assert_int_equal(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, &sx), 0);
	assert_int_equal(batch_get(b, FILE_INO, row, -1), sx.stx_ino);
	assert_int_equal(batch_get(b, FILE_DEV, row, -1),
			 (int64_t)sx.stx_dev_major << 20 | sx.stx_dev_minor);
	birth = sx.stx_mask & STATX_BTIME
			? sx.stx_btime.tv_sec * NSEC_PER_SEC + sx.stx_btime.tv_nsec
			: 0;
	print_message("# %s: %.*s, born %lld\n", path, (int)batch_get_bytes(b, FILE_FS, row).len,
		      (const char *)batch_get_bytes(b, FILE_FS, row).data, (long long)birth);
	assert_int_equal(batch_get(b, FILE_BIRTH, row, 0), birth);
}

static void record(struct place *p, struct session *s)
{
	struct select select = {0};
	int pid = session_child(s, make_files, p), status;

	select.pids[select.pid_count++] = pid;
	session_start(s, &select, (struct ebpf_options){.freeze_cgroup_fd = -1});
	session_go(s, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	session_end(s);
	for (int i = 0; i < FILES; i++) {
		if (*p->dirs[i])
			check_file(s, p->dirs[i]);
	}
}

static void test_folders(void **state)
{
	static const char *const roots[FILES] = {"/tmp", "/var/tmp", "/dev/shm"};
	struct session s = {0};
	struct place p = {0};

	for (int i = 0; i < FILES; i++) {
		snprintf(p.dirs[i], sizeof(p.dirs[i]), "%s/weir-files-XXXXXX", roots[i]);
		if (!mkdtemp(p.dirs[i]))
			*p.dirs[i] = 0;
	}
	record(&p, &s);
	session_free(&s);
	for (int i = 0; i < FILES; i++) {
		if (*p.dirs[i])
			assert_int_equal(run("rm -r '%s'%s", p.dirs[i], ""), 0);
	}
}

/* A file system in a file, mounted in a fresh folder; false where the machine cannot. */
static bool mount_image(const char *mkfs, char dir[static 64])
{
	char image[80], tool[64];
	int fd;

	snprintf(dir, 64, "/var/tmp/weir-fs-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(image, sizeof(image), "%s.img", dir);
	snprintf(tool, sizeof(tool), "%s", mkfs);
	tool[strcspn(tool, " ")] = 0;
	fd = open(image, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, IMAGE_BYTES), 0);
	close(fd);
	if (run("command -v %s >/dev/null%s", tool, "") ||
	    run("%s '%s' >/dev/null 2>&1", mkfs, image) ||
	    run("mount -o loop '%s' '%s' 2>/dev/null", image, dir)) {
		unlink(image);
		rmdir(dir);
		print_message("# skipped: %s, or mounting what it makes, does not work here\n",
			      mkfs);
		return false;
	}
	unlink(image); /* the loop device holds it */
	return true;
}

static void unmount_image(const char *dir)
{
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
	rmdir(dir);
}

static void test_image(const char *mkfs)
{
	struct session s = {0};
	struct place p = {0};
	char dir[64];

	if (!mount_image(mkfs, dir))
		skip();
	snprintf(p.dirs[0], sizeof(p.dirs[0]), "%s", dir);
	record(&p, &s);
	session_free(&s);
	unmount_image(dir);
}

static void test_ext4(void **state)
{
	test_image("mkfs.ext4 -q -F -I 256");
}

static void test_xfs(void **state)
{
	test_image("mkfs.xfs -q");
}

static bool make_subvolume(const char *dir, const char *name)
{
	struct btrfs_ioctl_vol_args args = {0};
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	snprintf(args.name, sizeof(args.name), "%s", name);
	r = ioctl(fd, BTRFS_IOC_SUBVOL_CREATE, &args);
	close(fd);
	return !r;
}

static void test_btrfs(void **state)
{
	struct session s = {0};
	struct place p = {0};
	char dir[64];
	ssize_t one, two;
	const struct batch *b;

	if (!mount_image("mkfs.btrfs -q", dir))
		skip();
	assert_true(make_subvolume(dir, "one") && make_subvolume(dir, "two"));
	snprintf(p.dirs[0], sizeof(p.dirs[0]), "%s", dir);
	snprintf(p.dirs[1], sizeof(p.dirs[1]), "%s/one", dir);
	snprintf(p.dirs[2], sizeof(p.dirs[2]), "%s/two", dir);
	record(&p, &s);
	/* The first file of each subvolume has the same number. */
	b = s.rows.tables[TABLE_FILE];
	one = find_in(&s, p.dirs[1]);
	two = find_in(&s, p.dirs[2]);
	assert_int_equal(batch_get(b, FILE_INO, one, -1), batch_get(b, FILE_INO, two, -2));
	assert_int_not_equal(batch_get(b, FILE_DEV, one, -1), batch_get(b, FILE_DEV, two, -1));
	assert_int_not_equal(batch_get(b, FILE_INODE, one, -1), batch_get(b, FILE_INODE, two, -1));
	session_free(&s);
	unmount_image(dir);
}

/* A file that is made in an overlay lies in its upper layer. */
static void test_overlay(void **state)
{
	struct session s = {0};
	struct place p = {0};
	char dir[] = "/tmp/weir-overlay-XXXXXX";
	char options[256];

	assert_non_null(mkdtemp(dir));
	assert_int_equal(run("cd '%s' && mkdir lower upper work merged%s", dir, ""), 0);
	snprintf(p.dirs[0], sizeof(p.dirs[0]), "%s/merged", dir);
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 dir, dir, dir);
	if (mount("overlay", p.dirs[0], "overlay", 0, options)) {
		run("rm -r '%s'%s", dir, "");
		print_message("# skipped: no overlay here\n");
		skip();
	}
	record(&p, &s);
	session_free(&s);
	assert_int_equal(umount2(p.dirs[0], MNT_DETACH), 0);
	run("rm -r '%s'%s", dir, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folders), cmocka_unit_test(test_ext4),
		cmocka_unit_test(test_xfs),	cmocka_unit_test(test_btrfs),
		cmocka_unit_test(test_overlay),
	};

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
