/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use_life.c: descriptors, names and syncs.
 *
 * A descriptor that was opened before recording, inherited or received is known from its first use on; its flags are
 * known only if the parent process had it.
 */
#include "analysis/features/use/use.h"
#include "base/saturate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>

#include "names/names.h"

#define CLOSE_RANGE_CLOEXEC_BIT 4
/* ns: a birth time has the resolution of the kernel's tick, up to 10 ms */
#define BIRTH_BEFORE 20000000
#define BIRTH_AFTER  1000000 /* the wall clock may have been slewed */

/* ---- descriptors ---- */

void use_process_free(struct use_state *s, struct use_process *p)
{
	s->memory -= p->fd_cap * sizeof(*p->fds);
	free(p->fds);
	free(p->maps);
	*p = (struct use_process){0};
}

static int use_process_of(struct use_state *s, uint32_t process, struct use_process **ret)
{
	int r = process < s->process_cap ? 0
					 : feature_grow((void **)&s->processes, &s->process_cap,
							(size_t)process + 1, sizeof(*s->processes));

	*ret = r < 0 ? NULL : &s->processes[process];
	return r;
}

static struct use_fd *use_fd_known(struct use_process *p, int64_t fd)
{
	return fd >= 0 && fd < p->fd_cap && p->fds[fd].use != USE_NONE ? &p->fds[fd] : NULL;
}

static void use_fd_close(struct use_state *s, struct use_fd *d)
{
	struct use *u = use_at(s, d->use);

	d->use = USE_NONE;
	assert(u->open_now > 0);
	if (--u->open_now == 0)
		use_file_closed(s, u);
}

/* Records an open descriptor of this use. */
static int use_fd_open(struct use_state *s, struct use *u, uint32_t process, int64_t fd,
		       uint32_t flags)
{
	struct use_process *p;
	struct use_fd *known;
	size_t cap;
	int r = use_process_of(s, process, &p);

	if (r < 0 || fd < 0 || fd >= USE_FDS_MAX)
		return r;
	known = use_fd_known(p, fd);
	if (known) /* its close was lost, or is a call of another thread that has not ended yet */
		use_fd_close(s, known);
	if (fd >= p->fd_cap) {
		cap = p->fd_cap;
		r = grow((void **)&p->fds, &cap, (size_t)fd + 1, sizeof(*p->fds));
		if (r < 0)
			return r;
		memset(p->fds + p->fd_cap, 0xff, (cap - p->fd_cap) * sizeof(*p->fds));
		s->memory += (cap - p->fd_cap) * sizeof(*p->fds);
		p->fd_cap = (uint32_t)cap;
	}
	p->fds[fd] = (struct use_fd){u->index, flags};
	u->open_most = MAX(u->open_most, ++u->open_now);
	return 0;
}

static uint32_t use_inherited_flags(const struct use_state *s, const struct use *u,
				    uint32_t process, int64_t fd)
{
	const struct dims_process *d =
		dims_process(s->world->dims, feature_id(s->world->processes, process));
	struct use_process *parent;
	struct use_fd *had;
	uint64_t number;

	if (!d || d->ppid < 0 || !map_get(&s->by_pid, (uint64_t)d->ppid, &number) ||
	    number >= s->process_cap)
		return 0;
	parent = &s->processes[number];
	had = use_fd_known(parent, fd);
	return had && use_at(s, had->use)->file == u->file ? had->flags & ~USE_FD_EXEC : 0;
}

int use_fd_flags(struct use_state *s, struct use *u, uint32_t process, int64_t fd, uint32_t *ret)
{
	struct use_process *p;
	struct use_fd *d;
	int r = use_process_of(s, process, &p);

	*ret = 0;
	if (r < 0)
		return r;
	d = use_fd_known(p, fd);
	if (likely(d && d->use == u->index)) {
		*ret = d->flags;
		return 0;
	}
	if (fd < 0)
		return 0;
	*ret = use_inherited_flags(s, u, process, fd);
	return use_fd_open(s, u, process, fd, *ret);
}

