/* SPDX-License-Identifier: GPL-2.0-only */
/* compare.h: one comparison of a filter, schema/call_filter.h. */
#pragma once

#include "bpf/kernel.h"
#include "schema/call_filter.h"

enum known {
	FIELD_UNKNOWN,
	FIELD_KNOWN,
	FIELD_LATER /* known to the recorder, or when the record is complete: every test passes */
};

static __always_inline bool compare(__u32 code, enum known known, __s64 v, __s64 with)
{
	if (known == FIELD_LATER)
		return true;
	if (code == FILTER_NULL)
		return known == FIELD_UNKNOWN;
	if (known == FIELD_UNKNOWN)
		return false;
	switch (code) {
	case FILTER_NAME: /* bits by number of the test */
		return v >> (with & 31) & 1;
	case FILTER_BITS:
		return (v & with >> 32 & ~0u) == (with & ~0u);
	case FILTER_NOT_BITS:
		return (v & with >> 32 & ~0u) != (with & ~0u);
	case FILTER_LT:
		return v < with;
	case FILTER_LE:
		return v <= with;
	case FILTER_GT:
		return v > with;
	case FILTER_GE:
		return v >= with;
	case FILTER_EQ:
		return v == with;
	case FILTER_NE:
		return v != with;
	default:
		return true; /* FILTER_KNOWN */
	}
}
