// SPDX-License-Identifier: Apache-2.0
/* flow_places.c: finds the file in which bytes of a stream are stored, by processes that received or sent them. */
#include "analysis/flow/bytes/flow_replicas.h"
#include "schema/content_hash.h"

#define PLACES_MAX 8 /* length of a chain of processes that forward bytes */

/* The end of the ranges that continue the first one, at their source and at their destination. */
static int64_t places_end(const struct flow_ranges *l, const struct flow_range *first)
{
	const struct flow_range *k = first + 1, *end = l->all + l->count;
	int64_t to = first->to;

	for (; k < end && k->process_id == first->process_id && k->in_spot == first->in_spot &&
	       k->from <= to;
	     k++) {
		if (k->out_spot == first->out_spot &&
		    k->out_pos - k->from == first->out_pos - first->from)
			to = MAX(to, k->to);
	}
	return to;
}

/* Clips a range to what the process did with it in one place. NULL: nothing. */
static const struct flow_range *range_cut(const struct flow_ranges *l, int64_t process_id,
					  uint32_t spot, int64_t apart, int64_t range[2])
{
	const struct flow_range *k =
		flow_range_in(l, process_id, spot, range[0] + apart, range[1] + apart);

	if (!k)
		return NULL;
	range[0] = MAX(range[0], k->from - apart);
	range[1] = MIN(range[1], places_end(l, k) - apart);
	return k;
}

bool flow_stored_by(const struct flow_verdicts *v, int64_t process_id, uint32_t spot, int64_t apart,
		    int64_t range[2], struct flow_place *ret)
{
	const struct flow_range *k = range_cut(&v->stored, process_id, spot, apart, range);

	if (!k)
		return false;
	*ret = (struct flow_place){.object = k->out_spot & ~FLOW_SPOT_FILE,
				   .pos = k->out_pos + range[0] + apart - k->from,
				   .node = k->out,
				   .spot = k->out_spot,
				   .in = k->in,
				   .in_spot = k->in_spot};
	return true;
}

bool flow_stored_behind(const struct flow_verdicts *v, uint32_t spot, int64_t apart,
			int64_t range[2], struct flow_place *ret)
{
	int64_t at[2] = {range[0], range[1]};

	for (unsigned int i = 0;
	     i < PLACES_MAX && !(spot & FLOW_SPOT_FILE) && !flow_spot_messages(v, spot); i++) {
		int64_t process_id = flow_end_process(v->s, spot, FLOW_RECEIVE);
		const struct flow_range *k;

		if (process_id < 0)
			return false;
		if (flow_stored_by(v, process_id, spot, apart, at, ret)) {
			memcpy(range, at, sizeof(at));
			return true;
		}
		k = range_cut(&v->sent, process_id, spot, apart, at);
		if (!k)
			return false;
		spot = k->out_spot;
		apart += k->out_pos - k->from;
	}
	return false;
}

int64_t flow_out_end(const struct flow_verdicts *v, size_t i)
{
	const struct flow_link *all = v->s->links.links, *k = &all[v->by_out[i]];
	int64_t end = k->out_pos + k->bytes;

	for (i++; i < v->s->links.link_count; i++) {
		const struct flow_link *next = &all[v->by_out[i]];

		if (next->out_spot != k->out_spot || next->out_pos != end ||
		    next->in_spot != k->in_spot ||
		    next->in_pos - next->out_pos != k->in_pos - k->out_pos)
			break;
		end += next->bytes;
	}
	return end;
}

/* A link by which a process sent bytes of the range to the stream, and the end of the links that continue it. */
static const struct flow_link *link_into(const struct flow_verdicts *v, uint32_t spot, int64_t from,
					 int64_t to, int64_t *ret_end)
{
	const struct flow_link *all = v->s->links.links, *k;
	size_t count = v->s->links.link_count, i = flow_out_at(v, spot, from);

	if (i) {
		k = &all[v->by_out[i - 1]];
		if (k->out_spot == spot && k->out_pos + k->bytes > from)
			i--;
	}
	if (i == count || flow_spot_messages(v, spot))
		return NULL;
	k = &all[v->by_out[i]];
	if (k->out_spot != spot || k->out_pos >= to)
		return NULL;
	*ret_end = flow_out_end(v, i);
	return k;
}

bool flow_stored_before(const struct flow_verdicts *v, uint32_t spot, int64_t range[2],
			struct flow_place *ret)
{
	int64_t apart = 0, at[2] = {range[0], range[1]}, end;

	for (unsigned int i = 0; i < PLACES_MAX; i++) {
		const struct flow_link *k = link_into(v, spot, at[0] + apart, at[1] + apart, &end);
		bool found;

		if (!k)
			return false;
		at[0] = MAX(at[0], k->out_pos - apart);
		at[1] = MIN(at[1], end - apart);
		apart += k->in_pos - k->out_pos;
		spot = k->in_spot;
		found = spot & FLOW_SPOT_FILE;
		if (found)
			*ret = (struct flow_place){.object = spot & ~FLOW_SPOT_FILE,
						   .pos = at[0] + apart,
						   .node = k->in,
						   .spot = spot};
		if (found || flow_stored_by(v, k->process_id, spot, apart, at, ret)) {
			memcpy(range, at, sizeof(at));
			return true;
		}
	}
	return false;
}

