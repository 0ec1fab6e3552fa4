/* SPDX-License-Identifier: Apache-2.0 */
/* dims_file.c: rows of files packed, and their names. */
#include "batch/dims_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/map.h"
#include "base/varint.h"
#include "schema/vocab.h"

#define CHUNK_BYTES  ((size_t)64 << 10)
#define RECENT_SLOTS 4096 /* a power of two */

struct file_chunk {
	struct file_chunk *next;
	uint8_t data[];
};

/* Properties that many files share. No padding: compared as bytes. */
struct file_kind {
	int64_t dev, type, family, proto;
	const uint8_t *fs;
	uint64_t fs_len, name_only;
};

/* Which numbers follow, in this order; the kind comes first. */
enum number {
	NUMBER_INODE = 1 << 0, /* minus the row's own id */
	NUMBER_INODE_NULL = 1 << 1,
	NUMBER_SINCE = 1 << 2, /* minus the first row's */
	NUMBER_INO = 1 << 3,
	NUMBER_GENERATION = 1 << 4,
	NUMBER_DELETED = 1 << 5,
	NUMBER_BIRTH = 1 << 6,
	NUMBER_PEER_INO = 1 << 7,
};

/* Which texts follow, in this order. The name is included if it differs from the path. */
enum text {
	TEXT_NAME,
	TEXT_PATH,
	TEXT_HOSTPATH,
	TEXT_BASE,
	TEXT_ARGUMENT,
	TEXT_LOCAL,
	TEXT_PEER,
	TEXT_COUNT
};

#define VARINT_MAX	10
#define CONNECTION_MASK ((1ull << 53) - 1)

struct recent_texts {
	uint64_t hash; /* compared before the texts, which are not in the cache */
	const uint8_t *texts;
};

static_assert(NUMBER_PEER_INO <= UINT8_MAX, "the mask of numbers is a byte");
static_assert(TEXT_COUNT <= 8, "the mask of texts is a byte");
static_assert((RECENT_SLOTS & (RECENT_SLOTS - 1)) == 0, "slots are a power of two");

void file_pack_free(struct file_pack *p)
{
	while (p->chunks) {
		struct file_chunk *next = p->chunks->next;

		free(p->chunks);
		p->chunks = next;
	}
	intern_free(&p->kinds);
	free(p->recent);
	buf_free(&p->scratch);
	buf_free(&p->name);
	*p = (struct file_pack){0};
}

static uint8_t *dims_file_take_room(struct file_pack *p, size_t len)
{
	if (len > p->room) {
		size_t size = MAX(len, CHUNK_BYTES);
		struct file_chunk *c = malloc(sizeof(*c) + size);

		if (!c)
			return NULL;
		c->next = p->chunks;
		p->chunks = c;
		p->room = size;
	}
	assert(p->chunks && p->room >= len);
	p->room -= len;
	/* a chunk is filled from its end to its beginning */
	return p->chunks->data + p->room;
}

static const uint8_t *dims_file_keep(struct file_pack *p, const uint8_t *data, size_t len)
{
	uint8_t *to = dims_file_take_room(p, len);

	if (to)
		memcpy(to, data, len);
	return to;
}

/* ---- numbers ---- */

static const uint8_t *get_number(const uint8_t *from, uint64_t *ret)
{
	*ret = varint_known(&from, from + VARINT_MAX);
	return from;
}

/* The difference from any other value. */
static uint64_t distance(int64_t v, int64_t from)
{
	return zigzag((int64_t)((uint64_t)v - (uint64_t)from));
}

static int64_t at_distance(uint64_t packed, int64_t from)
{
	return (int64_t)((uint64_t)from + (uint64_t)unzigzag(packed));
}

static int put_kind(struct file_pack *p, const struct dims_file *f, uint32_t *ret)
{
	const struct file_kind k = {.dev = f->dev,
				    .type = f->type,
				    .family = f->family,
				    .proto = f->proto,
				    .fs = f->fs.data,
				    .fs_len = f->fs.len,
				    .name_only = f->name_only};

	static_assert(sizeof(k) == 7 * 8, "no padding");
	return intern_add(&p->kinds, &k, sizeof(k), ret);
}

static uint8_t *put_if(uint8_t *to, uint8_t *mask, enum number bit, bool set, uint64_t v)
{
	if (!set)
		return to;
	*mask |= bit;
	return to + varint_put(to, v);
}

