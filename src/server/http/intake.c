// SPDX-License-Identifier: Apache-2.0
#include "server/http/intake.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "exchange/spans_write.h"

struct intake {
	pthread_mutex_t lock;	   /* for the turn, and for the following members */
	_Atomic unsigned int here; /* requests that have the turn or wait for it */
	struct store_writer *writer;
	bool begun; /* the first mark was written */
};

int intake_new(struct intake **ret, struct store_writer *w, struct error *err)
{
	struct intake *i = calloc(1, sizeof(*i));

	if (!i)
		return error_set(err, -ENOMEM, "out of memory");
	pthread_mutex_init(&i->lock, NULL);
	i->writer = w;
	*ret = i;
	return 0;
}

void intake_free(struct intake *i)
{
	if (!i)
		return;
	pthread_mutex_destroy(&i->lock);
	free(i);
}

/*
 * Rows that could not be written so far: after a writer has reported a failure it continues without returning errors.
 */
static uint64_t intake_lost(const struct intake *i)
{
	struct store_stats stats;

	store_writer_stats(i->writer, &stats);
	return stats.lost_rows;
}

/* Writes the rows. A mark records what was left out, and the origin of the spans. */
static int intake_write(struct intake *i, struct spans_in *s, struct error *err)
{
	_cleanup_buf_ struct buf text = {0};
	uint64_t lost = intake_lost(i);
	int r;

	if (!(i->begun))
		buf_printf(&text, "spans sent to weir serve");
	r = spans_counts_put(spans_in_counts(s), &text);
	if (r < 0)
		return error_errno(err, r, "spans cannot be written");
	r = spans_write(i->writer, s, buf_str(&text), err);
	if (r >= 0)
		r = store_flush(i->writer, true, err);
	if (r >= 0 && intake_lost(i) > lost)
		r = error_set(
			err, -ENOSPC,
			"the trace cannot be written; rows that do not fit are counted as lost");
	i->begun |= r >= 0;
	return r;
}

int intake_enter(struct intake *i)
{
	if (atomic_fetch_add(&i->here, 1) > INTAKE_WAIT_MAX) {
		atomic_fetch_sub(&i->here, 1);
		return -EAGAIN;
	}
	pthread_mutex_lock(&i->lock);
	return 0;
}

void intake_leave(struct intake *i)
{
	pthread_mutex_unlock(&i->lock);
	atomic_fetch_sub(&i->here, 1);
}

int intake_take(struct intake *i, enum spans_format format, struct bytes body,
		struct spans_counts *ret, struct error *err)
{
	_cleanup_(spans_in_freep) struct spans_in *s = NULL;
	int r = spans_in_new(&s, err);

	if (r < 0)
		return r;
	r = spans_in_read(s, &format, body, err);
	if (r >= 0)
		r = spans_in_finish(s, err);
	if (r >= 0 && spans_in_counts(s)->spans)
		r = intake_write(i, s, err);
	*ret = *spans_in_counts(s);
	return r;
}
