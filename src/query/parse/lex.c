/* SPDX-License-Identifier: Apache-2.0 */
/* lex.c: splits text into tokens. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "query/internal.h"

#define DIGITS_MAX 64 /* of one number */

static const struct unit {
	const char *name;
	enum query_type type;
	int64_t factor;
} units[] = {
	{"ns", QUERY_DUR, 1},
	{"us", QUERY_DUR, NSEC_PER_USEC},
	{"\xc2\xb5s", QUERY_DUR, NSEC_PER_USEC},
	{"\xce\xbcs", QUERY_DUR, NSEC_PER_USEC},
	{"ms", QUERY_DUR, NSEC_PER_MSEC},
	{"s", QUERY_DUR, NSEC_PER_SEC},
	{"m", QUERY_DUR, 60 * NSEC_PER_SEC},
	{"min", QUERY_DUR, 60 * NSEC_PER_SEC},
	{"h", QUERY_DUR, 3600 * NSEC_PER_SEC},
	{"d", QUERY_DUR, 24 * 3600 * NSEC_PER_SEC},
	/* as on the command line: K, KB and KiB all mean 1,024 bytes */
	{"B", QUERY_SIZE, 1},
	{"K", QUERY_SIZE, 1ll << 10},
	{"KB", QUERY_SIZE, 1ll << 10},
	{"KiB", QUERY_SIZE, 1ll << 10},
	{"k", QUERY_SIZE, 1ll << 10},
	{"kB", QUERY_SIZE, 1ll << 10},
	{"kiB", QUERY_SIZE, 1ll << 10},
	{"M", QUERY_SIZE, 1ll << 20},
	{"MB", QUERY_SIZE, 1ll << 20},
	{"MiB", QUERY_SIZE, 1ll << 20},
	{"G", QUERY_SIZE, 1ll << 30},
	{"GB", QUERY_SIZE, 1ll << 30},
	{"GiB", QUERY_SIZE, 1ll << 30},
	{"T", QUERY_SIZE, 1ll << 40},
	{"TB", QUERY_SIZE, 1ll << 40},
	{"TiB", QUERY_SIZE, 1ll << 40},
};

bool token_text_is(struct bytes b, const char *text)
{
	return strlen(text) == b.len && !memcmp(b.data, text, b.len);
}

bool token_is(const struct query_token *t, const char *word)
{
	return t->kind == TOKEN_NAME && strlen(word) == t->text.len &&
	       !strncasecmp((const char *)t->text.data, word, t->text.len);
}

static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_name(char c)
{
	return is_letter(c) || isdigit((unsigned char)c);
}

static void lex_bad(struct query_source *s, struct query_token *t, const char *what)
{
	t->kind = TOKEN_BAD;
	query_fail(s, t->pos, t->len, "%s", what);
	assert(s->failed < 0); /* a bad token is an error of the query */
}

/* ---- numbers ---- */

static const struct unit *unit_find(const char *p, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == len && !memcmp(units[i].name, p, len))
			return &units[i];
	}
	return NULL;
}

static void bad_unit(struct query_source *s, struct query_token *t, size_t from, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == len &&
		    !strncasecmp(units[i].name, s->text + from, len)) {
			t->kind = TOKEN_BAD;
			query_fail(s, from, len, "unknown unit '%.*s'; did you mean %s?", (int)len,
				   s->text + from, units[i].name);
			return;
		}
	}
	t->kind = TOKEN_BAD;
	query_fail(s, from, len,
		   "unknown unit '%.*s'; durations have ns us ms s m h d, sizes B KiB MiB GiB TiB",
		   (int)MIN(len, (size_t)20), s->text + from);
}

/* A whole number times its unit; false if it exceeds 64 bits. */
static bool whole_value(struct number *n, uint64_t digits, const struct unit *unit)
{
	uint64_t value;

	if (!unit) {
		n->type = digits > INT64_MAX ? QUERY_UINT : QUERY_INT;
		n->i = (int64_t)digits;
		n->f = (double)digits;
		return true;
	}
	n->type = unit->type;
	if (__builtin_mul_overflow(digits, (uint64_t)unit->factor, &value) || value > INT64_MAX)
		return false;
	n->i = (int64_t)value;
	return true;
}

static bool float_value(struct number *n, const char *text, const struct unit *unit)
{
	long double value = strtold(text, NULL);

	if (!unit) {
		n->type = QUERY_FLOAT;
		n->f = (double)value;
		return isfinite(n->f);
	}
	value *= (long double)unit->factor;
	n->type = unit->type;
	if (value >= 0x1p63L)
		return false;
	n->i = llroundl(value);
	return n->i >= 0;
}

/* Copies digits, skipping '_' between them. Returns the bytes read. */
static size_t take_digits(const char *p, char *to, size_t *len, int (*is)(int))
{
	size_t n = 0;

	assert(*len < DIGITS_MAX);
	while (is((unsigned char)p[n]) || (n && p[n] == '_' && is((unsigned char)p[n + 1]))) {
		if (p[n] != '_' && *len + 1 < DIGITS_MAX)
			to[(*len)++] = p[n];
		n++;
	}
	return n;
}

