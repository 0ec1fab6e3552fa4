// SPDX-License-Identifier: Apache-2.0
#include "server/http/answer_columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/http/js.h"

static const char magic[] = "weircol1";

static size_t col_bytes(const struct columns_col *c, size_t rows)
{
	return rows * (c->coded ? sizeof(uint32_t) : sizeof(double));
}

static void put_members(struct js *j, const struct buf *members)
{
	if (!members || !members->len)
		return;
	js_raw(j, members->data, members->len);
}

static void answer_columns_put_column(struct js *j, const struct columns_col *c, bool binary,
				      size_t offset, size_t rows)
{
	js_open(j, '{');
	js_key_string(j, "name", c->name);
	js_key_string(j, "type", c->type);
	js_key_string(j, "unit", c->unit);
	if (binary) {
		js_key_string(j, "encoding", c->coded ? "u32" : "f64");
		js_key_uint(j, "offset", offset);
		js_key_uint(j, "length", col_bytes(c, rows));
	}
	if (binary && c->coded) {
		js_key_open(j, "words", '[');
		for (size_t i = 0; i < c->word_count; i++)
			js_string(j, c->words[i]);
		js_close(j, ']');
	}
	js_close(j, '}');
}

static int answer_columns_write_binary(struct question *q, const struct buf *members,
				       const struct columns_col *cols, size_t count, size_t rows)
{
	static const uint8_t zeros[8];
	_cleanup_buf_ struct buf head = {0};
	struct js j = {.to = &head};
	size_t offset = 0;
	uint32_t len;
	int r;

	js_open(&j, '{');
	js_key_exact(&j, "origin", q->server->origin);
	put_members(&j, members);
	js_key_uint(&j, "rows", rows);
	loss_put(q, &j);
	js_key_open(&j, "columns", '[');
	for (size_t c = 0; c < count; c++) {
		answer_columns_put_column(&j, &cols[c], true, offset, rows);
		offset = align_up(offset + col_bytes(&cols[c], rows), 8);
	}
	js_close(&j, ']');
	js_close(&j, '}');
	r = j.error < 0 ? j.error : question_fits(q, head.len + offset);
	if (r < 0)
		return r;
	len = (uint32_t)head.len; /* little-endian, like every machine that weir supports */
	buf_append(&q->out, magic, strlen(magic));
	buf_append(&q->out, &len, sizeof(len));
	buf_append(&q->out, head.data, head.len);
	for (size_t c = 0; c <= count; c++) {
		buf_append(&q->out, zeros, align_up(q->out.len, 8) - q->out.len);
		if (c < count && rows)
			buf_append(&q->out,
				   cols[c].coded ? (const void *)cols[c].u
						 : (const void *)cols[c].f,
				   col_bytes(&cols[c], rows));
	}
	return buf_status(&q->out);
}

static void answer_columns_put_cell(struct js *j, const struct columns_col *c, size_t row)
{
	js_key(j, c->name);
	if (!c->coded)
		js_float(j, c->f[row]);
	else if (c->u[row] == COLUMNS_NULL)
		js_null(j);
	else
		js_string(j, c->words[c->u[row]]);
}

static int write_json(struct question *q, const struct buf *members, const struct columns_col *cols,
		      size_t count, size_t rows)
{
	struct js j = {.to = &q->out};

	js_open(&j, '{');
	js_key_exact(&j, "origin", q->server->origin);
	put_members(&j, members);
	js_key_open(&j, "columns", '[');
	for (size_t c = 0; c < count; c++)
		answer_columns_put_column(&j, &cols[c], false, 0, rows);
	js_close(&j, ']');
	js_key_open(&j, "rows", '[');
	for (size_t i = 0; i < rows; i++) {
		js_open(&j, '{');
		for (size_t c = 0; c < count; c++)
			answer_columns_put_cell(&j, &cols[c], i);
		js_close(&j, '}');
	}
	js_close(&j, ']');
	loss_put(q, &j);
	js_close(&j, '}');
	return j.error;
}

int columns_write_with(struct question *q, const struct buf *members,
		       const struct columns_col *cols, size_t count, size_t rows)
{
	return q->columns ? answer_columns_write_binary(q, members, cols, count, rows)
			  : write_json(q, members, cols, count, rows);
}

int columns_write(struct question *q, const struct columns_col *cols, size_t count, size_t rows)
{
	return columns_write_with(q, NULL, cols, count, rows);
}