static uint32_t use_flags_of(int64_t open_flags)
{
	/* O_SYNC includes the bit */
	return (open_flags & O_APPEND ? USE_FD_APPEND : 0) |
	       (open_flags & O_DIRECT ? USE_FD_DIRECT : 0) |
	       (open_flags & O_DSYNC ? USE_FD_SYNC : 0) |
	       (open_flags & O_CLOEXEC ? USE_FD_EXEC : 0);
}

static void use_process_close(struct use_state *s, uint32_t process, int64_t from, int64_t to,
			      uint32_t with_flags)
{
	struct use_process *p;

	if (process >= s->process_cap)
		return;
	p = &s->processes[process];
	for (int64_t fd = MAX(from, (int64_t)0); fd <= to && fd < p->fd_cap; fd++) {
		if (p->fds[fd].use != USE_NONE && (p->fds[fd].flags & with_flags) == with_flags)
			use_fd_close(s, &p->fds[fd]);
	}
}

/* The kernel uses the lower 32 bits: a last descriptor of -1 means all. */
static void use_close_range_of(struct use_state *s, const struct feature_call *c)
{
	int64_t first = (uint32_t)c->rest->a0, last = (uint32_t)c->rest->a1;
	struct use_process *p;

	if (c->rest->a0 == FEATURE_NULL || c->rest->a1 == FEATURE_NULL ||
	    c->process >= s->process_cap)
		return;
	if (!(c->flags & CLOSE_RANGE_CLOEXEC_BIT)) {
		use_process_close(s, c->process, first, last, 0);
		return;
	}
	p = &s->processes[c->process];
	for (int64_t fd = first; fd <= last && fd < p->fd_cap; fd++)
		p->fds[fd].flags |= USE_FD_EXEC;
}

static int use_descriptor_control(struct use_state *s, struct use *u, const struct feature_call *c)
{
	uint32_t flags, keep = USE_FD_SYNC | USE_FD_EXEC;
	struct use_fd *d;
	int r;

	if (!use_ok(c) || c->rest->a1 == FEATURE_NULL)
		return 0;
	r = use_fd_flags(s, u, c->process, c->fd, &flags);
	if (r < 0)
		return r;
	if (c->rest->a1 == F_DUPFD || c->rest->a1 == F_DUPFD_CLOEXEC)
		return use_fd_open(s, u, c->process, c->ret,
				   (flags & ~(uint32_t)USE_FD_EXEC) |
					   (c->rest->a1 == F_DUPFD_CLOEXEC ? USE_FD_EXEC : 0));
	d = use_fd_known(&s->processes[c->process], c->fd);
	if (!d || c->rest->a2 == FEATURE_NULL)
		return 0;
	if (c->rest->a1 == F_SETFD)
		d->flags = (d->flags & ~(uint32_t)USE_FD_EXEC) |
			   (c->rest->a2 & FD_CLOEXEC ? USE_FD_EXEC : 0);
	else if (c->rest->a1 == F_SETFL)
		d->flags = (d->flags & keep) | (use_flags_of(c->rest->a2) & ~keep);
	return 0;
}

static int use_duplicate(struct use_state *s, struct use *u, const struct feature_call *c)
{
	uint32_t flags;
	int r = use_ok(c) ? use_fd_flags(s, u, c->process, c->fd, &flags) : 0;

	if (r < 0 || !use_ok(c) || c->ret == c->fd)
		return r;
	return use_fd_open(s, u, c->process, c->ret,
			   (flags & ~(uint32_t)USE_FD_EXEC) |
				   (c->flags & O_CLOEXEC ? USE_FD_EXEC : 0));
}

static void use_close_one(struct use_state *s, struct use *u, const struct feature_call *c)
{
	struct use_fd *d =
		c->process < s->process_cap ? use_fd_known(&s->processes[c->process], c->fd) : NULL;

	u->open_time = add_sat_signed(u->open_time, c->dur);
	/* when the close ends, an open in another thread may already have reused the number */
	if (d && d->use == u->index && c->ret != -EBADF && c->ret != FEATURE_NULL)
		use_fd_close(s, d);
}

/* ---- names ---- */

static struct bytes use_path_of(const struct use_state *s, int64_t version)
{
	struct dims_file room;
	const struct dims_file *d = version < 0 ? NULL : dims_file(s->world->dims, version, &room);

	return d ? names_trimmed(d->path) : (struct bytes){NULL, 0};
}

