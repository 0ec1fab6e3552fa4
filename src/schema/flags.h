/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flags.h: the names of flags and commands, one set for each kind of argument, in strace's notation:
 * "O_RDONLY|O_CLOEXEC", "SEEK_END"; bits without a name in hex.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/util.h"

/* Not on disk: the order may change. */
enum word_set {
	WORDS_NONE,
	WORDS_ACCESS,
	WORDS_ARCH_PRCTL,
	WORDS_AT,
	WORDS_AT_ACCESS,
	WORDS_AT_HANDLE,
	WORDS_AT_MOUNT,
	WORDS_AT_REMOVE,
	WORDS_AT_STATX,
	WORDS_BPF,
	WORDS_CAP,
	WORDS_CAP_AMBIENT,
	WORDS_CLOCK,
	WORDS_CLONE,
	WORDS_CLOSE_RANGE,
	WORDS_DELETE_MODULE,
	WORDS_EFD,
	WORDS_EPOLL_CREATE,
	WORDS_EPOLL_EVENT,
	WORDS_EPOLL_OP,
	WORDS_FADVISE,
	WORDS_FALLOC,
	WORDS_FAMILY,
	WORDS_FAULT,
	WORDS_FAN_INIT,
	WORDS_FAN_MARK,
	WORDS_FAN_MASK,
	WORDS_FCNTL,
	WORDS_FD,
	WORDS_FINIT_MODULE,
	WORDS_FLOCK,
	WORDS_FSCONFIG,
	WORDS_FSMOUNT,
	WORDS_FSOPEN,
	WORDS_FSPICK,
	WORDS_FUTEX,
	WORDS_FUTEX2,
	WORDS_GET_MEMPOLICY,
	WORDS_GRND,
	WORDS_INOTIFY,
	WORDS_IN_INIT,
	WORDS_IOCTL,
	WORDS_IOPRIO_WHO,
	WORDS_IORING_ENTER,
	WORDS_IORING_REGISTER,
	WORDS_IPC,
	WORDS_IPC_CMD,
	WORDS_IPC_MSG,
	WORDS_IPV6_OPTION,
	WORDS_IP_OPTION,
	WORDS_ITIMER,
	WORDS_LANDLOCK,
	WORDS_LANDLOCK_RULE,
	WORDS_MADVISE,
	WORDS_MAP,
	WORDS_MBIND,
	WORDS_MEMBARRIER,
	WORDS_MEMFD,
	WORDS_MLOCK,
	WORDS_MLOCKALL,
	WORDS_MOUNT,
	WORDS_MOUNT_ATTR,
	WORDS_MOVE_MOUNT,
	WORDS_MPOL,
	WORDS_MREMAP,
	WORDS_MSG,
	WORDS_MSYNC,
	WORDS_NETLINK,
	WORDS_NETLINK_OPTION,
	WORDS_OPEN,
	WORDS_OPEN_TREE,
	WORDS_O_FILE,
	WORDS_O_ONLY,
	WORDS_PERF,
	WORDS_PIDFD,
	WORDS_POLL,
	WORDS_PRCTL,
	WORDS_PRIO,
	WORDS_PROT,
	WORDS_PROTO,
	WORDS_PTRACE,
	WORDS_QUOTACTL,
	WORDS_RENAME,
	WORDS_RESOLVE,
	WORDS_RLIMIT,
	WORDS_RUSAGE,
	WORDS_RWF,
	WORDS_SCHED,
	WORDS_SEAL,
	WORDS_SECCOMP,
	WORDS_SFD,
	WORDS_SHADOW_STACK,
	WORDS_SHM,
	WORDS_SHMGET,
	WORDS_SHUT,
	WORDS_SIGNAL,
	WORDS_SIG_HOW,
	WORDS_SOCK_FLAGS,
	WORDS_SOCK_OPTION,
	WORDS_SOCK_TYPE,
	WORDS_SOL,
	WORDS_SPLICE,
	WORDS_STATX,
	WORDS_SWAPON,
	WORDS_SYNC_RANGE,
	WORDS_TCP_OPTION,
	WORDS_TFD,
	WORDS_TFD_TIMER,
	WORDS_TIMER,
	WORDS_UFFD,
	WORDS_UMOUNT,
	WORDS_UNSHARE,
	WORDS_WAIT,
	WORDS_WAITID,
	WORDS_WHENCE,
	WORDS_XATTR,
	WORDS_COUNT,
};

/*
 * Appends the value as names: "O_WRONLY|O_CREAT|0x80000000", "0". If no bit is known, a comment after the number names
 * the set, as in strace. 0 or -ENOMEM.
 */
int flags_print(struct buf *to, enum word_set set, uint64_t value);
/* Parses names and numbers (decimal, 0x, octal with a leading 0) joined by '|'. Errors suggest the nearest name. */
int flags_parse(enum word_set set, const char *text, uint64_t *ret, struct error *err);
/* The name of a single code or bit, or NULL. */
const char *flags_word(enum word_set set, uint64_t value);

/* A file mode: "0644", with a file type "S_IFREG|0644". */
int flags_print_mode(struct buf *to, uint64_t mode);
/* A device number in user space's encoding: "makedev(0x8, 0x1)". */
int flags_print_dev(struct buf *to, uint64_t dev);
