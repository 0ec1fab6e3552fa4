/* SPDX-License-Identifier: Apache-2.0 */
/* pushdown_text.c: the kernel's part of a filter as text of the language. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "query/eval/pattern.h"
#include "query/kernel/pushdown.h"
#include "query/plan/expr_text_internal.h"
#include "schema/ops.h"
#include "schema/vocab.h"

static const char *const fields[FILTER_FIELDS] = {
	[FILTER_DUR] = "dur",	[FILTER_RET] = "ret",	[FILTER_ERR] = "err",
	[FILTER_TID] = "tid",	[FILTER_PID] = "pid",	[FILTER_UID] = "uid",
	[FILTER_FD] = "fd",	[FILTER_SIZE] = "size", [FILTER_BYTES] = "bytes",
	[FILTER_COMM] = "comm", [FILTER_PATH] = "path", [FILTER_EXE] = "exe",
};
/* Operators of number tests. */
static const char *const words[] = {
	[FILTER_LT] = "<",  [FILTER_LE] = "<=", [FILTER_GT] = ">",
	[FILTER_GE] = ">=", [FILTER_EQ] = "==", [FILTER_NE] = "!=",
};

static int duration_text(int64_t ns, struct buf *out)
{
	static const struct {
		int64_t ns;
		const char *unit;
	} units[] = {{NSEC_PER_SEC, "s"}, {NSEC_PER_MSEC, "ms"}, {NSEC_PER_USEC, "us"}, {1, "ns"}};
	size_t i = 0;

	while (ns % units[i].ns)
		i++;
	assert(i < ARRAY_SIZE(units)); /* every value is a multiple of 1 ns */
	return buf_printf(out, "%lld%s", (long long)(ns / units[i].ns), units[i].unit);
}

/* "op == read", "op in (read, pread64)", or for a larger set the calls not in it. */
static int pushdown_text_set_text(const __u64 *ops, struct buf *out)
{
	size_t in = 0, all = 0;
	bool want, one;

	for (uint32_t code = 0; code < OP_CODE_CALLS; code++) {
		all += vocab_word("op", code) != NULL;
		in += vocab_word("op", code) && (ops[code / 64] >> (code % 64) & 1);
	}
	if (!in || in == all)
		return buf_printf(out, "op is %snull", in ? "not " : "");
	want = in <= all / 2;
	one = (want ? in : all - in) == 1;
	if (one)
		buf_printf(out, "op %s ", want ? "==" : "!=");
	else
		buf_printf(out, "op %sin (", want ? "" : "not ");
	for (uint32_t code = 0, n = 0; code < OP_CODE_CALLS; code++) {
		if (!vocab_word("op", code) || (ops[code / 64] >> (code % 64) & 1) != want)
			continue;
		buf_printf(out, "%s%s", n++ ? ", " : "", vocab_word("op", code));
	}
	return one ? buf_status(out) : buf_printf(out, ")");
}

/* Writes a glob in which no character is special. */
static int put_literal(struct buf *out, const struct call_filter_name *n)
{
	assert(n->len <= sizeof(n->text));
	for (uint32_t i = 0; i < n->len; i++) {
		bool special = memchr("*?[\\", n->text[i], 4);

		buf_printf(out, special ? "\\%c" : "%c", n->text[i]);
	}
	return buf_status(out);
}

/* The tested name: "path", "base(exe)". */
static int subject_text(enum filter_field field, bool base, struct buf *out)
{
	return buf_printf(out, base ? "base(%s) " : "%s ", fields[field]);
}

