/* SPDX-License-Identifier: Apache-2.0 */
#include "privilege/internal.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define CAPS_MAX 64 /* the kernel has 41 */

/* Three capability sets of a thread; libc has no functions for them. */
struct caps {
	uint64_t effective, permitted, inheritable;
};

static int caps_get(struct caps *ret)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct half[_LINUX_CAPABILITY_U32S_3];

	*ret = (struct caps){0};
	if (syscall(SYS_capget, &head, half) < 0)
		return -errno;
	for (int i = _LINUX_CAPABILITY_U32S_3 - 1; i >= 0; i--) {
		ret->effective = ret->effective << 32 | half[i].effective;
		ret->permitted = ret->permitted << 32 | half[i].permitted;
		ret->inheritable = ret->inheritable << 32 | half[i].inheritable;
	}
	return 0;
}

static int caps_set(const struct caps *c)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct half[_LINUX_CAPABILITY_U32S_3];

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		half[i] = (struct __user_cap_data_struct){(uint32_t)(c->effective >> 32 * i),
							  (uint32_t)(c->permitted >> 32 * i),
							  (uint32_t)(c->inheritable >> 32 * i)};
	return syscall(SYS_capset, &head, half) < 0 ? -errno : 0;
}

bool privilege_secure(void)
{
	return getauxval(AT_SECURE) != 0;
}

int privilege_begin(struct error *err)
{
	struct caps c;
	int r;

	if (getuid() != geteuid() || getgid() != getegid())
		return error_set(err, -EPERM,
				 "this weir is set-user-ID or set-group-ID: remove that (chmod "
				 "ug-s), and use sudo or file capabilities");
	if (geteuid() == 0)
		return 0;
	r = caps_get(&c);
	if (r < 0 || !c.effective)
		return r < 0 ? error_errno(err, r, "cannot read this process's capabilities") : 0;
	c.effective = 0;
	r = caps_set(&c);
	return r < 0 ? error_errno(err, r, "cannot lower the effective capabilities") : 0;
}

struct privilege privilege_raise(uint64_t set)
{
	struct privilege p = {0};
	struct caps c;

	/* If this fails, the operation that needs the capability fails with a message. */
	if (caps_get(&c) < 0 || !(set & c.permitted & ~c.effective))
		return p;
	p.effective = c.effective;
	c.effective |= set & c.permitted;
	p.raised = caps_set(&c) == 0;
	return p;
}

void privilege_lower(const struct privilege *p)
{
	struct caps c;

	if (!p->raised || caps_get(&c) < 0)
		return;
	c.effective = p->effective;
	/* Capabilities that were effective before can be restored: the kernel does not refuse. */
	(void)!caps_set(&c);
}

void privilege_rest(uint64_t set)
{
	struct caps c;

	if (caps_get(&c) < 0 || !(set & c.effective))
		return;
	c.effective &= ~set;
	(void)!caps_set(&c); /* giving up capabilities is never refused */
}

int privilege_prepare_load(struct error *err)
{
	struct caps c;

	if (caps_get(&c) < 0 || c.permitted & PRIVILEGE_CAP(CAP_SYS_ADMIN) ||
	    !(c.permitted & PRIVILEGE_CAP(CAP_BPF)))
		return 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, -errno, "cannot forbid new privileges");
	return filter_hide_modules(err);
}

uint64_t privilege_files(void)
{
	return geteuid() == 0 ? PRIVILEGE_FILES : PRIVILEGE_NONE;
}

uint64_t privilege_child(void)
{
	return geteuid() == 0 ? PRIVILEGE_CHILD : PRIVILEGE_NONE;
}

/* Limits what programs may gain. Where this is not allowed, NO_NEW_PRIVS alone prevents any gain. */
static void bound(uint64_t keep)
{
	_privileged_(PRIVILEGE_CAP(CAP_SETPCAP));

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	for (unsigned int cap = 0; cap < CAPS_MAX; cap++) {
		if (!(keep >> cap & 1))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	}
}

/* Capabilities of `keep` can be raised again, and stay effective if wanted. */
static int reduce(uint64_t keep, bool in_force, struct error *err)
{
	struct caps c;
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, -errno, "cannot forbid new privileges");
	bound(in_force ? keep : PRIVILEGE_NONE);
	r = caps_get(&c);
	if (r < 0)
		return error_errno(err, r, "cannot read this process's capabilities");
	c.permitted &= keep;
	c.effective = in_force ? c.permitted : 0;
	c.inheritable = 0;
	r = caps_set(&c);
	return r < 0 ? error_errno(err, r, "cannot drop capabilities") : 0;
}

static bool is_privileged(void)
{
	struct caps c;

	return geteuid() == 0 || privilege_secure() || caps_get(&c) < 0 || c.permitted;
}

int privilege_drop(uint64_t keep, struct error *err)
{
	return is_privileged() ? reduce(keep, true, err) : 0;
}

void privilege_drop_thread(uint64_t keep)
{
	struct caps c;

	if (caps_get(&c) < 0)
		c = (struct caps){0};
	c.permitted &= keep;
	c.effective = 0;
	c.inheritable = 0;
	(void)!caps_set(&c);
}

int privilege_settle(struct error *err)
{
	uint64_t keep = PRIVILEGE_CAP(CAP_BPF) | PRIVILEGE_CAP(CAP_CHECKPOINT_RESTORE) |
			PRIVILEGE_PROC | PRIVILEGE_SIGNAL | PRIVILEGE_PRIORITY;
	struct caps c;
	int r = caps_get(&c);

	if (r < 0)
		return error_errno(err, r, "cannot read this process's capabilities");
	if (!is_privileged())
		return 0;
	if (!(c.permitted & PRIVILEGE_CAP(CAP_BPF)))
		keep |= PRIVILEGE_CAP(CAP_SYS_ADMIN); /* a container was granted nothing finer */
	r = reduce(keep | privilege_files(), false, err);
	return r < 0 ? r : filter_install(err);
}
