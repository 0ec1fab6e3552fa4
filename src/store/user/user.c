/* SPDX-License-Identifier: Apache-2.0 */
/* user.c: user tables read: which there are, and the rows of a block. */
#include "store/user/user.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "store/file/reader.h"

bool user_name_ok(const char *name, size_t len)
{
	if (!len || len > USER_NAME_MAX || (name[0] >= '0' && name[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_'))
			return false;
	}
	return true;
}

/* ---- what a block says of its table ---- */

static void user_table_free(struct user_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->column_count; i++)
		free(t->columns[i].name);
	for (size_t i = 0; i < t->block_count; i++)
		free(t->blocks[i].header);
	free(t->columns);
	free(t->blocks);
	free(t);
}
DEFINE_CLEANUP(struct user_table *, user_table_free)

static bool user_get_text(const uint8_t **p, const uint8_t *end, size_t max, struct bytes *ret)
{
	uint64_t len;

	if (!varint_get(p, end, &len) || !len || len > max || len > (size_t)(end - *p))
		return false;
	*ret = (struct bytes){*p, (size_t)len};
	*p += len;
	return !memchr(ret->data, 0, ret->len);
}

static bool has_column(const struct user_table *t, const char *name)
{
	for (size_t i = 0; i < t->column_count; i++) {
		if (!strcasecmp(t->columns[i].name, name))
			return true;
	}
	return false;
}

static int read_column(struct user_table *t, const uint8_t **p, const uint8_t *end)
{
	struct bytes text;
	uint8_t type;
	char *name;

	if (*p >= end)
		return -EBADMSG;
	type = *(*p)++;
	if (!type || type >= USER_TYPES || !user_get_text(p, end, USER_COLUMN_MAX, &text))
		return -EBADMSG;
	name = strndup((const char *)text.data, text.len);
	if (!name)
		return -ENOMEM;
	if (has_column(t, name)) {
		free(name);
		return -EBADMSG;
	}
	t->columns[t->column_count++] = (struct user_column){name, (enum user_type)type};
	return 0;
}

static int read_head(struct bytes head, uint32_t trace, struct user_table **ret)
{
	_cleanup_(user_table_freep) struct user_table *t = calloc(1, sizeof(*t));
	const uint8_t *p = head.data, *end = p + head.len;
	struct bytes name;
	uint64_t count;
	int r = 0;

	if (!t)
		return -ENOMEM;
	if (!user_get_text(&p, end, USER_NAME_MAX, &name) ||
	    !user_name_ok((const char *)name.data, name.len) || !varint_get(&p, end, &count) ||
	    count > USER_COLUMNS_MAX)
		return -EBADMSG;
	memcpy(t->name, name.data, name.len);
	t->trace = trace;
	t->columns = calloc(count + 1, sizeof(*t->columns));
	if (!t->columns)
		return -ENOMEM;
	for (uint64_t i = 0; i < count && r >= 0; i++)
		r = read_column(t, &p, end);
	if (r >= 0 && p != end)
		r = -EBADMSG;
	if (r >= 0)
		*ret = TAKE_PTR(t);
	return r;
}

static bool same_shape(const struct user_table *a, const struct user_table *b)
{
	bool same = !strcmp(a->name, b->name) && a->column_count == b->column_count;

	for (size_t i = 0; same && i < a->column_count; i++)
		same = a->columns[i].type == b->columns[i].type &&
		       !strcmp(a->columns[i].name, b->columns[i].name);
	return same;
}

/* ---- the tables there are ---- */

/* Keeps a table until the store goes. */
static int user_keep(struct user_tables *u, struct user_table *t)
{
	int r = grow((void **)&u->all, &u->all_cap, u->all_count + 1, sizeof(struct user_table *));

	if (r >= 0)
		u->all[u->all_count++] = t;
	return r;
}

/* The whole table is there: it replaces what its name meant. */
static int user_publish(struct user_tables *u, struct user_table *t)
{
	struct user_slot *slot = NULL;
	int r;

	for (size_t i = 0; i < u->count && !slot; i++) {
		if (u->slots[i].trace == t->trace && !strcasecmp(u->slots[i].name, t->name))
			slot = &u->slots[i];
	}
	if (!slot) {
		r = grow((void **)&u->slots, &u->cap, u->count + 1, sizeof(*u->slots));
		if (r < 0)
			return r;
		slot = &u->slots[u->count++];
		*slot = (struct user_slot){.trace = t->trace};
	}
	memcpy(slot->name, t->name, sizeof(slot->name));
	slot->table = t->column_count ? t : NULL;
	u->changes++;
	return 0;
}

static int user_add_block(struct user_table *t, uint64_t offset, uint8_t **header,
			  const struct block_view *view)
{
	void *p = reallocarray(t->blocks, t->block_count + 1, sizeof(*t->blocks));
	struct user_block *b;

	if (!p)
		return -ENOMEM;
	t->blocks = p;
	b = &t->blocks[t->block_count++];
	b->seq = view->head->seq;
	b->offset = offset;
	b->view = *view;
	b->header = *header;
	atomic_init(&b->damaged, false);
	*header = NULL;
	t->rows += view->head->rows;
	return 0;
}

/* Puts a block with its head known to its table. The lock is held. */
static int user_take_block(struct store *s, struct trace *t, struct user_table **head,
			   uint64_t offset, uint8_t **header, const struct block_view *view)
{
	uint8_t flags = view->head->flags;
	struct user_table *coming = t->coming;
	int r;

	t->coming = NULL;
	if (flags & BLOCK_USER_FIRST) {
		r = user_keep(&s->users, *head);
		if (r < 0)
			return r;
		coming = TAKE_PTR(*head);
	} else if (!coming || !same_shape(coming, *head) ||
		   coming->blocks[coming->block_count - 1].seq + 1 != view->head->seq) {
		return 0; /* of a table whose beginning is missing */
	}
	r = user_add_block(coming, offset, header, view);
	if (r < 0)
		return r;
	if (flags & BLOCK_USER_LAST)
		return user_publish(&s->users, coming);
	t->coming = coming;
	return 0;
}

int user_take(struct store *s, struct trace *t, uint64_t offset, uint8_t **header,
	      const struct block_view *view)
{
	struct decode_source src = {
		.fd = t->fd, .payload = offset + view->head->header_len, .view = *view};
	_cleanup_(user_table_freep) struct user_table *head = NULL;
	const char *why = "";
	struct bytes text;
	int r = decode_blob(s->decoder, &src, &text, &why);

	if (r >= 0) {
		why = "a user's table has no valid head";
		r = read_head(text, t->number, &head);
	}
	if (r == -EBADMSG) {
		reader_damage(s,
			      &(struct store_damage){.blocks = 1, .bytes = view->head->payload_len},
			      view->head->seq, offset, why);
		return 0;
	}
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	r = user_take_block(s, t, &head, offset, header, view);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void user_tables_free(struct store *s)
{
	for (size_t i = 0; i < s->users.all_count; i++)
		user_table_free(s->users.all[i]);
	free(s->users.all);
	free(s->users.slots);
}

size_t store_user_count(const struct store *s)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;
	size_t n;

	pthread_mutex_lock(lock);
	n = s->users.count;
	pthread_mutex_unlock(lock);
	return n;
}

const struct user_table *store_user_table(const struct store *s, size_t i)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;
	const struct user_table *t;

	pthread_mutex_lock(lock);
	assert(i < s->users.count);
	t = s->users.slots[i].table;
	pthread_mutex_unlock(lock);
	return t;
}

