// SPDX-License-Identifier: Apache-2.0
/*
 * flow_replicas.c: files of one name that were written in several folders or hosts. Where most of those of two folders are
 * equal, one is a replica of the other: then those that are not, and those that are missing, are verdicts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/flow/flow_replicas.h"
#include "base/array.h"
#include "names/names.h"
#include "schema/content_hash.h"

#define LINKS_BEFORE \
	64 /* links that are looked at before a position, as one of them may reach beyond it */
#define COMMON_LEAST 3 /* files that two folders have both */

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
	buf_free(&p->said);
	free(p);
	v->replicas = NULL;
}

/* A verdict is about the file: the replicas need not say the same again. */
static void flow_replicas_name(struct flow_verdicts *v, uint32_t object)
{
	if (map_set(&v->replicas->named, replica_name(v, object), 1) < 0)
		v->left_out++; /* a verdict may come twice */
}

/* ---- who has what ---- */

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
	if (p->folder_count == FLOW_FOLDERS_MAX) {
		p->left_out++;
		return FLOW_FOLDERS_MAX;
	}
	p->folders[p->folder_count] = (struct flow_folder){key, place, path, -1, false};
	return p->folder_count++;
}

/*
 * Whether a file that differs from another of its name shows that something is wrong: one process wrote it, once; or more than
 * once, but what came over a stream. Files that several processes change, as databases do, begin as copies and then part.
 */
static bool is_steady(const struct flow_verdicts *v, uint32_t object)
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
		if (folder == FLOW_FOLDERS_MAX)
			continue;
		f = flow_replica_file(v, i);
		if (p->folders[folder].process_id < 0)
			p->folders[folder].process_id = f->process_id;
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

/* The first piece at or behind `index` in which two files differ; false: there is none. */
static bool differ_from(const struct flow_verdicts *v, uint32_t a, uint32_t b, uint64_t index,
			uint64_t *ret)
{
	const struct flow_file *x = flow_replica_file(v, a), *y = flow_replica_file(v, b);
	uint64_t end = (uint64_t)MAX(x->size, y->size);

	for (; index * CONTENT_PIECE < end; index++) {
		const struct flow_piece *p = flow_piece_at(&v->s->pieces, &x->pieces, index),
					*q = flow_piece_at(&v->s->pieces, &y->pieces, index);

		if ((p && p->doubtful) || (q && q->doubtful))
			continue;
		if (!p != !q || (p && !flow_pieces_same(p, q))) {
			*ret = index;
			return true;
		}
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
				p->common[g[a]->folder][g[b]->folder]++;
				p->equal[g[a]->folder][g[b]->folder] +=
					!differ_from(v, g[a]->object, g[b]->object, 0, &at);
			}
		}
	}
}

