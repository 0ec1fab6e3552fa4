// SPDX-License-Identifier: Apache-2.0
/*
 * flow_deliveries.c: a process treats most of what it receives over a stream in the same way, but not some of it: it
 * stored it without forwarding it, or forwarded it without storing it; or it forwarded it twice, or in another order.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"

#include "analysis/flow/bytes/flow_replicas.h"

#define MOST	4		      /* all but one in four */
#define LEAST	(2 * FLOW_LINK_LEAST) /* bytes; shorter ranges may be part of a header */
#define MANY	8  /* minimum number of ranges in a stream for a gap in it to be significant */
#define BETWEEN 64 /* multiple of its length that is searched for a replacement */
#define FEW	4
/* bytes; with fewer than FEW gaps, smaller ones are not significant, since the usual size is unknown */
#define LEAST_OF_FEW 1024

/* The ranges of one process and one stream, as a part of the list. */
static struct flow_ranges deliveries_of(const struct flow_ranges *l, int64_t process_id,
					uint32_t in_spot)
{
	size_t low = flow_range_at(l, process_id, in_spot, INT64_MIN);
	struct flow_ranges d = {.all = l->count ? &l->all[low] : NULL};

	while (low + d.count < l->count && d.all[d.count].process_id == process_id &&
	       d.all[d.count].in_spot == in_spot)
		d.count++;
	return d;
}

static int compare_from(const void *a, const void *b)
{
	const struct flow_range *p = a, *q = b;

	return ORDER(p->from, q->from);
}

static int compare_out_from(const void *a, const void *b)
{
	const struct flow_range *p = a, *q = b;

	return ORDER(p->out_spot, q->out_spot) ?: ORDER(p->from, q->from);
}

/* Index from which to search for ranges that end after `from`; ranges overlap little. */
static size_t deliveries_at(const struct flow_ranges *d, int64_t from)
{
	size_t low = array_first(i, 0, d->count, d->all[i].from >= from);

	return low > 16 ? low - 16 : 0;
}

/* Number of bytes of [from, to) that the list has; `gap`: the longest range that is missing. */
static int64_t deliveries_have(const struct flow_ranges *d, int64_t from, int64_t to,
			       int64_t gap[2])
{
	int64_t have = 0, at = from;

	gap[0] = gap[1] = from;
	for (size_t i = deliveries_at(d, from); i < d->count && at < to; i++) {
		const struct flow_range *k = &d->all[i];

		if (k->to <= at || k->pulled)
			continue;
		if (k->from > at && MIN(k->from, to) - at > gap[1] - gap[0]) {
			gap[0] = at;
			gap[1] = MIN(k->from, to);
		}
		if (k->from >= to) {
			at = to;
			break;
		}
		have += MIN(k->to, to) - MAX(k->from, at);
		at = MAX(at, k->to);
	}
	if (at < to && to - at > gap[1] - gap[0]) {
		gap[0] = at;
		gap[1] = to;
	}
	return have;
}

/* True if a range is part of a delivery, rather than similar by chance, like headers. */
static bool is_delivery(const struct flow_range *k)
{
	return !k->doubtful && !k->differs && !k->pulled && k->to - k->from >= LEAST;
}

/* True if the sender also sent these bytes to the process twice: then the process only forwards what it received. */
static bool came_twice(const struct flow_verdicts *v, const struct flow_range *k)
{
	const struct flow_range *first = NULL;

	for (size_t i = 0; i < v->sent.count; i++) {
		const struct flow_range *s = &v->sent.all[i];

		if (s->out_spot != k->in_spot || !is_delivery(s))
			continue;
		if (first && first->process_id == s->process_id && first->in_spot == s->in_spot &&
		    s->from < first->to && MIN(s->to, first->to) - s->from >= LEAST &&
		    ((first->out_pos < k->to &&
		      first->out_pos + first->to - first->from > k->from) ||
		     (s->out_pos < k->to && s->out_pos + s->to - s->from > k->from)))
			return true;
		first = s;
	}
	return false;
}

/* The process at the other end of what is forwarded from this stream; -1: unknown. */
static int64_t process_behind(const struct flow_verdicts *v, const struct flow_range *k)
{
	for (size_t i = 0; i < v->sent.count; i++) {
		const struct flow_range *s = &v->sent.all[i];
		int64_t behind = s->process_id != k->process_id || s->in_spot != k->in_spot
					 ? -1
					 : flow_end_process(v->s, s->out_spot, FLOW_RECEIVE);

		if (behind >= 0)
			return behind;
	}
	return -1;
}

