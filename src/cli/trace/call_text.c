/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/call_text.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "cli/trace/call_memory.h"
#include "cli/trace/call_names.h"
#include "cli/trace/call_prctl.h"
#include "cli/terminal/format.h"
#include "enrich/secret.h"
#include "schema/flags.h"
#include "schema/vocab.h"

#define ARGV_MAX     32		  /* arguments of a program to show, as many as strace shows */
#define ARGUMENT_MAX ((size_t)64) /* bytes of each */

static const struct call_text_style plain_style;

static bool call_text_has_role(const struct call_writer *w, enum arg_role role)
{
	for (unsigned int i = 0; i < w->def->arg_count; i++) {
		if (w->def->args[i].role == role)
			return true;
	}
	return false;
}

/* ---- single arguments ---- */

static void call_text_put_number(struct call_writer *w, unsigned int column,
				 const char *fmt_unknown)
{
	if (call_has(w, column))
		call_put(w, "%lld", (long long)call_value(w, column, 0));
	else
		call_put(w, "%s", fmt_unknown);
}

static void put_size(struct call_writer *w)
{
	if (!call_has(w, OP_SIZE))
		call_put(w, "?");
	else if (w->style->brief)
		call_put(w, "%s B", format_count((uint64_t)call_value(w, OP_SIZE, 0)).s);
	else
		call_put(w, "%llu", (unsigned long long)call_value(w, OP_SIZE, 0));
}

static void put_words(struct call_writer *w, enum word_set words, unsigned int column)
{
	if (call_has(w, column))
		flags_print(w->to, words, (uint64_t)call_value(w, column, 0));
	else
		call_put(w, "?");
}

static void put_fd_argument(struct call_writer *w, unsigned int fd, unsigned int file)
{
	/* for a call with a path argument, file_id is the path's file; a new descriptor is in the result */
	bool other = call_text_has_role(w, file == OP_FILE_ID ? ARG_PATH : ARG_PATH2) ||
		     (fd == OP_FD2 && w->def->ret == RET_FD);
	int64_t file_id = other ? -1 : call_value(w, file, -1);

	if (call_has(w, fd))
		call_put_fd(w, call_value(w, fd, 0), file_id);
	else
		call_put(w, "?");
}

static void put_pair(struct call_writer *w)
{
	if (!call_has(w, OP_FD) || !call_has(w, OP_FD2) || call_value(w, OP_RET, -1) < 0) {
		call_put(w, "...");
		return;
	}
	call_put(w, "[");
	call_put_fd(w, call_value(w, OP_FD, 0), call_value(w, OP_FILE_ID, -1));
	call_put(w, ", ");
	call_put_fd(w, call_value(w, OP_FD2, 0), call_value(w, OP_FILE2_ID, -1));
	call_put(w, "]");
}

static void put_position(struct call_writer *w, unsigned int column, unsigned int i)
{
	bool none = call_memory_recorded(w) && call_has(w, OP_A0 + i) &&
		    !call_value(w, OP_A0 + i, 0); /* NULL: the file's own position */

	if (call_has(w, column) && !none)
		call_put(w, "[%lld]", (long long)call_value(w, column, 0));
	else
		call_put(w, "NULL");
}

/* Prints addresses and other plain numbers; the call determines whether 0 is NULL. */
static void put_raw(struct call_writer *w, unsigned int column, enum arg_role role)
{
	uint64_t v = (uint64_t)call_value(w, column, 0);
	bool pointer = role == ARG_PTR || role == ARG_STR || role == ARG_BUF ||
		       (role == ARG_HEX && w->def->sets & OP_SET_MEMORY);

	if (!call_has(w, column))
		call_put(w, pointer ? "..." : "?");
	else if (!v)
		call_put(w, pointer ? "NULL" : "0");
	else if (role == ARG_HEX ||
		 (role == ARG_BUF ? w->style->content_max > 0 : call_memory_recorded(w)))
		call_put(w, "%#llx", (unsigned long long)v);
	else
		call_put(w, "...");
}

