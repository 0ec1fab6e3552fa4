// SPDX-License-Identifier: Apache-2.0
/* duckdb_value.c: values of DuckDB's types as text. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "engine/duckdb/functions/aggregate.h"
#include "engine/duckdb/library/duckdb_value.h"

#define SECONDS_PER_DAY 86400ll

bool value_is_null(const struct duckdb_api *d, duckdb_vector v, size_t row)
{
	return !vector_valid(d->vector_get_validity(v), row);
}

static int append_u128(struct buf *out, unsigned __int128 v)
{
	char text[40], *p = text + sizeof(text);

	do {
		*--p = (char)('0' + (int)(v % 10));
		v /= 10;
	} while (v);
	return buf_append(out, p, (size_t)(text + sizeof(text) - p));
}

static int append_i128(struct buf *out, __int128 v)
{
	if (v < 0)
		buf_append(out, "-", 1);
	return append_u128(out, v < 0 ? -(unsigned __int128)v : (unsigned __int128)v);
}

static __int128 hugeint_at(const void *data, size_t row)
{
	const duckdb_hugeint *h = (const duckdb_hugeint *)data + row;

	return (__int128)((unsigned __int128)(uint64_t)h->upper << 64 | h->lower);
}

/* The shortest text that reads back as the same number, with a decimal point so that it is recognized as a float. */
static int append_double(struct buf *out, double v, int digits, bool single)
{
	struct text t;

	if (isnan(v))
		return buf_append(out, "nan", 3);
	if (isinf(v))
		return v < 0 ? buf_append(out, "-inf", 4) : buf_append(out, "inf", 3);
	t = format_shortest(v, digits, single);
	return buf_printf(out, "%s%s", t.s, strpbrk(t.s, ".en") ? "" : ".0");
}

static int append_decimal(const struct duckdb_api *d, const void *data, duckdb_logical_type type,
			  size_t row, struct buf *out)
{
	unsigned int scale = d->decimal_scale(type);
	unsigned __int128 power = 1, magnitude;
	char fraction[48];
	__int128 v;
	int r;

	switch (d->decimal_internal_type(type)) {
	case DUCKDB_TYPE_SMALLINT:
		v = ((const int16_t *)data)[row];
		break;
	case DUCKDB_TYPE_INTEGER:
		v = ((const int32_t *)data)[row];
		break;
	case DUCKDB_TYPE_BIGINT:
		v = ((const int64_t *)data)[row];
		break;
	default:
		v = hugeint_at(data, row);
		break;
	}
	for (unsigned int i = 0; i < scale; i++)
		power *= 10;
	magnitude = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
	if (v < 0)
		buf_append(out, "-", 1);
	r = append_u128(out, magnitude / power);
	if (r < 0 || scale == 0)
		return r;
	magnitude %= power;
	fraction[0] = '.';
	for (unsigned int i = scale; i > 0; i--) {
		fraction[i] = (char)('0' + (int)(magnitude % 10));
		magnitude /= 10;
	}
	return buf_append(out, fraction, scale + 1);
}

/* The proleptic Gregorian date of a day since 1970-01-01 (Howard Hinnant, "chrono-compatible
 * low-level date algorithms": years begin in March, 400 of them have 146,097 days). */
static int append_date(struct buf *out, int64_t days)
{
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097, yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	int64_t day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;
	int64_t year = yoe + era * 400 + (month <= 2);

	if (year <= 0)
		return buf_printf(out, "%04" PRId64 "-%02" PRId64 "-%02" PRId64 " (BC)", 1 - year,
				  month, day);
	return buf_printf(out, "%04" PRId64 "-%02" PRId64 "-%02" PRId64, year, month, day);
}

/* A time of day with a fraction of `digits` digits in units of 10^-digits seconds; a zero fraction is omitted unless `fixed`. */
static int append_clock(struct buf *out, int64_t seconds, int64_t fraction, int digits, bool fixed)
{
	int r = buf_printf(out, "%02" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600,
			   seconds / 60 % 60, seconds % 60);

	if (r < 0 || !digits || (!fraction && !fixed))
		return r;
	for (; !fixed && fraction % 10 == 0; fraction /= 10)
		digits--;
	return buf_printf(out, ".%0*" PRId64, digits, fraction);
}

