// SPDX-License-Identifier: Apache-2.0
#include "engine/answer.h"

static int result_next(struct answer *r, struct error *err _unused_)
{
	return engine_result_next(r->arg);
}

static struct value result_get(struct answer *r, size_t column)
{
	struct engine_result *result = r->arg;
	struct value v = {.null = engine_result_is_null(result, column)};

	if (v.null)
		return v;
	switch (r->columns[column].kind.type) {
	case QUERY_FLOAT:
		v.f = engine_result_float(result, column);
		break;
	case QUERY_TEXT:
	case QUERY_ENTITY:
	case QUERY_HIST:
	case QUERY_TALLY:
		v.t = engine_result_bytes(result, column);
		break;
	case QUERY_CODE:
		/* a code, or its word if the engine returns text */
		if (engine_result_column(result, column)->type == ENGINE_TEXT)
			v.t = engine_result_bytes(result, column);
		else
			v.i = engine_result_int(result, column);
		break;
	default:
		v.i = engine_result_int(result, column);
	}
	return v;
}

static bool result_estimated(const struct answer *r, size_t column)
{
	return engine_result_estimated(r->arg, column);
}

int answer_of_result(struct answer *ret, const struct plan *p, struct engine_result *result)
{
	*ret = (struct answer){.next = result_next,
			       .get = result_get,
			       .estimated = result_estimated,
			       .arg = result};
	return answer_init(ret, p);
}
