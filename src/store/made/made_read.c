/* SPDX-License-Identifier: Apache-2.0 */
/* made_read.c: finds made tables, and the blocks of each. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/fd.h"
#include "base/utf8.h"
#include "store/file/read/block_scan.h"

bool made_name_ok(const char *name, size_t len)
{
	if (!len || len > MADE_NAME_MAX || (name[0] >= '0' && name[0] <= '9'))
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_'))
			return false;
	}
	return true;
}

/* ---- the head of a generation ---- */

struct made_head {
	const uint8_t *p, *end;
	char *texts; /* room for the remaining texts, each with a NUL in place of its length */
};

/* A text of at most `max` bytes, UTF-8 without NUL. */
static bool made_get_text(struct made_head *h, size_t max, char **ret)
{
	uint32_t unused;
	uint64_t len;

	if (!varint_get(&h->p, h->end, &len) || len > max || len > (size_t)(h->end - h->p) ||
	    memchr(h->p, 0, len))
		return false;
	for (size_t i = 0, n; i < len; i += n) {
		n = utf8_decode(h->p + i, len - i, &unused);
		if (!n)
			return false;
	}
	*ret = h->texts;
	memcpy(h->texts, h->p, len);
	h->texts += len;
	*h->texts++ = '\0';
	h->p += len;
	return true;
}

/* A reference if the schema has such a unit; else the unit is only informative. */
static const char *made_unit(enum column_type type, const char *unit)
{
	int to = unit[0] == '>' ? schema_table_find(unit + 1) : -1;

	if (unit[0] != '>' || ((type == COLUMN_INT || type == COLUMN_UINT || type == COLUMN_ID) &&
			       (to == TABLE_OP || (to >= 0 && schema_is_dimension(to)))))
		return unit;
	return "";
}

static bool made_has_column(const struct column_def *columns, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcasecmp(columns[i].name, name))
			return true;
	}
	return false;
}

static bool made_get_column(struct made_head *h, struct column_def *all, size_t i)
{
	char *type, *unit, *name;
	int number;

	if (!made_get_text(h, MADE_NAME_MAX, &type) || !made_get_text(h, MADE_NAME_MAX, &unit) ||
	    !made_get_text(h, MADE_COLUMN_MAX, &name))
		return false;
	number = column_type_find(type);
	if (number < 0 || !*name || made_has_column(all, i, name))
		return false;
	all[i] = (struct column_def){.name = name,
				     .type = (enum column_type)number,
				     .unit = made_unit((enum column_type)number, unit),
				     .doc = ""};
	return true;
}

static int made_read_head(struct bytes head, struct made *m)
{
	struct made_head h = {head.data, head.data + head.len, NULL};
	struct column_def *columns;
	char *name, *origin, *options;
	uint64_t count;
	int table;

	m->texts = h.texts = malloc(head.len + 1);
	if (!m->texts)
		return -ENOMEM;
	if (!made_get_text(&h, MADE_NAME_MAX, &name) || !made_name_ok(name, strlen(name)) ||
	    !made_get_text(&h, MADE_TEXT_MAX, &origin) ||
	    !varint_get(&h.p, h.end, &m->pub.version) ||
	    !made_get_text(&h, MADE_TEXT_MAX, &options) ||
	    !varint_get(&h.p, h.end, &m->pub.covered) || !varint_get(&h.p, h.end, &count) ||
	    count > SCHEMA_COLUMNS_MAX)
		return -EBADMSG;
	columns = calloc(count + 1, sizeof(*columns));
	m->own = made_own(NULL, columns, 0);
	if (!columns)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!made_get_column(&h, columns, i))
			return -EBADMSG;
	}
	table = schema_table_find(name);
	if (table >= 0 && !strcmp(origin, MADE_BY_USER)) {
		/* the weir that made it had no such table */
		snprintf(m->renamed, sizeof(m->renamed), "%s_", name);
		name = m->renamed;
		table = -1;
	}
	if (h.p != h.end || (table >= 0 && schema_table(table)->kind != TABLE_IS_MADE))
		return -EBADMSG;
	m->own.name = name;
	m->own.column_count = (unsigned int)count;
	m->pub.name = name;
	m->pub.origin = origin;
	m->pub.options = options;
	m->pub.table = table < 0 ? TABLE_OWN : (enum table_id)table;
	m->pub.def = table < 0 ? &m->own : schema_table(table);
	memset(m->to_ours, 0xff, sizeof(m->to_ours));
	/* columns of a schema table are matched by name; one of another type is unknown */
	for (size_t i = 0; i < count; i++) {
		int ours = table < 0 ? (int)i : schema_column_find(m->pub.table, columns[i].name);

		if (ours >= 0 && m->pub.def->columns[ours].type == columns[i].type)
			m->to_ours[i] = (uint8_t)ours;
	}
	return 0;
}

