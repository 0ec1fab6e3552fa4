// SPDX-License-Identifier: Apache-2.0
/*
 * flow_verdicts.c: verdicts on data from its content, at the end of the pass.
 *
 * A process alters bytes if what it wrote or sent differs from what it received, with equal bytes around the
 * difference. Programs that transform their input do the same: flow_roles.c distinguishes them. Headers that a program
 * generates also differ, so a difference on a stream only counts in bytes that are also stored in a file, and one at
 * the edge of a write only if another file shows that the program stores its input from the first byte on.
 */
#include <errno.h>
#include <stdio.h>

#include "analysis/flow/flow.h"
#include "analysis/flow/bytes/flow_verdicts.h"
#include "base/array.h"
#include "names/names.h"
#include "schema/ops.h"

#define VERDICTS_MAX 1000
#define PUSH_TIMES   8 /* sends that follow bytes from elsewhere, per send that follows a request */
#define OUT_NEAR     16 /* links of one spot examined on each side */

/* ---- names ---- */

static const struct flow_node *node_of(const struct flow_verdicts *v, uint32_t node)
{
	return &v->s->graph.nodes[node];
}

/* Each appends a text; an error sticks to the buffer. */
/* "n2 store 9921" */
static void verdict_put_who(const struct flow_verdicts *v, uint32_t node, struct buf *to)
{
	(void)flow_put_process(v->s, flow_node_place(&v->s->graph, node_of(v, node)),
			       flow_node_process(v->s, node), to);
}

static void put_spot(const struct flow_verdicts *v, uint32_t spot, enum flow_side mine,
		     struct buf *to)
{
	const struct flow_channel *c;
	struct bytes name;
	uint32_t task;

	if (spot & FLOW_SPOT_FILE) {
		name = names_base(flow_object_name(v->s, spot & ~FLOW_SPOT_FILE));
		buf_append(to, name.data, name.len);
		return;
	}
	c = &v->s->channels[spot];
	task = c->ends[!mine].task;
	if (task == FLOW_NONE)
		buf_printf(to, "?");
	else if (c->apart)
		flow_place_name(v->s, c->ends[!mine].place, to);
	else
		names_process(v->s->dims, v->s->tasks[task].process_id, to);
}

/* "recvfrom(n1)"; nothing for no call. */
static void verdict_put_call(const struct flow_verdicts *v, struct flow_seen of, struct buf *to)
{
	char room[32];

	if (of.node == FLOW_NONE)
		return;
	buf_printf(to, "%s(", op_name(node_of(v, of.node)->op, room));
	put_spot(v, of.spot, of.side, to);
	buf_printf(to, ")");
}

/* ---- rows ---- */

void flow_verdict_evidence(struct flow_verdicts *v, const char *label, struct flow_seen of,
			   const char *text)
{
	_cleanup_buf_ struct buf who = {0}, call = {0};
	struct answer_list *t = v->evidence;

	if (v->full)
		return;
	if (of.node != FLOW_NONE)
		verdict_put_who(v, of.node, &who);
	verdict_put_call(v, of, &call);
	answer_list_int(t, v->count);
	answer_list_str(t, label);
	answer_list_some(t, buf_bytes(&who));
	answer_list_some(t, buf_bytes(&call));
	answer_list_known(t, of.node != FLOW_NONE ? flow_time_start(v->s, of.node) : -1);
	answer_list_str(t, text);
	flow_verdict_failed(v, buf_status(&who));
	flow_verdict_failed(v, buf_status(&call));
}

void flow_verdict_replicas(struct flow_verdicts *v)
{
	if (v->said.len)
		flow_verdict_evidence(v, "replicas", FLOW_UNSEEN, buf_str(&v->said));
}

static void verdict_put_op(struct flow_verdicts *v, struct flow_seen of)
{
	struct answer_list *t = v->rows;
	_cleanup_buf_ struct buf call = {0};

	if (of.node == FLOW_NONE) {
		for (int i = 0; i < 3; i++)
			answer_list_null(t);
		return;
	}
	verdict_put_call(v, of, &call);
	flow_verdict_failed(v, buf_status(&call));
	answer_list_some(t, buf_bytes(&call));
	answer_list_int(t, flow_time_start(v->s, of.node));
	answer_list_int(t, flow_node_row(&v->s->graph, node_of(v, of.node)));
}