static void put_message(struct call_writer *w)
{
	int64_t peer = call_value(w, OP_PEER_ID, -1);

	if (peer < 0) {
		call_put(w, "{...}");
		return;
	}
	call_put(w, "{msg_name=");
	call_put_address(w, peer);
	call_put(w, ", ...}");
}

static bool is_unread(const struct call_writer *w)
{
	return call_value(w, OP_STATUS, 0) & STATUS_ARG_UNREAD;
}

/* The address that a call took or returned; -1 for accept() that asks for none, whose peer is that of its new socket. */
static int64_t address_of(const struct call_writer *w)
{
	int64_t peer = call_value(w, OP_PEER_ID, -1);

	return peer == call_value(w, OP_FILE2_ID, -1) ? -1 : peer;
}

/* Prints an address that the call took or returned. Receiving calls usually have none. */
static void put_address(struct call_writer *w, enum arg_role role, unsigned int i)
{
	bool absent = role == ARG_ADDROUT ? call_value(w, OP_RET, -1) >= 0
					  : call_text_has_role(w, ARG_BUF);

	if (address_of(w) >= 0)
		call_put_address(w, address_of(w));
	else if (call_memory_recorded(w))
		put_raw(w, OP_A0 + i, ARG_PTR);
	else /* nothing is known if it could not be read, or was truncated for lack of room */
		call_put(w, absent && !is_unread(w) ? "NULL" : "...");
}

static void put_address_len(struct call_writer *w, unsigned int i)
{
	if (call_memory_recorded(w) && call_has(w, OP_A0 + i))
		call_put(w, "%d", (int32_t)call_value(w, OP_A0 + i, 0));
	else if (address_of(w) >= 0)
		call_put_address_len(w, address_of(w));
	else
		call_put(w, call_text_has_role(w, ARG_BUF) && !is_unread(w) ? "0" : "...");
}

/* True if the bit is AT_EMPTY_PATH in the call's flags: openat's flags are different. */
static bool takes_empty_path(const struct call_writer *w)
{
	enum word_set words = op_flag_words((uint32_t)call_value(w, OP_OP, -1));
	const char *word = words != WORDS_NONE ? flags_word(words, AT_EMPTY_PATH) : NULL;

	return word && !strcmp(word, "AT_EMPTY_PATH");
}

/* AT_EMPTY_PATH with a descriptor: the file is the descriptor's own (libc's fstat), and the path is "". */
static bool is_empty_path(const struct call_writer *w)
{
	struct dims_file room;
	const struct dims_file *f =
		w->dims ? dims_file(w->dims, call_value(w, OP_FILE_ID, -1), &room) : NULL;

	return call_value(w, OP_FLAGS, 0) & AT_EMPTY_PATH && takes_empty_path(w) && f &&
	       !f->argument.data && !f->name_only && call_text_has_role(w, ARG_DIRFD) &&
	       (int32_t)call_value(w, OP_FD, AT_FDCWD) >= 0;
}

/* True if the path is NULL: the call applies to the descriptor before it (utimensat). */
static bool is_null_path(const struct call_writer *w, unsigned int i)
{
	return i < w->def->arg_count && w->def->args[i].role == ARG_PATH &&
	       call_memory_recorded(w) && call_has(w, OP_A0 + i) && !call_value(w, OP_A0 + i, 0);
}

static void put_dirfd(struct call_writer *w, unsigned int i, bool second)
{
	/* if the call returns a descriptor, op.fd is that one */
	bool raw = call_has(w, OP_A0 + i) || (!second && w->def->ret == RET_FD);
	unsigned int column = raw ? OP_A0 + i : second ? OP_FD2 : OP_FD;
	/* the raw register has 32 significant bits; the working directory has no descriptor */
	int64_t fd = (int32_t)call_value(w, column, AT_FDCWD);
	bool two = second && call_text_has_role(w, ARG_PATH2);

	if (!second && (is_empty_path(w) || is_null_path(w, i + 1)))
		call_put_fd(w, fd, call_value(w, OP_FILE_ID, -1));
	else
		call_put_dirfd(w, !raw || call_has(w, column), fd,
			       call_value(w, two ? OP_FILE2_ID : OP_FILE_ID, -1), second);
}