bool flow_are_replicas(const struct flow_replicas *p, size_t a, size_t b)
{
	return a != b && p->equal[a][b] && p->equal[a][b] * 4 >= p->common[a][b] * 3;
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

/* ---- what they say of a range ---- */

/* The group that a file is in. */
static size_t replica_group(const struct flow_verdicts *v, uint32_t object,
			    const struct flow_replica **to)
{
	const struct flow_replicas *p = v->replicas;
	const struct flow_replica key = {.name = replica_name(v, object)};
	size_t low = array_first(i, 0, p->count, p->all[i].name >= key.name), next;

	return low < p->count && p->all[low].name == key.name
		       ? flow_replicas_group(p, low, to, &next)
		       : 0;
}

static bool differ_within(const struct flow_verdicts *v, uint32_t a, uint32_t b, int64_t from,
			  int64_t to)
{
	uint64_t at;

	return differ_from(v, a, b, (uint64_t)from / CONTENT_PIECE, &at) &&
	       at * CONTENT_PIECE < (uint64_t)to;
}

/* The one that most are equal to; n: none has a majority. */
static size_t majority_of(const struct flow_verdicts *v, const struct flow_replica *const *g,
			  size_t n, int64_t from, int64_t to)
{
	for (size_t a = 0; a < n; a++) {
		size_t alike = 0;

		for (size_t b = 0; b < n; b++)
			alike += a == b || !differ_within(v, g[a]->object, g[b]->object, from, to);
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

static int replicas_text(struct flow_verdicts *v, const struct flow_reference *ref, int64_t from,
			 int64_t to, struct buf *out)
{
	const struct flow_replica *g[FLOW_FOLDERS_MAX];
	size_t n = replica_group(v, ref->object, g), right = n;
	bool known = false;

	for (size_t i = 0; i < n; i++)
		known |= g[i]->object == ref->object;
	if (n > 1 && !known)
		right = majority_of(v, g, n, from, to);
	for (size_t i = 0; i < n && n > 1; i++) {
		uint32_t other = known ? ref->object : right < n ? g[right]->object : ref->object;
		bool differs = differ_within(v, g[i]->object, other, from, to);

		buf_printf(out, "%s", i ? ", " : "");
		flow_replica_put_folder(v, g[i]->folder, out);
		buf_printf(out, "%s",
			   (known && ref->wrong ? !differs : differs) ? " differs" : " right");
	}
	return buf_status(out);
}

const char *flow_replicas_say(struct flow_verdicts *v, const struct flow_reference *ref,
			      int64_t from, int64_t to)
{
	struct flow_replicas *p = v->replicas;

	if (ref->object == FLOW_NONE)
		return NULL;
	flow_replicas_name(v, ref->object);
	buf_clear(&p->said);
	if (replicas_text(v, ref, from, to, &p->said) < 0 || !p->said.len)
		return NULL;
	return buf_str(&p->said);
}

int flow_replicas_evidence(struct flow_verdicts *v, const struct flow_reference *ref, int64_t from,
			   int64_t to)
{
	_cleanup_buf_ struct buf text = {0};
	int r = ref->object == FLOW_NONE ? 0 : replicas_text(v, ref, from, to, &text);

	if (r < 0 || !text.len)
		return r;
	return flow_verdict_evidence(v, "replicas", FLOW_NONE, 0, FLOW_SEND, buf_str(&text));
}

/* ---- verdicts of their own ---- */

/* Bytes of a piece in which two differ, where payload shows it; else the whole piece. */
static void refine(const struct flow_verdicts *v, uint32_t a, uint32_t b, uint64_t index,
		   int64_t range[2])
{
	const struct flow_piece *p = flow_piece_at(&v->s->pieces, &flow_replica_file(v, a)->pieces,
						   index),
				*q = flow_piece_at(&v->s->pieces, &flow_replica_file(v, b)->pieces,
						   index);
	uint32_t from = 0, to = CONTENT_PIECE;
	int64_t end;

	range[0] = (int64_t)index * CONTENT_PIECE;
	end = MAX(flow_replica_file(v, a)->size, flow_replica_file(v, b)->size);
	range[1] = MIN(range[0] + CONTENT_PIECE, end);
	if (!p || !q || !p->payload || !q->payload || p->covered != q->covered)
		return;
	to = p->covered;
	while (from < to && p->payload[from] == q->payload[from])
		from++;
	while (to > from && p->payload[to - 1] == q->payload[to - 1])
		to--;
	range[1] = range[0] + to;
	range[0] += from;
}

/* The first stretch of pieces in which a file differs from another. */
static bool stretch(const struct flow_verdicts *v, uint32_t a, uint32_t b, int64_t range[2],
		    uint32_t *ret_node)
{
	uint64_t at, next;
	int64_t more[2];
	const struct flow_piece *p;

	if (!differ_from(v, a, b, 0, &at))
		return false;
	refine(v, a, b, at, range);
	p = flow_piece_at(&v->s->pieces, &flow_replica_file(v, a)->pieces, at);
	*ret_node = p ? p->node : flow_replica_file(v, a)->last;
	while (differ_from(v, a, b, at + 1, &next) && next == at + 1) {
		refine(v, a, b, next, more);
		range[1] = more[1];
		at = next;
	}
	return true;
}

/* Nobody knows which of them is right. */
static int evidence_unsure(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n)
{
	_cleanup_buf_ struct buf text = {0};
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		buf_printf(&text, "%s", i ? ", " : "");
		r = flow_replica_put_folder(v, g[i]->folder, &text);
	}
	r = r < 0 ? r : buf_printf(&text, " differ: it is not known which one is right");
	return r < 0 ? r
		     : flow_verdict_evidence(v, "replicas", FLOW_NONE, 0, FLOW_SEND,
					     buf_str(&text));
}

/* Whether the process stored these bytes as they came in. */
static bool is_as_received(const struct flow_verdicts *v, uint32_t object, const int64_t range[2])
{
	const struct flow_links *l = &v->s->links;
	uint32_t spot = object | FLOW_SPOT_FILE;
	size_t i = flow_out_at(v, spot, range[0]);
	int64_t at = range[0];

	for (size_t n = 0; n < LINKS_BEFORE && i && l->links[v->by_out[i - 1]].out_spot == spot;
	     n++)
		i--;
	/* one call after another has a part of them */
	for (; i < l->link_count && at < range[1]; i++) {
		const struct flow_link *k = &l->links[v->by_out[i]];

		if (k->out_spot != spot || k->out_pos > at)
			break;
		at = MAX(at, k->out_pos + k->bytes);
	}
	/* what is too short to be found is nothing that it lacks */
	return at >= range[1] || (at > range[0] && range[1] - at < FLOW_LINK_LEAST);
}

/* Where bytes of the file follow on what came in, and differ from what came behind it. NULL: nowhere. */
static const struct flow_difference *difference_in(const struct flow_verdicts *v, uint32_t object,
						   const int64_t range[2])
{
	const struct flow_links *l = &v->s->links;

	for (size_t i = 0; i < l->difference_count; i++) {
		const struct flow_difference *d = &l->differences[i];

		if (d->out_spot == (object | FLOW_SPOT_FILE) && d->out_pos < range[1] &&
		    d->out_pos + d->bytes > range[0])
			return d;
	}
	return NULL;
}

/* Where all but one are as they were received, that one is where they were altered. 1: that is the verdict. */
static int verdict_not_received(struct flow_verdicts *v, const struct flow_replica *const *g,
				size_t n, const int64_t range[2])
{
	const struct flow_replica *odd = NULL;
	struct flow_verdict row = {.what = "altered",
				   .first = FLOW_NONE,
				   .first_side = FLOW_RECEIVE,
				   .from = range[0],
				   .to = range[1],
				   .bytes = range[1] - range[0],
				   .second_side = FLOW_SEND,
				   .absence = true};
	struct flow_reference ref = {.wrong = true};
	const struct flow_difference *d;
	const struct flow_piece *p;
	int r;

	for (size_t i = 0; i < n; i++) {
		if (is_as_received(v, g[i]->object, range))
			continue;
		if (odd)
			return 0;
		odd = g[i];
	}
	p = odd ? flow_piece_at(&v->s->pieces, &flow_replica_file(v, odd->object)->pieces,
				(uint64_t)range[0] / CONTENT_PIECE)
		: NULL;
	if (!p || flow_verdicts_full(v))
		return 0;
	row.object = ref.object = odd->object;
	row.second = p->node;
	row.second_spot = odd->object | FLOW_SPOT_FILE;
	d = difference_in(v, odd->object, range);
	if (d) {
		row.first = d->in;
		row.first_spot = d->in_spot;
		row.from = MAX(row.from, d->out_pos);
		row.to = MIN(row.to, d->out_pos + d->bytes);
		row.bytes = row.to - row.from;
	}
	row.second_observation = flow_replicas_say(v, &ref, row.from, row.to);
	r = flow_verdict_put(v, &row);
	if (r >= 0 && d)
		r = flow_verdict_evidence(v, "received", d->in, d->in_spot, FLOW_RECEIVE, NULL);
	if (r < 0)
		return r;
	r = flow_verdict_evidence(
		v, "stored wrong", row.second, row.second_spot, FLOW_SEND,
		"no call delivered these bytes; the others stored what they received");
	if (r < 0)
		return r;
	r = flow_replicas_evidence(v, &ref, row.from, row.to);
	return r < 0 ? r : 1;
}

static int verdict_differs(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n)
{
	size_t right = majority_of(v, g, n, 0, INT64_MAX);
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct flow_replica *other = right < n ? g[right] : g[i ? 0 : n - 1];
		struct flow_verdict row = {.what = "replicas-differ",
					   .object = g[i]->object,
					   .first = FLOW_NONE,
					   .second_spot = g[i]->object | FLOW_SPOT_FILE,
					   .second_side = FLOW_SEND,
					   .absence =
						   true, /* a write that is missing looks so too */
					   .note = "it is not known where it was altered: record "
						   "with --content=bytes"};
		struct flow_reference ref;
		int64_t range[2];

		if (i == right || !flow_are_replicas(v->replicas, g[i]->folder, other->folder) ||
		    !is_steady(v, g[i]->object) || !is_steady(v, other->object) ||
		    (right == n && flow_replica_file(v, g[i]->object)->size !=
					   flow_replica_file(v, other->object)->size) ||
		    !stretch(v, g[i]->object, other->object, range, &row.second) ||
		    flow_verdicts_full(v))
			continue;
		r = verdict_not_received(v, g, n, range);
		if (r)
			return MIN(r, 0);
		row.from = range[0];
		row.to = range[1];
		row.bytes = range[1] - range[0];
		ref = (struct flow_reference){right < n ? g[right]->object : FLOW_NONE, false};
		row.second_observation = flow_replicas_say(v, &ref, row.from, row.to);
		r = flow_verdict_put(v, &row);
		if (r >= 0)
			r = flow_verdict_evidence(v, "stored", row.second, row.second_spot,
						  FLOW_SEND, NULL);
		if (r >= 0)
			r = right < n ? flow_replicas_evidence(v, &ref, row.from, row.to)
				      : evidence_unsure(v, g, n);
		if (right == n)
			break; /* of two nobody knows which is right */
	}
	return r;
}

bool flow_replicas_received(const struct flow_verdicts *v, const struct flow_difference *d)
{
	const int64_t range[] = {d->out_pos, d->out_pos + d->bytes};
	const struct flow_replica *g[FLOW_FOLDERS_MAX];
	size_t n = flow_spot_local(v, d->in_spot)
			   ? 0
			   : replica_group(v, d->out_spot & ~FLOW_SPOT_FILE, g);
	bool received = false;

	for (size_t i = 0; i < n && !received; i++)
		received = (g[i]->object | FLOW_SPOT_FILE) != d->out_spot &&
			   map_get(&v->stored_from, g[i]->object | FLOW_SPOT_FILE, NULL) &&
			   is_as_received(v, g[i]->object, range);
	return received;
}

uint32_t flow_replica_of(const struct flow_verdicts *v, uint32_t object, int64_t process_id)
{
	const struct flow_replica *g[FLOW_FOLDERS_MAX];
	size_t n = replica_group(v, object, g);

	for (size_t i = 0; i < n; i++) {
		uint32_t last = flow_replica_file(v, g[i]->object)->last;

		if (last != FLOW_NONE &&
		    names_process_of(v->s->dims, v->s->graph.nodes[last].thread_id) == process_id)
			return g[i]->object;
	}
	return FLOW_NONE;
}

bool flow_replicas_stretch(const struct flow_verdicts *v, uint32_t object, uint32_t other,
			   int64_t range[2], uint32_t *ret_node)
{
	return stretch(v, object, other, range, ret_node);
}

/*
 * Whether a folder that lacks the file is not merely late: one process writes its files, and has written one that came behind
 * this file in the other folder. Times of the two folders are not compared: the first node of a chain may have stored
 * everything before the second stored anything.
 */
static bool folder_skipped(const struct flow_verdicts *v, size_t folder,
			   const struct flow_replica *other)
{
	const struct flow_replicas *p = v->replicas;
	uint32_t last = flow_replica_file(v, other->object)->last;

	return !p->folders[folder].mixed && last != FLOW_NONE &&
	       p->newest[folder][other->folder] > v->s->graph.nodes[last].start;
}

static int verdict_absent(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n)
{
	struct flow_replicas *p = v->replicas;
	int r = 0;

	for (size_t f = 0; f < p->folder_count && r >= 0; f++) {
		_cleanup_buf_ struct buf text = {0};
		bool has = false, related = true;
		struct flow_verdict row = {.what = "never-stored",
					   .object = g[0]->object,
					   .second = FLOW_NONE,
					   .first = flow_replica_file(v, g[0]->object)->last,
					   .first_spot = g[0]->object | FLOW_SPOT_FILE,
					   .first_side = FLOW_SEND,
					   .to = flow_replica_file(v, g[0]->object)->size,
					   .bytes = flow_replica_file(v, g[0]->object)->size,
					   .absence = true};

		for (size_t i = 0; i < n; i++) {
			has |= g[i]->folder == f;
			related &= flow_are_replicas(p, g[i]->folder, f) &&
				   p->common[g[i]->folder][f] >= COMMON_LEAST &&
				   is_steady(v, g[i]->object) && folder_skipped(v, f, g[i]);
		}
		if (has || !related || flow_verdicts_full(v))
			continue;
		flow_replica_put_folder(v, f, &text);
		r = buf_printf(&text, " has other files of this set, but not this one");
		if (r >= 0)
			r = flow_verdict_put(v, &row);
		if (r >= 0)
			r = flow_verdict_evidence(v, "stored", row.first, row.first_spot, FLOW_SEND,
						  NULL);
		if (r >= 0)
			r = flow_verdict_evidence(v, "missing", FLOW_NONE, 0, FLOW_SEND,
						  buf_str(&text));
	}
	return r;
}

int flow_replicas_verdicts(struct flow_verdicts *v)
{
	struct flow_replicas *p = v->replicas;
	const struct flow_replica *g[FLOW_FOLDERS_MAX];
	int r = 0;

	for (size_t i = 0, next; i < p->count && r >= 0; i = next) {
		size_t n = flow_replicas_group(p, i, g, &next);

		if (map_get(&p->named, p->all[i].name, NULL))
			continue;
		if (n > 1)
			r = verdict_differs(v, g, n);
		if (r >= 0)
			r = verdict_absent(v, g, n);
	}
	return r;
}
