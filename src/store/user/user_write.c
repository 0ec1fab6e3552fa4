/* SPDX-License-Identifier: Apache-2.0 */
/* user_write.c: rows of a user's table become blocks, in memory. */
#include "store/user/user_write.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define BLOCKS_MAX (1u << 30) /* bytes of a table, packed */

static int user_write_put_text(struct buf *b, const char *text)
{
	size_t len = strlen(text);
	int r = buf_varint(b, len);

	return r < 0 ? r : buf_append(b, text, len);
}

static int check_columns(const struct user_column *columns, size_t count, struct error *err)
{
	if (count > USER_COLUMNS_MAX)
		return error_set(err, -EINVAL, "%zu columns; a table has at most %u", count,
				 USER_COLUMNS_MAX);
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(columns[i].name);

		if (!len || len > USER_COLUMN_MAX)
			return error_set(err, -EINVAL,
					 "the name of column %zu has %zu bytes; 1 to %u are "
					 "possible: give it one with AS",
					 i + 1, len, USER_COLUMN_MAX);
		for (size_t k = 0; k < i; k++) {
			if (!strcasecmp(columns[i].name, columns[k].name))
				return error_set(err, -EINVAL,
						 "two columns are called %s: give one another name "
						 "with AS",
						 columns[i].name);
		}
	}
	return 0;
}

static int user_write_head(struct user_writer *w, const char *name,
			   const struct user_column *columns)
{
	int r = user_write_put_text(&w->head, name);

	if (r >= 0)
		r = buf_varint(&w->head, w->column_count);
	for (size_t i = 0; i < w->column_count && r >= 0; i++) {
		const uint8_t type = (uint8_t)columns[i].type;

		w->columns[i].type = columns[i].type;
		r = buf_append(&w->head, &type, 1);
		if (r >= 0)
			r = user_write_put_text(&w->head, columns[i].name);
	}
	return r;
}

int user_writer_new(struct user_writer **ret, const char *name, const struct user_column *columns,
		    size_t count, struct error *err)
{
	_cleanup_(user_writer_freep) struct user_writer *w = NULL;
	int r;

	if (!user_name_ok(name, strlen(name)))
		return error_set(err, -EINVAL,
				 "a table cannot be called '%.80s': a letter or _, then letters, "
				 "digits and _, %u at most",
				 name, USER_NAME_MAX);
	r = check_columns(columns, count, err);
	if (r < 0)
		return r;
	w = calloc(1, sizeof(*w));
	if (!w)
		return error_errno(err, -ENOMEM, "cannot write the table %s", name);
	w->column_count = count;
	r = encoder_new(&w->encoder, true);
	if (r >= 0)
		r = user_write_head(w, name, columns);
	if (r < 0)
		return error_errno(err, r, "cannot write the table %s", name);
	*ret = TAKE_PTR(w);
	return 0;
}

void user_writer_free(struct user_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->column_count; i++) {
		buf_free(&w->columns[i].nulls);
		buf_free(&w->columns[i].values);
		buf_free(&w->columns[i].bytes);
	}
	buf_free(&w->head);
	buf_free(&w->blocks);
	free(w->ends);
	encoder_free(w->encoder);
	free(w);
}

uint64_t user_writer_rows(const struct user_writer *w)
{
	return w->rows;
}

/* ---- blocks ---- */

static int user_write_put_column(struct user_column_data *c, uint32_t rows, struct buf *out)
{
	const uint8_t has = c->has_nulls;
	int r = buf_append(out, &has, 1);

	if (r >= 0 && has)
		r = buf_append(out, c->nulls.data, (rows + 63) / 64 * 8);
	if (r >= 0)
		r = buf_append(out, c->values.data, c->values.len);
	if (r >= 0 && c->bytes.len)
		r = buf_append(out, c->bytes.data, c->bytes.len);
	buf_clear(&c->nulls);
	buf_clear(&c->values);
	buf_clear(&c->bytes);
	c->has_nulls = false;
	return r;
}

/* The rows at hand become a block; the flags of its place come in user_append(). */
static int user_write_cut(struct user_writer *w)
{
	_cleanup_buf_ struct buf data = {0};
	struct buf *block;
	int r = 0;

	for (size_t i = 0; i < w->column_count && r >= 0 && w->block_rows; i++)
		r = user_write_put_column(&w->columns[i], w->block_rows, &data);
	if (r >= 0 && data.len > STORE_BLOB_MAX)
		r = -EMSGSIZE;
	if (r >= 0)
		r = encode_user(w->encoder, (struct bytes){w->head.data, w->head.len},
				(struct bytes){data.data, data.len}, w->block_rows, 0, &block);
	if (r >= 0 && w->blocks.len + block->len > BLOCKS_MAX)
		r = -EFBIG;
	if (r >= 0)
		r = grow((void **)&w->ends, &w->cap, w->block_count + 1, sizeof(*w->ends));
	if (r >= 0)
		r = buf_append(&w->blocks, block->data, block->len);
	if (r < 0)
		return r;
	w->ends[w->block_count++] = w->blocks.len;
	w->block_rows = 0;
	w->block_bytes = 0;
	return 0;
}

int user_writer_finish(struct user_writer *w)
{
	assert(w->column == 0);
	return w->block_rows || !w->block_count ? user_write_cut(w) : 0;
}

/* ---- values ---- */

static int user_write_put_value(struct user_column_data *c, uint64_t value)
{
	uint32_t end = (uint32_t)c->bytes.len;

	return user_type_is_bytes(c->type) ? buf_append(&c->values, &end, sizeof(end))
					   : buf_append(&c->values, &value, sizeof(value));
}

static int user_write_put(struct user_writer *w, uint64_t value, bool null)
{
	struct user_column_data *c = &w->columns[w->column];
	uint32_t row = w->block_rows;
	const uint64_t zero = 0;
	int r = row % 64 ? 0 : buf_append(&c->nulls, &zero, sizeof(zero));

	if (r >= 0)
		r = user_write_put_value(c, value);
	if (r < 0)
		return r;
	if (null) {
		c->has_nulls = true;
		c->nulls.data[row / 8] |= (uint8_t)(1u << (row % 8));
	}
	w->block_bytes += sizeof(value);
	if (++w->column < w->column_count)
		return 0;
	w->column = 0;
	w->rows++;
	w->block_rows++;
	return w->block_rows == STORE_ROWS_MAX || w->block_bytes >= STORE_BLOB_CUT
		       ? user_write_cut(w)
		       : 0;
}

int user_put_null(struct user_writer *w)
{
	return user_write_put(w, 0, true);
}

int user_put(struct user_writer *w, uint64_t value)
{
	assert(!user_type_is_bytes(w->columns[w->column].type));
	return user_write_put(w, value, false);
}

int user_put_bytes(struct user_writer *w, struct bytes v)
{
	struct user_column_data *c = &w->columns[w->column];
	int r;

	assert(user_type_is_bytes(c->type));
	if (v.len > STORE_BLOB_MAX - STORE_BLOB_CUT)
		return -EMSGSIZE;
	r = v.len ? buf_append(&c->bytes, v.data, v.len) : 0;
	w->block_bytes += v.len;
	return r < 0 ? r : user_write_put(w, 0, false);
}
