/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/dims.h"

#include "base/buf.h"
#include "base/strpool.h"
#include "schema/vocab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Ids of trace k of several are k << 40 | id; `inode` and `task` are ids within the row's own
 * trace. */
#define TRACE_ID_MASK ((1ll << 40) - 1)
#define ROWS_PER_SLAB 256

/* When a row was applied last, and its neighbours in that order: row numbers + 1, 0: none. */
struct change {
	uint64_t clock;
	uint32_t older, newer;
};

/* Rows of one table at addresses that stay: slabs of ROWS_PER_SLAB, found by id through a map. */
struct dim_table {
	struct map by_id; /* id -> row number */
	uint8_t **slabs;
	size_t slab_count, slabs_cap;
	int64_t *ids; /* of each row, in order of appearance */
	size_t rows, ids_cap;
	struct change *changes; /* of each row */
	size_t changes_cap;
	uint32_t newest; /* number + 1 of the row that was applied last */
	uint64_t clock;	 /* rows applied so far */
	size_t end;	 /* one past the largest id of trace 0 */
};

struct file_row {
	struct dims_file file;
	struct bytes name; /* of this version; never empty */
};

struct dims {
	struct dim_table tables[TABLE_COUNT];
	/* generation (of a file) or task (of a thread) -> row number of its latest version */
	struct map latest, latest_threads;
	struct strpool strings;
	struct buf scratch;
};

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
	default:
		return 0;
	}
}

int dims_new(struct dims **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void dims_free(struct dims *d)
{
	if (!d)
		return;
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		struct dim_table *t = &d->tables[i];

		for (size_t k = 0; k < t->slab_count; k++)
			free(t->slabs[k]);
		free(t->slabs);
		free(t->ids);
		free(t->changes);
		map_free(&t->by_id);
	}
	map_free(&d->latest);
	map_free(&d->latest_threads);
	strpool_free(&d->strings);
	buf_free(&d->scratch);
	free(d);
}

static void *row_at(const struct dims *d, enum table_id table, uint64_t row)
{
	const struct dim_table *t = &d->tables[table];

	assert(row < t->rows);
	return t->slabs[row / ROWS_PER_SLAB] + row % ROWS_PER_SLAB * row_size(table);
}

static const void *find_row(const struct dims *d, enum table_id table, int64_t id)
{
	uint64_t row;

	if (id < 0 || !map_get(&d->tables[table].by_id, (uint64_t)id, &row))
		return NULL;
	return row_at(d, table, row);
}

/* The number of the id's row, made when new. */
static int need_row(struct dims *d, enum table_id table, int64_t id, uint64_t *ret)
{
	struct dim_table *t = &d->tables[table];
	int r;

	if (map_get(&t->by_id, (uint64_t)id, ret))
		return 0;
	if (t->rows >= UINT32_MAX - 1)
		return -ENOMEM;
	r = grow((void **)&t->ids, &t->ids_cap, t->rows + 1, sizeof(*t->ids));
	if (r >= 0)
		r = grow((void **)&t->changes, &t->changes_cap, t->rows + 1, sizeof(*t->changes));
	if (r < 0)
		return r;
	if (t->rows == t->slab_count * ROWS_PER_SLAB) {
		r = grow((void **)&t->slabs, &t->slabs_cap, t->slab_count + 1, sizeof(*t->slabs));
		if (r < 0)
			return r;
		t->slabs[t->slab_count] = calloc(ROWS_PER_SLAB, row_size(table));
		if (!t->slabs[t->slab_count])
			return -ENOMEM;
		t->slab_count++;
	}
	r = map_set(&t->by_id, (uint64_t)id, t->rows);
	if (r < 0)
		return r;
	*ret = t->rows;
	t->changes[t->rows] = (struct change){0};
	t->ids[t->rows++] = id;
	if (id <= TRACE_ID_MASK)
		t->end = MAX(t->end, (size_t)id + 1);
	return 0;
}

/* Makes the row the newest of its table's changes. */
static void note_change(struct dim_table *t, uint64_t number)
{
	struct change *c = &t->changes[number];
	uint32_t me = (uint32_t)number + 1;

	c->clock = ++t->clock;
	if (t->newest == me)
		return;
	if (c->older)
		t->changes[c->older - 1].newer = c->newer;
	if (c->newer)
		t->changes[c->newer - 1].older = c->older;
	c->older = t->newest;
	c->newer = 0;
	if (t->newest)
		t->changes[t->newest - 1].newer = me;
	t->newest = me;
}

