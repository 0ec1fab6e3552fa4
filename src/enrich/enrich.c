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
	keys_free(&e->stacks);
	idmap_free(&e->tasks);
	idmap_free(&e->inodes);
	recent_free(&e->masked.seen);
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
	e->masked.seen.max = SECRETS_KNOWN;
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

void enrich_keep_secrets(struct enrich *e)
{
	e->keep_secrets = true;
}

uint64_t enrich_masked(const struct enrich *e)
{
	return e->masked.count;
}

const struct dims *enrich_dims(const struct enrich *e)
{
	return e->dims;
}

/* Copies rows of events other than calls, with ids for keys. */
static int enrich_events(struct enrich *e, const struct batch *in, struct batch_set *out)
{
	struct missing m = MISSING_NONE;
	struct batch *b;
	size_t first;
	int r = batch_set_table(out, in->table, &b);

	if (r < 0)
		return r;
	first = b->rows;
	r = batch_append(b, in, 0, in->rows);
	if (r < 0)
		return r;
	enrich_references(e, b, first, &m);
	/* a loss of an unknown thread is already a loss row and needs no second one */
	return in->table == TABLE_LOSS ? 0 : enrich_missing(out, &m);
}

int enrich_apply(struct enrich *e, const struct batch_set *in, struct batch_set *out,
		 struct error *err)
{
	int r;

	r = enrich_dimensions(e, in, out);
	if (r == -EINVAL)
		return error_set(
			err, r,
			"the source gave a dimension row without a key: this is a bug in weir");
	for (unsigned int i = 0; i < TABLE_COUNT && r >= 0; i++) {
		const struct batch *b = in->tables[i];

		if (!b || !b->rows || b->def->kind != TABLE_IS_EVENTS)
			continue;
		r = i == TABLE_OP ? enrich_ops(e, b, out) : enrich_events(e, b, out);
	}
	if (r < 0)
		return error_errno(err, r, "enriching %zu rows", batch_set_count(in));
	return 0;
}
