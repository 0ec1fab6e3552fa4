/* SPDX-License-Identifier: Apache-2.0 */
/* dimension.c: turns the kernel's records of files, sockets and threads into rows of the dimension tables. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "batch/host_row.h"
#include "capture/ebpf/contexts/contexts.h"
#include "capture/ebpf/side/block.h"
#include "capture/ebpf/named/cgroup.h"
#include "capture/ebpf/side/content.h"
#include "capture/ebpf/calls/decode.h"
#include "capture/ebpf/probes/probe_rows.h"
#include "capture/ebpf/calls/details.h"
#include "capture/ebpf/spans/spans.h"

#define MAGIC_ANON_INODE 0x09041934
#define HOST_KEY	 0
#define ALONE_MAX \
	4096 /* unix sockets waiting for their peer; beyond this only the other end's row has it */

int file_type_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return FILE_TYPE_REGULAR;
	case S_IFDIR:
		return FILE_TYPE_DIRECTORY;
	case S_IFLNK:
		return FILE_TYPE_SYMLINK;
	case S_IFCHR:
		return FILE_TYPE_CHAR;
	case S_IFBLK:
		return FILE_TYPE_BLOCK;
	case S_IFIFO:
		return FILE_TYPE_PIPE;
	case S_IFSOCK:
		return FILE_TYPE_SOCKET;
	default:
		return FILE_TYPE_UNKNOWN;
	}
}

/* eventpoll, timerfd, eventfd, ... all share one inode: the name distinguishes them. */
static uint64_t anonymous_kind(const struct wire_file *w)
{
	return w->magic == MAGIC_ANON_INODE ? hash_bytes(w + 1, w->path_len) : 0;
}

uint64_t decode_inode_hash(uint64_t ino, uint32_t dev, uint32_t generation, uint32_t reuse,
			   uint64_t kind)
{
	const uint64_t ident[] = {ino, (uint64_t)dev << 32 | generation, reuse, kind};

	return hash_bytes(ident, sizeof(ident));
}

static int inode_key(struct decode *d, const struct wire_file *w, int64_t *ret)
{
	uint64_t hash = decode_inode_hash(w->ino, w->dev, w->generation, w->reuse,
					  anonymous_kind(w)),
		 key;
	int r = d->block ? block_file(d->block, hash, w->file) : 0;

	if (d->block && w->real_ino && r >= 0)
		r = block_file(
			d->block,
			decode_inode_hash(w->real_ino, w->real_dev, w->real_generation, 0, 0),
			w->file);
	if (r < 0)
		return r;
	if (!recent_get(&d->inodes, hash, &key)) {
		key = w->file;
		r = recent_set(&d->inodes, hash, key);
		if (r < 0)
			return r;
	}
	*ret = (int64_t)key;
	return 0;
}

/* The recorder's path of a file on a mount of another namespace. */
static void host_path(struct decode *d, const struct wire_file *w, struct file_paths *paths)
{
	char inside[2 * WIRE_WALK_MAX];

	if (paths->host_len || !file_inside(w, inside, sizeof(inside)))
		return;
	paths->host_len =
		mounts_path(&d->mounts, w->fs_dev, inside, paths->host, sizeof(paths->host));
}

void decode_file_paths(struct decode *d, const struct wire_file *w, struct file_paths *ret)
{
	file_paths(w, d->opt.mnt_ns, ret);
	host_path(d, w, ret);
}

