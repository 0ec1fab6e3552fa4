// SPDX-License-Identifier: Apache-2.0
/*
 * flow_deliveries.c: what a process does with most of what comes in over a stream, it did not do with some of it: it stored
 * it and did not send it on, or sent it on and did not store it; or it sent it on twice, or in another order than it came.
 */
#include "base/array.h"

#include "analysis/flow/flow_verdicts.h"

#define MOST  4			    /* all but a quarter */
#define LEAST (2 * FLOW_LINK_LEAST) /* bytes: what is shorter may be a part of a header */

/* Consecutive ranges of one process and one stream. */
struct deliveries {
	const struct flow_range *all;
	size_t count;
};

static struct deliveries deliveries_of(const struct flow_ranges *l, int64_t process_id,
				       uint32_t in_spot)
{
	struct deliveries d = {0};
	size_t low = array_first(i, 0, l->count,
				 (ORDER(l->all[i].process_id, process_id)
					  ?: ORDER(l->all[i].in_spot, in_spot)) >= 0);

	d.all = &l->all[low];
	while (low + d.count < l->count && d.all[d.count].process_id == process_id &&
	       d.all[d.count].in_spot == in_spot)
		d.count++;
	return d;
}

/* Where to begin to look for what ends behind `from`: ranges overlap little. */
static size_t deliveries_at(const struct deliveries *d, int64_t from)
{
	size_t low = array_first(i, 0, d->count, d->all[i].from >= from);

	return low > 16 ? low - 16 : 0;
}

/* Bytes of [from, to) that the list has; *ret_gap: the longest stretch that it has not. */
static int64_t deliveries_have(const struct deliveries *d, int64_t from, int64_t to, int64_t gap[2])
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

/* Whether a range is part of a delivery: not what merely looks so, as headers do. */
static bool is_delivery(const struct flow_range *k)
{
	return !k->doubtful && !k->differs && !k->pulled && k->to - k->from >= LEAST;
}

/* Whether who sent these bytes to the process sent them twice as well: then it sends on what came. */
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

/* The file in which whoever is at the other end of the stream stored these bytes. */
static uint32_t delivery_file(const struct flow_verdicts *v, const struct flow_range *sent,
			      int64_t from)
{
	const struct flow_channel *c = &v->s->channels[sent->out_spot];
	uint32_t task = c->ends[FLOW_RECEIVE].task;
	int64_t at = sent->out_pos + from - sent->from;
	const struct flow_range *k;

	if (task == FLOW_NONE)
		return FLOW_NONE;
	k = flow_range_in(&v->stored, v->s->tasks[task].process_id, sent->out_spot, at, at + 1);
	return k ? k->out_spot & ~FLOW_SPOT_FILE : FLOW_NONE;
}

/* Who is at the other end of what the process sends on of this stream; -1: not known. */
static int64_t process_behind(const struct flow_verdicts *v, const struct flow_range *k)
{
	for (size_t i = 0; i < v->sent.count; i++) {
		const struct flow_range *s = &v->sent.all[i];
		uint32_t task;

		if (s->process_id != k->process_id || s->in_spot != k->in_spot)
			continue;
		task = v->s->channels[s->out_spot].ends[FLOW_RECEIVE].task;
		if (task != FLOW_NONE)
			return v->s->tasks[task].process_id;
	}
	return -1;
}

/* The call that sent what another took in; FLOW_NONE. */
static uint32_t sender_of(const struct flow_verdicts *v, uint32_t node)
{
	const struct flow_graph *g = &v->s->graph;

	for (uint32_t e = g->nodes[node].in; e != FLOW_NONE; e = g->edges[e].next_in) {
		if (g->edges[e].via == VIA_STREAM && g->edges[e].certainty == CERTAINTY_CERTAIN)
			return g->edges[e].from;
	}
	return FLOW_NONE;
}

