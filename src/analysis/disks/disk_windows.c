// SPDX-License-Identifier: Apache-2.0
/*
 * disk_windows.c: usage of each disk, in total and over time: requests in flight, their latencies, and the threads and
 * files that caused them. Reads tables block and block_part (record --with block), in one pass.
 */
#include "analysis/disks/disks.h"

#include <errno.h>
#include <string.h>

#include "analysis/disks/disk_use.h"
#include "base/array.h"
#include "base/map.h"
#include "hist/hist.h"
#include "names/file_lines.h"
#include "names/names.h"
#include "schema/schema.h"
#include "sums/scan.h"

#define DISKS_MAX  64 /* each has its own windows */
#define OWNERS_MAX 65536

struct disk {
	int64_t dev;
	struct bytes name; /* owned */
	struct disk_use use;
	int64_t *depth;	  /* [width]: by window, the sum of the time of requests in flight, in ns */
	struct map cells; /* window << 16 | bucket of the histogram -> number of requests */
};

/* Requests of one process for one file on one disk. */
struct disk_owner {
	uint32_t disk;
	int64_t process, origin;
	int64_t file;		/* of a line of files: file_lines.h */
	int64_t via, via_bytes; /* how the owner was determined for the most bytes at once */
	int64_t requests, read, written;
};

struct disks {
	const struct analysis_input *in;
	const struct dims *dims; /* NULL: an engine stores the rows */
	struct file_lines *files;
	int64_t from, step, width;
	bool selected;	  /* only requests with owners in `tasks` */
	struct map tasks; /* threads of selected calls */
	struct disk all[DISKS_MAX];
	size_t count;
	struct map owners; /* hash -> index + 1 */
	struct disk_owner *owner;
	size_t owner_count, owner_cap;
	int64_t left_out; /* requests of further disks, and parts of further owners */
};

static void disk_windows_free(struct disks *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free((void *)d->all[i].name.data);
		free(d->all[i].depth);
		map_free(&d->all[i].cells);
		disk_use_free(&d->all[i].use);
	}
	map_free(&d->tasks);
	map_free(&d->owners);
	free(d->owner);
	file_lines_free(d->files);
}

/* The entry of a row's disk; NULL: too many disks, or out of memory (*ret is then -ENOMEM). */
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

/* Adds the part of [start, stop) within each window. */
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

/* True if the owner of a request, or of a part of one, has selected calls. */
static bool disks_selects(const struct disks *d, int64_t thread)
{
	return !d->selected ||
	       (thread >= 0 && map_get(&d->tasks, (uint64_t)names_task(d->dims, thread), NULL));
}

