// SPDX-License-Identifier: Apache-2.0
/* annotations.c: users' tables for the language: names and types immediately, values on demand. */
#include "engine/annotations.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "engine/call_spans.h"
#include "engine/engine.h"

/* The tables of one name in all traces, as one. */
struct own_table {
	struct query_user_table pub; /* first: the language has only this */
	struct own_table *before;
	const struct store_made **parts;
	size_t part_count;
	bool differs;	   /* traces disagree about its columns */
	struct buf *bytes; /* [column_count]: storage of the column's texts */
};

/* The tables at one point in time; never changes. */
struct snapshot {
	struct query_users pub; /* first */
	struct annotations *a;
	struct snapshot *next;
	const struct query_user_table *tables[];
};

struct annotations {
	struct store *store;			 /* NULL: the tables come from `source` */
	const struct annotations_source *source; /* with its argument */
	void *arg;
	pthread_mutex_t lock;	    /* protects all members below */
	uint64_t seen;		    /* store_made_changes() */
	uint64_t held;		    /* bytes of values */
	struct own_table *tables;   /* all tables ever made: plans refer to them */
	struct snapshot *snapshots; /* newest first */
	struct call_spans *spans;
};

/* ---- life ---- */

static void annotations_table_free(struct own_table *t)
{
	for (size_t i = 0; i < t->pub.column_count; i++) {
		struct query_user_column *c = &t->pub.columns[i];

		free((void *)c->ints);
		free((void *)c->texts);
		free((void *)c->nulls);
		free((void *)c->rows);
		buf_free(&t->bytes[i]);
	}
	free(t->pub.columns);
	free(t->bytes);
	free(t->parts);
	free(t);
}

