/* SPDX-License-Identifier: Apache-2.0 */
#include "record/cgroups.h"

#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CGROUP_MOUNTS_MAX   16
#define CONTAINER_ID_MIN    6 /* digits of an abbreviated id: fewer may match by chance */
#define CONTAINER_ID_LENGTH 64

/* Mount points of the hierarchies, version 2 first. */
struct cgroup_mounts {
	char *folders[CGROUP_MOUNTS_MAX];
	size_t count;
};

static void mounts_free(struct cgroup_mounts *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->folders[i]);
}

static void cgroups_mounts_add(struct cgroup_mounts *m, const char *type)
{
	char buf[4096];
	struct mntent entry;
	FILE *f = setmntent("/proc/self/mounts", "re");

	if (!f)
		return;
	while (m->count < CGROUP_MOUNTS_MAX && getmntent_r(f, &entry, buf, sizeof(buf))) {
		if (strcmp(entry.mnt_type, type) != 0)
			continue;
		m->folders[m->count] = strdup(entry.mnt_dir);
		if (m->folders[m->count])
			m->count++;
	}
	endmntent(f);
}

static int cgroups_mounts_read(struct cgroup_mounts *m, struct error *err)
{
	cgroups_mounts_add(m, "cgroup2");
	cgroups_mounts_add(m, "cgroup");
	if (m->count == 0)
		return error_set(err, -ENOENT,
				 "no control groups are mounted here; select by -p PID or --comm "
				 "NAME instead");
	return 0;
}

/* Whether this is a control group, rather than a folder that "../.." leads to. */
static bool is_cgroup(const char *folder)
{
	char procs[4200];

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", folder);
	return access(procs, F_OK) == 0;
}

/* True if there is a process in the folder or, in version 2, below it. */
static bool has_processes(const char *folder)
{
	char path[4096], line[64];
	bool populated = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.events", folder);
	f = fopen(path, "re");
	if (f) {
		while (fgets(line, sizeof(line), f))
			populated |= strcmp(line, "populated 1\n") == 0;
		fclose(f);
		return populated;
	}
	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	f = fopen(path, "re");
	if (!f)
		return false;
	populated = fgets(line, sizeof(line), f);
	fclose(f);
	return populated;
}

/* A hybrid host has every folder several times, with processes only in version 1: prefers one with processes. */
static void prefer(char **best, const char *folder)
{
	if (*best && (has_processes(*best) || !has_processes(folder)))
		return;
	free(*best);
	*best = strdup(folder);
}

int cgroup_of_path(const char *path, char **ret, struct error *err)
{
	_cleanup_(mounts_free) struct cgroup_mounts mounts = {0};
	_cleanup_free_ char *real = NULL;
	char *best = NULL;
	int r = cgroups_mounts_read(&mounts, err);

	if (r < 0)
		return r;
	/* in version 1, "cpu" is usually a link to "cpu,cpuacct" */
	real = path[0] == '/' ? realpath(path, NULL) : NULL;
	if (real && is_cgroup(real))
		prefer(&best, real);
	for (size_t i = 0; !best && i < mounts.count; i++) {
		char folder[4096];

		snprintf(folder, sizeof(folder), "%s/%s", mounts.folders[i],
			 path[0] == '/' ? path + 1 : path);
		if (is_cgroup(folder))
			prefer(&best, folder);
	}
	if (!best)
		return error_set(
			err, -ENOENT,
			"no control group '%s' below %s; /proc/PID/cgroup names a process's", path,
			mounts.folders[0]);
	*ret = best;
	return 0;
}

