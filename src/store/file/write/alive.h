/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alive.h: the dimension rows of a recording that continues in another file. Each file begins with the machine, the
 * control groups, and the processes and threads that have not ended. Other rows that it refers to are written before
 * they are needed, so that every file can be read alone. Inside store/ only.
 *
 * A recorder cannot know which of a million files will be used again, so the last row of each is kept in a nameless
 * file (base/records.h), with a bit for each row that the current file has; a row is written again when a call first
 * refers to it.
 */
#pragma once

#include "batch/batch.h"

struct alive;

/*
 * Where rows go. They come in the order of schema_dimensions, and after or together with the rows that they refer to.
 */
struct alive_sink {
	int (*take)(void *arg, const struct batch *rows);
	void *arg;
};

int alive_new(struct alive **ret, const struct alive_sink *to) _must_check_;
void alive_free(struct alive *a);
DEFINE_CLEANUP(struct alive *, alive_free)

/* Notes dimension rows that go into the file. 0, -ENOMEM, or -EINVAL for invalid ids. */
int alive_take(struct alive *a, const struct batch *rows) _must_check_;
/* Begins another file: hands over the rows that it begins with. 0, or the sink's error. */
int alive_begin(struct alive *a) _must_check_;
/* Hands over the rows that `b` refers to, directly or not, and that are not in the file yet. */
int alive_need(struct alive *a, const struct batch *b) _must_check_;