static int append_timestamp(struct buf *out, int64_t v, int64_t per_second, int digits, bool fixed)
{
	int64_t seconds = v / per_second, fraction = v % per_second, days;
	int r;

	if (v == INT64_MAX || v == -INT64_MAX)
		return buf_printf(out, "%sinfinity", v < 0 ? "-" : "");
	if (fraction < 0) {
		fraction += per_second;
		seconds--;
	}
	days = seconds / SECONDS_PER_DAY - (seconds % SECONDS_PER_DAY < 0);
	append_date(out, days);
	r = buf_append(out, " ", 1);
	return r < 0 ? r
		     : append_clock(out, seconds - days * SECONDS_PER_DAY, fraction, digits, fixed);
}

static int append_part(struct buf *out, int64_t n, const char *unit, bool *first)
{
	if (n == 0)
		return buf_status(out);
	buf_printf(out, "%s%" PRId64 " %s%s", *first ? "" : " ", n, unit,
		   n == 1 || n == -1 ? "" : "s");
	*first = false;
	return buf_status(out);
}

static int append_interval(struct buf *out, const duckdb_interval *v)
{
	uint64_t micros = v->micros < 0 ? -(uint64_t)v->micros : (uint64_t)v->micros;
	bool first = true;
	int r;

	append_part(out, v->months / 12, "year", &first);
	append_part(out, v->months % 12, "month", &first);
	r = append_part(out, v->days, "day", &first);
	if (r < 0 || (!first && !v->micros))
		return r;
	r = buf_printf(out, "%s%s", first ? "" : " ", v->micros < 0 ? "-" : "");
	return r < 0 ? r
		     : append_clock(out, (int64_t)(micros / 1000000), (int64_t)(micros % 1000000),
				    6, false);
}

static int append_uuid(struct buf *out, const duckdb_hugeint *h)
{
	uint64_t high = (uint64_t)h->upper ^ (1ull << 63);

	return buf_printf(out,
			  "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
			  high >> 32, high >> 16 & 0xffff, high & 0xffff, h->lower >> 48,
			  h->lower & 0xffffffffffff);
}

static int append_blob(struct buf *out, struct bytes v)
{
	for (size_t i = 0; i < v.len; i++) {
		if (v.data[i] >= ' ' && v.data[i] < 0x7f && v.data[i] != '\\' &&
		    v.data[i] != '\'' && v.data[i] != '"')
			buf_append(out, &v.data[i], 1);
		else
			buf_printf(out, "\\x%02X", v.data[i]);
	}
	return buf_status(out);
}

/* A BIT: the first byte is the number of padding bits at the start of the second. */
static int append_bits(struct buf *out, struct bytes v)
{
	for (size_t i = v.len ? 8 + v.data[0] : 0; i < v.len * 8; i++)
		buf_append(out, v.data[i / 8] >> (7 - i % 8) & 1 ? "1" : "0", 1);
	return buf_status(out);
}

static int append_enum(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
		       size_t row, struct buf *out)
{
	char *word = d->enum_dictionary_value(type, value_ordinal(d, v, type, row));
	int r;

	if (!word)
		return -ENOMEM;
	r = buf_append(out, word, strlen(word));
	d->free(word);
	return r;
}

static int append_items(const struct duckdb_api *d, duckdb_vector child, duckdb_logical_type type,
			size_t from, size_t count, struct buf *out)
{
	buf_append(out, "[", 1);
	for (size_t i = 0; i < count; i++) {
		if (i)
			buf_append(out, ", ", 2);
		buf_fail(out, value_text(d, child, type, from + i, true, out));
	}
	return buf_append(out, "]", 1);
}

static int append_list(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
		       size_t row, struct buf *out)
{
	bool array = d->get_type_id(type) == DUCKDB_TYPE_ARRAY;
	duckdb_logical_type child =
		array ? d->array_type_child_type(type) : d->list_type_child_type(type);
	size_t size = array ? d->array_type_array_size(type) : 0;
	int r;

	if (array) {
		r = append_items(d, d->array_vector_get_child(v), child, row * size, size, out);
	} else {
		const duckdb_list_entry *entry =
			(const duckdb_list_entry *)d->vector_get_data(v) + row;

		r = append_items(d, d->list_vector_get_child(v), child, entry->offset,
				 entry->length, out);
	}
	d->destroy_logical_type(&child);
	return r;
}

static int append_struct(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
			 size_t row, struct buf *out)
{
	buf_append(out, "{", 1);
	for (idx_t i = 0; i < d->struct_type_child_count(type); i++) {
		duckdb_logical_type child = d->struct_type_child_type(type, i);
		char *name = d->struct_type_child_name(type, i);

		buf_printf(out, "%s'%s': ", i ? ", " : "", name ? name : "");
		buf_fail(out,
			 value_text(d, d->struct_vector_get_child(v, i), child, row, true, out));
		d->free(name);
		d->destroy_logical_type(&child);
	}
	return buf_append(out, "}", 1);
}

