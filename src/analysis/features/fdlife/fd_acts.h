/* SPDX-License-Identifier: Apache-2.0 */
/* fd_acts.h: the effect of a call on descriptors, by operation. Derived from ops.def, so that a new call needs no entry here. */
#pragma once

#include "analysis/features/feature.h"

enum fd_act {
	FD_NONE,	/* none: no descriptor, or only the folder of a path */
	FD_USE,		/* uses `fd` */
	FD_SEND,	/* the same, and moves bytes out of the program: write, sendto, ... */
	FD_RECEIVE,	/* into it: read, recvfrom, ... */
	FD_CONNECT,	/* sets the peer of `fd` */
	FD_CLOSE,	/* closes `fd` */
	FD_OPEN,	/* creates descriptor `ret` of `file` */
	FD_PAIR,	/* creates `fd` of `file` and `fd2` of `file2` */
	FD_ACCEPT,	/* creates `ret` of `file2` from `fd` */
	FD_DUP,		/* creates `ret` of `file` from `fd` */
	FD_FCNTL,	/* creates, modifies or uses one, depending on a1 */
	FD_CLOSE_RANGE, /* closes a0 ... a1 */
	FD_EXEC,	/* closes descriptors with close-on-exec */
	FD_EXIT,	/* a thread ends */
	FD_EXIT_GROUP,	/* the process ends: closes all */
	FD_UNLINK,	/* removes the name `file` */
	FD_RENAME,	/* gives the name `file2` to another file */
	FD_LINK,	/* gives the file named `file` another name */
};

struct fd_acts {
	uint8_t of[OP_CODE_MAX]; /* enum fd_act */
};

void fd_acts_init(struct fd_acts *a);
/* True for calls that use names, not descriptors. */
static inline bool fd_act_by_path(enum fd_act act)
{
	return act == FD_NONE || act >= FD_UNLINK;
}
