/* SPDX-License-Identifier: Apache-2.0 */
/* encode_block.c: encodes a batch as a block. */
#include <errno.h>
#include <xxhash.h>

#include "store/file/block.h"
#include "base/array.h"
#include "store/codec/bytes.h"
#include "store/codec/codec_impl.h"
#include "store/file/write/candidates.h"

#define SET_SLOTS   (4 * STORE_SET_MAX) /* power of two */
#define SAMPLE_ROWS 2048		/* rows on which candidate transforms are compared */
#define NULL_WORDS  (STORE_ROWS_MAX / 64)

struct null_map {
	uint64_t words[NULL_WORDS];
	uint8_t entry; /* 1 + number of the entry */
};

struct encoder {
	struct codec *codec;
	struct buf payload, extras, block;
	struct block_entry entries[STORE_ENTRIES_MAX];
	unsigned int entry_count, extra_count;
	struct null_map *maps; /* of the current block, [SCHEMA_COLUMNS_MAX] */
	unsigned int map_count;
	int64_t *set; /* [SET_SLOTS], hashed */
	int64_t *ids; /* [STORE_SET_MAX] */
};

int encoder_new(struct encoder **ret, bool compress)
{
	_cleanup_(encoder_freep) struct encoder *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	r = codec_new(&e->codec, true, compress);
	if (r < 0)
		return r;
	e->maps = malloc(SCHEMA_COLUMNS_MAX * sizeof(*e->maps));
	e->set = malloc(SET_SLOTS * sizeof(*e->set));
	e->ids = malloc(STORE_SET_MAX * sizeof(*e->ids));
	if (!e->maps || !e->set || !e->ids)
		return -ENOMEM;
	*ret = TAKE_PTR(e);
	return 0;
}

void encoder_free(struct encoder *e)
{
	if (!e)
		return;
	codec_free(e->codec);
	buf_free(&e->payload);
	buf_free(&e->extras);
	buf_free(&e->block);
	free(e->maps);
	free(e->set);
	free(e->ids);
	free(e);
}

static void encoder_begin(struct encoder *e)
{
	buf_clear(&e->payload);
	buf_clear(&e->extras);
	buf_clear(&e->block);
	e->entry_count = 0;
	e->extra_count = 0;
	e->map_count = 0;
}

/* Opens an entry whose section begins at the end of the payload. */
static struct block_entry *entry_begin(struct encoder *e, enum entry_kind kind)
{
	struct block_entry *en = &e->entries[e->entry_count];

	assert(e->entry_count < STORE_ENTRIES_MAX);
	e->entry_count++;
	*en = (struct block_entry){.kind = kind,
				   .ref = {0xff, 0xff},
				   .offset = (uint32_t)e->payload.len,
				   .min = 1,
				   .max = 0};
	return en;
}

static void entry_end(struct encoder *e, struct block_entry *en)
{
	/* only the last entry can be open, as sections do not overlap */
	assert(en == &e->entries[e->entry_count - 1] && en->offset <= e->payload.len);
	en->len = (uint32_t)(e->payload.len - en->offset);
	en->checksum = XXH3_64bits(e->payload.data + en->offset, en->len);
}

/* ---- nulls ---- */

/* Copies the column's null bits into the next map, cleared past the last row. Returns the number of bits set. */
static size_t nulls_take(struct encoder *e, const struct batch *b, const struct column *col)
{
	uint64_t *w = e->maps[e->map_count].words;
	size_t words = (b->rows + 63) / 64, n = 0;

	assert(e->map_count < SCHEMA_COLUMNS_MAX && words <= NULL_WORDS);
	if (!col->nulls)
		return 0;
	memcpy(w, col->nulls, words * sizeof(*w));
	if (b->rows % 64)
		w[words - 1] &= (1ull << (b->rows % 64)) - 1;
	for (size_t i = 0; i < words; i++)
		n += (size_t)__builtin_popcountll(w[i]);
	return n;
}

/* Zeroes values under null bits, as the reader will have them: transforms read them. */
static void nulls_zero(struct column *col, const uint64_t *w, size_t rows)
{
	for (size_t i = 0; i < (rows + 63) / 64; i++) {
		uint64_t m = w[i];

		if (rows - i * 64 < 64)
			m &= (1ull << (rows - i * 64)) -
			     1; /* the column may be allocated for exactly its rows */
		for (; m; m &= m - 1)
			col->val[i * 64 + (size_t)__builtin_ctzll(m)] = 0;
	}
}

