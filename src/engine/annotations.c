// SPDX-License-Identifier: Apache-2.0
/* annotations.c: users' tables for the language: names and types at once, values when asked for. */
#include "engine/annotations.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/engine.h"

/* Texts of one block of a column. */
struct chunk {
	struct chunk *next;
	uint8_t data[];
};

/* A name of all traces together. */
struct own_table {
	struct query_user_table pub; /* first: the language has only this */
	const struct user_table **parts;
	size_t part_count, part_cap;
	bool differs; /* its columns are others in some trace */
	struct own_column {
		bool loaded, id;
		enum user_type type;
		struct chunk *chunks;
		char *name;
	} *own;
};

/* What there was at some time; never changes. */
struct snapshot {
	struct query_users pub; /* first */
	struct annotations *a;
	struct snapshot *next;
	const struct query_user_table *tables[];
};

struct annotations {
	const struct store *store;
	pthread_mutex_t lock; /* over all that follows */
	uint64_t seen;	      /* store_user_changes() */
	uint64_t held;	      /* bytes of values */
	/* all that ever were: plans refer to them */
	struct own_table **all;
	size_t all_count, all_cap;
	struct snapshot *snapshots; /* newest first */
};

/* ---- life ---- */

static void chunks_free(struct own_column *c)
{
	while (c->chunks) {
		struct chunk *chunk = c->chunks;

		c->chunks = chunk->next;
		free(chunk);
	}
}

static void annotations_table_free(struct own_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; t->pub.columns && t->own && i < t->pub.column_count; i++) {
		struct query_user_column *c = &t->pub.columns[i];

		free((void *)c->ints);
		free((void *)c->floats);
		free((void *)c->texts);
		free((void *)c->nulls);
		free((void *)c->rows);
		free(t->own[i].name);
		chunks_free(&t->own[i]);
	}
	free(t->pub.columns);
	free(t->own);
	free(t->parts);
	free(t);
}
DEFINE_CLEANUP(struct own_table *, annotations_table_free)

void annotations_free(struct annotations *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->all_count; i++)
		annotations_table_free(a->all[i]);
	free(a->all);
	while (a->snapshots) {
		struct snapshot *s = a->snapshots;

		a->snapshots = s->next;
		free(s);
	}
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* ---- names and types ---- */

/* The column of the schema with this name and whole numbers in it. */
static bool schema_kind(const char *name, struct query_kind *ret)
{
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		const struct table_def *def = schema_table(t);

		for (unsigned int i = 0; i < def->column_count; i++) {
			enum column_type type = def->columns[i].type;

			if (strcasecmp(def->columns[i].name, name) || !strcmp(name, "id") ||
			    (type != COLUMN_INT && type != COLUMN_ID && type != COLUMN_DUR &&
			     type != COLUMN_SIZE && type != COLUMN_TIME))
				continue;
			*ret = query_column_kind(t, i);
			return true;
		}
	}
	return false;
}

bool annotations_is_id(const struct user_column *c)
{
	struct query_kind k = {0};

	if (c->type != USER_INT && c->type != USER_UINT)
		return false;
	return !strcasecmp(c->name, "row_id") ||
	       (schema_kind(c->name, &k) && k.type == QUERY_INT && k.entity != TABLE_OP);
}

int64_t annotations_compose(const struct store *s, const struct user_table *t,
			    const struct user_column *c, int64_t v)
{
	struct query_kind k = {0};
	bool version;

	if (!strcasecmp(c->name, "row_id") || !schema_kind(c->name, &k))
		return id_compose(v, t->trace);
	version = (k.entity == TABLE_THREAD || k.entity == TABLE_FILE) &&
		  strcasecmp(c->name, "task") != 0 && strcasecmp(c->name, "inode") != 0;
	return store_id(s, t->trace, k.entity, v, version);
}

bool annotations_same_shape(const struct user_table *a, const struct user_table *b)
{
	bool same = a->column_count == b->column_count;

	for (size_t i = 0; same && i < a->column_count; i++)
		same = a->columns[i].type == b->columns[i].type &&
		       !strcasecmp(a->columns[i].name, b->columns[i].name);
	return same;
}

static struct query_kind kind_of(const struct user_column *c)
{
	static const enum query_type types[USER_TYPES] = {
		[USER_INT] = QUERY_INT,	  [USER_UINT] = QUERY_UINT, [USER_FLOAT] = QUERY_FLOAT,
		[USER_BOOL] = QUERY_BOOL, [USER_TIME] = QUERY_TIME, [USER_TEXT] = QUERY_TEXT,
		[USER_BLOB] = QUERY_TEXT,
	};
	struct query_kind k = {.type = types[c->type]};

