/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_json.h: an answer as the JSON document that every command of weir prints, and the server
 * gives:
 *
 *   {"origin": "1795254902114000000",
 *    "columns": [{"name": "op", "type": "text", "unit": ""}, ...],
 *    "rows": [{"op": "read", "count": 7, "hist(dur)": [[512, 544, 7]]}, ...],
 *    "loss": {...}}
 *
 * Durations are nanoseconds, sizes bytes, points in time nanoseconds since the origin; a histogram
 * is an array of [from, to, count], null where it is open. A row with an estimate has
 * "estimated": true. What rows were grouped by is "key": true.
 */
#pragma once

#include "engine/answer.h"

struct answer_json {
	int64_t origin; /* ns since the epoch */
	bool compact;	/* on one line */
	/* Appends the value of the member "loss", and further members behind it, once all rows were read: damage is found
	 * while they are. 0 or negative. */
	int (*put_loss)(void *arg, struct buf *to, struct error *err);
	/* takes the next bytes; 0, or negative to stop */
	int (*put)(void *arg, const void *data, size_t len);
	void *arg;
};

/* The whole document. 0, or negative: what put() returned, or of the rows. */
int answer_json(struct answer *rows, const struct answer_json *j, struct error *err);
/* The members "columns" and "rows" alone, of a table within a document. 0 or negative. */
int answer_json_table(struct buf *out, struct answer *rows, int64_t origin, struct error *err);
/* The type: int, float, bool, time, text, hist, tally. */
const char *answer_json_type(struct query_kind k);
/* One value. 0 or -ENOMEM. */
int answer_json_value(struct buf *out, const struct answer_column *c, const struct value *v,
		      int64_t origin);
