/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever happens to recorder, disk or file: what was committed reads back, the rest is named, nothing is invented. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "common.h"
#include "schema/vocab.h"
#include "store/file/block.h"

#define SMALL_BLOCKS 12
#define SMALL_ROWS   40
#define FLIPS	     800
#define KILLS	     12

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

/* A trace of SMALL_BLOCKS blocks of op; its rows. */
static struct batch *small_trace(const char *path, struct draw *d)
{
	int64_t clock = 1700000000000000000;
	struct batch *all, *files = file_rows(60);
	struct store_writer *w;
	struct error err = {0};

	assert_int_equal(batch_new(&all, TABLE_OP), 0);
	assert_ok(store_create(&w, path, NULL, &err), err);
	assert_ok(store_append(w, files, &err), err);
	for (unsigned int i = 0; i < SMALL_BLOCKS; i++) {
		struct batch *b = likely_ops(d, SMALL_ROWS, &clock);

		assert_ok(store_append(w, b, &err), err);
		assert_ok(store_flush(w, true, &err), err);
		assert_int_equal(batch_append(all, b, 0, b->rows), 0);
		batch_free(b);
	}
	assert_ok(store_close(w, &err), err);
	batch_free(files);
	return all;
}

/* Every row read is a row written, in order; returns how many. */
static size_t check_subset(const struct batch *want, const struct batch *got)
{
	size_t at = 0;

	for (size_t i = 0; i < got->rows; i++) {
		struct batch *one;

		while (at < want->rows &&
		       batch_get(want, OP_START, at, 0) != batch_get(got, OP_START, i, 0))
			at++;
		if (at == want->rows)
			fail_msg("row %zu was never written", i);
		assert_int_equal(batch_new(&one, TABLE_OP), 0);
		assert_int_equal(batch_append(one, got, i, i + 1), 0);
		assert_rows(want, at, one);
		batch_free(one);
	}
	return got->rows;
}

static void cut_anywhere(void **state)
{
	struct draw d = {test_seed(3)};
	char path[256], cut[256];
	size_t len, blocks;
	struct batch *want;
	struct store *s;
	uint8_t *data;
	uint64_t ends[64];

	snprintf(path, sizeof(path), "%s", in_folder("small"));
	snprintf(cut, sizeof(cut), "%s", in_folder("cut"));
	want = small_trace(path, &d);
	data = load_file(path, &len);
	s = open_trace(path);
	blocks = store_block_count(s);
	assert_in_range(blocks, SMALL_BLOCKS, 64);
	for (size_t i = 0; i < blocks; i++)
		ends[i] = store_block(s, i)->offset + store_block(s, i)->bytes;
	store_free(s);
	/* Byte by byte at the beginning, further on in steps that meet every offset within a header. */
	for (size_t at = 0; at < len; at += at < 7000 ? 1 : 67) {
		struct error err = {0};
		const char *paths[] = {cut};
		struct store_damage damage;
		size_t whole = 0;
		int r;

		save_file(cut, data, at);
		r = store_open(&s, paths, 1, &err);
		if (at < 64) {
			assert_true(r < 0 && *err.message);
			continue;
		}
		assert_ok(r, err);
		while (whole < blocks && ends[whole] <= at)
			whole++;
		assert_int_equal(store_block_count(s), whole);
		assert_true(store_is_open_ended(s));
		store_damage(s, &damage);
		assert_true(damage.blocks <= 1 && (damage.blocks == 0 || damage.bytes > 0));
		if (whole && at > ends[whole - 1] && whole < blocks)
			assert_int_equal(damage.bytes, at - ends[whole - 1]);
		if (at % 11 == 0) {
			struct batch *got = read_rows(s, TABLE_OP);

			assert_rows(want, 0, got);
			batch_free(got);
		}
		store_free(s);
	}
	free(data);
	batch_free(want);
}