static void put_raw_number(struct call_writer *w, unsigned int column, enum arg_role role)
{
	int64_t v = call_value(w, column, 0);

	if (!call_has(w, column))
		call_put(w, "?");
	else if (role == ARG_INT || role == ARG_PID)
		call_put(w, "%d", (int32_t)v);
	else if (role == ARG_UINT)
		call_put(w, "%llu", (unsigned long long)v);
	else
		call_put(w, "%lld", (long long)v);
}

/* ---- arguments whose form depends on another ---- */

static bool creates(const struct call_writer *w)
{
	int64_t flags = call_value(w, OP_FLAGS, 0);

	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
}

static bool is_device(const struct call_writer *w, unsigned int mode_column)
{
	int64_t mode = call_value(w, mode_column, 0);

	return S_ISCHR((mode_t)mode) || S_ISBLK((mode_t)mode);
}

/* The arguments that a futex operation has, as a bit mask. */
static bool is_futex_argument(const struct call_writer *w, unsigned int i)
{
	static const uint8_t has[] = {
		[0] = 0x0f,  /* WAIT: address, operation, value, time */
		[1] = 0x07,  /* WAKE */
		[2] = 0x07,  /* FD */
		[3] = 0x1f,  /* REQUEUE: a second value and address */
		[4] = 0x3f,  /* CMP_REQUEUE */
		[5] = 0x3f,  /* WAKE_OP */
		[6] = 0x0b,  /* LOCK_PI */
		[7] = 0x03,  /* UNLOCK_PI */
		[8] = 0x03,  /* TRYLOCK_PI */
		[9] = 0x2f,  /* WAIT_BITSET */
		[10] = 0x27, /* WAKE_BITSET */
		[11] = 0x1f, /* WAIT_REQUEUE_PI */
		[12] = 0x3f, /* CMP_REQUEUE_PI */
		[13] = 0x0b, /* LOCK_PI2 */
	};
	uint64_t operation = (uint64_t)call_value(w, OP_A1, 0) & 0x7f;

	return operation >= ARRAY_SIZE(has) || has[operation] >> i & 1;
}

/* Prints the timeout of a futex, and the bits of a wait or a wake-up. */
static bool put_futex_argument(struct call_writer *w, unsigned int i)
{
	uint64_t operation = (uint64_t)call_value(w, OP_A1, 0) & 0x7f;
	uint32_t v = (uint32_t)call_value(w, OP_A0 + i, 0);
	bool second = (operation >= 3 && operation <= 5) || operation == 12;

	if (i == 3 && second)
		call_put(w, "%u", v);
	else if (i == 3 && !call_value(w, OP_A3, 0))
		call_put(w, "NULL");
	else if (i == 5 && (operation == 9 || operation == 10) && v == UINT32_MAX)
		call_put(w, "FUTEX_BITSET_MATCH_ANY");
	else if (i == 5)
		call_put(w, "%#x", v);
	else
		return false;
	return true;
}

