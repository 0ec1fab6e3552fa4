/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h: a rule of `weir diagnose`: a file of YAML that says what to ask of the features of a trace, and what to say of the
 * rows that come back. docs/howto/write-a-rule.md describes it for people who write one.
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

enum rule_level { RULE_NOTE, RULE_WARNING, RULE_PROBLEM };

/* What calls that are missing from the trace mean for what the rule finds. */
enum rule_loss {
	RULE_LOSS_LESS, /* there is more of it, if anything: what was found is right */
	RULE_LOSS_WRONG, /* a call that is missing may be the one without which it would not be found */
};

struct rule_threshold {
	const char *name, *text; /* $name in the question; a number */
	const char *why;
};

struct rule {
	const char *name;    /* a stable word: small-writes */
	const char *summary; /* one line, lower case: what is wrong */
	enum rule_level level;
	enum rule_loss loss;
	struct rule_threshold thresholds[RULE_THRESHOLDS_MAX];
	size_t threshold_count;
	const char *sql;   /* one of these two: the question, over features and tables */
	const char *query; /* a pipeline of weir's language */
	/* With {placeholders}: of one row, of the rows of several files of one process, of several processes (NULL: as `many`) */
	const char *sentence, *many;
	const char *evidence; /* NULL: none */
	const char *change;
	const char *show;    /* a question to `weir query` that repeats it */
	const char *about;   /* paragraphs: why it matters, what is not meant */
	const char *example; /* a finding of it, as the screen shows it; NULL: none */
	const char *
		covers; /* names of rules, with blanks: what they find about the same files is the same fault; NULL */
	const char *
		needs; /* "block,phases": what of record --with its question reads, or spans; NULL: nothing */
	const char *file; /* where it stands: "built in", or a path */
	char *text;	  /* owns all of these */
	size_t text_len;
};

struct rules {
	struct rule *items;
	size_t count, cap;
};

void rules_free(struct rules *r);
#define _cleanup_rules_ _cleanup_(rules_free)
/* The built-in rules, then the user's, by name: one of the same name replaces. -EINVAL: a rule is wrong, with the place. */
int rules_load(struct rules *ret, const struct option_list *folders, struct error *err);
/* NULL: there is none. */
const struct rule *rules_find(const struct rules *r, const char *name);
/*
 * explain.c: what a rule looks for, as text; `all`: a line for each, `markdown`: docs/rules.md. -EINVAL: there is none of that
 * name.
 */
int rules_explain(const struct rules *rules, const char *name, struct buf *out, struct error *err);
/*
 * needs.c: the next word of the rule's needs, and its table (TABLE_COUNT: it is columns of op). *at begins as rule->needs;
 * 0: there is none, -EINVAL: it is no word of record --with.
 */
int rule_next_need(const char **at, const char **ret_word, size_t *ret_len,
		   enum table_id *ret_table);
const char *rule_level_word(enum rule_level level);
/* -1: there is none of that name. */
int rule_level_find(const char *word);

/* rules_data.c, made of rules/ when weir is built: name and text of each file. Ends with NULL. */
struct rule_text {
	const char *name, *text;
};
extern const struct rule_text rule_texts[];
