// SPDX-License-Identifier: Apache-2.0
/* span_streams.c: streams by the names of their ends and their unread writes, and children by pid. */
#include "analysis/spans/span_streams.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "names/names.h"
#include "schema/vocab.h"

void span_streams_free(struct span_streams *q)
{
	for (size_t i = 0; i < q->count; i++)
		free(q->all[i].unread);
	free(q->all);
	free(q->names);
	free(q->children);
	map_free(&q->by_name);
	map_free(&q->by_file);
}

/* ---- children ---- */

static int child_order(const void *a, const void *b)
{
	const struct span_child *x = a, *y = b;

	return ORDER(x->pid, y->pid) ?: ORDER(x->started, y->started) ?: ORDER(x->thread_id, y->thread_id);
}

/* The pid of a thread as seen by a parent in its pid namespace. */
static int64_t child_pid(const struct dims_thread *t)
{
	return t->tid_ns >= 0 ? t->tid_ns : t->tid;
}

int span_streams_new(struct span_streams *q, const struct dims *d)
{
	size_t rows = dims_rows(d, TABLE_THREAD);

	q->dims = d;
	for (size_t i = 0; i < rows; i++) {
		int64_t id = dims_id_at(d, TABLE_THREAD, i);
		const struct dims_thread *t = dims_thread(d, id);
		const struct dims_process *p = t ? dims_process(d, t->process_id) : NULL;

		if (!p || t->tid != p->pid || names_task(d, id) != id)
			continue;
		if (array_add(q->children, q->child_count, q->child_cap,
			      (struct span_child){child_pid(t), id, p->started}) < 0)
			return -ENOMEM;
	}
	array_sort(q->children, q->child_count, child_order);
	return 0;
}

int64_t span_streams_child(const struct span_streams *q, int64_t parent_thread, int64_t pid,
			   int64_t start, int64_t stop)
{
	const struct dims_thread *parent = dims_thread(q->dims, parent_thread), *t;
	const struct dims_process *p;
	size_t low = array_first(i, 0, q->child_count, q->children[i].pid >= pid);
	int64_t found = -1;

	for (; low < q->child_count && q->children[low].pid == pid; low++) {
		t = dims_thread(q->dims, q->children[low].thread_id);
		p = dims_process(q->dims, t->process_id);
		if (parent && t->pid_ns == parent->pid_ns && p->started <= stop &&
		    (p->stopped == INT64_MIN || p->stopped >= start))
			found = q->children[low].thread_id;
	}
	return found;
}

/* ---- names of streams ---- */

static uint64_t stream_addresses(const struct dims_file *f, struct bytes reads, struct bytes writes)
{
	return hash_u64(hash_bytes(reads.data, reads.len) ^
			hash_u64(hash_bytes(writes.data, writes.len) ^ (uint64_t)f->proto)) |
	       1;
}

static uint64_t stream_inode(const struct dims_file *f, uint64_t ino)
{
	return ino ? hash_u64(ino ^ hash_u64((uint64_t)f->dev)) | 1 : 0;
}

static void stream_name(const struct span_streams *q, int64_t file_id, struct stream_names *n)
{
	static const char eventfd[] = "eventfd";
	struct dims_file room;
	int64_t generation;
	const struct dims_file *f = dims_newest_file(q->dims, file_id, &generation, &room);
	struct bytes name;

	if (!f)
		return;
	switch (f->type) {
	case FILE_TYPE_PIPE:
		n->read = n->written = hash_u64((uint64_t)generation ^ 1ull << 62) | 1;
		return;
	case FILE_TYPE_ANON:
		name = dims_file_name(q->dims, file_id);
		n->counter = memmem(name.data, name.len, eventfd, sizeof(eventfd) - 1);
		n->read = n->written = n->counter;
		return;
	case FILE_TYPE_SOCKET:
		n->message = f->proto >= 0 && f->proto >> 16 != SOCK_STREAM;
		if (f->family == AF_UNIX) {
			n->read = stream_inode(f, f->ino);
			n->written = stream_inode(f, f->peer_ino);
		} else if (f->local.len && f->peer.len) {
			n->read = stream_addresses(f, f->local, f->peer);
			n->written = stream_addresses(f, f->peer, f->local);
		}
		return;
	default:
		return;
	}
}

