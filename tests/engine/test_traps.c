// SPDX-License-Identifier: Apache-2.0
/* test_traps.c: what goes wrong with an embedded DuckDB unless one takes care, each once. */
#include "fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hist/sparse.h"

#define ROWS 150000

static struct fixture f;
static char trace[256];

static int setup(void **state)
{
	const char *paths[] = {fixture_file("traps.trace", trace)};

	fixture_write(trace, ROWS);
	fixture_open(&f, paths, 1, NULL);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	fixture_remove();
	return 0;
}

/* ---- names that are no UTF-8 ---- */

static void invalid_utf8_survives(void **state)
{
	/* each of these ends the database where invalid UTF-8 reaches a VARCHAR */
	ask(&f,
	    "SELECT upper(path::VARCHAR), reverse(path::VARCHAR), length(path::VARCHAR) FROM file");
	ask(&f, "SELECT count(*) FROM file WHERE path::VARCHAR ILIKE '%BAD%'");
	ask(&f, "SELECT DISTINCT upper(comm::VARCHAR) FROM op_named");
	assert_int_equal(ask_number(&f, "SELECT 1"), 1);
	/* ... and none of the names became NULL on the way */
	assert_int_equal(ask_number(&f, "SELECT count(path) FROM file"), FIXTURE_FILES - 1);
}

static void names_are_unique_and_come_back(void **state)
{
	assert_int_equal(ask_number(&f, "SELECT count(DISTINCT path::VARCHAR) FROM file"),
			 FIXTURE_FILES - 1);
	for (size_t id = 0; id < FIXTURE_FILES; id++) {
		_cleanup_buf_ struct buf back = {0};
		char raw[64], sql[128];
		struct bytes path = fixture_path(id, raw);
		const char *text;

		if (id == 12)
			continue; /* a socket without a path */
		snprintf(sql, sizeof(sql), "SELECT path FROM file WHERE id = %zu", id);
		text = ask(&f, sql);
		assert_true(engine_is_utf8(text, strlen(text)));
		assert_int_equal(engine_unescape(text, strlen(text), &back), 0);
		assert_int_equal(back.len, path.len);
		assert_memory_equal(back.data, path.data, path.len);
	}
}

/* All strings of up to three bytes out of an alphabet that holds every kind of trouble. */
static void escape_is_reversible(void **state)
{
	static const uint8_t alphabet[] = {'\\', 'x',  '5',  'c',  'f',	 '8',  0,
					   0x80, 0xc3, 0xa4, 0xed, 0xf0, 0xff, '\n'};
	struct intern seen = {0};

	for (size_t i = 0; i < 14 * 14 * 14 * 14 * 14; i++) {
		_cleanup_buf_ struct buf text = {0}, back = {0};
		uint8_t raw[5];
		uint32_t id;
		size_t n = i;

		for (size_t k = 0; k < sizeof(raw); k++, n /= 14)
			raw[k] = alphabet[n % 14];
		assert_int_equal(engine_escape(raw, sizeof(raw), &text), 0);
		assert_true(engine_is_utf8(text.data, text.len));
		assert_null(memchr(text.data, 0, text.len));
		assert_int_equal(engine_unescape((char *)text.data, text.len, &back), 0);
		assert_int_equal(back.len, sizeof(raw));
		assert_memory_equal(back.data, raw, sizeof(raw));
		assert_int_equal(intern_add(&seen, text.data, text.len, &id), 0);
		assert_int_equal(id, i); /* no two names become one */
	}
	intern_free(&seen);
}

/* ---- words ---- */

static void enums_sort_by_text(void **state)
{
	static const char *const columns[][2] = {
		{"op", "op"}, {"err", "op"}, {"comm", "thread"}, {"path", "file"}};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		char sql[256];

		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM (SELECT %s AS e, lead(%s) OVER (ORDER BY %s) AS n "
			 "FROM %s) "
			 "WHERE e::VARCHAR > n::VARCHAR",
			 columns[i][0], columns[i][0], columns[i][0], columns[i][1]);
		assert_int_equal(ask_number(&f, sql), 0);
	}
}