/*
 * Bytes that look as if they had not been stored, or not sent on, because they were altered: a file of the name is there, and
 * differs. 1: that is the verdict.
 */
static int verdict_replaced(struct flow_verdicts *v, const struct flow_range *k, uint32_t object,
			    bool stored)
{
	int64_t behind = stored ? process_behind(v, k) : k->process_id, range[2];
	uint32_t other = behind < 0 || object == FLOW_NONE ? FLOW_NONE
							   : flow_replica_of(v, object, behind),
		 wrote;
	struct flow_reference ref = {other, true};
	struct flow_verdict row = {.what = "altered",
				   .first = k->in,
				   .first_spot = k->in_spot,
				   .first_side = FLOW_RECEIVE,
				   .second_side = FLOW_SEND,
				   .absence = true};
	const struct flow_range *took = NULL;
	int r;

	if (other == FLOW_NONE || other == object ||
	    !flow_replicas_stretch(v, other, object, range, &wrote))
		return 0;
	row.object = stored ? object : other;
	row.from = range[0];
	row.to = range[1];
	row.bytes = range[1] - range[0];
	row.second = wrote;
	row.second_spot = other | FLOW_SPOT_FILE;
	for (size_t i = 0; i < v->stored.count && stored && !took; i++) {
		if (v->stored.all[i].out == wrote && !(v->stored.all[i].in_spot & FLOW_SPOT_FILE))
			took = &v->stored.all[i];
	}
	if (stored) {
		if (!took || sender_of(v, took->in) == FLOW_NONE)
			return 0;
		row.second = sender_of(v, took->in);
		row.second_spot = took->in_spot;
	}
	row.second_observation = flow_replicas_say(v, &ref, row.from, row.to);
	r = flow_verdict_put(v, &row);
	if (r >= 0)
		r = flow_verdict_evidence(v, "received right", k->in, k->in_spot, FLOW_RECEIVE,
					  NULL);
	if (r >= 0)
		r = flow_verdict_evidence(v, stored ? "forwarded wrong" : "stored wrong",
					  row.second, row.second_spot, FLOW_SEND,
					  v->s->pieces.payload
						  ? NULL
						  : "known to 4 KiB; record with --content=bytes "
						    "for the exact bytes");
	if (r >= 0 && stored)
		r = flow_verdict_evidence(v, "stored", wrote, other | FLOW_SPOT_FILE, FLOW_SEND,
					  "as it was received");
	if (r < 0)
		return r;
	r = flow_replicas_evidence(v, &ref, row.from, row.to);
	return r < 0 ? r : 1;
}

static int verdict_missing(struct flow_verdicts *v, const struct flow_range *k,
			   const int64_t gap[2], bool stored)
{
	uint32_t object = stored ? k->out_spot & ~FLOW_SPOT_FILE : delivery_file(v, k, gap[0]);
	int64_t pos = stored ? k->out_pos + gap[0] - k->from : 0;
	struct flow_verdict row = {.what = stored ? "stored-never-sent" : "sent-never-stored",
				   .object = object,
				   .from = pos,
				   .to = pos + gap[1] - gap[0],
				   .bytes = gap[1] - gap[0],
				   .first = k->in,
				   .second = k->out,
				   .first_spot = k->in_spot,
				   .second_spot = k->out_spot,
				   .first_side = FLOW_RECEIVE,
				   .second_side = FLOW_SEND,
				   .absence = true};
	const struct flow_reference ref = {object, false};
	int r;

	if (flow_verdicts_full(v))
		return 0;
	r = verdict_replaced(v, k, object, stored);
	if (r)
		return MIN(r, 0);
	if (object != FLOW_NONE) {
		const struct flow_file *f = &v->s->files[v->s->objects[object].file];

		if (f->size > row.from)
			row.to = MIN(row.to, f->size);
		row.bytes = row.to - row.from;
		row.second_observation = flow_replicas_say(v, &ref, row.from, row.to);
	}
	r = flow_verdict_put(v, &row);
	if (r >= 0)
		r = flow_verdict_evidence(v, "received", k->in, k->in_spot, FLOW_RECEIVE, NULL);
	if (r >= 0)
		r = flow_verdict_evidence(
			v, stored ? "stored" : "forwarded", k->out, k->out_spot, FLOW_SEND,
			stored ? "and not sent on, although the other bytes are"
			       : "and not written to any file, although the other bytes are");
	return r < 0 || object == FLOW_NONE ? r : flow_replicas_evidence(v, &ref, row.from, row.to);
}

