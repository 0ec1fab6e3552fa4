/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dimensions.c: every dimension row is copied under the dense id of its key, so that a later row with the same key
 * replaces the earlier one (a path learned later, a file deleted, a thread stopped).
 */
#include "enrich/cgroup_parts.h"
#include "enrich/internal.h"
#include "enrich/secret.h"

#include <errno.h>
#include <string.h>

/* Copies the row; *ret is its number. */
static int copy_row(struct batch *dst, const struct batch *src, size_t row, size_t *ret)
{
	int r = batch_append(dst, src, row, row + 1);

	if (r < 0)
		return r;
	*ret = dst->rows - 1;
	return 0;
}

static int set_id(struct keys *keys, struct batch *dst, size_t to, const struct batch *src,
		  size_t row, int64_t *ret)
{
	int64_t key = batch_get(src, 0, row, -1);
	int r;

	if (key < 0)
		return -EINVAL;
	r = keys_add(keys, key, ret);
	return r < 0 ? r : batch_set(dst, 0, to, *ret);
}

/* A reference to another dimension: its dense id, or null if the source never sent that row. */
static int set_reference(struct keys *keys, struct batch *dst, size_t to, unsigned int column)
{
	int64_t key = batch_get(dst, column, to, -1);
	int64_t id = key < 0 ? -1 : keys_find(keys, key);

	if (id >= 0)
		return batch_set(dst, column, to, id);
	batch_set_null(dst, column, to);
	return 0;
}

/* task, inode: replaces the key that all versions share by the id of the first version. */
static int set_first_version(struct idmap *first, struct batch *dst, size_t to, unsigned int column,
			     int64_t id)
{
	int64_t key = batch_get(dst, column, to, -1), known;
	int r;

	if (key < 0) /* sources with one version per thing may omit it */
		return batch_set(dst, column, to, id);
	known = idmap_get(first, key);
	if (known >= 0)
		return batch_set(dst, column, to, known);
	r = idmap_set(first, key, id);
	return r < 0 ? r : batch_set(dst, column, to, id);
}

/*
 * The same for the generation of a file. In most sources its key is that of its first version, and most files have only
 * one version: this is stored as a bit of that version instead of a map entry.
 */
static int set_generation(struct enrich *e, struct batch *dst, size_t to, const struct batch *src,
			  size_t row, int64_t id)
{
	int64_t key = batch_get(src, FILE_INODE, row, -1), first;

	if (key < 0)
		return batch_set(dst, FILE_INODE, to, id);
	first = keys_find(&e->files, key);
	if (key == batch_get(src, FILE_ID, row, -1) && idmap_get(&e->inodes, key) < 0)
		e->file_facts[id] |= FILE_FACT_NAMES;
	else if (first < 0 || !(e->file_facts[first] & FILE_FACT_NAMES))
		return set_first_version(&e->inodes, dst, to, FILE_INODE, id);
	return batch_set(dst, FILE_INODE, to, first);
}

static int add_host(struct enrich *e, struct batch *dst, size_t to, const struct batch *src,
		    size_t row)
{
	int64_t id;

	return set_id(&e->hosts, dst, to, src, row, &id);
}

static int add_stack(struct enrich *e, struct batch *dst, size_t to, const struct batch *src,
		     size_t row)
{
	int64_t id;

	return set_id(&e->stacks, dst, to, src, row, &id);
}

static int add_cgroup(struct enrich *e, struct batch *dst, size_t to, const struct batch *src,
		      size_t row)
{
	struct bytes path = batch_get_bytes(src, CGROUP_PATH, row), v;
	int64_t id;
	int r = set_id(&e->cgroups, dst, to, src, row, &id);

	if (r >= 0 && path.data && batch_is_null(src, CGROUP_UNIT, row)) {
		v = cgroup_unit(path);
		if (v.data)
			r = batch_set_bytes(dst, CGROUP_UNIT, to, v.data, v.len);
	}
	if (r >= 0 && path.data && batch_is_null(src, CGROUP_CONTAINER, row)) {
		v = cgroup_container(path);
		if (v.data)
			r = batch_set_bytes(dst, CGROUP_CONTAINER, to, v.data, v.len);
	}
	return r;
}

