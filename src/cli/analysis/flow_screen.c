/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_screen.c: `weir flow` on a terminal: the recorded content, the offsets of the clocks, each verdict with the
 * calls that prove it, replication by destination, and the kinds of causes between calls.
 */
#include "cli/analysis/flow_screen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/flow/flow.h"
#include "base/array.h"
#include "cli/terminal/format.h"
#include "cli/terminal/text.h"

#define SCREEN_VERDICTS 12
#define LABEL_WIDTH	17
#define WHO_WIDTH	20
#define PATH_WIDTH	40
#define PATH_LEAST	12

struct flow_view {
	const struct analysis_view *v;
	const struct flow_result *result;
	const struct flow_state *s;
	size_t width;
};

static const struct value *flow_cell(const struct flow_view *f, size_t table, size_t row,
				     size_t column)
{
	const struct answer_list *t = &f->v->result->tables[table].rows;

	return &t->cells[row * t->column_count + column];
}

static size_t flow_rows(const struct flow_view *f, size_t table)
{
	return answer_list_rows(&f->v->result->tables[table].rows);
}

/* ---- head ---- */

static int flow_print_content(struct buf *line, const struct flow_view *f)
{
	const struct flow_content_sums *c = &f->s->content_sums;
	uint64_t all = c->bytes;

	if (!all)
		return format_next(line, f->width, "no content recorded (weir record --content)");
	format_next(line, f->width, "%s of content: handled %s", format_size(all).s,
		    c->by_outcome[OUTCOME_HANDLED] >= all
			    ? "100 %"
			    : format_percent(c->by_outcome[OUTCOME_HANDLED], all).s);
	for (int i = OUTCOME_INCOMPLETE; i < OUTCOME_COUNT; i++) {
		if (i == OUTCOME_TRUNCATED || i == OUTCOME_LOST || c->by_outcome[i])
			buf_printf(line, ", %s %s", vocab_word("outcome", i),
				   c->by_outcome[i] ? format_size(c->by_outcome[i]).s : "0");
	}
	return buf_status(line);
}

static int print_flow_head(const struct flow_view *f)
{
	size_t places = store_recording_count(f->v->runs[0].store), hosts = flow_hosts(f->s);
	_cleanup_buf_ struct buf line = {0};
	int r;

	format_next(&line, f->width, "%s, %s", format_counted(hosts, "host").s,
		    format_counted(f->s->calls, "call").s);
	if (places > hosts)
		format_next(&line, f->width, "%zu recordings", places);
	flow_print_content(&line, f);
	r = format_next(&line, f->width, "calls lost %s%s", format_count(f->v->runs[0].lost).s,
			f->v->runs[0].lost_unknown ? " at least" : "");
	if (r < 0)
		return r;
	printf("%s\n", buf_str(&line));
	return r;
}

/* "+4.99997 s (+-31 us)", "drifts 98 ppm" */
static int put_flow_clock(struct buf *line, const struct flow_view *f, size_t place,
			  const char *end)
{
	const struct flow_clock *k = flow_clock(f->s->clocks, place);
	const struct flow_clock_window *w = k->windows, *last;
	_cleanup_buf_ struct buf name = {0};
	double half, offset;
	bool corrected = store_recording_clock(f->v->runs[0].store, place).known;
	int r = flow_place_name(f->s, place, &name);

	if (r < 0)
		return r;
	if (!k->known)
		return buf_printf(line, " %s not known (%s)%s", buf_str(&name),
				  k->linked ? "bytes went one way only" : "nothing passed", end);
	assert(k->window_count > 0);
	last = &w[k->window_count - 1];
	offset = flow_clock_offset(k, w->from + (last->to - w->from) / 2, &half) +
		 (double)flow_clock_applied(f->s, place);
	buf_printf(line, " %s %+.*f s (+-%s)", buf_str(&name), half < 1e3 ? 6 : 5, offset / 1e9,
		   format_dur((int64_t)half).s);
	if (k->window_count == 1 && (w->drift_low > 0 || w->drift_high < 0))
		buf_printf(line, " drifts %.0f..%.0f ppm", w->drift_low * 1e6, w->drift_high * 1e6);
	if (k->window_count > 1)
		buf_printf(line, " in %zu stretches, between which it was set or slewed",
			   k->window_count);
	if (k->contradicts)
		buf_printf(line, ", CLOCKS CONTRADICT");
	if (corrected)
		buf_printf(line, " (corrected)");
	return buf_printf(line, "%s", end);
}

