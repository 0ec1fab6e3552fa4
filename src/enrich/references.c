/* SPDX-License-Identifier: Apache-2.0 */
/*
 * references.c: wherever the schema declares a column as a reference to a dimension, rows hold the source's keys; here
 * these become ids of the trace.
 */
#include "enrich/internal.h"

static struct keys *reference_keys(struct enrich *e, enum table_id table)
{
	switch (table) {
	case TABLE_HOST:
		return &e->hosts;
	case TABLE_CGROUP:
		return &e->cgroups;
	case TABLE_PROCESS:
		return &e->processes;
	case TABLE_THREAD:
		return &e->threads;
	case TABLE_STACK:
		return &e->stacks;
	default:
		assert(table == TABLE_FILE);
		return &e->files;
	}
}

static void missing_at(struct missing *m, const struct batch *b, size_t row)
{
	const struct table_def *t = b->def;
	int64_t start = INT64_MIN, stop;

	if (t->start != NO_COLUMN)
		start = batch_get(b, t->start, row, INT64_MIN);
	if (start == INT64_MIN)
		return;
	stop = t->dur != NO_COLUMN ? start + batch_get(b, t->dur, row, 0) : start;
	if (t->stop != NO_COLUMN)
		stop = batch_get(b, t->stop, row, start);
	m->from = m->from == INT64_MIN ? start : MIN(m->from, start);
	m->to = MAX(m->to, stop);
}

static void map_column(struct batch *b, unsigned int column, size_t first, struct keys *keys,
		       uint64_t *unknown, struct missing *m)
{
	struct column *c = &b->columns[column];

	for (size_t i = first; i < b->rows; i++) {
		int64_t id;

		if (c->nulls && (c->nulls[i / 64] >> (i % 64) & 1))
			continue;
		id = keys_find(keys, c->val[i]);
		if (id >= 0) {
			c->val[i] = id;
			continue;
		}
		batch_set_null(b, column, i);
		++*unknown;
		missing_at(m, b, i);
	}
}

void enrich_references(struct enrich *e, struct batch *b, size_t first, struct missing *m)
{
	for (unsigned int i = 0; i < b->def->column_count; i++) {
		int to = b->columns[i].val ? schema_refers(b->def, i) : -1;

		if (to >= 0)
			map_column(b, i, first, reference_keys(e, (enum table_id)to),
				   to == TABLE_FILE ? &m->files : &m->others, m);
	}
}

static int add_loss(struct batch_set *out, int64_t cause, uint64_t events, const struct missing *m)
{
	struct batch_row row;

	if (!events)
		return 0;
	row = batch_set_row(out, TABLE_LOSS);
	row_set(&row, LOSS_CAUSE, cause);
	row_set(&row, LOSS_EVENTS, (int64_t)events);
	if (m->from != INT64_MIN) {
		row_set(&row, LOSS_START, m->from);
		row_set(&row, LOSS_STOP, m->to);
	}
	return row.r;
}

int enrich_missing(struct batch_set *out, const struct missing *m)
{
	int r = add_loss(out, CAUSE_NO_FILE, m->files, m);

	return r < 0 ? r : add_loss(out, CAUSE_DECODE, m->others, m);
}
