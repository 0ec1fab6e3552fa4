/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: which path a file number has, and rows for what is known by name alone. */
#include "capture/ebpf/internal.h"
#include "capture/ebpf/records.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define ASKED_BYTES (2u << 20) /* of texts in a generation of them */
#define SHOWN \
	512 /* paths that are kept as text, for the folders that are asked for again and again */

/* A path put together from its record. */
struct shown {
	uint64_t file; /* 0: none */
	struct buf path;
};

/* Rows for names alone: what was asked -> the row. */
struct asked {
	struct intern texts; /* (failed, base, argument) */
	uint64_t *rows;	     /* by text */
	size_t cap;
};

struct names {
	const struct decode_options *opt;
	struct records *files;
	struct shown shown[SHOWN];
	struct file_paths paths; /* for putting one together: too large for the stack */
	struct recent by_path;	 /* path_hash() -> the last file that had it and has it still */
	uint64_t *selected;	 /* bit by file number, where files are selected by path */
	size_t selected_cap;	 /* words */
	struct asked young, old; /* as in struct recent */
	uint64_t next_row;
	struct buf composed, query;
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
	free(n->selected);
	asked_free(&n->young);
	asked_free(&n->old);
	buf_free(&n->composed);
	buf_free(&n->query);
	free(n);
}

static bool path_selected(const struct names *n, const void *path, size_t len)
{
	const struct select *s = n->opt->select;

	return !s->path_count || select_path_match(s, path, len);
}

static int selected_set(struct names *n, uint64_t file, bool selected)
{
	size_t before = n->selected_cap;
	int r;

	if (!n->opt->select->path_count)
		return 0;
	r = grow((void **)&n->selected, &n->selected_cap, file / 64 + 1, sizeof(*n->selected));
	if (r < 0)
		return r;
	if (n->selected_cap > before)
		memset(n->selected + before, 0, (n->selected_cap - before) * sizeof(*n->selected));
	if (selected)
		n->selected[file / 64] |= 1ull << (file % 64);
	else
		n->selected[file / 64] &= ~(1ull << (file % 64));
	return 0;
}

/* Where paths and hashes are equal, so are the roots. */
static uint64_t path_hash(uint64_t root, const void *path, size_t len)
{
	return hash_bytes(path, len) ^ hash_u64(root);
}

int names_set(struct names *n, uint64_t file, uint64_t root, const void *path, size_t len,
	      const void *hostpath, size_t host_len)
{
	bool selected =
		path_selected(n, path, len) || (hostpath && path_selected(n, hostpath, host_len));
	int r = selected_set(n, file, selected);

	return r ? r : recent_set(&n->by_path, path_hash(root, path, len), file);
}

struct bytes names_get(struct names *n, uint64_t file)
{
	struct shown *s = &n->shown[file % SHOWN];
	const struct wire_file *w;

	if (file && s->file == file)
		return (struct bytes){s->path.data, s->path.len};
	w = file ? records_get(n->files, file) : NULL;
	if (!w)
		return (struct bytes){NULL, 0};
	file_paths(w, n->opt->mnt_ns, &n->paths);
	s->file = 0;
	buf_clear(&s->path);
	if (buf_append(&s->path, n->paths.path, n->paths.len) == 0)
		s->file = file;
	return (struct bytes){(const uint8_t *)n->paths.path, n->paths.len};
}

void names_gone(struct names *n, uint64_t file)
{
	const struct wire_file *w = records_get(n->files, file);
	uint64_t root = w ? w->root : 0, hash, last;
	struct bytes path = names_get(n, file);

	if (!path.data)
		return;
	hash = path_hash(root, path.data, path.len);
	if (recent_get(&n->by_path, hash, &last) && last == file)
		recent_del(&n->by_path, hash);
}

bool names_selected(const struct names *n, uint64_t file)
{
	if (!n->opt->select->path_count)
		return true;
	return file / 64 < n->selected_cap && n->selected[file / 64] >> (file % 64) & 1;
}

/* base + "/" + argument; never collapses `..` or symbolic links. */
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