static size_t prefixed_number(struct query_source *s, struct query_token *t, const char *p)
{
	char digits[DIGITS_MAX];
	size_t len = 0, n = 2 + take_digits(p + 2, digits, &len, isxdigit);
	char *end;

	assert(p[0] == '0' && (p[1] == 'x' || p[1] == 'o'));
	assert(len < sizeof(digits));
	digits[len] = '\0';
	errno = 0;
	whole_value(&t->number, strtoull(digits, &end, p[1] == 'o' ? 8 : 16), NULL);
	t->len = (uint32_t)n;
	if (!len || *end || is_name(p[n]))
		lex_bad(s, t, "not a number; hexadecimals are written 0xff, octals 0o644");
	else if (errno)
		lex_bad(s, t, "the number exceeds 64 bits");
	return n;
}

/* Reads "12", "1.5", "1e6", "1_000". Returns its length, and whether it has a fraction. */
static size_t plain_number(const char *p, char *digits, bool *ret_float)
{
	size_t len = 0, n = take_digits(p, digits, &len, isdigit);

	*ret_float = false;
	if (p[n] == '.' && isdigit((unsigned char)p[n + 1])) {
		*ret_float = true;
		digits[len++] = '.';
		n++;
		n += take_digits(p + n, digits, &len, isdigit);
	}
	if (p[n] == 'e' &&
	    (isdigit((unsigned char)p[n + 1]) ||
	     ((p[n + 1] == '-' || p[n + 1] == '+') && isdigit((unsigned char)p[n + 2])))) {
		*ret_float = true;
		if (len + 2 < DIGITS_MAX) {
			digits[len++] = 'e';
			digits[len++] = p[n + 1];
		}
		n += 2;
		n += take_digits(p + n, digits, &len, isdigit);
	}
	digits[MIN(len, (size_t)DIGITS_MAX - 1)] = '\0';
	return n;
}

static size_t lex_number(struct query_source *s, struct query_token *t, const char *p)
{
	char digits[DIGITS_MAX + 4];
	const struct unit *unit = NULL;
	bool fraction, fits;
	size_t n, letters = 0;

	assert(isdigit((unsigned char)*p) || *p == '.');
	t->kind = TOKEN_NUMBER;
	if (*p == '0' && (p[1] == 'x' || p[1] == 'o'))
		return prefixed_number(s, t, p);
	n = plain_number(p, digits, &fraction);
	t->len = (uint32_t)n;
	if (n >= DIGITS_MAX) {
		lex_bad(s, t, "a number with this many digits does not fit any column");
		return n;
	}
	if (n > 1 && *p == '0' && isdigit((unsigned char)p[1])) {
		lex_bad(s, t, "a number cannot begin with 0; octals are written 0o644");
		return n;
	}
	while (is_name(p[n + letters]) || (uint8_t)p[n + letters] >= 0x80)
		letters++;
	if (letters) {
		unit = unit_find(p + n, letters);
		if (!unit) {
			bad_unit(s, t, t->pos + n, letters);
			return n + letters;
		}
	}
	t->len = (uint32_t)(n + letters);
	if (fraction) {
		fits = float_value(&t->number, digits, unit);
	} else {
		errno = 0;
		fits = whole_value(&t->number, strtoull(digits, NULL, 10), unit) && !errno;
	}
	if (!fits)
		lex_bad(s, t, "the number exceeds 64 bits");
	return n + letters;
}

/* ---- strings ---- */

static int lex_hex_digit(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? (c | 32) - 'a' + 10
					    : -1;
}

/*
 * Decodes a backslash sequence: \\ \" \'
 * \t \xff. Before any other letter the backslash stays, so that regular expressions and globs need no double one.
 * Returns the bytes read.
 */
static size_t unescape(const char *p, uint8_t *to, size_t *len)
{
	assert(*p == '\\');
	switch (p[1]) {
	case '\\':
	case '"':
	case '\'':
		to[(*len)++] = (uint8_t)p[1];
		return 2;
	case 'n':
		to[(*len)++] = '\n';
		return 2;
	case 't':
		to[(*len)++] = '\t';
		return 2;
	case 'x':
		if (lex_hex_digit(p[2]) < 0 || lex_hex_digit(p[3]) < 0)
			break;
		to[(*len)++] = (uint8_t)(lex_hex_digit(p[2]) << 4 | lex_hex_digit(p[3]));
		return 4;
	default:
		break;
	}
	to[(*len)++] = '\\';
	return 1;
}

/* The position of the closing quote; left: there is none. A doubled quote stands for one. */
static size_t string_end(const char *p, size_t left)
{
	size_t n = 1;

	assert(left > 0 && (*p == '"' || *p == '\''));
	while (n < left && (p[n] != *p || (n + 1 < left && p[n + 1] == *p)))
		n += p[n] == '\\' || p[n] == *p ? 2 : 1;
	return MIN(n, left);
}

