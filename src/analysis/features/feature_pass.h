/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_pass.h: makes the tables of all features (feature.h) for a store, and keeps them: in the trace if there is
 * only one, which is closed and writable, otherwise for as long as the store is open (store/made/made.h).
 */
#pragma once

#include "base/error.h"
#include "store/store.h"

/* Must be incremented whenever the result of a feature changes. */
#define FEATURES_VERSION 5

struct expr;

struct features_request {
	int64_t from, to;	  /* calls that ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct expr *where; /* of op; NULL: all calls */
	uint64_t lost;		  /* number of missing calls */
	bool keep; /* store in the trace, if possible and if the range is the whole trace */
	bool (*stopped)(const void *arg); /* returns true to stop with -EINTR; NULL: never */
	const void *arg;
};

/* True if the tables exist, cover everything recorded so far, and were made by this version. */
bool features_are_current(const struct store *s);
/*
 * Call before a query of `table`: makes the tables if it is one of them and they are not current. -ENOENT: it is
 * `finding`, and no findings have been computed.
 */
int features_need(struct store *s, enum table_id table, struct error *err);
/* Makes the tables again. 0 or negative; on failure the previous tables stay valid. */
int features_make(struct store *s, const struct features_request *q, struct error *err);
