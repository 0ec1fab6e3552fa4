/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: derives what the kernel programs do for each call from the table of operations. */
#include "capture/ebpf/internal.h"

#include <string.h>

_Static_assert(WIRE_CALL_OTHER == OP_CODE_NUMBERED && WIRE_CALLS_KNOWN == OP_CODE_NOT_A_CALL,
	       "one number on every machine");
_Static_assert(RET_BYTES == 1 && RET_FD == 2 && RET_POS == 5, "src/bpf/lib/state.h repeats these");
_Static_assert(STATUS_UNFINISHED == 1 << 0 && STATUS_INTERRUPTED == 1 << 1 &&
		       STATUS_DENIED == 1 << 2 && STATUS_CONTESTED == 1 << 3 &&
		       STATUS_APPEND == 1 << 4 && STATUS_HELD == 1 << 5 &&
		       STATUS_NO_START == 1 << 6 && STATUS_NORETURN == 1 << 7 &&
		       STATUS_ARG_UNREAD == 1 << 9 && STATUS_SLEPT == 1 << 10,
	       "src/bpf/lib/state.h repeats these");

/* What a successful call changes in addition to its own arguments. */
static const struct {
	const char *name;
	uint32_t flags;
} effects[] = {
	{"rename", WIRE_PLAN_NAMES | WIRE_PLAN_UNLINK},
	{"renameat", WIRE_PLAN_NAMES | WIRE_PLAN_UNLINK},
	{"renameat2", WIRE_PLAN_NAMES | WIRE_PLAN_UNLINK},
	{"mount", WIRE_PLAN_NAMES},
	{"umount2", WIRE_PLAN_NAMES},
	{"move_mount", WIRE_PLAN_NAMES},
	{"pivot_root", WIRE_PLAN_NAMES},
	{"chroot", WIRE_PLAN_NAMES},
	{"chdir", WIRE_PLAN_CHDIR},
	{"setns", WIRE_PLAN_NAMES | WIRE_PLAN_CREDS},
	{"unshare", WIRE_PLAN_NAMES | WIRE_PLAN_CREDS},
	{"unlink", WIRE_PLAN_UNLINK},
	{"unlinkat", WIRE_PLAN_UNLINK},
	{"rmdir", WIRE_PLAN_UNLINK},
	{"open", WIRE_PLAN_CREATE | WIRE_PLAN_OPEN},
	{"openat", WIRE_PLAN_CREATE | WIRE_PLAN_OPEN},
	{"openat2", WIRE_PLAN_CREATE | WIRE_PLAN_OPEN},
	{"creat", WIRE_PLAN_CREATE | WIRE_PLAN_OPEN},
	{"open_by_handle_at", WIRE_PLAN_CREATE},
	{"pwrite64", WIRE_PLAN_PWRITE},
	{"pwritev", WIRE_PLAN_PWRITE},
	{"pwritev2", WIRE_PLAN_PWRITE | WIRE_PLAN_CURPOS},
	{"preadv2", WIRE_PLAN_CURPOS},
	{"setuid", WIRE_PLAN_CREDS},
	{"setreuid", WIRE_PLAN_CREDS},
	{"setresuid", WIRE_PLAN_CREDS},
	{"setfsuid", WIRE_PLAN_CREDS},
	{"bind", WIRE_PLAN_SOCK},
	{"connect", WIRE_PLAN_SOCK},
	{"listen", WIRE_PLAN_SOCK},
	{"recvfrom", WIRE_PLAN_RECEIVES},
	{"recvmsg", WIRE_PLAN_RECEIVES},
	{"recvmmsg", WIRE_PLAN_RECEIVES},
	{"execve", WIRE_PLAN_EXEC},
	{"execveat", WIRE_PLAN_EXEC},
	{"poll", WIRE_PLAN_POLL},
	{"ppoll", WIRE_PLAN_POLL},
	{"select", WIRE_PLAN_SELECT},
	{"pselect6", WIRE_PLAN_SELECT},
	{"epoll_wait", WIRE_PLAN_EPOLL},
	{"epoll_pwait", WIRE_PLAN_EPOLL},
	{"epoll_pwait2", WIRE_PLAN_EPOLL},
	{"msync", WIRE_PLAN_MAPPED},
	{"io_submit", WIRE_PLAN_SUBMITS},
	{"io_getevents", WIRE_PLAN_REAPS},
	{"io_pgetevents", WIRE_PLAN_REAPS},
	{"prctl", WIRE_PLAN_ANNOUNCES},
	{"fcntl", WIRE_PLAN_LOCKS},
	{"access", WIRE_PLAN_MARKS},
	{"faccessat", WIRE_PLAN_MARKS},
	{"faccessat2", WIRE_PLAN_MARKS},
};