/* Arguments that strace omits too. */
static bool is_left_out(const struct call_writer *w, unsigned int i)
{
	enum arg_role role = w->def->args[i].role;

	if (role == ARG_NONE)
		return true;
	if (w->style->brief &&
	    (role == ARG_BUF || role == ARG_PTR || role == ARG_IOV || role == ARG_IOVCNT ||
	     role == ARG_MSG || role == ARG_MMSG || role == ARG_ADDRLEN || role == ARG_ADDROUT))
		return true;
	if (role == ARG_MODE && call_text_has_role(w, ARG_FLAGS) && w->def->ret == RET_FD)
		return !creates(w);
	if (role == ARG_PTR && call_is(w, "mq_open"))
		return !creates(w);
	if (role == ARG_DEV && i && w->def->args[i - 1].role == ARG_MODE)
		return !is_device(w, OP_A0 + i - 1);
	if (call_is(w, "futex") && !is_futex_argument(w, i))
		return true;
	if (call_is(w, "prctl") && !call_prctl_has(w, i))
		return true;
	if (call_is(w, "ioctl") && i == 2) {
		int64_t command = call_value(w, OP_A1, -1) & UINT32_MAX;

		return command == FIOCLEX || command == FIONCLEX;
	}
	if (call_is(w, "fcntl") && i == 2) {
		int64_t command = call_value(w, OP_A1, -1) & UINT32_MAX;

		return command == F_GETFD || command == F_GETFL || command == F_GETOWN ||
		       command == F_GETSIG || command == F_GETLEASE || command == F_GETPIPE_SZ ||
		       command == F_GET_SEALS;
	}
	return false;
}

static void put_fcntl_argument(struct call_writer *w)
{
	uint64_t v = (uint64_t)call_value(w, OP_A2, 0);

	switch (call_value(w, OP_A1, -1) & UINT32_MAX) {
	case F_SETFL:
		flags_print(w->to, WORDS_OPEN, v);
		break;
	case F_SETFD:
		flags_print(w->to, WORDS_FD, v);
		break;
	case F_ADD_SEALS:
		flags_print(w->to, WORDS_SEAL, v);
		break;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		call_put(w, v ? "{...}" : "NULL");
		break;
	default:
		call_put(w, "%d", (int32_t)v);
	}
}

static void put_socket_option(struct call_writer *w)
{
	static const struct {
		int64_t level;
		enum word_set words;
	} levels[] = {
		{SOL_SOCKET, WORDS_SOCK_OPTION},     {IPPROTO_TCP, WORDS_TCP_OPTION},
		{IPPROTO_IP, WORDS_IP_OPTION},	     {IPPROTO_IPV6, WORDS_IPV6_OPTION},
		{SOL_NETLINK, WORDS_NETLINK_OPTION},
	};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (levels[i].level == (call_value(w, OP_A1, -1) & UINT32_MAX)) {
			put_words(w, levels[i].words, OP_A2);
			return;
		}
	}
	put_raw_number(w, OP_A2, ARG_UINT);
}

/* The arguments of the process's latest exec, which is this call if the process runs the program named here. */
static struct bytes argv_of_process(const struct call_writer *w)
{
	const struct dims_thread *t =
		w->dims ? dims_thread(w->dims, call_value(w, OP_THREAD_ID, -1)) : NULL;
	const struct dims_process *p = t ? dims_process(w->dims, t->process_id) : NULL;
	struct bytes name = w->dims ? dims_file_version_name(w->dims, call_value(w, OP_FILE_ID, -1))
				    : (struct bytes){0};
	bool same = p && p->exe.len == name.len && name.len &&
		    !memcmp(p->exe.data, name.data, name.len);

	return same && call_value(w, OP_RET, -1) == 0 ? p->argv : (struct bytes){0};
}

/* Prints argument `i`, an argument vector, as passed to the call; if not recorded, as the process has it. */
static void put_argv(struct call_writer *w, unsigned int i)
{
	struct bytes given = call_memory(w, call_memory_address(w, i)),
		     left = given.len ? given : argv_of_process(w);
	_cleanup_buf_ struct buf masked = {0};

	/* each recorded argument ends with a NUL; the process's are only separated by one */
	given.len -= given.len && !given.data[given.len - 1];
	if (given.len && secret_mask(given, &masked, NULL) > 0) {
		if (buf_append(&masked, "", 1) < 0)
			buf_fail(w->to, -ENOMEM);
		left = (struct bytes){masked.data, masked.len};
	}
	if (!left.len) {
		call_put(w, "[...]");
		return;
	}
	call_put(w, "[");
	for (unsigned int n = 0; left.len; n++) {
		const uint8_t *end = memchr(left.data, 0, left.len);
		size_t len = end ? (size_t)(end - left.data) : left.len;

		if (n == ARGV_MAX) {
			call_put(w, ", ...");
			break;
		}
		call_put(w, "%s\"", n ? ", " : "");
		call_text_escape(w->to, (struct bytes){left.data, MIN(len, ARGUMENT_MAX)}, "\"");
		call_put(w, len > ARGUMENT_MAX ? "\"..." : "\"");
		left.data += MIN(len + 1, left.len);
		left.len -= MIN(len + 1, left.len);
	}
	call_put(w, "]");
}

