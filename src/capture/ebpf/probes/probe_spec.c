/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/probes/probe_spec.h"

#include <errno.h>
#include <string.h>

#include "span/layout.h"

#define FORMS                                                                 \
	"write usdt:FILE:[PROVIDER:]PROBE, uprobe:FILE:FUNCTION[+OFFSET] or " \
	"uretprobe:FILE:FUNCTION"

static char *trimmed(char *text)
{
	size_t len;

	text += strspn(text, " \t\n");
	len = strlen(text);
	while (len && strchr(" \t\n", text[len - 1]))
		text[--len] = 0;
	return text;
}

/* Splits the text at the next single colon; NULL: there is none. */
static char *part_cut(char *text)
{
	for (char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
		if (at > text && strchr(" \t\n", at[-1]) && strchr(" \t\n", at[1])) {
			*at = 0;
			return at + 1;
		}
	}
	return NULL;
}

static int arg_parse(char *text, unsigned int number, struct probe_point *p, struct error *err)
{
	static const char *const types[] = {
		[WIRE_PROBE_NUMBER] = "number",
		[WIRE_PROBE_INT] = "int",
		[WIRE_PROBE_STRING] = "string",
	};
	struct probe_arg arg = {.number = (uint8_t)number};
	char *type = strchr(text, ':');
	size_t i = 0;

	if (!strcmp(text, "-"))
		return 0;
	if (type) {
		*type = 0;
		type = trimmed(type + 1);
		text = trimmed(text);
		while (i < ARRAY_SIZE(types) && strcmp(type, types[i]) != 0)
			i++;
		if (i == ARRAY_SIZE(types))
			return error_set(err, -EINVAL,
					 "argument %s: '%s' is not number, int or string", text,
					 type);
		arg.type = (enum wire_probe_type)i;
	}
	if (!*text || strlen(text) >= PROBE_WORD_MAX)
		return error_set(
			err, -EINVAL,
			"argument %u needs a name of at most %d bytes; - leaves an argument out",
			number + 1, PROBE_WORD_MAX - 1);
	arg.name = text;
	p->texts += arg.type == WIRE_PROBE_STRING;
	if (p->arg_count == WIRE_PROBE_ARGS || p->texts > WIRE_PROBE_TEXTS)
		return error_set(err, -EINVAL,
				 "at most %d arguments of a probe, %d of them strings, can be "
				 "recorded; - leaves an argument out",
				 WIRE_PROBE_ARGS, WIRE_PROBE_TEXTS);
	p->args[p->arg_count++] = arg;
	return 0;
}

/* "key, -, path:string" */
static int args_parse(char *text, struct probe_point *p, struct error *err)
{
	static const unsigned int most[] = {
		[PROBE_USDT] = PROBE_USDT_ARGS,
		[PROBE_ENTRY] = PROBE_FUNCTION_ARGS,
		[PROBE_RETURN] = 1,
	};
	unsigned int number = 0;
	char *arg;
	int r = 0;

	while (!r && (arg = strsep(&text, ","))) {
		if (number == most[p->kind])
			return error_set(err, -EINVAL,
					 p->kind == PROBE_RETURN
						 ? "a return probe has one value, the result, and "
						   "no arguments"
						 : "arguments beyond the first %u cannot be "
						   "recorded",
					 most[p->kind]);
		r = arg_parse(trimmed(arg), number++, p, err);
	}
	return r;
}

/* Parses what follows the file: "provider:probe", "function+0x10". */
static int place_parse(char *text, struct probe_point *p, struct error *err)
{
	char *at = strchr(text, p->kind == PROBE_USDT ? ':' : '+'), *end;

	p->name = text;
	if (at && p->kind == PROBE_USDT) {
		*at = 0;
		p->name = at + 1;
		if (!*text || strlen(text) >= sizeof(p->provider))
			return error_set(err, -EINVAL, "'%.40s' is not the name of a provider",
					 text);
		memcpy(p->provider, text, strlen(text) + 1);
	} else if (at) {
		*at = 0;
		p->offset = strtoull(at + 1, &end, 0);
		if (p->kind == PROBE_RETURN || !at[1] || *end)
			return error_set(err, -EINVAL,
					 "'+%s' is not an offset from the entry of a function: "
					 "write +16 or +0x10",
					 at + 1);
	}
	if (!*p->name || strchr(p->name, ':'))
		return error_set(err, -EINVAL,
				 "'%s' is not the name of a probe or function: " FORMS, p->name);
	return 0;
}

