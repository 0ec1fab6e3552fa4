// SPDX-License-Identifier: Apache-2.0
/*
 * flow_files.c: edges through files: from a write to a later read of the same bytes, from a rename or link to a later
 * open of the file, from writes to the fsync or msync that covers them.
 *
 * A read gets an edge from the last write of each task whose bytes it returned; program order implies that task's
 * earlier writes. An edge is certain if the write had ended when the read began and no other write to these bytes
 * overlapped with it in time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/flow/flow_pass.h"
#include "base/array.h"
#include "schema/ops.h"

#define WRITERS_MAX 64 /* tasks that one read depends on; further ones are left out and counted */

struct flow_taken {
	uint32_t writer;
	bool contested;
	int64_t pos, bytes;
};

static bool is_contested(const struct flow_call *c)
{
	return (c->status & STATUS_CONTESTED) != 0;
}

static uint32_t node_task(const struct flow_state *s, uint32_t node)
{
	return flow_node_task(&s->graph, &s->graph.nodes[node]);
}

/* ---- reads ---- */

static void files_taken(struct flow_state *s, const struct flow_call *c, struct flow_taken *list,
			size_t *count, const struct flow_extent *e, bool contested)
{
	uint32_t task = node_task(s, e->writer);
	size_t i = 0;

	if (task == c->number)
		return;
	while (i < *count && node_task(s, list[i].writer) != task)
		i++;
	if (i == WRITERS_MAX) {
		s->graph.left_out++;
		return;
	}
	if (i == *count)
		list[(*count)++] = (struct flow_taken){e->writer, contested, e->from, 0};
	list[i].bytes += e->to - e->from;
	if (e->writer > list[i].writer) {
		list[i].writer = e->writer;
		list[i].contested = contested;
	}
}

/*
 * --of follows every write whose bytes the read returned: not only the last one of each task, and also those of the
 * reader's own task, for which there are no edges.
 */
static void files_follow(struct flow_state *s, struct flow_call *c, int64_t file_id,
			 const struct flow_extent *e, bool contested)
{
	uint32_t n = flow_call_node(s, c);

	if (n == FLOW_NONE)
		return;
	if (s->taking_count == FLOW_TAKINGS_MAX) {
		s->from_left_out++;
		return;
	}
	flow_failed(s, array_add(s->takings, s->taking_count, s->taking_cap,
				 (struct flow_taking){.writer = e->writer,
						      .reader = n,
						      .bytes = flow_edge_bytes(e->to - e->from),
						      .contested = contested,
						      .file_id = file_id,
						      .pos = e->from}));
}

/* The call depends on those that wrote bytes [pos, to) last. */
static void files_depend(struct flow_state *s, struct flow_call *c, const struct flow_file *f,
			 enum block_via via, int64_t file_id, int64_t pos, int64_t to)
{
	struct flow_taken list[WRITERS_MAX];
	struct flow_extent e;
	size_t count = 0;

	while (flow_extents_next(&f->written, &pos, to, &e)) {
		const struct flow_node *w = &s->graph.nodes[e.writer & ~FLOW_OVERLAPPED];
		bool contested = is_contested(c) || (e.writer & FLOW_OVERLAPPED) ||
				 flow_node_end(w) > c->start;

		e.writer &= ~FLOW_OVERLAPPED;
		files_taken(s, c, list, &count, &e, contested);
		if (s->from.count && via == VIA_STORAGE)
			files_follow(s, c, file_id, &e, contested);
	}
	for (size_t i = 0; i < count; i++)
		flow_edge(s, &(struct flow_edge){.from = list[i].writer,
						 .to = flow_call_node(s, c),
						 .pos = list[i].pos,
						 .bytes = list[i].bytes,
						 .file_id = file_id,
						 .via = (uint8_t)via,
						 .certain = !list[i].contested});
}

/* ---- writes ---- */

static void files_remember(struct flow_state *s, struct flow_file *f, uint32_t node)
{
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_SIZE(f->writers); i++) {
		if (f->writers[i] == FLOW_NONE ||
		    node_task(s, f->writers[i]) == node_task(s, node)) {
			f->writers[i] = node;
			return;
		}
		if (f->writers[i] < f->writers[at])
			at = i;
	}
	f->unkept++;
	f->writers[at] = node;
}

/* True if a write of the same bytes overlaps in time with this one. */
static bool files_overlap(const struct flow_state *s, struct flow_file *f,
			  const struct flow_call *c, int64_t pos, int64_t to)
{
	struct flow_extent e;

	while (flow_extents_next(&f->written, &pos, to, &e)) {
		const struct flow_node *n = &s->graph.nodes[e.writer & ~FLOW_OVERLAPPED];

		f->rewritten = true;
		if (flow_node_task(&s->graph, n) != c->number && flow_node_end(n) > c->start)
			return true;
	}
	return false;
}

static void files_written(struct flow_state *s, struct flow_call *c, struct flow_file *f,
			  int64_t pos)
{
	int64_t to = pos + c->bytes;
	uint32_t writer = flow_call_node(s, c);
	int r;

	if (writer == FLOW_NONE)
		return;
	if (f->first == FLOW_NONE)
		f->first = writer;
	f->last = writer;
	f->size = MAX(f->size, to);
	files_remember(s, f, writer);
	if (f->process_id < 0)
		f->process_id = s->tasks[c->task].process_id;
	f->mixed |= f->process_id != s->tasks[c->task].process_id;
	if (files_overlap(s, f, c, pos, to) || is_contested(c))
		writer |= FLOW_OVERLAPPED;
	r = flow_extents_put(&f->written, &s->room, pos, to, writer);
	if (r != -ENOSPC) {
		flow_failed(s, r);
		return;
	}
	flow_extents_free(&f->written, &s->room);
	s->forgotten++;
}

