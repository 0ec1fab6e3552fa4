/* SPDX-License-Identifier: Apache-2.0 */
/* wire_detail.h: what the details object sends: memory that arguments point to, and signals; see bpf/details.bpf.c. */
#pragma once

#include "schema/wire.h"

#define WIRE_DETAIL_STEPS 6 /* per call: at most one for each argument */
#define WIRE_DETAIL_MOST \
	4096 /* bytes per region, and limit of the offset of a record's last region */
#define WIRE_DETAIL_LIST 1024 /* bytes of a structure array */
#define WIRE_DETAIL_TEXT 256  /* bytes of text other than paths */

/* How much memory an argument points to. */
enum wire_detail_how {
	WIRE_DETAIL_NONE,
	WIRE_DETAIL_FIXED,     /* `size` bytes */
	WIRE_DETAIL_COUNTED,   /* `size` times the value of argument `len` */
	WIRE_DETAIL_RETURNED,  /* `size` times the return value */
	WIRE_DETAIL_LENGTH_AT, /* as many bytes as the number that argument `len` points to */
	WIRE_DETAIL_STRING,    /* up to a NUL, at most `size` bytes */
	WIRE_DETAIL_SET,       /* a set of descriptors; argument `len` is their number */
	WIRE_DETAIL_ROOM,     /* a number that the call changed: wire_region.was is its old value */
	WIRE_DETAIL_VECTOR,   /* struct iovec[] of length argument `len`, and what these point to */
	WIRE_DETAIL_MESSAGE,  /* struct msghdr, and what it points to */
	WIRE_DETAIL_MESSAGES, /* struct mmsghdr[] of length argument `len` */
	WIRE_DETAIL_STRINGS, /* char *[] terminated by NULL: the texts one after another, each with its NUL */
};

enum wire_detail_flag {
	WIRE_DETAIL_OUT = 1 << 0,  /* filled by the call, only if it succeeded */
	WIRE_DETAIL_DATA = 1 << 1, /* bytes that the call moves: limited in length */
};

struct wire_detail_step {
	__u8 how; /* enum wire_detail_how */
	__u8 arg, len;
	__u8 flags; /* enum wire_detail_flag */
	__u16 size, pad;
};

struct wire_detail_plan {
	struct wire_detail_step steps[WIRE_DETAIL_STEPS];
	__u32 count, pad;
};

/* Precedes the record of the call in the same ring; regions follow. */
struct wire_detail {
	struct wire_head head; /* time: the end of the call */
	__u32 thread, call;    /* as in struct wire_op */
	__u16 nr, pad[3];
};
_Static_assert(sizeof(struct wire_detail) == 32, "struct wire_detail");

/* A region of the program's memory; its bytes follow, padded to 8. */
struct wire_region {
	__u64 address;
	__u32 len;
	__u32 was; /* of ROOM: the old value; of SET 1: as passed to the call */
};
_Static_assert(sizeof(struct wire_region) == 16, "struct wire_region");

/* A signal that a recorded thread handled or that its process ignores. */
struct wire_signal_taken {
	struct wire_head head;
	__u64 address; /* of a fault */
	__s64 utime, stime;
	__u32 thread;
	__s32 number, code, error;
	__s32 pid;
	__u32 uid;
	__s32 status;
	__u32 ignored; /* 1 */
};
_Static_assert(sizeof(struct wire_signal_taken) == 72, "struct wire_signal_taken");
