// SPDX-License-Identifier: Apache-2.0
#include "analysis/features/habit/habit_table.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "hist/distinct.h"
#include "hist/sparse.h"
#include "names/names.h"

#define HABIT_SLOTS (2 * HABIT_LINES_MAX)
/* ns: minimum weight of a call, so that frequent quick ones are kept along with rare long ones */
#define HABIT_CALL_COST 1000
/* memory for periods; a median is that of the values that had room */
#define HABIT_HIST_BYTES (24u << 20)

static_assert((HABIT_SLOTS & (HABIT_SLOTS - 1)) == 0, "slots are a power of two");

/* A pattern of files within a line. */
struct habit_row {
	uint32_t key;	  /* pattern of its first file, or FEATURE_NONE */
	uint32_t pattern; /* common pattern of all its files; FEATURE_NONE: none */
	uint32_t file;	  /* last file counted */
	uint16_t more;
	bool inexact;
	/* not all files were counted: `files` is limited by the count and `skipped` */
	bool uncounted;
	uint64_t rank, skipped;
	uint64_t list; /* hash of the files counted last */
	int64_t thread_id, first, last, begun;
	/* ns from the beginning of the line's previous run to the row's first; -1: there was none */
	int64_t after;
	uint64_t times, calls, errors, bytes, time, wait;
	struct hist periods;
	struct distinct files;
};

struct habit_line {
	struct habit_cycle cycle;
	bool late; /* added after lines were dropped */
	uint8_t row_count, row_cap, row_last;
	uint64_t hash, weight;
	int64_t begun;		/* start of its latest run */
	struct habit_row *rows; /* [row_count] */
	struct habit_row *rest; /* all other patterns; NULL: none */
};

int habit_table_init(struct habit_table *t, struct file_patterns *patterns)
{
	*t = (struct habit_table){.patterns = patterns, .last = FEATURE_NONE};
	t->lines = calloc(HABIT_LINES_MAX, sizeof(*t->lines));
	t->slots = calloc(HABIT_SLOTS, sizeof(*t->slots));
	return t->lines && t->slots ? 0 : -ENOMEM;
}

static void habit_row_clear(struct habit_table *t, struct habit_row *row)
{
	size_t held = distinct_memory(&row->files) + hist_memory(&row->periods);

	assert(t->files_bytes >= held);
	t->files_bytes -= held;
	hist_free(&row->periods);
	distinct_free(&row->files);
	*row = (struct habit_row){0};
}

static void habit_line_clear(struct habit_table *t, struct habit_line *line)
{
	for (size_t i = 0; i < line->row_count; i++)
		habit_row_clear(t, &line->rows[i]);
	if (line->rest)
		habit_row_clear(t, line->rest);
	free(line->rows);
	free(line->rest);
	*line = (struct habit_line){0};
}

void habit_table_free(struct habit_table *t)
{
	for (size_t i = 0; t->lines && i < t->count; i++)
		habit_line_clear(t, &t->lines[i]);
	free(t->lines);
	free(t->slots);
}

/* ---- lines ---- */

static bool habit_cycle_equal(const struct habit_cycle *a, const struct habit_cycle *b)
{
	return a->task == b->task && a->one_file == b->one_file && a->count == b->count &&
	       !memcmp(a->ops, b->ops, a->count * sizeof(*a->ops));
}

