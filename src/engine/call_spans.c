// SPDX-License-Identifier: Apache-2.0
/* call_spans.c: reads spans from their tables and calls from span_op, each when a query first uses it. */
#include "engine/call_spans.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/map.h"
#include "batch/ids.h"
#include "engine/annotations.h"
#include "engine/ask.h"
#include "schema/schema.h"
#include "schema/vocab.h"
#include "store/made/made.h"

/* columns of attributes in one process: they are never freed, because plans refer to them */
#define ATTRIBUTES_MAX	64
#define NUMBER_TEXT_MAX 40
#define CALL_BYTES	21 /* key, position, row and null */
#define ATTRIBUTE_NAME	"attributes."

/* The columns of every span, in this order; those of attributes follow. */
static const struct {
	const char *name;
	unsigned int column; /* in tables span and period */
} span_columns[] = {
	{"name", SPAN_NAME},	       {"number", SPAN_NUMBER},
	{"parent", SPAN_PARENT},       {"service", SPAN_SERVICE},
	{"start", SPAN_START},	       {"dur", SPAN_DUR},
	{"kind", SPAN_SPAN_KIND},      {"status", SPAN_SPAN_STATUS},
	{"source", SPAN_SOURCE},       {"trace_id", SPAN_TRACE_ID},
	{"span_id", SPAN_SPAN_ID},     {"parent_id", SPAN_PARENT_ID},
	{"thread_id", SPAN_THREAD_ID}, {"attributes", SPAN_ATTRIBUTES},
};
#define SPAN_FIXED ARRAY_SIZE(span_columns)

struct call_spans {
	struct query_user_spans pub; /* first */
	struct query_user_table span, of_call, of_number;
	struct query_user_column columns[SPAN_FIXED + ATTRIBUTES_MAX], call_columns[2],
		number_columns[2];
	struct store *store;
	pthread_mutex_t lock; /* protects all members below, and what columns point to */
	uint64_t held;	      /* bytes */
	bool read, joined;
	size_t blocks; /* number of blocks in the store when it was read */
	size_t count, cap;
	int64_t *ints[SPAN_FIXED];
	struct bytes *texts[SPAN_FIXED];
	uint8_t *nulls[SPAN_FIXED];
	struct intern words;  /* interned texts, until all are read */
	struct map by_number; /* hash of number and recording -> position */
	char *names[ATTRIBUTES_MAX];
};

static bool span_column_is_text(size_t i)
{
	return schema_table(TABLE_SPAN)->columns[span_columns[i].column].type == COLUMN_BYTES;
}

void call_spans_free(struct call_spans *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->span.column_count; i++) {
		free((void *)c->columns[i].ints);
		free((void *)c->columns[i].texts);
		free((void *)c->columns[i].nulls);
	}
	for (size_t i = 0; i < 2; i++) {
		free((void *)c->call_columns[i].ints);
		free((void *)c->number_columns[i].ints);
	}
	free((void *)c->call_columns[0].rows);
	free((void *)c->call_columns[0].nulls);
	free((void *)c->number_columns[0].rows);
	free((void *)c->number_columns[0].nulls);
	for (size_t i = 0; i < ATTRIBUTES_MAX; i++)
		free(c->names[i]);
	intern_free(&c->words);
	map_free(&c->by_number);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static int call_spans_hold(struct call_spans *c, uint64_t bytes, struct error *err)
{
	if (bytes > ANNOTATIONS_BYTES_MAX - c->held)
		return error_set(
			err, -EFBIG,
			"too many spans and calls for row-by-row lookup (more than %llu MiB in "
			"memory): query a shorter time range, or join span_op and span in weir sql",
			ANNOTATIONS_BYTES_MAX >> 20);
	c->held += bytes;
	return 0;
}

/* ---- the spans ---- */

/* Numbers are unique within a recording, which the thread's id identifies. */
static uint64_t call_spans_key(int64_t number, int64_t thread_id, bool period)
{
	uint64_t recording = thread_id < 0 ? 0 : id_recording(thread_id);

	return hash_u64((uint64_t)number ^ hash_u64(recording << 1 | period)) | 1;
}

