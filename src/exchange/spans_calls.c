// SPDX-License-Identifier: Apache-2.0
/*
 * spans_calls.c: the calls that belong to spans, found as by `weir requests` (analysis/spans): in one pass over all
 * calls, using memory for the spans and for calls exported as spans. A stored table span_op is not used: it may cover
 * only part of the trace, and may be older than its periods.
 */
#include <errno.h>
#include <stdio.h>

#include "base/saturate.h"
#include "base/array.h"
#include "exchange/span_out.h"

struct calls_pass {
	struct spans_calls *to;
	const struct spans *spans;
	const struct spans_out_options *opt;
	uint32_t *at; /* span -> index in `sum` + 1; 0: no calls yet */
};

void spans_calls_free(struct spans_calls *c)
{
	map_free(&c->sums);
	free(c->sum);
	free(c->calls);
}

/* ---- the pass ---- */

static uint64_t calls_key_of(const struct span *k)
{
	return spanset_number_key(k->number, k->thread_id, k->period);
}

/* The sums of a span; spans with the same number share them. */
static int calls_sum_of(struct calls_pass *p, uint32_t span, struct calls_sum **ret)
{
	struct spans_calls *c = p->to;
	uint64_t key = calls_key_of(&p->spans->all[span]);
	struct calls_sum *sum;

	if (!p->at[span]) {
		sum = array_of_key(c->sum, c->count, c->cap, &c->sums, key, NULL);
		if (!sum)
			return -ENOMEM;
		p->at[span] = (uint32_t)(sum - c->sum) + 1;
	}
	*ret = &c->sum[p->at[span] - 1];
	return 0;
}

static int calls_keep(struct calls_pass *p, const struct span_call *call)
{
	struct spans_calls *c = p->to;

	if (c->call_count >= SPANS_CALLS_MAX) {
		c->lost++;
		return 0;
	}
	return array_add(
		c->calls, c->call_count, c->call_cap,
		(struct call_out){
			.key = calls_key_of(&p->spans->all[call->span]),
			.id = batch_row_id(call->b, call->row),
			.start = call->start,
			.dur = call->stop - call->start,
			.bytes = batch_get(call->b, OP_BYTES, call->row, 0),
			.file_id = batch_get(call->b, OP_FILE_ID, call->row, -1),
			.op = (int32_t)batch_get(call->b, OP_OP, call->row, -1),
			.err = (int32_t)batch_get(call->b, OP_ERR, call->row, -1),
			.class = (uint8_t)batch_get(call->b, OP_CLASS, call->row, CLASS_OTHER),
		});
}

static int calls_take(void *arg, const struct span_call *call)
{
	struct calls_pass *p = arg;
	int64_t class = batch_get(call->b, OP_CLASS, call->row, CLASS_OTHER);
	struct calls_sum *s;
	int r;

	/* time that a span merely waits for belongs to another thread */
	if (p->spans->all[call->span].of_context || call->via == VIA_WAIT)
		return 0;
	r = calls_sum_of(p, call->span, &s);
	if (r < 0)
		return r;
	class = class < 0 || class >= CLASS_COUNT ? CLASS_OTHER : class;
	s->calls[class]++;
	s->bytes[class] =
		add_sat_signed(s->bytes[class], batch_get(call->b, OP_BYTES, call->row, 0));
	s->time[class] = add_sat_signed(s->time[class], call->part);
	s->vias |= 1u << (call->via - VIA_CONTEXT);
	return p->opt->calls_ns >= 0 && call->stop - call->start >= p->opt->calls_ns
		       ? calls_keep(p, call)
		       : 0;
}

static int calls_order_span(const void *a, const void *b)
{
	const struct call_out *x = a, *y = b;

	return ORDER(x->key, y->key) ?: ORDER(x->start, y->start) ?: ORDER(x->id, y->id);
}

