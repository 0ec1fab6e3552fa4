/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/loss_text.h"

#include <errno.h>
#include <string.h>

#include "cli/terminal/json_text.h"
#include "engine/ask.h"

/* True for rows that exist but lack a part: a path, an argument, a file, an address. */
static bool loss_text_is_part(enum loss_cause cause)
{
	return cause == CAUSE_PATH_CUT || cause == CAUSE_ARG_UNREAD || cause == CAUSE_NO_FILE ||
	       cause == CAUSE_UNSENT || cause == CAUSE_STACK;
}

/* True for events of the recording because of which no ended call is missing. */
static bool is_note(enum loss_cause cause)
{
	return cause == CAUSE_STOPPED || cause == CAUSE_HOLD_LIMIT || cause == CAUSE_RUNNING_UNREAD;
}

static void loss_text_sum_up(struct loss *l)
{
	l->lost = 0;
	l->at_least = false;
	for (unsigned int c = 0; c < CAUSE_COUNT; c++) {
		if (loss_text_is_part(c) || cause_is_beside(c) || is_note(c))
			continue;
		l->lost += l->events[c];
		l->at_least |= l->more[c];
	}
	l->cut = l->events[CAUSE_PATH_CUT] + l->events[CAUSE_ARG_UNREAD];
	l->no_file = l->events[CAUSE_NO_FILE];
	l->beside = 0;
	l->beside_unknown = false;
	for (size_t i = 0; i < l->beside_count; i++) {
		l->beside += l->beside_of[i].rows;
		l->beside_unknown = l->beside_unknown || l->beside_of[i].more;
	}
	l->running_unread = l->events[CAUSE_RUNNING_UNREAD] || l->more[CAUSE_RUNNING_UNREAD];
}

void loss_add_beside(struct loss *l, enum table_id table, enum loss_cause cause, uint64_t rows,
		     bool more)
{
	size_t i = 0;

	while (i < l->beside_count &&
	       (l->beside_of[i].table != table || l->beside_of[i].cause != cause))
		i++;
	if (i == LOSS_BESIDE_MAX) /* unlikely; the total still counts it */
		i--;
	if (i == l->beside_count)
		l->beside_of[l->beside_count++] = (struct loss_beside){table, cause, 0, false};
	l->beside_of[i].rows += rows;
	l->beside_of[i].more |= more;
	l->beside += rows;
}

/* The table named in a row of loss. */
static enum table_id loss_text_table(const struct batch *rows, size_t row)
{
	struct bytes name = batch_get_bytes(rows, LOSS_OF, row);

	for (enum table_id t = 0; t < TABLE_COUNT; t++) {
		if (bytes_is(name, schema_table(t)->name))
			return t;
	}
	return TABLE_COUNT;
}

void loss_add(struct loss *l, const struct batch *rows)
{
	for (size_t i = 0; i < rows->rows; i++) {
		int64_t cause = batch_get(rows, LOSS_CAUSE, i, CAUSE_DECODE);
		int64_t events = batch_get(rows, LOSS_EVENTS, i, -1);

		if (cause < 0 || cause >= CAUSE_COUNT)
			cause = CAUSE_DECODE;
		if (events < 0)
			l->more[cause] = true;
		else
			l->events[cause] += (uint64_t)events;
		if (cause_is_beside((enum loss_cause)cause))
			loss_add_beside(l, loss_text_table(rows, i), (enum loss_cause)cause,
					(uint64_t)MAX(events, (int64_t)0), events < 0);
	}
	loss_text_sum_up(l);
}

void loss_raise(struct loss *l, uint64_t lost)
{
	l->lost = MAX(l->lost, lost);
}

void loss_take_damage(struct loss *l, const struct store *s)
{
	l->events[CAUSE_CORRUPT] -= l->damage.calls;
	store_damage(s, &l->damage);
	store_file_changes(s, &l->changes);
	store_unclosed(s, &l->unclosed);
	l->events[CAUSE_CORRUPT] += l->damage.calls;
	l->more[CAUSE_CORRUPT] |= l->damage.gaps;
	l->more[CAUSE_TORN] |= l->damage.torn;
	loss_text_sum_up(l);
}

int loss_add_polled(struct loss_polled *p, size_t processes, long pid, struct bytes comm)
{
	_cleanup_buf_ struct buf safe = {0};
	int r = 0;

	if (processes && !p->processes)
		r = format_safe(&safe, comm.data, comm.len);
	if (safe.len)
		snprintf(p->first, sizeof(p->first), "%s (%ld)", buf_str(&safe), pid);
	p->processes += processes;
	return r < 0 ? r : 0;
}