static uint64_t habit_cycle_hash(const struct habit_cycle *c)
{
	uint64_t h = hash_u64((uint64_t)c->task << 9 | (uint64_t)c->one_file << 8 | c->count);

	for (unsigned int i = 0; i < c->count; i++)
		h = (h ^ c->ops[i]) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

static void habit_table_slot(struct habit_table *t, uint32_t number)
{
	size_t at = t->lines[number].hash & (HABIT_SLOTS - 1);

	while (t->slots[at])
		at = (at + 1) & (HABIT_SLOTS - 1);
	t->slots[at] = number + 1;
}

/* Drops the lighter half of the lines. 0 or -ENOMEM. */
static int habit_table_sweep(struct habit_table *t)
{
	_cleanup_free_ uint64_t *weights = calloc(t->count, sizeof(*weights));
	size_t kept = 0, out = 0;
	uint64_t limit;

	assert(t->count == HABIT_LINES_MAX);
	if (!weights)
		return -ENOMEM;
	for (size_t i = 0; i < t->count; i++)
		weights[i] = t->lines[i].weight;
	array_sort(weights, t->count, order_u64);
	limit = weights[t->count / 2];
	for (size_t i = 0; i < t->count; i++) {
		/* of lines with the limit's weight, only as many as necessary */
		if (t->lines[i].weight < limit ||
		    (t->lines[i].weight == limit && out < t->count / 2)) {
			habit_line_clear(t, &t->lines[i]);
			out++;
			continue;
		}
		if (kept != i) {
			t->lines[kept] = t->lines[i];
			t->lines[i] = (struct habit_line){0};
		}
		kept++;
	}
	assert(kept < t->count);
	t->count = kept;
	t->swept = true;
	t->last = FEATURE_NONE;
	memset(t->slots, 0, HABIT_SLOTS * sizeof(*t->slots));
	for (size_t i = 0; i < kept; i++)
		habit_table_slot(t, (uint32_t)i);
	return 0;
}

/* The index of a line; FEATURE_NONE if there is none. */
static uint32_t habit_table_find(const struct habit_table *t, const struct habit_cycle *c,
				 uint64_t hash)
{
	for (size_t at = hash & (HABIT_SLOTS - 1); t->slots[at];
	     at = (at + 1) & (HABIT_SLOTS - 1)) {
		const struct habit_line *line = &t->lines[t->slots[at] - 1];

		if (line->hash == hash && habit_cycle_equal(&line->cycle, c))
			return t->slots[at] - 1;
	}
	return FEATURE_NONE;
}

bool habit_table_has(const struct habit_table *t, const struct habit_cycle *c)
{
	return habit_table_find(t, c, habit_cycle_hash(c)) != FEATURE_NONE;
}

/* The line of a cycle, created if there is none. 0 or -ENOMEM. */
static int habit_table_line(struct habit_table *t, const struct habit_cycle *c,
			    struct habit_line **ret)
{
	uint64_t hash;
	uint32_t found;
	int r;

	if (t->last != FEATURE_NONE && habit_cycle_equal(&t->lines[t->last].cycle, c)) {
		*ret = &t->lines[t->last];
		return 0;
	}
	hash = habit_cycle_hash(c);
	found = habit_table_find(t, c, hash);
	if (found != FEATURE_NONE) {
		t->last = found;
		*ret = &t->lines[found];
		return 0;
	}
	if (t->count == HABIT_LINES_MAX) {
		r = habit_table_sweep(t);
		if (r < 0)
			return r;
	}
	t->last = (uint32_t)t->count++;
	*ret = &t->lines[t->last];
	**ret = (struct habit_line){.cycle = *c, .hash = hash, .late = t->swept};
	habit_table_slot(t, t->last);
	return 0;
}

/* ---- rows ---- */

/* Adds a row that is being removed to `row`. 0 or -ENOMEM. */
static int habit_row_merge(struct habit_table *t, struct habit_row *row,
			   const struct habit_row *other)
{
	size_t held = distinct_memory(&row->files) + hist_memory(&row->periods);
	int r;

	if (!row->times) {
		row->first = other->first;
		row->pattern = other->pattern;
	} else if (other->pattern == FEATURE_NONE || row->pattern == FEATURE_NONE) {
		row->pattern = FEATURE_NONE;
	} else {
		r = file_patterns_common(t->patterns, row->pattern, other->pattern, &row->pattern);
		if (r < 0)
			return r;
	}
	r = hist_merge(&row->periods, &other->periods);
	if (r >= 0 && other->after >= 0)
		r = hist_add(&row->periods, (uint64_t)other->after, 1);
	if (r >= 0)
		r = distinct_merge(&row->files, &other->files);
	if (r < 0)
		return r;
	t->files_bytes += distinct_memory(&row->files) + hist_memory(&row->periods) - held;
	row->first = MIN(row->first, other->first);
	if (!row->times || other->last > row->last) {
		row->last = other->last;
		row->file = other->file;
		row->thread_id = other->thread_id;
	}
	row->more |= other->more;
	row->uncounted |= other->uncounted;
	row->skipped += other->skipped;
	row->times += other->times;
	row->calls += other->calls;
	row->errors += other->errors;
	row->bytes = add_sat(row->bytes, other->bytes);
	row->time = add_sat(row->time, other->time);
	row->wait = add_sat(row->wait, other->wait);
	return 0;
}

static int habit_line_to_rest(struct habit_table *t, struct habit_line *line, struct habit_row *row)
{
	int r;

	if (!line->rest) {
		line->rest = calloc(1, sizeof(*line->rest));
		if (!line->rest)
			return -ENOMEM;
		line->rest->key = FEATURE_NONE;
		line->rest->inexact = line->late;
	}
	r = habit_row_merge(t, line->rest, row);
	if (r < 0)
		return r;
	habit_row_clear(t, row);
	return r;
}

static int habit_line_add_row(struct habit_line *line)
{
	uint8_t cap = line->row_cap ? line->row_cap : 1; /* most lines have one row */
	struct habit_row *rows = line->rows;

	if (line->row_count == line->row_cap) {
		cap = (uint8_t)(line->row_cap ? 2 * line->row_cap : 1);
		rows = realloc(line->rows, cap * sizeof(*rows));
		if (!rows)
			return -ENOMEM;
	}
	line->row_cap = cap;
	line->rows = rows;
	line->rows[line->row_count++] = (struct habit_row){0};
	return 0;
}

/* The row of a pattern; if there is no room it replaces the rarest. 0 or -ENOMEM. */
static int habit_line_row(struct habit_table *t, struct habit_line *line, uint32_t key,
			  struct habit_row **ret)
{
	size_t at = 0;
	uint64_t rank = 0;
	int r;

	if (line->row_last < line->row_count && line->rows[line->row_last].key == key) {
		*ret = &line->rows[line->row_last];
		return 0;
	}
	for (size_t i = 0; i < line->row_count; i++) {
		if (line->rows[i].key == key) {
			line->row_last = (uint8_t)i;
			*ret = &line->rows[i];
			return 0;
		}
		if (line->rows[i].rank < line->rows[at].rank)
			at = i;
	}
	if (line->row_count < HABIT_PATTERNS_MAX) {
		at = line->row_count;
		r = habit_line_add_row(line);
	} else {
		rank = line->rows[at].rank;
		r = habit_line_to_rest(t, line, &line->rows[at]);
	}
	if (r < 0)
		return r;
	line->row_last = (uint8_t)at;
	*ret = &line->rows[at];
	**ret = (struct habit_row){.key = key,
				   .pattern = key,
				   .file = FEATURE_NONE,
				   .rank = rank,
				   .inexact = rank > 0 || line->late};
	return 0;
}

/* Counts the files, and widens the pattern to include them. 0 or -ENOMEM. */
static int habit_row_files(struct habit_table *t, struct habit_row *row, const uint32_t *files,
			   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t held = distinct_memory(&row->files);
		uint32_t pattern;
		int r = file_patterns_of(t->patterns, files[i], &pattern);

		if (r >= 0 && row->pattern != pattern)
			r = file_patterns_common(t->patterns, row->pattern, pattern, &row->pattern);
		if (r < 0)
			return r;
		if (t->files_bytes > HABIT_FILES_BYTES) {
			row->uncounted = true;
			row->skipped++;
			continue;
		}
		r = distinct_add(&row->files, hash_u64(files[i]));
		if (r < 0)
			return r;
		t->files_bytes += distinct_memory(&row->files) - held;
	}
	return 0;
}