static void unknown_names(void **state)
{
	int code;

	assert_non_null(strstr(ask_error(&f, "SELECT pth FROM file", &code), "\"path\""));
	assert_int_equal(code, -EINVAL);
	assert_non_null(strstr(ask_error(&f, "SELECT * FROM fil", NULL), "\"file\""));
	assert_non_null(strstr(ask_error(&f, "SELEC 1", NULL), "(character 1)"));
	assert_non_null(
		strstr(ask_error(&f, "SELECT 1,\n  nix FROM op", NULL), "(line 2, character 3)"));
	assert_null(strchr(ask_error(&f, "SELECT\n\n1 +\n nix", NULL), '\n'));
	assert_non_null(strstr(ask_error(&f, "SELECT '\xff'", NULL), "UTF-8"));
	ask_error(&f, "", NULL);
	ask_error(&f, ";", NULL);
}

/* ---- limits ---- */

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void spill_folder_is_private(void **state)
{
	char folder[256], pattern[512];
	struct fixture small;
	const char *paths[] = {trace};

	snprintf(folder, sizeof(folder), "%s/spill", fixture_folder());
	assert_int_equal(mkdir(folder, 0700), 0);
	setenv("TMPDIR", folder, 1);
	fixture_open(&small, paths, 1,
		     &(struct engine_options){.memory_max = 48 << 20, .threads = 2});
	unsetenv("TMPDIR");
	snprintf(pattern, sizeof(pattern), "%s/weir-spill-", folder);
	assert_memory_equal(ask(&small, "SELECT current_setting('temp_directory')"), pattern,
			    strlen(pattern));
	/* a sort that does not fit, so that something is spilled */
	assert_int_equal(
		ask_number(
			&small,
			"SELECT count(*) FROM (SELECT hash(i) AS h, i, repeat('x', 40) || i AS t "
			"FROM range(1500000) r(i) ORDER BY h, t OFFSET 10)"),
		1499990);
	assert_false(is_there(".tmp"));
	fixture_close(&small);
	assert_int_equal(rmdir(folder), 0); /* nothing was left behind */
}

static void memory_limit(void **state)
{
	struct fixture small;
	const char *paths[] = {trace};
	int code;

	fixture_open(&small, paths, 1,
		     &(struct engine_options){.memory_max = 16 << 20, .spill_max = 1 << 20});
	ask_error(&small, "SELECT list(i ORDER BY hash(i)) FROM range(3000000) r(i)", &code);
	assert_int_equal(code, -ENOMEM);
	assert_int_equal(ask_number(&small, "SELECT 1"), 1); /* and the engine goes on */
	/* histograms are memory of weir's own: counted to the same bound */
	assert_non_null(
		strstr(ask_error(&small,
				 "SELECT count(h) FROM (SELECT i // 40 AS k, hist((hash(i) % "
				 "1000000007)::BIGINT) AS h FROM range(8000000) r(i) GROUP BY k)",
				 &code),
		       "hist()"));
	assert_int_equal(code, -ENOMEM);
	assert_int_equal(ask_number(&small, "SELECT hist_count(hist(dur)) FROM op"), ROWS);
	fixture_close(&small);
}

/* Limits that DuckDB does not keep by itself: a process limit does, and the caller lives on. */
static void process_limit(void **state)
{
	int status;
	pid_t pid;

#ifdef __SANITIZE_ADDRESS__
	skip(); /* its shadow memory alone is larger than the limit */
#endif
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct rlimit limit = {2ull << 30, 2ull << 30};
		const char *paths[] = {trace};
		struct fixture child;
		int code = 0;

		setrlimit(RLIMIT_AS, &limit);
		fixture_open(&child, paths, 1,
			     &(struct engine_options){.memory_max = 64 << 20, .threads = 1});
		ask_error(&child, "SELECT sum(u) FROM (SELECT unnest(range(300000000)) AS u)",
			  &code);
		fixture_close(&child);
		_exit(code == -ENOMEM ? 0 : 1);
	}
	for (int i = 0; i < 600; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			/* refused, or ended by the limit: never the machine's memory */
			assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
			return;
		}
		usleep(50000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	fail_msg("the child did not end");
}

