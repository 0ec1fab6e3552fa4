/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_block.c: decodes a block's columns into a batch. Only the requested sections, and those that predict them,
 * are read, checked and unpacked.
 */
#include "store/codec/decode_block.h"

#include <errno.h>
#include <xxhash.h>

#include "base/fd.h"
#include "store/codec/bytes.h"
#include "store/codec/codec_impl.h"

/* A payload up to this size is read at once: a further system call costs more than these bytes. */
#define WHOLE_PAYLOAD (64u << 10)
#define NULL_WORDS    (STORE_ROWS_MAX / 64)

struct decoder {
	struct codec *codec;
	struct batch *batches[TABLE_COUNT + 1]; /* the last one: the TABLE_OWN that was read last */
	struct buf section;			/* one section, or the whole payload */
	struct buf blob;
	uint64_t *nulls; /* [NULL_WORDS], for byte columns and transforms */
	XXH3_state_t *sum;
	/* the current block */
	const struct decode_source *src;
	struct decode_source source; /* what src points to */
	struct batch *batch;
	bool whole;
	uint64_t busy, done; /* by our column number */
	uint64_t given;	     /* columns visible in the batch, ids composed */
	const char *why;
};

int decoder_new(struct decoder **ret)
{
	_cleanup_(decoder_freep) struct decoder *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	r = codec_new(&d->codec, false, false);
	if (r < 0)
		return r;
	d->nulls = malloc(NULL_WORDS * sizeof(*d->nulls));
	d->sum = XXH3_createState();
	if (!d->nulls || !d->sum)
		return -ENOMEM;
	*ret = TAKE_PTR(d);
	return 0;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	codec_free(d->codec);
	for (unsigned int i = 0; i < ARRAY_SIZE(d->batches); i++)
		batch_free(d->batches[i]);
	buf_free(&d->section);
	buf_free(&d->blob);
	free(d->nulls);
	XXH3_freeState(d->sum);
	free(d);
}

static int decode_block_bad(struct decoder *d, const char *why)
{
	assert(why);
	d->why = why;
	return -EBADMSG;
}

static int read_at(struct decoder *d, uint64_t offset, size_t len)
{
	ssize_t n;
	int r;

	assert(len <= STORE_PAYLOAD_MAX);
	buf_clear(&d->section);
	r = buf_reserve(&d->section, len + 1);
	if (r < 0)
		return r;
	n = fd_read_at(d->src->fd, d->section.data, len, offset);
	if (n >= 0 && (size_t)n < len)
		return decode_block_bad(d, "the file ends within the block");
	return (int)MIN(n, (ssize_t)0);
}

/* Returns the verified bytes of a section. */
static int section(struct decoder *d, const struct block_entry *e, const uint8_t **ret,
		   const uint8_t **ret_end)
{
	int r;

	/* checked by block_view() */
	assert((uint64_t)e->offset + e->len <= d->src->view.head->payload_len);
	if (!d->whole) {
		r = read_at(d, d->src->payload + e->offset, e->len);
		if (r < 0)
			return r;
	}
	*ret = d->section.data + (d->whole ? e->offset : 0);
	*ret_end = *ret + e->len;
	if (XXH3_64bits(*ret, e->len) != e->checksum)
		return decode_block_bad(d, "payload checksum");
	return 0;
}

/* Unpacks a column's null map; NULL if no row is null. */
static int decode_nulls(struct decoder *d, const struct block_entry *e, const uint64_t **ret)
{
	const struct block_header *h = d->src->view.head;
	size_t words = (h->rows + 63) / 64, n = 0;
	const struct block_entry *map;
	const uint8_t *p, *end;
	int r;

	*ret = NULL;
	if (!e->null_map)
		return e->nulls ? decode_block_bad(d, "a null map is missing") : 0;
	assert(e->null_map <= h->entries && h->rows <= STORE_ROWS_MAX);
	map = &d->src->view.entries[e->null_map - 1];
	if (map->kind != ENTRY_NULLS)
		return decode_block_bad(d, "a null map is missing");
	r = section(d, map, &p, &end);
	if (r < 0)
		return r;
	if (blob_decode(d->codec, &p, end, (uint8_t *)d->nulls, words * sizeof(*d->nulls)) < 0)
		return decode_block_bad(d, "a null map cannot be unpacked");
	for (size_t i = 0; i < words; i++)
		n += (size_t)__builtin_popcountll(d->nulls[i]);
	if (n != e->nulls || (h->rows % 64 && d->nulls[words - 1] >> (h->rows % 64)))
		return decode_block_bad(d, "a null map does not fit its column");
	*ret = d->nulls;
	return 0;
}

