/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof.c: writes the format of github.com/google/pprof/proto/profile.proto without a library: samples with one value
 * per weight, a location and a function per name. Gzipped, like pprof's own files.
 */
#include "analysis/stacks/stacks.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DEFAULT_TYPE = 14,
	VALUE_TYPE = 1,
	VALUE_UNIT = 2,
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	LOCATION_ID = 1,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM = 3,
};

#define WIRE_NUMBER 0
#define WIRE_BYTES  2

static int put_number(struct buf *b, unsigned int field, uint64_t v)
{
	buf_varint(b, field << 3 | WIRE_NUMBER);
	return buf_varint(b, v);
}

static int put_bytes(struct buf *b, unsigned int field, const void *data, size_t len)
{
	int r;

	buf_varint(b, field << 3 | WIRE_BYTES);
	r = buf_varint(b, len);
	return r < 0 || !len ? r : buf_append(b, data, len);
}

static int put_value_type(struct buf *b, uint32_t type, uint32_t unit)
{
	_cleanup_buf_ struct buf v = {0};
	int r;

	put_number(&v, VALUE_TYPE, type);
	r = put_number(&v, VALUE_UNIT, unit);
	return r < 0 ? r : put_bytes(b, PROFILE_SAMPLE_TYPE, v.data, v.len);
}

/* A function and a location for one name, which is all that is known. Their id is that of the name in the string table. */
static int put_function(struct buf *b, uint32_t id)
{
	_cleanup_buf_ struct buf line = {0}, location = {0}, function = {0};
	int r = put_number(&line, LINE_FUNCTION, id);

	r = r < 0 ? r : put_number(&location, LOCATION_ID, id);
	r = r < 0 ? r : put_bytes(&location, LOCATION_LINE, line.data, line.len);
	r = r < 0 ? r : put_bytes(b, PROFILE_LOCATION, location.data, location.len);
	r = r < 0 ? r : put_number(&function, PPROF_FUNCTION_ID, id);
	r = r < 0 ? r : put_number(&function, PPROF_FUNCTION_NAME, id);
	r = r < 0 ? r : put_number(&function, PPROF_FUNCTION_SYSTEM, id);
	return r < 0 ? r : put_bytes(b, PROFILE_FUNCTION, function.data, function.len);
}

/* The names of a stack, innermost first, as string ids. */
static int put_locations(struct buf *out, struct intern *strings, struct bytes names)
{
	size_t end = names.len;
	int r = 0;

	while (r >= 0 && end) {
		size_t from = end;
		uint32_t id;

		while (from && names.data[from - 1] != ';')
			from--;
		r = intern_add(strings, names.data + from, end - from, &id);
		r = r < 0 ? r : buf_varint(out, id);
		end = from ? from - 1 : 0;
	}
	return r;
}

static int put_sample(struct buf *b, struct intern *strings, const struct stacks_row *row,
		      bool kernel)
{
	_cleanup_buf_ struct buf sample = {0}, locations = {0}, values = {0};
	int r = kernel ? put_locations(&locations, strings, row->kernel) : 0;

	r = r < 0 ? r : put_locations(&locations, strings, row->names);

	for (int i = 0; i < STACKS_WEIGHTS && r >= 0; i++)
		r = buf_varint(&values, row->sums[i]);
	r = r < 0 ? r : put_bytes(&sample, SAMPLE_LOCATIONS, locations.data, locations.len);
	r = r < 0 ? r : put_bytes(&sample, SAMPLE_VALUES, values.data, values.len);
	return r < 0 ? r : put_bytes(b, PROFILE_SAMPLE, sample.data, sample.len);
}

static int gzip(const struct buf *from, struct buf *out)
{
	z_stream z = {0};
	int r;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY))
		return -ENOMEM;
	r = from->len > UINT32_MAX ? -E2BIG : buf_reserve(out, deflateBound(&z, from->len));
	if (r >= 0) {
		z.next_in = from->data;
		z.avail_in = (uInt)from->len;
		z.next_out = out->data + out->len;
		z.avail_out = (uInt)(out->cap - out->len);
		r = deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
		out->len += z.total_out;
	}
	deflateEnd(&z);
	return r;
}

static int put_profile(const struct stacks_sums *s, struct buf *b, struct intern *strings)
{
	static const char *const units[] = {"nanoseconds", "bytes", "count", "count"};
	uint32_t empty, type, unit;
	int r = intern_add(strings, "", 0, &empty); /* the first string must be empty */

	static_assert(ARRAY_SIZE(units) == STACKS_WEIGHTS, "each weight has a unit");
	for (int i = 0; i < STACKS_WEIGHTS && r >= 0; i++) {
		const char *word = stacks_weight_word((size_t)i);

		r = intern_add(strings, word, strlen(word), &type);
		r = r < 0 ? r : intern_add(strings, units[i], strlen(units[i]), &unit);
		r = r < 0 ? r : put_value_type(b, type, unit);
		if (r >= 0 && i == (int)s->weight)
			r = put_number(b, PROFILE_DEFAULT_TYPE, type);
	}
	for (size_t i = 0; i < s->count && r >= 0; i++)
		r = put_sample(b, strings, &s->rows[i], s->kernel);
	for (uint32_t i = 1; i < strings->count && r >= 0; i++)
		r = put_function(b, i);
	for (uint32_t i = 0; i < strings->count && r >= 0; i++) {
		struct bytes text = intern_get(strings, i);

		r = put_bytes(b, PROFILE_STRING, text.data, text.len);
	}
	return r;
}

int stacks_put_pprof(const struct stacks_sums *s, struct buf *out)
{
	_cleanup_(intern_free) struct intern strings = {0};
	_cleanup_buf_ struct buf b = {0};
	int r = put_profile(s, &b, &strings);

	return r < 0 ? r : gzip(&b, out);
}
