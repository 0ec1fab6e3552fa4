/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random conditions: their text parses to the same expression. And the limits: what is too long, too deep or too much
 * is refused, what is merely long is not.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"

#define ROUNDS 4000

/* ---- drawing ---- */

struct draw {
	uint64_t state;
	struct buf text;
};

static unsigned int draw(struct draw *d, unsigned int below)
{
	d->state = hash_u64(d->state);
	return (unsigned int)(d->state % below);
}

static void put(struct draw *d, const char *text)
{
	assert_int_equal(buf_printf(&d->text, "%s", text), 0);
}

static void put_one(struct draw *d, const char *const *words, unsigned int count)
{
	put(d, words[draw(d, count)]);
}
#define PUT_ONE(d, ...)                                               \
	do {                                                          \
		static const char *const words_[] = {__VA_ARGS__};    \
		put_one(d, words_, (unsigned int)ARRAY_SIZE(words_)); \
	} while (0)

static void put_condition(struct draw *d, unsigned int depth);

static void put_duration(struct draw *d, unsigned int depth)
{
	if (depth && draw(d, 3) == 0) {
		put(d, "(");
		put_duration(d, depth - 1);
		PUT_ONE(d, " + ", " - ", " % ");
		put_duration(d, depth - 1);
		put(d, ")");
		return;
	}
	PUT_ONE(d, "dur", "held", "1ms", "-5us", "0ns", "1.5s", "(stop - start)", "2h", "(dur * 2)",
		"(3 * dur)", "(dur / 2)", "-dur", "bucket(dur, 1ms)", "abs(held)",
		"if(ret < 0, dur, 1ms)", "(dur * 0.1)", "log2(dur)", "coalesce(held, 0ns)");
}

static void put_size(struct draw *d)
{
	PUT_ONE(d, "bytes", "size", "pos", "4KiB", "4096", "4 - 6 * 2", "1.5MiB", "bytes % 512",
		"pos + size", "bucket(pos, 1MiB)", "0B", "pos2 - pos", "size * 3");
}

static void put_number(struct draw *d)
{
	PUT_ONE(d, "ret", "fd", "tid", "5", "-ENOENT", "-9223372036854775808", "1.25", "1e30",
		"ret / 3", "ret * 7 - fd", "cpu % 2", "len(comm)", "hour(start)", "-(ret + 1)",
		"bytes / size", "id(file)", "1e-5", "bitand(ret, 7)");
}

static void put_text(struct draw *d)
{
	PUT_ONE(d, "path", "comm", "dir(path)", "base(path)", "ext(hostpath)", "lower(comm)",
		"file", "text(op)", "cgroup", "coalesce(path, 'none')", "argv",
		"if(path is null, comm, path)");
}

static void put_quoted(struct draw *d)
{
	PUT_ONE(d, "\"*.sst\"", "'it''s'", "\"a\\\"b\"", "'\\n\\t\\x00\\xff'", "\"\\\\d+\\.\"",
		"\"\"", "\"données\"", "'%_%'", "\"[a-z]?\"", "\"/var/**/*.log\"");
}

