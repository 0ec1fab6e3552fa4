// SPDX-License-Identifier: Apache-2.0
/* duckdb_result.c: iterates over the rows of a statement. */
#include <errno.h>
#include <string.h>

#include "engine/duckdb/library/duckdb_result.h"
#include "engine/duckdb/library/duckdb_value.h"

struct duck_result {
	/* describes only the library's columns that are part of the answer */
	struct engine_result head;
	struct duck *e;
	duckdb_result raw;
	size_t column_count; /* of the library's result */
	int *estimate;	     /* [head.count]: the column that flags an estimate; NULL */
	duckdb_logical_type *types;
	duckdb_vector *vectors; /* of the current chunk */
	char **words;		/* of ENUMs, in the library's memory; NULL: not yet read */
	duckdb_data_chunk chunk;
	size_t row, row_count;
};

static struct duck_result *duck_result_of(const struct engine_result *r)
{
	return (struct duck_result *)r;
}

static enum engine_type duckdb_result_type_of(duckdb_type type)
{
	switch (type) {
	case DUCKDB_TYPE_BOOLEAN:
		return ENGINE_BOOL;
	case DUCKDB_TYPE_TINYINT ... DUCKDB_TYPE_UBIGINT:
	case DUCKDB_TYPE_HUGEINT:
	case DUCKDB_TYPE_UHUGEINT:
		return ENGINE_INT;
	case DUCKDB_TYPE_FLOAT:
	case DUCKDB_TYPE_DOUBLE:
	case DUCKDB_TYPE_DECIMAL:
		return ENGINE_FLOAT;
	case DUCKDB_TYPE_TIMESTAMP:
	case DUCKDB_TYPE_TIMESTAMP_S:
	case DUCKDB_TYPE_TIMESTAMP_MS:
	case DUCKDB_TYPE_TIMESTAMP_NS:
	case DUCKDB_TYPE_TIMESTAMP_TZ:
		return ENGINE_TIME;
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_ENUM:
		return ENGINE_TEXT;
	case DUCKDB_TYPE_BLOB:
		return ENGINE_BLOB;
	default:
		return ENGINE_OTHER;
	}
}

/* The unit of the schema's column with this name. */
static const char *unit_of(const char *name, enum engine_type type)
{
	if (type == ENGINE_TIME)
		return "ns";
	if (type != ENGINE_INT && type != ENGINE_FLOAT)
		return "";
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		int column = schema_column_find(t, name);

		if (column >= 0)
			return schema_unit(&schema_table(t)->columns[column]);
	}
	return "";
}

static int describe_columns(struct duck_result *r)
{
	const struct duckdb_api *d = r->e->api;
	size_t count = d->column_count(&r->raw);

	r->head.columns = calloc(count + 1, sizeof(*r->head.columns));
	r->types = calloc(count + 1, sizeof(*r->types));
	r->vectors = calloc(count + 1, sizeof(*r->vectors));
	r->words = calloc(count + 1, sizeof(*r->words));
	if (!r->head.columns || !r->types || !r->vectors || !r->words)
		return -ENOMEM;
	r->column_count = r->head.count = count;
	for (size_t i = 0; i < count; i++) {
		struct engine_column *c = &r->head.columns[i];

		r->types[i] = d->column_logical_type(&r->raw, i);
		c->name = d->column_name(&r->raw, i);
		c->type = duckdb_result_type_of(d->get_type_id(r->types[i]));
		c->unit = unit_of(c->name, c->type);
		c->is_unsigned = d->get_type_id(r->types[i]) == DUCKDB_TYPE_UBIGINT;
	}
	return 0;
}

static void duck_result_free(struct engine_result *result)
{
	struct duck_result *r = duck_result_of(result);

	if (r->chunk)
		r->e->api->destroy_data_chunk(&r->chunk);
	for (size_t i = 0; i < r->column_count; i++) {
		r->e->api->destroy_logical_type(&r->types[i]);
		if (r->words[i])
			r->e->api->free(r->words[i]);
	}
	free(r->head.columns);
	free(r->head.steps);
	free(r->estimate);
	free(r->words);
	free(r->types);
	free(r->vectors);
	r->e->api->destroy_result(&r->raw);
	free(r);
}

int result_shape(struct engine_result *r, size_t shown, int **estimate, const char *const *units)
{
	assert(shown <= r->count);
	r->count = shown;
	duck_result_of(r)->estimate = TAKE_PTR(*estimate);
	for (size_t i = 0; i < shown; i++)
		r->columns[i].unit = units[i];
	return 0;
}

void result_steps(struct engine_result *r, struct ask_step *steps, size_t count)
{
	free(r->steps);
	r->steps = steps;
	r->step_count = count;
}

