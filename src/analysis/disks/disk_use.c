/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/disks/disk_use.h"

#include <math.h>

#include "base/saturate.h"
#include "schema/schema.h"

#define SECTOR 512

void disk_use_free(struct disk_use *d)
{
	cover_free(&d->busy);
	for (size_t i = 0; i < DISK_KINDS; i++)
		hist_free(&d->kind[i].hist);
}

static void disk_use_count(struct disk_use *d, const struct batch *b, size_t row, int64_t kind)
{
	int64_t bytes = batch_get(b, REQUEST_BYTES, row, 0),
		sector = batch_get(b, REQUEST_SECTOR, row, 0);

	d->requests++;
	d->flushes += kind == KIND_FLUSH;
	d->read += kind == KIND_READ ? bytes : 0;
	d->written += kind == KIND_WRITE ? bytes : 0;
	d->merges += batch_get(b, REQUEST_MERGES, row, 0);
	d->errors += !batch_is_null(b, REQUEST_ERR, row);
	if (!bytes)
		return;
	d->data++;
	d->sequential += sector == d->next;
	d->next = sector + bytes / SECTOR;
}

/* For a write without data the time is that of the flush that it waits for. */
static int disk_use_kind(struct disk_use *d, int64_t kind, int64_t bytes, int64_t dur)
{
	size_t i = (size_t)(kind - KIND_READ);

	if (kind < KIND_READ || kind > KIND_DISCARD)
		return 0;
	d->kind[i].requests++;
	d->kind[i].bytes += bytes;
	if (dur < 0 || (kind == KIND_WRITE && !bytes))
		return 0;
	d->kind[i].max = MAX(d->kind[i].max, (uint64_t)dur);
	return hist_add(&d->kind[i].hist, (uint64_t)dur, 1);
}

int disk_use_take(struct disk_use *d, const struct batch *b, size_t row, int64_t from, int64_t to)
{
	int64_t start = batch_get(b, REQUEST_START, row, 0),
		dur = batch_get(b, REQUEST_DUR, row, -1),
		device = batch_get(b, REQUEST_D2C, row, -1),
		kind = batch_get(b, REQUEST_KIND, row, -1),
		bytes = batch_get(b, REQUEST_BYTES, row, 0), issued;
	int r;

	disk_use_count(d, b, row, kind);
	r = disk_use_kind(d, kind, bytes, dur);
	if (r < 0 || dur < 0) /* unfinished */
		return r;
	d->time = add_sat(d->time, (uint64_t)dur);
	issued = device >= 0 ? start + dur - device : start;
	if (device >= 0) {
		d->issued++;
		d->device = add_sat(d->device, (uint64_t)device);
		d->queued = add_sat(d->queued, (uint64_t)(dur - device));
	}
	return cover_add(&d->busy, MAX(issued, from), MIN(start + dur, to));
}

int disk_use_merge(struct disk_use *to, const struct disk_use *from)
{
	int r = 0;

	to->read += from->read;
	to->written += from->written;
	to->requests += from->requests;
	to->flushes += from->flushes;
	to->merges += from->merges;
	to->errors += from->errors;
	to->data += from->data;
	to->sequential += from->sequential;
	to->next = from->next;
	to->time = add_sat(to->time, from->time);
	to->queued = add_sat(to->queued, from->queued);
	to->device = add_sat(to->device, from->device);
	to->issued += from->issued;
	to->busy_before += disk_use_busy(from);
	for (size_t i = 0; i < DISK_KINDS && r >= 0; i++) {
		to->kind[i].requests += from->kind[i].requests;
		to->kind[i].bytes += from->kind[i].bytes;
		to->kind[i].max = MAX(to->kind[i].max, from->kind[i].max);
		r = hist_merge(&to->kind[i].hist, &from->kind[i].hist);
	}
	return r;
}

/* ---- the tables ---- */

#define DURATION(NAME, ...)                                                 \
	{                                                                   \
		NAME, {QUERY_DUR}, .word = "dur", .dash = true, __VA_ARGS__ \
	}
#define COUNT(NAME, ...)                                                   \
	{                                                                  \
		NAME, {QUERY_INT}, ANSWER_COUNT, .dash = true, __VA_ARGS__ \
	}
