// SPDX-License-Identifier: Apache-2.0
/* press.c: the feature of the tables `press` and `rival`. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/features/press/press.h"
#include "base/saturate.h"

#define COMMS_MAX (1u << 20) /* names of threads; further ones share one */

/* State of a file, by its number. */
enum press_file {
	FILE_DEVICE = 0xfff,   /* mask: number of its device; 0: not looked up */
	FILE_NOWHERE = 0xfff,  /* on no device */
	FILE_DIRECT = 1 << 15, /* flag: opened with O_DIRECT */
};

/* State of a thread. */
struct press_task {
	int64_t thread_id; /* version whose name is known, -1: none yet */
	uint32_t comm;	   /* number of its name */
	uint32_t group, epoch;
	uint16_t device; /* device of its group; 0: none yet */
};

struct press {
	const struct feature_world *world;
	uint8_t acts[OP_CODE_MAX]; /* enum press_act */
	uint16_t *files;
	size_t file_cap;
	struct press_task *tasks;
	size_t task_count, task_cap;
	struct intern comms;
	struct map devices; /* machine and device -> number, from 1 */
	int64_t devs[PRESS_DEVICES];
	struct press_cells cells;
};

enum press_act { PRESS_ACT_NONE, PRESS_ACT_WRITE, PRESS_ACT_LOCK, PRESS_ACT_OPEN };

static const struct feature_ops press_ops[] = {
	{PRESS_ACT_WRITE, "write writev pwrite64 pwritev pwritev2 sendfile fallocate"},
	{PRESS_ACT_LOCK, "flock fcntl"},
	{PRESS_ACT_OPEN, "open openat openat2"},
};

/* ---- devices ---- */

/* File systems in memory, or provided by the kernel, which have no device to share. */
static bool press_fs_has_no_device(struct bytes fs)
{
	static const char *const names[] = {"tmpfs",	  "devtmpfs", "ramfs",	 "proc",
					    "sysfs",	  "cgroup",   "cgroup2", "hugetlbfs",
					    "debugfs",	  "tracefs",  "devpts",	 "mqueue",
					    "securityfs", "bpf",      "efivarfs"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (bytes_is(fs, names[i]))
			return true;
	}
	return false;
}

static int press_device(struct press *p, int64_t file_id, uint16_t *ret)
{
	struct dims_file room;
	const struct dims_file *d = dims_file(p->world->dims, file_id, &room);
	uint64_t key, known;

	*ret = FILE_NOWHERE;
	if (!d || d->dev <= 0 || press_fs_has_no_device(d->fs) ||
	    (d->type != FILE_TYPE_REGULAR && d->type != FILE_TYPE_DIRECTORY &&
	     d->type != FILE_TYPE_BLOCK))
		return 0;
	key = hash_u64((uint64_t)dims_machine(p->world->dims, file_id)) ^ (uint64_t)d->dev;
	if (!map_get(&p->devices, key, &known)) {
		int r;

		known = p->devices.count + 1;
		if (known >= PRESS_DEVICES)
			return 0;
		r = map_set(&p->devices, key, known);
		if (r < 0)
			return r;
		p->devs[known] = d->dev;
	}
	*ret = (uint16_t)known;
	return 0;
}

static int press_file_device(struct press *p, const struct feature_call *c, uint16_t *ret)
{
	uint16_t *f = &p->files[c->file];
	int r = 0;

	if (unlikely(!(*f & FILE_DEVICE))) {
		r = press_device(p, c->file_id, ret);
		if (r >= 0)
			*f |= *ret;
	}
	*ret = *f & FILE_DEVICE;
	return r;
}

/* ---- groups ---- */

static int press_task_comm(struct press *p, struct press_task *t, int64_t thread_id)
{
	const struct dims_thread *d = dims_thread(p->world->dims, thread_id);
	uint32_t comm = COMMS_MAX;
	int r = 0;

	t->thread_id = thread_id;
	t->device = 0;
	if (d && (p->comms.count < COMMS_MAX ||
		  intern_find(&p->comms, d->comm.data, d->comm.len, &comm)))
		r = intern_add(&p->comms, d->comm.data, d->comm.len, &comm);
	t->comm = comm;
	return r;
}

static int press_task_group(struct press *p, const struct feature_call *c, uint16_t device,
			    uint32_t *ret)
{
	struct press_task *t = &p->tasks[c->task];
	uint64_t key;
	int r = t->thread_id == c->thread_id ? 0 : press_task_comm(p, t, c->thread_id);

	if (r < 0)
		return r;
	if (unlikely(t->device != device || t->epoch != p->cells.epoch)) {
		key = (uint64_t)c->process << 32 | (uint64_t)(t->comm % COMMS_MAX) << 12 | device;
		r = press_group_find(&p->cells, key, device, c->process, &t->group);
		if (r < 0)
			return r;
		t->device = device;
		t->epoch = p->cells.epoch;
		p->cells.groups[t->group].thread_id = c->thread_id;
	}
	*ret = t->group;
	return 0;
}

/* ---- calls ---- */

