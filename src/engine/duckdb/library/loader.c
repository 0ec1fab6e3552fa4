// SPDX-License-Identifier: Apache-2.0
/* loader.c: finds libduckdb.so and resolves the functions that weir calls. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "engine/duckdb/internal.h"

/* the library must use a sanitizer's malloc() */
#define SYMBOL_ORDER (SANITIZED ? 0 : RTLD_DEEPBIND)
#define LIBRARY_NAME "libduckdb.so"
#define REMEDY                                                                              \
	"install the package weir-engine, run `make engine` in weir's source, or name the " \
	"library with --duckdb or WEIR_DUCKDB"

/* Weir's own copy, relative to the executable's folder; in a build folder meson.build creates a link there. */
#define BESIDE_EXECUTABLE "../lib/weir"

static int try_path(const char *folder, char **ret)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/" LIBRARY_NAME, folder) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (access(path, R_OK) < 0)
		return 0;
	*ret = TAKE_PTR(path);
	return 1;
}

static int find_beside_executable(char **ret)
{
	_cleanup_free_ char *folder = NULL;
	char exe[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n < 0)
		return 0;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	if (asprintf(&folder, "%s/" BESIDE_EXECUTABLE, exe) < 0) {
		folder = NULL;
		return -ENOMEM;
	}
	return try_path(folder, ret);
}

/* ---- trust ---- */

/*
 * Checks that only root and the caller can modify or replace the file. Write permission is accepted for the owner's
 * private group (whose gid equals the uid), and for all in a folder where only owners can rename and remove (/tmp).
 */
static int check_owner(const char *path, const char *library, struct error *err)
{
	struct stat st;
	bool sticky;

	if (stat(path, &st) < 0)
		return error_errno(err, -errno, "cannot examine %.800s", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return error_set(
			err, -EPERM,
			"DuckDB's library %.400s is refused: %.400s belongs to user %u, who "
			"is neither root nor you; copy the library to a folder of your own",
			library, path, (unsigned int)st.st_uid);
	sticky = S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX;
	if (!sticky && (st.st_mode & S_IWOTH ||
			(st.st_mode & S_IWGRP && st.st_gid != 0 && st.st_gid != st.st_uid)))
		return error_set(
			err, -EPERM,
			"DuckDB's library %.400s is refused: %.400s is writable by others; remove "
			"that permission (chmod go-w), or copy the library elsewhere",
			library, path);
	return 0;
}

/* Resolves links in the path. The file and every folder above it must pass check_owner(), as sshd requires of keys. */
static int check_trust(char **path, struct error *err)
{
	_cleanup_free_ char *at = NULL, *real = realpath(*path, NULL);
	int r;

	if (!real)
		return error_errno(err, -errno, "cannot read DuckDB's library %.800s", *path);
	at = strdup(real);
	if (!at)
		return -ENOMEM;
	r = check_owner(at, real, err);
	while (r >= 0 && at[1]) {
		char *slash = strrchr(at, '/');

		slash[slash == at] = '\0'; /* keep the last slash: "/" */
		r = check_owner(at, real, err);
	}
	if (r < 0)
		return r;
	free(*path);
	*path = TAKE_PTR(real);
	return 0;
}

/* ---- finding it ---- */

/* The first library that exists: the one named, or weir's own. */
static int find_library(const char *named, char **ret, struct error *err)
{
	int r;

	if (named && getauxval(AT_SECURE))
		return error_set(err, -EPERM,
				 "DuckDB's library %.200s is refused: --duckdb is not allowed for "
				 "a weir with file capabilities, which loads only its own library",
				 named);
	if (!named)
		named = secure_getenv("WEIR_DUCKDB");
	if (named && *named) {
		if (access(named, R_OK) < 0)
			return error_errno(err, -errno, "cannot read DuckDB's library %.800s",
					   named);
		*ret = strdup(named);
		return *ret ? 0 : -ENOMEM;
	}
	r = find_beside_executable(ret);
	if (r == 0)
		r = try_path(WEIR_LIBDIR, ret);
	if (r < 0)
		return error_errno(err, r, "cannot search for DuckDB's library");
	if (r == 0)
		return error_set(err, -ENOENT,
				 "DuckDB's library " LIBRARY_NAME " is not installed: " REMEDY);
	return 0;
}

static int check_version(const char *version, const char *path, struct error *err)
{
	unsigned int major, minor;

	/* "v1.5.6" */
	if (sscanf(version, "v%u.%u", &major, &minor) != 2)
		return error_set(
			err, -EPROTONOSUPPORT,
			"%.600s reports the version \"%.60s\", which is not a release; " REMEDY,
			path, version);
	if (major != DUCKDB_MAJOR_MIN || minor < DUCKDB_MINOR_MIN)
		return error_set(
			err, -EPROTONOSUPPORT,
			"%.600s is DuckDB %.60s, weir needs %d.%d or a later %d.x; " REMEDY, path,
			version, DUCKDB_MAJOR_MIN, DUCKDB_MINOR_MIN, DUCKDB_MAJOR_MIN);
	return 0;
}

static int loader_resolve(struct duckdb_api *api, const char *path, struct error *err)
{
	const struct {
		const char *name;
		void **member;
	} symbols[] = {
#define DUCKDB_SYMBOL(type, name, args) {"duckdb_" #name, (void **)&api->name},
		DUCKDB_FUNCTIONS(DUCKDB_SYMBOL)
#undef DUCKDB_SYMBOL
	};

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		*symbols[i].member = dlsym(api->handle, symbols[i].name);
		if (!*symbols[i].member)
			return error_set(err, -EPROTONOSUPPORT,
					 "%.600s lacks the function %s; " REMEDY, path,
					 symbols[i].name);
		/* check the version first: an older library should be reported as old, not as broken */
		if (i == 0) {
			int r = check_version(api->library_version(), path, err);

			if (r < 0)
				return r;
		}
	}
	if (api->vector_size() != VECTOR_ROWS)
		return error_set(err, -EPROTONOSUPPORT,
				 "%.600s has vectors of %llu rows instead of %d; " REMEDY, path,
				 (unsigned long long)api->vector_size(), VECTOR_ROWS);
	return 0;
}

