/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/identity.h"

#include "batch/ids.h"
#include "schema/vocab.h"

#define HOST_NONE UINT64_MAX

void identity_free(struct identity *k)
{
	map_free(&k->known);
	map_free(&k->hosts);
	buf_free(&k->key);
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		map_free(&k->others[i]);
}

int64_t identity_of(const struct identity *k, enum table_id table, int64_t id)
{
	uint64_t other;

	return id >= 0 && map_get(&k->others[table], (uint64_t)id, &other) ? (int64_t)other : id;
}

/* ---- what identifies a thing: numbers and names, each with its length ---- */

static int identity_put_int(struct buf *key, int64_t v)
{
	return buf_append(key, &v, sizeof(v));
}

/* Null and the empty text must differ. */
static int identity_put_bytes(struct buf *key, const struct batch *b, unsigned int column,
			      size_t row)
{
	struct bytes v = {NULL, 0};
	int r;

	if (batch_is_null(b, column, row))
		return identity_put_int(key, -1);
	v = batch_get_bytes(b, column, row);
	r = identity_put_int(key, (int64_t)v.len);
	return r < 0 || !v.len ? r : buf_append(key, v.data, v.len);
}

static int identity_put_column(struct buf *key, const struct batch *b, unsigned int column,
			       size_t row)
{
	return identity_put_int(key, batch_get(b, column, row, -1));
}

int64_t identity_host(const struct identity *k, int64_t id)
{
	uint64_t host;

	return map_get(&k->hosts, id_recording(id), &host) && host != HOST_NONE ? (int64_t)host
										: -1;
}

static int identity_host_key(struct buf *key, const struct batch *b, size_t row)
{
	int r;

	if (batch_is_null(b, HOST_BOOT, row))
		return 0;
	r = identity_put_bytes(key, b, HOST_NAME, row);
	return r < 0 ? r : identity_put_bytes(key, b, HOST_BOOT, row);
}

static int cgroup_key(struct buf *key, const struct batch *b, size_t row)
{
	return batch_is_null(b, CGROUP_KERNEL_ID, row)
		       ? 0
		       : identity_put_column(key, b, CGROUP_KERNEL_ID, row);
}

/* Sources that do not know the kernel's start time must agree on the time of day; otherwise the processes are distinct. */
static int process_key(struct buf *key, const struct batch *b, size_t row)
{
	bool born = !batch_is_null(b, PROCESS_BORN, row);
	unsigned int start = born ? PROCESS_BORN : PROCESS_STARTED;

	if (batch_is_null(b, PROCESS_PID, row) || batch_is_null(b, start, row))
		return buf_status(key);
	identity_put_int(key, start);
	identity_put_column(key, b, start, row);
	return identity_put_column(key, b, PROCESS_PID, row);
}

static int thread_key(const struct identity *k, struct buf *key, const struct batch *b, size_t row)
{
	int64_t process = batch_get(b, THREAD_PROCESS_ID, row, -1);

	if (batch_is_null(b, THREAD_BORN, row) || process < 0)
		return buf_status(key);
	identity_put_int(key, identity_of(k, TABLE_PROCESS, process));
	identity_put_column(key, b, THREAD_BORN, row);
	return identity_put_column(key, b, THREAD_TID, row);
}

/* Apart from its numbers, only the name of a file is known. */
static int name_key(struct buf *key, const struct batch *b, size_t row)
{
	static const uint8_t names[] = {FILE_PATH,     FILE_HOSTPATH, FILE_BASE,
					FILE_ARGUMENT, FILE_LOCAL,    FILE_PEER};
	int r = identity_put_column(key, b, FILE_FAMILY, row);

	for (size_t i = 0; i < ARRAY_SIZE(names) && r >= 0; i++)
		r = identity_put_bytes(key, b, names[i], row);
	return r;
}