/* Of what one list has, the other lacks some, though it has most. */
static int deliveries_missing(struct flow_verdicts *v, const struct deliveries *have,
			      const struct deliveries *lack, bool stored)
{
	int64_t all = 0, both = 0, gap[2], until = INT64_MIN, last = INT64_MIN;
	int r = 0;

	for (size_t i = 0; i < have->count; i++) {
		if (have->all[i].pulled)
			continue;
		all += have->all[i].to - have->all[i].from;
		both += deliveries_have(lack, have->all[i].from, have->all[i].to, gap);
	}
	if (both < all - all / MOST)
		return 0;
	for (size_t i = 0; i < lack->count; i++)
		last = MAX(last, lack->all[i].from);
	for (size_t i = 0; i < have->count && r >= 0; i++) {
		const struct flow_range *k = &have->all[i];

		deliveries_have(lack, k->from, k->to, gap);
		/* what came after it was dealt with, so that this is not merely under way */
		if (gap[1] - gap[0] < LEAST || k->doubtful || k->pulled || gap[1] > last ||
		    k->from < until || came_twice(v, k))
			continue;
		for (size_t n = i + 1; n < have->count && have->all[n].from <= gap[1] &&
				       have->all[n].out_spot == k->out_spot;
		     n++) { /* the same object in several calls */
			int64_t more[2];

			deliveries_have(lack, have->all[n].from, have->all[n].to, more);
			if (more[0] > gap[1])
				break;
			gap[1] = MAX(gap[1], more[1]);
		}
		until = gap[1];
		r = verdict_missing(v, k, gap, stored);
	}
	return r;
}

/* ---- twice, and in another order ---- */

static uint32_t delivered_file(const struct flow_verdicts *v, const struct flow_range *k)
{
	const struct flow_range *stored =
		flow_range_in(&v->stored, k->process_id, k->in_spot, k->from, k->to);

	return stored ? stored->out_spot & ~FLOW_SPOT_FILE : FLOW_NONE;
}

/* Cuts a range of the stream of k to bytes that the process stores in one file, without a gap. Where in it they are. */
static int64_t clip_to_file(const struct flow_verdicts *v, const struct flow_range *k,
			    int64_t range[2])
{
	const struct flow_range *all = v->stored.all, *end = all + v->stored.count, *last,
				*first = flow_range_in(&v->stored, k->process_id, k->in_spot,
						       range[0], range[1]);

	if (!first)
		return range[0];
	for (last = first; last + 1 < end && last[1].process_id == k->process_id &&
			   last[1].in_spot == k->in_spot && last[1].out_spot == last->out_spot &&
			   last[1].from == last->to;)
		last++;
	range[0] = MAX(range[0], first->from);
	range[1] = MIN(range[1], last->to);
	return first->out_pos + range[0] - first->from;
}