static void flip_anywhere(void **state)
{
	struct draw d = {test_seed(4)};
	size_t len, named = 0;
	struct batch *want;
	char path[256];
	uint8_t *data;

	snprintf(path, sizeof(path), "%s", in_folder("flip"));
	unlink(path);
	want = small_trace(path, &d);
	data = load_file(path, &len);
	for (unsigned int i = 0; i < FLIPS; i++) {
		const char *paths[] = {path};
		size_t at = draw(&d, len), wide = draw(&d, 4) ? 1 : 1 + draw(&d, 3000);
		uint8_t *copy = malloc(len);
		struct error err = {0};
		struct store_damage damage;
		struct batch *got;
		struct store *s;

		memcpy(copy, data, len);
		for (size_t k = at; k < len && k < at + wide; k++)
			copy[k] ^= (uint8_t)(1 + draw(&d, 255));
		save_file(path, copy, len);
		free(copy);
		if (store_open(&s, paths, 1, &err) < 0) {
			assert_true(at < 64 && *err.message);
			continue;
		}
		got = read_rows(s, TABLE_OP);
		check_subset(want, got);
		store_damage(s, &damage);
		if (wide == 1)
			assert_true(got->rows + SMALL_ROWS >= want->rows);
		/* Rows are missing only where damage is told. */
		assert_true(got->rows == want->rows || damage.blocks > 0);
		assert_true(!damage.blocks || strstr(damage.first, " at byte "));
		named += damage.blocks > 0;
		batch_free(got);
		store_free(s);
	}
	print_message("%zu of %u damaged files had damage to name\n", named, FLIPS);
	free(data);
	batch_free(want);
}

/* ---- a killed recorder ---- */

struct told {
	volatile uint64_t rows; /* committed, as the child knows */
};

static void write_until_killed(const char *path, struct told *told)
{
	struct draw d = {99};
	int64_t clock = 1700000000000000000;
	struct store_writer *w;
	struct error err = {0};

	if (store_create(&w, path, NULL, &err) < 0)
		_exit(1);
	for (;;) {
		struct batch *b = likely_ops(&d, 500, &clock);
		struct store_stats stats;

		if (store_append(w, b, &err) < 0 || store_flush(w, true, &err) < 0)
			_exit(1);
		batch_free(b);
		store_writer_stats(w, &stats);
		told->rows = stats.rows[TABLE_OP];
	}
}

static void kill_any_time(void **state)
{
	struct told *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct draw d = {test_seed((uint64_t)clock_realtime_ns())};

	assert_ptr_not_equal(told, MAP_FAILED);
	for (unsigned int i = 0; i < KILLS; i++) {
		struct draw same = {99};
		int64_t clock = 1700000000000000000;
		struct store_damage damage;
		struct batch *want;
		uint64_t rows = 0;
		struct store *s;
		char path[256];
		pid_t pid;

		snprintf(path, sizeof(path), "%s", in_folder("killed"));
		unlink(path);
		told->rows = 0;
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0)
			write_until_killed(path, told);
		while (!told->rows)
			usleep(1000);
		usleep((useconds_t)draw(&d, 30000));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		s = open_trace(path);
		assert_true(store_is_open_ended(s));
		want = likely_ops(&same, 500, &clock);
		for (size_t k = 0; k < store_block_count(s); k++) {
			const struct store_block *b = store_block(s, k);

			if (b->table != TABLE_OP)
				continue;
			assert_int_equal(b->rows, 500);
			rows += b->rows;
		}
		assert_true(rows >= told->rows);
		store_damage(s, &damage);
		assert_true(damage.blocks <= 1);
		batch_free(want);
		store_free(s);
	}
	munmap(told, sizeof(*told));
}

/* ---- a full disk ---- */

/* Appends `blocks` blocks of calls; the rows. Calls `at` before each. Counts failures told in *ret_told. */
static uint64_t append_blocks(struct store_writer *w, struct draw *d, int64_t *clock,
			      unsigned int blocks, unsigned int *ret_told)
{
	uint64_t rows = 0;

	for (unsigned int i = 0; i < blocks; i++) {
		struct batch *b = likely_ops(d, 2000, clock);
		struct error err = {0};
		int r = store_append(w, b, &err);

		rows += b->rows;
		r = r < 0 ? r : store_flush(w, true, &err);
		if (r < 0) {
			assert_int_equal(r, -ENOSPC);
			assert_non_null(strstr(err.message, "lost"));
			*ret_told += 1;
		}
		batch_free(b);
	}
	return rows;
}