/* ---- rows from batches ---- */

struct row_reader {
	struct dims *d;
	const struct batch *b;
	size_t row;
	int error;
};

static int64_t read_int(const struct row_reader *r, unsigned int column)
{
	return batch_get(r->b, column, r->row, -1);
}

static int64_t read_time(const struct row_reader *r, unsigned int column)
{
	return batch_get(r->b, column, r->row, INT64_MIN);
}

static struct bytes read_bytes(struct row_reader *r, unsigned int column)
{
	struct bytes text = {NULL, 0};

	if (!batch_is_null(r->b, column, r->row)) {
		struct bytes from = batch_get_bytes(r->b, column, r->row);
		int e = strpool_add(&r->d->strings, from.data ? from.data : (const uint8_t *)"",
				    from.len, &text);

		if (e < 0)
			r->error = e;
	}
	return text;
}

static void read_thread(struct row_reader *r, struct dims_thread *t)
{
	*t = (struct dims_thread){
		.task = read_int(r, THREAD_TASK),
		.tid = read_int(r, THREAD_TID),
		.tid_ns = read_int(r, THREAD_TID_NS),
		.process_id = read_int(r, THREAD_PROCESS_ID),
		.cgroup_id = read_int(r, THREAD_CGROUP_ID),
		.uid = read_int(r, THREAD_UID),
		.pid_ns = read_int(r, THREAD_PID_NS),
		.mnt_ns = read_int(r, THREAD_MNT_NS),
		.net_ns = read_int(r, THREAD_NET_NS),
		.since = read_time(r, THREAD_SINCE),
		.stopped = read_time(r, THREAD_STOPPED),
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
		.host_id = read_int(r, PROCESS_HOST_ID),
		.argv = read_bytes(r, PROCESS_ARGV),
		.exe = read_bytes(r, PROCESS_EXE),
	};
}

static void read_cgroup(struct row_reader *r, struct dims_cgroup *c)
{
	*c = (struct dims_cgroup){
		.kernel_id = (uint64_t)read_int(r, CGROUP_KERNEL_ID),
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
		.name = read_bytes(r, HOST_NAME),
		.boot = read_bytes(r, HOST_BOOT),
		.kernel = read_bytes(r, HOST_KERNEL),
		.machine = read_bytes(r, HOST_MACHINE),
	};
}

static void read_file(struct row_reader *r, struct dims_file *f)
{
	*f = (struct dims_file){
		.inode = read_int(r, FILE_INODE),
		.dev = read_int(r, FILE_DEV),
		.type = read_int(r, FILE_TYPE),
		.deleted = read_time(r, FILE_DELETED),
		.birth = read_time(r, FILE_BIRTH),
		.family = read_int(r, FILE_FAMILY),
		.proto = read_int(r, FILE_PROTO),
		.since = read_time(r, FILE_SINCE),
		.ino = (uint64_t)batch_get(r->b, FILE_INO, r->row, 0),
		.generation = (uint64_t)batch_get(r->b, FILE_GENERATION, r->row, 0),
		.name_only = batch_get(r->b, FILE_NAME_ONLY, r->row, 0) == 1,
		.path = read_bytes(r, FILE_PATH),
		.hostpath = read_bytes(r, FILE_HOSTPATH),
		.base = read_bytes(r, FILE_BASE),
		.argument = read_bytes(r, FILE_ARGUMENT),
		.fs = read_bytes(r, FILE_FS),
		.local = read_bytes(r, FILE_LOCAL),
		.peer = read_bytes(r, FILE_PEER),
	};
}

/* ---- names ---- */

static const char *socket_word(const struct dims_file *f)
{
	int64_t type = f->proto >= 0 ? f->proto >> 16 : -1;

	switch (f->family) {
	case AF_UNIX:
		return "unix";
	case AF_INET:
	case AF_INET6:
		return type == SOCK_STREAM ? "tcp" : type == SOCK_DGRAM ? "udp" : "raw";
	case AF_NETLINK:
		return "netlink";
	case AF_PACKET:
		return "packet";
	default:
		return "socket";
	}
}

/* "unix:/x" names one side; the side that has a name names the connection. */
static bool is_named(struct bytes address)
{
	return address.len && !(address.len == 5 && !memcmp(address.data, "unix:", 5));
}

