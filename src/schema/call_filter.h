/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_filter.h: a filter over one finished call that the kernel programs can evaluate: comparisons of fields with
 * constants, joined by `and` and `or`, in postfix order. Shared with src/bpf; no libc.
 *
 * Its fields are those whose value the programs have at hand when a call ends, and tests of names, which are evaluated
 * once for each version of a file or thread. The recorder evaluates the complete expression in any case, so everything
 * else in the language is left to it: a call that only the recorder can reject is sent, and costs as much as one that
 * is recorded.
 *
 * Logic is three-valued as in the language: a comparison with an unknown field is unknown, and the call is recorded if
 * the whole filter is true. Conditions that only the recorder can decide pass.
 *
 * A condition on the call's number or class is a set of calls, stored as a bit in each call's plan. A condition on a
 * name is stored as a bit of each version.
 */
#pragma once

#include <linux/types.h>

#define FILTER_STEPS_MAX 32  /* comparisons and operators */
#define FILTER_DEPTH_MAX 8   /* depth of the value stack */
#define FILTER_SETS_MAX	 16  /* sets of calls: bits of wire_plan.sets */
#define FILTER_SET_WORDS 16  /* in units of 64 bits: OP_CODE_CALLS of schema/ops.h */
#define FILTER_NAMES_MAX 15  /* name tests */
#define FILTER_NAME_MAX	 248 /* length of a name; with what file records add, below WIRE_NAMES_MAX */

/* Bits of file_version.wanted (src/bpf/lib/state.h): the tests that a file passes. */
#define FILTER_WANTED_SELECTED 1 /* its path is selected */
#define FILTER_WANTED_TEST(n)  (2u << (n))

enum filter_field {
	FILTER_OP, /* only with FILTER_SET */
	FILTER_DUR,
	FILTER_RET, /* unknown while the call runs */
	FILTER_ERR, /* unknown on success */
	FILTER_TID,
	FILTER_PID,
	FILTER_UID,
	FILTER_FD,
	FILTER_SIZE,
	FILTER_BYTES,
	FILTER_COMM, /* only with FILTER_NAME */
	FILTER_PATH, /* of the file; for this and the next: FILTER_NAME, FILTER_NULL, FILTER_KNOWN */
	FILTER_EXE,  /* of the program that the thread runs */
	FILTER_FIELDS,
};

enum filter_code {
	FILTER_LT, /* field < value, ... */
	FILTER_LE,
	FILTER_GT,
	FILTER_GE,
	FILTER_EQ,
	FILTER_NE,
	FILTER_NULL, /* field is unknown */
	FILTER_KNOWN,
	FILTER_SET,  /* of FILTER_OP: in sets[value] */
	FILTER_NAME, /* the test names[value] is true */
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
	NAME_BEGINS, /* only of a comm */
	NAME_BELOW,  /* of a path: anywhere below this folder; "" is the root */
	NAME_WITHIN, /* NAME_BELOW or NAME_EQUAL */
	NAME_BASE,   /* its last component is equal; begins so */
	NAME_BASE_BEGINS,
	/* Of a selected path (-P): as NAME_WITHIN, for the name that the process or the recorder uses. */
	NAME_SELECTED,
};

/* A test of a name, e.g. "/var/lib" and NAME_BELOW. If the kernel cannot decide a test, the test passes. */
struct call_filter_name {
	__u8 field;    /* FILTER_COMM, or FILTER_PATH for any kind of file name */
	__u8 how;      /* enum filter_how */
	__u8 opposite; /* negated */
	__u8 pattern;  /* from a glob over a comm, which also matches after a slash */
	__u32 len;
	char text[FILTER_NAME_MAX]; /* a path has no trailing slash */
};

struct call_filter {
	__u32 count;  /* 0: no filter */
	__u32 fields; /* one bit for each enum filter_field used */
	__u32 set_count, name_count;
	struct call_filter_step steps[FILTER_STEPS_MAX];
	__u64 sets[FILTER_SETS_MAX][FILTER_SET_WORDS]; /* one bit for each operation code */
	struct call_filter_name names[FILTER_NAMES_MAX];
};

_Static_assert(sizeof(struct call_filter_step) == 16,
	       "no padding: user space fills it, the kernel reads it");
_Static_assert(sizeof(struct call_filter_name) == 8 + FILTER_NAME_MAX,
	       "no padding: tests are compared as bytes");
_Static_assert(FILTER_FIELDS <= 32, "call_filter.fields has a bit for each field");
