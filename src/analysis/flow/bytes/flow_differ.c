// SPDX-License-Identifier: Apache-2.0
/*
 * flow_differ.c: verdicts about replicas: files that differ from the others of their name or hold bytes that belong elsewhere,
 * and files missing in one folder.
 */
#include <errno.h>
#include <stdio.h>

#include "analysis/flow/bytes/flow_replicas.h"
#include "names/names.h"
#include "schema/content_hash.h"

/* links examined before a position, since one of them may extend beyond it */
#define LINKS_BEFORE 64
#define COMMON_LEAST 3 /* common files of two folders */

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
	if (from == to) /* where they differ, payload is missing */
		return;
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

	if (!flow_replicas_differ(v, a, b, from, &at))
		return false;
	refine(v, a, b, at, range);
	p = flow_piece_at(&v->s->pieces, &flow_replica_file(v, a)->pieces, at);
	*ret_node = p ? p->node : FLOW_NONE;
	while (flow_replicas_differ(v, a, b, at + 1, &next) && next == at + 1) {
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
static void evidence_unsure(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n)
{
	_cleanup_buf_ struct buf text = {0};

	for (size_t i = 0; i < n; i++) {
		buf_printf(&text, "%s", i ? ", " : "");
		flow_replica_put_folder(v, g[i]->folder, &text);
	}
	flow_verdict_failed(v, buf_printf(&text, " differ: it is not known which one is right"));
	flow_verdict_evidence(v, "replicas", FLOW_UNSEEN, buf_str(&text));
}

/* The call that wrote a piece of a file, as one that sent bytes there. */
static struct flow_seen seen_writing(uint32_t node, uint32_t object)
{
	return (struct flow_seen){node, object | FLOW_SPOT_FILE, FLOW_SEND};
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

/* If all but one were stored as received, the remaining one was altered. True: that is the verdict. */
static bool verdict_not_received(struct flow_verdicts *v, const struct flow_replica *const *g,
				 size_t n, const int64_t range[2])
{
	const struct flow_replica *odd = NULL;
	struct flow_verdict row = {.what = "altered",
				   .first = FLOW_UNSEEN,
				   .from = range[0],
				   .to = range[1],
				   .absence = true};
	const struct flow_link *d;
	const struct flow_piece *p;

	for (size_t i = 0; i < n; i++) {
		if (is_as_received(v, g[i]->object, range))
			continue;
		if (odd)
			return false;
		odd = g[i];
	}
	p = odd && flow_stores_received(v, odd->object)
		    ? flow_piece_at(&v->s->pieces, &flow_replica_file(v, odd->object)->pieces,
				    (uint64_t)range[0] / CONTENT_PIECE)
		    : NULL;
	if (!p)
		return false;
	row.object = odd->object;
	row.ref = (struct flow_reference){FLOW_WRONG, odd->object};
	row.second = seen_writing(p->node, odd->object);
	d = flow_difference_in(v, odd->object, range);
	if (d) {
		row.first = (struct flow_seen){d->in, d->in_spot, FLOW_RECEIVE};
		row.from = MAX(row.from, d->out_pos);
		row.to = MIN(row.to, d->out_pos + d->bytes);
	}
	flow_verdict_put(v, &row);
	if (d)
		flow_verdict_evidence(v, "received", row.first, NULL);
	flow_verdict_evidence(
		v, "stored wrong", row.second,
		"no call delivered these bytes; the others stored what they received");
	flow_verdict_replicas(v);
	return true;
}

/* Where a process stored what another file of the name has at a position. False: unknown. */
static bool misplaced_at(const struct flow_verdicts *v, uint32_t other, int64_t process_id,
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
 * Bytes that a file lacks and the others have may be elsewhere: in another file, or at another position. True: that is
 * the verdict.
 */
static bool verdict_misplaced(struct flow_verdicts *v, const struct flow_replica *const *g,
			      size_t n, size_t odd, const int64_t range[2])
{
	int64_t process_id = flow_replica_file(v, g[odd]->object)->process_id;
	struct flow_verdict row = {.what = "misplaced"};
	_cleanup_buf_ struct buf text = {0};
	struct bytes name = names_base(flow_object_name(v->s, g[odd]->object));
	struct flow_place place;

	for (size_t i = 0; i < n; i++) {
		int64_t at[2] = {range[0], range[1]};

		if (i == odd || !misplaced_at(v, g[i]->object, process_id, at, &place) ||
		    (place.object == g[odd]->object && place.pos == at[0]))
			continue;
		row.object = place.object;
		row.from = place.pos;
		row.to = row.from + at[1] - at[0];
		row.ref = (struct flow_reference){FLOW_WRONG, g[odd]->object, at[0], at[1]};
		row.first = (struct flow_seen){place.in, place.in_spot, FLOW_RECEIVE};
		row.second = (struct flow_seen){place.node, place.spot, FLOW_SEND};
		flow_verdict_failed(v, buf_printf(&text, "the others have them at %lld of %.*s",
						  (long long)at[0], (int)name.len,
						  (const char *)name.data));
		flow_verdict_put(v, &row);
		flow_verdict_evidence(v, "received", row.first, NULL);
		flow_verdict_evidence(v, "stored elsewhere", row.second, buf_str(&text));
		flow_verdict_replicas(v);
		return true;
	}
	return false;
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

/* ---- where replicas came from ---- */

#define LINEAGE_MAX 32 /* processes examined */

/* Processes from whose streams that of a file got more bytes than it sent there, and those before them. */
struct lineage {
	int64_t process[LINEAGE_MAX]; /* [0]: the writer of the file */
	size_t behind[LINEAGE_MAX];   /* index of the process that it sent to */
	size_t count;
	size_t parent; /* index in the group of the replica that the nearest of them wrote; its size: none */
	size_t last; /* index of that process; 0: none */
	bool unsure; /* that replica itself may have been stored wrong */
};

/* Number of bytes that a process sent to another over streams. */
static uint64_t sent_to(const struct flow_verdicts *v, int64_t from, int64_t to)
{
	const struct flow_state *s = v->s;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < s->channel_count; i++) {
		if (flow_end_process(s, i, FLOW_SEND) == from &&
		    flow_end_process(s, i, FLOW_RECEIVE) == to)
			bytes += s->channels[i].ends[FLOW_SEND].moved;
	}
	return bytes;
}

static bool lineage_has(const struct lineage *l, int64_t process_id)
{
	for (size_t i = 0; i < l->count; i++) {
		if (l->process[i] == process_id)
			return true;
	}
	return false;
}

/* Follows the streams backwards, nearest processes first, up to one that wrote a replica. */
static void lineage_make(const struct flow_verdicts *v, const struct flow_replica *const *g,
			 size_t n, size_t file, struct lineage *l)
{
	const struct flow_state *s = v->s;

	*l = (struct lineage){.process = {flow_replica_file(v, g[file]->object)->process_id},
			      .count = 1,
			      .parent = n};
	for (size_t at = 0; at < l->count; at++) {
		for (uint32_t i = 0; i < s->channel_count && l->count < LINEAGE_MAX; i++) {
			int64_t from = flow_end_process(s, i, FLOW_SEND), to = l->process[at];

			if (from < 0 || to < 0 || flow_end_process(s, i, FLOW_RECEIVE) != to ||
			    lineage_has(l, from) || sent_to(v, from, to) <= sent_to(v, to, from))
				continue;
			l->behind[l->count] = at;
			l->process[l->count++] = from;
			for (size_t k = 0; k < n; k++) {
				if (flow_replica_file(v, g[k]->object)->process_id != from)
					continue;
				l->parent = k;
				l->last = l->count - 1;
				return;
			}
		}
	}
}

/* "n1 or n2": the processes that had the bytes, from the nearest replica, or the nearest sender, to the writer of the file. */
static int lineage_text(const struct flow_verdicts *v, const struct lineage *l, bool writer,
			struct buf *to)
{
	size_t at = l->last ? l->last : MIN(l->count - 1, (size_t)1);

	buf_printf(to, "altered in ");
	for (;; at = l->behind[at]) {
		flow_put_process(v->s, id_recording(l->process[at]), l->process[at], to);
		if (!at || (!writer && !l->behind[at]))
			break;
		buf_printf(to, " or ");
	}
	return buf_printf(to, l->unsure ? ", in or between these two calls"
					: ", between these two calls");
}

/*
 * The index of a correct file among files that differ, none of which is a copy of another: one as it was received,
 * unlike others; or one equal to most; or, of two, the only one not stored from other data. n: unknown.
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
		if (right < n && flow_replicas_differ_within(v, g[right]->object, g[i]->object,
							     range[0], range[1]))
			received = n;
		right = i;
	}
	most = flow_replicas_majority(v, g, n, 0, INT64_MAX);
	if (received && received < n && most == n)
		return right;
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

/* The first range in which a file differs from another of which it should be a replica. */
static bool differs_from(const struct flow_verdicts *v, const struct flow_replica *a,
			 const struct flow_replica *b, bool may_be_under_way, int64_t range[2],
			 uint32_t *ret_node)
{
	if (!flow_are_replicas(v->replicas, a->folder, b->folder) ||
	    !flow_replica_steady(v, a->object) || !flow_replica_steady(v, b->object) ||
	    (may_be_under_way && is_under_way(v, a, b)))
		return false;
	return v->replicas->equal[a->folder][b->folder]
		       ? stretch(v, a->object, b->object, 0, range, ret_node)
		       : stretch_arrived(v, a->object, b->object, range, ret_node);
}

/* The call that wrote the range of a file, or its last. */
static uint32_t replica_writer(const struct flow_verdicts *v, uint32_t object,
			       const int64_t range[2])
{
	const struct flow_piece *p =
		flow_piece_at(&v->s->pieces, &flow_replica_file(v, object)->pieces,
			      (uint64_t)range[0] / CONTENT_PIECE);

	return p ? p->node : flow_replica_file(v, object)->last;
}

static const char *replica_note(const struct flow_verdicts *v)
{
	return v->s->pieces.payload
		       ? "it is not known where it was altered: what was received is not what was "
			 "stored, byte for byte"
		       : "it is not known where it was altered: record with --content=bytes";
}

/*
 * File `odd` differs from `right`, of which it is a copy, or which is a copy of it. `l`: the processes between, if any
 * of them may have altered the bytes; then none is at fault for certain. NULL: it was the writer of `odd`.
 */
static void verdict_copied(struct flow_verdicts *v, const struct flow_replica *odd,
			   const struct flow_replica *right, const int64_t range[2],
			   const struct lineage *l, bool writer)
{
	struct flow_verdict row = {
		.what = "replicas-differ",
		.object = odd->object,
		.from = range[0],
		.to = range[1],
		.first = seen_writing(replica_writer(v, right->object, range), right->object),
		.second = seen_writing(replica_writer(v, odd->object, range), odd->object),
		.ref = {l && l->unsure ? FLOW_STORED_FIRST : FLOW_RIGHT, right->object},
		.absence = true,
		.unsure = l,
		.note = replica_note(v)};
	_cleanup_buf_ struct buf text = {0};

	if (l)
		flow_verdict_failed(v, lineage_text(v, l, writer, &text));
	flow_verdict_put(v, &row);
	flow_verdict_evidence(v, "stored", row.first, NULL);
	flow_verdict_evidence(v, "stored other", row.second, l ? buf_str(&text) : NULL);
	flow_verdict_replicas(v);
}

/*
 * True if the file is right, which another is a copy of and differs from: it was stored as received, or its writer received
 * nothing, or most of the files are equal to it, or the one that it is a copy of.
 */
static bool is_known_right(const struct flow_verdicts *v, const struct flow_replica *const *g,
			   size_t n, const struct lineage *all, size_t i, const int64_t range[2])
{
	size_t most = flow_replicas_majority(v, g, n, range[0], range[1]), above = all[i].parent;

	return all[i].count == 1 || is_as_received(v, g[i]->object, range) ||
	       (most < n && !flow_replicas_differ_within(v, g[most]->object, g[i]->object, range[0],
							 range[1])) ||
	       (above < n && !flow_replicas_differ_within(v, g[above]->object, g[i]->object,
							  range[0], range[1]));
}

/*
 * The first of the files was stored other than received, and the one that differs from it is as received: the first is wrong. Its
 * writer may be meant to transform what it reads from a pipe, so that it is not named. True: that is the verdict.
 */
static bool verdict_first_wrong(struct flow_verdicts *v, const struct flow_replica *odd,
				const struct flow_replica *right, const int64_t range[2])
{
	const struct flow_link *d = flow_difference_in(v, odd->object, range);
	struct flow_verdict row = {.what = "replicas-differ",
				   .object = odd->object,
				   .from = range[0],
				   .to = range[1],
				   .ref = {FLOW_RIGHT, right->object},
				   .unsure = true};

	if (!d || !flow_difference_undone(v, d, right->object, range))
		return false;
	row.first = (struct flow_seen){d->in, d->in_spot, FLOW_RECEIVE};
	row.second = seen_writing(d->out, odd->object);
	flow_verdict_put(v, &row);
	flow_verdict_evidence(v, "received", row.first, NULL);
	flow_verdict_evidence(v, "stored other", row.second, NULL);
	flow_verdict_replicas(v);
	return true;
}

/*
 * A file differs from the one that it is a copy of. Who altered the bytes is known only if others that got them from the
 * same process have them as they were before: the rest may have been altered by any process on the way.
 */
static void verdict_of_copy(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n,
			    const struct lineage *all, size_t file)
{
	size_t parent = all[file].parent, above = all[parent].parent, with = 0, against = 0;
	bool first = true, passed = false;
	struct lineage l;
	int64_t range[2];
	uint32_t node;

	if (!differs_from(v, g[file], g[parent],
			  flow_replica_file(v, g[file]->object)->size <
				  flow_replica_file(v, g[parent]->object)->size,
			  range, &node))
		return;
	for (size_t i = 0; i < n; i++) {
		bool same;

		if (all[i].parent != parent && all[i].parent != file)
			continue;
		same = !flow_replicas_differ_within(v, g[i]->object, g[parent]->object, range[0],
						    range[1]);
		passed |= same && all[i].parent == file;
		with += !same && all[i].parent == parent;
		against += same && all[i].parent == parent;
		first &= i >= file || all[i].parent != parent;
	}
	if (passed) { /* it was sent on right */
		verdict_copied(v, g[file], g[parent], range, NULL, true);
		return;
	}
	if (above < n &&
	    !flow_replicas_differ_within(v, g[above]->object, g[file]->object, range[0], range[1]))
		return; /* the parent is the odd one: its own verdict */
	if (above == n && with > 1 && !against) {
		if (first)
			verdict_copied(v, g[parent], g[file], range, NULL, true);
		return;
	}
	if (verdict_misplaced(v, g, n, file, range) || verdict_not_received(v, g, n, range))
		return;
	l = all[file];
	l.unsure = !is_known_right(v, g, n, all, parent, range);
	if (!l.unsure || !verdict_first_wrong(v, g[parent], g[file], range))
		verdict_copied(v, g[file], g[parent], range, &l,
			       !is_as_received(v, g[file]->object, range));
}

/* Judges files of which none is known to be a copy of another. */
static void verdict_of_roots(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n,
			     const struct lineage *const *all)
{
	size_t right = right_of(v, g, n);

	for (size_t i = 0; i < n; i++) {
		const struct flow_replica *other = right < n ? g[right] : g[i ? 0 : n - 1];
		bool sent = all[i]->count > 1; /* the sender may have altered it */
		struct flow_verdict row = {.what = "replicas-differ",
					   .object = g[i]->object,
					   .first = FLOW_UNSEEN,
					   .absence = true, /* a missing write looks the same */
					   .unsure = right == n || sent,
					   .note = replica_note(v)};
		int64_t range[2];
		uint32_t node;

		if (i == right || !differs_from(v, g[i], other, right == n || n == 2, range, &node))
			continue;
		if (verdict_misplaced(v, g, n, i, range) || verdict_not_received(v, g, n, range))
			return;
		if (right < n && sent) {
			verdict_copied(v, g[i], other, range, all[i],
				       !is_as_received(v, g[i]->object, range));
			return;
		}
		row.second = seen_writing(
			node == FLOW_NONE ? flow_replica_file(v, g[i]->object)->last : node,
			g[i]->object);
		row.from = range[0];
		row.to = range[1];
		if (right < n)
			row.ref = (struct flow_reference){FLOW_RIGHT, g[right]->object};
		flow_verdict_put(v, &row);
		flow_verdict_evidence(v, "stored", row.second, NULL);
		if (right == n) { /* with two files it is unknown which is right */
			evidence_unsure(v, g, n);
			return;
		}
		flow_verdict_replicas(v);
	}
}

static void verdict_differs(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n)
{
	const struct flow_replica *roots[FLOW_FOLDERS_MAX];
	const struct lineage *of_roots[FLOW_FOLDERS_MAX];
	struct lineage all[FLOW_FOLDERS_MAX];
	size_t count = 0;
	int64_t range[2];
	uint32_t node;
	bool differ = false;

	for (size_t i = 1; i < n && !differ; i++)
		differ = stretch(v, g[0]->object, g[i]->object, 0, range, &node);
	if (!differ)
		return;
	for (size_t i = 0; i < n; i++) {
		lineage_make(v, g, n, i, &all[i]);
		if (all[i].parent < n)
			continue;
		of_roots[count] = &all[i];
		roots[count++] = g[i];
	}
	for (size_t i = 0; i < n; i++) {
		if (all[i].parent < n)
			verdict_of_copy(v, g, n, all, i);
	}
	if (count > 1)
		verdict_of_roots(v, roots, count, of_roots);
}

bool flow_replicas_received(const struct flow_verdicts *v, const struct flow_link *d)
{
	const int64_t range[] = {d->out_pos, d->out_pos + d->bytes};
	const struct flow_replica *g[FLOW_FOLDERS_MAX];
	size_t n = flow_spot_local(v, d->in_spot)
			   ? 0
			   : flow_replicas_named(v, d->out_spot & ~FLOW_SPOT_FILE, g);
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
	size_t n = flow_replicas_named(v, object, g);

	for (size_t i = 0; i < n; i++) {
		uint32_t last = flow_replica_file(v, g[i]->object)->last;

		if (last != FLOW_NONE && flow_node_process(v->s, last) == process_id)
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

static void verdict_absent(struct flow_verdicts *v, const struct flow_replica *const *g, size_t n)
{
	struct flow_replicas *p = v->replicas;

	for (size_t f = 0; f < p->folder_count; f++) {
		_cleanup_buf_ struct buf text = {0};
		bool has = false, related = !flow_stores_unseen(v, p->folders[f].process_id);
		struct flow_verdict row = {
			.what = "never-stored",
			.object = g[0]->object,
			.first = seen_writing(flow_replica_file(v, g[0]->object)->last,
					      g[0]->object),
			.second = FLOW_UNSEEN,
			.to = flow_replica_file(v, g[0]->object)->size,
			.absence = true,
			.note = "it is not known whether these bytes were received at all"};

		for (size_t i = 0; i < n; i++) {
			has |= g[i]->folder == f;
			related &= flow_are_replicas(p, g[i]->folder, f) &&
				   p->common[g[i]->folder][f] >= COMMON_LEAST &&
				   flow_replica_steady(v, g[i]->object) &&
				   folder_skipped(v, f, g[i]);
		}
		if (has || !related)
			continue;
		if (p->folders[f].last != FLOW_NONE)
			row.by = &v->s->graph.nodes[p->folders[f].last];
		flow_replica_put_folder(v, f, &text);
		flow_verdict_failed(
			v, buf_printf(&text, " has other files of this set, but not this one"));
		flow_verdict_put(v, &row);
		flow_verdict_evidence(v, "stored", row.first, NULL);
		flow_verdict_evidence(v, "missing", FLOW_UNSEEN, buf_str(&text));
	}
}

void flow_replicas_verdicts(struct flow_verdicts *v)
{
	struct flow_replicas *p = v->replicas;
	const struct flow_replica *g[FLOW_FOLDERS_MAX];

	for (size_t i = 0, next; i < p->count; i = next) {
		size_t n = flow_replicas_group(p, i, g, &next);

		if (map_get(&p->named, p->all[i].name, NULL))
			continue;
		if (n > 1)
			verdict_differs(v, g, n);
		verdict_absent(v, g, n);
	}
}
