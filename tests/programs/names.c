/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: which file a name means: relative names, links, renames, deletions, inodes used again,
 * hard names. */
#include "truth.h"

static char buf[8192];

static int make_at(int folder, const char *arg, const char *expected)
{
	int fd = (int)MUST(openat, folder, arg, O_RDWR | O_CREAT, 0600);

	is_file(expected);
	is_inode(fd);
	return fd;
}

static int run_relative(void)
{
	int a, b, fd;

	MUST(mkdir, "a", 0700);
	is_file("a");
	MUST(mkdir, "a/b", 0700);
	is_file("a/b");
	fd = make_at(AT_FDCWD, "a/b/one", "a/b/one");
	MUST(write, fd, buf, 10);
	is_file("a/b/one");
	MUST(close, fd);
	a = (int)MUST(openat, AT_FDCWD, "a", O_RDONLY | O_DIRECTORY);
	is_file("a");
	fd = make_at(a, "b/two", "a/b/two");
	MUST(close, fd);
	b = (int)MUST(openat, a, "b", O_PATH);
	is_file("a/b");
	fd = make_at(b, "three", "a/b/three");
	MUST(close, fd);
	MUST(chdir, "a");
	is_file("a");
	fd = make_at(AT_FDCWD, "four", "a/four");
	MUST(close, fd);
	MUST(fchdir, b);
	is_file("a/b");
	fd = make_at(AT_FDCWD, "five", "a/b/five");
	MUST(close, fd);
	FAILS(ENOENT, openat, AT_FDCWD, "none", O_RDONLY);
	is_file("a/b/none");
	FAILS(ENOENT, openat, AT_FDCWD, "../../none", O_RDONLY);
	is_file("a/b/../../none");
	FAILS(ENOENT, openat, a, "./none", O_RDONLY);
	is_file("a/./none");
	fd = (int)MUST(openat, AT_FDCWD, "../four", O_RDWR);
	is_file("a/four");
	MUST(write, fd, buf, 3);
	is_file("a/four");
	MUST(close, fd);
	MUST(unlink, "five");
	is_file("a/b/five");
	MUST(renameat, b, "two", a, "TWO");
	is_file("a/b/two");
	is_file2("a/TWO");
	MUST(linkat, a, "TWO", b, "two", 0);
	is_file("a/TWO");
	is_file2("a/b/two");
	MUST(symlinkat, "../four", b, "link");
	is_file("a/b/link");
	MUST(newfstatat, b, "link", buf, 0);
	is_file("a/b/link");
	fd = (int)MUST(openat, b, "link", O_RDONLY);
	is_file("a/four");
	is_inode(fd);
	MUST(close, fd);
	/* The folder that names start from is itself renamed. */
	MUST(rename, dir("a"), dir("moved"));
	fd = make_at(AT_FDCWD, "six", "moved/b/six");
	MUST(close, fd);
	fd = make_at(a, "seven", "moved/seven");
	MUST(close, fd);
	FAILS(ENOENT, openat, AT_FDCWD, "none", O_RDONLY);
	is_file("moved/b/none");
	MUST(chdir, work_dir);
	MUST(close, a);
	MUST(close, b);
	return 0;
}

static int run_links(void)
{
	int one = make_at(AT_FDCWD, "one", "one"), two, three;

	MUST(link, "one", "two");
	is_file("one");
	is_file2("two");
	MUST(symlink, "two", "three");
	two = (int)MUST(openat, AT_FDCWD, "two", O_RDWR);
	is_file("two");
	is_inode(one);
	three = (int)MUST(openat, AT_FDCWD, "three", O_RDWR);
	is_file("two");
	is_inode(one);
	MUST(write, one, buf, 10);
	is_file("one");
	MUST(write, two, buf, 10);
	is_file("two");
	MUST(write, three, buf, 10);
	is_file("two");
	MUST(mkdir, "real", 0700);
	MUST(symlink, "real", "folder");
	MUST(close, make_at(AT_FDCWD, "folder/x", "real/x"));
	MUST(close, one);
	MUST(close, two);
	MUST(close, three);
	return 0;
}

