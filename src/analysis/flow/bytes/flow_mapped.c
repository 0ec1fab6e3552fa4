// SPDX-License-Identifier: Apache-2.0
/*
 * flow_mapped.c: bytes that programs store through shared mappings of files. No call moves them: they are seen when a later
 * call reads the file. If a read returns other bytes than calls wrote there, the process that had this part mapped for
 * writing stored them, between its mmap and the read; if several had, it is not known which.
 */
#include <errno.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>

#include "analysis/flow/flow_pass.h"
#include "base/array.h"
#include "schema/content_hash.h"
#include "schema/ops.h"

#define MAPS_MAX      65536
#define ANCESTORS_MAX 16

/* ---- mappings ---- */

static void mapped_new(struct flow_state *s, const struct flow_map *m)
{
	struct flow_file *f = &s->files[s->objects[m->object].file];
	uint64_t before = FLOW_NONE, number = s->map_count;
	struct flow_map *n;

	if (number == MAPS_MAX) {
		s->graph.left_out++;
		return;
	}
	map_get(&s->map_of, (uint64_t)m->process_id, &before);
	flow_failed(s, array_add(s->maps, s->map_count, s->map_cap, *m));
	flow_failed(s, map_set(&s->map_of, (uint64_t)m->process_id, number));
	if (s->graph.r < 0)
		return;
	n = &s->maps[number];
	n->seen_to = n->pos;
	n->next = f->maps;
	n->next_of_process = (uint32_t)before;
	f->maps = (uint32_t)number;
}

static void mapped_add(struct flow_state *s, struct flow_call *c)
{
	uint32_t at = flow_object(s, c->file_id);

	if (at == FLOW_NONE || s->objects[at].kind != FLOW_IS_FILE || c->failed ||
	    !(c->flags & MAP_SHARED) || c->pos < 0 || c->pos > FLOW_POS_MAX || c->size <= 0 ||
	    c->size > FLOW_POS_MAX || flow_call_node(s, c) == FLOW_NONE)
		return;
	mapped_new(s, &(struct flow_map){
			      .process_id = s->tasks[c->task].process_id,
			      .object = at,
			      .pos = c->pos,
			      .len = c->size,
			      .at = (uint64_t)c->ret,
			      .left = {(uint64_t)c->ret, (uint64_t)c->ret + (uint64_t)c->size},
			      .node = c->node,
			      .writable = (c->a[2] & PROT_WRITE) != 0});
}

static bool mapped_meets(const struct flow_map *m, const uint64_t range[2])
{
	return m->left[0] < range[1] && range[0] < m->left[1];
}

/* Only an end can be taken off: with a hole, the mapping counts as if it were whole. True: nothing is left. */
static bool mapped_less(struct flow_map *m, const uint64_t range[2])
{
	if (range[0] <= m->left[0])
		m->left[0] = MIN(range[1], m->left[1]);
	else if (range[1] >= m->left[1])
		m->left[1] = range[0];
	return m->left[0] >= m->left[1];
}

/* Takes a range of addresses off the process's mappings. *ret_old: one of them, as it was; false: none. */
static bool mapped_off(struct flow_state *s, int64_t process_id, const uint64_t range[2],
		       struct flow_map *ret_old)
{
	uint32_t before = FLOW_NONE, next;
	uint64_t first = FLOW_NONE;
	bool found = false;

	map_get(&s->map_of, (uint64_t)process_id, &first);
	for (uint32_t i = (uint32_t)first; i != FLOW_NONE; i = next) {
		next = s->maps[i].next_of_process;
		if (!mapped_meets(&s->maps[i], range)) {
			before = i;
			continue;
		}
		found = true;
		*ret_old = s->maps[i];
		if (!mapped_less(&s->maps[i], range))
			before = i;
		else if (before != FLOW_NONE)
			s->maps[before].next_of_process = next;
		else
			flow_failed(s, map_set(&s->map_of, (uint64_t)process_id, next));
	}
	return found;
}

/* mremap: part of a mapping is at other addresses, or longer than before. */
static void mapped_moved(struct flow_state *s, const struct flow_call *c, struct flow_map *m)
{
	uint64_t to = (uint64_t)c->ret, skipped = c->a[0] - m->at;

	if (c->size <= 0 || c->size > FLOW_POS_MAX || c->a[0] < m->at ||
	    skipped > (uint64_t)(FLOW_POS_MAX - m->pos))
		return;
	m->pos += (int64_t)skipped;
	m->len = c->size;
	m->at = m->left[0] = to;
	m->left[1] = to + (uint64_t)c->size;
	mapped_new(s, m);
}

