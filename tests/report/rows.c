/* SPDX-License-Identifier: Apache-2.0 */
/* report_rows TRACE: every row of op as a JSON array per line, for plain loops to compare `weir
 * report --json` with. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "schema/ops.h"
#include "store/store.h"

static json_t *text(struct bytes b)
{
	json_t *v = b.data ? json_stringn((const char *)b.data, b.len) : json_null();

	return v ? v : json_string("?");
}

static json_t *number(const struct batch *b, enum op_column c, size_t row)
{
	return batch_is_null(b, c, row) ? json_null() : json_integer(batch_get(b, c, row, 0));
}

/* Its name and, of a socket, its address. */
static void put_file(json_t *v, const struct dims *d, int64_t file)
{
	struct dims_file room;
	const struct dims_file *f = file >= 0 ? dims_file(d, file, &room) : NULL;

	json_array_append_new(v, f ? text(dims_file_name(d, file)) : json_null());
	json_array_append_new(v, f && f->type == FILE_TYPE_SOCKET ? text(f->local) : json_null());
}

static void print_row(const struct dims *d, const struct batch *b, size_t row)
{
	const struct dims_thread *t = dims_thread(d, batch_get(b, OP_THREAD_ID, row, -1));
	const struct dims_process *p = t ? dims_process(d, t->process_id) : NULL;
	char op[32];
	const char *err = vocab_word("err", batch_get(b, OP_ERR, row, -1));
	const char *class = vocab_word("class", batch_get(b, OP_CLASS, row, -1));
	json_t *v = json_array();

	json_array_append_new(v, number(b, OP_START, row));
	json_array_append_new(v, number(b, OP_DUR, row));
	json_array_append_new(v, json_string(op_name((uint32_t)batch_get(b, OP_OP, row, 0), op)));
	json_array_append_new(v, class ? json_string(class) : json_null());
	json_array_append_new(v, err ? json_string(err) : json_null());
	json_array_append_new(v, number(b, OP_BYTES, row));
	json_array_append_new(v, json_integer(t ? t->tid : -1));
	json_array_append_new(v, json_integer(p ? p->pid : -1));
	put_file(v, d, batch_get(b, OP_FILE_ID, row, -1));
	put_file(v, d, batch_get(b, OP_FILE2_ID, row, -1));
	json_array_append_new(v, number(b, OP_STATUS, row));
	json_dumpf(v, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(v);
}

int main(int argc, char **argv)
{
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	const char *path = argc == 2 ? argv[1] : "";
	struct error err = {0};

	if (store_open(&s, &path, 1, &err) < 0 || store_cursor_new(&c, s) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	for (size_t k = 0; k < store_block_count(s); k++) {
		const struct batch *b;

		if (store_block(s, k)->table != TABLE_OP)
			continue;
		if (store_decode(c, k, ~0ull, &b, &err) < 0) {
			fprintf(stderr, "%s\n", err.message);
			return 1;
		}
		for (size_t i = 0; i < b->rows; i++)
			print_row(store_dims(s), b, i);
	}
	return 0;
}
