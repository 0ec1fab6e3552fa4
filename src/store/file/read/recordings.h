/* SPDX-License-Identifier: Apache-2.0 */
/* recordings.h: which files belong to one recording, and which of their ids are one thing. Inside store/ only. */
#pragma once

#include "store/file/read/reader.h"

/*
 * Puts the files of each recording in order, behind the first of them that was given, and numbers files and recordings. Once,
 * when all were opened.
 */
int recordings_order(struct store *s) _must_check_;
/* The same for a file that came later: it is the last. */
int recordings_add(struct store *s, struct trace *t) _must_check_;
/* Counts files that are missing between those of a recording; *ret_path: of the one behind the first gap. */
uint64_t recordings_gaps(const struct store *s, const char **ret_path);

/* True where other ids may stand for those of a column: then its values do not follow those in the file. */
bool recordings_replace(const struct store *s, const struct table_def *t, unsigned int column);
/* Puts the ids that stand for them into such columns of a batch; those given. */
void recordings_apply(struct store *s, const struct batch *b, uint64_t columns);
