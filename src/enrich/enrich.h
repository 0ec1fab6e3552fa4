/* SPDX-License-Identifier: Apache-2.0 */
/*
 * enrich: turns a source's output into rows of the trace. Source keys become dense ids (threads, processes, cgroups,
 * files and their generations), dimension rows are written once per version, and derived columns are filled: process
 * from thread, err from ret, class `wait` for reads of empty pipes and sockets, bytes, hostpath. May use batch.
 *
 * A source chooses its own keys, so that kernel programs can number files and threads without asking user space; here
 * each key is mapped once per version.
 */
#pragma once

#include "base/error.h"
#include "batch/batch.h"
#include "batch/dims.h"

struct enrich;

int enrich_new(struct enrich **ret, struct error *err);
void enrich_free(struct enrich *e);
DEFINE_CLEANUP(struct enrich *, enrich_free)

/* Keeps arguments that look like passwords, tokens and keys (secret.h), which are masked by default. */
void enrich_keep_secrets(struct enrich *e);
/* The number of distinct arguments masked so far. */
uint64_t enrich_masked(const struct enrich *e);

/*
 * Consumes `in` (a source's set) and appends finished rows to `out`. Dimension rows precede the rows that refer to
 * them: write the dimension tables of `out` first, then op. An op that refers to an unknown file gets null there and is
 * counted in loss (CAUSE_NO_FILE; an unknown thread: CAUSE_DECODE). Columns that the source filled itself (class, err,
 * bytes, kind) are kept. Rows of summary are dropped: the store computes them. derived.c defines when a read has the
 * class `wait`. `out` is usually empty; it must have room for the rows of `in`. 0 or negative.
 */
int enrich_apply(struct enrich *e, const struct batch_set *in, struct batch_set *out,
		 struct error *err);

/*
 * Selects the dimension tables whose rows are kept in memory for enrich_dims(): a bit for each enum table_id; default:
 * all. A session that only writes a file does not need them, and a metadata storm creates millions of files.
 */
#define ENRICH_KEEP_ALL UINT32_MAX
void enrich_keep_dims(struct enrich *e, uint32_t tables);
/* Forgets the kept rows of a table (dims_forget()), once everything that depends on them has been computed. */
void enrich_forget(struct enrich *e, enum table_id table);
/* The dimension rows so far, for names in live output. */
const struct dims *enrich_dims(const struct enrich *e);
