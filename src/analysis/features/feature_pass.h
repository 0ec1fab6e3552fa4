/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_pass.h: makes the tables of all features (feature.h) of traces, and keeps them: in the trace where it is one that is
 * closed and may be written, else for as long as the store is open (store/made/made.h).
 */
#pragma once

#include "base/error.h"
#include "store/store.h"

/* Rises with every change of what a feature says. */
#define FEATURES_VERSION 1

struct expr;

struct features_request {
	int64_t from, to;	  /* calls that ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct expr *where; /* of op; NULL: all calls */
	uint64_t lost;		  /* calls that are missing */
	bool keep; /* in the trace, where that is possible and it is the whole trace */
	bool (*stopped)(const void *arg); /* true: give up with -EINTR; NULL: never */
	const void *arg;
};

/* True where the tables are there, of the whole of what is recorded by now, and made by this version. */
bool features_are_current(const struct store *s);
/*
 * For a question about `table`: makes the tables if it is one of them and they are not current; -ENOENT: it is `finding`, and
 * nobody has asked for findings.
 */
int features_need(struct store *s, enum table_id table, struct error *err);
/* Makes the tables anew. 0 or negative; what was there before then holds. */
int features_make(struct store *s, const struct features_request *q, struct error *err);
