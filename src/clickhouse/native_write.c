// SPDX-License-Identifier: Apache-2.0
/* native_write.c: collects, sorts and writes rows as a ClickHouse block. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/array.h"
#include "clickhouse/native.h"
#include "clickhouse/tables.h"
#include "schema/vocab.h"

#define FRAME_HEAD   25 /* checksum 16, method 1, sizes 4 and 4 */
#define METHOD_ZSTD  0x90
#define ZSTD_FASTEST -7 /* of numbers: three quarters of the time of level -1, and no more bytes */
#define PIECE_ROWS   32768 /* values of a frame: they stay in the cache */
#define PIECE_BYTES \
	(8 * PIECE_ROWS) /* a frame that only has values of one column is decompressed in place */

struct native_block {
	struct batch *rows;
	int64_t *ended;
	struct native_keys keys;
	uint64_t row_no; /* of row 0 */
};

/* A row: the number of its block, and its own in the block. */
#define ROW_BITS 16
static_assert(BATCH_ROWS_MAX == 1 << ROW_BITS && NATIVE_BLOCKS_MAX < 1 << (32 - ROW_BITS),
	      "a place fits");

static inline const struct native_block *block_of(const struct native_rows *n, uint32_t place)
{
	return &n->blocks[place >> ROW_BITS];
}

static inline size_t row_of(uint32_t place)
{
	return place & (BATCH_ROWS_MAX - 1);
}

void native_rows_free(struct native_rows *n)
{
	for (size_t i = 0; i < n->count; i++) {
		batch_free(n->blocks[i].rows);
		free(n->blocks[i].ended);
	}
	free(n->blocks);
	*n = (struct native_rows){0};
}

int native_rows_add(struct native_rows *n, const struct batch *b, const struct native_keys *keys,
		    const int64_t *ended)
{
	struct native_block *block;
	int r = grow((void **)&n->blocks, &n->cap, n->count + 1, sizeof(*n->blocks));

	assert(n->count < NATIVE_BLOCKS_MAX && !b->row_ids && !b->numbers);
	if (r < 0)
		return r;
	n->def = b->def;
	block = &n->blocks[n->count++];
	*block = (struct native_block){
		.keys = *keys, .row_no = b->table == TABLE_OP ? (uint64_t)MAX(b->row_id, 0l) : 0};
	block->ended = malloc(b->rows * sizeof(*ended) + 1);
	if (!block->ended)
		return -ENOMEM;
	memcpy(block->ended, ended, b->rows * sizeof(*ended));
	r = batch_new_of(&block->rows, b->table, b->def);
	if (r < 0)
		return r;
	n->rows += b->rows;
	for (unsigned int i = 0; i < b->def->column_count; i++)
		n->bytes += b->columns[i].data_len;
	return batch_append(block->rows, b, 0, b->rows);
}

/* ---- order ---- */

/* Calls of one operation by one thread, which are together in the order of the sort key. */
struct calls_group {
	int64_t op, thread;
	size_t count, at;
};

struct calls_order {
	struct calls_group *groups;
	size_t count, cap;
	struct map by_key;
	uint32_t *group_of; /* [rows] */
	uint32_t *by_place; /* [count] */
};

static void calls_order_free(struct calls_order *o)
{
	free(o->groups);
	map_free(&o->by_key);
	free(o->group_of);
	free(o->by_place);
}

static int find_groups(const struct native_rows *n, const uint32_t *places, struct calls_order *o)
{
	for (size_t i = 0; i < n->rows; i++) {
		const struct batch *b = block_of(n, places[i])->rows;
		int64_t op = batch_get(b, OP_OP, row_of(places[i]), -1);
		int64_t thread = batch_get(b, OP_THREAD_ID, row_of(places[i]), -1);
		/* keys that are equal by accident would cost the server a sort, no more */
		uint64_t key = (uint64_t)op << 40 ^ (uint64_t)thread;
		struct calls_group *group =
			array_of_key(o->groups, o->count, o->cap, &o->by_key, key, NULL);

		if (!group)
			return -ENOMEM;
		group->op = op;
		group->thread = thread;
		group->count++;
		o->group_of[i] = (uint32_t)(group - o->groups);
	}
	return 0;
}

static int calls_compare_groups(const void *pa, const void *pb, void *arg)
{
	const struct calls_order *o = arg;
	const struct calls_group *a = &o->groups[*(const uint32_t *)pa],
				 *b = &o->groups[*(const uint32_t *)pb];

	return ORDER(a->op, b->op) ?: ORDER(a->thread, b->thread);
}