/* Stores the map that nulls_take() made, or finds an equal one. *ret is its entry. */
static int nulls_store(struct encoder *e, size_t rows, uint8_t *ret, const uint64_t **ret_words)
{
	struct null_map *m = &e->maps[e->map_count];
	size_t len = (rows + 63) / 64 * sizeof(m->words[0]);
	struct block_entry *en;
	int r;

	for (unsigned int i = 0; i < e->map_count; i++) {
		if (!memcmp(e->maps[i].words, m->words, len)) {
			*ret = e->maps[i].entry;
			*ret_words = e->maps[i].words;
			return 0;
		}
	}
	en = entry_begin(e, ENTRY_NULLS);
	r = blob_encode(e->codec, (const uint8_t *)m->words, len, &e->payload);
	if (r < 0)
		return r;
	entry_end(e, en);
	en->raw_len = (uint32_t)len;
	m->entry = (uint8_t)e->entry_count;
	e->map_count++;
	*ret = m->entry;
	*ret_words = m->words;
	return 0;
}

/* ---- columns ---- */

/* Points a transform at the columns of a candidate; false if one is absent. */
static bool candidate_args(const struct batch *b, const struct candidate *cand,
			   const uint64_t *nulls, struct transform_args *ret)
{
	struct transform_args t = {.kind = cand->kind, .rows = b->rows, .nulls = nulls};
	unsigned int refs = transform_refs(cand->kind);
	unsigned int a = refs - 1;

	assert(refs <= ARRAY_SIZE(cand->ref));
	for (unsigned int i = 0; i < refs; i++) {
		if (!b->columns[cand->ref[i]].val)
			return false;
	}
	if (cand->kind == TRANSFORM_LAST || refs == 2)
		t.key = b->columns[cand->ref[0]].val;
	if (cand->kind != TRANSFORM_LAST && refs)
		t.a = b->columns[cand->ref[a]].val;
	*ret = t;
	return true;
}

/* Restricts a transform to a sample of rows from the middle. */
static size_t sample_args(struct transform_args *t)
{
	size_t at;

	if (t->rows <= SAMPLE_ROWS)
		return 0;
	at = (t->rows - SAMPLE_ROWS) / 2 / 64 * 64;
	t->rows = SAMPLE_ROWS;
	t->nulls = t->nulls ? t->nulls + at / 64 : NULL;
	t->key = t->key ? t->key + at : NULL;
	t->a = t->a ? t->a + at : NULL;
	return at;
}

static const struct candidate *encode_block_choose(struct encoder *e, const struct batch *b,
						   unsigned int column, const uint64_t *nulls)
{
	const struct candidate *best = NULL;
	size_t best_size = SIZE_MAX, count;
	const struct candidate *list = candidates(b->table, column, &count);
	int64_t *out = codec_values(e->codec, 0);

	assert(count > 0 && list[0].kind == TRANSFORM_NONE);
	if (count == 1 || b->rows < 4)
		return &list[0];
	for (size_t i = 0; i < count; i++) {
		struct transform_args t;
		size_t at, n, size;

		if (!candidate_args(b, &list[i], nulls, &t))
			continue;
		at = sample_args(&t);
		n = transform_forward(e->codec, &t, b->columns[column].val + at, out);
		size = ints_estimate(out, n);
		if (size < best_size) {
			best_size = size;
			best = &list[i];
		}
	}
	assert(best); /* the first candidate refers to no column */
	return best;
}

static int values_encode(struct encoder *e, struct batch *b, unsigned int column,
			 const uint64_t *nulls, struct block_entry *en)
{
	const struct candidate *cand;
	struct transform_args t = {.kind = TRANSFORM_NONE, .rows = b->rows, .nulls = nulls};
	int64_t *v = b->columns[column].val, *out = codec_values(e->codec, 0);
	struct ints_range range;
	size_t n = b->rows;

	assert(v && n > 0);
	if (nulls)
		n = transform_forward(e->codec, &t, v, out);
	range = ints_range(nulls ? out : v, n);
	en->min = range.min;
	en->max = range.max;
	if (range.min == range.max) /* no transform is smaller than a constant */
		return ints_encode_range(e->codec, nulls ? out : v, n, range, &e->payload);
	cand = encode_block_choose(e, b, column, nulls);
	if (!candidate_args(b, cand, nulls, &t))
		assert(!"a chosen candidate has its columns");
	en->transform = (uint8_t)cand->kind;
	for (unsigned int i = 0; i < transform_refs(cand->kind); i++)
		en->ref[i] = cand->ref[i];
	if (cand->kind == TRANSFORM_NONE && !nulls)
		return ints_encode_range(e->codec, v, n, range, &e->payload);
	n = transform_forward(e->codec, &t, v, out);
	return ints_encode(e->codec, out, n, &e->payload);
}

