/* SPDX-License-Identifier: Apache-2.0 */
/* digest_blocks.c: how readers find and check the digests of a file. */
#include <errno.h>
#include <string.h>

#include "store/file/read/block_scan.h"
#include "store/file/read/reader.h"
#include "store/summary/digest.h"

/* The blocks of a digest are consecutive except for names and rows of other tables; the walk looks at this many. */
#define WALK_MAX (64u * DIGEST_BLOCKS_MAX)

static struct digest *digest_of_pub(const struct store_digest *d)
{
	return (struct digest *)((char *)d - offsetof(struct digest, pub));
}

static void digest_free(struct digest *d)
{
	if (!d)
		return;
	reader_block_free(d->times);
	reader_block_free(atomic_load(&d->files));
	free((void *)d->pub.io_max);
	free(d);
}
DEFINE_CLEANUP(struct digest *, digest_free)

void digests_free(struct store *s)
{
	struct digest *d = atomic_load(&s->digests);

	while (d) {
		struct digest *before = d->before;

		digest_free(d);
		d = before;
	}
}

/* ---- finding them ---- */

static const struct block_extra *digest_extra(const struct block_view *v)
{
	const struct block_extra *x = NULL;

	while ((x = block_extra(v, x)) && x->kind != EXTRA_DIGEST)
		;
	return x;
}

/* Reads the list of blocks after the part's number. -EBADMSG, -ENOMEM. */
static int digest_read_list(const uint8_t *p, const uint8_t *end, uint64_t **ret_seqs,
			    struct digest **ret)
{
	_cleanup_(digest_freep) struct digest *d = NULL;
	_cleanup_free_ uint64_t *seqs = NULL;
	uint64_t count, step, max, seq = 0;
	int64_t *io_max;

	assert(p <= end);
	if (!varint_get(&p, end, &count) || !count || count > DIGEST_BLOCKS_MAX)
		return -EBADMSG;
	seqs = calloc(count, sizeof(*seqs));
	d = calloc(1, sizeof(*d) + count * sizeof(d->blocks[0]));
	if (!seqs || !d)
		return -ENOMEM;
	d->pub.blocks = d->blocks;
	d->pub.count = count;
	d->pub.io_max = io_max = calloc(count, sizeof(*io_max));
	if (!io_max)
		return -ENOMEM;
	for (uint64_t i = 0; i < count; i++) {
		if (!varint_get(&p, end, &step) || !varint_get(&p, end, &max) || (i && !step) ||
		    __builtin_add_overflow(seq, step, &seq) || max > (uint64_t)INT64_MAX + 1)
			return -EBADMSG;
		seqs[i] = seq;
		io_max[i] = (int64_t)(max - 1);
	}
	*ret_seqs = TAKE_PTR(seqs);
	*ret = TAKE_PTR(d);
	return 0;
}

/* Finds its blocks; false if one is missing, or is in another digest: its calls would count twice. */
static bool digest_find_blocks(const struct store *s, const struct trace *t, const uint64_t *seqs,
			       struct digest *d)
{
	size_t i = atomic_load(&s->count), left = d->pub.count;
	size_t least = i > WALK_MAX ? i - WALK_MAX : 0;

	assert(left > 0 && left <= DIGEST_BLOCKS_MAX);
	while (left && i-- > least) {
		const struct block *b = reader_block(s, i);

		if (b->pub.trace != t->number)
			continue;
		if (b->pub.seq < seqs[left - 1])
			return false;
		if (b->pub.seq > seqs[left - 1])
			continue;
		if (b->pub.table != TABLE_OP || b->pub.long_calls || atomic_load(&b->digest))
			return false;
		d->blocks[--left] = i;
		d->pub.calls += b->pub.rows;
	}
	return !left;
}

static int digest_take_times(struct store *s, struct trace *t, uint64_t offset,
			     struct found_block *c, const uint8_t *p, const uint8_t *end)
{
	_cleanup_(digest_freep) struct digest *d = NULL;
	_cleanup_free_ uint64_t *seqs = NULL;
	int r = digest_read_list(p, end, &seqs, &d);

	t->digest = NULL;
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	if (!digest_find_blocks(s, t, seqs, d))
		return 0;
	d->times = scan_named_block(s, t, offset, c);
	if (!d->times)
		return -ENOMEM;
	d->before = atomic_load(&s->digests);
	atomic_store(&s->digests, d);
	for (size_t i = 0; i < d->pub.count; i++)
		atomic_store(&reader_block(s, d->blocks[i])->digest, d);
	t->digest = TAKE_PTR(d);
	return 0;
}

/* Takes the part by file, which directly follows the other part. */
static int digest_take_files(const struct store *s, struct trace *t, uint64_t offset,
			     struct found_block *c, const uint8_t *p, const uint8_t *end)
{
	struct digest *d = TAKE_PTR(t->digest);
	struct block *b;

	if (!d || c->view.head->seq != d->times->pub.seq + 1 || !varint_get(&p, end, &d->seconds))
		return 0;
	assert(!atomic_load(&d->files));
	b = scan_named_block(s, t, offset, c);
	if (!b)
		return -ENOMEM;
	atomic_store(&d->files, b);
	return 0;
}

