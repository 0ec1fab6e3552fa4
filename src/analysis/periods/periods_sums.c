/* SPDX-License-Identifier: Apache-2.0 */
/* periods_sums.c: counts and times by definition and by group, and of children by parent. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#include "analysis/periods/periods.h"

#define GROUP_PARTS_MAX 8

/* --group-by PERIOD.CAPTURE, ... */
struct group_part {
	uint32_t period, capture;
};

struct sum {
	size_t complete, cut, lost, running;
	int64_t *durs; /* of complete matches */
	size_t cap;
	double total, squares;
};

struct sums {
	const struct periods_found *found;
	struct group_part parts[GROUP_PARTS_MAX];
	size_t part_count;
	struct intern groups; /* group names */
	struct sum *items;    /* by group and period */
	size_t cap;
};

static void period_sums_free(struct sums *s)
{
	for (size_t i = 0; i < s->groups.count * s->found->set.count; i++)
		free(s->items[i].durs);
	free(s->items);
	intern_free(&s->groups);
}

/* ---- groups ---- */

static int group_part_find(struct sums *s, const char *text, size_t len, struct error *err)
{
	const struct period_set *set = &s->found->set;
	const struct period *of = NULL;

	for (size_t i = 0; i < set->count; i++) {
		const struct period *p = set->items[i];
		size_t name = strlen(p->name);

		if (len <= name || memcmp(p->name, text, name) != 0 || text[name] != '.')
			continue;
		of = p;
		for (size_t c = 0; c < p->capture_count; c++) {
			if (strlen(p->captures[c].name) != len - name - 1 ||
			    memcmp(p->captures[c].name, text + name + 1, len - name - 1) != 0)
				continue;
			if (s->part_count == GROUP_PARTS_MAX)
				return error_set(err, -EINVAL, "--group-by: more than %d captures",
						 GROUP_PARTS_MAX);
			s->parts[s->part_count++] = (struct group_part){(uint32_t)i, (uint32_t)c};
			return 0;
		}
	}
	if (of)
		return error_set(err, -EINVAL, "--group-by: period %s has no capture '%.*s'%s",
				 of->name, (int)(len - strlen(of->name) - 1),
				 text + strlen(of->name) + 1,
				 of->capture_count ? "" : "; captures follow END: ': NAME = EXPR'");
	return error_set(err, -EINVAL, "--group-by: '%.*s' is not of the form PERIOD.CAPTURE",
			 (int)len, text);
}

static int groups_parse(struct sums *s, const char *text, struct error *err)
{
	int r = text && !*text ? error_set(err, -EINVAL, "--group-by: the captures are missing")
			       : 0;
	size_t len;

	for (; text && r >= 0 && periods_next_name(&text, &len); text += len)
		r = group_part_find(s, text, len, err);
	return r;
}

static int put_capture(const struct periods_found *f, const struct period_match *m,
		       uint32_t capture, struct buf *to)
{
	uint32_t text = f->matches.captures[m->first_capture + capture];
	struct bytes b;

	if (text == PERIOD_NO_TEXT)
		return buf_printf(to, "null");
	b = intern_get(&f->matches.captured, text);
	return b.len ? buf_append(to, b.data, b.len) : 0;
}

/* "request.size = 10, request.comm = nginx", from the match and its ancestors. */
static int match_group(struct sums *s, const struct period_match *m, struct buf *text,
		       uint32_t *ret)
{
	int r;

	buf_clear(text);
	for (size_t i = 0; i < s->part_count; i++) {
		const struct group_part *part = &s->parts[i];
		const struct period *p = s->found->set.items[part->period];
		const struct period_match *of = m;

		while (of && of->period != part->period)
			of = periods_parent(s->found, of);
		buf_printf(text, "%s%s.%s = ", i ? ", " : "", p->name,
			   p->captures[part->capture].name);
		if (of)
			put_capture(s->found, of, part->capture, text);
		else
			buf_printf(text, "-");
	}
	r = buf_status(text);
	return r < 0 ? r : intern_add(&s->groups, text->data, text->len, ret);
}

/* ---- sums ---- */

