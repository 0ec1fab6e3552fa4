/* SPDX-License-Identifier: Apache-2.0 */
/* call_path.c: paths as programs give them, and the files that they lead to. */
#include <errno.h>
#include <string.h>

#include "cli/trace/call_memory.h"
#include "schema/ops.h"

/* Removes the last name of a path; "/" has none. */
static void path_up(struct buf *path)
{
	while (path->len && path->data[path->len - 1] != '/')
		path->len--;
	path->len -= path->len > 0;
}

/* Appends the names of a path to an absolute one, dropping "." and resolving ".." textually. */
static int path_add(struct buf *path, struct bytes names)
{
	int r = 0;

	while (names.len && r == 0) {
		const uint8_t *end = memchr(names.data, '/', names.len);
		size_t len = end ? (size_t)(end - names.data) : names.len;

		if (len == 2 && !memcmp(names.data, "..", 2))
			path_up(path);
		else if (len && !(len == 1 && *names.data == '.'))
			r = buf_append(path, "/", 1) < 0 ? -ENOMEM
							 : buf_append(path, names.data, len);
		names.data += MIN(len + 1, names.len);
		names.len -= MIN(len + 1, names.len);
	}
	return r;
}

/* True if a path, relative to this folder, is the file's own. */
static bool is_own_path(struct bytes given, struct bytes folder, struct bytes own)
{
	_cleanup_buf_ struct buf path = {0};
	bool absolute = given.len && *given.data == '/';

	if (!absolute && !folder.len) /* the folder is unknown: compare the end only */
		return own.len >= given.len &&
		       !memcmp(own.data + own.len - given.len, given.data, given.len);
	if ((!absolute && path_add(&path, folder) < 0) || path_add(&path, given) < 0)
		return true;
	if (!path.len)
		return own.len == 1;
	return path.len == own.len && !memcmp(path.data, own.data, own.len);
}

static void put_led_to(struct call_writer *w, struct bytes given, int64_t file_id)
{
	struct dims_file room;
	const struct dims_file *f = w->dims ? dims_file(w->dims, file_id, &room) : NULL;
	_cleanup_buf_ struct buf folder = {0};
	bool opens = w->def->ret == RET_FD || !strcmp(w->def->name, "execve");
	struct bytes own;

	if (!f || f->name_only || f->family >= 0 || !opens || call_value(w, OP_RET, -1) < 0 ||
	    call_folder(w, file_id, &folder) < 0)
		return;
	own = dims_file_version_name(w->dims, file_id);
	if (!own.len || *own.data != '/' ||
	    is_own_path(given, (struct bytes){folder.data, folder.len}, own))
		return;
	call_put(w, " -> \"");
	call_note(w, call_text_escape(w->to, own, "\""));
	call_put(w, "\"");
}

bool call_put_path_given(struct call_writer *w, unsigned int i, int64_t file_id)
{
	struct bytes given = call_memory(w, call_memory_address(w, i));
	const uint8_t *end = given.data ? memchr(given.data, 0, given.len) : NULL;

	if (!end || w->style->brief)
		return false;
	given.len = (size_t)(end - given.data);
	call_put(w, "\"");
	call_note(w, call_text_escape(w->to, given, "\""));
	call_put(w, "\"");
	put_led_to(w, given, file_id);
	return true;
}