static void made_free_one(struct made *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->coming_count; i++)
		reader_block_free(m->coming[i]);
	free(m->coming);
	free((void *)m->own.columns);
	free(m->texts);
	free(m);
}
DEFINE_CLEANUP(struct made *, made_free_one)

int made_check_head(struct bytes head)
{
	_cleanup_(made_free_onep) struct made *m = calloc(1, sizeof(*m));

	return m ? made_read_head(head, m) : -ENOMEM;
}

/* ---- the tables there are ---- */

static void made_replace(struct store *s, const struct store_made *m)
{
	for (size_t i = 0; i < m->block_count; i++)
		atomic_store(&reader_block(s, m->first_block + i)->pub.replaced, true);
}

/* A table made aside covers all files, and replaces what was made of each. */
static void made_replace_everywhere(struct store *s, const struct made *m)
{
	for (size_t i = 0; i < s->made.count; i++) {
		const struct made *other = s->made.slots[i].now;

		if (other && other->pub.trace != TRACE_ASIDE &&
		    !strcasecmp(other->pub.name, m->pub.name))
			made_replace(s, &other->pub);
	}
}

/* A table is made in a trace while one of its name is aside: only one of them is in force. */
static void made_beside(struct store *s, const struct made *m)
{
	for (size_t i = 0; i < s->made.count; i++) {
		const struct made *aside = s->made.slots[i].now;

		if (!aside || aside->pub.trace != TRACE_ASIDE ||
		    strcasecmp(aside->pub.name, m->pub.name) != 0)
			continue;
		made_replace(s, store_made_is_stale(s, &aside->pub) ? &aside->pub : &m->pub);
	}
}

static struct made_slot *made_slot(struct made_tables *all, const struct made *m)
{
	struct made_slot *slot;

	for (size_t i = 0; i < all->count; i++) {
		slot = &all->slots[i];
		if (slot->now->pub.trace == m->pub.trace &&
		    !strcasecmp(slot->now->pub.name, m->pub.name))
			return slot;
	}
	if (grow((void **)&all->slots, &all->cap, all->count + 1, sizeof(*all->slots)) < 0)
		return NULL;
	slot = &all->slots[all->count++];
	*slot = (struct made_slot){NULL};
	return slot;
}

/* The generation is complete: it replaces the table of its name. 1 if it has rows. */
static int made_publish(struct store *s, struct made *m, uint8_t flags)
{
	struct made_slot *slot;
	size_t listed = 0;
	int r = 0;

	m->pub.partial = flags & BLOCK_MADE_PARTIAL;
	m->pub.first_block = store_block_count(s);
	m->pub.block_count = m->coming_count;
	while (listed < m->coming_count && r >= 0)
		r = scan_list(s, m->coming[listed++]);
	while (listed < m->coming_count)
		reader_block_free(m->coming[listed++]);
	m->coming_count = 0; /* the list owns them now */
	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	slot = made_slot(&s->made, m);
	if (slot && slot->now)
		made_replace(s, &slot->now->pub);
	if (m->pub.trace == TRACE_ASIDE)
		made_replace_everywhere(s, m);
	else
		made_beside(s, m);
	if (slot)
		slot->now = m;
	s->made.changes++;
	pthread_mutex_unlock(&s->lock);
	return !slot ? -ENOMEM : m->pub.block_count > 0;
}

/* Unpacks a head, unless there are too many of them. */
static int made_unpack_head(struct decoder *decoder, struct trace *t,
			    const struct decode_source *src, struct bytes *ret,
			    const char **ret_why)
{
	int r;

	*ret_why = "the heads of made tables are too large";
	if (t->heads > made_heads_max(t->size))
		return -EBADMSG;
	t->heads += MADE_HEAD_COST;
	r = decode_blob(decoder, src, ret, ret_why);
	if (r < 0)
		return r;
	t->heads += ret->len;
	return r;
}