static int run_rename(void)
{
	int fd = make_at(AT_FDCWD, "before", "before"), other;

	MUST(write, fd, buf, 10);
	is_file("before");
	MUST(rename, "before", "after");
	is_file("before");
	is_file2("after");
	MUST(write, fd, buf, 10);
	is_file("after");
	is_inode(fd);
	MUST(mkdir, "d1", 0700);
	MUST(mkdir, "d1/d2", 0700);
	MUST(rename, "after", "d1/d2/deep");
	MUST(write, fd, buf, 10);
	is_file("d1/d2/deep");
	MUST(rename, "d1", "D1"); /* a folder above it */
	MUST(write, fd, buf, 10);
	is_file("D1/d2/deep");
	other = make_at(AT_FDCWD, "other", "other");
	MUST(renameat2, AT_FDCWD, "other", AT_FDCWD, "D1/d2/deep", 2); /* RENAME_EXCHANGE */
	MUST(write, fd, buf, 10);
	is_file("other");
	MUST(write, other, buf, 10);
	is_file("D1/d2/deep");
	MUST(rename, "other", "D1/d2/deep"); /* replaces a file that is open */
	MUST(write, fd, buf, 10);
	is_file("D1/d2/deep");
	MUST(pwrite64, other, buf, 10, 0);
	is_inode(other);
	MUST(close, other);
	for (int i = 0; i < 50; i++) {
		char from[32], to[32];

		snprintf(from, sizeof(from), "r%d", i);
		snprintf(to, sizeof(to), "r%d", i + 1);
		if (i == 0)
			MUST(rename, "D1/d2/deep", to);
		else
			MUST(rename, from, to);
		MUST(pwrite64, fd, buf, 1, i);
		is_file(to);
	}
	MUST(close, fd);
	return 0;
}

/* A file that has the name no more is not meant by it. */
static long make_old(const char *name)
{
	int fd = make_at(AT_FDCWD, name, name);
	struct stat st;

	CHECK(fstat(fd, &st) == 0);
	MUST(close, fd);
	return (long)st.st_ino;
}

static int run_old_names(void)
{
	long old = make_old("f"), in_old;

	make_old("f.new");
	MUST(rename, "f.new", "f");
	is_any("not_ino2", old);
	MUST(stat, "f", buf);
	is_file("f");
	is_any("not_ino", old);
	FAILS(ENOENT, stat, "f.new", buf);
	old = make_old("f");
	MUST(unlink, dir("./f"));
	MUST(mkdir, "f", 0700);
	is_any("not_ino", old);
	MUST(stat, "f", buf);
	is_any("not_ino", old);
	in_old = make_old("f/in");
	MUST(renameat, AT_FDCWD, "f", AT_FDCWD, "g");
	MUST(mkdir, "f", 0700);
	MUST(mknod, "f/in", S_IFIFO | 0600, 0);
	is_any("not_ino", in_old);
	MUST(stat, "f/in", buf);
	is_file("f/in");
	is_any("not_ino", in_old);
	old = make_old("h");
	MUST(renameat2, AT_FDCWD, "h", AT_FDCWD, "f", 2); /* RENAME_EXCHANGE */
	MUST(stat, "h/in", buf);
	is_any("not_ino", old);
	MUST(stat, "h", buf);
	is_any("not_ino", old);
	MUST(unlink, "f");
	MUST(link, "g/in", "f");
	is_file("g/in");
	is_any("not_ino2", old);
	return 0;
}

static int run_delete(void)
{
	int fd = make_at(AT_FDCWD, "gone", "gone"), again;

	MUST(write, fd, buf, 10);
	is_file("gone");
	MUST(unlink, "gone");
	is_file("gone");
	MUST(write, fd, buf, 10);
	is_file("gone");
	is_pos(10);
	is_inode(fd);
	again = make_at(AT_FDCWD, "gone", "gone"); /* another file of the same name */
	MUST(write, again, buf, 5);
	is_file("gone");
	is_pos(0);
	is_inode(again);
	MUST(write, fd, buf, 5);
	is_pos(20);
	is_inode(fd);
	MUST(close, fd);
	MUST(close, again);
	MUST(mkdir, "folder", 0700);
	MUST(chdir, "folder");
	MUST(rmdir, dir("folder"));
	FAILS(ENOENT, openat, AT_FDCWD, "none", O_RDONLY);
	FAILS(ENOENT, openat, AT_FDCWD, "none", O_RDWR | O_CREAT, 0600);
	MUST(chdir, work_dir);
	return 0;
}