static int decode_file(struct decode *d, const struct wire_file *w, struct batch_set *out)
{
	struct file_paths paths;
	int64_t inode;
	int r;
	struct batch_row row;

	if (w->head.size < sizeof(*w) || w->path_len > w->head.size - sizeof(*w) ||
	    w->fs_len > w->head.size - sizeof(*w) - w->path_len ||
	    w->file >= (uint64_t)KEY_NAME_BASE)
		return -EBADMSG;
	decode_file_paths(d, w, &paths);
	r = inode_key(d, w, &inode);
	r = r ? r
	      : names_set(d->names, w->file, paths.path, paths.len,
			  paths.host_len ? paths.host : NULL, paths.host_len);
	if (r < 0)
		return r;
	row = batch_set_row(out, TABLE_FILE);
	row_set(&row, FILE_ID, (int64_t)w->file);
	row_set(&row, FILE_INODE, inode);
	row_set(&row, FILE_DEV, w->dev);
	row_set(&row, FILE_INO, (int64_t)w->ino);
	row_set(&row, FILE_GENERATION, (int64_t)((uint64_t)w->reuse << 32 | w->generation));
	row_set_if(&row, w->birth, FILE_BIRTH, (int64_t)w->birth);
	row_set(&row, FILE_TYPE,
		w->magic == MAGIC_ANON_INODE ? FILE_TYPE_ANON : file_type_of(w->mode));
	row_set_if(&row, w->magic != MAGIC_ANON_INODE && S_ISREG(w->mode), FILE_SIZE,
		   (int64_t)w->size);
	row_set_bytes(&row, FILE_FS, w->fs, strnlen(w->fs, sizeof(w->fs)));
	row_set_if(&row, w->flags & WIRE_FILE_DELETED && !(w->flags & WIRE_FILE_UNREACHED),
		   FILE_DELETED, (int64_t)w->head.time + d->opt.clock_offset);
	row_set_bytes(&row, FILE_PATH, paths.path, paths.len);
	if (paths.host_len)
		row_set_bytes(&row, FILE_HOSTPATH, paths.host, paths.host_len);
	row_set(&row, FILE_SINCE, (int64_t)w->head.time + d->opt.clock_offset);
	return row.r;
}

/* Stores a copy of a record by number, for when its row must be repeated. */
int kept_put(struct map *kept, uint64_t number, const void *record, size_t size)
{
	void *copy = malloc(size);
	uint64_t old = 0;
	int r;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, record, size);
	map_get(kept, number, &old);
	r = map_set(kept, number, (uintptr_t)copy);
	free(r < 0 ? copy : (void *)(uintptr_t)old);
	return r;
}

void *kept_get(const struct map *kept, uint64_t number)
{
	uint64_t record;

	return map_get(kept, number, &record) ? (void *)(uintptr_t)record : NULL;
}

void kept_forget(struct map *records, uint64_t number)
{
	free(kept_get(records, number));
	map_del(records, number);
}

void kept_free(struct map *kept)
{
	uint64_t number, record;
	size_t pos = 0;

	while (map_next(kept, &pos, &number, &record))
		free((void *)(uintptr_t)record);
	map_free(kept);
}

/* The row just added, to set more columns; `r` is the result of adding it. */
static struct batch_row row_again(const struct batch_set *out, enum table_id table, int r)
{
	struct batch *b = out->tables[table];

	return (struct batch_row){.b = b, .at = r < 0 ? 0 : b->rows - 1, .r = r};
}

/* Repeats a row with changes: enrich replaces what it knows of the id. */
static int file_again(struct decode *d, uint64_t file, struct batch_set *out, struct batch_row *ret)
{
	const struct wire_file *w = records_get(&d->files, file, NULL);

	if (!w)
		return -ENOENT;
	*ret = row_again(out, TABLE_FILE, decode_file(d, w, out));
	return ret->r;
}

static int decode_gone(struct decode *d, const struct wire_file_gone *w, struct batch_set *out)
{
	struct batch_row row;
	int r;

	if (w->head.size < sizeof(*w))
		return -EBADMSG;
	r = file_again(d, w->file, out, &row);
	if (r == -ENOENT)
		return 0;
	row_set(&row, FILE_DELETED, (int64_t)w->head.time + d->opt.clock_offset);
	return row.r < 0 ? row.r : names_gone(d->names, w->file);
}

size_t address_text(uint16_t family, const uint8_t *addr, size_t len, uint16_t port, char *buf,
		    size_t size)
{
	char ip[INET6_ADDRSTRLEN] = "";
	int n = 0;

	/* An IPv4 address used by an IPv6 socket is shown and compared as IPv4. */
	if (family == AF_INET6 && len >= 16 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)addr))
		return address_text(AF_INET, addr + 12, 4, port, buf, size);
	if (family == AF_INET && len >= 4 && inet_ntop(AF_INET, addr, ip, sizeof(ip)))
		n = snprintf(buf, size, "%s:%u", ip, port);
	else if (family == AF_INET6 && len >= 16 && inet_ntop(AF_INET6, addr, ip, sizeof(ip)))
		n = snprintf(buf, size, "[%s]:%u", ip, port);
	else if (family == AF_UNIX && len && !addr[0])
		n = snprintf(buf, size, "unix:@%.*s", (int)len - 1, (const char *)addr + 1);
	else if (family == AF_UNIX && len)
		n = snprintf(buf, size, "unix:%.*s", (int)strnlen((const char *)addr, len),
			     (const char *)addr);
	return n < 0 ? 0 : MIN((size_t)n, size - 1);
}

