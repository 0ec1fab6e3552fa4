// SPDX-License-Identifier: Apache-2.0
/*
 * spans_calls.c: the calls that belong to spans, asked of the engine: by table span_op where the trace has it; else a call
 * belongs to the innermost span that its thread had begun and not ended when it was entered, separately for marked spans and
 * for periods. What is found so is said to be (weir.io.by).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "batch/ids.h"
#include "exchange/span_out.h"

static_assert(ID_SHIFT == 40, "as the statements have it");

#define BY_TABLE  "span_op"
#define BY_THREAD "thread and time"

/* Rows (number, row_id, part): the calls that belong to each span, and how long they were part of it. */
static const char member_by_table[] =
	"WITH member AS (SELECT number, thread_id >> 40 AS recording, op_id AS row_id, dur AS part "
	"FROM span_op "
	"WHERE via::VARCHAR <> 'time') ";
static const char member_by_thread[] =
	"WITH all_spans AS (SELECT 0 AS made, number, start, dur, thread_id FROM span UNION ALL "
	"SELECT 1, number, start, dur, thread_id FROM period), "
	"on_task AS (SELECT s.made, s.number, s.thread_id >> 40 AS recording, s.start AS begins, "
	"coalesce(s.start + s.dur, 9223372036854775807) AS ends, t.task "
	"FROM all_spans s JOIN thread t ON t.id = s.thread_id), "
	"pairs AS (SELECT s.made, s.number, s.recording, o.row_id, s.begins, s.ends, "
	"least(o.start + o.dur, s.ends) - o.start AS part "
	"FROM weir_op(row_id := true%s) o JOIN thread t ON t.id = o.thread_id "
	"JOIN on_task s ON s.task = t.task AND o.start >= s.begins AND o.start < s.ends), "
	"member AS (SELECT number, recording, row_id, part FROM pairs QUALIFY row_number() OVER "
	"(PARTITION BY made, row_id ORDER BY begins DESC, ends, number) = 1) ";
static const char sums_of_members[] =
	"SELECT m.number, m.recording, o.class::VARCHAR, count(*), sum(o.bytes)::BIGINT, "
	"sum(m.part)::BIGINT "
	"FROM member m JOIN weir_op(row_id := true%s) o USING (row_id) GROUP BY 1, 2, 3";
static const char calls_of_members[] =
	"SELECT m.number, m.recording, o.row_id, o.start, o.dur, o.bytes, o.op::VARCHAR, "
	"o.class::VARCHAR, "
	"o.err::VARCHAR, o.file_name::VARCHAR "
	"FROM member m JOIN weir_op_named(row_id := true%s) o USING (row_id) "
	"WHERE o.dur >= %lld AND o.start IS NOT NULL ORDER BY o.start, o.row_id";

void spans_calls_free(struct spans_calls *c)
{
	map_free(&c->sums);
	free(c->sum);
	free(c->calls);
	intern_free(&c->texts);
}

/* ---- asking ---- */

typedef int row_fn(struct spans_calls *c, const struct engine_result *row);

static int calls_ask(struct spans_calls *c, struct engine *e, const char *sql, row_fn *take,
		     struct error *err)
{
	_cleanup_(engine_statements_freep) struct engine_statements *statements = NULL;
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	int r = engine_parse(e, sql, &statements, err);

	if (r >= 0)
		r = engine_execute(statements, 0, &result, err);
	while (r >= 0 && engine_result_next(result)) {
		r = take(c, result);
		if (r < 0)
			return error_errno(err, r, "the calls of spans");
	}
	return r;
}

/* Of the first two columns. */
static int64_t row_number(const struct engine_result *row)
{
	return span_key((uint64_t)engine_result_int(row, 1), engine_result_int(row, 0));
}

static int take_sum(struct spans_calls *c, const struct engine_result *row)
{
	struct bytes word = engine_result_bytes(row, 2);
	uint64_t number = (uint64_t)row_number(row), i;
	char class[16] = "";
	struct calls_sum *s;
	int64_t code;
	int r;

	memcpy(class, word.data ? (const char *)word.data : "", MIN(word.len, sizeof(class) - 1));
	code = vocab_code("class", class);
	if (code < 0 || code >= CLASS_COUNT)
		code = CLASS_OTHER;
	if (!map_get(&c->sums, number, &i)) {
		r = grow((void **)&c->sum, &c->cap, c->count + 1, sizeof(*c->sum));
		if (r >= 0)
			r = map_set(&c->sums, number, c->count);
		if (r < 0)
			return r;
		i = c->count++;
		c->sum[i] = (struct calls_sum){0};
	}
	s = &c->sum[i];
	s->calls[code] += (uint64_t)engine_result_int(row, 3);
	s->bytes[code] += engine_result_int(row, 4);
	s->time[code] += engine_result_int(row, 5);
	return 0;
}

static int calls_keep_text(struct spans_calls *c, const struct engine_result *row, size_t column,
			   uint32_t *ret)
{
	struct bytes b = engine_result_bytes(row, column);

	return intern_add(&c->texts, b.data ? (const void *)b.data : "", b.len, ret);
}

