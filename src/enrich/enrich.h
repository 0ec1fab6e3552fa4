/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enrich: turns what a source gives into rows of the trace. Source keys become dense ids (threads,
 * processes, cgroups, files and their generations), dimension rows are written once per version,
 * and columns that can be derived are filled: process from thread, err from ret, class `wait` for
 * reads of empty pipes and sockets, bytes, hostpath. May use batch.
 *
 * A source chooses its own keys, so that kernel programs can number files and threads without asking user
 * space; here a key is mapped once per version.
 */
#pragma once

#include "base/error.h"
#include "batch/batch.h"
#include "batch/dims.h"

struct enrich;

int enrich_new(struct enrich **ret, struct error *err);
void enrich_free(struct enrich *e);
DEFINE_CLEANUP(struct enrich *, enrich_free)

/* Arguments that look like passwords, tokens and keys (secret.h) are kept as they are; by default they are masked. */
void enrich_keep_secrets(struct enrich *e);
/* How many different arguments were masked so far. */
uint64_t enrich_masked(const struct enrich *e);

/*
 * Consumes `in` (a source's set) and appends finished rows to `out`. Dimension rows in `out` come
 * before the rows that refer to them: write the dimension tables first, then op. An op that names
 * an unknown file keeps null there and counts in loss (CAUSE_NO_FILE; an unknown thread:
 * CAUSE_DECODE). Columns that the source filled itself (class, err, bytes, kind) are kept. Rows of
 * summary are dropped: the store makes them. derived.c defines when a read has the class `wait`.
 * `out` is empty as a rule; it must have room for the rows of `in`. 0 or negative.
 */
int enrich_apply(struct enrich *e, const struct batch_set *in, struct batch_set *out,
		 struct error *err);

/*
 * Of which dimension tables the names are kept in memory for enrich_dims(): a bit for each
 * (enum table_id; default: all). A session that only writes a file has no use for them, and a
 * metadata storm makes millions of files.
 */
#define ENRICH_KEEP_ALL UINT32_MAX
void enrich_keep_dims(struct enrich *e, uint32_t tables);
/* Forgets the rows of a table that are kept (dims_forget()): what hangs on them was worked out. */
void enrich_forget(struct enrich *e, enum table_id table);
/* The dimension rows given so far, for live names. */
const struct dims *enrich_dims(const struct enrich *e);
