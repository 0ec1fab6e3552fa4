/* SPDX-License-Identifier: Apache-2.0 */
/* open.h: open periods, and the hash tables in which events find them. */
#pragma once

#include "analysis/periods/definition.h"

/* An event of one role. */
struct period_event {
	int64_t time, thread;
	int64_t call;	/* time at which the call was entered; identifies a call of a thread */
	uint32_t order; /* for equal times: ends before begins */
	uint32_t at;	/* index of its values, in its role */
};

struct period_open;

/* Its entry in a bucket of an index. `open` is NULL if it is in none. */
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
	/* in its parent's children, or the list of periods without a parent */
	struct period_open *next, **back;
	struct period_open *parent, *children;
	int64_t start, thread, number;
	uint32_t period, nulls;
	uint32_t match;		   /* index of its match */
	uint64_t nth;		   /* sequence number over all periods */
	struct period_link *links; /* for its end, then for the begin of each kind of child */
	int64_t val[];		   /* values of the row that began it, then keys of its links */
};

/* State shared by the open periods of one definition. */
struct period_kind {
	struct period_index ends;   /* the periods, by their end's keys */
	struct period_index begins; /* their possible parents, by their begin's keys */
	uint32_t children[PERIODS_MAX];
	size_t child_count;
	size_t child;				  /* its index among its parent's children */
	size_t end_keys, child_keys[PERIODS_MAX]; /* offsets in val */
	size_t val_count;
	/* the last event that began one, and how many equal events came before */
	struct period_event last;
	uint64_t ordinal;
	struct period_open *spare;
};

/* Initializes the kinds, one per definition. */
void period_kinds_init(struct period_kind *kinds, const struct period_set *set);
/* Frees a kind that has no open periods. */
void period_kind_free(struct period_kind *k);
/* A new period, zeroed except val. NULL: no memory. */
struct period_open *period_open_new(struct period_kind *k);
void period_open_release(struct period_kind *k, struct period_open *o);

uint64_t period_hash(const int64_t *keys, size_t count);
int period_index_add(struct period_index *in, struct period_link *l, struct period_open *o,
		     uint64_t hash) _must_check_;
void period_index_del(struct period_index *in, struct period_link *l);
/* The first entry of the bucket, which may also hold other hashes. */
static inline struct period_link *period_index_first(const struct period_index *in, uint64_t hash)
{
	return in->cap ? in->heads[hash & (in->cap - 1)] : NULL;
}
