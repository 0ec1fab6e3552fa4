// SPDX-License-Identifier: Apache-2.0
/* made_aside.c: made tables of traces that cannot be written, or of several: in a nameless file, for one reader. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/file/read/block_scan.h"
#include "store/file/write/file.h"
#include "store/made/made.h"

static_assert(TRACE_ASIDE >= STORE_TRACES_MAX, "no trace has the number");

/* Opens the file just created. It uses the ids that the store returns, which are those of the first recording. */
static int aside_attach(struct store *s, const char *path, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ struct trace *t = calloc(1, sizeof(*t));
	struct stat st;
	int r;

	if (!t)
		return error_errno(err, -ENOMEM, "cannot open %s", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, -errno, "cannot open %s", path);
	r = reader_open_file(t, TRACE_ASIDE, path, fd, &st, err);
	if (r < 0)
		return r;
	s->made.aside = TAKE_PTR(t);
	return 0;
}

int store_made_aside(struct store *s, struct store_writer **ret, struct error *err)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	const char *folder = secure_getenv("TMPDIR");
	_cleanup_free_ char *base = NULL, *path = NULL;
	int r;

	*ret = s->made.writer;
	if (*ret)
		return 0;
	if (asprintf(&base, "%s/weir-XXXXXX", folder && *folder ? folder : "/tmp") < 0)
		return error_errno(err, -ENOMEM, "cannot store tables computed from the trace");
	if (!mkdtemp(base))
		return error_errno(err, -errno,
				   "cannot create a temporary folder in %.500s (TMPDIR)",
				   folder && *folder ? folder : "/tmp");
	if (asprintf(&path, "%s/made", base) < 0)
		r = error_errno(err, -ENOMEM, "cannot store tables computed from the trace");
	else
		r = store_create(&s->made.writer, path, &opt, err);
	if (r >= 0) {
		r = aside_attach(s, path, err);
		(void)!unlink(path);
	}
	(void)!rmdir(base);
	if (r < 0 && s->made.writer)
		(void)store_close(TAKE_PTR(s->made.writer), NULL);
	*ret = s->made.writer;
	return r;
}

/* True if the tables are in the trace by now. */
static bool aside_not_needed(const struct store *s, store_made_put_fn *put, void *arg)
{
	_cleanup_(store_abandonp) struct store_writer *w = NULL;
	struct error why = {0};

	if (store_trace_count(s) != 1 || store_is_open_ended(s) ||
	    access(store_trace_path(s, 0), W_OK) < 0 || store_reopen(&w, s, &why) < 0 ||
	    put(arg, w, 0, &why) < 0)
		return false;
	return store_close(TAKE_PTR(w), &why) >= 0;
}

int store_made_keep(struct store *s, bool keep, store_made_put_fn *put, void *arg,
		    struct error *err)
{
	struct store_writer *w;
	int r;

	if (keep && aside_not_needed(s, put, arg))
		return MIN((int)store_refresh(s, err), 0);
	r = store_made_aside(s, &w, err);
	if (r >= 0)
		r = put(arg, w, store_recorded(s), err);
	if (r >= 0)
		r = store_flush(w, true, err);
	if (r >= 0)
		r = (int)store_refresh(s, err);
	return MIN(r, 0);
}

struct table_making {
	struct store_making what;
	bool partial;
	store_made_rows_fn *rows;
	void *arg;
};

static int made_put_table(void *arg, struct store_writer *w, uint64_t covered, struct error *err)
{
	struct table_making *t = arg;
	int r;

	t->what.covered = covered;
	r = store_made_begin(w, &t->what, err);
	if (r < 0)
		return r;
	r = t->rows(t->arg, w, err);
	return r < 0 ? r : store_made_end(w, t->partial, err);
}

int store_made_table(struct store *s, bool keep, const struct store_making *what, bool partial,
		     const char *inside, store_made_rows_fn *rows, void *arg, struct error *err)
{
	struct table_making t = {*what, partial, rows, arg};
	int r = store_made_keep(s, keep, made_put_table, &t, err);

	for (size_t i = 0; inside && i < store_made_count(s) && r >= 0; i++) {
		const struct store_made *m = store_made(s, i);

		if (m && m->table == what->table && m->trace == TRACE_ASIDE)
			return error_set(
				err, -EROFS,
				"--keep: the %s cannot be stored: the trace is still being "
				"recorded or not writable, or there are several traces",
				inside);
	}
	return r;
}

const struct store_made *store_made_current(const struct store *s, enum table_id table)
{
	for (size_t i = 0; i < store_made_count(s); i++) {
		const struct store_made *m = store_made(s, i);

		/* a table of one of several traces covers that one alone */
		if (m && m->table == table && !m->partial &&
		    (m->trace == TRACE_ASIDE || store_trace_count(s) == 1) &&
		    !store_made_is_stale(s, m))
			return m;
	}
	return NULL;
}
