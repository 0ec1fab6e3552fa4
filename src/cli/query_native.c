// SPDX-License-Identifier: Apache-2.0
/* query_native.c: answers of weir's own, where there is no engine. */
#include <errno.h>

#include "cli/query.h"
#include "engine/native.h"

static bool stopped(void *arg)
{
	struct interrupt *it = arg;

	return interrupt_signal(it) != 0;
}

static void progress(const void *arg, uint64_t *ret_done, uint64_t *ret_total)
{
	native_progress(arg, ret_done, ret_total);
}

int query_native(struct query_session *s, const struct plan *p, struct native **ret,
		 struct error *err)
{
	_cleanup_(native_freep) struct native *n = NULL;
	int r = native_new(&n, s->store, p, err);

	if (r < 0)
		return r;
	interrupt_progress(s->it, progress, n);
	r = native_run(n, stopped, s->it, err);
	interrupt_progress(s->it, NULL, NULL);
	if (r >= 0)
		*ret = TAKE_PTR(n);
	return r;
}
