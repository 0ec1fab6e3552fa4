/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report/report_requests.h"

#include <errno.h>
#include <string.h>

#include "engine/annotations.h"
#include "names/names.h"
#include "query/query.h"

static const char is_request[] = "kind in (io_uring, libaio)";

void report_requests_free(struct beside_groups *g)
{
	struct request_time *t = g->all;

	for (size_t i = 0; i < g->count; i++)
		cover_free(&t[i].under_way);
	beside_groups_free(g);
}

static int requests_take(const struct report *r, struct beside_groups *g, const struct batch *b,
			 size_t row)
{
	int64_t start = batch_get(b, OP_START, row, INT64_MIN),
		part = clip_part(r->store, r->from, r->to, b, row);
	struct request_time *t;
	uint64_t *sum;

	if (start == INT64_MIN || part <= 0)
		return 0;
	t = beside_group(g, (uint64_t)names_task(r->dims, batch_get(b, OP_THREAD_ID, row, -1)));
	if (!t)
		return -ENOMEM;
	t->task = names_task(r->dims, batch_get(b, OP_THREAD_ID, row, -1));
	switch (batch_get(b, OP_CLASS, row, CLASS_OTHER)) {
	case CLASS_WAIT:
		sum = &t->wait;
		break;
	case CLASS_DATA:
	case CLASS_META:
	case CLASS_SYNC:
	case CLASS_NET:
		sum = &t->io;
		break;
	default:
		sum = &t->other;
		break;
	}
	*sum = add_sat(*sum, (uint64_t)part);
	start = MAX(start, r->from);
	return sum == &t->wait ? 0 : cover_add(&t->under_way, start, start + part);
}

/* Skips blocks of op whose headers show that they have no requests. */
static int requests_scan(const struct report *r, struct beside_groups *g, const struct expr *filter)
{
	const struct scan_request q = {.table = TABLE_OP,
				       .columns = 1u << OP_START | 1u << OP_DUR |
						  1u << OP_THREAD_ID | 1u << OP_CLASS |
						  1u << OP_STATUS | 1u << OP_KIND,
				       .from = r->ranged ? r->from : INT64_MIN,
				       .to = INT64_MAX,
				       .filter = filter};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct batch *b;
	const uint32_t *rows;
	struct error err = {0};
	ssize_t n;
	int e = engine_scan_new(&scan, r->store, &q, &err);

	while (e >= 0 && (n = engine_scan_next(scan, &b, &rows, &err)) > 0) {
		for (ssize_t i = 0; i < n && e >= 0; i++)
			e = requests_take(r, g, b, rows[i]);
	}
	return e < 0 ? e : (int)n;
}

int report_requests(const struct report *r, struct beside_groups *ret)
{
	_cleanup_buf_ struct buf text = {0};
	struct query_error why = {0};
	struct plan *plan = NULL;
	int e = buf_printf(&text, "%s", is_request);

	*ret = (struct beside_groups){.size = sizeof(struct request_time)};
	if (e >= 0 && r->choice.text.len)
		e = buf_printf(&text, " and (%.*s)", (int)r->choice.text.len,
			       (const char *)r->choice.text.data);
	if (e >= 0)
		e = query_parse_expr_users(buf_str(&text), text.len, TABLE_OP, true,
					   annotations_get(r->choice.annotations), &plan, &why);
	if (e >= 0)
		e = requests_scan(r, ret, plan->where);
	plan_free(plan);
	return e;
}
