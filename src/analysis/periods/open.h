/* SPDX-License-Identifier: Apache-2.0 */
/* open.h: periods that are open, and the hashes in which events find them. */
#pragma once

#include "analysis/periods/definition.h"

/* An event of one role. */
struct period_event {
	int64_t time, thread;
	int64_t call;	/* when the call was entered: what tells the calls of a thread apart */
	uint32_t order; /* of several at one moment: ends before begins */
	uint32_t at;	/* its values, of its role */
};

struct period_open;

/* Its place in the bucket of an index. `open` NULL: it is in none. */
struct period_link {
	struct period_link *next, **back;
	struct period_open *open;
	uint64_t hash;
};

struct period_index {
	struct period_link **heads; /* [cap], a power of two */
	size_t cap, count;
};

struct period_open {
	struct period_open *next, **back; /* of its parent's children, or of those without one */
	struct period_open *parent, *children;
	int64_t start, thread, number;
	uint32_t period, nulls;
	uint32_t match;		   /* what is found of it */
	uint64_t nth;		   /* of all that began */
	struct period_link *links; /* of its end; of the begin of each kind of child */
	int64_t val[];		   /* of the row that began it; keys of its links */
};

/* What the open periods of one definition have in common. */
struct period_kind {
	struct period_index ends;   /* they, by what ends them */
	struct period_index begins; /* their possible parents, by what begins them */
	uint32_t children[PERIODS_MAX];
	size_t child_count;
	size_t child;				  /* its number among its parent's */
	size_t end_keys, child_keys[PERIODS_MAX]; /* where they stand in val */
	size_t val_count;
	struct period_event last; /* that began one, and how many equal ones did before */
	uint64_t ordinal;
	struct period_open *spare;
};

/* Sets them up, one for each definition. */
void period_kinds_init(struct period_kind *kinds, const struct period_set *set);
/* Frees it; none of the kind is open. */
void period_kind_free(struct period_kind *k);
/* A new one, zeroed but for val. NULL: no memory. */
struct period_open *period_open_new(struct period_kind *k);
void period_open_release(struct period_kind *k, struct period_open *o);

uint64_t period_hash(const int64_t *keys, size_t count);
int period_index_add(struct period_index *in, struct period_link *l, struct period_open *o,
		     uint64_t hash) _must_check_;
void period_index_del(struct period_index *in, struct period_link *l);
/* The first of the bucket, which may have other hashes as well. */
static inline struct period_link *period_index_first(const struct period_index *in, uint64_t hash)
{
	return in->cap ? in->heads[hash & (in->cap - 1)] : NULL;
}
