// SPDX-License-Identifier: Apache-2.0
#include "server/sums/file_pile.h"

#include <errno.h>
#include <pthread.h>

#include "base/saturate.h"

#define SPARSE \
	8u /* a map holds fewer than one in this many; above that an array is faster and smaller */
#define FEW_FILES 65536u /* use a map up to here */

/* ---- by id ---- */

void file_dense_free(struct file_dense *d)
{
	for (size_t i = 0; i < ID_RECORDINGS_MAX; i++)
		free(d->by_trace[i]);
	*d = (struct file_dense){0};
}

bool file_dense_has(const struct file_dense *d, int64_t id)
{
	uint64_t trace = id_recording(id);

	return trace < ID_RECORDINGS_MAX && id_own(id) < d->count[trace];
}

struct sums_file *file_dense_at(const struct file_dense *d, int64_t id)
{
	return file_dense_has(d, id) ? &d->by_trace[id_recording(id)][id_own(id)] : NULL;
}

void file_sums_add(struct sums_file *to, const struct sums_file *f)
{
	to->all += f->all;
	to->calls += f->calls;
	to->errors += f->errors;
	to->bytes = add_sat(to->bytes, f->bytes);
	to->time = add_sat(to->time, f->time);
	to->max = MAX(to->max, f->max);
}

static int file_dense_make(struct file_dense *d, const size_t want[static ID_RECORDINGS_MAX],
			   size_t files)
{
	d->made = true;
	for (size_t i = 0; i < ID_RECORDINGS_MAX; i++) {
		if (!want[i] || want[i] / SPARSE > files)
			continue;
		d->by_trace[i] = calloc(want[i], sizeof(*d->by_trace[i]));
		if (!d->by_trace[i])
			return -ENOMEM;
		d->count[i] = want[i];
	}
	return 0;
}

int file_dense_add(struct file_dense *d, struct sums *rest, const struct sums_file *f)
{
	struct sums_file *to = file_dense_at(d, f->id);

	if (!to)
		return sums_add_file(rest, f);
	file_sums_add(to, f);
	return 0;
}

/* ---- the pile ---- */

struct file_pile {
	const struct store *store;
	pthread_mutex_t lock;
	struct file_dense dense;
	struct sums *rest; /* files without a slot in `dense` */
};

static int new_rest(struct sums **ret)
{
	const struct sums_want want = {.files = true};

	return sums_new(ret, &want);
}

int file_pile_new(struct file_pile **ret, const struct store *s)
{
	struct file_pile *p = calloc(1, sizeof(*p));
	int r = p ? new_rest(&p->rest) : -ENOMEM;

	if (r < 0) {
		free(p);
		return r;
	}
	p->store = s;
	pthread_mutex_init(&p->lock, NULL);
	*ret = p;
	return 0;
}

void file_pile_free(struct file_pile *p)
{
	if (!p)
		return;
	file_dense_free(&p->dense);
	sums_free(p->rest);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Makes room for every id that a block names. */
static int make_dense(struct file_pile *p)
{
	size_t want[ID_RECORDINGS_MAX] = {0};
	/* of all traces: an upper bound for each; known before the rows are read, which may happen beside this pass */
	size_t files = store_table_rows(p->store, TABLE_FILE);

	for (size_t i = 0; i < store_block_count(p->store); i++) {
		const struct store_block *b = store_block(p->store, i);
		int64_t max = b->table == TABLE_OP && b->rows ? b->max[OP_FILE_ID] : -1;
		uint64_t trace = id_recording(max);

		if (max >= 0 && trace < ID_RECORDINGS_MAX)
			want[trace] = MAX(want[trace], (size_t)id_own(max) + 1);
	}
	return file_dense_make(&p->dense, want, files);
}

/* Moves files that now have a slot. */
static int grow_dense(struct file_pile *p)
{
	struct sums *few = p->rest;
	int r = make_dense(p);

	if (r >= 0)
		r = new_rest(&p->rest);
	if (r < 0)
		return r;
	for (size_t i = 0; i < few->file_count && r >= 0; i++)
		r = file_dense_add(&p->dense, p->rest, &few->files[i]);
	sums_free(few);
	return r;
}

int file_pile_add(struct file_pile *p, const struct sums_file *files, size_t count)
{
	int r = 0;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = file_dense_add(&p->dense, p->rest, &files[i]);
	if (r >= 0 && !p->dense.made && p->rest->file_count > FEW_FILES)
		r = grow_dense(p);
	pthread_mutex_unlock(&p->lock);
	return r;
}

void file_pile_take(struct file_pile *p, struct file_dense *d, struct sums **rest)
{
	*d = p->dense;
	p->dense = (struct file_dense){0};
	sums_free(*rest);
	*rest = TAKE_PTR(p->rest);
}