static bool is_zero(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (p[i])
			return false;
	}
	return true;
}

int64_t decode_file_key(struct decode *d, uint64_t file)
{
	uint64_t key = file;

	if (file >= d->sock_low && file <= d->sock_high)
		recent_get(&d->sock_keys, file, &key);
	return (int64_t)key;
}

/*
 * Sets the socket's peer (len 0: none). True if it had a different one, or may have had: the peers of sockets up to
 * sock_gone may be forgotten. Entries dropped with a full generation of sock_peers are older than the start of the
 * generation that replaced it.
 */
static bool peer_changed(struct decode *d, uint64_t file, const char *peer, size_t len, int *r)
{
	size_t young = d->sock_peers.young.count;
	uint64_t hash = hash_bytes(peer, len), before = 0;
	bool had = recent_get(&d->sock_peers, file, &before);

	*r = had || len ? recent_set(&d->sock_peers, file, hash) : 0;
	if (d->sock_peers.young.count < young) {
		d->sock_gone = d->sock_mark;
		d->sock_mark = d->sock_newest;
	}
	d->sock_newest = MAX(d->sock_newest, file);
	return had ? before != hash : len && file <= d->sock_gone;
}

/*
 * The key for a socket with this peer. If it had a different one, a new key: the old row remains valid for earlier
 * calls.
 */
static int sock_key(struct decode *d, uint64_t file, const char *peer, size_t len, int64_t *ret)
{
	int r;

	if (peer_changed(d, file, peer, len, &r) && !r) {
		d->sock_low = d->sock_count ? MIN(d->sock_low, file) : file;
		d->sock_high = MAX(d->sock_high, file);
		r = recent_set(&d->sock_keys, file, KEY_SOCK_BASE + d->sock_count++);
	}
	*ret = decode_file_key(d, file);
	return r;
}

static int decode_sock(struct decode *d, const struct wire_sock *w, struct batch_set *out)
{
	char text[256];
	size_t n = 0;
	int64_t key;
	struct batch_row row;
	int r;

	if (w->head.size < sizeof(*w) || w->local_len > sizeof(w->local) ||
	    w->peer_len > sizeof(w->peer))
		return -EBADMSG;
	r = file_again(d, w->file, out, &row);
	if (r == -ENOENT)
		return 0;
	row_set(&row, FILE_FAMILY, w->family);
	row_set_if(&row, w->peer_ino, FILE_PEER_INO, (int64_t)w->peer_ino);
	row_set(&row, FILE_PROTO, (int64_t)w->type << 16 | w->proto);
	if (w->local_port || w->family == AF_UNIX) {
		n = address_text(w->family, w->local, w->local_len, w->local_port, text,
				 sizeof(text));
		if (n)
			row_set_bytes(&row, FILE_LOCAL, text, n);
	}
	n = 0;
	/* A failed connect() leaves the address without its port. */
	if (w->family == AF_UNIX || w->peer_port ||
	    (w->type != SOCK_STREAM && !is_zero(w->peer, w->peer_len)))
		n = address_text(w->family, w->peer, w->peer_len, w->peer_port, text, sizeof(text));
	if (n)
		row_set_bytes(&row, FILE_PEER, text, n);
	row.r = row.r ? row.r : sock_key(d, w->file, text, n, &key);
	if (row.r || key == (int64_t)w->file)
		return row.r;
	row_set(&row, FILE_ID, key);
	row_set(&row, FILE_SINCE, (int64_t)w->head.time + d->opt.clock_offset);
	return row.r;
}

/*
 * The other end of a unix socket. The peer of a connecting socket has no inode until it is accepted: then the
 * connecting socket's row is repeated. A socket for datagrams may be the peer of many, and have none itself.
 */
