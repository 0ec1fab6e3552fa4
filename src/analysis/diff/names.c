/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c: which files and threads of different runs are the same. Those of one name are. A name
 * that is not in every run is looked at again with its numbers and random parts made '#': a log of
 * pid 4711 is the log of pid 4712 in the next run. All names of such a pattern are then told as one,
 * so that files that come and go do not look like changes.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "analysis/diff/internal.h"

#define RANDOM_MIN    6	    /* letters of mkstemp() */
#define RANDOM_LONG   10    /* of mktemp(1) */
#define HEX_MIN	      4	    /* a part of a UUID */
#define EPHEMERAL_MIN 32768 /* Linux's own choice of ports begins here */
#define NAME_FILE     'f'
#define NAME_THREAD   't'

struct name {
	size_t runs; /* that have it */
	uint32_t last_run;
	uint32_t pattern; /* number in `patterns` */
	bool changed;	  /* the pattern is not the name itself */
};

struct pattern {
	size_t members;
	bool everywhere; /* every member is in every run */
};

struct names {
	struct work *work;
	struct name *names; /* by id in work->paths */
	size_t cap;
	struct intern texts; /* of patterns */
	struct pattern *patterns;
	size_t patterns_cap;
	struct buf text; /* scratch */
};

/* ---- patterns ---- */

/* A word of letters and digits that looks as if no person had chosen it. */
static bool looks_random(const uint8_t *s, size_t len, bool after_mark, bool temporary)
{
	size_t digits = 0, hex = 0, turns = 0;

	for (size_t i = 0; i < len; i++) {
		digits += !!isdigit(s[i]);
		hex += !!isxdigit(s[i]);
		turns += i && !islower(s[i - 1]) != !islower(s[i]);
	}
	if (digits && digits < len && (len >= RANDOM_MIN || (len >= HEX_MIN && hex == len)))
		return true;
	/* what mkstemp() and mktemp(1) put behind a name */
	if (after_mark && (len == RANDOM_MIN || len == RANDOM_LONG) && (temporary || turns >= 2))
		return true;
	return temporary && len >= RANDOM_MIN && turns >= 3;
}

static int put_word(struct buf *out, const uint8_t *s, size_t len, bool random, bool *changed)
{
	int r = 0;

	if (random) {
		*changed = true;
		return buf_append(out, "#", 1);
	}
	for (size_t i = 0; i < len && r >= 0; i++) {
		if (!isdigit(s[i])) {
			r = buf_append(out, s + i, 1);
		} else if (i == 0 || !isdigit(s[i - 1])) {
			*changed = true;
			r = buf_append(out, "#", 1);
		}
	}
	return r;
}

int name_pattern(struct bytes text, struct buf *out, bool *ret_changed)
{
	bool changed = false, temporary = memmem(text.data, text.len, "/tmp/", 5) ||
					  memmem(text.data, text.len, "/shm/", 5);
	int r = 0;

	for (size_t i = 0; i < text.len && r >= 0;) {
		size_t end = i;
		bool mark = i && strchr(".-_", text.data[i - 1]);

		while (end < text.len && isalnum(text.data[end]))
			end++;
		if (end == i)
			r = buf_append(out, text.data + end++, 1);
		else
			r = put_word(out, text.data + i, end - i,
				     looks_random(text.data + i, end - i, mark, temporary),
				     &changed);
		i = end;
	}
	*ret_changed = changed;
	return r;
}

/* ---- names ---- */

/* The kernel chose the port of one end, and the number of a pipe: they say nothing. */
static int put_socket(struct buf *out, struct bytes text)
{
	int r = 0;

	for (size_t i = 0; i < text.len && r >= 0;) {
		uint64_t port = 0;
		size_t end = i + 1;

		while (text.data[i] == ':' && end < text.len && isdigit(text.data[end]) &&
		       end < i + 7)
			port = port * 10 + (uint64_t)(text.data[end++] - '0');
		if (port >= EPHEMERAL_MIN)
			r = buf_append(out, ":*", 2);
		else
			r = buf_append(out, text.data + i, end - i);
		i = end;
	}
	return r;
}

static int file_name(const struct dims *d, int64_t id, struct buf *out)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(d, id, &room);
	struct bytes text;

	if (!f)
		return buf_printf(out, "(unknown file)");
	if (f->type == FILE_TYPE_PIPE)
		return buf_printf(out, "pipe");
	text = f->name_only ? dims_file_version_name(d, id) : dims_file_name(d, id);
	return f->type == FILE_TYPE_SOCKET ? put_socket(out, text)
					   : buf_append(out, text.data, text.len);
}

static int thread_name(const struct dims *d, int64_t id, struct buf *out)
{
	const struct dims_thread *t = dims_thread(d, id);

	if (!t || !t->comm.len)
		return buf_printf(out, "(unknown thread)");
	return buf_append(out, t->comm.data, t->comm.len);
}

/* Takes note of a name in a run; its number stands in for the label until there are labels. */
static int note(struct names *n, uint32_t *ids, size_t count, size_t run, char kind, int64_t id)
{
	const struct dims *d = store_dims(n->work->runs[run].in->store);
	size_t before = n->work->paths.count;
	uint32_t at;
	int r;

	if (id < 0 || (uint64_t)id >= count || ids[id] != LABEL_NONE)
		return 0;
	buf_clear(&n->text);
	r = buf_append(&n->text, &kind, 1);
	if (r >= 0)
		r = kind == NAME_FILE ? file_name(d, id, &n->text) : thread_name(d, id, &n->text);
	if (r >= 0)
		r = grow((void **)&n->names, &n->cap, before + 1, sizeof(*n->names));
	if (r >= 0)
		r = intern_add(&n->work->paths, n->text.data, n->text.len, &at);
	if (r < 0)
		return r;
	ids[id] = at;
	if (n->work->paths.count > before)
		n->names[at] = (struct name){.last_run = UINT32_MAX};
	if (n->names[at].last_run != run) {
		n->names[at].last_run = (uint32_t)run;
		n->names[at].runs++;
	}
	return 0;
}