static int mask_arguments(struct enrich *e, struct batch *dst, size_t to, const struct batch *src,
			  size_t row)
{
	struct bytes argv = batch_get_bytes(src, PROCESS_ARGV, row);
	_cleanup_buf_ struct buf masked = {0};
	ssize_t n = argv.len && !e->keep_secrets ? secret_mask(argv, &masked, &e->masked) : 0;

	if (n <= 0)
		return (int)n;
	return batch_replace_bytes(dst, PROCESS_ARGV, to, masked.data, masked.len);
}

static int add_process(struct enrich *e, struct batch *dst, size_t to, const struct batch *src,
		       size_t row)
{
	int64_t id;
	int r = set_id(&e->processes, dst, to, src, row, &id);

	if (r >= 0)
		r = mask_arguments(e, dst, to, src, row);
	if (r < 0)
		return r;
	/* A recording covers one machine: a source that sends its host need not repeat it in every process. */
	if (batch_is_null(src, PROCESS_HOST_ID, row))
		return e->hosts.next == 1 ? batch_set(dst, PROCESS_HOST_ID, to, 0) : 0;
	return set_reference(&e->hosts, dst, to, PROCESS_HOST_ID);
}

static int add_thread(struct enrich *e, struct batch *dst, size_t to, const struct batch *src,
		      size_t row)
{
	int64_t id;
	int r = set_id(&e->threads, dst, to, src, row, &id);

	if (r < 0)
		return r;
	r = set_first_version(&e->tasks, dst, to, THREAD_TASK, id);
	if (r < 0)
		return r;
	r = set_reference(&e->processes, dst, to, THREAD_PROCESS_ID);
	if (r < 0)
		return r;
	return set_reference(&e->cgroups, dst, to, THREAD_CGROUP_ID);
}

static int add_file(struct enrich *e, struct batch *dst, size_t to, const struct batch *src,
		    size_t row)
{
	int64_t id;
	int r = set_id(&e->files, dst, to, src, row, &id);

	if (r >= 0)
		r = grow_zeroed((void **)&e->file_facts, &e->file_facts_cap, (size_t)id + 1, 1);
	if (r < 0)
		return r;
	e->file_facts[id] = (e->file_facts[id] & FILE_FACT_NAMES) |
			    (uint8_t)batch_get(src, FILE_TYPE, row, FILE_TYPE_UNKNOWN);
	return set_generation(e, dst, to, src, row, id);
}

typedef int (*add_row_fn)(struct enrich *, struct batch *, size_t, const struct batch *, size_t);

int enrich_dimensions(struct enrich *e, const struct batch_set *in, struct batch_set *out)
{
	/* A table precedes those that refer to it. */
	static const struct {
		enum table_id table;
		add_row_fn add;
	} order[] = {
		{TABLE_HOST, add_host},	      {TABLE_CGROUP, add_cgroup},
		{TABLE_PROCESS, add_process}, {TABLE_THREAD, add_thread},
		{TABLE_FILE, add_file},	      {TABLE_STACK, add_stack},
	};

	for (size_t t = 0; t < ARRAY_SIZE(order); t++) {
		const struct batch *src = in->tables[order[t].table];
		struct batch *dst;
		size_t to;
		int r;

		if (!src || !src->rows)
			continue;
		r = batch_set_table(out, order[t].table, &dst);
		if (r < 0)
			return r;
		for (size_t i = 0; i < src->rows; i++) {
			r = copy_row(dst, src, i, &to);
			if (r >= 0)
				r = order[t].add(e, dst, to, src, i);
			if (r < 0)
				return r;
		}
		if (e->keep_dims >> order[t].table & 1) {
			r = dims_apply(e->dims, dst);
			if (r < 0)
				return r;
		}
	}
	return 0;
}
