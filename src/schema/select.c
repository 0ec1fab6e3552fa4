/* SPDX-License-Identifier: Apache-2.0 */
/* select.c: sets of operations as strace spells them, and paths. */
#include "schema/select.h"

#include "base/nearest.h"
#include "schema/vocab.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#define OP_WORDS  (OP_CODE_CALLS / 64)
#define REGEX_MAX 256u /* bytes of a regular expression */

static const struct {
	const char *name;
	uint32_t set;
} set_names[] = {
	{"%desc", OP_SET_DESC},
	{"%file", OP_SET_FILE},
	{"%memory", OP_SET_MEMORY},
	{"%process", OP_SET_PROCESS},
	{"%creds", OP_SET_CREDS},
	{"%signal", OP_SET_SIGNAL},
	{"%ipc", OP_SET_IPC},
	{"%network", OP_SET_NETWORK},
	{"%net", OP_SET_NETWORK},
	{"%stat", OP_SET_STAT},
	{"%lstat", OP_SET_LSTAT},
	{"%fstat", OP_SET_FSTAT},
	{"%%stat", OP_SET_STAT_LIKE},
	{"%statfs", OP_SET_STATFS},
	{"%fstatfs", OP_SET_FSTATFS},
	{"%%statfs", OP_SET_STATFS_LIKE},
	{"%pure", OP_SET_PURE},
	{"%clock", OP_SET_CLOCK},
	/* strace's old names without the percent sign */
	{"desc", OP_SET_DESC},
	{"file", OP_SET_FILE},
	{"memory", OP_SET_MEMORY},
	{"process", OP_SET_PROCESS},
	{"signal", OP_SET_SIGNAL},
	{"ipc", OP_SET_IPC},
	{"network", OP_SET_NETWORK},
};

/* weir's own sets: the classes that reports show. %net and %process are strace's. */
static const struct {
	const char *name;
	enum op_class class;
} class_names[] = {
	{"%data", CLASS_DATA}, {"%meta", CLASS_META},	{"%sync", CLASS_SYNC},
	{"%wait", CLASS_WAIT}, {"%other", CLASS_OTHER},
};

/* The names that libc uses. */
static const struct {
	const char *name, *call;
} aliases[] = {
	{"pread", "pread64"},		{"pwrite", "pwrite64"}, {"fstatat", "newfstatat"},
	{"fstatat64", "newfstatat"},	{"umount", "umount2"},	{"sendfile64", "sendfile"},
	{"posix_fadvise", "fadvise64"},
};

static_assert(sizeof(((struct select *)0)->ops) == OP_WORDS * sizeof(uint64_t),
	      "a set has a bit for each call");

void select_free(struct select *s)
{
	assert(s->cgroup_count <= SELECT_LIST_MAX && s->path_count <= SELECT_LIST_MAX);
	for (size_t i = 0; i < s->cgroup_count; i++)
		free(s->cgroups[i]);
	for (size_t i = 0; i < s->path_count; i++)
		free(s->paths[i].glob);
	*s = (struct select){0};
}

/* ---- operations ---- */

const char *select_op_word(size_t i)
{
	/* the old names come last in the table */
	for (size_t k = 0; k < ARRAY_SIZE(set_names) && set_names[k].name[0] == '%'; k++) {
		if (!i--)
			return set_names[k].name;
	}
	if (i < ARRAY_SIZE(class_names))
		return class_names[i].name;
	i -= ARRAY_SIZE(class_names);
	for (uint32_t code = 0; code < op_code_end(); code++) {
		if (op_def(code) && !i--)
			return op_def(code)->name;
	}
	return NULL;
}

static void add_code(uint64_t *ops, uint32_t code)
{
	assert(code < OP_CODE_CALLS);
	ops[code / 64] |= 1ull << (code % 64);
}

