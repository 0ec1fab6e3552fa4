// SPDX-License-Identifier: Apache-2.0
/* Sets of ranges against an array with the owner of each byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/features/use/ranges.h"

#define BYTES  2000
#define OWNERS 3
#define NOBODY 255

struct plain {
	uint8_t owner[BYTES];
};

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static int64_t plain_put(struct plain *p, int64_t from, int64_t to, uint8_t owner)
{
	int64_t fresh = 0;

	for (int64_t i = from; i < to; i++) {
		fresh += p->owner[i] == NOBODY;
		p->owner[i] = owner;
	}
	return fresh;
}

static int64_t plain_count(const struct plain *p, int64_t from, int64_t to, int only, int but)
{
	int64_t sum = 0;

	for (int64_t i = from; i < to; i++)
		sum += p->owner[i] != NOBODY && p->owner[i] != but &&
		       (only < 0 || p->owner[i] == only);
	return sum;
}

static void assert_sound(const struct ranges *r)
{
	const struct range *v = ranges_array(r);

	for (uint32_t i = 0; i < r->count; i++) {
		assert_true(v[i].from < v[i].to);
		assert_true(i == 0 || v[i].from >= v[i - 1].to);
		if (i > 0 && v[i].from == v[i - 1].to && !r->inexact)
			assert_int_not_equal(v[i].owner, v[i - 1].owner);
	}
}

static void assert_same(const struct ranges *r, const struct plain *p)
{
	const struct range *v = ranges_array(r);
	struct plain have;

	memset(&have, NOBODY, sizeof(have));
	for (uint32_t i = 0; i < r->count; i++)
		plain_put(&have, v[i].from, v[i].to, (uint8_t)v[i].owner);
	assert_memory_equal(&have, p, sizeof(have));
	assert_int_equal(ranges_total(r), plain_count(p, 0, BYTES, -1, -1));
}

static void one_run(uint64_t number, uint32_t owners, uint32_t longest)
{
	struct ranges_room room = {.max = SIZE_MAX};
	struct ranges r = {0};
	struct plain p;

	seed = number;
	memset(&p, NOBODY, sizeof(p));
	for (int i = 0; i < 400; i++) {
		int64_t from = any(BYTES - 1), to = MIN(from + 1 + any(longest), (int64_t)BYTES);
		uint32_t owner = any(owners), other = any(owners);
		int64_t owned, was;

		if (any(4) > 0) {
			assert_int_equal(ranges_put(&r, &room, from, to, owner),
					 plain_put(&p, from, to, (uint8_t)owner));
		} else {
			was = plain_count(&p, from, to, -1, -1);
			assert_int_equal(ranges_within(&r, from, to, other),
					 plain_count(&p, from, to, -1, (int)other));
			assert_int_equal(ranges_cut(&r, &room, from, to, owner, &owned), was);
			assert_int_equal(owned, plain_count(&p, from, to, (int)owner, -1));
			memset(p.owner + from, NOBODY, (size_t)(to - from));
		}
		assert_sound(&r);
		assert_false(r.inexact);
	}
	assert_same(&r, &p);
	ranges_free(&r, &room);
	assert_int_equal(room.used, 0);
}

static void test_against_bytes(void **state)
{
	for (uint64_t i = 1; i <= 60; i++) {
		one_run(i, 1, 20);
		one_run(i, OWNERS, 20);
		one_run(i, OWNERS, 400);
	}
}

/* A set of pages, read and cut in parts as well, against an array with a byte for each. */
static void test_pages(void **state)
{
	const int64_t pages = 2000, size = pages * RANGES_PAGE;
	struct ranges_room room = {.max = SIZE_MAX};
	struct ranges r = {0};
	struct range at = {0};
	uint8_t *has = calloc(1, (size_t)size);
	int64_t sum = 0, covered = 0, runs = 0;

	assert_non_null(has);
	seed = 5;
	for (int i = 0; i < 6000; i++) {
		bool whole = i < 1200 || any(3) == 0, put = i < 1200 || any(3) > 0;
		int64_t from = (int64_t)any((uint32_t)pages) * RANGES_PAGE, to, had = 0;

		to = from + (whole ? RANGES_PAGE * (1 + (int64_t)any(3)) : 1 + any(12000));
		from += whole ? 0 : any(5000);
		to = MAX(to, from + 1);
		to = MIN(to, size);
		from = MIN(from, to - 1);
		for (int64_t k = from; k < to; k++)
			had += has[k];
		assert_int_equal(ranges_within(&r, from, to, UINT32_MAX), had);
		if (put)
			assert_int_equal(ranges_put(&r, &room, from, to, 0), to - from - had);
		else
			assert_int_equal(ranges_cut(&r, &room, from, to, 0, NULL), had);
		sum += put ? to - from - had : -had;
		memset(has + from, put, (size_t)(to - from));
	}
	assert_non_null(r.pages);
	assert_false(r.inexact);
	assert_int_equal(ranges_total(&r), sum);
	for (int64_t k = 0; k < size; k++)
		runs += has[k] && (k == 0 || !has[k - 1]);
	assert_int_equal(ranges_count(&r), runs);
	while (ranges_next(&r, at.to, &at)) {
		assert_true(at.from < at.to && at.to <= size && has[at.from] && has[at.to - 1]);
		assert_true(at.from == 0 || !has[at.from - 1]);
		covered += at.to - at.from;
	}
	assert_int_equal(covered, sum);
	/* too many parts of pages: they become whole ones */
	for (int64_t i = 0; i < pages * 3; i++)
		ranges_put(&r, &room, i * 3 * RANGES_PAGE + 100, i * 3 * RANGES_PAGE + 200, 0);
	assert_true(r.inexact);
	assert_true(ranges_total(&r) >= sum);
	for (int64_t i = 0; i < pages * 3; i++)
		assert_int_equal(ranges_within(&r, i * 3 * RANGES_PAGE + 100,
					       i * 3 * RANGES_PAGE + 200, UINT32_MAX),
				 100);
	ranges_free(&r, &room);
	assert_int_equal(room.used, 0);
	free(has);
}