/* Note about missing calls that could affect the verdict. */
static const char *verdict_note(const struct flow_verdicts *v, const struct flow_verdict *w)
{
	int64_t from = INT64_MAX, to = INT64_MIN;
	const uint32_t nodes[] = {w->first.node, w->second.node};

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		if (nodes[i] == FLOW_NONE)
			continue;
		from = MIN(from, node_of(v, nodes[i])->start);
		to = MAX(to, flow_node_end(node_of(v, nodes[i])));
	}
	if (w->absence && (v->s->loss_count || v->s->run->lost || v->s->run->lost_unknown))
		return "calls are missing from the recording: the call that was not found may be "
		       "among them";
	for (size_t i = 0; i < v->s->loss_count; i++) {
		if (v->s->losses[i].from <= to && v->s->losses[i].to >= from)
			return "calls are missing between these two: one of them may have changed "
			       "the bytes";
	}
	return w->note;
}

static void verdict_keep_call(struct flow_verdicts *v, unsigned int op, unsigned int name,
			      struct batch_row *row, struct flow_seen of)
{
	_cleanup_buf_ struct buf call = {0};
	int64_t row_id;

	if (of.node == FLOW_NONE)
		return;
	verdict_put_call(v, of, &call);
	flow_verdict_failed(v, buf_status(&call));
	row_set_bytes(row, name, call.data, call.len);
	row_id = flow_node_row(&v->s->graph, node_of(v, of.node));
	row_set_if(row, row_id >= 0, op, row_id);
}

static uint32_t verdict_first(const struct flow_verdict *w)
{
	return w->first.node == FLOW_NONE ? w->second.node : w->first.node;
}

/* Adds it as a row of table verdict. */
static void verdict_keep(struct flow_verdicts *v, const struct flow_verdict *w,
			 const struct flow_node *by)
{
	const struct flow_node *first = node_of(v, verdict_first(w));
	int64_t process = names_process_of(v->s->dims, flow_node_thread(&v->s->graph, by)),
		dur = flow_node_end(by) - first->start;
	const char *note = verdict_note(v, w);
	struct batch_row row;

	if (!v->keep)
		return;
	row = batch_row(v->keep);
	row_set(&row, VERDICT_START, first->start);
	row_set(&row, VERDICT_DUR, MAX(dur, (int64_t)0));
	row_set_str(&row, VERDICT_VERDICT, w->what);
	row_set_if(&row, process >= 0 && !w->unsure, VERDICT_PROCESS_ID, process);
	row_set_if(&row, !w->unsure, VERDICT_THREAD_ID, flow_node_thread(&v->s->graph, by));
	row_set_if(&row, w->object != FLOW_NONE, VERDICT_FILE_ID,
		   flow_object_file(v->s, w->object));
	row_set(&row, VERDICT_POS, w->from);
	row_set(&row, VERDICT_STOP_POS, w->to);
	if (v->said.len)
		row_set_bytes(&row, VERDICT_SEEN, v->said.data, v->said.len);
	if (note)
		row_set_str(&row, VERDICT_NOTE, note);
	verdict_keep_call(v, VERDICT_FIRST, VERDICT_FIRST_CALL, &row, w->first);
	verdict_keep_call(v, VERDICT_SECOND, VERDICT_SECOND_CALL, &row, w->second);
	flow_verdict_failed(v, row.r);
}

