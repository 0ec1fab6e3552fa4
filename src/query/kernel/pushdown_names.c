/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pushdown_names.c: tests of the names of threads and files. The kernel programs compare whole names. Of a pattern
 * they test the folder or the prefix, which match a superset.
 */
#include <string.h>

#include "query/kernel/pushdown_internal.h"

#define GLOB_CHARS "*?[\\"
#define COMM_LEN   15 /* bytes of a thread's name in the kernel */

/* The tested part of a name. */
enum name_part { NAME_PART_NONE, NAME_PART_COMM, NAME_PART_PATH, NAME_PART_BASE, NAME_PART_DIR };

/* The name: FILTER_COMM, FILTER_PATH or FILTER_EXE. */
struct subject {
	enum name_part part;
	enum filter_field field;
};

static struct subject name_subject(enum query_name name)
{
	switch (name) {
	case QNAME_COMM:
		return (struct subject){NAME_PART_COMM, FILTER_COMM};
	case QNAME_PATH:
		return (struct subject){NAME_PART_PATH, FILTER_PATH};
	case QNAME_EXE:
		return (struct subject){NAME_PART_PATH, FILTER_EXE};
	default:
		return (struct subject){NAME_PART_NONE, 0};
	}
}

static struct subject subject_of(const struct expr *e)
{
	static const enum name_part parts[FUNCTION_COUNT] = {
		[FUNCTION_BASE] = NAME_PART_BASE, [FUNCTION_DIR] = NAME_PART_DIR};
	struct subject s;

	if (e->kind == EXPR_NAME)
		return name_subject(e->name);
	if (e->kind != EXPR_CALL || !parts[e->function])
		return (struct subject){NAME_PART_NONE, 0};
	s = subject_of(e->arg[0]);
	s.part = s.part == NAME_PART_PATH ? parts[e->function] : NAME_PART_NONE;
	return s;
}

bool push_names_field(const struct expr *e, enum filter_field *ret)
{
	struct subject s = subject_of(e);

	*ret = s.field;
	return s.part == NAME_PART_PATH;
}

static struct bytes pushdown_names_slice(struct bytes t, size_t from, size_t to)
{
	assert(from <= to && to <= t.len);
	return (struct bytes){t.data + from, to - from};
}

static bool holds(struct bytes t, char c)
{
	return t.len && memchr(t.data, c, t.len);
}

/* Length of the part before the first of the characters. */
static size_t span_without(struct bytes t, const char *chars)
{
	size_t n = 0;

	while (n < t.len && !strchr(chars, t.data[n]))
		n++;
	return n;
}

/* ---- steps ---- */

/* A test made once per version, as a step on `field`. */
static bool push_name_test(struct pusher *p, enum filter_field field,
			   const struct call_filter_name *n)
{
	struct call_filter *f = p->f;
	uint32_t i = 0;

	while (i < f->name_count && memcmp(&f->names[i], n, sizeof(*n)))
		i++;
	if (i == FILTER_NAMES_MAX || !push_step(p, FILTER_NAME, field, i))
		return false;
	assert(i <= f->name_count); /* an existing name, or the next */
	f->names[i] = *n;
	f->name_count = MAX(f->name_count, i + 1);
	return true;
}

static enum pushed push_name(struct pusher *p, enum filter_field field, enum filter_how how,
			     struct bytes text, bool want, bool pattern)
{
	static_assert(COMM_LEN <= FILTER_NAME_MAX, "names of threads fit into a test");
	bool comm = field == FILTER_COMM;
	struct call_filter_name n = {.field = comm ? FILTER_COMM : FILTER_PATH,
				     .how = how,
				     .opposite = !want,
				     .pattern = pattern,
				     .len = (uint32_t)text.len};

	if (text.len > (comm ? COMM_LEN : sizeof(n.text)) || holds(text, '\0'))
		return PUSHED_NONE;
	assert(text.len <= sizeof(n.text));
	if (text.len)
		memcpy(n.text, text.data, text.len);
	return push_name_test(p, field, &n) ? PUSHED_TEST : PUSHED_NONE;
}

/* The spelling of a folder: without the trailing slash, which only the root has. */
static struct bytes folder(struct bytes path)
{
	assert(path.len > 0 && path.data[0] == '/');
	return path.len == 1 ? pushdown_names_slice(path, 0, 0) : path;
}

static bool is_absolute(struct bytes t)
{
	return t.len && t.data[0] == '/';
}

static enum pushed push_equal(struct pusher *p, struct subject s, struct bytes text, bool want)
{
	switch (s.part) {
	case NAME_PART_COMM:
		return push_name(p, s.field, NAME_EQUAL, text, want, false);
	case NAME_PART_PATH:
		return is_absolute(text)
			       ? push_name(p, s.field, NAME_EQUAL, folder(text), want, false)
			       : PUSHED_NONE;
	case NAME_PART_BASE:
		return text.len ? push_name(p, s.field, NAME_BASE, text, want, false) : PUSHED_NONE;
	case NAME_PART_DIR:
		return is_absolute(text) && want && text.len > 1
			       ? push_name(p, s.field, NAME_BELOW, text, want, false)
			       : PUSHED_NONE;
	default:
		return PUSHED_NONE;
	}
}

enum pushed push_names_compare(struct pusher *p, const struct expr *e, bool want)
{
	const struct expr *constant = e->arg[e->arg[0]->kind != EXPR_CONST];
	const struct expr *name = e->arg[e->arg[0]->kind == EXPR_CONST];

