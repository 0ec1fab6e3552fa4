/* SPDX-License-Identifier: Apache-2.0 */
/* row_stream.c: converts stages over fields to steps over rows. */
#include "query/plan/row_stream.h"

#include <errno.h>

#include "query/internal.h"

struct maker {
	struct query_source s;	 /* for memory and limits */
	const struct expr **now; /* the fields of the current stage as expressions over a row */
};

/* The expression with fields replaced by expressions over the row; shared parts stay shared. */
static const struct expr *over_rows(struct maker *m, const struct expr *e)
{
	struct expr *copy = NULL;

	assert(e->arg_count <= ARRAY_SIZE(e->arg));
	if (e->kind == EXPR_FIELD)
		return m->now[e->column];
	for (unsigned int i = 0; i < e->arg_count; i++) {
		const struct expr *arg = over_rows(m, e->arg[i]);

		if (!arg)
			return NULL;
		if (arg == e->arg[i])
			continue;
		if (!copy) {
			copy = query_make(&m->s, struct expr);
			if (!copy)
				return NULL;
			*copy = *e;
		}
		copy->arg[i] = (struct expr *)arg;
	}
	return copy ? copy : e;
}

static const struct expr *limited(struct maker *m, const struct expr *e)
{
	const struct expr *over = over_rows(m, e);

	return over && check_limits(&m->s, over) == 0 ? over : NULL;
}

static int take_select(struct maker *m, const struct plan_stage *stage)
{
	const struct expr **next = query_array(&m->s, stage->field_count + 1, const struct expr *);

	assert(stage->kind == STAGE_SELECT);
	for (size_t i = 0; next && i < stage->field_count; i++) {
		next[i] = limited(m, stage->fields[i].expr);
		if (!next[i])
			return m->s.failed;
	}
	m->now = next;
	return m->s.failed;
}

static int take_stage(struct maker *m, const struct plan_stage *stage, struct plan_stream *s)
{
	struct stream_step *step = &s->steps[s->step_count];

	if (stage->kind == STAGE_SELECT)
		return take_select(m, stage);
	s->step_count++;
	if (stage->kind == STAGE_HEAD) {
		step->count = stage->count > 0 ? (uint64_t)stage->count : 0;
		return 0;
	}
	assert(stage->kind == STAGE_WHERE);
	step->where = limited(m, stage->expr);
	return m->s.failed;
}

static int row_stream_make(struct maker *m, const struct plan *p, struct plan_stream *s)
{
	size_t count;
	const struct plan_field *shown = plan_output(p, &count);

	assert(plan_is_stream(p));
	s->steps = query_array(&m->s, p->stage_count + 1, struct stream_step);
	s->fields = query_array(&m->s, count + 1, const struct expr *);
	m->now = query_array(&m->s, p->field_count + 1, const struct expr *);
	if (m->s.failed)
		return m->s.failed;
	for (size_t i = 0; i < p->field_count; i++)
		m->now[i] = p->fields[i].expr;
	for (size_t i = 0; i < p->stage_count; i++) {
		int r = take_stage(m, &p->stages[i], s);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < count; i++) {
		if (!shown[i].hidden)
			s->fields[s->field_count++] = m->now[i];
	}
	assert(s->step_count <= p->stage_count && s->field_count <= count);
	return 0;
}

int plan_stream_new(struct plan_stream **ret, const struct plan *p)
{
	_cleanup_(plan_stream_freep) struct plan_stream *s = NULL;
	struct query_error ignored = {0};
	struct maker m = {.s = {.text = p->text, .error = &ignored}};
	int r;

	if (!plan_is_stream(p))
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s || arena_new(&s->arena) < 0)
		return -ENOMEM;
	m.s.arena = s->arena;
	r = row_stream_make(&m, p, s);
	if (r == -EINVAL) /* too large: an expression used twice counts twice */
		return 0;
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 1;
}

void plan_stream_free(struct plan_stream *s)
{
	if (!s)
		return;
	arena_delete(s->arena);
	free(s);
}