/* The call that sent what another received; FLOW_NONE. */
static uint32_t sender_of(const struct flow_verdicts *v, uint32_t node)
{
	const struct flow_graph *g = &v->s->graph;

	for (uint32_t e = g->nodes[node].in; e != FLOW_NONE; e = g->edges[e].next_in) {
		if (g->edges[e].via == VIA_STREAM && g->edges[e].certainty == CERTAINTY_CERTAIN)
			return g->edges[e].from;
	}
	return FLOW_NONE;
}

/* A note if the process sent or stored bytes whose content is not known; else `note`. */
static const char *note_unseen(const struct flow_verdicts *v, int64_t process_id, const char *note)
{
	return map_get(&v->s->unseen, (uint64_t)process_id, NULL)
		       ? "the content of some of its calls is missing, or not known as a whole: "
			 "the bytes that were not found may be among it"
		       : note;
}

/*
 * Bytes that seem not to have been stored or forwarded, because they were altered: a file with the name exists, and
 * differs. True: this is the verdict.
 */
static bool verdict_replaced(struct flow_verdicts *v, const struct flow_range *k,
			     const struct flow_place *place, int64_t bytes, bool stored)
{
	int64_t behind = stored ? process_behind(v, k) : k->process_id,
		range[2] = {place->pos, place->pos + bytes};
	uint32_t object = place->object;
	uint32_t other = behind < 0 || object == FLOW_NONE ? FLOW_NONE
							   : flow_replica_of(v, object, behind),
		 wrote;
	struct flow_verdict row = {.what = "altered",
				   .object = stored ? object : other,
				   .first = {k->in, k->in_spot, FLOW_RECEIVE},
				   .ref = {FLOW_WRONG, other},
				   .absence = true,
				   .note = note_unseen(v, k->process_id, NULL)};
	const struct flow_range *took = NULL;

	if (other == FLOW_NONE || other == object ||
	    !flow_replicas_stretch(v, other, object, range, &wrote) ||
	    flow_time_start(v->s, wrote) < flow_time_start(v->s, k->in))
		return false;
	row.from = range[0];
	row.to = range[1];
	row.second = (struct flow_seen){wrote, other | FLOW_SPOT_FILE, FLOW_SEND};
	for (size_t i = 0; i < v->stored.count && stored && !took; i++) {
		if (v->stored.all[i].out == wrote && !(v->stored.all[i].in_spot & FLOW_SPOT_FILE))
			took = &v->stored.all[i];
	}
	if (stored) {
		if (!took || sender_of(v, took->in) == FLOW_NONE)
			return false;
		row.second.node = sender_of(v, took->in);
		row.second.spot = took->in_spot;
	}
	flow_verdict_put(v, &row);
	flow_verdict_evidence(v, "received right", row.first, NULL);
	flow_verdict_evidence(
		v, stored ? "forwarded wrong" : "stored wrong", row.second,
		v->s->pieces.payload
			? NULL
			: "known to 4 KiB; record with --content=bytes for the exact bytes");
	if (stored)
		flow_verdict_evidence(v, "stored",
				      (struct flow_seen){wrote, other | FLOW_SPOT_FILE, FLOW_SEND},
				      "as it was received");
	flow_verdict_replicas(v);
	return true;
}

/* The call that took a byte of a stream; of a range that begins before it. */
static uint32_t taker_of(const struct flow_verdicts *v, const struct flow_range *k, int64_t pos)
{
	const struct flow_links *l = &v->s->links;

	for (size_t i = 0; i < l->segment_count && pos > k->from; i++) {
		const struct flow_segment *s = &l->segments[i];

		if (s->spot == k->in_spot && s->pos <= pos && pos < s->pos + s->size)
			return s->node;
	}
	return k->in;
}

/* Sets the bytes of a verdict to those of a file, of which other replicas are compared. */
static void verdict_place(struct flow_verdict *row, const struct flow_place *place, int64_t bytes)
{
	row->object = place->object;
	row->ref = (struct flow_reference){FLOW_RIGHT, place->object};
	row->from = place->pos;
	row->to = row->from + bytes;
}

