/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planner.h: declarations that the files of the planner share. Stages as written (struct query_part) become a
 * plan: leading filters and selections are merged into the source, and everything after the first
 * group, sort or head becomes a stage.
 */
#pragma once

#include "query/internal.h"

struct planner {
	struct query_checker c; /* its scope belongs to the next stage */
	struct plan *plan;
	const struct query_part *parts; /* the remaining ones, the current one first */
	struct query_part *by;		/* a `by` whose aggregates have not come yet */
	struct expr **where;		/* conditions of the source */
	size_t where_count, where_cap;
	struct plan_stage *stages;
	size_t stage_count, stage_cap;
	bool staged;	   /* the source's fields are fixed (or open) */
	unsigned int keys; /* the number of leading fields in scope that are keys of a group */
};

/* plan_build.c */
/* A stage with the fields of the previous one. NULL: no memory. */
struct plan_stage *planner_add_stage(struct planner *pl, enum stage_kind kind, uint32_t pos);
/* The same with other fields, which become the scope of the next. */
struct plan_stage *planner_add_fields(struct planner *pl, enum stage_kind kind, uint32_t pos,
				      struct plan_field *fields, size_t count);
/* The fields of the source become the scope of the first stage. */
void planner_set_scope(struct planner *pl, struct plan_field *fields, size_t count);
/* The first fields in scope, passed on unchanged. */
int planner_keep_fields(struct planner *pl, struct plan_field *to, size_t count);
/* Checks that a field's name differs from all previous ones. */
int planner_check_name(struct planner *pl, const struct plan_field *fields, size_t count,
		       const struct query_item *item, const char *name);
const char *planner_item_name(struct planner *pl, const struct query_item *item);
struct expr *planner_field(struct planner *pl, size_t i);

/* A field with the value of an expression. */
static inline struct plan_field planner_made_field(const char *name, struct expr *e)
{
	return (struct plan_field){.name = name, .type = e->type, .kind = FIELD_EXPR, .expr = e};
}

/* plan_rows.c: select, sort, head, join over rows and fields */
int planner_user(struct planner *pl, const struct query_user_table *t); /* from a user's table */
int planner_open(struct planner *pl); /* adds the source's fields, for a stage that needs them */
int planner_select(struct planner *pl, const struct query_part *part);
int planner_sort(struct planner *pl, const struct query_part *part);
int planner_head(struct planner *pl, const struct query_part *part);
int planner_join(struct planner *pl, const struct query_part *part);

/* plan_group.c: by and aggregates */
int planner_group(struct planner *pl, const struct query_part *by,
		  const struct query_part *aggregates);