static int print_clocks(const struct flow_view *f)
{
	size_t places = store_recording_count(f->v->runs[0].store), left = 0;
	size_t kept = f->result->clocks_kept;
	_cleanup_buf_ struct buf line = {0}, name = {0};
	int r = flow_place_name(f->s, 0, &name);

	for (size_t i = 1; i < places; i++)
		left += !flow_clock(f->s->clocks, i)->same;
	if (r < 0 || !left)
		return r;
	buf_printf(&line, "clocks against %s:", buf_str(&name));
	for (size_t i = 1; i < places; i++) {
		if (!flow_clock(f->s->clocks, i)->same)
			buf_fail(&line, put_flow_clock(&line, f, i, --left ? "," : ""));
	}
	r = format_wrap(&line, 0, f->width);
	if (r < 0)
		return r;
	printf("%s", buf_str(&line));
	if (kept)
		printf("%s stored: from now on their times are corrected\n",
		       format_counted(kept, "clock").s);
	return r;
}

/* ---- verdicts ---- */

static int print_evidence(const struct flow_view *f, size_t row)
{
	_cleanup_buf_ struct buf line = {0}, who = {0};
	const struct value *label = flow_cell(f, FLOW_EVIDENCE, row, FLOW_EVIDENCE_LABEL),
			   *name = flow_cell(f, FLOW_EVIDENCE, row, FLOW_EVIDENCE_WHO),
			   *call = flow_cell(f, FLOW_EVIDENCE, row, FLOW_EVIDENCE_WHAT),
			   *at = flow_cell(f, FLOW_EVIDENCE, row, FLOW_EVIDENCE_AT),
			   *text = flow_cell(f, FLOW_EVIDENCE, row, FLOW_EVIDENCE_TEXT);
	int r;

	if (name->t.len) {
		buf_fail(&line, format_safe(&who, name->t.data, name->t.len));
		format_pad(&line, buf_str(&who),
			   MAX(format_width(buf_str(&who)), (size_t)WHO_WIDTH), false);
		buf_printf(&line, "  ");
	}
	format_safe(&line, call->t.data, call->t.len);
	if (!at->null)
		buf_printf(&line, " at %s", format_rel(at->i - f->v->origin, 4).s);
	if (!text->null) {
		buf_printf(&line, "%s", call->t.len ? ", " : "");
		format_safe(&line, text->t.data, text->t.len);
	}
	r = format_wrap(&line, LABEL_WIDTH + 2, f->width);
	if (r < 0)
		return r;
	printf("  %-*.*s%s", LABEL_WIDTH, (int)label->t.len, (const char *)label->t.data,
	       buf_str(&line));
	return r;
}

