/* SPDX-License-Identifier: Apache-2.0 */
/* plan_text.c: writes a plan as lines, for --explain. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "query/internal.h"
#include "query/plan/expr_text_internal.h"
#include "query/check/user_values.h"

uint64_t plan_columns(const struct plan *p)
{
	uint64_t set = p->where ? expr_columns(p->where) : 0;

	for (size_t i = 0; i < p->field_count; i++) {
		if (p->fields[i].expr)
			set |= expr_columns(p->fields[i].expr);
	}
	return set;
}

static int write_scan(const struct plan *p, struct buf *out)
{
	const struct table_def *def;
	const char *before = " | columns ";
	uint64_t set;

	if (p->user)
		return buf_printf(out, "scan %s, %zu columns of your own\n", p->user->name,
				  p->field_count);
	def = schema_table(p->table);
	set = plan_columns(p);
	buf_printf(out, "scan %s%s", def->name, p->each_file ? ", each of a call's files" : "");
	assert(def->column_count == 64 ||
	       !(set >> def->column_count)); /* only columns of the table */
	for (unsigned int i = 0; i < def->column_count; i++) {
		if (!(set >> i & 1))
			continue;
		buf_printf(out, "%s%s", before, def->columns[i].name);
		before = ", ";
	}
	if (p->from != INT64_MIN)
		buf_printf(out, " | ended from %" PRId64, p->from);
	if (p->to != INT64_MAX)
		buf_printf(out, " | ended before %" PRId64, p->to);
	return buf_append(out, "\n", 1);
}

static int write_aggregate(struct text_writer *w, const struct plan_field *f)
{
	int params = f->aggregate == AGGREGATE_LQUANTIZE    ? 3
		     : f->aggregate == AGGREGATE_LLQUANTIZE ? 4
							    : 0;

	assert(f->kind == FIELD_AGGREGATE && f->aggregate < AGGREGATE_KINDS);
	assert(f->aggregate != AGGREGATE_PERCENTILE || (f->quantile > 0 && f->quantile < 1));
	if (f->aggregate == AGGREGATE_PERCENTILE)
		buf_printf(w->out, "percentile[%g](", f->quantile * 100);
	else
		buf_printf(w->out, "%s(", aggregate_name(f->aggregate));
	if (f->expr && f->aggregate != AGGREGATE_BUSY)
		text_write(w, f->expr);
	for (int i = 0; i < params; i++)
		buf_printf(w->out, ", %" PRId64, f->param[i]);
	return buf_append(w->out, ")", 1);
}

static int plan_text_write_field(struct text_writer *w, const struct plan_field *f)
{
	size_t from = w->out->len;

	if (f->kind == FIELD_AGGREGATE)
		write_aggregate(w, f);
	else
		text_write(w, f->expr);
	/* "comm", not "comm as comm" */
	if (w->out->len - from != strlen(f->name) ||
	    memcmp(w->out->data + from, f->name, w->out->len - from))
		buf_printf(w->out, " as %s", f->name);
	return f->hidden ? buf_printf(w->out, " (hidden)") : buf_status(w->out);
}

static int write_fields(struct text_writer *w, const char *title, const struct plan_field *fields,
			size_t count, bool keys)
{
	const char *before = title;

	for (size_t i = 0; i < count; i++) {
		if (keys != (fields[i].kind == FIELD_KEY || fields[i].kind == FIELD_WINDOW))
			continue;
		buf_printf(w->out, "%s", before);
		plan_text_write_field(w, &fields[i]);
		before = ", ";
	}
	return buf_status(w->out);
}

static int write_group(struct text_writer *w, const struct plan_field *fields, size_t count)
{
	buf_printf(w->out, "group");
	write_fields(w, " by ", fields, count, true);
	write_fields(w, " | ", fields, count, false);
	return buf_append(w->out, "\n", 1);
}

static int write_select(struct text_writer *w, const struct plan_field *fields, size_t count)
{
	if (count)
		write_fields(w, "select ", fields, count, false);
	else
		buf_printf(w->out, "select nothing");
	return buf_append(w->out, "\n", 1);
}

static int write_sort(struct text_writer *w, const struct plan_stage *s)
{
	buf_printf(w->out, "sort");
	assert(s->kind == STAGE_SORT && s->key_count > 0);
	for (size_t i = 0; i < s->key_count; i++) {
		assert(s->keys[i].field < s->field_count);
		buf_printf(w->out, "%s%s%s", i ? ", " : " ", s->fields[s->keys[i].field].name,
			   s->keys[i].desc ? " desc" : "");
	}
	return buf_append(w->out, "\n", 1);
}

static int write_filter(struct text_writer *w, const struct expr *e)
{
	buf_printf(w->out, "filter ");
	text_write(w, e);
	return buf_append(w->out, "\n", 1);
}

static int write_stage(struct text_writer *w, const struct plan_stage *s)
{
	switch (s->kind) {
	case STAGE_WHERE:
		return write_filter(w, s->expr);
	case STAGE_SORT:
		return write_sort(w, s);
	case STAGE_HEAD:
		return buf_printf(w->out, "%s %" PRId64 "\n", s->tail ? "tail" : "head", s->count);
	case STAGE_SELECT:
		return write_select(w, s->fields, s->field_count);
	case STAGE_GROUP:
		return write_group(w, s->fields, s->field_count);
	case STAGE_JOIN:
		return buf_printf(w->out, "join %s on %s\n",
				  s->user ? s->user->name : schema_table(s->table)->name,
				  s->fields[s->column].name);
	}
	return -EINVAL;
}

int plan_text(const struct plan *p, struct buf *out)
{
	struct text_writer w = {.out = out, .table = p->table};
	int r = write_scan(p, out);

	if (r < 0)
		return r;
	if (p->where)
		write_filter(&w, p->where);
	if (!p->user) {
		if (p->grouped)
			write_group(&w, p->fields, p->field_count);
		else
			write_select(&w, p->fields, p->field_count);
	}
	r = buf_status(w.out);
	w.fields = p->fields;
	w.field_count = p->field_count;
	for (size_t i = 0; i < p->stage_count; i++) {
		const struct plan_stage *s = &p->stages[i];

		r = write_stage(&w, s);
		if (r < 0)
			return r;
		w.fields = s->fields;
		w.field_count = s->field_count;
	}
	return 0;
}
