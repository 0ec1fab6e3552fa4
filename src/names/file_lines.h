/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_lines.h: which file ids denote the same file, and which files share a line of a table. The only definition;
 * report, stat, top and the pages use it.
 *
 * The same file:
 *   the versions of a generation (an inode until it is deleted);
 *   a name known only from calls (a stat, an open that failed) and the file that has it; "etc" and "etc/" are one name.
 * On one line:
 *   files that had the same path of the same file system one after another, deleted and recreated;
 *   anonymous inodes of one kind;
 *   sockets that share an address: those of a service ("clients, 10.0.0.1:80"), those connected to one ("to 10.0.0.1:80").
 *   In a trace of more than ID_RECORDINGS_MAX (256) recordings, each socket of the further recordings has a line of its own.
 * Files of two machines are never unified.
 *
 * Both mappings are numbers, computed once for each file when it appears or changes. A list of a million files
 * therefore formats only the names that it shows.
 */
#pragma once

#include "base/buf.h"
#include "batch/dims.h"

struct file_lines;

int file_lines_new(struct file_lines **ret) _must_check_;
void file_lines_free(struct file_lines *l);
DEFINE_CLEANUP(struct file_lines *, file_lines_free)
/* Processes what is new or changed since the last call. The caller must have `l` for itself. 0 or -ENOMEM. */
int file_lines_update(struct file_lines *l, const struct dims *d) _must_check_;
/*
 * The same in steps of `most` files. FILE_LINES_FILES ends when file_lines_file() and file_lines_next_other() can be
 * used; the remaining work is on sockets and may run concurrently with these two. Returns 1 while the part is
 * unfinished.
 */
enum file_lines_part {
	FILE_LINES_FILES,
	FILE_LINES_ALL,
};
int file_lines_step(struct file_lines *l, const struct dims *d, enum file_lines_part part,
		    size_t most) _must_check_;

/* The id that represents the file of a version. */
int64_t file_lines_file(const struct file_lines *l, const struct dims *d, int64_t id);
/* The id that represents the line of a version: the id of one of its files. */
int64_t file_lines_line(const struct file_lines *l, const struct dims *d, int64_t id);
/* False if file_lines_line() of this file is the file itself, and of no other file; true if the line may be shared. */
bool file_lines_is_shared(const struct file_lines *l, int64_t file);
/*
 * Iterates over the ids for which file_lines_file() returns another id, each once; the walk is initialized with {0}.
 * They are usually few, so a pass over all files of a trace needs to look only at these. file_lines_next_line()
 * iterates over the ids for which file_lines_line() may return another id.
 */
struct file_lines_walk {
	size_t versions, same, shared, sockets;
};
bool file_lines_next_other(const struct file_lines *l, const struct dims *d,
			   struct file_lines_walk *w, int64_t *ret_id, int64_t *ret_file);
bool file_lines_next_line(const struct file_lines *l, const struct dims *d,
			  struct file_lines_walk *w, int64_t *ret_id, int64_t *ret_line);

/* What the files of a line have in common. */
enum file_line_kind {
	FILE_LINE_FILES,   /* generations of a path, anonymous inodes of a kind */
	FILE_LINE_CLIENTS, /* sockets of a service, by its address */
	FILE_LINE_PEER,	   /* sockets connected to an address */
};
enum file_line_kind file_lines_kind(const struct file_lines *l, int64_t line);
/* Appends the name of a line: "(no file)" for a negative id, "(unknown file)" for an id without a row. 0 or -ENOMEM. */
int file_lines_name(const struct file_lines *l, const struct dims *d, int64_t line,
		    struct buf *out);
/*
 * True for a listening socket: it shares the line of its connections without being one. Always false for unix sockets,
 * whose rows do not contain this.
 */
bool file_lines_is_listener(const struct file_lines *l, int64_t file);