/*
 * The only static state of this module: a callback receives only a handle that the library's own functions can read, so
 * these functions must be reachable without it. Set once, under the lock, before any callback can run.
 */
static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static struct duckdb_api loaded;
static char *loaded_path;

const struct duckdb_api *duckdb_loaded(void)
{
	return &loaded;
}

static int loader_load(const char *library, struct error *err)
{
	_cleanup_free_ char *path = NULL;
	struct duckdb_api api = {0};
	int r = find_library(library, &path, err);

	if (r >= 0)
		r = check_trust(&path, err);
	if (r < 0)
		return r;
	/*
	 * A query calls only a small part of the library: resolving every function takes a fifth of the time of opening
	 * it and running one. Its 40,000 symbols are its own: searching for them first in weir and the 30 libraries of
	 * weir takes an eighth.
	 */
	api.handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | SYMBOL_ORDER);
	if (!api.handle)
		return error_set(err, -ELIBBAD, "cannot load DuckDB's library: %.700s; " REMEDY,
				 dlerror());
	r = loader_resolve(&api, path, err);
	if (r < 0) {
		dlclose(api.handle);
		return r;
	}
	loaded = api;
	loaded_path = TAKE_PTR(path);
	return 0;
}

int duckdb_load(const char *library, const struct duckdb_api **ret, const char **ret_path,
		struct error *err)
{
	int r = 0;

	pthread_mutex_lock(&load_lock);
	if (!loaded.handle)
		r = loader_load(library, err);
	pthread_mutex_unlock(&load_lock);
	if (r < 0)
		return r;
	*ret = &loaded;
	if (ret_path)
		*ret_path = loaded_path;
	return 0;
}