/*
 * Birth, or a generation from the file system, distinguishes files that used one inode number successively. The upper
 * half of `generation` counts from the start of its recording, so across recordings it identifies a file with neither
 * of these only together with its name. The kernel does not reuse the number of a socket or a pipe until it has counted
 * to 2^32.
 */
static int identity_file_key(struct buf *key, const struct batch *b, size_t row)
{
	int64_t type = batch_get(b, FILE_TYPE, row, FILE_TYPE_UNKNOWN);
	uint64_t generation = (uint64_t)batch_get(b, FILE_GENERATION, row, 0);
	bool named = batch_get(b, FILE_NAME_ONLY, row, 0) == 1;
	int r;

	if (named)
		return name_key(key, b, row);
	if (batch_is_null(b, FILE_DEV, row) || batch_is_null(b, FILE_INO, row))
		return 0;
	identity_put_column(key, b, FILE_DEV, row);
	identity_put_column(key, b, FILE_INO, row);
	r = identity_put_int(key, type);
	if (r < 0 || type == FILE_TYPE_SOCKET || type == FILE_TYPE_PIPE)
		return r;
	if (batch_is_null(b, FILE_BIRTH, row) && !(uint32_t)generation) {
		r = identity_put_int(key, (int64_t)generation);
		return r < 0 ? r : name_key(key, b, row);
	}
	identity_put_int(key, (uint32_t)generation);
	return identity_put_column(key, b, FILE_BIRTH, row);
}

/* Empty if nothing identifies the row outside its recording. */
static int identity_key(const struct identity *k, const struct batch *b, size_t row, int64_t id,
			struct buf *key)
{
	int64_t host = identity_host(k, id);
	size_t before;
	int r;

	if (b->table == TABLE_HOST)
		return identity_host_key(key, b, row);
	if (b->table == TABLE_PROCESS && !batch_is_null(b, PROCESS_HOST_ID, row))
		host = identity_of(k, TABLE_HOST, batch_get(b, PROCESS_HOST_ID, row, -1));
	if (host < 0)
		return 0;
	r = identity_put_int(key, host);
	before = key->len;
	if (r < 0)
		return r;
	switch (b->table) {
	case TABLE_CGROUP:
		r = cgroup_key(key, b, row);
		break;
	case TABLE_PROCESS:
		r = process_key(key, b, row);
		break;
	case TABLE_THREAD:
		r = thread_key(k, key, b, row);
		break;
	case TABLE_STACK: /* one recording may have names for its stacks, another not */
		break;
	default:
		assert(b->table == TABLE_FILE);
		r = identity_file_key(key, b, row);
		break;
	}
	if (r >= 0 && key->len == before)
		buf_clear(key);
	return r;
}

/* ---- learning ---- */

/* A host whose boot id is unknown matches no other host. */
static int note_host(struct identity *k, int64_t id)
{
	uint64_t known, host = (uint64_t)identity_of(k, TABLE_HOST, id);

	if (map_get(&k->hosts, id_recording(id), &known) && known != host)
		host = HOST_NONE;
	return map_set(&k->hosts, id_recording(id), host);
}

/* Rows of one recording stay distinct, as they are when it is read alone. */
int identity_learn(struct identity *k, const struct batch *b, size_t row, int64_t first)
{
	struct buf *key = &k->key;
	uint64_t hash, known;
	int r;

	buf_clear(key);
	r = identity_key(k, b, row, first, key);

	if (r >= 0)
		r = identity_put_int(key, b->table);
	if (r < 0)
		return r;
	hash = hash_bytes(key->data, key->len);
	if (key->len > sizeof(int64_t)) {
		if (!map_get(&k->known, hash, &known))
			r = map_set(&k->known, hash, (uint64_t)first);
		else if (id_recording((int64_t)known) != id_recording(first))
			r = map_set(&k->others[b->table], (uint64_t)first, known);
	}
	return r < 0 || b->table != TABLE_HOST ? r : note_host(k, first);
}
