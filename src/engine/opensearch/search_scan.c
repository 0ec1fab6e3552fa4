// SPDX-License-Identifier: Apache-2.0
/*
 * search_scan.c: scans tables whose rows need no names (loss, mark), to report losses. Calls are only queried, not
 * scanned: properties of threads and files are part of each document, without rows of their own.
 */
#include <errno.h>
#include <stdio.h>

#include "engine/opensearch/search_internal.h"
#include "schema/vocab.h"

struct search_scan {
	struct engine_scan scan;
	struct search_engine *e;
	struct search_fields fields;
	struct batch *rows;
	uint32_t *numbers;
	int64_t *ends;
	json_t *after; /* sort position of the last document */
	json_t *query;
	bool over;
};

static struct search_scan *scan_of(const struct engine_scan *s)
{
	return (struct search_scan *)(uintptr_t)s;
}

static void search_scan_free(struct engine_scan *scan)
{
	struct search_scan *s = scan_of(scan);

	batch_free(s->rows);
	free(s->numbers);
	free(s->ends);
	json_decref(s->after);
	json_decref(s->query);
	free(s);
}

static int search_set_text(struct search_scan *s, unsigned int column, size_t row, const json_t *j)
{
	_cleanup_buf_ struct buf bytes = {0};
	int r = engine_unescape(json_string_value(j), json_string_length(j), &bytes);

	return r < 0 ? r : batch_set_bytes(s->rows, column, row, bytes.data, bytes.len);
}

static int search_set_cell(struct search_scan *s, const struct search_field *f, size_t row,
			   const json_t *j)
{
	if (!j || f->is_name)
		return 0;
	if (json_is_integer(j) && f->kind == SEARCH_NUMBER)
		return batch_set(s->rows, f->column, row, json_integer_value(j));
	if (!json_is_string(j) || f->kind == SEARCH_NUMBER)
		return 0;
	return f->kind == SEARCH_TEXT ? search_set_text(s, f->column, row, j)
				      : batch_set(s->rows, f->column, row,
						  vocab_code(f->vocab, json_string_value(j)));
}

static int read_page(struct search_scan *s, const json_t *hits, struct error *err)
{
	json_t *hit;
	size_t i;

	json_array_foreach(hits, i, hit)
	{
		const json_t *source = json_object_get(hit, "_source");
		ssize_t row = batch_add_row(s->rows);
		int r = row < 0 ? (int)row : 0;

		for (size_t c = 0; r >= 0 && c < s->fields.count; c++)
			r = search_set_cell(s, &s->fields.list[c], (size_t)row,
					    json_object_get(source, s->fields.list[c].name));
		if (r < 0)
			return error_errno(err, r, "rows of %s",
					   schema_table(s->fields.table)->name);
		s->numbers[row] = (uint32_t)row;
		s->ends[row] = json_integer_value(json_object_get(source, "end"));
		json_decref(s->after);
		s->after = json_incref(json_object_get(hit, "sort"));
	}
	return 0;
}

static ssize_t search_scan_next(struct engine_scan *scan, const struct batch **ret_batch,
				const uint32_t **ret_rows, struct error *err)
{
	struct search_scan *s = scan_of(scan);
	_cleanup_json_ json_t *answer = NULL;
	json_t *body;
	char path[300];
	int r;

	if (s->over)
		return 0;
	body = json_pack("{si,sb,sO,s[ssss]}", "size", SEARCH_PAGE, "track_total_hits", 0, "query",
			 s->query, "sort", "end", "rec", "part", "n");
	if (s->after)
		json_object_set(body, "search_after", s->after);
	snprintf(path, sizeof(path), "/%.100s-%s/_search", s->e->server.prefix,
		 schema_table(s->fields.table)->name);
	r = search_json(&s->e->server, "POST", path, body, &answer, err);
	if (r == -ENOENT) { /* no row of the table was ever loaded */
		*err = (struct error){0};
		s->over = true;
		return 0;
	}
	batch_clear(s->rows);
	if (r >= 0)
		r = read_page(s, json_object_get(json_object_get(answer, "hits"), "hits"), err);
	if (r < 0)
		return r;
	s->over = s->rows->rows < SEARCH_PAGE;
	*ret_batch = s->rows;
	*ret_rows = s->numbers;
	return (ssize_t)s->rows->rows;
}

static const int64_t *search_scan_ends(const struct engine_scan *scan)
{
	return scan_of(scan)->ends;
}

static void search_scan_progress(const struct engine_scan *s _unused_, uint64_t *ret_done,
				 uint64_t *ret_total)
{
	*ret_done = *ret_total = 0;
}

static const struct engine_scan_ops search_scan_ops = {
	.next = search_scan_next,
	.ends = search_scan_ends,
	.progress = search_scan_progress,
	.free = search_scan_free,
};

int search_scan_new(struct search_engine *e, const struct scan_request *q, struct engine_scan **ret,
		    struct error *err)
{
	const struct plan p = {.table = q->table,
			       .from = q->from,
			       .to = q->to,
			       .where = (struct expr *)(uintptr_t)q->filter};
	struct search_scan *s;
	int r = 0;

	if (q->follow)
		return error_set(err, -EOPNOTSUPP, "OpenSearch cannot follow rows as they arrive");
	if (q->table == TABLE_OP)
		return engine_cannot(&e->engine, "return calls as a stream; use weir query", err);
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_errno(err, -ENOMEM, "rows");
	s->scan.ops = &search_scan_ops;
	s->e = e;
	s->over = !search_has_table(q->table);
	s->numbers = calloc(SEARCH_PAGE, sizeof(*s->numbers));
	s->ends = calloc(SEARCH_PAGE, sizeof(*s->ends));
	search_fields_of(q->table, &s->fields);
	r = batch_new(&s->rows, q->table);
	if (r < 0 || !s->numbers || !s->ends)
		r = error_errno(err, -ENOMEM, "rows");
	else if (!s->over)
		s->query = search_of_hosts(e, search_plan_filter(&s->fields, &p, err));
	if (r >= 0 && !s->over && !s->query)
		r = err->code ? err->code : error_errno(err, -ENOMEM, "a query");
	if (r < 0) {
		search_scan_free(&s->scan);
		return r;
	}
	*ret = &s->scan;
	return 0;
}