static void confined(void **state)
{
	struct fixture other;
	const char *paths[] = {trace};
	char sql[512];

	fixture_open(
		&other, paths, 1,
		&(struct engine_options){.confined = true, .memory_max = 48 << 20, .threads = 2});
	assert_int_equal(ask_number(&other, "SELECT count(*) FROM op"), ROWS);
	snprintf(sql, sizeof(sql), "COPY (SELECT 1) TO '%s/out.csv'", fixture_folder());
	ask_error(&other, sql, NULL);
	ask_error(&other, "SELECT * FROM read_csv('/etc/passwd')", NULL);
	ask_error(&other, "SELECT * FROM read_text('/etc/passwd')", NULL);
	ask_error(&other, "SELECT * FROM glob('/etc/*')", NULL);
	ask_error(&other, "ATTACH '/tmp/x.db'", NULL);
	ask_error(&other, "INSTALL httpfs", NULL);
	ask_error(&other, "SET memory_limit = '100GB'", NULL);
	ask_error(&other, "SET enable_external_access = true", NULL);
	ask_error(&other, "RESET lock_configuration", NULL);
	/* spilling works all the same */
	assert_int_equal(
		ask_number(
			&other,
			"SELECT count(*) FROM (SELECT hash(i) AS h, i, repeat('x', 40) || i AS t "
			"FROM range(1500000) r(i) ORDER BY h, t OFFSET 10)"),
		1499990);
	fixture_close(&other);
}

/* ---- interrupts ---- */

static void *interrupt_soon(void *arg)
{
	struct fixture *x = arg;

	usleep(150000);
	engine_interrupt(x->engine);
	return NULL;
}

static void interrupt(void **state)
{
	pthread_t thread;
	int code;

	/* without the interrupt it would run for hours */
	pthread_create(&thread, NULL, interrupt_soon, &f);
	ask_error(&f, "SELECT count(*) FROM op a, op b WHERE a.dur + b.dur < 0", &code);
	pthread_join(thread, NULL);
	assert_int_equal(code, -EINTR);
	assert_int_equal(ask_number(&f, "SELECT count(*) FROM op"), ROWS); /* the engine goes on */
}

/* ---- a trace that grows ---- */

struct writer {
	struct store_writer *w;
	_Atomic bool stop;
	_Atomic uint64_t rows;
};

static void *grow_trace(void *arg)
{
	struct writer *w = arg;
	struct error err = {0};

	while (!w->stop && w->rows < 400000) {
		fixture_append_ops(w->w, w->rows, w->rows + 1000);
		w->rows += 1000;
		if (store_flush(w->w, true, &err) < 0)
			abort();
	}
	return NULL;
}

static void one_statement_sees_one_state(void **state)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct writer w = {0};
	struct error err = {0};
	struct fixture growing;
	char path[256];
	const char *paths[] = {fixture_file("growing.trace", path)};
	int64_t before = 0, n;
	pthread_t thread;
	int changes = 0;

	assert_true(store_create(&w.w, path, &opt, &err) >= 0);
	fixture_append_dims(w.w);
	assert_true(store_flush(w.w, true, &err) >= 0);
	fixture_open(&growing, paths, 1, NULL);
	assert_int_equal(ask_number(&growing, "SELECT count(*) FROM op"), 0);
	pthread_create(&thread, NULL, grow_trace, &w);
	for (int i = 0; i < 300 && changes < 30; i++) {
		/* three scans, two of them of the same table, and the summaries that belong to them
		 */
		assert_int_equal(
			ask_number(
				&growing,
				"SELECT (SELECT count(*) FROM op) - (SELECT count(*) FROM op_named "
				"WHERE comm IS NOT NULL OR true)"),
			0);
		n = ask_number(&growing, "SELECT count(*) FROM op");
		assert_true(n >= before);
		changes += n > before;
		before = n;
	}
	w.stop = true;
	pthread_join(thread, NULL);
	assert_true(store_close(w.w, &err) >= 0);
	assert_true(changes > 1); /* it did grow under the questions */
	assert_int_equal(ask_number(&growing, "SELECT count(*) FROM op"), (int64_t)w.rows);
	fixture_close(&growing);
}

