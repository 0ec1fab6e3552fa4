/* SPDX-License-Identifier: Apache-2.0 */
/* rotate.c: a recording in several files. */
#include <errno.h>
#include <stdio.h>

#include "record/internal.h"

#define RETRY_NS (1 * NSEC_PER_SEC) /* interval between attempts when the disk is full */

int record_part_name(const char *base, uint64_t number, char **ret)
{
	if (asprintf(ret, "%s.%llu", base, (unsigned long long)number) >= 0)
		return 0;
	*ret = NULL;
	return -ENOMEM;
}

/* The file's initial rows count for at most half of the size, or files with many names would contain nothing else. */
static bool rotate_is_large(const struct record_rotation *o, const struct store_stats *s)
{
	uint64_t head = MIN(s->part_began, o->size / 2);

	return o->size && s->part_bytes - s->part_began >= o->size - head;
}

static bool rotate_is_due(const struct rotating *r, const struct record_rotation *o,
			  const struct store_stats *s, int64_t now)
{
	return now >= r->retry &&
	       (rotate_is_large(o, s) || (o->every_ns && now - r->since >= o->every_ns));
}

/* Removes the oldest file if the limit is exceeded. */
static void remove_oldest(const struct record_rotation *o, const struct store_writer *w,
			  uint64_t parts)
{
	_cleanup_free_ char *path = NULL;

	if (o->keep && parts > o->keep && record_part_name(o->base, parts - o->keep, &path) >= 0)
		store_remove_part(w, path);
}

int rotate_when_due(struct rotating *r, const struct record_rotation *o, struct store_writer *w,
		    int64_t now, bool *ret_full, struct error *err)
{
	_privileged_(privilege_files());
	_cleanup_free_ char *path = NULL;
	struct store_stats stats;
	uint64_t before;
	int e;

	store_writer_stats(w, &stats);
	if (!rotate_is_due(r, o, &stats, now))
		return 0;
	before = stats.parts;
	e = record_part_name(o->base, before + 1, &path);
	if (e < 0)
		return error_errno(err, e, "cannot name the next file");
	e = store_rotate(w, path, err);
	store_writer_stats(w, &stats);
	*ret_full = e == -ENOSPC || e == -EDQUOT;
	r->retry = e < 0 ? now + RETRY_NS : now;
	if (e < 0 && !*ret_full)
		return e;
	if (stats.parts == before)
		return 0;
	r->since = now;
	remove_oldest(o, w, stats.parts);
	return 1;
}