static int dims_file_put_numbers(struct file_pack *p, int64_t id, const struct dims_file *f,
				 const uint8_t **ret)
{
	uint8_t packed[1 + 9 * VARINT_MAX], *mask = packed, *to = packed + 1;
	uint32_t kind;
	int r = put_kind(p, f, &kind);

	if (r < 0)
		return r;
	*mask = f->inode < 0 ? NUMBER_INODE_NULL : 0;
	to += varint_put(to, kind);
	to = put_if(to, mask, NUMBER_INODE, f->inode >= 0 && f->inode != id,
		    distance(f->inode, id));
	to = put_if(to, mask, NUMBER_SINCE, f->since != INT64_MIN, distance(f->since, p->since));
	to = put_if(to, mask, NUMBER_INO, f->ino != 0, f->ino);
	to = put_if(to, mask, NUMBER_GENERATION, f->generation != 0, f->generation);
	to = put_if(to, mask, NUMBER_DELETED, f->deleted != INT64_MIN,
		    distance(f->deleted, p->since));
	to = put_if(to, mask, NUMBER_BIRTH, f->birth != INT64_MIN, distance(f->birth, p->since));
	to = put_if(to, mask, NUMBER_PEER_INO, f->peer_ino != 0, f->peer_ino);
	assert((size_t)(to - packed) <= sizeof(packed));
	*ret = dims_file_keep(p, packed, (size_t)(to - packed));
	return *ret ? 0 : -ENOMEM;
}

/* The next number if its bit is set in the mask. */
static const uint8_t *get_if(const uint8_t *from, uint8_t mask, enum number bit, uint64_t *ret)
{
	return mask & bit ? get_number(from, ret) : from;
}

int64_t file_unpack_inode(int64_t id, const struct file_row *row)
{
	uint8_t mask = *row->numbers;
	uint64_t v = 0;

	if (mask & NUMBER_INODE_NULL)
		return -1;
	get_if(get_number(row->numbers + 1, &v), mask, NUMBER_INODE, &v);
	return mask & NUMBER_INODE ? at_distance(v, id) : id;
}

int64_t file_unpack_since(const struct file_pack *p, int64_t id, const struct file_row *row)
{
	uint8_t mask = *row->numbers;
	const uint8_t *from;
	uint64_t v;

	if (!(mask & NUMBER_SINCE))
		return INT64_MIN;
	from = get_if(get_number(row->numbers + 1, &v), mask, NUMBER_INODE, &v);
	get_number(from, &v);
	return at_distance(v, p->since);
}

static const uint8_t *get_time(const struct file_pack *p, const uint8_t *from, uint8_t mask,
			       enum number bit, int64_t *ret)
{
	uint64_t v;

	*ret = INT64_MIN;
	if (!(mask & bit))
		return from;
	from = get_number(from, &v);
	*ret = at_distance(v, p->since);
	return from;
}

static void get_numbers(const struct file_pack *p, int64_t id, const uint8_t *from,
			struct dims_file *f)
{
	uint8_t mask = *from++;
	struct file_kind k;
	uint64_t kind, inode = 0;
	struct bytes shared;

	from = get_number(from, &kind);
	from = get_if(from, mask, NUMBER_INODE, &inode);
	f->inode = mask & NUMBER_INODE_NULL ? -1 : at_distance(inode, id);
	from = get_time(p, from, mask, NUMBER_SINCE, &f->since);
	from = get_if(from, mask, NUMBER_INO, &f->ino);
	from = get_if(from, mask, NUMBER_GENERATION, &f->generation);
	from = get_time(p, from, mask, NUMBER_DELETED, &f->deleted);
	from = get_time(p, from, mask, NUMBER_BIRTH, &f->birth);
	get_if(from, mask, NUMBER_PEER_INO, &f->peer_ino);
	shared = intern_get(&p->kinds, (uint32_t)kind);
	assert(shared.len == sizeof(k));
	memcpy(&k, shared.data, sizeof(k));
	f->dev = k.dev;
	f->type = k.type;
	f->family = k.family;
	f->proto = k.proto;
	f->fs = (struct bytes){k.fs, k.fs_len};
	f->name_only = k.name_only;
}

/* ---- names ---- */

static const char *socket_word(const struct dims_file *f)
{
	int64_t type = f->proto >= 0 ? f->proto >> 16 : -1;

	switch (f->family) {
	case AF_UNIX:
		return "unix";
	case AF_INET:
	case AF_INET6:
		return type == SOCK_STREAM ? "tcp" : type == SOCK_DGRAM ? "udp" : "raw";
	case AF_NETLINK:
		return "netlink";
	case AF_PACKET:
		return "packet";
	default:
		return "socket";
	}
}

/* "unix:/x" names one end; the end that has a name names the connection. */
static bool dims_file_is_named(struct bytes address)
{
	return address.len && !(address.len == 5 && !memcmp(address.data, "unix:", 5));
}

struct bytes dims_peer(const struct dims_file *f)
{
	return f->family == AF_UNIX && !dims_file_is_named(f->peer) && dims_file_is_named(f->local)
		       ? f->local
		       : f->peer;
}