/* ---- several engines, several traces ---- */

static void *ask_often(void *arg)
{
	const uint64_t rows = *(const uint64_t *)arg;
	struct fixture own = {0};
	struct error err = {0};
	char path[256];
	const char *paths[] = {path};
	bool good = true;

	snprintf(path, sizeof(path), "%s/many-%llu.trace", fixture_folder(),
		 (unsigned long long)rows);
	if (store_open(&own.store, paths, 1, &err) < 0 ||
	    engine_open(&own.engine, own.store, &(struct engine_options){.threads = 2}, &err) < 0)
		return NULL;
	for (int i = 0; i < 20 && good; i++) {
		struct engine_statements *s = NULL;
		struct engine_result *r = NULL;
		struct buf text = {0};

		good = engine_parse(own.engine,
				    "SELECT count(*), hist_count(hist(dur)), count(DISTINCT path) "
				    "FROM op_named",
				    &s, &err) >= 0 &&
		       engine_execute(s, 0, &r, &err) >= 0 && engine_result_next(r) &&
		       engine_result_text(r, 0, &text) >= 0 &&
		       strtoull(buf_str(&text), NULL, 10) == rows;
		buf_free(&text);
		engine_result_free(r);
		engine_statements_free(s);
	}
	fixture_close(&own);
	return good ? arg : NULL;
}

static void engines_side_by_side(void **state)
{
	static uint64_t rows[4] = {1000, 20000, 70001, 5};
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++) {
		char name[64], path[256];

		snprintf(name, sizeof(name), "many-%llu.trace", (unsigned long long)rows[i]);
		fixture_write(fixture_file(name, path), rows[i]);
	}
	for (size_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, ask_often, &rows[i]);
	for (size_t i = 0; i < 4; i++) {
		void *good;

		pthread_join(threads[i], &good);
		assert_non_null(good);
	}
}

static void several_traces(void **state)
{
	char a[256], b[256];
	const char *paths[] = {fixture_file("first.trace", a), fixture_file("second.trace", b)};
	struct fixture two;

	fixture_write(a, 3000);
	fixture_write(b, 5000);
	fixture_open(&two, paths, 2, NULL);
	assert_int_equal(ask_number(&two, "SELECT count(*) FROM op"), 8000);
	assert_int_equal(ask_number(&two, "SELECT count(*) FROM file"), 2 * FIXTURE_FILES);
	assert_string_equal(ask(&two, "SELECT comm, count(DISTINCT thread_id) FROM op_named WHERE "
				      "thread_id & 255 = 1 "
				      "GROUP BY comm"),
			    "worker-8|2");
	assert_int_equal(
		ask_number(&two, "SELECT count(*) FROM weir_op(files := [(1::BIGINT << 40) + 3])"),
		ask_number(&two, "SELECT count(*) FROM op WHERE file_id = (1::BIGINT << 40) + 3"));
	assert_true(
		ask_number(&two, "SELECT count(*) FROM weir_op(files := [(1::BIGINT << 40) + 3])") >
		0);
	assert_int_equal(ask_number(&two, "SELECT count(*) FROM op_named WHERE comm IS NULL"), 0);
	fixture_close(&two);
}

/* ---- damage ---- */