/* "ALTERED  object-17, bytes 65,536..65,551" */
static int print_title(const struct flow_view *f, size_t row)
{
	const struct value *what = flow_cell(f, FLOW_VERDICTS, row, FLOW_VERDICT_WHAT),
			   *file = flow_cell(f, FLOW_VERDICTS, row, FLOW_VERDICT_FILE),
			   *from = flow_cell(f, FLOW_VERDICTS, row, FLOW_VERDICT_FROM),
			   *to = flow_cell(f, FLOW_VERDICTS, row, FLOW_VERDICT_TO);
	_cleanup_buf_ struct buf name = {0};
	int r = file->null ? 0
			   : format_path(&name, file->t.data, file->t.len,
					 MAX(f->width, (size_t)TEXT_WIDTH_MIN) - 50);

	if (r < 0)
		return r;
	printf("\n%s", text_style(TEXT_RED));
	for (size_t i = 0; i < what->t.len; i++) {
		char c = (char)what->t.data[i];

		putchar(c == '-' ? ' ' : c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
	}
	printf("%s  %s", text_style(TEXT_PLAIN), name.len ? buf_str(&name) : "");
	if (!from->null && !to->null && to->i > from->i)
		printf("%sbytes %s..%s", name.len ? ", " : "", format_count((uint64_t)from->i).s,
		       format_count((uint64_t)to->i - 1).s);
	putchar('\n');
	return 0;
}

static int print_verdict(const struct flow_view *f, size_t row)
{
	const struct value *number = flow_cell(f, FLOW_VERDICTS, row, FLOW_VERDICT_NUMBER),
			   *note = flow_cell(f, FLOW_VERDICTS, row, FLOW_VERDICT_NOTE);
	int r = print_title(f, row);

	for (size_t i = 0; i < flow_rows(f, FLOW_EVIDENCE) && r >= 0; i++) {
		if (flow_cell(f, FLOW_EVIDENCE, i, FLOW_EVIDENCE_VERDICT)->i == number->i)
			r = print_evidence(f, i);
	}
	if (r >= 0 && !note->null) {
		_cleanup_buf_ struct buf text = {0};

		r = format_wrapped(&text, (const char *)note->t.data, 2, f->width);
		if (r >= 0)
			printf("  %s%s%s", text_style(TEXT_YELLOW), buf_str(&text),
			       text_style(TEXT_PLAIN));
	}
	return r;
}

static int print_verdicts(const struct flow_view *f)
{
	size_t count = flow_rows(f, FLOW_VERDICTS),
	       most = text_terminal() ? SCREEN_VERDICTS : SIZE_MAX;
	int r = 0;

	for (size_t i = 0; i < MIN(count, most) && r >= 0; i++)
		r = print_verdict(f, i);
	if (count > most)
		printf("\n%zu more: weir flow --json\n", count - most);
	if (!count && f->s->content_sums.bytes)
		printf("\nno data was altered, lost on the way, or delivered twice%s\n",
		       f->v->runs[0].lost || f->v->runs[0].lost_unknown
			       ? ", as far as the recording shows: calls are missing"
			       : "");
	return r;
}

/* ---- the rest ---- */

static int print_replication(const struct flow_view *f)
{
	size_t count = flow_rows(f, FLOW_REPLICATION);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		_cleanup_buf_ struct buf text = {0};
		const struct value *chain = flow_cell(f, FLOW_REPLICATION, i, 0),
				   *objects = flow_cell(f, FLOW_REPLICATION, i, 1),
				   *lags = flow_cell(f, FLOW_REPLICATION, i, 3);

		r = format_safe(&text, chain->t.data, chain->t.len);
		if (r >= 0)
			printf("%s%-15s  %s   %s%s%.*s\n", i ? "" : "\n", i ? "" : "replication",
			       buf_str(&text), format_counted((uint64_t)objects->i, "object").s,
			       lags->null ? "" : ", lag ", (int)lags->t.len,
			       (const char *)lags->t.data);
	}
	return r;
}