struct span_values { /* temporary values while reading */
	struct call_spans *c;
	int64_t *ints[SPAN_FIXED]; /* for texts: indexes of words */
	uint8_t *nulls[SPAN_FIXED];
	size_t cap;
};

static void span_values_free(struct span_values *v)
{
	for (size_t i = 0; i < SPAN_FIXED; i++) {
		free(v->ints[i]);
		free(v->nulls[i]);
	}
}

static int span_values_grow(struct span_values *v, size_t want, struct error *err)
{
	size_t cap = MAX(v->cap * 2, (size_t)256);
	int r;

	if (want <= v->cap)
		return 0;
	r = call_spans_hold(v->c, (cap - v->cap) * SPAN_FIXED * 9, err);
	for (size_t i = 0; i < SPAN_FIXED && r >= 0; i++) {
		int64_t *ints = reallocarray(v->ints[i], cap, sizeof(*ints));
		uint8_t *nulls = ints ? realloc(v->nulls[i], cap) : NULL;

		v->ints[i] = ints ?: v->ints[i];
		v->nulls[i] = nulls ?: v->nulls[i];
		r = nulls ? 0 : -ENOMEM;
	}
	v->cap = r < 0 ? v->cap : cap;
	return r;
}

static int span_values_take(struct span_values *v, const struct batch *b, size_t row, bool period,
			    struct error *err)
{
	struct call_spans *c = v->c;
	uint64_t key = call_spans_key(batch_get(b, SPAN_NUMBER, row, -1),
				      batch_get(b, SPAN_THREAD_ID, row, -1), period);
	int r = span_values_grow(v, c->count + 1, err);

	for (size_t i = 0; i < SPAN_FIXED && r >= 0; i++) {
		unsigned int column = span_columns[i].column;
		uint32_t word = 0;
		struct bytes text;

		v->nulls[i][c->count] = batch_is_null(b, column, row);
		v->ints[i][c->count] = 0;
		if (v->nulls[i][c->count])
			continue;
		if (!span_column_is_text(i)) {
			v->ints[i][c->count] = batch_get(b, column, row, 0);
			continue;
		}
		text = batch_get_bytes(b, column, row);
		r = intern_add(&c->words, text.len ? text.data : (const uint8_t *)"", text.len,
			       &word);
		v->ints[i][c->count] = word;
	}
	if (r >= 0)
		r = map_set(&c->by_number, key, c->count);
	c->count += r >= 0;
	return r < 0 ? r : call_spans_hold(c, 0, err);
}

static int span_values_read(struct span_values *v, enum table_id table, struct error *err)
{
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct scan_request q = {
		.table = table, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX};
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n;
	int r = engine_scan_new(&scan, v->c->store, &q, err);

	while (r >= 0 && (n = engine_scan_next(scan, &b, &rows, err)) != 0) {
		if (n < 0)
			return (int)n;
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = span_values_take(v, b, rows[i], table == TABLE_PERIOD, err);
	}
	return r;
}

/* Texts point into the vocabulary, which is complete by now. */
static int span_values_give(struct span_values *v, struct error *err)
{
	struct call_spans *c = v->c;
	int r = call_spans_hold(c, c->words.len, err);

	for (size_t i = 0; i < SPAN_FIXED && r >= 0; i++) {
		struct query_user_column *to = &c->columns[i];

		if (span_column_is_text(i)) {
			struct bytes *texts = malloc((c->count + 1) * sizeof(*texts));

			if (!texts)
				return -ENOMEM;
			for (size_t k = 0; k < c->count; k++)
				texts[k] = v->nulls[i][k]
						   ? (struct bytes){0}
						   : intern_get(&c->words, (uint32_t)v->ints[i][k]);
			to->texts = texts;
		} else {
			to->ints = v->ints[i] ?: calloc(1, sizeof(int64_t));
			v->ints[i] = NULL;
		}
		to->nulls = v->nulls[i] ?: calloc(1, 1);
		v->nulls[i] = NULL;
		if (!to->nulls || (!to->ints && !to->texts))
			return -ENOMEM;
		to->row_count = c->count;
	}
	return r;
}

