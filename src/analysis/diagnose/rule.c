// SPDX-License-Identifier: Apache-2.0
/* rule.c: reads a rule from its file, and finds all rules. */
#include "analysis/diagnose/rule.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libfyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"

static const char *const level_words[RULE_LEVEL_COUNT] = {"note", "warning", "problem"};

const char *rule_level_word(enum rule_level level)
{
	return level_words[level];
}

int rule_level_find(const char *word)
{
	for (int i = 0; i < RULE_LEVEL_COUNT; i++) {
		if (strcmp(level_words[i], word) == 0)
			return i;
	}
	return -1;
}

/* ---- one file ---- */

/* Text members, and their offsets. */
static const struct {
	const char *name;
	size_t offset;
	bool needed;
} texts[] = {
	{"rule", offsetof(struct rule, name), true},
	{"summary", offsetof(struct rule, summary), true},
	{"sql", offsetof(struct rule, sql), false},
	{"query", offsetof(struct rule, query), false},
	{"sentence", offsetof(struct rule, sentence), true},
	{"many", offsetof(struct rule, many), false},
	{"evidence", offsetof(struct rule, evidence), false},
	{"change", offsetof(struct rule, change), true},
	{"show", offsetof(struct rule, show), true},
	{"about", offsetof(struct rule, about), true},
	{"covers", offsetof(struct rule, covers), false},
	{"example", offsetof(struct rule, example), false},
	{"needs", offsetof(struct rule, needs), false},
};

struct rule_reader {
	struct rule *rule;
	const char *file;
	char *to; /* storage for the texts not read yet */
	struct error *err;
};

DEFINE_CLEANUP(struct fy_document *, fy_document_destroy)
DEFINE_CLEANUP(struct fy_diag *, fy_diag_destroy)

/* "x.rule:3:5: why" */
static int rule_refuse(const struct rule_reader *q, struct fy_node *at, const char *why,
		       const char *what)
{
	struct fy_token *token = at && fy_node_is_scalar(at) ? fy_node_get_scalar_token(at) : NULL;
	const struct fy_mark *mark = token ? fy_token_start_mark(token) : NULL;

	if (!mark)
		return error_set(q->err, -EINVAL, "%s: %s%s", q->file, why, what);
	return error_set(q->err, -EINVAL, "%s:%d:%d: %s%s", q->file, mark->line + 1,
			 mark->column + 1, why, what);
}

/* Copies a scalar to the rule's storage. */
static int rule_take_text(struct rule_reader *q, struct fy_node *n, const char **ret)
{
	size_t len = 0;
	const char *text = n && fy_node_is_scalar(n) ? fy_node_get_scalar(n, &len) : NULL;

	/* the text behind an alias may have any size */
	if (text && fy_node_is_alias(n))
		return rule_refuse(q, n, "a rule has no aliases", "");
	if (!text)
		return rule_refuse(q, n, "text expected", "");
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	if (!len || memchr(text, 0, len))
		return rule_refuse(q, n, "the text is empty or contains a NUL byte", "");
	memcpy(q->to, text, len);
	q->to[len] = '\0';
	*ret = q->to;
	q->to += len + 1;
	return 0;
}

/* Number syntax of SQL and the language: no sign, which would turn `a -$b` into a comment, no nan. */
static bool rule_is_number(const char *text)
{
	size_t digits = strspn(text, "0123456789"),
	       fraction = text[digits] == '.' ? strspn(text + digits + 1, "0123456789") : 0;

	return digits && !text[digits + (fraction ? fraction + 1 : 0)];
}

/* thresholds: {calls: {is: 1000, why: ...}} */
static int rule_take_threshold(struct rule_reader *q, struct fy_node *name, struct fy_node *value)
{
	struct rule *rule = q->rule;
	struct rule_threshold *t = &rule->thresholds[rule->threshold_count];
	struct fy_node *is, *why;
	int r;

	if (rule->threshold_count == RULE_THRESHOLDS_MAX)
		return rule_refuse(q, name, "too many thresholds", "");
	if (!value || !fy_node_is_mapping(value))
		return rule_refuse(q, name, "a threshold is {is: NUMBER, why: TEXT}", "");
	is = fy_node_mapping_lookup_by_string(value, "is", FY_NT);
	why = fy_node_mapping_lookup_by_string(value, "why", FY_NT);
	r = rule_take_text(q, name, &t->name);
	if (r >= 0)
		r = rule_take_text(q, is ? is : name, &t->text);
	if (r < 0)
		return r;
	if (!is || !rule_is_number(t->text))
		return rule_refuse(q, is ? is : name,
				   "a threshold is a number, such as 500 or 0.01: ", t->name);
	if (!why)
		return rule_refuse(q, name, "a threshold needs its reason, why: ", t->name);
	rule->threshold_count++;
	return rule_take_text(q, why, &t->why);
}

