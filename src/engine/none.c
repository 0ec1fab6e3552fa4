// SPDX-License-Identifier: Apache-2.0
/*
 * none.c: stands where weir is built without an engine, as in one static file: rows are scanned
 * (scan_rows.c), and what needs an engine is refused. No engine is ever opened, so that nothing else of the
 * contract (engine.h, ask.h) is reached.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine/answer.h"
#include "engine/ask.h"

int engine_open(struct engine **ret _unused_, struct store *store _unused_,
		const struct engine_options *opt _unused_, struct error *err)
{
	return error_set(err, -EOPNOTSUPP,
			 "this weir is built without an engine: it filters rows (where, select, "
			 "head), but groups, order and joins need a weir with DuckDB's library; "
			 "install the packages weir and weir-engine, or copy the trace to a host "
			 "that has them");
}

void engine_free(struct engine *e)
{
	assert(!e);
}

void engine_interrupt(struct engine *e _unused_)
{
}

void engine_progress(const struct engine *e _unused_, uint64_t *ret_done, uint64_t *ret_total)
{
	*ret_done = *ret_total = 0;
}

void engine_abandon(struct engine *e _unused_)
{
}

void engine_abandon_all(void)
{
}

static int unreached(void)
{
	assert(!"there is no engine");
	return -EOPNOTSUPP;
}

int engine_ask(struct engine *e _unused_, const struct plan *p _unused_,
	       const struct ask_options *opt _unused_, struct engine_result **ret _unused_,
	       struct error *err _unused_)
{
	return unreached();
}

int engine_explain(struct engine *e _unused_, const struct plan *p _unused_,
		   struct buf *out _unused_, struct error *err _unused_)
{
	return unreached();
}

bool engine_result_next(struct engine_result *r _unused_)
{
	return unreached() == 0;
}

void engine_result_free(struct engine_result *r)
{
	assert(!r);
}

size_t engine_answer_steps(const struct engine_result *r _unused_, const struct ask_step **ret)
{
	*ret = NULL;
	return 0;
}

int answer_of_result(struct answer *ret _unused_, const struct plan *p _unused_,
		     struct engine_result *result _unused_)
{
	return unreached();
}

int engine_follow_new(struct engine_follow **ret _unused_, struct engine *e _unused_,
		      const struct plan *p _unused_, struct error *err _unused_)
{
	return unreached();
}

void engine_follow_free(struct engine_follow *f)
{
	assert(!f);
}

int engine_follow_refresh(struct engine_follow *f _unused_, struct engine_result **ret _unused_,
			  struct error *err _unused_)
{
	return unreached();
}
