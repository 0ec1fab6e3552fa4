// SPDX-License-Identifier: Apache-2.0
#include "engine/answer.h"

#include <errno.h>
#include <inttypes.h>

#include "engine/window_bars.h"
#include "query/eval/pattern.h"

int answer_init(struct answer *r, const struct plan *p)
{
	size_t count;
	const struct plan_field *fields = plan_output(p, &count);

	r->fields = calloc(count + 1, sizeof(struct plan_field *));
	r->keys = calloc(count + 1, sizeof(bool));
	r->count = 0;
	if (!r->fields || !r->keys) {
		answer_free(r);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		if (fields[i].hidden)
			continue;
		r->keys[r->count] = plan_is_key(p, i);
		r->fields[r->count++] = &fields[i];
	}
	return 0;
}

void answer_free(struct answer *r)
{
	free(r->fields);
	free(r->keys);
	r->fields = NULL;
	r->keys = NULL;
}

static int answer_put_code(struct buf *out, const struct plan_field *f, const struct value *v)
{
	/* an engine may give the word itself */
	if (v->t.data)
		return buf_append(out, v->t.data, v->t.len);
	return query_code_text(f->type.vocab, v->i, out);
}

static int put_bars(struct buf *out, const struct plan_field *f, const struct value *v)
{
	_cleanup_bars_ struct bars b;
	int r = bars_buckets(&b, f, v->t);

	for (size_t i = 0; i < b.count && r >= 0; i++) {
		/* what lies below the range has no lower end */
		if (b.items[i].from == INT64_MIN)
			r = buf_printf(out, "%s:%" PRIu64, i ? " " : "", b.items[i].count);
		else
			r = buf_printf(out, "%s%" PRId64 ":%" PRIu64, i ? " " : "", b.items[i].from,
				       b.items[i].count);
	}
	return r;
}

int answer_put_plain(struct buf *out, const struct plan_field *f, const struct value *v)
{
	switch (f->type.type) {
	case QUERY_BOOL:
		return buf_printf(out, v->i ? "true" : "false");
	case QUERY_CODE:
		return answer_put_code(out, f, v);
	case QUERY_TEXT:
	case QUERY_ENTITY:
		return buf_append(out, v->t.data, v->t.len);
	case QUERY_HIST:
	case QUERY_TALLY:
		return put_bars(out, f, v);
	case QUERY_FLOAT:
		return buf_printf(out, "%.17g", v->f);
	case QUERY_UINT:
		return buf_printf(out, "%" PRIu64, (uint64_t)v->i);
	default:
		return buf_printf(out, "%" PRId64, v->i);
	}
}