static uint64_t use_key_of_hash(uint64_t space, uint64_t hash)
{
	return hash ? hash_u64(hash ^ space) : 0;
}

static uint64_t use_key_of(uint64_t space, struct bytes path)
{
	return path.len ? use_key_of_hash(space, hash_bytes(path.data, path.len)) : 0;
}

uint64_t use_name_hash(const struct use_state *s, int64_t version)
{
	struct bytes path = use_path_of(s, version);

	return path.len ? hash_bytes(path.data, path.len) : 0;
}

/* Key of the name of a file's version, as seen by a task in this namespace; 0: none. */
static uint64_t use_name_key(const struct use_state *s, uint64_t space, int64_t version)
{
	return use_key_of(space, use_path_of(s, version));
}

static uint64_t use_folder_key(const struct use_state *s, uint64_t space, int64_t version)
{
	struct bytes path = use_path_of(s, version);

	while (path.len && path.data[path.len - 1] != '/')
		path.len--;
	return use_key_of(space, names_trimmed(path));
}

static int use_name_set(struct use_state *s, uint64_t key, uint64_t value)
{
	if (!key)
		return 0;
	if (s->names.count >= USE_NAMES_MAX)
		map_clear(&s->names);
	return map_set(&s->names, key, value);
}

int use_named_file(struct use_state *s, const struct use_task *t, const struct feature_call *c,
		   uint32_t *ret)
{
	struct use_file_state *state;
	uint64_t value, key, hash;
	int r = use_file_state(s, c->file, &state);

	*ret = c->file;
	if (r < 0 || !state->name_only || c->err == ENOENT || s->names.count == 0)
		return r;
	if (!map_get(&s->name_hashes, c->file, &hash))
		return 0;
	key = use_key_of_hash(t->space, hash);
	if (key && map_get(&s->names, key, &value) && value >= NAME_FILE)
		*ret = (uint32_t)(value - NAME_FILE);
	return 0;
}

int use_life_missing(struct use_state *s, const struct use_task *t, struct use *u,
		     const struct feature_call *c)
{
	u->missing++;
	return use_name_set(s, use_name_key(s, t->space, c->file_id), NAME_GONE);
}

int use_life_task(struct use_state *s, struct use_task *t, const struct feature_call *c)
{
	const struct dims_thread *d = dims_thread(s->world->dims, c->thread_id);
	const struct dims_process *p =
		dims_process(s->world->dims, feature_id(s->world->processes, c->process));

	t->version = c->thread_id;
	t->space = hash_u64((uint64_t)(d ? d->mnt_ns : 0)) ^
		   (uint64_t)dims_machine(s->world->dims, c->thread_id);
	return p && p->pid >= 0 ? map_set(&s->by_pid, (uint64_t)p->pid, c->process) : 0;
}

/* ---- opens ---- */

