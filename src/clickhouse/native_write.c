// SPDX-License-Identifier: Apache-2.0
/* native_write.c: writes batches as ClickHouse blocks. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "clickhouse/native.h"
#include "clickhouse/tables.h"
#include "schema/vocab.h"

#define FRAME_HEAD   25 /* checksum 16, method 1, sizes 4 and 4 */
#define METHOD_ZSTD  0x90
#define ZSTD_FASTEST -7 /* of numbers: three quarters of the time of level -1, and no more bytes */

int native_put_head(const char *name, const char *type, struct buf *out)
{
	buf_varint(out, strlen(name));
	buf_append(out, name, strlen(name));
	buf_varint(out, strlen(type));
	return buf_append(out, type, strlen(type));
}

/* The same value for all rows. */
static int put_same(const char *name, const char *type, uint64_t v, size_t width, size_t rows,
		    struct buf *out)
{
	int r = native_put_head(name, type, out);

	if (r >= 0)
		r = buf_reserve(out, rows * width);
	if (r < 0)
		return r;
	for (size_t i = 0; i < rows; i++)
		memcpy(out->data + out->len + i * width, &v, width);
	out->len += rows * width;
	return 0;
}

static int put_row_numbers(const struct batch *b, struct buf *out)
{
	int r = native_put_head("row_no", "UInt64", out);

	if (r >= 0)
		r = buf_reserve(out, b->rows * 8);
	for (uint64_t i = 0; i < b->rows && r >= 0; i++)
		memcpy(out->data + out->len + i * 8, &i, 8);
	out->len += r < 0 ? 0 : b->rows * 8;
	return r;
}

static int put_keys(const struct batch *b, const struct native_keys *k, struct buf *out)
{
	int r = put_same("recording", "UInt32", k->recording, 4, b->rows, out);

	if (r < 0)
		return r;
	r = put_same("block_no", "UInt64", k->block_no, 8, b->rows, out);
	if (r < 0)
		return r;
	r = put_row_numbers(b, out);
	if (r < 0)
		return r;
	native_put_head("ended", "Int64", out);
	r = buf_append(out, k->ended, b->rows * 8);
	return r < 0 ? r : put_same("day", "Date", k->day, 2, b->rows, out);
}

/* Expands 64 bits of the map to a byte each. */
void native_spread_nulls(const uint64_t *nulls, size_t rows, uint8_t *out)
{
	for (size_t i = 0; i < rows; i++)
		out[i] = nulls[i / 64] >> (i % 64) & 1;
}

static int put_values(const struct batch *b, unsigned int column, struct buf *out)
{
	const struct column *c = &b->columns[column];
	int r = buf_reserve(out, b->rows * 9);

	if (r < 0)
		return r;
	if (!batch_has(b, column))
		memset(out->data + out->len, 1, b->rows);
	else if (c->nulls)
		native_spread_nulls(c->nulls, b->rows, out->data + out->len);
	else
		memset(out->data + out->len, 0, b->rows);
	out->len += b->rows;
	if (column_is_bytes(b->def->columns[column].type)) {
		for (size_t i = 0; i < b->rows && r >= 0; i++) {
			struct bytes t = batch_get_bytes(b, column, i);

			buf_varint(out, t.len);
			r = buf_append(out, t.data, t.len);
		}
		return r;
	}
	if (b->def->columns[column].type == COLUMN_BOOL) {
		for (size_t i = 0; i < b->rows; i++)
			out->data[out->len++] = c->val && c->val[i];
		return 0;
	}
	if (c->val)
		memcpy(out->data + out->len, c->val, b->rows * 8);
	else
		memset(out->data + out->len, 0, b->rows * 8);
	out->len += b->rows * 8;
	return 0;
}

uint8_t native_start_kind(const struct batch *b, size_t row, const int64_t *ended)
{
	int64_t end;

	if (batch_is_null(b, OP_START, row))
		return START_IS_NULL;
	if (batch_is_null(b, OP_DUR, row) ||
	    __builtin_add_overflow(batch_get(b, OP_START, row, 0), batch_get(b, OP_DUR, row, 0),
				   &end) ||
	    end != ended[row])
		return START_IS_ODD;
	return batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED ? START_UNFINISHED
								   : START_IS_BEFORE_END;
}

static bool is_start(const struct table_def *t, unsigned int column)
{
	return t == schema_table(TABLE_OP) && column == OP_START;
}

int native_write(const struct batch *b, uint64_t columns, const struct native_keys *keys,
		 struct buf *out)
{
	bool own = clickhouse_is_own(b->def);
	int r;

	assert(b->table != TABLE_OP);
	buf_varint(out, 5 + (unsigned int)__builtin_popcountll(columns));
	r = buf_varint(out, b->rows);
	if (r >= 0)
		r = put_keys(b, keys, out);
	for (unsigned int i = 0; i < b->def->column_count && r >= 0; i++) {
		const struct column_def *c = &b->def->columns[i];
		char name[256];

		if (!(columns >> i & 1))
			continue;
		snprintf(name, sizeof(name), "%s%s", c->name,
			 c->type == COLUMN_CODE && !own ? "_code" : "");
		for (char *p = name; own && *p; p++)
			*p = (char)tolower((unsigned char)*p);
		r = native_put_head(name, clickhouse_type(c), out);
		if (r >= 0)
			r = put_values(b, i, out);
	}
	return r;
}

int native_columns(const struct table_def *t, uint64_t columns, struct buf *out)
{
	buf_printf(out, "`recording`, `block_no`, `row_no`, `ended`, `day`%s",
		   t == schema_table(TABLE_OP) ? ", `start_kind`, `start_odd`" : "");
	for (unsigned int i = 0; i < t->column_count; i++) {
		if (!(columns >> i & 1) || is_start(t, i))
			continue;
		buf_printf(out, ", ");
		clickhouse_column_of(t, i, out);
	}
	return buf_status(out);
}

void native_packer_free(struct native_packer *p)
{
	ZSTD_freeCCtx(p->context);
	p->context = NULL;
}

int native_pack(struct native_packer *p, struct buf *raw, struct buf *out)
{
	size_t bound = ZSTD_compressBound(raw->len), len;
	int r = raw->len > UINT32_MAX - bound ? -E2BIG : buf_reserve(out, FRAME_HEAD + bound);
	uint8_t *head;
	uint32_t size;

	if (r < 0)
		return r;
	if (!p->context)
		p->context = ZSTD_createCCtx();
	if (!p->context)
		return -ENOMEM;
	head = out->data + out->len;
	len = ZSTD_compressCCtx(p->context, head + FRAME_HEAD, bound, raw->data, raw->len,
				ZSTD_FASTEST);
	if (ZSTD_isError(len))
		return -ENOMEM;
	memset(head, 0, 16);
	head[16] = METHOD_ZSTD;
	size = (uint32_t)len + 9;
	memcpy(head + 17, &size, 4);
	size = (uint32_t)raw->len;
	memcpy(head + 21, &size, 4);
	out->len += FRAME_HEAD + len;
	buf_clear(raw);
	return 0;
}
