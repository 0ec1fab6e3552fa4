// SPDX-License-Identifier: Apache-2.0
/* alike.c: --similar, --groups and --order of `weir flow`. */
#include "analysis/alike/alike.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PERCENT_LEAST	50
#define PERCENT_DEFAULT 80

int alike_check(const struct alike_options *o, struct error *err)
{
	if (!alike_wanted(o)) {
		if (o->by || o->least)
			return error_set(err, -EINVAL, "%s needs --similar or --groups",
					 o->by ? "--by" : "--least");
		return 0;
	}
	if (!!o->similar + o->groups + o->order > 1)
		return error_set(err, -EINVAL,
				 "--similar, --groups and --order exclude each other");
	if (o->by && strcmp(o->by, "call") != 0 && strcmp(o->by, "file") != 0)
		return error_set(err, -EINVAL, "--by '%.40s': use call or file", o->by);
	if (o->by && o->order)
		return error_set(err, -EINVAL, "--by needs --similar or --groups");
	if (o->least && (o->least < PERCENT_LEAST || o->least > 100))
		return error_set(err, -EINVAL, "--least %lld: must be from %d to 100 percent",
				 (long long)o->least, PERCENT_LEAST);
	return 0;
}

static int alike_answer(struct alike *a, const struct alike_options *o, const struct map *of,
			struct analysis_result *out)
{
	double least = (double)(o->least ? o->least : PERCENT_DEFAULT) / 100;
	int r = alike_make_kinds(a);

	if (r < 0)
		return r;
	if (o->similar)
		return alike_put_similar(a, of, least, out);
	if (o->order) {
		r = alike_make_order(a);
		return r < 0 ? r : alike_put_order(a, o, out);
	}
	r = alike_link_kinds(a);
	if (r < 0)
		return r;
	free(a->elements); /* groups have links instead */
	free(a->signatures);
	a->elements = NULL;
	a->signatures = NULL;
	r = alike_make_groups(a, least);
	return r < 0 ? r : alike_put_groups(a, o, out);
}

int alike_run(struct alike **ret, const struct analysis_input *in, const struct alike_options *o,
	      struct analysis_result *out, struct error *err)
{
	struct alike *a = *ret = calloc(1, sizeof(*a));
	_cleanup_(map_free) struct map of = {0};
	int r;

	if (!a)
		return -ENOMEM;
	a->in = in;
	a->run = &in->runs[0];
	a->dims = store_dims(a->run->store);
	a->sets = !o->order;
	a->unit = o->by && !strcmp(o->by, "file") ? ALIKE_FILES : ALIKE_CALLS;
	r = o->similar
		    ? analysis_calls(in, a->run, "--similar", o->similar, ALIKE_CALLS_MAX, &of, err)
		    : 0;
	if (r >= 0 && o->similar && !of.count)
		return error_set(err, -EINVAL, "--similar '%s': no call matches", o->similar);
	if (r >= 0)
		r = alike_read_calls(a, err);
	if (r < 0)
		return r;
	r = alike_answer(a, o, &of, out);
	if (r == -ENODATA)
		return error_set(
			err, -EINVAL,
			"--similar '%s': the data of these calls was not recorded completely (weir "
			"record --content=chunks), or the selection leaves these calls out",
			o->similar);
	if (r == -E2BIG)
		return error_set(err, -EINVAL,
				 "--similar '%s': these calls moved more than 1,000 different "
				 "pieces of data; select fewer",
				 o->similar);
	if (r == -EINTR)
		return error_set(err, r, "interrupted");
	return r < 0 ? error_errno(err, r, "comparing content") : 0;
}

void alike_free(struct alike *a)
{
	if (!a)
		return;
	free(a->calls);
	alike_index_free(&a->by_start);
	alike_ids_free(&a->threads);
	alike_ids_free(&a->files);
	map_free(&a->last);
	free(a->parts);
	free(a->elements);
	free(a->kinds);
	free(a->signatures);
	free(a->links);
	free(a->groups);
	free(a->ranked);
	free(a->reads);
	free(a->epochs);
	free(a);
}

int alike_members(const struct alike *a, struct buf *to)
{
	return buf_printf(
		to,
		",\n\"parts\": \"%s\", \"hashes\": %d, \"error\": %.4f, \"calls\": %llu, "
		"\"unknown\": %llu, \"kinds\": %zu, \"compared\": %llu, \"once\": %llu, "
		"\"calls_left_out\": %llu, \"parts_left_out\": %llu, \"sets_left_out\": "
		"%llu, \"pairs_left_out\": %llu, \"rows_left_out\": %llu",
		a->cuts ? "cut" : "piece", ALIKE_HASHES, 0.5 / 16, (unsigned long long)a->content,
		(unsigned long long)a->unknown, a->kind_count, (unsigned long long)a->compared,
		(unsigned long long)a->once, (unsigned long long)a->calls_left_out,
		(unsigned long long)a->parts_left_out, (unsigned long long)a->sets_left_out,
		(unsigned long long)a->pairs_left_out, (unsigned long long)a->rows_left_out);
}
