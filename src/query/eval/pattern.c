/* SPDX-License-Identifier: Apache-2.0 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "query/eval/pattern.h"

#include <errno.h>
#include <pcre2.h>
#include <string.h>

#include "schema/ops.h"
#include "schema/select.h"
#include "schema/vocab.h"

struct query_pattern {
	enum expr_kind kind;
	char *text; /* ends with NUL */
	size_t len;
	size_t literal; /* GLOB: bytes before the first special character */
	bool last_part; /* GLOB: contains no slash */
	pcre2_code *code;
	pcre2_match_context *limits;
};

/* ---- making ---- */

static int regex_new(struct query_pattern *p, struct error *err)
{
	uint8_t message[160];
	size_t at = 0;
	int code = 0;

	if (p->len > REGEX_LEN_MAX)
		return error_set(err, -EINVAL,
				 "a regular expression may have up to %d bytes, not %zu",
				 REGEX_LEN_MAX, p->len);
	p->code =
		pcre2_compile((const uint8_t *)p->text, p->len, PCRE2_NEVER_UTF, &code, &at, NULL);
	if (!p->code && code == PCRE2_ERROR_NOMEMORY)
		return error_set(err, -ENOMEM, "out of memory");
	if (!p->code) {
		pcre2_get_error_message(code, message, sizeof(message));
		return error_set(err, -EINVAL,
				 "error in the regular expression at character %zu: %s", at + 1,
				 (const char *)message);
	}
	p->limits = pcre2_match_context_create(NULL);
	if (!p->limits)
		return error_set(err, -ENOMEM, "out of memory");
	pcre2_set_match_limit(p->limits, REGEX_STEPS_MAX);
	pcre2_set_depth_limit(p->limits, REGEX_DEPTH_MAX);
	pcre2_set_heap_limit(p->limits, REGEX_HEAP_KIB_MAX);
	return 0;
}

int query_pattern_new(struct query_pattern **ret, enum expr_kind kind, struct bytes pattern,
		      struct error *err)
{
	_cleanup_(query_pattern_freep) struct query_pattern *p = calloc(1, sizeof(*p));
	int r;

	assert(kind == EXPR_GLOB || kind == EXPR_REGEX || kind == EXPR_LIKE);
	if (p)
		p->text = malloc(pattern.len + 1);
	if (!p || !p->text)
		return error_set(err, -ENOMEM, "out of memory");
	p->kind = kind;
	p->len = pattern.len;
	if (pattern.len)
		memcpy(p->text, pattern.data, pattern.len);
	p->text[p->len] = '\0';
	if (kind == EXPR_REGEX) {
		r = regex_new(p, err);
		if (r < 0)
			return r;
	}
	if (kind == EXPR_GLOB) {
		if (p->len > GLOB_MAX)
			return error_set(err, -EINVAL, "a glob may have up to %d bytes, not %zu",
					 GLOB_MAX, p->len);
		if (memchr(p->text, '\0', p->len))
			return error_set(err, -EINVAL, "a glob cannot contain a NUL");
		p->literal = strcspn(p->text, "*?[\\");
		/* Trailing slashes of a glob are ignored, and a star may match no folder. */
		while (p->literal && p->text[p->literal - 1] == '/')
			p->literal--;
		p->last_part = !strchr(p->text, '/');
		assert(p->literal <= p->len);
	}
	*ret = TAKE_PTR(p);
	return 0;
}

void query_pattern_free(struct query_pattern *p)
{
	if (!p)
		return;
	pcre2_code_free(p->code);
	pcre2_match_context_free(p->limits);
	free(p->text);
	free(p);
}

/* ---- matching ---- */

static struct bytes pattern_last_part(struct bytes text)
{
	const uint8_t *slash = text.len ? memrchr(text.data, '/', text.len) : NULL;
	size_t skip = slash ? (size_t)(slash + 1 - text.data) : 0;

	return (struct bytes){text.data + skip, text.len - skip};
}

static bool glob_fits(const struct query_pattern *p, struct bytes text)
{
	return text.len >= p->literal && !memcmp(text.data, p->text, p->literal) &&
	       glob_match(p->text, (const char *)text.data, text.len);
}