void flow_verdict_put(struct flow_verdicts *v, const struct flow_verdict *w)
{
	const struct flow_node *by =
		w->by ?: node_of(v, w->second.node == FLOW_NONE ? w->first.node : w->second.node);
	struct answer_list *t = v->rows;
	_cleanup_buf_ struct buf host = {0};
	int64_t process = names_process_of(v->s->dims, flow_node_thread(&v->s->graph, by));
	struct bytes name = w->unsure ? (struct bytes){0} : names_program(v->s->dims, process);
	int r = w->unsure ? 0 : flow_place_name(v->s, flow_node_place(&v->s->graph, by), &host);

	v->full = flow_verdicts_full(v);
	v->left_out += v->full;
	if (v->full)
		return;
	flow_replicas_say(v, w);
	answer_list_int(t, ++v->count);
	answer_list_str(t, w->what);
	answer_list_some(t, w->object == FLOW_NONE ? (struct bytes){0}
			    : !w->by && v->s->objects[w->object].place ==
						    flow_node_place(&v->s->graph, by)
				    ? flow_object_name(v->s, w->object)
				    : names_base(flow_object_name(v->s, w->object)));
	answer_list_int(t, w->from);
	answer_list_int(t, w->to);
	answer_list_int(t, w->to - w->from);
	answer_list_some(t, buf_bytes(&host));
	answer_list_some(t, name);
	answer_list_if(t, !w->unsure, names_pid(v->s->dims, flow_node_thread(&v->s->graph, by)));
	verdict_put_op(v, w->first);
	verdict_put_op(v, w->second);
	answer_list_some(t, buf_bytes(&v->said));
	answer_list_str(t, verdict_note(v, w));
	flow_verdict_failed(v, r);
	verdict_keep(v, w, by);
}

bool flow_verdicts_full(const struct flow_verdicts *v)
{
	return v->count >= VERDICTS_MAX;
}

/* ---- streams and read-backs ---- */

/* What each kind of suspicion is called, and its calls; `side`: of the third one. */
static const struct suspect_words {
	const char *what, *first, *second, *beside, *note;
	enum flow_side first_side, side;
	bool sent_bytes; /* found between the processes: neither is at fault for certain */
	bool forwarded;	 /* by one process: the second call is a send, if any */
} suspect_words[] = {
	[FLOW_ALTERED_BETWEEN] = {"altered-between", "sent", "received other", NULL,
				  "the buffer of the send may have been changed while the call ran",
				  FLOW_SEND, FLOW_SEND, true},
	[FLOW_READ_BACK] = {"read-back-differs", "written", "read other", "stored",
			    "a mapping of the file, or a program that was not recorded, may have "
			    "changed it",
			    FLOW_SEND, FLOW_SEND, false},
	[FLOW_NEVER_RECEIVED] =
		{"never-received", "sent", "received next", NULL,
		 "datagrams may be dropped, for example if the receiver's buffer is "
		 "full",
		 FLOW_SEND, FLOW_SEND, true},
	[FLOW_RECEIVED_TWICE] = {"received-twice", "received", "received again", "sent", NULL,
				 FLOW_RECEIVE, FLOW_SEND, true},
	[FLOW_RECEIVED_LATE] = {"received-late", "sent", "received", "received before it", NULL,
				FLOW_SEND, FLOW_RECEIVE, true},
	[FLOW_RECEIVED_CUT] = {"never-received", "sent", "received less", NULL,
			       "the buffer of the receive was smaller than the message: the rest "
			       "was discarded",
			       FLOW_SEND, FLOW_SEND, true},
	[FLOW_FORWARDED_OTHER] = {"altered", "received right", "forwarded wrong", NULL,
				  "no second observation: another thread may have changed the "
				  "buffer while a call ran",
				  FLOW_RECEIVE, FLOW_SEND, false, true},
	[FLOW_FORWARDED_NEVER] = {"never-sent", "received", NULL, NULL,
				  "the process may have discarded them on purpose", FLOW_RECEIVE,
				  FLOW_SEND, false, true},
	[FLOW_FORWARDED_TWICE] = {"sent-twice", "sent", "sent again", "received",
				  "the process may have repeated them on purpose", FLOW_SEND,
				  FLOW_RECEIVE, false, true},
	[FLOW_FORWARDED_LATE] = {"re-ordered", "sent first", "sent after it", "received",
				 "the process may have done so on purpose", FLOW_SEND, FLOW_RECEIVE,
				 false, true},
};

/* A call of a suspicion, with its spot by its direction. */
static struct flow_seen suspect_call(const struct flow_suspect *w, uint32_t node,
				     enum flow_side side)
{
	bool out = suspect_words[w->what].forwarded && side == FLOW_SEND;

	return (struct flow_seen){node, out ? w->out_spot : w->spot, side};
}

/* Names the file in which a process stored what it did not send on as it came, if there is one. */
static void suspect_place(const struct flow_verdicts *v, const struct flow_suspect *w,
			  struct flow_verdict *row)
{
	int64_t range[2] = {w->place, w->place + w->to - w->from};
	struct flow_place place;

