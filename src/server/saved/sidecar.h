/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sidecar.h: what users of the pages save next to the trace, as JSON files that can be shared: TRACE.KIND/NAME.json.
 * Names and contents are untrusted: they come from anyone who can write there or has the token.
 */
#pragma once

#include "server/internal.h"

#define BESIDE_NAME_MAX	 64u
#define BESIDE_COUNT_MAX 500u /* files of one kind; listing reads each of them */

struct sidecar_kind {
	const char *folder; /* TRACE.folder, e.g. "dashboards" */
	const char *one;    /* what a file contains, for messages: "dashboard" */
	size_t size_max;    /* bytes of a file */
};

/* Letters, digits, - and _, at most 64: it cannot lead to another folder. */
bool sidecar_is_name(const char *name);
/* "NAME.json" -> NAME; false if the file is not named like that. */
bool sidecar_name_of_file(const char *file, char name[static BESIDE_NAME_MAX + 1]);

/* Opens the folder (of the first served trace), never through a symbolic link. A descriptor, or -errno. */
int sidecar_open(const struct server *s, const struct sidecar_kind *kind);
/* True if files can be saved there. */
bool sidecar_is_writable(const struct server *s, const struct sidecar_kind *kind);
/* Passes each file to `take`, sorted by name; unreadable ones are left out. */
void sidecar_each(const struct server *s, const struct sidecar_kind *kind,
		  void (*take)(void *arg, const char *name, const struct buf *json), void *arg);
/* Reads one file. -ENOENT if there is no such regular file; -E2BIG above the limit. */
int sidecar_read(int folder, const struct sidecar_kind *kind, const char *name, struct buf *to);
/* Saves atomically: a new file replaces the old one. -EDQUOT if there are too many. */
int sidecar_save(const struct server *s, const struct sidecar_kind *kind, const char *name,
		 const struct buf *json);
int sidecar_remove(const struct server *s, const struct sidecar_kind *kind, const char *name);

/* ---- answers of the routes ---- */

/* {"error": {"message"}} */
void sidecar_fail(struct http_request *r, unsigned int status, const char *fmt, ...) _printf_(3, 4);
/* Answers with the result of sidecar_save(): 204, or the error. */
void sidecar_answer_save(struct http_request *r, const struct sidecar_kind *kind, int result);
/* Removes one and answers. */
void sidecar_answer_remove(const struct server *s, struct http_request *r,
			   const struct sidecar_kind *kind, const char *name);