/* A process may also store through mappings that it inherited. */
static void mapped_protect(struct flow_state *s, int64_t process_id, const uint64_t range[2])
{
	uint64_t i;

	for (int age = 0; age < ANCESTORS_MAX && process_id >= 0; age++) {
		if (!map_get(&s->map_of, (uint64_t)process_id, &i))
			i = FLOW_NONE;
		for (; i != FLOW_NONE; i = s->maps[i].next_of_process)
			s->maps[i].writable |= mapped_meets(&s->maps[i], range);
		process_id = flow_task_parent(s, process_id);
	}
}

/* Without CLONE_VM, the child has the mappings, too. */
static void mapped_fork(struct flow_state *s, const struct flow_call *c, int64_t process_id)
{
	uint64_t i;

	if ((c->flags & CLONE_VM) || !strcmp(op_def(c->op)->name, "vfork") ||
	    !map_get(&s->map_of, (uint64_t)process_id, &i))
		return;
	for (; i != FLOW_NONE; i = s->maps[i].next_of_process)
		s->maps[i].inherited = true;
}

void flow_mapped_take(struct flow_state *s, struct flow_call *c)
{
	int64_t process_id = s->tasks[c->task].process_id;
	uint64_t size = c->act == FLOW_REMAP ? c->a[1] : (uint64_t)c->size;
	const uint64_t range[2] = {c->a[0], c->a[0] + MIN(size, UINT64_MAX - c->a[0])};
	struct flow_map old;

	if (c->act == FLOW_MAP)
		mapped_add(s, c);
	else if (c->failed || !s->map_count)
		return;
	else if (c->act == FLOW_FORK)
		mapped_fork(s, c, process_id);
	else if (c->act == FLOW_PROTECT && c->flags & PROT_WRITE)
		mapped_protect(s, process_id, range);
	else if (c->act != FLOW_PROTECT && mapped_off(s, process_id, range, &old) &&
		 c->act == FLOW_REMAP)
		mapped_moved(s, c, &old);
}

bool flow_mapped_unseen(const struct flow_state *s, int64_t process_id)
{
	for (size_t i = 0; i < s->map_count; i++) {
		const struct flow_map *m = &s->maps[i];

		if (m->writable && (process_id < 0 || m->process_id == process_id) &&
		    m->seen_to < m->pos + m->len)
			return true;
	}
	return false;
}

/* ---- reads ---- */

/* The mapping through which these bytes may have been stored; *ret_several: or through that of another process. */
static struct flow_map *mapped_by(struct flow_state *s, const struct flow_file *f, int64_t pos,
				  int64_t end, bool *ret_several)
{
	struct flow_map *found = NULL;

	*ret_several = false;
	for (uint32_t i = f->maps; i != FLOW_NONE; i = s->maps[i].next) {
		struct flow_map *m = &s->maps[i];

		if (!m->writable || pos < m->pos || end > m->pos + m->len + CONTENT_PIECE - 1)
			continue;
		*ret_several |= m->inherited || (found && found->process_id != m->process_id);
		found = m;
	}
	return found;
}

static void mapped_written(struct flow_file *f, const struct flow_map *m, int64_t to)
{
	if (f->first == FLOW_NONE)
		f->first = m->node;
	f->last = m->node;
	f->size = MAX(f->size, to);
	if (f->process_id < 0)
		f->process_id = m->process_id;
	f->mixed |= f->process_id != m->process_id;
}

/* Stored bytes next to each other that a read returned. */
struct mapped_run {
	struct flow_map *map;
	int64_t from, to;
};

static void mapped_flush(struct flow_state *s, struct flow_call *c, uint32_t object,
			 struct mapped_run *run, int64_t pos)
{
	size_t size, from = (size_t)(run->from - pos), bytes = (size_t)(run->to - run->from);
	const uint8_t *payload = flow_content_payload(s, c, FLOW_RECEIVE, &size);
	const struct flow_map *m = run->map;
	uint64_t hash;
	bool hashed;

