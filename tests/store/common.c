/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include <errno.h>
#include <ftw.h>

static char folder[64];
static char path[256];

uint64_t draw(struct draw *d, uint64_t below)
{
	d->state += 0x9e3779b97f4a7c15ull;
	return below ? hash_u64(d->state) % below : hash_u64(d->state);
}

uint64_t test_seed(uint64_t otherwise)
{
	const char *given = getenv("WEIR_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : otherwise;

	print_message("seed %llu (WEIR_SEED)\n", (unsigned long long)seed);
	return seed;
}

/* How the values of a column look. */
enum look {
	LOOK_ABSENT,
	LOOK_CONSTANT,
	LOOK_FEW,
	LOOK_SMALL,
	LOOK_CLIMBING,
	LOOK_ANY,
	LOOK_EXTREME,
	LOOK_RUNS,
	LOOK_COUNT,
};

static int64_t value_of(struct draw *d, enum look look, int64_t before)
{
	static const int64_t extremes[] = {INT64_MIN, INT64_MAX,     0,		-1,
					   1,	      INT64_MIN + 1, UINT32_MAX};

	switch (look) {
	case LOOK_CONSTANT:
		return 4711;
	case LOOK_FEW:
		return (int64_t)draw(d, 5) * 1000003 - 7;
	case LOOK_SMALL:
		return (int64_t)draw(d, 300);
	case LOOK_CLIMBING:
		return (int64_t)((uint64_t)before + draw(d, 1000));
	case LOOK_EXTREME:
		return extremes[draw(d, ARRAY_SIZE(extremes))];
	case LOOK_RUNS:
		return draw(d, 50) ? before : (int64_t)draw(d, 1000);
	default:
		return (int64_t)draw(d, 0);
	}
}

static void set_bytes(struct draw *d, struct batch *b, unsigned int column, size_t row,
		      enum look look)
{
	uint8_t text[300];
	size_t len = look == LOOK_CONSTANT ? 5 : draw(d, look == LOOK_ANY ? sizeof(text) : 20);

	for (size_t i = 0; i < len; i++)
		text[i] = look == LOOK_FEW || look == LOOK_CONSTANT ? (uint8_t)('a' + i)
								    : (uint8_t)draw(d, 256);
	assert_int_equal(batch_set_bytes(b, column, row, text, len), 0);
}

struct batch *random_rows(struct draw *d, enum table_id table, size_t rows)
{
	const struct table_def *def = schema_table(table);
	enum look look[SCHEMA_COLUMNS_MAX];
	unsigned int nulls[SCHEMA_COLUMNS_MAX];
	int64_t before[SCHEMA_COLUMNS_MAX] = {0};
	struct batch *b;

	assert_int_equal(batch_new(&b, table), 0);
	for (unsigned int c = 0; c < def->column_count; c++) {
		look[c] = (enum look)draw(d, LOOK_COUNT);
		nulls[c] = (unsigned int[]){0, 0, 1, 50, 99}[draw(d, 5)];
		if (def->columns[c].type == COLUMN_ID && look[c] != LOOK_ABSENT)
			look[c] = LOOK_SMALL;
	}
	for (size_t i = 0; i < rows; i++) {
		ssize_t row = batch_add_row(b);

		assert_int_equal(row, i);
		for (unsigned int c = 0; c < def->column_count; c++) {
			if (look[c] == LOOK_ABSENT || draw(d, 100) < nulls[c])
				continue;
			if (def->columns[c].type == COLUMN_BYTES) {
				set_bytes(d, b, c, i, look[c]);
				continue;
			}
			before[c] = value_of(d, look[c], before[c]);
			assert_int_equal(batch_set(b, c, i, before[c]), 0);
		}
	}
	return b;
}

#define LIKELY_FILES   60
#define LIKELY_THREADS 4

struct batch *likely_ops(struct draw *d, size_t rows, int64_t *clock)
{
	static int64_t end_of[LIKELY_FILES];
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (size_t i = 0; i < rows; i++) {
		int64_t thread = (int64_t)draw(d, LIKELY_THREADS),
			file = (int64_t)draw(d, LIKELY_FILES);
		bool write = draw(d, 5) == 0;
		int64_t dur = 900 + (int64_t)(draw(d, 400) + draw(d, 400) +
					      draw(d, 400) * (draw(d, 20) == 0) * 20);
		int64_t size = write ? 100 + (int64_t)draw(d, 200) : 4000 + (int64_t)draw(d, 120);
		int64_t pos;

		file = write ? thread : file;
		pos = write ? end_of[file] : (int64_t)draw(d, 64 << 20);
		end_of[file] = pos + size;
		*clock += 200 + (int64_t)draw(d, 2000);
		if (batch_add_row(b) < 0)
			fail();
#define SET(C, V) assert_int_equal(batch_set(b, OP_##C, i, V), 0)
		SET(START, *clock - dur);
		SET(DUR, dur);
		SET(THREAD_ID, thread);
		SET(TID, 5000 + thread);
		SET(CPU, thread % 2);
		SET(KIND, 0);
		SET(OP, write ? 1 : 17);
		SET(CLASS, 0);
		SET(RET, size);
		SET(BYTES, size);
		SET(FD, 10 + file);
		SET(FILE_ID, file);
		SET(POS, pos);
		SET(SIZE, size);
#undef SET
	}
	return b;
}

struct batch *file_rows(size_t count)
{
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_FILE), 0);
	for (size_t i = 0; i < count; i++) {
		char name[64];

		if (batch_add_row(b) < 0)
			fail();
		snprintf(name, sizeof(name), "/var/lib/db/%06zu.sst", i);
		assert_int_equal(batch_set(b, FILE_ID, i, (int64_t)i), 0);
		assert_int_equal(batch_set(b, FILE_INODE, i, (int64_t)i), 0);
		assert_int_equal(batch_set(b, FILE_INO, i, (int64_t)(i * 7 + 100)), 0);
		assert_int_equal(batch_set_str(b, FILE_PATH, i, name), 0);
	}
	return b;
}

