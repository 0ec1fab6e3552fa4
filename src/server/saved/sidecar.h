/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar.h: what users of the pages keep beside the trace, as JSON files that can be sent to others:
 * TRACE.KIND/NAME.json. Names and contents come from anyone who can write there or has the token.
 */
#pragma once

#include "server/internal.h"

#define BESIDE_NAME_MAX	 64u
#define BESIDE_COUNT_MAX 500u /* files of one kind: each is read for a list */

struct sidecar_kind {
	const char *folder; /* TRACE.folder, e.g. "dashboards" */
	const char *one;    /* what a file holds, for messages: "dashboard" */
	size_t size_max;    /* bytes of a file */
};

/* Letters, digits, - and _, at most 64: nothing that leads anywhere else. */
bool sidecar_is_name(const char *name);
/* "NAME.json" -> NAME; false where that is none. */
bool sidecar_name_of_file(const char *file, char name[static BESIDE_NAME_MAX + 1]);

/* The folder (of the first trace that is served), never through a link; a descriptor, or -errno. */
int sidecar_open(const struct server *s, const struct sidecar_kind *kind);
/* Could something be kept there? */
bool sidecar_is_writable(const struct server *s, const struct sidecar_kind *kind);
/* What is kept there, by name; what cannot be read is left out. */
void sidecar_each(const struct server *s, const struct sidecar_kind *kind,
		  void (*take)(void *arg, const char *name, const struct buf *json), void *arg);
/* One file: -ENOENT where there is none, or something else of that name; -E2BIG above the limit. */
int sidecar_read(int folder, const struct sidecar_kind *kind, const char *name, struct buf *to);
/* Whole or not at all: a new file takes the place of the old one. -EDQUOT where there are too many. */
int sidecar_save(const struct server *s, const struct sidecar_kind *kind, const char *name,
		 const struct buf *json);

/* ---- answers of the routes ---- */

/* {"error": {"message"}} */
void sidecar_fail(struct http_request *r, unsigned int status, const char *fmt, ...) _printf_(3, 4);
/* The answer to what sidecar_save() gave: 204, or why not. */
void sidecar_answer_save(struct http_request *r, const struct sidecar_kind *kind, int result);
/* Removes one and answers. */
void sidecar_answer_remove(const struct server *s, struct http_request *r,
			   const struct sidecar_kind *kind, const char *name);