/* Searches all hierarchies for a folder whose name passes the test. */
static int find_folder(bool (*matches)(const char *folder, const char *wanted), const char *wanted,
		       char **ret, struct error *err)
{
	_cleanup_(mounts_free) struct cgroup_mounts mounts = {0};
	char *best = NULL, *roots[CGROUP_MOUNTS_MAX + 1] = {0};
	int r = cgroups_mounts_read(&mounts, err);
	FTSENT *entry;
	FTS *walk;

	if (r < 0)
		return r;
	memcpy(roots, mounts.folders, mounts.count * sizeof(*roots));
	walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!walk)
		return error_errno(err, -errno, "looking through the control groups");
	while ((entry = fts_read(walk))) {
		if (entry->fts_info == FTS_D && entry->fts_level > 0 &&
		    matches(entry->fts_name, wanted))
			prefer(&best, entry->fts_path);
	}
	fts_close(walk);
	*ret = best;
	return best ? 0 : -ENOENT;
}

static bool cgroups_is_unit(const char *folder, const char *unit)
{
	size_t len = strlen(unit);

	if (strncmp(folder, unit, len) != 0)
		return false;
	return !folder[len] || (!strchr(unit, '.') && strcmp(folder + len, ".service") == 0);
}

int cgroup_of_unit(const char *unit, char **ret, struct error *err)
{
	int r = find_folder(cgroups_is_unit, unit, ret, err);

	if (r < 0)
		return error_set(err, r,
				 "no running unit '%s'; `systemctl status %s` shows its state",
				 unit, unit);
	return 0;
}

/*
 * Folders of containers: docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, ID below
 * /docker (version 1), lxc.payload.NAME, systemd-nspawn@NAME.service, machine-NAME.scope.
 */
static bool is_container(const char *folder, const char *wanted)
{
	static const char *const before_name[] = {"lxc.payload.", "systemd-nspawn@", "machine-"};
	size_t len = strlen(wanted), digits = 0;
	const char *id = strrchr(folder, '-');

	for (size_t i = 0; i < ARRAY_SIZE(before_name); i++) {
		size_t prefix = strlen(before_name[i]);
		const char *rest = folder + prefix;

		if (strncmp(folder, before_name[i], prefix) == 0 &&
		    strncmp(rest, wanted, len) == 0 &&
		    (!rest[len] || strcmp(rest + len, ".service") == 0 ||
		     strcmp(rest + len, ".scope") == 0))
			return true;
	}
	id = id ? id + 1 : folder;
	while (isxdigit((unsigned char)id[digits]))
		digits++;
	return digits == CONTAINER_ID_LENGTH && len >= CONTAINER_ID_MIN &&
	       strncmp(id, wanted, len) == 0;
}

/* Docker's configuration of each container contains "Name":"/web"; the name of its folder is the id. */
static bool docker_id(const char *name, char id[static CONTAINER_ID_LENGTH + 1])
{
	glob_t files = {0};
	char wanted[512];
	bool found = false;

	snprintf(wanted, sizeof(wanted), "\"Name\":\"/%s\"", name);
	if (glob("/var/lib/docker/containers/*/config.v2.json", 0, NULL, &files) == 0) {
		for (size_t i = 0; !found && i < files.gl_pathc; i++) {
			_cleanup_free_ char *text = NULL;
			size_t size = 0;
			const char *folder =
				files.gl_pathv[i] + strlen("/var/lib/docker/containers/");
			FILE *f = fopen(files.gl_pathv[i], "re");

			if (!f)
				continue;
			found = getline(&text, &size, f) > 0 && strstr(text, wanted);
			fclose(f);
			snprintf(id, CONTAINER_ID_LENGTH + 1, "%.*s", CONTAINER_ID_LENGTH, folder);
		}
	}
	globfree(&files);
	return found;
}

int cgroup_of_container(const char *name, char **ret, struct error *err)
{
	char id[CONTAINER_ID_LENGTH + 1];
	int r = find_folder(is_container, docker_id(name, id) ? id : name, ret, err);

	if (r < 0)
		return error_set(err, r,
				 "no running container '%s'; give its id (at least %d digits), a "
				 "name known to Docker, or a machine name",
				 name, CONTAINER_ID_MIN);
	return 0;
}