void flow_files_move(struct flow_state *s, struct flow_call *c, uint32_t object, int64_t file_id,
		     int64_t pos, enum flow_side side)
{
	struct flow_file *f = &s->files[s->objects[object].file];
	bool known = pos >= 0 && pos <= FLOW_POS_MAX;

	if (known && side == FLOW_SEND)
		files_written(s, c, f, pos);
	else if (known)
		files_depend(s, c, f, VIA_STORAGE, file_id, pos, pos + c->bytes);
	flow_content_moved(s, c, object | FLOW_SPOT_FILE, side, pos);
}

/* ---- names, sync, sizes ---- */

int64_t flow_object_file(const struct flow_state *s, uint32_t object)
{
	const struct flow_object *o = &s->objects[object];
	int64_t renamed = o->kind == FLOW_IS_FILE ? s->files[o->file].renamed : -1;

	return renamed >= 0 ? renamed : o->file_id;
}

struct bytes flow_object_name(const struct flow_state *s, uint32_t object)
{
	return dims_file_name(s->dims, flow_object_file(s, object));
}

/* The file of "/proc/self/fd/3", as open(2) has it for files of O_TMPFILE; NULL: another path, or not known. */
static struct flow_file *files_of_descriptor(struct flow_state *s, const struct flow_call *c)
{
	static const char folder[] = "/proc/self/fd/";
	struct bytes name = dims_file_name(s->dims, c->file_id);
	size_t at = sizeof(folder) - 1;
	struct flow_opened of;
	int64_t fd = 0;

	if (name.len <= at || name.len > at + 9 || memcmp(name.data, folder, at) != 0)
		return NULL;
	for (; at < name.len; at++) {
		if (name.data[at] < '0' || name.data[at] > '9')
			return NULL;
		fd = fd * 10 + name.data[at] - '0';
	}
	if (!flow_opened_has(s, s->tasks[c->task].process_id, fd, &of) || of.object == FLOW_NONE ||
	    s->objects[of.object].kind != FLOW_IS_FILE)
		return NULL;
	return &s->files[s->objects[of.object].file];
}

static void files_published(struct flow_state *s, struct flow_call *c)
{
	struct flow_file *f = flow_file(s, c->file_id), *second = flow_file(s, c->file2_id);
	bool linked = !strncmp(op_def(c->op)->name, "link", 4),
	     swapped = !linked && c->flags & RENAME_EXCHANGE;

	if (!f && linked) {
		f = files_of_descriptor(s, c);
		if (f) /* it had no name */
			f->renamed = c->file2_id;
	}
	/* the second file is the one that had the name before, or has the first one's name now */
	f = f ?: second;
	if (!f)
		return;
	f->published = flow_call_node(s, c);
	if (!linked)
		f->renamed = c->file2_id;
	if (!swapped || !second)
		return;
	second->published = f->published;
	second->renamed = c->file_id;
}

static void files_cut(struct flow_state *s, struct flow_file *f, int64_t size)
{
	int r = 0;

	if (f->written.count && size < FLOW_POS_MAX)
		r = flow_extents_put(&f->written, &s->room, size, INT64_MAX, FLOW_NONE);
	f->size = MIN(f->size, size);
	flow_pieces_cut(&s->pieces, &f->pieces, size);
	flow_failed(s, r == -ENOSPC ? 0 : r);
}

static void files_opened(struct flow_state *s, struct flow_call *c, struct flow_file *f)
{
	if (c->flags & O_TRUNC)
		files_cut(s, f, 0);
	if (f->published != FLOW_NONE && node_task(s, f->published) != c->number)
		flow_edge_of_calls(s, VIA_PUBLISH, f->published, flow_call_node(s, c), c->file_id,
				   flow_node_end(&s->graph.nodes[f->published]) <= c->start);
}

static void files_synced(struct flow_state *s, struct flow_call *c, struct flow_file *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(f->writers); i++) {
		const struct flow_node *w;

		if (f->writers[i] == FLOW_NONE)
			continue;
		w = &s->graph.nodes[f->writers[i]];
		if (flow_node_task(&s->graph, w) != c->number)
			flow_edge_of_calls(s, VIA_SYNC, f->writers[i], flow_call_node(s, c),
					   c->file_id, flow_node_end(w) <= c->start);
		f->writers[i] = FLOW_NONE;
	}
	s->graph.left_out += f->unkept;
	f->unkept = 0;
}

/* Only of the bytes in its range; those stored through the mapping are by no call. */
static void files_msynced(struct flow_state *s, struct flow_call *c, struct flow_file *f)
{
	if (c->flags & MS_SYNC && c->pos >= 0 && c->pos <= FLOW_POS_MAX && c->size > 0 &&
	    c->size <= FLOW_POS_MAX)
		files_depend(s, c, f, VIA_SYNC, c->file_id, c->pos, c->pos + c->size);
}

void flow_files_take(struct flow_state *s, struct flow_call *c)
{
	struct flow_file *f;

	if (c->failed)
		return;
	if (c->act == FLOW_RENAME) {
		files_published(s, c);
		return;
	}
	f = flow_file(s, c->file_id);
	if (f && c->act == FLOW_OPEN)
		files_opened(s, c, f);
	else if (f && c->act == FLOW_FSYNC)
		files_synced(s, c, f);
	else if (f && c->act == FLOW_MSYNC)
		files_msynced(s, c, f);
	else if (f)
		files_cut(s, f, MAX(c->size, (int64_t)0));
}
