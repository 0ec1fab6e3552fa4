/* SPDX-License-Identifier: Apache-2.0 */
/* use.c: the feature `use`: applies each call to the state of the file that it uses. */
#include "analysis/features/use/use.h"
#include "base/saturate.h"

#include <errno.h>
#include <string.h>

static const struct feature_ops use_ops[] = {
	/* a fault reads a page of a mapped file */
	{ACT_READ, "read pread64 readv preadv preadv2 recvfrom recvmsg recvmmsg fault"},
	{ACT_WRITE, "write pwrite64 writev pwritev pwritev2 sendto sendmsg sendmmsg vmsplice"},
	{ACT_COPY, "sendfile splice copy_file_range"},
	{ACT_OPEN, "open openat openat2 creat open_by_handle_at memfd_create socket socketpair "
		   "pipe pipe2 accept accept4"},
	{ACT_CLOSE, "close"},
	{ACT_SHUT, "shutdown"},
	{ACT_CLOSE_RANGE, "close_range"},
	{ACT_STAT, "access faccessat faccessat2"},
	{ACT_SYNC, "fsync fdatasync"},
	{ACT_SYNC_RANGE, "sync_file_range"},
	{ACT_SYNC_FS, "sync syncfs"},
	{ACT_MSYNC, "msync"},
	{ACT_MAP, "mmap"},
	{ACT_UNMAP, "munmap"},
	{ACT_DUP, "dup dup2 dup3"},
	{ACT_FCNTL, "fcntl"},
	{ACT_CUT, "truncate ftruncate"},
	{ACT_ALLOCATE, "fallocate"},
	{ACT_RENAME, "rename renameat renameat2"},
	{ACT_UNLINK, "unlink unlinkat rmdir"},
	{ACT_LINK, "link linkat"},
	{ACT_MAKE, "mkdir mkdirat mknod mknodat symlink symlinkat"},
	{ACT_LIST, "getdents getdents64"},
	{ACT_EXEC, "execve execveat"},
	{ACT_EXIT, "exit_group"},
};

static void use_acts(uint8_t acts[static OP_CODE_MAX])
{
	for (uint32_t code = 0; code < OP_CODE_MAX; code++) {
		const struct op_def *def = op_def(code);
		const uint32_t stats = OP_SET_STAT | OP_SET_LSTAT | OP_SET_FSTAT;

		acts[code] = def && def->sets & stats ? ACT_STAT : ACT_NONE;
	}
	feature_acts(use_ops, ARRAY_SIZE(use_ops), acts);
}

static int use_begin(void **ret, const struct feature_world *w)
{
	struct use_state *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->world = w;
	s->synced_all = INT64_MIN;
	s->room.max = USE_RANGES;
	s->scratch.max = SIZE_MAX;
	s->memory_max = s->fold_at = USE_MEMORY;
	use_acts(s->acts);
	*ret = s;
	return 0;
}

static void use_free(void *self)
{
	struct use_state *s = self;

	for (uint32_t i = 0; i < s->use_count; i++)
		use_free_parts(s, use_at(s, i));
	for (size_t i = 0; i < (s->use_count + USE_CHUNK - 1) / USE_CHUNK; i++)
		free(s->chunks[i]);
	for (size_t i = 0; i < s->file_cap; i++)
		use_file_free(s, &s->files[i]);
	for (size_t i = 0; i < s->process_cap; i++)
		use_process_free(s, &s->processes[i]);
	assert(s->room.used == 0);
	free(s->chunks);
	free(s->free_uses);
	free(s->files);
	free(s->processes);
	free(s->tasks);
	map_free(&s->by_key);
	map_free(&s->others);
	map_free(&s->names);
	map_free(&s->name_hashes);
	map_free(&s->folders);
	map_free(&s->devices);
	map_free(&s->by_pid);
	map_free(&s->folds);
	intern_free(&s->fold_names);
	free(s);
}

/* ---- uses ---- */

struct use *use_new(struct use_state *s)
{
	uint32_t i = (uint32_t)s->use_count;
	struct use *u;

	if (s->free_count > 0) {
		i = s->free_uses[--s->free_count];
	} else {
		if (i % USE_CHUNK == 0) {
			if (grow((void **)&s->chunks, &s->chunk_cap, i / USE_CHUNK + 1,
				 sizeof(*s->chunks)) < 0)
				return NULL;
			s->chunks[i / USE_CHUNK] = calloc(USE_CHUNK, sizeof(*u));
			if (!s->chunks[i / USE_CHUNK])
				return NULL;
		}
		s->use_count++;
	}
	s->memory += USE_COST;
	u = use_at(s, i);
	*u = (struct use){
		.index = i, .task = USE_NONE, .file = USE_NONE, .files = 1, .first = INT64_MAX};
	return u;
}