static bool duck_result_next(struct engine_result *result)
{
	struct duck_result *r = duck_result_of(result);
	const struct duckdb_api *d = r->e->api;

	if (r->chunk && ++r->row < r->row_count)
		return true;
	do {
		if (r->chunk)
			d->destroy_data_chunk(&r->chunk);
		r->chunk = d->fetch_chunk(r->raw);
		if (!r->chunk)
			return false;
		r->row = 0;
		r->row_count = d->data_chunk_get_size(r->chunk);
	} while (r->row_count == 0);
	for (size_t i = 0; i < r->column_count; i++)
		r->vectors[i] = d->data_chunk_get_vector(r->chunk, i);
	return true;
}

static bool duck_result_is_null(const struct engine_result *result, size_t column)
{
	const struct duck_result *r = duck_result_of(result);

	assert(r->chunk && column < r->column_count);
	return value_is_null(r->e->api, r->vectors[column], r->row);
}

static int duck_result_text(struct engine_result *result, size_t column, struct buf *out)
{
	struct duck_result *r = duck_result_of(result);
	int error;

	assert(r->chunk && column < r->column_count);
	error = value_text(r->e->api, r->vectors[column], r->types[column], r->row, false, out);
	return error < 0 ? error : 0;
}

static int64_t duck_result_time(const struct engine_result *result, size_t column)
{
	const struct duck_result *r = duck_result_of(result);
	const struct duckdb_api *d = r->e->api;

	assert(r->chunk && column < r->column_count && result->columns[column].type == ENGINE_TIME);
	return value_time(d, r->vectors[column], d->get_type_id(r->types[column]), r->row);
}

static int64_t duck_result_int(const struct engine_result *result, size_t column)
{
	const struct duck_result *r = duck_result_of(result);

	assert(r->chunk && column < r->column_count);
	return value_int(r->e->api, r->vectors[column], r->types[column], r->row);
}

static double duck_result_float(const struct engine_result *result, size_t column)
{
	const struct duck_result *r = duck_result_of(result);

	assert(r->chunk && column < r->column_count);
	return value_float(r->e->api, r->vectors[column], r->types[column], r->row);
}

static bool duck_result_estimated(const struct engine_result *result, size_t column)
{
	const struct duck_result *r = duck_result_of(result);

	assert(r->chunk && column < result->count);
	return r->estimate && r->estimate[column] >= 0 &&
	       duck_result_int(result, (size_t)r->estimate[column]) != 0;
}

/* The word of an ENUM, valid until the next row. */
static struct bytes enum_word(struct duck_result *r, size_t column)
{
	const struct duckdb_api *d = r->e->api;
	char **word = &r->words[column];

	if (*word)
		d->free(*word);
	*word = NULL;
	if (value_is_null(d, r->vectors[column], r->row))
		return (struct bytes){NULL, 0};
	*word = d->enum_dictionary_value(
		r->types[column], value_ordinal(d, r->vectors[column], r->types[column], r->row));
	return (struct bytes){(const uint8_t *)*word, *word ? strlen(*word) : 0};
}

static struct bytes duck_result_bytes(const struct engine_result *result, size_t column)
{
	struct duck_result *r = duck_result_of(result);

	assert(r->chunk && column < r->column_count);
	switch (r->e->api->get_type_id(r->types[column])) {
	case DUCKDB_TYPE_VARCHAR:
	case DUCKDB_TYPE_BLOB:
		return value_string(r->e->api, r->vectors[column], r->row);
	case DUCKDB_TYPE_ENUM:
		return enum_word(r, column);
	default:
		return (struct bytes){NULL, 0};
	}
}

static const struct engine_result_ops duck_result_ops = {
	.next = duck_result_next,
	.is_null = duck_result_is_null,
	.get_int = duck_result_int,
	.get_float = duck_result_float,
	.get_bytes = duck_result_bytes,
	.get_time = duck_result_time,
	.text = duck_result_text,
	.estimated = duck_result_estimated,
	.free = duck_result_free,
};

int result_new(struct duck *e, duckdb_result *raw, struct engine_result **ret, struct error *err)
{
	struct duck_result *r = calloc(1, sizeof(*r));

	if (!r) {
		e->api->destroy_result(raw);
		return error_errno(err, -ENOMEM, "cannot hold the result");
	}
	r->head.ops = &duck_result_ops;
	r->e = e;
	r->raw = *raw;
	r->head.has_rows = e->api->result_return_type(*raw) == DUCKDB_RESULT_TYPE_QUERY_RESULT;
	if (!r->head.has_rows)
		r->head.changed = e->api->rows_changed(&r->raw);
	if (describe_columns(r) < 0) {
		duck_result_free(&r->head);
		return error_errno(err, -ENOMEM, "cannot hold the result");
	}
	*ret = &r->head;
	return 0;
}
