// SPDX-License-Identifier: Apache-2.0
/*
 * disk_windows.c: what happened on each disk over time: how many requests were under way, how long they took, how much of it was in
 * sequence, for whom and for which files. Of the tables block and block_part (record --with block), in one pass.
 */
#include "analysis/analysis.h"

#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "hist/hist.h"
#include "schema/schema.h"
#include "schema/vocab.h"

#define DISKS_MAX  64 /* of which each has its windows */
#define OWNERS_MAX 65536
#define SECTOR	   512

struct disks_options {
	int64_t width, top;
};

struct disk {
	int64_t dev;
	struct bytes name; /* owned */
	int64_t requests, read, written, flushes, merges, errors;
	int64_t data, sequential, next; /* those for data; where the one before ended */
	int64_t time;			/* sum of their durations */
	int64_t *depth;	  /* [width]: of each window the sum of what was under way in it, in ns */
	struct map cells; /* window << 16 | bucket of the histogram -> requests */
};

/* What one thread had done for one file on one disk. */
struct disk_owner {
	uint32_t disk;
	int64_t thread, file, origin, via;
	int64_t requests, read, written;
};

struct disks {
	const struct analysis_input *in;
	int64_t from, step, width;
	struct disk all[DISKS_MAX];
	size_t count;
	struct map owners; /* hash -> number + 1 */
	struct disk_owner *owner;
	size_t owner_count, owner_cap;
	int64_t left_out; /* requests of further disks, parts of further owners */
};

static void disk_windows_free(struct disks *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free((void *)d->all[i].name.data);
		free(d->all[i].depth);
		map_free(&d->all[i].cells);
	}
	map_free(&d->owners);
	free(d->owner);
}

/* The disk of a row; NULL: there are too many, or no memory is left (*ret is then -ENOMEM). */
static struct disk *disk_line_of(struct disks *d, int64_t dev, struct bytes name, int *ret)
{
	struct disk *k;
	uint8_t *copy;

	for (size_t i = 0; i < d->count; i++) {
		if (d->all[i].dev == dev)
			return &d->all[i];
	}
	*ret = 0;
	if (d->count == DISKS_MAX) {
		d->left_out++;
		return NULL;
	}
	k = &d->all[d->count];
	k->dev = dev;
	k->depth = calloc((size_t)d->width, sizeof(*k->depth));
	copy = malloc(name.len + 1);
	if (!k->depth || !copy) {
		free(k->depth);
		free(copy);
		*ret = -ENOMEM;
		return NULL;
	}
	if (name.len)
		memcpy(copy, name.data, name.len);
	k->name = (struct bytes){copy, name.len};
	d->count++;
	return k;
}

/* What of [start, stop) each window has. */
static void disk_under_way(const struct disks *d, struct disk *k, int64_t start, int64_t stop)
{
	start = MAX(start, d->from);
	stop = MIN(stop, d->from + d->step * d->width);
	for (int64_t at = start; at < stop;) {
		int64_t window = (at - d->from) / d->step,
			end = MIN(stop, d->from + (window + 1) * d->step);

		k->depth[window] += end - at;
		at = end;
	}
}

static int disks_request(struct disks *d, const struct batch *b, size_t row)
{
	int64_t start = batch_get(b, REQUEST_START, row, 0),
		dur = batch_get(b, REQUEST_DUR, row, -1),
		kind = batch_get(b, REQUEST_KIND, row, -1),
		bytes = batch_get(b, REQUEST_BYTES, row, 0),
		sector = batch_get(b, REQUEST_SECTOR, row, 0), window;
	uint64_t cell, calls = 0;
	int r = 0;
	struct disk *k = disk_line_of(d, batch_get(b, REQUEST_DEV, row, 0),
				      batch_get_bytes(b, REQUEST_DISK, row), &r);

	if (!k)
		return r;
	k->requests++;
	k->flushes += kind == KIND_FLUSH;
	k->read += kind == KIND_READ ? bytes : 0;
	k->written += kind == KIND_WRITE ? bytes : 0;
	k->merges += batch_get(b, REQUEST_MERGES, row, 0);
	k->errors += !batch_is_null(b, REQUEST_ERR, row);
	if (bytes) {
		k->data++;
		k->sequential += sector == k->next;
		k->next = sector + bytes / SECTOR;
	}
	if (dur < 0) /* not complete */
		return 0;
	k->time += dur;
	disk_under_way(d, k, start, start + dur);
	window = (start + dur - d->from) / d->step;
	if (window < 0 || window >= d->width)
		return 0;
	cell = (uint64_t)window << 16 | hist_bucket((uint64_t)dur);
	map_get(&k->cells, cell, &calls);
	return map_set(&k->cells, cell, calls + 1);
}