static void assert_cell(const struct batch *want, size_t i, const struct batch *got, size_t k,
			unsigned int c)
{
	const char *name = want->def->columns[c].name;
	bool null = batch_is_null(want, c, i);

	if (null != batch_is_null(got, c, k))
		fail_msg("%s.%s of row %zu: null is %d", want->def->name, name, i, !null);
	if (want->def->columns[c].type == COLUMN_BYTES) {
		struct bytes a = batch_get_bytes(want, c, i), b = batch_get_bytes(got, c, k);

		if (a.len != b.len || (a.len && memcmp(a.data, b.data, a.len)))
			fail_msg("%s.%s of row %zu: other bytes (%zu, %zu)", want->def->name, name,
				 i, a.len, b.len);
		return;
	}
	if (batch_get(want, c, i, 0) != batch_get(got, c, k, 0))
		fail_msg("%s.%s of row %zu: %lld, not %lld", want->def->name, name, i,
			 (long long)batch_get(got, c, k, 0), (long long)batch_get(want, c, i, 0));
	if (null && batch_has(got, c) && got->columns[c].val[k])
		fail_msg("%s.%s of row %zu: a value under a null", want->def->name, name, i);
}

void assert_rows(const struct batch *want, size_t at, const struct batch *got)
{
	assert_int_equal(want->table, got->table);
	assert_true(at + got->rows <= want->rows);
	for (unsigned int c = 0; c < want->def->column_count; c++) {
		for (size_t i = 0; i < got->rows; i++)
			assert_cell(want, at + i, got, i, c);
	}
}

struct store *open_trace(const char *file)
{
	struct store *s;
	struct error err = {0};

	assert_ok(store_open(&s, &file, 1, &err), err);
	return s;
}

struct batch *read_rows(struct store *s, enum table_id table)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	struct batch *all;

	assert_int_equal(store_cursor_new(&c, s), 0);
	assert_int_equal(batch_new(&all, table), 0);
	for (size_t i = 0; i < store_block_count(s); i++) {
		struct error err = {0};
		const struct batch *got;
		int r;

		if (store_block(s, i)->table != table)
			continue;
		r = store_decode(c, i, ~0ull, &got, &err);
		assert_true(r == 0 || r == -EBADMSG);
		assert_true(r == 0 || *err.message);
		if (r == 0)
			assert_int_equal(batch_append(all, got, 0, got->rows), 0);
	}
	return all;
}

uint8_t *load_file(const char *file, size_t *ret_len)
{
	FILE *f = fopen(file, "rb");
	uint8_t *data;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*ret_len = (size_t)ftell(f);
	rewind(f);
	data = malloc(*ret_len + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *ret_len, f), *ret_len);
	fclose(f);
	return data;
}

void save_file(const char *file, const uint8_t *data, size_t len)
{
	FILE *f = fopen(file, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

const char *make_folder(void)
{
	const char *base = getenv("TMPDIR");

	if (folder[0])
		return folder;
	snprintf(folder, sizeof(folder), "%.40s/weir-XXXXXX", base ? base : "/tmp");
	assert_non_null(mkdtemp(folder));
	return folder;
}

const char *in_folder(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int remove_entry(const char *entry, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(entry);
}

void remove_folder(void)
{
	if (folder[0])
		nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	folder[0] = '\0';
}