static int64_t ended_at(const struct native_rows *n, uint32_t place)
{
	return block_of(n, place)->ended[row_of(place)];
}

static int compare_ended(const void *pa, const void *pb, void *arg)
{
	return ORDER(ended_at(arg, *(const uint32_t *)pa), ended_at(arg, *(const uint32_t *)pb));
}

/* Calls of a trace are nearly in the order of their ends, except for long ones. */
static void sort_group(const struct native_rows *n, uint32_t *places, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (ended_at(n, places[i]) < ended_at(n, places[i - 1])) {
			array_sort_by(places, count, compare_ended, (void *)(uintptr_t)n);
			return;
		}
	}
}

/* Sorts calls in place; `given` is a copy. */
static int sort_calls(const struct native_rows *n, const uint32_t *given, uint32_t *places)
{
	_cleanup_(calls_order_free) struct calls_order o = {
		.group_of = malloc(n->rows * sizeof(*o.group_of) + 1)};
	size_t at = 0;
	int r = o.group_of ? find_groups(n, given, &o) : -ENOMEM;

	if (r < 0)
		return r;
	o.by_place = array_indexes(o.count);
	if (!o.by_place)
		return -ENOMEM;
	array_sort_by(o.by_place, o.count, calls_compare_groups, &o);
	for (size_t i = 0; i < o.count; i++) {
		o.groups[o.by_place[i]].at = at;
		at += o.groups[o.by_place[i]].count;
	}
	for (size_t i = 0; i < n->rows; i++)
		places[o.groups[o.group_of[i]].at++] = given[i];
	for (size_t i = 0; i < o.count; i++)
		sort_group(n, places + o.groups[i].at - o.groups[i].count, o.groups[i].count);
	return 0;
}

static void list_places(const struct native_rows *n, uint32_t *out)
{
	for (size_t i = 0; i < n->count; i++) {
		for (size_t row = 0; row < n->blocks[i].rows->rows; row++)
			*out++ = (uint32_t)(i << ROW_BITS | row);
	}
}

/* ---- columns ---- */

enum native_key {
	KEY_RECORDING,
	KEY_BLOCK_NO,
	KEY_ROW_NO,
	KEY_ENDED,
	KEY_DAY,
	KEYS_OF_ALL,
	KEY_START_KIND = KEYS_OF_ALL,
	KEY_START_ODD,
	KEYS_OF_CALLS
};

static const struct {
	const char *name, *type;
	size_t width;
} native_key_columns[] = {
	{"recording", "UInt32", 4}, {"block_no", "UInt64", 8}, {"row_no", "UInt64", 8},
	{"ended", "Int64", 8},	    {"day", "Date", 2},	       {"start_kind", "UInt8", 1},
	{"start_odd", "Int64", 8},
};
static_assert(ARRAY_SIZE(native_key_columns) == KEYS_OF_CALLS, "each key has its column");

static enum native_key keys_end(const struct native_rows *n)
{
	return n->def == schema_table(TABLE_OP) ? KEYS_OF_CALLS : KEYS_OF_ALL;
}

/* START_...: how the start of a call is derived from other columns. */
static uint8_t native_start_kind(const struct batch *b, size_t row, int64_t ended)
{
	int64_t end;

	if (batch_is_null(b, OP_START, row))
		return START_IS_NULL;
	if (batch_is_null(b, OP_DUR, row) ||
	    __builtin_add_overflow(batch_get(b, OP_START, row, 0), batch_get(b, OP_DUR, row, 0),
				   &end) ||
	    end != ended)
		return START_IS_ODD;
	return batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED ? START_UNFINISHED
								   : START_IS_BEFORE_END;
}

static uint64_t native_key(const struct native_block *b, enum native_key key, size_t row)
{
	switch (key) {
	case KEY_RECORDING:
		return b->keys.recording;
	case KEY_BLOCK_NO:
		return b->keys.block_no;
	case KEY_ROW_NO:
		return b->row_no + row;
	case KEY_ENDED:
		return (uint64_t)b->ended[row];
	case KEY_DAY:
		return b->keys.day;
	case KEY_START_KIND:
		return native_start_kind(b->rows, row, b->ended[row]);
	case KEY_START_ODD:
		return native_start_kind(b->rows, row, b->ended[row]) == START_IS_ODD
			       ? (uint64_t)b->rows->columns[OP_START].val[row]
			       : 0;
	default:
		abort();
	}
}

