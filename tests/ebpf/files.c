/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recorded of a file beside its path: when it was created, and its device, both as statx() tells them, on every
 * kind of file system that this machine has. Subvolumes of a btrfs have devices of their own.
 */
#include <fcntl.h>
#include <linux/btrfs.h>
#include <sched.h>
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
#define FOLDERS_MAX 4

struct place {
	char dirs[FILES][128]; /* where a file "f" is made; "": not used */
};

static bool
	mounts_apart; /* in a namespace of mounts that ends with this program, however it ends */
static char folders[FOLDERS_MAX]
		   [128]; /* of this test, to be removed; a mount stands behind its folder */
static unsigned int folder_count;

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

/* A fresh folder, which clean_up() removes; NULL where there is no `root`. */
static const char *make_folder(const char *root)
{
	char *path = folders[folder_count];

	assert_true(folder_count < FOLDERS_MAX);
	snprintf(path, sizeof(folders[0]), "%s/weir-files-XXXXXX", root);
	if (!mkdtemp(path))
		return NULL;
	folder_count++;
	return path;
}

/* A folder within one of these, on which something is mounted. */
static void remember_mount(const char *path)
{
	assert_true(folder_count < FOLDERS_MAX);
	snprintf(folders[folder_count++], sizeof(folders[0]), "%s", path);
}

/* After each test, one that failed midway included. */
static int clean_up(void **state)
{
	int r = 0;

	while (folder_count) {
		const char *path = folders[--folder_count];

		umount2(path, MNT_DETACH); /* in vain where nothing is mounted */
		r |= run("rm -r --one-file-system '%s'%s", path, "");
	}
	return r;
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
	session_start(s, &select, (struct ebpf_options){0});
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
		const char *dir = make_folder(roots[i]);

		snprintf(p.dirs[i], sizeof(p.dirs[i]), "%s", dir ? dir : "");
	}
	record(&p, &s);
	session_free(&s);
}

/* Skips the test where the machine lets nothing be mounted that would go with this program. */
static void need_mounts(void)
{
	if (mounts_apart)
		return;
	print_message("# skipped: no namespace of mounts of its own here\n");
	skip();
}

/* The folder of a file system in a file, mounted; skips the test where the machine cannot. */
static const char *mount_image(const char *mkfs)
{
	const char *dir, *image_dir;
	char image[160], tool[64];
	int fd;

	need_mounts();
	image_dir = make_folder("/var/tmp");
	dir = make_folder("/var/tmp");
	assert_non_null(image_dir);
	assert_non_null(dir);
	snprintf(image, sizeof(image), "%s/image", image_dir);
	snprintf(tool, sizeof(tool), "%s", mkfs);
	tool[strcspn(tool, " ")] = 0;
	fd = open(image, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, IMAGE_BYTES), 0);
	close(fd);
	if (run("command -v %s >/dev/null%s", tool, "") ||
	    run("%s '%s' >/dev/null 2>&1", mkfs, image) ||
	    run("mount -o loop '%s' '%s' 2>/dev/null", image, dir)) {
		print_message("# skipped: %s, or mounting what it makes, does not work here\n",
			      mkfs);
		skip();
	}
	unlink(image); /* the loop device holds it */
	return dir;
}

static void test_image(const char *mkfs)
{
	struct session s = {0};
	struct place p = {0};

	snprintf(p.dirs[0], sizeof(p.dirs[0]), "%s", mount_image(mkfs));
	record(&p, &s);
	session_free(&s);
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
	const char *dir = mount_image("mkfs.btrfs -q");
	ssize_t one, two;
	const struct batch *b;

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
}

/* A file that is made in an overlay lies in its upper layer. */
static void test_overlay(void **state)
{
	struct session s = {0};
	struct place p = {0};
	const char *dir;
	char options[512];

	need_mounts();
	dir = make_folder("/tmp");
	assert_non_null(dir);
	assert_int_equal(run("cd '%s' && mkdir lower upper work merged%s", dir, ""), 0);
	snprintf(p.dirs[0], sizeof(p.dirs[0]), "%s/merged", dir);
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 dir, dir, dir);
	if (mount("overlay", p.dirs[0], "overlay", 0, options)) {
		print_message("# skipped: no overlay here\n");
		skip();
	}
	remember_mount(p.dirs[0]);
	record(&p, &s);
	session_free(&s);
}