/* On a small file system a new file gets the inode number of the one just deleted. `life` tells
 * them apart. */
static int run_reuse(void)
{
	uint64_t ino[8];
	int again = 0;

	for (int i = 0; i < 8; i++) {
		char name[16];
		struct stat st;
		int fd;

		snprintf(name, sizeof(name), "f%d", i);
		fd = make_at(AT_FDCWD, name, name);
		is_any("life", i);
		MUST(write, fd, buf, 100 + i);
		is_file(name);
		is_any("life", i);
		MUST(fstat, fd, &st);
		is_any("life", i);
		ino[i] = st.st_ino;
		if (i && ino[i] == ino[i - 1])
			again++;
		MUST(close, fd);
		is_any("life", i);
		MUST(unlink, name);
		is_file(name);
	}
	if (!again) {
		skip_reason = "this file system did not use an inode number again";
		return 77;
	}
	return 0;
}

static int run_hard_names(void)
{
	static char part[256], deep[5000];
	const char *names[] = {"new\nline",    "bad\xff\xfeutf8\xc3",
			       "tab\there",    "quote\"back\\slash",
			       "\x01\x02\x7f", " ",
			       "-rf",	       "caf\xc3\xa9",
			       "a=b path=c"};
	int fd;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fd = make_at(AT_FDCWD, names[i], names[i]);
		MUST(write, fd, buf, 1);
		is_file(names[i]);
		MUST(close, fd);
		MUST(stat, names[i], buf);
		is_file(names[i]);
		MUST(unlink, dir(names[i]));
		is_file(names[i]);
		FAILS(ENOENT, stat, names[i], buf);
		is_file(names[i]);
	}
	memset(part, 'n', 255);
	fd = make_at(AT_FDCWD, part, part);
	MUST(write, fd, buf, 1);
	is_file(part);
	MUST(close, fd);
	/* A path of exactly 4,095 bytes, the longest that the kernel takes. */
	snprintf(deep, sizeof(deep), "%s", work_dir);
	memset(part, 'd', 200);
	part[200] = 0;
	while (strlen(deep) + 201 + 2 < 4095) {
		snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/%s", part);
		MUST(mkdir, deep, 0700);
		is_path(deep);
	}
	size_t left = 4095 - strlen(deep) - 1;
	memset(part, 'e', left > 255 ? 255 : left);
	part[left > 255 ? 255 : left] = 0;
	snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/%s", part);
	CHECK(strlen(deep) == 4095);
	fd = (int)MUST(openat, AT_FDCWD, deep, O_RDWR | O_CREAT, 0600);
	is_path(deep);
	MUST(write, fd, buf, 10);
	is_path(deep);
	MUST(close, fd);
	MUST(unlink, deep);
	is_path(deep);
	FAILS(ENOENT, stat, deep, buf);
	is_path(deep);
	/* Deeper than any path argument: by steps. */
	*strrchr(deep, '/') = 0;
	MUST(chdir, deep);
	memset(part, 'g', 250);
	part[250] = 0;
	for (int i = 0; i < 4; i++) {
		MUST(mkdir, part, 0700);
		MUST(chdir, part);
	}
	fd = (int)MUST(openat, AT_FDCWD, "leaf", O_RDWR | O_CREAT, 0600);
	is_inode(fd);
	MUST(write, fd, buf, 10);
	is_inode(fd);
	MUST(close, fd);
	MUST(chdir, work_dir);
	return 0;
}

const struct work_case name_cases[] = {
	{"relative", run_relative, "names relative to the working folder and to descriptors"},
	{"links", run_links, "hard and symbolic links"},
	{"rename", run_rename, "renames of an open file and of folders above it"},
	{"old_names", run_old_names, "names that lead to another file than before"},
	{"delete", run_delete, "an open file deleted, a working folder deleted"},
	{"reuse", run_reuse, "inode numbers used again (FOLDER on a small file system)"},
	{"hard_names", run_hard_names, "paths of 4,095 bytes, new lines, invalid UTF-8"},
	{0},
};