static int disks_request(struct disks *d, const struct batch *b, size_t row)
{
	int64_t start = batch_get(b, REQUEST_START, row, 0),
		dur = batch_get(b, REQUEST_DUR, row, -1), window;
	uint64_t cell, calls = 0;
	struct disk *k;
	int r = 0;

	if (!disks_selects(d, batch_get(b, REQUEST_THREAD_ID, row, -1)))
		return 0;
	k = disk_line_of(d, batch_get(b, REQUEST_DEV, row, 0),
			 batch_get_bytes(b, REQUEST_DISK, row), &r);
	if (!k)
		return r;
	r = disk_use_take(&k->use, b, row, d->from, d->in->runs[0].last);
	if (r < 0 || dur < 0) /* unfinished */
		return r;
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
	int64_t thread = batch_get(b, REQUEST_PART_THREAD_ID, row, -1),
		kind = batch_get(b, REQUEST_PART_KIND, row, -1),
		bytes = batch_get(b, REQUEST_PART_BYTES, row, 0);
	struct disk_owner is = {.process = d->dims ? names_process_of(d->dims, thread) : -1,
				.file = batch_get(b, REQUEST_PART_FILE_ID, row, -1),
				.origin = batch_get(b, REQUEST_PART_ORIGIN, row, -1),
				.via = -1,
				.via_bytes = -1},
			  *o;
	uint64_t hash;
	struct disk *k;
	bool is_new;
	int r = 0;

	if (!disks_selects(d, thread))
		return 0;
	k = disk_line_of(d, batch_get(b, REQUEST_PART_DEV, row, 0),
			 batch_get_bytes(b, REQUEST_PART_DISK, row), &r);
	if (!k)
		return r;
	is.disk = (uint32_t)(k - d->all);
	if (d->dims && is.file >= 0)
		is.file = file_lines_line(d->files, d->dims, is.file);
	hash = hash_u64((uint64_t)is.process ^
			hash_u64((uint64_t)is.file ^
				 hash_u64(is.disk | (uint64_t)(is.origin & 0xff) << 32)));
	if (d->owner_count == OWNERS_MAX && !map_get(&d->owners, hash, NULL)) {
		d->left_out++;
		return 0;
	}
	o = array_of_key(d->owner, d->owner_count, d->owner_cap, &d->owners, hash, &is_new);
	if (!o)
		return -ENOMEM;
	if (is_new)
		*o = is;
	if (bytes > o->via_bytes) {
		o->via = batch_get(b, REQUEST_PART_VIA, row, -1);
		o->via_bytes = bytes;
	}
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

static const struct answer_column depth_columns[] = {
	{"disk", {QUERY_TEXT}}, {"at", {QUERY_TIME}}, {"depth", {QUERY_FLOAT}}};
static const struct answer_column latency_columns[] = {
	{"disk", {QUERY_TEXT}},
	{"window", {QUERY_INT}},
	{"bucket", {QUERY_INT}},
	{"requests", {QUERY_INT}, ANSWER_COUNT},
};
static const struct answer_column owner_columns[] = {
	{"disk", {QUERY_TEXT}},	  {"process", {QUERY_TEXT}},
	{"pid", {QUERY_INT}},	  {"via", {QUERY_TEXT}},
	{"file", {QUERY_TEXT}},	  {"file_id", {QUERY_INT}},
	{"origin", {QUERY_TEXT}}, {"requests", {QUERY_INT}, ANSWER_COUNT},
	{"read", {QUERY_SIZE}},	  {"written", {QUERY_SIZE}},
};

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

	answer_list_str(t, word);
}