static int sock_peers(struct decode *d, const struct wire_sock *w, struct batch_set *out)
{
	struct wire_sock other;
	const struct wire_sock *waits;

	if (w->family != AF_UNIX || !w->ino || w->type == SOCK_DGRAM)
		return 0;
	kept_forget(&d->alone, w->ino);
	if (!w->peer_ino)
		return d->alone.count < ALONE_MAX ? kept_put(&d->alone, w->ino, w, sizeof(*w)) : 0;
	waits = kept_get(&d->alone, w->peer_ino);
	if (!waits)
		return 0;
	other = *waits;
	other.peer_ino = w->ino;
	kept_forget(&d->alone, w->peer_ino);
	return decode_sock(d, &other, out);
}

int decode_peer(struct decode *d, const uint8_t *addr, size_t len, uint64_t time,
		struct batch_set *out, int64_t *ret_key)
{
	size_t before = d->peers.count, n = 0;
	uint16_t family, port = 0;
	uint32_t id;
	char text[256];
	int r;
	struct batch_row row;

	if (len < sizeof(family))
		return 0;
	memcpy(&family, addr, sizeof(family));
	if (family == AF_INET)
		len = MIN(len, (size_t)8); /* exclude the padding */
	r = intern_add(&d->peers, addr, len, &id);
	if (r < 0)
		return r;
	*ret_key = KEY_PEER_BASE + id;
	if (d->peers.count == before)
		return 0;
	if (family == AF_UNIX) {
		n = address_text(family, addr + 2, len - 2, 0, text, sizeof(text));
	} else if (len >= 4) {
		size_t at = family == AF_INET6 ? 8 : 4;

		port = addr[2] << 8 | addr[3];
		if (len > at)
			n = address_text(family, addr + at, len - at, port, text, sizeof(text));
	}
	row = batch_set_row(out, TABLE_FILE);
	row_set(&row, FILE_ID, *ret_key);
	row_set(&row, FILE_INODE, *ret_key);
	row_set(&row, FILE_TYPE, FILE_TYPE_SOCKET);
	row_set(&row, FILE_FAMILY, family);
	if (n)
		row_set_bytes(&row, FILE_PEER, text, n);
	row_set(&row, FILE_SINCE, (int64_t)time + d->opt.clock_offset);
	row_set(&row, FILE_NAME_ONLY, 1);
	return row.r;
}

/* The path of a thread's executable. */
static struct bytes exe_of(const struct decode *d, const struct wire_thread *w)
{
	return w->exe ? names_get(d->names, w->exe) : d->unseen_exe;
}

static int process_row(struct decode *d, const struct wire_thread *w, int64_t key,
		       struct batch_set *out)
{
	struct bytes exe = exe_of(d, w);
	struct batch_row row = batch_set_row(out, TABLE_PROCESS);

	row_set(&row, PROCESS_ID, key);
	row_set(&row, PROCESS_PID, w->tgid);
	row_set(&row, PROCESS_PID_NS, w->tgid_ns);
	if (w->pid_ns) /* otherwise the kernel programs never saw the process */
		row_set(&row, PROCESS_PPID, w->ppid);
	if (w->argv_len && !d->opt.no_argv) /* the last NUL is a terminator, not a separator */
		row_set_bytes(&row, PROCESS_ARGV, (const uint8_t *)(w + 1),
			      w->argv_len - !((const uint8_t *)(w + 1))[w->argv_len - 1]);
	if (exe.data)
		row_set_bytes(&row, PROCESS_EXE, exe.data, exe.len);
	if (w->process_start) {
		row_set(&row, PROCESS_STARTED, (int64_t)w->process_start + d->boot_offset);
		row_set(&row, PROCESS_BORN, (int64_t)w->process_start);
	}
	row_set(&row, PROCESS_HOST_ID, HOST_KEY);
	return row.r;
}

static int cgroup_row(struct decode *d, uint64_t id, struct batch_set *out)
{
	char path[4096];
	int r;
	struct batch_row row;

	if (map_get(&d->cgroups, id, NULL))
		return 0;
	r = map_set(&d->cgroups, id, 1);
	if (r < 0)
		return r;
	row = batch_set_row(out, TABLE_CGROUP);
	row_set(&row, CGROUP_ID, (int64_t)id);
	row_set(&row, CGROUP_KERNEL_ID, (int64_t)id);
	if (cgroup_path(&d->opt.cgroups, id, path, sizeof(path)) == 0)
		row_set_bytes(&row, CGROUP_PATH, path, strlen(path));
	return row.r;
}