/* The columns of the table that are written. */
static uint64_t native_present(const struct native_rows *n)
{
	uint64_t set = 0;

	for (size_t b = 0; b < n->count; b++) {
		for (unsigned int i = 0; i < n->def->column_count; i++)
			set |= (uint64_t)batch_has(n->blocks[b].rows, i) << i;
	}
	return n->def == schema_table(TABLE_OP) ? set & ~(1ull << OP_START) : set;
}

int native_rows_columns(const struct native_rows *n, struct buf *out)
{
	uint64_t columns = native_present(n);

	for (enum native_key key = 0; key < keys_end(n); key++)
		buf_printf(out, "%s`%s`", key ? ", " : "", native_key_columns[key].name);
	for (unsigned int i = 0; i < n->def->column_count; i++) {
		if (!(columns >> i & 1))
			continue;
		buf_printf(out, ", ");
		clickhouse_column_of(n->def, i, out);
	}
	return buf_status(out);
}

/* ---- writing ---- */

struct native_writer {
	const struct native_rows *n;
	const uint32_t *places; /* of the rows, in order */
	uint64_t *piece;	/* [PIECE_ROWS] */
	struct buf raw, *out;
	struct ZSTD_CCtx_s *context;
};

/* Appends `raw` as one frame, and empties it. */
static int native_pack(struct native_writer *w)
{
	size_t bound = ZSTD_compressBound(w->raw.len), len;
	int r = w->raw.len > UINT32_MAX - bound ? -E2BIG : buf_reserve(w->out, FRAME_HEAD + bound);
	uint8_t *head;
	uint32_t size;

	if (r < 0)
		return r;
	head = w->out->data + w->out->len;
	len = ZSTD_compressCCtx(w->context, head + FRAME_HEAD, bound, w->raw.data, w->raw.len,
				ZSTD_FASTEST);
	if (ZSTD_isError(len))
		return -ENOMEM;
	memset(head, 0, 16);
	head[16] = METHOD_ZSTD;
	size = (uint32_t)len + 9;
	memcpy(head + 17, &size, 4);
	size = (uint32_t)w->raw.len;
	memcpy(head + 21, &size, 4);
	w->out->len += FRAME_HEAD + len;
	buf_clear(&w->raw);
	return 0;
}

/* Makes room for `more` bytes, in a further frame if this one is full. */
static int native_room(struct native_writer *w, size_t more)
{
	int r = w->raw.len && w->raw.len + more > PIECE_BYTES ? native_pack(w) : 0;

	return r < 0 ? r : buf_reserve(&w->raw, more);
}

static int native_put_head(struct native_writer *w, const char *name, const char *type)
{
	buf_varint(&w->raw, strlen(name));
	buf_append(&w->raw, name, strlen(name));
	buf_varint(&w->raw, strlen(type));
	return buf_append(&w->raw, type, strlen(type));
}

static void put_narrow(const uint64_t *from, size_t count, size_t width, uint8_t *to)
{
	switch (width) {
	case 8:
		memcpy(to, from, count * 8);
		break;
	case 4:
		for (size_t i = 0; i < count; i++)
			memcpy(to + i * 4, &from[i], 4);
		break;
	case 2:
		for (size_t i = 0; i < count; i++)
			memcpy(to + i * 2, &from[i], 2);
		break;
	default:
		for (size_t i = 0; i < count; i++)
			to[i] = (uint8_t)from[i];
		break;
	}
}

typedef void native_fill(const struct native_rows *n, unsigned int what, const uint32_t *places,
			 size_t count, uint64_t *out);

static void fill_key(const struct native_rows *n, unsigned int what, const uint32_t *places,
		     size_t count, uint64_t *out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = native_key(block_of(n, places[i]), (enum native_key)what,
				    row_of(places[i]));
}

/* The end of the rows from `i` on that are of one block. */
static size_t native_run_end(const uint32_t *places, size_t i, size_t count)
{
	uint32_t block = places[i] >> ROW_BITS;

	while (i < count && places[i] >> ROW_BITS == block)
		i++;
	return i;
}

