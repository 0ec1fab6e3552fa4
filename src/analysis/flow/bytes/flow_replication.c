// SPDX-License-Identifier: Apache-2.0
/* flow_replication.c: the order in which replicas arrived in their folders, and the delay after the first call that sent them. */
#include <stdlib.h>
#include <string.h>

#include "analysis/flow/bytes/flow_replicas.h"
#include "base/amount.h"
#include "base/array.h"
#include "names/names.h"

/* Folders that objects reached in one order. */
struct chain {
	struct buf text;
	uint64_t objects, bytes;
	double lags[FLOW_FOLDERS_MAX];
	size_t members;
};

/* One folder, and where its objects came from. */
struct hop {
	struct buf from, to; /* `from` is empty if it is not known */
	uint64_t objects, bytes;
	double lag;
};

struct replication {
	struct chain *chains;
	size_t chain_count, chain_cap;
	struct hop *hops;
	size_t hop_count, hop_cap;
};

static void replication_free(struct replication *p)
{
	for (size_t i = 0; i < p->chain_count; i++)
		buf_free(&p->chains[i].text);
	free(p->chains);
	for (size_t i = 0; i < p->hop_count; i++) {
		buf_free(&p->hops[i].from);
		buf_free(&p->hops[i].to);
	}
	free(p->hops);
}

struct member {
	const struct flow_replica *replica;
	int64_t at;
	uint32_t source; /* the call that sent its content */
	int64_t process;
};

static int compare_members(const void *a, const void *b)
{
	const struct member *p = a, *q = b;

	return ORDER(p->at, q->at);
}

/* The call that sent the file's content; FLOW_NONE if unknown. */
static uint32_t source_of(const struct flow_verdicts *v, uint32_t object)
{
	const struct flow_graph *g = &v->s->graph;

	uint32_t best = FLOW_NONE;
	uint64_t at;

	if (!map_get(&v->stored_from, object | FLOW_SPOT_FILE, &at))
		return FLOW_NONE;
	for (uint32_t e = g->nodes[v->stored.all[at].in].in; e != FLOW_NONE;
	     e = g->edges[e].next_in) {
		uint32_t from = g->edges[e].from;

		if (g->edges[e].via == VIA_STREAM &&
		    (best == FLOW_NONE || g->nodes[from].start < g->nodes[best].start))
			best = from;
	}
	return best;
}

/* Sorts by sender and receiver: each member after the one from which it got the bytes, as far as known; otherwise by time. */
static void chain_order(const struct flow_verdicts *v, struct member *m, size_t n)
{
	bool known = false;

	for (size_t i = 0; i < n; i++)
		known |= m[i].source != FLOW_NONE;
	if (!known)
		return; /* keep the order of the list of folders */
	array_sort(m, n, compare_members);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = i; k < n; k++) {
			bool root = m[k].source == FLOW_NONE;

			for (size_t j = 0; j < n && !i && !root; j++)
				root |= m[j].process == flow_node_process(v->s, m[k].source);
			if (i ? m[k].source == FLOW_NONE ||
					    flow_node_process(v->s, m[k].source) != m[i - 1].process
			      : root)
				continue;
			struct member next = m[k];

			memmove(&m[i + 1], &m[i], (k - i) * sizeof(*m));
			m[i] = next;
			break;
		}
	}
}

static int put_sender(const struct flow_verdicts *v, uint32_t source, struct buf *to)
{
	const struct flow_graph *g = &v->s->graph;

	return store_recording_count(v->s->run->store) > 1
		       ? flow_place_name(v->s, flow_node_place(g, &g->nodes[source]), to)
		       : names_process(v->s->dims, flow_node_process(v->s, source), to);
}

static int hop_add(struct replication *p, const struct buf *from, const struct buf *to,
		   uint64_t bytes, double lag)
{
	size_t at = 0;

	while (at < p->hop_count &&
	       (bytes_compare(buf_bytes(&p->hops[at].from), buf_bytes(from)) != 0 ||
		bytes_compare(buf_bytes(&p->hops[at].to), buf_bytes(to)) != 0))
		at++;
	if (at == p->hop_count) {
		int r = array_add(p->hops, p->hop_count, p->hop_cap, (struct hop){0});

		if (r >= 0)
			r = buf_add(&p->hops[at].from, from);
		if (r >= 0)
			r = buf_add(&p->hops[at].to, to);
		if (r < 0)
			return r;
	}
	p->hops[at].objects++;
	p->hops[at].bytes += bytes;
	p->hops[at].lag += lag;
	return 0;
}