static int decode_column(struct decoder *d, unsigned int column);

/* Maps a column of the file to ours, and decodes it first. */
static int decode_ref(struct decoder *d, uint8_t file_column, const int64_t **ret)
{
	unsigned int column = d->src->to_ours[file_column];
	int r;

	if (column == 0xff)
		return decode_block_bad(d, "a column is predicted from an unknown one");
	assert(column < d->batch->def->column_count);
	if (column_is_bytes(d->batch->def->columns[column].type))
		return decode_block_bad(d, "a column is predicted from bytes");
	r = decode_column(d, column);
	if (r < 0)
		return r;
	if (!batch_has(d->batch, column))
		return decode_block_bad(d, "a column is predicted from an absent one");
	*ret = d->batch->columns[column].val;
	return 0;
}

static int decode_args(struct decoder *d, const struct block_entry *e, struct transform_args *ret)
{
	struct transform_args t = {.rows = d->src->view.head->rows};
	const int64_t *refs[2] = {NULL, NULL};
	unsigned int count;

	if (e->transform >= TRANSFORM_COUNT)
		return decode_block_bad(d, "an unknown transform");
	t.kind = e->transform;
	count = transform_refs(t.kind);
	assert(count <= ARRAY_SIZE(refs));
	for (unsigned int i = 0; i < count; i++) {
		int r = decode_ref(d, e->ref[i], &refs[i]);

		if (r < 0)
			return r;
	}
	if (t.kind == TRANSFORM_LAST || count == 2)
		t.key = refs[0];
	if (t.kind != TRANSFORM_LAST && count)
		t.a = refs[count - 1];
	*ret = t;
	return 0;
}

static int decode_values(struct decoder *d, const struct block_entry *e, struct column *col)
{
	struct transform_args t;
	const uint8_t *p, *end;
	int64_t *out;
	size_t n;
	int r = decode_args(d, e, &t);

	if (r < 0)
		return r;
	/* Decoding the referenced columns used the null map and the section's memory, so these come after it. */
	r = decode_nulls(d, e, &t.nulls);
	if (r < 0)
		return r;
	r = section(d, e, &p, &end);
	if (r < 0)
		return r;
	assert(e->nulls <= t.rows);
	n = t.rows - e->nulls;
	out = t.nulls ? codec_values(d->codec, 0) : col->val;
	if (ints_decode(d->codec, &p, end, out, n) < 0)
		return decode_block_bad(d, "a column cannot be unpacked");
	/* if the last row is null, this element is read but not used */
	if (n < t.rows)
		out[n] = 0;
	transform_inverse(d->codec, &t, out, col->val);
	if (t.nulls)
		memcpy(col->nulls, t.nulls, (t.rows + 63) / 64 * sizeof(*col->nulls));
	return 0;
}

static int decode_bytes(struct decoder *d, const struct block_entry *e, struct column *col)
{
	size_t rows = d->src->view.head->rows;
	const uint8_t *p, *end;
	const uint64_t *nulls;
	int r = decode_nulls(d, e, &nulls);

	if (r < 0)
		return r;
	r = section(d, e, &p, &end);
	if (r < 0)
		return r;
	assert(e->nulls <= rows);
	r = bytes_decode(d->codec, &p, end, col, nulls, rows, rows - e->nulls);
	if (r < 0)
		return r == -EBADMSG ? decode_block_bad(d, "a column cannot be unpacked") : r;
	if (nulls)
		memcpy(col->nulls, nulls, (rows + 63) / 64 * sizeof(*col->nulls));
	return 0;
}