static size_t lex_string(struct query_source *s, struct query_token *t, const char *p, size_t left)
{
	size_t end = string_end(p, left), n = 1, len = 0;
	uint8_t *to;

	assert(*p == '"' || *p == '\'');

	t->kind = TOKEN_STRING;
	if (end >= left) {
		t->len = 1;
		lex_bad(s, t, "unterminated text: the closing quote is missing");
		return left;
	}
	to = query_alloc(s, end, 1);
	if (!to) {
		t->kind = TOKEN_BAD;
		return left;
	}
	while (n < end) {
		if (p[n] == *p) {
			to[len++] = (uint8_t)*p;
			n += 2;
		} else if (p[n] == '\\') {
			n += unescape(p + n, to, &len);
		} else {
			to[len++] = (uint8_t)p[n++];
		}
	}
	assert(len < end);
	t->text = (struct bytes){to, len};
	t->len = (uint32_t)(end + 1);
	return end + 1;
}

/* ---- all ---- */

static size_t lex_sign(struct query_source *s, struct query_token *t, const char *p)
{
	static const struct {
		const char *text;
		enum query_token_kind kind;
	} signs[] = {
		/* longest first */
		{"!=~", TOKEN_NOT_REGEX}, {"||", TOKEN_OR},    {"&&", TOKEN_AND},
		{"==", TOKEN_EQ},	  {"=~", TOKEN_REGEX}, {"!=", TOKEN_NE},
		{"<>", TOKEN_NE},	  {"<=", TOKEN_LE},    {">=", TOKEN_GE},
		{"!~", TOKEN_NOT_GLOB},	  {"..", TOKEN_DOTS},  {"|", TOKEN_PIPE},
		{"=", TOKEN_EQ},	  {"!", TOKEN_NOT},    {"<", TOKEN_LT},
		{">", TOKEN_GT},	  {"~", TOKEN_GLOB},   {"+", TOKEN_PLUS},
		{"-", TOKEN_MINUS},	  {"*", TOKEN_STAR},   {"/", TOKEN_SLASH},
		{"%", TOKEN_PERCENT},	  {"(", TOKEN_OPEN},   {")", TOKEN_CLOSE},
		{",", TOKEN_COMMA},
	};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		size_t n = strlen(signs[i].text);

		if (!strncmp(p, signs[i].text, n)) {
			t->kind = signs[i].kind;
			t->len = (uint32_t)n;
			return n;
		}
	}
	t->len = 1;
	if (*p == '&')
		lex_bad(s, t, "single '&': logical and is written &&, bitwise and bitand(a, b)");
	else if (*p == ';')
		lex_bad(s, t, "only one query at a time: ';' is not allowed");
	else if (!strncmp(p, "\xe2\x80\x9c", 3) || !strncmp(p, "\xe2\x80\x9d", 3) ||
		 !strncmp(p, "\xe2\x80\x98", 3) || !strncmp(p, "\xe2\x80\x99", 3)) {
		t->len = 3;
		lex_bad(s, t, "typographic quotes: text is written \"...\" or '...'");
	} else if ((uint8_t)*p >= 0x80) {
		while (((uint8_t)p[t->len] & 0xc0) == 0x80)
			t->len++;
		lex_bad(s, t, "names cannot contain this letter; text is written \"...\"");
	} else if (isprint((unsigned char)*p)) {
		t->kind = TOKEN_BAD;
		query_fail(s, t->pos, 1, "unexpected '%c'", *p);
	} else {
		lex_bad(s, t, "unexpected control character");
	}
	return t->len;
}

void lex_next(struct query_source *s, size_t *pos, struct query_token *ret)
{
	size_t at = *pos;
	const char *p;

	assert(at <= s->len && s->text[s->len] == '\0');

	while (at < s->len && (isspace((unsigned char)s->text[at])))
		at++;
	*ret = (struct query_token){.kind = TOKEN_END, .pos = (uint32_t)at};
	*pos = at;
	if (at >= s->len)
		return;
	p = s->text + at;
	if (is_letter(*p)) {
		size_t n = 1;

		while (is_name(p[n]))
			n++;
		/* table.column; parent.parent.column if there are several rows; span.attributes.http.route */
		for (bool more = true; more && p[n] == '.' && is_letter(p[n + 1]);
		     more = s->rows || !strncmp(p, "span.", 5)) {
			n++;
			while (is_name(p[n]))
				n++;
		}
		ret->kind = TOKEN_NAME;
		ret->len = (uint32_t)n;
		ret->text = (struct bytes){(const uint8_t *)p, n};
		*pos = at + n;
	} else if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) {
		*pos = at + lex_number(s, ret, p);
	} else if (*p == '"' || *p == '\'') {
		*pos = at + lex_string(s, ret, p, s->len - at);
	} else {
		*pos = at + lex_sign(s, ret, p);
	}
	assert(*pos > at && *pos <= s->len); /* every token advances */
}
