/* SPDX-License-Identifier: Apache-2.0 */
/* native_internal.h: what the files of the native answers share. */
#pragma once

#include "engine/native.h"
#include "hist/distinct.h"
#include "hist/sparse.h"
#include "hist/tally.h"
#include "query/eval.h"

/* Rows of values: what a stage gives to the next. */
struct native_table {
	struct value *values; /* [rows * width] */
	uint8_t *estimated;   /* [rows * width]; NULL: none is */
	size_t rows, width, cap;
};

struct native_text;

/* Memory of texts and packed histograms, until the end. */
struct native_texts {
	struct native_text *chunks;
	size_t used;
};
int native_text_add(struct native_texts *t, struct bytes text, struct bytes *ret);
void native_texts_free(struct native_texts *t);

/* One aggregate of one group. */
struct native_state {
	uint64_t count; /* values that are known, or rows */
	union {
		__int128 sum;
		double fsum;
		struct {
			double mean, m2;
		};
		struct { /* MIN, MAX, ANY, FIRST, LAST */
			struct value value;
			uint8_t *text; /* of the value, where it is one */
			size_t text_cap;
			int64_t end; /* FIRST, LAST: when the call ended */
		};
		struct {
			struct hist hist;
			int64_t most; /* PERCENTILE: the largest value, which none is above */
		};
		struct tally tally;
		struct distinct set;
	};
};

struct native_value {
	struct value v;
	struct bytes text; /* of texts */
};

/* native_state.c: adds a value, already known not to be null but for FIRST and LAST, of a call that ended at `end` (of rows
 * that end alike the order in which they come tells); bytes more that it holds go to *held. */
int native_add(const struct plan_field *f, struct native_state *s, const struct value *v,
	       int64_t end, uint64_t *held, struct error *err);
/* What it comes to; `seconds` for rate(), 0: not known. */
int native_finish(const struct plan_field *f, struct native_state *s, double seconds,
		  struct native_texts *texts, struct value *ret, bool *ret_estimated);
void native_state_free(const struct plan_field *f, struct native_state *s);

/* native_stages.c: the plan's stages over the table. */
int native_stages(const struct plan *p, const struct dims *d, double seconds,
		  struct native_table *t, struct native_texts *texts, struct error *err);
/* The plan's first two stages, a sort and a head, over the rows so far: what is left out cannot come
 * back. */
int native_top(const struct plan *p, const struct dims *d, struct native_table *t,
	       struct error *err);
void native_table_free(struct native_table *t);
/* A key as bytes: equal where the values are. */
int native_put_key(struct buf *out, enum query_type type, const struct value *v);
/* How many fields are keys; they come first. */
size_t native_keys(const struct plan_field *fields, size_t count);
/* How long a group's rows took, for rate(): its window, else the range. */
double native_seconds(const struct plan_field *fields, size_t count, double range);
