/* SPDX-License-Identifier: Apache-2.0 */
/* enum_types.h: declares an ENUM from a set of texts. */
#pragma once

#include "base/map.h"
#include "engine/duckdb/internal.h"

/*
 * Declares the ENUM of the texts (valid UTF-8 without NUL, unique by interning), sorted by their bytes; sets type and
 * internal of *w. Its ordinals, which are ids of texts, are converted to those of the ENUM. 0 or -ENOMEM.
 */
int words_declare(const struct duckdb_api *d, struct intern *texts, struct words *w);