/* Hash of the files of one run, in order. */
static uint64_t habit_files_hash(const uint32_t *files, size_t count)
{
	uint64_t h = count;

	for (size_t i = 0; i < count; i++)
		h = hash_u64(h ^ files[i]);
	return h;
}

static int habit_row_period(struct habit_table *t, struct habit_line *line, struct habit_row *row,
			    int64_t start)
{
	size_t held = hist_memory(&row->periods);
	int r;

	if (!row->times)
		row->after = line->weight && start >= line->begun
				     ? (int64_t)((uint64_t)start - (uint64_t)line->begun)
				     : -1;
	line->begun = start;
	if (row->times && start >= row->begun &&
	    t->files_bytes < HABIT_FILES_BYTES + HABIT_HIST_BYTES) {
		r = hist_add(&row->periods, (uint64_t)start - (uint64_t)row->begun, 1);
		if (r < 0)
			return r;
		t->files_bytes += hist_memory(&row->periods) - held;
	}
	row->begun = start;
	return 0;
}

int habit_table_add(struct habit_table *t, const struct habit_cycle *c, const struct habit_sums *s,
		    int64_t thread_id, const uint32_t *files, size_t count)
{
	uint32_t key = FEATURE_NONE;
	uint64_t list;
	struct habit_line *line;
	struct habit_row *row;
	int r = habit_table_line(t, c, &line);

	assert(c->count >= 2 && c->count <= HABIT_STEPS_MAX);
	if (r >= 0 && count)
		r = file_patterns_of(t->patterns, files[0], &key);
	if (r >= 0)
		r = habit_line_row(t, line, key, &row);
	if (r < 0)
		return r;
	list = habit_files_hash(files, count);
	if (count && (row->file == FEATURE_NONE || row->list != list)) {
		r = habit_row_files(t, row, files, count);
		row->file = files[0];
		row->list = list;
	}
	if (r >= 0)
		r = habit_row_period(t, line, row, s->start);
	if (r < 0)
		return r;
	line->weight += s->time + s->calls * HABIT_CALL_COST;
	if (!row->times)
		row->first = s->start;
	row->last = s->stop;
	row->thread_id = thread_id;
	row->rank++;
	row->times++;
	row->calls += s->calls;
	row->errors += s->errors;
	row->more |= s->more;
	row->uncounted |= s->files_cut;
	row->bytes = add_sat(row->bytes, s->bytes);
	row->time = add_sat(row->time, s->time);
	row->wait = add_sat(row->wait, s->wait);
	return 0;
}

/* ---- the table ---- */

