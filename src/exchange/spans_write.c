// SPDX-License-Identifier: Apache-2.0
#include "exchange/spans_write.h"

#include <string.h>

#include "base/clock.h"
#include "batch/host_row.h"

#define MARK_NAME "weir.import"

int spans_write_begin(struct store_writer *w, struct error *err)
{
	_cleanup_batch_set_ struct batch_set rows = {0};
	struct batch_row host = batch_set_host(&rows, 0);

	row_set(&host, HOST_CLOCK_OFFSET, clock_offset_ns());
	row_set(&host, HOST_CLOCK_AT, clock_realtime_ns());
	if (host.r < 0)
		return error_errno(err, host.r, "the trace cannot be begun");
	return store_append_set(w, &rows, err);
}

int spans_write(struct store_writer *w, struct spans_in *s, const char *text, struct error *err)
{
	_cleanup_batch_set_ struct batch_set rows = {0};
	int64_t first, last;
	int r = 0;

	spans_in_range(s, &first, &last);
	if (*text)
		r = batch_set_add_mark(&rows, first == INT64_MIN ? clock_realtime_ns() : first,
				       MARK_NAME, text, strlen(text));
	if (r < 0)
		return error_errno(err, r, "spans cannot be written");
	r = store_append_set(w, &rows, err);
	while (r >= 0) {
		batch_set_clear(&rows);
		r = spans_in_next(s, &rows);
		if (r <= 0)
			return r < 0 ? error_errno(err, r, "spans cannot be written") : 0;
		r = store_append_set(w, &rows, err);
	}
	return r;
}