static bool starts_with(struct bytes t, const char *with)
{
	size_t len = strlen(with);

	return t.len >= len && !memcmp(t.data, with, len);
}

uint64_t dims_connection(const struct dims *d, int64_t file_id, const struct dims_file *f)
{
	uint64_t machine = hash_u64((uint64_t)dims_machine(d, file_id)), one, other;

	if (f->family == AF_UNIX) {
		if (!f->ino || !f->peer_ino)
			return 0;
		one = f->ino;
		other = f->peer_ino;
	} else if (f->local.len && f->peer.len) {
		one = hash_bytes(f->local.data, f->local.len);
		other = hash_bytes(f->peer.data, f->peer.len);
		if (!starts_with(f->local, "127.") && !starts_with(f->local, "[::1]"))
			machine = 0;
	} else {
		return 0;
	}
	one = hash_u64(MIN(one, other) ^ hash_u64(MAX(one, other) ^ machine));
	/* an IPv6 socket may have an IPv4 peer: only the type is common to both ends */
	one = hash_u64(one ^ (f->family == AF_UNIX) ^ (uint64_t)(f->proto >> 16) << 1) &
	      CONNECTION_MASK;
	return MAX(one, 1u);
}

static int append(struct buf *to, struct bytes text)
{
	return buf_append(to, text.data, text.len);
}

static int append_str(struct buf *to, const char *text)
{
	return buf_append(to, text, strlen(text));
}

/* A trace may have a million sockets: formats only what is needed. */
static int socket_name(struct buf *to, const struct dims_file *f)
{
	struct bytes one = dims_file_is_named(f->peer) ? f->peer : f->local;

	if (f->family == AF_UNIX && dims_file_is_named(one))
		return append(to, one);
	if (f->family != AF_UNIX && one.len) {
		append_str(to, socket_word(f));
		append_str(to, " ");
		if (!f->peer.len)
			return append(to, f->local);
		append(to, f->local);
		append_str(to, "->");
		return append(to, f->peer);
	}
	return buf_printf(to, "%s:[%llu]", socket_word(f), (unsigned long long)f->ino);
}

static int argument_name(struct buf *to, const struct dims_file *f)
{
	bool relative = !f->argument.len || f->argument.data[0] != '/';

	if (relative && f->base.len) {
		buf_append(to, f->base.data, f->base.len);
		if (f->argument.len && f->base.data[f->base.len - 1] != '/')
			buf_append(to, "/", 1);
	}
	return buf_append(to, f->argument.data, f->argument.len);
}

/* The file's name as people read it; never empty. */
static int write_name(struct buf *to, const struct dims_file *f)
{
	static const char *const words[FILE_TYPE_COUNT] = {
		[FILE_TYPE_UNKNOWN] = "file",	     [FILE_TYPE_REGULAR] = "file",
		[FILE_TYPE_DIRECTORY] = "directory", [FILE_TYPE_SYMLINK] = "symlink",
		[FILE_TYPE_CHAR] = "char",	     [FILE_TYPE_BLOCK] = "block",
		[FILE_TYPE_PIPE] = "pipe",	     [FILE_TYPE_SOCKET] = "socket",
		[FILE_TYPE_ANON] = "anon_inode",
	};
	bool known = f->type >= 0 && f->type < FILE_TYPE_COUNT;

	if (f->type == FILE_TYPE_SOCKET || f->family >= 0)
		return socket_name(to, f);
	if (f->argument.len || f->base.len)
		return argument_name(to, f);
	if (!f->ino && f->dev < 0)
		return buf_append(to, "?", 1);
	return buf_printf(to, "%s:[%llu]", known ? words[f->type] : "file",
			  (unsigned long long)f->ino);
}

/* ---- texts ---- */

static uint8_t *dims_file_put_text(uint8_t *to, uint8_t *mask, enum text which, struct bytes text)
{
	assert(which < TEXT_COUNT);
	if (!text.data)
		return to;
	*mask |= (uint8_t)(1 << which);
	to += varint_put(to, text.len);
	if (text.len)
		memcpy(to, text.data, text.len);
	to += text.len;
	*to++ = '\0';
	return to;
}

static const uint8_t *dims_file_get_text(const uint8_t *from, struct bytes *ret)
{
	uint64_t len;

	from = get_number(from, &len);
	*ret = (struct bytes){from, len};
	return from + len + 1;
}

static size_t texts_len(const uint8_t *texts)
{
	const uint8_t *at = texts + 1;
	struct bytes text;

	for (uint8_t mask = *texts; mask; mask &= (uint8_t)(mask - 1))
		at = dims_file_get_text(at, &text);
	return (size_t)(at - texts);
}

