/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.c: byte columns: the strings of the rows that are not null, plain or as a dictionary. */
#include "store/codec/bytes.h"

#include <errno.h>

#include "base/map.h"
#include "store/codec/codec_impl.h"

/* A dictionary must halve the number of strings; distinct paths are smaller plain. */
#define BYTES_DICT_SHARE 2

static int lengths_encode(struct codec *c, const int64_t *lengths, size_t n, const uint8_t *data,
			  size_t len, struct buf *out)
{
	int r = ints_encode(c, lengths, n, out);

	return r < 0 ? r : blob_encode(c, data, len, out);
}

static int plain_encode(struct codec *c, const struct batch *b, unsigned int column,
			const uint64_t *nulls, struct buf *out)
{
	const struct column *col = &b->columns[column];
	int64_t *lengths = codec_values(c, 0);
	uint8_t mode = BYTES_PLAIN;
	size_t n = 0;

	assert(b->rows > 0 && b->rows <= STORE_ROWS_MAX);
	assert(col->ends[b->rows - 1] == col->data_len);
	for (size_t i = 0; i < b->rows; i++) {
		if (!nulls || !(nulls[i / 64] >> (i % 64) & 1))
			lengths[n++] = col->ends[i] - (i ? col->ends[i - 1] : 0);
	}
	buf_append(out, &mode, 1);
	/* A null row has no bytes, so the column's data are exactly the strings of the other rows. */
	return lengths_encode(c, lengths, n, col->data, col->data_len, out);
}

static int bytes_dict_encode(struct codec *c, const struct intern *words, const int64_t *codes,
			     size_t n, struct buf *out)
{
	int64_t *lengths = codec_values(c, 1);
	uint8_t head[1 + VARINT_MAX] = {BYTES_DICT};
	int r = buf_append(out, head, 1 + varint_put(head + 1, words->count));

	assert(words->count > 0 && words->count <= n / BYTES_DICT_SHARE);
	if (r < 0)
		return r;
	for (size_t i = 0; i < words->count; i++)
		lengths[i] = (int64_t)(words->ends[i] - (i ? words->ends[i - 1] : 0));
	r = lengths_encode(c, lengths, words->count, words->data, words->len, out);
	return r < 0 ? r : ints_encode(c, codes, n, out);
}

int bytes_encode(struct codec *c, const struct batch *b, unsigned int column, const uint64_t *nulls,
		 struct buf *out)
{
	_cleanup_(intern_free) struct intern words = {0};
	int64_t *codes = codec_values(c, 0);
	size_t n = 0;

	assert(column_is_bytes(b->def->columns[column].type));
	for (size_t i = 0; i < b->rows; i++) {
		struct bytes v;
		uint32_t id;

		if (nulls && (nulls[i / 64] >> (i % 64) & 1))
			continue;
		v = batch_get_bytes(b, column, i);
		if (intern_add(&words, v.data, v.len, &id) < 0)
			return -ENOMEM;
		codes[n++] = id;
		if (n >= 256 && words.count > n / BYTES_DICT_SHARE)
			break;
	}
	if (words.count > n / BYTES_DICT_SHARE)
		return plain_encode(c, b, column, nulls, out);
	return bytes_dict_encode(c, &words, codes, n, out);
}

/* A list of strings: stores each length in `lengths` and the bytes in c->packed. */
static int lengths_decode(struct codec *c, const uint8_t **p, const uint8_t *end, size_t n,
			  int64_t *lengths)
{
	uint64_t sum = 0;
	ssize_t len;
	int r = ints_decode(c, p, end, lengths, n);

	assert(n <= STORE_ROWS_MAX);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (lengths[i] < 0 || lengths[i] > STORE_BLOB_MAX)
			return -EBADMSG;
		sum += (uint64_t)lengths[i];
	}
	len = blob_length(*p, end);
	if (len < 0 || sum != (uint64_t)len)
		return -EBADMSG;
	buf_clear(&c->packed);
	r = buf_reserve(&c->packed, (size_t)len + 1);
	return r < 0 ? r : blob_decode(c, p, end, c->packed.data, (size_t)len);
}

/* Where decoded rows go. */
struct target {
	struct column *col;
	const uint64_t *nulls;
	size_t rows;
};

static bool target_null(const struct target *t, size_t row)
{
	return t->nulls && (t->nulls[row / 64] >> (row % 64) & 1);
}

static int target_room(const struct target *t, uint64_t len)
{
	if (len > STORE_BLOB_MAX)
		return -EBADMSG;
	return grow((void **)&t->col->data, &t->col->data_cap, len + 1, 1);
}

static int plain_decode(struct codec *c, const uint8_t **p, const uint8_t *end,
			const struct target *t, size_t n)
{
	int64_t *lengths = codec_values(c, 0);
	uint32_t at = 0;
	size_t k = 0;
	int r = lengths_decode(c, p, end, n, lengths);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		at += (uint32_t)lengths[i];
	r = target_room(t, at);
	if (r < 0)
		return r;
	memcpy(t->col->data, c->packed.data, at);
	t->col->data_len = at;
	at = 0;
	for (size_t i = 0; i < t->rows; i++) {
		if (!target_null(t, i))
			at += (uint32_t)lengths[k++];
		t->col->ends[i] = at;
	}
	assert(k == n && at == t->col->data_len);
	return 0;
}

/* Copies string codes[k] into each row that is not null. */
static int dict_expand(struct codec *c, const struct target *t, const int64_t *codes,
		       const int64_t *lengths, const int64_t *starts, size_t n)
{
	uint64_t sum = 0;
	uint32_t at = 0;
	size_t k = 0;
	int r;

	for (size_t i = 0; i < n; i++)
		sum += (uint64_t)lengths[codes[i]];
	r = target_room(t, sum);
	if (r < 0)
		return r;
	for (size_t i = 0; i < t->rows; i++) {
		if (!target_null(t, i)) {
			size_t w = (size_t)codes[k++];

			memcpy(t->col->data + at, c->packed.data + starts[w], (size_t)lengths[w]);
			at += (uint32_t)lengths[w];
		}
		t->col->ends[i] = at;
	}
	assert(k == n && at == sum);
	t->col->data_len = at;
	return 0;
}

static int bytes_dict_decode(struct codec *c, const uint8_t **p, const uint8_t *end,
			     const struct target *t, size_t n)
{
	int64_t *codes = codec_values(c, 0), *lengths = codec_values(c, 1),
		*starts = codec_values(c, 2);
	uint64_t words;
	int64_t at = 0;
	int r;

	if (!varint_get(p, end, &words) || words > n)
		return -EBADMSG;
	r = lengths_decode(c, p, end, words, lengths);
	if (r < 0)
		return r;
	r = ints_decode(c, p, end, codes, n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < words; i++) {
		starts[i] = at;
		at += lengths[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (codes[i] < 0 || (uint64_t)codes[i] >= words)
			return -EBADMSG;
	}
	return dict_expand(c, t, codes, lengths, starts, n);
}

int bytes_decode(struct codec *c, const uint8_t **p, const uint8_t *end, struct column *col,
		 const uint64_t *nulls, size_t rows, size_t n)
{
	struct target t = {.col = col, .nulls = nulls, .rows = rows};

	assert(n <= rows && rows <= STORE_ROWS_MAX && col->ends);
	if (*p >= end)
		return -EBADMSG;
	switch (*(*p)++) {
	case BYTES_PLAIN:
		return plain_decode(c, p, end, &t, n);
	case BYTES_DICT:
		return bytes_dict_decode(c, p, end, &t, n);
	default:
		return -EBADMSG;
	}
}
