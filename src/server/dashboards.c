// SPDX-License-Identifier: Apache-2.0
/* dashboards.c: /dashboards: those that ship with the pages, and files beside the trace:
 * TRACE.dashboards/NAME.json. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "server/internal.h"
#include "server/js.h"
#include "server/pages.h"

#define NAME_LEN_MAX 64
#define COUNT_MAX    500
#define SHIPPED	     "/dashboards/"

/* ---- names ---- */

static bool is_name(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");

	return len && len <= NAME_LEN_MAX && !name[len];
}

static const struct page_file *shipped(const char *name)
{
	char path[sizeof(SHIPPED) + NAME_LEN_MAX + 8];

	snprintf(path, sizeof(path), SHIPPED "%s.json", name);
	for (const struct page_file *f = embedded_pages; f->path; f++) {
		if (strcmp(f->path, path) == 0)
			return f;
	}
	return NULL;
}

/* "NAME.json" -> NAME, where that is one. */
static bool name_of_file(const char *file, char name[static NAME_LEN_MAX + 1])
{
	const char *dot = strrchr(file, '.');

	if (!dot || strcmp(dot, ".json") != 0 || dot == file || dot - file > NAME_LEN_MAX)
		return false;
	snprintf(name, NAME_LEN_MAX + 1, "%.*s", (int)(dot - file), file);
	return is_name(name);
}

/* ---- the folder ---- */

