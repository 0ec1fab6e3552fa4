/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h: every operation, its class, and the meaning of each of its arguments. One table (ops.def)
 * drives the kernel programs (which argument is a descriptor, a path, a vector, ...), the printer
 * (strace's notation), `-e` selections (%file, %desc, ...) and the engine's vocabulary.
 *
 * An operation's code is the call's number on x86-64, on all machines, so that reading a trace requires no table.
 * Operations that are not system calls (page faults, operations only in io_uring) are in OP_CODE_NOT_A_CALL ...
 * OP_CODE_NUMBERED - 1, which x86-64 will not reach for decades, and calls that x86-64 lacks start at OP_CODE_OTHER.
 * Any other number that a program uses (5000, -5, a call of x32) is the operation `syscall`, whose number is in
 * op.flags.
 */
#pragma once

#include "schema/flags.h"
#include "base/util.h"
#include "schema/vocab.h"

#define OP_CODE_NOT_A_CALL 960 /* x86-64's calls are below: 0 .. 466 in Linux 6.12 */
#define OP_CODE_FAULT	   960
#define OP_CODE_CALLS	   1024 /* codes below can be selected */
#define OP_CODE_OTHER	   1024 /* calls of other machines that x86-64 lacks */
#define OP_CODE_NUMBERED   1023 /* a call whose number has no code; op.flags has the number */
#define OP_CODE_MAX	   4096
#define OP_ARGS		   6

/* What an argument means. Capture uses some of these; the others are for the printer. */
enum arg_role {
	ARG_NONE,    /* no such argument */
	ARG_INT,     /* a signed number: stored raw */
	ARG_UINT,    /* an unsigned number: stored raw */
	ARG_HEX,     /* an address or a bit set without words: stored raw */
	ARG_PTR,     /* an output buffer or structure: stored raw */
	ARG_FD,	     /* the descriptor -> op.fd, op.file_id */
	ARG_FD2,     /* second descriptor -> op.fd2, op.file2_id */
	ARG_DIRFD,   /* folder at which the next ARG_PATH starts -> base of the name; stored
		      * in op.fd, but raw if the call returns a descriptor (openat),
		      * which op.fd then holds */
	ARG_DIRFD2,  /* same for ARG_PATH2; stored in op.fd2 */
	ARG_PATH,    /* const char * -> file row of op.file_id */
	ARG_PATH2,   /* second path -> op.file2_id */
	ARG_STR,     /* other text (attribute name, file system type): only the pointer is stored */
	ARG_BUF,     /* data that the call moves: pointer stored raw, on request only */
	ARG_SIZE,    /* bytes asked for -> op.size */
	ARG_POS,     /* position in the file -> op.pos */
	ARG_POS2,    /* position in the second file -> op.pos2 */
	ARG_POSP,    /* pointer to the position (sendfile, splice, copy_file_range) -> op.pos */
	ARG_POSP2,   /* same -> op.pos2 */
	ARG_IOV,     /* struct iovec *: sum of lengths -> op.size */
	ARG_IOVCNT,  /* how many of them: stored raw */
	ARG_MSG,     /* struct msghdr *: sum of its vector -> op.size, its address -> peer */
	ARG_MMSG,    /* struct mmsghdr *: same, over all messages */
	ARG_ADDR,    /* struct sockaddr * given to the call -> op.peer_id */
	ARG_ADDRLEN, /* its length */
	ARG_ADDROUT, /* struct sockaddr * filled by the call (accept, recvfrom) -> op.peer_id */
	ARG_FDPAIR,  /* int[2] filled by the call (pipe, socketpair) -> op.fd and op.fd2 */
	ARG_FLAGS,   /* named flags -> op.flags */
	ARG_FLAGS2,  /* a second set of named flags: stored raw */
	ARG_MODE,    /* file mode, octal: stored raw */
	ARG_HOW,     /* struct open_how * (openat2): its flags -> op.flags */
	ARG_CMD,     /* named command of fcntl, ioctl, futex, ...: stored raw */
	ARG_PID,     /* a process or thread id: stored raw */
	ARG_SIG,     /* a signal: stored raw */
	ARG_LEN, /* a length that is not a number of bytes to move (mmap, truncate) -> op.size */
	ARG_LONG, /* a signed 64-bit number (lseek's offset): stored raw; ARG_INT and ARG_PID have 32 bits */
	ARG_DEV,    /* a device number in user space's encoding (mknod): stored raw */
	ARG_TARGET, /* the text of a symbolic link -> argument of the file row of op.file2_id */
};

/* What a call's return value means. */
enum ret_kind {
	RET_INT,   /* 0 or a number */
	RET_BYTES, /* bytes moved -> op.bytes */
	RET_FD, /* a new descriptor -> op.fd (or fd2 if there is an ARG_FD: dup, dup2, accept) and its file */
	RET_ADDR,  /* an address (mmap, brk) */
	RET_NEVER, /* exit, exit_group */
	RET_POS,   /* the file's new position (lseek) -> op.pos */
};

/* strace's sets; `-e %file` selects by them. */
enum op_set {
	OP_SET_FILE = 1 << 0,
	OP_SET_DESC = 1 << 1,
	OP_SET_NETWORK = 1 << 2,
	OP_SET_PROCESS = 1 << 3,
	OP_SET_MEMORY = 1 << 4,
	OP_SET_SIGNAL = 1 << 5,
	OP_SET_IPC = 1 << 6,
	OP_SET_CREDS = 1 << 7,
	OP_SET_CLOCK = 1 << 8,
	OP_SET_STAT = 1 << 9,	      /* %stat */
	OP_SET_LSTAT = 1 << 10,	      /* %lstat */
	OP_SET_FSTAT = 1 << 11,	      /* %fstat */
	OP_SET_STAT_LIKE = 1 << 12,   /* %%stat */
	OP_SET_STATFS = 1 << 13,      /* %statfs */
	OP_SET_FSTATFS = 1 << 14,     /* %fstatfs */
	OP_SET_STATFS_LIKE = 1 << 15, /* %%statfs */
	OP_SET_PURE = 1 << 16,	      /* %pure */
};

struct op_arg {
	uint8_t role;  /* enum arg_role */
	uint8_t words; /* enum word_set (schema/flags.h) for FLAGS, FLAGS2, CMD; 0 is none */
};

struct op_def {
	const char *name; /* NULL: a hole in the numbers */
	uint8_t class;	  /* enum op_class; enrich changes it for reads of pipes and sockets */
	uint8_t ret;	  /* enum ret_kind */
	uint8_t arg_count;
	uint8_t decoded; /* arguments are described; 0: recorded raw */
	uint32_t sets;	 /* enum op_set */
	struct op_arg args[OP_ARGS];
};

/* The definition of a code; NULL for a hole or beyond the table. */
const struct op_def *op_def(uint32_t code);
/* The names of an operation's op.flags, or WORDS_NONE. */
enum word_set op_flag_words(uint32_t code);
/* The code of a name, or -1. */
int op_find(const char *name);
/*
 * Whether the call submits requests to the kernel (libaio, io_uring), whose reads and writes are not calls themselves.
 * True also for io_uring_setup: if the kernel polls, requests need no call at all.
 */
bool op_hands_over(uint32_t code);
/* The direction in which a call moves bytes between its two files: copy_file_range, splice and tee read the first,
 * sendfile writes it. */
enum op_copy { OP_COPY_NONE, OP_COPY_TO_SECOND, OP_COPY_TO_FIRST };
enum op_copy op_copy(uint32_t code);
/* The direction in which a call moves bytes between a file and the program, even if op.bytes does not count them; none
 * for the calls of op_copy(). */
enum op_way { OP_WAY_NONE, OP_WAY_IN, OP_WAY_OUT };
enum op_way op_way(uint32_t code);
/* One past the largest code with a definition. */
uint32_t op_code_end(void);
/* The code of a native call number of this machine (x86-64: the same); OP_CODE_NUMBERED if it is beyond all calls. */
uint32_t op_code_of_native(uint32_t nr);
/* The name of a code; if it has none, "syscall_0x1f4" in buf (32 bytes). */
const char *op_name(uint32_t code, char buf[static 32]);
