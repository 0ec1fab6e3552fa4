// SPDX-License-Identifier: Apache-2.0
/* explain.c: rules as text for users, and as a page of the documentation. */
#include <errno.h>
#include <string.h>

#include "analysis/diagnose/diagnose.h"

static const char *explain_loss(const struct rule *rule)
{
	return rule->loss == RULE_LOSS_WRONG
		       ? "a lost call may disprove a finding, which then says so"
		       : "findings may be missing; those reported are right";
}

/* Appends the lines of a text, each after `margin`. */
static int explain_put_lines(struct buf *out, const char *text, const char *margin)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		buf_printf(out, "%s%.*s\n", len ? margin : "", (int)len, text);
		text += len + (text[len] == '\n');
	}
	return buf_status(out);
}

/* A remedy that the query chooses is in the finding. */
static const char *explain_change(const struct rule *rule)
{
	return rule->change[0] == '{' && !strchr(rule->change, ' ')
		       ? "it depends on the cause; the finding says it"
		       : rule->change;
}

static int explain_rule(const struct rule *rule, struct buf *out)
{
	buf_printf(out, "%s (%s): %s\n\n%s\n", rule->name, rule_level_word(rule->level),
		   rule->summary, rule->about);
	if (rule->example)
		buf_printf(out, "\nexample\n");
	if (rule->example)
		explain_put_lines(out, rule->example, "  ");
	if (rule->threshold_count)
		buf_printf(out, "\nthresholds\n");
	for (size_t i = 0; i < rule->threshold_count; i++)
		buf_printf(out, "  %-12s %-10s %s\n", rule->thresholds[i].name,
			   rule->thresholds[i].text, rule->thresholds[i].why);
	buf_printf(out, "\nwhat to change\n  %s\n\nif calls were lost\n  %s\n",
		   explain_change(rule), explain_loss(rule));
	if (rule->needs) {
		if (strcmp(rule->needs, NEEDS_SPANS) == 0)
			buf_printf(out, "\nneeds\n  spans, marked by the program or found by "
					"weir periods --keep\n");
		else
			buf_printf(out, "\nneeds\n  weir record --with %s\n", rule->needs);
	}
	if (rule->condition_count)
		buf_printf(out, "\nruns only when\n");
	for (size_t i = 0; i < rule->condition_count; i++)
		buf_printf(out, "  %s%s: %s\n", i ? "or " : "",
			   schema_table(rule->conditions[i].table)->name, rule->conditions[i].text);
	return buf_printf(out, "\nquestion (%s, %s)\n%s\n", rule->sql ? "SQL" : "query", rule->file,
			  rule->sql ? rule->sql : rule->query);
}

/* ---- docs/rules.md ---- */

static int explain_put_thresholds(const struct rule *rule, struct buf *out)
{
	if (rule->threshold_count)
		buf_printf(out, "\n| threshold | is | why |\n|---|---|---|\n");
	for (size_t i = 0; i < rule->threshold_count; i++)
		buf_printf(out, "| `%s` | %s | %s |\n", rule->thresholds[i].name,
			   rule->thresholds[i].text, rule->thresholds[i].why);
	return buf_status(out);
}

static int explain_section(const struct rule *rule, struct buf *out)
{
	buf_printf(out, "\n## %s\n\n%s: %s.\n\n%s\n", rule->name, rule_level_word(rule->level),
		   rule->summary, rule->about);
	if (rule->example) {
		buf_printf(out, "\n```\n");
		explain_put_lines(out, rule->example, "");
		buf_printf(out, "```\n");
	}
	buf_printf(out, "\nWhat to change: %s.\n\nIf calls were lost, %s.\n", explain_change(rule),
		   explain_loss(rule));
	if (rule->needs) {
		if (strcmp(rule->needs, NEEDS_SPANS) == 0)
			buf_printf(out, "\nRuns on traces with spans: marked by the program, "
					"or found by `weir periods --keep`.\n");
		else
			buf_printf(out, "\nRuns on traces of `weir record --with %s`.\n",
				   rule->needs);
	}
	if (rule->covers)
		buf_printf(out,
			   "\nFindings of these rules about the same files are left out: %s.\n",
			   rule->covers);
	return explain_put_thresholds(rule, out);
}

static int explain_page(const struct rules *rules, struct buf *out)
{
	buf_printf(out,
		   "# Rules of weir diagnose\n\nGenerated from the files in `rules/` by `make "
		   "docs`. `weir diagnose --explain RULE` prints the\nsame with the query of the "
		   "rule; [howto/write-a-rule.md](howto/write-a-rule.md)\ndescribes how to write "
		   "one. The examples are findings in recorded programs (`weir cases`).\n");
	buf_printf(out, "\n| rule | level | what it finds |\n|---|---|---|\n");
	for (size_t i = 0; i < rules->count; i++) {
		buf_printf(out, "| [%s](#%s) | %s | %s |\n", rules->items[i].name,
			   rules->items[i].name, rule_level_word(rules->items[i].level),
			   rules->items[i].summary);
	}
	for (size_t i = 0; i < rules->count; i++)
		explain_section(&rules->items[i], out);
	return buf_status(out);
}

int rules_explain(const struct rules *rules, const char *name, struct buf *out, struct error *err)
{
	const struct rule *rule = rules_find(rules, name);
	int r = 0;

	if (rule)
		return explain_rule(rule, out);
	if (strcmp(name, "markdown") == 0)
		return explain_page(rules, out);
	if (strcmp(name, "all"))
		return error_set(err, -EINVAL,
				 "no rule '%.80s'; weir diagnose --explain all lists them", name);
	for (size_t i = 0; i < rules->count && r >= 0; i++)
		r = buf_printf(out, "%-24s %-8s %s\n", rules->items[i].name,
			       rule_level_word(rules->items[i].level), rules->items[i].summary);
	return r;
}