static int rule_take_thresholds(struct rule_reader *q, struct fy_node *all)
{
	struct fy_node_pair *pair;
	void *at = NULL;

	if (!fy_node_is_mapping(all))
		return rule_refuse(q, all, "thresholds are NAME: {is: NUMBER, why: TEXT}", "");
	while ((pair = fy_node_mapping_iterate(all, &at))) {
		int r = rule_take_threshold(q, fy_node_pair_key(pair), fy_node_pair_value(pair));

		if (r < 0)
			return r;
	}
	return 0;
}

static int rule_take_when(struct rule_reader *q, struct fy_node *value)
{
	struct error why = {0};
	const char *text;
	int r = rule_take_text(q, value, &text);

	if (r < 0)
		return r;
	/* text is in the storage of the rule, which owns it */
	return rule_read_when(q->rule, (char *)text, &why) < 0
		       ? rule_refuse(q, value, why.message, "")
		       : 0;
}

static int rule_take_word(struct rule_reader *q, struct fy_node *name, struct fy_node *value)
{
	const char *member, *word;
	int r = rule_take_text(q, name, &member), level;

	if (r < 0)
		return r;
	if (strcmp(member, "thresholds") == 0)
		return value ? rule_take_thresholds(q, value) : 0;
	if (strcmp(member, "when") == 0)
		return rule_take_when(q, value);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(member, texts[i].name) == 0)
			return rule_take_text(q, value,
					      (const char **)((char *)q->rule + texts[i].offset));
	}
	if (strcmp(member, "level") && strcmp(member, "loss"))
		return rule_refuse(q, name, "a rule has no field ", member);
	r = rule_take_text(q, value, &word);
	if (r < 0)
		return r;
	level = rule_level_find(word);
	if (*member == 'l' && member[1] == 'e') {
		if (level < 0)
			return rule_refuse(q, value, "a level is note, warning or problem, not ",
					   word);
		q->rule->level = (enum rule_level)level;
		return 0;
	}
	if (strcmp(word, "less") && strcmp(word, "wrong"))
		return rule_refuse(q, value,
				   "loss is less (lost calls can only add to what is found) or "
				   "wrong (one of them may refute it), not ",
				   word);
	q->rule->loss = *word == 'w' ? RULE_LOSS_WRONG : RULE_LOSS_LESS;
	return 0;
}

static int rule_check_needs(const struct rule_reader *q)
{
	const char *at = q->rule->needs, *word;
	enum table_id table;
	size_t len;
	int r;

	while ((r = rule_next_need(&at, &word, &len, &table)) > 0)
		;
	return r < 0 ? rule_refuse(
			       q, NULL,
			       "needs is spans, or words of record --with, which does not have ",
			       word)
		     : 0;
}

static int rule_check(const struct rule_reader *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].needed &&
		    !*(const char *const *)((const char *)q->rule + texts[i].offset))
			return rule_refuse(q, NULL, "the rule lacks ", texts[i].name);
	}
	if (!q->rule->sql == !q->rule->query)
		return rule_refuse(q, NULL, "a rule has one query: either sql or query", "");
	for (const char *p = q->rule->name; *p; p++) {
		if (!(*p >= 'a' && *p <= 'z') && !(*p >= '0' && *p <= '9') && *p != '-')
			return rule_refuse(
				q, NULL,
				"the name of a rule consists of a-z, 0-9 and -: ", q->rule->name);
	}
	return rule_check_needs(q);
}

/* Reports libfyaml's message about a syntax error. */
static int rule_refuse_yaml(const struct rule_reader *q, struct fy_diag *diag)
{
	void *at = NULL;
	const struct fy_diag_error *e = fy_diag_errors_iterate(diag, &at);

	if (!e)
		return error_set(q->err, -EINVAL, "%s: not valid YAML", q->file);
	return error_set(q->err, -EINVAL, "%s:%d:%d: %s", q->file, e->line, e->column, e->msg);
}

/* Suppresses what libfyaml would print. */
static void rule_say_nothing(struct fy_diag *diag _unused_, void *user _unused_,
			     const char *text _unused_, size_t len _unused_)
{
}

static bool rule_is_text(const char *text, size_t len)
{
	uint32_t c;

	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_decode(text + i, len - i, &c);
		if (!n || !c)
			return false;
	}
	return true;
}

/* Of one file. The message says file, line and column. */
static int rule_read(struct rule *ret, const char *file, const char *text, size_t len,
		     struct error *err)
{
	struct fy_diag_cfg how;
	_cleanup_(fy_diag_destroyp) struct fy_diag *diag = NULL;
	_cleanup_(fy_document_destroyp) struct fy_document *doc = NULL;
	struct rule_reader q = {.rule = ret, .file = file, .err = err};
	struct fy_parse_cfg cfg = {.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG};
	struct fy_node_pair *pair;
	struct fy_node *root;
	void *at = NULL;
	int r = 0;