/* Rows read and rows told as lost are all rows. */
static void check_loss(const char *path, uint64_t rows, bool some_lost)
{
	struct store *s = open_trace(path);
	struct batch *got = read_rows(s, TABLE_OP), *loss = read_rows(s, TABLE_LOSS);
	struct store_damage damage;
	uint64_t lost = 0;

	for (size_t i = 0; i < loss->rows; i++) {
		assert_int_equal(batch_get(loss, LOSS_CAUSE, i, -1), CAUSE_DISK_FULL);
		lost += (uint64_t)batch_get(loss, LOSS_EVENTS, i, 0);
	}
	print_message("%zu read, %llu lost\n", got->rows, (unsigned long long)lost);
	assert_int_equal(got->rows + lost, rows);
	assert_int_equal(lost > 0, some_lost);
	assert_false(store_is_open_ended(s));
	store_damage(s, &damage);
	assert_int_equal(damage.blocks, 0);
	batch_free(got);
	batch_free(loss);
	store_free(s);
}

static void file_size_limit(void **state)
{
	struct rlimit old, limit = {.rlim_cur = 300000, .rlim_max = RLIM_INFINITY};
	int64_t clock = 1700000000000000000;
	struct draw d = {test_seed(5)};
	struct store_writer *w;
	struct error err = {0};
	unsigned int told = 0;
	uint64_t rows;
	char path[256];

	snprintf(path, sizeof(path), "%s", in_folder("limit"));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit.rlim_max = old.rlim_max;
	assert_ok(store_create(&w, path, NULL, &err), err);
	rows = append_blocks(w, &d, &clock, 3, &told);
	assert_int_equal(told, 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	rows += append_blocks(w, &d, &clock, 20, &told);
	assert_int_equal(told, 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	rows += append_blocks(w, &d, &clock, 3, &told);
	assert_int_equal(told, 1);
	/* And again, to the end: the end fits what was kept back. */
	limit.rlim_cur = 500000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	rows += append_blocks(w, &d, &clock, 20, &told);
	assert_int_equal(told, 2);
	assert_ok(store_close(w, &err), err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	check_loss(path, rows, true);
}

/* Takes all that is left of a file system, as the program that is recorded may. */
static void fill_up(const char *folder)
{
	static const char zeros[4096];
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/other", folder);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	assert_true(fd >= 0);
	for (size_t piece = sizeof(zeros); piece; piece /= 4) {
		while (write(fd, zeros, piece) > 0)
			;
		assert_int_equal(errno, ENOSPC);
	}
	close(fd);
}

/* The room kept back holds the loss row and the end mark, whoever takes the rest. */
static void stay_full(const char *folder)
{
	int64_t clock = 1700000000000000000;
	struct draw d = {test_seed(6)};
	struct store_writer *w;
	struct error err = {0};
	unsigned int told = 0;
	uint64_t rows = 0;
	char path[300];
	int r;

	snprintf(path, sizeof(path), "%s/trace", folder);
	assert_ok(store_create(&w, path, NULL, &err), err);
	for (unsigned int i = 0; !told && i < 2000; i++)
		rows += append_blocks(w, &d, &clock, 1, &told);
	assert_int_equal(told, 1);
	for (unsigned int i = 0; i < 20; i++) {
		fill_up(folder);
		rows += append_blocks(w, &d, &clock, 1, &told);
	}
	fill_up(folder);
	/* It may be the first to tell of the last rows; the file is whole in any case. */
	r = store_close(w, &err);
	assert_true(r == 0 || r == -ENOSPC);
	check_loss(path, rows, true);
}

static void disk_stays_full(void **state)
{
	char folder[256];

	snprintf(folder, sizeof(folder), "%s", in_folder("tmpfs"));
	assert_int_equal(mkdir(folder, 0700), 0);
	if (mount("tmpfs", folder, "tmpfs", 0, "size=400k") < 0) {
		rmdir(folder);
		print_message("skipped: no tmpfs can be mounted here\n");
		skip();
	}
	stay_full(folder);
	umount(folder);
	rmdir(folder);
}

/* An ext4 file system in a file, mounted at the folder; its status. */
static int mount_ext4(const char *image, const char *folder)
{
	static const char script[] = "PATH=$PATH:/sbin:/usr/sbin; truncate -s 600K \"$1\" && "
				     "mkfs.ext4 -q -F -O ^has_journal \"$1\" && "
				     "mount -o loop \"$1\" \"$2\"";
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", script, "sh", image, folder, NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Unlike tmpfs it gives away what is kept beyond a file's end when the file is cut off there. */
static void ext4_stays_full(void **state)
{
	char folder[256], image[256];

	snprintf(folder, sizeof(folder), "%s", in_folder("ext4"));
	snprintf(image, sizeof(image), "%s", in_folder("image"));
	assert_int_equal(mkdir(folder, 0700), 0);
	if (mount_ext4(image, folder)) {
		rmdir(folder);
		unlink(image);
		print_message("skipped: no ext4 image can be mounted here\n");
		skip();
	}
	stay_full(folder);
	umount(folder);
	rmdir(folder);
	unlink(image);
}

/* Names that cannot be read, sound as their block is: those before still hold, for the blocks before and behind. */
static void names_that_are_none(void **state)
{
	const char *texts[] = {"weir\tx\ntable\t999\top\n", "no line"};
	struct draw d = {test_seed(9)};
	_cleanup_(encoder_freep) struct encoder *e = NULL;
	_cleanup_free_ uint8_t *data = NULL;
	struct store_damage damage;
	struct batch *want, *got;
	uint64_t at, seq;
	struct store *s;
	struct buf *names;
	char path[256];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s", in_folder("names"));
	want = small_trace(path, &d);
	data = load_file(path, &len);
	s = open_trace(path);
	at = store_block(s, store_block_count(s) - 1)->offset; /* the last summary */
	seq = store_block(s, store_block_count(s) - 1)->seq;
	store_free(s);
	assert_int_equal(encoder_new(&e, true), 0);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(
			encode_blob(e, BLOCK_META, 0,
				    (struct bytes){(const uint8_t *)texts[i], strlen(texts[i])},
				    &names),
			0);
		block_seal(names, data + 16, seq, 0);
		f = fopen(path, "wb");
		assert_non_null(f);
		fwrite(data, 1, at, f);
		fwrite(names->data, 1, names->len, f);
		fclose(f);
		s = open_trace(path);
		got = read_rows(s, TABLE_OP);
		assert_int_equal(got->rows, want->rows);
		assert_rows(want, 0, got);
		store_damage(s, &damage);
		assert_int_equal(damage.blocks, 1);
		batch_free(got);
		store_free(s);
	}
	batch_free(want);
}

/* Foreign bytes between blocks, and an index that is gone. */
static void garbage_between(void **state)
{
	struct draw d = {test_seed(7)};
	struct store_damage damage;
	struct batch *want, *got;
	uint64_t offset, end, copy, copied;
	struct store *s;
	uint8_t *data;
	char path[256];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s", in_folder("garbage"));
	want = small_trace(path, &d);
	data = load_file(path, &len);
	s = open_trace(path);
	offset = store_block(s, 5)->offset;
	copy = store_block(s, 3)->offset;
	copied = store_block(s, 3)->bytes;
	end = store_block(s, store_block_count(s) - 1)->offset;
	store_free(s);
	f = fopen(path, "wb");
	assert_non_null(f);
	fwrite(data, 1, offset, f);
	for (unsigned int i = 0; i < 100000; i++)
		fputc((int)draw(&d, 256), f);
	fwrite(data + 64 - 48, 1, 16, f);  /* the mark alone is no block */
	fwrite(data + copy, 1, copied, f); /* nor is what was there before */
	fwrite(data + offset, 1, end - offset, f);
	fclose(f);
	s = open_trace(path);
	got = read_rows(s, TABLE_OP);
	assert_true(got->rows >= want->rows - SMALL_ROWS);
	check_subset(want, got);
	store_damage(s, &damage);
	assert_int_equal(damage.blocks, 1);
	assert_int_equal(damage.bytes, 100016 + copied);
	print_message("%s\n", damage.first);
	assert_true(store_is_open_ended(s));
	batch_free(got);
	batch_free(want);
	store_free(s);
	free(data);
}

/*
 * Files made to be slow to search: the mark over and over, bare, then with lengths that make each worth a checksum of
 * the longest header. What stands behind bare marks is found; a search that costs too much ends, and says so.
 */
static void nothing_but_marks(void **state)
{
	const size_t marks = 1 << 19, foot = 4 * sizeof(struct block_header);
	struct draw d = {test_seed(8)};
	struct store_damage damage;
	struct batch *want, *got;
	_cleanup_free_ uint8_t *data = NULL, *hostile = NULL;
	struct block_header h = {.header_len = STORE_HEADER_MAX};
	struct store *s;
	char path[256];
	size_t len;

	snprintf(path, sizeof(path), "%s", in_folder("marks"));
	want = small_trace(path, &d);
	data = load_file(path, &len);
	hostile = calloc(1, len + marks * sizeof(h));
	assert_non_null(hostile);
	memcpy(h.mark, data + 64 - 48, STORE_MARK_LEN);
	for (unsigned int lying = 0; lying < 2; lying++) {
		uint8_t *p = hostile;

		memcpy(p, data, sizeof(struct file_header));
		p += sizeof(struct file_header);
		for (size_t i = 0; i < marks; i++, p += lying ? sizeof(h) : STORE_MARK_LEN)
			memcpy(p, &h, lying ? sizeof(h) : STORE_MARK_LEN);
		memcpy(p, data + sizeof(struct file_header), len - foot);
		p += len - foot;
		save_file(path, hostile, (size_t)(p - hostile));
		s = open_trace(path);
		got = read_rows(s, TABLE_OP);
		store_damage(s, &damage);
		assert_true(damage.blocks > 0);
		assert_int_equal(got->rows > 0, !lying);
		check_subset(want, got);
		batch_free(got);
		store_free(s);
	}
	batch_free(want);
}

/* Bytes that this process has read so far; 0 where the kernel does not count them. */
static uint64_t bytes_read(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/proc/self/io", "r");

	if (f && fscanf(f, "rchar: %llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* A chain of indexes whose headers overlap, each sound: it is not followed, as each would cost its whole length. */
static void indexes_within_indexes(void **state)
{
	const size_t count = 2048, long_len = STORE_HEADER_MAX,
		     len = sizeof(struct file_header) + count * sizeof(struct block_header) +
			   long_len;
	struct draw d = {test_seed(10)};
	_cleanup_free_ uint8_t *data = NULL, *hostile = calloc(1, len);
	struct block_header h = {.kind = BLOCK_INDEX};
	struct store_damage damage;
	uint64_t at, before;
	struct store *s;
	char path[256];
	size_t small;

	snprintf(path, sizeof(path), "%s", in_folder("indexes"));
	batch_free(small_trace(path, &d));
	data = load_file(path, &small);
	assert_non_null(hostile);
	memcpy(hostile, data, sizeof(struct file_header));
	memcpy(h.mark, data + 16, STORE_MARK_LEN);
	for (size_t i = count + 1; i-- > 0;) { /* the last is the end mark */
		at = sizeof(struct file_header) + i * sizeof(h);
		h.seq = i;
		h.kind = i == count ? BLOCK_END : BLOCK_INDEX;
		h.header_len = i == count ? sizeof(h) : (uint32_t)long_len;
		at = i == count ? len - sizeof(h) : at;
		h.last_index = i ? sizeof(struct file_header) + (i - 1) * sizeof(h) : 0;
		memcpy(hostile + at, &h, sizeof(h));
		h.checksum = block_checksum(hostile + at, h.header_len);
		memcpy(hostile + at, &h, sizeof(h));
	}
	save_file(path, hostile, len);
	before = bytes_read();
	s = open_trace(path);
	assert_true(bytes_read() - before < 40 * len);
	store_damage(s, &damage);
	assert_true(damage.blocks > 0);
	assert_int_equal(store_block_count(s), 0);
	store_free(s);
}

static void not_a_trace(void **state)
{
	const char *texts[] = {
		"", "hello", "WEIRTRC\n",
		"WEIRTRC\n0123456789012345678901234567890123456789012345678901234567"};
	const char *path = in_folder("foreign"), *nowhere[] = {"/nonexistent/trace"},
		   *paths[] = {path};
	struct error err = {0};
	struct store *s;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		err = (struct error){0};
		save_file(path, (const uint8_t *)texts[i], strlen(texts[i]));
		assert_true(store_open(&s, paths, 1, &err) < 0);
		print_message("%s\n", err.message);
		assert_true(*err.message && !strchr(err.message, '\n'));
	}
	err = (struct error){0};
	assert_int_equal(store_open(&s, nowhere, 1, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(flip_anywhere),
		cmocka_unit_test(kill_any_time),
		cmocka_unit_test(file_size_limit),
		cmocka_unit_test(disk_stays_full),
		cmocka_unit_test(ext4_stays_full),
		cmocka_unit_test(garbage_between),
		cmocka_unit_test(nothing_but_marks),
		cmocka_unit_test(not_a_trace),
		cmocka_unit_test(names_that_are_none),
		cmocka_unit_test(indexes_within_indexes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