/* Where received bytes are stored by a process to which they were forwarded. */
static bool stored_by_receiver(const struct flow_verdicts *v, const struct flow_link *k,
			       int64_t process_id, int64_t range[2], struct flow_place *ret)
{
	size_t i = flow_range_at(&v->sent, k->process_id, k->in_spot, range[0]);

	for (i -= MIN(i, (size_t)PLACES_MAX); i < v->sent.count && v->sent.all[i].from < range[1];
	     i++) {
		const struct flow_range *s = &v->sent.all[i];
		int64_t at[2] = {MAX(range[0], s->from), MIN(range[1], places_end(&v->sent, s))};

		if (s->process_id != k->process_id || s->in_spot != k->in_spot || at[0] >= at[1] ||
		    flow_spot_messages(v, s->out_spot) ||
		    !flow_stored_by(v, process_id, s->out_spot, s->out_pos - s->from, at, ret))
			continue;
		memcpy(range, at, sizeof(at));
		return true;
	}
	return false;
}

bool flow_stored_of(const struct flow_verdicts *v, const struct flow_link *k, int64_t process_id,
		    int64_t range[2], struct flow_place *ret)
{
	const struct flow_link *into;
	int64_t end, at[2];

	if (k->in_spot & FLOW_SPOT_FILE)
		return false;
	if (stored_by_receiver(v, k, process_id, range, ret))
		return true;
	into = link_into(v, k->in_spot, range[0], range[1], &end);
	if (!into || into->process_id != process_id)
		return false;
	at[0] = MAX(range[0], into->out_pos);
	at[1] = MIN(range[1], end);
	if (!flow_stored_by(v, process_id, into->in_spot, into->in_pos - into->out_pos, at, ret))
		return false;
	memcpy(range, at, sizeof(at));
	return true;
}

int64_t flow_stream_pos(const struct flow_verdicts *v, uint32_t spot, int64_t pos)
{
	const struct flow_end *e =
		spot & FLOW_SPOT_FILE ? NULL : &v->s->channels[spot].ends[FLOW_SEND];

	if (e && !e->known)
		e = &v->s->channels[spot].ends[FLOW_RECEIVE];
	return e && e->known ? pos - e->origin : pos;
}

const struct flow_link *flow_difference_in(const struct flow_verdicts *v, uint32_t object,
					   const int64_t range[2])
{
	const struct flow_links *l = &v->s->links;

	for (size_t i = 0; i < l->difference_count; i++) {
		const struct flow_link *d = &l->differences[i];

		if (d->out_spot == (object | FLOW_SPOT_FILE) && d->out_pos < range[1] &&
		    d->out_pos + d->bytes > range[0])
			return d;
	}
	return NULL;
}

/* The byte that a file has at a position, as written. -1: unknown. */
static int file_byte(const struct flow_verdicts *v, uint32_t object, int64_t pos)
{
	const struct flow_piece *p =
		flow_piece_at(&v->s->pieces, &flow_replica_file(v, object)->pieces,
			      (uint64_t)pos / CONTENT_PIECE);
	int64_t at = pos % CONTENT_PIECE;

	return p && p->payload && !p->doubtful && at >= p->low && at < p->high ? p->payload[at]
									       : -1;
}

bool flow_difference_undone(const struct flow_verdicts *v, const struct flow_link *d,
			    uint32_t object, const int64_t range[2])
{
	const struct flow_segment *all = v->s->links.segments;
	uint32_t segment = d->segment;
	int64_t at = d->in_pos + range[0] - d->out_pos - all[segment].pos;

	while (at < 0 && all[segment].before != FLOW_NONE) {
		segment = all[segment].before;
		at += all[segment].size;
	}
	for (int64_t pos = range[0]; pos < range[1]; pos++, at++) {
		while (segment != FLOW_NONE && at >= all[segment].size) {
			at -= all[segment].size;
			segment = all[segment].behind;
		}
		if (segment == FLOW_NONE || at < 0 || !all[segment].bytes ||
		    file_byte(v, object, pos) != all[segment].bytes[at])
			return false;
	}
	return !d->weak;
}

bool flow_stores_received(const struct flow_verdicts *v, uint32_t object)
{
	int64_t process_id = flow_replica_file(v, object)->process_id;

	for (size_t i = flow_range_at(&v->stored, process_id, 0, INT64_MIN);
	     i < v->stored.count && v->stored.all[i].process_id == process_id; i++) {
		if (!flow_spot_local(v, v->stored.all[i].in_spot))
			return true;
	}
	return false;
}
