/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_dump: a trace as lines of JSON, for tests that compare every column with another source of
 * truth.
 *
 *   trace_dump TRACE [PROGRAM]   every row of op, its files and its thread joined; then loss and marks. Of the threads
 *                                with the name PROGRAM only the calls that execute another program
 *   trace_dump --count TRACE     rows by operation, events lost by cause, bytes
 *   trace_dump --ops             the table of operations: code, name, roles of the arguments
 *
 * Bytes that are no ASCII are written as \u00XX, one for each byte: the reader encodes as Latin-1
 * to get them back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "schema/ops.h"
#include "store/store.h"

static void put_bytes(const char *key, struct bytes text)
{
	if (!text.data)
		return;
	printf(",\"%s\":\"", key);
	for (size_t i = 0; i < text.len; i++) {
		uint8_t c = text.data[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_number(const char *key, int64_t value)
{
	if (value != INT64_MIN)
		printf(",\"%s\":%" PRId64, key, value);
}

static void put_file(const char *key, const struct dims *dims, int64_t id)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(dims, id, &room);

	if (!f)
		return;
	printf(",\"%s\":{\"id\":%" PRId64, key, id);
	put_number("inode", f->inode);
	put_number("dev", f->dev);
	printf(",\"ino\":%" PRIu64 ",\"generation\":%" PRIu64, f->ino, f->generation);
	put_number("type", f->type);
	put_number("deleted", f->deleted);
	put_number("family", f->family);
	put_number("name_only", f->name_only);
	put_bytes("fs", f->fs);
	put_bytes("path", f->path);
	put_bytes("hostpath", f->hostpath);
	put_bytes("base", f->base);
	put_bytes("argument", f->argument);
	put_bytes("local", f->local);
	put_bytes("peer", f->peer);
	put_bytes("name", dims_file_version_name(dims, id));
	putchar('}');
}

static void put_row(const struct batch *b, size_t row)
{
	const struct table_def *def = b->def;

	for (unsigned int c = 0; c < def->column_count; c++) {
		if (batch_is_null(b, c, row))
			continue;
		if (def->columns[c].type == COLUMN_BYTES)
			put_bytes(def->columns[c].name, batch_get_bytes(b, c, row));
		else if (def->columns[c].type == COLUMN_UINT)
			printf(",\"%s\":%" PRIu64, def->columns[c].name,
			       (uint64_t)batch_get(b, c, row, 0));
		else
			put_number(def->columns[c].name, batch_get(b, c, row, 0));
	}
}

static void put_op(const struct batch *b, size_t row, const struct dims *dims, const char *program)
{
	const struct dims_thread *t = dims_thread(dims, batch_get(b, OP_THREAD_ID, row, -1));
	char room[32];
	const char *name = op_name((uint32_t)batch_get(b, OP_OP, row, 0), room);

	if (program && t && t->comm.len == strlen(program) &&
	    memcmp(t->comm.data, program, t->comm.len) == 0 && strcmp(name, "execve") != 0)
		return;
	printf("{\"table\":\"op\",\"name\":\"%s\"", name);
	put_row(b, row);
	if (t) {
		const struct dims_process *p = dims_process(dims, t->process_id);

		put_bytes("comm", t->comm);
		put_bytes("exe", t->exe);
		put_number("tid_ns", t->tid_ns);
		put_number("uid", t->uid);
		put_number("task", t->task);
		if (p)
			put_number("pid", p->pid);
	}
	t = dims_thread(dims, batch_get(b, OP_WAKER_ID, row, -1));
	if (t)
		put_number("waker_tid", t->tid);
	put_file("file", dims, batch_get(b, OP_FILE_ID, row, -1));
	put_file("file2", dims, batch_get(b, OP_FILE2_ID, row, -1));
	put_file("peer", dims, batch_get(b, OP_PEER_ID, row, -1));
	put_file("dir", dims, batch_get(b, OP_DIR_ID, row, -1));
	puts("}");
}

static int dump_ops(void)
{
	for (uint32_t code = 0; code < op_code_end(); code++) {
		const struct op_def *def = op_def(code);

		if (!def || !def->name)
			continue;
		printf("{\"code\":%u,\"name\":\"%s\",\"class\":%d,\"ret\":%d,\"decoded\":%d,"
		       "\"roles\":[",
		       code, def->name, def->class, def->ret, def->decoded);
		for (int a = 0; a < def->arg_count; a++)
			printf("%s%d", a ? "," : "", def->args[a].role);
		printf("]}\n");
	}
	return 0;
}

static int dump_trace(const char *path, const char *program)
{
	_cleanup_(store_freep) struct store *store = NULL;
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	struct store_damage damage;
	struct store_unclosed unclosed;
	struct error err = {0};

	if (store_open(&store, &path, 1, &err) < 0 || store_cursor_new(&cursor, store) < 0) {
		fprintf(stderr, "trace_dump: %s\n", err.message);
		return 1;
	}
	for (size_t i = 0; i < store_block_count(store); i++) {
		enum table_id table = store_block(store, i)->table;
		const struct batch *b;

		if (table == TABLE_SUMMARY)
			continue;
		if (store_decode(cursor, i, ~0ull, &b, &err) < 0) {
			printf("{\"table\":\"error\",\"block\":%zu}\n", i);
			continue;
		}
		for (size_t row = 0; row < b->rows; row++) {
			if (table == TABLE_OP) {
				put_op(b, row, store_dims(store), program);
			} else {
				printf("{\"table\":\"%s\",\"row\":%zu", schema_table(table)->name,
				       row);
				put_row(b, row);
				if (table == TABLE_POLL)
					put_file("file", store_dims(store),
						 batch_get(b, POLL_FILE_ID, row, -1));
				puts("}");
			}
		}
	}
	store_damage(store, &damage);
	store_unclosed(store, &unclosed);
	printf("{\"table\":\"damage\",\"blocks\":%" PRIu64 ",\"rows\":%" PRIu64
	       ",\"bytes\":%" PRIu64 ",\"open_ended\":%d,\"unclosed\":%zu,\"until\":%" PRId64 "}\n",
	       damage.blocks, damage.rows, damage.bytes, store_is_open_ended(store),
	       unclosed.traces, unclosed.until);
	return 0;
}

static int dump_counts(const char *path)
{
	_cleanup_(store_freep) struct store *store = NULL;
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	static uint64_t ops[OP_CODE_MAX], causes[64], total, without_file, unknown;
	struct store_events events;
	struct error err = {0};
	char name[32];

	if (store_open(&store, &path, 1, &err) < 0 || store_cursor_new(&cursor, store) < 0) {
		fprintf(stderr, "trace_dump: %s\n", err.message);
		return 1;
	}
	for (size_t i = 0; i < store_block_count(store); i++) {
		enum table_id table = store_block(store, i)->table;
		const struct batch *b;

		if ((table != TABLE_OP && table != TABLE_LOSS) ||
		    store_decode(cursor, i, ~0ull, &b, &err) < 0)
			continue;
		for (size_t row = 0; row < b->rows; row++) {
			if (table == TABLE_OP) {
				ops[batch_get(b, OP_OP, row, 0) & (OP_CODE_MAX - 1)]++;
				total++;
				without_file += batch_get(b, OP_FD, row, -1) >= 0 &&
						batch_is_null(b, OP_FILE_ID, row) &&
						batch_get(b, OP_RET, row, 0) >= 0;
			} else if (batch_is_null(b, LOSS_EVENTS, row)) {
				unknown++;
			} else {
				causes[batch_get(b, LOSS_CAUSE, row, 0) & 63] +=
					(uint64_t)batch_get(b, LOSS_EVENTS, row, 0);
			}
		}
	}
	printf("{\"ops\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"without_file\":%" PRIu64
	       ",\"loss_unknown\":%" PRIu64,
	       total, store_bytes(store), without_file, unknown);
	printf(",\"loss\":{");
	for (int c = 0, n = 0; c < 64; c++)
		if (causes[c])
			printf("%s\"%s\":%" PRIu64, n++ ? "," : "", vocab_word("cause", c),
			       causes[c]);
	store_events(store, &events);
	printf("},\"events\":{\"numbers\":%" PRIu64 ",\"missing\":%" PRIu64 ",\"gaps\":%" PRIu64
	       "}",
	       events.numbers, events.missing, events.gaps);
	printf(",\"by_op\":{");
	for (uint32_t c = 0, n = 0; c < OP_CODE_MAX; c++)
		if (ops[c])
			printf("%s\"%s\":%" PRIu64, n++ ? "," : "", op_name(c, name), ops[c]);
	printf("}}\n");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--ops") == 0)
		return dump_ops();
	if (argc == 3 && strcmp(argv[1], "--count") == 0)
		return dump_counts(argv[2]);
	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: trace_dump TRACE [PROGRAM] | --count TRACE | --ops\n");
		return 2;
	}
	return dump_trace(argv[1], argc == 3 ? argv[2] : NULL);
}
