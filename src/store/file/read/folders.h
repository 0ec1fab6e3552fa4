/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folders.h: which files the given names mean: a trace, a folder of traces, the files of a recording that goes on in several.
 * Inside store/ only.
 */
#pragma once

#include "store/file/read/reader.h"

/* Opens what the names mean, in that order. */
int folders_open(struct store *s, const char *const *paths, size_t count, struct error *err);
/* True where files of several recordings may come. */
bool folders_may_mix(const struct store *s);
void folders_free(struct store *s);