/* True if the open created the file: by its result, or because the file was born during the call. */
static bool use_is_created(const struct use_state *s, const struct use_task *t, const struct use *u,
			   const struct feature_call *c, bool first)
{
	const int64_t flags = c->op == USE_OP_CREAT ? O_CREAT | O_TRUNC : c->flags;
	struct dims_file room;
	const struct dims_file *d;
	uint64_t name, key;

	if ((flags & O_TMPFILE) == O_TMPFILE || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return true;
	if (!(flags & O_CREAT) || !first || c->start == FEATURE_NULL)
		return false;
	d = dims_file(s->world->dims, c->file_id, &room);
	if (d && d->birth != INT64_MIN)
		return d->birth >= c->start - BIRTH_BEFORE && d->birth <= c->stop + BIRTH_AFTER;
	key = use_name_key(s, t->space, c->file_id);
	return u->file != USE_NONE && key && map_get(&s->names, key, &name) && name == NAME_GONE;
}

static int use_count_created(struct use_state *s, const struct use_task *t, struct use *u,
			     const struct feature_call *c)
{
	struct use_rest *rest = use_rests(s, u);

	if (!rest)
		return -ENOMEM;
	rest->created = 1;
	rest->folder = use_folder_key(s, t->space, c->file_id);
	rest->named_at = c->stop;
	return 0;
}

static int use_count_cut(struct use_state *s, struct use *u, int64_t size, bool only_known)
{
	struct use_file *f = use_file(s, u->file);
	struct use_rest *rest;

	if (!f)
		return -ENOMEM;
	if (f->size > size || (!f->size_exact && !only_known)) {
		rest = use_rests(s, u);
		if (!rest)
			return -ENOMEM;
		rest->truncated++;
		if (u->write)
			u->write->synced_stop = 0;
	}
	return use_file_cut(s, f, u, size);
}

static int use_opened_file(struct use_state *s, struct use_task *t, struct use *u,
			   const struct feature_call *c)
{
	const int64_t flags = c->op == USE_OP_CREAT ? O_CREAT | O_TRUNC : c->flags;
	struct use_file_state *state;
	bool created;
	int r = use_file_state(s, u->file, &state);

	if (r < 0)
		return r;
	created = use_is_created(s, t, u, c, !state->opened && !state->data);
	state->opened = true;
	if (created) {
		state->created = !state->data;
		r = use_count_created(s, t, u, c);
	} else if (flags & O_TRUNC && u->positions && (flags & O_ACCMODE) != O_RDONLY) {
		r = use_count_cut(s, u, 0, false);
	}
	if (r >= 0 && c->file_size >= 0 && u->positions) {
		struct use_file *f = use_file(s, u->file);

		if (!f)
			return -ENOMEM;
		f->size = c->file_size;
		f->size_exact = true;
	}
	if (r < 0 || (flags & O_TMPFILE) == O_TMPFILE || c->op == USE_OP_MEMFD)
		return r;
	return use_name_set(s, use_name_key(s, t->space, c->file_id), NAME_FILE + u->file);
}

static int use_open_call(struct use_state *s, struct use_task *t, struct use *u,
			 const struct feature_call *c)
{
	uint32_t flags =
		use_flags_of(c->op == USE_OP_MEMFD ? (c->flags & 1 ? O_CLOEXEC : 0) : c->flags);
	struct use *second;
	int r = 0;

	if (c->class != CLASS_WAIT)
		u->open_time = add_sat_signed(u->open_time, c->dur);
	if (!use_ok(c))
		return 0;
	if (c->op == USE_OP_ACCEPT || c->op == USE_OP_ACCEPT4) {
		second = c->file2 == FEATURE_NONE ? NULL : use_of(s, c->process, c->file2);
		if (!second)
			return 0;
		second->first = MIN(second->first, c->stop);
		second->last = MAX(second->last, c->stop);
		second->opens++;
		return use_fd_open(s, second, c->process, c->ret, flags);
	}
	u->opens++;
	if (c->op == USE_OP_PIPE || c->op == USE_OP_PIPE2 || c->op == USE_OP_SOCKETPAIR) {
		r = use_fd_open(s, u, c->process, c->fd, flags);
		second = c->file2 == FEATURE_NONE ? NULL : use_of(s, c->process, c->file2);
		if (r < 0 || !second)
			return r;
		second->first = MIN(second->first, c->stop);
		second->last = MAX(second->last, c->stop);
		second->opens += second != u;
		return use_fd_open(s, second, c->process, c->rest->fd2, flags);
	}
	r = use_fd_open(s, u, c->process, c->ret, flags);
	return r < 0 || c->op == USE_OP_SOCKET ? r : use_opened_file(s, t, u, c);
}

/* ---- renames, links, removals ---- */

/*
 * True if a power failure after the rename could leave a file without its data. One that was synced in its full length is
 * there, even if a mark in it was changed afterwards, as Erlang's disk_log does when it closes a log.
 */
static bool use_is_unsynced(const struct use_state *s, const struct use *u)
{
	const struct use_write *w = u->write;

	return use_dirty(s, u) > 0 && (w->stop > w->synced_stop || w->dirty >= w->stop);
}

static int use_rename_call(struct use_state *s, const struct use_task *t, struct use *u,
			   const struct feature_call *c)
{
	int64_t second = c->file2 == FEATURE_NONE ? -1 : feature_id(s->world->files, c->file2);
	uint64_t from = use_name_key(s, t->space, c->file_id),
		 to = use_name_key(s, t->space, second), over = NAME_GONE;
	struct use_file_state *state;
	struct use_rest *rest;
	int r;

	if (!use_ok(c))
		return 0;
	rest = use_rests(s, u);
	r = use_file_state(s, u->file, &state);
	if (r < 0 || !rest)
		return -ENOMEM;
	if (to && !map_get(&s->names, to, &over))
		over = NAME_GONE;
	rest->renamed++;
	rest->unsynced += over != NAME_GONE && over != NAME_FILE + (uint64_t)u->file &&
			  !(c->flags & RENAME_EXCHANGE) && use_is_unsynced(s, u);
	rest->folder = use_folder_key(s, t->space, second);
	rest->named_at = c->stop;
	if (state->type == FILE_TYPE_DIRECTORY) { /* contains any number of files */
		map_clear(&s->names);
		return 0;
	}
	r = use_name_set(s, to, state->name_only ? NAME_THERE : NAME_FILE + (uint64_t)u->file);
	return r < 0 ? r : use_name_set(s, from, c->flags & RENAME_EXCHANGE ? over : NAME_GONE);
}

static int use_unlink_call(struct use_state *s, const struct use_task *t, struct use *u,
			   const struct feature_call *c)
{
	struct use_rest *rest = use_ok(c) ? use_rests(s, u) : NULL;

	if (!use_ok(c))
		return 0;
	if (!rest)
		return -ENOMEM;
	rest->removed = 1;
	return use_name_set(s, use_name_key(s, t->space, c->file_id), NAME_GONE);
}

static int use_make_call(struct use_state *s, const struct use_task *t, struct use *u,
			 const struct feature_call *c)
{
	int r = use_ok(c) ? use_count_created(s, t, u, c) : 0;

	return r < 0 || !use_ok(c)
		       ? r
		       : use_name_set(s, use_name_key(s, t->space, c->file_id), NAME_THERE);
}

static int use_link_call(struct use_state *s, const struct use_task *t, const struct use *u,
			 const struct feature_call *c)
{
	if (!use_ok(c) || c->file2 == FEATURE_NONE)
		return 0;
	return use_name_set(s, use_name_key(s, t->space, feature_id(s->world->files, c->file2)),
			    NAME_FILE + u->file);
}

/* ---- syncs ---- */

static int use_sync_call(struct use_state *s, const struct use_task *t, struct use *u,
			 const struct feature_call *c)
{
	struct use_file *f = use_file_known(s, u->file);
	struct use_rest *rest = use_rests(s, u);
	int64_t began = c->start == FEATURE_NULL ? INT64_MIN : c->start;
	struct use_file_state *state;
	struct dims_file room;
	const struct dims_file *d;
	uint64_t key;
	int r = use_file_state(s, u->file, &state);

	if (!rest || r < 0)
		return -ENOMEM;
	rest->syncs++;
	rest->sync_time = add_sat_signed(rest->sync_time, c->dur);
	if (!use_ok(c) || use_act_of(s, c) == ACT_SYNC_RANGE)
		return 0;
	rest->synced_at = c->stop;
	if (f)
		f->epoch++;
	if (u->write) {
		u->write->dirty = 0;
		u->write->synced_stop = u->write->stop;
	}
	if (use_act_of(s, c) == ACT_SYNC_FS) {
		d = dims_file(s->world->dims, c->file_id, &room);
		return d ? map_set(&s->devices, (uint64_t)d->dev, (uint64_t)began) : 0;
	}
	key = state->type == FILE_TYPE_DIRECTORY ? use_name_key(s, t->space, c->file_id) : 0;
	return key ? map_set(&s->folders, key, (uint64_t)began) : 0;
}

bool use_folder_unsynced(const struct use_state *s, const struct use *u)
{
	const struct use_rest *rest = u->rest;
	uint64_t at;

	if (!rest || !rest->folder || rest->removed || !rest->synced_at)
		return false;
	if (use_system_synced(s, u->file) >= rest->named_at)
		return false;
	return !map_get(&s->folders, rest->folder, &at) || (int64_t)at < rest->named_at;
}

/* ---- shared mappings ---- */

int use_map_add(struct use_state *s, struct use *u, const struct feature_call *c)
{
	struct use_process *p;
	size_t cap;
	int r = use_process_of(s, c->process, &p);

	if (r < 0 || p->map_count >= USE_MAPS_MAX)
		return r;
	cap = p->map_cap;
	r = grow((void **)&p->maps, &cap, (size_t)p->map_count + 1, sizeof(*p->maps));
	if (r < 0)
		return r;
	p->map_cap = (uint32_t)cap;
	p->maps[p->map_count++] =
		(struct use_map){(uint64_t)c->ret, (uint64_t)c->size, u->process, u->file};
	return 0;
}

static void use_map_remove(struct use_process *p, const struct feature_call *c)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < p->map_count; i++) {
		if (p->maps[i].at - (uint64_t)c->rest->a0 >= (uint64_t)c->size)
			p->maps[kept++] = p->maps[i];
	}
	p->map_count = kept;
}