static int period_sum_add(struct sum *to, const struct period_match *m)
{
	to->cut += m->status == SPAN_STATUS_CUT;
	to->lost += m->lost;
	to->running += m->status == SPAN_STATUS_RUNNING;
	if (m->status != SPAN_STATUS_UNSET)
		return 0;
	if (array_add(to->durs, to->complete, to->cap, m->dur) < 0)
		return -ENOMEM;
	to->total += (double)m->dur;
	to->squares += (double)m->dur * (double)m->dur;
	return 0;
}

static int sums_add(struct sums *s, const struct period_match *m, struct buf *text)
{
	const size_t count = s->found->set.count;
	size_t had = s->groups.count;
	uint32_t group;
	int r = match_group(s, m, text, &group);

	if (r >= 0 && s->groups.count > had) {
		r = grow((void **)&s->items, &s->cap, s->groups.count * count, sizeof(*s->items));
		if (r >= 0)
			memset(s->items + had * count, 0, count * sizeof(*s->items));
		else
			s->groups.count = had;
	}
	return r < 0 ? r : period_sum_add(&s->items[group * count + m->period], m);
}

/* The smallest duration such that this part of all is not longer. */
static int64_t sum_quantile(const struct sum *s, double part)
{
	size_t at = (size_t)ceil(part * (double)s->complete);

	return s->durs[at ? at - 1 : 0];
}

static double sum_stddev(const struct sum *s)
{
	double n = (double)s->complete;

	return n < 2 ? NAN : sqrt(fmax(s->squares - s->total * s->total / n, 0) / (n - 1));
}

static const struct answer_column sum_columns[] = {
	{"group", {QUERY_TEXT}}, /* only with --group-by */
	{"period", {QUERY_TEXT}},
	{"parent", {QUERY_TEXT}, .dash = true, .gives = 1},
	{"count", {QUERY_INT}, ANSWER_COUNT},
	/* below the table, too */
	{"cut", {QUERY_INT}, ANSWER_COUNT, .dash = true, .gives = 6},
	{"lost", {QUERY_INT}, ANSWER_COUNT, .dash = true, .gives = 5},
	{"running", {QUERY_INT}, ANSWER_COUNT, .dash = true, .gives = 4},
	{"total", {QUERY_DUR}, .word = "dur"},
	{"avg", {QUERY_DUR}, .word = "dur"},
	{"median", {QUERY_DUR}, .word = "dur"},
	{"p99", {QUERY_DUR}, .word = "dur", .gives = 2},
	{"max", {QUERY_DUR}, .word = "dur"},
	{"min", {QUERY_DUR}, .word = "dur", .gives = 3},
	{"stddev", {QUERY_DUR}, .word = "dur", .gives = 7},
};

static void put_sum(struct answer_list *t, const struct sum *s)
{
	answer_list_int(t, (int64_t)s->complete);
	answer_list_int(t, (int64_t)s->cut);
	answer_list_int(t, (int64_t)s->lost);
	answer_list_int(t, (int64_t)s->running);
	if (!s->complete) {
		for (size_t i = 0; i < 7; i++)
			answer_list_null(t);
		return;
	}
	array_sort(s->durs, s->complete, order_i64);
	answer_list_int(t, (int64_t)s->total);
	answer_list_int(t, (int64_t)(s->total / (double)s->complete));
	answer_list_int(t, sum_quantile(s, 0.5));
	answer_list_int(t, sum_quantile(s, 0.99));
	answer_list_int(t, s->durs[s->complete - 1]);
	answer_list_int(t, s->durs[0]);
	answer_list_known(t, s->complete >= 2 ? (int64_t)sum_stddev(s) : -1);
}

static void put_period_sums(const struct sums *s, struct answer_list *t)
{
	const struct period_set *set = &s->found->set;
	static const struct sum none = {0};

	/* periods without matches are listed as well; once if there are no groups */
	for (size_t g = 0; g < MAX(s->groups.count, (size_t)1); g++) {
		for (size_t i = 0; i < set->count; i++) {
			const struct period *p = set->items[i];
			const struct sum *of = s->items ? &s->items[g * set->count + i] : &none;

			if (!s->found->shown[i] ||
			    (s->part_count && !of->complete && !of->cut && !of->running))
				continue;
			if (s->part_count)
				answer_list_text(t, intern_get(&s->groups, (uint32_t)g));
			answer_list_str(t, p->name);
			answer_list_str(t, p->parent < 0 ? NULL : set->items[p->parent]->name);
			put_sum(t, of);
		}
	}
}

