/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match_names.c: determines which files and threads are the same in different runs: those with the same name. A name
 * that some run lacks is compared again with its numbers and random parts replaced with '#': the log of pid 4711 is the
 * log of pid 4712 in the next run. All names of such a pattern are then counted as one, so that files that come and go
 * do not look like changes. If most remaining paths of each run are in a folder of its own (each run was started in
 * another one), the same path below these folders is the same file.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "analysis/diff/internal.h"
#include "base/array.h"
#include "names/names.h"

#define EPHEMERAL_MIN 32768 /* start of Linux's ephemeral ports */
/* fraction of the paths that only one run has which must be in its own folder, */
#define OWN_SHARE 0.75
/* and fraction of these which must also be in the folders of the others */
#define OWN_MATCHED 0.5
#define OWN_FILES   3 /* and number of such files, if the folders differ in more than one component */
#define NAME_FILE   'f'
#define NAME_THREAD 't'

struct name {
	size_t runs; /* number of runs that have it */
	uint32_t last_run;
	uint32_t pattern; /* index in `patterns` */
	bool changed;	  /* the pattern differs from the name */
};

struct pattern {
	size_t members;
	bool everywhere; /* every member is in every run */
	size_t runs;	 /* number of runs with a member */
	size_t last_run; /* index + 1 */
};

/* Paths that only one run has, and the folder that contains most of them. Texts are stored in work->paths. */
struct own {
	struct bytes *paths;
	size_t count, cap;
	struct bytes folder; /* without a trailing slash; empty: none */
	size_t matched;	     /* paths in it that the folder of the first run has, too */
};

struct names {
	struct work *work;
	struct name *names; /* by id in work->paths */
	size_t cap;
	struct intern texts; /* patterns */
	struct pattern *patterns;
	size_t patterns_cap;
	struct buf text; /* scratch buffer */
};

/* ---- names ---- */

/* Omits the port that the kernel chose, and the number of a pipe, which are arbitrary. */
static int match_names_put_socket(struct buf *out, struct bytes text)
{
	for (size_t i = 0; i < text.len;) {
		uint64_t port = 0;
		size_t end = i + 1;

		while (text.data[i] == ':' && end < text.len && isdigit(text.data[end]) &&
		       end < i + 7)
			port = port * 10 + (uint64_t)(text.data[end++] - '0');
		if (port >= EPHEMERAL_MIN)
			buf_append(out, ":*", 2);
		else
			buf_append(out, text.data + i, end - i);
		i = end;
	}
	return buf_status(out);
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
	return f->type == FILE_TYPE_SOCKET ? match_names_put_socket(out, text)
					   : buf_append(out, text.data, text.len);
}

static int thread_name(const struct dims *d, int64_t id, struct buf *out)
{
	const struct dims_thread *t = dims_thread(d, id);

	if (!t || !t->comm.len)
		return buf_printf(out, "(unknown thread)");
	return buf_append(out, t->comm.data, t->comm.len);
}

/* Notes a name in a run; its index is used as label until labels are assigned. */
static int match_names_note(struct names *n, uint32_t *ids, size_t count, size_t run, char kind,
			    int64_t id)
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
	*ret_count = dims_dense(d, table, 0);
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
			r = match_names_note(n, run->file_labels, run->file_count, at, NAME_FILE,
					     id);
	}
	for (size_t i = 0; r >= 0 && i < dims_rows(d, TABLE_THREAD); i++)
		r = match_names_note(n, run->thread_labels, run->thread_count, at, NAME_THREAD,
				     dims_id_at(d, TABLE_THREAD, i));
	return r;
}

/* The pattern whose text is in n->text; a new one is as `fresh`. 0 or -ENOMEM. */
static int pattern_find(struct names *n, const struct pattern *fresh, uint32_t *ret)
{
	size_t before = n->texts.count;
	int r = grow((void **)&n->patterns, &n->patterns_cap, before + 1, sizeof(*n->patterns));

	if (r >= 0)
		r = intern_add(&n->texts, n->text.data, n->text.len, ret);
	if (r >= 0 && n->texts.count > before)
		n->patterns[*ret] = *fresh;
	return r;
}

static int find_patterns(struct names *n)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < n->work->paths.count; i++) {
		struct name *name = &n->names[i];
		uint32_t at;

		buf_clear(&n->text);
		r = names_pattern(intern_get(&n->work->paths, i), &n->text, &name->changed);
		if (r >= 0)
			r = pattern_find(n, &(struct pattern){.everywhere = true}, &at);
		if (r < 0)
			return r;
		name->pattern = at;
		n->patterns[at].members++;
		n->patterns[at].everywhere &= name->runs == n->work->run_count;
	}
	return r;
}

/* ---- a folder of each run ---- */

/* True if the path is that of the folder, or of something in it. */
static bool is_within(struct bytes path, struct bytes folder)
{
	return path.len >= folder.len &&
	       (!folder.len || !memcmp(path.data, folder.data, folder.len)) &&
	       (path.len == folder.len || path.data[folder.len] == '/');
}

