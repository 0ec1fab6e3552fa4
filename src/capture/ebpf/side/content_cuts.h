/* SPDX-License-Identifier: Apache-2.0 */
/*
 * content_cuts.h: content-defined chunking of the bytes that calls move (record --content=chunks), so that equal data
 * is cut alike wherever it is: rows of table chunk of form `cut`, each with the hash of a buffer with the same bytes.
 *
 * A rolling hash (Gear: Xia et al., "Ddelta", 2014) over the last 64 bytes marks a boundary where its twelve highest
 * bits are 0, about every 4 KiB; a cut has 1 to 32 KiB. It continues over calls as long as each begins in a file or
 * stream where the previous one in the same direction ended.
 */
#pragma once

#include "capture/ebpf/side/content.h"

#define CUT_LEAST 1024u
#define CUT_MOST  32768u
#define CUT_BITS  12

struct cuts;

/* 0 or -ENOMEM. */
int cuts_new(struct cuts **ret);
void cuts_free(struct cuts *c);
/* Adds the payload of a record. 0 or -ENOMEM. */
int cuts_add(struct cuts *c, struct decode *d, const struct wire_content *w, struct batch_set *out);
/* Adds the rest of all streams. 0 or -ENOMEM. */
int cuts_end(struct cuts *c, struct decode *d, struct batch_set *out);
