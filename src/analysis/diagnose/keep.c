// SPDX-License-Identifier: Apache-2.0
/* keep.c: findings as rows of the table `finding`, kept beside the features. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/diagnose/diagnose.h"
#include "store/made/made.h"

#define KEEP_ORIGIN  "weir.diagnose"
#define KEEP_VERSION 1

static int keep_text(struct batch *b, enum finding_column c, size_t row, const struct buf *text)
{
	return text->len ? batch_set_bytes(b, c, row, text->data, text->len) : 0;
}

static int keep_texts(struct batch *b, size_t row, const struct finding *f)
{
	int r = batch_set_str(b, FINDING_RULE, row, f->rule->name);

	if (r >= 0)
		r = batch_set_str(b, FINDING_LEVEL, row, rule_level_word(f->rule->level));
	if (r >= 0)
		r = keep_text(b, FINDING_SENTENCE, row, &f->sentence);
	if (r >= 0)
		r = keep_text(b, FINDING_PATTERN, row, &f->pattern);
	if (r >= 0)
		r = batch_set_str(b, FINDING_SURE, row, f->sure);
	if (r >= 0)
		r = keep_text(b, FINDING_ASK, row, &f->show);
	return r < 0 ? r : keep_text(b, FINDING_REMEDY, row, &f->change);
}

static int keep_finding(struct batch *b, const struct finding *f)
{
	static const unsigned int ids[DIAGNOSE_IDS] = {FINDING_PROCESS_ID, FINDING_THREAD_ID,
						       FINDING_FILE_ID, FINDING_PEER_ID};
	static const unsigned int numbers[DIAGNOSE_NUMBERS] = {
		FINDING_CALLS,	  FINDING_BYTES, FINDING_TIME, FINDING_POS,
		FINDING_STOP_POS, FINDING_FIRST, FINDING_LAST};
	ssize_t row = batch_add_row(b);
	int r = row < 0 ? (int)row : keep_texts(b, (size_t)row, f);

	for (size_t i = 0; i < DIAGNOSE_IDS && r >= 0; i++) {
		if (f->row.id[i] >= 0)
			r = batch_set(b, ids[i], (size_t)row, f->row.id[i]);
	}
	for (size_t i = 0; i < DIAGNOSE_NUMBERS && r >= 0; i++) {
		if (f->row.number[i] != DIAGNOSE_NULL)
			r = batch_set(b, numbers[i], (size_t)row, f->row.number[i]);
	}
	if (r >= 0 && isfinite(f->share))
		r = batch_set(b, FINDING_SHARE, (size_t)row, lround(1000 * f->share));
	return r;
}

static int keep_put(void *arg, struct store_writer *w, uint64_t covered, struct error *err)
{
	const struct diagnosis *d = arg;
	const struct store_making what = {.table = TABLE_FINDING,
					  .origin = KEEP_ORIGIN,
					  .options = d->made_by,
					  .version = KEEP_VERSION,
					  .covered = covered};
	_cleanup_(batch_freep) struct batch *rows = NULL;
	int r = batch_new(&rows, TABLE_FINDING);

	for (size_t i = 0; i < d->count && r >= 0; i++)
		r = keep_finding(rows, &d->findings[i]);
	if (r < 0)
		return error_errno(err, r, "cannot store the findings");
	r = store_made_begin(w, &what, err);
	if (r >= 0)
		r = store_made_rows(w, rows, err);
	return r < 0 ? r : store_made_end(w, false, err);
}

/* True where the trace has them, found by the same rules. */
static bool keep_is_current(const struct store *s, const struct diagnosis *d)
{
	const struct store_made *m = store_made_current(s, TABLE_FINDING);

	return m && m->version == KEEP_VERSION && strcmp(m->options, d->made_by) == 0 &&
	       m->rows == d->count;
}

int diagnose_keep(struct store *s, bool keep, struct diagnosis *d, struct error *err)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < d->rules.count; i++)
		hash = hash * 31 + hash_bytes(d->rules.items[i].text, d->rules.items[i].text_len);
	snprintf(d->made_by, sizeof(d->made_by), "rules %016llx", (unsigned long long)hash);
	if (keep && keep_is_current(s, d))
		return 0;
	return store_made_keep(s, keep, keep_put, d, err);
}
