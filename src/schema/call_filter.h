/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_filter.h: a filter over one finished call that the kernel programs can test: comparisons of fields
 * with constants, joined by and and or, in postfix order. Shared with src/bpf; no libc.
 *
 * Three-valued as the language is: a field that is unknown makes its comparison unknown; the call
 * is recorded where the whole is true.
 */
#pragma once

#include <linux/types.h>

#define FILTER_STEPS_MAX 32 /* comparisons and joints */
#define FILTER_DEPTH_MAX 8  /* values waiting on the stack */

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
	FILTER_AND, /* of the two values on top of the stack */
	FILTER_OR,
};

struct call_filter_step {
	__u8 code;  /* enum filter_code */
	__u8 field; /* enum filter_field */
	__u8 pad[6];
	__s64 value;
};

struct call_filter {
	__u32 count; /* 0: no filter */
	__u32 pad;
	struct call_filter_step steps[FILTER_STEPS_MAX];
};