	/* a duration or a point in time stays one where its name says so */
	if (c->type == USER_INT)
		(void)schema_kind(c->name, &k);
	return k;
}

static int annotations_add_columns(struct own_table *t, const struct user_table *from)
{
	t->pub.columns = calloc(from->column_count + 1, sizeof(*t->pub.columns));
	t->own = calloc(from->column_count + 1, sizeof(*t->own));
	if (!t->pub.columns || !t->own)
		return -ENOMEM;
	for (size_t i = 0; i < from->column_count; i++) {
		t->own[i] = (struct own_column){.type = from->columns[i].type,
						.id = annotations_is_id(&from->columns[i]),
						.name = strdup(from->columns[i].name)};
		t->pub.column_count++;
		if (!t->own[i].name)
			return -ENOMEM;
		t->pub.columns[i].name = t->own[i].name;
		t->pub.columns[i].type = kind_of(&from->columns[i]);
	}
	t->pub.name = from->name;
	return 0;
}

static int add_part(struct own_table *t, const struct user_table *part)
{
	int r = grow((void **)&t->parts, &t->part_cap, t->part_count + 1, sizeof(*t->parts));

	if (r < 0)
		return r;
	t->differs |= t->part_count && !annotations_same_shape(t->parts[0], part);
	t->parts[t->part_count++] = part;
	return 0;
}

static int annotations_table_new(struct annotations *a, const struct user_table *from,
				 struct own_table **ret)
{
	_cleanup_(annotations_table_freep) struct own_table *t = calloc(1, sizeof(*t));
	int r = t ? annotations_add_columns(t, from) : -ENOMEM;

	if (r >= 0)
		r = grow((void **)&a->all, &a->all_cap, a->all_count + 1,
			 sizeof(struct own_table *));
	if (r < 0)
		return r;
	*ret = t;
	a->all[a->all_count++] = TAKE_PTR(t);
	return 0;
}

/* Adds a trace's table to that of its name. */
static int add_table(struct annotations *a, struct snapshot *s, const struct user_table *t)
{
	struct own_table *own = NULL;
	int r = 0;

	for (size_t i = 0; i < s->pub.count && !own; i++) {
		if (!strcasecmp(s->tables[i]->name, t->name))
			own = (struct own_table *)s->tables[i];
	}
	if (!own) {
		r = annotations_table_new(a, t, &own);
		if (r >= 0)
			s->tables[s->pub.count++] = &own->pub;
	}
	return r < 0 ? r : add_part(own, t);
}

static int annotations_load(const struct query_users *u, const struct query_user_table *table,
			    size_t column, bool key, struct error *err);

static int annotations_look(struct annotations *a)
{
	size_t count = store_user_count(a->store);
	struct snapshot *s = calloc(1, sizeof(*s) + count * sizeof(s->tables[0]));
	int r = s ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct user_table *t = store_user_table(a->store, i);

		if (t)
			r = add_table(a, s, t);
	}
	if (r < 0) {
		free(s);
		return r;
	}
	s->pub.tables = s->tables;
	s->pub.load = annotations_load;
	s->a = a;
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
	changes = store_user_changes(a->store);
	if (changes == a->seen || annotations_look(a) >= 0) {
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
	size_t column;
	struct user_reader *reader;
	size_t rows, cap;
	int64_t *ints;
	double *floats;
	struct bytes *texts;
	uint8_t *nulls;
};

static int hold(struct annotations *a, const struct own_table *t, uint64_t bytes, struct error *err)
{
	if (bytes > ANNOTATIONS_BYTES_MAX - a->held)
		return error_set(
			err, -EFBIG,
			"the table %s is too large to be looked up row by row (more than "
			"%llu MiB in memory): ask it by itself, from %s, or join it in weir "
			"sql",
			t->pub.name, ANNOTATIONS_BYTES_MAX >> 20, t->pub.name);
	a->held += bytes;
	return 0;
}

/* A text of SQL is UTF-8, with \xHH for other bytes; the language has the bytes. */
static int annotations_take_text(struct filling *f, size_t row, struct bytes v, struct error *err)
{
	bool raw = f->t->own[f->column].type == USER_BLOB || !memchr(v.data, '\\', v.len);
	_cleanup_buf_ struct buf plain = {0};
	struct own_column *own = &f->t->own[f->column];
	struct chunk *chunk;
	int r = raw ? 0 : engine_unescape((const char *)v.data, v.len, &plain);

	if (r >= 0 && !raw)
		v = (struct bytes){plain.data, plain.len};
	if (r >= 0)
		r = hold(f->a, f->t, sizeof(*chunk) + v.len + 16, err);
	if (r < 0)
		return r;
	chunk = malloc(sizeof(*chunk) + v.len + 1);
	if (!chunk)
		return -ENOMEM;
	if (v.len)
		memcpy(chunk->data, v.data, v.len);
	chunk->next = own->chunks;
	own->chunks = chunk;
	f->texts[row] = (struct bytes){chunk->data, v.len};
	return 0;
}

