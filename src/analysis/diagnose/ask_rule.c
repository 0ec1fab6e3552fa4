// SPDX-License-Identifier: Apache-2.0
/* ask_rule.c: runs a rule's query, and reads its rows by the names of their columns. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diagnose/diagnose.h"
#include "base/saturate.h"
#include "schema/ops.h"
#include "sums/scan.h"

/* limit per rule; beyond it there is one finding about everything, which mentions this */
#define ASK_ROWS_MAX 100000

static const char *const id_columns[DIAGNOSE_IDS] = {"process_id", "thread_id", "file_id",
						     "peer_id"};
static const char *const number_columns[DIAGNOSE_NUMBERS] = {
	"calls", "bytes", "time", "pos", "stop_pos", "first_start", "last_stop",
};

void diagnose_rows_free(struct diagnose_rows *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free((void *)r->items[i].pattern.data);
		for (size_t k = 0; k < r->items[i].extra_count; k++)
			free((void *)r->items[i].extra[k].text.data);
	}
	for (size_t i = 0; i < r->name_count; i++)
		free(r->names[i]);
	free(r->items);
	*r = (struct diagnose_rows){0};
}

/* ---- text of the query ---- */

static bool ask_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Appends the value of $name. -EINVAL: undefined. */
static int ask_put_parameter(const struct diagnose_context *c, const struct rule *rule,
			     const char *name, size_t len, struct buf *out)
{
	const struct {
		const char *name;
		int64_t value;
	} all[] = {
		{"work_time", c->out->work_time},
		{"span", c->run->last - c->run->first},
		{"begin", c->run->first},
		{"finish", c->run->last},
		{"lost", (int64_t)MIN(c->run->lost, (uint64_t)INT64_MAX)},
	};

	for (size_t i = 0; i < rule->threshold_count; i++) {
		const struct rule_threshold *t = &rule->thresholds[i];

		if (strlen(t->name) == len && !memcmp(t->name, name, len))
			return buf_append(out, t->text, strlen(t->text));
	}
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (strlen(all[i].name) == len && !memcmp(all[i].name, name, len))
			return buf_printf(out, "%lld", (long long)all[i].value);
	}
	return -EINVAL;
}

int ask_fill(const struct diagnose_context *c, const struct rule *rule, const char *question,
	     struct buf *out, struct error *err)
{
	for (const char *p = question; *p;) {
		size_t plain = strcspn(p, "$"), len = 0;
		int r = buf_append(out, p, plain);

		if (r < 0)
			return error_errno(err, r, "rule %s", rule->name);
		p += plain;
		if (!*p)
			break;
		while (ask_is_name(p[1 + len]))
			len++;
		/* a lone $, as in the regular expression '[0-9]$', is literal */
		r = len ? ask_put_parameter(c, rule, p + 1, len, out) : buf_append(out, "$", 1);
		if (r == -EINVAL)
			return error_set(err, -EINVAL,
					 "rule %s (%s): $%.*s is neither one of its thresholds nor "
					 "$work_time, $span, $begin, $finish or $lost",
					 rule->name, rule->file, (int)MIN(len, (size_t)64), p + 1);
		if (r < 0)
			return error_errno(err, r, "rule %s", rule->name);
		p += len + 1;
	}
	return 0;
}

/* ---- rows ---- */

static int64_t ask_number(struct engine_result *r, size_t column, struct buf *scratch)
{
	double v;

	switch (engine_result_column(r, column)->type) {
	case ENGINE_TIME:
		return engine_result_time(r, column);
	case ENGINE_FLOAT:
		v = engine_result_float(r, column);
		return v > -9e18 && v < 9e18 ? llround(v) : DIAGNOSE_NULL;
	default: /* integers of any length: sums of BIGINT are HUGEINT */
		buf_clear(scratch);
		return engine_result_text(r, column, scratch) < 0
			       ? DIAGNOSE_NULL
			       : strtoll(buf_str(scratch), NULL, 10);
	}
}

static int ask_copy(struct bytes from, struct bytes *ret)
{
	void *p = malloc(from.len + 1);

	if (!p)
		return -ENOMEM;
	if (from.len)
		memcpy(p, from.data, from.len);
	*ret = (struct bytes){p, from.len};
	return 0;
}

static int ask_take_extra(struct diagnose_rows *rows, struct diagnose_row *row,
			  struct engine_result *r, size_t column, struct buf *scratch)
{
	struct sentence_value *v = &row->extra[row->extra_count];
	bool is_text = rows->is_text[row->extra_count];

	*v = (struct sentence_value){.name = rows->names[row->extra_count]};
	row->extra_count++;
	if (engine_result_is_null(r, column))
		return 0;
	if (is_text) {
		v->kind = SENTENCE_TEXT;
		return ask_copy(engine_result_bytes(r, column), &v->text);
	}
	v->kind = SENTENCE_COUNT;
	v->number = ask_number(r, column, scratch);
	return 0;
}

