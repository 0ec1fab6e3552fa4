// SPDX-License-Identifier: Apache-2.0
#include "analysis/diagnose/sentence.h"

#include <errno.h>
#include <string.h>

#include "base/amount.h"
#include "names/names.h"

static const struct sentence_value *sentence_find(const struct sentence_value *values, size_t count,
						  const char *name, size_t len)
{
	for (size_t i = 0; i < count; i++) {
		if (strlen(values[i].name) == len && !memcmp(values[i].name, name, len))
			return &values[i];
	}
	return NULL;
}

int sentence_put_quoted(struct buf *out, struct bytes text)
{
	buf_append(out, "\"", 1);
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '"' || text.data[i] == '\\')
			buf_append(out, "\\", 1);
		buf_append(out, text.data + i, 1);
	}
	return buf_append(out, "\"", 1);
}

static bool sentence_kind_of(const char *name, size_t len, enum sentence_kind *ret)
{
	static const struct {
		const char *name;
		enum sentence_kind kind;
	} kinds[] = {{"plain", SENTENCE_PLAIN},
		     {"count", SENTENCE_COUNT},
		     {"size", SENTENCE_SIZE},
		     {"dur", SENTENCE_DUR}};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strlen(kinds[i].name) == len && !memcmp(kinds[i].name, name, len)) {
			*ret = kinds[i].kind;
			return true;
		}
	}
	return false;
}

static int sentence_put(struct buf *out, const struct sentence_value *v, const char *look,
			size_t look_len, const struct dims *d)
{
	enum sentence_kind kind = v->kind;
	struct text t;

	if (kind == SENTENCE_NULL)
		return buf_append(out, "?", 1);
	if (look_len == 6 && !memcmp(look, "quoted", 6))
		return kind == SENTENCE_TEXT ? sentence_put_quoted(out, v->text) : -EINVAL;
	if (look_len == 7 && !memcmp(look, "process", 7))
		return kind == SENTENCE_TEXT ? -EINVAL : names_process(d, v->number, out);
	if (look_len && (!sentence_kind_of(look, look_len, &kind) || v->kind == SENTENCE_TEXT))
		return -EINVAL;
	if (kind == SENTENCE_TEXT)
		return buf_append(out, v->text.data, v->text.len);
	if (v->number < 0 || kind == SENTENCE_PLAIN)
		return buf_printf(out, "%lld", (long long)v->number);
	t = kind == SENTENCE_SIZE  ? format_size((uint64_t)v->number)
	    : kind == SENTENCE_DUR ? format_dur(v->number)
				   : format_count((uint64_t)v->number);
	return buf_append(out, t.s, strlen(t.s));
}

int sentence_fill(struct buf *out, const char *form, const struct sentence_value *values,
		  size_t count, const struct dims *d, const char **ret_unknown, size_t *ret_len)
{
	for (const char *p = form; *p;) {
		size_t plain = strcspn(p, "{");
		const struct sentence_value *v;
		const char *end, *colon;
		size_t name;
		int r = buf_append(out, p, plain);

		p += plain;
		if (r < 0)
			return r;
		if (!*p)
			return 0;
		if (p[1] == '{') {
			r = buf_append(out, "{", 1);
			if (r < 0)
				return r;
			p += 2;
			continue;
		}
		end = strchr(p, '}');
		*ret_unknown = p;
		*ret_len = end ? (size_t)(end - p) + 1 : strlen(p);
		if (!end)
			return -EINVAL;
		colon = memchr(p, ':', (size_t)(end - p));
		name = (size_t)((colon ? colon : end) - p) - 1;
		v = sentence_find(values, count, p + 1, name);
		if (!v)
			return -EINVAL;
		r = sentence_put(out, v, colon ? colon + 1 : end,
				 colon ? (size_t)(end - colon) - 1 : 0, d);
		if (r < 0)
			return r;
		p = end + 1;
	}
	return 0;
}
