// SPDX-License-Identifier: Apache-2.0
/*
 * flow_deliveries.c: what a process does with most of what comes in over a stream, it did not do with some of it: it stored it and did
 * not send it on, or sent it on and did not store it; or it sent it on twice, or in another order than it came.
 */
#include <errno.h>

#include "analysis/flow/flow_verdicts.h"

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

	for (size_t i = 0; i < l->count; i++) { /* once for each stream of each process */
		if (l->all[i].process_id != process_id || l->all[i].in_spot != in_spot)
			continue;
		d.all = d.count ? d.all : &l->all[i];
		d.count++;
	}
	return d;
}

/* Bytes of [from, to) that the list has; *ret_gap: the longest stretch that it has not. */
static int64_t deliveries_have(const struct deliveries *d, int64_t from, int64_t to, int64_t gap[2])
{
	int64_t have = 0, at = from;

	gap[0] = gap[1] = from;
	for (size_t i = 0; i < d->count && at < to; i++) {
		const struct flow_range *k = &d->all[i];

		if (k->to <= at)
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

/* The file in which whoever is at the other end of the stream stored these bytes. */
static uint32_t file_behind(const struct flow_verdicts *v, const struct flow_range *sent, int64_t from)
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

static int verdict_missing(struct flow_verdicts *v, const struct flow_range *k, const int64_t gap[2],
			   bool stored)
{
	uint32_t object = stored ? k->out_spot & ~FLOW_SPOT_FILE : file_behind(v, k, gap[0]);
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
		r = flow_verdict_evidence(v, stored ? "stored" : "forwarded", k->out, k->out_spot,
					  FLOW_SEND,
					  stored ? "and sent to nobody, as other bytes are"
						 : "and written to no file, as other bytes are");
	return r < 0 || object == FLOW_NONE ? r
					     : flow_replicas_evidence(v, &ref, row.from, row.to);
}

/* Of what one list has, the other lacks some, though it has most. */
static int deliveries_missing(struct flow_verdicts *v, const struct deliveries *have,
			      const struct deliveries *lack, bool stored)
{
	int64_t all = 0, both = 0, gap[2], until = INT64_MIN, last = INT64_MIN;
	int r = 0;

	for (size_t i = 0; i < have->count; i++) {
		all += have->all[i].to - have->all[i].from;
		both += deliveries_have(lack, have->all[i].from, have->all[i].to, gap);
	}
	if (both * 2 < all)
		return 0;
	for (size_t i = 0; i < lack->count; i++)
		last = MAX(last, lack->all[i].from);
	for (size_t i = 0; i < have->count && r >= 0; i++) {
		const struct flow_range *k = &have->all[i];

		deliveries_have(lack, k->from, k->to, gap);
		/* what came after it was dealt with, so that this is not merely under way */
		if (gap[1] - gap[0] < LEAST || k->doubtful || gap[1] > last || k->from < until)
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

static uint32_t file_of(const struct flow_verdicts *v, const struct flow_range *k)
{
	const struct flow_range *stored =
		flow_range_in(&v->stored, k->process_id, k->in_spot, k->from, k->to);

	return stored ? stored->out_spot & ~FLOW_SPOT_FILE : FLOW_NONE;
}

static int verdict_delivery(struct flow_verdicts *v, const char *what, const struct flow_range *a,
			    const struct flow_range *b, const char *first, const char *second)
{
	uint32_t object = file_of(v, b);
	struct flow_verdict row = {.what = what,
				   .object = object,
				   .from = object == FLOW_NONE ? b->from : 0,
				   .to = (object == FLOW_NONE ? b->from : 0) + b->to - b->from,
				   .bytes = b->to - b->from,
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
	if (r >= 0)
		r = flow_verdict_evidence(v, "received", b->in, b->in_spot, FLOW_RECEIVE, NULL);
	if (r >= 0)
		r = flow_verdict_evidence(v, first, a->out, a->out_spot, FLOW_SEND, NULL);
	return r < 0 ? r : flow_verdict_evidence(v, second, b->out, b->out_spot, FLOW_SEND, NULL);
}

static int deliveries_order(struct flow_verdicts *v, const struct deliveries *sent)
{
	const struct flow_range *before = NULL;
	uint32_t told = FLOW_NONE;
	int64_t twice_until = INT64_MIN;
	int r = 0;

	for (size_t i = 0; i < sent->count && r >= 0; i++) {
		const struct flow_range *k = &sent->all[i];

		if (k->doubtful || k->differs || k->to - k->from < LEAST)
			continue;
		if (before && k->out_spot == before->out_spot) {
			uint32_t object = file_of(v, k);

			if (k->from < before->to && MIN(k->to, before->to) - k->from >= LEAST) {
				if (k->from >= twice_until && (object == FLOW_NONE || object != told))
					r = verdict_delivery(v, "sent-twice", before, k, "sent", "sent again");
				twice_until = k->to;
				told = object;
				continue;
			}
			if (k->out_pos < before->out_pos && before->from >= twice_until &&
			    file_of(v, before) != object)
				r = verdict_delivery(v, "re-ordered", k, before, "sent first",
						     "sent after it");
		}
		before = k;
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
