// SPDX-License-Identifier: Apache-2.0
#include "analysis/features/fdlife/fd_rows.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

int fd_rows_init(struct fd_rows *t, struct file_patterns *patterns)
{
	*t = (struct fd_rows){.patterns = patterns};
	t->rows = calloc(FD_ROWS_MAX, sizeof(struct fd_row *));
	t->free = calloc(FD_ROWS_MAX, sizeof(*t->free));
	return t->rows && t->free ? 0 : -ENOMEM;
}

static void fd_rows_drop(struct fd_rows *t, uint32_t at)
{
	struct fd_row *row = t->rows[at];

	assert(row->ended && t->ended > 0);
	t->ended--;
	t->files_bytes -= distinct_memory(&row->files);
	distinct_free(&row->files);
	map_del(&t->of, (uint64_t)row->process << 32 | row->pattern);
	free(row);
	t->rows[at] = NULL;
	t->free[t->free_count++] = at;
}

void fd_rows_free(struct fd_rows *t)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->rows[i]) {
			distinct_free(&t->rows[i]->files);
			free(t->rows[i]);
		}
	}
	free((void *)t->rows);
	free(t->free);
	map_free(&t->of);
}

/* Drops the half of the rows of ended processes that opened least. 0 or -ENOMEM. */
static int fd_rows_sweep(struct fd_rows *t)
{
	_cleanup_free_ uint64_t *opened = calloc(FD_ROWS_MAX, sizeof(*opened));
	size_t ended = 0, out = 0;
	uint64_t limit;

	if (!opened)
		return -ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		if (t->rows[i] && t->rows[i]->ended)
			opened[ended++] = t->rows[i]->opened;
	}
	array_sort(opened, ended, order_u64);
	assert(ended == t->ended);
	limit = opened[ended / 2];
	for (uint32_t i = 0; i < t->count && out <= ended / 2; i++) {
		if (t->rows[i] && t->rows[i]->ended && t->rows[i]->opened <= limit) {
			fd_rows_drop(t, i);
			out++;
		}
	}
	return 0;
}

static int fd_rows_make(struct fd_rows *t, uint32_t process, uint32_t pattern, int64_t base,
			uint32_t *ret)
{
	uint64_t key = (uint64_t)process << 32 | pattern;
	struct fd_row *row;
	int r;

	if (!t->free_count && t->count == FD_ROWS_MAX) {
		*ret = FEATURE_NONE;
		return 0;
	}
	*ret = t->free_count ? t->free[t->free_count - 1] : (uint32_t)t->count;
	row = calloc(1, sizeof(*row));
	if (!row)
		return -ENOMEM;
	r = map_set(&t->of, key, *ret);
	if (r < 0) {
		free(row);
		return r;
	}
	if (t->free_count)
		t->free_count--;
	else
		t->count++;
	*row = (struct fd_row){.process = process,
			       .pattern = pattern,
			       .file = FEATURE_NONE,
			       .base = base,
			       .first = INT64_MAX,
			       .thread_id = -1,
			       .step = FD_STEP_FIRST,
			       .inexact = pattern == FILE_PATTERN_ANY};
	t->rows[*ret] = row;
	return 0;
}

int fd_rows_of(struct fd_rows *t, uint32_t process, uint32_t file, int64_t base, uint32_t *ret)
{
	uint32_t pattern;
	uint64_t place;
	int r = file_patterns_of(t->patterns, file, &pattern);

	if (r < 0)
		return r;
	if (map_get(&t->of, (uint64_t)process << 32 | pattern, &place)) {
		*ret = (uint32_t)place;
		return 0;
	}
	if (t->free_count <= FD_ROWS_MAX / 64 && t->count == FD_ROWS_MAX) {
		/* with few such rows the next sweep would follow soon: leave the room to rows of living processes */
		if (t->ended >= FD_ROWS_MAX / 16) {
			r = fd_rows_sweep(t);
			if (r < 0)
				return r;
		}
		/* one of the last rows: a single row per process */
		if (t->free_count <= FD_ROWS_MAX / 64)
			pattern = FILE_PATTERN_ANY;
		if (map_get(&t->of, (uint64_t)process << 32 | pattern, &place)) {
			*ret = (uint32_t)place;
			return 0;
		}
	}
	return fd_rows_make(t, process, pattern, base, ret);
}

