/* SPDX-License-Identifier: Apache-2.0 */
/* users.c: the caller of sudo, and changing user. */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "privilege/internal.h"

void privilege_groups_find(const struct privilege_user *user, struct privilege_groups *ret)
{
	FILE *f = user->name ? fopen("/etc/group", "re") : NULL;
	const struct group *g;

	ret->ids[0] = user->gid;
	ret->count = 1;
	while (f && (g = fgetgrent(f))) {
		for (char **member = g->gr_mem; *member; member++) {
			if (!strcmp(*member, user->name) && g->gr_gid != user->gid &&
			    ret->count < PRIVILEGE_GROUPS_MAX)
				ret->ids[ret->count++] = g->gr_gid;
		}
	}
	if (f)
		fclose(f);
}

int privilege_become(const struct privilege_user *user, const struct privilege_groups *groups)
{
	if (setgroups(groups->count, groups->ids) < 0 ||
	    setresgid(user->gid, user->gid, user->gid) < 0 ||
	    setresuid(user->uid, user->uid, user->uid) < 0)
		return -errno;
	return 0;
}

/* Parses a number that can be an id: (uid_t)-1 means "unchanged" to the kernel. */
static bool id_of(const char *variable, uint32_t *ret)
{
	const char *text = secure_getenv(variable);
	unsigned long long id;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	id = strtoull(text, &end, 10);
	*ret = (uint32_t)id;
	return !*end && !errno && id < UINT32_MAX;
}

bool privilege_caller(struct privilege_user *ret)
{
	if (getuid() != 0 || geteuid() != 0 || !id_of("SUDO_UID", &ret->uid) || !ret->uid)
		return false;
	if (!id_of("SUDO_GID", &ret->gid))
		ret->gid = (gid_t)ret->uid; /* sudo sets both; never root's */
	ret->name = secure_getenv("SUDO_USER");
	return true;
}

int privilege_become_caller(struct error *err)
{
	struct privilege_groups groups;
	struct privilege_user user;
	int r;

	if (!privilege_caller(&user))
		return 0;
	privilege_groups_find(&user, &groups);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		r = -errno;
	else
		r = privilege_become(&user, &groups);
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	return r < 0 ? error_errno(err, r, "cannot become user %u, who ran sudo",
				   (unsigned int)user.uid)
		     : 0;
}
