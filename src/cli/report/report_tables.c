/* SPDX-License-Identifier: Apache-2.0 */
/* report_tables.c: a table of `report` as text and as JSON. */
#include <jansson.h>
#include <string.h>

#include "cli/record/recorded.h"
#include "cli/report/report_rows.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/json_text.h"
#include "cli/terminal/text.h"
#include "engine/answer_json.h"

/* ---- text ---- */

/*
 * Warns about rows missing from the tables behind this one: net also uses net_sample, block and disks use two tables
 * each.
 */
static int warn_beside(const struct report *r, enum table_id table, struct buf *b)
{
	struct loss some = {0};

	for (size_t i = 0; i < r->loss.beside_count; i++) {
		const struct loss_beside *l = &r->loss.beside_of[i];
		bool net = table == TABLE_NET_SAMPLE && l->table == TABLE_NET,
		     part = table == TABLE_REQUEST && l->table == TABLE_REQUEST_PART;

		if (l->table == table || l->table == TABLE_COUNT || net || part)
			loss_add_beside(&some, l->table, l->cause, l->rows, l->more);
	}
	if (!some.beside_count)
		return buf_status(b);
	buf_printf(b, "LOST ");
	loss_put_beside(b, &some, true);
	return buf_printf(b, "\n");
}

/* Missing data is reported above every table that it could change. */
static int warn_loss(const struct report *r, enum table_id table)
{
	_cleanup_buf_ struct buf b = {0};
	int e = 0;

	if (loss_of_calls(&r->loss)) {
		buf_printf(&b, "LOST ");
		loss_put_calls(&b, &r->loss);
		buf_printf(&b, ": figures may be too low\n");
	}
	if (table != TABLE_OP)
		warn_beside(r, table, &b);
	if (r->loss.damage.blocks) {
		buf_printf(&b, "DAMAGED ");
		loss_put_damage(&b, &r->loss);
		buf_printf(&b, "\n");
	}
	e = buf_status(&b);
	if (e >= 0 && r->loss.changes.traces) {
		e = loss_put_changes(&b, &r->loss);
		if (e >= 0)
			e = buf_printf(&b, "\n");
	}
	if (e >= 0 && b.len)
		printf("%s%s%s", text_style(TEXT_RED), buf_str(&b), text_style(TEXT_PLAIN));
	return e;
}

/*
 * Explains an empty table of --with data: it was not recorded, nothing happened, or the range or selection excludes
 * it.
 */
static int note_beside(const struct report *r, const char *which)
{
	enum table_id table = report_table_beside(which);
	bool phases = !strcmp(which, "phases"), any = table == TABLE_OP && !phases;
	int with = phases ? recorded_with(r->store, which) : RECORDED_NOT;

	if (with < 0)
		return with;
	any |= phases && with != RECORDED_NOT && (r->filtered || r->ranged);
	for (size_t i = 0; i < store_block_count(r->store) && !any && !phases; i++)
		any = store_block(r->store, i)->table == table;
	if (!any)
		return recorded_put_none(stderr, r->store,
					 table == TABLE_REQUEST ? "block" : which);
	if (table != TABLE_OP || phases)
		fprintf(stderr, "weir: %s: nothing in the %s\n", which,
			r->filtered ? "selection" : "range");
	return 0;
}

/* Interrupts belong to no process, so a selection does not apply to them. */
static void note_selection(const struct report *r, const char *which)
{
	if (r->filtered && report_table_beside(which) == TABLE_IRQ)
		fprintf(stderr, "weir: irq: interrupts cover the whole host, so a selection of "
				"calls does not apply; --from and --to do\n");
}

int report_table(struct report *r, const char *which, struct error *err)
{
	struct answer_print print = answer_print_out((struct cell_style){report_times(r), r->first},
						     "--head N, or pipe the output");
	_cleanup_answer_list_ struct answer_list list = {0};
	int e = report_rows(r, which, &list, err);

	if (e < 0)
		return e;
	if (r->opts->head)
		print.rows_max = 0;
	e = warn_loss(r, report_table_beside(which));
	if (e >= 0)
		note_selection(r, which);
	if (e >= 0 && !list.count)
		e = note_beside(r, which);
	return e < 0 ? error_errno(err, e, "report %s", which)
		     : answer_text_list(&print, &list, err);
}

/* ---- JSON ---- */

/* Facts about the whole trace from the page, for a document that is not a single table. */
static json_t *json_trace(const struct report *r)
{
	const char *path = input_shown(store_trace_path(r->store, 0));
	uint64_t calls = r->scan.running->rows, bytes = 0;

	for (size_t i = 0; i < rollup_count(r->scan.rollup); i++) {
		const struct rollup_row *row = rollup_row(r->scan.rollup, i);

		calls += row->second ? 0 : row->calls;
		bytes += row->second ? 0 : row->bytes;
	}
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "path",
			 json_text((struct bytes){(const uint8_t *)path, strlen(path)}), "size",
			 (json_int_t)store_bytes(r->store), "dur", (json_int_t)(r->last - r->first),
			 "calls", (json_int_t)calls, "bytes", (json_int_t)bytes, "masked",
			 (json_int_t)r->masked, "running",
			 store_is_open_ended(r->store)
				 ? json_null()
				 : json_integer((json_int_t)r->scan.running->rows));
}

/* , "threads": {"columns": [...], "rows": [...]} */
static int report_tables_put_part(struct report *r, const char *which, struct buf *to,
				  struct error *err)
{
	_cleanup_answer_list_ struct answer_list list = {0};
	_cleanup_answer_ struct answer rows = {0};
	int e = report_rows(r, which, &list, err);

	if (e >= 0)
		e = answer_of_list(&rows, &list, false);
	if (e >= 0)
		e = buf_printf(to, ",\n\"%s\": {", which);
	if (e >= 0)
		e = answer_json_table(to, &rows, r->first, err);
	return e < 0 ? e : buf_printf(to, "}");
}

/* Writes the other sections of the page. */
static int put_page(void *arg, struct buf *to, struct error *err)
{
	static const char *const more[] = {"threads", "files", "peers", "slow"};
	struct report *r = arg;
	int e = json_put_member(to, "trace", json_trace(r));

	for (size_t i = 0; i < ARRAY_SIZE(more) && e >= 0; i++)
		e = report_tables_put_part(r, more[i], to, err);
	return e;
}

int report_json(struct report *r, const char *which, struct error *err)
{
	_cleanup_answer_list_ struct answer_list list = {0};
	_cleanup_answer_ struct answer rows = {0};
	int e = report_rows(r, which ? which : "ops", &list, err);

	if (e < 0)
		return e;
	e = answer_of_list(&rows, &list, false);
	if (e < 0)
		return error_errno(err, e, "report %s", which ? which : "");
	return answer_print_json(stdout, &rows,
				 &(struct answer_document){.origin = r->first,
							   .loss = &r->loss,
							   .put_more = which ? NULL : put_page,
							   .arg = r},
				 err);
}