struct fd_row *fd_rows_find(const struct fd_rows *t, uint32_t process, uint32_t file)
{
	uint32_t pattern;
	uint64_t place;

	if (file_patterns_of(t->patterns, file, &pattern) < 0 ||
	    !map_get(&t->of, (uint64_t)process << 32 | pattern, &place))
		return NULL;
	return t->rows[place];
}

/* ---- one row ---- */

void fd_row_end(struct fd_rows *t, struct fd_row *row, int64_t end)
{
	assert(!row->ended);
	row->ended = true;
	row->end = end;
	t->ended++;
}

/* The time from one to the other; limited, since a damaged trace may have any times. */
static int64_t fd_row_since(int64_t from, int64_t to)
{
	return to <= from ? 0 : (int64_t)MIN((uint64_t)to - (uint64_t)from, (uint64_t)INT64_MAX);
}

/* Extends the curve up to a time at which net changes: each point is the minimum in its interval. */
static void fd_row_curve(struct fd_row *row, int64_t at)
{
	int64_t since = fd_row_since(row->base, at);

	while (since / row->step >= FD_SAMPLES) {
		for (unsigned int i = 0; i < row->points / 2; i++)
			row->curve[i] = MIN(row->curve[2 * i], row->curve[2 * i + 1]);
		if (row->points % 2)
			row->curve[row->points / 2] =
				MIN(row->curve[row->points - 1], (int32_t)row->net);
		row->points = (row->points + 1) / 2;
		row->step *= 2;
	}
	/* the value until now */
	while (row->points <= (uint32_t)(since / row->step))
		row->curve[row->points++] = (int32_t)row->net;
}

static void fd_row_change(struct fd_row *row, int64_t at, int by)
{
	fd_row_curve(row, at);
	row->net += by;
	row->net_most = MAX(row->net_most, row->net);
	row->curve[row->points - 1] = MIN(row->curve[row->points - 1], (int32_t)row->net);
}

static int fd_row_file(struct fd_rows *t, struct fd_row *row, uint32_t file)
{
	size_t held = distinct_memory(&row->files);
	int r;

	if (row->file == file)
		return 0;
	row->file = file;
	if (t->files_bytes > FD_FILES_BYTES) {
		row->skipped++;
		row->inexact = true;
		return 0;
	}
	r = distinct_add(&row->files, hash_u64(file));
	t->files_bytes += distinct_memory(&row->files) - held;
	return r;
}

int fd_row_opened(struct fd_rows *t, struct fd_row *row, uint32_t file, int64_t thread_id,
		  int64_t start)
{
	row->opened++;
	row->first = MIN(row->first, start);
	if (!row->votes)
		row->thread_id = thread_id;
	row->votes += row->thread_id == thread_id ? 1 : -1;
	fd_row_change(row, start, 1);
	return fd_row_file(t, row, file);
}

int fd_row_found(struct fd_rows *t, struct fd_row *row, uint32_t file, int64_t thread_id,
		 int64_t start)
{
	row->before++;
	row->first = MIN(row->first, start);
	if (row->thread_id < 0)
		row->thread_id = thread_id;
	return fd_row_file(t, row, file);
}

void fd_row_closed(struct fd_row *row, int64_t at)
{
	row->closed++;
	fd_row_change(row, at, -1);
	row->last = MAX(row->last, at);
}

/* The minimum number open between two points, inclusive; after the last point, the number open at the end. */
static int64_t fd_row_least(const struct fd_row *row, int64_t from, int64_t to)
{
	int64_t least = INT64_MAX;

	for (int64_t i = from; i <= to && i < row->points; i++)
		least = MIN(least, (int64_t)row->curve[i]);
	return to >= row->points ? MIN(least, row->net) : least;
}

unsigned int fd_row_rising(const struct fd_row *row, int64_t end)
{
	int64_t life = MAX(fd_row_since(row->base, end), (int64_t)1), from = 0, had = INT64_MAX;
	unsigned int rising = 0;

	for (unsigned int part = 1; part <= FD_PARTS; part++) {
		/* to the point that contains the last moment of the part; 128 bits, as a lifetime may be years */
		int64_t to = ((int64_t)((__int128)life * part / FD_PARTS) - 1) / row->step, now;

		to = MAX(to, from);
		now = fd_row_least(row, from, to);
		rising += now > had;
		had = now;
		from = to + 1;
	}
	return rising;
}
