// SPDX-License-Identifier: Apache-2.0
/*
 * flow_replicas.c: files with the same name that were written in several folders or hosts. If most such files of two
 * folders are equal, one folder is a replica of the other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/flow/bytes/flow_replicas.h"
#include "base/array.h"
#include "names/names.h"
#include "schema/content_hash.h"

#define PIECES_LEAST 8 /* equal pieces in two files that are not completely equal */

const struct flow_file *flow_replica_file(const struct flow_verdicts *v, uint32_t object)
{
	return &v->s->files[v->s->objects[object].file];
}

static uint64_t replica_name(const struct flow_verdicts *v, uint32_t object)
{
	struct bytes base = names_base(flow_object_name(v->s, object));

	return hash_bytes(base.data, base.len);
}

void flow_replicas_free(struct flow_verdicts *v)
{
	struct flow_replicas *p = v->replicas;

	if (!p)
		return;
	free(p->all);
	map_free(&p->named);
	free(p);
	v->replicas = NULL;
}

/* A verdict is about the file: the replicas need not say the same again. */
static void flow_replicas_name(struct flow_verdicts *v, uint32_t object)
{
	flow_verdict_failed(v, map_set(&v->replicas->named, replica_name(v, object), 1));
}

/* ---- pairs of folders ---- */

static int compare_replicas(const void *a, const void *b)
{
	const struct flow_replica *p = a, *q = b;

	return ORDER(p->name, q->name) ?: ORDER(p->folder, q->folder) ?: ORDER(p->object, q->object);
}

static size_t replica_folder(struct flow_replicas *p, uint16_t place, struct bytes path)
{
	uint64_t key = hash_bytes(path.data, path.len) ^ hash_u64(place);

	for (size_t i = 0; i < p->folder_count; i++) {
		if (p->folders[i].key == key)
			return i;
	}
	if (p->folder_count == FLOW_FOLDERS_MAX)
		return FLOW_FOLDERS_MAX;
	p->folders[p->folder_count] = (struct flow_folder){key, place, path, -1, FLOW_NONE, false};
	return p->folder_count++;
}

bool flow_replica_steady(const struct flow_verdicts *v, uint32_t object)
{
	const struct flow_file *f = flow_replica_file(v, object);

	return !f->mixed &&
	       (!f->rewritten || map_get(&v->stored_from, object | FLOW_SPOT_FILE, NULL));
}

static int replicas_list(struct flow_verdicts *v)
{
	struct flow_replicas *p = v->replicas;

	for (uint32_t i = 0; i < v->s->object_count; i++) {
		const struct flow_object *o = &v->s->objects[i];
		struct bytes path, base;
		const struct flow_file *f;
		size_t folder;

		if (o->kind != FLOW_IS_FILE || !v->s->files[o->file].pieces.count)
			continue;
		path = flow_object_name(v->s, i);
		base = names_base(path);
		path.len -= base.len;
		folder = replica_folder(p, o->place, path);
		if (folder == FLOW_FOLDERS_MAX) {
			v->uncompared++;
			continue;
		}
		f = flow_replica_file(v, i);
		if (p->folders[folder].process_id < 0)
			p->folders[folder].process_id = f->process_id;
		if (f->last != FLOW_NONE &&
		    (p->folders[folder].last == FLOW_NONE ||
		     v->s->graph.nodes[f->last].start >
			     v->s->graph.nodes[p->folders[folder].last].start))
			p->folders[folder].last = f->last;
		p->folders[folder].mixed |=
			f->mixed || f->process_id != p->folders[folder].process_id;
		if (array_add(p->all, p->count, p->cap,
			      (struct flow_replica){hash_bytes(base.data, base.len), i,
						    (uint32_t)folder, false}) < 0)
			return -ENOMEM;
	}
	array_sort(p->all, p->count, compare_replicas);
	for (size_t i = 0; i < p->count; i++)
		p->all[i].last = i + 1 == p->count || p->all[i + 1].name != p->all[i].name ||
				 p->all[i + 1].folder != p->all[i].folder;
	return 0;
}

/* Whether one of the two files has other content at a piece, as far as both are known. */
static bool replicas_piece_differs(const struct flow_verdicts *v, const struct flow_file *x,
				   const struct flow_file *y, uint64_t index)
{
	const struct flow_piece *p = flow_piece_at(&v->s->pieces, &x->pieces, index),
				*q = flow_piece_at(&v->s->pieces, &y->pieces, index);

	if ((p && p->doubtful) || (q && q->doubtful))
		return false;
	return !p != !q || (p && !flow_pieces_same(p, q));
}