static bool select_add_set(uint64_t *ops, const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(set_names); i++) {
		if (strcasecmp(set_names[i].name, word))
			continue;
		for (uint32_t code = 0; code < op_code_end(); code++) {
			if (op_def(code) && op_def(code)->sets & set_names[i].set)
				add_code(ops, code);
		}
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(class_names); i++) {
		if (strcasecmp(class_names[i].name, word))
			continue;
		for (uint32_t code = 0; code < op_code_end(); code++) {
			if (op_def(code) && op_def(code)->class == class_names[i].class)
				add_code(ops, code);
		}
		return true;
	}
	return false;
}

static int add_regex(uint64_t *ops, const char *pattern, struct error *err)
{
	const char *repeat = strchr(pattern, '{');
	regex_t regex;
	size_t found = 0;
	int r;

	/* Nested repeats multiply: (a{999}){999} would exhaust memory. */
	if (strlen(pattern) > REGEX_MAX || (repeat && strchr(repeat + 1, '{')))
		return error_set(err, -EINVAL,
				 "'/%.40s': an expression may have up to %u bytes and one {...}",
				 pattern, REGEX_MAX);
	r = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
	if (r) {
		char why[128];

		regerror(r, &regex, why, sizeof(why));
		return error_set(err, -EINVAL, "'/%s': %s", pattern, why);
	}
	for (uint32_t code = 0; code < op_code_end(); code++) {
		if (op_def(code) && !regexec(&regex, op_def(code)->name, 0, NULL, 0)) {
			add_code(ops, code);
			found++;
		}
	}
	regfree(&regex);
	return found ? 0 : error_set(err, -EINVAL, "'/%s' matches no system call name", pattern);
}

static int select_add_number(uint64_t *ops, const char *word, struct error *err)
{
	char *end;
	unsigned long number = strtoul(word, &end, 10);

	if (*end || number >= OP_CODE_NOT_A_CALL)
		return error_set(err, -EINVAL, "'%s' is not a system call number (0 to %d)", word,
				 OP_CODE_NOT_A_CALL - 1);
	add_code(ops, (uint32_t)number);
	return 0;
}

static int select_unknown_word(const char *word, struct error *err)
{
	struct nearest n = {.word = word};

	if (*word == '%') {
		for (size_t i = 0; i < ARRAY_SIZE(set_names) && *set_names[i].name == '%'; i++)
			nearest_offer(&n, set_names[i].name);
		for (size_t i = 0; i < ARRAY_SIZE(class_names); i++)
			nearest_offer(&n, class_names[i].name);
		if (n.best)
			return error_set(err, -EINVAL,
					 "unknown set of calls '%s'; did you mean %s?", word,
					 n.best);
		return error_set(
			err, -EINVAL,
			"unknown set of calls '%s'; sets are %%file %%desc %%network %%process "
			"%%memory %%signal %%ipc %%creds %%clock, %%data %%meta %%sync %%wait",
			word);
	}
	for (uint32_t code = 0; code < op_code_end(); code++) {
		if (op_def(code))
			nearest_offer(&n, op_def(code)->name);
	}
	if (n.best)
		return error_set(err, -EINVAL, "unknown system call '%s'; did you mean %s?", word,
				 n.best);
	return error_set(err, -EINVAL,
			 "unknown system call '%s'; sets are written %%file, expressions /^open",
			 word);
}

static int select_add_word(uint64_t *ops, char *word, struct error *err)
{
	bool may_be_unknown = *word == '?';
	char *personality = strchr(word, '@');
	const char *name;
	int code;

	while (*word == '?')
		word++;
	name = word;
	if (personality && *word != '/') {
		if (strcmp(personality, "@64"))
			return error_set(
				err, -EINVAL,
				"'%s': only calls of 64-bit programs (@64) are recorded by name",
				word);
		*personality = 0;
	}
	if (isdigit((unsigned char)*word))
		return select_add_number(ops, word, err);
	if (*word == '/')
		return add_regex(ops, word + 1, err);
	if (select_add_set(ops, word))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (!strcmp(aliases[i].name, word))
			name = aliases[i].call;
	}
	code = op_find(name);
	if (code >= 0)
		add_code(ops, (uint32_t)code);
	else if (!may_be_unknown)
		return select_unknown_word(word, err);
	return 0;
}

