// SPDX-License-Identifier: Apache-2.0
#include "server/http/js.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/json.h"
#include "engine/engine.h"

#define WHOLE_MAX 9007199254740992.0 /* 2^53: a double represents every whole number up to here */

static void js_put(struct js *j, const void *data, size_t len)
{
	if (j->error >= 0)
		j->error = buf_append(j->to, data, len);
}

/* Writes a comma if needed, and notes that the next value needs one. */
static void before(struct js *j)
{
	if (j->comma)
		js_put(j, ",", 1);
	j->comma = true;
}

void js_open(struct js *j, char bracket)
{
	before(j);
	js_put(j, &bracket, 1);
	j->comma = false;
}

void js_close(struct js *j, char bracket)
{
	js_put(j, &bracket, 1);
	j->comma = true;
}

void js_raw(struct js *j, const void *data, size_t len)
{
	before(j);
	js_put(j, data, len);
}

void js_int(struct js *j, int64_t v)
{
	char text[24];

	js_raw(j, text, (size_t)snprintf(text, sizeof(text), "%" PRId64, v));
}

void js_uint(struct js *j, uint64_t v)
{
	char text[24];

	js_raw(j, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, v));
}

void js_float(struct js *j, double v)
{
	struct text t;

	if (!isfinite(v)) {
		js_null(j);
		return;
	}
	if (v == rint(v) && fabs(v) < WHOLE_MAX) {
		js_int(j, (int64_t)v);
		return;
	}
	t = format_shortest(v, 15, false);
	js_raw(j, t.s, strlen(t.s));
}

void js_key_exact(struct js *j, const char *name, int64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, v);
	js_key_string(j, name, text);
}

void js_error(struct js *j, const char *message)
{
	js_open(j, '{');
	js_key_open(j, "error", '{');
	js_key_string(j, "message", message);
	js_close(j, '}');
	js_close(j, '}');
}

void js_bool(struct js *j, bool v)
{
	js_raw(j, v ? "true" : "false", v ? 4 : 5);
}

void js_null(struct js *j)
{
	js_raw(j, "null", 4);
}

/* Writes the characters of a string; escapes < and > too, so that text interpreted as HTML contains no tag. */
static void put_letters(struct js *j, const uint8_t *p, size_t len)
{
	if (j->error >= 0)
		j->error = json_escape(j->to, p, len, "<>&");
}

void js_bytes(struct js *j, const void *data, size_t len)
{
	_cleanup_buf_ struct buf clean = {0};

	before(j);
	js_put(j, "\"", 1);
	if (engine_escape(data, len, &clean) < 0)
		j->error = -ENOMEM;
	else if (clean.len)
		put_letters(j, clean.data, clean.len);
	js_put(j, "\"", 1);
}

void js_string(struct js *j, const char *text)
{
	js_bytes(j, text, strlen(text));
}

void js_key(struct js *j, const char *name)
{
	before(j);
	js_put(j, "\"", 1);
	put_letters(j, (const uint8_t *)name, strlen(name));
	js_put(j, "\":", 2);
	j->comma = false;
}