int spans_calls_read(struct spans_calls *c, struct store *s, const struct spans_out_options *opt,
		     struct error *err)
{
	_cleanup_spanset_ struct spans spans = {0};
	struct analysis_run run = {.store = s, .from = INT64_MIN, .to = INT64_MAX};
	const struct analysis_input in = {
		.runs = &run, .count = 1, .stopped = opt->stopped, .arg = opt->arg};
	struct calls_pass pass = {.to = c, .spans = &spans, .opt = opt};
	struct span_pass p = {.from = INT64_MAX,
			      .to = INT64_MIN,
			      .of = SPAN_NONE,
			      .columns = 1ull << OP_FILE_ID,
			      .call = calls_take,
			      .arg = &pass};
	int r;

	store_range(s, &run.first, &run.last);
	r = spanset_load(&spans, &in, &run, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < spans.count; i++) {
		const struct span *k = &spans.all[i];

		if (k->of_context || k->start >= opt->to || k->stop < opt->from)
			continue;
		/* which work a thread was given earlier is only known when starting at the first call of its root span */
		p.from = MIN(p.from, spans.all[k->root].start);
		p.to = MAX(p.to, k->stop);
	}
	if (p.from > p.to)
		return 0;
	/* a call may end long after its span; when a page waits for a few traces, calls that end up to a second later suffice */
	p.to = opt->traces ? p.to : INT64_MAX;
	pass.at = calloc(spans.count, sizeof(*pass.at));
	r = pass.at ? spanset_pass(&spans, &in, &run, &p, err)
		    : error_set(err, -ENOMEM, "out of memory");
	free(pass.at);
	if (r >= 0 && c->call_count)
		array_sort(c->calls, c->call_count, calls_order_span);
	return r;
}

/* ---- output ---- */

static int calls_put_sum(json_t *to, const char *class, const char *what, int64_t v)
{
	char name[64];

	snprintf(name, sizeof(name), "weir.io.%s%s%s", class, *class ? "." : "", what);
	return json_set_some(to, name, json_integer(v));
}

static int calls_put_class(json_t *to, const char *class, uint64_t calls, int64_t bytes,
			   int64_t time)
{
	int r = calls_put_sum(to, class, "calls", (int64_t)calls);

	if (r < 0)
		return r;
	r = calls_put_sum(to, class, "bytes", bytes);
	return r < 0 ? r : calls_put_sum(to, class, "time_ns", time);
}

static int calls_put_vias(json_t *to, unsigned int vias)
{
	_cleanup_buf_ struct buf b = {0};
	int r = 0;

	for (unsigned int i = 0; i < SPAN_VIAS && r >= 0; i++) {
		if (vias & 1u << i)
			r = buf_printf(&b, "%s%s", b.len ? ", " : "",
				       vocab_word("via", VIA_CONTEXT + i));
	}
	return r < 0 ? r : json_set_some(to, "weir.io.by", json_string(buf_str(&b)));
}

int spans_calls_put(const struct spans_calls *c, uint64_t key, json_t *attributes)
{
	const struct calls_sum *s;
	uint64_t i, calls = 0;
	int64_t bytes = 0, time = 0;
	int r = 0;

	if (!map_get(&c->sums, key, &i))
		return 0;
	s = &c->sum[i];
	for (size_t k = 0; k < CLASS_COUNT && r >= 0; k++) {
		calls += s->calls[k];
		bytes = add_sat_signed(bytes, s->bytes[k]);
		time = add_sat_signed(time, s->time[k]);
		if (s->calls[k])
			r = calls_put_class(attributes, vocab_word("class", (int64_t)k),
					    s->calls[k], s->bytes[k], s->time[k]);
	}
	if (r < 0)
		return r;
	r = calls_put_class(attributes, "", calls, bytes, time);
	return r < 0 ? r : calls_put_vias(attributes, s->vias);
}

const struct call_out *spans_calls_of(const struct spans_calls *c, uint64_t key, size_t *ret)
{
	size_t low = array_first(i, 0, c->call_count, c->calls[i].key >= key), n = 0;

	while (low + n < c->call_count && c->calls[low + n].key == key)
		n++;
	*ret = n;
	return n ? &c->calls[low] : NULL;
}