static int socket_name(struct buf *to, const struct dims_file *f)
{
	struct bytes one = is_named(f->peer) ? f->peer : f->local;

	if (f->family == AF_UNIX) {
		if (is_named(one))
			return buf_append(to, one.data, one.len);
	} else if (f->local.len && f->peer.len) {
		return buf_printf(to, "%s %.*s->%.*s", socket_word(f), (int)f->local.len,
				  (const char *)f->local.data, (int)f->peer.len,
				  (const char *)f->peer.data);
	} else if (one.len) {
		return buf_printf(to, "%s %s%.*s", socket_word(f), f->peer.len ? "->" : "",
				  (int)one.len, (const char *)one.data);
	}
	return buf_printf(to, "%s:[%llu]", socket_word(f), (unsigned long long)f->ino);
}

static int argument_name(struct buf *to, const struct dims_file *f)
{
	bool relative = !f->argument.len || f->argument.data[0] != '/';
	int r = 0;

	if (relative && f->base.len) {
		r = buf_append(to, f->base.data, f->base.len);
		if (r == 0 && f->argument.len && f->base.data[f->base.len - 1] != '/')
			r = buf_append(to, "/", 1);
	}
	return r < 0 ? r : buf_append(to, f->argument.data, f->argument.len);
}

static int write_name(struct buf *to, const struct dims_file *f)
{
	static const char *const words[FILE_TYPE_COUNT] = {
		[FILE_TYPE_UNKNOWN] = "file",	     [FILE_TYPE_REGULAR] = "file",
		[FILE_TYPE_DIRECTORY] = "directory", [FILE_TYPE_SYMLINK] = "symlink",
		[FILE_TYPE_CHAR] = "char",	     [FILE_TYPE_BLOCK] = "block",
		[FILE_TYPE_PIPE] = "pipe",	     [FILE_TYPE_SOCKET] = "socket",
		[FILE_TYPE_ANON] = "anon_inode",
	};
	bool known = f->type >= 0 && f->type < FILE_TYPE_COUNT;

	if (f->type == FILE_TYPE_SOCKET || f->family >= 0)
		return socket_name(to, f);
	if (f->argument.len || f->base.len)
		return argument_name(to, f);
	if (!f->ino && f->dev < 0)
		return buf_append(to, "?", 1);
	return buf_printf(to, "%s:[%llu]", known ? words[f->type] : "file",
			  (unsigned long long)f->ino);
}

static int name_file(struct dims *d, struct file_row *row)
{
	const struct dims_file *f = &row->file;
	bool is_socket = f->type == FILE_TYPE_SOCKET || f->family >= 0;
	int r;

	if (f->path.len && !is_socket) {
		row->name = f->path;
		return 0;
	}
	buf_clear(&d->scratch);
	r = write_name(&d->scratch, f);
	if (r == 0 && !d->scratch.len)
		r = buf_append(&d->scratch, "?", 1);
	return r < 0 ? r : strpool_add(&d->strings, d->scratch.data, d->scratch.len, &row->name);
}

static uint64_t generation_key(int64_t id, int64_t inode)
{
	return (uint64_t)(inode < 0 ? id : (id & ~TRACE_ID_MASK) | (inode & TRACE_ID_MASK));
}

/* Rows of one generation may come out of order, and an older version's again: `since` decides. */
static int note_latest(struct dims *d, int64_t id, uint64_t number)
{
	const struct file_row *row = row_at(d, TABLE_FILE, number), *known;
	uint64_t key = generation_key(id, row->file.inode), latest;

	if (map_get(&d->latest, key, &latest)) {
		known = row_at(d, TABLE_FILE, latest);
		if (known->file.since > row->file.since)
			return 0;
	}
	return map_set(&d->latest, key, number);
}

/* The same for the versions of a thread. */
static int note_latest_thread(struct dims *d, int64_t id, uint64_t number)
{
	const struct dims_thread *row = row_at(d, TABLE_THREAD, number), *known;
	uint64_t key = generation_key(id, row->task), latest;

	if (map_get(&d->latest_threads, key, &latest)) {
		known = row_at(d, TABLE_THREAD, latest);
		if (known->since > row->since)
			return 0;
	}
	return map_set(&d->latest_threads, key, number);
}