static int use_learn_file(struct use_state *s, uint32_t file, struct use_file_state *state)
{
	struct dims_file room;
	const struct dims_file *d =
		dims_file(s->world->dims, feature_id(s->world->files, file), &room);

	state->known = true;
	state->recent = USE_NONE;
	state->type = d && d->type >= 0 ? (uint8_t)d->type : FILE_TYPE_UNKNOWN;
	state->name_only = d && d->name_only;
	return state->name_only ? map_set(&s->name_hashes, file,
					  use_name_hash(s, feature_id(s->world->files, file)))
				: 0;
}

int use_file_state_slow(struct use_state *s, uint32_t file, struct use_file_state **ret)
{
	int r = file < s->file_cap ? 0
				   : feature_grow((void **)&s->files, &s->file_cap,
						  (size_t)file + 1, sizeof(*s->files));

	if (r < 0)
		return r;
	*ret = &s->files[file];
	return (*ret)->known ? 0 : use_learn_file(s, file, *ret);
}

struct use *use_of(struct use_state *s, uint32_t process, uint32_t file)
{
	uint64_t key = (uint64_t)process << 32 | file, index;
	struct use_file_state *state;
	struct use *u;

	if (use_file_state(s, file, &state) < 0)
		return NULL;
	if (state->recent != USE_NONE) { /* most files are used by one process at a time */
		u = use_at(s, state->recent);
		if (likely(u->process == process && u->file == file))
			return u;
	}
	if (map_get(&s->by_key, key, &index)) {
		state->recent = (uint32_t)index;
		return use_at(s, (uint32_t)index);
	}
	u = use_new(s);
	if (!u || map_set(&s->by_key, key, u->index) < 0)
		return NULL;
	u->process = process;
	u->file = file;
	u->type = state->type;
	u->positions = state->type == FILE_TYPE_REGULAR || state->type == FILE_TYPE_BLOCK ||
		       state->type == FILE_TYPE_UNKNOWN;
	state->users++;
	state->live++;
	state->recent = u->index;
	return u;
}

#define USE_PART(name, part)                                        \
	struct use_##part *name(struct use_state *s, struct use *u) \
	{                                                           \
		if (likely(u->part))                                \
			return u->part;                             \
		u->part = calloc(1, sizeof(*u->part));              \
		s->memory += u->part ? sizeof(*u->part) : 0;        \
		return u->part;                                     \
	}
USE_PART(use_reads, read)
USE_PART(use_writes, write)
USE_PART(use_rests, rest)

/* ---- calls ---- */

static int use_spend(struct use_state *s, struct use_spent *spent, uint32_t task)
{
	uint64_t key = (uint64_t)spent->use << 32 | task, sum = 0;
	int64_t time = spent->time;

	if (spent->use == USE_NONE)
		return 0;
	if (!map_get(&s->others, key, &sum)) {
		if (s->others.count >= USE_TASKS_MAX) { /* may or may not have been counted */
			use_at(s, spent->use)->inexact = true;
			return 0;
		}
		use_at(s, spent->use)->threads++;
	}
	*spent = (struct use_spent){.use = USE_NONE};
	return map_set(&s->others, key, sum + (uint64_t)time);
}

/* Adds the task's time to its use. */
static int use_task_settle(struct use_state *s, struct use_task *t, uint32_t task)
{
	struct use_spent *spent;
	struct use *u;
	int r = 0;

	if (t->use == USE_NONE)
		return 0;
	u = use_at(s, t->use);
	if (u->task == USE_NONE) {
		u->task = task;
		u->threads = 1;
	}
	if (likely(u->task == task)) {
		u->task_time = add_sat_signed(u->task_time, t->time);
	} else {
		spent = &t->spent[t->use % USE_SPENT];
		if (spent->use != t->use) {
			r = use_spend(s, spent, task);
			*spent = (struct use_spent){.use = t->use};
		}
		spent->time = add_sat_signed(spent->time, t->time);
	}
	t->time = 0;
	return r;
}

int use_task_finish(struct use_state *s, struct use_task *t, uint32_t task)
{
	int r = use_task_settle(s, t, task);

	for (unsigned int i = 0; i < USE_SPENT && r >= 0; i++) {
		r = use_spend(s, &t->spent[i], task);
		t->spent[i] = (struct use_spent){.use = USE_NONE};
	}
	return r;
}

