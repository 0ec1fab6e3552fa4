/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c: creates, runs and frees an evaluation; its words and results. */
#include "query/eval/eval.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "query/eval/eval_internal.h"

/* ---- words ---- */

void dictionary_free(struct dictionary *d)
{
	free(d->texts);
	free(d->slots);
	arena_free(&d->own);
	*d = (struct dictionary){0};
}

static bool same_text(struct bytes a, struct bytes b)
{
	return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

/* A slot holds the text's hash in its upper half, so that most texts need not be compared; 0 is free. */
static uint64_t make_slot(uint32_t hash, size_t number)
{
	return (uint64_t)hash << 32 | (uint32_t)(number + 1);
}

static uint32_t slot_hash(uint64_t slot)
{
	return (uint32_t)(slot >> 32);
}

static size_t slot_number(uint64_t slot)
{
	return (size_t)(uint32_t)slot - 1;
}

static uint32_t text_hash(struct bytes text)
{
	return (uint32_t)hash_bytes(text.data, text.len);
}

/* The slot of the text, or the free one where it belongs. */
static size_t eval_find_slot(const struct dictionary *d, struct bytes text, uint32_t hash)
{
	size_t mask = d->slots_cap - 1, at = hash & mask;

	assert(d->slots_cap && (d->slots_cap & mask) == 0 && d->count < d->slots_cap);
	while (d->slots[at] && (slot_hash(d->slots[at]) != hash ||
				!same_text(d->texts[slot_number(d->slots[at])], text)))
		at = (at + 1) & mask;
	return at;
}

static int eval_grow_slots(struct dictionary *d)
{
	size_t cap = MAX(d->slots_cap * 2, (size_t)64);
	uint64_t *slots;

	if ((d->count + 1) * 4 <= d->slots_cap * 3)
		return 0;
	slots = calloc(cap, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < d->slots_cap; i++) {
		size_t at = slot_hash(d->slots[i]) & (cap - 1);

		if (!d->slots[i])
			continue;
		while (slots[at])
			at = (at + 1) & (cap - 1);
		slots[at] = d->slots[i];
	}
	free(d->slots);
	d->slots = slots;
	d->slots_cap = cap;
	return 0;
}

int dictionary_add(struct dictionary *d, struct bytes text, bool keep, uint32_t *ret)
{
	uint32_t hash = text_hash(text);
	size_t slot;
	int r = d->count >= WORD_UNKNOWN - 1 ? -ENOMEM : eval_grow_slots(d);

	if (r < 0)
		return r;
	slot = eval_find_slot(d, text, hash);
	if (!d->slots[slot]) {
		r = grow((void **)&d->texts, &d->cap, d->count + 1, sizeof(*d->texts));
		if (r < 0)
			return r;
		if (!keep) {
			r = arena_text(&d->own, text, &text);
			if (r < 0)
				return r;
		}
		d->slots[slot] = make_slot(hash, d->count);
		d->texts[d->count++] = text;
	}
	*ret = (uint32_t)slot_number(d->slots[slot]);
	assert(*ret < d->count && *ret != WORD_UNKNOWN);
	return 0;
}

/* ---- life ---- */

int eval_new(struct eval **ret, const struct expr *const *exprs, size_t count, struct error *err)
{
	_cleanup_(eval_freep) struct eval *e = calloc(1, sizeof(*e));

	if (!e)
		return error_set(err, -ENOMEM, "out of memory");
	e->exprs = calloc(MAX(count, (size_t)1), sizeof(*e->exprs));
	if (!e->exprs)
		return error_set(err, -ENOMEM, "out of memory");
	e->count = count;
	for (size_t k = 0; k < count; k++) {
		int r;

		e->exprs[k].expr = exprs[k];
		r = build_expr(e, &e->exprs[k], err);
		if (r < 0)
			return error_errno(err, r, "preparing the expression");
		assert(e->exprs[k].root);
	}
	*ret = TAKE_PTR(e);
	return 0;
}

void eval_free(struct eval *e)
{
	size_t pos = 0;
	uint64_t key, pattern;

	if (!e)
		return;
	for (size_t i = 0; i < e->table_count; i++)
		id_table_free(e->tables[i]);
	for (size_t k = 0; k < e->count && e->exprs; k++)
		dictionary_free(&e->exprs[k].words);
	while (map_next(&e->patterns, &pos, &key, &pattern))
		query_pattern_free((struct query_pattern *)(uintptr_t)pattern);
	map_free(&e->patterns);
	arena_free(&e->memory);
	free(e->tables);
	free(e->exprs);
	free(e);
}

int eval_names(struct eval *e, const struct dims *d, struct error *err)
{
	assert(!e->dims ||
	       e->dims == d); /* always the same dims: texts in it are kept by reference */
	for (size_t i = 0; i < e->table_count; i++) {
		int r = table_update(e, e->tables[i], d, e->clocks, err);

		if (r < 0)
			return r;
	}
	/* another thread may be reading the rows of files (store_dims_few()) */
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (i != TABLE_FILE || eval_uses(e, TABLE_FILE))
			e->clocks[i] = dims_clock(d, i);
	}
	e->dims = d;
	return 0;
}