/* What a descriptor is, from its name in /proc/PID/fd: whether a read of it waits depends on it. */
static int whole_type(const struct name_query *q)
{
	static const struct {
		const char *begin;
		int type;
	} types[] = {
		{"pipe:[", FILE_TYPE_PIPE},	 {"socket:[", FILE_TYPE_SOCKET},
		{"anon_inode:", FILE_TYPE_ANON}, {"/dev/pts/", FILE_TYPE_CHAR},
		{"/dev/tty", FILE_TYPE_CHAR},	 {"/dev/console", FILE_TYPE_CHAR},
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (q->len >= strlen(types[i].begin) &&
		    !memcmp(q->text, types[i].begin, strlen(types[i].begin)))
			return types[i].type;
	}
	return FILE_TYPE_UNKNOWN;
}

static int name_row(const struct name_query *q, struct bytes base, struct bytes path, int64_t key,
		    struct batch_set *out)
{
	bool relative = !q->whole && (!q->len || q->text[0] != '/');
	struct batch *b;
	size_t row;
	int r = batch_set_add_row(out, TABLE_FILE, &b, &row);

	if (r < 0)
		return r;
	r = batch_set(b, FILE_ID, row, key);
	r = r ? r : batch_set(b, FILE_INODE, row, key);
	if (q->whole)
		r = r ? r : batch_set(b, FILE_TYPE, row, whole_type(q));
	else
		r = r ? r : batch_set(b, FILE_NAME_ONLY, row, 1);
	r = r ? r : batch_set(b, FILE_SINCE, row, q->now);
	if (path.len && (!relative || base.data || q->target))
		r = r ? r : batch_set_bytes(b, FILE_PATH, row, path.data, path.len);
	if (relative && base.data)
		r = r ? r : batch_set_bytes(b, FILE_BASE, row, base.data, base.len);
	if (relative || q->failed)
		r = r ? r : batch_set_bytes(b, FILE_ARGUMENT, row, q->text, q->len);
	return r;
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

/* The row of what was asked, a new one where it was never, or too long ago. */
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

/* The row for exactly this base and argument; the same path asked for in another way is another row. */
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
	r = asked_row(n, (struct bytes){n->query.data, n->query.len}, &row, &new);
	*ret_key = KEY_NAME_BASE + (int64_t)row;
	return r || !new ? r : name_row(q, base, path, *ret_key, out);
}

/* The file that has this path; its hash alone could be another's. */
static bool find_path(struct names *n, uint64_t root, struct bytes path, uint64_t *ret_file)
{
	struct bytes other;

	if (!recent_get(&n->by_path, path_hash(root, path.data, path.len), ret_file))
		return false;
	other = names_get(n, *ret_file);
	return other.len == path.len && !memcmp(other.data, path.data, path.len);
}

/* Whether the path is as files' records have it: without "", "." and "..". Symbolic links are not seen. */
static bool path_is_plain(struct bytes path)
{
	for (size_t i = 0, dots = 0; i < path.len; i++, dots = 0) {
		if (path.data[i] != '/')
			continue;
		while (i + dots + 1 < path.len && dots < 2 && path.data[i + dots + 1] == '.')
			dots++;
		if (i + dots + 1 == path.len || path.data[i + dots + 1] == '/')
			return false;
	}
	return true;
}

/* What the call did to the name: the files that had it, or one below it, are not found by it any more. */
static void name_changed(struct names *n, const struct name_query *q, struct bytes path, bool known,
			 uint64_t file)
{
	const struct wire_file *w = known ? records_get(n->files, file) : NULL;
	bool alone = q->fate != NAME_MOVES || (w && !S_ISDIR(w->mode));

	if (q->fate == NAME_COVERS || !alone || !path_is_plain(path))
		recent_free(&n->by_path);
	else
		recent_del(&n->by_path, path_hash(q->root, path.data, path.len));
}

int names_resolve(struct names *n, const struct name_query *q, struct batch_set *out,
		  struct name_answer *ret)
{
	int r = path_compose(n, q, names_get(n, q->base));
	struct bytes path = {n->composed.data ? n->composed.data : (uint8_t *)"", n->composed.len};
	uint64_t file = 0;
	bool known;

	if (r < 0)
		return r;
	*ret = (struct name_answer){.selected = path_selected(n, path.data, path.len)};
	known = q->may_know && q->fate != NAME_NEW && find_path(n, q->root, path, &file);
	if (q->fate != NAME_STAYS)
		name_changed(n, q, path, known, file);
	if (known) {
		*ret = (struct name_answer){(int64_t)file, true, names_selected(n, file)};
		return 0;
	}
	return name_only(n, q, path, out, &ret->key);
}
