/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void vset(struct error *err, int code, const char *fmt, va_list ap)
{
	assert(code < 0);
	err->code = code;
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err || err->code)
		return code;
	va_start(ap, fmt);
	vset(err, code, fmt, ap);
	va_end(ap);
	return code;
}

int error_errno(struct error *err, int code, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (!err || err->code)
		return code;
	va_start(ap, fmt);
	vset(err, code, fmt, ap);
	va_end(ap);
	n = strlen(err->message);
	snprintf(err->message + n, sizeof(err->message) - n, ": %s", strerror(-code));
	return code;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
	char old[ERROR_MESSAGE_MAX];
	va_list ap;
	size_t n;

	if (!err || !err->code)
		return err ? err->code : 0;
	memcpy(old, err->message, sizeof(old));
	va_start(ap, fmt);
	vset(err, err->code, fmt, ap);
	va_end(ap);
	n = strlen(err->message);
	snprintf(err->message + n, sizeof(err->message) - n, ": %s", old);
	return err->code;
}