/* A damaged digest is not an error: readers then use the summaries of its blocks. */
int digest_take(struct store *s, struct trace *t, uint64_t offset, struct found_block *c)
{
	const struct block_header *h = c->view.head;
	const struct block_extra *x = digest_extra(&c->view);
	const uint8_t *p, *end;
	uint64_t part;

	if (!x || !h->rows || t->names->meta.table[h->table] != TABLE_SUMMARY)
		return 0;
	p = (const uint8_t *)(x + 1);
	end = p + x->len;
	if (!varint_get(&p, end, &part))
		return 0;
	if (part == STORE_DIGEST_TIMES)
		return digest_take_times(s, t, offset, c, p, end);
	return part == STORE_DIGEST_FILES ? digest_take_files(s, t, offset, c, p, end) : 0;
}

/* ---- for readers ---- */

struct block *digest_part(const struct store_digest *d, enum store_digest_part part)
{
	struct digest *x = digest_of_pub(d);
	struct block *b = part == STORE_DIGEST_TIMES ? x->times : atomic_load(&x->files);

	assert(b);
	return b;
}

const struct store_digest *store_digest_of(const struct store *s, size_t block)
{
	const struct digest *d = atomic_load(&reader_block(s, block)->digest);

	if (!d || d->times->pub.damaged)
		return NULL;
	for (size_t i = 0; i < d->pub.count; i++) {
		if (reader_block(s, d->blocks[i])->pub.damaged)
			return NULL;
	}
	return &d->pub;
}

bool store_digest_has_files(const struct store_digest *d)
{
	const struct block *b = atomic_load(&digest_of_pub(d)->files);

	return b && !b->pub.damaged;
}

uint64_t store_digest_seconds(const struct store_digest *d)
{
	return digest_of_pub(d)->seconds;
}

struct block *digest_at(const struct store *s, const struct trace *t, uint64_t offset,
			const struct digest **ret)
{
	for (const struct digest *d = atomic_load(&s->digests); d; d = d->before) {
		struct block *files = atomic_load(&d->files);

		*ret = d;
		if (d->times->pub.trace != t->number)
			continue;
		if (d->times->pub.offset == offset)
			return d->times;
		if (files && files->pub.offset == offset)
			return files;
	}
	*ret = NULL;
	return NULL;
}

/* ---- checking a file ---- */

/* Adds the summaries of the digest's blocks again. 1, 0 if one is missing or damaged, or negative. */
static int digest_sum_again(struct store *s, struct decoder *decoder, const struct digest *d,
			    struct digester *to)
{
	int r = 1;

	for (size_t i = 0; i < d->pub.count && r > 0; i++) {
		const struct block *op = reader_block(s, d->blocks[i]);
		size_t summary = store_summary_of(s, d->blocks[i]);
		const struct batch *rows;
		struct decode_source src;
		const char *why;

		assert(op->pub.table == TABLE_OP && !op->pub.long_calls);
		if (summary == SIZE_MAX)
			return 0;
		src = reader_source(s, reader_block(s, summary));
		src.trace = src.recording = 0; /* ids as the file has them */
		r = decode_verify(decoder, &src, &why);
		if (r >= 0)
			r = decode_columns(decoder, &src, ~0ull, &rows, &why);
		if (r < 0)
			return r == -EBADMSG ? 0 : r;
		/* if its writer would have ended the digest earlier, it does not belong to these blocks */
		r = digest_is_due(to, rows->rows) ? 0
						  : digest_add(to, rows, op->pub.seq, op->pub.rows);
	}
	return r;
}

static bool digest_same_value(const struct batch *a, const struct batch *b, unsigned int column,
			      size_t row)
{
	struct bytes x, y;

	assert(row < a->rows && row < b->rows);
	if (batch_is_null(a, column, row) || batch_is_null(b, column, row))
		return batch_is_null(a, column, row) && batch_is_null(b, column, row);
	if (!a->columns[column].ends)
		return a->columns[column].val[row] == b->columns[column].val[row];
	x = batch_get_bytes(a, column, row);
	y = batch_get_bytes(b, column, row);
	return x.len == y.len && !memcmp(x.data, y.data, x.len);
}

static bool digest_same_rows(const struct batch *a, const struct batch *b)
{
	bool same = a->rows == b->rows;

	assert(a->table == TABLE_SUMMARY && b->table == TABLE_SUMMARY);
	for (unsigned int column = 0; column < SUMMARY_COLUMNS && same; column++) {
		for (size_t i = 0; i < a->rows && same; i++)
			same = digest_same_value(a, b, column, i);
	}
	return same;
}

int digest_compare(struct store *s, struct decoder *decoder, const struct digest *d,
		   struct block *b, bool *ret_same, const char **ret_why)
{
	_cleanup_(digester_freep) struct digester *again = NULL;
	struct batch *times, *files, *wanted;
	struct decode_source src = reader_source(s, b);
	const struct batch *rows;
	int r = digester_new(&again);

	assert(b == d->times || b == atomic_load(&d->files));
	*ret_same = true;
	if (r >= 0)
		r = digest_sum_again(s, decoder, d, again);
	if (r > 0)
		r = digest_make(again, &times, &files);
	else if (r == 0)
		times = files = NULL;
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	src.trace = src.recording = 0;
	r = decode_columns(decoder, &src, ~0ull, &rows, ret_why);
	wanted = b == d->times ? times : files;
	if (r < 0 || !times)
		return r;
	*ret_same = wanted && digest_same_rows(wanted, rows);
	return 0;
}
