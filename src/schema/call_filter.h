/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_filter.h: a filter over one finished call that the kernel programs can test: comparisons of fields
 * with constants, joined by and and or, in postfix order. Shared with src/bpf; no libc.
 *
 * Logic is three-valued as in the language: a comparison of an unknown field is unknown, and the call is recorded if
 * the whole filter is true.
 *
 * A condition on the call's number is a set of calls, stored as a bit in each call's plan. A condition on a name, a
 * device or an inode is tested once, when a thread or a file gets that name, and stored as a bit of that version. A
 * condition on the control group is tested by the recorder once for each group, which passes the result to the
 * programs.
 */
#pragma once

#include <linux/types.h>

#define FILTER_STEPS_MAX 32 /* comparisons and joints */
#define FILTER_DEPTH_MAX 8  /* values waiting on the stack */
#define FILTER_SETS_MAX	 16 /* sets of calls: bits of wire_plan.sets */
#define FILTER_SET_WORDS 16 /* of 64 bits: OP_CODE_CALLS of schema/ops.h */
#define FILTER_NAMES_MAX \
	15 /* tests of names: bits of file_version.wanted, beside that of the selection */
#define FILTER_CGROUPS_MAX 31 /* tests of control groups: bits of a number */
#define FILTER_NAME_MAX \
	248 /* bytes of a name; a path with what the records of files add is below WIRE_PREFIX_MAX */

enum filter_field {
	FILTER_DUR,
	FILTER_RET, /* unknown while the call runs */
	FILTER_ERR, /* unknown on success */
	FILTER_OP,
	FILTER_TID,
	FILTER_PID,
	FILTER_UID,
	FILTER_CPU,
	FILTER_FD,
	FILTER_POS,
	FILTER_SIZE,
	FILTER_BYTES,
	FILTER_FLAGS,
	FILTER_COMM, /* FILTER_NAME alone */
	FILTER_PATH, /* of the file: FILTER_NAME, FILTER_NULL, FILTER_KNOWN; so are the next four */
	FILTER_PATH2, /* of the second file */
	FILTER_EXE,   /* of the program that the thread runs */
	FILTER_DEV,
	FILTER_INO,
	FILTER_CGROUP, /* FILTER_NAME alone: a test by number, which the recorder makes */
	FILTER_PEER,   /* FILTER_NAME, FILTER_NULL, FILTER_KNOWN */
	FILTER_FD2,
	FILTER_POS2,
	FILTER_A0, /* to FILTER_A5: see filter_is_unsigned() */
	FILTER_A5 = FILTER_A0 + 5,
	FILTER_FIELDS,
};

enum filter_code {
	FILTER_LT, /* field < value, ... */
	FILTER_LE,
	FILTER_GT,
	FILTER_GE,
	FILTER_EQ,
	FILTER_NE,
	FILTER_BITS,	 /* (field & value >> 32) == (__u32)value */
	FILTER_NOT_BITS, /* the opposite */
	FILTER_NULL,	 /* field is unknown */
	FILTER_KNOWN,
	FILTER_SET,  /* of FILTER_OP: in sets[value] */
	FILTER_NAME, /* names[value] holds; of FILTER_CGROUP: the test of that number */
	FILTER_AND,  /* of the two values on top of the stack */
	FILTER_OR,
};

struct call_filter_step {
	__u8 code;  /* enum filter_code */
	__u8 field; /* enum filter_field */
	__u8 pad[6];
	__s64 value;
};

enum filter_how {
	NAME_EQUAL,
	NAME_BEGINS, /* of a comm alone */
	NAME_BELOW,  /* of a path: in this folder or one of its folders; "" is the root */
	NAME_WITHIN, /* the same, or equal */
	NAME_BASE,   /* its last part is equal, begins so, ends so */
	NAME_BASE_BEGINS,
	NAME_BASE_ENDS,
};

/*
 * A test of a name: "/var/lib" and NAME_BELOW; or of a number of a file: FILTER_INO, FILTER_EQ and the number, as in a
 * step; or of an address, see enum filter_peer. If the kernel cannot decide a test, the test passes.
 */
struct call_filter_name {
	__u8 field; /* FILTER_COMM, FILTER_PATH (of whatever file), FILTER_DEV, FILTER_INO, FILTER_PEER */
	__u8 how; /* enum filter_how; of a number: enum filter_code; of an address: enum filter_peer */
	__u8 opposite; /* it must not be so */
	__u8 pattern; /* from a glob: of a comm, which also looks at what follows a slash; of an address */
	__u32 len;
	__s64 value;
	char text[FILTER_NAME_MAX]; /* a path without its last slash */
};

/* Which addresses fit. `value`: the port, -1: any. */
enum filter_peer {
	PEER_UNIX, /* text[len]: the name as the socket has it, with a NUL before one that is abstract */
	PEER_INET, /* text: PEER_BYTES of the address, as many of a mask, and then len bytes that say so */
	PEER_INET6,
	PEER_ANY, /* a port alone; text as before */
};
#define PEER_BYTES 16

struct call_filter {
	__u32 count;  /* 0: no filter */
	__u32 fields; /* a bit for each enum filter_field that a step has */
	__u32 set_count, name_count;
	struct call_filter_step steps[FILTER_STEPS_MAX];
	__u64 sets[FILTER_SETS_MAX][FILTER_SET_WORDS]; /* a bit for each operation code */
	struct call_filter_name names[FILTER_NAMES_MAX];
};

/* Raw arguments and inode numbers are unsigned 64-bit numbers. Their highest bit is inverted here, so that a signed
 * comparison orders them correctly. */
#define FILTER_TURNED (1ull << 63)

_Static_assert(sizeof(struct call_filter_step) == 16,
	       "no padding: user space fills it, the kernel reads it");
_Static_assert(sizeof(struct call_filter_name) == 16 + FILTER_NAME_MAX,
	       "no padding: tests are compared as bytes");
_Static_assert(FILTER_FIELDS <= 32, "call_filter.fields has a bit for each field");
_Static_assert(2 * PEER_BYTES < FILTER_NAME_MAX, "text has room for an address and its mask");

static inline int filter_is_unsigned(__u32 field)
{
	return field == FILTER_INO || (field >= FILTER_A0 && field <= FILTER_A5);
}
