/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file/read/digest_aside.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "store/file/read/block_scan.h"
#include "store/file/write/file.h"
#include "store/summary/digest.h"

struct digest_maker {
	struct store *s;
	struct decoder *decoder;
	struct encoder *encoder;
	struct digester *digester;
	size_t block;	/* the next block to look at */
	uint32_t trace; /* the trace of the blocks that were added */
};

int digest_maker_new(struct digest_maker **ret, struct store *s)
{
	_cleanup_(digest_maker_freep) struct digest_maker *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	r = decoder_new(&m->decoder);
	if (r < 0)
		return r;
	r = encoder_new(&m->encoder, true);
	if (r < 0)
		return r;
	r = digester_new(&m->digester);
	if (r < 0)
		return r;
	m->s = s;
	*ret = TAKE_PTR(m);
	return 0;
}

void digest_maker_free(struct digest_maker *m)
{
	if (!m)
		return;
	decoder_free(m->decoder);
	encoder_free(m->encoder);
	digester_free(m->digester);
	free(m);
}

/* ---- a digest in memory ---- */

/* Its columns have this weir's numbers, whatever numbers the file uses. */
static int aside_begin(struct trace *t)
{
	_cleanup_free_ struct names *names = NULL;

	if (t->aside.names)
		return 0;
	names = calloc(1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	meta_default(&names->meta);
	t->aside.fd = memfd_create("weir-digests", MFD_CLOEXEC);
	if (t->aside.fd < 0)
		return -errno;
	t->aside.names = TAKE_PTR(names);
	return 0;
}

static int aside_put(struct digest_maker *m, struct trace *t, struct batch *rows,
		     enum store_digest_part part)
{
	_cleanup_buf_ struct buf extra = {0};
	struct block_facts facts = {.until = UNTIL_UNKNOWN};
	struct found_block c = {0};
	struct buf *block;
	size_t len;
	int r = digest_put_extra(m->digester, part, &extra);

	assert(rows->table == TABLE_SUMMARY && t->aside.fd >= 0);
	facts.digest = buf_bytes(&extra);
	if (r < 0)
		return r;
	r = encode_rows(m->encoder, rows, 0, &facts, &block);
	if (r < 0)
		return r;
	block_seal(block, t->mark, t->aside.seq, 0);
	r = fd_write_at(t->aside.fd, block->data, block->len, t->aside.len);
	if (r < 0)
		return r;
	len = ((const struct block_header *)block->data)->header_len;
	c.header = malloc(len);
	if (!c.header)
		return -ENOMEM;
	memcpy(c.header, block->data, len);
	r = block_view(c.header, len, &c.view, &c.why);
	if (r >= 0)
		r = digest_take_aside(m->s, t, t->aside.len, m->block, &c);
	t->aside.len += block->len;
	t->aside.seq++;
	free(c.header);
	return r;
}

/* Makes a digest of the summaries that were added. */
static int aside_make(struct digest_maker *m)
{
	struct trace *t = &m->s->traces[m->trace];
	struct batch *times = NULL, *files = NULL;
	int r = digest_make(m->digester, &times, &files);

	assert(m->trace < m->s->trace_count && (times || !files));
	if (r >= 0 && times)
		r = aside_begin(t);
	if (r >= 0 && times)
		r = aside_put(m, t, times, STORE_DIGEST_TIMES);
	if (r >= 0 && times && files)
		r = aside_put(m, t, files, STORE_DIGEST_FILES);
	digest_clear(m->digester);
	return r == -EBADMSG ? 0 : r;
}

/* ---- the blocks ---- */

/* Returns the summary of a block that qualifies for a digest and is in none, or NULL. */
static struct block *aside_summary(const struct digest_maker *m, size_t block)
{
	struct block *b = reader_block(m->s, block);
	size_t summary = b->pub.table == TABLE_OP && !b->pub.long_calls && !atomic_load(&b->digest)
				 ? store_summary_of(m->s, block)
				 : SIZE_MAX;

	return summary == SIZE_MAX || m->s->traces[b->pub.trace].growing
		       ? NULL
		       : reader_block(m->s, summary);
}

/* Adds the block. 0; 1 if the summaries added before must be made a digest first; or negative. */
static int aside_add(struct digest_maker *m, struct block *summary)
{
	const struct block *b = reader_block(m->s, m->block);
	struct decode_source src = reader_source(m->s, summary);
	const struct batch *rows;
	const char *why;
	int r;

	assert(summary->pub.table == TABLE_SUMMARY && b->pub.table == TABLE_OP);
	if (digest_is_due(m->digester, 0) ||
	    (m->trace != b->pub.trace && !digest_is_empty(m->digester)))
		return 1;
	src.trace = src.recording = 0; /* ids as the file has them */
	r = reader_verify_for_use(m->s, m->decoder, summary, &why);
	if (r >= 0)
		r = decode_columns(m->decoder, &src, ~0ull, &rows, &why);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	if (digest_is_due(m->digester, rows->rows))
		return 1;
	m->trace = b->pub.trace;
	r = digest_add(m->digester, rows, b->pub.seq, b->pub.rows);
	return MIN(r, 0);
}

int digest_maker_step(struct digest_maker *m)
{
	int r = 0;

	for (; r == 0 && m->block < store_block_count(m->s); m->block += r == 0) {
		struct block *summary = aside_summary(m, m->block);

		r = summary ? aside_add(m, summary) : 0;
	}
	if (r < 0)
		return r;
	/* the rest of the last trace is left to a later step, or is too little */
	if (r == 0 && !digest_is_due(m->digester, 0))
		return 0;
	r = aside_make(m);
	return r < 0 ? r : 1;
}
