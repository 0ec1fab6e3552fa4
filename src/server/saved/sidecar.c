// SPDX-License-Identifier: Apache-2.0
/* sidecar.c: users' JSON files next to the trace: TRACE.KIND/NAME.json. */
#include "server/saved/sidecar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "server/http/js.h"

#define FILE_NAME_MAX (BESIDE_NAME_MAX + 8)

/* ---- names ---- */

bool sidecar_is_name(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	return len && len <= BESIDE_NAME_MAX && !name[len];
}

bool sidecar_name_of_file(const char *file, char name[static BESIDE_NAME_MAX + 1])
{
	const char *dot = strrchr(file, '.');

	if (!dot || strcmp(dot, ".json") != 0 || dot == file || dot - file > BESIDE_NAME_MAX)
		return false;
	snprintf(name, BESIDE_NAME_MAX + 1, "%.*s", (int)(dot - file), file);
	return sidecar_is_name(name);
}

/* ---- the folder ---- */

static int sidecar_put_path(const struct server *s, const struct sidecar_kind *kind,
			    struct buf *path)
{
	const char *trace = s->opt.paths[0];
	size_t len = strlen(trace);

	while (len > 1 && trace[len - 1] == '/')
		len--;
	return buf_printf(path, "%.*s.%s", (int)len, trace, kind->folder) < 0 ? -ENOMEM : 0;
}

static int sidecar_open_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int sidecar_open(const struct server *s, const struct sidecar_kind *kind)
{
	_cleanup_buf_ struct buf path = {0};
	int r = sidecar_put_path(s, kind, &path);

	return r < 0 ? r : sidecar_open_folder(buf_str(&path));
}

/* The same, but creates the folder if it is missing. */
static int sidecar_make_folder(const struct server *s, const struct sidecar_kind *kind)
{
	_cleanup_buf_ struct buf path = {0};
	int r = sidecar_put_path(s, kind, &path);

	if (r >= 0 && mkdir(buf_str(&path), 0700) < 0 && errno != EEXIST)
		r = -errno;
	return r < 0 ? r : sidecar_open_folder(buf_str(&path));
}

bool sidecar_is_writable(const struct server *s, const struct sidecar_kind *kind)
{
	_cleanup_buf_ struct buf path = {0};
	_cleanup_close_ int folder = -1;
	char *slash;

	if (sidecar_put_path(s, kind, &path) < 0)
		return false;
	folder = sidecar_open_folder(buf_str(&path));
	if (folder >= 0)
		return faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) == 0;
	if (folder != -ENOENT)
		return false;
	slash = strrchr(buf_str(&path), '/');
	if (!slash)
		return faccessat(AT_FDCWD, ".", W_OK | X_OK, AT_EACCESS) == 0;
	slash[slash == buf_str(&path)] = 0; /* keeps the slash of "/x" */
	return faccessat(AT_FDCWD, buf_str(&path), W_OK | X_OK, AT_EACCESS) == 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static DIR *read_folder(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	if (!dir && copy >= 0)
		close(copy);
	return dir;
}

/* Lists the names in the folder, sorted; the caller frees each. `names` has room for BESIDE_COUNT_MAX. */
static size_t sidecar_list(int folder, char **names)
{
	DIR *dir = read_folder(folder);
	const struct dirent *e;
	size_t n = 0;

	while (dir && n < BESIDE_COUNT_MAX && (e = readdir(dir))) {
		char name[BESIDE_NAME_MAX + 1];

		if (sidecar_name_of_file(e->d_name, name) && (names[n] = strdup(name)))
			n++;
	}
	if (dir)
		closedir(dir);
	qsort(names, n, sizeof(*names), by_name);
	return n;
}

/* ---- files ---- */

