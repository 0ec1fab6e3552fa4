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

static int mapped_new(struct flow_state *s, struct flow_file *f, const struct flow_map *m)
{
	uint64_t before = FLOW_NONE, number = s->map_count;
	struct flow_map *n;

	if (number == MAPS_MAX) {
		s->graph.left_out++;
		return 0;
	}
	map_get(&s->map_of, (uint64_t)m->process_id, &before);
	if (array_add(s->maps, s->map_count, s->map_cap, *m) < 0)
		return -ENOMEM;
	n = &s->maps[number];
	n->seen_to = n->pos;
	n->next = f->maps;
	n->next_of_process = (uint32_t)before;
	f->maps = (uint32_t)number;
	return map_set(&s->map_of, (uint64_t)m->process_id, number);
}

static int mapped_add(struct flow_state *s, struct flow_call *c)
{
	int64_t at = flow_object(s, c->file_id), n;

	if (at < 0 || at == FLOW_NONE || s->objects[at].kind != FLOW_IS_FILE || c->failed ||
	    !(c->flags & MAP_SHARED) || c->pos < 0 || c->pos > FLOW_POS_MAX || c->size <= 0 ||
	    c->size > FLOW_POS_MAX)
		return at < 0 ? (int)at : 0;
	n = flow_call_node(s, c);
	if (n < 0 || n == FLOW_NONE)
		return n < 0 ? (int)n : 0;
	return mapped_new(
		s, &s->files[s->objects[at].file],
		&(struct flow_map){.process_id = s->tasks[c->task].process_id,
				   .object = (uint32_t)at,
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

/* Takes a range of addresses off the process's mappings. *ret_old: one of them, as it was. 1, 0: none; or -ENOMEM. */
static int mapped_off(struct flow_state *s, int64_t process_id, const uint64_t range[2],
		      struct flow_map *ret_old)
{
	uint32_t before = FLOW_NONE, next;
	uint64_t first = FLOW_NONE;
	int found = 0;

	map_get(&s->map_of, (uint64_t)process_id, &first);
	for (uint32_t i = (uint32_t)first; i != FLOW_NONE; i = next) {
		next = s->maps[i].next_of_process;
		if (!mapped_meets(&s->maps[i], range)) {
			before = i;
			continue;
		}
		found = 1;
		*ret_old = s->maps[i];
		if (!mapped_less(&s->maps[i], range))
			before = i;
		else if (before != FLOW_NONE)
			s->maps[before].next_of_process = next;
		else if (map_set(&s->map_of, (uint64_t)process_id, next) < 0)
			return -ENOMEM;
	}
	return found;
}

/* mremap: part of a mapping is at other addresses, or longer than before. */
static int mapped_moved(struct flow_state *s, const struct flow_call *c, struct flow_map *m)
{
	uint64_t to = (uint64_t)c->ret, skipped = c->a[0] - m->at;

	if (c->size <= 0 || c->size > FLOW_POS_MAX || c->a[0] < m->at ||
	    skipped > (uint64_t)(FLOW_POS_MAX - m->pos))
		return 0;
	m->pos += (int64_t)skipped;
	m->len = c->size;
	m->at = m->left[0] = to;
	m->left[1] = to + (uint64_t)c->size;
	return mapped_new(s, &s->files[s->objects[m->object].file], m);
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

int flow_mapped_take(struct flow_state *s, struct flow_call *c)
{
	int64_t process_id = s->tasks[c->task].process_id;
	uint64_t size = c->act == FLOW_REMAP ? c->a[1] : (uint64_t)c->size;
	const uint64_t range[2] = {c->a[0], c->a[0] + MIN(size, UINT64_MAX - c->a[0])};
	struct flow_map old;
	int r;

	if (c->act == FLOW_MAP)
		return mapped_add(s, c);
	if (c->failed || !s->map_count)
		return 0;
	if (c->act == FLOW_FORK) {
		mapped_fork(s, c, process_id);
		return 0;
	}
	if (c->act == FLOW_PROTECT) {
		if (c->flags & PROT_WRITE)
			mapped_protect(s, process_id, range);
		return 0;
	}
	r = mapped_off(s, process_id, range, &old);
	return r > 0 && c->act == FLOW_REMAP ? mapped_moved(s, c, &old) : MIN(r, 0);
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

static int mapped_flush(struct flow_state *s, struct flow_call *c, uint32_t object,
			struct mapped_run *run, int64_t pos)
{
	size_t size, from = (size_t)(run->from - pos), bytes = (size_t)(run->to - run->from);
	const uint8_t *payload = flow_content_payload(s, c, FLOW_RECEIVE, &size);
	const struct flow_map *m = run->map;
	int64_t n = m ? flow_call_node(s, c) : FLOW_NONE;
	uint64_t hash;
	bool hashed;
	int r;

	run->map = NULL;
	if (!m || n < 0 || n == FLOW_NONE)
		return n < 0 ? (int)n : 0;
	r = flow_edge(s, &(struct flow_edge){.from = m->node,
					     .to = (uint32_t)n,
					     .pos = run->from,
					     .bytes = (uint32_t)MIN(bytes, (size_t)UINT32_MAX),
					     .file_id = c->file_id,
					     .via = VIA_STORAGE,
					     .certainty = CERTAINTY_CONTESTED});
	hashed = bytes == (size_t)c->bytes && flow_content_hash(s, c, FLOW_RECEIVE, &hash);
	payload = payload && from + bytes <= size ? payload + from : NULL;
	if (r < 0 || (!payload && !hashed))
		return r;
	return flow_links_out(&s->links, m->process_id, object | FLOW_SPOT_FILE, run->from, m->node,
			      payload, bytes, hashed ? &hash : NULL);
}

/* Bytes that a call had written, other than zeros that make room, were replaced. */
static int mapped_replaced(struct flow_state *s, struct flow_call *c, const struct flow_file *f,
			   const struct flow_chunk *k, const struct flow_map *m, bool several)
{
	const struct flow_piece *p =
		flow_piece_at(&s->pieces, &f->pieces, (uint64_t)k->pos / CONTENT_PIECE);
	int64_t at = flow_object(s, c->file_id);

	if (at < 0 || !p || !p->sum || s->acts[s->graph.nodes[p->node].op] == FLOW_MAP)
		return at < 0 ? (int)at : 0;
	return flow_content_read_back(s, c, (uint32_t)at, k, several ? FLOW_NONE : m->node,
				      several);
}

/* A piece that a read returned. 1: it was stored through *ret. */
static int mapped_piece(struct flow_state *s, struct flow_call *c, struct flow_file *f,
			const struct flow_chunk *k, struct flow_map *m, bool several)
{
	uint64_t index = (uint64_t)k->pos / CONTENT_PIECE;
	struct flow_piece *have = flow_piece_at(&s->pieces, &f->pieces, index);
	bool end = c->bytes < c->size && k->call_pos + k->size == c->bytes;
	size_t size;
	const uint8_t *payload;
	int r;

	if (!k->has_hash || k->contested || k->pos % CONTENT_PIECE || k->head_len ||
	    (k->tail_len && (!end || have)) ||
	    (k->size != CONTENT_PIECE && !end && k->pos + k->size != m->pos + m->len))
		return 0;
	if (k->pos <= m->seen_to)
		m->seen_to = end ? INT64_MAX : MAX(m->seen_to, k->pos + k->size);
	if (have ? !have->doubtful && have->covered == k->size && !have->cut_count &&
			    have->sum == k->hash
		 : !k->hash && !k->tail_len) /* a hole */
		return 0;
	r = mapped_replaced(s, c, f, k, m, several);
	if (r < 0)
		return r;
	if (several || (have && have->doubtful)) {
		flow_pieces_drop(&s->pieces, &f->pieces, index);
		s->mapped_unsure += (uint64_t)k->size;
		return 0;
	}
	f->rewritten |= have != NULL;
	flow_pieces_drop(&s->pieces, &f->pieces, index);
	r = flow_pieces_add(&s->pieces, &f->pieces, k, k->pos, m->node);
	payload = flow_content_payload(s, c, FLOW_RECEIVE, &size);
	if (r >= 0 && payload && (size_t)(k->call_pos + k->size) <= size)
		r = flow_pieces_payload(&s->pieces, &f->pieces, payload + k->call_pos, k->size,
					k->pos);
	mapped_written(f, m, k->pos + k->size);
	return r < 0 ? r : 1;
}

int flow_mapped_read(struct flow_state *s, struct flow_call *c, uint32_t object,
		     const struct flow_chunks *all)
{
	struct flow_file *f = &s->files[s->objects[object].file];
	struct mapped_run run = {0};
	int64_t pos = -1;
	int r = 0;

	for (size_t i = 0; i < all->count && r >= 0; i++) {
		const struct flow_chunk *k = &all->rows[i];
		struct flow_map *m;
		bool several;

		if (k->way != WAY_IN || k->pos < k->call_pos ||
		    (k->form != FORM_PIECE && k->form != FORM_PART))
			continue;
		pos = k->pos - k->call_pos;
		m = mapped_by(s, f, k->pos, k->pos + k->size, &several);
		r = m ? mapped_piece(s, c, f, k, m, several)
		      : flow_content_read_back(s, c, object, k, FLOW_NONE, false);
		if (r < 0)
			return r;
		if (!r || !m || run.map != m || run.to != k->pos) {
			int flushed = mapped_flush(s, c, object, &run, pos);

			if (flushed < 0)
				return flushed;
			run = (struct mapped_run){r && m ? m : NULL, k->pos, k->pos};
		}
		run.to = k->pos + k->size;
	}
	return mapped_flush(s, c, object, &run, pos);
}
