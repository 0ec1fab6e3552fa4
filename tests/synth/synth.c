/* SPDX-License-Identifier: Apache-2.0 */
/* The synthetic source: the same seed gives the same rows; the contract of capture/source.h holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "capture/synth/synth.h"

/* Hash of the first 20,000 rows of `mixed`, seed 1. A change of the generator changes it, and the
 * golden outputs. */
#define MIXED_20000 0x4ad31dde0fa11407ull

static struct source *open_source(enum synth_profile profile, uint64_t seed, uint64_t rows)
{
	struct synth_options opt = {.profile = profile, .seed = seed, .rows = rows};
	struct error err = {0};
	struct source *s = NULL;

	assert_int_equal(synth_source_new(&s, &opt, &err), 0);
	assert_int_equal(source_start(s, &err), 0);
	return s;
}

static bool all_null(const struct batch *b, unsigned int column)
{
	for (size_t i = 0; i < b->rows; i++) {
		if (!batch_is_null(b, column, i))
			return false;
	}
	return true;
}

/* FNV-1a: what the streams were fixed with must not change with the map's hash. */
static uint64_t hash_fixed(struct bytes v)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < v.len; i++)
		h = (h ^ v.data[i]) * 0x100000001b3ull;
	return hash_u64(h);
}

static uint64_t hash_batch(uint64_t h, const struct batch *b)
{
	for (unsigned int c = 0; c < b->def->column_count; c++) {
		if (all_null(b, c)) /* as if the table had no such column */
			continue;
		for (size_t i = 0; i < b->rows; i++) {
			if (batch_is_null(b, c, i)) {
				h = hash_u64(h + 1);
			} else if (b->def->columns[c].type == COLUMN_BYTES) {
				struct bytes v = batch_get_bytes(b, c, i);

				h = hash_u64(h ^ hash_fixed(v));
			} else {
				h = hash_u64(h ^ (uint64_t)b->columns[c].val[i]);
			}
		}
	}
	return h;
}

/* Everything that a stream gives, hashed; with checks of the contract on the way. */
static uint64_t drain(struct source *s, uint64_t want_rows, bool ordered)
{
	_cleanup_batch_set_ struct batch_set set = {0};
	_cleanup_(map_free) struct map files = {0}, threads = {0};
	struct error err = {0};
	uint64_t h = 0, rows = 0;
	int64_t last_end = 0;
	int r;

	while ((r = source_read(s, &set, 0, &err)) != SOURCE_END) {
		assert_int_equal(r, SOURCE_ROWS);
		for (unsigned int t = 0; t < TABLE_COUNT; t++) {
			if (set.tables[t])
				h = hash_batch(h, set.tables[t]);
		}
		for (size_t i = 0; set.tables[TABLE_FILE] && i < set.tables[TABLE_FILE]->rows; i++)
			assert_int_equal(
				map_set(&files,
					(uint64_t)batch_get(set.tables[TABLE_FILE], FILE_ID, i, -1),
					1),
				0);
		for (size_t i = 0; set.tables[TABLE_THREAD] && i < set.tables[TABLE_THREAD]->rows;
		     i++)
			assert_int_equal(map_set(&threads,
						 (uint64_t)batch_get(set.tables[TABLE_THREAD],
								     THREAD_ID, i, -1),
						 1),
					 0);
		for (size_t i = 0; i < set.tables[TABLE_OP]->rows; i++) {
			const struct batch *b = set.tables[TABLE_OP];
			int64_t file = batch_get(b, OP_FILE_ID, i, -1);
			int64_t end = batch_get(b, OP_START, i, 0) + batch_get(b, OP_DUR, i, 0);

			if (ordered) {
				assert_true(file < 0 || map_get(&files, (uint64_t)file, NULL));
				assert_true(end >= last_end);
				last_end = end;
			}
			assert_true(map_get(&threads, (uint64_t)batch_get(b, OP_THREAD_ID, i, -1),
					    NULL));
		}
		rows += set.tables[TABLE_OP]->rows;
		batch_set_clear(&set);
	}
	assert_int_equal(rows, want_rows);
	return h;
}

static void same_seed(void **state)
{
	for (int p = 0; p < SYNTH_PROFILE_COUNT; p++) {
		_cleanup_(source_freep) struct source *a =
			open_source((enum synth_profile)p, 7, 50001);
		_cleanup_(source_freep) struct source *b =
			open_source((enum synth_profile)p, 7, 50001);
		_cleanup_(source_freep) struct source *c =
			open_source((enum synth_profile)p, 8, 50001);
		uint64_t ha = drain(a, 50001, p != SYNTH_HOSTILE),
			 hb = drain(b, 50001, p != SYNTH_HOSTILE);

		assert_true(ha == hb);
		assert_true(ha != drain(c, 50001, p != SYNTH_HOSTILE));
	}
}

static void few_rows(void **state)
{
	for (uint64_t rows = 0; rows < 40; rows++) {
		_cleanup_(source_freep) struct source *s = open_source(SYNTH_MIXED, 1, rows);

		drain(s, rows, false);
	}
}

/* What the generator gives never changes: goldens elsewhere depend on it. */
static void fixed_for_ever(void **state)
{
	_cleanup_(source_freep) struct source *s = open_source(SYNTH_MIXED, 1, 20000);

	assert_int_equal(drain(s, 20000, true), MIXED_20000);
}

static void stopped_early(void **state)
{
	_cleanup_(source_freep) struct source *s = open_source(SYNTH_REDIS, 1, 1000000);
	_cleanup_batch_set_ struct batch_set set = {0};
	struct error err = {0};
	size_t rows;

	assert_int_equal(source_read(s, &set, 0, &err), SOURCE_ROWS);
	rows = set.tables[TABLE_OP]->rows;
	assert_int_equal(source_stop(s, &err), 0);
	assert_int_equal(source_read(s, &set, 0, &err), SOURCE_ROWS);
	assert_int_equal(set.tables[TABLE_OP]->rows, rows + 3);
	assert_int_equal(batch_get(set.tables[TABLE_OP], OP_STATUS, rows, 0), STATUS_UNFINISHED);
	assert_true(batch_is_null(set.tables[TABLE_OP], OP_RET, rows));
	assert_int_equal(source_read(s, &set, 0, &err), SOURCE_END);
}

static void names(void **state)
{
	assert_int_equal(synth_profile_find("redis"), SYNTH_REDIS);
	assert_int_equal(synth_profile_find("none"), -1);
	assert_null(synth_profile_name(SYNTH_PROFILE_COUNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_seed),	  cmocka_unit_test(few_rows),
		cmocka_unit_test(fixed_for_ever), cmocka_unit_test(stopped_early),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