/* "4711 fio" */
static int loss_text_add_polled(struct loss *l, struct bytes text)
{
	char number[16];
	const char *space = memchr(text.data, ' ', text.len);
	size_t len = space ? (size_t)(space - (const char *)text.data) : 0;

	if (!len || len >= sizeof(number))
		return 0;
	snprintf(number, sizeof(number), "%.*s", (int)len, (const char *)text.data);
	return loss_add_polled(&l->polled, 1, strtol(number, NULL, 10),
			       (struct bytes){(const void *)(space + 1), text.len - len - 1});
}

static int add_marks(struct loss *l, const struct batch *marks)
{
	int r = 0;

	for (size_t i = 0; i < marks->rows && r >= 0; i++) {
		struct bytes name = batch_get_bytes(marks, MARK_NAME, i),
			     text = batch_get_bytes(marks, MARK_TEXT, i);

		if (name.len && text.len && bytes_is(name, "weir.polled"))
			r = loss_text_add_polled(l, text);
		if (name.len && bytes_is(name, "weir.version"))
			l->requests.recordings++;
		if (name.len && text.len && bytes_is(name, "weir.requests")) {
			l->requests.io_uring += bytes_is(text, "io_uring libaio");
			l->requests.libaio++;
		}
		if (!name.len || !text.len || !bytes_is(name, "weir.failed"))
			continue;
		if (l->failed.count++)
			continue;
		l->failed.at = batch_get(marks, MARK_AT, i, 0);
		snprintf(l->failed.why, sizeof(l->failed.why), "%.*s", (int)text.len,
			 (const char *)text.data);
	}
	return r;
}

static int loss_text_take(void *arg, const struct store_block *block, const struct batch *b)
{
	if (block->table == TABLE_MARK)
		return add_marks(arg, b);
	loss_add(arg, b);
	return 0;
}

int loss_read(struct loss *ret, const struct store *s, struct error *err)
{
	struct loss l = {0};
	int r = store_each(s, 1ull << TABLE_LOSS | 1ull << TABLE_MARK, ~0ull, loss_text_take, &l,
			   err);

	if (r < 0)
		return error_errno(err, r, "cannot read what is missing from the trace");
	loss_take_damage(&l, s);
	*ret = l;
	return 0;
}

void loss_merge(struct loss *to, const struct loss *from)
{
	for (unsigned int c = 0; c < CAUSE_COUNT; c++) {
		to->events[c] += from->events[c];
		to->more[c] |= from->more[c];
	}
	for (size_t i = 0; i < from->beside_count; i++)
		loss_add_beside(to, from->beside_of[i].table, from->beside_of[i].cause,
				from->beside_of[i].rows, from->beside_of[i].more);
	if (!to->damage.first[0])
		memcpy(to->damage.first, from->damage.first, sizeof(to->damage.first));
	to->damage.blocks += from->damage.blocks;
	to->damage.traces += from->damage.traces;
	to->damage.rows += from->damage.rows;
	to->damage.calls += from->damage.calls;
	to->damage.bytes += from->damage.bytes;
	to->damage.gaps |= from->damage.gaps;
	to->damage.torn |= from->damage.torn;
	if (from->failed.count && !to->failed.count)
		to->failed = from->failed;
	else
		to->failed.count += from->failed.count;
	if (from->polled.processes && !to->polled.processes)
		to->polled = from->polled;
	else
		to->polled.processes += from->polled.processes;
	to->requests.recordings += from->requests.recordings;
	to->requests.io_uring += from->requests.io_uring;
	to->requests.libaio += from->requests.libaio;
	if (!to->changes.traces)
		to->changes.path = from->changes.path;
	to->changes.traces += from->changes.traces;
	to->changes.what |= from->changes.what;
	if (from->unclosed.traces) {
		if (!to->unclosed.traces || from->unclosed.until < to->unclosed.until)
			to->unclosed.until = from->unclosed.until;
		to->unclosed.traces += from->unclosed.traces;
	}
	loss_text_sum_up(to);
}