void annotations_free(struct annotations *a)
{
	if (!a)
		return;
	while (a->tables) {
		struct own_table *t = a->tables;

		a->tables = t->before;
		annotations_table_free(t);
	}
	while (a->snapshots) {
		struct snapshot *s = a->snapshots;

		a->snapshots = s->next;
		free(s);
	}
	if (a->spans)
		call_spans_free(a->spans);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* ---- names and types ---- */

/* Finds an integer column of the schema with this name. */
static const struct table_def *annotations_schema(const char *name, unsigned int *ret)
{
	for (unsigned int t = 0; t < TABLE_COUNT && strcmp(name, "id") != 0; t++) {
		const struct table_def *def = schema_table(t);

		for (unsigned int i = 0; i < def->column_count; i++) {
			enum column_type type = def->columns[i].type;

			if (strcasecmp(def->columns[i].name, name) ||
			    (type != COLUMN_INT && type != COLUMN_ID && type != COLUMN_DUR &&
			     type != COLUMN_SIZE && type != COLUMN_TIME))
				continue;
			*ret = i;
			return def;
		}
	}
	return NULL;
}

const char *annotations_unit(const char *name)
{
	unsigned int column;
	const struct table_def *t = annotations_schema(name, &column);

	if (!strcasecmp(name, "row_id"))
		return ">op";
	return t && t->columns[column].unit[0] == '>' ? t->columns[column].unit : "";
}

bool annotations_same_shape(const struct table_def *a, const struct table_def *b)
{
	bool same = a->column_count == b->column_count;

	for (unsigned int i = 0; same && i < a->column_count; i++)
		same = a->columns[i].type == b->columns[i].type &&
		       !strcasecmp(a->columns[i].name, b->columns[i].name);
	return same;
}

static struct query_kind kind_of(const struct table_def *own, unsigned int column)
{
	const struct column_def *c = &own->columns[column];
	unsigned int ours;
	/* a duration or timestamp of the schema keeps its type */
	const struct table_def *t =
		c->type == COLUMN_INT ? annotations_schema(c->name, &ours) : NULL;

	if (t)
		return query_column_kind(t, ours);
	if (c->type == COLUMN_CODE) /* its words are unknown */
		return (struct query_kind){.type = QUERY_INT};
	return query_column_kind(own, column);
}

/* A table of one name, which up to `parts` traces have. */
static struct own_table *annotations_table_new(struct annotations *a, const struct store_made *of,
					       size_t parts)
{
	struct own_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->before = a->tables;
	a->tables = t;
	t->pub.columns = calloc(of->def->column_count + 1, sizeof(*t->pub.columns));
	t->bytes = calloc(of->def->column_count + 1, sizeof(*t->bytes));
	t->parts = calloc(parts, sizeof(*t->parts));
	if (!t->pub.columns || !t->bytes || !t->parts)
		return NULL;
	for (unsigned int i = 0; i < of->def->column_count; i++) {
		t->pub.columns[i].name = of->def->columns[i].name;
		t->pub.columns[i].type = kind_of(of->def, i);
	}
	t->pub.column_count = of->def->column_count;
	t->pub.name = of->name;
	return t;
}

/* Merges a trace's table into the table with its name. */
static int add_table(struct snapshot *s, const struct store_made *part, size_t parts)
{
	struct own_table *own = NULL;

	for (size_t i = 0; i < s->pub.count && !own; i++) {
		if (!strcasecmp(s->tables[i]->name, part->name))
			own = (struct own_table *)s->tables[i];
	}
	if (!own) {
		own = annotations_table_new(s->a, part, parts);
		if (!own)
			return -ENOMEM;
		s->tables[s->pub.count++] = &own->pub;
	}
	own->differs |= own->part_count && !annotations_same_shape(own->parts[0]->def, part->def);
	own->parts[own->part_count++] = part;
	return 0;
}

static int annotations_load(const struct query_users *u, const struct query_user_table *table,
			    size_t column, bool key, struct error *err);

static int annotations_look(struct annotations *a)
{
	size_t count = a->source ? a->source->count(a->arg) : store_made_count(a->store);
	struct snapshot *s = calloc(1, sizeof(*s) + count * sizeof(s->tables[0]));
	int r = 0;

	if (!s)
		return -ENOMEM;
	*s = (struct snapshot){.pub = {.tables = s->tables,
				       .load = annotations_load,
				       .spans = a->spans ? call_spans_get(a->spans) : NULL},
			       .a = a};
	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct store_made *part =
			a->source ? a->source->at(a->arg, i) : store_made(a->store, i);

		if (part && part->table == TABLE_OWN)
			r = add_table(s, part, count);
	}
	if (r < 0) {
		free(s);
		return r;
	}
	s->next = a->snapshots;
	a->snapshots = s;
	return 0;
}

const struct query_users *annotations_get(struct annotations *a)
{
	const struct query_users *u = NULL;
	uint64_t changes;

	if (!a)
		return NULL;
	pthread_mutex_lock(&a->lock);
	changes = a->source ? a->source->changes(a->arg) : store_made_changes(a->store);
	if ((changes == a->seen && a->snapshots) || annotations_look(a) >= 0) {
		a->seen = changes;
		u = a->snapshots ? &a->snapshots->pub : NULL;
	}
	pthread_mutex_unlock(&a->lock);
	return u;
}

/* ---- values ---- */

struct filling {
	struct annotations *a;
	struct own_table *t;
	unsigned int column;
	enum column_type type;
	struct store_cursor *cursor;
	size_t rows, cap;
	int64_t *ints;
	struct bytes *texts; /* set when all texts are read: t->bytes may move until then */
	uint8_t *nulls;
};

static int hold(struct annotations *a, const struct own_table *t, uint64_t bytes, struct error *err)
{
	if (bytes > ANNOTATIONS_BYTES_MAX - a->held && a->source)
		return error_set(err, -EFBIG,
				 "the table %s is too large to be looked up row by row (more than "
				 "%llu MiB in memory): ask it in SQL of the database",
				 t->pub.name, ANNOTATIONS_BYTES_MAX >> 20);
	if (bytes > ANNOTATIONS_BYTES_MAX - a->held)
		return error_set(
			err, -EFBIG,
			"the table %s is too large for row-by-row lookup (more than %llu MiB in "
			"memory): query it on its own, from %s, or join it in weir sql",
			t->pub.name, ANNOTATIONS_BYTES_MAX >> 20, t->pub.name);
	a->held += bytes;
	return 0;
}

