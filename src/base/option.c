/* SPDX-License-Identifier: Apache-2.0 */
/* option.c: parses numbers, durations and sizes as people write them into the field of an option. */
#include "base/option.h"

#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	double factor;
};

static const struct unit duration_units[] = {
	{"ns", 1},
	{"us", NSEC_PER_USEC},
	{"ms", NSEC_PER_MSEC},
	{"s", NSEC_PER_SEC},
	{"m", 60.0 * NSEC_PER_SEC},
	{"min", 60.0 * NSEC_PER_SEC},
	{"h", 3600.0 * NSEC_PER_SEC},
	{"", NSEC_PER_SEC},
};

/* KiB, KB and K all mean 1,024 bytes, as in ls, dd and head: nobody means 1,000 for a limit. */
static const struct unit size_units[] = {
	{"", 1},
	{"B", 1},
	{"K", 1ull << 10},
	{"KB", 1ull << 10},
	{"KiB", 1ull << 10},
	{"M", 1ull << 20},
	{"MB", 1ull << 20},
	{"MiB", 1ull << 20},
	{"G", 1ull << 30},
	{"GB", 1ull << 30},
	{"GiB", 1ull << 30},
	{"T", 1ull << 40},
	{"TB", 1ull << 40},
	{"TiB", 1ull << 40},
};

/* The number times its unit; -EINVAL if it is not a number >= 0 or has an unknown unit. */
static int parse_unit(const char *text, const struct unit *units, size_t count, double *ret)
{
	char *end;
	double number;

	/* strtod() would also accept "inf", "nan", leading blanks and hexadecimal */
	if (!strchr(".0123456789", text[0]) || strpbrk(text, "xX"))
		return -EINVAL;
	number = strtod(text, &end);
	if (end == text)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(end, units[i].name) == 0) {
			*ret = number * units[i].factor;
			return 0;
		}
	}
	return -EINVAL;
}

int parse_int(const char *text, int64_t *ret, struct error *err)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (!*text || *end || strchr(" \t\n\v\f\r", text[0]))
		return error_set(err, -EINVAL, "'%s' is not a whole number", text);
	if (errno)
		return error_set(err, -EINVAL, "'%s' is too large a number", text);
	*ret = number;
	return 0;
}

int parse_duration(const char *text, int64_t *ret_ns, struct error *err)
{
	double ns;

	if (parse_unit(text, duration_units, ARRAY_SIZE(duration_units), &ns) < 0)
		return error_set(err, -EINVAL,
				 "'%s' is not a duration; write 200us, 1.5ms, 10s or 2m", text);
	if (ns >= 0x1p63)
		return error_set(err, -EINVAL, "'%s' is too long: at most 292 years", text);
	*ret_ns = llround(ns);
	return 0;
}

int parse_size(const char *text, uint64_t *ret_bytes, struct error *err)
{
	double bytes;

	if (parse_unit(text, size_units, ARRAY_SIZE(size_units), &bytes) < 0)
		return error_set(err, -EINVAL, "'%s' is not a size; write 4096, 64KiB, 10M or 2GiB",
				 text);
	if (bytes >= 0x1p63)
		return error_set(err, -EINVAL, "'%s' is too large: below 8388608TiB", text);
	*ret_bytes = (uint64_t)llround(bytes);
	return 0;
}

/* ---- storing in the field ---- */

static int option_list_add(struct option_list *list, const char *value, struct error *err)
{
	if (grow((void **)&list->items, &list->cap, list->count + 1, sizeof(*list->items)) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	list->items[list->count++] = value;
	return 0;
}

/* Rejects a value of 0 if 0 means "not given". */
static int option_not_zero(const struct option *o, const char *value, uint64_t number,
			   struct error *err)
{
	if (o->zero || number)
		return 0;
	return error_set(err, -EINVAL,
			 "'%s' is not allowed: leave the option out, or give more than 0", value);
}

int option_take(const struct option *o, void *opts, const char *value, struct error *err)
{
	void *field = (char *)opts + o->offset;
	int r;

	switch (o->type) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_TIMES:
		++*(int64_t *)field;
		return 0;
	case OPTION_STRING:
		*(const char **)field = value;
		return 0;
	case OPTION_LIST:
		return option_list_add(field, value, err);
	case OPTION_INT:
		return parse_int(value, field, err);
	case OPTION_COUNT:
		r = parse_int(value, field, err);
		if (r == 0 && *(int64_t *)field < 1)
			r = error_set(err, -EINVAL, "'%s' is too small: at least 1", value);
		return r;
	case OPTION_DURATION:
		r = parse_duration(value, field, err);
		return r < 0 ? r : option_not_zero(o, value, *(uint64_t *)field, err);
	case OPTION_SIZE:
		r = parse_size(value, field, err);
		return r < 0 ? r : option_not_zero(o, value, *(uint64_t *)field, err);
	}
	assert(!"a type of option");
	return -EINVAL;
}

void options_defaults(const struct option *table, void *opts)
{
	for (const struct option *o = table; !option_end(o); o++) {
		int r = o->otherwise ? option_take(o, opts, o->otherwise, NULL) : 0;

		assert(r >= 0);
		(void)r;
	}
}

void options_release(const struct option *table, void *opts)
{
	for (const struct option *o = table; !option_end(o); o++) {
		if (o->type == OPTION_LIST)
			free(((struct option_list *)((char *)opts + o->offset))->items);
	}
}
