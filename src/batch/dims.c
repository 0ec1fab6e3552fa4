/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/dims.h"

#include "base/idmap.h"
#include "base/map.h"
#include "base/strpool.h"
#include "batch/dims_file.h"
#include "batch/identity.h"

#include <errno.h>
#include <string.h>

#define ROWS_PER_SLAB  256
#define IDS_FREE       ((size_t)1 << 20) /* dims_ids_most() */
#define IDS_PER_ROW    64
#define RECORDINGS_MAX 65536 /* only a damaged file has ids of more recordings */

/* Rows of one table at stable addresses: slabs of ROWS_PER_SLAB, found by id. */
struct dim_table {
	struct idmap by_id; /* id -> row number */
	uint8_t **slabs;
	size_t slab_count, slabs_cap;
	int64_t *ids; /* id of each row, in order of appearance */
	size_t rows, ids_cap;
	/* Row numbers in the order of application; the clock is their count. A row's last place counts. */
	uint32_t *changes;
	size_t clock, changes_cap;
	size_t before;	  /* the clock at dims_forget(): changes[0] is the next change */
	size_t forgotten; /* rows */
	uint32_t *last;	  /* last place of each row in changes */
	size_t last_cap;
	size_t *ends; /* by recording: one past its largest id */
	size_t end_count, ends_cap;
	uint32_t *origins; /* when merging: the recording each row was read from */
	size_t origins_cap;
};

struct dims {
	struct dim_table tables[TABLE_COUNT];
	/* generation (of a file) or task (of a thread) -> row number of its latest version */
	struct idmap latest, latest_threads;
	/* hash of process and tid -> row numbers of two versions of the thread: the first that ran its latest program
	 * and, in the upper half, the latest */
	struct map by_tid;
	struct strpool strings;
	struct file_pack files;
	bool united;
	struct identity identity;
	struct map began, shifts; /* recording -> its start; ns to subtract from its times */
};

int64_t dims_machine(const struct dims *d, int64_t id)
{
	int64_t host = d->united ? identity_host(&d->identity, id) : -1;

	return host >= 0 ? host : -1 - (int64_t)id_recording(id);
}

static size_t row_size(enum table_id table)
{
	switch (table) {
	case TABLE_THREAD:
		return sizeof(struct dims_thread);
	case TABLE_PROCESS:
		return sizeof(struct dims_process);
	case TABLE_CGROUP:
		return sizeof(struct dims_cgroup);
	case TABLE_HOST:
		return sizeof(struct dims_host);
	case TABLE_FILE:
		return sizeof(struct file_row);
	case TABLE_STACK:
		return sizeof(struct dims_stack);
	default:
		return 0;
	}
}

int dims_new(struct dims **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void dims_table_free(struct dim_table *t)
{
	for (size_t k = 0; k < t->slab_count; k++)
		free(t->slabs[k]);
	free(t->slabs);
	free(t->ids);
	free(t->changes);
	free(t->last);
	free(t->ends);
	free(t->origins);
	idmap_free(&t->by_id);
}

void dims_free(struct dims *d)
{
	if (!d)
		return;
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		dims_table_free(&d->tables[i]);
	idmap_free(&d->latest);
	idmap_free(&d->latest_threads);
	map_free(&d->by_tid);
	strpool_free(&d->strings);
	file_pack_free(&d->files);
	identity_free(&d->identity);
	map_free(&d->began);
	map_free(&d->shifts);
	free(d);
}

void dims_unite(struct dims *d)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		assert(!d->tables[i].clock);
	d->united = true;
}

int dims_recording(struct dims *d, uint64_t recording, int64_t began)
{
	return map_set(&d->began, recording, (uint64_t)began);
}

int dims_shift(struct dims *d, uint64_t recording, int64_t shift)
{
	return map_set(&d->shifts, recording, (uint64_t)shift);
}