	if (!suspect_words[w->what].forwarded || w->place < 0 ||
	    !flow_stored_by(v, flow_node_process(v->s, w->first), w->spot, 0, range, &place))
		return;
	row->object = place.object;
	row->ref = (struct flow_reference){FLOW_RIGHT, place.object};
	row->from = place.pos;
	row->to = place.pos + range[1] - range[0];
}

static void verdict_suspect(struct flow_verdicts *v, const struct flow_suspect *w)
{
	const struct suspect_words *words = &suspect_words[w->what];
	struct flow_verdict row = {
		.what = words->what,
		.object = w->object,
		.from = flow_stream_pos(v, w->spot, w->from),
		.to = flow_stream_pos(v, w->spot, w->to),
		.first = suspect_call(w, w->first, words->first_side),
		.second = suspect_call(w, w->second, words->forwarded ? FLOW_SEND : FLOW_RECEIVE),
		.absence = w->what == FLOW_NEVER_RECEIVED || w->what == FLOW_FORWARDED_NEVER,
		.unsure = words->sent_bytes || w->unsure,
		.note = words->note};

	suspect_place(v, w, &row);
	if (w->what == FLOW_READ_BACK && w->beside != FLOW_NONE) {
		row.by = node_of(v, w->beside);
		row.note = "the process stored them through a mapping of the file";
	}
	flow_verdict_put(v, &row);
	flow_verdict_evidence(v, words->first, row.first,
			      words->second ? NULL : "and not sent on, although the others are");
	if (w->beside != FLOW_NONE)
		flow_verdict_evidence(v, words->beside, suspect_call(w, w->beside, words->side),
				      NULL);
	if (words->second)
		flow_verdict_evidence(v, words->second, row.second, NULL);
	flow_verdict_replicas(v);
}

/* ---- differences within a process ---- */

static int compare_ranges(const void *a, const void *b)
{
	const struct flow_range *p = a, *q = b;

	return ORDER(p->process_id, q->process_id) ?: ORDER(p->in_spot, q->in_spot) ?: ORDER(p->from, q->from);
}

static int compare_out(const void *a, const void *b, void *arg)
{
	const struct flow_link *links = arg, *p = &links[*(const uint32_t *)a],
			       *q = &links[*(const uint32_t *)b];

	return ORDER(p->out_spot, q->out_spot) ?: ORDER(p->out_pos, q->out_pos);
}

/* True if nearly everything sent on a stream answers requests from it; and of messages, which flow_relays.c judges. */
static bool is_pulled(const struct flow_verdicts *v, uint32_t spot)
{
	const struct flow_channel *c = &v->s->channels[spot];

	return flow_spot_messages(v, spot) ||
	       (!(spot & FLOW_SPOT_FILE) && c->pulled * PUSH_TIMES > c->pushed);
}

/*
 * What the kernel copied (sendfile) from a file that the process had stored from a stream was forwarded from that stream.
 */
static void range_through_file(const struct flow_verdicts *v, struct flow_range *k)
{
	const struct flow_links *l = &v->s->links;
	const struct flow_file *f;
	const struct flow_link *x;
	int64_t apart;
	size_t i;

	if (k->in != k->out || !(k->in_spot & FLOW_SPOT_FILE))
		return;
	f = &v->s->files[v->s->objects[k->in_spot & ~FLOW_SPOT_FILE].file];
	i = flow_out_at(v, k->in_spot, k->from + 1);
	x = i ? &l->links[v->by_out[i - 1]] : NULL;
	if (f->mixed || f->rewritten || !x || x->out_spot != k->in_spot ||
	    x->process_id != k->process_id || (x->in_spot & FLOW_SPOT_FILE) ||
	    flow_out_end(v, i - 1) < k->to)
		return;
	apart = x->in_pos - x->out_pos;
	k->in = x->in;
	k->in_spot = x->in_spot;
	k->doubtful = false;
	for (i--; i < l->link_count && l->links[v->by_out[i]].out_spot == x->out_spot &&
		  l->links[v->by_out[i]].out_pos < k->to;
	     i++)
		k->doubtful |= l->segments[l->links[v->by_out[i]].segment].copied;
	k->from += apart;
	k->to += apart;
}