static void fill_nulls(const struct native_rows *n, unsigned int what, const uint32_t *places,
		       size_t count, uint64_t *out)
{
	for (size_t i = 0, end; i < count; i = end) {
		const struct batch *b = block_of(n, places[i])->rows;
		const uint64_t *nulls = b->columns[what].nulls;

		end = native_run_end(places, i, count);
		for (; nulls && i < end; i++)
			out[i] = nulls[row_of(places[i]) / 64] >> (row_of(places[i]) % 64) & 1;
		for (; i < end; i++)
			out[i] = !batch_has(b, what);
	}
}

static void fill_values(const struct native_rows *n, unsigned int what, const uint32_t *places,
			size_t count, uint64_t *out)
{
	for (size_t i = 0, end; i < count; i = end) {
		const int64_t *values = block_of(n, places[i])->rows->columns[what].val;

		end = native_run_end(places, i, count);
		for (; values && i < end; i++)
			out[i] = (uint64_t)values[row_of(places[i])];
		for (; i < end; i++)
			out[i] = 0;
	}
}

static int native_put_numbers(struct native_writer *w, native_fill *fill, unsigned int what,
			      size_t width)
{
	for (size_t at = 0; at < w->n->rows; at += PIECE_ROWS) {
		size_t count = MIN(w->n->rows - at, (size_t)PIECE_ROWS);
		int r = native_room(w, count * width);

		if (r < 0)
			return r;
		fill(w->n, what, w->places + at, count, w->piece);
		put_narrow(w->piece, count, width, w->raw.data + w->raw.len);
		w->raw.len += count * width;
	}
	return 0;
}

static int native_put_texts(struct native_writer *w, unsigned int column)
{
	for (size_t i = 0; i < w->n->rows; i++) {
		struct bytes t = batch_get_bytes(block_of(w->n, w->places[i])->rows, column,
						 row_of(w->places[i]));
		int r = native_room(w, t.len + 10);

		if (r < 0)
			return r;
		buf_varint(&w->raw, t.len);
		r = buf_append(&w->raw, t.data, t.len);
		if (r < 0)
			return r;
	}
	return 0;
}

static int native_put_column(struct native_writer *w, unsigned int i)
{
	const struct column_def *c = &w->n->def->columns[i];
	bool own = clickhouse_is_own(w->n->def);
	char name[256];
	int r;

	snprintf(name, sizeof(name), "%s%s", c->name,
		 c->type == COLUMN_CODE && !own ? "_code" : "");
	for (char *p = name; own && *p; p++)
		*p = (char)tolower((unsigned char)*p);
	r = native_put_head(w, name, clickhouse_type(c));
	if (r >= 0)
		r = native_put_numbers(w, fill_nulls, i, 1);
	if (r < 0)
		return r;
	return column_is_bytes(c->type)
		       ? native_put_texts(w, i)
		       : native_put_numbers(w, fill_values, i, c->type == COLUMN_BOOL ? 1 : 8);
}

static int native_put_all(struct native_writer *w)
{
	uint64_t columns = native_present(w->n);
	int r;

	buf_varint(&w->raw, keys_end(w->n) + (unsigned int)__builtin_popcountll(columns));
	r = buf_varint(&w->raw, w->n->rows);
	for (enum native_key key = 0; key < keys_end(w->n) && r >= 0; key++) {
		r = native_put_head(w, native_key_columns[key].name, native_key_columns[key].type);
		if (r >= 0)
			r = native_put_numbers(w, fill_key, key, native_key_columns[key].width);
	}
	for (unsigned int i = 0; i < w->n->def->column_count && r >= 0; i++)
		r = columns >> i & 1 ? native_put_column(w, i) : 0;
	return r < 0 ? r : native_pack(w);
}

int native_rows_write(const struct native_rows *n, struct buf *out)
{
	_cleanup_free_ uint32_t *given = malloc(n->rows * sizeof(*given) + 1),
				*sorted = malloc(n->rows * sizeof(*sorted) + 1);
	struct native_writer w = {
		.n = n, .out = out, .places = given, .context = ZSTD_createCCtx()};
	int r = 0;

	w.piece = calloc(PIECE_ROWS, sizeof(*w.piece));
	if (!given || !sorted || !w.context || !w.piece)
		r = -ENOMEM;
	if (r >= 0)
		list_places(n, given);
	if (r >= 0 && n->def == schema_table(TABLE_OP)) {
		r = sort_calls(n, given, sorted);
		w.places = sorted;
	}
	if (r >= 0)
		r = native_put_all(&w);
	ZSTD_freeCCtx(w.context);
	free(w.piece);
	buf_free(&w.raw);
	return r;
}