static void put_relation(struct draw *d)
{
	static const char *const signs[] = {
		" == ", " != ", " < ", " <= ", " > ", " >= ", " = ", " <> "};
	unsigned int sign = draw(d, 8);

	switch (draw(d, 12)) {
	case 0:
	case 1:
		put_duration(d, 3);
		put(d, signs[sign]);
		put_duration(d, 3);
		return;
	case 2:
		put_size(d);
		put(d, signs[sign]);
		put_size(d);
		return;
	case 3:
		put_number(d);
		put(d, signs[sign]);
		put_number(d);
		return;
	case 4:
		put_text(d);
		put(d, signs[sign < 2 ? sign : 1]);
		put_quoted(d);
		return;
	case 5:
		put_text(d);
		PUT_ONE(d, " ~ ", " !~ ", " like ", " not like ");
		PUT_ONE(d, "\"*.sst\"", "'it''s'", "\"\\xff\"", "(\"a*\", '%b')");
		return;
	case 6:
		put_duration(d, 2);
		PUT_ONE(d, " in ", " not in ");
		PUT_ONE(d, "1ms..2ms", "(1ms, 5us, 1ms)", "(1ms..2ms, 7s)", "held..1s");
		return;
	case 7:
		PUT_ONE(d, "op == read", "op in (read, pread, select)", "op in %net",
			"err != ENOENT", "err in (EIO, EAGAIN)", "class == sync",
			"kind = 'syscall'", "file_type == socket", "op ~ 'p*64'", "file == '/a'",
			"thread == thread || true");
		return;
	case 8:
		PUT_ONE(d, "flags has O_CREAT", "flags has (O_EXCL, O_RDWR)",
			"status has unfinished", "status has (slept, 0x40000)", "flags has 0x5",
			"a0 == 0xffffffffffffffff", "bitand(flags, 3) == 1", "ret has 3");
		return;
	case 9:
		PUT_ONE(d, "start > \"2026-11-21 14:00:03.123456789\"", "stop < '1999-12-31'",
			"start + 1ms in '2026-01-01T00:00Z'..'2026-01-02T00:00+05:30'",
			"stop - start > 1h", "bucket(stop, 1s) == \"2026-11-21\"");
		return;
	case 10:
		PUT_ONE(d, "err is null", "path is not null", "null is null", "(dur > 1ms) is null",
			"true", "false", "(ret > 5) == true");
		return;
	default:
		put_text(d);
		put(d, " =~ ");
		PUT_ONE(d, "\"^a.*b$\"", "'\\.sst$'", "\"[0-9]{3}\"", "'\\x41|\\bq'");
		return;
	}
}

static void put_condition(struct draw *d, unsigned int depth)
{
	unsigned int n = 2 + draw(d, 3);
	const char *joint = draw(d, 2) ? " && " : " or ";

	if (!depth || draw(d, 4) == 0) {
		put_relation(d);
		return;
	}
	if (draw(d, 5) == 0) {
		PUT_ONE(d, "!(", "not (");
		put_condition(d, depth - 1);
		put(d, ")");
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (i)
			put(d, joint);
		put(d, "(");
		put_condition(d, depth - 1);
		put(d, ")");
	}
}

/* ---- comparing ---- */

static bool same_value(struct query_kind k, const struct value *a, const struct value *b)
{
	if (a->null || b->null)
		return a->null == b->null;
	if (k.type == QUERY_TEXT)
		return a->t.len == b->t.len && !memcmp(a->t.data, b->t.data, a->t.len);
	return k.type == QUERY_FLOAT ? a->f == b->f : a->i == b->i;
}

static bool same_kind(struct query_kind a, struct query_kind b)
{
	return a.type == b.type && a.entity == b.entity && !a.vocab == !b.vocab &&
	       (!a.vocab || !strcmp(a.vocab, b.vocab));
}

static bool same_own(const struct expr *a, const struct expr *b)
{
	switch (a->kind) {
	case EXPR_CONST:
		return same_value(a->type, &a->value, &b->value);
	case EXPR_COLUMN:
	case EXPR_FIELD:
		return a->column == b->column;
	case EXPR_NAME:
		return a->column == b->column && a->name == b->name;
	case EXPR_COMPARE:
		return a->cmp == b->cmp;
	case EXPR_ARITH:
		return a->arith == b->arith;
	case EXPR_CALL:
		return a->function == b->function;
	case EXPR_HAS:
		return a->mask == b->mask && a->bits == b->bits;
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
		return a->pattern.len == b->pattern.len &&
		       !memcmp(a->pattern.data, b->pattern.data, a->pattern.len);
	case EXPR_IN:
		for (size_t i = 0; a->count == b->count && i < a->count; i++) {
			if (!same_value(a->arg[0]->type, &a->list[i], &b->list[i]))
				return false;
		}
		return a->count == b->count;
	default:
		return true;
	}
}

static bool same_expr(const struct expr *a, const struct expr *b)
{
	if (a->kind != b->kind || a->arg_count != b->arg_count || !same_kind(a->type, b->type) ||
	    !same_own(a, b))
		return false;
	for (unsigned int i = 0; i < a->arg_count; i++) {
		if (!same_expr(a->arg[i], b->arg[i]))
			return false;
	}
	return true;
}