/* A MAP is a list of structs of key and value. */
static int append_map(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
		      size_t row, struct buf *out)
{
	const duckdb_list_entry *entry = (const duckdb_list_entry *)d->vector_get_data(v) + row;
	duckdb_logical_type key = d->map_type_key_type(type), value = d->map_type_value_type(type);
	duckdb_vector pairs = d->list_vector_get_child(v);

	buf_append(out, "{", 1);
	for (size_t i = entry->offset; i < entry->offset + entry->length; i++) {
		if (i > entry->offset)
			buf_append(out, ", ", 2);
		buf_fail(out,
			 value_text(d, d->struct_vector_get_child(pairs, 0), key, i, true, out));
		buf_append(out, "=", 1);
		buf_fail(out,
			 value_text(d, d->struct_vector_get_child(pairs, 1), value, i, true, out));
	}
	d->destroy_logical_type(&key);
	d->destroy_logical_type(&value);
	return buf_append(out, "}", 1);
}

/* Numbers and times: values stored in the vector itself. */
static int append_plain(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
			size_t row, struct buf *out)
{
	const void *data = d->vector_get_data(v);
	duckdb_type id = d->get_type_id(type);

	switch (id) {
	case DUCKDB_TYPE_BOOLEAN:
		return buf_printf(out, "%s", ((const uint8_t *)data)[row] ? "true" : "false");
	case DUCKDB_TYPE_TINYINT:
	case DUCKDB_TYPE_SMALLINT:
	case DUCKDB_TYPE_INTEGER:
	case DUCKDB_TYPE_BIGINT:
	case DUCKDB_TYPE_UTINYINT:
	case DUCKDB_TYPE_USMALLINT:
	case DUCKDB_TYPE_UINTEGER:
		return buf_printf(out, "%" PRId64, value_int(d, v, type, row));
	case DUCKDB_TYPE_UBIGINT:
		return buf_printf(out, "%" PRIu64, ((const uint64_t *)data)[row]);
	case DUCKDB_TYPE_HUGEINT:
		return append_i128(out, hugeint_at(data, row));
	case DUCKDB_TYPE_UHUGEINT:
		return append_u128(out, (unsigned __int128)hugeint_at(data, row));
	case DUCKDB_TYPE_FLOAT:
		return append_double(out, (double)((const float *)data)[row], 6, true);
	case DUCKDB_TYPE_DOUBLE:
		return append_double(out, ((const double *)data)[row], 15, false);
	case DUCKDB_TYPE_DATE:
		return append_date(out, ((const int32_t *)data)[row]);
	case DUCKDB_TYPE_TIME: {
		int64_t us = ((const int64_t *)data)[row];

		return append_clock(out, us / 1000000, us % 1000000, 6, false);
	}
	case DUCKDB_TYPE_INTERVAL:
		return append_interval(out, (const duckdb_interval *)data + row);
	case DUCKDB_TYPE_UUID:
		return append_uuid(out, (const duckdb_hugeint *)data + row);
	default:
		return 1;
	}
}

static int append_time(const void *data, duckdb_type id, size_t row, struct buf *out)
{
	bool is_time = id == DUCKDB_TYPE_TIMESTAMP || id == DUCKDB_TYPE_TIMESTAMP_TZ ||
		       (id >= DUCKDB_TYPE_TIMESTAMP_S && id <= DUCKDB_TYPE_TIMESTAMP_NS);
	int64_t v = is_time ? ((const int64_t *)data)[row] : 0;
	int r;

	switch (id) {
	case DUCKDB_TYPE_TIMESTAMP_S:
		return append_timestamp(out, v, 1, 0, false);
	case DUCKDB_TYPE_TIMESTAMP_MS:
		return append_timestamp(out, v, 1000, 3, false);
	case DUCKDB_TYPE_TIMESTAMP:
		return append_timestamp(out, v, 1000000, 6, false);
	case DUCKDB_TYPE_TIMESTAMP_NS:
		return append_timestamp(out, v, 1000000000, 9, true);
	case DUCKDB_TYPE_TIMESTAMP_TZ:
		r = append_timestamp(out, v, 1000000, 6, false);
		return r < 0 ? r : buf_append(out, "+00", 3);
	default:
		return 1;
	}
}