/* Adds what a process stored or forwarded: equal bytes, or a difference. */
static int range_add(struct flow_verdicts *v, const struct flow_link *k, bool differs)
{
	struct flow_ranges *to = k->out_spot & FLOW_SPOT_FILE ? &v->stored : &v->sent;
	const struct flow_range add = {.process_id = k->process_id,
				       .in_spot = k->in_spot,
				       .out_spot = k->out_spot,
				       .from = k->in_pos,
				       .to = k->in_pos + k->bytes,
				       .out_pos = k->out_pos,
				       .in = k->in,
				       .out = k->out,
				       .differs = differs,
				       .doubtful =
					       !differs && v->s->links.segments[k->segment].copied,
				       .pulled = is_pulled(v, k->out_spot)};

	return array_add(to->all, to->count, to->cap, add);
}

/* Lists what each process stored in files and what it forwarded, by where it entered, including differences. */
static int ranges_make(struct flow_verdicts *v)
{
	const struct flow_links *l = &v->s->links;
	int r = 0;

	for (size_t i = 0; i < l->link_count && r >= 0; i++)
		r = range_add(v, &l->links[i], false);
	for (size_t i = 0; i < l->difference_count && r >= 0; i++) {
		if (!l->differences[i].edge)
			r = range_add(v, &l->differences[i], true);
	}
	v->by_out = malloc((l->link_count + 1) * sizeof(*v->by_out));
	if (!v->by_out)
		return -ENOMEM;
	for (size_t i = 0; i < l->link_count; i++)
		v->by_out[i] = (uint32_t)i;
	array_sort_by(v->by_out, l->link_count, compare_out, l->links);
	for (size_t i = 0; i < v->sent.count; i++)
		range_through_file(v, &v->sent.all[i]);
	array_sort(v->stored.all, v->stored.count, compare_ranges);
	array_sort(v->sent.all, v->sent.count, compare_ranges);
	for (size_t i = v->stored.count; i-- > 0 && r >= 0;) {
		if (!(v->stored.all[i].in_spot & FLOW_SPOT_FILE))
			r = map_set(&v->stored_from, v->stored.all[i].out_spot, i);
	}
	return r;
}

size_t flow_range_at(const struct flow_ranges *l, int64_t process_id, uint32_t in_spot,
		     int64_t from)
{
	const struct flow_range key = {.process_id = process_id, .in_spot = in_spot, .from = from};

	return array_first(i, 0, l->count, compare_ranges(&l->all[i], &key) >= 0);
}

/* The first range of the list that ends after `from`, of the same process and spot. NULL: none begins before `to`. */
const struct flow_range *flow_range_in(const struct flow_ranges *l, int64_t process_id,
				       uint32_t in_spot, int64_t from, int64_t to)
{
	size_t low = flow_range_at(l, process_id, in_spot, to), high = low;
	const struct flow_range *best = NULL;

	while (low-- > 0 && l->all[low].process_id == process_id &&
	       l->all[low].in_spot == in_spot && high - low < 64) {
		if (l->all[low].to > from)
			best = &l->all[low];
	}
	return best;
}

/* True if another file of the process begins with bytes as received, which shows that it stores them. */
static bool stores_from_start(const struct flow_verdicts *v, const struct flow_link *d)
{
	for (size_t i = 0; i < v->stored.count; i++) {
		const struct flow_range *k = &v->stored.all[i];

		if (k->process_id == d->process_id && k->out_pos == 0 &&
		    k->out_spot != d->out_spot && !k->differs)
			return true;
	}
	return false;
}

size_t flow_out_at(const struct flow_verdicts *v, uint32_t spot, int64_t pos)
{
	const struct flow_link *all = v->s->links.links;
	const uint32_t *by = v->by_out;

	return array_first(i, 0, v->s->links.link_count,
			   (ORDER(all[by[i]].out_spot, spot) ?: ORDER(all[by[i]].out_pos, pos)) >=
				   0);
}

static bool is_same_distance(const struct flow_link *k, const struct flow_link *d)
{
	return k->out_spot == d->out_spot && k->in_spot == d->in_spot &&
	       k->in_pos - k->out_pos == d->in_pos - d->out_pos;
}