bool flow_stores_unseen(const struct flow_verdicts *v, int64_t process_id)
{
	bool maps = false;

	for (size_t i = flow_range_at(&v->stored, process_id, 0, INT64_MIN);
	     i < v->stored.count && v->stored.all[i].process_id == process_id && !maps; i++)
		maps = v->s->acts[v->s->graph.nodes[v->stored.all[i].out].op] == FLOW_MAP;
	return maps && flow_mapped_unseen(v->s, process_id);
}

static void verdict_missing(struct flow_verdicts *v, const struct flow_range *k,
			    const int64_t gap[2], bool stored)
{
	int64_t range[2] = {gap[0] + k->out_pos - k->from, gap[1] + k->out_pos - k->from};
	struct flow_place place = {.object = FLOW_NONE,
				   .pos = flow_stream_pos(v, k->out_spot, range[0])};
	struct flow_verdict row = {.what = stored ? "stored-never-sent" : "sent-never-stored",
				   .first = {k->in, k->in_spot, FLOW_RECEIVE},
				   .second = {k->out, k->out_spot, FLOW_SEND},
				   .absence = true,
				   .note = note_unseen(v, k->process_id, NULL)};

	if ((!stored && flow_stores_unseen(v, k->process_id)) || flow_verdicts_full(v))
		return;
	if (stored)
		place = (struct flow_place){.object = k->out_spot & ~FLOW_SPOT_FILE,
					    .pos = range[0]};
	else if (!flow_stored_behind(v, k->out_spot, 0, range, &place))
		(void)flow_stored_before(v, k->in_spot, (int64_t[]){gap[0], gap[1]}, &place);
	if (verdict_replaced(v, k, &place, range[1] - range[0], stored))
		return;
	row.first.node = taker_of(v, k, range[0] - k->out_pos + k->from);
	verdict_place(&row, &place, range[1] - range[0]);
	flow_verdict_put(v, &row);
	flow_verdict_evidence(v, "received", row.first, NULL);
	flow_verdict_evidence(v, stored ? "stored" : "forwarded", row.second,
			      stored ? "and not sent on, although the other bytes are"
				     : "and not written to any file, although the other bytes are");
	flow_verdict_replicas(v);
}

/* True if the process at the other end of the stream has the bytes in its file anyway: then only a call is missing. */
static bool has_arrived(const struct flow_verdicts *v, const struct flow_range *k,
			uint32_t out_spot, const int64_t gap[2])
{
	int64_t apart = k->out_pos - k->from,
		process_id = out_spot & FLOW_SPOT_FILE
				     ? -1
				     : flow_end_process(v->s, out_spot, FLOW_RECEIVE);
	uint32_t object = k->out_spot & ~FLOW_SPOT_FILE,
		 other = process_id < 0 ? FLOW_NONE : flow_replica_of(v, object, process_id);

	return other != FLOW_NONE && other != object &&
	       !flow_replicas_differ_within(v, object, other, gap[0] + apart, gap[1] + apart);
}

/* True if the bytes may have been sent on one of the streams by calls whose content is not known. */
static bool may_be_unseen(const struct flow_verdicts *v, const struct flow_ranges *sent,
			  int64_t bytes)
{
	for (size_t i = 0; i < sent->count; i++) {
		uint32_t spot = sent->all[i].out_spot;

		if (!(spot & FLOW_SPOT_FILE) &&
		    v->s->channels[spot].ends[FLOW_SEND].unseen >= bytes)
			return true;
	}
	return false;
}

/* True if the process sent the bytes to a child process, which stored them: as git clone does to git index-pack. */
static bool is_stored_by_child(const struct flow_verdicts *v, const struct flow_range *k,
			       int64_t gap[2])
{
	struct flow_place place;
	int64_t child = k->out_spot & FLOW_SPOT_FILE
				? -1
				: flow_end_process(v->s, k->out_spot, FLOW_RECEIVE);

	return child >= 0 && flow_task_parent(v->s, child) == k->process_id &&
	       flow_stored_behind(v, k->out_spot, k->out_pos - k->from, gap, &place);
}