/* begin: the first point of the span, if this one ends it; NULL: this is the first. */
static int point_parse(char *text, const struct probe_point *begin, struct probe_point *ret,
		       struct error *err)
{
	static const struct {
		const char *word;
		enum probe_kind kind;
	} kinds[] = {{"usdt:", PROBE_USDT}, {"uprobe:", PROBE_ENTRY}, {"uretprobe:", PROBE_RETURN}};
	char *args = strchr(text, '('), *place;
	size_t len = strlen(text), i = 0;
	int r;

	if (args && text[len - 1] != ')')
		return error_set(err, -EINVAL, "'%s': the arguments do not end with ')'", text);
	if (args) {
		text[len - 1] = 0;
		*args++ = 0;
		text = trimmed(text);
	}
	while (i < ARRAY_SIZE(kinds) && strncmp(text, kinds[i].word, strlen(kinds[i].word)) != 0)
		i++;
	if (i < ARRAY_SIZE(kinds)) {
		ret->kind = kinds[i].kind;
		ret->path = text + strlen(kinds[i].word);
		place = strchr(ret->path, ':');
		if (!place)
			return error_set(err, -EINVAL, "'%s' does not name a probe: " FORMS, text);
		*place++ = 0;
		if (!strchr(ret->path, '/'))
			return error_set(err, -EINVAL,
					 "'%s' is not the path of a file: write it with its "
					 "folder, as in /usr/lib/...",
					 ret->path);
		r = place_parse(place, ret, err);
	} else if (!begin) {
		return error_set(err, -EINVAL, "'%s' is not a probe: " FORMS, text);
	} else {
		ret->kind = begin->kind;
		ret->path = begin->path;
		if (begin->kind == PROBE_ENTRY && !strcmp(text, "return")) {
			ret->kind = PROBE_RETURN;
			ret->name = begin->name;
			r = 0;
		} else {
			memcpy(ret->provider, begin->provider, sizeof(ret->provider));
			r = place_parse(text, ret, err);
		}
	}
	return r || !args ? r : args_parse(args, ret, err);
}

/* "NAME : BEGIN [: END]" */
static int span_parse(char *text, struct probe_span *ret, struct error *err)
{
	char *begin = part_cut(text), *end = begin ? part_cut(begin) : NULL;
	int r;

	ret->name = trimmed(text);
	if (!begin || !*ret->name || strlen(ret->name) > SPAN_NAME_LEN)
		return error_set(err, -EINVAL,
				 "write 'NAME : BEGIN : END', with blanks around the colons "
				 "between them");
	r = point_parse(trimmed(begin), NULL, &ret->begin, err);
	if (r < 0)
		return r;
	if (end)
		return part_cut(end)
			       ? error_set(err, -EINVAL, "unexpected text after NAME : BEGIN : END")
			       : point_parse(trimmed(end), &ret->begin, &ret->end, err);
	if (ret->begin.kind != PROBE_ENTRY)
		return error_set(err, -EINVAL,
				 "only a span that begins with the entry of a function needs no "
				 "END: write 'NAME : BEGIN : END'");
	ret->end = (struct probe_point){
		.kind = PROBE_RETURN, .path = ret->begin.path, .name = ret->begin.name};
	return 0;
}

int probe_spans_add(struct probe_spans *to, const char *text, struct error *err)
{
	struct probe_span *span = &to->list[to->count];
	int r;

	if (to->count == WIRE_PROBE_SPANS)
		return error_set(err, -EINVAL, "at most %d can be recorded at once",
				 WIRE_PROBE_SPANS);
	*span = (struct probe_span){.text = strdup(text)};
	if (!span->text)
		return error_set(err, -ENOMEM, "out of memory");
	to->count++;
	r = span_parse(span->text, span, err);
	if (r < 0)
		error_prefix(err, "'%.200s'", text);
	return r;
}

void probe_spans_free(struct probe_spans *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].text);
	s->count = 0;
}
