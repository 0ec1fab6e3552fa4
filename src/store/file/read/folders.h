/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folders.h: resolves the given names to files: a trace, a folder of traces, or the files of a recording in several.
 * Inside store/ only.
 */
#pragma once

#include "store/file/read/reader.h"

/* Opens the files that the names stand for, in that order. */
int folders_open(struct store *s, const char *const *paths, size_t count, struct error *err);
/* True if files of several recordings may appear. */
bool folders_may_mix(const struct store *s);
void folders_free(struct store *s);