static int disks_part(struct disks *d, const struct batch *b, size_t row)
{
	struct disk_owner is = {.thread = batch_get(b, REQUEST_PART_THREAD_ID, row, -1),
				.file = batch_get(b, REQUEST_PART_FILE_ID, row, -1),
				.origin = batch_get(b, REQUEST_PART_ORIGIN, row, -1),
				.via = batch_get(b, REQUEST_PART_VIA, row, -1)},
			  *o;
	int64_t kind = batch_get(b, REQUEST_PART_KIND, row, -1),
		bytes = batch_get(b, REQUEST_PART_BYTES, row, 0);
	uint64_t hash, at;
	int r = 0;
	struct disk *k = disk_line_of(d, batch_get(b, REQUEST_PART_DEV, row, 0),
				      batch_get_bytes(b, REQUEST_PART_DISK, row), &r);

	if (!k)
		return r;
	is.disk = (uint32_t)(k - d->all);
	hash = hash_u64(
		(uint64_t)is.thread ^
		hash_u64((uint64_t)is.file ^ hash_u64(is.disk | (uint64_t)(is.origin & 0xff) << 32 |
						      (uint64_t)(is.via & 0xff) << 40)));
	if (!map_get(&d->owners, hash, &at)) {
		if (d->owner_count == OWNERS_MAX) {
			d->left_out++;
			return 0;
		}
		if (grow((void **)&d->owner, &d->owner_cap, d->owner_count + 1, sizeof(*d->owner)) <
		    0)
			return -ENOMEM;
		at = d->owner_count++;
		d->owner[at] = is;
		r = map_set(&d->owners, hash, at);
		if (r < 0)
			return r;
	}
	o = &d->owner[at];
	o->requests += batch_get(b, REQUEST_PART_REQUESTS, row, 0);
	o->read += kind == KIND_READ ? bytes : 0;
	o->written += kind == KIND_WRITE ? bytes : 0;
	return 0;
}

static const struct analysis_reads disks_reads[] = {
	{TABLE_REQUEST, ~0ull},
	{TABLE_REQUEST_PART, ~0ull},
	{TABLE_COUNT},
};

static int disks_pass(struct disks *d, struct error *err)
{
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	const struct batch *b;
	const uint32_t *rows;
	size_t which;
	ssize_t n;
	int r = analysis_stream(&m, d->in, &d->in->runs[0], err);

	if (r < 0)
		return r;
	while ((n = engine_merge_next(m, &which, &b, &rows, err)) > 0) {
		if (analysis_stopped(d->in))
			return error_set(err, -EINTR, "interrupted");
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = disks_reads[which].table == TABLE_REQUEST ? disks_request(d, b, rows[i])
								      : disks_part(d, b, rows[i]);
		if (r < 0)
			return error_set(err, r, "out of memory");
	}
	return (int)n;
}

/* ---- the tables ---- */

static const struct answer_column disk_columns[] = {
	{"disk", {QUERY_TEXT}},	       {"requests", {QUERY_INT}}, {"read", {QUERY_SIZE}},
	{"written", {QUERY_SIZE}},     {"flushes", {QUERY_INT}},  {"merges", {QUERY_INT}},
	{"errors", {QUERY_INT}},       {"time", {QUERY_DUR}},	  {"load", {QUERY_FLOAT}},
	{"sequential", {QUERY_FLOAT}},
};
static const struct answer_column depth_columns[] = {
	{"disk", {QUERY_TEXT}}, {"at", {QUERY_TIME}}, {"depth", {QUERY_FLOAT}}};
static const struct answer_column latency_columns[] = {
	{"disk", {QUERY_TEXT}},
	{"window", {QUERY_INT}},
	{"bucket", {QUERY_INT}},
	{"requests", {QUERY_INT}},
};
static const struct answer_column owner_columns[] = {
	{"disk", {QUERY_TEXT}},	  {"process", {QUERY_TEXT}}, {"pid", {QUERY_INT}},
	{"thread", {QUERY_TEXT}}, {"via", {QUERY_TEXT}},     {"file", {QUERY_TEXT}},
	{"file_id", {QUERY_INT}}, {"origin", {QUERY_TEXT}},  {"requests", {QUERY_INT}},
	{"read", {QUERY_SIZE}},	  {"written", {QUERY_SIZE}},
};

static void disks_put_disk(const struct disks *d, struct answer_list *t, const struct disk *k)
{
	int64_t span = d->step * d->width;

	answer_list_text(t, k->name);
	answer_list_int(t, k->requests);
	answer_list_int(t, k->read);
	answer_list_int(t, k->written);
	answer_list_int(t, k->flushes);
	answer_list_int(t, k->merges);
	answer_list_int(t, k->errors);
	answer_list_int(t, k->time);
	answer_list_float(t, (double)k->time / (double)span);
	if (k->data)
		answer_list_float(t, (double)k->sequential / (double)k->data);
	else
		answer_list_null(t);
}

static void put_disk_windows(const struct disks *d, struct answer_list *depth,
			     struct answer_list *latency, const struct disk *k)
{
	uint64_t cell, calls;