int64_t dims_same(const struct dims *d, enum table_id table, int64_t id)
{
	return d->united ? identity_of(&d->identity, table, id) : id;
}

void dims_forget(struct dims *d, enum table_id table)
{
	struct dim_table *t = &d->tables[table], fresh = {
							 .clock = t->clock,
							 .before = t->clock,
							 .forgotten = t->forgotten + t->rows,
							 .ends = TAKE_PTR(t->ends),
							 .end_count = t->end_count,
							 .ends_cap = t->ends_cap,
						 };

	assert(schema_is_dimension(table));
	assert(t->clock >= t->before);
	dims_table_free(t);
	*t = fresh;
	if (table == TABLE_FILE) {
		idmap_free(&d->latest);
		d->latest = (struct idmap){0};
		file_pack_free(&d->files);
	} else if (table == TABLE_THREAD) {
		idmap_free(&d->latest_threads);
		d->latest_threads = (struct idmap){0};
		map_clear(&d->by_tid);
	}
}

static size_t dims_forgotten(const struct dims *d, enum table_id table)
{
	return d->tables[table].forgotten;
}

static void *row_at(const struct dims *d, enum table_id table, uint64_t row)
{
	const struct dim_table *t = &d->tables[table];

	assert(row < t->rows);
	return t->slabs[row / ROWS_PER_SLAB] + row % ROWS_PER_SLAB * row_size(table);
}

static const void *dims_find_row(const struct dims *d, enum table_id table, int64_t id)
{
	int64_t row = idmap_find(&d->tables[table].by_id, id);

	return row < 0 ? NULL : row_at(d, table, (uint64_t)row);
}

/* Tables whose rows are merged across recordings; versions in the other tables stay separate. */
static bool is_united(const struct dims *d, enum table_id table)
{
	return d->united && table != TABLE_THREAD && table != TABLE_FILE;
}

/* Makes room for one more row and one more change. */
static int table_grow(struct dims *d, enum table_id table)
{
	struct dim_table *t = &d->tables[table];
	size_t size = row_size(table);
	int r;

	assert(size > 0); /* a dimension table */
	assert(t->rows <= t->slab_count * ROWS_PER_SLAB);
	r = grow((void **)&t->ids, &t->ids_cap, t->rows + 1, sizeof(*t->ids));
	if (r < 0)
		return r;
	if (is_united(d, table)) {
		r = grow((void **)&t->origins, &t->origins_cap, t->rows + 1, sizeof(*t->origins));
		if (r < 0)
			return r;
	}
	r = grow((void **)&t->last, &t->last_cap, t->rows + 1, sizeof(*t->last));
	if (r < 0)
		return r;
	if (t->rows < t->slab_count * ROWS_PER_SLAB)
		return 0;
	r = grow((void **)&t->slabs, &t->slabs_cap, t->slab_count + 1, sizeof(*t->slabs));
	if (r < 0)
		return r;
	t->slabs[t->slab_count] = calloc(ROWS_PER_SLAB, size);
	if (!t->slabs[t->slab_count])
		return -ENOMEM;
	t->slab_count++;
	return 0;
}

static int note_end(struct dim_table *t, int64_t id)
{
	uint64_t recording = id_recording(id);
	int r;

	if (recording >= RECORDINGS_MAX)
		return 0;
	r = grow((void **)&t->ends, &t->ends_cap, recording + 1, sizeof(*t->ends));
	if (r < 0)
		return r;
	while (t->end_count <= recording)
		t->ends[t->end_count++] = 0;
	t->ends[recording] = MAX(t->ends[recording], (size_t)id_own(id) + 1);
	return 0;
}

