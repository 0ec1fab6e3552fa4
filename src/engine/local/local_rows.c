// SPDX-License-Identifier: Apache-2.0
/* local_rows.c: rows of values, and sorting. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "engine/local/local.h"
#include "query/eval/pattern.h"
#include "schema/vocab.h"

void local_rows_free(struct local_rows *r)
{
	free(r->cells);
	strpool_free(&r->texts);
	*r = (struct local_rows){0};
}

void local_rows_take(struct local_rows *r, struct local_rows *from)
{
	local_rows_free(r);
	*r = *from;
	*from = (struct local_rows){0};
}

static int rows_full(const struct local_env *env, struct error *err)
{
	return error_set(err, -ENOMEM,
			 "the result takes more than %llu MiB of memory: query fewer groups or "
			 "rows, or raise --memory",
			 (unsigned long long)(env->memory_max >> 20));
}

int local_rows_add(struct local_rows *r, const struct value *cells, const struct local_env *env,
		   struct error *err)
{
	int e = grow((void **)&r->cells, &r->cap, (r->count + 1) * r->width, sizeof(*r->cells));
	struct value *to = r->cells + r->count * r->width;

	for (size_t i = 0; i < r->width && e >= 0; i++) {
		to[i] = cells[i];
		if (cells[i].t.data && !cells[i].null)
			e = strpool_add(&r->texts, cells[i].t.data, cells[i].t.len, &to[i].t);
	}
	if (e < 0)
		return error_errno(err, e, "the rows of the result");
	r->count++;
	return r->cap * sizeof(*r->cells) + r->texts.bytes > env->memory_max ? rows_full(env, err)
									     : 0;
}

void local_rows_head(struct local_rows *r, size_t count)
{
	r->count = MIN(r->count, count);
}

void local_rows_tail(struct local_rows *r, size_t count)
{
	size_t skip = r->count > count ? r->count - count : 0;

	r->count -= skip;
	if (skip)
		memmove(r->cells, r->cells + skip * r->width,
			r->count * r->width * sizeof(*r->cells));
}

/* ---- order ---- */

static int compare_words(const char *vocab, int64_t a, int64_t b)
{
	_cleanup_buf_ struct buf x = {0}, y = {0};

	if (a == b || query_code_text(vocab, a, &x) < 0 || query_code_text(vocab, b, &y) < 0)
		return ORDER(a, b);
	return bytes_compare(buf_bytes(&x), buf_bytes(&y));
}

int local_compare(struct query_kind kind, const struct value *a, const struct value *b)
{
	if (a->null || b->null)
		return a->null - b->null;
	switch (kind.type) {
	case QUERY_FLOAT:
		return (a->f > b->f) - (a->f < b->f);
	case QUERY_UINT:
		return ((uint64_t)a->i > (uint64_t)b->i) - ((uint64_t)a->i < (uint64_t)b->i);
	case QUERY_TEXT:
	case QUERY_HIST:
	case QUERY_TALLY:
		return bytes_compare(a->t, b->t);
	case QUERY_CODE:
		return compare_words(kind.vocab, a->i, b->i);
	default:
		return (a->i > b->i) - (a->i < b->i);
	}
}

/* State of a sort. If the first key is an entity, names are compared. */
struct sorting {
	const struct local_rows *rows;
	const struct plan_stage *stage;
	struct bytes *names; /* [rows]; NULL: the first key is not an entity */
	struct strpool texts;
};

static void sorting_free(struct sorting *s)
{
	free(s->names);
	strpool_free(&s->texts);
}

static int compare_key(const struct sorting *s, size_t k, size_t a, size_t b)
{
	const struct sort_key *key = &s->stage->keys[k];
	struct query_kind kind = s->stage->fields[key->field].type;
	const struct value *x = &s->rows->cells[a * s->rows->width + key->field];
	const struct value *y = &s->rows->cells[b * s->rows->width + key->field];
	int order = 0;

	if (x->null || y->null) /* nulls are last in either direction */
		return x->null - y->null;
	if (k == 0 && s->names)
		order = bytes_compare(s->names[a], s->names[b]);
	if (!order)
		order = local_compare(kind, x, y);
	return key->desc ? -order : order;
}

static int local_compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct sorting *s = arg;
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;

	for (size_t k = 0; k < s->stage->key_count; k++) {
		int order = compare_key(s, k, a, b);

		if (order)
			return order;
	}
	return ORDER(a, b);
}

static int name_rows(struct sorting *s, const struct local_env *env)
{
	const struct sort_key *key = &s->stage->keys[0];
	struct query_kind kind = s->stage->fields[key->field].type;
	_cleanup_buf_ struct buf text = {0};
	int r = 0;

	if (kind.type != QUERY_ENTITY)
		return 0;
	s->names = calloc(s->rows->count + 1, sizeof(*s->names));
	if (!s->names)
		return -ENOMEM;
	for (size_t i = 0; i < s->rows->count && r >= 0; i++) {
		const struct value *v = &s->rows->cells[i * s->rows->width + key->field];

		buf_clear(&text);
		r = v->null ? 0 : query_entity_text(kind.entity, env->dims, v->i, &text);
		if (r >= 0)
			r = strpool_add(&s->texts, text.data, text.len, &s->names[i]);
	}
	return r;
}

/* Puts the first `head` rows in order: returns their number. */
static size_t sort_order(struct sorting *s, size_t head, size_t *order)
{
	/* sorted and cut again whenever there are twice as many; rows after the last of those kept are passed over */
	size_t room = head > s->rows->count / 4 ? SIZE_MAX : MAX(head * 2, (size_t)64), n = 0;
	bool cut = false;

	for (size_t i = 0; i < s->rows->count && head; i++) {
		if (cut && local_compare_rows(&i, &order[head - 1], s) > 0)
			continue;
		order[n++] = i;
		if (n < room)
			continue;
		qsort_r(order, n, sizeof(*order), local_compare_rows, s);
		n = head;
		cut = true;
	}
	qsort_r(order, n, sizeof(*order), local_compare_rows, s);
	return MIN(n, head);
}

int local_sort(struct local_rows *r, const struct plan_stage *stage, size_t head,
	       const struct local_env *env)
{
	_cleanup_(sorting_free) struct sorting s = {.rows = r, .stage = stage};
	_cleanup_free_ size_t *order = calloc(r->count + 1, sizeof(*order));
	_cleanup_free_ struct value *cells = malloc((r->count * r->width + 1) * sizeof(*cells));
	int e = name_rows(&s, env);

	if (e < 0 || !order || !cells)
		return -ENOMEM;
	if (!r->count)
		return 0;
	r->count = sort_order(&s, head, order);
	for (size_t i = 0; i < r->count; i++)
		memcpy(cells + i * r->width, r->cells + order[i] * r->width,
		       r->width * sizeof(*cells));
	memcpy(r->cells, cells, r->count * r->width * sizeof(*cells));
	return 0;
}