/* The name's path if it is a file that some run lacks, even by its pattern; otherwise empty. */
static struct bytes lone_path(const struct names *n, uint32_t name)
{
	struct bytes text = intern_get(&n->work->paths, name);
	const struct pattern *p = &n->patterns[n->names[name].pattern];

	if (text.len < 2 || text.data[0] != NAME_FILE || text.data[1] != '/' ||
	    p->runs == n->work->run_count)
		return (struct bytes){NULL, 0};
	return (struct bytes){text.data + 1, text.len - 1};
}

/* Counts the runs of each pattern. */
static void count_pattern_runs(struct names *n)
{
	for (size_t r = 0; r < n->work->run_count; r++) {
		const struct run *run = &n->work->runs[r];

		for (size_t i = 0; i < run->file_count; i++) {
			struct pattern *p;

			if (run->file_labels[i] == LABEL_NONE)
				continue;
			p = &n->patterns[n->names[run->file_labels[i]].pattern];
			p->runs += p->last_run != r + 1;
			p->last_run = r + 1;
		}
	}
}

static int collect_lone(const struct names *n, const struct run *run, struct own *o)
{
	int r = 0;

	for (size_t i = 0; i < run->file_count && r >= 0; i++) {
		struct bytes path = {NULL, 0};

		if (run->file_labels[i] != LABEL_NONE)
			path = lone_path(n, run->file_labels[i]);
		if (!path.data)
			continue;
		r = array_add(o->paths, o->count, o->cap, path);
	}
	return r;
}

/* The next component of the path below the folder; empty if the path is not below it. */
static struct bytes child_of(struct bytes path, struct bytes folder, bool *ret_is_folder)
{
	size_t from = folder.len + 1;
	const uint8_t *slash;

	if (path.len < from || !is_within(path, folder))
		return (struct bytes){NULL, 0};
	slash = memchr(path.data + from, '/', path.len - from);
	*ret_is_folder = slash != NULL;
	return (struct bytes){path.data, slash ? (size_t)(slash - path.data) : path.len};
}