/* The row number of the id, created if new; records the change. */
static int need_row(struct dims *d, enum table_id table, int64_t id, uint64_t *ret, bool *ret_known)
{
	struct dim_table *t = &d->tables[table];
	int64_t known = idmap_get(&t->by_id, id);
	int r;

	assert(id >= 0 && t->clock >= t->before);
	if (t->rows >= UINT32_MAX - 1 || t->clock >= UINT32_MAX - 1)
		return -ENOMEM;
	*ret_known = known >= 0;
	*ret = known >= 0 ? (uint64_t)known : t->rows;
	r = grow((void **)&t->changes, &t->changes_cap, t->clock - t->before + 1,
		 sizeof(*t->changes));
	if (r < 0)
		return r;
	if (known < 0) {
		r = table_grow(d, table);
		if (r < 0)
			return r;
		r = note_end(t, id);
		if (r < 0)
			return r;
		r = idmap_set(&t->by_id, id, (int64_t)t->rows);
		if (r < 0)
			return r;
		t->ids[t->rows++] = id;
	}
	assert(*ret < t->rows);
	t->last[*ret] = (uint32_t)t->clock;
	t->changes[t->clock++ - t->before] = (uint32_t)*ret;
	return 0;
}

/* ---- rows from batches ---- */

struct row_reader {
	struct dims *d;
	const struct batch *b;
	size_t row;
	uint64_t shift; /* of the row's recording */
	int error;
};

static int64_t read_int(const struct row_reader *r, unsigned int column)
{
	return batch_get(r->b, column, r->row, -1);
}

/* A reference, as the id that represents it. */
static int64_t read_same(const struct row_reader *r, unsigned int column, enum table_id table)
{
	return dims_same(r->d, table, read_int(r, column));
}

static int64_t read_time(const struct row_reader *r, unsigned int column)
{
	return batch_is_null(r->b, column, r->row)
		       ? INT64_MIN
		       : (int64_t)((uint64_t)read_int(r, column) - r->shift);
}

/* The value as stored in the batch. */
static struct bytes peek_bytes(const struct row_reader *r, unsigned int column)
{
	struct bytes text = {NULL, 0};

	if (!batch_is_null(r->b, column, r->row)) {
		text = batch_get_bytes(r->b, column, r->row);
		if (!text.data)
			text.data = (const uint8_t *)"";
	}
	return text;
}

static struct bytes read_bytes(struct row_reader *r, unsigned int column)
{
	struct bytes from = peek_bytes(r, column), text = {NULL, 0};
	int e = strpool_add(&r->d->strings, from.data, from.len, &text);

	if (e < 0)
		r->error = e;
	return text;
}

static void read_thread(struct row_reader *r, struct dims_thread *t)
{
	*t = (struct dims_thread){
		.task = read_same(r, THREAD_TASK, TABLE_THREAD),
		.tid = read_int(r, THREAD_TID),
		.tid_ns = read_int(r, THREAD_TID_NS),
		.process_id = read_same(r, THREAD_PROCESS_ID, TABLE_PROCESS),
		.cgroup_id = read_same(r, THREAD_CGROUP_ID, TABLE_CGROUP),
		.uid = read_int(r, THREAD_UID),
		.pid_ns = read_int(r, THREAD_PID_NS),
		.mnt_ns = read_int(r, THREAD_MNT_NS),
		.net_ns = read_int(r, THREAD_NET_NS),
		.since = read_time(r, THREAD_SINCE),
		.stopped = read_time(r, THREAD_STOPPED),
		.born = read_int(r, THREAD_BORN),
		.comm = read_bytes(r, THREAD_COMM),
		.exe = read_bytes(r, THREAD_EXE),
	};
}

static void read_process(struct row_reader *r, struct dims_process *p)
{
	*p = (struct dims_process){
		.pid = read_int(r, PROCESS_PID),
		.pid_ns = read_int(r, PROCESS_PID_NS),
		.ppid = read_int(r, PROCESS_PPID),
		.started = read_time(r, PROCESS_STARTED),
		.stopped = read_time(r, PROCESS_STOPPED),
		.status = read_int(r, PROCESS_STATUS),
		.host_id = read_same(r, PROCESS_HOST_ID, TABLE_HOST),
		.born = read_int(r, PROCESS_BORN),
		.argv = read_bytes(r, PROCESS_ARGV),
		.exe = read_bytes(r, PROCESS_EXE),
	};
}

