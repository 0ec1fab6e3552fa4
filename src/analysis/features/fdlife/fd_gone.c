// SPDX-License-Identifier: Apache-2.0
#include "analysis/features/fdlife/fd_gone.h"

#include <string.h>

#define FD_GONE_MEMFD "/memfd:"

void fd_gone_init(struct fd_gone *g, const struct feature_world *w)
{
	*g = (struct fd_gone){
		.world = w, .gone = {.max = FD_GONE_MAX}, .linked = {.max = FD_GONE_MAX}};
}

void fd_gone_free(struct fd_gone *g)
{
	recent_free(&g->gone);
	recent_free(&g->linked);
}

static uint64_t fd_gone_hash(const struct fd_gone *g, int64_t file_id)
{
	struct bytes name = dims_file_version_name(g->world->dims, file_id);

	return hash_bytes(name.data, name.len);
}

int fd_gone_note(struct fd_gone *g, int64_t file_id, int64_t at)
{
	return recent_set(&g->gone, fd_gone_hash(g, file_id), (uint64_t)at);
}

int fd_gone_linked(struct fd_gone *g, int64_t file_id)
{
	return recent_set(&g->linked, fd_gone_hash(g, file_id), 1);
}

bool fd_gone_is(struct fd_gone *g, int64_t file_id, int64_t at)
{
	int64_t latest = dims_latest_file(g->world->dims, file_id);
	struct dims_file room;
	const struct dims_file *f = dims_file(g->world->dims, latest, &room);
	uint64_t hash, when;

	if (!f || (f->type != FILE_TYPE_REGULAR && f->type != FILE_TYPE_DIRECTORY))
		return false;
	if (f->path.len >= strlen(FD_GONE_MEMFD) &&
	    !memcmp(f->path.data, FD_GONE_MEMFD, strlen(FD_GONE_MEMFD)))
		return false;
	if (f->deleted != INT64_MIN)
		return f->deleted <= at;
	hash = fd_gone_hash(g, latest);
	return recent_get(&g->gone, hash, &when) && f->since != INT64_MIN &&
	       f->since < (int64_t)when && !recent_get(&g->linked, hash, NULL);
}