/* The first piece of `x` in [from, end) that differs from `y`; `end`: there is none. */
static uint64_t replicas_sparse_difference(const struct flow_verdicts *v, const struct flow_file *x,
					   const struct flow_file *y, uint64_t from, uint64_t end)
{
	uint64_t index, at;
	size_t pos = 0;

	while (map_next(&x->pieces, &pos, &index, &at)) {
		if (index >= from && index < end && replicas_piece_differs(v, x, y, index))
			end = index;
	}
	return end;
}

/*
 * By position for as many pieces as the files have: callers ask for one piece after the other, and 200 MiB that differ
 * take 0.05 s so, and over 120 s otherwise. A file with holes may go on for billions of pieces that do not exist.
 */
bool flow_replicas_differ(const struct flow_verdicts *v, uint32_t a, uint32_t b, uint64_t index,
			  uint64_t *ret)
{
	const struct flow_file *x = flow_replica_file(v, a), *y = flow_replica_file(v, b);
	uint64_t size = (uint64_t)MAX(x->size, y->size),
		 end = size / CONTENT_PIECE + !!(size % CONTENT_PIECE),
		 dense = MIN(end, index + x->pieces.count + y->pieces.count);

	for (; index < dense; index++) {
		if (replicas_piece_differs(v, x, y, index)) {
			*ret = index;
			return true;
		}
	}
	*ret = replicas_sparse_difference(v, x, y, index, end);
	*ret = replicas_sparse_difference(v, y, x, index, *ret);
	return *ret < end;
}

/* True if the files have a piece whose content is known of both. */
static bool replicas_comparable(const struct flow_verdicts *v, uint32_t a, uint32_t b)
{
	const struct flow_file *x = flow_replica_file(v, a), *y = flow_replica_file(v, b);
	uint64_t index, at;
	size_t pos = 0;

	while (map_next(&x->pieces, &pos, &index, &at)) {
		const struct flow_piece *other = flow_piece_at(&v->s->pieces, &y->pieces, index);

		if (other && !other->doubtful && !v->s->pieces.all[at].doubtful)
			return true;
	}
	return false;
}

size_t flow_replicas_group(const struct flow_replicas *p, size_t from,
			   const struct flow_replica **to, size_t *ret_next)
{
	size_t n = 0, i = from;

	for (; i < p->count && p->all[i].name == p->all[from].name; i++) {
		if (p->all[i].last && n < FLOW_FOLDERS_MAX)
			to[n++] = &p->all[i];
	}
	*ret_next = i;
	return n;
}

/* Counts equal pieces of files that are modified in place, such as volumes. */
static void pieces_relate(struct flow_verdicts *v, const struct flow_replica *a,
			  const struct flow_replica *b)
{
	struct flow_replicas *p = v->replicas;
	const struct flow_file *x = flow_replica_file(v, a->object),
			       *y = flow_replica_file(v, b->object);
	uint64_t index, at;
	size_t pos = 0;

	if (!flow_replica_steady(v, a->object) || !flow_replica_steady(v, b->object) ||
	    !(map_get(&v->stored_from, a->object | FLOW_SPOT_FILE, NULL) ||
	      map_get(&v->stored_from, b->object | FLOW_SPOT_FILE, NULL)))
		return;
	while (map_next(&x->pieces, &pos, &index, &at)) {
		const struct flow_piece *one = &v->s->pieces.all[at],
					*other = flow_piece_at(&v->s->pieces, &y->pieces, index);

		if (!other || one->doubtful || other->doubtful)
			continue;
		p->pieces[a->folder][b->folder]++;
		p->pieces_equal[a->folder][b->folder] += flow_pieces_same(one, other);
	}
}

static void replicas_relate(struct flow_verdicts *v)
{
	struct flow_replicas *p = v->replicas;
	const struct flow_replica *g[FLOW_FOLDERS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(p->newest); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(p->newest[i]); k++)
			p->newest[i][k] = INT64_MIN;
	}
	for (size_t i = 0, next; i < p->count; i = next) {
		size_t n = flow_replicas_group(p, i, g, &next);

		for (size_t a = 0; a < n; a++) {
			for (size_t b = 0; b < n; b++) {
				uint32_t first = flow_replica_file(v, g[b]->object)->first;
				int64_t *newest = &p->newest[g[a]->folder][g[b]->folder];
				uint64_t at;

				if (first != FLOW_NONE)
					*newest = MAX(*newest, v->s->graph.nodes[first].start);
				if (!replicas_comparable(v, g[a]->object, g[b]->object))
					continue;
				p->common[g[a]->folder][g[b]->folder]++;
				if (!flow_replicas_differ(v, g[a]->object, g[b]->object, 0, &at))
					p->equal[g[a]->folder][g[b]->folder]++;
				else
					pieces_relate(v, g[a], g[b]);
			}
		}
	}
}

