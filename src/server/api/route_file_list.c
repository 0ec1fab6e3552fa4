// SPDX-License-Identifier: Apache-2.0
/*
 * route_file_list.c: /files?find= or section=: searches files by a part of their name, one row per line of files
 * (names/file_lines.h).
 */
#include <errno.h>
#include <string.h>

#include "base/saturate.h"
#include "server/sums/catalog.h"
#include "server/sums/file_sums.h"
#include "server/sums/who.h"

#define LIST_ROWS 200u

/* Kinds of files, by the folder that holds each kind; the last is everything with a path. */
static const char *const sections[] = {
	[FOLDER_SOCKETS] = "sockets", [FOLDER_PIPES] = "pipes", [FOLDER_ANON] = "anon",
	[FOLDER_OTHERS] = "others",   [FOLDER_ROOT] = "paths",
};

struct file_list {
	struct question *q;
	const char *find;
	int section; /* -1: all */
	struct sums_file *files;
	size_t count;
	struct sums_file sums[ARRAY_SIZE(sections)]; /* over the files found; id: number of lines */
	struct map members;
};

static unsigned int file_list_section(const struct file_list *l, int64_t id)
{
	const struct server *s = l->q->server;
	uint32_t folder = catalog_folder(s->catalog, store_dims(s->store), id);

	return MIN(folder, (uint32_t)FOLDER_ROOT);
}

/* 1 if the line's name contains the text, 0 or negative. */
static int file_list_has(const struct file_list *l, int64_t line, struct buf *text)
{
	const struct server *s = l->q->server;
	const struct dims *d = store_dims(s->store);
	struct bytes name = dims_file_name(d, line);
	uint64_t several;
	int r = 0;

	if (map_get(&l->members, (uint64_t)line, &several)) {
		buf_clear(text);
		r = file_lines_name(s->lines, d, line, text);
		name = buf_bytes(text);
	}
	return r < 0 ? r : !*l->find || memmem(name.data, name.len, l->find, strlen(l->find));
}

static int file_list_select(struct file_list *l)
{
	_cleanup_buf_ struct buf text = {0};
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct sums_file f = l->files[i];
		unsigned int section;

		if (!f.calls)
			continue;
		r = file_list_has(l, f.id, &text);
		if (r < 0)
			return r;
		if (!r)
			continue;
		section = file_list_section(l, f.id);
		l->sums[section].id++;
		l->sums[section].calls = add_sat(l->sums[section].calls, f.calls);
		l->sums[section].bytes = add_sat(l->sums[section].bytes, f.bytes);
		l->sums[section].time = add_sat(l->sums[section].time, f.time);
		if (l->section < 0 || (unsigned int)l->section == section)
			l->files[n++] = f;
	}
	l->count = n;
	return 0;
}

static void file_list_put_row(const struct file_list *l, struct js *j, const struct sums_file *f,
			      const struct hist *h)
{
	const struct server *s = l->q->server;
	uint64_t several = 1;

	map_get(&l->members, (uint64_t)f->id, &several);
	js_open(j, '{');
	js_key_int(j, "id", f->id);
	names_put_line(s, j, "name", f->id);
	js_key_string(j, "section", sections[file_list_section(l, f->id)]);
	if (several > 1) {
		js_key_uint(j, "files", several);
		js_key_string(j, "kind", names_line_kind(s, f->id));
	}
	file_sums_put(j, f, h);
	js_close(j, '}');
}

static int file_list_put(struct file_list *l, const struct sums_filter *filter,
			 const struct sums *s)
{
	_cleanup_free_ struct hist *hists = calloc(LIST_ROWS, sizeof(*hists));
	struct js j = {.to = &l->q->out};
	size_t top = file_sums_top(l->files, l->count, LIST_ROWS);
	int r = hists ? file_sums_hists(l->q, filter, s, l->files, top, hists) : -ENOMEM;

	js_open(&j, '{');
	js_key_open(&j, "rows", '[');
	for (size_t i = 0; i < top && r >= 0; i++)
		file_list_put_row(l, &j, &l->files[i], &hists[i]);
	js_close(&j, ']');
	js_key_uint(&j, "others", l->count - top);
	js_key_open(&j, "sections", '{');
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		js_key_open(&j, sections[i], '{');
		js_key_int(&j, "files", l->sums[i].id);
		js_key_uint(&j, "calls", l->sums[i].calls);
		js_key_uint(&j, "bytes", l->sums[i].bytes);
		js_key_uint(&j, "time", l->sums[i].time);
		js_close(&j, '}');
	}
	js_close(&j, '}');
	js_close(&j, '}');
	for (size_t i = 0; hists && i < LIST_ROWS; i++)
		hist_free(&hists[i]);
	return r < 0 ? r : j.error;
}

static int file_list_take_section(struct file_list *l)
{
	const char *word = http_param(l->q->request, "section");

	l->section = -1;
	for (size_t i = 0; word && i < ARRAY_SIZE(sections); i++) {
		if (strcmp(word, sections[i]) == 0)
			l->section = (int)i;
	}
	if (word && *word && l->section < 0 && strcmp(word, "all") != 0)
		return question_error(
			l->q, -EINVAL,
			"section=%.40s: must be all, paths, sockets, pipes, anon or others", word);
	return 0;
}

int file_list_answer(struct question *q)
{
	const char *find = http_param(q->request, "find");
	struct file_list l = {.q = q, .find = find ? find : ""};
	const struct sums_want want = {.files = true};
	_cleanup_sums_filter_ struct sums_filter filter = {0};
	_cleanup_(sums_freep) struct sums *s = NULL;
	int r = file_list_take_section(&l);

	if (r >= 0)
		r = names_prepare(q->server);
	question_deadline(q,
			  QUESTION_NS); /* excludes the names: the next question will have them */
	if (r >= 0)
		r = question_filter(q, q->filter, &filter);
	if (r >= 0)
		r = sums_run(q, &filter, &want, &s);
	if (r >= 0)
		r = file_sums_merge(q->server, s, &l.files, &l.count);
	if (r >= 0)
		r = file_sums_lines(q->server, l.files, &l.count, &l.members);
	if (r >= 0)
		r = file_list_select(&l);
	if (r >= 0)
		r = file_list_put(&l, &filter, s);
	free(l.files);
	map_free(&l.members);
	return r;
}
