/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: which path a file number has, and rows for what is known by name alone. */
#include "capture/ebpf/internal.h"

#include <errno.h>
#include <string.h>

#define NO_TEXT UINT32_MAX

struct name {
	uint32_t text; /* of the path, NO_TEXT: unknown */
	bool selected;
};

struct text {
	uint64_t file; /* the last file that had this path and has it still, 0: none */
	bool selected;
};

struct names {
	const struct select *select;
	struct intern texts;
	struct name *files; /* by file number */
	size_t file_count, file_cap;
	struct text *info; /* by text */
	size_t info_cap;
	struct intern asked; /* (failed, base, argument) of name-only row i */
	uint32_t *row_text;  /* and the text of its path */
	size_t row_text_cap;
	struct buf scratch;
};

int names_new(struct names **ret, const struct select *select)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->select = select;
	*ret = n;
	return 0;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	intern_free(&n->texts);
	free(n->files);
	free(n->info);
	intern_free(&n->asked);
	free(n->row_text);
	buf_free(&n->scratch);
	free(n);
}

static bool path_selected(const struct names *n, const void *path, size_t len)
{
	return !n->select->path_count || select_path_match(n->select, path, len);
}

static int text_add(struct names *n, const void *path, size_t len, uint32_t *ret)
{
	size_t before = n->texts.count;
	int r = intern_add(&n->texts, path, len, ret);

	if (r < 0)
		return r;
	if (n->texts.count == before)
		return 0;
	r = grow((void **)&n->info, &n->info_cap, n->texts.count, sizeof(*n->info));
	if (r < 0)
		return r;
	n->info[*ret] = (struct text){.selected = path_selected(n, path, len)};
	return 0;
}

int names_set(struct names *n, uint64_t file, const void *path, size_t len, const void *hostpath,
	      size_t host_len)
{
	uint32_t text;
	int r = text_add(n, path, len, &text);

	if (r < 0)
		return r;
	r = grow((void **)&n->files, &n->file_cap, file + 1, sizeof(*n->files));
	if (r < 0)
		return r;
	while (n->file_count <= file)
		n->files[n->file_count++] = (struct name){.text = NO_TEXT};
	n->files[file].text = text;
	n->files[file].selected =
		n->info[text].selected || (hostpath && path_selected(n, hostpath, host_len));
	n->info[text].file = file;
	return 0;
}

struct bytes names_get(const struct names *n, uint64_t file)
{
	if (file >= n->file_count || n->files[file].text == NO_TEXT)
		return (struct bytes){NULL, 0};
	return intern_get(&n->texts, n->files[file].text);
}

void names_gone(struct names *n, uint64_t file)
{
	struct text *t;

	if (file >= n->file_count || n->files[file].text == NO_TEXT)
		return;
	t = &n->info[n->files[file].text];
	if (t->file == file)
		t->file = 0;
}

bool names_selected(const struct names *n, int64_t key)
{
	if (!n->select->path_count)
		return true;
	if (key >= KEY_PEER_BASE || key < 0)
		return false;
	if (key >= KEY_NAME_BASE)
		return n->info[n->row_text[key - KEY_NAME_BASE]].selected;
	return (uint64_t)key < n->file_count && n->files[key].selected;
}

/* base + "/" + argument; never collapses `..` or symbolic links. */
static int path_compose(struct names *n, const struct name_query *q, struct bytes base)
{
	int r = 0;

	buf_clear(&n->scratch);
	if (q->len && q->text[0] == '/')
		return buf_append(&n->scratch, q->text, q->len);
	if (base.data) {
		r = buf_append(&n->scratch, base.data, base.len);
		if (!r && q->len && base.len && base.data[base.len - 1] != '/')
			r = buf_append(&n->scratch, "/", 1);
	}
	return r ? r : buf_append(&n->scratch, q->text, q->len);
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
	ssize_t row;
	int r = batch_set_table(out, TABLE_FILE, &b);

	if (r < 0)
		return r;
	row = batch_add_row(b);
	if (row < 0)
		return row;
	r = batch_set(b, FILE_ID, row, key);
	r = r ? r : batch_set(b, FILE_INODE, row, key);
	if (q->whole)
		r = r ? r : batch_set(b, FILE_TYPE, row, whole_type(q));
	else
		r = r ? r : batch_set(b, FILE_NAME_ONLY, row, 1);
	r = r ? r : batch_set(b, FILE_SINCE, row, q->now);
	if (path.len && (!relative || base.data))
		r = r ? r : batch_set_bytes(b, FILE_PATH, row, path.data, path.len);
	if (relative && base.data)
		r = r ? r : batch_set_bytes(b, FILE_BASE, row, base.data, base.len);
	if (relative || q->failed)
		r = r ? r : batch_set_bytes(b, FILE_ARGUMENT, row, q->text, q->len);
	return r;
}

/* The row for exactly this base and argument; the same path asked for in another way is another row. */
static int name_only(struct names *n, const struct name_query *q, struct bytes base, uint32_t text,
		     struct batch_set *out, int64_t *ret_key)
{
	const uint32_t head[2] = {q->failed, base.len};
	size_t before = n->asked.count;
	uint32_t row;
	int r;

	buf_clear(&n->scratch);
	r = buf_append(&n->scratch, head, sizeof(head));
	if (base.data)
		r = r ? r : buf_append(&n->scratch, base.data, base.len);
	r = r ? r : buf_append(&n->scratch, q->text, q->len);
	r = r ? r : intern_add(&n->asked, n->scratch.data, n->scratch.len, &row);
	if (r < 0)
		return r;
	*ret_key = KEY_NAME_BASE + (int64_t)row;
	if (n->asked.count == before)
		return 0;
	r = grow((void **)&n->row_text, &n->row_text_cap, (size_t)row + 1, sizeof(*n->row_text));
	if (r < 0)
		return r;
	n->row_text[row] = text;
	return name_row(q, base, intern_get(&n->texts, text), *ret_key, out);
}

int names_resolve(struct names *n, const struct name_query *q, struct batch_set *out,
		  int64_t *ret_key, bool *ret_known)
{
	struct bytes base = q->base ? names_get(n, q->base) : (struct bytes){NULL, 0};
	uint32_t text;
	int r = path_compose(n, q, base);

	*ret_known = false;
	if (!r)
		r = text_add(n, n->scratch.data ? n->scratch.data : (uint8_t *)"", n->scratch.len,
			     &text);
	if (r < 0)
		return r;
	if (q->may_know && n->info[text].file) {
		*ret_key = n->info[text].file;
		*ret_known = true;
		return 0;
	}
	if (q->base)
		base = names_get(n, q->base); /* the texts may have moved */
	return name_only(n, q, base, text, out, ret_key);
}
