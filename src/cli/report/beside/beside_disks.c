/* SPDX-License-Identifier: Apache-2.0 */
/* beside_disks.c: `weir report disks`: how each disk was used and how long requests took, from the table block. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/beside/beside.h"
#include "schema/vocab.h"

const struct answer_column beside_disk_columns[BESIDE_DISK_COLUMNS] = {
	BESIDE_SIZE("bytes", .programs = true),
	BESIDE_SIZE("read"),
	BESIDE_SIZE("written"),
	BESIDE_COUNT("requests"),
	{"busy", {QUERY_TEXT}, .people = true, .fixed = true},
	{"busy_share", {QUERY_FLOAT}, .programs = true},
	BESIDE_DUR("time", .programs = true),
	{"load", {QUERY_TEXT}, .people = true, .fixed = true, .gives = 3},
	BESIDE_DUR("read_p50"),
	BESIDE_DUR("read_p99", .gives = 2),
	BESIDE_DUR("write_p50"),
	BESIDE_DUR("write_p99", .gives = 2),
	BESIDE_DUR("queued", .gives = 6),
	BESIDE_DUR("device", .gives = 5),
	BESIDE_COUNT("flushes", .gives = 8),
	BESIDE_COUNT("merged", .gives = 9),
	{"sequential", {QUERY_TEXT}, .people = true, .fixed = true, .gives = 7},
	{"sequential_share", {QUERY_FLOAT}, .programs = true},
	BESIDE_COUNT("errors", .alarm = true),
	{"disk", {QUERY_TEXT}, .fixed = true},
};

struct interval {
	int64_t from, to;
};

struct disk {
	struct bytes name; /* owned */
	int64_t read, written, requests, flushes, merges, errors;
	int64_t data, sequential,
		next; /* requests for data; that began where the one before ended */
	uint64_t time, queued, device, issued;
	struct hist reads, writes;
	/* when something was in the device: apart from each other, in order of time */
	struct interval *busy;
	size_t busy_count, busy_cap;
};

struct disks {
	struct beside_groups groups;
	int64_t from, to; /* of the report */
};

/* Requests come in the order of their ends: one joins the intervals that it reaches back to. */
static int busy_add(struct disk *d, int64_t from, int64_t to)
{
	while (d->busy_count && d->busy[d->busy_count - 1].to >= from) {
		d->busy_count--;
		from = MIN(from, d->busy[d->busy_count].from);
		to = MAX(to, d->busy[d->busy_count].to);
	}
	if (grow((void **)&d->busy, &d->busy_cap, d->busy_count + 1, sizeof(*d->busy)) < 0)
		return -ENOMEM;
	d->busy[d->busy_count++] = (struct interval){from, to};
	return 0;
}

static int disk_name(struct disk *d, const struct batch *b, size_t row)
{
	struct bytes name = batch_get_bytes(b, REQUEST_DISK, row);
	uint8_t *copy;

	if (d->name.data || !name.len)
		return 0;
	copy = malloc(name.len);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, name.data, name.len);
	d->name = (struct bytes){copy, name.len};
	return 0;
}

static int take_data(struct disk *d, const struct batch *b, size_t row, int64_t kind)
{
	int64_t bytes = batch_get(b, REQUEST_BYTES, row, 0),
		sector = batch_get(b, REQUEST_SECTOR, row, 0),
		dur = batch_get(b, REQUEST_DUR, row, -1);

	if (!bytes)
		return 0;
	d->data++;
	d->sequential += sector == d->next;
	d->next = sector + bytes / 512;
	if (kind == KIND_READ)
		d->read += bytes;
	else if (kind == KIND_WRITE)
		d->written += bytes;
	return dur < 0 || kind > KIND_WRITE
		       ? 0
		       : hist_add(kind == KIND_READ ? &d->reads : &d->writes, (uint64_t)dur, 1);
}