static void damaged_blocks_are_left_out(void **state)
{
	char path[256];
	const char *paths[] = {fixture_file("damaged.trace", path)};
	struct store_damage damage;
	struct fixture broken;
	uint64_t offset = 0;
	uint32_t rows = 0;
	uint8_t byte;
	int fd;

	fixture_write(path, ROWS);
	fixture_open(&broken, paths, 1, NULL);
	for (size_t i = 0; i < store_block_count(broken.store); i++) {
		const struct store_block *b = store_block(broken.store, i);

		if (b->table == TABLE_OP && b->rows > 1000) {
			offset = b->offset + b->bytes - 100;
			rows = b->rows;
		}
	}
	fixture_close(&broken);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	byte ^= 0x40;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)offset), 1);
	close(fd);
	fixture_open(&broken, paths, 1, NULL);
	assert_int_equal(ask_number(&broken, "SELECT count(hash(t)) FROM op t"),
			 ROWS - (int64_t)rows);
	store_damage(broken.store, &damage);
	assert_true(damage.blocks >= 1);
	fixture_close(&broken);
}

static void empty_trace(void **state)
{
	char path[256];
	const char *paths[] = {fixture_file("empty.trace", path)};
	const struct store_options opt = {.owner = (uid_t)-1};
	struct store_writer *w;
	struct error err = {0};
	struct fixture empty;

	assert_true(store_create(&w, path, &opt, &err) >= 0);
	assert_true(store_close(w, &err) >= 0);
	fixture_open(&empty, paths, 1, NULL);
	assert_string_equal(
		ask(&empty,
		    "SELECT count(*), count(path), max(path), p99(hist(dur)) FROM op_named"),
		"0|0|NULL|NULL");
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		char sql[64];

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", schema_table(t)->name);
		assert_string_equal(ask(&empty, sql), "0");
	}
	fixture_close(&empty);
}

/* An id from nowhere must not cost memory by its size. */
static void ids_that_are_not_dense(void **state)
{
	char path[256];
	const char *paths[] = {fixture_file("sparse.trace", path)};
	const struct store_options opt = {.owner = (uid_t)-1};
	struct fixture sparse = {0};
	struct store_writer *w;
	struct error err = {0};
	const char *said;
	struct batch *b;

	assert_true(store_create(&w, path, &opt, &err) >= 0);
	assert_int_equal(batch_new(&b, TABLE_FILE), 0);
	assert_int_equal(batch_add_row(b), 0);
	assert_int_equal(batch_set(b, FILE_ID, 0, (1ll << 39) + 5), 0);
	assert_int_equal(batch_set_str(b, FILE_PATH, 0, "/x"), 0);
	assert_true(store_append(w, b, &err) >= 0);
	batch_free(b);
	assert_true(store_close(w, &err) >= 0);
	assert_true(store_open(&sparse.store, paths, 1, &err) >= 0);
	assert_true(engine_open(&sparse.engine, sparse.store, &(struct engine_options){0}, &err) >=
		    0);
	for (int i = 0; i < 2; i++) { /* the second statement is no better off */
		said = ask_error(&sparse, "SELECT count(*) FROM op_named", NULL);
		assert_non_null(strstr(said, "ids of file are not dense"));
		assert_null(strchr(said, '{'));
	}
	/* calls are read without the names of files */
	assert_int_equal(ask_number(&sparse, "SELECT count(*) FROM op"), 0);
	fixture_close(&sparse);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_utf8_survives),
		cmocka_unit_test(names_are_unique_and_come_back),
		cmocka_unit_test(escape_is_reversible),
		cmocka_unit_test(enums_sort_by_text),
		cmocka_unit_test(unknown_names),
		cmocka_unit_test(spill_folder_is_private),
		cmocka_unit_test(memory_limit),
		cmocka_unit_test(process_limit),
		cmocka_unit_test(confined),
		cmocka_unit_test(interrupt),
		cmocka_unit_test(one_statement_sees_one_state),
		cmocka_unit_test(engines_side_by_side),
		cmocka_unit_test(several_traces),
		cmocka_unit_test(damaged_blocks_are_left_out),
		cmocka_unit_test(empty_trace),
		cmocka_unit_test(ids_that_are_not_dense),
	};

	fixture_need_library();
	return cmocka_run_group_tests(tests, setup, teardown);
}