/* Gathers all rows of a table in an engine. */
static int loss_text_gather(struct batch *to, struct engine *e, enum table_id table,
			    struct error *err)
{
	const struct scan_request q = {
		.table = table, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n;
	int r = engine_scan_of(&scan, e, &q, err);

	if (r < 0)
		return r;
	while ((n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		r = batch_append_rows(to, b, rows, (size_t)n);
		if (r < 0)
			return error_errno(err, r, "cannot read what is missing from the trace");
	}
	return (int)n;
}

int loss_read_engine(struct loss *ret, struct engine *e, struct error *err)
{
	_cleanup_(batch_freep) struct batch *rows = NULL, *marks = NULL;
	struct loss l = {0};
	int r = batch_new(&rows, TABLE_LOSS);

	if (r >= 0)
		r = batch_new(&marks, TABLE_MARK);
	if (r < 0)
		return error_errno(err, r, "cannot read what is missing from the trace");
	r = loss_text_gather(rows, e, TABLE_LOSS, err);
	if (r < 0)
		return r;
	r = loss_text_gather(marks, e, TABLE_MARK, err);
	if (r < 0)
		return r;
	loss_add(&l, rows);
	r = add_marks(&l, marks);
	if (r < 0)
		return error_errno(err, r, "cannot read what is missing from the trace");
	*ret = l;
	return 0;
}

int loss_put_calls(struct buf *out, const struct loss *l)
{
	if (!l->lost && l->at_least)
		return buf_printf(out, "an unknown number of calls");
	return buf_printf(out, "%s%s call%s", l->at_least ? "at least " : "",
			  format_count(l->lost).s, l->lost == 1 ? "" : "s");
}

static int loss_text_put_causes(struct buf *out, const struct loss *l, bool parts, unsigned int max)
{
	unsigned int named = 0;

	for (unsigned int c = 0; c < CAUSE_COUNT; c++) {
		if ((!l->events[c] && !l->more[c]) || is_note(c) || cause_is_beside(c) ||
		    loss_text_is_part(c) != parts)
			continue;
		if (named == max)
			return buf_printf(out, ", and more");
		buf_printf(out, "%s%s %s", named++ ? ", " : "", vocab_word("cause", c),
			   l->events[c] ? format_count(l->events[c]).s : "?");
		if (l->events[c] && l->more[c])
			buf_printf(out, "+");
	}
	return buf_status(out);
}

int loss_put_causes(struct buf *out, const struct loss *l, bool parts, unsigned int max)
{
	if (!parts && l->events[CAUSE_HOLD_LIMIT])
		buf_printf(out, "lossless guarantee broken: ");
	return loss_text_put_causes(out, l, parts, max);
}

static const char *beside_words(enum loss_cause cause, enum table_id table)
{
	if (cause == CAUSE_SIDE_FULL && (table == TABLE_CHUNK || table == TABLE_DETAIL))
		return "they came faster than the recorder took them: record with --lossless, or "
		       "a larger --ring";
	switch (cause) {
	case CAUSE_SIDE_SKIPPED:
		return "its BPF program was already running on that CPU";
	case CAUSE_SIDE_UNSEEN:
		return "the kernel did not show all of its switches";
	case CAUSE_SIDE_STORAGE:
		return "more at once than the BPF programs can track";
	case CAUSE_SIDE_UNREAD:
		return "the last of them could not be read at the end";
	case CAUSE_SPAN_UNREAD:
		return "their marks could not be read or were malformed: weir query 'from mark'";
	default:
		return "they came faster than the recorder could read them: record fewer tables at "
		       "once";
	}
}

int loss_put_beside(struct buf *out, const struct loss *l, bool explain)
{
	for (size_t i = 0; i < l->beside_count; i++) {
		const struct loss_beside *b = &l->beside_of[i];
		const char *word =
			explain ? beside_words(b->cause, b->table) : vocab_word("cause", b->cause);

		buf_printf(out, i ? ", " : "");
		if (b->rows)
			buf_printf(out, "%s%s row%s of ", b->more ? "at least " : "",
				   format_count(b->rows).s, b->rows == 1 ? "" : "s");
		else
			buf_printf(out, "an unknown number of rows of ");
		buf_printf(out, "%s (%s)",
			   b->table < TABLE_COUNT ? schema_table(b->table)->name : "other tables",
			   word);
	}
	return buf_status(out);
}

int loss_put_damage(struct buf *out, const struct loss *l)
{
	const struct store_damage *d = &l->damage;
	uint64_t blocks = d->blocks - d->traces;
	bool more = d->gaps || d->torn;

	if (d->traces)
		buf_printf(out, "%s whole trace%s, ", format_count(d->traces).s,
			   d->traces == 1 ? "" : "s");
	if (blocks)
		buf_printf(out, "%s block%s, ", format_count(blocks).s, blocks == 1 ? "" : "s");
	if (more && !d->rows)
		buf_printf(out, "rows unknown");
	else
		buf_printf(out, "%s%s rows", more ? "at least " : "", format_count(d->rows).s);
	return buf_printf(out, ": %s", d->first);
}

int loss_put_unclosed(struct buf *out, const struct loss *l, enum format_zone zone)
{
	const struct store_unclosed *u = &l->unclosed;

	if (u->traces == 1)
		buf_printf(out, "(recorder killed, or file cut): ");
	else
		buf_printf(out, "(%zu traces; recorder killed, or file cut): ", u->traces);
	if (u->until == INT64_MIN)
		return buf_printf(out, "its last calls may be missing");
	return buf_printf(out, "calls after %s may be missing", format_when(u->until, zone).s);
}

int loss_put_changes(struct buf *out, const struct loss *l)
{
	const struct store_file_changes *c = &l->changes;
	const bool deleted = c->what & STORE_FILE_DELETED, cut = c->what & STORE_FILE_CUT;
	const char *more = "";

	buf_fail(out, format_safe(out, c->path, strlen(c->path)));
	if (c->what & STORE_FILE_REPLACED)
		more = ", and replaced by another file";
	if (c->traces == 1)
		buf_printf(out, " was ");
	else
		buf_printf(out, " and %zu more trace%s were ", c->traces - 1,
			   c->traces == 2 ? "" : "s");
	if (cut)
		buf_printf(out, "cut short%s", c->what & ~STORE_FILE_CUT ? " and " : "");
	if (!(c->what & ~STORE_FILE_CUT))
		return buf_status(out);
	buf_printf(out, "%s%s",
		   deleted ? "deleted"
		   : *more ? "replaced"
			   : "moved",
		   deleted ? more : "");
	return buf_printf(out, ": what is shown was read from the file that was opened");
}

int loss_put_failed(struct buf *out, const struct loss *l)
{
	int r = format_safe(out, l->failed.why, strlen(l->failed.why));

	return r < 0 || l->failed.count < 2
		       ? r
		       : buf_printf(out, " (and %zu more)", l->failed.count - 1);
}

int loss_put_polled(struct buf *out, const struct loss_polled *p)
{
	if (!p->processes)
		return buf_status(out);
	buf_printf(out, "%s", p->first);
	if (p->processes > 1)
		buf_printf(out, " and %zu more process%s", p->processes - 1,
			   p->processes == 2 ? "" : "es");
	return buf_printf(out,
			  " %s an io_uring that the kernel polls (SQPOLL): its requests "
			  "are submitted without calls and are not recorded",
			  p->processes > 1 ? "have" : "has");
}

static bool has_parts(const struct loss *l)
{
	bool any = false;

	for (unsigned int c = 0; c < CAUSE_COUNT; c++)
		any |= loss_text_is_part(c) && (l->events[c] || l->more[c]);
	return any;
}

void loss_warn_changes(const struct store *s, unsigned int *warned)
{
	struct loss now = {0};

	store_file_changes(s, &now.changes);
	if (now.changes.what & ~*warned)
		loss_warn(&now);
	*warned |= now.changes.what;
}

void loss_warn(const struct loss *l)
{
	_cleanup_buf_ struct buf b = {0};
	const char *separator = "";

	if (l->changes.traces && loss_put_changes(&b, l) >= 0)
		fprintf(stderr, "weir: %s\n", buf_str(&b));
	buf_clear(&b);
	if (!loss_of_calls(l) && !has_parts(l) && !l->beside_count && !l->damage.blocks &&
	    !l->unclosed.traces && !l->failed.count)
		return;
	if (l->failed.count) {
		buf_printf(&b, "recording failed: ");
		loss_put_failed(&b, l);
		separator = "; ";
	}
	if (loss_of_calls(l)) {
		buf_printf(&b, "%s", separator);
		loss_put_calls(&b, l);
		buf_printf(&b, " lost (");
		loss_put_causes(&b, l, false, CAUSE_COUNT);
		buf_printf(&b, ")");
		separator = "; ";
	}
	if (has_parts(l)) {
		buf_printf(&b, "%sincomplete rows: ", separator);
		loss_put_causes(&b, l, true, CAUSE_COUNT);
		separator = "; ";
	}
	if (l->beside_count) {
		buf_printf(&b, "%slost ", separator);
		loss_put_beside(&b, l, false);
		separator = "; ";
	}
	if (l->damage.blocks) {
		buf_printf(&b, "%sdamaged: ", separator);
		loss_put_damage(&b, l);
		separator = "; ";
	}
	if (l->unclosed.traces) {
		buf_printf(&b, "%snot closed ", separator);
		loss_put_unclosed(&b, l, FORMAT_LOCAL);
	}
	fprintf(stderr, "weir: the trace is incomplete: %s\n",
		buf_status(&b) < 0 ? "?" : buf_str(&b));
}

static json_t *unclosed_json(const struct store_unclosed *u)
{
	char until[24];

	if (u->until == INT64_MIN)
		return json_pack("{s:I, s:n}", "traces", (json_int_t)u->traces, "complete_until");
	snprintf(until, sizeof(until), "%lld", (long long)u->until);
	return json_pack("{s:I, s:s}", "traces", (json_int_t)u->traces, "complete_until", until);
}

static json_t *changes_json(const struct store_file_changes *c)
{
	json_t *what = json_array(), *path = json_string(c->path);
	_cleanup_buf_ struct buf plain = {0};
	const char *word;
	unsigned int bit;

	/* not UTF-8 */
	if (!path && format_safe(&plain, c->path, strlen(c->path)) >= 0)
		path = json_string(buf_str(&plain));

	for (size_t i = 0; (word = store_file_change_word(i, &bit)); i++) {
		if (c->what & bit)
			json_array_append_new(what, json_string(word));
	}
	return json_pack("{s:I, s:o, s:o}", "traces", (json_int_t)c->traces, "path", path, "what",
			 what);
}

static json_t *failed_json(const struct loss *l)
{
	_cleanup_buf_ struct buf why = {0};
	char at[24];

	snprintf(at, sizeof(at), "%lld", (long long)l->failed.at);
	(void)!format_safe(&why, l->failed.why, strlen(l->failed.why));
	return json_pack("{s:I, s:s, s:s}", "recordings", (json_int_t)l->failed.count, "at", at,
			 "why", buf_str(&why));
}

static json_t *beside_json(const struct loss *l)
{
	json_t *list = json_array();

	for (size_t i = 0; i < l->beside_count; i++) {
		const struct loss_beside *b = &l->beside_of[i];

		json_array_append_new(
			list,
			json_pack("{s:s?, s:s, s:s, s:I, s:b}", "table",
				  b->table < TABLE_COUNT ? schema_table(b->table)->name : NULL,
				  "cause", vocab_word("cause", b->cause), "why",
				  beside_words(b->cause, b->table), "rows", (json_int_t)b->rows,
				  "at_least", (int)b->more));
	}
	return list;
}

json_t *loss_json(const struct loss *l)
{
	json_t *causes = json_object(), *doc;

	for (unsigned int c = 0; c < CAUSE_COUNT; c++) {
		if (l->events[c] || l->more[c])
			json_object_set_new(causes, vocab_word("cause", c),
					    json_integer((json_int_t)l->events[c]));
	}
	doc = json_pack("{s:I, s:o, s:b, s:I, s:I}", "events", (json_int_t)l->lost, "causes",
			causes, "at_least", (int)l->at_least, "damaged_blocks",
			(json_int_t)l->damage.blocks, "damaged_rows", (json_int_t)l->damage.rows);
	if (l->unclosed.traces)
		json_object_set_new(doc, "unclosed", unclosed_json(&l->unclosed));
	if (l->changes.traces)
		json_object_set_new(doc, "files", changes_json(&l->changes));
	if (l->failed.count)
		json_object_set_new(doc, "failed", failed_json(l));
	if (l->requests.recordings && l->requests.io_uring >= l->requests.recordings)
		json_object_set_new(doc, "requests", json_true());
	if (l->beside_count)
		json_object_set_new(doc, "beside", beside_json(l));
	if (l->polled.processes)
		json_object_set_new(doc, "polled",
				    json_pack("{s:I, s:s}", "processes",
					      (json_int_t)l->polled.processes, "first",
					      l->polled.first));
	return doc;
}

int loss_put_text(struct buf *out, const struct loss *l)
{
	return json_put_value(out, loss_json(l));
}

void loss_put_json(FILE *out, const struct loss *l)
{
	_cleanup_buf_ struct buf text = {0};

	fputs(loss_put_text(&text, l) < 0 ? "null" : buf_str(&text), out);
}
