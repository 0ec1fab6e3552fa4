// SPDX-License-Identifier: Apache-2.0
/*
 * flow_replicas.c: files with the same name that were written in several folders or hosts. If most such files of two
 * folders are equal, one folder is a replica of the other, and files that differ or are missing become verdicts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/flow/bytes/flow_replicas.h"
#include "base/array.h"
#include "names/names.h"
#include "schema/content_hash.h"

/* links examined before a position, since one of them may extend beyond it */
#define LINKS_BEFORE 64
#define PIECES_LEAST 8 /* equal pieces in two files that are not completely equal */
#define COMMON_LEAST 3 /* common files of two folders */

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

void flow_replicas_name(struct flow_verdicts *v, uint32_t object)
{
	/* there may be two verdicts */
	if (map_set(&v->replicas->named, replica_name(v, object), 1) < 0)
		v->left_out++;
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
	if (p->folder_count == FLOW_FOLDERS_MAX) {
		p->left_out++;
		return FLOW_FOLDERS_MAX;
	}
	p->folders[p->folder_count] = (struct flow_folder){key, place, path, -1, FLOW_NONE, false};
	return p->folder_count++;
}

/*
 * True if a difference from another file of its name indicates an error: one process wrote the file, either once or, if
 * more than once, then with bytes from a stream. Files modified by several processes, as in databases, begin as copies
 * and then diverge.
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

/* The first piece at or after `index` in which two files differ; false: none. */
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

