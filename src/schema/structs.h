/* SPDX-License-Identifier: Apache-2.0 */
/*
 * structs.h: what arguments of calls point to. One table determines how much of it the kernel programs read
 * (schema/wire_detail.h) and how it is printed (cli/trace/call_struct.c).
 */
#pragma once

#include "schema/ops.h"
#include "schema/wire_detail.h"

/* Not on disk: the order may change. */
enum struct_type {
	STRUCT_NONE,
	STRUCT_TEXT,   /* up to a NUL */
	STRUCT_BYTES,  /* content that the call moves */
	STRUCT_RANDOM, /* bytes that are not text */
	STRUCT_INT,
	STRUCT_ROOM,   /* the size of an address buffer */
	STRUCT_STATUS, /* of a child */
	STRUCT_STAT,
	STRUCT_STATX,
	STRUCT_STATFS,
	STRUCT_TIMESPEC,
	STRUCT_TIMESPECS, /* of a file: access, modification */
	STRUCT_TIMEVAL,
	STRUCT_TIMEVALS,
	STRUCT_ITIMERSPEC,
	STRUCT_ITIMERVAL,
	STRUCT_RLIMIT,
	STRUCT_RUSAGE,
	STRUCT_POLL,
	STRUCT_EPOLL,
	STRUCT_FD_SET,
	STRUCT_SIGSET,
	STRUCT_SIGACTION,
	STRUCT_SIGINFO,
	STRUCT_STACK,
	STRUCT_UNAME,
	STRUCT_SYSINFO,
	STRUCT_OPTION, /* of a socket */
	STRUCT_FCNTL,
	STRUCT_IOCTL,
	STRUCT_HOW,
	STRUCT_CLONE,
	STRUCT_CPUS,
	STRUCT_IDS,
	STRUCT_TMS,
	STRUCT_ADDRESS, /* of a socket, whose parts no row has */
	STRUCT_PRCTL,	/* a name, of some options: call_prctl.c */
	STRUCT_STRINGS, /* the arguments of a program */
	STRUCT_VECTOR,
	STRUCT_MESSAGE,
	STRUCT_MESSAGES,
};

struct struct_arg {
	enum struct_type type;
	struct wire_detail_step step;
};

/* What argument `i` of a call points to; type STRUCT_NONE if that is not read. */
struct struct_arg struct_arg(uint32_t code, unsigned int i);