#define BYTES(NAME, ...)                                                      \
	{                                                                     \
		NAME, {QUERY_SIZE}, .word = "size", .dash = true, __VA_ARGS__ \
	}

const struct answer_column disk_use_columns[DISK_USE_COLUMNS] = {
	BYTES("bytes", .programs = true),
	{"load", {QUERY_FLOAT}, ANSWER_MEAN},
	{"busy", {QUERY_FLOAT}, ANSWER_SHARE},
	BYTES("read"),
	BYTES("written"),
	COUNT("requests"),
	DURATION("time", .programs = true),
	DURATION("read_p50", .gives = 4),
	DURATION("read_p99", .gives = 2),
	DURATION("write_p50", .gives = 3),
	DURATION("write_p99", .gives = 1),
	DURATION("queued", .gives = 6),
	DURATION("device", .gives = 5),
	COUNT("flushes", .gives = 8),
	COUNT("merges", .gives = 9),
	{"sequential", {QUERY_FLOAT}, ANSWER_SHARE, .gives = 7},
	COUNT("errors", .alarm = true),
	{"disk", {QUERY_TEXT}, .fixed = true},
};

const struct answer_column disk_kind_columns[DISK_KIND_COLUMNS] = {
	{"disk", {QUERY_TEXT}},
	{"kind", {QUERY_CODE, "kind"}},
	{"requests", {QUERY_INT}, ANSWER_COUNT},
	{"iops", {QUERY_FLOAT}},
	{"bytes", {QUERY_SIZE}},
	{"p50", {QUERY_DUR}},
	{"p99", {QUERY_DUR}},
	{"max", {QUERY_DUR}},
};

static void put_disk_quantile(struct answer_list *t, const struct disk_use *d, int64_t kind,
			      double q)
{
	const struct disk_kind *k = &d->kind[kind - KIND_READ];

	answer_list_known(
		t, hist_total(&k->hist) ? (int64_t)hist_quantile_at_most(&k->hist, q, k->max) : -1);
}

static void put_disk_mean(struct answer_list *t, uint64_t sum, uint64_t count)
{
	answer_list_known(t, count ? (int64_t)(sum / count) : -1);
}

void disk_use_put(struct answer_list *t, const struct disk_use *d, struct bytes name, int64_t span)
{
	assert(span > 0);
	answer_list_int(t, d->read + d->written);
	answer_list_float(t, (double)d->time / (double)span);
	answer_list_float(t, (double)disk_use_busy(d) / (double)span);
	answer_list_int(t, d->read);
	answer_list_int(t, d->written);
	answer_list_int(t, d->requests);
	answer_list_uint(t, d->time);
	put_disk_quantile(t, d, KIND_READ, 0.5);
	put_disk_quantile(t, d, KIND_READ, 0.99);
	put_disk_quantile(t, d, KIND_WRITE, 0.5);
	put_disk_quantile(t, d, KIND_WRITE, 0.99);
	put_disk_mean(t, d->queued, d->issued);
	put_disk_mean(t, d->device, d->issued);
	answer_list_int(t, d->flushes);
	answer_list_int(t, d->merges);
	answer_list_float(t, d->data ? (double)d->sequential / (double)d->data : NAN);
	answer_list_int(t, d->errors);
	answer_list_text(t, name);
}

void disk_use_put_kinds(struct answer_list *t, const struct disk_use *d, struct bytes name,
			int64_t span)
{
	assert(span > 0);
	for (size_t i = 0; i < DISK_KINDS; i++) {
		if (!d->kind[i].requests)
			continue;
		answer_list_text(t, name);
		answer_list_int(t, KIND_READ + (int64_t)i);
		answer_list_int(t, d->kind[i].requests);
		answer_list_float(t, (double)d->kind[i].requests * 1e9 / (double)span);
		answer_list_int(t, d->kind[i].bytes);
		put_disk_quantile(t, d, KIND_READ + (int64_t)i, 0.5);
		put_disk_quantile(t, d, KIND_READ + (int64_t)i, 0.99);
		answer_list_known(t, hist_total(&d->kind[i].hist) ? (int64_t)d->kind[i].max : -1);
	}
}