static int call_spans_read(struct call_spans *c, struct error *err)
{
	_cleanup_(span_values_free) struct span_values v = {.c = c};
	uint32_t none;
	int r = c->read ? 0 : intern_add(&c->words, "", 0, &none);

	if (r < 0 || c->read)
		return r;
	r = span_values_read(&v, TABLE_SPAN, err);
	if (r >= 0)
		r = span_values_read(&v, TABLE_PERIOD, err);
	if (r >= 0)
		r = span_values_give(&v, err);
	c->read = r >= 0;
	c->blocks = store_block_count(c->store);
	return r;
}

/* ---- calls ---- */

struct call_span {
	int64_t row_id;
	uint32_t place;
	bool period;
};

static int call_span_order(const void *a, const void *b)
{
	const struct call_span *x = a, *y = b;

	return ORDER(x->row_id, y->row_id) ?: x->period - y->period;
}

struct call_list {
	struct call_span *all;
	size_t count, cap;
};

static void call_list_free(struct call_list *l)
{
	free(l->all);
}

static int call_list_take(struct call_spans *c, struct call_list *l, const struct batch *b,
			  size_t row, struct error *err)
{
	int64_t via = batch_get(b, SPAN_OP_VIA, row, VIA_UNKNOWN),
		number = batch_get(b, SPAN_OP_NUMBER, row, -1),
		thread = batch_get(b, SPAN_OP_THREAD_ID, row, -1);
	struct call_span is = {.row_id = batch_get(b, SPAN_OP_ROW_ID, row, -1)};
	uint64_t at;
	int r;

	if (is.row_id < 0 || (via != VIA_CONTEXT && via != VIA_THREAD && via != VIA_WORK))
		return 0;
	if (!map_get(&c->by_number, call_spans_key(number, thread, false), &at)) {
		is.period = true;
		if (!map_get(&c->by_number, call_spans_key(number, thread, true), &at))
			return 0;
	}
	is.place = (uint32_t)at;
	r = call_spans_hold(c, CALL_BYTES, err);
	if (r < 0)
		return r;
	return array_add(l->all, l->count, l->cap, is);
}

/* Makes the lookup columns, sorted by key. */
static int call_spans_lookup(struct query_user_column to[static 2], size_t count)
{
	int64_t *keys = malloc((count + 1) * sizeof(*keys)),
		*places = malloc((count + 1) * sizeof(*places));
	uint32_t *rows = malloc((count + 1) * sizeof(*rows));
	uint8_t *nulls = calloc(count + 1, 1);

	to[0].ints = keys;
	to[1].ints = places;
	to[0].rows = rows;
	to[0].nulls = to[1].nulls = nulls;
	if (!keys || !places || !rows || !nulls)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		rows[i] = (uint32_t)i;
	to[0].row_count = to[1].row_count = count;
	return 0;
}

static int call_spans_join(struct call_spans *c, struct error *err)
{
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	_cleanup_(call_list_free) struct call_list l = {0};
	const struct scan_request q = {
		.table = TABLE_SPAN_OP, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX};
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n;
	size_t kept = 0;
	int r;

	if (!store_made_current(c->store, TABLE_SPAN_OP))
		return error_set(err, -ENODATA,
				 "this trace does not store which calls belong to which span, or "
				 "more has been recorded since; weir requests --keep stores it");
	r = engine_scan_new(&scan, c->store, &q, err);
	while (r >= 0 && (n = engine_scan_next(scan, &b, &rows, err)) != 0) {
		if (n < 0)
			return (int)n;
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = call_list_take(c, &l, b, rows[i], err);
	}
	if (r < 0)
		return r;
	array_sort(l.all, l.count, call_span_order);
	for (size_t i = 0; i < l.count; i++) {
		if (!kept || l.all[kept - 1].row_id != l.all[i].row_id)
			l.all[kept++] = l.all[i];
	}
	r = call_spans_lookup(c->call_columns, kept);
	for (size_t i = 0; i < kept && r >= 0; i++) {
		((int64_t *)c->call_columns[0].ints)[i] = l.all[i].row_id;
		((int64_t *)c->call_columns[1].ints)[i] = l.all[i].place;
	}
	c->joined = r >= 0;
	return r;
}