uint64_t store_user_changes(const struct store *s)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&s->lock;
	uint64_t n;

	pthread_mutex_lock(lock);
	n = s->users.changes;
	pthread_mutex_unlock(lock);
	return n;
}

/* ---- rows ---- */

struct user_reader {
	struct store *s; /* damage is counted there */
	struct decoder *decoder;
	const struct user_table *table;
	size_t rows;
	struct user_cells {
		const uint8_t *nulls;  /* NULL: none is null */
		const uint8_t *values; /* 8 bytes a row; where a row's bytes end: 4 */
		const uint8_t *bytes;
	} cells[USER_COLUMNS_MAX];
};

int user_reader_new(struct user_reader **ret, const struct store *s)
{
	_cleanup_(user_reader_freep) struct user_reader *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	e = decoder_new(&r->decoder);
	if (e < 0)
		return e;
	r->s = (struct store *)s;
	*ret = TAKE_PTR(r);
	return 0;
}

void user_reader_free(struct user_reader *r)
{
	if (!r)
		return;
	decoder_free(r->decoder);
	free(r);
}

/* `len` bytes of what is left. */
static const uint8_t *user_cut(const uint8_t **p, const uint8_t *end, size_t len)
{
	const uint8_t *at = *p;

	if (len > (size_t)(end - at))
		return NULL;
	*p += len;
	return at;
}