/* The range with the differences of the calls before and after it that continue this one. */
static void difference_whole(const struct flow_links *l, const struct flow_link *d,
			     int64_t range[2])
{
	size_t at = (size_t)(d - l->differences);

	range[0] = d->out_pos;
	range[1] = d->out_pos + d->bytes;
	for (size_t i = at + 1; i < l->difference_count && i < at + OUT_NEAR; i++) {
		const struct flow_link *k = &l->differences[i];

		if (is_same_distance(k, d) && k->out_pos == range[1])
			range[1] += k->bytes;
	}
	for (size_t i = at; i-- > 0 && i + OUT_NEAR > at;) {
		const struct flow_link *k = &l->differences[i];

		if (is_same_distance(k, d) && k->out_pos + k->bytes == range[0])
			range[0] -= k->bytes;
	}
}

/* True if other calls of the same file have equal bytes beyond the edges, at the same distance. */
static bool is_joined(const struct flow_verdicts *v, const struct flow_link *d)
{
	const struct flow_links *l = &v->s->links;
	bool before = false, behind = false;
	int64_t range[2];
	size_t at;

	difference_whole(l, d, range);
	at = flow_out_at(v, d->out_spot, range[0]);
	for (size_t i = at; i < l->link_count && i < at + OUT_NEAR && !behind; i++) {
		const struct flow_link *k = &l->links[v->by_out[i]];

		behind = is_same_distance(k, d) && k->out_pos == range[1];
	}
	for (size_t i = at; i-- > 0 && i + OUT_NEAR > at && !before;) {
		const struct flow_link *k = &l->links[v->by_out[i]];

		before = is_same_distance(k, d) && k->out_pos + k->bytes == range[0];
	}
	return before && behind;
}

/* A difference, clipped to bytes that are stored. */
struct flow_hit {
	const struct flow_link *d;
	int64_t from, to; /* where it entered */
	uint32_t object;
	int64_t pos; /* position in the file */
};

struct flow_hits {
	struct flow_hit *all;
	size_t count, cap;
};

static int hit_add(struct flow_hits *h, const struct flow_hit *hit)
{
	return array_add(h->all, h->count, h->cap, *hit);
}

static int verdict_hits_of(struct flow_verdicts *v, const struct flow_link *d, struct flow_hits *h)
{
	int64_t from = d->in_pos, to = d->in_pos + d->bytes;
	int r = 0;

	if (d->out_spot & FLOW_SPOT_FILE) {
		if (!flow_role_passes(v, d) && (d->weak || !flow_replicas_received(v, d)))
			return 0;
		if (d->edge && !is_joined(v, d) && !(d->out_pos == 0 && stores_from_start(v, d)))
			return 0;
		return hit_add(h, &(struct flow_hit){d, from, to, d->out_spot & ~FLOW_SPOT_FILE,
						     d->out_pos});
	}
	/* flow_relays.c judges messages */
	if (flow_spot_messages(v, d->out_spot) || flow_spot_messages(v, d->in_spot) ||
	    (d->edge && !is_joined(v, d)) || !flow_role_passes(v, d))
		return 0;
	/* on a stream: bytes that are also stored, by this process or by one that receives them */
	while (from < to && r >= 0) {
		int64_t range[] = {from, to};
		struct flow_place place;

		if (!flow_stored_by(v, d->process_id, d->in_spot, 0, range, &place) &&
		    !flow_stored_behind(v, d->out_spot, d->out_pos - d->in_pos, range, &place)) {
			if (!flow_spot_log(v, d->process_id, d->in_spot))
				break;
			place = (struct flow_place){.object = d->in_spot & ~FLOW_SPOT_FILE,
						    .pos = from};
		}
		r = hit_add(h, &(struct flow_hit){d, range[0], range[1], place.object, place.pos});
		from = range[1];
	}
	return r;
}

static int compare_hits(const void *a, const void *b)
{
	const struct flow_hit *p = a, *q = b;
	int order =
		ORDER(p->d->process_id, q->d->process_id) ?: ORDER(p->d->in_spot, q->d->in_spot);

	return order ?: ORDER(p->from, q->from) ?: ORDER(p->d->out, q->d->out);
}