static int number_order(const void *a, const void *b, void *arg)
{
	const int64_t *numbers = arg;

	return ORDER(numbers[*(const int64_t *)a], numbers[*(const int64_t *)b]);
}

/* Looks up by number alone: with several recordings, one number may denote several spans. */
static int call_spans_number(struct call_spans *c, struct error *err)
{
	const int64_t *numbers = c->columns[1].ints;
	int64_t *places;
	int r = call_spans_hold(c, c->count * CALL_BYTES, err);

	if (r >= 0)
		r = call_spans_lookup(c->number_columns, c->count);
	if (r < 0)
		return r;
	places = (int64_t *)c->number_columns[1].ints;
	for (size_t i = 0; i < c->count; i++)
		places[i] = (int64_t)i;
	array_sort_by(places, c->count, number_order, (void *)numbers);
	for (size_t i = 0; i < c->count; i++) {
		((int64_t *)c->number_columns[0].ints)[i] = numbers[places[i]];
		if (i && numbers[places[i]] == numbers[places[i - 1]])
			return error_set(err, -EINVAL,
					 "several spans have the number %lld: query one trace, or "
					 "one of span and period, at a time",
					 (long long)numbers[places[i]]);
	}
	return 0;
}

/* ---- attributes ---- */

/* Copies the text of a number with a NUL; false if it is too long to be one. */
static bool attribute_number(struct bytes v, char text[static NUMBER_TEXT_MAX])
{
	if (!v.len || v.len >= NUMBER_TEXT_MAX)
		return false;
	memcpy(text, v.data, v.len);
	text[v.len] = 0;
	return true;
}

/* The common type of all values of an attribute: integer, float or text. */
static enum query_type attribute_type(const struct call_spans *c, struct bytes key)
{
	const struct query_user_column *all = &c->columns[SPAN_FIXED - 1];
	enum query_type type = QUERY_INT;
	bool any = false;

	for (size_t i = 0; i < c->count && type != QUERY_TEXT; i++) {
		char text[NUMBER_TEXT_MAX], *end;
		struct bytes v;

		if (all->nulls[i] || !json_member(all->texts[i], key, &v))
			continue;
		any = true;
		if (v.data[-1] == '"' || !attribute_number(v, text))
			return QUERY_TEXT;
		errno = 0;
		(void)!strtoll(text, &end, 10);
		if (!errno && !*end)
			continue;
		(void)!strtod(text, &end);
		type = *end || text[0] == 'n' || text[0] == 'i' ? QUERY_TEXT : QUERY_FLOAT;
	}
	return any ? type : QUERY_TEXT;
}

static int attribute_fill(struct call_spans *c, struct query_user_column *to, struct bytes key,
			  struct error *err)
{
	const struct query_user_column *all = &c->columns[SPAN_FIXED - 1];
	int64_t *ints = NULL;
	struct bytes *texts = NULL;
	uint8_t *nulls = calloc(c->count + 1, 1);
	int r = call_spans_hold(c, c->count * 17, err);

	to->type = (struct query_kind){.type = attribute_type(c, key), .entity = TABLE_OP};
	to->nulls = nulls;
	if (to->type.type == QUERY_TEXT)
		to->texts = texts = calloc(c->count + 1, sizeof(*texts));
	else
		to->ints = ints = calloc(c->count + 1, sizeof(*ints));
	if (r < 0 || !nulls || (!ints && !texts))
		return r < 0 ? r : -ENOMEM;
	to->row_count = c->count;
	for (size_t i = 0; i < c->count; i++) {
		char text[NUMBER_TEXT_MAX];
		double number;
		struct bytes v;

		nulls[i] = all->nulls[i] || !json_member(all->texts[i], key, &v);
		if (nulls[i])
			continue;
		if (texts) {
			texts[i] = v;
			continue;
		}
		if (!attribute_number(v, text))
			continue;
		number = strtod(text, NULL);
		if (to->type.type == QUERY_FLOAT)
			memcpy(&ints[i], &number, sizeof(number));
		else
			ints[i] = strtoll(text, NULL, 10);
	}
	return 0;
}

