/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: no byte of a trace can change, and no part of it be missing, without store_check() finding it. */
#include "common.h"

#include <errno.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "store/file/block.h"
#include "store/made/made.h"
#include "store/file/check_trace.h"

#define BLOCKS 2
#define ROWS   20
#define FILES  60 /* that the calls name */
#define STRIDE 20 /* bytes at most between two that are changed; another seed meets others */

static int setup(void **state)
{
	make_folder();
	return 0;
}

static int teardown(void **state)
{
	remove_folder();
	return 0;
}

static void append(struct store_writer *w, struct batch *b)
{
	struct error err = {0};

	assert_ok(store_append(w, b, &err), err);
	assert_ok(store_flush(w, true, &err), err);
	batch_free(b);
}

static struct batch *threads(size_t count)
{
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_THREAD), 0);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(batch_add_row(b), i);
		assert_int_equal(batch_set(b, THREAD_ID, i, (int64_t)i), 0);
		assert_int_equal(batch_set(b, THREAD_TASK, i, (int64_t)i), 0);
	}
	return b;
}

static void annotate(const char *path)
{
	const struct column_def column = {"n", COLUMN_INT, "", ""};
	const struct table_def def = made_own("t", &column, 1);
	const struct store_making what = {.table = TABLE_OWN, .own = &def, .origin = "test"};
	_cleanup_(batch_freep) struct batch *b = NULL;
	_cleanup_(store_freep) struct store *s = open_trace(path);
	struct store_writer *w;
	struct error err = {0};

	assert_int_equal(batch_new_of(&b, TABLE_OWN, &def), 0);
	for (int64_t i = 0; i < 10; i++)
		assert_int_equal(batch_set(b, 0, (size_t)batch_add_row(b), i * i), 0);
	assert_ok(store_reopen(&w, s, &err), err);
	assert_ok(store_made_begin(w, &what, &err), err);
	assert_ok(store_made_rows(w, b, &err), err);
	assert_ok(store_made_end(w, false, &err), err);
	assert_ok(store_close(w, &err), err);
}

/* A trace of every kind of block, with `files` rows of files; its length before the annotation. */
static size_t make_trace(const char *path, size_t files)
{
	int64_t clock = 1700000000000000000;
	struct draw d = {12};
	struct store_writer *w;
	struct error err = {0};
	struct stat st;

	unlink(path);
	assert_ok(store_create(&w, path, NULL, &err), err);
	append(w, threads(4));
	append(w, file_rows(files));
	for (unsigned int i = 0; i < BLOCKS; i++)
		append(w, likely_ops(&d, ROWS, &clock));
	assert_ok(store_close(w, &err), err);
	assert_int_equal(stat(path, &st), 0);
	annotate(path);
	return (size_t)st.st_size;
}

struct seen {
	struct check_fault last;
	uint64_t calls, rows;
};

static void found(void *arg, const struct check_fault *f)
{
	struct seen *seen = arg;

	assert_true(*f->what);
	seen->last = *f;
	seen->calls++;
	seen->rows += f->rows;
}

static struct check_result verify(const char *path, struct seen *seen)
{
	struct check_options opt = {.found = found, .arg = seen};
	_cleanup_(store_freep) struct store *s = open_trace(path);
	struct store_damage damage;
	struct check_result r;
	struct error err = {0};
	struct batch *ops;

	*seen = (struct seen){0};
	assert_ok(store_check(s, 0, &opt, &r, &err), err);
	assert_int_equal(r.faults, seen->calls);
	/* What it found is known to all who read the store, and they read what it says. */
	ops = read_rows(s, TABLE_OP);
	store_damage(s, &damage);
	assert_int_equal(r.rows[TABLE_OP], ops->rows);
	if (damage.blocks || ops->rows < (size_t)BLOCKS * ROWS)
		assert_false(check_is_intact(&r));
	batch_free(ops);
	return r;
}

static void intact(void **state)
{
	const char *path = in_folder("t");
	struct check_result r;
	struct seen seen;
	struct stat st;

	make_trace(path, FILES);
	r = verify(path, &seen);
	if (seen.calls)
		fail_msg("block %llu: %s", (unsigned long long)seen.last.seq, seen.last.what);
	assert_true(check_is_intact(&r) && r.closed && !r.growing);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(r.bytes, st.st_size);
	assert_int_equal(r.bad_blocks + r.bad_bytes, 0);
	/* names, threads, files, calls with their sums, index, end; made table and its rows, index, end */
	assert_int_equal(r.blocks, 1 + 2 + 2 * BLOCKS + 2 + 4);
	assert_true(r.first < r.last && r.first > 1600000000000000000);
}