static int name_text(enum filter_field field, const struct call_filter_name *n, struct buf *out)
{
	static const struct {
		bool glob, base;
		const char *before, *after;
	} ways[] = {
		[NAME_EQUAL] = {.before = "", .after = ""},
		[NAME_BEGINS] = {.glob = true, .before = "", .after = "*"},
		[NAME_BELOW] = {.glob = true, .before = "", .after = "/**"},
		[NAME_WITHIN] = {.glob = true, .before = "", .after = ""},
		[NAME_BASE] = {.base = true, .before = "", .after = ""},
		[NAME_BASE_BEGINS] = {.glob = true, .base = true, .before = "", .after = "*"},
	};
	const char *root = n->how == NAME_EQUAL && n->field == FILTER_PATH && !n->len ? "/" : "";
	bool glob = ways[n->how].glob || n->pattern;
	_cleanup_buf_ struct buf text = {0};
	int r;

	assert(n->how < ARRAY_SIZE(ways) && n->len <= sizeof(n->text));
	buf_printf(&text, "%s%s", root, ways[n->how].before);
	if (glob)
		put_literal(&text, n);
	else
		buf_append(&text, n->text, n->len);
	r = buf_printf(&text, "%s", ways[n->how].after);
	if (r < 0)
		return r;
	subject_text(field, ways[n->how].base, out);
	buf_printf(out, "%s ", glob ? (n->opposite ? "!~" : "~") : (n->opposite ? "!=" : "=="));
	return text_write_quoted(out, (struct bytes){text.data, text.len});
}

static int test_text(const struct call_filter *f, const struct call_filter_step *s, struct buf *out)
{
	const char *field = fields[s->field];
	int r;

	assert(s->field < FILTER_FIELDS);
	assert(s->code != FILTER_NAME || (uint64_t)s->value < f->name_count);
	assert(s->code != FILTER_SET || (uint64_t)s->value < f->set_count);
	switch (s->code) {
	case FILTER_NAME:
		return name_text(s->field, &f->names[s->value], out);
	case FILTER_SET:
		return pushdown_text_set_text(f->sets[s->value], out);
	case FILTER_NULL:
		return buf_printf(out, "%s is null", field);
	case FILTER_KNOWN:
		return buf_printf(out, "%s is not null", field);
	default:
		assert(s->code < ARRAY_SIZE(words));
	}
	r = buf_printf(out, "%s %s ", field, words[s->code]);
	if (r < 0)
		return r;
	if (s->field == FILTER_ERR)
		return query_code_text("err", s->value, out);
	if (s->field == FILTER_DUR)
		return duration_text(s->value, out);
	return buf_printf(out, "%lld", (long long)s->value);
}

/* A stack entry as text; `joint` joins its operands: 0 (a test), FILTER_AND or FILTER_OR. */
struct text_piece {
	struct buf text;
	uint8_t joint;
};

static int join_text(struct text_piece *a, const struct text_piece *b, uint8_t joint)
{
	_cleanup_buf_ struct buf left = a->text;
	bool wrap_a = a->joint && a->joint != joint, wrap_b = b->joint && b->joint != joint;

	a->text = (struct buf){0};
	a->joint = joint;
	return buf_printf(&a->text, "%s%s%s %s %s%s%s", wrap_a ? "(" : "", buf_str(&left),
			  wrap_a ? ")" : "", joint == FILTER_AND ? "&&" : "||", wrap_b ? "(" : "",
			  buf_str((struct buf *)&b->text), wrap_b ? ")" : "");
}

struct text_stack {
	struct text_piece pieces[FILTER_DEPTH_MAX];
	size_t top;
};

static void text_stack_free(struct text_stack *s)
{
	for (size_t i = 0; i < FILTER_DEPTH_MAX; i++)
		buf_free(&s->pieces[i].text);
}

int query_pushdown_text(const struct call_filter *f, struct buf *out)
{
	_cleanup_(text_stack_free) struct text_stack stack = {0};

	assert(f->count <= FILTER_STEPS_MAX);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct call_filter_step *s = &f->steps[i];
		struct text_piece *top;
		int r;

		if (s->code == FILTER_AND || s->code == FILTER_OR) {
			assert(stack.top >= 2);
			top = &stack.pieces[--stack.top];
			r = join_text(top - 1, top, s->code);
			buf_free(&top->text);
			*top = (struct text_piece){0};
		} else {
			assert(stack.top < FILTER_DEPTH_MAX);
			r = test_text(f, s, &stack.pieces[stack.top++].text);
		}
		if (r < 0)
			return r;
	}
	assert(stack.top == (f->count > 0)); /* the steps form one condition */
	if (!stack.top)
		return 0;
	return buf_append(out, stack.pieces[0].text.data, stack.pieces[0].text.len);
}
