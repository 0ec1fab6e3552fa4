/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file/read/folders.h"
#include "store/file/format.h"
#include "store/file/read/recordings.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* ---- files of one recording ---- */

static bool same_recording(const struct trace *a, const struct trace *b)
{
	return a->recording_key && a->recording_key == b->recording_key;
}

static int recordings_number(struct store *s, struct trace *t, size_t at)
{
	assert(at < s->trace_count && t == &s->traces[at]);
	t->number = (uint32_t)at;
	for (size_t i = 0; i < at; i++) {
		if (same_recording(&s->traces[i], t)) {
			t->recording = s->traces[i].recording;
			return 0;
		}
	}
	t->recording = (uint32_t)s->recordings;
	s->recordings++;
	return dims_recording(s->dims, t->recording, t->created);
}

/* The place of the file at `from` among those before it. */
static size_t place_of(const struct store *s, size_t from)
{
	const struct trace *t = &s->traces[from];
	size_t place = from;

	for (size_t i = from; i-- > 0;) {
		if (same_recording(&s->traces[i], t) && s->traces[i].part > t->part)
			place = i;
		else if (same_recording(&s->traces[i], t))
			return place == from ? i + 1 : place;
	}
	return place;
}

int recordings_order(struct store *s)
{
	int r = 0;

	assert(!atomic_load(&s->count)); /* blocks refer to their files by number */
	for (size_t i = 1; i < s->trace_count; i++) {
		size_t to = place_of(s, i);
		struct trace moved = s->traces[i];

		assert(to <= i);
		memmove(&s->traces[to + 1], &s->traces[to], (i - to) * sizeof(moved));
		s->traces[to] = moved;
	}
	for (size_t i = 0; i < s->trace_count && r >= 0; i++)
		r = recordings_number(s, &s->traces[i], i);
	s->united = s->recordings > 1 || folders_may_mix(s);
	if (s->united)
		dims_unite(s->dims);
	return r;
}

int recordings_add(struct store *s, struct trace *t)
{
	return recordings_number(s, t, (size_t)(t - s->traces));
}

uint64_t recordings_gaps(const struct store *s, const char **ret_path)
{
	uint64_t missing = 0;

	for (size_t i = 1; i < s->trace_count; i++) {
		const struct trace *before = &s->traces[i - 1], *t = &s->traces[i];

		if (!same_recording(before, t) || t->part <= before->part + 1)
			continue;
		if (!missing)
			*ret_path = t->path;
		missing += t->part - before->part - 1;
	}
	return missing;
}

int64_t store_trace_began(const struct store *s, size_t trace)
{
	assert(trace < s->trace_count);
	return s->traces[trace].created;
}

void store_trace_identity(const struct store *s, size_t trace, uint64_t *ret_key,
			  uint64_t *ret_part)
{
	const struct trace *t;

	assert(trace < s->trace_count);
	t = &s->traces[trace];
	*ret_key = t->recording_key ? t->recording_key : load64(t->mark);
	*ret_part = t->part;
}

struct store_clock store_recording_clock(const struct store *s, size_t recording)
{
	for (size_t i = 0; i < s->trace_count; i++) {
		if (s->traces[i].recording == recording)
			return s->traces[i].clock;
	}
	return (struct store_clock){.known = false};
}

size_t store_trace_recording(const struct store *s, size_t trace)
{
	assert(trace < s->trace_count);
	return s->traces[trace].recording;
}

size_t store_recording_count(const struct store *s)
{
	return s->recordings;
}

/* ---- ids ---- */

/* Ids of versions stay distinct per recording; a thread or file over all its versions has one id. */
bool recordings_replace(const struct store *s, const struct table_def *t, unsigned int column)
{
	int to = s->united ? schema_refers(t, column) : -1;

	assert(column < t->column_count);
	switch (to) {
	case TABLE_THREAD:
		return !strcasecmp(t->columns[column].name, "task");
	case TABLE_FILE:
		return !strcasecmp(t->columns[column].name, "inode");
	case TABLE_OP:
		return false;
	default:
		return to >= 0;
	}
}

void recordings_apply(struct store *s, const struct batch *b, uint64_t columns)
{
	for (unsigned int i = 0; i < b->def->column_count; i++) {
		const struct column *c = &b->columns[i];
		enum table_id to;

		if (!(columns >> i & 1) || !c->val || !recordings_replace(s, b->def, i))
			continue;
		to = (enum table_id)schema_refers(b->def, i);
		assert(schema_is_dimension(to));
		/* rows of dimensions may arrive meanwhile */
		pthread_mutex_lock(&s->files_lock);
		for (size_t row = 0; row < b->rows; row++) {
			if (!batch_is_null(b, i, row))
				c->val[row] = dims_same(s->dims, to, c->val[row]);
		}
		pthread_mutex_unlock(&s->files_lock);
	}
}
