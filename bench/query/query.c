// SPDX-License-Identifier: Apache-2.0
/*
 * query.c: the ten questions of the query language over a trace against DuckDB over the same rows in
 * Parquet, in one process, in turns: query TRACE PARQUET [THREADS [RUNS]]. With one thread CPU time
 * is told, which others on the machine do not disturb, else wall time; the least of the runs.
 *
 *   weir synth -o T --rows 10000000 --seed 7
 *   weir sql -i T "COPY (FROM op_named) TO 'T.parquet' (COMPRESSION zstd)"
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "engine/ask.h"
#include "query/query.h"

struct question {
	const char *name, *weir;
	const char *sql; /* over the view p */
};

static const struct question questions[] = {
	{"count with a filter", "where dur > 100us && op in (read, pread64) | count()",
	 "SELECT count(*) FROM p WHERE dur > 100000 AND op IN ('read', 'pread64')"},
	{"by op: sum, p99", "by op | count(), sum(bytes), p99(dur)",
	 "SELECT op, count(*), sum(bytes), p99(hist(dur)) FROM p GROUP BY op ORDER BY 2 DESC"},
	{"by thread and op", "by thread, op | count(), sum(dur)",
	 "SELECT thread_id, op, count(*), sum(dur) FROM p GROUP BY ALL ORDER BY 3 DESC"},
	{"by file, top 20", "by file | count(), sum(bytes) as b | sort b desc | head 20",
	 "SELECT file_id, any_value(file_name), count(*), sum(bytes) b FROM p GROUP BY file_id "
	 "ORDER BY b DESC LIMIT 20"},
	{"heat map", "by bucket(stop, 100ms) as t, log2(dur) as d | count()",
	 "SELECT (start + dur) // 100000000 t, CASE WHEN dur > 0 THEN floor(log2(dur)) END d, "
	 "count(*) FROM p GROUP BY ALL ORDER BY 1, 2"},
	{"per 100 ms by op", "by op every 100ms | rate()",
	 "SELECT (start + dur) // 100000000 t, op, count(*) * 10.0 r FROM p GROUP BY ALL ORDER BY "
	 "1, 3 DESC"},
	{"path glob", "where path ~ \"/tmp/rocksdb/*.sst\" | count(), sum(bytes)",
	 "SELECT count(*), sum(bytes) FROM p WHERE path GLOB '/tmp/rocksdb/*.sst'"},
	{"slowest 100", "select start, dur, comm, op, path | sort dur desc | head 100",
	 "SELECT start, dur, comm, op, path FROM p ORDER BY dur DESC, start LIMIT 100"},
	{"files per process", "by process | distinct(file)",
	 "SELECT process_id, approx_count_distinct(file_id) FROM p GROUP BY ALL"},
	{"needle", "where path == \"/tmp/rocksdb/000025.sst\" && dur > 1ms | count(), max(dur)",
	 "SELECT count(*), max(dur) FROM p WHERE path = '/tmp/rocksdb/000025.sst' AND dur > "
	 "1000000"},
};

static double now(bool cpu)
{
	struct timespec t;

	clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int run_weir(struct engine *e, const char *text, struct error *err)
{
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	_cleanup_(plan_freep) struct plan *p = NULL;
	struct query_error wrong = {0};
	int x = query_parse(text, strlen(text), &p, &wrong);

	if (x < 0)
		return error_set(err, x, "%s", wrong.err.message);
	x = engine_ask(e, p, NULL, &r, err);
	while (x >= 0 && engine_result_next(r))
		;
	return x;
}

static int run_sql(struct engine *e, const char *sql, struct error *err)
{
	_cleanup_(engine_statements_freep) struct engine_statements *s = NULL;
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	int x = engine_parse(e, sql, &s, err);

	if (x >= 0)
		x = engine_execute(s, 0, &r, err);
	while (x >= 0 && engine_result_has_rows(r) && engine_result_next(r))
		;
	return x;
}

static int ask_both(struct engine *e, const struct question *q, bool cpu, int runs,
		    struct error *err)
{
	double best[2] = {1e300, 1e300};
	int r = 0;

	for (int i = 0; i < 2 * runs && r >= 0; i++) {
		double before = now(cpu), took;

		r = i % 2 ? run_sql(e, q->sql, err) : run_weir(e, q->weir, err);
		took = now(cpu) - before;
		best[i % 2] = MIN(best[i % 2], took);
	}
	if (r >= 0)
		printf("%-20s weir %9.1f ms   Parquet %9.1f ms   ratio %5.2f\n", q->name, best[0],
		       best[1], best[0] / best[1]);
	(void)fflush(stdout);
	return r;
}

int main(int argc, char **argv)
{
	struct engine_options opt = {.threads = argc > 3 ? (unsigned int)strtoul(argv[3], NULL, 10)
							 : 1};
	int runs = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 3, r;
	_cleanup_(store_freep) struct store *store = NULL;
	_cleanup_(engine_freep) struct engine *e = NULL;
	const char *paths[] = {argc > 1 ? argv[1] : ""};
	struct error err = {0};
	struct rusage usage;
	char sql[4200];

	if (argc < 3) {
		fprintf(stderr, "usage: query TRACE PARQUET [THREADS [RUNS]]\n");
		return 2;
	}
	snprintf(sql, sizeof(sql), "CREATE VIEW p AS FROM '%.4000s'", argv[2]);
	r = store_open(&store, paths, 1, &err);
	if (r >= 0)
		r = engine_open(&e, store, &opt, &err);
	if (r >= 0)
		r = run_sql(e, sql, &err);
	for (size_t i = 0; i < ARRAY_SIZE(questions) && r >= 0; i++)
		r = ask_both(e, &questions[i], opt.threads == 1, runs, &err);
	if (r < 0)
		fprintf(stderr, "query: %s\n", err.message);
	getrusage(RUSAGE_SELF, &usage);
	printf("peak memory %ld MiB\n", usage.ru_maxrss / 1024);
	return r < 0;
}