/* Evidence of who stored at the other end what was sent. */
static void evidence_stored(struct flow_verdicts *v, const struct flow_hit *h)
{
	int64_t at = h->d->out_pos + h->from - h->d->in_pos;
	_cleanup_buf_ struct buf text = {0};
	const struct flow_range *k =
		flow_range_in(&v->stored, flow_end_process(v->s, h->d->out_spot, FLOW_RECEIVE),
			      h->d->out_spot, at, at + 1);

	if (!k || k->differs)
		return;
	buf_printf(&text, "what ");
	verdict_put_who(v, h->d->out, &text);
	flow_verdict_failed(v, buf_printf(&text, " sent"));
	flow_verdict_evidence(v, "stored", (struct flow_seen){k->out, k->out_spot, FLOW_SEND},
			      buf_str(&text));
}

static void evidence_hit(struct flow_verdicts *v, const struct flow_hit *h)
{
	bool file = h->d->out_spot & FLOW_SPOT_FILE;
	char differ[64];

	snprintf(differ, sizeof(differ), "%lld B differ", (long long)(h->to - h->from));
	flow_verdict_evidence(v, file ? "stored wrong" : "forwarded wrong",
			      (struct flow_seen){h->d->out, h->d->out_spot, FLOW_SEND}, differ);
	if (!file)
		evidence_stored(v, h);
}

/* Differences of the same bytes, for instance one that was stored and one that was sent. */
static void verdict_hits(struct flow_verdicts *v, const struct flow_hit *h, size_t n)
{
	struct flow_verdict row = {.what = "altered",
				   .object = h->object,
				   .from = h->pos,
				   .first = {h->d->in, h->d->in_spot, FLOW_RECEIVE},
				   .second = {h->d->out, h->d->out_spot, FLOW_SEND},
				   .ref = {FLOW_RIGHT, h->object}};
	int64_t to = h->to;

	for (size_t i = 0; i < n; i++) {
		to = MAX(to, h[i].to);
		if (h[i].d->out_spot & FLOW_SPOT_FILE)
			row.ref.standing = FLOW_WRONG;
	}
	row.to = row.from + to - h->from;
	flow_replicas_say(v, &row);
	if (!v->said.len)
		row.note =
			"no second observation: another thread may have changed the buffer while "
			"a call ran";
	flow_verdict_put(v, &row);
	flow_verdict_evidence(v, "received right", row.first, NULL);
	for (size_t i = 0; i < n; i++)
		evidence_hit(v, &h[i]);
	flow_verdict_replicas(v);
}

static void verdicts_altered(struct flow_verdicts *v)
{
	const struct flow_links *l = &v->s->links;
	struct flow_hits h = {0};
	int r = 0;

	for (size_t i = 0; i < l->difference_count && r >= 0; i++)
		r = verdict_hits_of(v, &l->differences[i], &h);
	flow_verdict_failed(v, r);
	array_sort(h.all, h.count, compare_hits);
	for (size_t i = 0, n; i < h.count; i += n) {
		int64_t to = h.all[i].to;

		for (n = 1;
		     i + n < h.count && h.all[i + n].d->process_id == h.all[i].d->process_id &&
		     h.all[i + n].d->in_spot == h.all[i].d->in_spot && h.all[i + n].from <= to;
		     n++)
			to = MAX(to, h.all[i + n].to);
		verdict_hits(v, &h.all[i], n);
	}
	free(h.all);
}

/* ---- all verdicts ---- */

void flow_verdicts_free(struct flow_verdicts *v)
{
	free(v->stored.all);
	free(v->sent.all);
	free(v->by_out);
	map_free(&v->stored_from);
	buf_free(&v->said);
	flow_roles_free(v);
	flow_replicas_free(v);
}

int flow_verdicts_make(struct flow_verdicts *v)
{
	const struct flow_state *s = v->s;
	int r = ranges_make(v);

	if (r < 0)
		return r;
	r = flow_roles_make(v);
	if (r < 0)
		return r;
	r = flow_replicas_make(v);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->suspect_count; i++) {
		if (s->suspects[i].what != FLOW_EXPLAINED)
			verdict_suspect(v, &s->suspects[i]);
	}
	verdicts_altered(v);
	flow_deliveries_verdicts(v);
	flow_replicas_verdicts(v);
	return v->r < 0 ? v->r : flow_replicas_put(v);
}
