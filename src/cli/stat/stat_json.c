/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/stat/stat_table.h"
#include "cli/terminal/answer_print.h"

struct members {
	const struct stat_table *table;
	const struct stat_table_json *j;
};

static int put_rest(struct buf *to, const char *name, const struct stat_table_rest *rest)
{
	return buf_printf(to,
			  ", \"%s\": {\"calls\": %" PRIu64 ", \"bytes\": %" PRIu64
			  ", \"time\": %" PRIu64 "}",
			  name, rest->calls, rest->bytes, rest->time_ns);
}

static int stat_json_put_more(void *arg, struct buf *to, struct error *err _unused_)
{
	const struct members *m = arg;
	int r;

	put_rest(to, "waiting", &m->table->waiting);
	put_rest(to, "other", &m->table->other);
	r = buf_printf(to, ", \"span\": %" PRId64, m->j->span_ns);
	if (r < 0 || !m->j->running)
		return r;
	return buf_printf(to, ", \"still_running\": %" PRIu64, *m->j->running);
}

int stat_table_put_json(FILE *out, const struct stat_table *f, enum stat_table_by by, size_t rows,
			const struct stat_table_json *j, struct error *err)
{
	struct members m = {f, j};
	const struct answer_document document = {.origin = j->origin,
						 .compact = true,
						 .loss = j->loss,
						 .put_more = stat_json_put_more,
						 .arg = &m};
	_cleanup_answer_list_ struct answer_list list = {0};
	_cleanup_answer_ struct answer answer = {0};
	int r;

	stat_table_rows(&list, f, by, rows);
	r = answer_of_list(&answer, &list, false);
	return r < 0 ? r : answer_print_json(out, &answer, &document, err);
}