/* A text in SQL is UTF-8 with \xHH for other bytes; the language uses the bytes. */
static int annotations_take_text(struct filling *f, size_t row, struct bytes v, struct error *err)
{
	struct buf *all = &f->t->bytes[f->column];
	size_t before = all->len;
	int r = hold(f->a, f->t, v.len, err);

	if (r >= 0)
		r = f->type == COLUMN_TEXT && v.len && memchr(v.data, '\\', v.len)
			    ? engine_unescape((const char *)v.data, v.len, all)
			    : buf_append(all, v.data, v.len);
	f->texts[row].len = all->len - before;
	return r;
}

static int annotations_take_value(struct filling *f, const struct batch *b, size_t from, size_t row,
				  struct error *err)
{
	double number;

	f->nulls[row] = batch_is_null(b, f->column, from);
	if (f->nulls[row])
		return 0;
	if (f->texts)
		return annotations_take_text(f, row, batch_get_bytes(b, f->column, from), err);
	f->ints[row] = b->columns[f->column].val[from];
	memcpy(&number, &f->ints[row], sizeof(number));
	f->nulls[row] = f->type == COLUMN_FLOAT && isnan(number);
	return 0;
}

/* rows beyond the counted ones were added later */
static int annotations_take_batch(void *arg, const struct batch *b, struct error *err)
{
	struct filling *f = arg;
	int r = 0;

	for (size_t k = 0; r >= 0 && k < b->rows && f->rows < f->cap; k++)
		r = annotations_take_value(f, b, k, f->rows++, err);
	return r;
}

/* Rows of a damaged block are dropped, in all columns alike. */
static int take_part(struct filling *f, const struct store_made *part, struct error *err)
{
	int r = 0;

	if (f->a->source)
		return f->a->source->read(f->a->arg, part, f->column, annotations_take_batch, f,
					  err);
	for (size_t i = 0; i < part->block_count && r >= 0; i++) {
		const struct batch *b;

		r = store_decode(f->cursor, part->first_block + i, 1ull << f->column, &b, err);
		if (r == -EBADMSG) {
			*err = (struct error){0};
			r = 0;
			continue;
		}
		if (r >= 0)
			r = annotations_take_batch(f, b, err);
	}
	return r;
}

static int annotations_make_room(struct filling *f, struct error *err)
{
	bool bytes = column_is_bytes(f->type);
	size_t size = bytes ? sizeof(struct bytes) : sizeof(int64_t);
	void *values;
	int r;

	for (size_t i = 0; i < f->t->part_count; i++)
		f->cap += f->t->parts[i]->rows;
	if (f->cap > UINT32_MAX)
		return hold(f->a, f->t, UINT64_MAX / 2, err);
	r = hold(f->a, f->t, f->cap * (size + 1), err);
	if (r < 0)
		return r;
	values = calloc(f->cap + 1, size);
	f->nulls = calloc(f->cap + 1, 1);
	if (bytes)
		f->texts = values;
	else
		f->ints = values;
	return values && f->nulls ? buf_reserve(&f->t->bytes[f->column], 1) : -ENOMEM;
}

static int load_values(struct annotations *a, struct own_table *t, size_t column, struct error *err)
{
	struct filling f = {.a = a,
			    .t = t,
			    .column = (unsigned int)column,
			    .type = t->parts[0]->def->columns[column].type};
	struct query_user_column *c = &t->pub.columns[column];
	uint64_t held = a->held;
	int r = annotations_make_room(&f, err);

	if (r >= 0 && a->store)
		r = store_cursor_new(&f.cursor, a->store);
	for (size_t i = 0; i < t->part_count && r >= 0; i++)
		r = take_part(&f, t->parts[i], err);
	store_cursor_free(f.cursor);
	if (r < 0) {
		free(f.ints);
		free(f.texts);
		free(f.nulls);
		buf_free(&t->bytes[column]);
		a->held = held;
		return r;
	}
	for (size_t i = 0, at = 0; f.texts && i < f.rows; at += f.texts[i++].len)
		f.texts[i].data = t->bytes[column].data + at;
	c->ints = f.ints;
	c->texts = f.texts;
	c->nulls = f.nulls;
	c->row_count = c->count = f.rows;
	return 0;
}