/* True if the folders are replicas because of equal pieces alone, in files modified in place. */
static bool are_volumes(const struct flow_replicas *p, size_t a, size_t b)
{
	return p->pieces_equal[a][b] >= PIECES_LEAST &&
	       p->pieces_equal[a][b] * 4 >= p->pieces[a][b] * 3;
}

bool flow_are_replicas(const struct flow_replicas *p, size_t a, size_t b)
{
	return a != b && ((p->equal[a][b] && p->equal[a][b] * 4 >= p->common[a][b] * 3) ||
			  (!p->equal[a][b] && are_volumes(p, a, b)));
}

int flow_replicas_make(struct flow_verdicts *v)
{
	int r;

	v->replicas = calloc(1, sizeof(*v->replicas));
	if (!v->replicas)
		return -ENOMEM;
	r = replicas_list(v);
	if (r < 0)
		return r;
	replicas_relate(v);
	return r;
}

/* ---- votes on a range ---- */

size_t flow_replicas_named(const struct flow_verdicts *v, uint32_t object,
			   const struct flow_replica **to)
{
	const struct flow_replicas *p = v->replicas;
	const struct flow_replica key = {.name = replica_name(v, object)};
	size_t low = array_first(i, 0, p->count, p->all[i].name >= key.name), next;

	return low < p->count && p->all[low].name == key.name
		       ? flow_replicas_group(p, low, to, &next)
		       : 0;
}

bool flow_replicas_differ_within(const struct flow_verdicts *v, uint32_t a, uint32_t b,
				 int64_t from, int64_t to)
{
	uint64_t at;

	return flow_replicas_differ(v, a, b, (uint64_t)from / CONTENT_PIECE, &at) &&
	       at * CONTENT_PIECE < (uint64_t)to;
}

size_t flow_replicas_majority(const struct flow_verdicts *v, const struct flow_replica *const *g,
			      size_t n, int64_t from, int64_t to)
{
	for (size_t a = 0; a < n; a++) {
		size_t alike = 0;

		for (size_t b = 0; b < n; b++)
			alike += a == b || !flow_replicas_differ_within(v, g[a]->object,
									g[b]->object, from, to);
		if (alike * 2 > n)
			return a;
	}
	return n;
}

int flow_replica_put_folder(const struct flow_verdicts *v, size_t folder, struct buf *to)
{
	const struct flow_replicas *p = v->replicas;
	const struct flow_folder *f = &p->folders[folder];
	bool alone = store_recording_count(v->s->run->store) > 1;

	for (size_t i = 0; i < p->folder_count && alone; i++) {
		for (size_t k = 0; k < p->folder_count && i != folder && alone; k++)
			alone = p->folders[i].place != f->place || !flow_are_replicas(p, i, k);
	}
	if (alone || f->path.len < 2)
		return flow_place_name(v->s, f->place, to);
	return buf_append(to, f->path.data, f->path.len - 1);
}

void flow_replicas_say(struct flow_verdicts *v, const struct flow_verdict *w)
{
	const struct flow_reference *ref = &w->ref;
	int64_t from = ref->to ? ref->from : w->from, to = ref->to ? ref->to : w->to;
	const struct flow_replica *g[FLOW_FOLDERS_MAX];
	size_t n, right;
	bool known = false;

	buf_clear(&v->said);
	if (ref->standing == FLOW_NOT_COMPARED || ref->object == FLOW_NONE)
		return;
	flow_replicas_name(v, ref->object);
	n = right = flow_replicas_named(v, ref->object, g);
	for (size_t i = 0; i < n; i++)
		known |= g[i]->object == ref->object;
	if (n > 1 && !known)
		right = flow_replicas_majority(v, g, n, from, to);
	for (size_t i = 0; i < n && n > 1; i++) {
		uint32_t other = known ? ref->object : right < n ? g[right]->object : ref->object;
		bool differs = flow_replicas_differ_within(v, g[i]->object, other, from, to);

		buf_printf(&v->said, "%s", i ? ", " : "");
		flow_replica_put_folder(v, g[i]->folder, &v->said);
		if (ref->standing == FLOW_STORED_FIRST)
			buf_printf(&v->said, "%s", differs ? " other" : " as stored first");
		else
			buf_printf(&v->said, "%s",
				   (known && ref->standing == FLOW_WRONG ? !differs : differs)
					   ? " differs"
					   : " right");
	}
	if (ref->standing == FLOW_STORED_FIRST)
		buf_printf(&v->said, ": it is not known which is right");
	flow_verdict_failed(v, buf_status(&v->said));
}