/* A process with mounts of its own: a bind mount as of a service's /tmp, a file system of its own, and no cover over "covered". */
static int make_apart(void *arg)
{
	const char *dir = arg;
	char from[160], to[160];
	struct place p = {0};

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 1;
	snprintf(from, sizeof(from), "%s/private/of service", dir);
	snprintf(to, sizeof(to), "%s/tmp", dir);
	if (mount(from, to, NULL, MS_BIND, NULL))
		return 2;
	snprintf(p.dirs[0], sizeof(p.dirs[0]), "%s/tmp", dir);
	snprintf(to, sizeof(to), "%s/own", dir);
	if (mount("weir", to, "tmpfs", 0, NULL))
		return 3;
	snprintf(p.dirs[1], sizeof(p.dirs[1]), "%s/own", dir);
	snprintf(to, sizeof(to), "%s/covered", dir);
	if (umount2(to, MNT_DETACH))
		return 4;
	snprintf(p.dirs[2], sizeof(p.dirs[2]), "%s/covered", dir);
	if (make_files(&p))
		return 5;
	snprintf(p.dirs[0], sizeof(p.dirs[0]), "%s/plain", dir);
	*p.dirs[1] = *p.dirs[2] = 0;
	return make_files(&p);
}

/* `below` dir is the recorder's path of what the process calls DIR/name/f; NULL: there is none. */
static void check_host(const struct session *s, const char *dir, const char *name,
		       const char *below)
{
	char path[160];
	struct bytes host;
	ssize_t row;

	snprintf(path, sizeof(path), "%s/%s/f", dir, name);
	row = find_file(s, path);
	assert_true(row >= 0);
	host = batch_get_bytes(s->rows.tables[TABLE_FILE], FILE_HOSTPATH, row);
	print_message("# %s: %.*s\n", path, (int)host.len, (const char *)host.data);
	if (!below) {
		assert_null(host.data);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s", dir, below);
	assert_int_equal(host.len, strlen(path));
	assert_memory_equal(host.data, path, host.len);
}

static void record_apart(char *dir, const struct select *paths)
{
	struct select select = paths ? *paths : (struct select){0};
	struct session s = {0};
	int pid, status;

	pid = session_child(&s, make_apart, dir);
	select.pids[select.pid_count++] = pid;
	session_start(&s, &select, (struct ebpf_options){0});
	session_go(&s, 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	session_end(&s);
	check_host(&s, dir, "tmp", "private/of service/f");
	if (!paths) {
		check_host(&s, dir, "own", NULL);
		check_host(&s, dir, "covered", NULL);
		check_host(&s, dir, "plain", "plain/f");
	}
	session_free(&s);
}

static char *make_apart_folder(void)
{
	const char *dir;
	char cover[160];

	need_mounts();
	dir = make_folder("/tmp");
	assert_non_null(dir);
	assert_int_equal(
		run("cd '%s%s' && mkdir -p tmp own covered plain 'private/of service'", dir, ""),
		0);
	snprintf(cover, sizeof(cover), "%s/covered", dir);
	assert_int_equal(mount("weir", cover, "tmpfs", 0, NULL), 0);
	remember_mount(cover);
	return (char *)dir;
}

/* Of a process in a mount namespace of its own the recorder has another path than the process, or none. */
static void test_mounts(void **state)
{
	record_apart(make_apart_folder(), NULL);
}

/* The same file is selected by the recorder's path. */
static void test_mounts_selected(void **state)
{
	char *dir = make_apart_folder(), path[160];
	struct select select = {0};

	snprintf(path, sizeof(path), "%s/private/*/f", dir);
	assert_int_equal(select_path_add(&select, path, NULL), 0);
	record_apart(dir, &select);
	select_free(&select);
}

#define TEST(f) cmocka_unit_test_teardown(f, clean_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_folders),	    TEST(test_ext4),	TEST(test_xfs),
		TEST(test_btrfs),	    TEST(test_overlay), TEST(test_mounts),
		TEST(test_mounts_selected),
	};

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return 77;
	}
	mounts_apart =
		!unshare(CLONE_NEWNS) && !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