/* ---- children by parent ---- */

static const struct answer_column aggregate_columns[] = {
	{"start", {QUERY_TIME}},
	{"dur", {QUERY_DUR}, .word = "dur"},
	{"number", {QUERY_INT}, .gives = 4},
	{"period", {QUERY_TEXT}},
	{"child", {QUERY_TEXT}},
	{"count", {QUERY_INT}, ANSWER_COUNT},
	{"min", {QUERY_DUR}, .word = "dur", .gives = 2},
	{"avg", {QUERY_DUR}, .word = "dur"},
	{"max", {QUERY_DUR}, .word = "dur"},
	{"stddev", {QUERY_DUR}, .word = "dur", .gives = 3},
	{"total", {QUERY_DUR}, .word = "dur"},
	{"attributes", {QUERY_TEXT}, .gives = 1},
};

static int put_aggregate(const struct periods_found *f, struct answer_list *t,
			 const struct period_match *m, uint32_t child, const struct sum *s)
{
	_cleanup_buf_ struct buf attributes = {0};
	double stddev = sum_stddev(s);
	int64_t least = INT64_MAX, most = 0;
	int r = periods_attributes(f, m, &attributes);

	for (size_t i = 0; i < s->complete; i++) {
		least = MIN(least, s->durs[i]);
		most = MAX(most, s->durs[i]);
	}
	answer_list_int(t, m->start);
	answer_list_if(t, m->dur != PERIOD_NO_DUR, m->dur);
	answer_list_int(t, m->number);
	answer_list_str(t, f->set.items[m->period]->name);
	answer_list_str(t, f->set.items[child]->name);
	answer_list_int(t, (int64_t)s->complete);
	answer_list_int(t, least);
	answer_list_int(t, (int64_t)(s->total / (double)s->complete));
	answer_list_int(t, most);
	answer_list_known(t, !isnan(stddev) ? (int64_t)stddev : -1);
	answer_list_int(t, (int64_t)s->total);
	answer_list_some(t, buf_bytes(&attributes));
	return r;
}

/* For each match of the period, sums of the complete matches below it, by definition. */
static int put_aggregates(const struct periods_found *f, struct answer_list *t)
{
	const size_t count = f->set.count;
	_cleanup_free_ struct sum *all =
		calloc(MAX(f->matches.count * count, (size_t)1), sizeof(*all));
	int r = all ? 0 : -ENOMEM;

	for (size_t i = 0; i < f->matches.count && r >= 0; i++) {
		const struct period_match *m = &f->matches.items[i], *of = m;

		if (!f->shown[m->period] || (int)m->period == f->aggregate_by)
			continue;
		while (of && (int)of->period != f->aggregate_by)
			of = periods_parent(f, of);
		if (of)
			r = period_sum_add(
				&all[(size_t)(of - f->matches.items) * count + m->period], m);
	}
	for (size_t i = 0; all && i < f->matches.count * count; i++) {
		if (all[i].complete && r >= 0)
			r = put_aggregate(f, t, &f->matches.items[i / count], (uint32_t)(i % count),
					  &all[i]);
		free(all[i].durs);
	}
	return r;
}

int periods_sums(const struct periods_found *f, const struct periods_flags *flags,
		 struct analysis_result *out, struct error *err)
{
	_cleanup_(period_sums_free) struct sums s = {.found = f};
	_cleanup_buf_ struct buf text = {0};
	struct answer_list *t;
	size_t left_out;
	int r = groups_parse(&s, flags->group_by, err);

	if (r < 0)
		return r;
	left_out = s.part_count ? 0 : 1;
	t = analysis_table(out, "periods", sum_columns + left_out,
			   ARRAY_SIZE(sum_columns) - left_out);
	for (size_t i = 0; i < f->matches.count && r >= 0; i++)
		r = sums_add(&s, &f->matches.items[i], &text);
	if (r >= 0)
		put_period_sums(&s, t);
	if (r >= 0 && f->aggregate_by >= 0)
		r = put_aggregates(f, analysis_table(out, "aggregates", aggregate_columns,
						     ARRAY_SIZE(aggregate_columns)));
	return r < 0 ? error_errno(err, r, "adding up periods") : 0;
}
