// SPDX-License-Identifier: Apache-2.0
#include "analysis/features/fdlife/fd_acts.h"

#include <string.h>

/* Calls whose effect does not follow from their arguments. */
static const struct {
	const char *name;
	enum fd_act act;
} fd_acts_named[] = {
	{"close", FD_CLOSE},
	{"close_range", FD_CLOSE_RANGE},
	{"dup", FD_DUP},
	{"dup2", FD_DUP},
	{"dup3", FD_DUP},
	{"fcntl", FD_FCNTL},
	{"connect", FD_CONNECT},
	{"execve", FD_EXEC},
	{"execveat", FD_EXEC},
	{"exit", FD_EXIT},
	{"exit_group", FD_EXIT_GROUP},
	{"write", FD_SEND},
	{"pwrite64", FD_SEND},
	{"writev", FD_SEND},
	{"pwritev", FD_SEND},
	{"pwritev2", FD_SEND},
	{"sendto", FD_SEND},
	{"sendmsg", FD_SEND},
	{"sendmmsg", FD_SEND},
	{"sendfile", FD_SEND},
	{"read", FD_RECEIVE},
	{"pread64", FD_RECEIVE},
	{"readv", FD_RECEIVE},
	{"preadv", FD_RECEIVE},
	{"preadv2", FD_RECEIVE},
	{"recvfrom", FD_RECEIVE},
	{"unlink", FD_UNLINK},
	{"unlinkat", FD_UNLINK},
	{"rmdir", FD_UNLINK},
	{"rename", FD_RENAME},
	{"renameat", FD_RENAME},
	{"renameat2", FD_RENAME},
	{"link", FD_LINK},
	{"linkat", FD_LINK},
	{"recvmsg", FD_RECEIVE},
	{"recvmmsg", FD_RECEIVE},
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
	for (size_t i = 0; i < ARRAY_SIZE(fd_acts_named); i++) {
		int op = op_find(fd_acts_named[i].name);

		assert(op >= 0 && op < OP_CODE_MAX);
		a->of[op] = (uint8_t)fd_acts_named[i].act;
	}
}
