/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordings.h: which files belong to one recording, and which ids of several recordings are the same thing. Inside
 * store/ only.
 */
#pragma once

#include "store/file/read/reader.h"

/*
 * Puts the files of each recording in order, after the one given first, and numbers files and recordings. Called
 * once, after all files were opened.
 */
int recordings_order(struct store *s) _must_check_;
/* The same for a file that appears later; it is placed last. */
int recordings_add(struct store *s, struct trace *t) _must_check_;
/* Counts missing files within recordings; *ret_path is the file after the first gap. */
uint64_t recordings_gaps(const struct store *s, const char **ret_path);

/* True if ids of a column may be replaced: its values then do not follow the order in the file. */
bool recordings_replace(const struct store *s, const struct table_def *t, unsigned int column);
/* Replaces the ids in such columns of a batch, among those in the set. */
void recordings_apply(struct store *s, const struct batch *b, uint64_t columns);