static void disks_put_owner(const struct disks *d, struct answer_list *t,
			    const struct disk_owner *o)
{
	const struct dims *dims = d->dims;
	const struct dims_process *process =
		dims && o->process >= 0 ? dims_process(dims, o->process) : NULL;
	struct bytes none = {0}, path = dims && o->file >= 0 ? dims_file_name(dims, o->file) : none;

	answer_list_text(t, d->all[o->disk].name);
	answer_list_text(t, process ? names_program(dims, o->process) : none);
	answer_list_known(t, process ? process->pid : -1);
	put_disk_word(t, "via", o->via);
	answer_list_some(t, path);
	answer_list_known(t, o->file);
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

/* Finds the threads of selected calls over the whole trace: a disk may write for them later. */
static int disks_select(struct disks *d, struct error *err)
{
	const struct analysis_run *run = &d->in->runs[0];
	struct scan_filter all = {.from = INT64_MIN, .to = INT64_MAX};
	const struct scan_options scan = {.keys = ROLLUP_THREAD,
					  .filter = &all,
					  .threads = d->in->threads,
					  .stopped = d->in->stopped,
					  .stopped_arg = d->in->arg};
	_cleanup_scan_result_ struct scan_result result = {0};
	int r;

	if (!run->where)
		return 0;
	if (!run->filter)
		return error_set(err, -EINVAL,
				 "disks: a selection needs a trace file, not a store");
	d->selected = true;
	all.where = run->filter->where;
	r = scan_run(run->store, &scan, &result, err);
	for (size_t i = 0; r >= 0 && i < rollup_count(result.rollup); i++)
		r = map_set(&d->tasks,
			    (uint64_t)names_task(d->dims, rollup_row(result.rollup, i)->thread_id),
			    1);
	for (size_t i = 0; r >= 0 && i < result.running->rows; i++)
		r = map_set(&d->tasks,
			    (uint64_t)names_task(d->dims,
						 batch_get(result.running, OP_THREAD_ID, i, -1)),
			    1);
	return r;
}

static int disk_order(const void *a, const void *b)
{
	const struct disk *x = a, *y = b;

	return ORDER(y->use.time, x->use.time);
}

/* Rows of owners refer to disks by number, so disks come first. */
static int disks_give(struct disks *d, struct analysis_result *out)
{
	const struct disks_options *o = d->in->options;
	const struct analysis_run *run = &d->in->runs[0];
	struct answer_list *rows = analysis_table(out, "disks", disk_use_columns, DISK_USE_COLUMNS),
			   *depth = analysis_table(out, "depth", depth_columns,
						   ARRAY_SIZE(depth_columns)),
			   *latency = analysis_table(out, "latency", latency_columns,
						     ARRAY_SIZE(latency_columns)),
			   *owners = analysis_table(out, "owners", owner_columns,
						    ARRAY_SIZE(owner_columns)),
			   *kinds = analysis_table(out, "kinds", disk_kind_columns,
						   DISK_KIND_COLUMNS);
	struct disks_more *more = calloc(1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	more->left_out = d->left_out;
	more->owners = d->owner_count;
	out->own = more;
	array_sort(d->owner, d->owner_count, owner_order);
	for (size_t i = 0; i < MIN(d->owner_count, (size_t)o->top); i++)
		disks_put_owner(d, owners, &d->owner[i]);
	array_sort(d->all, d->count, disk_order);
	for (size_t i = 0; i < d->count; i++) {
		const struct disk *k = &d->all[i];

		disk_use_put(rows, &k->use, k->name, run->last - run->first);
		put_disk_windows(d, depth, latency, k);
		disk_use_put_kinds(kinds, &k->use, k->name, run->last - run->first);
	}
	return 0;
}

static int disks_put_members(const struct analysis_input *in, const struct analysis_result *r,
			     struct buf *to)
{
	const struct disks_more *more = r->own;

	return buf_printf(to, ",\n\"left_out\": %lld", (long long)more->left_out);
}

static int disks_run(const struct analysis_input *in, struct analysis_result *out,
		     struct error *err)
{
	const struct disks_options *o = in->options;
	const struct analysis_run *run = &in->runs[0];
	_cleanup_(disk_windows_free) struct disks d = {
		.in = in,
		.dims = run->store ? store_dims(run->store) : NULL,
		.from = run->first,
		.step = MAX((run->last - run->first + o->width - 1) / o->width, (int64_t)1),
		.width = o->width};
	int r = file_lines_new(&d.files);

	if (r >= 0 && d.dims)
		r = file_lines_update(d.files, d.dims);
	if (r < 0)
		return error_set(err, r, "out of memory");
	r = disks_select(&d, err);
	if (r < 0)
		return r;
	r = disks_pass(&d, err);
	if (r < 0)
		return r;
	return disks_give(&d, out);
}

static const struct option disks_table[] = {
	{0, "width", OPTION_COUNT, "N", "give depth and latency in N time windows",
	 offsetof(struct disks_options, width), .otherwise = "200"},
	{0, "top", OPTION_COUNT, "N", "list the N owners and files with the most bytes",
	 offsetof(struct disks_options, top), .otherwise = "30"},
	{0},
};

static int disks_check(const void *options, struct error *err)
{
	const struct disks_options *o = options;

	if (o->width < 1 || o->width > 4096)
		return error_set(err, -EINVAL, "--width: must be 1 to 4096 windows");
	return 0;
}

static const struct command_example disks_examples[] = {
	{"weir disks", "how the disks were used, from a trace of record --with block"},
	{"weir disks --where 'comm == \"fio\"'", "the requests owned by fio"},
	{"weir disks --from +1s --to +2s --json", "with depth and latency over time, for a script"},
	{0},
};

const struct analysis analysis_disks = {
	.name = "disks",
	.summary = "show disks over time: depth, latency, sequential share, owners and files",
	.description =
		"Shows for each disk with requests in a trace of record --with block: its load "
		"(the average number of requests in flight: the sum of their times divided by the "
		"time), the share of the time in which a request was in the device, requests and "
		"bytes per second, the latency from queued to completed, the number of requests in "
		"flight over time, and the threads and files with the most bytes. A selection "
		"takes the requests whose owner has selected calls, regardless of its other calls; "
		"if a request has several owners, the owner of its largest part counts.\n\n"
		"--json has the tables depth and latency, with a row for each of --width time "
		"windows, owners and kinds; left_out counts what exceeded a limit: requests of "
		"more than 64 disks, parts of more than 65,536 owners and files.",
	.examples = disks_examples,
	.order = ANALYSIS_STREAM,
	.reads = disks_reads,
	.options = disks_table,
	.options_size = sizeof(struct disks_options),
	.check = disks_check,
	.run = disks_run,
	.put_members = disks_put_members,
	.free = free,
};