/* A range of bytes of the stream of a and b, by the call of a and then by that of b. */
static int verdict_delivery(struct flow_verdicts *v, const char *what, const struct flow_range *a,
			    const struct flow_range *b, int64_t range[2],
			    const char *const label[2])
{
	int64_t pos = clip_to_file(v, b, range);
	struct flow_verdict row = {.what = what,
				   .object = delivered_file(v, b),
				   .from = pos,
				   .to = pos + range[1] - range[0],
				   .bytes = range[1] - range[0],
				   .first = a->out,
				   .second = b->out,
				   .first_spot = a->out_spot,
				   .second_spot = b->out_spot,
				   .first_side = FLOW_SEND,
				   .second_side = FLOW_SEND};
	int r;

	if (flow_verdicts_full(v))
		return 0;
	r = flow_verdict_put(v, &row);
	if (r < 0)
		return r;
	r = flow_verdict_evidence(v, "received", b->in, b->in_spot, FLOW_RECEIVE, NULL);
	if (r < 0)
		return r;
	r = flow_verdict_evidence(v, label[0], a->out, a->out_spot, FLOW_SEND, NULL);
	return r < 0 ? r : flow_verdict_evidence(v, label[1], b->out, b->out_spot, FLOW_SEND, NULL);
}

/* Up to where the bytes from range i on were sent twice, without a gap. */
static int64_t twice_until(const struct deliveries *sent, size_t i)
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

/* The first range that was sent of what the process stores in the file of k. */
static const struct flow_range *delivery_start(const struct flow_verdicts *v,
					       const struct flow_range *k)
{
	const struct flow_range *first = flow_range_in(&v->stored, k->process_id, k->in_spot,
						       k->from, k->to),
				*sent;

	while (first && first > v->stored.all && first[-1].process_id == k->process_id &&
	       first[-1].in_spot == k->in_spot && first[-1].out_spot == first->out_spot &&
	       first[-1].to == first->from)
		first--;
	sent = first ? flow_range_in(&v->sent, k->process_id, k->in_spot, first->from,
				     first->from + 1)
		     : NULL;
	return sent && sent->out_spot == k->out_spot ? sent : k;
}

static int deliveries_order(struct flow_verdicts *v, const struct deliveries *sent)
{
	static const char *const twice[] = {"sent", "sent again"}, *const order[] = {
									   "sent first",
									   "sent after it"};
	size_t before = SIZE_MAX;
	int64_t told = INT64_MIN;
	int r = 0;

	for (size_t i = 0; i < sent->count && r >= 0; i++) {
		const struct flow_range *k = &sent->all[i],
					*b = before == SIZE_MAX ? NULL : &sent->all[before];

		if (!is_delivery(k))
			continue;
		if (b && k->out_spot == b->out_spot && k->from < b->to &&
		    MIN(k->to, b->to) - k->from >= LEAST) {
			if (k->from >= told && !came_twice(v, k)) {
				told = twice_until(sent, before);
				r = verdict_delivery(v, "sent-twice", b, k,
						     (int64_t[]){b->from, told}, twice);
			}
			continue;
		}
		if (b && k->out_spot == b->out_spot && k->out_pos < b->out_pos && b->from >= told &&
		    delivered_file(v, b) != delivered_file(v, k)) {
			const struct flow_range *first = delivery_start(v, b);

			r = verdict_delivery(v, "re-ordered", k, first,
					     (int64_t[]){first->from, b->to}, order);
		}
		before = i;
	}
	return r;
}

int flow_deliveries_verdicts(struct flow_verdicts *v)
{
	const struct flow_ranges *l = &v->sent;
	int r = 0;

	for (size_t i = 0; i < l->count && r >= 0; i++) {
		const struct flow_range *k = &l->all[i];
		struct deliveries sent, stored;

		if (k->in_spot & FLOW_SPOT_FILE ||
		    (i && l->all[i - 1].process_id == k->process_id &&
		     l->all[i - 1].in_spot == k->in_spot))
			continue;
		sent = deliveries_of(l, k->process_id, k->in_spot);
		stored = deliveries_of(&v->stored, k->process_id, k->in_spot);
		r = deliveries_order(v, &sent);
		if (r >= 0)
			r = deliveries_missing(v, &stored, &sent, true);
		if (r >= 0)
			r = deliveries_missing(v, &sent, &stored, false);
	}
	return r;
}