	run->map = NULL;
	if (!m || flow_call_node(s, c) == FLOW_NONE)
		return;
	flow_edge(s, &(struct flow_edge){.from = m->node,
					 .to = c->node,
					 .pos = run->from,
					 .bytes = (int64_t)bytes,
					 .file_id = op_copy(c->op) == OP_COPY_TO_FIRST ? c->file2_id
										       : c->file_id,
					 .via = VIA_STORAGE});
	hashed = bytes == (size_t)c->bytes && flow_content_hash(s, c, FLOW_RECEIVE, &hash);
	payload = payload && from + bytes <= size ? payload + from : NULL;
	if (payload || hashed)
		flow_failed(s, flow_links_out(&s->links, m->process_id, object | FLOW_SPOT_FILE,
					      run->from, m->node, payload, bytes,
					      hashed ? &hash : NULL));
}

/* Bytes that a call had written, other than zeros that make room, were replaced. */
static void mapped_replaced(struct flow_state *s, struct flow_call *c, const struct flow_piece *p,
			    const struct flow_chunk *k, const struct flow_map *m, bool several)
{
	if (p && p->sum && s->acts[s->graph.nodes[p->node].op] != FLOW_MAP)
		flow_content_read_back(s, c, m->object, k, several ? FLOW_NONE : m->node, several);
}

/* A piece that a read returned. True: it was stored through the mapping. */
static bool mapped_piece(struct flow_state *s, struct flow_call *c, struct flow_file *f,
			 const struct flow_chunk *k, struct flow_map *m, bool several)
{
	uint64_t index = (uint64_t)k->pos / CONTENT_PIECE;
	struct flow_piece *have = flow_piece_at(&s->pieces, &f->pieces, index);
	bool end = c->bytes < c->size && k->call_pos + k->size == c->bytes;
	size_t size;
	const uint8_t *payload;

	if (!k->has_hash || k->contested || k->pos % CONTENT_PIECE || k->head_len ||
	    (k->tail_len && (!end || have)) ||
	    (k->size != CONTENT_PIECE && !end && k->pos + k->size != m->pos + m->len))
		return false;
	if (k->pos <= m->seen_to)
		m->seen_to = end ? INT64_MAX : MAX(m->seen_to, k->pos + k->size);
	if (have ? !have->doubtful && have->covered == k->size && !have->cut_count &&
			    have->sum == k->hash
		 : !k->hash && !k->tail_len) /* a hole */
		return false;
	mapped_replaced(s, c, have, k, m, several);
	if (several || (have && have->doubtful)) {
		flow_pieces_drop(&s->pieces, &f->pieces, index);
		s->mapped_unsure += (uint64_t)k->size;
		return false;
	}
	f->rewritten |= have != NULL;
	flow_pieces_drop(&s->pieces, &f->pieces, index);
	flow_failed(s, flow_pieces_add(&s->pieces, &f->pieces, k, k->pos, m->node));
	payload = flow_content_payload(s, c, FLOW_RECEIVE, &size);
	if (payload && (size_t)(k->call_pos + k->size) <= size)
		flow_failed(s, flow_pieces_payload(&s->pieces, &f->pieces, payload + k->call_pos,
						   k->size, k->pos));
	mapped_written(f, m, k->pos + k->size);
	return true;
}

void flow_mapped_read(struct flow_state *s, struct flow_call *c, uint32_t object,
		      const struct flow_chunks *all)
{
	struct flow_file *f = &s->files[s->objects[object].file];
	struct mapped_run run = {0};
	int64_t pos = -1;

	for (size_t i = 0; i < all->count; i++) {
		const struct flow_chunk *k = &all->rows[i];
		struct flow_map *m;
		bool several, stored;

		if (!flow_chunk_is_piece(k, FLOW_RECEIVE) || k->pos < k->call_pos)
			continue;
		pos = k->pos - k->call_pos;
		m = mapped_by(s, f, k->pos, k->pos + k->size, &several);
		stored = m && mapped_piece(s, c, f, k, m, several);
		if (!m)
			flow_content_read_back(s, c, object, k, FLOW_NONE, false);
		if (!stored || run.map != m || run.to != k->pos) {
			mapped_flush(s, c, object, &run, pos);
			run = (struct mapped_run){stored ? m : NULL, k->pos, k->pos};
		}
		run.to = k->pos + k->size;
	}
	mapped_flush(s, c, object, &run, pos);
}