static int press_fit(struct press *p)
{
	size_t files = p->world->file_count, tasks = p->world->task_count;
	int r = feature_grow((void **)&p->files, &p->file_cap, files, sizeof(*p->files));

	if (r >= 0)
		r = grow((void **)&p->tasks, &p->task_cap, tasks, sizeof(*p->tasks));
	if (r < 0)
		return r;
	for (; p->task_count < tasks; p->task_count++)
		p->tasks[p->task_count] = (struct press_task){.thread_id = -1};
	return 0;
}

/* True if the call reaches the device of its file (press.h); *ret: its kind. */
static bool press_reaches(const struct press *p, const struct feature_call *c, enum press_kind *ret)
{
	*ret = PRESS_OTHER;
	if (c->class == CLASS_SYNC) {
		*ret = PRESS_SYNC;
		return true;
	}
	if (c->class != CLASS_DATA && c->class != CLASS_META)
		return false;
	if (p->acts[c->op] == PRESS_ACT_WRITE) {
		*ret = PRESS_WRITE;
		return true;
	}
	if (c->status & STATUS_SLEPT)
		return p->acts[c->op] != PRESS_ACT_LOCK;
	return c->class == CLASS_DATA && p->files[c->file] & FILE_DIRECT;
}

static void press_opened(struct press *p, const struct feature_call *c)
{
	if (!c->err && c->flags & O_DIRECT)
		p->files[c->file] |= FILE_DIRECT;
}

static int press_call(struct press *p, const struct feature_call *c, enum press_kind kind)
{
	struct press_call call = {.stop = c->stop,
				  .start = add_sat_signed(c->stop, -c->dur),
				  .bytes = c->bytes,
				  .runq = MAX(c->rest->runq, 0),
				  .kind = kind,
				  .ended = !(c->status & STATUS_UNFINISHED)};
	uint16_t device;
	uint32_t group;
	int r = press_file_device(p, c, &device);

	if (r < 0 || device == FILE_NOWHERE)
		return r;
	r = press_task_group(p, c, device, &group);
	return r < 0 ? r : press_cells_add(&p->cells, group, &call);
}

static int press_calls_take(void *self, const struct feature_call *calls, size_t count)
{
	struct press *p = self;
	int r = press_fit(p);

	for (const struct feature_call *c = calls; c < calls + count && r >= 0; c++) {
		enum press_kind kind;

		if (c->file == FEATURE_NONE || c->task == FEATURE_NONE ||
		    c->process == FEATURE_NONE || c->op >= OP_CODE_MAX)
			continue;
		if (unlikely(p->acts[c->op] == PRESS_ACT_OPEN))
			press_opened(p, c);
		if (press_reaches(p, c, &kind))
			r = press_call(p, c, kind);
	}
	return r;
}

/* ---- the table ---- */

static int press_put_cell(const struct press *p, const struct press_group *g,
			  const struct press_cell *cell, struct feature_rows *out)
{
	struct batch_row row = feature_row(out);

	row_set(&row, PRESS_WINDOW, p->cells.origin + (int64_t)cell->window * p->cells.width);
	row_set(&row, PRESS_WIDTH, p->cells.width);
	row_set(&row, PRESS_DEV, p->devs[g->device]);
	row_set(&row, PRESS_CALLS, press_calls(cell));
	row_set(&row, PRESS_BYTES, cell->bytes);
	row_set(&row, PRESS_TIME, cell->time);
	row_set(&row, PRESS_LONGEST, cell->longest);
	row_set(&row, PRESS_SYNCS, cell->calls[PRESS_SYNC]);
	if (g->process != FEATURE_NONE) {
		row_set(&row, PRESS_PROCESS_ID, feature_id(p->world->processes, g->process));
		row_set(&row, PRESS_THREAD_ID, g->thread_id);
	}
	return row.r;
}

static int press_put(const struct press *p, struct feature_rows *out)
{
	int r = 0;

	for (size_t i = 0; i < p->cells.group_count; i++) {
		const struct press_group *g = &p->cells.groups[i];

		for (size_t k = 0; k < g->count && r >= 0; k++)
			r = press_put_cell(p, g, &g->cells[k], out);
	}
	return r;
}

static int press_begin(void **ret, const struct feature_world *w)
{
	struct press *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*ret = p;
	p->world = w;
	feature_acts(press_ops, ARRAY_SIZE(press_ops), p->acts);
	p->cells.width = PRESS_WINDOW_NS;
	p->cells.origin = w->first - w->first % PRESS_WINDOW_NS;
	return 0;
}

static int press_end(void *self, enum table_id table, struct feature_rows *out)
{
	struct press *p = self;
	int r;

	if (table == TABLE_RIVAL)
		return press_rivals(&p->cells, p->world, p->devs, out);
	assert(table == TABLE_PRESS);
	free(TAKE_PTR(p->files));
	p->file_cap = 0;
	r = press_cells_fold(&p->cells);
	return r < 0 ? r : press_put(p, out);
}

static void press_free(void *self)
{
	struct press *p = self;

	press_cells_free(&p->cells);
	intern_free(&p->comms);
	map_free(&p->devices);
	free(p->files);
	free(p->tasks);
	free(p);
}

const struct feature feature_press = {
	.name = "press",
	.tables = {TABLE_PRESS, TABLE_RIVAL},
	.more = TABLE_COUNT,
	.begin = press_begin,
	.calls = press_calls_take,
	.end = press_end,
	.free = press_free,
};