static int column_encode(struct encoder *e, struct batch *b, unsigned int column)
{
	struct column *col = &b->columns[column];
	const uint64_t *words = NULL;
	struct block_entry *en;
	uint8_t map = 0;
	size_t nulls;
	int r = 0;

	if (!batch_has(b, column))
		return 0;
	nulls = nulls_take(e, b, col);
	assert(nulls < b->rows);
	if (nulls)
		r = nulls_store(e, b->rows, &map, &words);
	if (r < 0)
		return r;
	en = entry_begin(e, ENTRY_COLUMN);
	en->column = (uint8_t)column;
	en->null_map = map;
	en->nulls = (uint32_t)nulls;
	if (col->ends)
		r = bytes_encode(e->codec, b, column, words, &e->payload);
	else
		r = values_encode(e, b, column, words, en);
	if (r < 0)
		return r;
	entry_end(e, en);
	return r;
}

/* ---- extras ---- */

static int extra_add(struct encoder *e, enum extra_kind kind, unsigned int column, const void *data,
		     size_t len)
{
	struct block_extra x = {
		.kind = (uint8_t)kind, .column = (uint8_t)column, .len = (uint32_t)len};
	static const uint8_t zero[8];

	assert(e->extras.len % 8 == 0);
	buf_append(&e->extras, &x, sizeof(x));
	buf_append(&e->extras, data, len);
	e->extra_count++;
	return buf_append(&e->extras, zero, align_up(len, 8) - len);
}

/* Returns the number of distinct values >= 0, which are in e->ids, sorted; -1 if there are too many. */
static ssize_t distinct_ids(struct encoder *e, const struct batch *b, unsigned int column)
{
	const struct column *col = &b->columns[column];
	int64_t before = -1;
	size_t n = 0;

	assert(col->val);
	memset(e->set, 0xff, SET_SLOTS * sizeof(*e->set));
	for (size_t i = 0; i < b->rows; i++) {
		int64_t id = col->val[i];
		size_t s;

		if (id == before || batch_is_null(b, column, i))
			continue;
		if (id < 0)
			return -1;
		before = id;
		for (s = hash_u64((uint64_t)id) % SET_SLOTS; e->set[s] != -1 && e->set[s] != id;)
			s = (s + 1) % SET_SLOTS;
		if (e->set[s] == id)
			continue;
		if (n == STORE_SET_MAX)
			return -1;
		e->set[s] = id;
		e->ids[n++] = id;
	}
	array_sort(e->ids, n, order_i64);
	return (ssize_t)n;
}

static int id_set(struct encoder *e, const struct batch *b, unsigned int column)
{
	uint8_t *out = e->codec->planes; /* 512 KiB; 16 Ki varints are at most 160 */
	int64_t before = 0;
	size_t len = 0;
	ssize_t n;

	if (!batch_has(b, column))
		return extra_add(e, EXTRA_ID_SET, column, out, 0);
	n = distinct_ids(e, b, column);
	if (n < 0)
		return 0;
	for (ssize_t i = 0; i < n; i++) {
		len += varint_put(out + len, (uint64_t)(e->ids[i] - before));
		before = e->ids[i];
	}
	return extra_add(e, EXTRA_ID_SET, column, out, len);
}

/* Finds the first start and the last end of calls, or of other events with a duration. */
static int time_range(struct encoder *e, const struct batch *b)
{
	const struct column *start = &b->columns[b->def->start];
	const int64_t *dur = b->columns[b->def->dur].val;
	int64_t range[2] = {INT64_MAX, INT64_MIN};

	assert(b->def->kind == TABLE_IS_EVENTS && start->val);
	for (size_t i = 0; i < b->rows; i++) {
		int64_t from = start->val[i], to = wrap_add(from, dur ? dur[i] : 0);

		if (start->nulls && (start->nulls[i / 64] >> (i % 64) & 1))
			continue;
		to = to < from ? from : to;
		range[0] = from < range[0] ? from : range[0];
		range[1] = to > range[1] ? to : range[1];
	}
	return range[0] > range[1] ? 0 : extra_add(e, EXTRA_RANGE, 0xff, range, sizeof(range));
}

