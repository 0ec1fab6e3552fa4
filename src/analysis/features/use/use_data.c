/* SPDX-License-Identifier: Apache-2.0 */
/* use_data.c: reads and writes of one process on one file. */
#include "analysis/features/use/use.h"
#include "base/saturate.h"

#include <errno.h>
#include <sys/mman.h>

#define RWF_DSYNC_BIT 2 /* for pwritev2, include/uapi/linux/fs.h */
#define RWF_SYNC_BIT  4
#define PAGE	      4096

/* True if a file can have the range. */
static bool use_in_file(const struct use *u, int64_t pos, int64_t bytes)
{
	return u->positions && pos >= 0 && bytes >= 0 && pos <= INT64_MAX - bytes;
}

static int use_count_direct(struct use_state *s, struct use *u, const struct feature_call *c,
			    int64_t pos)
{
	struct use_rest *rest = use_rests(s, u);
	int64_t size = c->size == FEATURE_NULL ? c->bytes : c->size;

	if (!rest)
		return -ENOMEM;
	rest->direct++;
	rest->misaligned +=
		size < USE_SMALL || size % USE_SMALL || (pos != FEATURE_NULL && pos % USE_SMALL);
	return 0;
}

static void use_count_order(struct use_task *t, const struct use *u, struct use_read *r,
			    int64_t pos, int64_t bytes)
{
	if (r->any && (pos == r->to || (t->read_use == u->index && t->read_to == pos)))
		r->next++;
	else if (r->any && pos < r->from)
		r->back++;
	r->from = pos;
	r->to = t->read_to = pos + bytes;
	t->read_use = u->index;
}

int use_data_read(struct use_state *s, struct use_task *t, struct use *u,
		  const struct feature_call *c, int64_t pos, uint32_t fd_flags)
{
	struct use_read *r = use_reads(s, u);
	int64_t bytes = c->bytes, want = c->size == FEATURE_NULL ? bytes : c->size;
	struct use_file *f;

	if (!r || hist_add(&r->hist, (uint64_t)bytes, 1) < 0)
		return -ENOMEM;
	r->reads++;
	r->bytes = add_sat_signed(r->bytes, bytes);
	r->time = add_sat_signed(r->time, c->class == CLASS_WAIT ? 0 : c->dur);
	r->small += bytes > 0 && bytes < USE_SMALL;
	r->tiny += bytes > 0 && bytes <= USE_TINY;
	r->ends += c->ret == 0 && want != 0;
	if (fd_flags & USE_FD_DIRECT && use_count_direct(s, u, c, pos) < 0)
		return -ENOMEM;
	if (pos == FEATURE_NULL || !use_in_file(u, pos, bytes))
		return 0;
	f = use_file(s, u->file);
	if (!f)
		return -ENOMEM;
	use_count_order(t, u, r, pos, bytes);
	use_file_read(s, f, u, c, pos, want);
	if (bytes == 0)
		return 0;
	use_file_catch_up(s, f, r);
	r->reread = add_sat_signed(r->reread,
				   bytes - ranges_put(&r->fresh, &s->room, pos, pos + bytes, 0));
	r->stop = MAX(r->stop, pos + bytes);
	return 0;
}

/* True if the data is durable when the write returns. */
static bool use_is_synced(const struct feature_call *c, uint32_t fd_flags)
{
	return fd_flags & USE_FD_SYNC ||
	       (c->op == USE_OP_PWRITEV2 && c->flags & (RWF_DSYNC_BIT | RWF_SYNC_BIT));
}

static int use_count_durable(struct use_state *s, struct use *u, const struct feature_call *c,
			     uint32_t fd_flags)
{
	struct use_write *w = u->write;
	struct use_rest *rest;

	if (!use_is_synced(c, fd_flags)) {
		w->dirty = add_sat_signed(use_dirty(s, u), c->bytes);
		w->dirty_at = c->stop;
		w->dirty_epoch = use_file_epoch(s, u->file);
		return 0;
	}
	rest = use_rests(s, u);
	if (!rest)
		return -ENOMEM;
	rest->syncs++;
	rest->sync_time = add_sat_signed(rest->sync_time, c->dur);
	rest->synced_at = c->stop;
	return 0;
}

int use_data_write(struct use_state *s, struct use_task *t, struct use *u,
		   const struct feature_call *c, int64_t pos, uint32_t fd_flags)
{
	struct use_write *w = use_writes(s, u);
	int64_t bytes = c->bytes;
	struct use_file *f;

	if (!w || hist_add(&w->hist, (uint64_t)bytes, 1) < 0)
		return -ENOMEM;
	w->writes++;
	w->bytes = add_sat_signed(w->bytes, bytes);
	w->time = add_sat_signed(w->time, c->class == CLASS_WAIT ? 0 : c->dur);
	w->small += bytes > 0 && bytes < USE_SMALL;
	w->appends += fd_flags & USE_FD_APPEND || c->status & STATUS_APPEND;
	if (use_watch_short(s, t, u, c, pos) < 0 ||
	    (fd_flags & USE_FD_DIRECT && use_count_direct(s, u, c, pos) < 0))
		return -ENOMEM;
	if (pos == FEATURE_NULL || bytes == 0 || !use_in_file(u, pos, bytes))
		return 0;
	f = use_file(s, u->file);
	if (!f || use_count_durable(s, u, c, fd_flags) < 0)
		return -ENOMEM;
	w->first = w->any ? w->first : pos;
	w->next += w->any && pos == w->to;
	w->any = true;
	w->to = pos + bytes;
	w->stop = MAX(w->stop, w->to);
	ranges_put(&w->covered_ranges, &s->room, pos, w->to, 0);
	return use_file_wrote(s, f, u, c, pos);
}

/*
 * A mapped range counts as read once and, if the program may write to the file through it, as written. Whether and when
 * it was written is unknown: such bytes are never `unread`, and reading them is not `reread`.
 */
int use_data_map(struct use_state *s, struct use *u, const struct feature_call *c)
{
	int64_t prot = c->rest->a2 == FEATURE_NULL ? PROT_READ : c->rest->a2, from = c->pos, to;
	bool shared = c->flags & MAP_SHARED; /* MAP_SHARED_VALIDATE includes the bit */
	struct use_rest *rest;
	struct use_file *f;

	if (!(prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) || from == FEATURE_NULL ||
	    c->size <= 0 || !use_in_file(u, from, c->size))
		return 0;
	f = use_file(s, u->file);
	rest = use_rests(s, u);
	if (!f || !rest)
		return -ENOMEM;
	to = from + c->size;
	if (f->size_exact)
		to = MIN(to, f->size);
	if (shared && use_map_add(s, u, c) < 0)
		return -ENOMEM;
	if (from >= to)
		return 0;
	ranges_put(&rest->mapped_read, &s->room, from, to, 0);
	if (shared && prot & PROT_WRITE)
		ranges_put(&rest->mapped_write, &s->room, from, to, 0);
	use_file_taken(s, f, from, to);
	return 0;
}
