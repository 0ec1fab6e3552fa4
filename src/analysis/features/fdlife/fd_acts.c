// SPDX-License-Identifier: Apache-2.0
#include "analysis/features/fdlife/fd_acts.h"

#include <string.h>

/* Calls whose effect does not follow from their arguments. */
static const struct feature_ops fd_ops[] = {
	{FD_CLOSE, "close"},
	{FD_CLOSE_RANGE, "close_range"},
	{FD_DUP, "dup dup2 dup3"},
	{FD_FCNTL, "fcntl"},
	{FD_CONNECT, "connect"},
	{FD_EXEC, "execve execveat"},
	{FD_EXIT, "exit"},
	{FD_EXIT_GROUP, "exit_group"},
	{FD_SEND, "write pwrite64 writev pwritev pwritev2 sendto sendmsg sendmmsg sendfile"},
	{FD_RECEIVE, "read pread64 readv preadv preadv2 recvfrom recvmsg recvmmsg"},
	{FD_UNLINK, "unlink unlinkat rmdir"},
	{FD_RENAME, "rename renameat renameat2"},
	{FD_LINK, "link linkat"},
};

static bool fd_acts_has(const struct op_def *d, enum arg_role role)
{
	for (unsigned int i = 0; i < d->arg_count; i++) {
		if (d->args[i].role == role)
			return true;
	}
	return false;
}

static enum fd_act fd_act_of(const struct op_def *d)
{
	/* if a call also has a path, its file is that of the path */
	bool names_one = fd_acts_has(d, ARG_FD) && !fd_acts_has(d, ARG_PATH);

	if (fd_acts_has(d, ARG_FDPAIR))
		return FD_PAIR;
	if (d->ret == RET_FD)
		return names_one ? FD_ACCEPT : FD_OPEN;
	return names_one ? FD_USE : FD_NONE;
}

void fd_acts_init(struct fd_acts *a)
{
	memset(a, FD_NONE, sizeof(*a));
	for (uint32_t i = 0; i < op_code_end(); i++) {
		const struct op_def *d = op_def(i);

		if (d && d->name)
			a->of[i] = (uint8_t)fd_act_of(d);
	}
	feature_acts(fd_ops, ARRAY_SIZE(fd_ops), a->of);
}
