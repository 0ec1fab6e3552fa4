/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row of op with any values in any columns, as a damaged or hostile trace may hold it: its line is whole and keeps
 * to printable text. A bit per column says whether it has a value; the values follow, eight bytes each.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/trace/call_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const struct batch *op, const struct dims *dims,
		       const struct call_text_style *style)
{
	struct buf to = {0};

	if (call_text(&to, op, 0, dims, style) < 0 || !to.len)
		abort();
	for (size_t i = 0; i < to.len; i++) {
		if (to.data[i] < 0x20 || to.data[i] == 0x7f)
			abort();
	}
	buf_free(&to);
	if (call_text_entry(&to, op, 0, dims, style) < 0 ||
	    call_text_result(&to, op, 0, dims, style) < 0)
		abort();
	buf_free(&to);
}

static int fill(struct batch *op, const uint8_t *data, size_t size)
{
	const struct table_def *table = schema_table(TABLE_OP);
	uint64_t given;
	int r = 0;

	memcpy(&given, data, sizeof(given));
	data += sizeof(given);
	size -= sizeof(given);
	for (unsigned int i = 0; !r && i < table->column_count; i++) {
		int64_t value = 0;
		size_t n = MIN(size, sizeof(value));

		if (!(given >> i & 1) || !n)
			continue;
		memcpy(&value, data, n);
		r = table->columns[i].type == COLUMN_BYTES
			    ? batch_set_bytes(op, i, 0, data, MIN(size, (size_t)data[0]))
			    : batch_set(op, i, 0, value);
		data += n;
		size -= n;
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct call_text_style styles[] = {
		{0}, {.brief = true, .path_max = 40, .align = 40}};
	static struct dims *dims;
	struct batch *op;

	if (!dims && dims_new(&dims) < 0)
		abort();
	if (size < sizeof(uint64_t) || batch_new(&op, TABLE_OP) < 0)
		return 0;
	if (batch_add_row(op) < 0 || fill(op, data, size) < 0)
		abort();
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
		check_line(op, dims, &styles[i]);
	batch_free(op);
	return 0;
}
