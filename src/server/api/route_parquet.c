// SPDX-License-Identifier: Apache-2.0
/*
 * route_parquet.c: a download as Parquet: the engine writes a file by name, without a size limit, so its size is
 * watched here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "engine/ask.h"
#include "engine/spill.h"
#include "engine/sql_text.h"
#include "server/http/pool.h"
#include "server/api/route_query.h"

#define LOOK_NS \
	(20 * NSEC_PER_MSEC) /* interval at which its size is checked: about ten MiB of output */

/* ---- watching its size ---- */

struct watch {
	const char *folder;
	struct engine *engine;
	uint64_t max;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ends;
	bool end, over;
};

/* Bytes of all files in a folder: the engine may create others next to the name that it was given. */
static uint64_t bytes_in(const char *folder)
{
	DIR *d = opendir(folder);
	uint64_t sum = 0;

	for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
		struct stat st;

		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	return sum;
}

static void *route_parquet_look(void *arg)
{
	struct watch *w = arg;

	pthread_mutex_lock(&w->lock);
	while (!w->end) {
		struct timespec at;

		w->over |= bytes_in(w->folder) > w->max;
		if (w->over)
			engine_interrupt(w->engine);
		clock_after(LOOK_NS, &at);
		pthread_cond_timedwait(&w->ends, &w->lock, &at);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int watch_begin(struct watch *w)
{
	int e;

	pthread_mutex_init(&w->lock, NULL);
	clock_cond_init(&w->ends);
	e = pthread_create(&w->thread, NULL, route_parquet_look, w);
	if (e) {
		pthread_cond_destroy(&w->ends);
		pthread_mutex_destroy(&w->lock);
	}
	return -e;
}

/* Ends the watch. True if the file became too large. */
static bool watch_end(struct watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->end = true;
	pthread_cond_broadcast(&w->ends);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->ends);
	pthread_mutex_destroy(&w->lock);
	return w->over || bytes_in(w->folder) > w->max;
}

/* ---- writing ---- */

static int run_all(struct question *q, struct engine *e, const char *sql)
{
	_cleanup_(engine_statements_freep) struct engine_statements *statements = NULL;
	int r = engine_parse(e, sql, &statements, &q->err);

	for (size_t i = 0; r >= 0 && i < engine_statements_count(statements); i++) {
		_cleanup_(engine_result_freep) struct engine_result *result = NULL;

		r = engine_execute(statements, i, &result, &q->err);
	}
	return r;
}

static int run_watched(struct question *q, struct engine *e, const char *sql, const char *folder)
{
	struct watch w = {.folder = folder, .engine = e, .max = query_download_max(q)};
	int r = watch_begin(&w);

	if (r < 0)
		return question_error(q, r, "cannot start a thread for the download");
	r = run_all(q, e, sql);
	if (!watch_end(&w) || question_stopped(q))
		return r;
	q->err = (struct error){0}; /* drops the error of the interruption */
	return query_download_too_large(q);
}

static int write_to(struct question *q, const struct plan *p, const char *folder, const char *path)
{
	_cleanup_buf_ struct buf sql = {0}, all = {0};
	struct engine *e;
	int r = pool_take(q, &e);

	if (r < 0)
		return r;
	r = engine_explain(e, p, &sql, &q->err);
	if (r >= 0)
		r = sql_copy_to_parquet(buf_str(&sql), path, &all);
	if (r >= 0)
		r = run_watched(q, e, buf_str(&all), folder);
	pool_give(q, e);
	return r;
}

/* Writes into a folder that is deleted before anything is sent. */
int parquet_write(struct question *q, const struct plan *p)
{
	_cleanup_(spill_free) struct spill spill = SPILL_NONE;
	_cleanup_free_ char *path = NULL;
	int r = spill_make(&spill, &q->err), fd;

	if (r < 0)
		return r;
	if (asprintf(&path, "%s/answer.parquet", spill.path) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	do {
		r = write_to(q, p, spill.path, path);
	} while (pool_again(q, r));
	fd = r < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (r >= 0 && fd < 0)
		r = question_error(q, -EIO, "the download was not written");
	return r < 0 ? r : fd;
}