static void read_cgroup(struct row_reader *r, struct dims_cgroup *c)
{
	*c = (struct dims_cgroup){
		.path = read_bytes(r, CGROUP_PATH),
		.container = read_bytes(r, CGROUP_CONTAINER),
		.unit = read_bytes(r, CGROUP_UNIT),
	};
}

static void read_host(struct row_reader *r, struct dims_host *h)
{
	*h = (struct dims_host){
		.cpus = read_int(r, HOST_CPUS),
		.clock_offset = read_int(r, HOST_CLOCK_OFFSET),
		.clock_at = batch_get(r->b, HOST_CLOCK_AT, r->row, INT64_MIN),
		.end_offset = read_int(r, HOST_END_OFFSET),
		.end_at = batch_get(r->b, HOST_END_AT, r->row, INT64_MIN),
		.name = read_bytes(r, HOST_NAME),
		.boot = read_bytes(r, HOST_BOOT),
		.kernel = read_bytes(r, HOST_KERNEL),
		.machine = read_bytes(r, HOST_MACHINE),
	};
}

static void read_stack(struct row_reader *r, struct dims_stack *s)
{
	*s = (struct dims_stack){
		.kernel = read_int(r, STACK_KERNEL),
		.depth = read_int(r, STACK_DEPTH),
		.cut = (uint64_t)batch_get(r->b, STACK_CUT, r->row, 0),
		.names = read_bytes(r, STACK_NAMES),
		.frames = read_bytes(r, STACK_FRAMES),
		.modules = read_bytes(r, STACK_MODULES),
	};
}

static void read_file(struct row_reader *r, struct dims_file *f)
{
	*f = (struct dims_file){
		.inode = read_same(r, FILE_INODE, TABLE_FILE),
		.dev = read_int(r, FILE_DEV),
		.type = read_int(r, FILE_TYPE),
		.deleted = read_time(r, FILE_DELETED),
		.birth = batch_get(r->b, FILE_BIRTH, r->row, INT64_MIN),
		.family = read_int(r, FILE_FAMILY),
		.proto = read_int(r, FILE_PROTO),
		.since = read_time(r, FILE_SINCE),
		.ino = (uint64_t)batch_get(r->b, FILE_INO, r->row, 0),
		.generation = (uint64_t)batch_get(r->b, FILE_GENERATION, r->row, 0),
		.peer_ino = (uint64_t)batch_get(r->b, FILE_PEER_INO, r->row, 0),
		.name_only = batch_get(r->b, FILE_NAME_ONLY, r->row, 0) == 1,
		.path = peek_bytes(r, FILE_PATH),
		.hostpath = peek_bytes(r, FILE_HOSTPATH),
		.base = peek_bytes(r, FILE_BASE),
		.argument = peek_bytes(r, FILE_ARGUMENT),
		.fs = read_bytes(r, FILE_FS),
		.local = peek_bytes(r, FILE_LOCAL),
		.peer = peek_bytes(r, FILE_PEER),
	};
}

/* ---- versions ---- */

static uint64_t generation_key(int64_t id, int64_t inode)
{
	return (uint64_t)(inode < 0 ? id : inode);
}

/* NULL if unknown, or if memory ran out when it was applied. */
static const struct file_row *dims_find_file(const struct dims *d, int64_t id)
{
	const struct file_row *row = dims_find_row(d, TABLE_FILE, id);

	return row && row->numbers ? row : NULL;
}

static uint64_t file_generation(const struct file_row *row, int64_t id)
{
	return generation_key(id, file_unpack_inode(id, row));
}

/* When the version of that row began. */
static int64_t version_since(const struct dims *d, enum table_id table, uint64_t number)
{
	const void *row = row_at(d, table, number);

	if (table == TABLE_FILE)
		return file_unpack_since(&d->files, d->tables[table].ids[number], row);
	return ((const struct dims_thread *)row)->since;
}

