/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h: JSON documents as they are written, piece by piece, into a struct buf. Failures to get
 * memory stay in `error`, so that only the end checks.
 *
 *   struct json j = {.to = &out};
 *   json_open(&j, '{');
 *   json_key(&j, "calls");
 *   json_int(&j, 17);
 *   json_close(&j, '}');
 *   if (j.error < 0) ...
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"

struct json {
	struct buf *to;
	bool comma; /* something stands before, in the same brackets */
	int error;
};

void json_open(struct json *j, char bracket);
void json_close(struct json *j, char bracket);
void json_key(struct json *j, const char *name);
void json_int(struct json *j, int64_t v);
void json_uint(struct json *j, uint64_t v);
/* The shortest text that reads back as the same number; null where it is not finite. */
void json_float(struct json *j, double v);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
/* Text of any kind: what is no UTF-8 is told as \xHH first, as `weir query` does. */
void json_bytes(struct json *j, const void *data, size_t len);
void json_string(struct json *j, const char *text);
/* JSON that is there already. */
void json_raw(struct json *j, const void *data, size_t len);

static inline void json_key_int(struct json *j, const char *name, int64_t v)
{
	json_key(j, name);
	json_int(j, v);
}

static inline void json_key_uint(struct json *j, const char *name, uint64_t v)
{
	json_key(j, name);
	json_uint(j, v);
}

static inline void json_key_string(struct json *j, const char *name, const char *text)
{
	json_key(j, name);
	json_string(j, text);
}

static inline void json_key_bytes(struct json *j, const char *name, struct bytes text)
{
	json_key(j, name);
	if (text.data)
		json_bytes(j, text.data, text.len);
	else
		json_null(j);
}