/* Whether the word means waiting itself, rather than a set such as %net that contains such calls. */
static bool select_names_waits(const char *word, const uint64_t *ops)
{
	size_t count = 0, waits = 0;

	for (uint32_t code = 0; code < op_code_end(); code++) {
		if (!(ops[code / 64] >> (code % 64) & 1) || !op_def(code))
			continue;
		count++;
		waits += op_def(code)->class == CLASS_WAIT;
	}
	return waits && (count == 1 || !strcasecmp(word, "%wait"));
}

/* Skips "trace="; strace's other qualifiers change what it prints or what the program sees. */
static int skip_qualifier(const char **text, struct error *err)
{
	static const char *const others[] = {
		"abbrev", "a",		 "verbose",    "v",	    "raw",	  "x",
		"signal", "signals",	 "s",	       "read",	    "reads",	  "r",
		"write",  "writes",	 "w",	       "fault",	    "inject",	  "status",
		"quiet",  "silent",	 "silence",    "q",	    "decode-fds", "decode-fd",
		"kvm",	  "decode-pids", "decode-pid", "secontext",
	};
	const char *equals = strchr(*text, '=');
	size_t len;

	if (!equals || **text == '/')
		return 0;
	len = (size_t)(equals - *text);
	if ((len == 5 && !strncmp(*text, "trace", len)) || (len == 1 && **text == 't')) {
		*text = equals + 1;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strlen(others[i]) == len && !strncmp(*text, others[i], len))
			return error_set(
				err, -EINVAL,
				"'%s': of strace's expressions weir supports only 'trace='%s",
				*text,
				!strncmp(*text, "status", len) ? "; failed calls are -Z" : "");
	}
	return error_set(err, -EINVAL, "'%s': only 'trace' is allowed before '='", *text);
}

int select_ops(struct select *s, const char *text, struct error *err)
{
	uint64_t ops[OP_WORDS] = {0};
	_cleanup_free_ char *copy = NULL;
	bool negated = false, waits = false;
	char *rest;
	int r = skip_qualifier(&text, err);

	if (r < 0)
		return r;
	for (; *text == '!'; text++)
		negated = !negated;
	if (!*text)
		return error_set(err, -EINVAL,
				 "no calls given; list names and sets: openat,%%file");
	copy = strdup(text);
	if (!copy)
		return error_set(err, -ENOMEM, "out of memory");
	rest = copy;
	if (!strcmp(text, "all"))
		memset(ops, 0xff, sizeof(ops));
	else if (strcmp(text, "none")) {
		for (char *word; (word = strsep(&rest, ","));) {
			uint64_t one[OP_WORDS] = {0};

			if (!*word)
				return error_set(err, -EINVAL,
						 "'%s': a name is missing next to a comma", text);
			r = select_add_word(one, word, err);
			if (r < 0)
				return r;
			waits |= select_names_waits(word, one);
			for (size_t i = 0; i < OP_WORDS; i++)
				ops[i] |= one[i];
		}
	}
	for (size_t i = 0; i < OP_WORDS; i++) {
		if (negated)
			s->ops[i] = (s->ops_given ? s->ops[i] : UINT64_MAX) & ~ops[i];
		else
			s->ops[i] |= ops[i];
	}
	s->ops_given = true;
	s->waits |= waits && !negated;
	return 0;
}

/* ---- paths ---- */

static bool is_glob_char(char c)
{
	return c == '*' || c == '?' || c == '[' || c == '\\';
}

/* "/a//b/./c/" -> "/a/b/c", in place; ".." stays, as a symbolic link may precede it. */
static void tidy(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (*from == '/' && from[1] == '/') {
			from++;
		} else if (*from == '/' && from[1] == '.' && (from[2] == '/' || !from[2])) {
			from += 2;
		} else {
			*to++ = *from++;
		}
	}
	if (to == path)
		*to++ = '/';
	while (to > path + 1 && to[-1] == '/')
		to--;
	assert(to > path); /* never empty: at least the root */
	*to = 0;
}

/* Relative paths start at the working directory. A glob that begins with a star matches anywhere, as in find and in the
 * language: "*.c" gets two stars and a slash prepended. */
