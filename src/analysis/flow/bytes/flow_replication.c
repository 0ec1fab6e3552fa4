// SPDX-License-Identifier: Apache-2.0
/* flow_replication.c: the order in which replicas arrived in their folders, and the delay after the first call that sent them. */
#include <stdio.h>
#include <string.h>

#include "analysis/flow/bytes/flow_replicas.h"
#include "base/amount.h"
#include "base/array.h"
#include "names/names.h"

struct chain {
	char text[256];
	uint64_t objects, bytes;
	double lags[FLOW_FOLDERS_MAX];
	size_t members;
};

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

static int chain_text(const struct flow_verdicts *v, const struct member *m, size_t n,
		      struct buf *to)
{
	int r = 0;

	if (m[0].source != FLOW_NONE) {
		const struct flow_node *s = &v->s->graph.nodes[m[0].source];

		r = store_recording_count(v->s->run->store) > 1
			    ? flow_place_name(v->s, flow_node_place(&v->s->graph, s), to)
			    : names_process(v->s->dims, flow_node_process(v->s, m[0].source), to);
	}
	for (size_t i = 0; i < n && r >= 0; i++) {
		bool chained =
			i ? m[i].source != FLOW_NONE &&
					flow_node_process(v->s, m[i].source) == m[i - 1].process
			  : m[0].source != FLOW_NONE;

		buf_printf(to, "%s", !to->len ? "" : chained ? " -> " : ", ");
		r = flow_replica_put_folder(v, m[i].replica->folder, to);
	}
	return r;
}

static int64_t first_of(const struct member *m, size_t n)
{
	int64_t at = m[0].at;

	for (size_t i = 1; i < n; i++)
		at = MIN(at, m[i].at);
	return at;
}

static int replication_add(const struct flow_verdicts *v, struct chain *chains, size_t *count,
			   const struct flow_replica *const *g, size_t n)
{
	_cleanup_buf_ struct buf text = {0};
	struct member m[FLOW_FOLDERS_MAX];
	int64_t origin;
	size_t at = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		uint32_t last = flow_replica_file(v, g[i]->object)->last;

		m[i] = (struct member){g[i], flow_time_end(v->s, last), source_of(v, g[i]->object),
				       flow_node_process(v->s, last)};
	}
	chain_order(v, m, n);
	origin = m[0].source == FLOW_NONE ? first_of(m, n) : flow_time_start(v->s, m[0].source);
	r = chain_text(v, m, n, &text);
	if (r < 0)
		return r;
	while (at < *count &&
	       strncmp(chains[at].text, buf_str(&text), sizeof(chains[at].text) - 1) != 0)
		at++;
	if (at == FLOW_FOLDERS_MAX)
		return 0;
	if (at == *count) {
		chains[(*count)++] = (struct chain){.members = n};
		snprintf(chains[at].text, sizeof(chains[at].text), "%s", buf_str(&text));
	}
	chains[at].objects++;
	chains[at].bytes += (uint64_t)flow_replica_file(v, m[0].replica->object)->size;
	for (size_t i = 0; i < n; i++)
		chains[at].lags[i] += (double)(m[i].at - origin);
	return 0;
}

int flow_replicas_put(struct flow_verdicts *v)
{
	struct flow_replicas *p = v->replicas;
	const struct flow_replica *g[FLOW_FOLDERS_MAX];
	struct chain chains[FLOW_FOLDERS_MAX];
	size_t count = 0;
	int r = 0;

	for (size_t i = 0, next; i < p->count && r >= 0; i = next) {
		size_t n = flow_replicas_group(p, i, g, &next);

		if (n > 1 && flow_are_replicas(p, g[0]->folder, g[1]->folder))
			r = replication_add(v, chains, &count, g, n);
	}
	for (size_t i = 0; i < count && r >= 0; i++) {
		_cleanup_buf_ struct buf lags = {0};
		const struct chain *c = &chains[i];

		for (size_t k = 0; k < c->members && r >= 0; k++)
			r = buf_printf(&lags, "%s%s", k ? " / " : "",
				       format_dur((int64_t)(c->lags[k] / (double)c->objects)).s);
		answer_list_str(v->replication, c->text);
		answer_list_uint(v->replication, c->objects);
		answer_list_uint(v->replication, c->bytes);
		answer_list_text(v->replication, buf_bytes(&lags));
	}
	return r;
}
