// SPDX-License-Identifier: Apache-2.0
#include "counts.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/ask.h"

struct counts {
	struct engine head;
	struct store *store;
	_Atomic bool interrupted;
};

struct counts_result {
	struct engine_result head;
	struct engine_column column;
	int64_t count;
	bool given;
};

static struct counts *counts_of(struct engine *e)
{
	return (struct counts *)e;
}

static void counts_free(struct engine *e)
{
	store_free(counts_of(e)->store);
	free(e);
}

static int counts_connect(struct engine **ret, const char *address,
			  const struct engine_options *opt _unused_, struct error *err)
{
	const char *path = address + strlen("counts://");
	struct counts *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_errno(err, -ENOMEM, "%s", address);
	c->head.ops = &counts_engine;
	r = store_open(&c->store, &path, 1, err);
	if (r < 0)
		free(c);
	else
		*ret = &c->head;
	return r;
}

static void counts_interrupt(struct engine *e)
{
	atomic_store(&counts_of(e)->interrupted, true);
}

static int counts_range(struct engine *e, int64_t *ret_first, int64_t *ret_last,
			struct error *err _unused_)
{
	store_range(counts_of(e)->store, ret_first, ret_last);
	return 0;
}

static int counts_scan(struct engine *e, const struct scan_request *q, struct engine_scan **ret,
		       struct error *err)
{
	return engine_scan_new(ret, counts_of(e)->store, q, err);
}

/* ---- the answer: one row with one number ---- */

static bool counts_next(struct engine_result *r)
{
	struct counts_result *c = (struct counts_result *)r;
	bool more = !c->given;

	c->given = true;
	return more;
}

static bool counts_is_null(const struct engine_result *r _unused_, size_t column _unused_)
{
	return false;
}

static int64_t counts_int(const struct engine_result *r, size_t column _unused_)
{
	return ((const struct counts_result *)r)->count;
}

static double counts_float(const struct engine_result *r, size_t column)
{
	return (double)counts_int(r, column);
}

static struct bytes counts_bytes(const struct engine_result *r _unused_, size_t column _unused_)
{
	return (struct bytes){NULL, 0};
}

static int counts_text(struct engine_result *r, size_t column, struct buf *out)
{
	return buf_printf(out, "%lld", (long long)counts_int(r, column));
}

static void counts_result_free(struct engine_result *r)
{
	free(r);
}

static const struct engine_result_ops result_ops = {
	.next = counts_next,
	.is_null = counts_is_null,
	.get_int = counts_int,
	.get_float = counts_float,
	.get_bytes = counts_bytes,
	.get_time = counts_int,
	.text = counts_text,
	.free = counts_result_free,
};

static int counts_rows(struct counts *c, const struct plan *p, int64_t *ret, struct error *err)
{
	const struct scan_request q = {
		.table = p->table, .from = p->from, .to = p->to, .filter = p->where};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n;
	int r = counts_scan(&c->head, &q, &scan, err);

	atomic_store(&c->interrupted, false);
	*ret = 0;
	if (r < 0)
		return r;
	while ((n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		*ret += n;
		if (atomic_load(&c->interrupted))
			return error_set(err, -EINTR, "interrupted");
	}
	return (int)n;
}

static int counts_ask(struct engine *e, const struct plan *p,
		      const struct ask_options *opt _unused_, struct engine_result **ret,
		      struct error *err)
{
	bool known = p->field_count == 1 && !p->stage_count && p->grouped &&
		     p->fields[0].kind == FIELD_AGGREGATE &&
		     p->fields[0].aggregate == AGGREGATE_COUNT && !p->fields[0].expr;
	struct counts_result *c;
	int r;

	if (!known)
		return error_set(err, -EOPNOTSUPP, "counts:// answers count() alone");
	c = calloc(1, sizeof(*c));
	if (!c)
		return error_errno(err, -ENOMEM, "counting");
	r = counts_rows(counts_of(e), p, &c->count, err);
	if (r < 0) {
		free(c);
		return r;
	}
	c->column = (struct engine_column){p->fields[0].name, ENGINE_INT, "", false};
	c->head = (struct engine_result){
		.ops = &result_ops, .columns = &c->column, .count = 1, .has_rows = true};
	*ret = &c->head;
	return 0;
}

const struct engine_ops counts_engine = {
	.name = "counts",
	.scheme = "counts",
	.connect = counts_connect,
	.free = counts_free,
	.interrupt = counts_interrupt,
	.range = counts_range,
	.ask = counts_ask,
	.scan = counts_scan,
};
