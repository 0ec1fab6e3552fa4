// SPDX-License-Identifier: Apache-2.0
/*
 * query.c: runs the ten questions of the query language over a trace and, alternately and with the same library, as
 * SQL of DuckDB over the same rows in Parquet. bench/query.py runs it and shows the figures.
 *
 *   query [-t THREADS] [-r RUNS] [-q QUESTION] [-i] TRACE [PARQUET]
 *
 * Prints a line per question: name, ms of weir, ms of Parquet (the least of the runs; -: not run), us to parse and
 * plan, ms from an interrupt to its end (-i), tab-separated; then the peak memory of the process, in KiB: without
 * PARQUET that of weir alone. With one thread the times are CPU time, which other load does not disturb, else elapsed
 * time.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "engine/ask.h"
#include "query/query.h"

#define PLAN_RUNS      50
#define INTERRUPT_RUNS 5

struct question {
	const char *name, *weir;
	const char *sql; /* over the view p */
	bool range; /* only calls that ended in a hundredth of the time; sql ends in WHERE ... */
};

static const struct question questions[] = {
	{"count with a filter", "where dur > 100us && op in (read, pread64) | count()",
	 "SELECT count(*) FROM p WHERE dur > 100000 AND op IN ('read', 'pread64')"},
	{"by op: sum, p99", "by op | count(), sum(bytes), p99(dur)",
	 "SELECT op, count(*), sum(bytes), p99(hist(dur)) FROM p GROUP BY op ORDER BY 2 DESC"},
	{"by thread and op", "by thread, op | count(), sum(dur)",
	 "SELECT thread_id, op, count(*), sum(dur) FROM p GROUP BY ALL ORDER BY 3 DESC"},
	/* the SQL for Parquet omits the names: those of millions of files do not fit its memory */
	{"by file, top 20", "by file | count(), sum(bytes) as b | sort b desc | head 20",
	 "SELECT file_id, count(*), sum(bytes) b FROM p GROUP BY file_id ORDER BY b DESC LIMIT "
	 "20"},
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
	{"needle", "where path == \"/tmp/rocksdb/000025.sst\" | count(), max(dur)",
	 "SELECT count(*), max(dur) FROM p WHERE path = '/tmp/rocksdb/000025.sst'", true},
};

struct options {
	unsigned int threads;
	int runs, only; /* -1: all questions */
	bool interrupt, cpu, parquet;
	int64_t from, to; /* for questions with a range */
};