static int stream_names_of(struct span_streams *q, int64_t file_id, const struct stream_names **ret)
{
	struct stream_names *n;
	bool is_new;

	n = array_of_key(q->names, q->name_count, q->name_cap, &q->by_file, (uint64_t)file_id,
			 &is_new);
	if (n && is_new)
		stream_name(q, file_id, n);
	*ret = n;
	return n ? 0 : -ENOMEM;
}

/* The names for its file; NULL: the end that the call reads or writes is not a stream. */
static int stream_named(struct span_streams *q, int64_t file_id, int64_t fd, bool write,
			const struct stream_names **ret)
{
	const struct stream_names *n = NULL;
	int r = file_id < 0 ? 0 : stream_names_of(q, file_id, &n);

	*ret = NULL;
	if (r >= 0 && n && (write ? n->written : n->read) && (!n->counter || fd >= 0))
		*ret = n;
	return r;
}

int span_streams_named(struct span_streams *q, int64_t file_id, int64_t fd, bool write)
{
	const struct stream_names *n;
	int r = stream_named(q, file_id, fd, write, &n);

	return r < 0 ? r : n != NULL;
}

int span_streams_find(struct span_streams *q, int64_t file_id, int64_t fd, int64_t thread_id,
		      bool write, uint32_t *ret)
{
	const struct stream_names *n;
	struct span_stream *stream;
	uint64_t name;
	int r = stream_named(q, file_id, fd, write, &n);

	*ret = SPAN_NONE;
	if (r < 0 || !n)
		return r;
	name = write ? n->written : n->read;
	if (n->counter)
		name = hash_u64((uint64_t)names_process_of(q->dims, thread_id) ^
				hash_u64((uint64_t)fd)) |
		       1;
	stream = array_of_key(q->all, q->count, q->cap, &q->by_name, name, NULL);
	if (!stream || q->count > SPAN_NONE)
		return -ENOMEM;
	stream->counter = n->counter;
	stream->message = n->message;
	*ret = (uint32_t)(stream - q->all);
	return 0;
}

/* ---- unread writes ---- */

static void stream_drop(struct span_stream *q, uint32_t n)
{
	assert(n <= q->count);
	q->count -= n;
	q->first = q->count ? q->first + n : 0;
}

int span_stream_wrote(struct span_stream *q, const struct span_written *w)
{
	if (!q->read)
		return 0;
	if (q->count == STREAM_UNREAD_MAX) {
		q->lost = true;
		return 0;
	}
	if (q->first && q->first + (size_t)q->count == q->cap) {
		memmove(q->unread, q->unread + q->first, q->count * sizeof(*q->unread));
		q->first = 0;
	}
	if (grow((void **)&q->unread, &q->cap, q->first + (size_t)q->count + 1,
		 sizeof(*q->unread)) < 0)
		return -ENOMEM;
	q->unread[q->first + q->count++] = *w;
	return 0;
}

void span_stream_read(struct span_stream *q, int64_t waited_from, int64_t stop, uint32_t bytes,
		      struct span_written *ret)
{
	/* the stream was empty when its reader began to wait */
	while (q->count && q->unread[q->first].stop <= waited_from)
		stream_drop(q, 1);
	if (waited_from != INT64_MIN)
		q->lost &= q->count == STREAM_UNREAD_MAX;
	*ret = q->count && !q->lost && q->unread[q->first].start < stop
		       ? q->unread[q->first]
		       : (struct span_written){.task = SPAN_NONE};
	while (q->count && bytes && q->unread[q->first].start < stop) {
		uint32_t n = MIN(bytes, q->unread[q->first].bytes);

		q->unread[q->first].bytes -= n;
		bytes = q->counter ? bytes : q->message ? 0 : bytes - n;
		if (q->unread[q->first].bytes && !q->counter && !q->message)
			return;
		stream_drop(q, 1);
	}
}
