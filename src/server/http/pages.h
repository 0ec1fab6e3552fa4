/* SPDX-License-Identifier: Apache-2.0 */
/* pages.h: files embedded in the program: tools/embed generates the table at build time. */
#pragma once

#include <stddef.h>

struct page_file {
	const char *path; /* "/index.html" */
	const char *type;
	const unsigned char *data; /* gzip-compressed */
	size_t len;
};

/* Sorted by path; ends with {0}. Empty if the pages were not built. */
extern const struct page_file embedded_pages[];
/* The file of a path; NULL: there is none. */
const struct page_file *pages_find(const char *path);
/* The API contract, docs/openapi.yaml. */
extern const struct page_file embedded_openapi;
