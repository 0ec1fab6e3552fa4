/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c: the paths of file numbers, and rows for files known only by name.
 *
 * A path argument is recognized, not looked up: it is the file last seen under that name below the same root (root
 * folder and mount, so that a file of another container or chroot is never meant), unless a call has since renamed,
 * removed, made or covered the name. Then, and if no file was seen, the row contains only the name. For this, calls
 * with paths are sent even if the selection rejects them, and dropped here (WIRE_PLAN_FATE). A rename of what may be a
 * folder with known files invalidates all names; each becomes known again once the file is opened.
 *
 * Renames are missed if made by programs that are not recorded, by io_uring, through symbolic links, through another
 * mount of the same folder, or by the last calls of a thread whose records were lost. Rows that rely on a name are
 * therefore marked `by_path`. An empty path is the descriptor's file, by number.
 */
#include "base/records.h"
#include "capture/ebpf/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define ASKED_BYTES (2u << 20) /* bytes of texts per generation */
#define SHOWN	    512	       /* paths kept as text, for folders that are requested repeatedly */
#define FOLDERS_MAX 32768      /* known to contain files, in 600 KiB */
#define TAUGHT	    4096

/* A path assembled from its record. */
struct shown {
	uint64_t file; /* 0: none */
	struct buf path;
};

/* Rows with only a name: query -> row. */
struct asked {
	struct intern texts; /* (failed, base, argument) */
	uint64_t *rows;	     /* by index of the text */
	size_t cap;
};

struct bits {
	uint64_t *words;
	size_t cap;
};

struct names {
	const struct decode_options *opt;
	struct records *files;
	struct shown shown[SHOWN];
	struct file_paths paths; /* buffer to assemble a path: too large for the stack */
	struct recent by_path;	 /* path_hash() -> the last file known to have it */
	struct map
		folders; /* path_hash() of every folder that contains such a file, at any depth */
	bool folders_unknown;	 /* there were too many */
	uint64_t taught[TAUGHT]; /* by file number: files recently added to by_path */
	struct bits selected;	 /* by file number, if files are selected by path */
	struct bits seen;	 /* likewise: its record was seen */
	struct bits gone;	 /* likewise: deleted */
	struct asked young, old; /* as in struct recent */
	uint64_t next_row;
	struct buf composed, tidy, query;
};

int names_new(struct names **ret, const struct decode_options *opt, struct records *files)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->opt = opt;
	n->files = files;
	n->by_path.max = opt->limits.paths;
	*ret = n;
	return 0;
}

static void asked_free(struct asked *a)
{
	intern_free(&a->texts);
	free(a->rows);
	*a = (struct asked){0};
}

void names_free(struct names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < SHOWN; i++)
		buf_free(&n->shown[i].path);
	recent_free(&n->by_path);
	map_free(&n->folders);
	free(n->selected.words);
	free(n->seen.words);
	free(n->gone.words);
	asked_free(&n->young);
	asked_free(&n->old);
	buf_free(&n->composed);
	buf_free(&n->tidy);
	buf_free(&n->query);
	free(n);
}

static bool path_selected(const struct names *n, const void *path, size_t len)
{
	const struct select *s = n->opt->select;

	return !s->path_count || select_path_match(s, path, len);
}

static int bit_set(struct bits *b, uint64_t number, bool value)
{
	uint64_t bit = 1ull << (number % 64);
	int r = grow_zeroed((void **)&b->words, &b->cap, number / 64 + 1, sizeof(*b->words));

	if (r < 0)
		return r;
	b->words[number / 64] = (b->words[number / 64] & ~bit) | (value ? bit : 0);
	return 0;
}

static bool bit_get(const struct bits *b, uint64_t number)
{
	return number / 64 < b->cap && b->words[number / 64] >> (number % 64) & 1;
}

/* If paths and hashes are equal, so are the roots. */
static uint64_t path_hash(uint64_t root, const void *path, size_t len)
{
	return hash_bytes(path, len) ^ hash_u64(root);
}

/* Length of the path of the folder that contains a path's last component; 0: the root. */
static size_t folder_len(struct bytes path)
{
	size_t len = path.len;

	while (len && path.data[len - 1] != '/')
		len--;
	return len ? len - 1 : 0;
}

