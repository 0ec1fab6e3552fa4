// SPDX-License-Identifier: Apache-2.0
/* keep.c: stores findings in table `finding`, next to the features. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/diagnose/diagnose.h"
#include "store/made/made.h"

#define KEEP_ORIGIN  "weir.diagnose"
#define KEEP_VERSION 1

static void keep_text(struct batch_row *row, enum finding_column c, const struct buf *text)
{
	row_set_text(row, c, (struct bytes){text->data, text->len});
}

static void keep_finding(struct batch_row *row, const struct finding *f)
{
	static const unsigned int ids[DIAGNOSE_IDS] = {FINDING_PROCESS_ID, FINDING_THREAD_ID,
						       FINDING_FILE_ID, FINDING_PEER_ID};
	static const unsigned int numbers[DIAGNOSE_NUMBERS] = {
		FINDING_CALLS,	  FINDING_BYTES, FINDING_TIME, FINDING_POS,
		FINDING_STOP_POS, FINDING_FIRST, FINDING_LAST};

	row_set_str(row, FINDING_RULE, f->rule->name);
	row_set_str(row, FINDING_LEVEL, rule_level_word(f->rule->level));
	keep_text(row, FINDING_SENTENCE, &f->sentence);
	keep_text(row, FINDING_PATTERN, &f->pattern);
	row_set_str(row, FINDING_SURE, f->sure);
	keep_text(row, FINDING_ASK, &f->show);
	keep_text(row, FINDING_REMEDY, &f->change);
	for (size_t i = 0; i < DIAGNOSE_IDS; i++)
		row_set_if(row, f->row.id[i] >= 0, ids[i], f->row.id[i]);
	for (size_t i = 0; i < DIAGNOSE_NUMBERS; i++)
		row_set_if(row, f->row.number[i] != DIAGNOSE_NULL, numbers[i], f->row.number[i]);
	row_set_if(row, isfinite(f->share), FINDING_SHARE, lround(1000 * f->share));
}

static int keep_findings(void *arg, struct store_writer *w, struct error *err)
{
	const struct diagnosis *d = arg;

	for (size_t i = 0; i < d->count; i++) {
		struct batch_row row = store_made_row(w, err);

		keep_finding(&row, &d->findings[i]);
		if (row.r < 0)
			return error_errno(err, row.r, "cannot store the findings");
	}
	return 0;
}

/* True if the trace has findings made by the same rules. */
static bool keep_is_current(const struct store *s, const struct diagnosis *d)
{
	const struct store_made *m = store_made_current(s, TABLE_FINDING);

	return m && m->version == KEEP_VERSION && strcmp(m->options, d->made_by) == 0 &&
	       m->rows == d->count;
}

int diagnose_keep(struct store *s, bool keep, struct diagnosis *d, struct error *err)
{
	const struct store_making what = {.table = TABLE_FINDING,
					  .origin = KEEP_ORIGIN,
					  .options = d->made_by,
					  .version = KEEP_VERSION};
	uint64_t hash = 0;

	for (size_t i = 0; i < d->rules.count; i++)
		hash = hash * 31 + hash_bytes(d->rules.items[i].text, d->rules.items[i].text_len);
	snprintf(d->made_by, sizeof(d->made_by), "rules %016llx", (unsigned long long)hash);
	if (keep && keep_is_current(s, d))
		return 0;
	return store_made_table(s, keep, &what, false, NULL, keep_findings, d, err);
}