/* Beside the trace (or the folder of traces), never through a link. */
static int open_folder(const struct server *s, bool make)
{
	_cleanup_buf_ struct buf path = {0};
	const char *trace = s->opt.paths[0];
	size_t len = strlen(trace);
	int fd;

	while (len > 1 && trace[len - 1] == '/')
		len--;
	if (buf_printf(&path, "%.*s.dashboards", (int)len, trace) < 0)
		return -ENOMEM;
	if (make && mkdir(buf_str(&path), 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = open(buf_str(&path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int read_all(int fd, struct buf *to)
{
	char piece[65536];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0) {
		if (to->len + (size_t)n > DASHBOARD_MAX)
			return -E2BIG;
		if (buf_append(to, piece, (size_t)n) < 0)
			return -ENOMEM;
	}
	return n < 0 ? -errno : 0;
}

static int read_file(int folder, const char *name, struct buf *to)
{
	char file[NAME_LEN_MAX + 8];
	_cleanup_close_ int fd = -1;
	struct stat st;

	snprintf(file, sizeof(file), "%s.json", name);
	fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -ENOENT;
	return read_all(fd, to);
}

/* ---- answers ---- */

static void fail(struct http_request *r, unsigned int status, const char *message)
{
	_cleanup_buf_ struct buf out = {0};
	struct js j = {.to = &out};

	js_open(&j, '{');
	js_key(&j, "error");
	js_open(&j, '{');
	js_key_string(&j, "message", message);
	js_close(&j, '}');
	js_close(&j, '}');
	http_reply(r, status, "application/json", &out);
}

static void put_one(struct js *j, const char *name, const char *json, size_t len, bool ships)
{
	json_t *doc = json_loadb(json, len, 0, NULL);
	const char *title = json_string_value(json_object_get(doc, "title"));

	js_open(j, '{');
	js_key_string(j, "name", name);
	js_key_string(j, "title", title ? title : name);
	js_key(j, "shipped");
	js_bool(j, ships);
	js_close(j, '}');
	json_decref(doc);
}

static void put_shipped(struct js *j)
{
	for (const struct page_file *f = embedded_pages; f->path; f++) {
		char name[NAME_LEN_MAX + 1];
		_cleanup_buf_ struct buf json = {0};

		if (strncmp(f->path, SHIPPED, strlen(SHIPPED)) != 0 ||
		    !name_of_file(f->path + strlen(SHIPPED), name) ||
		    http_inflate(f->data, f->len, &json) < 0)
			continue;
		put_one(j, name, buf_str(&json), json.len, true);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t list_folder(int folder, char **names)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *e;
	size_t n = 0;

	while (dir && n < COUNT_MAX && (e = readdir(dir))) {
		char name[NAME_LEN_MAX + 1];

		if (name_of_file(e->d_name, name) && !shipped(name) && (names[n] = strdup(name)))
			n++;
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
	qsort(names, n, sizeof(*names), by_name);
	return n;
}

void dashboards_get(void *arg, struct http_request *r)
{
	const struct server *s = arg;
	_cleanup_buf_ struct buf out = {0};
	struct js j = {.to = &out};
	char *names[COUNT_MAX];
	_cleanup_close_ int folder = open_folder(s, false);
	size_t n = folder < 0 ? 0 : list_folder(folder, names);

	js_open(&j, '{');
	js_key(&j, "dashboards");
	js_open(&j, '[');
	put_shipped(&j);
	for (size_t i = 0; i < n; i++) {
		_cleanup_buf_ struct buf json = {0};

		if (read_file(folder, names[i], &json) >= 0)
			put_one(&j, names[i], buf_str(&json), json.len, false);
		free(names[i]);
	}
	js_close(&j, ']');
	js_close(&j, '}');
	http_reply(r, 200, "application/json", &out);
}

void dashboard_get(void *arg, struct http_request *r)
{
	const char *name = http_part(r, 0);
	const struct page_file *f = is_name(name) ? shipped(name) : NULL;
	_cleanup_close_ int folder = -1;
	_cleanup_buf_ struct buf json = {0};

	if (f) {
		http_reply_static(r, f->type, f->data, f->len, true);
		return;
	}
	folder = is_name(name) ? open_folder(arg, false) : -1;
	if (folder < 0 || read_file(folder, name, &json) < 0) {
		fail(r, 404, "there is no dashboard of this name");
		return;
	}
	http_reply(r, 200, "application/json", &json);
}

/* Whole or not at all: a new file takes the place of the old one. */
static int save(int folder, const char *name, const struct buf *json)
{
	char file[NAME_LEN_MAX + 8], draft[NAME_LEN_MAX + 16];
	_cleanup_close_ int fd = -1;
	size_t at = 0;
	int r = 0;

	snprintf(file, sizeof(file), "%s.json", name);
	snprintf(draft, sizeof(draft), ".%s.draft", name);
	unlinkat(folder, draft, 0);
	fd = openat(folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	while (at < json->len && r >= 0) {
		ssize_t n = write(fd, json->data + at, json->len - at);

		r = n < 0 ? -errno : 0;
		at += n > 0 ? (size_t)n : 0;
	}
	if (r >= 0 && renameat(folder, draft, folder, file) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(folder, draft, 0);
	return r;
}

/* False where the request was refused. */
static bool may_change(struct http_request *r, const char *name)
{
	if (!is_name(name))
		fail(r, 400, "a dashboard's name has letters, digits, - and _, at most 64");
	else if (shipped(name))
		fail(r, 409, "this dashboard ships with weir; save it under another name");
	else
		return true;
	return false;
}

void dashboard_put(void *arg, struct http_request *r)
{
	const char *name = http_part(r, 0);
	const struct buf *body = http_body(r);
	_cleanup_close_ int folder = -1;
	char message[160];
	json_t *doc;
	int e;

	if (!may_change(r, name))
		return;
	doc = json_loadb((const char *)body->data, body->len, 0, NULL);
	if (!json_is_object(doc)) {
		json_decref(doc);
		fail(r, 400, "a dashboard is a JSON object");
		return;
	}
	json_decref(doc);
	folder = open_folder(arg, true);
	e = folder < 0 ? folder : save(folder, name, body);
	if (e < 0) {
		snprintf(message, sizeof(message),
			 "the dashboard cannot be saved beside the trace: %s", strerror(-e));
		fail(r, 500, message);
		return;
	}
	http_reply_text(r, 204, NULL, "");
}

void dashboard_delete(void *arg, struct http_request *r)
{
	const char *name = http_part(r, 0);
	char file[NAME_LEN_MAX + 8];
	_cleanup_close_ int folder = -1;

	if (!may_change(r, name))
		return;
	snprintf(file, sizeof(file), "%s.json", name);
	folder = open_folder(arg, false);
	if (folder < 0 || unlinkat(folder, file, 0) < 0) {
		fail(r, 404, "there is no dashboard of this name");
		return;
	}
	http_reply_text(r, 204, NULL, "");
}
