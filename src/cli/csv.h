/* SPDX-License-Identifier: Apache-2.0 */
/* csv.h: comma-separated values as RFC 4180 has them, with plain line ends. */
#pragma once

#include <stdio.h>

/* A value; in quotes where it must be, as an empty text, so that it is told from none. */
void csv_put(FILE *out, const char *text, size_t len);