/* Adds all folders that contain a file. If one is known, so are those above it. */
static int folders_add(struct names *n, uint64_t root, struct bytes path)
{
	int r = 0;

	while (!r && !n->folders_unknown && (path.len = folder_len(path))) {
		uint64_t hash = path_hash(root, path.data, path.len);

		if (map_get(&n->folders, hash, NULL))
			break;
		if (n->folders.count < FOLDERS_MAX) {
			r = map_set(&n->folders, hash, 1);
		} else {
			map_free(&n->folders);
			n->folders_unknown = true;
		}
	}
	return r;
}

static void by_path_del(struct names *n, uint64_t hash)
{
	uint64_t file;

	if (!recent_get(&n->by_path, hash, &file))
		return;
	if (n->taught[file % TAUGHT] == file)
		n->taught[file % TAUGHT] = 0;
	recent_del(&n->by_path, hash);
}

/* From now on this path leads to this file. */
static int by_path_set(struct names *n, uint64_t file, uint64_t root, struct bytes path)
{
	uint64_t hash = path_hash(root, path.data, path.len);
	int r;

	by_path_del(n, hash); /* the previous file no longer has it */
	r = recent_set(&n->by_path, hash, file);
	n->taught[file % TAUGHT] = file;
	return r ? r : folders_add(n, root, path);
}

void names_forget(struct names *n)
{
	recent_free(&n->by_path);
	map_free(&n->folders);
	n->folders_unknown = false;
	memset(n->taught, 0, sizeof(n->taught));
}

int names_set(struct names *n, uint64_t file, const void *path, size_t len, const void *hostpath,
	      size_t host_len)
{
	int r;

	if (!n->opt->select->path_count)
		return 0;
	r = bit_set(&n->seen, file, true);
	return r ? r
		 : bit_set(&n->selected, file,
			   path_selected(n, path, len) ||
				   (hostpath && path_selected(n, hostpath, host_len)));
}

int names_found(struct names *n, uint64_t file)
{
	const struct wire_file *w;

	if (!file || n->taught[file % TAUGHT] == file || bit_get(&n->gone, file))
		return 0;
	w = records_get(n->files, file, NULL);
	/* Files that no name below the root leads to; and symbolic links, whose name leads to their target. */
	if (!w || w->flags & (WIRE_FILE_DELETED | WIRE_FILE_UNREACHED | WIRE_FILE_CUT) ||
	    w->root_at > w->path_len || S_ISLNK(w->mode))
		return 0;
	file_paths(w, n->opt->mnt_ns, &n->paths); /* names_get() is only for requested paths */
	return by_path_set(n, file, w->root,
			   (struct bytes){(const uint8_t *)n->paths.path, n->paths.len});
}

struct bytes names_get(struct names *n, uint64_t file)
{
	struct shown *s = &n->shown[file % SHOWN];
	const struct wire_file *w;

	if (file && s->file == file)
		return buf_bytes(&s->path);
	w = file ? records_get(n->files, file, NULL) : NULL;
	if (!w)
		return (struct bytes){NULL, 0};
	file_paths(w, n->opt->mnt_ns, &n->paths);
	s->file = 0;
	buf_clear(&s->path);
	if (buf_append(&s->path, n->paths.path, n->paths.len) == 0)
		s->file = file;
	return (struct bytes){(const uint8_t *)n->paths.path, n->paths.len};
}

int names_gone(struct names *n, uint64_t file)
{
	const struct wire_file *w = records_get(n->files, file, NULL);
	uint64_t root = w ? w->root : 0, hash, last;
	struct bytes path = names_get(n, file);

	if (path.data) {
		hash = path_hash(root, path.data, path.len);
		if (recent_get(&n->by_path, hash, &last) && last == file)
			by_path_del(n, hash);
	}
	return bit_set(&n->gone, file, true);
}

bool names_selected(const struct names *n, uint64_t file)
{
	if (!n->opt->select->path_count)
		return true;
	/* The record of a file found no room: the programs tested its path, and sent the call. */
	return bit_get(&n->selected, file) || (file && !bit_get(&n->seen, file));
}

/* base + "/" + argument, unchanged. */
static int path_compose(struct names *n, const struct name_query *q, struct bytes base)
{
	int r = 0;

	buf_clear(&n->composed);
	if (q->len && q->text[0] == '/')
		return buf_append(&n->composed, q->text, q->len);
	if (base.data) {
		r = buf_append(&n->composed, base.data, base.len);
		if (!r && q->len && base.len && base.data[base.len - 1] != '/')
			r = buf_append(&n->composed, "/", 1);
	}
	return r ? r : buf_append(&n->composed, q->text, q->len);
}