static size_t pattern_character(const uint8_t *at, const uint8_t *end)
{
	size_t n = 1;

	if (*at < 0xc0)
		return 1;
	while (at + n < end && n < 4 && (at[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* On a mismatch, goes back to the last `%` and lets it match one more character: at most pattern x text steps. */
static bool like_fits(const struct query_pattern *p, struct bytes text)
{
	const char *pattern = p->text, *end = p->text + p->len, *again = NULL;
	const uint8_t *at = text.data, *last = text.data + text.len, *from = NULL;

	while (at < last) {
		if (pattern < end && *pattern == '%') {
			again = ++pattern;
			from = at;
		} else if (pattern < end && *pattern == '_') {
			pattern++;
			at += pattern_character(at, last);
		} else if (pattern < end && (uint8_t)*pattern == *at) {
			pattern++;
			at++;
		} else if (again) {
			pattern = again;
			from += pattern_character(from, last);
			at = from;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '%')
		pattern++;
	return pattern == end;
}

static int regex_fits(const struct query_pattern *p, struct bytes text)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int r;

	assert(p->kind == EXPR_REGEX && p->code && p->limits);
	if (!data)
		return -ENOMEM;
	r = pcre2_match(p->code, text.data, text.len, 0, 0, data, p->limits);
	pcre2_match_data_free(data);
	switch (r) {
	case PCRE2_ERROR_NOMATCH:
		return 0;
	case PCRE2_ERROR_MATCHLIMIT:
	case PCRE2_ERROR_DEPTHLIMIT:
	case PCRE2_ERROR_HEAPLIMIT:
		return -EOVERFLOW;
	case PCRE2_ERROR_NOMEMORY:
		return -ENOMEM;
	default:
		return r >= 0 ? 1 : -EOVERFLOW;
	}
}

int query_pattern_match(const struct query_pattern *p, struct bytes text)
{
	if (!text.data)
		text.data = (const uint8_t *)"";
	switch (p->kind) {
	case EXPR_REGEX:
		return regex_fits(p, text);
	case EXPR_LIKE:
		return like_fits(p, text);
	default:
		assert(p->kind == EXPR_GLOB);
		return glob_fits(p, text) ||
		       (p->last_part && text.len && memchr(text.data, '/', text.len) &&
			glob_fits(p, pattern_last_part(text)));
	}
}

/* ---- functions of a text ---- */

static struct bytes folder_of(struct bytes text)
{
	const uint8_t *slash = text.len ? memrchr(text.data, '/', text.len) : NULL;

	if (!slash)
		return (struct bytes){(const uint8_t *)"", 0};
	return (struct bytes){text.data, MAX((size_t)(slash - text.data), (size_t)1)};
}

int query_text_function(enum query_function f, struct bytes text, struct buf *scratch,
			struct value *ret)
{
	const uint8_t *dot;
	int r;

	*ret = (struct value){0};
	if (!text.data)
		text = (struct bytes){(const uint8_t *)"", 0};
	switch (f) {
	case FUNCTION_DIR:
		ret->t = folder_of(text);
		return 0;
	case FUNCTION_BASE:
		ret->t = pattern_last_part(text);
		break;
	case FUNCTION_EXT:
		text = pattern_last_part(text);
		dot = text.len ? memrchr(text.data, '.', text.len) : NULL;
		ret->null = !dot;
		if (dot)
			ret->t = (struct bytes){dot + 1, text.len - (size_t)(dot + 1 - text.data)};
		return 0;
	default:
		assert(f == FUNCTION_LOWER);
		buf_clear(scratch);
		r = buf_append(scratch, text.data, text.len);
		if (r < 0)
			return r;
		for (size_t i = 0; i < scratch->len; i++) {
			if (scratch->data[i] >= 'A' && scratch->data[i] <= 'Z')
				scratch->data[i] |= 0x20;
		}
		ret->t = (struct bytes){scratch->len ? scratch->data : text.data, scratch->len};
		break;
	}
	return 0;
}

int query_code_text(const char *vocab, int64_t code, struct buf *out)
{
	char name[32];
	const char *word;

	if (!strcmp(vocab, "op") && code >= 0 && code < OP_CODE_MAX)
		word = op_name((uint32_t)code, name);
	else
		word = vocab_word(vocab, code);
	return word ? buf_append(out, word, strlen(word))
		    : buf_printf(out, "%s_%lld", vocab, (long long)code);
}
