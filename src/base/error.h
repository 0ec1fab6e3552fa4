/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h: how errors are passed up. Functions return 0 (or a count) or a negative errno. The function that
 * detects the failure fills `struct error` with a sentence that states what was wrong, with what value, and
 * what to do about it. Only cli/ prints it.
 */
#pragma once

#include "base/util.h"

#define ERROR_MESSAGE_MAX \
	1024 /* one line; a path of 4,095 bytes is cut in the middle by the caller */

struct error {
	int code; /* negative errno, 0 when nothing happened */
	char message[ERROR_MESSAGE_MAX];
};

/* Fills *err (may be NULL) unless it already holds an error, and returns `code` (negative). */
int error_set(struct error *err, int code, const char *fmt, ...) _printf_(3, 4);

/* Same, with ": " and strerror(-code) added. */
int error_errno(struct error *err, int code, const char *fmt, ...) _printf_(3, 4);

/* Puts "prefix: " before the message, for a caller that knows the place. Returns err->code. */
int error_prefix(struct error *err, const char *fmt, ...) _printf_(2, 3);