	for (int64_t i = 0; i < d->width; i++) {
		answer_list_text(depth, k->name);
		answer_list_int(depth, d->from + i * d->step);
		answer_list_float(depth, (double)k->depth[i] / (double)d->step);
	}
	for (size_t pos = 0; map_next(&k->cells, &pos, &cell, &calls);) {
		answer_list_text(latency, k->name);
		answer_list_int(latency, (int64_t)(cell >> 16));
		answer_list_int(latency, (int64_t)(cell & 0xffff));
		answer_list_int(latency, (int64_t)calls);
	}
}

static void put_disk_word(struct answer_list *t, const char *column, int64_t code)
{
	const char *word = code >= 0 ? vocab_word(column, code) : NULL;

	if (word)
		answer_list_str(t, word);
	else
		answer_list_null(t);
}

static void disks_put_owner(const struct disks *d, struct answer_list *t,
			    const struct disk_owner *o)
{
	const struct dims *dims = d->in->runs[0].store ? store_dims(d->in->runs[0].store) : NULL;
	const struct dims_thread *thread =
		dims && o->thread >= 0 ? dims_thread(dims, o->thread) : NULL;
	const struct dims_process *process = thread ? dims_process(dims, thread->process_id) : NULL;
	struct bytes none = {0}, path = dims && o->file >= 0 ? dims_file_name(dims, o->file) : none;

	answer_list_text(t, d->all[o->disk].name);
	answer_list_text(t, process && process->exe.len ? process->exe
			    : thread			? thread->comm
							: none);
	if (process && process->pid >= 0)
		answer_list_int(t, process->pid);
	else
		answer_list_null(t);
	answer_list_text(t, thread ? thread->comm : none);
	put_disk_word(t, "via", o->via);
	answer_list_text(t, path);
	if (o->file >= 0)
		answer_list_int(t, o->file);
	else
		answer_list_null(t);
	put_disk_word(t, "origin", o->origin);
	answer_list_int(t, o->requests);
	answer_list_int(t, o->read);
	answer_list_int(t, o->written);
}

static int owner_order(const void *a, const void *b)
{
	const struct disk_owner *x = a, *y = b;
	int64_t m = x->read + x->written, n = y->read + y->written;

	return m != n ? (m < n ? 1 : -1)
		      : (x->requests < y->requests) - (x->requests > y->requests);
}

static int disks_run(const struct analysis_input *in, struct analysis_result *out,
		     struct error *err)
{
	const struct disks_options *o = in->options;
	const struct analysis_run *run = &in->runs[0];
	_cleanup_(disk_windows_free) struct disks d = {
		.in = in, .from = run->first, .width = o->width};
	struct answer_list *rows = analysis_table(out, "disks", disk_columns,
						  ARRAY_SIZE(disk_columns)),
			   *depth = analysis_table(out, "depth", depth_columns,
						   ARRAY_SIZE(depth_columns)),
			   *latency = analysis_table(out, "latency", latency_columns,
						     ARRAY_SIZE(latency_columns)),
			   *owners = analysis_table(out, "owners", owner_columns,
						    ARRAY_SIZE(owner_columns));
	int r;

	d.step = MAX((run->last - run->first + o->width - 1) / o->width, (int64_t)1);
	r = disks_pass(&d, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < d.count; i++) {
		disks_put_disk(&d, rows, &d.all[i]);
		put_disk_windows(&d, depth, latency, &d.all[i]);
	}
	if (d.owner_count)
		qsort(d.owner, d.owner_count, sizeof(*d.owner), owner_order);
	for (size_t i = 0; i < MIN(d.owner_count, (size_t)o->top); i++)
		disks_put_owner(&d, owners, &d.owner[i]);
	return 0;
}

static const struct option disks_table[] = {
	{0, "width", OPTION_COUNT, "N", "windows of time that depth and latency have",
	 offsetof(struct disks_options, width), .otherwise = "200"},
	{0, "top", OPTION_COUNT, "N", "owners and files with most bytes",
	 offsetof(struct disks_options, top), .otherwise = "30"},
	{0},
};

static int disks_check(const void *options, struct error *err)
{
	const struct disks_options *o = options;

	if (o->width < 1 || o->width > 4096)
		return error_set(err, -EINVAL, "--width: 1 to 4096 windows");
	return 0;
}

static const struct command_example disks_examples[] = {
	{"weir disks", "what happened on the disks, of a trace of record --with block"},
	{"weir disks --from +1s --to +2s --json", "with depth and latency over time, for a script"},
	{0},
};

const struct analysis analysis_disks = {
	.name = "disks",
	.summary = "show disks over time: depth, latency, sequence, who and for which files",
	.description = "Of the requests that record --with block kept: a row for each disk; how "
		       "many requests were "
		       "under way on average in each window of time, and how long those took that "
		       "ended in it; the "
		       "threads and files with most bytes. The selection of calls does not apply, "
		       "as a request can "
		       "be of several.",
	.examples = disks_examples,
	.order = ANALYSIS_STREAM,
	.reads = disks_reads,
	.options = disks_table,
	.options_size = sizeof(struct disks_options),
	.check = disks_check,
	.run = disks_run,
};