static int made_take_head(struct store *s, struct trace *t, uint64_t offset, struct found_block *c)
{
	const struct block_header *h = c->view.head;
	struct decode_source src = {
		.fd = t->fd, .payload = offset + h->header_len, .view = c->view};
	_cleanup_(made_free_onep) struct made *m = calloc(1, sizeof(*m));
	const char *why = "";
	struct bytes text;
	int r = m ? made_unpack_head(s->decoder, t, &src, &text, &why) : -ENOMEM;

	t->coming = NULL;
	if (r >= 0) {
		why = "it does not name its table";
		r = made_read_head(text, m);
	}
	if (r == -EBADMSG) {
		reader_damage(s, &(struct store_damage){.blocks = 1, .bytes = h->payload_len},
			      h->seq, offset, why);
		return 0;
	}
	if (r < 0)
		return r;
	m->pub.trace = t->number;
	m->pub.seq = h->seq;
	m->pub.sum = XXH3_64bits(&h->checksum, sizeof(h->checksum));
	m->offset = m->last_at = offset;
	m->last_sum = h->checksum;
	m->before = s->made.last;
	s->made.last = m;
	if (h->flags & BLOCK_MADE_LAST)
		return made_publish(s, TAKE_PTR(m), h->flags);
	t->coming = TAKE_PTR(m);
	return 0;
}

/* Its blocks are consecutive: if one is missing, the generation is incomplete. */
static int made_take_rows(struct store *s, struct trace *t, uint64_t offset, struct found_block *c)
{
	const struct block_header *h = c->view.head;
	struct made *m = TAKE_PTR(t->coming);
	struct block *b;
	int r;

	if (!m || h->seq != m->pub.seq + m->coming_count + 1 || !h->rows || !m->own.column_count)
		return 0;
	r = grow((void **)&m->coming, &m->coming_cap, m->coming_count + 1, sizeof(struct block *));
	if (r < 0)
		return r;
	b = scan_new_block(s, t, offset, &(struct block_of){m->pub.table, m->pub.def, m->to_ours},
			   c);
	if (!b)
		return -ENOMEM;
	m->last_at = offset;
	m->last_sum = h->checksum;
	m->pub.sum = XXH3_64bits_withSeed(&h->checksum, sizeof(h->checksum), m->pub.sum);
	m->coming[m->coming_count++] = b;
	m->pub.rows += h->rows;
	if (h->flags & BLOCK_MADE_LAST)
		return made_publish(s, m, h->flags);
	t->coming = m;
	return 0;
}

int made_take(struct store *s, struct trace *t, uint64_t offset, struct found_block *c)
{
	return c->view.head->kind == BLOCK_MADE ? made_take_head(s, t, offset, c)
						: made_take_rows(s, t, offset, c);
}

int made_look_back(struct trace *t)
{
	const struct made *m = t->coming;
	struct block_header h;
	ssize_t n;

	if (!m || !t->ended || t->next_seq != m->pub.seq + m->coming_count + 1)
		return 0;
	n = fd_read_at(t->fd, &h, sizeof(h), m->last_at);
	if (n < 0)
		return (int)n;
	if (n == sizeof(h) && h.checksum == m->last_sum)
		return 0;
	t->next = m->offset;
	t->next_seq = m->pub.seq;
	t->coming = NULL;
	return 0;
}

void made_free(struct store *s)
{
	if (s->made.writer)
		(void)store_close(TAKE_PTR(s->made.writer), NULL);
	if (s->made.aside)
		reader_trace_free(s->made.aside);
	free(s->made.aside);
	while (s->made.last) {
		struct made *m = s->made.last;

		s->made.last = m->before;
		made_free_one(m);
	}
	free(s->made.slots);
}

size_t store_made_count(const struct store *s)
{
	size_t n;

	pthread_mutex_lock(reader_lock(s));
	n = s->made.count;
	pthread_mutex_unlock(reader_lock(s));
	return n;
}

const struct store_made *store_made(const struct store *s, size_t i)
{
	const struct made *m;

	pthread_mutex_lock(reader_lock(s));
	assert(i < s->made.count);
	m = s->made.slots[i].now;
	pthread_mutex_unlock(reader_lock(s));
	return m->own.column_count ? &m->pub : NULL;
}

const struct store_made *store_made_dropped(const struct store *s, size_t i)
{
	const struct made *m;

	pthread_mutex_lock(reader_lock(s));
	assert(i < s->made.count);
	m = s->made.slots[i].now;
	pthread_mutex_unlock(reader_lock(s));
	return m->own.column_count ? NULL : &m->pub;
}

uint64_t store_made_changes(const struct store *s)
{
	uint64_t n;

	pthread_mutex_lock(reader_lock(s));
	n = s->made.changes;
	pthread_mutex_unlock(reader_lock(s));
	return n;
}

uint64_t store_recorded(const struct store *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->trace_count; i++)
		sum += s->traces[i].recorded;
	return sum;
}

bool store_made_is_stale(const struct store *s, const struct store_made *m)
{
	if (m->trace == TRACE_ASIDE)
		return store_recorded(s) != m->covered;
	return reader_trace(s, m->trace)->recorded != m->covered;
}
