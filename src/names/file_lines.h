/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_lines.h: which ids of files are one file, and which files are one line of a table. The one definition behind
 * report, stat, top and the pages.
 *
 * One file are
 *   the versions of a generation (an inode until it is deleted), and
 *   a name that calls only asked for (a stat, an open that failed) and the file that has it; "etc" and "etc/" are one name.
 * One line are
 *   files that had one path of one file system one after another, deleted and created anew;
 *   anonymous inodes of one kind;
 *   sockets that share an address: those of a service ("clients, 10.0.0.1:80"), those that went to one ("to 10.0.0.1:80").
 *   Where more than ID_ARRAY_MAX (256) recordings are read as one trace, each socket of the others is a line of its own.
 * Files of two machines are never one.
 *
 * Both are numbers, worked out once for each file as it comes or changes, so that a list of a million files needs no name
 * but those that are shown.
 */
#pragma once

#include "base/buf.h"
#include "batch/dims.h"

struct file_lines;

int file_lines_new(struct file_lines **ret) _must_check_;
void file_lines_free(struct file_lines *l);
DEFINE_CLEANUP(struct file_lines *, file_lines_free)
/* Takes what came or changed since the last time; nobody else uses `l` meanwhile. 0 or -ENOMEM. */
int file_lines_update(struct file_lines *l, const struct dims *d) _must_check_;
/*
 * The same in steps of `most` files, which begin with what file_lines_file() and file_lines_next_other() need; the rest, which
 * is of sockets, may be taken while others call these two. 1 while the part is to be stepped on.
 */
enum file_lines_part {
	FILE_LINES_FILES,
	FILE_LINES_ALL,
};
int file_lines_step(struct file_lines *l, const struct dims *d, enum file_lines_part part,
		    size_t most) _must_check_;

/* The id that stands for the file of a version. */
int64_t file_lines_file(const struct file_lines *l, const struct dims *d, int64_t id);
/* The id that stands for the line of a version: that of one of its files. */
int64_t file_lines_line(const struct file_lines *l, const struct dims *d, int64_t id);
/* False: file_lines_line() of a file is the file itself, and of no other; true: it may be shared. */
bool file_lines_is_shared(const struct file_lines *l, int64_t file);
/*
 * Walks the ids for which file_lines_file() gives another, each once; the walk starts as {0}. Mostly they are few: a pass
 * over every file of a trace looks at these alone. The second walks those for which file_lines_line() may give another.
 */
struct file_lines_walk {
	size_t versions, same, shared, sockets;
};
bool file_lines_next_other(const struct file_lines *l, const struct dims *d,
			   struct file_lines_walk *w, int64_t *ret_id, int64_t *ret_file);
bool file_lines_next_line(const struct file_lines *l, const struct dims *d,
			  struct file_lines_walk *w, int64_t *ret_id, int64_t *ret_line);

/* What the files of a line are to each other. */
enum file_line_kind {
	FILE_LINE_FILES,   /* generations of a path, anonymous inodes of a kind */
	FILE_LINE_CLIENTS, /* sockets of a service, by its address */
	FILE_LINE_PEER,	   /* sockets connected to an address */
};
enum file_line_kind file_lines_kind(const struct file_lines *l, int64_t line);
/* Appends what the line is called; "(no file)" of a negative id, "(unknown file)" of one without a row. 0 or -ENOMEM. */
int file_lines_name(const struct file_lines *l, const struct dims *d, int64_t line,
		    struct buf *out);
/* True for a listening socket: it is on the line of its connections, and not one of them. Of unix sockets the
 * rows do not say it. */
bool file_lines_is_listener(const struct file_lines *l, int64_t file);