	if (e->cmp > COMPARE_NE || constant->kind != EXPR_CONST || constant->value.null ||
	    constant->type.type != QUERY_TEXT)
		return PUSHED_NONE;
	return push_equal(p, subject_of(name), constant->value.t, (e->cmp == COMPARE_EQ) == want);
}

enum pushed push_names_in(struct pusher *p, const struct expr *e, bool want)
{
	struct mark m = push_mark(p);

	if (!e->count || !e->list[0].t.data)
		return PUSHED_NONE;
	for (size_t i = 0; i < e->count; i++) {
		if (push_equal(p, subject_of(e->arg[0]), e->list[i].t, want) == PUSHED_NONE ||
		    (i && !push_step(p, want ? FILTER_OR : FILTER_AND, 0, 0)))
			return push_undo(p, m);
	}
	return PUSHED_TEST;
}

/* ---- patterns ---- */

static bool holds_only(struct bytes t, char c)
{
	for (size_t i = 0; i < t.len; i++) {
		if (t.data[i] != (uint8_t)c)
			return false;
	}
	return t.len;
}

/* A glob without a slash, over the last part of a path. */
static enum pushed push_base(struct pusher *p, enum filter_field field, struct bytes glob,
			     bool want)
{
	size_t literal = span_without(glob, GLOB_CHARS);

	if (!literal)
		return PUSHED_NONE;
	if (literal == glob.len)
		return push_name(p, field, NAME_BASE, glob, want, false);
	if (!want && !holds_only(pushdown_names_slice(glob, literal, glob.len), '*'))
		return PUSHED_NONE;
	return push_name(p, field, NAME_BASE_BEGINS, pushdown_names_slice(glob, 0, literal), want,
			 false);
}

/* "/a/b/x*.y": everything that it matches is below /a/b. "/a/b/" "**" matches exactly that. */
static enum pushed push_below(struct pusher *p, enum filter_field field, struct bytes pattern,
			      size_t literal, char all, bool want)
{
	size_t rest = literal;

	assert(literal < pattern.len && pattern.data[0] == '/');
	while (rest && pattern.data[rest - 1] != '/')
		rest--;
	if (rest <= 1 ||
	    (!want && (pattern.len - rest > 2 ||
		       !holds_only(pushdown_names_slice(pattern, rest, pattern.len), all))))
		return PUSHED_NONE;
	return push_name(p, field, NAME_BELOW, pushdown_names_slice(pattern, 0, rest - 1), want,
			 false);
}

static enum pushed push_path_glob(struct pusher *p, enum filter_field field, struct bytes glob,
				  bool want)
{
	size_t literal;

	if (!holds(glob, '/')) /* two stars match across folders too */
		return memmem(glob.data, glob.len, "**", 2) ? PUSHED_NONE
							    : push_base(p, field, glob, want);
	if (!is_absolute(glob))
		return PUSHED_NONE;
	while (glob.len > 1 && glob.data[glob.len - 1] == '/')
		glob.len--;
	literal = span_without(glob, GLOB_CHARS);
	/* A glob that names a folder also matches everything below it. */
	if (literal == glob.len)
		return glob.len > 1 ? push_name(p, field, NAME_WITHIN, glob, want, false)
				    : PUSHED_NONE;
	return push_below(p, field, glob, literal, '*', want);
}

/* A pattern for a thread's name, which rarely contains a slash; if it does, the kernel leaves it to the recorder. */
static enum pushed push_comm_pattern(struct pusher *p, struct bytes pattern, size_t literal,
				     bool ends_there, bool glob, bool want)
{
	if (holds(pattern, '/') || !literal)
		return PUSHED_NONE;
	if (literal == pattern.len)
		return push_name(p, FILTER_COMM, NAME_EQUAL, pattern, want, glob);
	if (!want && !ends_there)
		return PUSHED_NONE;
	return push_name(p, FILTER_COMM, NAME_BEGINS, pushdown_names_slice(pattern, 0, literal),
			 want, glob);
}

static enum pushed push_like(struct pusher *p, struct subject s, struct bytes like, bool want)
{
	size_t literal = span_without(like, "%_");

	if (s.part == NAME_PART_COMM)
		return push_comm_pattern(p, like, literal,
					 literal + 1 == like.len && like.data[literal] == '%',
					 false, want);
	if (s.part != NAME_PART_PATH || !is_absolute(like))
		return PUSHED_NONE;
	if (literal == like.len)
		return push_equal(p, s, like, want);
	return push_below(p, s.field, like, literal, '%', want);
}

enum pushed push_names_pattern(struct pusher *p, const struct expr *e, bool want)
{
	struct subject s = subject_of(e->arg[0]);
	struct bytes glob = e->pattern;

	if (!glob.len || holds(glob, '\0'))
		return PUSHED_NONE;
	if (e->kind == EXPR_LIKE)
		return push_like(p, s, glob, want);
	if (s.part == NAME_PART_COMM) {
		size_t literal = span_without(glob, GLOB_CHARS);

		return push_comm_pattern(
			p, glob, literal,
			literal < glob.len &&
				holds_only(pushdown_names_slice(glob, literal, glob.len), '*'),
			true, want);
	}
	if (s.part == NAME_PART_BASE)
		return holds(glob, '/') ? PUSHED_NONE : push_base(p, s.field, glob, want);
	return s.part == NAME_PART_PATH ? push_path_glob(p, s.field, glob, want) : PUSHED_NONE;
}
