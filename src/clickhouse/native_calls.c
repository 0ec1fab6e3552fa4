// SPDX-License-Identifier: Apache-2.0
/* native_calls.c: sorts and writes rows of op. */
#include "clickhouse/native_calls.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "clickhouse/tables.h"

#define PIECE_ROWS 32768 /* values of a frame: they stay in the cache */

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
	uint32_t *rows;	    /* [rows]: in order */
};

void native_calls_free(struct native_calls *c)
{
	free(c->recording);
	free(c->block_no);
	free(c->row_no);
	free(c->ended);
	free(c->start_odd);
	free(c->day);
	free(c->start_kind);
	for (unsigned int i = 0; i < OP_COLUMNS; i++) {
		free(c->values[i]);
		free(c->nulls[i]);
	}
	*c = (struct native_calls){0};
}

static void calls_order_free(struct calls_order *o)
{
	free(o->groups);
	map_free(&o->by_key);
	free(o->group_of);
	free(o->by_place);
	free(o->rows);
}

/* ---- collecting ---- */

static int calls_room_of(void **array, size_t cap, size_t size)
{
	void *more = realloc(*array, cap * size);

	if (!more)
		return -ENOMEM;
	*array = more;
	return 0;
}

static int calls_room(struct native_calls *c, size_t rows)
{
	const struct {
		void *array;
		size_t size;
	} all[] = {{&c->recording, 4}, {&c->block_no, 8}, {&c->row_no, 8},    {&c->ended, 8},
		   {&c->start_odd, 8}, {&c->day, 2},	  {&c->start_kind, 1}};
	size_t cap = MAX(rows, c->cap * 2);
	int r = 0;

	if (rows <= c->cap)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(all) && r >= 0; i++)
		r = calls_room_of(all[i].array, cap, all[i].size);
	for (unsigned int i = 0; i < OP_COLUMNS && r >= 0; i++) {
		if (!c->values[i])
			continue;
		r = calls_room_of((void **)&c->values[i], cap, sizeof(int64_t));
		if (r >= 0)
			r = calls_room_of((void **)&c->nulls[i], cap, 1);
	}
	if (r < 0)
		return r;
	c->cap = cap;
	return 0;
}

static int calls_add_column(struct native_calls *c, const struct batch *b, unsigned int i)
{
	const struct column *from = &b->columns[i];

	if (!batch_has(b, i) && !c->values[i])
		return 0;
	if (!c->values[i]) {
		c->values[i] = calloc(c->cap, sizeof(int64_t));
		c->nulls[i] = malloc(c->cap);
		if (!c->values[i] || !c->nulls[i])
			return -ENOMEM;
		memset(c->nulls[i], 1, c->rows);
	}
	if (batch_has(b, i))
		memcpy(c->values[i] + c->rows, from->val, b->rows * sizeof(int64_t));
	else
		memset(c->values[i] + c->rows, 0, b->rows * sizeof(int64_t));
	if (batch_has(b, i) && from->nulls)
		native_spread_nulls(from->nulls, b->rows, c->nulls[i] + c->rows);
	else
		memset(c->nulls[i] + c->rows, !batch_has(b, i), b->rows);
	return 0;
}

int native_calls_add(struct native_calls *c, const struct batch *b, const struct native_keys *keys)
{
	int r = calls_room(c, c->rows + b->rows);

	assert(b->table == TABLE_OP);
	for (size_t i = 0; i < b->rows && r >= 0; i++) {
		size_t at = c->rows + i;
		int64_t id = batch_row_id(b, i);

		c->recording[at] = keys->recording;
		c->block_no[at] = keys->block_no;
		c->row_no[at] = id >= 0 ? (uint64_t)id : i;
		c->ended[at] = keys->ended[i];
		c->day[at] = keys->day;
		c->start_kind[at] = native_start_kind(b, i, keys->ended);
		c->start_odd[at] =
			c->start_kind[at] == START_IS_ODD ? batch_get(b, OP_START, i, 0) : 0;
	}
	for (unsigned int i = 0; i < OP_COLUMNS && r >= 0; i++)
		r = i == OP_START ? 0 : calls_add_column(c, b, i);
	if (r < 0)
		return r;
	c->rows += b->rows;
	return 0;
}