static bool process_find(struct decode *d, uint64_t hash, uint64_t *ret_key)
{
	return map_get(&d->processes, hash, ret_key) || recent_get(&d->ended, hash, ret_key);
}

/*
 * The key of the process of a thread known only as an owner: its end will not be seen, so it is kept while it is in
 * use.
 */
static int process_of_owner(struct decode *d, const struct wire_thread *w, struct batch_set *out,
			    int64_t *ret)
{
	uint64_t hash = life_key(w->tgid, w->process_start), key;
	bool known = process_find(d, hash, &key) || recent_get(&d->owners, hash, &key);
	int r;

	if (!known)
		key = d->process_count++;
	*ret = (int64_t)key;
	if (known)
		return 0;
	r = recent_set(&d->owners, hash, key);
	return r ? r : process_row(d, w, *ret, out);
}

/* The key of a thread's process; adds a row for a new one, or after exec. */
static int process_of(struct decode *d, const struct wire_thread *w, struct batch_set *out,
		      int64_t *ret)
{
	uint64_t hash = life_key(w->tgid, w->process_start), key;
	bool known = process_find(d, hash, &key);
	int r = 0;

	if (!known) {
		if (!recent_get(&d->owners, hash, &key))
			key = d->process_count++;
		recent_del(&d->owners, hash);
		r = map_set(&d->processes, hash, key);
	}
	*ret = (int64_t)key;
	if (r || (known && w->reason != WIRE_THREAD_EXEC))
		return r;
	/* until its execve the command is weir itself */
	d->argvs_cut +=
		w->argv_cut && (w->reason == WIRE_THREAD_EXEC || w->ppid != (int32_t)getpid());
	r = process_row(d, w, *ret, out);
	return r ? r : kept_put(&d->process_records, key, w, w->head.size);
}

static int decode_thread(struct decode *d, const struct wire_thread *w, struct batch_set *out)
{
	bool owner = w->thread & WIRE_OWNER_THREADS; /* only an owner */
	struct bytes exe = exe_of(d, w);
	uint64_t known;
	int64_t process = -1;
	int r;
	struct batch_row row;

	if (w->head.size < sizeof(*w) || w->argv_len > w->head.size - sizeof(*w))
		return -EBADMSG;
	/* a repeated row of an old version does not change which thread has the tid now */
	if (map_get(&d->tids, (uint32_t)w->tid, &known) && known > w->thread)
		r = 0;
	else
		r = owner ? 0 : map_set(&d->tids, (uint32_t)w->tid, w->thread);
	if (!r)
		r = owner ? process_of_owner(d, w, out, &process) : process_of(d, w, out, &process);
	if (!r && w->cgroup)
		r = cgroup_row(d, w->cgroup, out);
	if (r < 0)
		return r;
	row = batch_set_row(out, TABLE_THREAD);
	row_set(&row, THREAD_ID, w->thread);
	row_set(&row, THREAD_TASK, w->task);
	row_set(&row, THREAD_TID, w->tid);
	row_set(&row, THREAD_TID_NS, w->tid_ns);
	row_set(&row, THREAD_PROCESS_ID, process);
	row_set_bytes(&row, THREAD_COMM, w->comm, strnlen(w->comm, sizeof(w->comm)));
	if (exe.data)
		row_set_bytes(&row, THREAD_EXE, exe.data, exe.len);
	row_set_if(&row, w->cgroup, THREAD_CGROUP_ID, (int64_t)w->cgroup);
	if (w->pid_ns) { /* of a thread that the kernel programs saw */
		row_set(&row, THREAD_UID, w->uid);
		row_set(&row, THREAD_PID_NS, w->pid_ns);
		row_set(&row, THREAD_MNT_NS, w->mnt_ns);
		row_set(&row, THREAD_NET_NS, w->net_ns);
	}
	row_set(&row, THREAD_SINCE, (int64_t)w->head.time + d->opt.clock_offset);
	if (owner)
		row_set(&row, THREAD_UNRECORDED, w->reason == WIRE_THREAD_KERNEL ? 2 : 1);
	row_set_if(&row, w->start, THREAD_BORN, (int64_t)w->start);
	return row.r;
}

/* Repeats a version's row with the time it waited for a CPU. */
static int thread_again(struct decode *d, const struct wire_thread *t, uint64_t run_delay,
			struct batch_set *out)
{
	struct batch_row row = row_again(out, TABLE_THREAD, decode_thread(d, t, out));

