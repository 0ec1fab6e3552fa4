/* SPDX-License-Identifier: Apache-2.0 */
/* eval_fields.c: the evaluator of single values, over fields instead of columns. */
#include <errno.h>

#include "query/eval_internal.h"
#include "query/fields.h"

struct query_fields {
	struct eval *eval; /* for its patterns */
	const struct expr **exprs;
	size_t count;
	struct text_arena texts;
	struct scalar scalar;
};

int query_fields_new(struct query_fields **ret, const struct expr *const *exprs, size_t count,
		     struct error *err)
{
	_cleanup_(query_fields_freep) struct query_fields *f = calloc(1, sizeof(*f));
	int r = f ? 0 : -ENOMEM;

	if (r >= 0) {
		f->eval = calloc(1, sizeof(*f->eval));
		f->exprs = calloc(count + 1, sizeof(*f->exprs));
		r = f->eval && f->exprs ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < count && r >= 0; i++) {
		f->exprs[i] = exprs[i];
		r = eval_patterns(f->eval, exprs[i], err);
	}
	if (r < 0)
		return error_errno(err, r, "preparing a stage");
	f->count = count;
	f->scalar = (struct scalar){.e = f->eval, .at = SCALAR_ROW, .texts = &f->texts};
	*ret = TAKE_PTR(f);
	return 0;
}

void query_fields_free(struct query_fields *f)
{
	if (!f)
		return;
	text_arena_free(&f->texts);
	buf_free(&f->scalar.scratch);
	eval_free(f->eval);
	free(f->exprs);
	free(f);
}

int query_fields_value(struct query_fields *f, size_t k, const struct dims *d,
		       const struct value *row, struct value *ret)
{
	assert(k < f->count);
	f->scalar.dims = d;
	f->scalar.fields = row;
	return scalar_value(&f->scalar, f->exprs[k], ret);
}

int query_fields_text(struct query_fields *f, struct query_kind kind, const struct dims *d,
		      const struct value *v, struct bytes *ret)
{
	f->scalar.dims = d;
	return scalar_text(&f->scalar, kind, v, ret);
}

void query_fields_clear(struct query_fields *f)
{
	text_arena_clear(&f->texts);
}
