/* SPDX-License-Identifier: Apache-2.0 */
/* report_tables.c: a table of `report` as text and as JSON. */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/clock.h"
#include "cli/terminal/json_text.h"
#include "cli/report/report_rows.h"
#include "cli/terminal/text.h"

/* ---- text ---- */

static void text_cell(const struct report *r, struct table *out, const struct value_column *c,
		      const struct value_cell *v)
{
	if (v->null) {
		table_cell(out, "-");
		return;
	}
	switch (c->type) {
	case VALUE_TEXT:
		table_cell_bytes(out, (struct bytes){(const uint8_t *)v->text, v->len});
		break;
	case VALUE_SPARK:
		table_cell(out, "%s", v->text);
		break;
	case VALUE_COUNT:
		table_cell(out, "%s", format_count((uint64_t)v->n).s);
		break;
	case VALUE_INT:
		table_cell(out, "%lld", (long long)v->n);
		break;
	case VALUE_SIZE:
		table_cell(out, "%s", v->n ? format_size((uint64_t)v->n).s : "-");
		break;
	case VALUE_DUR:
		table_cell(out, "%s", format_dur(v->n, 3).s);
		break;
	case VALUE_QUANTILE:
		table_cell(out, "%s", format_dur(v->n, 3).s);
		break;
	case VALUE_TIME:
		table_cell(out, "%s", format_time(v->n).s);
		break;
	case VALUE_AT:
		table_cell(out, "%s", report_when(r, v->n).s);
		break;
	}
}

/* What is missing stands above every table that it could change. */
static int warn_loss(const struct report *r)
{
	_cleanup_buf_ struct buf b = {0};
	int e = 0;

	if (loss_of_calls(&r->loss)) {
		e = buf_printf(&b, "LOST ");
		if (e >= 0)
			e = loss_put_calls(&b, &r->loss);
		if (e >= 0)
			e = buf_printf(&b, ": figures may be too low\n");
	}
	if (e >= 0 && r->loss.damage.blocks) {
		e = buf_printf(&b, "DAMAGED ");
		if (e >= 0)
			e = loss_put_damage(&b, &r->loss);
		if (e >= 0)
			e = buf_printf(&b, "\n");
	}
	if (e >= 0 && r->loss.changes.traces) {
		e = loss_put_changes(&b, &r->loss);
		if (e >= 0)
			e = buf_printf(&b, "\n");
	}
	if (e >= 0 && b.len)
		printf("%s%s%s", text_style(TEXT_RED), buf_str(&b), text_style(TEXT_PLAIN));
	return e;
}

int report_table(struct report *r, const char *which, struct error *err)
{
	_cleanup_values_ struct value_table t = {0};
	struct table_column columns[16];
	_cleanup_table_ struct table out = {.columns = columns};
	size_t rows, max = r->opts->head > 0 ? SIZE_MAX : text_rows_max();
	int e = report_values(r, which, &t, err);

	if (e < 0)
		return e;
	assert(t.column_count <= ARRAY_SIZE(columns));
	for (size_t c = 0; c < t.column_count; c++) {
		enum value_type type = t.columns[c].type;
		bool text = type == VALUE_TEXT || type == VALUE_SPARK;

		if (!t.columns[c].json_only)
			columns[out.column_count++] =
				(struct table_column){.title = t.columns[c].name,
						      .right = !text,
						      .shrinks = c + 1 == t.column_count};
	}
	rows = MIN(values_rows(&t), max);
	for (size_t i = 0; i < rows; i++) {
		for (size_t c = 0; c < t.column_count; c++) {
			if (!t.columns[c].json_only)
				text_cell(r, &out, &t.columns[c], &t.cells[i * t.column_count + c]);
		}
	}
	e = warn_loss(r);
	/* A pipe gets names whole. */
	if (e >= 0)
		e = table_print(&out, stdout, rows, text_terminal() ? text_width() : 0);
	if (e >= 0 && rows < values_rows(&t))
		printf("... %s more rows: --head N, or into a pipe\n",
		       format_count(values_rows(&t) - rows).s);
	return e < 0 ? error_errno(err, e, "report %s", which) : 0;
}

/* ---- JSON ---- */

/* Text as it is where JSON can hold it, else made safe. */
static json_t *json_bytes(const char *text, size_t len)
{
	_cleanup_buf_ struct buf safe = {0};
	json_t *v = json_stringn(text, len);

	if (v || format_safe(&safe, text, len) < 0)
		return v;
	return json_string(buf_str(&safe));
}