static int make_ids(const struct dims *d, enum table_id table, uint32_t **ret, size_t *ret_count)
{
	*ret_count = dims_dense(d, table);
	*ret = malloc((*ret_count + 1) * sizeof(**ret));
	for (size_t i = 0; *ret && i < *ret_count; i++)
		(*ret)[i] = LABEL_NONE;
	return *ret ? 0 : -ENOMEM;
}

static int note_run(struct names *n, size_t at)
{
	struct run *run = &n->work->runs[at];
	const struct dims *d = store_dims(run->in->store);
	int r = make_ids(d, TABLE_FILE, &run->file_labels, &run->file_count);

	if (r >= 0)
		r = make_ids(d, TABLE_THREAD, &run->thread_labels, &run->thread_count);
	for (size_t i = 0; r >= 0 && i < dims_rows(d, TABLE_FILE); i++) {
		int64_t id = dims_id_at(d, TABLE_FILE, i);

		if (!run->called || (id >= 0 && (size_t)id < run->called_count && run->called[id]))
			r = note(n, run->file_labels, run->file_count, at, NAME_FILE, id);
	}
	for (size_t i = 0; r >= 0 && i < dims_rows(d, TABLE_THREAD); i++)
		r = note(n, run->thread_labels, run->thread_count, at, NAME_THREAD,
			 dims_id_at(d, TABLE_THREAD, i));
	return r;
}

static int find_patterns(struct names *n)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < n->work->paths.count; i++) {
		struct name *name = &n->names[i];
		size_t before = n->texts.count;
		uint32_t at;

		buf_clear(&n->text);
		r = name_pattern(intern_get(&n->work->paths, i), &n->text, &name->changed);
		if (r >= 0)
			r = grow((void **)&n->patterns, &n->patterns_cap, before + 1,
				 sizeof(*n->patterns));
		if (r >= 0)
			r = intern_add(&n->texts, n->text.data, n->text.len, &at);
		if (r < 0)
			return r;
		if (n->texts.count > before)
			n->patterns[at] = (struct pattern){.everywhere = true};
		name->pattern = at;
		n->patterns[at].members++;
		n->patterns[at].everywhere &= name->runs == n->work->run_count;
	}
	return r;
}

/* ---- labels ---- */

/* By name: its own text, or that of its pattern. */
static int make_labels(struct names *n, uint32_t *of_name)
{
	struct work *w = n->work;
	int r = 0;

	w->labels = calloc(w->paths.count + 1, sizeof(*w->labels));
	if (!w->labels)
		return -ENOMEM;
	for (uint32_t i = 0; r >= 0 && i < w->paths.count; i++) {
		const struct name *name = &n->names[i];
		const struct pattern *p = &n->patterns[name->pattern];
		bool pattern = name->changed && p->members > 1 && !p->everywhere;
		struct bytes text =
			pattern ? intern_get(&n->texts, name->pattern) : intern_get(&w->paths, i);

		r = intern_add(&w->texts, text.data, text.len, &of_name[i]);
		if (r >= 0)
			w->labels[of_name[i]].pattern |= pattern;
	}
	/* texts do not move any more; the first byte tells files from threads */
	for (uint32_t i = 0; r >= 0 && i < w->texts.count; i++) {
		struct bytes text = intern_get(&w->texts, i);

		w->labels[i].text = (struct bytes){text.data + 1, text.len - 1};
	}
	return r;
}

/* Labels instead of names. */
static void relabel(uint32_t *ids, size_t count, const uint32_t *of_name)
{
	for (size_t i = 0; i < count; i++)
		ids[i] = ids[i] == LABEL_NONE ? LABEL_NONE : of_name[ids[i]];
}

static int relabel_run(const struct work *w, struct run *run, const uint32_t *of_name)
{
	run->file_names = malloc((run->file_count + 1) * sizeof(*run->file_names));
	run->label_names = calloc(w->texts.count + 1, sizeof(*run->label_names));
	if (!run->file_names || !run->label_names)
		return -ENOMEM;
	for (size_t i = 0; i < run->file_count; i++)
		run->file_names[i] = run->file_labels[i];
	relabel(run->file_labels, run->file_count, of_name);
	relabel(run->thread_labels, run->thread_count, of_name);
	return 0;
}

int names_count(const struct work *w, struct run *run, const uint8_t *called)
{
	_cleanup_free_ uint8_t *seen = calloc(w->paths.count + 1, 1);

	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < run->file_count; i++) {
		uint32_t name = run->file_names[i];

		if (name == LABEL_NONE || !called[i] || seen[name])
			continue;
		seen[name] = 1;
		run->label_names[run->file_labels[i]]++;
	}
	return 0;
}

int names_make(struct work *w)
{
	struct names n = {.work = w};
	_cleanup_free_ uint32_t *of_name = NULL;
	int r = 0;

	for (size_t k = 0; r >= 0 && k < w->run_count; k++)
		r = note_run(&n, k);
	if (r >= 0)
		r = find_patterns(&n);
	of_name = calloc(w->paths.count + 1, sizeof(*of_name));
	if (r >= 0)
		r = of_name ? make_labels(&n, of_name) : -ENOMEM;
	for (size_t k = 0; r >= 0 && k < w->run_count; k++)
		r = relabel_run(w, &w->runs[k], of_name);
	intern_free(&n.texts);
	buf_free(&n.text);
	free(n.names);
	free(n.patterns);
	return r;
}