static int apply_row(struct row_reader *r, int64_t id)
{
	struct dims *d = r->d;
	enum table_id table = r->b->table;
	uint64_t number;
	void *row;
	int e = need_row(d, table, id, &number);

	if (e < 0)
		return e;
	row = row_at(d, table, number);
	note_change(&d->tables[table], number);
	switch (table) {
	case TABLE_THREAD:
		read_thread(r, row);
		e = note_latest_thread(d, id, number);
		break;
	case TABLE_PROCESS:
		read_process(r, row);
		break;
	case TABLE_CGROUP:
		read_cgroup(r, row);
		break;
	case TABLE_HOST:
		read_host(r, row);
		break;
	default:
		assert(table == TABLE_FILE);
		read_file(r, &((struct file_row *)row)->file);
		e = name_file(d, row);
		if (e == 0)
			e = note_latest(d, id, number);
		break;
	}
	return r->error ? r->error : e;
}

int dims_apply(struct dims *d, const struct batch *b)
{
	struct row_reader r = {.d = d, .b = b};

	if (!row_size(b->table))
		return 0;
	static_assert(!THREAD_ID && !PROCESS_ID && !CGROUP_ID && !HOST_ID && !FILE_ID,
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
	return find_row(d, TABLE_THREAD, id);
}

const struct dims_process *dims_process(const struct dims *d, int64_t id)
{
	return find_row(d, TABLE_PROCESS, id);
}

const struct dims_cgroup *dims_cgroup(const struct dims *d, int64_t id)
{
	return find_row(d, TABLE_CGROUP, id);
}

const struct dims_host *dims_host(const struct dims *d, int64_t id)
{
	return find_row(d, TABLE_HOST, id);
}

const struct dims_file *dims_file(const struct dims *d, int64_t id)
{
	const struct file_row *row = find_row(d, TABLE_FILE, id);

	return row ? &row->file : NULL;
}

size_t dims_count(const struct dims *d, enum table_id table)
{
	return d->tables[table].end;
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
	const struct file_row *row = find_row(d, TABLE_FILE, file_id);

	return row && row->name.len ? row->name : (struct bytes){(const uint8_t *)"?", 1};
}

struct bytes dims_file_name(const struct dims *d, int64_t file_id)
{
	const struct file_row *row = find_row(d, TABLE_FILE, file_id);
	uint64_t number;

	if (row && map_get(&d->latest, generation_key(file_id, row->file.inode), &number))
		row = row_at(d, TABLE_FILE, number);
	return row && row->name.len ? row->name : (struct bytes){(const uint8_t *)"?", 1};
}

static int64_t latest_id(const struct dims *d, const struct map *latest, enum table_id table,
			 int64_t id, int64_t generation)
{
	uint64_t number;

	if (!map_get(latest, generation_key(id, generation), &number))
		return id;
	return d->tables[table].ids[number];
}

int64_t dims_latest_thread(const struct dims *d, int64_t id)
{
	const struct dims_thread *t = dims_thread(d, id);

	return t ? latest_id(d, &d->latest_threads, TABLE_THREAD, id, t->task) : id;
}

int64_t dims_latest_file(const struct dims *d, int64_t id)
{
	const struct dims_file *f = dims_file(d, id);

	return f ? latest_id(d, &d->latest, TABLE_FILE, id, f->inode) : id;
}

uint64_t dims_clock(const struct dims *d, enum table_id table)
{
	return d->tables[table].clock;
}

bool dims_changed(const struct dims *d, enum table_id table, uint64_t clock, size_t *pos,
		  int64_t *ret_id)
{
	const struct dim_table *t = &d->tables[table];
	uint32_t at = *pos ? t->changes[*pos - 1].older : t->newest;

	if (!at || t->changes[at - 1].clock <= clock)
		return false;
	*ret_id = t->ids[at - 1];
	*pos = at;
	return true;
}

int dims_latest_threads(const struct dims *d, struct map *ret)
{
	for (size_t i = 0; i < dims_rows(d, TABLE_THREAD); i++) {
		int64_t id = dims_id_at(d, TABLE_THREAD, i);
		const struct dims_thread *t = dims_thread(d, id), *known;
		uint64_t task, latest;
		int r;

		if (!t)
			continue;
		task = (uint64_t)(t->task >= 0 ? t->task : id);
		known = map_get(ret, task, &latest) ? dims_thread(d, (int64_t)latest) : NULL;
		if (known && known->since > t->since)
			continue;
		r = map_set(ret, task, (uint64_t)id);
		if (r < 0)
			return r;
	}
	return 0;
}