/* For an msync without its file: finds what is mapped there. */
static int use_map_sync(struct use_state *s, const struct use_process *p,
			const struct feature_call *c)
{
	for (uint32_t i = 0; i < p->map_count; i++) {
		const struct use_map *m = &p->maps[i];
		struct use_task none = {.space = 0};
		struct use *u;

		if ((uint64_t)c->rest->a0 - m->at >= m->len)
			continue;
		u = use_of(s, m->process, m->file);
		if (!u)
			return -ENOMEM;
		use_add_call(u, &none, c, ACT_SYNC);
		return use_sync_call(s, &none, u, c);
	}
	return 0;
}

/* ---- calls ---- */

int use_life_other(struct use_state *s, const struct feature_call *c)
{
	struct use_process *p = c->process < s->process_cap ? &s->processes[c->process] : NULL;

	switch (use_act_of(s, c)) {
	case ACT_SYNC_FS:
		if (use_ok(c) && c->start != FEATURE_NULL)
			s->synced_all = MAX(s->synced_all, c->start);
		return 0;
	case ACT_MSYNC:
		return p && p->map_count > 0 ? use_map_sync(s, p, c) : 0;
	case ACT_UNMAP:
		if (p && use_ok(c) && p->map_count > 0)
			use_map_remove(p, c);
		return 0;
	case ACT_CLOSE_RANGE:
		if (use_ok(c))
			use_close_range_of(s, c);
		return 0;
	case ACT_EXIT:
		if (p) {
			use_process_close(s, c->process, 0, INT64_MAX, 0);
			use_process_free(s, p);
		}
		return 0;
	default:
		return 0;
	}
}

