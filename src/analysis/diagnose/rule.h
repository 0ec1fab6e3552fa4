/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h: a rule of `weir diagnose`: a YAML file with a query on the features of a trace, and texts for the rows that
 * it returns. docs/howto/write-a-rule.md describes it for authors of rules.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/option.h"
#include "schema/schema.h"

#define RULES_MAX	    256
#define RULE_THRESHOLDS_MAX 16
#define RULE_FILE_MAX	    (64u << 10) /* bytes */
#define RULE_LEVEL_COUNT    3
#define RULE_CONDITIONS_MAX 4

enum rule_level { RULE_NOTE, RULE_WARNING, RULE_PROBLEM };

/* The effect of missing calls on the findings of a rule. */
enum rule_loss {
	RULE_LOSS_LESS,	 /* may hide findings: those reported are correct */
	RULE_LOSS_WRONG, /* may cause findings: a missing call could disprove them */
};

struct rule_threshold {
	const char *name, *text; /* $name in the query; a number */
	const char *why;
};

/* "use max(torn) > 0": an expression of aggregates in SQL; of op a filter of the language. */
struct rule_condition {
	enum table_id table;
	const char *text;
};

struct rule {
	const char *name;    /* a stable identifier: small-writes */
	const char *summary; /* one line, lower case: the problem */
	enum rule_level level;
	enum rule_loss loss;
	struct rule_threshold thresholds[RULE_THRESHOLDS_MAX];
	size_t threshold_count;
	const char *sql; /* exactly one of these two: the query in SQL, over features and tables */
	const char *query; /* or a pipeline of weir's language */
	/*
	 * Texts with {placeholders}: for one row, for rows of several files of one process, for several processes
	 * (NULL: as `many`)
	 */
	const char *sentence, *many;
	const char *evidence; /* NULL: none */
	const char *change;
	const char *show;    /* arguments of `weir query` that reproduce it */
	const char *about;   /* paragraphs: why it matters, and what is excluded */
	const char *example; /* a finding as shown on the screen; NULL: none */
	/* names of rules, separated by blanks, whose findings about the same files are the same problem; NULL */
	const char *covers;
	/* "block,phases": what of record --with its query reads, or spans; NULL: nothing */
	const char *needs;
	/* without any of these it finds nothing; none: it always runs */
	struct rule_condition conditions[RULE_CONDITIONS_MAX];
	size_t condition_count;
	const char *file; /* origin: "built in", or a path */
	char *text;	  /* storage of all texts */
	size_t text_len;
};

struct rules {
	struct rule *items;
	size_t count, cap;
};

void rules_free(struct rules *r);
#define _cleanup_rules_ _cleanup_(rules_free)
/*
 * Loads the built-in rules, then the user's, sorted by name; later ones replace those of the same name. -EINVAL with
 * the position of an error.
 */
int rules_load(struct rules *ret, const struct option_list *folders, struct error *err);
/* NULL if there is none. */
const struct rule *rules_find(const struct rules *r, const char *name);
/* explain.c: describes a rule; `all`: all rules, one line each, `markdown`: docs/rules.md. -EINVAL: no rule has the name. */
int rules_explain(const struct rules *rules, const char *name, struct buf *out, struct error *err);
/*
 * needs.c: the next word of the rule's needs, and its table (TABLE_COUNT: columns of op). *at must begin as
 * rule->needs; 0: no more, -EINVAL: not a word of record --with.
 */
int rule_next_need(const char **at, const char **ret_word, size_t *ret_len,
		   enum table_id *ret_table);
/* rule_when.c: reads the conditions, one per line, which point into `text`. -EINVAL with a message. */
int rule_read_when(struct rule *rule, char *text, struct error *err);
const char *rule_level_word(enum rule_level level);
/* -1 if there is no level of that name. */
int rule_level_find(const char *word);

/* rules_data.c, generated from rules/ when weir is built: name and text of each file. Terminated by {NULL}. */
struct rule_text {
	const char *name, *text;
};
extern const struct rule_text rule_texts[];
