/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.h: matches events, in order of time, with the open periods.
 *
 * An event first ends periods, children before their parents, then begins periods. An END closes every open period that
 * matches. Children still open when their parent ends are cut. Open periods are in hash tables keyed by the values that
 * an event must equal, so that the cost of an event does not depend on the number of open periods (compile.c).
 */
#pragma once

#include "analysis/periods/open.h"
#include "schema/vocab.h"

#define PERIODS_OPEN_MAX    (4u << 20)	/* at the same time: about 1 GiB */
#define PERIODS_MATCHES_MAX (32u << 20) /* about 2 GiB */
#define PERIOD_NO_DUR	    (-1)

struct period_match {
	int64_t start, dur; /* PERIOD_NO_DUR: running */
	int64_t number, thread;
	uint32_t parent; /* index in `items`; PERIOD_NO_PARENT: none */
	uint32_t period;
	uint32_t first_capture; /* index in captures */
	uint8_t status;		/* enum span_status: unset means complete */
	bool lost;		/* cut by loss */
};

#define PERIOD_NO_TEXT	 UINT32_MAX
#define PERIOD_NO_PARENT UINT32_MAX

struct period_matches {
	struct period_match *items; /* in order of beginning; live: unordered */
	size_t count, cap;
	uint32_t *captures; /* ids in `captured`, PERIOD_NO_TEXT: null */
	size_t capture_count, capture_cap;
	struct intern texts;	/* text values */
	struct intern captured; /* captures as text */
	/* by period: number that began, and number that no END can match, because a value that it compares is null */
	uint64_t begun[PERIODS_MAX], endless[PERIODS_MAX];
	/* for a growing trace: ended matches are passed on and then dropped */
	bool live;
	uint32_t *ended; /* indexes in items, in order of ending */
	size_t ended_count, ended_cap;
	uint32_t *spare; /* free entries of items */
	size_t spare_count, spare_cap;
};
void period_matches_free(struct period_matches *m);
/* Drops the ended matches. 0 or -ENOMEM. */
int period_matches_forget(struct period_matches *m);

struct period_matcher;
/* The set and `to` must outlive the matcher. */
int period_matcher_new(struct period_matcher **ret, const struct period_set *set,
		       const struct dims *dims, struct period_matches *to, struct error *err);
void period_matcher_free(struct period_matcher *m);
DEFINE_CLEANUP(struct period_matcher *, period_matcher_free)
/*
 * Processes an event of a definition's begin or end, with the values that its role takes: texts as ids in `texts`,
 * floats as bits; nulls: one bit each. Events must come in order.
 */
int period_matcher_event(struct period_matcher *m, size_t period, bool end,
			 const struct period_event *ev, const int64_t *values, uint32_t nulls,
			 struct error *err);
/* Replaces a text id of `old` with one of `to`. 0 or -ENOMEM. */
int period_text_move(const struct intern *old, struct intern *to, int64_t *number);
/* Moves the texts that open periods still use from `old` to the texts of the matches. 0 or -ENOMEM. */
int period_matcher_move(struct period_matcher *m, const struct intern *old);
/* From `known` on calls of the thread (an entity's id; -1: any) are missing: periods that it began before `at` are cut. */
int period_matcher_lost(struct period_matcher *m, int64_t thread, int64_t at, int64_t known,
			struct error *err);
/* Marks open periods as still running. */
int period_matcher_finish(struct period_matcher *m, struct error *err);
