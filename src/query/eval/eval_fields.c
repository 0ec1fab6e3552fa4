/* SPDX-License-Identifier: Apache-2.0 */
#include "query/eval/eval_fields.h"

#include <errno.h>

#include "query/eval/eval_internal.h"

struct eval_fields {
	struct eval *eval; /* owns the patterns */
	struct arena texts;
	struct eval_scalar scalar;
};

int eval_fields_new(struct eval_fields **ret, const struct expr *const *exprs, size_t count,
		    struct error *err)
{
	_cleanup_(eval_fields_freep) struct eval_fields *f = calloc(1, sizeof(*f));
	int r = f ? eval_new(&f->eval, NULL, 0, err) : -ENOMEM;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = eval_patterns(f->eval, exprs[i], err);
	if (r < 0)
		return error_errno(err, r, "preparing a condition");
	f->scalar = (struct eval_scalar){.e = f->eval, .at = SCALAR_NONE, .texts = &f->texts};
	*ret = TAKE_PTR(f);
	return 0;
}

void eval_fields_free(struct eval_fields *f)
{
	if (!f)
		return;
	scalar_done(&f->scalar);
	arena_free(&f->texts);
	eval_free(f->eval);
	free(f);
}

void eval_fields_dims(struct eval_fields *f, const struct dims *d)
{
	f->scalar.dims = d;
}

int eval_fields_value(struct eval_fields *f, const struct expr *e, const struct value *fields,
		      struct value *ret)
{
	arena_clear(&f->texts);
	f->scalar.fields = fields;
	return scalar_value(&f->scalar, e, ret);
}

int eval_fields_text(struct eval_fields *f, struct query_kind kind, const struct value *v,
		     struct bytes *ret)
{
	return scalar_text(&f->scalar, kind, v, ret);
}