/* Counts equal pieces of files that are modified in place, such as volumes. */
static void pieces_relate(struct flow_verdicts *v, const struct flow_replica *a,
			  const struct flow_replica *b)
{
	struct flow_replicas *p = v->replicas;
	const struct flow_file *x = flow_replica_file(v, a->object),
			       *y = flow_replica_file(v, b->object);
	uint64_t index, at;
	size_t pos = 0;

	if (!is_steady(v, a->object) || !is_steady(v, b->object) ||
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
				p->common[g[a]->folder][g[b]->folder]++;
				if (!differ_from(v, g[a]->object, g[b]->object, 0, &at))
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

/* The group to which a file belongs. */
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

/* The file that most others are equal to; n: no majority. */
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

/* ---- verdicts from replicas alone ---- */

/* The differing bytes of a piece if payload shows them, else the whole piece. */
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
	if (!p || !q || !p->payload || !q->payload || p->low || q->low || p->covered != p->high ||
	    q->covered != q->high)
		return;
	if (p->covered != q->covered) { /* one ends before the other */
		end = range[1];
		while (from < MIN(p->covered, q->covered) && p->payload[from] == q->payload[from])
			from++;
		range[0] += from;
		return;
	}
	to = p->covered;
	while (from < to && p->payload[from] == q->payload[from])
		from++;
	while (to > from && p->payload[to - 1] == q->payload[to - 1])
		to--;
	range[1] = range[0] + to;
	range[0] += from;
}

/* The first contiguous pieces in which a file differs from another. */
static bool stretch(const struct flow_verdicts *v, uint32_t a, uint32_t b, uint64_t from,
		    int64_t range[2], uint32_t *ret_node)
{
	uint64_t at, next;
	int64_t more[2];
	const struct flow_piece *p;

	if (!differ_from(v, a, b, from, &at))
		return false;
	refine(v, a, b, at, range);
	p = flow_piece_at(&v->s->pieces, &flow_replica_file(v, a)->pieces, at);
	*ret_node = p ? p->node : FLOW_NONE;
	while (differ_from(v, a, b, at + 1, &next) && next == at + 1) {
		refine(v, a, b, next, more);
		range[1] = more[1];
		at = next;
	}
	return true;
}

/*
 * The first such range that is not merely in progress: the other volume already has something that was written later
 * than what it has in the range. Writes in place arrive in order.
 */
static bool stretch_arrived(const struct flow_verdicts *v, uint32_t a, uint32_t b, int64_t range[2],
			    uint32_t *ret_node)
{
	const struct flow_file *x = flow_replica_file(v, a), *y = flow_replica_file(v, b);
	int64_t reached = INT64_MIN;
	uint64_t index, at;
	size_t pos = 0;

	while (map_next(&y->pieces, &pos, &index, &at)) {
		const struct flow_piece *one = flow_piece_at(&v->s->pieces, &x->pieces, index),
					*other = &v->s->pieces.all[at];

		if (one && !one->doubtful && !other->doubtful && flow_pieces_same(one, other))
			reached = MAX(reached, v->s->graph.nodes[other->node].start);
	}
	for (uint64_t from = 0; stretch(v, a, b, from, range, ret_node);
	     from = (uint64_t)range[1] / CONTENT_PIECE + 1) {
		const struct flow_piece *other = flow_piece_at(&v->s->pieces, &y->pieces,
							       (uint64_t)range[0] / CONTENT_PIECE);

		if (other && v->s->graph.nodes[other->node].start < reached)
			return true;
	}
	return false;
}

/* Evidence that it is unknown which of them is right. */
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

/* True if the process stored these bytes as they were received. */
static bool is_as_received(const struct flow_verdicts *v, uint32_t object, const int64_t range[2])
{
	const struct flow_links *l = &v->s->links;
	uint32_t spot = object | FLOW_SPOT_FILE;
	size_t i = flow_out_at(v, spot, range[0]);
	int64_t at = range[0];

	for (size_t n = 0; n < LINKS_BEFORE && i && l->links[v->by_out[i - 1]].out_spot == spot;
	     n++)
		i--;
	/* consecutive calls have parts of them */
	for (; i < l->link_count && at < range[1]; i++) {
		const struct flow_link *k = &l->links[v->by_out[i]];

		if (k->out_spot != spot || k->out_pos > at)
			break;
		at = MAX(at, k->out_pos + k->bytes);
	}
	/* a remainder too short to be matched does not count as missing */
	return at >= range[1] || (at > range[0] && range[1] - at < FLOW_LINK_LEAST);
}

/* A position in the file where bytes continue those received, but differ from what was received next. NULL: none. */
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

/* True if the writer of the file stores what it receives, in this file or in others; otherwise it is the source of the bytes. */
static bool stores_received(const struct flow_verdicts *v, uint32_t object)
{
	int64_t process_id = flow_replica_file(v, object)->process_id;

	for (size_t i = flow_range_at(&v->stored, process_id, 0, INT64_MIN);
	     i < v->stored.count && v->stored.all[i].process_id == process_id; i++) {
		if (!flow_spot_local(v, v->stored.all[i].in_spot))
			return true;
	}
	return false;
}

/* If all but one were stored as received, the remaining one was altered. 1: that is the verdict. */
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
	p = odd && stores_received(v, odd->object)
		    ? flow_piece_at(&v->s->pieces, &flow_replica_file(v, odd->object)->pieces,
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

/* Where a process stored what another file of the name has at a position. False: unknown. */
static bool place_of(const struct flow_verdicts *v, uint32_t other, int64_t process_id,
		     int64_t range[2], struct flow_place *ret)
{
	uint32_t spot = other | FLOW_SPOT_FILE;
	size_t i = flow_out_at(v, spot, range[0]);
	const struct flow_link *k =
		i < v->s->links.link_count ? &v->s->links.links[v->by_out[i]] : NULL;
	int64_t at[2], apart;

	if (!k || k->out_spot != spot || k->out_pos >= range[1])
		return false;
	at[0] = k->in_pos;
	at[1] = k->in_pos + MIN(flow_out_end(v, i), range[1]) - k->out_pos;
	apart = k->out_pos - k->in_pos;
	if (!flow_stored_of(v, k, process_id, at, ret))
		return false;
	range[0] = at[0] + apart;
	range[1] = at[1] + apart;
	return true;
}

/*
 * Bytes that a file lacks and the others have may be elsewhere: in another file, or at another position. 1: that is the
 * verdict.
 */
static int verdict_misplaced(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n,
			     size_t odd, const int64_t range[2])
{
	int64_t process_id = flow_replica_file(v, g[odd]->object)->process_id;
	struct flow_verdict row = {
		.what = "misplaced", .first_side = FLOW_RECEIVE, .second_side = FLOW_SEND};
	struct flow_reference ref = {g[odd]->object, true};
	_cleanup_buf_ struct buf text = {0};
	struct bytes name = names_base(flow_object_name(v->s, g[odd]->object));
	struct flow_place place;
	int r;

	for (size_t i = 0; i < n; i++) {
		int64_t at[2] = {range[0], range[1]};

		if (i == odd || !place_of(v, g[i]->object, process_id, at, &place) ||
		    (place.object == g[odd]->object && place.pos == at[0]))
			continue;
		row.object = place.object;
		row.from = place.pos;
		row.bytes = at[1] - at[0];
		row.to = row.from + row.bytes;
		row.first = place.in;
		row.first_spot = place.in_spot;
		row.second = place.node;
		row.second_spot = place.spot;
		row.second_observation = flow_replicas_say(v, &ref, at[0], at[1]);
		r = buf_printf(&text, "the others have them at %lld of %.*s", (long long)at[0],
			       (int)name.len, (const char *)name.data);
		r = r < 0 ? r : flow_verdict_put(v, &row);
		r = r < 0 ? r
			  : flow_verdict_evidence(v, "received", place.in, place.in_spot,
						  FLOW_RECEIVE, NULL);
		r = r < 0 ? r
			  : flow_verdict_evidence(v, "stored elsewhere", place.node, place.spot,
						  FLOW_SEND, buf_str(&text));
		r = r < 0 ? r : flow_replicas_evidence(v, &ref, at[0], at[1]);
		return r < 0 ? r : 1;
	}
	return 0;
}

/*
 * True if a folder that lacks the file is not merely late: a single process writes its files, and has written one that
 * came after this file in the other folder. Times of the two folders are not compared: the first node of a chain may
 * have stored everything before the second stored anything.
 */
static bool folder_skipped(const struct flow_verdicts *v, size_t folder,
			   const struct flow_replica *other)
{
	const struct flow_replicas *p = v->replicas;
	uint32_t last = flow_replica_file(v, other->object)->last;

	return !p->folders[folder].mixed && last != FLOW_NONE &&
	       p->newest[folder][other->folder] > v->s->graph.nodes[last].start;
}

/* Number of bytes that a process sent to another over streams. */
static uint64_t sent_to(const struct flow_verdicts *v, int64_t from, int64_t to)
{
	const struct flow_state *s = v->s;
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->channel_count; i++) {
		const struct flow_end *ends = s->channels[i].ends;

		if (ends[FLOW_SEND].task != FLOW_NONE && ends[FLOW_RECEIVE].task != FLOW_NONE &&
		    s->tasks[ends[FLOW_SEND].task].process_id == from &&
		    s->tasks[ends[FLOW_RECEIVE].task].process_id == to)
			bytes += ends[FLOW_SEND].moved;
	}
	return bytes;
}

/* True if all others received the file from the one that differs: they then agree with each other, whoever altered it. */
static bool is_first(const struct flow_verdicts *v, const struct flow_replica *const *g, size_t n,
		     size_t odd)
{
	int64_t first = flow_replica_file(v, g[odd]->object)->process_id;
	bool sends = false;

	for (size_t i = 0; i < n; i++) {
		int64_t other = flow_replica_file(v, g[i]->object)->process_id;
		uint64_t to = i == odd ? 0 : sent_to(v, first, other);

		if (i == odd)
			continue;
		if (sent_to(v, other, first) > to)
			return false;
		sends |= to > 0;
	}
	return sends;
}

/*
 * The index of a correct file among files that differ: one as it was received, unlike others; or one equal to most,
 * unless these are copies of the one that differs; or, of two, the one that is not a copy. n: unknown.
 */
static size_t right_of(const struct flow_verdicts *v, const struct flow_replica *const *g, size_t n)
{
	size_t right = n, received = 0, origin = n, origins = 0, most;
	int64_t range[2];
	uint32_t node;
	bool differ = false;

	for (size_t i = 0; i < n && !differ; i++)
		differ = stretch(v, g[i]->object, g[i ? 0 : n - 1]->object, 0, range, &node);
	for (size_t i = 0; i < n && differ; i++) {
		if (!map_get(&v->stored_from, g[i]->object | FLOW_SPOT_FILE, NULL)) {
			origin = i;
			origins++;
		}
		if (!is_as_received(v, g[i]->object, range))
			continue;
		received++;
		/* another one was also stored as received */
		if (right < n &&
		    differ_within(v, g[right]->object, g[i]->object, range[0], range[1]))
			received = n;
		right = i;
	}
	if (received && received < n)
		return right;
	most = majority_of(v, g, n, 0, INT64_MAX);
	for (size_t i = 0; i < n && most < n && !received; i++) {
		if (differ_within(v, g[i]->object, g[most]->object, 0, INT64_MAX) &&
		    is_first(v, g, n, i))
			return n;
	}
	return most == n && origins == 1 && n == 2 && !received ? origin : most;
}

/* True if one of two files is shorter because writing it is still in progress. */
static bool is_under_way(const struct flow_verdicts *v, const struct flow_replica *a,
			 const struct flow_replica *b)
{
	const struct flow_file *x = flow_replica_file(v, a->object),
			       *y = flow_replica_file(v, b->object);

	if (x->size == y->size)
		return false;
	return x->size < y->size ? !folder_skipped(v, a->folder, b)
				 : !folder_skipped(v, b->folder, a);
}

static int verdict_differs(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n)
{
	size_t right = right_of(v, g, n);
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct flow_replica *other = right < n ? g[right] : g[i ? 0 : n - 1];
		struct flow_verdict row = {
			.what = "replicas-differ",
			.object = g[i]->object,
			.first = FLOW_NONE,
			.second_spot = g[i]->object | FLOW_SPOT_FILE,
			.second_side = FLOW_SEND,
			.absence = true, /* a missing write looks the same */
			.note = v->s->pieces.payload
					? "it is not known where it was altered: what was received "
					  "is not what was stored, byte for byte"
					: "it is not known where it was altered: record "
					  "with --content=bytes"};
		struct flow_reference ref;
		int64_t range[2];

		if (i == right || !flow_are_replicas(v->replicas, g[i]->folder, other->folder) ||
		    !is_steady(v, g[i]->object) || !is_steady(v, other->object) ||
		    ((right == n || n == 2) && is_under_way(v, g[i], other)) ||
		    !(v->replicas->equal[g[i]->folder][other->folder]
			      ? stretch(v, g[i]->object, other->object, 0, range, &row.second)
			      : stretch_arrived(v, g[i]->object, other->object, range,
						&row.second)) ||
		    flow_verdicts_full(v))
			continue;
		r = verdict_misplaced(v, g, n, i, range);
		if (!r)
			r = verdict_not_received(v, g, n, range);
		if (r)
			return MIN(r, 0);
		if (row.second == FLOW_NONE)
			row.second = flow_replica_file(v, g[i]->object)->last;
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
			break; /* with two files it is unknown which is right */
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
	int64_t to = range[1];

	return stretch(v, object, other, (uint64_t)range[0] / CONTENT_PIECE, range, ret_node) &&
	       range[0] < to && *ret_node != FLOW_NONE &&
	       !is_as_received(
		       v, object,
		       (int64_t[]){range[0], MIN(range[1], flow_replica_file(v, object)->size)});
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
		if (p->folders[f].last != FLOW_NONE)
			row.by = &v->s->graph.nodes[p->folders[f].last];
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