/* Whether a read waits depends on the descriptor's type. Anonymous inodes have no type of their own. */
static int whole_type(const struct name_query *q)
{
	static const char anon[] = "anon_inode:";
	bool is_anon = q->len > strlen(anon) && !memcmp(q->text, anon, strlen(anon));

	return is_anon ? FILE_TYPE_ANON : file_type_of(q->mode);
}

static int name_row(const struct name_query *q, struct bytes base, struct bytes path, int64_t key,
		    struct batch_set *out)
{
	bool relative = !q->whole && (!q->len || q->text[0] != '/');
	struct batch_row row = batch_set_row(out, TABLE_FILE);

	row_set(&row, FILE_ID, key);
	row_set(&row, FILE_INODE, key);
	if (q->whole)
		row_set(&row, FILE_TYPE, whole_type(q));
	else
		row_set(&row, FILE_NAME_ONLY, 1);
	row_set(&row, FILE_SINCE, q->now);
	if (!relative || base.data || q->target)
		row_set_text(&row, FILE_PATH, path);
	if (relative && base.data)
		row_set_bytes(&row, FILE_BASE, base.data, base.len);
	if (relative || q->failed)
		row_set_bytes(&row, FILE_ARGUMENT, q->text, q->len);
	return row.r;
}

static int asked_add(struct asked *a, struct bytes query, uint64_t row)
{
	uint32_t text;
	int r = intern_add(&a->texts, query.data, query.len, &text);

	r = r ? r : grow((void **)&a->rows, &a->cap, (size_t)text + 1, sizeof(*a->rows));
	if (!r)
		a->rows[text] = row;
	return r;
}

/* The row of a query; a new one if it is unknown or too old. */
static int asked_row(struct names *n, struct bytes query, uint64_t *ret_row, bool *ret_new)
{
	uint32_t text;

	*ret_new = false;
	if (intern_find(&n->young.texts, query.data, query.len, &text)) {
		*ret_row = n->young.rows[text];
		return 0;
	}
	*ret_new = !intern_find(&n->old.texts, query.data, query.len, &text);
	*ret_row = *ret_new ? n->next_row++ : n->old.rows[text];
	if (n->young.texts.count >= n->opt->limits.asked / 2 || n->young.texts.len >= ASKED_BYTES) {
		asked_free(&n->old);
		n->old = n->young;
		n->young = (struct asked){0};
	}
	return asked_add(&n->young, query, *ret_row);
}

/* The row for exactly this base and argument; the same path in another form is another row. */
static int name_only(struct names *n, const struct name_query *q, struct bytes path,
		     struct batch_set *out, int64_t *ret_key)
{
	struct bytes base = names_get(n, q->base);
	const uint32_t head[2] = {q->failed | q->target << 1, base.len};
	uint64_t row = 0;
	bool new;
	int r;

	buf_clear(&n->query);
	r = buf_append(&n->query, head, sizeof(head));
	if (base.data)
		r = r ? r : buf_append(&n->query, base.data, base.len);
	r = r ? r : buf_append(&n->query, q->text, q->len);
	if (r < 0)
		return r;
	r = asked_row(n, buf_bytes(&n->query), &row, &new);
	*ret_key = KEY_NAME_BASE + (int64_t)row;
	return r || !new ? r : name_row(q, base, path, *ret_key, out);
}

/* The file with this path; an equal hash alone is not sufficient. */
static bool find_path(struct names *n, uint64_t root, struct bytes path, uint64_t *ret_file)
{
	struct bytes other;

	if (!recent_get(&n->by_path, path_hash(root, path.data, path.len), ret_file))
		return false;
	other = names_get(n, *ret_file);
	return other.len == path.len && !memcmp(other.data, path.data, path.len);
}

/*
 * Whether a path certainly contains no symbolic link, and so cannot be another name of a folder with known files. The
 * kernel's names contain none, so this holds for entries of folders that they contain.
 */
static bool path_is_real(const struct names *n, const struct name_query *q, struct bytes base,
			 struct bytes path)
{
	size_t len = folder_len(path);

	if (base.data && !memchr(q->text, '/', q->len))
		return true;
	return !len || map_get(&n->folders, path_hash(q->root, path.data, len), NULL);
}

