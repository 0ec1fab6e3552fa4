/* SPDX-License-Identifier: Apache-2.0 */
/* wire_detail.h: what the object of details sends: memory that arguments point to, and signals; see bpf/details.bpf.c. */
#pragma once

#include "schema/wire.h"

#define WIRE_DETAIL_STEPS 6 /* of a call: one for each argument at most */
#define WIRE_DETAIL_MOST \
	4096 /* bytes of one region; also where the last region of a record may begin */
#define WIRE_DETAIL_LIST 1024 /* bytes of an array of structures */
#define WIRE_DETAIL_TEXT 256  /* bytes of text that is no path */

/* How much memory an argument points to. */
enum wire_detail_how {
	WIRE_DETAIL_NONE,
	WIRE_DETAIL_FIXED,    /* `size` bytes */
	WIRE_DETAIL_COUNTED,  /* so many times `size` as the argument `len` says */
	WIRE_DETAIL_RETURNED, /* so many times `size` as the call returned */
	WIRE_DETAIL_LENGTH_AT, /* as many bytes as the number says to which the argument `len` points */
	WIRE_DETAIL_STRING, /* up to a NUL, `size` bytes at most */
	WIRE_DETAIL_SET, /* a set of descriptors, of which the argument `len` says how many it has */
	WIRE_DETAIL_ROOM, /* a number that the call changed: wire_region.was is what it was before */
	WIRE_DETAIL_VECTOR, /* struct iovec[], as many as the argument `len` says, and what these point to */
	WIRE_DETAIL_MESSAGE,  /* struct msghdr, and what it points to */
	WIRE_DETAIL_MESSAGES, /* struct mmsghdr[], as many as the argument `len` says */
	WIRE_DETAIL_STRINGS, /* char *[] that ends with NULL: the texts one behind the other, each with its NUL */
};

enum wire_detail_flag {
	WIRE_DETAIL_OUT = 1 << 0,  /* filled by the call: nothing unless it succeeded */
	WIRE_DETAIL_DATA = 1 << 1, /* bytes that the call moves: up to the limit */
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

/* Before the record of the call in the same ring; regions follow. */
struct wire_detail {
	struct wire_head head; /* time: the end of the call */
	__u32 thread, call;    /* as in struct wire_op */
	__u16 nr, pad[3];
};
_Static_assert(sizeof(struct wire_detail) == 32, "struct wire_detail");

/* A part of the program's memory; its bytes follow, padded to 8. */
struct wire_region {
	__u64 address;
	__u32 len;
	__u32 was; /* of ROOM what stood there before; of SET 1: as the call was given it */
};
_Static_assert(sizeof(struct wire_region) == 16, "struct wire_region");

/* A signal that a recorded thread took, or that its process ignores. */
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
