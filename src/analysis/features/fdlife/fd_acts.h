/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_acts.h: what a call does to descriptors, by its operation: derived from ops.def, so that a new call has its place here
 * without a line.
 */
#pragma once

#include "analysis/features/feature.h"

enum fd_act {
	FD_NONE,	/* nothing: no descriptor, or one that is only a path's folder */
	FD_USE,		/* uses `fd` */
	FD_SEND,	/* the same, and moves bytes out of the program: write, sendto, ... */
	FD_RECEIVE,	/* into it: read, recvfrom, ... */
	FD_CONNECT,	/* names the peer of `fd` */
	FD_CLOSE,	/* closes `fd` */
	FD_OPEN,	/* makes the descriptor `ret` of `file` */
	FD_PAIR,	/* makes `fd` of `file` and `fd2` of `file2` */
	FD_ACCEPT,	/* makes `ret` of `file2`, by `fd` */
	FD_DUP,		/* makes `ret` of `file` out of `fd` */
	FD_FCNTL,	/* makes one, changes one or uses one: by a1 */
	FD_CLOSE_RANGE, /* closes a0 ... a1 */
	FD_EXEC,	/* closes what is marked for it */
	FD_EXIT,	/* of a thread */
	FD_EXIT_GROUP,	/* of the process: closes all */
	FD_UNLINK,	/* takes the name `file` away */
	FD_RENAME,	/* gives the name `file2` to another file */
	FD_LINK,	/* gives the file named `file` another name */
};

struct fd_acts {
	uint8_t of[OP_CODE_MAX]; /* enum fd_act */
};

void fd_acts_init(struct fd_acts *a);
/* True for what is on names, and not on a descriptor. */
static inline bool fd_act_by_path(enum fd_act act)
{
	return act == FD_NONE || act >= FD_UNLINK;
}