/* The column of an attribute, made when it is first used. */
static ssize_t call_spans_attribute(struct call_spans *c, struct bytes name, struct error *err)
{
	struct bytes key = {name.data + strlen(ATTRIBUTE_NAME), name.len - strlen(ATTRIBUTE_NAME)};
	size_t at = c->span.column_count, i = at - SPAN_FIXED;
	int r = call_spans_read(c, err);

	if (r < 0)
		return r;
	if (i == ATTRIBUTES_MAX)
		return error_set(err, -E2BIG, "queries use more than %d span attributes",
				 ATTRIBUTES_MAX);
	free(c->names[i]);
	c->names[i] = strndup((const char *)name.data, name.len);
	if (!c->names[i])
		return -ENOMEM;
	c->columns[at] = (struct query_user_column){.name = c->names[i]};
	r = attribute_fill(c, &c->columns[at], key, err);
	if (r < 0) {
		free((void *)c->columns[at].ints);
		free((void *)c->columns[at].texts);
		free((void *)c->columns[at].nulls);
		return r;
	}
	c->span.column_count++;
	return (ssize_t)at;
}

/* ---- the language ---- */

static ssize_t call_spans_find(const struct query_user_spans *pub, struct bytes name, bool look,
			       struct error *err)
{
	struct call_spans *c = (struct call_spans *)pub;
	ssize_t found = -1;

	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->span.column_count && found < 0; i++) {
		if (strlen(c->columns[i].name) == name.len &&
		    !memcmp(c->columns[i].name, name.data, name.len))
			found = (ssize_t)i;
	}
	if (found < 0 && !look && name.len > strlen(ATTRIBUTE_NAME) &&
	    !memcmp(name.data, ATTRIBUTE_NAME, strlen(ATTRIBUTE_NAME)))
		found = call_spans_attribute(c, name, err);
	else if (found < 0)
		found = -ENOENT;
	pthread_mutex_unlock(&c->lock);
	return found;
}

static int call_spans_load(const struct query_user_spans *pub, bool of_call, struct error *err)
{
	struct call_spans *c = (struct call_spans *)pub;
	int r;

	pthread_mutex_lock(&c->lock);
	r = c->read && c->blocks != store_block_count(c->store)
		    ? error_set(err, -EBUSY,
				"the trace has grown since its spans were read: repeat the query "
				"in a new process when it is complete")
		    : call_spans_read(c, err);
	if (r >= 0 && of_call && !c->joined)
		r = call_spans_join(c, err);
	if (r >= 0 && !of_call && !c->number_columns[0].rows)
		r = call_spans_number(c, err);
	pthread_mutex_unlock(&c->lock);
	return r < 0 ? error_errno(err, r, "cannot read the spans") : 0;
}

const struct query_user_spans *call_spans_get(struct call_spans *c)
{
	return &c->pub;
}

int call_spans_new(struct call_spans **ret, struct store *s)
{
	struct call_spans *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	c->store = s;
	c->pub = (struct query_user_spans){.span = &c->span,
					   .of_call = &c->of_call,
					   .of_number = &c->of_number,
					   .find = call_spans_find,
					   .load = call_spans_load};
	for (size_t i = 0; i < SPAN_FIXED; i++)
		c->columns[i] = (struct query_user_column){
			.name = span_columns[i].name,
			.type = query_column_kind(schema_table(TABLE_SPAN),
						  span_columns[i].column)};
	c->call_columns[0] = c->number_columns[0] = c->call_columns[1] = c->number_columns[1] =
		(struct query_user_column){.name = "",
					   .type = {.type = QUERY_INT, .entity = TABLE_OP}};
	c->span = (struct query_user_table){"span", c->columns, SPAN_FIXED};
	c->of_call = (struct query_user_table){"span_op", c->call_columns, 2};
	c->of_number = (struct query_user_table){"span", c->number_columns, 2};
	*ret = c;
	return 0;
}