/* Bytes in one list are missing in the other, although it has most of them; if a third list is given, it must have them. */
static void deliveries_missing(struct flow_verdicts *v, const struct flow_ranges *have,
			       const struct flow_ranges *lack, const struct flow_ranges *others)
{
	bool stored = have->count && have->all[0].out_spot & FLOW_SPOT_FILE;
	int64_t all = 0, both = 0, gap[2], until = INT64_MIN, last = INT64_MIN;

	for (size_t i = 0; i < have->count; i++) {
		if (have->all[i].pulled)
			continue;
		all += have->all[i].to - have->all[i].from;
		both += deliveries_have(lack, have->all[i].from, have->all[i].to, gap);
	}
	if (both < all - all / MOST)
		return;
	for (size_t i = 0; i < lack->count; i++)
		last = MAX(last, lack->all[i].from);
	for (size_t i = 0; i < have->count; i++) {
		const struct flow_range *k = &have->all[i];

		deliveries_have(lack, k->from, k->to, gap);
		/* bytes after it were processed, so this is not merely in progress */
		if (gap[1] - gap[0] < LEAST || k->doubtful || k->pulled || gap[1] > last ||
		    k->from < until || came_twice(v, k) ||
		    (others &&
		     deliveries_have(others, gap[0], gap[1], (int64_t[2]){0}) < gap[1] - gap[0]))
			continue;
		for (size_t n = i + 1; n < have->count && have->all[n].from <= gap[1];
		     n++) { /* the same object in several calls */
			int64_t more[2];

			if (have->all[n].out_spot != k->out_spot)
				continue;
			deliveries_have(lack, have->all[n].from, have->all[n].to, more);
			if (more[0] > gap[1])
				break;
			gap[1] = MAX(gap[1], more[1]);
		}
		until = gap[1];
		if (stored && lack->count &&
		    (has_arrived(v, k, lack->all[0].out_spot, gap) ||
		     may_be_unseen(v, lack, gap[1] - gap[0])))
			continue;
		if (!stored && is_stored_by_child(v, k, gap))
			continue;
		verdict_missing(v, k, gap, stored);
	}
}

/* ---- twice, and in another order ---- */

/* Where the bytes of a range are stored: by the process, or by one that got them from it. */
static bool delivery_place(const struct flow_verdicts *v, const struct flow_range *k,
			   int64_t range[2], struct flow_place *ret)
{
	return flow_stored_by(v, k->process_id, k->in_spot, 0, range, ret) ||
	       flow_stored_behind(v, k->out_spot, k->out_pos - k->from, range, ret);
}

static uint32_t delivered_file(const struct flow_verdicts *v, const struct flow_range *k)
{
	struct flow_place place;

	return delivery_place(v, k, (int64_t[]){k->from, k->to}, &place) ? place.object : FLOW_NONE;
}

/* Reports a range of bytes of the stream of a and b: first the call of a, then that of b. */
static void verdict_delivery(struct flow_verdicts *v, const char *what, const struct flow_range *a,
			     const struct flow_range *b, int64_t range[2],
			     const char *const label[2])
{
	struct flow_place place = {.object = FLOW_NONE,
				   .pos = flow_stream_pos(v, b->in_spot, range[0])};
	struct flow_verdict row = {.what = what,
				   .first = {a->out, a->out_spot, FLOW_SEND},
				   .second = {b->out, b->out_spot, FLOW_SEND}};

	(void)delivery_place(v, b, range, &place);
	verdict_place(&row, &place, range[1] - range[0]);
	row.ref.standing = FLOW_NOT_COMPARED;
	flow_verdict_put(v, &row);
	flow_verdict_evidence(v, "received", (struct flow_seen){b->in, b->in_spot, FLOW_RECEIVE},
			      NULL);
	flow_verdict_evidence(v, label[0], row.first, NULL);
	flow_verdict_evidence(v, label[1], row.second, NULL);
}

/* The end of the contiguous bytes from range i on that were sent twice. */
static int64_t twice_until(const struct flow_ranges *sent, size_t i)
{
	int64_t once = sent->all[i].to, twice = sent->all[i].from;

	for (size_t n = i + 1; n < sent->count && sent->all[n].out_spot == sent->all[i].out_spot;
	     n++) {
		const struct flow_range *k = &sent->all[n];

		if (k->from > once || k->from > twice + LEAST)
			break;
		if (MIN(k->to, once) > twice)
			twice = MIN(k->to, once);
		once = MAX(once, k->to);
	}
	return twice;
}