	*ret = (struct rule){.level = RULE_WARNING, .file = file};
	if (!rule_is_text(text, len))
		return error_set(err, -EINVAL, "%s: not valid UTF-8", file);
	fy_diag_cfg_default(&how);
	how.fp = NULL;
	how.output_fn = rule_say_nothing;
	diag = fy_diag_create(&how);
	if (!diag)
		return error_errno(err, -ENOMEM, "%s", file);
	fy_diag_set_collect_errors(diag, true);
	cfg.diag = diag;
	doc = fy_document_build_from_string(&cfg, text, len);
	root = doc ? fy_document_root(doc) : NULL;
	if (!doc)
		return rule_refuse_yaml(&q, diag);
	if (!root || !fy_node_is_mapping(root))
		return rule_refuse(&q, NULL, "a rule is a list of NAME: VALUE", "");
	/* no text is longer than its source, and each has a terminator */
	q.to = ret->text = malloc(2 * len + 1);
	if (!q.to)
		return error_errno(err, -ENOMEM, "%s", file);
	while (r >= 0 && (pair = fy_node_mapping_iterate(root, &at)))
		r = rule_take_word(&q, fy_node_pair_key(pair), fy_node_pair_value(pair));
	ret->text_len = (size_t)(q.to - ret->text);
	if (r >= 0)
		r = rule_check(&q);
	if (r < 0) {
		free(ret->text);
		*ret = (struct rule){0};
	}
	return r;
}

/* ---- all rules ---- */

void rules_free(struct rules *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->items[i].text);
		if (strcmp(r->items[i].file, "built in"))
			free((char *)r->items[i].file);
	}
	free(r->items);
	*r = (struct rules){0};
}

static struct rule *rules_find_own(const struct rules *r, const char *name)
{
	for (size_t i = 0; i < r->count; i++) {
		if (strcmp(r->items[i].name, name) == 0)
			return &r->items[i];
	}
	return NULL;
}

const struct rule *rules_find(const struct rules *r, const char *name)
{
	return rules_find_own(r, name);
}

/* Takes ownership of `rule`. */
static int rules_add(struct rules *r, struct rule *rule, struct error *err)
{
	struct rule *same = rules_find_own(r, rule->name);

	if (same) {
		struct rule old = *same;

		*same = *rule;
		*rule = old;
		return 1;
	}
	if (r->count == RULES_MAX)
		return error_set(err, -E2BIG, "%s: more than %d rules", rule->file, RULES_MAX);
	if (grow((void **)&r->items, &r->cap, r->count + 1, sizeof(*r->items)) < 0)
		return error_errno(err, -ENOMEM, "%s", rule->file);
	r->items[r->count++] = *rule;
	return 0;
}

static void rule_free(struct rule *rule)
{
	free(rule->text);
	if (rule->file && strcmp(rule->file, "built in"))
		free((char *)rule->file);
}

static int rules_add_text(struct rules *r, const char *file, const char *text, size_t len,
			  struct error *err)
{
	struct rule rule;
	int e = rule_read(&rule, file, text, len, err);

	if (e < 0)
		return e;
	e = rules_add(r, &rule, err);
	if (e == 1) /* `rule` now is the replaced one */
		rule_free(&rule);
	else if (e < 0)
		free(rule.text);
	return MIN(e, 0);
}

static int rules_add_file(struct rules *r, const char *path, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	_cleanup_free_ char *text = malloc(RULE_FILE_MAX + 1), *name = strdup(path);
	ssize_t n;
	int e;

	if (!text || !name)
		return error_errno(err, -ENOMEM, "%s", path);
	n = fd < 0 ? -1 : read(fd, text, RULE_FILE_MAX + 1);
	if (n < 0)
		return error_errno(err, -errno, "cannot read the rule %s", path);
	if (n > (ssize_t)RULE_FILE_MAX)
		return error_set(err, -EFBIG, "the rule %s is longer than %u KiB", path,
				 RULE_FILE_MAX >> 10);
	e = rules_add_text(r, name, text, (size_t)n, err);
	if (e >= 0)
		TAKE_PTR(name);
	return e;
}

static int rules_is_rule(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return d->d_name[0] != '.' && len > 5 && strcmp(d->d_name + len - 5, ".rule") == 0;
}

static int rules_add_folder(struct rules *r, const char *folder, struct error *err)
{
	struct dirent **found;
	int n = scandir(folder, &found, rules_is_rule, alphasort), e = 0;

	if (n < 0)
		return error_errno(err, -errno, "cannot read the rules in %s", folder);
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *path = NULL;

		if (e >= 0)
			e = asprintf(&path, "%s/%s", folder, found[i]->d_name) < 0
				    ? error_errno(err, -ENOMEM, "%s", folder)
				    : rules_add_file(r, path, err);
		free(found[i]);
	}
	free(found);
	return e;
}

int rules_load(struct rules *ret, const struct option_list *folders, struct error *err)
{
	*ret = (struct rules){0};
	for (const struct rule_text *t = rule_texts; t->name; t++) {
		int r = rules_add_text(ret, "built in", t->text, strlen(t->text), err);

		if (r < 0)
			return error_errno(err, r, "built-in rule %s", t->name);
	}
	for (size_t i = 0; folders && i < folders->count; i++) {
		struct stat st;
		const char *path = folders->items[i];
		int r = stat(path, &st) == 0 && S_ISDIR(st.st_mode)
				? rules_add_folder(ret, path, err)
				: rules_add_file(ret, path, err);

		if (r < 0)
			return r;
	}
	return 0;
}
