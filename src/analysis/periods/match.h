/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h: events in order of time against the periods that are open.
 *
 * An event first ends what it ends, children before their parents, then begins what it begins. An END closes every open period
 * that fits. What a child has open when its parent ends is cut. Open periods lie in a hash by what an event must be equal to,
 * so that an event costs the same however many are open (compile.c).
 */
#pragma once

#include "analysis/periods/open.h"
#include "schema/vocab.h"

#define PERIODS_OPEN_MAX    (4u << 20)	/* at once: 1 GiB or so */
#define PERIODS_MATCHES_MAX (32u << 20) /* 2 GiB or so */
#define PERIOD_NO_DUR	    (-1)

struct period_match {
	int64_t start, dur; /* PERIOD_NO_DUR: running */
	int64_t number, thread;
	uint32_t parent; /* its number in `items`; PERIOD_NO_PARENT: none */
	uint32_t period;
	uint32_t first_capture; /* of captures */
	uint8_t status;		/* enum span_status: unset is complete */
	bool lost;		/* cut by loss */
};

#define PERIOD_NO_TEXT	 UINT32_MAX
#define PERIOD_NO_PARENT UINT32_MAX

struct period_matches {
	struct period_match *items; /* in the order in which they began; live: in none */
	size_t count, cap;
	uint32_t *captures; /* of `captured`, PERIOD_NO_TEXT: null */
	size_t capture_count, capture_cap;
	struct intern texts;	/* values of type text */
	struct intern captured; /* captures as text */
	/* by period: how many began, and of them those that no END fits, as what it compares with is null */
	uint64_t begun[PERIODS_MAX], endless[PERIODS_MAX];
	/* of a trace that grows: what ended is given, and then forgotten */
	bool live;
	uint32_t *ended; /* of items, in the order in which they ended */
	size_t ended_count, ended_cap;
	uint32_t *spare; /* of items that were forgotten */
	size_t spare_count, spare_cap;
};
void period_matches_free(struct period_matches *m);
/* Forgets what ended. 0 or -ENOMEM. */
int period_matches_forget(struct period_matches *m);

struct period_matcher;
/* The set and what it finds must outlive it. */
int period_matcher_new(struct period_matcher **ret, const struct period_set *set,
		       const struct dims *dims, struct period_matches *to, struct error *err);
void period_matcher_free(struct period_matcher *m);
DEFINE_CLEANUP(struct period_matcher *, period_matcher_free)
/* An event of a definition's begin or end, with the values that its role takes: texts as numbers in `texts`, floats as bits;
 * nulls: a bit each. Events come in order. */
int period_matcher_event(struct period_matcher *m, size_t period, bool end,
			 const struct period_event *ev, const int64_t *values, uint32_t nulls,
			 struct error *err);
/* The text of a number of `old` has another number in `to`. 0 or -ENOMEM. */
int period_text_move(const struct intern *old, struct intern *to, int64_t *number);
/* The texts of what is open were in `old`: those that it has still go into the texts of what is found. 0 or -ENOMEM. */
int period_matcher_move(struct period_matcher *m, const struct intern *old);
/* From `known` on calls of the thread (an entity's id; -1: of any) are missing: what it began before `at` is cut. */
int period_matcher_lost(struct period_matcher *m, int64_t thread, int64_t at, int64_t known,
			struct error *err);
/* What is open still runs. */
int period_matcher_finish(struct period_matcher *m, struct error *err);