/*
 * The first range that was sent of what the process stores in the file of range i; if it stores nothing of it, of what
 * it received and sent without a gap.
 */
static const struct flow_range *delivery_start(const struct flow_verdicts *v,
					       const struct flow_ranges *sent, size_t i)
{
	const struct flow_range *k = &sent->all[i],
				*first = flow_range_in(&v->stored, k->process_id, k->in_spot,
						       k->from, k->to);

	if (!first) {
		for (; i && k[-1].out_spot == k->out_spot && k[-1].to == k->from &&
		       k[-1].out_pos - k[-1].from == k->out_pos - k->from;
		     i--)
			k--;
		return k;
	}
	while (first > v->stored.all && first[-1].process_id == k->process_id &&
	       first[-1].in_spot == k->in_spot && first[-1].out_spot == first->out_spot &&
	       first[-1].to == first->from)
		first--;
	for (i = deliveries_at(sent, first->from); i < sent->count; i++) {
		if (sent->all[i].to > first->from)
			return sent->all[i].from <= first->from ? &sent->all[i] : k;
	}
	return k;
}

/* Verdicts on what was sent on one stream. */
static void deliveries_order(struct flow_verdicts *v, const struct flow_ranges *sent)
{
	static const char *const twice[] = {"sent", "sent again"}, *const order[] = {
									   "sent first",
									   "sent after it"};
	size_t before = SIZE_MAX;
	int64_t told = INT64_MIN;

	for (size_t i = 0; i < sent->count; i++) {
		const struct flow_range *k = &sent->all[i],
					*b = before == SIZE_MAX ? NULL : &sent->all[before];

		if (!is_delivery(k))
			continue;
		if (b && k->from < b->to && MIN(k->to, b->to) - k->from >= LEAST) {
			if (k->from >= told && !came_twice(v, k)) {
				told = twice_until(sent, before);
				verdict_delivery(v, "sent-twice", b, k, (int64_t[]){b->from, told},
						 twice);
			}
			continue;
		}
		if (b && k->out_pos < b->out_pos && b->from >= told && !came_twice(v, b) &&
		    !came_twice(v, k) && delivered_file(v, b) != delivered_file(v, k)) {
			const struct flow_range *first = delivery_start(v, sent, before);

			verdict_delivery(v, "re-ordered", k, first, (int64_t[]){first->from, b->to},
					 order);
		}
		before = i;
	}
}

/* ---- neither stored nor forwarded ---- */

static int compare_sizes(const void *a, const void *b)
{
	return ORDER(*(const int64_t *)a, *(const int64_t *)b);
}

/*
 * The segment with the first bytes received at a range. NULL: not all of it was kept, or it is weak evidence, because
 * it was received more than once or has only equal bytes.
 */
static const struct flow_segment *segment_of(const struct flow_verdicts *v, int64_t process_id,
					     uint32_t spot, const int64_t range[2])
{
	const struct flow_links *l = &v->s->links;
	const struct flow_segment *first = NULL;
	int64_t have = 0, unlike = 0;

	for (size_t i = 0; i < l->segment_count; i++) {
		const struct flow_segment *s = &l->segments[i];
		int64_t from = MAX(range[0], s->pos), to = MIN(range[1], s->pos + s->size);

		if (s->spot != spot || from >= to)
			continue;
		if (!s->bytes ||
		    flow_links_copied(l, process_id, (uint32_t)i, (uint32_t)(from - s->pos),
				      (uint32_t)(to - s->pos)))
			return NULL;
		first = first && first->pos <= s->pos ? first : s;
		have += to - from;
		for (int64_t at = from + 1; at < to; at++)
			unlike += s->bytes[at - s->pos] != s->bytes[at - s->pos - 1];
	}
	return have == range[1] - range[0] && unlike >= have / 4 ? first : NULL;
}