/* True for "/a/b", which path_tidy() would not change. */
static bool path_is_tidy(struct bytes path)
{
	const uint8_t *part = path.data, *end = path.data + path.len;

	if (path.len < 2 || *part != '/')
		return false;
	while (part < end) {
		const uint8_t *from = part + 1;
		const uint8_t *slash = from < end ? memchr(from, '/', (size_t)(end - from)) : NULL;

		part = slash ? slash : end;
		if (part == from || (part - from <= 2 && *from == '.' && part[-1] == '.'))
			return false;
	}
	return true;
}

/*
 * Normalizes a path to the form of file records: "/a/./b//" is "/a/b", "/." is "/". False, with the path unchanged, if
 * that is unknown: it contains "..", or starts at an unknown folder. Symbolic links are not resolved.
 */
static bool path_tidy(struct names *n, struct bytes *path)
{
	size_t at = 0, part;

	if (path_is_tidy(*path))
		return true;
	buf_clear(&n->tidy);
	if (!path->len || path->data[0] != '/' || buf_reserve(&n->tidy, path->len) < 0)
		return false;
	for (; at < path->len; at += part + 1) {
		const uint8_t *from = path->data + at;
		const uint8_t *slash = memchr(from, '/', path->len - at);

		part = slash ? (size_t)(slash - from) : path->len - at;
		if (part == 2 && !memcmp(from, "..", 2))
			return false;
		if (!part || (part == 1 && *from == '.'))
			continue;
		if (buf_append(&n->tidy, "/", 1) < 0 || buf_append(&n->tidy, from, part) < 0)
			return false;
	}
	if (!n->tidy.len && buf_append(&n->tidy, "/", 1) < 0)
		return false;
	*path = buf_bytes(&n->tidy);
	return true;
}

/*
 * Applies a call's effect to the name: the files with it, or below it, no longer have it. `path` is normalized, or
 * unknown.
 */
static void name_changed(struct names *n, const struct name_query *q, struct bytes base,
			 struct bytes path, bool is_tidy, const struct wire_file *known)
{
	bool alone = q->fate != NAME_MOVES || (known && !S_ISDIR(known->mode));
	uint64_t hash;

	if (q->fate == NAME_COVERS || !is_tidy) {
		names_forget(n);
		return;
	}
	hash = path_hash(q->root, path.data, path.len);
	if (alone || (!n->folders_unknown && path_is_real(n, q, base, path) &&
		      !map_get(&n->folders, hash, NULL)))
		by_path_del(n, hash);
	else
		names_forget(n);
}

/* The path of a query, and the file it led to before the call. */
static int resolve_known(struct names *n, const struct name_query *q, struct bytes *ret_path,
			 uint64_t *ret_file)
{
	struct bytes base = names_get(n, q->base), path;
	const struct wire_file *known = NULL;
	bool is_tidy, leads_into; /* "x/" and "x/." */
	int r = path_compose(n, q, base);

	if (r < 0)
		return r;
	path = (struct bytes){n->composed.data ? n->composed.data : (uint8_t *)"", n->composed.len};
	leads_into = (path.len > 1 && path.data[path.len - 1] == '/') ||
		     (path.len > 2 && !memcmp(path.data + path.len - 2, "/.", 2));
	is_tidy = path_tidy(n, &path);
	*ret_path = path;
	*ret_file = 0;
	if (q->may_know && q->fate != NAME_NEW && find_path(n, q->root, path, ret_file))
		known = records_get(n->files, *ret_file, NULL);
	if (leads_into && !(known && S_ISDIR(known->mode))) {
		/* a symbolic link has this path, but its target is meant */
		known = NULL;
		*ret_file = 0;
	}
	if (q->fate != NAME_STAYS)
		name_changed(n, q, base, path, is_tidy, known);
	return 0;
}

int names_change(struct names *n, const struct name_query *q)
{
	struct bytes path;
	uint64_t file;

	return resolve_known(n, q, &path, &file);
}

int names_resolve(struct names *n, const struct name_query *q, struct batch_set *out,
		  struct name_answer *ret)
{
	struct bytes path;
	uint64_t file;
	int r = resolve_known(n, q, &path, &file);

	if (r < 0)
		return r;
	*ret = (struct name_answer){.selected = path_selected(n, path.data, path.len)};
	if (file) {
		*ret = (struct name_answer){(int64_t)file, true, names_selected(n, file)};
		return 0;
	}
	return name_only(n, q, path, out, &ret->key);
}
