/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alive.h: the dimension rows of a recording that goes on in another file. Each file begins with the machine, the control
 * groups, and the processes and threads that have not ended; whatever else its rows refer to comes before them, so that it
 * needs no other file. Inside store/ only.
 *
 * A recorder cannot know which of a million files will be used again, so the last row of each is kept in a nameless file
 * (base/records.h), with a bit for each row that the current file has; a row is written again when a call first
 * refers to it.
 */
#pragma once

#include "batch/batch.h"

struct alive;

/* Where rows go. They come in the order of schema_dimensions, and what they refer to came before or comes with them. */
struct alive_sink {
	int (*take)(void *arg, const struct batch *rows);
	void *arg;
};

int alive_new(struct alive **ret, const struct alive_sink *to) _must_check_;
void alive_free(struct alive *a);
DEFINE_CLEANUP(struct alive *, alive_free)

/* Takes note of dimension rows that go into the file. 0, -ENOMEM, or -EINVAL for ids that are none. */
int alive_take(struct alive *a, const struct batch *rows) _must_check_;
/* Another file begins: gives the rows that it begins with. 0, or what the sink said. */
int alive_begin(struct alive *a) _must_check_;
/* Gives the rows that `b` refers to, and those that these refer to, where they are not in the file. */
int alive_need(struct alive *a, const struct batch *b) _must_check_;