	if (run_delay != WIRE_TIME_UNKNOWN && t->run_delay != WIRE_TIME_UNKNOWN)
		row_set(&row, THREAD_RUNQ, (int64_t)(run_delay - t->run_delay));
	return row.r;
}

/* A new version began: the previous one gets no more rows. */
static int thread_follows(struct decode *d, const struct wire_thread *w, struct batch_set *out)
{
	uint64_t before;
	struct wire_thread *t;
	int r;

	if (!map_get(&d->versions, w->task, &before) || before == w->thread)
		return 0;
	t = kept_get(&d->thread_records, before);
	if (!t)
		return 0;
	r = thread_again(d, t, w->run_delay, out);
	kept_forget(&d->thread_records, before);
	return r;
}

/* Kept for its end: without the arguments, and not to be taken for another exec. */
static int thread_keep(struct decode *d, const struct wire_thread *w, struct batch_set *out)
{
	struct wire_thread copy = *w;
	int r = thread_follows(d, w, out);

	copy.argv_len = 0;
	copy.reason = WIRE_THREAD_SEEN;
	r = r ? r : map_set(&d->versions, w->task, w->thread);
	return r ? r : kept_put(&d->thread_records, w->thread, &copy, sizeof(copy));
}

int decode_waited(struct decode *d, const struct buf *waited, struct batch_set *out)
{
	const struct wire_waited *w = (const void *)waited->data;
	int r = 0;

	for (size_t i = 0; i < waited->len / sizeof(*w) && !r; i++) {
		const struct wire_thread *t = kept_get(&d->thread_records, w[i].thread);

		r = t ? thread_again(d, t, w[i].run_delay, out) : 0;
		r = r ? r
		      : contexts_end_of(d, w[i].thread, w[i].context_until, w[i].context_flags,
					out);
	}
	return r ? r : contexts_end(d, out);
}

static int process_end(struct decode *d, const struct wire_thread_end *w, uint64_t key,
		       struct batch_set *out)
{
	const struct wire_thread *p = kept_get(&d->process_records, key);
	struct batch_row row;

	if (!p)
		return 0;
	row = row_again(out, TABLE_PROCESS, process_row(d, p, (int64_t)key, out));
	if (row.r < 0)
		return row.r;
	row_set(&row, PROCESS_STOPPED, (int64_t)w->head.time + d->opt.clock_offset);
	row_set(&row, PROCESS_STATUS, w->status);
	kept_forget(&d->process_records, key);
	/* Older records of other CPUs may still arrive. */
	map_del(&d->processes, life_key(w->tgid, w->process_start));
	return row.r ? row.r : recent_set(&d->ended, life_key(w->tgid, w->process_start), key);
}

static int decode_thread_end(struct decode *d, const struct wire_thread_end *w,
			     struct batch_set *out)
{
	uint64_t key;
	struct wire_thread *t;
	struct batch_row row;
	int r = 0;

	if (w->head.size < sizeof(*w))
		return -EBADMSG;
	t = kept_get(&d->thread_records, w->thread);
	r = contexts_end_of(d, w->thread, 0, 0, out); /* if the program could not send it */
	if (t && !r) {
		row = row_again(out, TABLE_THREAD, thread_again(d, t, w->run_delay, out));
		row_set(&row, THREAD_STOPPED, (int64_t)w->head.time + d->opt.clock_offset);
		r = row.r;
		map_del(&d->versions, t->task);
		kept_forget(&d->thread_records, w->thread);
	}
	if (r || !w->process_ended)
		return r;
	if (!process_find(d, life_key(w->tgid, w->process_start), &key))
		return 0;
	return process_end(d, w, key, out);
}

bool decode_knows_tid(const struct decode *d, int32_t tid)
{
	return map_get(&d->tids, (uint32_t)tid, NULL);
}

uint64_t decode_process_start(const struct decode *d, int32_t tgid)
{
	uint64_t key, record;
	size_t pos = 0;

	while (map_next(&d->process_records, &pos, &key, &record)) {
		const struct wire_thread *p = (void *)(uintptr_t)record;

		if (p->tgid == tgid)
			return p->process_start;
	}
	return 0;
}

