// SPDX-License-Identifier: Apache-2.0
/*
 * otlp_value.c: converts OTLP's AnyValue, in its JSON form, to plain JSON and back. Integers, floats, strings,
 * booleans, arrays and lists are native JSON; bytes and numbers that JSON lacks (NaN, infinity) are objects with one
 * member (names.h).
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "exchange/internal.h"

static json_t *one_member(const char *name, const json_t *text)
{
	json_t *o = json_object(), *copy = json_copy((json_t *)text);

	if (o && json_object_set_new(o, name, copy) >= 0)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *plain_double(const json_t *v, int *r)
{
	static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
	const char *text = json_string_value(v);

	if (json_is_number(v))
		return json_real(json_number_value(v));
	for (size_t i = 0; text && i < ARRAY_SIZE(names); i++) {
		if (strcmp(text, names[i]) == 0)
			return one_member(VALUE_DOUBLE, v);
	}
	*r = -EINVAL;
	return NULL;
}

static json_t *plain_array(const json_t *values, unsigned int depth, int *r)
{
	json_t *to = json_array(), *v;
	size_t i;

	if (values && !json_is_array(values))
		*r = -EINVAL;
	json_array_foreach((json_t *)values, i, v)
	{
		json_t *one = *r >= 0 ? otlp_plain(v, depth, r) : NULL;

		if (!one || json_array_append_new(to, one) < 0)
			break;
	}
	if (*r >= 0 && to && json_array_size(to) == json_array_size(values))
		return to;
	*r = *r < 0 ? *r : -ENOMEM;
	json_decref(to);
	return NULL;
}

static json_t *plain_list(const json_t *values, unsigned int depth, int *r)
{
	json_t *to = json_object();

	*r = to ? otlp_plain_list(values, to, depth) : -ENOMEM;
	if (*r >= 0)
		return to;
	json_decref(to);
	return NULL;
}

static json_t *plain_of(const char *name, const json_t *v, unsigned int depth, int *r)
{
	int64_t n;

	if (strcmp(name, "stringValue") == 0 && json_is_string(v))
		return json_copy((json_t *)v);
	if (strcmp(name, "boolValue") == 0 && json_is_boolean(v))
		return json_incref((json_t *)v);
	if (strcmp(name, "intValue") == 0 && json_i64(v, &n))
		return json_integer(n);
	if (strcmp(name, "doubleValue") == 0)
		return plain_double(v, r);
	if (strcmp(name, "bytesValue") == 0 && json_is_string(v))
		return one_member(VALUE_BYTES, v);
	if (strcmp(name, "arrayValue") == 0 && json_is_object(v))
		return plain_array(json_object_get(v, "values"), depth + 1, r);
	if (strcmp(name, "kvlistValue") == 0 && json_is_object(v))
		return plain_list(json_object_get(v, "values"), depth + 1, r);
	*r = -EINVAL;
	return NULL;
}

json_t *otlp_plain(const json_t *any, unsigned int depth, int *r)
{
	static const char *const names[] = {"stringValue", "boolValue",	 "intValue",
					    "doubleValue", "bytesValue", "arrayValue",
					    "kvlistValue"};
	json_t *plain;

	*r = 0;
	if (depth > SPANS_DEPTH_MAX) {
		*r = -E2BIG;
		return NULL;
	}
	if (!any)
		return json_null();
	if (!json_is_object(any)) {
		*r = -EINVAL;
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const json_t *v = json_object_get(any, names[i]);

		if (!v)
			continue;
		plain = plain_of(names[i], v, depth, r);
		*r = !plain && *r >= 0 ? -ENOMEM : *r;
		return plain;
	}
	return json_null();
}

int otlp_plain_list(const json_t *list, json_t *to, unsigned int depth)
{
	json_t *pair;
	size_t i;
	int r;

	if (list && !json_is_array(list))
		return -EINVAL;
	json_array_foreach((json_t *)list, i, pair)
	{
		const json_t *key = json_object_get(pair, "key");
		json_t *value;

		if (!json_is_object(pair) || (key && !json_is_string(key)))
			return -EINVAL;
		value = otlp_plain(json_object_get(pair, "value"), depth, &r);
		if (!value)
			return r;
		r = json_put(to, json_text(key), value);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- and back ---- */

/* Takes ownership of the value. */
static json_t *any_of(const char *name, json_t *value)
{
	json_t *any = json_object();

	if (any && value && json_object_set_new(any, name, value) >= 0)
		return any;
	if (!any)
		json_decref(value);
	json_decref(any);
	return NULL;
}

static json_t *any_array(const json_t *plain)
{
	json_t *values = json_array(), *v;
	size_t i;

	json_array_foreach((json_t *)plain, i, v)
	{
		if (json_array_append_new(values, otlp_any(v)) < 0)
			break;
	}
	return any_of("arrayValue", any_of("values", values));
}

static json_t *any_object(const json_t *plain)
{
	const json_t *bytes = json_object_get(plain, VALUE_BYTES);
	const json_t *odd = json_object_get(plain, VALUE_DOUBLE);

	if (json_object_size(plain) == 1 && json_is_string(bytes))
		return any_of("bytesValue", json_copy((json_t *)bytes));
	if (json_object_size(plain) == 1 && json_is_string(odd))
		return any_of("doubleValue", json_copy((json_t *)odd));
	return any_of("kvlistValue", any_of("values", otlp_list(plain)));
}

json_t *otlp_any(const json_t *plain)
{
	char number[32];

	switch (json_typeof(plain)) {
	case JSON_STRING:
		return any_of("stringValue", json_copy((json_t *)plain));
	case JSON_TRUE:
	case JSON_FALSE:
		return any_of("boolValue", json_incref((json_t *)plain));
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(plain));
		return any_of("intValue", json_string(number));
	case JSON_REAL:
		return any_of("doubleValue", json_copy((json_t *)plain));
	case JSON_ARRAY:
		return any_array(plain);
	case JSON_OBJECT:
		return any_object(plain);
	case JSON_NULL:
		break;
	}
	return json_object();
}

json_t *otlp_list(const json_t *object)
{
	json_t *list = json_array(), *value;
	const char *key;
	size_t len;

	json_object_keylen_foreach((json_t *)object, key, len, value)
	{
		json_t *pair = json_object();

		if (!pair || json_object_set_new(pair, "key", json_stringn(key, len)) < 0 ||
		    json_object_set_new(pair, "value", otlp_any(value)) < 0 ||
		    json_array_append(list, pair) < 0) {
			json_decref(pair);
			json_decref(list);
			return NULL;
		}
		json_decref(pair);
	}
	return list;
}
