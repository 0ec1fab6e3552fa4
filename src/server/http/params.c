// SPDX-License-Identifier: Apache-2.0
/* params.c: refuses parameters that a route does not know, so that a misspelt one is not ignored. */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "server/internal.h"
#include "server/http/js.h"

#define NAME_SHOWN 40 /* bytes of a name quoted in an error */

struct search {
	const char *known;   /* space-separated names */
	const char *unknown; /* the first unknown name */
};

/* Calls `take` with each name until it returns true. Returns whether it did. */
static bool each_known(const char *known, bool (*take)(void *arg, const char *name), void *arg)
{
	char name[NEAREST_WORD_MAX];

	while (*known) {
		size_t len = strcspn(known, " ");

		snprintf(name, sizeof(name), "%.*s", (int)len, known);
		if (take(arg, name))
			return true;
		known += len + (known[len] == ' ');
	}
	return false;
}

static bool is_it(void *arg, const char *name)
{
	return strcmp(arg, name) == 0;
}

static bool params_look_at(void *arg, const char *name, const char *value _unused_)
{
	struct search *s = arg;

	if (!s->unknown && *name && !each_known(s->known, is_it, (void *)name))
		s->unknown = name;
	return s->unknown;
}

/* The nearest of the known names, and its distance. */
struct guess {
	const char *word;
	unsigned int distance;
	char best[NEAREST_WORD_MAX];
};

static bool guess(void *arg, const char *name)
{
	struct guess *g = arg;
	struct nearest n = {.word = g->word};

	nearest_offer(&n, name);
	if (n.best && (!*g->best || n.distance < g->distance)) {
		g->distance = n.distance;
		snprintf(g->best, sizeof(g->best), "%s", name);
	}
	return false;
}

/* Other tools use `where` and `query` for what is `filter` and `q` here. */
static const char *other_name(const char *name)
{
	static const char *const others[][2] = {
		{"where", "filter"}, {"query", "q"}, {"start", "from"}, {"end", "to"}};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strcmp(name, others[i][0]) == 0)
			return others[i][1];
	}
	return NULL;
}

static void params_refuse(struct http_request *r, const struct search *s)
{
	struct guess g = {.word = s->unknown};
	const char *other = other_name(s->unknown);
	_cleanup_buf_ struct buf text = {0}, out = {0};
	struct js j = {.to = &out};

	if (other && each_known(s->known, is_it, (void *)other))
		snprintf(g.best, sizeof(g.best), "%s", other);
	else
		each_known(s->known, guess, &g);
	buf_printf(&text, "%.*s=: unknown parameter", NAME_SHOWN, s->unknown);
	if (*g.best)
		buf_printf(&text, "; did you mean %s=?", g.best);
	else if (*s->known)
		buf_printf(&text, ", but %s", s->known);
	js_open(&j, '{');
	js_key(&j, "error");
	js_open(&j, '{');
	js_key_string(&j, "message", buf_str(&text));
	js_close(&j, '}');
	js_close(&j, '}');
	http_reply(r, 400, "application/json", &out);
}

bool params_admit(struct http_request *r, const struct http_route *route)
{
	struct search s = {.known = route && route->params ? route->params : ""};

	if (!route || !route->params)
		return true;
	http_each_param(r, params_look_at, &s);
	if (s.unknown)
		params_refuse(r, &s);
	return !s.unknown;
}