/* The machine; with `ended` again, at the end of recording. */
static int decode_host_row(const struct decode *d, bool ended, struct batch_set *out)
{
	struct batch_row row = batch_set_host(out, HOST_KEY);

	row_set(&row, HOST_CLOCK_OFFSET, d->opt.clock_offset);
	row_set(&row, HOST_CLOCK_AT, d->clock_at);
	if (ended) {
		row_set(&row, HOST_END_OFFSET, clock_offset_ns());
		row_set(&row, HOST_END_AT, clock_realtime_ns());
	}
	return row.r;
}

int decode_begin(struct decode *d, struct batch_set *out)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	d->began_boot = (uint64_t)(ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec);
	return decode_host_row(d, false, out);
}

int decode_end(struct decode *d, struct batch_set *out)
{
	return decode_host_row(d, true, out);
}

int decode_unseen(struct decode *d, const struct wire_thread *w, struct bytes exe,
		  struct batch_set *out)
{
	int r;

	d->unseen_exe = exe.len ? exe : (struct bytes){NULL, 0};
	r = decode_dimension(d, &w->head, out);
	d->unseen_exe = (struct bytes){NULL, 0};
	return r;
}

/* For a waiter the kernel programs know only the task, not whether it is recorded. */
int decode_owner(struct decode *d, const struct wire_thread *w, struct batch_set *out,
		 uint32_t *ret_thread)
{
	uint64_t ident[4] = {(uint32_t)w->tid, w->start}, hash, known;
	const struct wire_thread *t;
	int r;

	_Static_assert(sizeof(w->comm) == 2 * sizeof(*ident), "it fits");
	memcpy(&ident[2], w->comm, sizeof(w->comm));
	hash = hash_bytes(ident, sizeof(ident));
	t = map_get(&d->tids, (uint32_t)w->tid, &known) ? kept_get(&d->thread_records, known)
							: NULL;
	if ((t && t->start == w->start) || recent_get(&d->owner_threads, hash, &known)) {
		*ret_thread = (uint32_t)known;
		return 0;
	}
	*ret_thread = w->thread;
	r = recent_set(&d->owner_threads, hash, w->thread);
	return r ? r : decode_thread(d, w, out);
}

int decode_file_turn(struct decode *d, const struct wire_file *w)
{
	return names_found(d->names, w->file);
}

int decode_dimension(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	int r;

	switch (h->type) {
	case WIRE_FILE:
		r = decode_file(d, (const void *)h, out);
		d->paths_cut += !r && ((const struct wire_file *)h)->flags & WIRE_FILE_CUT;
		return r ? r
			 : records_put(&d->files, ((const struct wire_file *)h)->file, h, h->size);
	case WIRE_SOCK:
		r = decode_sock(d, (const void *)h, out);
		return r ? r : sock_peers(d, (const void *)h, out);
	case WIRE_FILE_GONE:
		return decode_gone(d, (const void *)h, out);
	case WIRE_THREAD:
		r = decode_thread(d, (const void *)h, out);
		if (!r && ((const struct wire_thread *)h)->reason == WIRE_THREAD_EXEC)
			r = decode_announcer_exec(d, (const void *)h, out);
		else if (!r && ((const struct wire_thread *)h)->reason == WIRE_THREAD_SEEN)
			r = decode_announcer_older(d, (const void *)h, out);
		r = r ? r : thread_keep(d, (const void *)h, out);
		return r ? r : spans_look(d, (const void *)h, out);
	case WIRE_THREAD_END:
		r = probes_thread_gone(d, (const void *)h, out);
		r = r ? r : decode_thread_end(d, (const void *)h, out);
		if (!r && ((const struct wire_thread_end *)h)->process_ended)
			r = decode_announcer_end(d, (const void *)h, out);
		return r;
	case WIRE_CONTEXT:
		return decode_context(d, (const void *)h, out);
	case WIRE_ANNOUNCE:
		return decode_announce(d, (const void *)h, out);
	case WIRE_STACK:
		return decode_stack(d, (const void *)h, out);
	case WIRE_CONTENT:
		return decode_content(d, (const void *)h, out);
	case WIRE_DETAIL:
		return decode_detail(d, (const void *)h);
	case WIRE_CALL_STACKS:
		return decode_call_stacks(d, (const void *)h);
	default:
		return -EBADMSG;
	}
}
