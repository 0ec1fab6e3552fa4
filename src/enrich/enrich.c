/* SPDX-License-Identifier: Apache-2.0 */
#include "enrich/enrich.h"

#include <errno.h>

#include "enrich/internal.h"

void enrich_free(struct enrich *e)
{
	if (!e)
		return;
	keys_free(&e->hosts);
	keys_free(&e->cgroups);
	keys_free(&e->processes);
	keys_free(&e->threads);
	keys_free(&e->files);
	idmap_free(&e->tasks);
	idmap_free(&e->inodes);
	free(e->file_facts);
	dims_free(e->dims);
	free(e);
}

int enrich_new(struct enrich **ret, struct error *err)
{
	_cleanup_(enrich_freep) struct enrich *e = calloc(1, sizeof(*e));

	if (!e || dims_new(&e->dims) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	e->keep_dims = ENRICH_KEEP_ALL;
	enrich_facts(e->ops);
	*ret = TAKE_PTR(e);
	return 0;
}

void enrich_keep_dims(struct enrich *e, uint32_t tables)
{
	e->keep_dims = tables;
}

void enrich_forget(struct enrich *e, enum table_id table)
{
	dims_forget(e->dims, table);
}

const struct dims *enrich_dims(const struct enrich *e)
{
	return e->dims;
}

/* Rows of loss and mark pass through; a loss's thread is a key of the source. */
static int pass(struct enrich *e, enum table_id table, const struct batch *in,
		struct batch_set *out)
{
	struct batch *b;
	size_t first;
	int r;

	if (!in || !in->rows)
		return 0;
	r = batch_set_table(out, table, &b);
	if (r < 0)
		return r;
	first = b->rows;
	r = batch_append(b, in, 0, in->rows);
	for (size_t i = first; table == TABLE_LOSS && r >= 0 && i < b->rows; i++) {
		int64_t key = batch_get(b, LOSS_THREAD_ID, i, -1);
		int64_t id = key < 0 ? -1 : keys_find(&e->threads, key);

		if (id >= 0)
			r = batch_set(b, LOSS_THREAD_ID, i, id);
		else
			batch_set_null(b, LOSS_THREAD_ID, i);
	}
	return r;
}

int enrich_apply(struct enrich *e, const struct batch_set *in, struct batch_set *out,
		 struct error *err)
{
	const struct batch *op = in->tables[TABLE_OP];
	int r;

	r = enrich_dimensions(e, in, out);
	if (r == -EINVAL)
		return error_set(
			err, r,
			"the source gave a dimension row without a key: this is a bug in weir");
	if (r >= 0 && op && op->rows)
		r = enrich_ops(e, op, out);
	if (r >= 0)
		r = pass(e, TABLE_LOSS, in->tables[TABLE_LOSS], out);
	if (r >= 0)
		r = pass(e, TABLE_MARK, in->tables[TABLE_MARK], out);
	if (r < 0)
		return error_errno(err, r, "enriching %zu rows", batch_set_count(in));
	return 0;
}
