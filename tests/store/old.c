/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that earlier builds recorded read as they did then: every row, every value. A trace stands in old/ for each
 * change of what a writer writes; first.trace is a small Python program's, from before blocks had the numbers of events,
 * copies.trace one's that copies, from before summaries had the second file of calls.
 *
 *   test_store_old TRACE       prints what the table below should say
 */
#include <inttypes.h>
#include <xxhash.h>

#include "common.h"

#ifndef OLD_FOLDER
#	error "OLD_FOLDER: where the traces are"
#endif

struct sum {
	enum table_id table;
	size_t rows;
	uint64_t hash; /* of all values with their row and column */
};

struct old {
	const char *name;
	bool told; /* its blocks have the numbers of their events */
	struct sum sums[TABLE_COUNT];
};

static const struct old olds[] = {
	{"first.trace",
	 false,
	 {
#include "old/first.inc"
	 }},
	{"copies.trace",
	 true,
	 {
#include "old/copies.inc"
	 }},
};

static uint64_t hash_cell(uint64_t seed, const struct batch *b, unsigned int column, size_t row)
{
	const uint64_t place[] = {seed, row, column};
	uint64_t hash = XXH3_64bits(place, sizeof(place));
	struct bytes text;
	int64_t value;

	if (batch_is_null(b, column, row))
		return seed;
	if (b->def->columns[column].type == COLUMN_BYTES) {
		text = batch_get_bytes(b, column, row);
		return XXH3_64bits_withSeed(text.data, text.len, hash);
	}
	value = batch_get(b, column, row, 0);
	return XXH3_64bits_withSeed(&value, sizeof(value), hash);
}

static void read_sums(const char *path, bool told, struct sum sums[TABLE_COUNT])
{
	struct store *s = open_trace(path);
	struct store_damage damage;
	struct store_events events;

	store_damage(s, &damage);
	assert_int_equal(damage.blocks, 0);
	assert_false(store_is_open_ended(s));
	store_events(s, &events);
	assert_int_equal(events.told, told);
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		struct batch *b = read_rows(s, (enum table_id)t);
		uint64_t hash = 0;

		for (size_t row = 0; row < b->rows; row++) {
			for (unsigned int c = 0; c < b->def->column_count; c++)
				hash = hash_cell(hash, b, c, row);
		}
		sums[t] = (struct sum){(enum table_id)t, b->rows, hash};
		batch_free(b);
	}
	store_free(s);
}

static void old_traces(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(olds); i++) {
		struct sum sums[TABLE_COUNT];
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", OLD_FOLDER, olds[i].name);
		read_sums(path, olds[i].told, sums);
		for (unsigned int t = 0; t < TABLE_COUNT; t++) {
			/* a table that came later has no rows */
			assert_true(olds[i].sums[t].table == t || !olds[i].sums[t].rows);
			if (sums[t].rows != olds[i].sums[t].rows ||
			    sums[t].hash != olds[i].sums[t].hash)
				fail_msg("%s, table %s: %zu rows, hash %016" PRIx64
					 "; it was %zu, %016" PRIx64,
					 olds[i].name, schema_table((enum table_id)t)->name,
					 sums[t].rows, sums[t].hash, olds[i].sums[t].rows,
					 olds[i].sums[t].hash);
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_traces),
	};

	if (argc == 2) {
		struct sum sums[TABLE_COUNT];

		read_sums(argv[1], true, sums);
		for (unsigned int t = 0; t < TABLE_COUNT; t++)
			printf("{TABLE_%s, %zu, 0x%016" PRIx64 "},\n",
			       schema_table((enum table_id)t)->name, sums[t].rows, sums[t].hash);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