/* True if the process wrote a file at the time whose content has no known origin: it may be derived from the bytes. */
static bool was_transformed(const struct flow_verdicts *v, int64_t process_id, uint32_t in,
			    int64_t bytes)
{
	const struct flow_links *l = &v->s->links;
	int64_t since = v->s->graph.nodes[in].start;

	for (uint32_t i = 0; i < v->s->object_count; i++) {
		const struct flow_file *f = v->s->objects[i].kind == FLOW_IS_FILE
						    ? &v->s->files[v->s->objects[i].file]
						    : NULL;
		size_t at;

		if (!f || f->process_id != process_id || f->size <= bytes / MANY ||
		    f->first == FLOW_NONE || v->s->graph.nodes[f->first].start < since)
			continue;
		at = flow_out_at(v, i | FLOW_SPOT_FILE, 0);
		if (at == l->link_count || l->links[v->by_out[at]].out_spot != (i | FLOW_SPOT_FILE))
			return true;
	}
	return false;
}

/*
 * True if other bytes take the place of a gap: between what the process sent out before and after it, and not known to
 * have entered elsewhere.
 */
static bool is_other_between(const struct flow_verdicts *v, const struct flow_range *before,
			     const struct flow_range *behind, int64_t gap)
{
	int64_t from = before->out_pos + before->to - before->from, apart = behind->out_pos - from;
	const struct flow_link *all = v->s->links.links;

	if (before->out_spot != behind->out_spot || apart < gap / MANY || apart >= gap * BETWEEN)
		return false;
	if (before->out_spot & FLOW_SPOT_FILE) { /* without holes */
		const struct flow_object *o = &v->s->objects[before->out_spot & ~FLOW_SPOT_FILE];
		struct flow_extent e;

		apart = 0;
		for (int64_t at = from;
		     flow_extents_next(&v->s->files[o->file].written, &at, behind->out_pos, &e);)
			apart += e.to - e.from;
	}
	for (size_t i = flow_out_at(v, before->out_spot, from); i < v->s->links.link_count; i++) {
		const struct flow_link *k = &all[v->by_out[i]];

		if (k->out_spot != before->out_spot || k->out_pos >= behind->out_pos)
			break;
		apart -= k->bytes;
	}
	return apart >= gap / MANY;
}

static void verdict_dropped(struct flow_verdicts *v, int64_t process_id, uint32_t in_spot,
			    int64_t gap[2], bool stores)
{
	const struct flow_segment *s = segment_of(v, process_id, in_spot, gap);
	struct flow_place place = {.object = FLOW_NONE, .pos = flow_stream_pos(v, in_spot, gap[0])};
	struct flow_verdict row = {
		.what = stores ? "never-stored" : "never-sent",
		.second = FLOW_UNSEEN,
		.absence = true,
		.note = note_unseen(v, process_id,
				    "the process may have discarded them on purpose")};

	if (!s || (stores && flow_stores_unseen(v, process_id)) ||
	    was_transformed(v, process_id, s->node, gap[1] - gap[0]))
		return;
	row.first = (struct flow_seen){s->node, in_spot, FLOW_RECEIVE};
	row.by = &v->s->graph.nodes[s->node];
	(void)flow_stored_before(v, in_spot, gap, &place);
	verdict_place(&row, &place, gap[1] - gap[0]);
	flow_verdict_put(v, &row);
	flow_verdict_evidence(v, "received", row.first,
			      stores ? "and not written to any file, although the other bytes are"
				     : "and not sent on, although the other bytes are");
	flow_verdict_replicas(v);
}

/* The significant gaps of a stream. */
struct gaps {
	int64_t *sizes;
	size_t count;
	int64_t least;
};

/*
 * Headers are gaps, too: selects gaps far longer than most, and not much shorter than the data between two. False:
 * there are none.
 */
static bool gaps_judge(struct gaps *g, const struct flow_ranges *all)
{
	int64_t at = all->all[0].to, handled = at - all->all[0].from;
	size_t large = 0;

	g->count = 0;
	for (size_t i = 1; i < all->count; i++) {
		const struct flow_range *k = &all->all[i];

		if (k->from > at)
			g->sizes[g->count++] = k->from - at;
		if (k->to > at)
			handled += k->to - MAX(k->from, at);
		at = MAX(at, k->to);
	}
	array_sort(g->sizes, g->count, compare_sizes);
	g->least = LEAST_OF_FEW;
	if (g->count >= FEW) {
		g->least = MAX((int64_t)LEAST, g->sizes[g->count / 2] * MOST);
		g->least = MAX(g->least, handled / (int64_t)g->count / MANY);
	}
	for (size_t i = 0; i < g->count; i++)
		large += g->sizes[i] >= g->least;
	return large && large * MOST <= all->count &&
	       handled >= (at - all->all[0].from) / MOST * (MOST - 1);
}