static json_t *json_value(const struct report *r, const struct value_column *c,
			  const struct value_cell *v)
{
	if (v->null)
		return json_null();
	if (c->type == VALUE_TEXT)
		return json_bytes(v->text, v->len);
	/* Points in time are told from the origin: ns since the epoch are beyond 2^53. */
	return json_integer(c->type == VALUE_AT ? clock_between(r->first, v->n) : v->n);
}

static const char *column_type(enum value_type t)
{
	static const char *const names[] = {
		[VALUE_TEXT] = "text", [VALUE_COUNT] = "int", [VALUE_INT] = "int",
		[VALUE_SIZE] = "size", [VALUE_DUR] = "dur",   [VALUE_QUANTILE] = "dur",
		[VALUE_TIME] = "dur",  [VALUE_AT] = "time",   [VALUE_SPARK] = "text",
	};

	return names[t];
}

static const char *column_unit(enum value_type t)
{
	return t == VALUE_SIZE ? "bytes" : t >= VALUE_DUR && t <= VALUE_AT ? "ns" : "";
}

/* Adds "columns" and "rows" of a table to an object. */
static int json_table(struct report *r, const char *which, json_t *to, struct error *err)
{
	_cleanup_values_ struct value_table t = {0};
	json_t *columns = json_array(), *rows = json_array();
	int e = report_values(r, which, &t, err);

	json_object_set_new(to, "columns", columns);
	json_object_set_new(to, "rows", rows);
	for (size_t c = 0; e >= 0 && c < t.column_count; c++) {
		if (!t.columns[c].text_only)
			json_array_append_new(
				columns, json_pack("{s:s, s:s, s:s}", "name", t.columns[c].name,
						   "type", column_type(t.columns[c].type), "unit",
						   column_unit(t.columns[c].type)));
	}
	for (size_t i = 0; e >= 0 && i < values_rows(&t); i++) {
		json_t *row = json_object();

		for (size_t c = 0; c < t.column_count; c++) {
			if (!t.columns[c].text_only)
				json_object_set_new(row, t.columns[c].name,
						    json_value(r, &t.columns[c],
							       &t.cells[i * t.column_count + c]));
		}
		if (json_array_append_new(rows, row) < 0)
			e = error_errno(err, -ENOMEM, "JSON");
	}
	return e;
}

/* What the page says about the whole trace, for a document without a table's name. */
static json_t *json_trace(const struct report *r)
{
	uint64_t calls = r->scan.running->rows, bytes = 0;

	for (size_t i = 0; i < rollup_count(r->scan.rollup); i++) {
		const struct rollup_row *row = rollup_row(r->scan.rollup, i);

		calls += row->second ? 0 : row->calls;
		bytes += row->second ? 0 : row->bytes;
	}
	return json_pack(
		"{s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "path",
		json_bytes(store_trace_path(r->store, 0), strlen(store_trace_path(r->store, 0))),
		"size", (json_int_t)store_bytes(r->store), "dur", (json_int_t)(r->last - r->first),
		"calls", (json_int_t)calls, "bytes", (json_int_t)bytes, "masked",
		(json_int_t)r->masked, "running",
		store_is_open_ended(r->store) ? json_null()
					      : json_integer((json_int_t)r->scan.running->rows));
}

int report_json(struct report *r, const char *which, struct error *err)
{
	static const char *const more[] = {"threads", "files", "peers", "slow"};
	char origin[24];
	json_t *doc = json_object();
	int e;

	snprintf(origin, sizeof(origin), "%lld", (long long)r->first);
	json_object_set_new(doc, "origin", json_string(origin));
	e = json_table(r, which ? which : "ops", doc, err);
	json_object_set_new(doc, "loss", loss_json(&r->loss));
	if (!which) {
		json_object_set_new(doc, "trace", json_trace(r));
		for (size_t i = 0; i < ARRAY_SIZE(more) && e >= 0; i++) {
			json_t *part = json_object();

			json_object_set_new(doc, more[i], part);
			e = json_table(r, more[i], part, err);
		}
	}
	if (e >= 0 && json_put(stdout, doc, JSON_INDENT(1) | JSON_PRESERVE_ORDER) < 0)
		e = error_errno(err, -EIO, "writing JSON");
	if (e >= 0)
		printf("\n");
	json_decref(doc);
	return e;
}
