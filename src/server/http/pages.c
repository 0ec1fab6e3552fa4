// SPDX-License-Identifier: Apache-2.0
/* pages.c: the static pages, and the API contract (openapi.yaml). */
#include "server/http/pages.h"

#include <string.h>

#include "server/internal.h"

const struct page_file *pages_find(const char *path)
{
	for (const struct page_file *f = embedded_pages; f->path; f++) {
		if (strcmp(f->path, path) == 0)
			return f;
	}
	return NULL;
}

bool server_has_pages(void)
{
	return pages_find("/index.html") != NULL;
}

/* Requests without a route: a file of the pages; addresses without a file name are routes within the pages. */
void pages_get(void *arg, struct http_request *r)
{
	const char *path = http_path(r), *method = http_method(r);
	const struct page_file *f = pages_find(path);

	if (strncmp(path, "/api", 4) == 0) {
		http_reply_text(r, 404, "application/json",
				"{\"error\":{\"message\":\"not found; /api/v1/openapi.yaml lists "
				"all routes\"}}");
		return;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		http_reply_text(r, 405, "text/plain; charset=utf-8",
				"only GET is supported here\n");
		return;
	}
	if (!f && !strchr(path, '.'))
		f = pages_find("/index.html");
	if (!f) {
		http_reply_text(r, 404, "text/plain; charset=utf-8",
				server_has_pages()
					? "no such file\n"
					: "this weir was built without its pages: run `make pages` "
					  "and `make` in its source folder\n");
		return;
	}
	http_reply_static(r, f->type, f->data, f->len, true);
}

void openapi_get(void *arg, struct http_request *r)
{
	http_reply_static(r, embedded_openapi.type, embedded_openapi.data, embedded_openapi.len,
			  true);
}