/* Ranges of one stream, sorted by from. */
static void dropped_between(struct flow_verdicts *v, const struct flow_ranges *all, bool stores,
			    struct gaps *g)
{
	int64_t at = all->all[0].to;
	size_t before = 0;

	if (!gaps_judge(g, all))
		return;
	for (size_t i = 1; i < all->count; i++) {
		const struct flow_range *k = &all->all[i];

		if (k->from - at >= g->least &&
		    !is_other_between(v, &all->all[before], k, k->from - at))
			verdict_dropped(v, k->process_id, k->in_spot, (int64_t[]){at, k->from},
					stores);
		before = k->to > at ? i : before;
		at = MAX(at, k->to);
	}
}

/*
 * What a process received from a stream and neither stored nor forwarded, although it did so with the bytes before and
 * after it.
 */
static void deliveries_dropped(struct flow_verdicts *v, const struct flow_ranges *sent,
			       const struct flow_ranges *stored)
{
	_cleanup_free_ struct flow_range *all =
		malloc((sent->count + stored->count) * sizeof(*all));
	_cleanup_free_ int64_t *sizes = malloc((sent->count + stored->count) * sizeof(*sizes));
	struct gaps gaps = {.sizes = sizes};
	struct flow_ranges d = {.all = all};

	if (!all || !sizes) {
		flow_verdict_failed(v, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < sent->count; i++) {
		if (!sent->all[i].pulled)
			all[d.count++] = sent->all[i];
	}
	for (size_t i = 0; i < stored->count; i++)
		all[d.count++] = stored->all[i];
	if (d.count >= MANY) {
		array_sort(all, d.count, compare_from);
		dropped_between(v, &d, stored->count > 0, &gaps);
	}
}

/* ---- all verdicts ---- */

static void deliveries_of_spots(struct flow_verdicts *v, const struct flow_ranges *sent,
				const struct flow_ranges *stored)
{
	_cleanup_free_ struct flow_range *all = malloc(sent->count * sizeof(*all));

	if (!all) {
		flow_verdict_failed(v, -ENOMEM);
		return;
	}
	memcpy(all, sent->all, sent->count * sizeof(*all));
	array_sort(all, sent->count, compare_out_from);
	for (size_t i = 0, n; i < sent->count; i += n) {
		struct flow_ranges one = {.all = &all[i]};

		for (n = 1; i + n < sent->count && all[i + n].out_spot == all[i].out_spot;)
			n++;
		one.count = n;
		deliveries_order(v, &one);
		if (n < sent->count) /* only to one of several */
			deliveries_missing(v, stored, &one, sent);
	}
}

/* The lists of a process and a stream; one may be empty. */
static void deliveries_verdict(struct flow_verdicts *v, const struct flow_ranges *sent,
			       const struct flow_ranges *stored)
{
	uint32_t spot = sent->count ? sent->all[0].in_spot : stored->all[0].in_spot;

	if (sent->count) {
		deliveries_of_spots(v, sent, stored);
		deliveries_missing(v, stored, sent, NULL);
		deliveries_missing(v, sent, stored, NULL);
	}
	/* databases read what they wrote in order to keep only part of it */
	if (!(spot & FLOW_SPOT_FILE))
		deliveries_dropped(v, sent, stored);
}

static void deliveries_each(struct flow_verdicts *v, const struct flow_ranges *l, bool of_stored)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct flow_range *k = &l->all[i];
		struct flow_ranges sent, stored;

		if (((k->in_spot & FLOW_SPOT_FILE) &&
		     !flow_spot_log(v, k->process_id, k->in_spot)) ||
		    flow_spot_messages(v, k->in_spot) ||
		    (i && l->all[i - 1].process_id == k->process_id &&
		     l->all[i - 1].in_spot == k->in_spot))
			continue;
		sent = deliveries_of(&v->sent, k->process_id, k->in_spot);
		stored = deliveries_of(&v->stored, k->process_id, k->in_spot);
		if (!of_stored || !sent.count)
			deliveries_verdict(v, &sent, &stored);
	}
}

void flow_deliveries_verdicts(struct flow_verdicts *v)
{
	deliveries_each(v, &v->sent, false);
	deliveries_each(v, &v->stored, true);
}