static double now(bool cpu)
{
	struct timespec t;

	clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int parse(const struct question *q, const struct options *o, struct plan **ret,
		 struct error *err)
{
	struct query_error wrong = {0};
	int r = query_parse(q->weir, strlen(q->weir), ret, &wrong);

	if (r < 0)
		return error_set(err, r, "%s", wrong.err.message);
	if (q->range) {
		(*ret)->from = o->from;
		(*ret)->to = o->to;
	}
	return 0;
}

static int run_weir(struct engine *e, const struct question *q, const struct options *o,
		    struct error *err)
{
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	_cleanup_(plan_freep) struct plan *p = NULL;
	int x = parse(q, o, &p, err);

	if (x >= 0)
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

static int run_parquet(struct engine *e, const struct question *q, const struct options *o,
		       struct error *err)
{
	char sql[1024];

	if (!q->range)
		return run_sql(e, q->sql, err);
	snprintf(sql, sizeof(sql), "%s AND start + dur >= %lld AND start + dur < %lld", q->sql,
		 (long long)o->from, (long long)o->to);
	return run_sql(e, sql, err);
}

/* The time, in us, from the text to the statement for the library. */
static int plan_time(struct engine *e, const struct question *q, const struct options *o,
		     double *ret, struct error *err)
{
	*ret = 1e300;
	for (int i = 0; i < PLAN_RUNS; i++) {
		_cleanup_(plan_freep) struct plan *p = NULL;
		_cleanup_buf_ struct buf out = {0};
		double before = now(true);
		int r = parse(q, o, &p, err);

		if (r >= 0)
			r = engine_explain(e, p, &out, err);
		if (r < 0)
			return r;
		*ret = MIN(*ret, (now(true) - before) * 1e3);
	}
	return 0;
}

struct interrupter {
	struct engine *e;
	double after;	   /* ms from now */
	_Atomic double at; /* when it was called */
};

static void *interrupt_later(void *arg)
{
	struct interrupter *i = arg;

	usleep((useconds_t)(i->after * 1e3));
	atomic_store(&i->at, now(false));
	engine_interrupt(i->e);
	return NULL;
}

/*
 * The longest time, in ms, from an interrupt to the end of the question, over several moments of a run that takes
 * `took`.
 */
static int interrupt_time(struct engine *e, const struct question *q, const struct options *o,
			  double took, double *ret)
{
	*ret = 0;
	for (int k = 1; k <= INTERRUPT_RUNS; k++) {
		struct interrupter i = {.e = e, .after = took * k / (INTERRUPT_RUNS + 1)};
		struct error err = {0};
		pthread_t thread;
		int r = pthread_create(&thread, NULL, interrupt_later, &i);

		if (r)
			return -r;
		r = run_weir(e, q, o, &err);
		if (r == -EINTR)
			*ret = MAX(*ret, now(false) - atomic_load(&i.at));
		pthread_join(thread, NULL);
	}
	return 0;
}

static int ask(struct engine *e, const struct question *q, const struct options *o,
	       struct error *err)
{
	double best[2] = {1e300, 1e300}, plan = 0, clock = 1e300, interrupt = 0;
	int r = plan_time(e, q, o, &plan, err);

	for (int i = 0; i < 2 * o->runs && r >= 0; i++) {
		double before = now(o->cpu), begun = now(false);

		if (i % 2 && !o->parquet)
			continue;
		r = i % 2 ? run_parquet(e, q, o, err) : run_weir(e, q, o, err);
		best[i % 2] = MIN(best[i % 2], now(o->cpu) - before);
		if (i % 2 == 0)
			clock = MIN(clock, now(false) - begun);
	}
	if (r >= 0 && o->interrupt)
		r = interrupt_time(e, q, o, clock, &interrupt);
	if (r < 0)
		return r;
	printf("%s\t%.2f\t", q->name, best[0]);
	if (o->parquet)
		printf("%.2f\t", best[1]);
	else
		printf("-\t");
	printf("%.1f\t", plan);
	if (o->interrupt)
		printf("%.1f\n", interrupt);
	else
		printf("-\n");
	(void)fflush(stdout);
	return 0;
}

static int bench(struct options *o, const char *trace, const char *parquet, struct error *err)
{
	struct engine_options opt = {.threads = o->threads};
	_cleanup_(store_freep) struct store *store = NULL;
	_cleanup_(engine_freep) struct engine *e = NULL;
	struct rusage usage;
	char sql[4200];
	int r = store_open(&store, &trace, 1, err);

	if (r >= 0) {
		store_range(store, &o->from, &o->to);
		o->from += (o->to - o->from) / 2;
		o->to = o->from + (o->to - o->from) / 50;
		r = engine_open(&e, store, &opt, err);
	}
	if (r >= 0 && parquet) {
		snprintf(sql, sizeof(sql), "CREATE VIEW p AS FROM '%.4000s'", parquet);
		r = run_sql(e, sql, err);
	}
	for (size_t i = 0; i < ARRAY_SIZE(questions) && r >= 0; i++) {
		if (o->only < 0 || (size_t)o->only == i)
			r = ask(e, &questions[i], o, err);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("memory\t%ld\n", usage.ru_maxrss);
	return r;
}

int main(int argc, char **argv)
{
	struct options o = {.threads = 1, .runs = 3, .only = -1};
	struct error err = {0};
	int c;

	while ((c = getopt(argc, argv, "t:r:q:i")) >= 0) {
		if (c == 't')
			o.threads = (unsigned int)strtoul(optarg, NULL, 10);
		else if (c == 'r')
			o.runs = (int)strtol(optarg, NULL, 10);
		else if (c == 'q')
			o.only = (int)strtol(optarg, NULL, 10);
		else if (c == 'i')
			o.interrupt = true;
		else
			return 2;
	}
	if (optind != argc - 1 && optind != argc - 2) {
		fprintf(stderr, "usage: query [-t THREADS] [-r RUNS] [-q QUESTION] [-i] TRACE "
				"[PARQUET]\n");
		return 2;
	}
	o.cpu = o.threads == 1;
	o.parquet = optind == argc - 2;
	if (bench(&o, argv[optind], o.parquet ? argv[optind + 1] : NULL, &err) < 0) {
		fprintf(stderr, "query: %s\n", err.message);
		return 1;
	}
	return 0;
}
