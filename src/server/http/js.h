/* SPDX-License-Identifier: Apache-2.0 */
/*
 * js.h: writes a JSON document piece by piece into a struct buf. A failure to allocate stays in
 * `error`, so that only the end needs a check.
 *
 *   struct js j = {.to = &out};
 *   js_open(&j, '{');
 *   js_key(&j, "calls");
 *   js_int(&j, 17);
 *   js_close(&j, '}');
 *   if (j.error < 0) ...
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"

struct js {
	struct buf *to;
	bool comma; /* a value precedes in the same brackets */
	int error;
};

void js_open(struct js *j, char bracket);
void js_close(struct js *j, char bracket);
void js_key(struct js *j, const char *name);
void js_int(struct js *j, int64_t v);
void js_uint(struct js *j, uint64_t v);
/* The shortest text that reads back as the same number; null if it is not finite. */
void js_float(struct js *j, double v);
void js_bool(struct js *j, bool v);
void js_null(struct js *j);
/* Any bytes as a string; bytes that are not UTF-8 are written as \xHH, as `weir query` does. */
void js_bytes(struct js *j, const void *data, size_t len);
void js_string(struct js *j, const char *text);
/* Text that is already JSON. */
void js_raw(struct js *j, const void *data, size_t len);

/* A member that is an object or an array, which js_close() ends. */
static inline void js_key_open(struct js *j, const char *name, char bracket)
{
	js_key(j, name);
	js_open(j, bracket);
}

static inline void js_key_bool(struct js *j, const char *name, bool v)
{
	js_key(j, name);
	js_bool(j, v);
}

static inline void js_key_float(struct js *j, const char *name, double v)
{
	js_key(j, name);
	js_float(j, v);
}

static inline void js_key_int(struct js *j, const char *name, int64_t v)
{
	js_key(j, name);
	js_int(j, v);
}

static inline void js_key_uint(struct js *j, const char *name, uint64_t v)
{
	js_key(j, name);
	js_uint(j, v);
}

static inline void js_key_string(struct js *j, const char *name, const char *text)
{
	js_key(j, name);
	js_string(j, text);
}

/* The number, or null if it is not known. */
static inline void js_key_known(struct js *j, const char *name, bool known, int64_t v)
{
	js_key(j, name);
	if (known)
		js_int(j, v);
	else
		js_null(j);
}

/* A number of 64 bits as a string, because a JSON number is exact only up to 2^53. */
void js_key_exact(struct js *j, const char *name, int64_t v);
/* The complete document {"error": {"message": ...}}. */
void js_error(struct js *j, const char *message);

static inline void js_key_bytes(struct js *j, const char *name, struct bytes text)
{
	js_key(j, name);
	if (text.data)
		js_bytes(j, text.data, text.len);
	else
		js_null(j);
}
