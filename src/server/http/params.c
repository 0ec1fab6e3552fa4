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

/* Takes the first name from the list. False: the list is empty. */
static bool params_next(const char **known, char name[static NEAREST_WORD_MAX])
{
	size_t len = strcspn(*known, " ");

	snprintf(name, NEAREST_WORD_MAX, "%.*s", (int)len, *known);
	*known += len + ((*known)[len] == ' ');
	return len > 0;
}

static bool params_known(const char *known, const char *name)
{
	char one[NEAREST_WORD_MAX];

	while (params_next(&known, one)) {
		if (strcmp(one, name) == 0)
			return true;
	}
	return false;
}

static bool params_look_at(void *arg, const char *name, const char *value _unused_)
{
	struct search *s = arg;

	if (!s->unknown && *name && !params_known(s->known, name))
		s->unknown = name;
	return s->unknown;
}

/* The nearest of the known names, or "". */
static void params_guess(const struct search *s, char best[static NEAREST_WORD_MAX])
{
	struct nearest n = {.word = s->unknown};
	const char *known = s->known;
	char name[NEAREST_WORD_MAX];

	*best = '\0';
	while (params_next(&known, name)) {
		nearest_offer(&n, name);
		if (n.best != name)
			continue;
		snprintf(best, NEAREST_WORD_MAX, "%s", name);
		n.best = best;
	}
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
	char best[NEAREST_WORD_MAX];
	const char *other = other_name(s->unknown);
	_cleanup_buf_ struct buf text = {0}, out = {0};
	struct js j = {.to = &out};

	if (other && params_known(s->known, other))
		snprintf(best, sizeof(best), "%s", other);
	else
		params_guess(s, best);
	buf_printf(&text, "%.*s=: unknown parameter", NAME_SHOWN, s->unknown);
	if (*best)
		buf_printf(&text, "; did you mean %s=?", best);
	else if (*s->known)
		buf_printf(&text, ", but %s", s->known);
	js_error(&j, buf_str(&text));
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
