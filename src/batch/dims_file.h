/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dims_file.h: packed rows of files: a trace may have millions, and a row takes 216 bytes in addition to its path,
 * packed about 50. Inside batch/ only.
 *
 * Numbers that are set are stored as varints. Texts are concatenated, each with its length. A row in which only numbers
 * change keeps its texts, and repeated texts (one path, many versions) are shared. Values that many files have in
 * common (device, type, file system, ...) are stored once.
 */
#pragma once

#include "base/buf.h"
#include "base/strpool.h"
#include "batch/dims.h"

struct file_row {
	const uint8_t *numbers, *texts; /* at stable addresses */
};

struct file_pack {
	struct file_chunk *chunks;   /* newest first */
	size_t room;		     /* bytes left in the newest chunk */
	struct intern kinds;	     /* struct file_kind */
	struct recent_texts *recent; /* recently written texts by hash */
	int64_t since; /* of the first row: others are stored as differences from it */
	struct buf scratch, name;
};

void file_pack_free(struct file_pack *p);
/* Packs a row into *row; with `again`, *row already holds an earlier version. f->fs must not move or be
 * freed. 0 or -ENOMEM. */
int file_pack_row(struct file_pack *p, int64_t id, const struct dims_file *f, bool again,
		  struct file_row *row) _must_check_;
void file_unpack(const struct file_pack *p, int64_t id, const struct file_row *row,
		 struct dims_file *ret);
/* Single fields of a row: its generation, its start, and its name, which is never empty. */
int64_t file_unpack_inode(int64_t id, const struct file_row *row);
int64_t file_unpack_since(const struct file_pack *p, int64_t id, const struct file_row *row);
struct bytes file_unpack_name(const struct file_row *row);