/* Finds the entry whose column in the file maps to ours. */
static const struct block_entry *find_entry(const struct decode_source *s, unsigned int column)
{
	for (unsigned int i = 0; i < s->view.head->entries; i++) {
		const struct block_entry *e = &s->view.entries[i];

		if (e->kind == ENTRY_COLUMN && s->to_ours[e->column] == column)
			return e;
	}
	return NULL;
}

static int decode_column(struct decoder *d, unsigned int column)
{
	uint64_t bit = 1ull << column;
	const struct block_entry *e;
	struct column *col;
	int r;

	assert(column < d->batch->def->column_count);
	if (d->done & bit)
		return 0;
	if (d->busy & bit)
		return decode_block_bad(d, "columns are predicted from each other");
	e = find_entry(d->src, column);
	d->busy |= bit;
	if (e) {
		r = batch_make_column_unset(d->batch, column, e->null_map != 0);
		if (r < 0)
			return r;
		col = &d->batch->columns[column];
		r = col->ends ? decode_bytes(d, e, col) : decode_values(d, e, col);
		if (r < 0) {
			batch_drop_column(d->batch, column); /* never leave a half-filled column */
			return r;
		}
	}
	d->done |= bit;
	return 0;
}

uint64_t column_composes(const struct table_def *t, unsigned int column, uint64_t trace,
			 uint64_t recording)
{
	int to = trace || recording ? schema_refers(t, column) : -1;

	return to < 0 ? 0 : to == TABLE_OP ? trace : recording;
}

static void compose_ids(struct batch *b, unsigned int column, const struct decode_source *s)
{
	struct column *c = &b->columns[column];
	uint64_t part = c->val ? column_composes(b->def, column, s->trace, s->recording) : 0;

	if (!part)
		return;
	for (size_t i = 0; i < b->rows; i++)
		c->val[i] = id_compose(c->val[i], part);
	if (!c->nulls)
		return;
	for (size_t i = 0; i < b->rows; i++) {
		if (c->nulls[i / 64] >> (i % 64) & 1)
			c->val[i] = 0;
	}
}

/* Restores ids as the file has them. */
static void decompose_ids(struct batch *b, unsigned int column, const struct decode_source *s)
{
	struct column *c = &b->columns[column];

	if (!c->val || !column_composes(b->def, column, s->trace, s->recording))
		return;
	for (size_t i = 0; i < b->rows; i++)
		c->val[i] &= ID_OWN_MASK;
}

static void begin_block(struct decoder *d, const struct decode_source *s)
{
	d->source = *s;
	d->src = &d->source;
	d->given = 0;
	d->busy = d->done = 0;
	d->why = "";
	d->whole = false;
}

static int decode_block_begin(struct decoder *d, const struct decode_source *s, uint64_t columns)
{
	const struct block_header *h = s->view.head;

	begin_block(d, s);
	d->whole = h->payload_len <= WHOLE_PAYLOAD ||
		   (columns && __builtin_popcountll(columns) * 3 > (int)s->def->column_count);
	return d->whole ? read_at(d, s->payload, h->payload_len) : 0;
}

#define VERIFY_BYTES \
	(256u << 10) /* per read, so that the bytes are still in the cache when they are summed */

static int verify_section(struct decoder *d, const struct block_entry *e)
{
	XXH3_state_t *sum = d->sum;

	assert((uint64_t)e->offset + e->len <= d->src->view.head->payload_len);
	XXH3_64bits_reset(sum);
	for (uint64_t at = 0; at < e->len; at += VERIFY_BYTES) {
		size_t len = MIN(e->len - at, (uint64_t)VERIFY_BYTES);
		int r = read_at(d, d->src->payload + e->offset + at, len);

		if (r < 0)
			return r;
		XXH3_64bits_update(sum, d->section.data, len);
	}
	return XXH3_64bits_digest(sum) == e->checksum ? 0 : decode_block_bad(d, "payload checksum");
}

