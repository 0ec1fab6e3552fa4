/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege: the privileges that weir has beyond its caller's, how long it keeps them, and where it uses them. May use
 * base, libseccomp. Never prints.
 *
 * weir can be privileged in three ways:
 * - the program has file capabilities (setcap) and anyone may have started it: privilege_secure();
 * - root started it by sudo: the recorder becomes the caller, see privilege_become_caller();
 * - root, or a service with ambient capabilities, started it.
 *
 * A recording command gives up its privileges in steps: privilege_begin(), load the programs,
 * privilege_become_caller(), open the files, privilege_settle(). Every other command calls privilege_drop() before it
 * reads any input.
 *
 * Capabilities belong to a thread: each function affects the calling thread and threads that it starts later. Only
 * the filter of privilege_settle() also applies to threads that already exist.
 */
#pragma once

#include <linux/capability.h>
#include <sys/types.h>

#include "base/error.h"

#define PRIVILEGE_CAP(cap) (1ull << (cap))

/* Sets of capabilities, by purpose. */
enum {
	PRIVILEGE_NONE = 0,
	/* bpf(2) before the programs are loaded; where the others are not granted, CAP_SYS_ADMIN replaces both */
	PRIVILEGE_LOAD =
		PRIVILEGE_CAP(CAP_BPF) | PRIVILEGE_CAP(CAP_PERFMON) | PRIVILEGE_CAP(CAP_SYS_ADMIN),
	/* bpf(2) afterwards: none since Linux 5.19; before, if kernel.unprivileged_bpf_disabled is set */
	PRIVILEGE_BPF = PRIVILEGE_CAP(CAP_BPF) | PRIVILEGE_CAP(CAP_SYS_ADMIN),
	/* /proc of other users' processes, the path of a control group by its id */
	PRIVILEGE_PROC = PRIVILEGE_CAP(CAP_SYS_PTRACE) | PRIVILEGE_CAP(CAP_DAC_READ_SEARCH),
	/* memory shared by a process, through /proc/PID/map_files */
	PRIVILEGE_MAPS = PRIVILEGE_CAP(CAP_CHECKPOINT_RESTORE) | PRIVILEGE_CAP(CAP_SYS_ADMIN),
	/* signals to a command that runs as another user */
	PRIVILEGE_SIGNAL = PRIVILEGE_CAP(CAP_KILL),
	/* a real-time reader, a decoder with higher priority */
	PRIVILEGE_PRIORITY = PRIVILEGE_CAP(CAP_SYS_NICE),
	/* to start a process as another user, and to end it */
	PRIVILEGE_USER = PRIVILEGE_CAP(CAP_CHOWN) | PRIVILEGE_CAP(CAP_SETUID) |
			 PRIVILEGE_CAP(CAP_SETGID) | PRIVILEGE_CAP(CAP_KILL),
	/* the same, in namespaces of its own */
	PRIVILEGE_CHILD = PRIVILEGE_USER | PRIVILEGE_CAP(CAP_SYS_ADMIN),
	/* files of other users, for root */
	PRIVILEGE_FILES = PRIVILEGE_CAP(CAP_DAC_OVERRIDE) | PRIVILEGE_CAP(CAP_DAC_READ_SEARCH),
};

/* True if the kernel gave the program more privileges than its caller has (AT_SECURE): the caller's options and
 * variables must then not choose code, folders or logs. secure_getenv() makes the same test for variables. */
bool privilege_secure(void);

/*
 * Call this first: unless the process is root's, its capabilities then have no effect until privilege_raise(). -EPERM
 * if the program is set-user-ID or set-group-ID, which weir does not support.
 */
int privilege_begin(struct error *err);

/* ---- temporarily ---- */

struct privilege {
	uint64_t effective; /* the effective set before */
	bool raised;
};

/* Makes the permitted capabilities of the set effective until privilege_lower(). Costs two system calls. */
struct privilege privilege_raise(uint64_t set);
void privilege_lower(const struct privilege *p);

/* Makes the set ineffective until privilege_raise(), in this thread and those that it starts later. */
void privilege_rest(uint64_t set);

/* Raises the set until the end of the block. */
#define _privileged_(set)                                                        \
	_unused_ _cleanup_(privilege_lower) const struct privilege privileged_ = \
		privilege_raise(set)

/*
 * Call before loading programs. Enumerating the types of kernel modules requires CAP_SYS_ADMIN, and libbpf before 1.4
 * fails if that is refused: for a process without the capability the enumeration is empty from now on. The process must
 * not start programs that gain privileges afterwards.
 */
int privilege_prepare_load(struct error *err);

/* PRIVILEGE_FILES for root. For other users, files are opened only with the caller's rights, whatever is permitted. */
uint64_t privilege_files(void);
/* PRIVILEGE_CHILD for root. */
uint64_t privilege_child(void);

/* ---- permanently ---- */

/*
 * Gives up everything but the capabilities of `keep`, which stay effective: permitted, inheritable, ambient and, if
 * allowed, bounding set. Programs that are started gain nothing (NO_NEW_PRIVS). Does nothing in a process without
 * privileges.
 */
int privilege_drop(uint64_t keep, struct error *err);
/* Gives up the capabilities of this thread only, except those of `keep`, which become ineffective. */
void privilege_drop_thread(uint64_t keep);

/* The user who called sudo; false if sudo did not start this process as root. Only root's variables are trusted:
 * anybody can set SUDO_UID. */
struct privilege_user {
	const char *name; /* may be NULL */
	uid_t uid;
	gid_t gid;
};
bool privilege_caller(struct privilege_user *ret);

/*
 * Under sudo: takes the caller's user and groups, with which files are opened from now on, and makes all capabilities
 * ineffective; privilege_raise() can restore them. 0 also if there is nothing to do.
 */
int privilege_become_caller(struct error *err);

/*
 * Call after loading the programs and opening the files: gives up all capabilities except those that recording needs
 * (PRIVILEGE_BPF, PROC, MAPS, SIGNAL, PRIORITY; root's also FILES), makes those ineffective, and installs a filter that
 * rejects with ENOSYS every system call that recording does not make: starting a program, changing user, tracing,
 * mounting, loading kernel code, opening a socket. Does nothing in a process without privileges.
 */
int privilege_settle(struct error *err);
/* Whether the kernel has system call filters (CONFIG_SECCOMP_FILTER); privilege_settle() works without. */
bool privilege_can_filter(void);

/* ---- users ---- */

#define PRIVILEGE_GROUPS_MAX 1024 /* more than any user has; the kernel's limit is 65536 */

struct privilege_groups {
	gid_t ids[PRIVILEGE_GROUPS_MAX];
	size_t count;
};

/* The user's primary group and the groups of /etc/group that list the user: a static program has no name service. */
void privilege_groups_find(const struct privilege_user *user, struct privilege_groups *ret);
/* Becomes the user permanently, before executing a program: real, effective and saved ids, and groups. */
int privilege_become(const struct privilege_user *user, const struct privilege_groups *groups);