/* The effect of calls on the names in their arguments path and path2. */
static const struct {
	const char *name;
	uint8_t fates[2]; /* enum name_fate */
} fates[] = {
	{"rename", {NAME_MOVES, NAME_NEW}},
	{"renameat", {NAME_MOVES, NAME_NEW}},
	{"renameat2", {NAME_MOVES, NAME_NEW}},
	{"unlink", {NAME_ENDS}},
	{"unlinkat", {NAME_ENDS}},
	{"rmdir", {NAME_ENDS}},
	{"mkdir", {NAME_NEW}},
	{"mkdirat", {NAME_NEW}},
	{"mknod", {NAME_NEW}},
	{"mknodat", {NAME_NEW}},
	{"symlink", {NAME_NEW}},
	{"symlinkat", {NAME_NEW}},
	{"link", {NAME_STAYS, NAME_NEW}},
	{"linkat", {NAME_STAYS, NAME_NEW}},
	{"mount", {NAME_COVERS}},
	{"umount2", {NAME_COVERS}},
	{"move_mount", {NAME_COVERS, NAME_COVERS}}, /* the first is usually empty: of open_tree() */
	{"pivot_root", {NAME_COVERS}},
};

/* The field of a plan that has the argument of this role; NULL: there is none. */
static int8_t *plan_slot(struct wire_plan *p, enum arg_role role)
{
#define SLOT(member) offsetof(struct wire_plan, member)
	static const size_t slots[] = {
		[ARG_FD] = SLOT(fd),	       [ARG_FD2] = SLOT(fd2),
		[ARG_DIRFD] = SLOT(dirfd),     [ARG_DIRFD2] = SLOT(dirfd2),
		[ARG_PATH] = SLOT(path),       [ARG_PATH2] = SLOT(path2),
		[ARG_TARGET] = SLOT(path2),    [ARG_SIZE] = SLOT(size),
		[ARG_LEN] = SLOT(size),	       [ARG_POS] = SLOT(pos),
		[ARG_POS2] = SLOT(pos2),       [ARG_POSP] = SLOT(posp),
		[ARG_POSP2] = SLOT(posp2),     [ARG_IOV] = SLOT(iov),
		[ARG_IOVCNT] = SLOT(iovcnt),   [ARG_MSG] = SLOT(msg),
		[ARG_MMSG] = SLOT(mmsg),       [ARG_ADDR] = SLOT(addr),
		[ARG_ADDRLEN] = SLOT(addrlen), [ARG_ADDROUT] = SLOT(addrout),
		[ARG_FDPAIR] = SLOT(fdpair),   [ARG_FLAGS] = SLOT(opflags),
		[ARG_HOW] = SLOT(how),
	};
#undef SLOT

	/* no slot is at the beginning of a plan */
	return role < ARRAY_SIZE(slots) && slots[role] ? (int8_t *)p + slots[role] : NULL;
}

/* True if the argument is kept in a0 ... a5 because no other column holds it. */
static bool kept_raw(const struct op_def *d, enum arg_role role)
{
	switch (role) {
	case ARG_NONE:
	case ARG_BUF:
	case ARG_IOV:
	case ARG_MSG:
	case ARG_MMSG:
	case ARG_ADDR:
	case ARG_ADDROUT:
		return false;
	case ARG_ADDRLEN:
	case ARG_IOVCNT:
		return true;
	case ARG_DIRFD: /* op.fd is the new descriptor */
		return d->ret == RET_FD;
	default:
		return !plan_slot(&(struct wire_plan){0}, role);
	}
}

