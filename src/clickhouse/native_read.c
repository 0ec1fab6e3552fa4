// SPDX-License-Identifier: Apache-2.0
/* native_read.c: reads blocks from ClickHouse as they arrive. */
#include <errno.h>
#include <string.h>

#include "clickhouse/native.h"

#define COLUMNS_MAX 1024
#define ROWS_MAX    (1u << 24)
#define BLOCK_MAX   (1ull << 31) /* bytes */
/* Bytes of an exception behind the place where it was read as a block; a server that never ends sends no more. */
#define EXCEPTION_MAX (1u << 20)
#define EMPTY_MAX     1024 /* blocks without rows in succession; a server sends one or two */

void native_reader_free(struct native_reader *r)
{
	for (size_t i = 0; i < r->cap; i++)
		free(r->columns[i].texts);
	free(r->columns);
	buf_free(&r->in);
	*r = (struct native_reader){0};
}

/* A position in the bytes received; `need` is set to how many more are required. */
struct native_at {
	const uint8_t *data;
	size_t at, len;
};

/* 1; 0: more bytes are required; negative. */
static int take_varint(struct native_at *p, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 63; shift += 7) {
		uint8_t byte;

		if (p->at == p->len)
			return 0;
		byte = p->data[p->at++];
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = v;
			return 1;
		}
	}
	return -EBADMSG;
}

static int native_take_bytes(struct native_at *p, size_t len, const uint8_t **ret)
{
	if (p->len - p->at < len)
		return 0;
	*ret = p->data + p->at;
	p->at += len;
	return 1;
}

static int take_text(struct native_at *p, struct bytes *ret)
{
	uint64_t len;
	int r = take_varint(p, &len);

	if (r <= 0)
		return r;
	if (len > BLOCK_MAX)
		return -EBADMSG;
	r = native_take_bytes(p, len, &ret->data);
	ret->len = (uint32_t)len;
	return r;
}

static int read_type(struct bytes t, struct native_column *c, bool *ret_nullable)
{
	static const struct {
		const char *name;
		uint8_t width;
		bool is_signed, is_float;
	} types[] = {
		{"UInt8", 1},
		{"Bool", 1},
		{"UInt16", 2},
		{"Date", 2},
		{"UInt32", 4},
		{"DateTime", 4},
		{"UInt64", 8},
		{"Int8", 1, .is_signed = true},
		{"Int16", 2, .is_signed = true},
		{"Int32", 4, .is_signed = true},
		{"Int64", 8, .is_signed = true},
		{"Decimal(38, 0)", 16, .is_signed = true},
		{"Float64", 8, .is_float = true},
		{"String", 0},
	};

	*ret_nullable = t.len > 10 && !memcmp(t.data, "Nullable(", 9);
	if (*ret_nullable)
		t = (struct bytes){t.data + 9, t.len - 10};
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (bytes_is(t, types[i].name)) {
			c->width = types[i].width;
			c->is_signed = types[i].is_signed;
			c->is_float = types[i].is_float;
			return 0;
		}
	}
	return -EBADMSG;
}

static int take_column(struct native_column *c, struct native_at *p, size_t rows)
{
	struct bytes name, type;
	bool nullable;
	int k = take_text(p, &name);

	if (k > 0)
		k = take_text(p, &type);
	if (k <= 0)
		return k;
	k = read_type(type, c, &nullable);
	if (k < 0)
		return k;
	c->nulls = NULL;
	if (nullable) {
		k = native_take_bytes(p, rows, &c->nulls);
		if (k <= 0)
			return k;
	}
	if (c->width)
		return native_take_bytes(p, rows * c->width, &c->data);
	k = grow((void **)&c->texts, &c->texts_cap, rows, sizeof(*c->texts));
	if (k < 0)
		return k;
	for (size_t row = 0; row < rows; row++) {
		k = take_text(p, &c->texts[row]);
		if (k <= 0)
			return k;
	}
	return 1;
}

/* Parses a block from the received bytes: 1; 0: it is incomplete; negative. */
static int take_block(struct native_reader *r)
{
	struct native_at p = {r->in.data + r->at, 0, r->in.len - r->at};
	uint64_t columns, rows;
	int k = take_varint(&p, &columns);

	if (k > 0)
		k = take_varint(&p, &rows);
	if (k <= 0)
		return k;
	if (columns > COLUMNS_MAX || rows > ROWS_MAX)
		return -EBADMSG;
	k = grow_zeroed((void **)&r->columns, &r->cap, columns, sizeof(*r->columns));
	if (k < 0)
		return k;
	for (size_t i = 0; i < columns; i++) {
		k = take_column(&r->columns[i], &p, rows);
		if (k <= 0)
			return k;
	}
	r->count = columns;
	r->rows = rows;
	r->at += p.at;
	return 1;
}

/* Drops bytes of the blocks already returned. */
static void drop_read(struct native_reader *r)
{
	if (!r->at)
		return;
	memmove(r->in.data, r->in.data + r->at, r->in.len - r->at);
	r->in.len -= r->at;
	r->at = 0;
}

int native_read(struct native_reader *r, const char **ret_text, struct error *err)
{
	size_t want = 0, most, empty = 0;

	*ret_text = NULL;
	drop_read(r);
	for (;;) {
		int k = r->in.len > r->at && (r->in.len - r->at >= want || r->ended) ? take_block(r)
										     : 0;

		if (k > 0 && r->rows)
			return 1;
		if (k > 0 && ++empty < EMPTY_MAX)
			continue;
		if (k > 0)
			k = -EBADMSG;
		if (k == 0 && r->ended && r->in.len == r->at)
			return 0;
		/* an exception replaces or interrupts a block */
		if (k < 0 || r->ended || r->in.len > BLOCK_MAX) {
			most = MIN(r->in.len + EXCEPTION_MAX, BLOCK_MAX);
			while (!r->ended && r->in.len < most && k != -ENOMEM)
				r->ended = net_client_read(r->client, &r->in, err) <= 0;
			*ret_text = buf_str(&r->in);
			for (size_t i = 0; i + 6 < r->in.len; i++) {
				if (!memcmp(r->in.data + i, "Code: ", 6))
					*ret_text = (const char *)r->in.data + i;
			}
			return k == -ENOMEM ? k : -EBADMSG;
		}
		/* waits for half as much again, so that a large block is not parsed for each piece */
		want = r->in.len - r->at + (r->in.len - r->at) / 2;
		k = net_client_read(r->client, &r->in, err);
		if (k < 0)
			return k;
		r->ended = k == 0;
	}
}