static int print_edges(const struct flow_view *f)
{
	_cleanup_buf_ struct buf line = {0};
	const struct flow_graph *g = &f->s->graph;
	uint64_t contested = 0;
	int r = 0;

	for (size_t i = 0; i < flow_rows(f, FLOW_EDGES) && r >= 0; i++) {
		const struct value *via = flow_cell(f, FLOW_EDGES, i, 0),
				   *certain = flow_cell(f, FLOW_EDGES, i, 1),
				   *more = flow_cell(f, FLOW_EDGES, i, 2);

		contested += (uint64_t)more->i;
		r = format_next(&line, f->width - 17, "%.*s %s%s%s", (int)via->t.len,
				(const char *)via->t.data, format_count((uint64_t)certain->i).s,
				more->i ? " + " : "",
				more->i ? format_count((uint64_t)more->i).s : "");
	}
	if (r < 0)
		return r;
	printf("\n%-15s  %s%s\n", "because", format_count(g->edge_count).s,
	       g->edge_count ? ", certain + contested (another call may have been the cause)" : "");
	for (const char *at = buf_str(&line); line.len && *at;) {
		size_t len = strcspn(at, "\n");

		printf("%17s%.*s\n", "", (int)len, at);
		at += len + (at[len] == '\n');
	}
	if (f->s->unplaced)
		printf("%17s%s on streams that began before the recording\n", "",
		       format_counted(f->s->unplaced, "call").s);
	if (f->s->unfollowed)
		printf("%17s%s that moved datagrams whose other end was not found\n", "",
		       format_counted(f->s->unfollowed, "call").s);
	if (f->s->unfollowed_messages)
		printf("%17s%s altered, not received or not sent on, but equal to others or not "
		       "alone\n",
		       "", format_counted(f->s->unfollowed_messages, "message").s);
	if (f->s->undivided)
		printf("%17s%s may relay messages, which hashes alone do not show: weir "
		       "record --content=bytes\n",
		       "", format_counted(f->s->undivided, "connection").s);
	if (flow_mapped_unseen(f->s, -1))
		printf("%17sfiles were mapped for writing and not read afterwards: what was stored "
		       "in "
		       "them is not known\n",
		       "");
	if (f->s->mapped_unsure)
		printf("%17s%s stored through mappings of several processes, not known by which\n",
		       "", format_size(f->s->mapped_unsure).s);
	if (f->s->contradictions || g->cycles)
		printf("%17s%scontradictions: %s%s\n", "", text_style(TEXT_RED),
		       format_count(f->s->contradictions + g->cycles).s, text_style(TEXT_PLAIN));
	if (f->result->uncompared)
		printf("%17s%s not compared with others of the name, as there are too many "
		       "folders\n",
		       "", format_counted(f->result->uncompared, "file").s);
	if (flow_left_out(f->result))
		printf("%17s%sleft out, as they do not fit into memory: %s; select a range%s\n", "",
		       text_style(TEXT_RED), format_count(flow_left_out(f->result)).s,
		       text_style(TEXT_PLAIN));
	return 0;
}

/* "(/srv/data/x)": the file of a call, if there is one. */
static void put_flow_file(struct buf *line, const struct value *file, size_t width)
{
	if (file->null)
		return;
	buf_printf(line, "(");
	format_path(line, file->t.data, file->t.len, width);
	buf_printf(line, ")");
}

/* Rows of the tree that differ only in time and range, below the same line, such as the calls of a loop. */
struct tree_line {
	size_t row; /* the first one */
	uint64_t calls, bytes;
	uint32_t child, last, next; /* first and last line below it, next one beside it; 0: none */
};

struct tree_lines {
	struct tree_line *all; /* the first one stands for the whole tree */
	size_t count, cap;
	struct map of;
};

static uint64_t tree_key(const struct flow_view *f, size_t table, size_t row, uint32_t above)
{
	static const size_t columns[] = {FLOW_TREE_HOST, FLOW_TREE_WHO, FLOW_TREE_CALL,
					 FLOW_TREE_FILE, FLOW_TREE_VIA};
	uint64_t key = hash_u64(above);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const struct value *v = flow_cell(f, table, row, columns[i]);

		key = hash_u64(key ^ (v->null ? 1 : hash_bytes(v->t.data, v->t.len)));
	}
	return key;
}

/* Adds a row below a line. *ret: its line. 0 or -ENOMEM. */
static int tree_add(struct tree_lines *l, const struct flow_view *f, size_t table, size_t row,
		    uint32_t above, uint32_t *ret)
{
	const struct value *bytes = flow_cell(f, table, row, FLOW_TREE_BYTES);
	uint64_t key = tree_key(f, table, row, above), at;
	int r = 0;

	if (!map_get(&l->of, key, &at)) {
		at = l->count;
		r = array_add(l->all, l->count, l->cap, (struct tree_line){.row = row});
		if (r >= 0)
			r = map_set(&l->of, key, at);
		if (r < 0)
			return r;
		if (l->all[above].last)
			l->all[l->all[above].last].next = (uint32_t)at;
		else
			l->all[above].child = (uint32_t)at;
		l->all[above].last = (uint32_t)at;
	}
	/* a call has several rows, if it moved several ranges */
	key = hash_u64(at) ^ hash_u64((uint64_t)flow_cell(f, table, row, FLOW_TREE_OP)->i);
	if (!map_get(&l->of, key, NULL)) {
		r = map_set(&l->of, key, at);
		l->all[at].calls++;
	}
	l->all[at].bytes += bytes->null || bytes->i < 0 ? 0 : (uint64_t)bytes->i;
	*ret = (uint32_t)at;
	return r;
}