int sidecar_read(int folder, const struct sidecar_kind *kind, const char *name, struct buf *to)
{
	char file[FILE_NAME_MAX];
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	snprintf(file, sizeof(file), "%s.json", name);
	fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	r = fd_read_all(fd, kind->size_max, to);
	return r >= 0 && to->len > kind->size_max ? -E2BIG : r;
}

void sidecar_each(const struct server *s, const struct sidecar_kind *kind,
		  void (*take)(void *arg, const char *name, const struct buf *json), void *arg)
{
	char *names[BESIDE_COUNT_MAX];
	_cleanup_close_ int folder = sidecar_open(s, kind);
	size_t n = folder < 0 ? 0 : sidecar_list(folder, names);

	for (size_t i = 0; i < n; i++) {
		_cleanup_buf_ struct buf json = {0};

		if (sidecar_read(folder, kind, names[i], &json) >= 0)
			take(arg, names[i], &json);
		free(names[i]);
	}
}

static bool has_room(int folder, const char *file)
{
	char *names[BESIDE_COUNT_MAX];
	size_t n;

	if (faccessat(folder, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	n = sidecar_list(folder, names);
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	return n < BESIDE_COUNT_MAX;
}

int sidecar_save(const struct server *s, const struct sidecar_kind *kind, const char *name,
		 const struct buf *json)
{
	_cleanup_close_ int folder = sidecar_make_folder(s, kind), fd = -1;
	char file[FILE_NAME_MAX], draft[FILE_NAME_MAX + 24];
	int r;

	if (folder < 0)
		return folder;
	snprintf(file, sizeof(file), "%s.json", name);
	/* another thread may be saving under the same name */
	snprintf(draft, sizeof(draft), ".%s.%d.draft", name, (int)gettid());
	if (!has_room(folder, file))
		return -EDQUOT;
	unlinkat(folder, draft, 0);
	fd = openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write(fd, json->data, json->len);
	if (r >= 0 && renameat(folder, draft, folder, file) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(folder, draft, 0);
	return r;
}

/* Removes the folder with its last file. */
static void remove_empty(const struct server *s, const struct sidecar_kind *kind)
{
	_cleanup_buf_ struct buf path = {0};

	if (sidecar_put_path(s, kind, &path) >= 0)
		rmdir(buf_str(&path)); /* fails if it is not empty */
}

static int sidecar_remove(const struct server *s, const struct sidecar_kind *kind, const char *name)
{
	_cleanup_close_ int folder = sidecar_open(s, kind);
	char file[FILE_NAME_MAX];

	snprintf(file, sizeof(file), "%s.json", name);
	if (folder < 0)
		return folder;
	if (unlinkat(folder, file, 0) < 0)
		return -errno;
	remove_empty(s, kind);
	return 0;
}

/* ---- answers ---- */

void sidecar_fail(struct http_request *r, unsigned int status, const char *fmt, ...)
{
	_cleanup_buf_ struct buf out = {0};
	struct js j = {.to = &out};
	char message[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	js_error(&j, message);
	http_reply(r, status, "application/json", &out);
}

void sidecar_answer_save(struct http_request *r, const struct sidecar_kind *kind, int result)
{
	if (result == -EDQUOT)
		sidecar_fail(r, 409, "%u are already saved with the trace: delete one first",
			     BESIDE_COUNT_MAX);
	else if (result < 0)
		sidecar_fail(r, 500, "the %s cannot be saved next to the trace: %s", kind->one,
			     strerror(-result));
	else
		http_reply_text(r, 204, NULL, "");
}

void sidecar_answer_remove(const struct server *s, struct http_request *r,
			   const struct sidecar_kind *kind, const char *name)
{
	int e = sidecar_remove(s, kind, name);

	if (e == -ENOENT)
		sidecar_fail(r, 404, "no %s with this name", kind->one);
	else if (e < 0)
		sidecar_fail(r, 500, "the %s cannot be deleted: %s", kind->one, strerror(-e));
	else
		http_reply_text(r, 204, NULL, "");
}