static void put_protocol(struct call_writer *w, unsigned int column)
{
	int64_t family = call_value(w, OP_A0, -1);

	if (family == AF_INET || family == AF_INET6)
		put_words(w, WORDS_PROTO, column);
	else if (family == AF_NETLINK)
		put_words(w, WORDS_NETLINK, column);
	else
		put_raw_number(w, column, ARG_INT);
}

/* The name of a memfd is part of the path that the kernel gives it. */
static bool put_memfd_name(struct call_writer *w)
{
	static const char prefix[] = "/memfd:";
	struct bytes name = w->dims ? dims_file_version_name(w->dims, call_value(w, OP_FILE_ID, -1))
				    : (struct bytes){0};
	size_t len = sizeof(prefix) - 1;

	if (name.len < len || memcmp(name.data, prefix, len) != 0)
		return false;
	call_put(w, "\"");
	call_text_escape(w->to, (struct bytes){name.data + len, name.len - len}, "\"");
	call_put(w, "\"");
	return true;
}

/* Prints the environment: its address, and the number of variables. */
static void put_environment(struct call_writer *w, unsigned int i)
{
	struct bytes count = call_memory(w, call_memory_address(w, i));

	put_raw(w, OP_A0 + i, ARG_PTR);
	if (count.len == 4 && call_value(w, OP_RET, -1) == 0)
		call_put(w, " /* %u vars */", memory_u32(count, 0));
}

static bool is_exec(const struct call_writer *w)
{
	return call_is(w, "execve") || call_is(w, "execveat");
}

/* Prints arguments with a special form. False: it is not one of these. */
static bool put_special(struct call_writer *w, unsigned int i)
{
	if (call_is(w, "fcntl") && i == 2 && call_has(w, OP_A2))
		put_fcntl_argument(w);
	else if (call_is(w, "futex"))
		return put_futex_argument(w, i);
	else if (call_is(w, "prctl"))
		return call_prctl_put(w, i);
	else if ((call_is(w, "setsockopt") || call_is(w, "getsockopt")) && i == 2)
		put_socket_option(w);
	else if (w->def->args[i].role == ARG_PTR && i && w->def->args[i - 1].role == ARG_PATH &&
		 is_exec(w))
		put_argv(w, i);
	else if (w->def->args[i].role == ARG_PTR && is_exec(w))
		put_environment(w, i);
	else if ((call_is(w, "socket") || call_is(w, "socketpair")) && i == 2)
		put_protocol(w, OP_A2);
	else if (call_is(w, "memfd_create") && i == 0)
		return put_memfd_name(w);
	else
		return false;
	return true;
}

