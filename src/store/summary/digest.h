/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.h: the second level of sums: the summaries of several blocks of op, added up. Inside store/ only.
 *
 * A digest has two parts, both batches of summary. The first is by window, op, thread, err and class, without files:
 * a hundredth of the summaries' rows. The second is by file, class and err, without windows. Files that occur in many
 * of the blocks also keep op, thread and histograms, and failed calls keep their op. A successful call that moves
 * bytes between two files is counted under each of them. Memory is bounded: DIGEST_FACTS_MAX rows of summary.
 *
 * A summary has a tenth of the rows of its block, ten million for 100 M calls: too many for a page. The recorder
 * writes digests as it goes. They take about 2.5 % of the file if a trace has a new file every sixty calls, and next
 * to nothing otherwise. Readers use the digests within a range, the summaries of blocks at its edges, and the rows of
 * blocks that it cuts. If a digest is damaged or cannot answer a question, readers use the summaries of its blocks.
 */
#pragma once

#include "base/buf.h"
#include "store/file/format.h"
#include "store/store.h"

#define DIGEST_BLOCKS_MAX 256u			 /* of op, in one digest */
#define DIGEST_CALLS	  (16u * STORE_ROWS_MAX) /* a digest of at least this many is complete */
#define DIGEST_FACTS_MAX  (2u * STORE_ROWS_MAX)
/*
 * A block whose summary has more rows, because each of its calls has its own file, would only cost memory: it stays
 * outside.
 */
#define DIGEST_BLOCK_FACTS_MAX (STORE_ROWS_MAX / 4u)

struct digester;

int digester_new(struct digester **ret) _must_check_;
void digester_free(struct digester *d);
DEFINE_CLEANUP(struct digester *, digester_free)

/* True if the sums so far must be made a digest before a summary of `rows` rows is added. */
bool digest_is_due(const struct digester *d, size_t rows);
/*
 * Adds the summary of a block of op, which has `calls` rows. 1; 0 if the block stays outside: its summary does not
 * count all of them or has too many rows, or its number does not follow the previous one, which happens in a damaged
 * file; -ENOMEM.
 */
int digest_add(struct digester *d, const struct batch *summary, uint64_t block,
	       uint64_t calls) _must_check_;
/*
 * Makes both parts from the summaries that were added; call digest_clear() next. *ret_times is NULL if a digest saves
 * nothing, as it would have more than half of the rows; the same for *ret_files. 0, -ENOMEM, or -EBADMSG if a
 * histogram is malformed. The digester owns the batches.
 */
int digest_make(struct digester *d, struct batch **ret_times,
		struct batch **ret_files) _must_check_;
/* Appends the extra of a part's header (EXTRA_DIGEST). 0 or -ENOMEM. */
int digest_put_extra(const struct digester *d, enum store_digest_part part, struct buf *to);
void digest_clear(struct digester *d);