static int chain_count_object(struct replication *p, const struct buf *text, uint64_t bytes,
			      const struct member *m, size_t n, int64_t origin)
{
	struct chain *c;
	size_t at = 0;

	while (at < p->chain_count &&
	       bytes_compare(buf_bytes(&p->chains[at].text), buf_bytes(text)) != 0)
		at++;
	if (at == p->chain_count) {
		int r = array_add(p->chains, p->chain_count, p->chain_cap,
				  (struct chain){.members = n});

		if (r >= 0)
			r = buf_add(&p->chains[at].text, text);
		if (r < 0)
			return r;
	}
	c = &p->chains[at];
	c->objects++;
	c->bytes += bytes;
	for (size_t i = 0; i < n; i++)
		c->lags[i] += (double)(m[i].at - origin);
	return 0;
}

static int64_t first_of(const struct member *m, size_t n)
{
	int64_t at = m[0].at;

	for (size_t i = 1; i < n; i++)
		at = MIN(at, m[i].at);
	return at;
}

/* Adds one object: its folders in the order of `m`. */
static int replication_add_object(const struct flow_verdicts *v, struct replication *p,
				  const struct member *m, size_t n)
{
	_cleanup_buf_ struct buf chain = {0}, from = {0}, to = {0};
	uint64_t bytes = (uint64_t)flow_replica_file(v, m[0].replica->object)->size;
	int64_t origin =
		m[0].source == FLOW_NONE ? first_of(m, n) : flow_time_start(v->s, m[0].source);
	int r = m[0].source == FLOW_NONE ? 0 : put_sender(v, m[0].source, &from);

	if (r >= 0)
		r = buf_add(&chain, &from);
	for (size_t i = 0; i < n && r >= 0; i++) {
		bool chained = m[i].source != FLOW_NONE &&
			       (!i || flow_node_process(v->s, m[i].source) == m[i - 1].process);

		buf_clear(&to);
		r = flow_replica_put_folder(v, m[i].replica->folder, &to);
		if (r < 0)
			return r;
		if (!chained)
			buf_clear(&from);
		buf_printf(&chain, "%s", !chain.len ? "" : chained ? " -> " : ", ");
		buf_add(&chain, &to);
		r = hop_add(p, &from, &to, bytes, (double)(m[i].at - origin));
		buf_clear(&from);
		buf_add(&from, &to);
	}
	if (r >= 0)
		r = MIN(buf_status(&chain), buf_status(&from));
	return r < 0 ? r : chain_count_object(p, &chain, bytes, m, n, origin);
}

static int replication_add(const struct flow_verdicts *v, struct replication *p,
			   const struct flow_replica *const *g, size_t n)
{
	struct member m[FLOW_FOLDERS_MAX];

	for (size_t i = 0; i < n; i++) {
		uint32_t last = flow_replica_file(v, g[i]->object)->last;

		m[i] = (struct member){g[i], flow_time_end(v->s, last), source_of(v, g[i]->object),
				       flow_node_process(v->s, last)};
	}
	chain_order(v, m, n);
	return replication_add_object(v, p, m, n);
}

static int put_chain(struct flow_verdicts *v, const struct chain *c)
{
	_cleanup_buf_ struct buf lags = {0};

	for (size_t i = 0; i < c->members; i++)
		buf_printf(&lags, "%s%s", i ? " / " : "",
			   format_dur((int64_t)(c->lags[i] / (double)c->objects)).s);
	answer_list_text(v->replication, buf_bytes(&c->text));
	answer_list_uint(v->replication, c->objects);
	answer_list_uint(v->replication, c->bytes);
	answer_list_text(v->replication, buf_bytes(&lags));
	return buf_status(&lags);
}

static void put_hop(struct flow_verdicts *v, const struct hop *h)
{
	answer_list_some(v->hops, buf_bytes(&h->from));
	answer_list_text(v->hops, buf_bytes(&h->to));
	answer_list_uint(v->hops, h->objects);
	answer_list_uint(v->hops, h->bytes);
	answer_list_int(v->hops, (int64_t)(h->lag / (double)h->objects));
}

int flow_replicas_put(struct flow_verdicts *v)
{
	_cleanup_(replication_free) struct replication all = {0};
	struct flow_replicas *p = v->replicas;
	const struct flow_replica *g[FLOW_FOLDERS_MAX];
	int r = 0;

	for (size_t i = 0, next; i < p->count && r >= 0; i = next) {
		size_t n = flow_replicas_group(p, i, g, &next);

		if (n > 1 && flow_are_replicas(p, g[0]->folder, g[1]->folder))
			r = replication_add(v, &all, g, n);
	}
	for (size_t i = 0; i < all.chain_count && r >= 0; i++)
		r = put_chain(v, &all.chains[i]);
	for (size_t i = 0; i < all.hop_count; i++)
		put_hop(v, &all.hops[i]);
	return r;
}