void eval_stop_with(struct eval *e, const atomic_bool *stop)
{
	e->stop = stop;
}

static bool names_some(const struct expr *x, enum table_id table)
{
	if (x->kind == EXPR_NAME && query_name_table(x->name) == table)
		return true;
	for (unsigned int i = 0; x->kind != EXPR_CONST && i < x->arg_count; i++) {
		if (names_some(x->arg[i], table))
			return true;
	}
	return false;
}

bool eval_uses(const struct eval *e, enum table_id table)
{
	for (size_t k = 0; k < e->count; k++) {
		if (names_some(e->exprs[k].expr, table))
			return true;
	}
	/* a value by id needs the ids, even if no name is in it: a user's table with a column file_id */
	for (size_t i = 0; i < e->table_count; i++) {
		if (!e->tables[i]->by_code && e->tables[i]->ids == table)
			return true;
	}
	return false;
}

/* Words are texts in the dims; the latest version of a file is looked up again when a newer one is added. */
static bool node_remembers(const struct eval_node *n, enum table_id table)
{
	if (n->kind == EVAL_TABLE)
		return n->table->by_code || n->table->ids != table ||
		       (n->rep != REP_WORD && !n->table->uses_latest && !n->table->uses_process &&
			!n->table->uses_cgroup);
	if (n->kind == EVAL_SLOW)
		return !names_some(n->expr, table);
	for (size_t i = 0; i < n->arg_count; i++) {
		if (!node_remembers(n->args[i], table))
			return false;
	}
	return true;
}

bool eval_remembers(const struct eval *e, enum table_id table)
{
	for (size_t k = 0; k < e->count; k++) {
		if (!node_remembers(e->exprs[k].root, table))
			return false;
	}
	return true;
}

size_t eval_words(const struct eval *e, size_t k, const struct bytes **ret)
{
	assert(k < e->count);
	*ret = e->exprs[k].words.texts;
	return e->exprs[k].words.count;
}

bool eval_is_words(const struct eval *e, size_t k)
{
	assert(k < e->count);
	return e->exprs[k].root->rep == REP_WORD;
}

int eval_scratch_new(struct eval_scratch **ret, const struct eval *e)
{
	_cleanup_(eval_scratch_freep) struct eval_scratch *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->e = e;
	s->out = calloc(MAX(e->count, (size_t)1), sizeof(*s->out));
	if (!s->out)
		return -ENOMEM;
	*ret = TAKE_PTR(s);
	return 0;
}

void eval_scratch_free(struct eval_scratch *s)
{
	if (!s)
		return;
	arena_free(&s->memory);
	for (size_t k = 0; s->out && k < s->e->count; k++) {
		free(s->out[k].i);
		free(s->out[k].f);
		free(s->out[k].t);
		free(s->out[k].nulls);
		arena_free(&s->out[k].texts);
	}
	arena_free(&s->texts);
	free(s->out);
	free(s);
}

/* ---- running ---- */

