// SPDX-License-Identifier: Apache-2.0
/*
 * needs.c: what a rule needs besides calls, whether the trace has it, and which rules therefore do not run. Such rules
 * do not run on a selection of calls either: rows of other tables are not limited by it, and would be attributed to
 * these calls.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"

#include "analysis/diagnose/diagnose.h"

/* The words of record --with, and spans. The recorder marks what it recorded; without the mark, the presence of rows decides. */
static const struct {
	const char *word;
	enum table_id table; /* TABLE_COUNT: columns of op */
} needs[] = {
	{"block", TABLE_REQUEST},  {"net", TABLE_NET_SAMPLE}, {"sched", TABLE_SCHED},
	{"irq", TABLE_IRQ},	   {"mem", TABLE_MEM},	      {"stacks", TABLE_STACK},
	{"phases", TABLE_COUNT},   {"faults", TABLE_COUNT},   {"content", TABLE_CHUNK},
	{NEEDS_SPANS, TABLE_SPAN},
};

int rule_next_need(const char **at, const char **ret_word, size_t *ret_len,
		   enum table_id *ret_table)
{
	const char *word = *at ? *at + strspn(*at, ", \n") : "";

	*ret_word = word;
	*ret_len = strcspn(word, ", \n");
	*at = word + *ret_len;
	if (!*ret_len)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		*ret_table = needs[i].table;
		if (strlen(needs[i].word) == *ret_len && !memcmp(word, needs[i].word, *ret_len))
			return 1;
	}
	return -EINVAL;
}

/* True if the list "block,sched" contains the word. */
static bool needs_list_has(const struct buf *list, const char *word, size_t len)
{
	const char *at = buf_str((struct buf *)list);

	for (size_t n; *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		if (n == len && !memcmp(at, word, len))
			return true;
	}
	return false;
}

static int needs_list_add(struct buf *list, const char *word, size_t len)
{
	if (needs_list_has(list, word, len))
		return 0;
	return buf_printf(list, "%s%.*s", list->len ? "," : "", (int)len, word);
}

/* Spans may also be matches of periods. */
bool diagnose_has_rows(const struct store *s, enum table_id table)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		if (store_block(s, i)->table == table ||
		    (table == TABLE_SPAN && store_block(s, i)->table == TABLE_PERIOD))
			return true;
	}
	return false;
}

static int needs_add_lack(struct diagnosis *d, struct diagnose_lack *lack)
{
	int r = array_add(d->lacks, d->lack_count, d->lack_cap, *lack);

	if (r < 0)
		buf_free(&lack->words);
	return r;
}

int diagnose_lacks(const struct diagnose_context *c, const struct rule *rule, struct error *err)
{
	struct diagnosis *d = c->out;
	const char *at = rule->needs, *word;
	struct diagnose_lack lack = {.rule = rule};
	enum table_id table;
	size_t len;
	int r = 0;

	if (!rule->needs)
		return 0;
	while (!c->run->where && r >= 0 && rule_next_need(&at, &word, &len, &table) > 0) {
		if (needs_list_has(&d->with, word, len) ||
		    (table != TABLE_COUNT && diagnose_has_rows(c->run->store, table)))
			continue;
		r = needs_list_add(&lack.words, word, len);
		if (r >= 0)
			r = table == TABLE_SPAN ? 0 : needs_list_add(&d->lacking, word, len);
	}
	if (r < 0)
		buf_free(&lack.words);
	else if (lack.words.len || c->run->where)
		r = needs_add_lack(d, &lack) < 0 ? -ENOMEM : 1;
	return r < 0 ? error_errno(err, r, "rule %s", rule->name) : r;
}

/* True if the list of tables contains one of the word's tables: block, block_part. */
static bool needs_lost(const struct buf *tables, const char *word, size_t len)
{
	for (const char *at = buf_str((struct buf *)tables); *at; at += *at == ',') {
		size_t n = strcspn(at, ",");

		if (n >= len && !memcmp(at, word, len) && (n == len || at[len] == '_'))
			return true;
		at += n;
	}
	return false;
}

bool diagnose_lost_needs(const struct diagnosis *d, const struct rule *rule)
{
	const char *at = rule->needs, *word;
	enum table_id table;
	bool lost = rule->needs && needs_list_has(&d->lost_of, "any", strlen("any"));
	size_t len;

	while (!lost && rule_next_need(&at, &word, &len, &table) > 0)
		lost = needs_lost(&d->lost_of, word, len);
	return lost;
}
