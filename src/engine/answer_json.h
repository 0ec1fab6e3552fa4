/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_json.h: an answer as the JSON document that every command of weir prints and the server returns:
 *
 *   {"origin": "1795254902114000000",
 *    "columns": [{"name": "op", "type": "text", "unit": ""}, ...],
 *    "rows": [{"op": "read", "count": 7, "hist(dur)": [[512, 544, 7]]}, ...],
 *    "loss": {...}}
 *
 * Durations are nanoseconds, sizes bytes, timestamps nanoseconds since the origin; a histogram is an array of [from,
 * to, count], with null for an open bound. A row with an estimate has "estimated": true. Group keys have "key": true.
 */
#pragma once

#include "engine/answer.h"

struct answer_json {
	int64_t origin; /* ns since the epoch */
	bool compact;	/* on one line */
	/*
	 * Appends the value of the member "loss", and any further members. Called after all rows are read, since damage
	 * is found while reading. 0 or negative.
	 */
	int (*put_loss)(void *arg, struct buf *to, struct error *err);
	/* Writes the next bytes. 0, or negative to stop. */
	int (*put)(void *arg, const void *data, size_t len);
	void *arg;
};

/* Writes the whole document. 0, or negative: the result of put(), or an error of the rows. */
int answer_json(struct answer *rows, const struct answer_json *j, struct error *err);
/* Appends only the members "columns" and "rows", for a table within a document. 0 or negative. */
int answer_json_table(struct buf *out, struct answer *rows, int64_t origin, struct error *err);
/* The name of a type: int, float, bool, time, text, hist, tally. */
const char *answer_json_type(struct query_kind k);
/* Appends one value. 0 or -ENOMEM. */
int answer_json_value(struct buf *out, const struct answer_column *c, const struct value *v,
		      int64_t origin);