struct habit_order {
	const struct habit_line *line;
	const struct habit_row *row;
};

static int habit_time_order(const void *a, const void *b)
{
	const struct habit_order *x = a, *y = b;

	return ORDER(y->row->time, x->row->time) ?: ORDER(x->row->first, y->row->first);
}

static int habit_put_sequence(struct batch_row *to, const struct habit_cycle *c, uint16_t more)
{
	_cleanup_buf_ struct buf text = {0};
	char name[32];
	int r = 0;

	for (unsigned int i = 0; i < c->count; i++) {
		r = buf_printf(&text, "%s%s%s", i ? " " : "", op_name(c->ops[i], name),
			       more >> i & 1 ? "+" : "");
		if (r < 0)
			return r;
	}
	row_set_bytes(to, HABIT_CALLS_TEXT, text.data, text.len);
	return r < 0 ? r : to->r;
}

static int habit_put_row(struct habit_table *t, const struct feature_world *w,
			 const struct habit_line *line, const struct habit_row *row,
			 struct feature_rows *out)
{
	uint64_t files = distinct_count(&row->files) + row->skipped;
	bool periods = hist_total(&row->periods) > 0;
	bool inexact = row->inexact || row->uncounted || line->late ||
		       distinct_estimated(&row->files) || (line->cycle.one_file && t->cut);
	struct batch_row to = feature_row(out);

	row_set(&to, HABIT_THREAD_ID, row->thread_id);
	row_set(&to, HABIT_FILES, (int64_t)files);
	row_set(&to, HABIT_TIMES, (int64_t)row->times);
	row_set(&to, HABIT_CALLS, (int64_t)row->calls);
	row_set(&to, HABIT_ERRORS, (int64_t)row->errors);
	row_set(&to, HABIT_BYTES, (int64_t)MIN(row->bytes, (uint64_t)INT64_MAX));
	row_set(&to, HABIT_TIME, (int64_t)MIN(row->time, (uint64_t)INT64_MAX));
	row_set(&to, HABIT_WAIT_TIME, (int64_t)MIN(row->wait, (uint64_t)INT64_MAX));
	row_set(&to, HABIT_FIRST, row->first);
	row_set(&to, HABIT_LAST, row->last);
	row_set(&to, HABIT_STEPS, line->cycle.count);
	row_set(&to, HABIT_INEXACT, inexact);
	row_set_if(&to, line->cycle.process != FEATURE_NONE, HABIT_PROCESS_ID,
		   feature_id(w->processes, line->cycle.process));
	row_set_if(&to, files == 1, HABIT_FILE_ID, feature_id(w->files, row->file));
	row_set_if(&to, periods, HABIT_PERIOD, (int64_t)hist_quantile(&row->periods, 0.5));
	if (row->pattern != FEATURE_NONE) {
		struct bytes text = file_patterns_text(t->patterns, row->pattern);

		row_set_bytes(&to, HABIT_PATTERN, text.data, text.len);
	}
	row_set_str(&to, HABIT_SCOPE, line->cycle.one_file ? "file" : "thread");
	return to.r < 0 ? to.r : habit_put_sequence(&to, &line->cycle, row->more);
}

/* Merges rows that are too rare to be shown into the row for all others. 0 or -ENOMEM. */
static int habit_line_settle(struct habit_table *t, struct habit_line *line)
{
	size_t kept = 0;
	bool several = line->row_count > 1 || line->rest;

	for (size_t i = 0; i < line->row_count; i++) {
		struct habit_row *row = &line->rows[i];

		if (several && row->times < HABIT_TIMES_MIN) {
			int r = habit_line_to_rest(t, line, row);

			if (r < 0)
				return r;
			continue;
		}
		if (kept != i) {
			line->rows[kept] = *row;
			*row = (struct habit_row){0};
		}
		kept++;
	}
	line->row_count = (uint8_t)kept;
	return 0;
}

int habit_table_put(struct habit_table *t, const struct feature_world *w, struct feature_rows *out)
{
	_cleanup_free_ struct habit_order *order =
		calloc(t->count * (HABIT_PATTERNS_MAX + 1) + 1, sizeof(*order));
	size_t count = 0;
	int r = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < t->count && r >= 0; i++) {
		struct habit_line *line = &t->lines[i];

		r = habit_line_settle(t, line);
		for (size_t k = 0; k < line->row_count && r >= 0; k++) {
			if (line->rows[k].times >= HABIT_TIMES_MIN)
				order[count++] = (struct habit_order){line, &line->rows[k]};
		}
		if (r >= 0 && line->rest && line->rest->times >= HABIT_TIMES_MIN)
			order[count++] = (struct habit_order){line, line->rest};
	}
	if (r < 0)
		return r;
	array_sort(order, count, habit_time_order);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = habit_put_row(t, w, order[i].line, order[i].row, out);
	return r;
}
