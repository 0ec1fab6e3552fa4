/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file/read/folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/file/read/recordings.h"

void folders_free(struct store *s)
{
	for (size_t i = 0; i < s->folder_count; i++) {
		free(s->folders[i].path);
		free(s->folders[i].base);
	}
	free(s->folders);
}

bool store_has_folders(const struct store *s)
{
	return s->folder_count > 0;
}

bool folders_may_mix(const struct store *s)
{
	for (size_t i = 0; i < s->folder_count; i++) {
		if (!s->folders[i].base)
			return true;
	}
	return false;
}

/* ---- traces at the time of opening ---- */

/* Counts a file of which nothing can be read; the folder's other files are still read. */
static void count_unread(struct store *s, const struct error *why)
{
	struct store_damage *d = &s->damage;

	assert(why->code < 0);
	if (!d->blocks)
		snprintf(d->first, sizeof(d->first), "%.*s", (int)sizeof(d->first) - 1,
			 why->message);
	d->blocks++;
	d->traces++;
	d->gaps = true;
}

/*
 * Like reader_add_trace(), but also 0 if the trace cannot be read: it is counted, and the first reason goes to
 * *unread.
 */
static int add_of_folder(struct store *s, const char *path, struct error *unread, struct error *err)
{
	struct error why = {0};
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		r = error_errno(&why, -errno, "cannot open the trace %s", path);
	else
		r = S_ISREG(st.st_mode) ? reader_add_trace(s, path, true, &why) : 0;
	if (r >= 0 || r == -ENOENT) /* deleted meanwhile */
		return MAX(r, 0);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE)
		return error_set(err, r, "%s", why.message);
	count_unread(s, &why);
	error_set(unread, r, "%s", why.message);
	return 0;
}

/* False for hidden files and, if a recording was named, for files that do not belong to it. */
static bool folder_wants(const struct folder *f, const char *name)
{
	size_t len = f->base ? strlen(f->base) : 0;

	if (!f->base)
		return name[0] != '.';
	return !strncmp(name, f->base, len) && name[len] == '.' && name[len + 1] &&
	       strspn(name + len + 1, "0123456789") == strlen(name + len + 1);
}

/* The path of an entry; files of a recording keep the form in which its name was given. */
static int folder_path(const struct folder *f, const char *name, char **ret)
{
	size_t len = strlen(f->path);
	int n;

	assert(len > 0);
	while (len > 1 && f->path[len - 1] == '/')
		len--;
	if (f->base && !strcmp(f->path, "."))
		n = asprintf(ret, "%s", name);
	else
		n = asprintf(ret, "%.*s/%s", (int)len, f->path, name);
	return n < 0 ? -ENOMEM : 0;
}

/* Takes ownership of the folder's strings, even on failure. */
static int folder_remember(struct store *s, struct folder f)
{
	int r = grow((void **)&s->folders, &s->folders_cap, s->folder_count + 1,
		     sizeof(*s->folders));

	if (r < 0 || !f.path) {
		free(f.path);
		free(f.base);
		return -ENOMEM;
	}
	s->folders[s->folder_count++] = f;
	return 0;
}

/* 1 if a trace was found. */
static int folder_add(struct store *s, const struct folder *f, struct error *unread,
		      struct error *err)
{
	const char *path = f->path;
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort), r = 0;
	bool any = false;

	if (n < 0)
		return error_errno(err, -errno, "cannot read the folder %s", path);
	for (int i = 0; i < n; i++) {
		char *file = NULL;

		if (r >= 0 && folder_wants(f, names[i]->d_name)) {
			if (folder_path(f, names[i]->d_name, &file) < 0)
				r = error_errno(err, -ENOMEM, "cannot read the folder %s", path);
			else
				r = add_of_folder(s, file, unread, err);
			any |= r > 0;
			free(file);
		}
		free(names[i]);
	}
	free(names);
	if (r >= 0 && !any && unread->code)
		return error_set(err, unread->code, "%s", unread->message);
	return r < 0 ? r : any;
}

static int folders_add_folder(struct store *s, const char *path, struct error *err)
{
	struct folder f = {.path = strdup(path)};
	struct error unread = {0};
	int r = f.path ? folder_add(s, &f, &unread, err) : -ENOMEM;

	if (r == 0)
		r = error_set(err, -ENOENT, "no trace in the folder %s", path);
	if (r >= 0)
		r = folder_remember(s, f);
	else
		free(f.path);
	return r < 0 && !err->code ? error_errno(err, r, "cannot read the folder %s", path) : r;
}

/* Adds the files of a recording in several: TRACE.1, TRACE.2, ... if TRACE itself is not a file. 1 if there are any. */
static int folders_add_set(struct store *s, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct folder f = {.path = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup("."),
			   .base = strdup(name)};
	struct error unread = {0};
	int r = f.path && f.base ? 0 : -ENOMEM;

	if (r >= 0 && *name && access(f.path, R_OK | X_OK) == 0)
		r = folder_add(s, &f, &unread, err);
	if (r > 0)
		return folder_remember(s, f) < 0 ? -ENOMEM : 1;
	free(f.path);
	free(f.base);
	return r;
}

/* ---- traces that appear later ---- */

#define ROOM_LATER 256u /* traces that may appear in the folders while they are read */
#define YOUNG_S	   60	/* a file unchanged for longer was examined before */

static void reader_look_at_file(struct store *s, const struct folder *folder, const char *name,
				size_t max)
{
	struct error unread = {0};
	struct stat st;
	char *path;

	/* store_look_again() must not move the traces, as blocks point to them */
	assert(s->trace_count <= s->trace_room);
	if (!folder_wants(folder, name) || s->trace_count >= MIN(s->trace_room, max) ||
	    folder_path(folder, name, &path) < 0)
		return;
	/* a file that is not a trace, or not yet, is examined again while it is young */
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_ctime >= s->looked - YOUNG_S &&
	    !reader_is_known(s, &st)) {
		size_t before = s->trace_count;

		/* without memory it counts as another recording */
		if (reader_add_trace(s, path, true, &unread) > 0 && s->trace_count > before)
			(void)!recordings_add(s, &s->traces[before]);
	}
	free(path);
}

size_t store_look_again(struct store *s, size_t max)
{
	size_t before = s->trace_count;
	int64_t now = time(NULL);

	for (size_t i = 0; i < s->folder_count; i++) {
		struct dirent **names = NULL;
		int n = scandir(s->folders[i].path, &names, NULL, alphasort);

		for (int k = 0; k < n; k++) {
			reader_look_at_file(s, &s->folders[i], names[k]->d_name, max);
			free(names[k]);
		}
		free(names);
	}
	s->looked = now;
	return s->trace_count - before;
}

/* ---- names ---- */

int folders_open(struct store *s, const char *const *paths, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct stat st;
		int r;

		if (stat(paths[i], &st) < 0) {
			int why = errno;

			r = why == ENOENT ? folders_add_set(s, paths[i], err) : 0;
			if (r < 0)
				return r;
			if (!r)
				return error_errno(err, -why, "cannot open the trace %s", paths[i]);
			continue;
		}
		r = S_ISDIR(st.st_mode) ? folders_add_folder(s, paths[i], err)
					: reader_add_trace(s, paths[i], false, err);
		if (r < 0)
			return r;
	}
	s->looked = time(NULL);
	return s->folder_count ? reader_make_room(s, ROOM_LATER) : 0;
}
