/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h: the parts of a filter that ask of control groups alone, tested once for each group, for the kernel programs:
 * they cannot know what weir calls it.
 */
#pragma once

#include "base/error.h"
#include "query/kernel/pushdown.h"

struct record_judge;

/* The expressions must outlive it. 0, -ENOMEM, or what is wrong with a pattern. */
int record_judge_new(struct record_judge **ret, const struct pushdown_cgroups *tests,
		     struct error *err);
void record_judge_free(struct record_judge *j);
DEFINE_CLEANUP(struct record_judge *, record_judge_free)
/* A bit for each test that a call of this group passes; `path` NULL: it is not known. Negative: it cannot be told. */
int64_t record_judge_cgroup(struct record_judge *j, const char *path);
