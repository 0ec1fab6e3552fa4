/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of spans: the first byte chooses the format, or that it is to be found. What is refused says why in one line; what is
 * taken are rows whose times a trace can hold, as many as were counted, in the order of their ends.
 */
#include <stdlib.h>
#include <string.h>

#include "exchange/spans_in.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_spans(const struct batch *b, int64_t *end)
{
	for (size_t row = 0; row < b->rows; row++) {
		int64_t start = batch_get(b, SPAN_START, row, INT64_MIN);
		int64_t dur = batch_get(b, SPAN_DUR, row, 0);
		struct bytes id = batch_get_bytes(b, SPAN_SPAN_ID, row);

		if (start < 0 || dur < 0 || start > STORE_TIME_MAX || start + dur > STORE_TIME_MAX)
			abort();
		if (start + dur < *end || (id.data && id.len != 16))
			abort();
		*end = start + dur;
	}
}

static void check_rows(struct spans_in *s)
{
	const struct spans_counts *c = spans_in_counts(s);
	_cleanup_batch_set_ struct batch_set rows = {0};
	uint64_t spans = 0, notes = 0;
	int64_t end = INT64_MIN;

	while (spans_in_next(s, &rows) > 0) {
		const struct batch *b = rows.tables[TABLE_SPAN], *n = rows.tables[TABLE_NOTE];

		if (b)
			check_spans(b, &end);
		spans += b ? b->rows : 0;
		notes += n ? n->rows : 0;
		batch_set_clear(&rows);
	}
	if (spans != c->spans || notes != c->notes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(spans_in_freep) struct spans_in *s = NULL;
	struct error err = {0};
	enum spans_format format;
	int r;

	if (!size || spans_in_new(&s, &err) < 0)
		return 0;
	format = (enum spans_format)(data[0] % SPANS_FORMAT_COUNT);
	r = spans_in_read(s, &format, (struct bytes){data + 1, size - 1}, &err);
	if (r < 0 && (!err.message[0] || strchr(err.message, '\n')))
		abort();
	if (r >= 0 && spans_in_finish(s, &err) >= 0)
		check_rows(s);
	return 0;
}
