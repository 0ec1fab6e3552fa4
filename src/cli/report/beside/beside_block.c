/* SPDX-License-Identifier: Apache-2.0 */
/* beside_block.c: `weir report block`: the owners and files of requests to disks, from the table block_part. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/beside/beside.h"
#include "names/names.h"
#include "schema/vocab.h"

const struct answer_column beside_block_columns[BESIDE_BLOCK_COLUMNS] = {
	BESIDE_SIZE("bytes", .programs = true),
	BESIDE_SIZE("read", .weight = true),
	BESIDE_SIZE("written", .weight = true),
	BESIDE_COUNT("requests"),
	BESIDE_COUNT("merged", .gives = 8),
	BESIDE_DUR("time", .gives = 7),
	{"disk", {QUERY_TEXT}, .fixed = true},
	{"owner", {QUERY_TEXT}},
	{"via", {QUERY_TEXT}, .fixed = true, .gives = 9},
	{"file", {QUERY_TEXT}},
};

/* Requests of one disk, owner and file, or without a file. */
struct owned {
	struct bytes disk;    /* owned */
	int64_t thread, file; /* + 1; 0: none */
	int64_t origin;
	int64_t read, written, requests, merges;
	uint64_t time;
	int64_t via_bytes, via; /* how the owner of the most bytes was found */
};

struct all_owned {
	struct beside_groups groups;
	const struct report *report;
};

static int take_block_part(void *arg, const struct batch *b, size_t row)
{
	struct all_owned *all = arg;
	int64_t thread = batch_get(b, REQUEST_PART_THREAD_ID, row, -1),
		file = batch_get(b, REQUEST_PART_FILE_ID, row, -1),
		origin = batch_get(b, REQUEST_PART_ORIGIN, row, 0),
		bytes = batch_get(b, REQUEST_PART_BYTES, row, 0);
	struct bytes disk = batch_get_bytes(b, REQUEST_PART_DISK, row);
	int64_t process = thread < 0 ? -1 : names_process_of(all->report->dims, thread);
	const int64_t key[] = {process < 0 ? thread : process, process < 0, file,
			       file < 0 ? origin : 0, (int64_t)hash_bytes(disk.data, disk.len)};
	struct owned *o;

	o = beside_group(&all->groups, hash_bytes(key, sizeof(key)));
	if (!o)
		return -ENOMEM;
	if (!o->disk.data && disk.len) {
		uint8_t *copy = malloc(disk.len);

		if (!copy)
			return -ENOMEM;
		memcpy(copy, disk.data, disk.len);
		o->disk = (struct bytes){copy, disk.len};
	}
	o->thread = thread + 1;
	o->file = file + 1;
	o->origin = origin;
	if (batch_get(b, REQUEST_PART_KIND, row, -1) == KIND_READ)
		o->read += bytes;
	else
		o->written += bytes;
	o->requests += batch_get(b, REQUEST_PART_REQUESTS, row, 0);
	o->merges += batch_get(b, REQUEST_PART_MERGES, row, 0);
	if (batch_get(b, REQUEST_PART_REQUESTS, row, 0))
		o->time = add_sat(o->time, (uint64_t)batch_get(b, REQUEST_PART_DUR, row, 0));
	if (bytes >= o->via_bytes) {
		o->via_bytes = bytes;
		o->via = batch_get(b, REQUEST_PART_VIA, row, VIA_UNKNOWN);
	}
	return 0;
}

static int put_owned(const struct report *r, struct answer_list *t, const struct owned *o)
{
	const char *via = vocab_word("via", o->via), *origin = vocab_word("origin", o->origin);
	char text[64];
	int e;

	answer_list_int(t, o->read + o->written);
	answer_list_int(t, o->read);
	answer_list_int(t, o->written);
	answer_list_int(t, o->requests);
	answer_list_int(t, o->merges);
	answer_list_int(t, (int64_t)o->time);
	answer_list_text(t, o->disk);
	e = beside_put_process(r, t, o->thread - 1);
	if (e < 0)
		return e;
	answer_list_str(t, via ? via : "?");
	if (o->file) {
		answer_list_text(t, dims_file_version_name(r->dims, o->file - 1));
	} else {
		snprintf(text, sizeof(text), "(%s)", origin ? origin : "?");
		answer_list_str(t, text);
	}
	return 0;
}

static void all_owned_free(struct all_owned *all)
{
	struct owned *o = all->groups.all;

	for (size_t i = 0; i < all->groups.count; i++)
		free((void *)o[i].disk.data);
	beside_groups_free(&all->groups);
}

int beside_block(struct report *r, struct answer_list *t, struct error *err)
{
	_cleanup_(all_owned_free) struct all_owned all = {.groups = {.size = sizeof(struct owned)},
							  .report = r};
	int e = beside_scan(r, TABLE_REQUEST_PART, ~0ull, BESIDE_THREADS, REQUEST_PART_THREAD_ID,
			    take_block_part, &all);

	for (size_t i = 0; e >= 0 && i < all.groups.count; i++)
		e = put_owned(r, t, (struct owned *)all.groups.all + i);
	return e;
}