static void use_task_clear(struct use_task *t)
{
	*t = (struct use_task){
		.file = USE_NONE,
		.use = USE_NONE,
		.read_use = USE_NONE,
		.short_use = USE_NONE,
		.version = -1,
	};
	for (unsigned int k = 0; k < USE_WATCHES; k++)
		t->watches[k].use = USE_NONE;
	for (unsigned int k = 0; k < USE_SPENT; k++)
		t->spent[k].use = USE_NONE;
}

static int use_task(struct use_state *s, uint32_t task, struct use_task **ret)
{
	size_t before = s->task_cap;
	int r;

	if (task >= s->task_cap) {
		r = feature_grow((void **)&s->tasks, &s->task_cap, (size_t)task + 1, sizeof(**ret));
		if (r < 0)
			return r;
		for (size_t i = before; i < s->task_cap; i++)
			use_task_clear(&s->tasks[i]);
	}
	*ret = &s->tasks[task];
	return 0;
}

/* Finds the use to which a task's call belongs. */
static int use_find(struct use_state *s, struct use_task *t, const struct feature_call *c,
		    struct use **ret)
{
	uint32_t file = c->file;
	int r;

	if (likely(t->file == file)) {
		*ret = use_at(s, t->use);
		return 0;
	}
	r = use_task_settle(s, t, c->task);
	if (r >= 0)
		r = use_named_file(s, t, c, &file);
	if (r < 0)
		return r;
	*ret = use_of(s, c->process, file);
	if (!*ret)
		return -ENOMEM;
	t->use = (*ret)->index;
	/* a name may denote another file by the next call */
	t->file = file == c->file ? file : USE_NONE;
	return 0;
}

void use_add_call(struct use *u, struct use_task *t, const struct feature_call *c, enum use_act act)
{
	int64_t start = feature_began(c);

	if (start != FEATURE_NULL)
		u->first = MIN(u->first, start);
	u->last = MAX(u->last, c->stop);
	u->errors += c->err != 0;
	u->bytes = add_sat_signed(
		u->bytes, act == ACT_COPY || act == ACT_READ || act == ACT_WRITE ? c->bytes : 0);
	if (c->class == CLASS_WAIT) /* waiting is not I/O */
		return;
	u->calls++;
	u->time = add_sat_signed(u->time, c->dur);
	t->time = add_sat_signed(t->time, c->dur);
}

static int use_data_call(struct use_state *s, struct use_task *t, struct use *u,
			 const struct feature_call *c)
{
	uint32_t flags;
	int r;

	if (!use_ok(c)) {
		use_watch_short_failed(s, t, u, c);
		return 0;
	}
	r = use_fd_flags(s, u, c->process, c->fd, &flags);
	if (r < 0)
		return r;
	return use_act_of(s, c) == ACT_READ ? use_data_read(s, t, u, c, c->pos, flags)
					    : use_data_write(s, t, u, c, c->pos, flags);
}

/* Counts the call for its second file as well. */
static int use_copy(struct use_state *s, struct use_task *t, struct use *u,
		    const struct feature_call *c)
{
	bool to_first = op_copy(c->op) == OP_COPY_TO_FIRST;
	struct use *second = c->file2 == FEATURE_NONE ? NULL : use_of(s, c->process, c->file2),
		   *in = to_first ? second : u, *out = to_first ? u : second;
	int64_t in_pos = to_first ? c->rest->pos2 : c->pos,
		out_pos = to_first ? c->pos : c->rest->pos2;
	struct use_task none;
	uint32_t flags = 0;
	int r = 0;

	use_task_clear(&none);
	if (second && second != u) {
		none.use = second->index;
		use_add_call(second, &none, c, ACT_COPY);
		r = use_task_finish(s, &none, c->task);
	}
	if (!use_ok(c))
		return r;
	if (r >= 0 && in)
		r = use_fd_flags(s, in, c->process, to_first ? c->rest->fd2 : c->fd, &flags);
	if (r >= 0 && in)
		r = use_data_read(s, in == u ? t : &none, in, c, in_pos, flags);
	if (r >= 0 && out)
		r = use_fd_flags(s, out, c->process, to_first ? c->fd : c->rest->fd2, &flags);
	if (r >= 0 && out)
		r = use_data_write(s, out == u ? t : &none, out, c, out_pos, flags);
	return r;
}