static int print_place(const struct flow_view *f, size_t table, const struct tree_line *l)
{
	const struct value *depth = flow_cell(f, table, l->row, FLOW_TREE_DEPTH),
			   *host = flow_cell(f, table, l->row, FLOW_TREE_HOST),
			   *who = flow_cell(f, table, l->row, FLOW_TREE_WHO),
			   *call = flow_cell(f, table, l->row, FLOW_TREE_CALL),
			   *file = flow_cell(f, table, l->row, FLOW_TREE_FILE),
			   *via = flow_cell(f, table, l->row, FLOW_TREE_VIA);
	_cleanup_buf_ struct buf line = {0}, tail = {0}, cut = {0};
	size_t used, left;
	int r;

	buf_printf(&line, "%9s  %*s",
		   depth->i ? format_dur(flow_cell(f, table, l->row, FLOW_TREE_DELAY)->i).s : "",
		   (int)MIN(depth->i, (int64_t)30), "");
	if (store_recording_count(f->v->runs[0].store) > 1) {
		format_safe(&line, host->t.data, host->t.len);
		buf_printf(&line, " ");
	}
	format_safe(&line, who->t.data, who->t.len);
	buf_printf(&line, "  %.*s", (int)call->t.len, (const char *)call->t.data);
	if (l->bytes)
		buf_printf(&tail, " %s", format_size(l->bytes).s);
	if (l->calls > 1)
		buf_printf(&tail, " in %s calls", format_count(l->calls).s);
	if (!via->null)
		buf_printf(&tail, ", %.*s", (int)via->t.len, (const char *)via->t.data);
	used = format_width(buf_str(&line)) + tail.len + 2;
	left = MAX(f->width, used + PATH_LEAST) - used;
	put_flow_file(&line, file, MIN(left, (size_t)PATH_WIDTH));
	buf_add(&line, &tail);
	buf_fail(&cut, buf_status(&line));
	r = format_pad(&cut, buf_str(&line), MIN(format_width(buf_str(&line)), f->width), false);
	if (r < 0)
		return r;
	printf("%s\n", buf_str(&cut));
	return r;
}

static int print_below(const struct flow_view *f, size_t table, const struct tree_lines *l,
		       uint32_t above)
{
	int r = 0;

	for (uint32_t i = l->all[above].child; i && r >= 0; i = l->all[i].next) {
		r = print_place(f, table, &l->all[i]);
		r = r < 0 ? r : print_below(f, table, l, i);
	}
	return r;
}

/* Each row's depth is at most one more than that of the row before. */
static int print_places(const struct flow_view *f, size_t table)
{
	size_t rows = flow_rows(f, table);
	struct tree_lines l = {0};
	uint32_t path[FLOW_TREE_DEPTH_MAX + 1] = {0};
	int r = array_add(l.all, l.count, l.cap, (struct tree_line){0});

	for (size_t i = 0; i < rows && r >= 0; i++) {
		size_t depth = (size_t)flow_cell(f, table, i, FLOW_TREE_DEPTH)->i;

		assert(depth < FLOW_TREE_DEPTH_MAX);
		r = tree_add(&l, f, table, i, path[depth], &path[depth + 1]);
	}
	if (r >= 0)
		r = print_below(f, table, &l, 0);
	free(l.all);
	map_free(&l.of);
	return r;
}

static int print_tree(const struct flow_view *f, size_t table)
{
	const struct flow_result *result = f->result;
	size_t rows = flow_rows(f, table);
	int r;

	printf("\n%s\n",
	       rows ? "every later place of these bytes, with the time since they were first moved"
		    : "no call that --from or --of selects moved bytes");
	r = print_places(f, table);
	if (result->tree_left_out)
		printf("%s more places\n", format_count(result->tree_left_out).s);
	if (rows && f->s->content_sums.bytes && !f->s->content_sums.payload)
		printf("with hashes alone only calls that moved the same bytes are joined; weir "
		       "record "
		       "--content=bytes joins parts of them, too\n");
	return r;
}