static bool read_bytes_cells(struct user_cells *c, size_t rows, const uint8_t **p,
			     const uint8_t *end)
{
	uint32_t before = 0;

	c->values = user_cut(p, end, rows * sizeof(uint32_t));
	if (!c->values)
		return false;
	for (size_t i = 0; i < rows; i++) {
		uint32_t to = load32(c->values + i * sizeof(to));

		if (to < before)
			return false;
		before = to;
	}
	c->bytes = user_cut(p, end, before);
	return c->bytes != NULL;
}

static bool user_read_cells(struct user_cells *c, enum user_type type, size_t rows,
			    const uint8_t **p, const uint8_t *end)
{
	const uint8_t *has = user_cut(p, end, 1);

	*c = (struct user_cells){0};
	if (!has || *has > 1)
		return false;
	if (*has) {
		c->nulls = user_cut(p, end, (rows + 63) / 64 * 8);
		if (!c->nulls)
			return false;
	}
	if (user_type_is_bytes(type))
		return read_bytes_cells(c, rows, p, end);
	c->values = user_cut(p, end, rows * sizeof(uint64_t));
	return c->values != NULL;
}

static int user_read_rows(struct user_reader *r, const struct user_table *t,
			  const struct user_block *b, const char **ret_why)
{
	const struct decode_source src = {.fd = r->s->traces[t->trace].fd,
					  .payload = b->offset + b->view.head->header_len,
					  .view = b->view};
	const uint8_t *p, *end;
	struct bytes data;
	int e = decode_blob_at(r->decoder, &src, 1, &data, ret_why);
	bool ok = true;

	if (e < 0)
		return e;
	p = data.data;
	end = p + data.len;
	for (size_t i = 0; ok && i < t->column_count && b->view.head->rows; i++)
		ok = user_read_cells(&r->cells[i], t->columns[i].type, b->view.head->rows, &p, end);
	*ret_why = "rows of a user's table do not fit its columns";
	return ok && p == end ? 0 : -EBADMSG;
}

ssize_t user_read(struct user_reader *r, const struct user_table *t, size_t i, struct error *err)
{
	struct user_block *b = &t->blocks[i];
	const char *why = "";
	int e;

	assert(i < t->block_count);
	r->rows = 0;
	r->table = t;
	e = user_read_rows(r, t, b, &why);
	if (e == -EBADMSG) {
		const struct store_damage found = {.blocks = 1, .bytes = b->view.head->payload_len};

		if (!atomic_exchange(&b->damaged, true))
			reader_damage(r->s, &found, b->seq, b->offset, why);
		return error_set(err, e, "block %llu, of the table %s, is damaged (%s)",
				 (unsigned long long)b->seq, t->name, why);
	}
	if (e < 0)
		return error_errno(err, e, "cannot read %s", r->s->traces[t->trace].path);
	r->rows = b->view.head->rows;
	return (ssize_t)r->rows;
}

bool user_is_null(const struct user_reader *r, size_t column, size_t row)
{
	const struct user_cells *c = &r->cells[column];

	assert(row < r->rows && column < r->table->column_count);
	return c->nulls && c->nulls[row / 8] >> (row % 8) & 1;
}

uint64_t user_value(const struct user_reader *r, size_t column, size_t row)
{
	assert(row < r->rows && !user_type_is_bytes(r->table->columns[column].type));
	return load64(r->cells[column].values + row * sizeof(uint64_t));
}

struct bytes user_bytes(const struct user_reader *r, size_t column, size_t row)
{
	const struct user_cells *c = &r->cells[column];
	uint32_t from = row ? load32(c->values + (row - 1) * sizeof(from)) : 0;

	assert(row < r->rows && user_type_is_bytes(r->table->columns[column].type));
	return (struct bytes){c->bytes + from, load32(c->values + row * sizeof(from)) - from};
}
