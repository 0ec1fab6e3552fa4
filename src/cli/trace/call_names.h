/* SPDX-License-Identifier: Apache-2.0 */
/* call_names.h: prints descriptors, addresses and results as strace -yy annotates them; only for call_text.c. */
#pragma once

#include <string.h>

#include "cli/trace/call_text.h"
#include "schema/ops.h"

/* A row being written. Failures stay in `error`, so that only the end checks. */
struct call_writer {
	struct buf *to;
	const struct batch *op;
	size_t row;
	const struct dims *dims;
	const struct op_def *def; /* NULL: a call without a definition */
	const struct call_text_style *style;
};

void call_put(struct call_writer *w, const char *fmt, ...) _printf_(2, 3);

static inline bool call_is(const struct call_writer *w, const char *name)
{
	return w->def && !strcmp(w->def->name, name);
}

static inline bool call_has(const struct call_writer *w, unsigned int column)
{
	return !batch_is_null(w->op, column, w->row);
}

static inline int64_t call_value(const struct call_writer *w, unsigned int column,
				 int64_t otherwise)
{
	return batch_get(w->op, column, w->row, otherwise);
}

/* "3</tmp/x>", "3<TCP:[127.0.0.1:80->127.0.0.1:4711]>", "3" */
void call_put_fd(struct call_writer *w, int64_t fd, int64_t file_id);
/*
 * "AT_FDCWD</tmp>": the folder that the path of `file_id` is relative to, if known; `second`: for the call's second
 * path.
 */
void call_put_dirfd(struct call_writer *w, bool known, int64_t fd, int64_t file_id, bool second);
/* Appends the folder that the path of `file_id`, the call's first, is relative to, if known. 0 or -ENOMEM. */
int call_folder(const struct call_writer *w, int64_t file_id, struct buf *to);
/*
 * Prints a path argument in quotes, as given if the trace has that; `whole`: including the folder that it is relative
 * to, for calls without a descriptor that names it.
 */
void call_put_path(struct call_writer *w, int64_t file_id, bool whole);
/* Prints the path of a call whose descriptor names the folder: only the part below it. */
void call_put_path_at(struct call_writer *w, int64_t file_id);
/* {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")} */
void call_put_address(struct call_writer *w, int64_t peer_id);
/* Prints the length of that address, if the family determines it; else "...". */
void call_put_address_len(struct call_writer *w, int64_t peer_id);
void call_put_result(struct call_writer *w);