/* ---- keys ---- */

static int annotations_compare_rows(const void *a, const void *b, void *column)
{
	const struct query_user_column *c = column;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return c->texts ? bytes_compare(c->texts[x], c->texts[y]) : ORDER(c->ints[x], c->ints[y]);
}

static int key_twice(const struct own_table *t, const struct query_user_column *c, uint32_t row,
		     struct error *err)
{
	_cleanup_buf_ struct buf value = {0};

	if (c->texts)
		(void)!engine_escape(c->texts[row].data, MIN(c->texts[row].len, (size_t)60),
				     &value);
	else
		(void)!buf_printf(&value, "%lld", (long long)c->ints[row]);
	return error_set(err, -EINVAL,
			 "the table %s has several rows for %s %s, which is ambiguous; group by %s "
			 "when annotating, or query the table on its own: from %s",
			 t->pub.name, c->name, buf_str(&value), c->name, t->pub.name);
}

static int load_key(struct annotations *a, struct own_table *t, size_t column, struct error *err)
{
	struct query_user_column *c = &t->pub.columns[column];
	size_t all = c->count, count = 0;
	uint32_t *rows;
	bool sorted = true;
	int r = hold(a, t, all * sizeof(*rows), err);

	if (r < 0)
		return r;
	rows = malloc((all + 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++) {
		if (!c->nulls[i])
			rows[count++] = (uint32_t)i;
	}
	for (size_t i = 1; i < count && sorted; i++)
		sorted = annotations_compare_rows(&rows[i - 1], &rows[i], c) <= 0;
	if (!sorted)
		qsort_r(rows, count, sizeof(*rows), annotations_compare_rows, c);
	for (size_t i = 1; i < count && r >= 0; i++) {
		if (!annotations_compare_rows(&rows[i - 1], &rows[i], c))
			r = key_twice(t, c, rows[i], err);
	}
	if (r < 0) {
		a->held -= all * sizeof(*rows);
		free(rows);
		return r;
	}
	c->row_count = count;
	c->rows = rows;
	return 0;
}

static int annotations_load(const struct query_users *u, const struct query_user_table *table,
			    size_t column, bool key, struct error *err)
{
	struct annotations *a = ((const struct snapshot *)u)->a;
	struct own_table *t = (struct own_table *)table;
	int r = 0;

	assert(column < t->pub.column_count);
	if (t->differs)
		return error_set(err, -EINVAL,
				 "the table %s has different columns in the traces: annotate them "
				 "identically, or query one trace at a time",
				 t->pub.name);
	pthread_mutex_lock(&a->lock);
	if (!t->pub.columns[column].nulls)
		r = load_values(a, t, column, err);
	if (r >= 0 && key && !t->pub.columns[column].rows)
		r = load_key(a, t, column, err);
	pthread_mutex_unlock(&a->lock);
	return r < 0 ? error_errno(err, r, "cannot read the table %s", t->pub.name) : 0;
}

static int annotations_make(struct annotations **ret, const struct annotations *of,
			    struct error *err)
{
	struct annotations *a = calloc(1, sizeof(*a));

	if (a)
		*a = *of;
	if (!a || (a->store && call_spans_new(&a->spans, a->store) < 0)) {
		free(a);
		return error_errno(err, -ENOMEM, "cannot read your own tables");
	}
	pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}

int annotations_new(struct annotations **ret, struct store *s, struct error *err)
{
	return annotations_make(ret, &(struct annotations){.store = s}, err);
}

int annotations_new_of(struct annotations **ret, const struct annotations_source *source, void *arg,
		       struct error *err)
{
	return annotations_make(ret, &(struct annotations){.source = source, .arg = arg}, err);
}