static bool same_texts(const uint8_t *kept, const struct buf *now)
{
	return kept && texts_len(kept) == now->len && !memcmp(kept, now->data, now->len);
}

/* Packs the texts into p->scratch; a trace may have millions of rows. */
static int write_texts(struct file_pack *p, const struct dims_file *f)
{
	bool named = !f->path.len || f->type == FILE_TYPE_SOCKET || f->family >= 0;
	struct bytes texts[TEXT_COUNT] = {
		[TEXT_PATH] = f->path,	       [TEXT_HOSTPATH] = f->hostpath, [TEXT_BASE] = f->base,
		[TEXT_ARGUMENT] = f->argument, [TEXT_LOCAL] = f->local,	      [TEXT_PEER] = f->peer,
	};
	size_t most = 1; /* upper bound of the packed size; 1: the mask */
	uint8_t *to;
	int r = 0;

	buf_clear(&p->name);
	if (named)
		r = write_name(&p->name, f);
	if (r >= 0 && named && !p->name.len)
		r = buf_append(&p->name, "?", 1);
	if (r < 0)
		return r;
	texts[TEXT_NAME] = named ? (struct bytes){p->name.data, p->name.len} : (struct bytes){0};
	assert(texts[TEXT_NAME].len || texts[TEXT_PATH].len); /* file_unpack_name() relies on it */
	for (enum text i = 0; i < TEXT_COUNT; i++)
		most += VARINT_MAX + texts[i].len + 1;
	buf_clear(&p->scratch);
	r = buf_reserve(&p->scratch, most);
	if (r < 0)
		return r;
	*p->scratch.data = 0;
	to = p->scratch.data + 1;
	for (enum text i = 0; i < TEXT_COUNT; i++)
		to = dims_file_put_text(to, p->scratch.data, i, texts[i]);
	p->scratch.len = (size_t)(to - p->scratch.data);
	assert(p->scratch.len <= most);
	return 0;
}

static int put_texts(struct file_pack *p, const struct dims_file *f, const uint8_t *before,
		     const uint8_t **ret)
{
	struct recent_texts *slot;
	uint64_t hash;
	int r = write_texts(p, f);

	if (r < 0)
		return r;
	if (same_texts(before, &p->scratch)) {
		*ret = before;
		return 0;
	}
	if (!p->recent)
		p->recent = calloc(RECENT_SLOTS, sizeof(*p->recent));
	if (!p->recent)
		return -ENOMEM;
	hash = hash_bytes(p->scratch.data, p->scratch.len);
	slot = &p->recent[hash % RECENT_SLOTS];
	if (slot->hash != hash || !same_texts(slot->texts, &p->scratch))
		*slot = (struct recent_texts){hash,
					      dims_file_keep(p, p->scratch.data, p->scratch.len)};
	*ret = slot->texts;
	return *ret ? 0 : -ENOMEM;
}

static void get_texts(const uint8_t *from, struct dims_file *f)
{
	struct bytes texts[TEXT_COUNT] = {0};
	uint8_t mask = *from++;

	for (enum text i = 0; i < TEXT_COUNT; i++) {
		if (mask & 1 << i)
			from = dims_file_get_text(from, &texts[i]);
	}
	f->path = texts[TEXT_PATH];
	f->hostpath = texts[TEXT_HOSTPATH];
	f->base = texts[TEXT_BASE];
	f->argument = texts[TEXT_ARGUMENT];
	f->local = texts[TEXT_LOCAL];
	f->peer = texts[TEXT_PEER];
}

struct bytes file_unpack_name(const struct file_row *row)
{
	struct bytes name;

	assert(row->texts && *row->texts & (1 << TEXT_NAME | 1 << TEXT_PATH));
	/* the name, or else the path, is the first text */
	dims_file_get_text(row->texts + 1, &name);
	return name;
}

/* ---- rows ---- */

int file_pack_row(struct file_pack *p, int64_t id, const struct dims_file *f, bool again,
		  struct file_row *row)
{
	struct file_row now;
	int r;

	assert(!again || (row->numbers && row->texts));
	if (!p->chunks && f->since != INT64_MIN)
		p->since = f->since;
	r = dims_file_put_numbers(p, id, f, &now.numbers);
	if (r < 0)
		return r;
	r = put_texts(p, f, again ? row->texts : NULL, &now.texts);
	if (r < 0)
		return r;
	*row = now;
	return 0;
}

void file_unpack(const struct file_pack *p, int64_t id, const struct file_row *row,
		 struct dims_file *ret)
{
	assert(row->numbers && row->texts);
	*ret = (struct dims_file){0};
	get_numbers(p, id, row->numbers, ret);
	get_texts(row->texts, ret);
}
