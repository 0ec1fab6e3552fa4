/* SPDX-License-Identifier: Apache-2.0 */
/* look_up.c: looks up names and lines for stacks of table stack when they are read. */
#include "symbols/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct module_text {
	char *line; /* "BUILD-ID PATH" */
	struct symbols_module m;
};

struct look_up {
	const struct symbols_text *texts;
	int (*take)(void *arg, size_t stack, struct bytes names);
	void *arg;
	struct module_text *modules;
	size_t module_count, module_cap;
	struct map by_line;	      /* hash of the line -> its number */
	struct symbols_frame *frames; /* of all stacks */
	size_t frame_count, frame_cap;
	struct buf names; /* of the current stack */
};

static void look_up_free(struct look_up *l)
{
	for (size_t i = 0; i < l->module_count; i++)
		free(l->modules[i].line);
	free(l->modules);
	map_free(&l->by_line);
	free(l->frames);
	buf_free(&l->names);
}

/* ---- texts to frames ---- */

/* Parses a build-id and a space; returns the bytes consumed, 0: none. Only a build-id proves that a file is the same. */
static size_t build_id_of(const char *text, struct symbols_module *ret)
{
	size_t n = 0;

	for (; hex_digit(text[2 * n]) >= 0 && hex_digit(text[2 * n + 1]) >= 0; n++) {
		if (n >= SYMBOLS_BUILD_ID_MAX)
			return 0;
		ret->build_id[n] =
			(uint8_t)(hex_digit(text[2 * n]) << 4 | hex_digit(text[2 * n + 1]));
	}
	ret->build_id_len = (uint32_t)n;
	return n && text[2 * n] == ' ' ? 2 * n + 1 : 0;
}

/* The number of a module, by its line; SYMBOLS_NONE: it cannot be looked up. */
static int module_number(struct look_up *l, const char *line, size_t len, uint32_t *ret)
{
	uint64_t key = hash_bytes(line, len), at;
	struct module_text *m;
	size_t path;

	*ret = SYMBOLS_NONE;
	if (map_get(&l->by_line, key, &at)) {
		*ret = (uint32_t)at;
		return 0;
	}
	if (grow((void **)&l->modules, &l->module_cap, l->module_count + 1, sizeof(*l->modules)) <
	    0)
		return -ENOMEM;
	m = &l->modules[l->module_count];
	*m = (struct module_text){.line = strndup(line, len),
				  .m = {.kind = SYMBOLS_FILE, .fd = -1}};
	if (!m->line)
		return -ENOMEM;
	path = build_id_of(m->line, &m->m);
	if (!path || m->line[path] != '/') {
		free(m->line);
		return 0;
	}
	m->m.path = m->line + path;
	if (map_set(&l->by_line, key, l->module_count) < 0) {
		free(m->line);
		return -ENOMEM;
	}
	*ret = (uint32_t)l->module_count++;
	return 0;
}

/* The module with a stack's `number`: its line is "number BUILD-ID PATH". */
static int module_of_stack(struct look_up *l, struct bytes modules, uint64_t number, uint32_t *ret)
{
	const char *at = (const char *)modules.data, *end = at + modules.len;

	*ret = SYMBOLS_NONE;
	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at)), *p = at;
		uint64_t n = 0;

		line_end = line_end ? line_end : end;
		for (; p < line_end && *p >= '0' && *p <= '9' && n <= UINT32_MAX; p++)
			n = n * 10 + (uint64_t)(*p - '0');
		if (p > at && p < line_end && *p == ' ' && n == number)
			return module_number(l, p + 1, (size_t)(line_end - p - 1), ret);
		at = line_end + 1;
	}
	return 0;
}

/* "NUMBER+0xPLACE"; anything else is a frame without a module. */
static int look_up_frame(struct look_up *l, struct bytes modules, const char *line, size_t len)
{
	struct symbols_frame f = {.module = SYMBOLS_NONE};
	char text[64], *end;
	int r = 0;

	if (len < sizeof(text) && len && line[0] >= '0' && line[0] <= '9') {
		uint64_t number;

		memcpy(text, line, len);
		text[len] = '\0';
		number = strtoull(text, &end, 10);
		if (*end == '+') {
			f.at = strtoull(end + 1, NULL, 16);
			r = module_of_stack(l, modules, number, &f.module);
		}
	}
	if (r < 0)
		return r;
	return array_add(l->frames, l->frame_count, l->frame_cap, f);
}

/* The frames of a stack, in the order of its text: outermost first. */
static int look_up_frames(struct look_up *l, const struct symbols_text *t)
{
	const char *at = (const char *)t->frames.data, *end = at + t->frames.len;
	int r = 0;

	while (r >= 0 && at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));

		line_end = line_end ? line_end : end;
		r = look_up_frame(l, t->modules, at, (size_t)(line_end - at));
		at = line_end + 1;
	}
	return r;
}

/* ---- names ---- */

static struct bytes next_name(struct bytes *rest)
{
	const uint8_t *end = rest->len ? memchr(rest->data, ';', rest->len) : NULL;
	size_t len = end ? (size_t)(end - rest->data) : rest->len;
	struct bytes name = {rest->data, len};

	*rest = (struct bytes){rest->data + len + (end != NULL), rest->len - len - (end != NULL)};
	return name;
}

/* Writes each function's new name, or the recorded one if there is no better: both texts contain the same frames. */
static int look_up_take(void *arg, size_t stack, const struct symbols_names *n)
{
	struct look_up *l = arg;
	struct bytes recorded = l->texts[stack].names, found = n->names;
	int r = 0;

	buf_clear(&l->names);
	while (r >= 0 && found.len) {
		struct bytes was = next_name(&recorded), is = next_name(&found), name = is;

		if (was.len && (!is.len || is.data[0] == '?'))
			name = was;
		r = buf_append(&l->names, name.data, name.len);
		if (r >= 0 && found.len)
			r = buf_append(&l->names, ";", 1);
	}
	return r < 0 ? r : l->take(l->arg, stack, buf_bytes(&l->names));
}

int symbols_look_up(const struct symbols_text *texts, size_t count, int64_t limit_ns,
		    int (*take)(void *arg, size_t stack, struct bytes names), void *arg)
{
	_cleanup_(look_up_free) struct look_up l = {.texts = texts, .take = take, .arg = arg};
	_cleanup_free_ struct symbols_stack *stacks = calloc(count + 1, sizeof(*stacks));
	_cleanup_free_ struct symbols_module *modules = NULL;
	int r = stacks ? 0 : -ENOMEM;
	size_t from = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		r = look_up_frames(&l, &texts[i]);
		stacks[i].count = (uint32_t)(l.frame_count - from);
		from = l.frame_count;
	}
	if (r < 0)
		return r;
	modules = calloc(l.module_count + 1, sizeof(*modules));
	if (!modules)
		return -ENOMEM;
	for (size_t i = 0; i < l.module_count; i++)
		modules[i] = l.modules[i].m;
	from = 0;
	for (size_t i = 0; i < count; i++) {
		stacks[i].frames = l.frames + from;
		stacks[i].named = true;
		from += stacks[i].count;
	}
	return symbols_resolve(&(struct symbols_request){.modules = modules,
							 .stacks = stacks,
							 .module_count = l.module_count,
							 .stack_count = count,
							 .limit_ns = limit_ns,
							 .lines = true},
			       look_up_take, &l);
}
