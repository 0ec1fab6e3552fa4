/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.c: glob_match() walks the text once and keeps the set of positions in the pattern that match so far, so that no
 * pattern takes more than pattern x text steps (backtracking would be exponential for "*a*a*a*a*b").
 */
#include "schema/select.h"

#include <string.h>

struct places {
	uint16_t list[GLOB_MAX + 1];
	size_t count;
};

static_assert(GLOB_MAX <= UINT16_MAX, "places are 16 bits");

struct glob {
	const char *pattern;
	size_t len;
	uint32_t seen[GLOB_MAX + 1]; /* the step that last added the position */
	struct places a, b;
};

/* "[a-z]", "[!a]", "[^a]", "[]a]": whether c is in it, and its length; 0: not a set but a plain bracket. */
static size_t match_set(const char *p, size_t left, char c, bool *ret)
{
	bool negated = left > 1 && (p[1] == '!' || p[1] == '^');
	size_t first = negated ? 2 : 1, i = first;
	bool found = false;

	assert(left > 0 && *p == '[');
	while (i < left && (p[i] != ']' || i == first)) {
		uint8_t low, high;

		if (p[i] == '\\' && i + 1 < left)
			i++;
		low = high = (uint8_t)p[i];
		if (i + 2 < left && p[i + 1] == '-' && p[i + 2] != ']') {
			high = (uint8_t)p[i + 2];
			i += 2;
		}
		found |= (uint8_t)c >= low && (uint8_t)c <= high;
		i++;
	}
	if (i >= left)
		return 0;
	*ret = found != negated && c != '/';
	return i + 1;
}

/*
 * Adds a position; after a star also the next one, since a star may match nothing. `stays`: the star at this position
 * matched a character.
 */
static void add_place(struct glob *g, struct places *to, size_t at, bool stays, uint32_t step)
{
	while (g->seen[at] != step) {
		bool star = at < g->len && g->pattern[at] == '*';
		bool stars = star && at + 1 < g->len && g->pattern[at + 1] == '*';
		size_t after = at + 1 + stars;

		g->seen[at] = step;
		assert(to->count <= g->len); /* each position at most once per step */
		to->list[to->count++] = (uint16_t)at;
		if (!star)
			return;
		/* between slashes, two stars also match no folder at all, but not a part of a name */
		if (stars && !stays && (!at || g->pattern[at - 1] == '/') && after < g->len &&
		    g->pattern[after] == '/' && g->seen[after + 1] != step)
			add_place(g, to, after + 1, false, step);
		at = after;
		stays = false;
	}
}

static void step_place(struct glob *g, struct places *to, size_t at, char c, uint32_t step)
{
	const char *p = g->pattern + at;
	size_t left = g->len - at, used = 1;
	bool fits;

	if (*p == '*') {
		bool stars = left > 1 && p[1] == '*';

		if (stars || c != '/')
			add_place(g, to, at, true, step);
		return;
	}
	if (*p == '[') {
		used = match_set(p, left, c, &fits);
		if (!used) {
			used = 1;
			fits = c == '[';
		}
	} else if (*p == '?') {
		fits = c != '/';
	} else if (*p == '\\' && left > 1) {
		used = 2;
		fits = c == p[1];
	} else {
		fits = c == *p;
	}
	if (fits)
		add_place(g, to, at + used, false, step);
}

bool glob_match(const char *glob, const char *text, size_t len)
{
	struct glob g;
	struct places *now = &g.a, *next = &g.b;

	g.pattern = glob;
	g.len = strlen(glob);
	while (g.len && glob[g.len - 1] == '/')
		g.len--;
	if (g.len > GLOB_MAX)
		return false;
	assert(len < UINT32_MAX - 2); /* steps are numbered */
	memset(g.seen, 0, (g.len + 1) * sizeof(g.seen[0]));
	now->count = 0;
	add_place(&g, now, 0, false, 1);
	for (size_t i = 0; i < len && now->count; i++) {
		struct places *spare = now;

		next->count = 0;
		for (size_t k = 0; k < now->count; k++) {
			if (now->list[k] < g.len)
				step_place(&g, next, now->list[k], text[i], (uint32_t)i + 2);
			else if (text[i] == '/')
				return true; /* the whole pattern matches a parent folder */
		}
		now = next;
		next = spare;
	}
	for (size_t k = 0; k < now->count; k++) {
		if (now->list[k] == g.len)
			return true;
	}
	return false;
}