static void any_byte(void **state)
{
	struct draw d = {test_seed(5)};
	char path[256];
	uint8_t *data;
	size_t len, unread = 0;

	snprintf(path, sizeof(path), "%s", in_folder("t"));
	make_trace(path, FILES);
	data = load_file(path, &len);
	for (size_t at = 0; at < len; at += 1 + draw(&d, STRIDE)) {
		const uint8_t bits = (uint8_t)(1 + draw(&d, 255));
		const char *paths[] = {path};
		struct check_result r;
		struct error err = {0};
		struct seen seen;
		struct store *s;

		data[at] ^= bits;
		save_file(path, data, len);
		data[at] ^= bits;
		if (store_open(&s, paths, 1, &err) < 0) {
			assert_true(at < sizeof(struct file_header));
			continue;
		}
		store_free(s);
		r = verify(path, &seen);
		if (check_is_intact(&r) || !r.faults)
			fail_msg("a change of byte %zu is not found", at);
		unread += r.rows[TABLE_OP] < (size_t)BLOCKS * ROWS;
	}
	assert_in_range(unread, 1, len);
	free(data);
}

static void any_length(void **state)
{
	struct draw d = {test_seed(6)};
	size_t len, annotated;
	char path[256];
	uint8_t *data;

	snprintf(path, sizeof(path), "%s", in_folder("t"));
	len = make_trace(path, FILES);
	data = load_file(path, &annotated);
	/* every length at the ends, where blocks are small */
	for (size_t at = sizeof(struct file_header); at <= annotated;
	     at += len - at < 300 || at >= len ? 1 : 1 + draw(&d, STRIDE)) {
		struct check_result r;
		struct seen seen;

		save_file(path, data, at);
		r = verify(path, &seen);
		/* where the recorder ended it, it is what was recorded, and a table behind it counts once it is whole */
		if (check_is_intact(&r) ? at < len : at == len || at == annotated)
			fail_msg("cut at %zu of %zu, %zu: %llu faults", at, len, annotated,
				 (unsigned long long)r.faults);
	}
	free(data);
}

static void missing_rows(void **state)
{
	const char *path = in_folder("t");
	struct check_result r;
	struct seen seen;

	make_trace(path, FILES - 10);
	r = verify(path, &seen);
	assert_int_equal(r.faults, 1);
	assert_non_null(strstr(seen.last.what, "refer to a missing file"));
	assert_string_equal(seen.last.kind, "op");
	assert_int_equal(seen.last.bytes, 0);
}

/* A block taken out of the middle: what follows holds for itself, but its number does not. */
static void block_taken_out(void **state)
{
	struct check_result r;
	const struct store_block *b;
	struct seen seen;
	struct store *s;
	char path[256];
	uint8_t *data;
	size_t len, i = 0;

	snprintf(path, sizeof(path), "%s", in_folder("t"));
	make_trace(path, FILES);
	data = load_file(path, &len);
	s = open_trace(path);
	while (store_block(s, i)->table != TABLE_OP)
		i++;
	b = store_block(s, i);
	memmove(data + b->offset, data + b->offset + b->bytes, len - b->offset - b->bytes);
	save_file(path, data, len - b->bytes);
	store_free(s);
	r = verify(path, &seen);
	assert_true(r.faults && r.rows_unknown);
	free(data);
}

/* A block that its checksums call good, and that yet does not unpack: a mistake of whoever wrote it. */
static void sealed_nonsense(void **state)
{
	_cleanup_(store_freep) struct store *s = NULL;
	const struct store_block *b;
	struct block_header *h;
	struct block_entry *e;
	struct check_result r;
	struct seen seen;
	char path[256];
	uint8_t *data;
	size_t len, i = 0;

	snprintf(path, sizeof(path), "%s", in_folder("t"));
	make_trace(path, FILES);
	data = load_file(path, &len);
	s = open_trace(path);
	while (store_block(s, i)->table != TABLE_OP)
		i++;
	b = store_block(s, i);
	h = (struct block_header *)malloc(b->bytes);
	memcpy(h, data + b->offset, b->bytes);
	e = (struct block_entry *)(h + 1);
	((uint8_t *)h)[h->header_len + e->offset] = 0x77; /* no codec */
	e->checksum = XXH3_64bits((uint8_t *)h + h->header_len + e->offset, e->len);
	h->checksum = block_checksum((uint8_t *)h, h->header_len);
	memcpy(data + b->offset, h, b->bytes);
	save_file(path, data, len);
	r = verify(path, &seen);
	assert_true(seen.rows == ROWS && r.bad_rows[TABLE_OP] == ROWS);
	free(h);
	free(data);
}

static int stop(void *arg, uint64_t done, uint64_t all)
{
	assert_true(done > 0 && done <= all);
	return done > all / 2 || !arg;
}

static void stopped(void **state)
{
	const char *path = in_folder("t");
	struct check_options opt = {.progress = stop};
	struct check_result r;
	struct error err = {0};
	struct store *s;

	make_trace(path, FILES);
	s = open_trace(path);
	assert_int_equal(store_check(s, 0, &opt, &r, &err), -EINTR);
	opt.arg = s; /* while it unpacks */
	assert_int_equal(store_check(s, 0, &opt, &r, &err), -EINTR);
	store_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intact),	   cmocka_unit_test(any_byte),
		cmocka_unit_test(any_length),	   cmocka_unit_test(missing_rows),
		cmocka_unit_test(block_taken_out), cmocka_unit_test(sealed_nonsense),
		cmocka_unit_test(stopped),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