static bool is_rich(const struct wire_plan *p)
{
	return p->path >= 0 || p->path2 >= 0 || p->fd2 >= 0 || p->posp >= 0 || p->posp2 >= 0 ||
	       p->iov >= 0 || p->msg >= 0 || p->mmsg >= 0 || p->addr >= 0 || p->addrout >= 0 ||
	       p->fdpair >= 0 || p->how >= 0 || p->ret == RET_FD ||
	       (p->flags & (WIRE_PLAN_SOCK | WIRE_PLAN_EXEC | WIRE_PLAN_SELECT | WIRE_PLAN_MAPPED |
			    WIRE_PLAN_SUBMITS | WIRE_PLAN_LOCKS));
}

static void plan_fields(struct wire_plan *p)
{
	p->op_fd = p->fd >= 0 ? p->fd : p->dirfd >= 0 ? p->dirfd : WIRE_ARG_MINUS_ONE;
	p->op_size = p->size >= 0 ? p->size : WIRE_ARG_ZERO;
	p->op_flags = p->opflags >= 0 ? p->opflags : WIRE_ARG_ZERO;
}

void plan_of_op(uint32_t code, bool record, struct wire_plan *ret)
{
	const struct op_def *d = op_def(code);

	*ret = (struct wire_plan){.flags = record ? WIRE_PLAN_RECORD : 0};
	memset(&ret->fd, -1, offsetof(struct wire_plan, op_fd) - offsetof(struct wire_plan, fd));
	if (!d) {
		ret->raw = (1 << WIRE_ARGS) - 1;
		plan_fields(ret);
		return;
	}
	ret->ret = d->ret;
	for (int i = 0; i < OP_ARGS; i++) {
		enum arg_role role = d->args[i].role;
		int8_t *slot = plan_slot(ret, role);

		if (slot && *slot < 0)
			*slot = i;
		if (role == ARG_TARGET)
			ret->flags |= WIRE_PLAN_TARGET;
		if (d->decoded ? kept_raw(d, role) : i < d->arg_count)
			ret->raw |= 1 << i;
	}
	for (size_t i = 0; i < ARRAY_SIZE(effects); i++) {
		if (!strcmp(effects[i].name, d->name))
			ret->flags |= effects[i].flags;
	}
	if (ret->flags & (WIRE_PLAN_NAMES | WIRE_PLAN_UNLINK | WIRE_PLAN_CREATE | WIRE_PLAN_CREDS |
			  WIRE_PLAN_AIO | WIRE_PLAN_ANNOUNCES))
		ret->flags |= WIRE_PLAN_EVER;
	if (is_rich(ret))
		ret->flags |= WIRE_PLAN_RICH;
	if (ret->pos < 0 || (ret->flags & WIRE_PLAN_CURPOS))
		ret->flags |= WIRE_PLAN_OWNPOS;
	plan_fields(ret);
}

void plan_fates(uint32_t code, uint8_t ret[2])
{
	const struct op_def *d = op_def(code);

	memset(ret, NAME_STAYS, 2);
	for (size_t i = 0; d && i < ARRAY_SIZE(fates); i++) {
		if (!strcmp(fates[i].name, d->name))
			memcpy(ret, fates[i].fates, 2);
	}
}

/* Whether the recorder resolves a path argument of the call; never if the call failed. */
static bool path_wanted(const struct wire_plan *p)
{
	return (p->flags & WIRE_PLAN_RECORD) && (p->path >= 0 || p->path2 >= 0) &&
	       !(p->flags & (WIRE_PLAN_OPEN | WIRE_PLAN_EXEC));
}

void plans_of(const struct select *s, struct wire_plan *ret)
{
	bool wanted = false;

	for (uint32_t nr = 0; nr < WIRE_CALLS_MAX; nr++) {
		uint32_t code = op_code_of_native(nr);

		plan_of_op(code, select_op(s, code), &ret[nr]);
		wanted = wanted || path_wanted(&ret[nr]);
	}
	for (uint32_t nr = 0; nr < WIRE_CALLS_MAX && wanted && !s->failed_only; nr++) {
		uint8_t fate[2];

		plan_fates(op_code_of_native(nr), fate);
		if (fate[0] != NAME_STAYS || fate[1] != NAME_STAYS)
			ret[nr].flags |= WIRE_PLAN_FATE;
	}
}