static void put_argument(struct call_writer *w, unsigned int i)
{
	const struct op_arg *arg = &w->def->args[i];

	switch ((enum arg_role)arg->role) {
	case ARG_FD:
		put_fd_argument(w, OP_FD, OP_FILE_ID);
		break;
	case ARG_FD2:
		put_fd_argument(w, OP_FD2, OP_FILE2_ID);
		break;
	case ARG_DIRFD:
	case ARG_DIRFD2:
		put_dirfd(w, i, arg->role == ARG_DIRFD2);
		break;
	case ARG_PATH:
		if (call_put_path_given(w, i, call_value(w, OP_FILE_ID, -1)))
			break;
		if (is_null_path(w, i))
			call_put(w, "NULL");
		else if (is_empty_path(w))
			call_put(w, "\"\"");
		else if (call_text_has_role(w, ARG_DIRFD))
			call_put_path_at(w, call_value(w, OP_FILE_ID, -1));
		else
			call_put_path(w, call_value(w, OP_FILE_ID, -1), true);
		break;
	case ARG_PATH2:
		if (call_put_path_given(w, i, call_value(w, OP_FILE2_ID, -1)))
			break;
		call_put_path(w, call_value(w, OP_FILE2_ID, -1),
			      !call_text_has_role(w, ARG_DIRFD2));
		break;
	case ARG_TARGET: /* older traces have only its address */
		if (call_put_path_given(w, i, -1))
			break;
		if (call_has(w, OP_A0 + i) && !call_has(w, OP_FILE2_ID))
			call_put(w, "...");
		else
			call_put_path(w, call_value(w, OP_FILE2_ID, -1), false);
		break;
	case ARG_BUF:
		put_raw(w, OP_A0 + i, ARG_BUF);
		break;
	case ARG_IOV:
	case ARG_MMSG:
		call_put(w, "[...]");
		break;
	case ARG_SIZE:
	case ARG_LEN:
		put_size(w);
		break;
	case ARG_POS:
		if (call_is(w, "mmap") && call_value(w, OP_POS, 0) > 0)
			call_put(w, "%#llx", (unsigned long long)call_value(w, OP_POS, 0));
		else
			call_text_put_number(w, OP_POS, "?");
		break;
	case ARG_POS2:
		call_text_put_number(w, OP_POS2, "?");
		break;
	case ARG_POSP:
		put_position(w, OP_POS, i);
		break;
	case ARG_POSP2:
		put_position(w, OP_POS2, i);
		break;
	case ARG_MSG:
		put_message(w);
		break;
	case ARG_ADDR:
	case ARG_ADDROUT:
		put_address(w, arg->role, i);
		break;
	case ARG_ADDRLEN:
		put_address_len(w, i);
		break;
	case ARG_FDPAIR:
		put_pair(w);
		break;
	case ARG_FLAGS:
		put_words(w, arg->words, OP_FLAGS);
		break;
	case ARG_HOW:
		call_put(w, "{flags=");
		put_words(w, arg->words, OP_FLAGS);
		call_put(w, ", ...}");
		break;
	case ARG_FLAGS2:
	case ARG_CMD:
		put_words(w, arg->words, OP_A0 + i);
		break;
	case ARG_SIG:
		put_words(w, WORDS_SIGNAL, OP_A0 + i);
		break;
	case ARG_MODE:
		if (call_has(w, OP_A0 + i))
			flags_print_mode(w->to, (uint64_t)call_value(w, OP_A0 + i, 0));
		else
			call_put(w, "?");
		break;
	case ARG_DEV:
		flags_print_dev(w->to, (uint64_t)call_value(w, OP_A0 + i, 0));
		break;
	case ARG_PTR:
	case ARG_STR:
	case ARG_HEX:
		put_raw(w, OP_A0 + i, arg->role);
		break;
	case ARG_NONE:
	case ARG_INT:
	case ARG_UINT:
	case ARG_LONG:
	case ARG_IOVCNT:
	case ARG_PID:
		put_raw_number(w, OP_A0 + i, arg->role);
		break;
	}
}

/* ---- whole calls ---- */

/* strace prints clone's arguments by name, and only those that its flags use. */
static void put_clone(struct call_writer *w)
{
	int64_t flags = call_value(w, OP_FLAGS, 0);

	call_put(w, "child_stack=");
	if (call_value(w, OP_A1, 0))
		call_put(w, "%#llx", (unsigned long long)call_value(w, OP_A1, 0));
	else
		call_put(w, call_has(w, OP_A1) ? "NULL" : "?");
	call_put(w, ", flags=");
	put_words(w, WORDS_CLONE, OP_FLAGS);
	if (flags & (CLONE_PARENT_SETTID | CLONE_PIDFD))
		call_put(w, ", parent_tid=...");
	if (flags & CLONE_SETTLS && call_has(w, OP_A4))
		call_put(w, ", tls=%#llx", (unsigned long long)call_value(w, OP_A4, 0));
	if (flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID) && call_has(w, OP_A3))
		call_put(w, ", child_tidptr=%#llx", (unsigned long long)call_value(w, OP_A3, 0));
}