int use_life_call(struct use_state *s, struct use_task *t, struct use *u,
		  const struct feature_call *c)
{
	struct use_file *f;

	switch (use_act_of(s, c)) {
	case ACT_OPEN:
		return use_open_call(s, t, u, c);
	case ACT_CLOSE:
		use_close_one(s, u, c);
		return use_watch_short_end(s, t, u->index);
	case ACT_DUP:
		return use_duplicate(s, u, c);
	case ACT_FCNTL:
		return use_descriptor_control(s, u, c);
	case ACT_SYNC:
	case ACT_SYNC_RANGE:
	case ACT_SYNC_FS:
	case ACT_MSYNC: /* without its file in older traces: use_map_sync() */
		return use_sync_call(s, t, u, c);
	case ACT_CUT:
		return use_ok(c) && c->size >= 0 ? use_count_cut(s, u, c->size, c->size > 0) : 0;
	case ACT_ALLOCATE:
		f = use_ok(c) ? use_file_known(s, u->file) : NULL;
		if (f && c->flags & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE))
			f->size_exact = false;
		else if (f && !(c->flags & FALLOC_FL_KEEP_SIZE) && c->pos >= 0)
			f->size = MAX(f->size, add_sat_signed(c->pos, c->size));
		return 0;
	case ACT_RENAME:
		return use_rename_call(s, t, u, c);
	case ACT_UNLINK:
		return use_unlink_call(s, t, u, c);
	case ACT_LINK:
		return use_link_call(s, t, u, c);
	case ACT_MAKE:
		return use_make_call(s, t, u, c);
	case ACT_EXEC:
		if (use_ok(c))
			use_process_close(s, c->process, 0, INT64_MAX, USE_FD_EXEC);
		if (use_ok(c) && c->process < s->process_cap)
			s->processes[c->process].map_count = 0;
		return 0;
	default:
		return 0;
	}
}
