// SPDX-License-Identifier: Apache-2.0
#include "server/sums/file_tops.h"

#include <errno.h>

#include "server/sums/file_sums.h"

struct file_tops *file_tops_get(struct server *s)
{
	struct file_tops *t;

	pthread_mutex_lock(&s->names_lock);
	t = s->tops && s->tops->generation == s->generation ? s->tops : NULL;
	if (t)
		atomic_fetch_add(&t->refs, 1);
	pthread_mutex_unlock(&s->names_lock);
	return t;
}

void file_tops_unref(struct file_tops *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	map_free(&t->index);
	free(t);
}

int file_tops_note(struct server *s, struct sums_file *files, size_t count)
{
	struct file_tops *t, *was;
	int r;

	t = file_tops_get(s);
	if (t) {
		file_tops_unref(t);
		return 0;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->refs = 1;
	t->generation = s->generation;
	t->count = file_sums_top(files, count, FILE_TOPS_MAX);
	r = file_sums_index(s, files, t->count, &t->index);
	if (r < 0) {
		file_tops_unref(t);
		return r;
	}
	pthread_mutex_lock(&s->names_lock);
	was = s->tops;
	s->tops = t;
	pthread_mutex_unlock(&s->names_lock);
	file_tops_unref(was);
	return 0;
}
