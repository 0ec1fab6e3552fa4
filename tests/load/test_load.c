// SPDX-License-Identifier: Apache-2.0
/* test_load.c: loading into a real ClickHouse: each row once, whatever is killed. The seed is printed; WEIR_SEED sets
 * it, and WEIR_KILLS how often the loader is killed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../engine/click_server.h"
#include "../engine/fixture.h"
#include "base/clock.h"
#include "load/load.h"

#define ROWS	   150000
#define KILLS	   8 /* $WEIR_KILLS: more */
#define KILLS_EACH 4 /* of one database: then all is there, or nearly */

static char trace[256];
static struct error last;
static unsigned int seed;

static int setup(void **state)
{
	const char *given = getenv("WEIR_SEED");

	seed = given ? (unsigned int)strtoul(given, NULL, 10) : (unsigned int)time(NULL);
	print_message("# seed %u\n", seed);
	srand(seed);
	fixture_write(fixture_file("a.trace", trace), ROWS);
	return 0;
}

static int teardown(void **state)
{
	click_server_stop(SIGKILL);
	fixture_remove();
	return 0;
}

static int load(const char *database, const char *path, struct load_totals *totals)
{
	const char *address = click_server_address(database);
	const struct load_options opt = {0};
	const struct load_loop loop = {.patience_ns = 30 * NSEC_PER_SEC};
	struct load_target *t;
	int r;

	last = (struct error){0};
	r = load_target_find(address, &last)->connect(&t, address, &opt, &last);
	if (r < 0)
		return r;
	r = load_trace(t, path, &loop, totals, &last);
	load_target_free(t);
	return r;
}

static pid_t load_apart(const char *database)
{
	struct load_totals totals = {0};
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(load(database, trace, &totals) < 0);
	return pid;
}

static void pause_ms(int most)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000l * (rand() % most + 1)}, NULL);
}

/* Every row is there, once; so is what rows refer to. */
static void assert_all_once(const char *database)
{
	char want[64];

	snprintf(want, sizeof(want), "%d\t%d\n", ROWS, ROWS);
	assert_string_equal(click_server_ask(database,
					     "SELECT count(), uniqExact(recording, row_no) "
					     "FROM op"),
			    want);
	/* the first version of a thread, which was replaced, is a row as well */
	snprintf(want, sizeof(want), "%d\t%d\n", FIXTURE_THREADS + 1, FIXTURE_FILES);
	assert_string_equal(click_server_ask(database,
					     "SELECT (SELECT count() FROM thread), (SELECT "
					     "count() FROM file)"),
			    want);
	assert_string_equal(click_server_ask(database, "SELECT sum(events) FROM loss"), "17\n");
}

static void loads_once(void **state)
{
	struct load_totals first = {0}, again = {0};

	assert_int_equal(load("once", trace, &first), 0);
	assert_int_equal(first.calls, ROWS);
	assert_int_equal(first.known, 0);
	assert_int_equal(load("once", trace, &again), 0);
	assert_int_equal(again.rows, 0);
	assert_int_equal(again.known, first.blocks);
	assert_all_once("once");
}

static void loader_is_killed(void **state)
{
	const char *given = getenv("WEIR_KILLS");
	int kills = given ? (int)strtol(given, NULL, 10) : KILLS, hit = 0;
	char database[32];

	for (int i = 0; i < kills; i++) {
		struct load_totals totals = {0};
		pid_t pid;
		int status;

		snprintf(database, sizeof(database), "killed%d", i / KILLS_EACH);
		pid = load_apart(database);
		pause_ms(400);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		hit += WIFSIGNALED(status);
		if (i % KILLS_EACH != KILLS_EACH - 1 && i != kills - 1)
			continue;
		if (load(database, trace, &totals) < 0)
			fail_msg("%s", last.message);
		assert_all_once(database);
	}
	print_message("# %d of %d loaders were killed while they ran\n", hit, kills);
	assert_true(hit > 0);
}

/* The server is killed and started again while a loader runs, which goes on. */
static void server_is_killed(void **state)
{
	pid_t pid = load_apart("restarted");
	int status;

	for (int i = 0; i < 3; i++) {
		pause_ms(300);
		click_server_stop(SIGKILL);
		assert_true(click_server_start());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status) { /* it had not connected yet when the server went */
		struct load_totals totals = {0};

		assert_int_equal(load("restarted", trace, &totals), 0);
	}
	assert_all_once("restarted");
}

/* A block that cannot be read is a row of loss, once. */
static void damage_is_loss(void **state)
{
	struct load_totals totals = {0}, again = {0};
	const struct store_block *b = NULL;
	struct store *s;
	const char *path;
	char copy[256], want[64];
	uint32_t rows;
	int fd;

	path = fixture_file("damaged.trace", copy);
	fixture_write(path, ROWS);
	assert_int_equal(store_open(&s, &path, 1, &last), 0);
	for (size_t i = 0; i < store_block_count(s) && !b; i++)
		b = store_block(s, i)->table == TABLE_OP ? store_block(s, i) : NULL;
	assert_non_null(b);
	rows = b->rows;
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	for (uint64_t at = b->offset + b->bytes / 2; at < b->offset + b->bytes; at += 64)
		assert_int_equal(pwrite(fd, "\xa5\x5a", 2, (off_t)at), 2);
	close(fd);
	store_free(s);
	assert_int_equal(load("damaged", path, &totals), 0);
	assert_int_equal(load("damaged", path, &again), 0);
	assert_int_equal(totals.damaged, 1);
	snprintf(want, sizeof(want), "%u\n", ROWS - rows);
	assert_string_equal(click_server_ask("damaged", "SELECT count() FROM op"), want);
	snprintf(want, sizeof(want), "%u\n", rows + 17);
	assert_string_equal(click_server_ask("damaged", "SELECT sum(events) FROM loss"), want);
}

static void refusals(void **state)
{
	static const struct {
		const char *address, *message;
	} wrong[] = {
		{"mysql://localhost/db", "clickhouse://HOST/DATABASE"},
		{"clickhouse://", "a host is missing"},
		{"clickhouse://u:secret@localhost/db", "WEIR_PASSWORD"},
		{"clickhouse://localhost/db?password=x", "WEIR_PASSWORD"},
		{"clickhouse://localhost:0/db", "port"},
		{"clickhouse://localhost/a b", "database"},
		{"clickhouse://localhost/db?colour=red", "tls=1"},
		{"clickhouse://127.0.0.1:1/db", "127.0.0.1:1"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const struct load_options opt = {0};
		struct error err = {0};
		struct load_target *t;
		const struct load_target_ops *ops = load_target_find(wrong[i].address, &err);

		if (ops)
			assert_true(ops->connect(&t, wrong[i].address, &opt, &err) < 0);
		if (!strstr(err.message, wrong[i].message) || strstr(err.message, "secret"))
			fail_msg("%s: %s", wrong[i].address, err.message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals),	    cmocka_unit_test(loads_once),
		cmocka_unit_test(loader_is_killed), cmocka_unit_test(server_is_killed),
		cmocka_unit_test(damage_is_loss),
	};

	if (!click_server_start()) {
		puts("1..0 # SKIP clickhouse-server is not installed");
		return 77;
	}
	return cmocka_run_group_tests_name("load", tests, setup, teardown);
}
