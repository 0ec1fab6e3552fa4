// SPDX-License-Identifier: Apache-2.0
/* params.c: refuses parameters that a route does not know, so that a misspelt one is not ignored. */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "server/internal.h"
#include "server/http/js.h"

#define NAME_SHOWN 40 /* bytes of a name quoted in an error */
#define NAMES_MAX  16
#define NAMES_SIZE 256 /* of a route's list of names */

struct search {
	char *known[NAMES_MAX + 1]; /* ends with NULL */
	const char *unknown;	    /* the first unknown name */
};

static bool params_known(const struct search *s, const char *name)
{
	for (size_t i = 0; s->known[i]; i++) {
		if (strcmp(s->known[i], name) == 0)
			return true;
	}
	return false;
}

static bool params_look_at(void *arg, const char *name, const char *value _unused_)
{
	struct search *s = arg;

	if (*name && !params_known(s, name))
		s->unknown = name;
	return s->unknown;
}

/* The nearest of the known names; NULL: none is near. */
static const char *params_guess(const struct search *s)
{
	struct nearest n = {.word = s->unknown};

	for (size_t i = 0; s->known[i]; i++)
		nearest_offer(&n, s->known[i]);
	return n.best;
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

static void params_refuse(struct http_request *r, const struct search *s, const char *all)
{
	const char *other = other_name(s->unknown);
	const char *best = other && params_known(s, other) ? other : params_guess(s);
	_cleanup_buf_ struct buf text = {0}, out = {0};
	struct js j = {.to = &out};

	buf_printf(&text, "%.*s=: unknown parameter", NAME_SHOWN, s->unknown);
	if (best)
		buf_printf(&text, "; did you mean %s=?", best);
	else if (*all)
		buf_printf(&text, ", but %s", all);
	js_error(&j, buf_str(&text));
	http_reply(r, 400, "application/json", &out);
}

bool params_admit(struct http_request *r, const struct http_route *route)
{
	char names[NAMES_SIZE], *rest;
	struct search s = {0};

	if (!route || !route->params)
		return true;
	assert(strlen(route->params) < sizeof(names));
	snprintf(names, sizeof(names), "%s", route->params);
	rest = *names ? names : NULL;
	for (size_t i = 0; i < NAMES_MAX && rest; i++)
		s.known[i] = strsep(&rest, " ");
	assert(!rest);
	http_each_param(r, params_look_at, &s);
	if (s.unknown)
		params_refuse(r, &s, route->params);
	return !s.unknown;
}
