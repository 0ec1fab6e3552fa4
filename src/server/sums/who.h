/* SPDX-License-Identifier: Apache-2.0 */
/* who.h: words and names in JSON documents, as in the results of queries. */
#pragma once

#include "names/file_lines.h"
#include "names/names.h"
#include "server/internal.h"
#include "server/http/js.h"

struct names_text {
	char s[48];
};

/* "read", "data", "ENOENT"; "err_4000" for a code without a word. */
struct names_text names_code(const char *vocab, int64_t code);
/* Writes the thread's comm in that version; null if unknown. */
void names_put_comm(struct js *j, const char *key, const struct dims *d, int64_t thread_id);
/* Writes the latest name of the file; null if it has none. */
void names_put_file(struct js *j, const char *key, const struct dims *d, int64_t file_id);
/* Writes the name of the file's line; null if it has none. */
void names_put_line(const struct server *s, struct js *j, const char *key, int64_t line);
/* The word for the files of a line with several: "files", "alike", "connections". */
const char *names_line_kind(const struct server *s, int64_t line);
/* Writes the members start and dur of a row of op. */
void names_put_call(const struct server *s, struct js *j, const struct batch *b, size_t row);
/* Writes the name of a process's program, without its pid; null if unknown. */
void names_put_program(struct js *j, const char *key, const struct dims *d, int64_t process_id);
/* Writes the process's arguments in shell syntax; null if unknown. */
void names_put_argv(struct js *j, const char *key, const struct dims_process *p);
/*
 * The data behind the functions below is computed once per state of the trace, by the first question that needs it or
 * in advance: all of it; what names_one_file() and names_next_other() need, which is quick; that and the folders. 0
 * or -ENOMEM.
 */
int names_prepare(struct server *s);
int names_prepare_files(struct server *s);
int names_prepare_folders(struct server *s);
/* Does a part of names_prepare() in advance. 1 while there is more. */
int names_step(struct server *s);
/* file_lines_file(); call names_prepare_files() first, within the same question. */
int64_t names_one_file(const struct server *s, int64_t file_id);
/* Iterates over the ids for which names_one_file() returns another id, with that id; the walk starts as {0}. */
bool names_next_other(const struct server *s, struct file_lines_walk *w, int64_t *ret_id,
		      int64_t *ret_file);
/* The same for lines, after names_prepare(); names_next_line() may return the id itself. */
int64_t names_one_line(const struct server *s, int64_t file_id);
bool names_next_line(const struct server *s, struct file_lines_walk *w, int64_t *ret_id,
		     int64_t *ret_line);
/*
 * The file that the request's path identifies by any of its ids, as names_one_file() returns it. -ENOENT with q->err.
 */
int names_find_file(struct question *q, int64_t *ret);
