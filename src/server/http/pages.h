/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h: files that are part of the program: tools/embed makes the table while weir is built. */
#pragma once

#include <stddef.h>

struct page_file {
	const char *path; /* "/index.html" */
	const char *type;
	const unsigned char *data; /* gzip */
	size_t len;
};

/* By path; ends with {0}. Empty where the pages were not built. */
extern const struct page_file embedded_pages[];
/* The contract, docs/openapi.yaml. */
extern const struct page_file embedded_openapi;