int decode_verify(struct decoder *d, const struct decode_source *s, const char **ret_why)
{
	const struct block_header *h = s->view.head;
	uint64_t bytes = 0;
	int r = 0;

	assert(h->entries <= STORE_ENTRIES_MAX);
	begin_block(d, s);
	/* no writer makes overlapping sections; a file that claims them must not cost more than its size */
	for (unsigned int i = 0; i < h->entries; i++)
		bytes += s->view.entries[i].len;
	if (bytes > h->payload_len)
		r = decode_block_bad(d, "sections overlap");
	for (unsigned int i = 0; i < h->entries && r >= 0; i++)
		r = verify_section(d, &s->view.entries[i]);
	if (r == -EIO)
		r = decode_block_bad(d, "the disk cannot read it");
	*ret_why = d->why;
	return r;
}

/* ---- columns ---- */

/* Decodes columns in addition to those already given, and hides those needed only for prediction. */
static int decode_set(struct decoder *d, uint64_t columns, const char **ret_why)
{
	unsigned int count = d->batch->def->column_count;
	int r = 0;

	for (unsigned int i = 0; i < count && r >= 0; i++) {
		if (columns >> i & 1)
			r = decode_column(d, i);
	}
	if (r < 0) {
		*ret_why = d->why;
		return r;
	}
	d->given |= columns;
	for (unsigned int i = 0; i < count; i++) {
		if (d->given >> i & 1)
			compose_ids(d->batch, i, d->src);
		else
			batch_drop_column(d->batch, i);
	}
	d->done = d->given;
	d->busy = 0;
	return 0;
}

static uint64_t known_columns(const struct table_def *t, uint64_t columns)
{
	unsigned int count = t->column_count;

	return columns & (count == 64 ? ~0ull : (1ull << count) - 1);
}

int decode_columns(struct decoder *d, const struct decode_source *s, uint64_t columns,
		   const struct batch **ret, const char **ret_why)
{
	struct batch **b = &d->batches[s->table];
	int r = 0;

	assert(s->table <= TABLE_OWN && s->to_ours);
	assert(s->view.head->rows <= STORE_ROWS_MAX);
	columns = known_columns(s->def, columns);
	if (*b && (*b)->def != s->def) {
		batch_free(*b);
		*b = NULL;
	}
	if (!*b)
		r = batch_new_of(b, s->table, s->def);
	if (r < 0)
		return r;
	d->batch = *b;
	batch_clear(d->batch);
	batch_resize(d->batch, s->view.head->rows);
	if (s->table == TABLE_OP)
		d->batch->row_id = id_compose((int64_t)(s->view.head->seq << 16), s->trace);
	r = decode_block_begin(d, s, columns);
	if (r >= 0)
		r = decode_set(d, columns, ret_why);
	else
		*ret_why = d->why;
	if (r < 0)
		return r;
	*ret = d->batch;
	return 0;
}

int decode_more(struct decoder *d, uint64_t columns, const char **ret_why)
{
	assert(d->src && d->batch && d->batch->table == d->src->table);
	columns = known_columns(d->src->def, columns) & ~d->given;
	if (!columns)
		return 0;
	/* predictions use ids as the file has them */
	for (unsigned int i = 0; i < d->batch->def->column_count; i++) {
		if (d->given >> i & 1)
			decompose_ids(d->batch, i, d->src);
	}
	return decode_set(d, columns, ret_why);
}

int decode_blob(struct decoder *d, const struct decode_source *s, struct bytes *ret,
		const char **ret_why)
{
	const struct block_entry *e = s->view.entries;
	const uint8_t *p, *end;
	ssize_t len = 0;
	int r = decode_block_begin(d, s, 0);

	buf_clear(&d->blob);
	if (r >= 0)
		r = buf_reserve(&d->blob, 1); /* never NULL, even if empty */
	if (r >= 0 && s->view.head->entries) {
		r = section(d, e, &p, &end);
		len = r < 0 ? r : blob_length(p, end);
		r = len < 0 ? (int)len : buf_reserve(&d->blob, (size_t)len + 1);
		if (r >= 0)
			r = blob_decode(d->codec, &p, end, d->blob.data, (size_t)len);
	}
	if (r < 0) {
		*ret_why = *d->why ? d->why : "a blob cannot be unpacked";
		return r;
	}
	*ret = (struct bytes){d->blob.data, (size_t)len};
	return 0;
}