int value_text(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type, size_t row,
	       bool nested, struct buf *out)
{
	duckdb_type id = d->get_type_id(type);
	/* NULL for a struct or array, which has only children */
	const void *data = d->vector_get_data(v);
	struct bytes text;
	int r;

	if (value_is_null(d, v, row))
		return nested ? buf_append(out, "NULL", 4) : 0;
	r = append_plain(d, v, type, row, out);
	if (r == 1)
		r = append_time(data, id, row, out);
	if (r != 1)
		return r;
	switch (id) {
	case DUCKDB_TYPE_VARCHAR:
		text = vector_string(data, row);
		return buf_append(out, text.data, text.len);
	case DUCKDB_TYPE_BLOB:
		return append_blob(out, vector_string(data, row));
	case DUCKDB_TYPE_BIT:
		return append_bits(out, vector_string(data, row));
	case DUCKDB_TYPE_ENUM:
		return append_enum(d, v, type, row, out);
	case DUCKDB_TYPE_DECIMAL:
		return append_decimal(d, data, type, row, out);
	case DUCKDB_TYPE_LIST:
	case DUCKDB_TYPE_ARRAY:
		return append_list(d, v, type, row, out);
	case DUCKDB_TYPE_STRUCT:
		return append_struct(d, v, type, row, out);
	case DUCKDB_TYPE_MAP:
		return append_map(d, v, type, row, out);
	default:
		return buf_printf(out, "(type %d: cast it to VARCHAR)", (int)id);
	}
}

int64_t value_time(const struct duckdb_api *d, duckdb_vector v, duckdb_type type, size_t row)
{
	int64_t value = ((const int64_t *)d->vector_get_data(v))[row], factor, ns;

	switch (type) {
	case DUCKDB_TYPE_TIMESTAMP_S:
		factor = 1000000000;
		break;
	case DUCKDB_TYPE_TIMESTAMP_MS:
		factor = 1000000;
		break;
	case DUCKDB_TYPE_TIMESTAMP_NS:
		factor = 1;
		break;
	default:
		factor = 1000;
		break;
	}
	if (__builtin_mul_overflow(value, factor, &ns))
		return value < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

int64_t value_int(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type, size_t row)
{
	const void *data = d->vector_get_data(v);
	duckdb_type id = d->get_type_id(type);

	if (value_is_null(d, v, row))
		return 0;
	switch (id) {
	case DUCKDB_TYPE_BOOLEAN:
		return ((const bool *)data)[row];
	case DUCKDB_TYPE_TINYINT:
		return ((const int8_t *)data)[row];
	case DUCKDB_TYPE_UTINYINT:
		return ((const uint8_t *)data)[row];
	case DUCKDB_TYPE_SMALLINT:
		return ((const int16_t *)data)[row];
	case DUCKDB_TYPE_USMALLINT:
		return ((const uint16_t *)data)[row];
	case DUCKDB_TYPE_INTEGER:
		return ((const int32_t *)data)[row];
	case DUCKDB_TYPE_UINTEGER:
		return ((const uint32_t *)data)[row];
	case DUCKDB_TYPE_BIGINT:
	case DUCKDB_TYPE_UBIGINT:
		return ((const int64_t *)data)[row];
	case DUCKDB_TYPE_HUGEINT:
	case DUCKDB_TYPE_UHUGEINT:
		return (int64_t)((const duckdb_hugeint *)data)[row].lower;
	case DUCKDB_TYPE_TIMESTAMP:
	case DUCKDB_TYPE_TIMESTAMP_S:
	case DUCKDB_TYPE_TIMESTAMP_MS:
	case DUCKDB_TYPE_TIMESTAMP_NS:
	case DUCKDB_TYPE_TIMESTAMP_TZ:
		return value_time(d, v, id, row);
	default:
		return 0;
	}
}

double value_float(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
		   size_t row)
{
	const void *data = d->vector_get_data(v);

	if (value_is_null(d, v, row))
		return 0;
	switch (d->get_type_id(type)) {
	case DUCKDB_TYPE_DOUBLE:
		return ((const double *)data)[row];
	case DUCKDB_TYPE_FLOAT:
		return (double)((const float *)data)[row];
	default:
		return (double)value_int(d, v, type, row);
	}
}

struct bytes value_string(const struct duckdb_api *d, duckdb_vector v, size_t row)
{
	if (value_is_null(d, v, row))
		return (struct bytes){NULL, 0};
	return vector_string(d->vector_get_data(v), row);
}

uint32_t value_ordinal(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
		       size_t row)
{
	const void *data = d->vector_get_data(v);

	switch (d->enum_internal_type(type)) {
	case DUCKDB_TYPE_UTINYINT:
		return ((const uint8_t *)data)[row];
	case DUCKDB_TYPE_USMALLINT:
		return ((const uint16_t *)data)[row];
	default:
		return ((const uint32_t *)data)[row];
	}
}