static int use_act(struct use_state *s, struct use_task *t, struct use *u,
		   const struct feature_call *c)
{
	struct use_rest *rest;

	switch (use_act_of(s, c)) {
	case ACT_NONE:
		return 0;
	case ACT_READ:
	case ACT_WRITE:
		return use_data_call(s, t, u, c);
	case ACT_COPY:
		return use_copy(s, t, u, c);
	case ACT_STAT:
		u->stats++;
		u->stat_time = add_sat_signed(u->stat_time, c->dur);
		return 0;
	case ACT_LIST:
		rest = use_rests(s, u);
		if (!rest)
			return -ENOMEM;
		rest->entries = add_sat_signed(rest->entries, c->bytes);
		return 0;
	case ACT_MAP:
		return use_ok(c) ? use_data_map(s, u, c) : 0;
	default:
		return use_life_call(s, t, u, c);
	}
}

static int use_call(struct use_state *s, const struct feature_call *c)
{
	enum use_act act = use_act_of(s, c);
	struct use_task *t;
	struct use *u;
	int r = use_task(s, c->task, &t);

	if (r < 0)
		return r;
	if (t->watching > 0)
		use_watch_next(s, t, c);
	if (unlikely(t->short_use != USE_NONE) && use_watch_short_other(s, t, c) < 0)
		return -ENOMEM;
	if (unlikely(act == ACT_EXIT) && use_watch_short_end(s, t, USE_NONE) < 0)
		return -ENOMEM;
	if (c->file == FEATURE_NONE)
		return use_life_other(s, c);
	if (unlikely(t->version != c->thread_id) && use_life_task(s, t, c) < 0)
		return -ENOMEM;
	r = use_find(s, t, c, &u);
	if (r < 0)
		return r;
	use_add_call(u, t, c, act);
	r = unlikely(c->err == ENOENT) ? use_life_missing(s, t, u, c) : 0;
	if (r >= 0)
		r = use_act(s, t, u, c);
	if (act == ACT_WRITE || act == ACT_SYNC || act == ACT_CLOSE)
		use_watch_begin(t, u, c, act);
	return r;
}

/*
 * The calls of a batch use many files, whose state is spread over several places: prefetches it some calls before it is
 * needed.
 */
static void use_prefetch(const struct use_state *s, const struct feature_call *c,
			 const struct feature_call *last)
{
	uint32_t far = c + 12 < last ? c[12].file : FEATURE_NONE,
		 middle = c + 8 < last ? c[8].file : FEATURE_NONE,
		 near = c + 4 < last ? c[4].file : FEATURE_NONE;
	const struct use *u;
	const char *part;

	if (far < s->file_cap)
		__builtin_prefetch(&s->files[far]);
	if (middle < s->file_cap && s->files[middle].recent < s->use_count) {
		u = use_at(s, s->files[middle].recent);
		__builtin_prefetch(u);
		__builtin_prefetch((const char *)u + 64);
		__builtin_prefetch((const char *)u + 128);
		__builtin_prefetch(s->files[middle].data);
	}
	if (near < s->file_cap && s->files[near].recent < s->use_count) {
		u = use_at(s, s->files[near].recent);
		part = u->read ? (const char *)u->read : (const char *)u->write;
		for (unsigned int at = 0; part && at < 192; at += 64)
			__builtin_prefetch(part + at);
	}
}

static int use_calls(void *self, const struct feature_call *calls, size_t count)
{
	struct use_state *s = self;
	int r = 0;

	for (const struct feature_call *c = calls; c < calls + count && r >= 0; c++) {
		use_prefetch(s, c, calls + count);
		if (c->task != FEATURE_NONE && c->process != FEATURE_NONE)
			r = use_call(s, c);
	}
	s->since_look += count;
	if (r < 0 || s->since_look < USE_FOLD_CALLS)
		return r;
	s->since_look = 0;
	return s->memory + s->room.used > s->fold_at ? use_fold(s) : 0;
}

static int use_end(void *self, enum table_id table, struct feature_rows *out)
{
	struct use_state *s = self;
	int r = 0;

	assert(table == TABLE_USE);
	for (uint32_t i = 0; i < s->task_cap && r >= 0; i++)
		r = use_task_finish(s, &s->tasks[i], i);
	map_free(&s->by_key);
	return r < 0 ? r : use_rows(s, out);
}

const struct feature feature_use = {
	.name = "use",
	.tables = {TABLE_USE, TABLE_COUNT},
	.more = TABLE_COUNT,
	.begin = use_begin,
	.calls = use_calls,
	.end = use_end,
	.free = use_free,
};