/* The folder below o->folder with most of the paths; returns their number. Negative: out of memory. */
static ssize_t find_child(const struct own *o, struct bytes *ret)
{
	_cleanup_(map_free) struct map counts = {0};
	uint64_t count, most = 0;
	bool is_folder = false;

	for (size_t i = 0; i < o->count; i++) {
		struct bytes child = child_of(o->paths[i], o->folder, &is_folder);

		count = 0;
		map_get(&counts, hash_bytes(child.data, child.len), &count);
		if (child.data &&
		    map_set(&counts, hash_bytes(child.data, child.len), count + 1) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < o->count; i++) {
		struct bytes child = child_of(o->paths[i], o->folder, &is_folder);

		if (!child.data || !is_folder ||
		    !map_get(&counts, hash_bytes(child.data, child.len), &count) || count <= most)
			continue;
		most = count;
		*ret = child;
	}
	return (ssize_t)most;
}

/* Finds the folder with most of the run's lone paths, if it has nearly all of them. */
static int find_own(struct own *o)
{
	struct bytes child = {NULL, 0};
	ssize_t count;

	while ((count = find_child(o, &child)) > 0 && (double)count >= OWN_SHARE * (double)o->count)
		o->folder = child;
	return (int)MIN(count, (ssize_t)0);
}

static uint64_t rest_hash(struct bytes path, size_t from)
{
	return hash_bytes(path.data + from, path.len - from);
}

/* Collects the paths in the folder, relative to it. */
static int collect_rests(const struct own *o, struct map *ret)
{
	int r = 0;

	for (size_t i = 0; i < o->count && r >= 0; i++) {
		if (is_within(o->paths[i], o->folder) && o->paths[i].len > o->folder.len)
			r = map_set(ret, rest_hash(o->paths[i], o->folder.len), 1);
	}
	return r;
}

/* Finds the folder of a run that contains most of `rests`; sets o->matched. */
static int find_like(struct own *o, const struct map *rests)
{
	_cleanup_(map_free) struct map votes = {0};

	o->matched = 0;
	for (size_t i = 0; i < o->count; i++) {
		struct bytes path = o->paths[i];

		for (size_t at = path.len; at-- > 1;) {
			uint64_t folder = hash_bytes(path.data, at), count = 0;

			if (path.data[at] != '/' || !map_get(rests, rest_hash(path, at), NULL))
				continue;
			map_get(&votes, folder, &count);
			if (map_set(&votes, folder, ++count) < 0)
				return -ENOMEM;
			if (count <= o->matched)
				continue;
			o->matched = count;
			o->folder = (struct bytes){path.data, at};
		}
	}
	return 0;
}

/* The common beginning and end of two folders, in whole components. */
static void same_ends(struct bytes a, struct bytes b, size_t *ret_head, size_t *ret_tail)
{
	size_t least = MIN(a.len, b.len), head = 0, tail = 0, i = 0;

	for (; i < least && a.data[i] == b.data[i]; i++) {
		if (a.data[i] == '/')
			head = i;
	}
	if (i == a.len || i == b.len)
		head = MIN(head, least);
	for (i = 1; i <= least - head && a.data[a.len - i] == b.data[b.len - i]; i++) {
		if (a.data[a.len - i] == '/')
			tail = i;
	}
	*ret_head = head;
	*ret_tail = tail;
}

struct owns {
	struct own *own; /* by run */
	size_t count;
	size_t head, tail; /* common beginning and end of the folders */
	bool plain;	   /* they differ in a single component */
};

/* False if a run has no folder of its own, or all are the same. */
static bool compare_owns(struct owns *all)
{
	struct bytes first = all->own[0].folder;
	bool differ = false;

	all->head = all->tail = first.len;
	all->plain = true;
	for (size_t i = 0; i < all->count; i++) {
		struct bytes f = all->own[i].folder;
		size_t head, tail;

		if (!f.len)
			return false;
		if (f.len == first.len && !memcmp(f.data, first.data, f.len))
			continue;
		differ = true;
		same_ends(first, f, &head, &tail);
		all->head = MIN(all->head, head);
		all->tail = MIN(all->tail, tail);
	}
	for (size_t i = 0; i < all->count; i++) {
		struct bytes f = all->own[i].folder;
		size_t middle = f.len - all->head - all->tail;

		all->plain &= middle > 1 && !memchr(f.data + all->head + 1, '/', middle - 1);
	}
	return differ;
}

static const struct own *own_of(const struct owns *all, struct bytes path)
{
	for (size_t i = 0; i < all->count; i++) {
		if (is_within(path, all->own[i].folder))
			return &all->own[i];
	}
	return NULL;
}

/* Gives the name a pattern with '#' for the folder. */
static int match_name(struct names *n, const struct owns *all, uint32_t name)
{
	struct bytes path = lone_path(n, name), folder = all->own[0].folder;
	const struct own *o = path.data ? own_of(all, path) : NULL;
	_cleanup_buf_ struct buf text = {0};
	bool changed;
	uint32_t at;
	int r;

	if (!o)
		return 0;
	buf_printf(&text, "%c%.*s/#", NAME_FILE, (int)all->head, (const char *)folder.data);
	buf_append(&text, folder.data + folder.len - all->tail, all->tail);
	r = buf_append(&text, path.data + o->folder.len, path.len - o->folder.len);
	buf_clear(&n->text);
	if (r >= 0)
		r = names_pattern(buf_bytes(&text), &n->text, &changed);
	if (r >= 0)
		r = pattern_find(n, &(struct pattern){0}, &at);
	if (r < 0)
		return r;
	n->patterns[at].members++;
	n->names[name].pattern = at;
	n->names[name].changed = true;
	return 0;
}

static void owns_free(struct owns *all)
{
	for (size_t i = 0; all->own && i < all->count; i++)
		free(all->own[i].paths);
	free(all->own);
}

/* The run with a folder of its own and the fewest other paths; NULL: none has one. */
static const struct own *find_first(struct owns *all, int *r)
{
	const struct own *first = NULL;

	for (size_t i = 0; i < all->count && *r >= 0; i++) {
		struct own *o = &all->own[i];

		*r = find_own(o);
		if (o->folder.len && (!first || o->count < first->count))
			first = o;
	}
	return first;
}

/* True if every run has a folder that contains the paths in the folder of the first. */
static bool owns_match(const struct owns *all, size_t wanted)
{
	size_t least = MAX((size_t)((double)wanted * OWN_MATCHED), (size_t)1);

	for (size_t i = 0; i < all->count; i++) {
		if (all->own[i].matched < MAX(least, (size_t)(all->plain ? 1 : OWN_FILES)))
			return false;
	}
	return true;
}

static int match_folders(struct names *n)
{
	_cleanup_(owns_free) struct owns all = {.own = calloc(n->work->run_count, sizeof(*all.own)),
						.count = n->work->run_count};
	_cleanup_(map_free) struct map rests = {0};
	const struct own *first;
	int r = all.own ? 0 : -ENOMEM;

	count_pattern_runs(n);
	for (size_t i = 0; i < all.count && r >= 0; i++)
		r = collect_lone(n, &n->work->runs[i], &all.own[i]);
	first = r < 0 ? NULL : find_first(&all, &r);
	if (first && r >= 0)
		r = collect_rests(first, &rests);
	for (size_t i = 0; i < all.count && r >= 0; i++)
		r = find_like(&all.own[i], &rests);
	if (r < 0 || !rests.count || !compare_owns(&all) || !owns_match(&all, rests.count))
		return r;
	for (uint32_t i = 0; r >= 0 && i < n->work->paths.count; i++)
		r = match_name(n, &all, i);
	return r;
}

/* ---- labels ---- */

/* Sets the label of each name: its own text, or its pattern. */
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
	/* texts no longer move; the first byte distinguishes files and threads */
	for (uint32_t i = 0; r >= 0 && i < w->texts.count; i++) {
		struct bytes text = intern_get(&w->texts, i);

		w->labels[i].text = (struct bytes){text.data + 1, text.len - 1};
	}
	return r;
}

/* Replaces names with labels. */
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
	if (r >= 0)
		r = match_folders(&n);
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
