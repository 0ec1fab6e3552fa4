/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_pile.h: the sums by file of all workers of a pass, in one place: 56 bytes per file of the trace, independent
 * of the number of workers. A worker sums the calls of one block and then adds the result here.
 */
#pragma once

#include "server/sums/sums.h"

/* Sums of every file of every trace, by id; unused slots are 0. Starts as {0}. */
struct file_dense {
	struct sums_file *by_trace[ID_RECORDINGS_MAX];
	size_t count[ID_RECORDINGS_MAX];
	bool made;
};

void file_dense_free(struct file_dense *d);
bool file_dense_has(const struct file_dense *d, int64_t id);
/* The slot of an id; NULL: it has none. */
struct sums_file *file_dense_at(const struct file_dense *d, int64_t id);
/* Adds all members except the id. */
void file_sums_add(struct sums_file *to, const struct sums_file *f);
/* Adds to the file's slot, or to `rest`. 0 or -ENOMEM. */
int file_dense_add(struct file_dense *d, struct sums *rest, const struct sums_file *f);

struct file_pile;
int file_pile_new(struct file_pile **ret, const struct store *s) _must_check_;
void file_pile_free(struct file_pile *p);
/* Callable from any thread. 0 or -ENOMEM. */
int file_pile_add(struct file_pile *p, const struct sums_file *files, size_t count);
/* Hands over the contents, once; `d` and *rest must be empty. Nothing may be added afterwards. */
void file_pile_take(struct file_pile *p, struct file_dense *d, struct sums **rest);