ssize_t eval_filter(const struct eval *e, struct eval_scratch *s, size_t k, const struct batch *b,
		    const uint32_t *in, size_t n, uint32_t *out)
{
	struct eval_run run = {
		.e = e, .s = s, .b = b, .words = &e->exprs[k].words, .texts = &s->texts};
	size_t count = 0;

	assert(k < e->count && e->exprs[k].root->is_bool && s->e == e);
	assert(n <= UINT32_MAX && (in || n <= b->rows));
	for (size_t from = 0; from < n; from += CHUNK_ROWS) {
		struct row_list rows = {in ? in + from : NULL, (uint32_t)from,
					MIN(n - from, (size_t)CHUNK_ROWS)};
		ssize_t got;

		arena_clear(&s->texts);
		arena_clear(&s->memory);
		got = eval_node_filter(&run, e->exprs[k].root, true, rows, out + count);
		if (got < 0)
			return got;
		count += (size_t)got;
	}
	assert(count <= n);
	return (ssize_t)count;
}

static int out_room(struct rows_out *o, enum rep rep, size_t n)
{
	size_t cap = o->cap;

	if (n > cap || !o->nulls) {
		cap = MAX(n, (size_t)CHUNK_ROWS);
		free(o->nulls);
		free(o->i);
		free(o->f);
		free(o->t);
		*o = (struct rows_out){.texts = o->texts};
		o->nulls = malloc((cap + 63) / 64 * sizeof(*o->nulls));
		if (!o->nulls)
			return -ENOMEM;
		o->cap = cap;
	}
	if (rep == REP_FLOAT && !o->f)
		o->f = malloc(o->cap * sizeof(*o->f));
	else if (rep == REP_TEXT && !o->t)
		o->t = malloc(o->cap * sizeof(*o->t));
	else if ((rep == REP_INT || rep == REP_WORD) && !o->i)
		o->i = malloc(o->cap * sizeof(*o->i));
	return o->i || o->f || o->t ? 0 : -ENOMEM;
}

/* Appends a chunk's values; true if some are unknown. */
static bool put_chunk(struct rows_out *o, enum rep rep, size_t at, size_t n,
		      const struct eval_values *v)
{
	bool some = false;

	assert(at + n <= o->cap && n <= CHUNK_ROWS);
	if (rep == REP_FLOAT)
		memcpy(o->f + at, v->f, n * sizeof(*o->f));
	else if (rep == REP_TEXT)
		memcpy(o->t + at, v->t, n * sizeof(*o->t));
	else
		memcpy(o->i + at, v->i, n * sizeof(*o->i));
	assert(at % 64 == 0);
	memset(o->nulls + at / 64, 0, (n + 63) / 64 * sizeof(*o->nulls));
	for (size_t j = 0; v->unknown && j < n; j++) {
		o->nulls[(at + j) / 64] |= (uint64_t)v->unknown[j] << ((at + j) % 64);
		some |= v->unknown[j];
	}
	return some;
}

int eval_rows(const struct eval *e, struct eval_scratch *s, size_t k, const struct batch *b,
	      const uint32_t *in, size_t n, struct vector *ret)
{
	const struct eval_node *root = e->exprs[k].root;
	struct rows_out *o = &s->out[k];
	struct eval_run run = {
		.e = e, .s = s, .b = b, .words = &e->exprs[k].words, .texts = &o->texts};
	bool some = false;
	int r;

	assert(k < e->count && s->e == e);
	assert(n <= UINT32_MAX && (in || n <= b->rows));
	*ret = (struct vector){
		.type = e->exprs[k].expr->type, .rows = n, .words = root->rep == REP_WORD};
	if (root->kind == EVAL_COLUMN && !in && b->columns[root->column].val) {
		ret->i = b->columns[root->column].val;
		ret->nulls = b->columns[root->column].nulls;
		return 0;
	}
	r = out_room(o, root->rep, n);
	if (r < 0)
		return r;
	arena_clear(&o->texts);
	for (size_t from = 0; from < n; from += CHUNK_ROWS) {
		struct row_list rows = {in ? in + from : NULL, (uint32_t)from,
					MIN(n - from, (size_t)CHUNK_ROWS)};
		struct eval_values v;

		arena_clear(&s->memory);
		r = eval_node_values(&run, root, rows, &v);
		if (r < 0)
			return r;
		some |= put_chunk(o, root->rep, from, rows.n, &v);
	}
	ret->i = o->i;
	ret->f = o->f;
	ret->t = o->t;
	ret->nulls = some ? o->nulls : NULL;
	return 0;
}