/* The index of a column among known ones, -1: an extra column. */
static int ask_place(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return (int)i;
	}
	return -1;
}

static int ask_take_row(struct diagnose_rows *rows, struct engine_result *r, struct buf *scratch)
{
	struct diagnose_row *row;

	if (grow((void **)&rows->items, &rows->cap, rows->count + 1, sizeof(*rows->items)) < 0)
		return -ENOMEM;
	row = &rows->items[rows->count++];
	*row = (struct diagnose_row){0};
	for (size_t i = 0; i < DIAGNOSE_IDS; i++)
		row->id[i] = -1;
	for (size_t i = 0; i < DIAGNOSE_NUMBERS; i++)
		row->number[i] = DIAGNOSE_NULL;
	for (size_t i = 0; i < engine_result_columns(r); i++) {
		const char *name = engine_result_column(r, i)->name;
		int id = ask_place(name, id_columns, DIAGNOSE_IDS),
		    number = ask_place(name, number_columns, DIAGNOSE_NUMBERS), e = 0;
		bool null = engine_result_is_null(r, i);

		if (id >= 0)
			row->id[id] = null ? -1 : ask_number(r, i, scratch);
		else if (number >= 0)
			row->number[number] = null ? DIAGNOSE_NULL : ask_number(r, i, scratch);
		else if (strcmp(name, "inexact") == 0)
			row->inexact = !null && ask_number(r, i, scratch) > 0;
		else if (strcmp(name, "elapsed") == 0)
			row->elapsed = !null && ask_number(r, i, scratch) > 0;
		else if (strcmp(name, "pattern") != 0)
			e = ask_take_extra(rows, row, r, i, scratch);
		else if (!null)
			e = ask_copy(engine_result_bytes(r, i), &row->pattern);
		if (e < 0)
			return e;
	}
	return 0;
}

static int ask_take_names(struct diagnose_rows *rows, const struct rule *rule,
			  struct engine_result *r, struct error *err)
{
	for (size_t i = 0; i < engine_result_columns(r); i++) {
		const char *name = engine_result_column(r, i)->name;

		if (ask_place(name, id_columns, DIAGNOSE_IDS) >= 0 ||
		    ask_place(name, number_columns, DIAGNOSE_NUMBERS) >= 0 ||
		    strcmp(name, "inexact") == 0 || strcmp(name, "elapsed") == 0 ||
		    strcmp(name, "pattern") == 0)
			continue;
		if (rows->name_count == DIAGNOSE_EXTRA_MAX)
			return error_set(err, -EINVAL, "rule %s (%s): more than %d columns",
					 rule->name, rule->file, DIAGNOSE_EXTRA_MAX);
		rows->is_text[rows->name_count] = engine_result_column(r, i)->type == ENGINE_TEXT ||
						  engine_result_column(r, i)->type == ENGINE_BLOB;
		rows->names[rows->name_count] = strdup(name);
		if (!rows->names[rows->name_count++])
			return error_errno(err, -ENOMEM, "rule %s", rule->name);
	}
	return 0;
}

static int ask_take(struct diagnose_rows *rows, const struct rule *rule, struct engine_result *r,
		    struct error *err)
{
	_cleanup_buf_ struct buf scratch = {0};
	int e = ask_take_names(rows, rule, r, err);

	if (e < 0)
		return e;
	while (engine_result_next(r)) {
		if (rows->count == ASK_ROWS_MAX)
			return error_set(err, -E2BIG,
					 "rule %s (%s): more than %d rows; group them in its "
					 "query, or set a limit",
					 rule->name, rule->file, ASK_ROWS_MAX);
		e = ask_take_row(rows, r, &scratch);
		if (e < 0)
			return error_errno(err, e, "rule %s", rule->name);
	}
	return 0;
}

/* True for a query that only reads: rules of other origin must not change anything. */
static bool ask_only_reads(const char *sql)
{
	static const char *const words[] = {"select", "with", "from"};

	for (sql += strspn(sql, " \t\n"); sql[0] == '-' && sql[1] == '-';) {
		sql += strcspn(sql, "\n");
		sql += strspn(sql, " \t\n");
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t len = strlen(words[i]);

		if (!strncasecmp(sql, words[i], len) && strchr(" \t\n", sql[len]))
			return true;
	}
	return false;
}

int ask_sql(const struct diagnose_context *c, const char *sql, struct engine_result **ret,
	    struct error *err)
{
	struct engine_statements *s = NULL;
	int r = engine_parse(c->run->engine, sql, &s, err);

	if (r >= 0 && (engine_statements_count(s) != 1 || !ask_only_reads(sql)))
		r = error_set(err, -EINVAL, "a rule has one query: SELECT, WITH or FROM");
	if (r >= 0)
		r = engine_execute(s, 0, ret, err);
	engine_statements_free(s);
	return r;
}

