/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stat/top_disks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/terminal/answer_print.h"
#include "schema/schema.h"

void top_disks_free(struct top_disks *d)
{
	for (size_t i = 0; i < d->count; i++)
		disk_use_free(&d->all[i].use);
	free(d->all);
	*d = (struct top_disks){0};
}

static struct top_disk *top_disk_of(struct top_disks *d, int64_t dev, struct bytes name)
{
	struct top_disk *one;

	for (size_t i = 0; i < d->count; i++) {
		if (d->all[i].dev == dev)
			return &d->all[i];
	}
	if (array_add(d->all, d->count, d->cap, (struct top_disk){.dev = dev}) < 0)
		return NULL;
	one = &d->all[d->count - 1];
	snprintf(one->name, sizeof(one->name), "%.*s", (int)MIN(name.len, sizeof(one->name) - 1),
		 name.data ? (const char *)name.data : "");
	return one;
}

int top_disks_add(struct top_disks *d, const struct batch *b, int64_t from)
{
	int r = 0;

	for (size_t row = 0; row < b->rows && r >= 0; row++) {
		struct top_disk *one = top_disk_of(d, batch_get(b, REQUEST_DEV, row, 0),
						   batch_get_bytes(b, REQUEST_DISK, row));

		r = one ? disk_use_take(&one->use, b, row, from, INT64_MAX) : -ENOMEM;
	}
	return r;
}

int top_disks_merge(struct top_disks *to, const struct top_disks *from)
{
	int r = 0;

	for (size_t i = 0; i < from->count && r >= 0; i++) {
		const struct top_disk *f = &from->all[i];
		struct top_disk *one = top_disk_of(
			to, f->dev, (struct bytes){(const uint8_t *)f->name, strlen(f->name)});

		r = one ? disk_use_merge(&one->use, &f->use) : -ENOMEM;
	}
	return r;
}

static int most_load(const void *a, const void *b)
{
	const struct top_disk *const *x = a, *const *y = b;

	return ((*x)->use.time < (*y)->use.time) - ((*x)->use.time > (*y)->use.time);
}

/* Requests per second, bytes per second and 99th percentile of one kind. */
static void put_request_kind(struct answer_list *t, const struct disk_use *d, int64_t kind,
			     int64_t span)
{
	const struct disk_kind *k = &d->kind[kind - KIND_READ];

	answer_list_str(t, k->requests ? format_rate((uint64_t)k->requests, span, false).s : "-");
	answer_list_str(t, k->bytes ? format_rate((uint64_t)k->bytes, span, true).s : "-");
	answer_list_known(t, hist_total(&k->hist)
				     ? (int64_t)hist_quantile_at_most(&k->hist, 0.99, k->max)
				     : -1);
}

int top_disks_print(FILE *out, const struct top_disks *d, int64_t span, size_t most, size_t width)
{
	static const struct answer_column columns[] = {
		{"DISK", {QUERY_TEXT}, .fixed = true, .width = 6},
		{"load", {QUERY_FLOAT}, ANSWER_MEAN, .width = 4},
		{"busy", {QUERY_FLOAT}, ANSWER_SHARE, .width = 4},
		{"reads", {QUERY_TEXT}, .fixed = true, .width = 8},
		{"", {QUERY_TEXT}, .fixed = true, .width = 10},
		{"p99", {QUERY_DUR}, .width = 7, .gives = 3},
		{"writes", {QUERY_TEXT}, .fixed = true, .width = 8},
		{"", {QUERY_TEXT}, .fixed = true, .width = 10},
		{"p99", {QUERY_DUR}, .width = 7, .gives = 3},
		{"flushes", {QUERY_INT}, ANSWER_COUNT, .dash = true, .gives = 5},
		{"errors", {QUERY_INT}, ANSWER_COUNT, .dash = true, .alarm = true, .gives = 4},
	};
	const struct answer_print print = {.out = out, .width = width};
	_cleanup_answer_list_ struct answer_list list = {columns, ARRAY_SIZE(columns)};
	_cleanup_free_ const struct top_disk **order = calloc(d->count + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	span = MAX(span, (int64_t)1);
	for (size_t i = 0; i < d->count; i++)
		order[i] = &d->all[i];
	qsort(order, d->count, sizeof(*order), most_load);
	for (size_t i = 0; i < MIN(d->count, most); i++) {
		const struct disk_use *u = &order[i]->use;

		answer_list_str(&list, order[i]->name);
		answer_list_float(&list, (double)u->time / (double)span);
		answer_list_float(&list, MIN((double)disk_use_busy(u) / (double)span, 1.0));
		put_request_kind(&list, u, KIND_READ, span);
		put_request_kind(&list, u, KIND_WRITE, span);
		answer_list_int(&list, u->flushes);
		answer_list_int(&list, u->errors);
	}
	return answer_text_list(&print, &list, NULL);
}
