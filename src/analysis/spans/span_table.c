// SPDX-License-Identifier: Apache-2.0
/* span_table.c: sums of spans and their turns with peers, as rows of span_sum. */
#include "analysis/spans/span_table.h"

#include <errno.h>

#include "base/array.h"
#include "base/map.h"
#include "base/saturate.h"
#include "schema/ops.h"
#include "schema/vocab.h"
#include "store/made/made.h"

#define TABLE_ORIGIN  "weir.spans"
#define TABLE_VERSION 1
/* pairs of span and peer, 64 bytes each; further ones are not counted */
#define TURNS_MAX (2u << 20)

struct span_turns {
	uint64_t peer;
	int64_t file_id, wrote; /* wrote: end of the last write, 0: already answered */
	int64_t time, longest;
	uint32_t span, turns;
};

struct span_tabling {
	struct spans spans;
	const struct dims *dims;
	struct span_turns *turns;
	size_t count, cap;
	struct map by_span,
		by_file; /* hash of span and peer -> turns; file -> peer, 0: not a socket */
	uint8_t roles[OP_CODE_MAX]; /* 1: reads, 2: writes */
	struct span_turns **of;	    /* [spans]: the peer with most time */
};

static void span_tabling_free(struct span_tabling *t)
{
	spanset_free(&t->spans);
	free(t->turns);
	free(t->of);
	map_free(&t->by_span);
	map_free(&t->by_file);
}

static void tabling_roles(struct span_tabling *t)
{
	static const char *const reads[] = {"read", "readv", "recvfrom", "recvmsg", "recvmmsg"},
				 *const writes[] = {"write",   "writev",   "sendto",
						    "sendmsg", "sendmmsg", "sendfile"};

	for (size_t i = 0; i < ARRAY_SIZE(reads); i++)
		t->roles[op_find(reads[i])] = 1;
	for (size_t i = 0; i < ARRAY_SIZE(writes); i++)
		t->roles[op_find(writes[i])] = 2;
}

/* A number for a socket's peer; 0: not a socket. */
static int tabling_peer(struct span_tabling *t, int64_t file_id, uint64_t *ret)
{
	struct dims_file room;
	const struct dims_file *f;
	struct bytes peer;
	int64_t generation;

	if (map_get(&t->by_file, (uint64_t)file_id, ret))
		return 0;
	f = dims_newest_file(t->dims, file_id, &generation, &room);
	*ret = 0;
	if (f && f->type == FILE_TYPE_SOCKET) {
		peer = dims_peer(f);
		*ret = (peer.len ? hash_bytes(peer.data, peer.len)
				 : hash_u64((uint64_t)generation)) |
		       1;
	}
	return map_set(&t->by_file, (uint64_t)file_id, *ret);
}

/* *ret is NULL if there are too many. */
static int tabling_turns(struct span_tabling *t, uint32_t span, uint64_t peer, int64_t file_id,
			 struct span_turns **ret)
{
	uint64_t key = hash_u64(peer ^ hash_u64(span));
	bool is_new;

	*ret = NULL;
	if (t->count == TURNS_MAX && !map_get(&t->by_span, key, NULL))
		return 0;
	*ret = array_of_key(t->turns, t->count, t->cap, &t->by_span, key, &is_new);
	if (*ret && is_new)
		**ret = (struct span_turns){.peer = peer, .file_id = file_id, .span = span};
	return *ret ? 0 : -ENOMEM;
}

static int tabling_call(void *arg, const struct span_call *c)
{
	struct span_tabling *t = arg;
	int64_t op = batch_get(c->b, OP_OP, c->row, -1),
		file = batch_get(c->b, OP_FILE_ID, c->row, -1);
	uint8_t role = op >= 0 && op < OP_CODE_MAX ? t->roles[op] : 0;
	uint64_t peer = 0;
	int r = role && file >= 0 && batch_get(c->b, OP_RET, c->row, 0) > 0 && c->via != VIA_WAIT
			? tabling_peer(t, file, &peer)
			: 0;

	for (uint32_t at = c->span; peer && at != SPAN_NONE && r >= 0;
	     at = t->spans.all[at].parent) {
		struct span_turns *k;

		r = tabling_turns(t, at, peer, file, &k);
		if (r < 0 || !k)
			continue;
		if (role == 2) {
			k->wrote = c->stop;
		} else if (k->wrote) {
			int64_t time = MAX(c->stop - k->wrote, (int64_t)0);

			k->turns++;
			k->time = add_sat_signed(k->time, time);
			k->longest = MAX(k->longest, time);
			k->wrote = 0;
		}
	}
	return r;
}