/* ---- order ---- */

static int64_t calls_value(const struct native_calls *c, unsigned int column, size_t row)
{
	return c->values[column] && !c->nulls[column][row] ? c->values[column][row] : -1;
}

static int find_groups(const struct native_calls *c, struct calls_order *o)
{
	for (size_t i = 0; i < c->rows; i++) {
		int64_t op = calls_value(c, OP_OP, i), thread = calls_value(c, OP_THREAD_ID, i);
		/* keys that are equal by accident would cost the server a sort, no more */
		uint64_t key = (uint64_t)op << 40 ^ (uint64_t)thread, group;
		int r;

		if (!map_get(&o->by_key, key, &group)) {
			group = o->count;
			r = map_set(&o->by_key, key, group);
			if (r >= 0)
				r = grow((void **)&o->groups, &o->cap, o->count + 1,
					 sizeof(*o->groups));
			if (r < 0)
				return r;
			o->groups[o->count++] = (struct calls_group){.op = op, .thread = thread};
		}
		o->group_of[i] = (uint32_t)group;
		o->groups[group].count++;
	}
	return 0;
}

static int calls_compare_places(const void *pa, const void *pb, void *arg)
{
	const struct calls_order *o = arg;
	const struct calls_group *a = &o->groups[*(const uint32_t *)pa],
				 *b = &o->groups[*(const uint32_t *)pb];

	return ORDER(a->op, b->op) ?: ORDER(a->thread, b->thread);
}

static int compare_ended(const void *pa, const void *pb, void *arg)
{
	const int64_t *ended = arg;

	return ORDER(ended[*(const uint32_t *)pa], ended[*(const uint32_t *)pb]);
}

/* Calls of a trace are nearly in the order of their ends, except for long ones. */
static void sort_group(const struct native_calls *c, uint32_t *rows, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (c->ended[rows[i]] < c->ended[rows[i - 1]]) {
			array_sort_by(rows, count, compare_ended, c->ended);
			return;
		}
	}
}

static int order_calls(const struct native_calls *c, struct calls_order *o)
{
	size_t at = 0;
	int r;

	o->group_of = malloc(c->rows * sizeof(*o->group_of));
	o->rows = malloc(c->rows * sizeof(*o->rows));
	r = o->group_of && o->rows ? find_groups(c, o) : -ENOMEM;
	if (r < 0)
		return r;
	o->by_place = malloc((o->count + 1) * sizeof(*o->by_place));
	if (!o->by_place)
		return -ENOMEM;
	for (size_t i = 0; i < o->count; i++)
		o->by_place[i] = (uint32_t)i;
	array_sort_by(o->by_place, o->count, calls_compare_places, o);
	for (size_t i = 0; i < o->count; i++) {
		o->groups[o->by_place[i]].at = at;
		at += o->groups[o->by_place[i]].count;
	}
	for (size_t i = 0; i < c->rows; i++)
		o->rows[o->groups[o->group_of[i]].at++] = (uint32_t)i;
	for (size_t i = 0; i < o->count; i++)
		sort_group(c, o->rows + o->groups[i].at - o->groups[i].count, o->groups[i].count);
	return 0;
}

/* ---- writing ---- */

struct calls_writer {
	const struct native_calls *c;
	const uint32_t *rows; /* in order */
	struct buf raw, *out;
	struct native_packer packer;
};