int diagnose_ask(const struct diagnose_context *c, const struct rule *rule,
		 struct diagnose_rows *ret, struct error *err)
{
	_cleanup_buf_ struct buf question = {0};
	_cleanup_(analysis_asked_free) struct analysis_asked asked = {0};
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	struct error why = {0};
	int r = ask_fill(c, rule, rule->sql ? rule->sql : rule->query, &question, err);

	if (r < 0)
		return r;
	r = rule->sql ? ask_sql(c, buf_str(&question), &result, &why)
		      : analysis_ask(&asked, c->run, buf_str(&question), &why);
	if (r < 0)
		return error_set(err, r, "rule %s (%s): %.700s", rule->name, rule->file,
				 why.message);
	return ask_take(ret, rule, rule->sql ? result : asked.result, err);
}

int diagnose_confine(const struct diagnose_context *c, struct error *err)
{
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	struct engine_statements *s = NULL;
	int r = engine_parse(c->run->engine, "SET enable_external_access = false", &s, err);

	if (r >= 0)
		r = engine_execute(s, 0, &result, err);
	engine_statements_free(s);
	return r;
}

/* Appends the texts of a query's only column, separated by commas. */
static int ask_words(const struct diagnose_context *c, const char *sql, struct buf *to,
		     struct error *err)
{
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	int r = ask_sql(c, sql, &result, err);

	while (r >= 0 && engine_result_next(result)) {
		struct bytes words = engine_result_bytes(result, 0);

		r = buf_printf(to, "%s%.*s", to->len ? "," : "", (int)words.len,
			       (const char *)words.data);
	}
	return r;
}

int diagnose_with(const struct diagnose_context *c, struct error *err)
{
	int r = ask_words(c, "SELECT DISTINCT text::VARCHAR FROM mark WHERE name = 'weir.with'",
			  &c->out->with, err);

	if (r < 0)
		return r;
	/* in traces of earlier versions the table of a loss is not recorded */
	return ask_words(c,
			 "SELECT DISTINCT coalesce(of_table::VARCHAR, 'any') FROM loss "
			 "WHERE cause::VARCHAR LIKE 'side@_%' ESCAPE '@'",
			 &c->out->lost_of, err);
}

/* ---- blocked time ---- */

struct ask_times {
	int64_t io;		    /* calls that are not waits */
	int64_t waits[OP_CODE_MAX]; /* by operation */
};

static void ask_add_time(struct ask_times *to, int64_t op, int64_t class, int64_t time)
{
	bool waits = class == CLASS_WAIT && op >= 0 && op < OP_CODE_MAX;
	int64_t *sum = waits ? &to->waits[op] : &to->io;

	*sum = add_sat_signed(*sum, time);
}

/* Time of the selected calls. */
static int ask_call_time(const struct diagnose_context *c, struct ask_times *ret, struct error *err)
{
	_cleanup_scan_result_ struct scan_result sums = {0};
	const struct scan_options how = {.keys = ROLLUP_CLASS | ROLLUP_OP,
					 .filter = c->run->filter,
					 .threads = c->in->threads,
					 .stopped = c->in->stopped,
					 .stopped_arg = c->in->arg};
	int r = scan_run(c->run->store, &how, &sums, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < rollup_count(sums.rollup); i++) {
		const struct rollup_row *row = rollup_row(sums.rollup, i);

		ask_add_time(ret, row->op, row->class, (int64_t)row->time_ns);
	}
	for (size_t i = 0; i < sums.running->rows; i++)
		ask_add_time(ret, batch_get(sums.running, OP_OP, i, -1),
			     batch_get(sums.running, OP_CLASS, i, -1),
			     batch_get(sums.running, OP_DUR, i, 0));
	return 0;
}

/*
 * The waits in the middle of work are in table stall, with calls of other classes that slept: those are in the sum. A
 * wait that fails at once and is repeated, as accept without a descriptor left, keeps the thread from its work, too.
 */
int diagnose_work_time(const struct diagnose_context *c, int64_t *ret, struct error *err)
{
	_cleanup_free_ struct ask_times *times = calloc(1, sizeof(*times));
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	_cleanup_buf_ struct buf scratch = {0};
	int r = times ? ask_call_time(c, times, err) : -ENOMEM;

	if (r < 0)
		return r;
	*ret = times->io;
	/* also without the query, the first one, that would find nothing: it takes 7 ms */
	if (!diagnose_has_rows(c->run->store, TABLE_STALL))
		return 0;
	r = ask_sql(c,
		    "SELECT op::VARCHAR, sum(time - paused) FROM stall "
		    "WHERE what IN ('work', 'retry') GROUP BY 1",
		    &result, err);
	if (r < 0)
		return r;
	while (engine_result_next(result)) {
		struct bytes word = engine_result_bytes(result, 0);
		char name[64];
		int op;

		snprintf(name, sizeof(name), "%.*s", (int)MIN(word.len, sizeof(name) - 1),
			 word.data);
		op = op_find(name);
		if (op >= 0)
			*ret = add_sat_signed(
				*ret, MIN(ask_number(result, 1, &scratch), times->waits[op]));
	}
	return 0;
}
