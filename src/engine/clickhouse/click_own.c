// SPDX-License-Identifier: Apache-2.0
/*
 * click_own.c: users' tables (weir annotate). The list is read for each query; values are read into memory when a query
 * uses them, as for a trace (annotations.h).
 */
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "engine/annotations.h"
#include "engine/clickhouse/internal.h"

/* The current generation of a table. */
struct own_part {
	struct store_made pub;
	struct table_def def;
	struct own_part *before; /* all parts ever made: plans refer to them */
	uint32_t recording;
	uint64_t part;
	int64_t generation;
	char *name, *shape;
};

struct click_own {
	struct click_engine *engine;
	struct annotations *annotations;
	struct own_part *all;
	struct own_part **now; /* the current ones, by recording and file */
	size_t count, cap;
	uint64_t seen; /* hash of the list, and of the recordings with which ids are composed */
	uint64_t recordings; /* hash of the recordings alone */
	uint64_t changes;
};

void click_own_free(struct click_own *o)
{
	if (!o)
		return;
	annotations_free(o->annotations);
	while (o->all) {
		struct own_part *p = o->all;

		o->all = p->before;
		free((void *)p->def.columns);
		free(p->name);
		free(p->shape);
		free(p);
	}
	free(o->now);
	free(o);
}

/* ---- list ---- */

static char *own_copy(struct bytes text)
{
	char *copy = malloc(text.len + 1);

	if (copy) {
		memcpy(copy, text.data, text.len);
		copy[text.len] = '\0';
	}
	return copy;
}

static int own_add(struct click_own *o, const struct native_reader *in, size_t row)
{
	struct own_part *p = calloc(1, sizeof(*p));
	unsigned int count = 0;
	struct column_def *columns = NULL;
	struct bytes shape = in->columns[5].texts[row];
	int r = p ? grow((void **)&o->now, &o->cap, o->count + 1, sizeof(*o->now)) : -ENOMEM;

	if (r < 0) {
		free(p);
		return r;
	}
	p->before = o->all;
	o->all = p;
	p->recording = (uint32_t)native_int(&in->columns[0], row);
	p->part = (uint64_t)native_int(&in->columns[1], row);
	p->generation = native_int(&in->columns[2], row);
	p->name = own_copy(in->columns[4].texts[row]);
	p->shape = own_copy(shape);
	if (!p->name || !p->shape)
		return -ENOMEM;
	r = clickhouse_shape_get((struct bytes){(const uint8_t *)p->shape, shape.len}, &columns,
				 &count);
	if (r < 0)
		return r;
	p->def = made_own(p->name, columns, count);
	p->pub = (struct store_made){.name = p->name,
				     .table = TABLE_OWN,
				     .def = &p->def,
				     .rows = (uint64_t)native_int(&in->columns[3], row)};
	/* a recording added since is seen next time */
	if (click_recording_at(o->engine, p->recording) >= 0)
		o->now[o->count++] = p;
	return 0;
}

static int own_compare(const void *pa, const void *pb, void *arg)
{
	const struct own_part *a = *(struct own_part *const *)pa,
			      *b = *(struct own_part *const *)pb;

	return ORDER(click_recording_at(arg, a->recording), click_recording_at(arg, b->recording))
		       ?: ORDER(a->part, b->part);
}

/* Queries the current generations: hashes the answer's blocks, and stores them if `take`. */
static int own_ask_force(struct click_own *o, bool take, uint64_t *ret_hash, size_t *ret_count,
			 struct error *err)
{
	struct click_engine *e = o->engine;
	_cleanup_(native_reader_free) struct native_reader in = {.client = e->server.client};
	_cleanup_buf_ struct buf sql = {0};
	int r;