/* Prints the registers of a call that the table does not decode. */
static void put_undecoded(struct call_writer *w)
{
	bool any = false;

	for (unsigned int i = 0; i < OP_ARGS; i++) {
		if (!call_has(w, OP_A0 + i))
			continue;
		call_put(w, "%s%#llx", any ? ", " : "",
			 (unsigned long long)call_value(w, OP_A0 + i, 0));
		any = true;
	}
}

/* Prints the number of a call without a name, like strace. */
static void call_text_put_name(struct call_writer *w)
{
	int64_t code = call_value(w, OP_OP, -1);
	char name[32];

	if (code == OP_CODE_NUMBERED && call_has(w, OP_FLAGS))
		call_put(w, "syscall_%#x(", (uint32_t)call_value(w, OP_FLAGS, 0));
	else
		call_put(w, "%s(", code < 0 ? "?" : op_name((uint32_t)code, name));
}

/* True for arguments printed as structures; for paths, more is known than their text. */
static bool is_struct(struct call_writer *w, unsigned int i)
{
	enum arg_role role = w->def->args[i].role;

	return role != ARG_PATH && role != ARG_PATH2 && role != ARG_TARGET && call_put_struct(w, i);
}

static void call_text_put_call(struct call_writer *w)
{
	bool any = false;

	call_text_put_name(w);
	if (!w->def || !w->def->decoded) {
		put_undecoded(w);
	} else if (call_is(w, "clone")) {
		put_clone(w);
	} else {
		for (unsigned int i = 0; i < w->def->arg_count; i++) {
			if (is_left_out(w, i))
				continue;
			if (any)
				call_put(w, ", ");
			any = true;
			if (!is_struct(w, i) && !put_special(w, i))
				put_argument(w, i);
		}
	}
	call_put(w, ")");
}

static struct call_writer writer(struct buf *to, const struct batch *op, size_t row,
				 const struct dims *dims, const struct call_text_style *style)
{
	int64_t code = batch_get(op, OP_OP, row, -1);

	assert(op->table == TABLE_OP && row < op->rows);
	return (struct call_writer){
		.to = to,
		.op = op,
		.row = row,
		.dims = dims,
		.style = style ? style : &plain_style,
		.def = code >= 0 && code < OP_CODE_MAX ? op_def((uint32_t)code) : NULL,
	};
}

int call_text(struct buf *to, const struct batch *op, size_t row, const struct dims *dims,
	      const struct call_text_style *style)
{
	struct call_writer w = writer(to, op, row, dims, style);
	size_t start = to->len;

	call_text_put_call(&w);
	for (size_t used = to->len - start; used + 1 < w.style->align; used++)
		call_put(&w, " ");
	call_put(&w, " = ");
	call_put_result(&w);
	return buf_status(to);
}

int call_text_entry(struct buf *to, const struct batch *op, size_t row, const struct dims *dims,
		    const struct call_text_style *style)
{
	struct call_writer w = writer(to, op, row, dims, style);

	call_text_put_call(&w);
	return buf_status(to);
}

int call_text_returned(struct buf *to, const struct batch *op, size_t row, const struct dims *dims,
		       const struct call_text_style *style)
{
	struct call_writer w = writer(to, op, row, dims, style);

	call_put_result_struct(&w);
	return buf_status(to);
}

int call_text_signal(struct buf *to, const struct batch *signal, size_t row)
{
	struct call_writer w = {.to = to, .style = &plain_style};

	call_put_siginfo(&w, signal, row);
	return buf_status(to);
}

int call_text_result(struct buf *to, const struct batch *op, size_t row, const struct dims *dims,
		     const struct call_text_style *style)
{
	struct call_writer w = writer(to, op, row, dims, style);

	call_put_result(&w);
	return buf_status(to);
}