static int calls_take_call(struct spans_calls *c, const struct engine_result *row)
{
	uint32_t texts[4];
	struct call_out *call;
	int r;

	if (c->call_count >= SPANS_CALLS_MAX) {
		c->lost++;
		return 0;
	}
	r = grow((void **)&c->calls, &c->call_cap, c->call_count + 1, sizeof(*c->calls));
	for (size_t i = 0; i < ARRAY_SIZE(texts) && r >= 0; i++)
		r = calls_keep_text(c, row, 6 + i, &texts[i]);
	if (r < 0)
		return r;
	call = &c->calls[c->call_count++];
	*call = (struct call_out){.number = row_number(row),
				  .id = engine_result_int(row, 2),
				  .start = engine_result_int(row, 3),
				  .dur = engine_result_int(row, 4),
				  .bytes = engine_result_int(row, 5)};
	/* numbers until all texts are there, as those may move */
	call->op.len = texts[0];
	call->class.len = texts[1];
	call->err.len = texts[2];
	call->file.len = texts[3];
	return 0;
}

static void settle_texts(struct spans_calls *c)
{
	for (size_t i = 0; i < c->call_count; i++) {
		struct call_out *call = &c->calls[i];
		struct bytes *const texts[] = {&call->op, &call->class, &call->err, &call->file};

		for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
			*texts[k] = intern_get(&c->texts, (uint32_t)texts[k]->len);
	}
}

static int calls_compare_calls(const void *a, const void *b)
{
	const struct call_out *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int take_count(struct spans_calls *c, const struct engine_result *row)
{
	c->guessed = engine_result_int(row, 0) == 0;
	return 0;
}

/* The members, then what is asked of them; `range`: the arguments that say which calls are looked at. */
static int calls_put_members(const struct spans_calls *c, const char *range, struct buf *sql)
{
	buf_clear(sql);
	return c->guessed ? buf_printf(sql, member_by_thread, range)
			  : buf_printf(sql, "%s", member_by_table);
}

int spans_calls_read(struct spans_calls *c, const struct spans_out_options *opt, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0};
	char range[96] = "";
	int r = calls_ask(c, opt->engine, "SELECT count(*) FROM span_op", take_count, err);

	if (r < 0)
		return r;
	if (opt->from != INT64_MIN && opt->to != INT64_MAX)
		snprintf(range, sizeof(range), ", start := %lld, stop := %lld",
			 (long long)opt->from, (long long)opt->to);
	r = calls_put_members(c, range, &sql);
	if (r >= 0)
		r = buf_printf(&sql, sums_of_members, range);
	if (r >= 0)
		r = calls_ask(c, opt->engine, buf_str(&sql), take_sum, err);
	if (r < 0 || opt->calls_ns < 0)
		return r;
	r = calls_put_members(c, range, &sql);
	if (r >= 0)
		r = buf_printf(&sql, calls_of_members, range, (long long)opt->calls_ns);
	if (r >= 0)
		r = calls_ask(c, opt->engine, buf_str(&sql), calls_take_call, err);
	settle_texts(c);
	if (c->call_count)
		qsort(c->calls, c->call_count, sizeof(*c->calls), calls_compare_calls);
	return r;
}

/* ---- telling ---- */

static int calls_put_sum(json_t *to, const char *class, const char *what, int64_t v)
{
	char name[64];

	snprintf(name, sizeof(name), "weir.io.%s%s%s", class, *class ? "." : "", what);
	return json_set_some(to, name, json_integer(v));
}

static int calls_put_class(json_t *to, const char *class, uint64_t calls, int64_t bytes,
			   int64_t time)
{
	int r = calls_put_sum(to, class, "calls", (int64_t)calls);

	if (r >= 0)
		r = calls_put_sum(to, class, "bytes", bytes);
	return r < 0 ? r : calls_put_sum(to, class, "time_ns", time);
}

int spans_calls_put(const struct spans_calls *c, int64_t number, json_t *attributes)
{
	const struct calls_sum *s;
	uint64_t i, calls = 0;
	int64_t bytes = 0, time = 0;
	int r = 0;

	if (!map_get(&c->sums, (uint64_t)number, &i))
		return 0;
	s = &c->sum[i];
	for (size_t k = 0; k < CLASS_COUNT && r >= 0; k++) {
		calls += s->calls[k];
		bytes += s->bytes[k];
		time += s->time[k];
		if (s->calls[k])
			r = calls_put_class(attributes, vocab_word("class", (int64_t)k),
					    s->calls[k], s->bytes[k], s->time[k]);
	}
	if (r >= 0)
		r = calls_put_class(attributes, "", calls, bytes, time);
	if (r < 0)
		return r;
	return json_set_some(attributes, "weir.io.by",
			     json_string(c->guessed ? BY_THREAD : BY_TABLE));
}

const struct call_out *spans_calls_of(const struct spans_calls *c, int64_t number, size_t *ret)
{
	size_t low = 0, high = c->call_count, n = 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (c->calls[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	while (low + n < c->call_count && c->calls[low + n].number == number)
		n++;
	*ret = n;
	return n ? &c->calls[low] : NULL;
}
