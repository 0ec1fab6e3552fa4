/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_files.c: -ff: the lines of each thread in a separate file. There may be more threads than files that can be
 * open at once: a few stay open, the others are reopened for appending.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cli/trace/trace.h"
#include "privilege/privilege.h"

#define OPEN_MAX_FILES 64 /* well below any limit on open files */
#define PATH_TEXT_MAX  4096

struct trace_files {
	const char *prefix;
	struct map begun; /* threads that have a file */
	struct {
		int64_t tid;
		FILE *file; /* NULL: none */
	} open[OPEN_MAX_FILES];
	struct error error; /* the first one */
};

int trace_files_new(struct trace_files **ret, const char *prefix)
{
	struct trace_files *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->prefix = prefix;
	*ret = f;
	return 0;
}

static int fail_file(struct trace_files *f, int code, const char *path)
{
	return f->error.code ? f->error.code : error_errno(&f->error, code, "-o %s", path);
}

static int fail_slot(struct trace_files *f, size_t slot, int code)
{
	char path[PATH_TEXT_MAX];

	snprintf(path, sizeof(path), "%s.%lld", f->prefix, (long long)f->open[slot].tid);
	return fail_file(f, code, path);
}

static int close_slot(struct trace_files *f, size_t slot)
{
	FILE *file = f->open[slot].file;

	f->open[slot].file = NULL;
	return !file || fclose(file) == 0 ? 0 : fail_slot(f, slot, -errno);
}

static int open_slot(struct trace_files *f, size_t slot, int64_t tid)
{
	_privileged_(privilege_files());
	bool begun = map_get(&f->begun, (uint64_t)tid, NULL);
	char path[PATH_TEXT_MAX];
	int r = close_slot(f, slot);

	if (r < 0)
		return r;
	if (snprintf(path, sizeof(path), "%s.%lld", f->prefix, (long long)tid) >= (int)sizeof(path))
		return fail_file(f, -ENAMETOOLONG, f->prefix);
	f->open[slot].tid = tid;
	f->open[slot].file = fopen(path, begun ? "ae" : "we");
	if (!f->open[slot].file)
		return fail_file(f, -errno, path);
	r = map_set(&f->begun, (uint64_t)tid, 1);
	return r < 0 ? fail_file(f, r, path) : 0;
}

int trace_files_line(struct trace_files *f, int64_t tid, struct bytes line)
{
	size_t slot = (size_t)tid % OPEN_MAX_FILES;
	int r = 0;

	if (!f->open[slot].file || f->open[slot].tid != tid)
		r = open_slot(f, slot, tid);
	if (r < 0 || fwrite(line.data, 1, line.len, f->open[slot].file) == line.len)
		return r;
	return fail_slot(f, slot, -errno);
}

int trace_files_flush(struct trace_files *f)
{
	int r = 0;

	for (size_t slot = 0; f && slot < OPEN_MAX_FILES; slot++) {
		if (f->open[slot].file && fflush(f->open[slot].file) && r == 0)
			r = fail_slot(f, slot, -errno);
	}
	return r;
}

int trace_files_close(struct trace_files *f, struct error *err)
{
	for (size_t slot = 0; f && slot < OPEN_MAX_FILES; slot++)
		close_slot(f, slot);
	if (f && f->error.code)
		*err = f->error;
	return f ? f->error.code : 0;
}

void trace_files_free(struct trace_files *f)
{
	struct error ignored = {0};

	if (!f)
		return;
	trace_files_close(f, &ignored);
	map_free(&f->begun);
	free(f);
}