/* What follows is one range, whatever its length. */
static void test_sequential(void **state)
{
	struct ranges_room room = {.max = 0};
	struct ranges r = {0};

	for (int64_t at = 0; at < 1 << 20; at += 512)
		assert_int_equal(ranges_put(&r, &room, at, at + 512, 7), 512);
	assert_int_equal(r.count, 1);
	assert_int_equal(ranges_put(&r, &room, 100, 200, 7), 0);
	assert_int_equal(ranges_total(&r), 1 << 20);
	assert_false(r.inexact);
	ranges_free(&r, &room);
}

/* Beyond its bound a set covers at least what was added, and says so. */
static void test_bounded(void **state)
{
	struct ranges_room room = {.max = SIZE_MAX};
	struct ranges r = {0};

	for (int64_t i = 0; i < RANGES_MAX; i++)
		ranges_put(&r, &room, i * 3000, i * 3000 + 1000, 0);
	assert_int_equal(r.count, RANGES_MAX);
	assert_false(r.inexact);
	assert_int_equal(ranges_total(&r), (int64_t)RANGES_MAX * 1000);
	ranges_put(&r, &room, (int64_t)RANGES_MAX * 3000, (int64_t)RANGES_MAX * 3000 + 1000, 0);
	assert_true(r.inexact);
	assert_in_range(r.count, 1, RANGES_INEXACT);
	for (int64_t i = 0; i <= RANGES_MAX; i++)
		assert_int_equal(ranges_within(&r, i * 3000, i * 3000 + 1000, UINT32_MAX), 1000);
	assert_sound(&r);
	ranges_free(&r, &room);
	assert_int_equal(room.used, 0);
}

/* Without memory a set is one range, and says so. */
static void test_no_room(void **state)
{
	for (size_t max = 0; max < 2000; max += 200) {
		struct ranges_room room = {.max = max};
		struct ranges r = {0};

		for (int64_t i = 0; i < 500; i++)
			ranges_put(&r, &room, (i * 7919 % 500) * 100, (i * 7919 % 500) * 100 + 50,
				   (uint32_t)i % OWNERS);
		assert_true(r.inexact);
		assert_true(room.used <= max);
		assert_sound(&r);
		assert_true(ranges_total(&r) >= (int64_t)500 * 50);
		ranges_cut(&r, &room, 1000, 2000, 0, NULL);
		assert_sound(&r);
		ranges_give(&r, 0, 2);
		ranges_give(&r, 1, 2);
		assert_int_equal(ranges_within(&r, 0, INT64_MAX, 2), 0);
		ranges_free(&r, &room);
		assert_int_equal(room.used, 0);
	}
}

/* Gaps of 6 and 5 bytes by turns: their mean is no whole number. */
static void test_gaps_by_turns(void **state)
{
	struct ranges_room room = {.max = 1 << 20};
	struct ranges r = {0};
	int64_t pos = 0;

	for (unsigned int i = 0; i < 3 * RANGES_MAX; i++) {
		ranges_put(&r, &room, pos, pos + 1, 0);
		pos += i % 2 ? 6 : 7;
	}
	assert_true(r.inexact);
	assert_sound(&r);
	assert_true(ranges_total(&r) >= 3 * RANGES_MAX);
	ranges_free(&r, &room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_bytes), cmocka_unit_test(test_pages),
		cmocka_unit_test(test_sequential),    cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_no_room),	      cmocka_unit_test(test_gaps_by_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
