/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privilege: the rights that weir has beyond its caller's, how long it keeps them, and where it uses them.
 * May use base, libseccomp. Never prints.
 *
 * weir can be privileged in three ways:
 * - the program has file capabilities (setcap) and anyone may have started it: privilege_secure();
 * - root started it by sudo: the recorder becomes the caller, see privilege_become_caller();
 * - root, or a service with ambient capabilities, started it.
 *
 * A recording command gives up its rights in steps: privilege_begin(), load the programs, privilege_become_caller(),
 * open the files, privilege_settle(). Every other command calls privilege_drop() before it reads any input.
 *
 * Capabilities belong to a thread: each function affects the calling thread and threads that it starts later. Only
 * the filter of privilege_settle() also applies to threads that already exist.
 */
#pragma once

#include <linux/capability.h>
#include <sys/types.h>

#include "base/error.h"

#define PRIVILEGE_CAP(cap) (1ull << (cap))

/* Sets of capabilities, by what they are for. */
enum {
	PRIVILEGE_NONE = 0,
	/* bpf(2) before the programs are loaded; CAP_SYS_ADMIN stands for both where those are not granted */
	PRIVILEGE_LOAD =
		PRIVILEGE_CAP(CAP_BPF) | PRIVILEGE_CAP(CAP_PERFMON) | PRIVILEGE_CAP(CAP_SYS_ADMIN),
	/* bpf(2) afterwards: nothing since Linux 5.19; before, where kernel.unprivileged_bpf_disabled is set */
	PRIVILEGE_BPF = PRIVILEGE_CAP(CAP_BPF) | PRIVILEGE_CAP(CAP_SYS_ADMIN),
	/* /proc of other users' processes, the path of a control group by its number */
	PRIVILEGE_PROC = PRIVILEGE_CAP(CAP_SYS_PTRACE) | PRIVILEGE_CAP(CAP_DAC_READ_SEARCH),
	/* memory that a process shares, by its /proc/PID/map_files */
	PRIVILEGE_MAPS = PRIVILEGE_CAP(CAP_CHECKPOINT_RESTORE) | PRIVILEGE_CAP(CAP_SYS_ADMIN),
	/* signals to a command that runs as another user */
	PRIVILEGE_SIGNAL = PRIVILEGE_CAP(CAP_KILL),
	/* a real-time reader, a decoder that comes first */
	PRIVILEGE_PRIORITY = PRIVILEGE_CAP(CAP_SYS_NICE),
	/* to start a process as another user, and to end it */
	PRIVILEGE_USER = PRIVILEGE_CAP(CAP_CHOWN) | PRIVILEGE_CAP(CAP_SETUID) |
			 PRIVILEGE_CAP(CAP_SETGID) | PRIVILEGE_CAP(CAP_KILL),
	/* the same, with namespaces of its own */
	PRIVILEGE_CHILD = PRIVILEGE_USER | PRIVILEGE_CAP(CAP_SYS_ADMIN),
	/* files of other users, for root */
	PRIVILEGE_FILES = PRIVILEGE_CAP(CAP_DAC_OVERRIDE) | PRIVILEGE_CAP(CAP_DAC_READ_SEARCH),
};

/* True if the kernel gave the program more rights than its caller has (AT_SECURE): the caller's options and variables
 * must then not choose code, folders or logs. secure_getenv() is the same test for variables. */
bool privilege_secure(void);

/*
 * To be called at the start: the capabilities of a process that is not root's have no effect until privilege_raise().
 * -EPERM if the program is set-user-ID or set-group-ID, which weir does not support.
 */
int privilege_begin(struct error *err);

/* ---- for a while ---- */

struct privilege {
	uint64_t effective; /* before */
	bool raised;
};

/* Makes those of the set effective that this thread is permitted, until privilege_lower(). Costs two system calls. */
struct privilege privilege_raise(uint64_t set);
void privilege_lower(const struct privilege *p);

/* Makes the set ineffective until privilege_raise(), in this thread and those that it starts. */
void privilege_rest(uint64_t set);

/* Raises the set until the end of the block. */
#define _privileged_(set)                                                        \
	_unused_ _cleanup_(privilege_lower) const struct privilege privileged_ = \
		privilege_raise(set)

/*
 * Before programs are loaded. To look through the types of kernel modules takes CAP_SYS_ADMIN, and libbpf gives up
 * (before 1.4) where that is refused: a process that is not granted it finds none from here on. It may start no
 * program that gains privileges afterwards.
 */
int privilege_prepare_load(struct error *err);

/* PRIVILEGE_FILES for root. Nobody else's files are opened with more than the caller's rights, whatever is permitted. */
uint64_t privilege_files(void);
/* PRIVILEGE_CHILD for root. */
uint64_t privilege_child(void);

/* ---- for good ---- */

/*
 * Lets everything go but the capabilities of `keep`, which stay in force: permitted, inheritable, ambient and, where
 * that is allowed, bounding set; programs that are started gain nothing (NO_NEW_PRIVS). Does nothing in a process
 * that has no privileges.
 */
int privilege_drop(uint64_t keep, struct error *err);
/* The capabilities of this thread alone, all but those of `keep`, of which none is in force; nothing else changes. */
void privilege_drop_thread(uint64_t keep);

/* The user who called sudo; false where root was not called by sudo. Only root is asked: anybody can set SUDO_UID. */
struct privilege_user {
	const char *name; /* may be NULL */
	uid_t uid;
	gid_t gid;
};
bool privilege_caller(struct privilege_user *ret);

/*
 * Under sudo: takes the caller's user and groups, with which files are opened from here on, and puts all capabilities out
 * of force; privilege_raise() still finds them. 0 also where nothing is to be done.
 */
int privilege_become_caller(struct error *err);

/*
 * The recorder has loaded its programs and opened its files: lets all capabilities go but those that recording takes
 * (PRIVILEGE_BPF, PROC, MAPS, SIGNAL, PRIORITY; root's also FILES), puts none in force, and installs a filter that
 * refuses every system call that recording does not make with ENOSYS: to start a program, to change user, to trace,
 * to mount, to load kernel code, to open a socket. Does nothing in a process that has no privileges.
 */
int privilege_settle(struct error *err);
/* Whether the kernel has filters of system calls (CONFIG_SECCOMP_FILTER); privilege_settle() does without. */
bool privilege_can_filter(void);

/* ---- users ---- */

#define PRIVILEGE_GROUPS_MAX 1024 /* more than any user has; the kernel's own limit is 65536 */

struct privilege_groups {
	gid_t ids[PRIVILEGE_GROUPS_MAX];
	size_t count;
};

/* The user's group and those of /etc/group that name the user: a static program has no name service. */
void privilege_groups_find(const struct privilege_user *user, struct privilege_groups *ret);
/* Becomes the user for good, for a program to be started: real, effective and saved ids, and groups. */
int privilege_become(const struct privilege_user *user, const struct privilege_groups *groups);