/* Rows of one generation may arrive out of order, and an older version may be sent again: `since` decides. */
static int note_latest(struct dims *d, struct idmap *latest, enum table_id table, uint64_t key,
		       uint64_t number)
{
	int64_t known = idmap_get(latest, (int64_t)key);

	if (known >= 0 &&
	    version_since(d, table, (uint64_t)known) > version_since(d, table, number))
		return 0;
	return idmap_set(latest, (int64_t)key, (int64_t)number);
}

static uint64_t by_tid_key(int64_t process_id, int64_t tid)
{
	const int64_t key[2] = {process_id, tid};

	return hash_bytes(key, sizeof(key));
}

static bool same_bytes(struct bytes a, struct bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

/* Records the thread's version for dims_leader(). */
static int note_by_tid(struct dims *d, uint64_t number)
{
	const struct dims_thread *t = row_at(d, TABLE_THREAD, number), *known;
	uint64_t key = by_tid_key(t->process_id, t->tid), both;
	uint64_t first = number, last = number;

	if (t->process_id < 0 || t->tid < 0)
		return 0;
	if (map_get(&d->by_tid, key, &both)) {
		known = row_at(d, TABLE_THREAD, both >> 32);
		if (known->since > t->since)
			last = both >> 32;
		known = row_at(d, TABLE_THREAD, (uint32_t)both);
		/* an older version, or a new name of the same program */
		if (known->since > t->since ? !same_bytes(known->exe, t->exe)
					    : same_bytes(known->exe, t->exe))
			first = (uint32_t)both;
	}
	return map_set(&d->by_tid, key, last << 32 | first);
}

static int apply_file(struct row_reader *r, int64_t id, uint64_t number, bool known)
{
	struct dims *d = r->d;
	struct file_row *row = row_at(d, TABLE_FILE, number);
	struct dims_file f;
	int e;

	read_file(r, &f);
	e = file_pack_row(&d->files, id, &f, known && row->numbers, row);
	if (e < 0)
		return e;
	return note_latest(d, &d->latest, TABLE_FILE, file_generation(row, id), number);
}

/* Identifies what the row describes; *id becomes the representing id if such rows are merged. */
static int apply_identity(struct row_reader *r, int64_t *id)
{
	enum table_id table = r->b->table;
	int64_t first = *id;
	int e = 0;

	if (table == TABLE_THREAD || table == TABLE_FILE)
		first = read_int(r, table == TABLE_FILE ? FILE_INODE : THREAD_TASK);
	/* if the beginning of the trace was dropped, its first row for a thread or file may be a later version */
	if (first >= 0 && (first == *id || !dims_find_row(r->d, table, first)))
		e = identity_learn(&r->d->identity, r->b, r->row, first);
	if (is_united(r->d, table))
		*id = dims_same(r->d, table, *id);
	return e;
}

static int64_t recording_value(const struct map *m, uint64_t recording)
{
	uint64_t value = 0;

	map_get(m, recording, &value);
	return (int64_t)value;
}

/* True if the existing row came from a recording that began after this row's recording. */
static bool is_outdated(const struct dims *d, enum table_id table, uint64_t number, bool known,
			uint64_t recording)
{
	return known && is_united(d, table) &&
	       recording_value(&d->began, d->tables[table].origins[number]) >
		       recording_value(&d->began, recording);
}

/* Keeps the end of a process: if only one recording saw it, the rows of the others lack it. */
static void process_keep_end(struct dims_process *p, const struct dims_process *other)
{
	if (p->stopped == INT64_MIN && other->stopped != INT64_MIN) {
		p->stopped = other->stopped;
		p->status = other->status;
	}
}

static void apply_process(struct row_reader *r, struct dims_process *p, bool known, bool outdated)
{
	struct dims_process before = *p, now;

	read_process(r, &now);
	*p = outdated ? before : now;
	if (known && r->d->united)
		process_keep_end(p, outdated ? &now : &before);
}

static int apply_row(struct row_reader *r, int64_t id)
{
	struct dims *d = r->d;
	enum table_id table = r->b->table;
	uint64_t number, recording = id_recording(id);
	bool known, outdated;
	void *row;
	int e = d->united ? apply_identity(r, &id) : 0;

	r->shift = (uint64_t)recording_value(&d->shifts, recording);
	if (e >= 0)
		e = need_row(d, table, id, &number, &known);
	if (e < 0)
		return e;
	row = row_at(d, table, number);
	outdated = is_outdated(d, table, number, known, recording);
	if (is_united(d, table) && !outdated)
		d->tables[table].origins[number] = (uint32_t)recording;
	if (outdated && table != TABLE_PROCESS)
		return 0;
	switch (table) {
	case TABLE_THREAD:
		read_thread(r, row);
		e = note_latest(d, &d->latest_threads, table,
				generation_key(id, ((struct dims_thread *)row)->task), number);
		if (e >= 0)
			e = note_by_tid(d, number);
		break;
	case TABLE_PROCESS:
		apply_process(r, row, known, outdated);
		break;
	case TABLE_CGROUP:
		read_cgroup(r, row);
		break;
	case TABLE_HOST:
		read_host(r, row);
		break;
	case TABLE_STACK:
		read_stack(r, row);
		break;
	default:
		assert(table == TABLE_FILE);
		e = apply_file(r, id, number, known);
		break;
	}
	return r->error ? r->error : e;
}

int dims_apply(struct dims *d, const struct batch *b)
{
	struct row_reader r = {.d = d, .b = b};

	if (!row_size(b->table))
		return 0;
	static_assert(!THREAD_ID && !PROCESS_ID && !CGROUP_ID && !HOST_ID && !FILE_ID && !STACK_ID,
		      "column 0 is the id");
	for (r.row = 0; r.row < b->rows; r.row++) {
		int64_t id = batch_get(b, 0, r.row, -1);
		int e = id < 0 ? 0 : apply_row(&r, id);
		if (e < 0)
			return e;
	}
	return 0;
}

/* ---- look-up ---- */

const struct dims_thread *dims_thread(const struct dims *d, int64_t id)
{
	return dims_find_row(d, TABLE_THREAD, id);
}

const struct dims_process *dims_process(const struct dims *d, int64_t id)
{
	return dims_find_row(d, TABLE_PROCESS, id);
}

const struct dims_stack *dims_stack(const struct dims *d, int64_t id)
{
	return dims_find_row(d, TABLE_STACK, id);
}

const struct dims_cgroup *dims_cgroup(const struct dims *d, int64_t id)
{
	return dims_find_row(d, TABLE_CGROUP, id);
}

const struct dims_host *dims_host(const struct dims *d, int64_t id)
{
	return dims_find_row(d, TABLE_HOST, id);
}

const struct dims_file *dims_file(const struct dims *d, int64_t id, struct dims_file *room)
{
	const struct file_row *row = dims_find_file(d, id);

	if (row)
		file_unpack(&d->files, id, row, room);
	return row ? room : NULL;
}

int64_t dims_file_inode(const struct dims *d, int64_t id)
{
	const struct file_row *row = dims_find_file(d, id);

	return row ? file_unpack_inode(id, row) : -1;
}

bool dims_has(const struct dims *d, enum table_id table, int64_t id)
{
	assert(schema_is_dimension(table));
	return table == TABLE_FILE ? dims_find_file(d, id) != NULL
				   : dims_find_row(d, table, id) != NULL;
}

size_t dims_count(const struct dims *d, enum table_id table, uint64_t recording)
{
	const struct dim_table *t = &d->tables[table];

	return recording < t->end_count ? t->ends[recording] : 0;
}

size_t dims_ids_most(const struct dims *d, enum table_id table)
{
	return IDS_FREE + (dims_rows(d, table) + dims_forgotten(d, table)) * IDS_PER_ROW;
}

size_t dims_dense(const struct dims *d, enum table_id table, uint64_t recording)
{
	return MIN(dims_count(d, table, recording), dims_ids_most(d, table));
}

size_t dims_rows(const struct dims *d, enum table_id table)
{
	return d->tables[table].rows;
}

int64_t dims_id_at(const struct dims *d, enum table_id table, size_t i)
{
	assert(i < d->tables[table].rows);
	return d->tables[table].ids[i];
}

struct bytes dims_file_version_name(const struct dims *d, int64_t file_id)
{
	const struct file_row *row = dims_find_file(d, file_id);

	return row ? file_unpack_name(row) : (struct bytes){(const uint8_t *)"?", 1};
}

/* The id of the newest version; the id itself if unknown. */
static int64_t latest_id(const struct dims *d, const struct idmap *latest, enum table_id table,
			 int64_t id, uint64_t key)
{
	int64_t number = idmap_find(latest, (int64_t)key);

	assert(number < 0 || (size_t)number < d->tables[table].rows);
	return number < 0 ? id : d->tables[table].ids[number];
}

int64_t dims_latest_thread(const struct dims *d, int64_t id)
{
	const struct dims_thread *t = dims_thread(d, id);

	return t ? latest_id(d, &d->latest_threads, TABLE_THREAD, id, generation_key(id, t->task))
		 : id;
}

const struct dims_thread *dims_leader(const struct dims *d, int64_t process_id, bool latest)
{
	const struct dims_process *p = process_id < 0 ? NULL : dims_process(d, process_id);
	const struct dims_thread *t;
	uint64_t both;

	if (!p || !map_get(&d->by_tid, by_tid_key(process_id, p->pid), &both))
		return NULL;
	t = row_at(d, TABLE_THREAD, latest ? both >> 32 : (uint32_t)both);
	/* versions of an id may have been replaced by another thread's */
	return t->process_id == process_id && t->tid == p->pid ? t : NULL;
}

int64_t dims_latest_file(const struct dims *d, int64_t id)
{
	const struct file_row *row = dims_find_file(d, id);

	return row ? latest_id(d, &d->latest, TABLE_FILE, id, file_generation(row, id)) : id;
}

const struct dims_file *dims_newest_file(const struct dims *d, int64_t id, int64_t *ret_file,
					 struct dims_file *room)
{
	const struct file_row *row = dims_find_file(d, id);
	int64_t file = row ? (int64_t)file_generation(row, id) : id, number;

	*ret_file = file;
	if (file != id)
		row = dims_find_file(d, file);
	if (!row)
		return NULL;
	number = idmap_find(&d->latest, (int64_t)file_generation(row, file));
	if (number >= 0) {
		file = d->tables[TABLE_FILE].ids[number];
		row = row_at(d, TABLE_FILE, (uint64_t)number);
	}
	if (!row->numbers)
		return NULL;
	file_unpack(&d->files, file, row, room);
	return room;
}

struct bytes dims_file_name(const struct dims *d, int64_t file_id)
{
	return dims_file_version_name(d, dims_latest_file(d, file_id));
}

uint64_t dims_clock(const struct dims *d, enum table_id table)
{
	return d->tables[table].clock;
}

bool dims_changed(const struct dims *d, enum table_id table, uint64_t clock, size_t *pos,
		  int64_t *ret_id)
{
	const struct dim_table *t = &d->tables[table];

	assert(*pos <= t->clock);
	/* *pos counts the places visited, from the end */
	while (t->clock - *pos > MAX(clock, t->before)) {
		size_t place = t->clock - ++*pos;
		uint32_t row = t->changes[place - t->before];

		if (t->last[row] != place)
			continue; /* applied again since */
		*ret_id = t->ids[row];
		return true;
	}
	return false;
}