static void gather(const void *from, size_t width, const uint32_t *rows, size_t count, void *to)
{
	switch (width) {
	case 8:
		for (size_t i = 0; i < count; i++)
			((uint64_t *)to)[i] = ((const uint64_t *)from)[rows[i]];
		break;
	case 4:
		for (size_t i = 0; i < count; i++)
			((uint32_t *)to)[i] = ((const uint32_t *)from)[rows[i]];
		break;
	case 2:
		for (size_t i = 0; i < count; i++)
			((uint16_t *)to)[i] = ((const uint16_t *)from)[rows[i]];
		break;
	default:
		for (size_t i = 0; i < count; i++)
			((uint8_t *)to)[i] = ((const uint8_t *)from)[rows[i]];
		break;
	}
}

/* The heads of a column are in one frame with its nulls, which are copied; its values are in frames of their own. */
static int put_calls(struct calls_writer *w, const char *name, const char *type,
		     const uint8_t *nulls, const void *values, size_t width)
{
	size_t rows = w->c->rows;
	int r = native_put_head(name, type, &w->raw);

	if (r >= 0 && nulls)
		r = buf_reserve(&w->raw, rows);
	if (r >= 0 && nulls) {
		gather(nulls, 1, w->rows, rows, w->raw.data + w->raw.len);
		w->raw.len += rows;
	}
	if (r >= 0)
		r = native_pack(&w->packer, &w->raw, w->out);
	for (size_t at = 0; at < rows && r >= 0; at += PIECE_ROWS) {
		size_t count = MIN(rows - at, (size_t)PIECE_ROWS);

		r = buf_reserve(&w->raw, count * width);
		if (r < 0)
			break;
		gather(values, width, w->rows + at, count, w->raw.data);
		w->raw.len = count * width;
		r = native_pack(&w->packer, &w->raw, w->out);
	}
	return r;
}

static int put_all(struct calls_writer *w)
{
	const struct native_calls *c = w->c;
	const struct {
		const char *name, *type;
		const void *values;
		size_t width;
	} keys[] = {{"recording", "UInt32", c->recording, 4},
		    {"block_no", "UInt64", c->block_no, 8},
		    {"row_no", "UInt64", c->row_no, 8},
		    {"ended", "Int64", c->ended, 8},
		    {"day", "Date", c->day, 2},
		    {"start_kind", "UInt8", c->start_kind, 1},
		    {"start_odd", "Int64", c->start_odd, 8}};
	uint64_t columns = native_calls_columns(c);
	int r;

	buf_varint(&w->raw, ARRAY_SIZE(keys) + (unsigned int)__builtin_popcountll(columns));
	r = buf_varint(&w->raw, c->rows);
	for (size_t i = 0; i < ARRAY_SIZE(keys) && r >= 0; i++)
		r = put_calls(w, keys[i].name, keys[i].type, NULL, keys[i].values, keys[i].width);
	for (unsigned int i = 0; i < OP_COLUMNS && r >= 0; i++) {
		const struct column_def *def = &schema_table(TABLE_OP)->columns[i];
		_cleanup_buf_ struct buf name = {0};

		if (!(columns >> i & 1))
			continue;
		assert(!column_is_bytes(def->type) && def->type != COLUMN_BOOL);
		r = buf_printf(&name, "%s%s", def->name, def->type == COLUMN_CODE ? "_code" : "");
		if (r >= 0)
			r = put_calls(w, buf_str(&name), clickhouse_type(def), c->nulls[i],
				      c->values[i], 8);
	}
	return r;
}

uint64_t native_calls_columns(const struct native_calls *c)
{
	uint64_t set = 0;

	for (unsigned int i = 0; i < OP_COLUMNS; i++)
		set |= (uint64_t)(c->values[i] != NULL) << i;
	return set;
}

int native_calls_write(struct native_calls *c, struct buf *out)
{
	_cleanup_(calls_order_free) struct calls_order order = {0};
	struct calls_writer w = {.c = c, .out = out};
	int r = order_calls(c, &order);

	w.rows = order.rows;
	if (r >= 0)
		r = put_all(&w);
	buf_free(&w.raw);
	native_packer_free(&w.packer);
	c->rows = 0;
	return r;
}