static int op_extras(struct encoder *e, const struct batch *b)
{
	int r = id_set(e, b, OP_FILE_ID);

	if (r < 0)
		return r;
	return id_set(e, b, OP_THREAD_ID);
}

static bool has_time_range(const struct batch *b)
{
	const struct table_def *t = b->def;

	return t->kind == TABLE_IS_EVENTS && t->start != NO_COLUMN && t->dur != NO_COLUMN &&
	       batch_has(b, t->start);
}

static int facts_extras(struct encoder *e, const struct block_facts *facts)
{
	int r = 0;

	if (facts->events.len)
		extra_add(e, EXTRA_EVENTS, 0xff, facts->events.data, facts->events.len);
	if (facts->until != UNTIL_UNKNOWN)
		extra_add(e, EXTRA_UNTIL, 0xff, &facts->until, sizeof(facts->until));
	r = buf_status(&e->extras);
	if (r < 0 || !facts->digest.len)
		return r;
	return extra_add(e, EXTRA_DIGEST, 0xff, facts->digest.data, facts->digest.len);
}

/* ---- blocks ---- */

static int assemble(struct encoder *e, struct block_header *h, struct buf **ret)
{
	size_t entries = e->entry_count * sizeof(e->entries[0]);
	size_t header = sizeof(*h) + entries + e->extras.len;
	int r;

	assert(header % 8 == 0);
	if (header > STORE_HEADER_MAX || e->payload.len > STORE_PAYLOAD_MAX)
		return -EMSGSIZE;
	h->header_len = (uint32_t)header;
	h->payload_len = (uint32_t)e->payload.len;
	h->entries = (uint16_t)e->entry_count;
	h->extras = (uint16_t)e->extra_count;
	buf_append(&e->block, h, sizeof(*h));
	buf_append(&e->block, e->entries, entries);
	r = buf_append(&e->block, e->extras.data, e->extras.len);
	if (r < 0)
		return r;
	*ret = &e->block;
	return buf_append(&e->block, e->payload.data, e->payload.len);
}

int encode_rows(struct encoder *e, struct batch *b, uint8_t flags, const struct block_facts *facts,
		struct buf **ret)
{
	struct block_header h = {.kind = facts->digest.len		 ? BLOCK_DIGEST
					 : b->def->kind == TABLE_IS_MADE ? BLOCK_MADE_ROWS
									 : BLOCK_ROWS,
				 .table = (uint8_t)b->table,
				 .flags = flags,
				 .rows = (uint32_t)b->rows};
	int r = 0;

	assert(b->rows > 0 && b->rows <= STORE_ROWS_MAX);
	assert(!facts->digest.len || b->table == TABLE_SUMMARY);
	encoder_begin(e);
	for (unsigned int i = 0; i < b->def->column_count; i++) {
		struct column *col = &b->columns[i];

		/* A column that is null throughout is dropped, so that no transform refers to it either. */
		if (batch_has(b, i) && nulls_take(e, b, col) == b->rows)
			batch_drop_column(b, i);
		else if (col->val && col->nulls)
			nulls_zero(col, col->nulls, b->rows);
	}
	for (unsigned int i = 0; i < b->def->column_count && r >= 0; i++)
		r = column_encode(e, b, i);
	if (r >= 0 && b->table == TABLE_OP)
		r = op_extras(e, b);
	if (r >= 0 && has_time_range(b))
		r = time_range(e, b);
	if (r < 0)
		return r;
	r = facts_extras(e, facts);
	return r < 0 ? r : assemble(e, &h, ret);
}

int encode_blob(struct encoder *e, enum block_kind kind, uint8_t flags, struct bytes data,
		struct buf **ret)
{
	struct block_header h = {.kind = (uint8_t)kind, .flags = flags};
	struct block_entry *en;
	int r;

	assert(kind == BLOCK_META || kind == BLOCK_INDEX || kind == BLOCK_END ||
	       kind == BLOCK_MADE);
	encoder_begin(e);
	if (data.len) {
		en = entry_begin(e, ENTRY_BLOB);
		r = blob_encode(e->codec, data.data, data.len, &e->payload);
		if (r < 0)
			return r;
		entry_end(e, en);
		en->raw_len = (uint32_t)data.len;
	}
	return assemble(e, &h, ret);
}