/* "n1 redis-server 4711  write": one end of an edge, starting at the column `first`. */
static int put_past_end(struct buf *line, const struct flow_view *f, size_t table, size_t row,
			size_t first)
{
	const struct value *host = flow_cell(f, table, row, first),
			   *who = flow_cell(f, table, row, first + 1),
			   *tid = flow_cell(f, table, row, first + 2),
			   *call = flow_cell(f, table, row, first + 3);
	_cleanup_buf_ struct buf name = {0};

	if (store_recording_count(f->v->runs[0].store) > 1) {
		format_safe(line, host->t.data, host->t.len);
		buf_printf(line, " ");
	}
	format_safe(&name, who->t.data, who->t.len);
	buf_add(line, &name);
	if (!tid->null) {
		char number[32];

		(void)snprintf(number, sizeof(number), "%lld", (long long)tid->i);
		if (!name.len || !strstr(buf_str(&name), number))
			buf_printf(line, " thread %s", number);
	}
	return buf_printf(line, "  %.*s", (int)call->t.len, (const char *)call->t.data);
}

static int print_past_row(const struct flow_view *f, size_t table, size_t row)
{
	const struct value *via = flow_cell(f, table, row, FLOW_PAST_VIA),
			   *certainty = flow_cell(f, table, row, FLOW_PAST_CERTAINTY),
			   *file = flow_cell(f, table, row, FLOW_PAST_FILE);
	const struct bytes contested = {(const uint8_t *)"contested", 9};
	_cleanup_buf_ struct buf line = {0};
	int r;

	put_past_end(&line, f, table, row, FLOW_PAST_HOST);
	put_flow_file(&line, file, PATH_WIDTH);
	buf_printf(&line, ", by %.*s before ", (int)via->t.len, (const char *)via->t.data);
	put_past_end(&line, f, table, row, FLOW_PAST_TO_HOST);
	if (!bytes_compare(certainty->t, contested))
		buf_printf(&line, ", contested");
	r = format_wrap(&line, 13, f->width);
	if (r < 0)
		return r;
	printf("%11s  %s", format_dur(flow_cell(f, table, row, FLOW_PAST_BEFORE)->i).s,
	       buf_str(&line));
	return r;
}

static int print_past(const struct flow_view *f, size_t table)
{
	size_t rows = flow_rows(f, table);
	int r = 0;

	printf("\n%s\n",
	       rows ? "the last call of each thread that happened before it, and how long before"
		    : "no call of another thread happened before it");
	for (size_t i = 0; i < rows && r >= 0; i++)
		r = print_past_row(f, table, i);
	return r;
}

int flow_screen(const struct analysis_view *v)
{
	const struct flow_result *own = v->result->own;
	const struct flow_view f = {.v = v,
				    .result = own,
				    .s = &own->state,
				    .width = MAX(text_width(), (size_t)TEXT_WIDTH_MIN)};
	const struct flow_options *o = analysis_own_options(v->opts);
	int r;

	if (own->alike)
		return alike_screen(v, own->alike, &o->alike);
	r = o->as ? flow_export(f.s, o->as) : print_flow_head(&f);
	if (o->as) {
		loss_warn(&v->loss);
		return r;
	}

	if (r >= 0)
		r = print_clocks(&f);
	if (r >= 0)
		r = print_verdicts(&f);
	if (r >= 0)
		r = print_replication(&f);
	if (r >= 0)
		r = print_edges(&f);
	for (size_t i = FLOW_MORE; r >= 0 && i < v->result->count; i++) {
		const char *name = v->result->tables[i].name;

		r = !strcmp(name, "tree")   ? print_tree(&f, i)
		    : !strcmp(name, "past") ? print_past(&f, i)
					    : analysis_put_table(v, i, NULL);
	}
	fflush(stdout);
	loss_warn(&v->loss);
	return r;
}