static int take_request(void *arg, const struct batch *b, size_t row)
{
	struct disks *all = arg;
	struct disk *d = beside_group(&all->groups, (uint64_t)batch_get(b, REQUEST_DEV, row, 0));
	int64_t kind = batch_get(b, REQUEST_KIND, row, -1), start, dur, device, issued;
	int e;

	if (!d || disk_name(d, b, row) < 0)
		return -ENOMEM;
	start = batch_get(b, REQUEST_START, row, 0);
	dur = batch_get(b, REQUEST_DUR, row, -1);
	device = batch_get(b, REQUEST_D2C, row, -1);
	d->requests++;
	d->flushes += kind == KIND_FLUSH;
	d->merges += batch_get(b, REQUEST_MERGES, row, 0);
	d->errors += !batch_is_null(b, REQUEST_ERR, row);
	if (dur < 0) /* not complete */
		return 0;
	d->time = add_sat(d->time, (uint64_t)dur);
	issued = device >= 0 ? start + dur - device : start;
	if (device >= 0) {
		d->issued++;
		d->device = add_sat(d->device, (uint64_t)device);
		d->queued = add_sat(d->queued, (uint64_t)(dur - device));
	}
	e = busy_add(d, MAX(issued, all->from), MIN(start + dur, all->to));
	return e < 0 ? e : take_data(d, b, row, kind);
}

static void put_mean_of_disk(struct answer_list *t, uint64_t sum, uint64_t count)
{
	beside_put_known(t, count ? (int64_t)(sum / count) : -1);
}

static void put_quantile(struct answer_list *t, const struct hist *h, double q)
{
	beside_put_known(t, hist_total(h) ? (int64_t)hist_quantile(h, q) : -1);
}

static void put_disk_row(struct answer_list *t, const struct disk *d, int64_t span)
{
	int64_t busy = 0;
	char text[32];

	for (size_t i = 0; i < d->busy_count; i++)
		busy += MAX(d->busy[i].to - d->busy[i].from, (int64_t)0);
	answer_list_int(t, d->read + d->written);
	answer_list_int(t, d->read);
	answer_list_int(t, d->written);
	answer_list_int(t, d->requests);
	answer_list_str(t, format_percent((uint64_t)busy, (uint64_t)span).s);
	answer_list_float(t, (double)busy / (double)span);
	answer_list_int(t, (int64_t)d->time);
	snprintf(text, sizeof(text), "%.2f", (double)d->time / (double)span);
	answer_list_str(t, text);
	put_quantile(t, &d->reads, 0.5);
	put_quantile(t, &d->reads, 0.99);
	put_quantile(t, &d->writes, 0.5);
	put_quantile(t, &d->writes, 0.99);
	put_mean_of_disk(t, d->queued, d->issued);
	put_mean_of_disk(t, d->device, d->issued);
	answer_list_int(t, d->flushes);
	answer_list_int(t, d->merges);
	answer_list_str(t, d->data ? format_percent((uint64_t)d->sequential, (uint64_t)d->data).s
				   : "-");
	answer_list_float(t, d->data ? (double)d->sequential / (double)d->data : 0);
	answer_list_int(t, d->errors);
	answer_list_text(t, d->name);
}

static void disk_list_free(struct disks *all)
{
	struct disk *d = all->groups.all;

	for (size_t i = 0; i < all->groups.count; i++) {
		free((void *)d[i].name.data);
		free(d[i].busy);
		hist_free(&d[i].reads);
		hist_free(&d[i].writes);
	}
	beside_groups_free(&all->groups);
}

int beside_disks(struct report *r, struct answer_list *t, struct error *err)
{
	_cleanup_(disk_list_free) struct disks all = {
		.groups = {.size = sizeof(struct disk)}, .from = r->from, .to = r->to};
	int e = beside_scan(r, TABLE_REQUEST, ~0ull, take_request, &all);

	for (size_t i = 0; e >= 0 && i < all.groups.count; i++)
		put_disk_row(t, (struct disk *)all.groups.all + i,
			     MAX(r->to - r->from, (int64_t)1));
	return e;
}