/* ---- rows ---- */

static void tabling_row(const struct span_tabling *t, uint32_t i, struct batch_row *row)
{
	const struct spans *s = &t->spans;
	const struct span *k = &s->all[i];
	const struct span_turns *most = t->of[i];
	int64_t time[SPAN_TIMES];

	spanset_times(k, time);
	row_set(row, SPAN_SUM_START, k->start);
	row_set(row, SPAN_SUM_DUR, span_dur(k));
	row_set(row, SPAN_SUM_NUMBER, k->number);
	row_set(row, SPAN_SUM_SPAN_STATUS, k->status);
	row_set(row, SPAN_SUM_SELF, k->sums.self);
	row_set(row, SPAN_SUM_CALLS, k->sums.calls);
	row_set(row, SPAN_SUM_ERRORS, k->sums.errors);
	row_set(row, SPAN_SUM_BYTES, k->sums.bytes);
	row_set(row, SPAN_SUM_WAITED, k->sums.waited);
	for (unsigned int part = 0; part <= SPAN_OTHER; part++)
		row_set(row, SPAN_SUM_PROGRAM + part, time[part]);
	row_set_if(row, k->parent != SPAN_NONE, SPAN_SUM_PARENT, s->all[k->parent].number);
	row_set_if(row, k->thread_id >= 0, SPAN_SUM_THREAD_ID, k->thread_id);
	row_set_text(row, SPAN_SUM_NAME, spanset_text(s, k->name));
	if (most) {
		row_set(row, SPAN_SUM_PEER_ID, most->file_id);
		row_set(row, SPAN_SUM_TURNS, most->turns);
		row_set(row, SPAN_SUM_TURN_TIME, most->time);
		row_set(row, SPAN_SUM_TURN_LONGEST, most->longest);
	}
}

static_assert(SPAN_SUM_OTHER - SPAN_SUM_PROGRAM == SPAN_OTHER - SPAN_PROGRAM,
	      "parts of the time are columns in their order; all calls are selected");

static int tabling_rows(void *arg, struct store_writer *w, struct error *err)
{
	const struct span_tabling *t = arg;

	for (uint32_t i = 0; i < t->spans.count; i++) {
		struct batch_row row = store_made_row(w, err);

		tabling_row(t, i, &row);
		if (row.r < 0)
			return row.r;
	}
	return 0;
}

static int tabling_most(struct span_tabling *t)
{
	t->of = calloc(t->spans.count + 1ull, sizeof(*t->of));
	if (!t->of)
		return -ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		struct span_turns **of = &t->of[t->turns[i].span];

		if (t->turns[i].turns && (!*of || (*of)->time < t->turns[i].time))
			*of = &t->turns[i];
	}
	return 0;
}

bool span_table_has_spans(const struct store *s)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		enum table_id table = store_block(s, i)->table;

		if (table == TABLE_SPAN || table == TABLE_PERIOD)
			return true;
	}
	return false;
}

bool span_table_is_current(const struct store *s)
{
	const struct store_made *m = store_made_current(s, TABLE_SPAN_SUM),
				*p = store_made_current(s, TABLE_PERIOD);

	/* periods defined later are missing in it */
	return m && m->version == TABLE_VERSION && (!p || p->first_block < m->first_block);
}

int span_table_make(const struct analysis_input *in, const struct analysis_run *run,
		    struct error *err)
{
	static const struct store_making what = {
		.table = TABLE_SPAN_SUM, .origin = TABLE_ORIGIN, .version = TABLE_VERSION};
	_cleanup_(span_tabling_free) struct span_tabling t = {.dims = store_dims(run->store)};
	bool partial = run->where || run->from != INT64_MIN || run->to != INT64_MAX;
	struct span_pass p = {.of = SPAN_NONE,
			      .sum = true,
			      .columns = 1ull << OP_RET | 1ull << OP_FILE_ID,
			      .call = tabling_call,
			      .arg = &t};
	int r = spanset_load(&t.spans, in, run, err);

	tabling_roles(&t);
	spanset_range(&t.spans, &p.from, &p.to);
	if (r >= 0 && t.spans.count)
		r = spanset_pass(&t.spans, in, run, &p, err);
	if (r >= 0) {
		spanset_settle(&t.spans);
		r = tabling_most(&t);
	}
	if (r >= 0)
		r = store_made_table(run->store, !partial, &what, partial, NULL, tabling_rows, &t,
				     err);
	return r < 0 ? error_errno(err, r, "cannot compute the table span_sum") : 0;
}