static int absolute(const char *text, char **ret, struct error *err)
{
	_cleanup_free_ char *folder = NULL;

	if (*text == '/' || *text == '*')
		return asprintf(ret, "%s%s", *text == '*' && text[1] != '*' ? "**/" : "", text) < 0
			       ? error_set(err, -ENOMEM, "out of memory")
			       : 0;
	folder = getcwd(NULL, 0);
	if (!folder)
		return error_errno(err, -errno,
				   "'%s' is relative, but the working directory has no path", text);
	return asprintf(ret, "%s/%s", folder, text) < 0 ? error_set(err, -ENOMEM, "out of memory")
							: 0;
}

/* Takes ownership of `glob`. */
static int add_glob(struct select *s, char *glob, struct error *err)
{
	struct select_path *p = &s->paths[s->path_count];
	size_t literal = 0, len = strlen(glob);

	assert(s->path_count <= SELECT_LIST_MAX);

	for (size_t i = 0; i < s->path_count; i++) {
		if (!strcmp(s->paths[i].glob, glob)) {
			free(glob);
			return 0;
		}
	}
	if (s->path_count == SELECT_LIST_MAX || len > GLOB_MAX) {
		int r = len > GLOB_MAX
				? error_set(err, -ENAMETOOLONG,
					    "the path has %zu bytes; the limit is %d", len,
					    GLOB_MAX)
				: error_set(err, -E2BIG, "more than %d paths", SELECT_LIST_MAX);

		free(glob);
		return r;
	}
	while (literal < len && !is_glob_char(glob[literal]))
		literal++;
	*p = (struct select_path){.glob = glob,
				  .exact = literal == len && len < SELECT_PATH_MAX && len > 1};
	memcpy(p->prefix, glob, MIN(literal, sizeof(p->prefix) - 1));
	assert(!p->exact || !strcmp(p->prefix, p->glob)); /* exact: the prefix is the whole path */
	s->path_count++;
	return 0;
}

/* The same path with the symbolic links of its literal folders resolved, as the kernel sees it; NULL: the same. */
static char *resolved(const char *glob)
{
	_cleanup_free_ char *folder = strdup(glob);
	_cleanup_free_ char *real = NULL;
	char *path = NULL;
	size_t end = 0;

	if (!folder)
		return NULL;
	for (size_t i = 0; glob[i] && !is_glob_char(glob[i]); i++) {
		if (glob[i] == '/' || !glob[i + 1])
			end = glob[i] == '/' ? i : i + 1;
	}
	for (;;) {
		folder[end] = 0;
		real = realpath(end ? folder : "/", NULL);

		if (real || !end)
			break;
		/* a name that does not exist yet is resolved from its nearest existing parent folder */
		while (end && folder[--end] != '/')
			;
	}
	if (!real || asprintf(&path, "%s%s", strcmp(real, "/") ? real : "", glob + end) < 0)
		return NULL;
	if (!strcmp(path, glob)) {
		free(path);
		return NULL;
	}
	return path;
}

int select_path_add(struct select *s, const char *text, struct error *err)
{
	char *glob, *real;
	int r;

	if (!*text)
		return error_set(err, -EINVAL, "the path is empty");
	r = absolute(text, &glob, err);
	if (r < 0)
		return r;
	tidy(glob);
	real = resolved(glob);
	r = add_glob(s, glob, err);
	if (real && r < 0)
		free(real);
	else if (real)
		r = add_glob(s, real, err);
	return r;
}

static bool below(const struct select_path *p, const char *path, size_t len)
{
	size_t prefix = strlen(p->prefix);

	assert(p->exact);

	return len >= prefix && !memcmp(path, p->prefix, prefix) &&
	       (len == prefix || path[prefix] == '/');
}

bool select_path_match(const struct select *s, const char *path, size_t len)
{
	for (size_t i = 0; i < s->path_count; i++) {
		const struct select_path *p = &s->paths[i];

		if (p->exact ? below(p, path, len) : glob_match(p->glob, path, len))
			return true;
	}
	return !s->path_count;
}