	buf_printf(&sql, "SELECT recording, part, newest_generation, newest_rows, "
			 "newest_title, newest_shape FROM (");
	clickhouse_own_in_force(NULL, buf_str(&e->hosts), &sql);
	r = buf_printf(&sql,
		       ") WHERE newest_shape != '' ORDER BY name, recording, part FORMAT Native");
	*ret_hash = *ret_count = 0;
	if (r >= 0)
		r = click_begin_query(e, &e->server, buf_str(&sql), NULL, err);
	while (r >= 0 && (r = click_read(&e->server, &in, err)) > 0) {
		if (in.count != 6 || in.columns[4].width || in.columns[5].width)
			return error_set(err, -EPROTO, "the server's answer has other columns");
		for (size_t i = 0; i < in.rows && r >= 0; i++) {
			const uint64_t says[] = {(uint64_t)native_int(&in.columns[0], i),
						 (uint64_t)native_int(&in.columns[1], i),
						 (uint64_t)native_int(&in.columns[2], i)};

			*ret_hash = XXH3_64bits_withSeed(says, sizeof(says), *ret_hash);
			++*ret_count;
			r = take ? own_add(o, &in, i) : 0;
		}
	}
	return r;
}

static int own_look(struct click_own *o, struct error *err)
{
	struct click_engine *e = o->engine;
	uint64_t hash, recordings;
	size_t count;
	int r;

	r = own_ask_force(o, false, &hash, &count, err);
	if (r == -ENOENT) { /* loaded by a version of weir without this table */
		*err = (struct error){0};
		return 0;
	}
	if (r < 0 || (!count && !o->count))
		return r;
	r = click_recordings(e, err);
	recordings = click_recordings_hash(e);
	if (r < 0 || (hash == o->seen && recordings == o->recordings))
		return r;
	o->count = 0;
	r = own_ask_force(o, true, &o->seen, &count, err);
	if (r < 0)
		return error_errno(err, r, "the tables of users");
	o->recordings = recordings;
	qsort_r(o->now, o->count, sizeof(*o->now), own_compare, e);
	o->changes++;
	return 0;
}

/* ---- for the language ---- */

static uint64_t own_changes(void *arg)
{
	return ((struct click_own *)arg)->changes;
}

static size_t own_count(void *arg)
{
	return ((struct click_own *)arg)->count;
}

static const struct store_made *own_at(void *arg, size_t i)
{
	return &((struct click_own *)arg)->now[i]->pub;
}

static int own_read(void *arg, const struct store_made *m, unsigned int column,
		    annotations_take *take, void *take_arg, struct error *err)
{
	struct click_own *o = arg;
	struct click_engine *e = o->engine;
	const struct own_part *p = (const struct own_part *)m;
	_cleanup_buf_ struct buf sql = {0};
	int r;

	buf_printf(&sql, "SELECT ");
	click_columns(&p->def, 1ull << column, &sql);
	buf_printf(&sql, " FROM ");
	clickhouse_own_name(p->name, &sql);
	r = buf_printf(&sql,
		       " WHERE recording = %u AND ended = %lld AND bitShiftRight(block_no, 33) = "
		       "%llu ORDER BY block_no, row_no "
		       "FORMAT Native",
		       p->recording, (long long)p->generation, (unsigned long long)p->part);
	return r < 0 ? error_errno(err, r, "the table %s", p->name)
		     : click_each_batch(e, buf_str(&sql), &p->def, TABLE_OWN, 1ull << column, take,
					take_arg, err);
}

static const struct annotations_source own_source = {
	.changes = own_changes,
	.count = own_count,
	.at = own_at,
	.read = own_read,
};

int click_users(struct engine *engine, const struct query_users **ret, struct error *err)
{
	struct click_engine *e = click_engine_of(engine);
	int r = 0;

	*ret = NULL;
	if (!e->own) {
		e->own = calloc(1, sizeof(*e->own));
		if (!e->own)
			return error_errno(err, -ENOMEM, "the tables of users");
		e->own->engine = e;
		r = annotations_new_of(&e->own->annotations, &own_source, e->own, err);
	}
	atomic_store(&e->interrupted, false);
	if (r >= 0)
		r = own_look(e->own, err);
	if (r < 0)
		return r;
	*ret = annotations_get(e->own->annotations);
	return 0;
}

int click_own_current(struct click_engine *e, const struct plan *p, struct error *err)
{
	if (!e->own || !e->own->count || p->users != annotations_get(e->own->annotations) ||
	    click_recordings_hash(e) == e->own->recordings)
		return 0;
	return error_set(err, -ESTALE, "a recording came while the question ran: ask again");
}