static int annotations_take_value(struct filling *f, const struct user_table *part, size_t from,
				  size_t row, struct error *err)
{
	const struct own_column *own = &f->t->own[f->column];
	uint64_t v;

	f->nulls[row] = user_is_null(f->reader, f->column, from);
	if (f->nulls[row])
		return 0;
	if (user_type_is_bytes(own->type))
		return annotations_take_text(f, row, user_bytes(f->reader, f->column, from), err);
	v = user_value(f->reader, f->column, from);
	if (own->type == USER_FLOAT) {
		memcpy(&f->floats[row], &v, sizeof(v));
		f->nulls[row] = isnan(f->floats[row]) != 0;
		return 0;
	}
	if (own->id && part->trace)
		v = (uint64_t)annotations_compose(f->a->store, part, &part->columns[f->column],
						  (int64_t)v);
	f->ints[row] = (int64_t)v;
	return 0;
}

/* Rows of a damaged block are left out, of every column alike. */
static int take_part(struct filling *f, const struct user_table *part, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < part->block_count && r >= 0; i++) {
		ssize_t rows = user_read(f->reader, part, i, err);

		if (rows == -EBADMSG) {
			*err = (struct error){0};
			continue;
		}
		if (rows < 0)
			return (int)rows;
		for (size_t k = 0; k < (size_t)rows && r >= 0 && f->rows < f->cap; k++)
			r = annotations_take_value(f, part, k, f->rows++, err);
	}
	return r;
}

static int annotations_make_room(struct filling *f, struct error *err)
{
	enum user_type type = f->t->own[f->column].type;
	size_t size = user_type_is_bytes(type) ? sizeof(struct bytes) : sizeof(int64_t);
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
	if (user_type_is_bytes(type))
		f->texts = values;
	else if (type == USER_FLOAT)
		f->floats = values;
	else
		f->ints = values;
	return values && f->nulls ? 0 : -ENOMEM;
}

static int load_values(struct annotations *a, struct own_table *t, size_t column, struct error *err)
{
	struct filling f = {.a = a, .t = t, .column = column};
	struct query_user_column *c = &t->pub.columns[column];
	uint64_t held = a->held;
	int r = annotations_make_room(&f, err);

	if (r >= 0)
		r = user_reader_new(&f.reader, a->store);
	for (size_t i = 0; i < t->part_count && r >= 0; i++)
		r = take_part(&f, t->parts[i], err);
	if (f.reader)
		user_reader_free(f.reader);
	if (r < 0) {
		free(f.ints);
		free(f.floats);
		free(f.texts);
		free(f.nulls);
		chunks_free(&t->own[column]);
		a->held = held;
		return r;
	}
	c->ints = f.ints;
	c->floats = f.floats;
	c->texts = f.texts;
	c->nulls = f.nulls;
	c->row_count = f.rows;
	t->own[column].loaded = true;
	return 0;
}

/* ---- keys ---- */

static int annotations_compare_rows(const void *a, const void *b, void *column)
{
	const struct query_user_column *c = column;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (!c->texts)
		return c->ints[x] < c->ints[y] ? -1 : c->ints[x] > c->ints[y];
	return bytes_compare(c->texts[x], c->texts[y]);
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
			 "the table %s has several rows for %s %s: which is meant is not known; "
			 "group by %s when annotating, or ask the table by itself: from %s",
			 t->pub.name, c->name, buf_str(&value), c->name, t->pub.name);
}

static int load_key(struct annotations *a, struct own_table *t, size_t column, struct error *err)
{
	struct query_user_column *c = &t->pub.columns[column];
	size_t all = c->row_count, count = 0;
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
				 "the table %s has other columns in each trace: annotate them "
				 "alike, or ask one trace at a time",
				 t->pub.name);
	pthread_mutex_lock(&a->lock);
	if (!t->own[column].loaded)
		r = load_values(a, t, column, err);
	if (r >= 0 && key && !t->pub.columns[column].rows)
		r = load_key(a, t, column, err);
	pthread_mutex_unlock(&a->lock);
	return r < 0 ? error_errno(err, r, "cannot read the table %s", t->pub.name) : 0;
}

int annotations_new(struct annotations **ret, const struct store *s, struct error *err)
{
	struct annotations *a = calloc(1, sizeof(*a));

	if (!a)
		return error_errno(err, -ENOMEM, "cannot read the tables of your own");
	a->store = s;
	pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}