static struct plan *parse(const char *text, size_t len)
{
	struct plan *p = NULL;
	struct query_error err;

	if (query_parse_expr(text, len, TABLE_OP, true, &p, &err) < 0)
		fail_msg("%s\n%s", text, err.err.message);
	return p;
}

static void check_round(uint64_t seed)
{
	struct draw d = {seed, {0}};
	_cleanup_buf_ struct buf text = {0};
	struct plan *first, *second;

	put_condition(&d, 1 + draw(&d, 4));
	first = parse(buf_str(&d.text), d.text.len);
	assert_int_equal(expr_text(first->where, TABLE_OP, &text), 0);
	second = parse(buf_str(&text), text.len);
	if (!same_expr(first->where, second->where))
		fail_msg("seed %llu\n%s\n%s", (unsigned long long)seed, buf_str(&d.text),
			 buf_str(&text));
	plan_free(first);
	plan_free(second);
	buf_free(&d.text);
}

static void random_texts(void **state)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		check_round(seed);
}

/* ---- limits ---- */

/* "a" n times, "b" in the middle, "c" n times. */
static void repeat(struct buf *out, const char *a, const char *b, const char *c, size_t n)
{
	buf_clear(out);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(buf_printf(out, "%s", a), 0);
	assert_int_equal(buf_printf(out, "%s", b), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(buf_printf(out, "%s", c), 0);
}

static void refused(struct buf *text, const char *why)
{
	struct plan *p = NULL;
	struct query_error err;

	assert_int_equal(query_parse(buf_str(text), text->len, &p, &err), -EINVAL);
	if (!strstr(err.err.message, why))
		fail_msg("%.60s...: %s", buf_str(text), err.err.message);
}

static void taken(struct buf *text)
{
	struct plan *p = NULL;
	struct query_error err;

	if (query_parse(buf_str(text), text->len, &p, &err) < 0)
		fail_msg("%.60s...: %s", buf_str(text), err.err.message);
	plan_free(p);
}

static void limits(void **state)
{
	_cleanup_buf_ struct buf t = {0};

	repeat(&t, "(", "dur > 1ms", ")", 150);
	taken(&t);
	repeat(&t, "(", "dur > 1ms", ")", 30000);
	refused(&t, "more than 200 levels deep");
	repeat(&t, "!", "dur > 1ms", "", 60000);
	refused(&t, "more than 200 levels deep");
	repeat(&t, "-", "dur > 1ms", "", 60000);
	refused(&t, "more than 200 levels deep");
	repeat(&t, "abs(", "dur", ")", 10000);
	refused(&t, "more than 200 levels deep");
	repeat(&t, "1+", "ret == 1", "", 15000);
	refused(&t, "more than 200 levels deep");
	/* long is not deep */
	repeat(&t, "fd>1||", "fd>1", "", 4500);
	taken(&t);
	repeat(&t, "fd>1|", "fd>1", "", 4500);
	taken(&t);
	repeat(&t, "fd>1||", "fd>1", "", 8000);
	refused(&t, "more than 20000");
	repeat(&t, " ", "fd > 1", "", 70000);
	refused(&t, "the limit is 65536");
	/* what is put in place grows with each stage */
	buf_clear(&t);
	assert_int_equal(buf_printf(&t, "select ret + ret as x"), 0);
	for (unsigned int i = 0; i < 60; i++)
		assert_int_equal(buf_printf(&t, "|select x+x as x"), 0);
	refused(&t, "more than 20000");
	buf_clear(&t);
	assert_int_equal(buf_printf(&t, "select ret == 1 && fd == 1 as x"), 0);
	for (unsigned int i = 0; i < 60; i++)
		assert_int_equal(buf_printf(&t, "|select x && x as x"), 0);
	refused(&t, "more than 20000");
	repeat(&t, "comm =~ '((abc){1000}){1000}' ||", "fd > 1", "", 1);
	refused(&t, "too large");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_texts),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
