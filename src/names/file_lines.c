/* SPDX-License-Identifier: Apache-2.0 */
#include "names/file_lines.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/map.h"
#include "batch/id_array.h"
#include "names/names.h"
#include "schema/vocab.h"

#define NONE UINT32_MAX
/* flag in struct file_lines.files: other files may share this file's line */
#define SHARES	(1u << 31)
#define UNNAMED 5 /* length of "unix:", the address of an unnamed unix socket */

struct socket {
	uint64_t file : 63, listens : 1;
	uint32_t local, peer; /* indexes of addresses; NONE: no address */
};
static_assert(sizeof(struct socket) == 16, "there may be a million");

/* A local address of sockets of one machine, or an address of their peers. */
struct address {
	uint64_t hash;
	uint32_t sockets; /* number of sockets with this address */
	/* sockets grouped under this address: none of them shares a more common one */
	uint32_t members;
	uint32_t first; /* first of the members */
};

/* A socket to be added. Sockets are queued so that the hash slots of their addresses are prefetched before they are read. */
struct coming {
	int64_t file;
	uint64_t local, peer; /* hashes of the addresses; 0: no address */
	bool listens;
};
#define COMING_MAX 32u

struct file_lines {
	uint64_t clock; /* of the dims, at the last update */
	/* version -> its file, an index within the recording; may have SHARES set */
	struct id_array files;
	struct map versions; /* set of ids that are not the first version of their generation */
	struct map owners;   /* hash of a name -> the file that has it */
	struct map alone;    /* file known only by name -> hash of that name */
	struct map asked;    /* that hash -> the first file known only by this name */
	/* file known only by name -> the file that represents it, if another does */
	struct map same;
	struct map shared; /* file whose name another file has had -> hash of its name and place */
	struct map places; /* that hash -> the lowest file id with it */
	bool renamed;	   /* a file in `shared` has been renamed since it was added */
	struct id_array socket_at; /* file -> index of its socket */
	struct socket *sockets;
	size_t socket_count, sockets_cap;
	struct address *addresses;
	size_t address_count, addresses_cap;
	/* hash table: upper half of the hash, and index of the address + 1; 0: free */
	uint64_t *slots;
	size_t slot_count; /* a power of two; at most 3/4 of the slots are used */
	struct coming coming[COMING_MAX];
	size_t coming_count;
	bool connected; /* sockets or their addresses have changed */
	/*
	 * New and changed files still to be processed, newest first. Files of all types are in [0, unnamed); sockets
	 * among them move to [first_socket, pending_count).
	 */
	int64_t *pending;
	size_t unnamed, first_socket, pending_count, pending_cap;
	/* of the dims; at named_clock, file_lines_file() is up to date */
	uint64_t pending_clock, named_clock;
};

/* ---- names ---- */

/* Makes later queries for the line of this file look it up. */
static void mark_shared(const struct file_lines *l, int64_t file)
{
	uint32_t *e = id_array_at(&l->files, file);

	if (e && *e != NONE)
		*e |= SHARES;
}

static uint64_t hash_at(const struct dims *d, int64_t id, int64_t where, struct bytes name)
{
	const uint64_t key[] = {(uint64_t)dims_machine(d, id), (uint64_t)where,
				hash_bytes(name.data, name.len)};

	return hash_bytes(key, sizeof(key));
}

static uint64_t file_lines_name_hash(const struct dims *d, int64_t file)
{
	return hash_at(d, file, 0, names_trimmed(dims_file_name(d, file)));
}

/*
 * Processes with other mounts may use the same path for another file. The device or the path seen by the recorder then
 * differs.
 */
static uint64_t place_hash(const struct dims *d, int64_t file)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(d, dims_latest_file(d, file), &room);
	struct bytes name = f && f->hostpath.len ? f->hostpath : dims_file_name(d, file);

	return hash_at(d, file, f ? f->dev : -1, name);
}

/* Keeps the lowest id, which represents the others. */
static int keep_least(struct map *m, uint64_t key, uint64_t id)
{
	uint64_t known;

	return map_get(m, key, &known) && known <= id ? 0 : map_set(m, key, id);
}

static int share_name(struct file_lines *l, const struct dims *d, int64_t file)
{
	uint64_t place = place_hash(d, file);
	int r = map_set(&l->shared, (uint64_t)file, place);

	if (r < 0)
		return r;
	mark_shared(l, file);
	return keep_least(&l->places, place, (uint64_t)file);
}

/* True if another file can have had this name, unlike "pipe:[7]". */
static bool has_name(const struct dims_file *f)
{
	return f->type == FILE_TYPE_ANON || (f->path.len && f->path.data[0] == '/');
}

/* Records which file has this name: the latest, if several files had it. */
static int file_lines_take_name(struct file_lines *l, const struct dims *d, int64_t file,
				const struct dims_file *f)
{
	uint64_t hash = file_lines_name_hash(d, file), other, place;
	int r;

	if (f->name_only) {
		r = keep_least(&l->asked, hash, (uint64_t)file);
		return r < 0 ? r : map_set(&l->alone, (uint64_t)file, hash);
	}
	if (map_get(&l->shared, (uint64_t)file, &place) && place != place_hash(d, file))
		l->renamed = true;
	if (map_get(&l->owners, hash, &other) && (int64_t)other != file &&
	    file_lines_name_hash(d, (int64_t)other) == hash) {
		r = share_name(l, d, (int64_t)other);
		if (r >= 0)
			r = share_name(l, d, file);
		if (r < 0)
			return r;
	}
	return map_set(&l->owners, hash, (uint64_t)file);
}

/* Recomputes which files share a name, because files that were renamed have left their lines. */
static int share_anew(struct file_lines *l, const struct dims *d)
{
	_cleanup_(map_free) struct map before = l->shared;
	uint64_t file, ignored;
	size_t pos = 0;
	int r = 0;

	l->shared = (struct map){0};
	map_clear(&l->places);
	while (r >= 0 && map_next(&before, &pos, &file, &ignored))
		r = share_name(l, d, (int64_t)file);
	l->renamed = r < 0;
	return r;
}

/* For each file known only by name, finds the file that represents it: the one that has the name, or else the first such file. */
static int find_same(struct file_lines *l, const struct dims *d)
{
	uint64_t id, hash, other;
	size_t pos = 0;
	int r = 0;

	map_clear(&l->same);
	while (r >= 0 && map_next(&l->alone, &pos, &id, &hash)) {
		/* a file renamed since then no longer owns the name */
		if ((map_get(&l->owners, hash, &other) &&
		     file_lines_name_hash(d, (int64_t)other) == hash) ||
		    (map_get(&l->asked, hash, &other) && other != id))
			r = map_set(&l->same, id, other);
	}
	return r;
}

/* ---- sockets ---- */

#define SLOT_TAG ((uint64_t)UINT32_MAX << 32)

/*
 * The slot of a hash, or the free slot where it belongs. With a million addresses nearly every access to one is a cache
 * miss, so an address is read only if half of its hash matches.
 */
static uint64_t *address_slot(const struct file_lines *l, uint64_t hash)
{
	size_t i = hash & (l->slot_count - 1);

	for (; l->slots[i]; i = (i + 1) & (l->slot_count - 1)) {
		if (!((l->slots[i] ^ hash) & SLOT_TAG) &&
		    l->addresses[(uint32_t)l->slots[i] - 1].hash == hash)
			break;
	}
	return &l->slots[i];
}

/* Makes room for the two addresses of one more socket. */
static int grow_slots(struct file_lines *l)
{
	size_t count = MAX(2 * l->slot_count, (size_t)1024);
	uint64_t *slots;

	if (l->address_count + 2 <= l->slot_count / 4 * 3)
		return 0;
	assert((count & (count - 1)) == 0);
	slots = calloc(count, sizeof(*slots));
	if (!slots) /* the old table stays valid: the next call tries again */
		return -ENOMEM;
	free(l->slots);
	l->slots = slots;
	l->slot_count = count;
	for (size_t i = 0; i < l->address_count; i++)
		*address_slot(l, l->addresses[i].hash) =
			(l->addresses[i].hash & SLOT_TAG) | (i + 1);
	return 0;
}

static int need_address(struct file_lines *l, uint64_t hash, uint32_t *ret)
{
	uint64_t *slot;
	int r;

	*ret = NONE;
	if (!hash)
		return 0;
	slot = address_slot(l, hash);
	if (!*slot) {
		r = array_add(l->addresses, l->address_count, l->addresses_cap,
			      (struct address){.hash = hash});
		if (r < 0)
			return r;
		*slot = (hash & SLOT_TAG) | l->address_count;
	}
	*ret = (uint32_t)*slot - 1;
	return 0;
}

static void move_address(struct file_lines *l, uint32_t *at, uint32_t to)
{
	if (*at == to)
		return;
	l->connected = true;
	if (*at != NONE)
		l->addresses[*at].sockets--;
	if (to != NONE)
		l->addresses[to].sockets++;
	*at = to;
}

static int connect_socket(struct file_lines *l, const struct dims *d, const struct coming *c)
{
	uint32_t local, peer, *at;
	struct socket *s;
	int r = id_array_need(&l->socket_at, d, TABLE_FILE, c->file, &at);

	if (r < 0 || !at)
		return r;
	if (*at == NONE) {
		r = grow((void **)&l->sockets, &l->sockets_cap, l->socket_count + 1,
			 sizeof(*l->sockets));
		if (r < 0)
			return r;
		*at = (uint32_t)l->socket_count;
		l->sockets[l->socket_count++] =
			(struct socket){.file = (uint64_t)c->file, .local = NONE, .peer = NONE};
	}
	s = &l->sockets[*at];
	s->listens = c->listens;
	r = grow_slots(l);
	if (r >= 0)
		r = need_address(l, c->local, &local);
	if (r >= 0)
		r = need_address(l, c->peer, &peer);
	if (r < 0)
		return r;
	move_address(l, &s->local, local);
	move_address(l, &s->peer, peer);
	return 0;
}

static int connect_coming(struct file_lines *l, const struct dims *d)
{
	int r = 0;

	for (size_t i = 0; i < l->coming_count && r >= 0; i++)
		r = connect_socket(l, d, &l->coming[i]);
	if (r >=
	    0) /* on failure all are retried; repeating those already connected has no effect */
		l->coming_count = 0;
	return r;
}

static uint64_t address_hash(const struct file_lines *l, const struct dims *d, int64_t file,
			     bool peer, struct bytes text)
{
	uint64_t hash = text.len <= UNNAMED ? 0 : hash_at(d, file, peer, text) | 1ull << 63;

	if (hash && l->slots)
		__builtin_prefetch(&l->slots[hash & (l->slot_count - 1)]);
	return hash;
}

static int take_socket(struct file_lines *l, const struct dims *d, int64_t file,
		       const struct dims_file *f)
{
	int r = l->coming_count == COMING_MAX ? connect_coming(l, d) : 0;

	if (r < 0)
		return r;
	l->coming[l->coming_count++] = (struct coming){
		.file = file,
		.local = address_hash(l, d, file, false, f->local),
		.peer = address_hash(l, d, file, true, f->peer),
		.listens = (f->family == AF_INET || f->family == AF_INET6) &&
			   f->proto >> 16 == SOCK_STREAM && f->local.len && !f->peer.len,
	};
	return 0;
}

/*
 * The address that names a socket's line: of the addresses shared with other sockets, the one that most sockets have.
 * All connections of a service share its address; few share a client's address, only when its port is reused.
 */
static uint32_t socket_address(const struct file_lines *l, const struct socket *s)
{
	uint32_t local = s->local == NONE ? 0 : l->addresses[s->local].sockets;
	uint32_t peer = s->peer == NONE ? 0 : l->addresses[s->peer].sockets;

	if (MAX(local, peer) <= 1)
		return NONE;
	return local >= peer ? s->local : s->peer;
}

static void find_members(struct file_lines *l)
{
	for (size_t i = 0; i < l->address_count; i++)
		l->addresses[i].members = 0;
	for (size_t i = 0; i < l->socket_count; i++) {
		uint32_t at = socket_address(l, &l->sockets[i]);

		if (at != NONE && !l->addresses[at].members++)
			l->addresses[at].first = (uint32_t)i;
	}
	l->connected = false;
}

/* NULL if it is not a socket, or belongs to a recording beyond ID_RECORDINGS_MAX. */
static const struct socket *find_socket(const struct file_lines *l, int64_t file)
{
	const uint32_t *number = id_array_at(&l->socket_at, file);

	return number && *number != NONE ? &l->sockets[*number] : NULL;
}

/* The address of the line that a socket shares with others; NULL: the line is its own, or it is not a socket. */
static const struct address *line_address(const struct file_lines *l, int64_t file, bool *ret_local)
{
	const struct socket *s = find_socket(l, file);
	uint32_t at = s ? socket_address(l, s) : NONE;

	if (at == NONE || l->addresses[at].members <= 1)
		return NULL;
	*ret_local = at == s->local;
	return &l->addresses[at];
}

bool file_lines_is_listener(const struct file_lines *l, int64_t file)
{
	const struct socket *s = find_socket(l, file);

	return s && s->listens;
}

/* ---- taking ---- */

static bool is_socket(const struct dims_file *f)
{
	return f->type == FILE_TYPE_SOCKET && !f->name_only;
}

/* Processes everything about a version except addresses of sockets. */
static int take_version(struct file_lines *l, const struct dims *d, int64_t id)
{
	struct dims_file room;
	int64_t file;
	const struct dims_file *f = dims_newest_file(d, id, &file, &room);
	uint32_t *e;
	int r = id_array_need(&l->files, d, TABLE_FILE, id, &e);

	if (r < 0)
		return r;
	if (e && id_recording(file) == id_recording(id) && id_own(file) < SHARES)
		*e = (uint32_t)id_own(file) | (*e == NONE ? 0 : *e & SHARES);
	if (file != id)
		r = map_set(&l->versions, (uint64_t)id, 0);
	if (r < 0 || !f)
		return r;
	if (is_socket(f)) {
		l->pending[--l->first_socket] = id;
		return 0;
	}
	return f->name_only || has_name(f) ? file_lines_take_name(l, d, file, f) : 0;
}

static int take_socket_version(struct file_lines *l, const struct dims *d, int64_t id)
{
	struct dims_file room;
	int64_t file;
	const struct dims_file *f = dims_newest_file(d, id, &file, &room);

	return f && is_socket(f) ? take_socket(l, d, file, f) : 0;
}

static int find_pending(struct file_lines *l, const struct dims *d)
{
	size_t pos = 0, n = 0;
	int64_t id;

	while (dims_changed(d, TABLE_FILE, l->clock, &pos, &id)) {
		int r = array_add(l->pending, n, l->pending_cap, id);

		if (r < 0)
			return r;
	}
	l->pending_clock = dims_clock(d, TABLE_FILE);
	l->unnamed = l->first_socket = l->pending_count = n;
	return 0;
}

/* Returns 1 while files remain. */
static int name_pending(struct file_lines *l, const struct dims *d, size_t most)
{
	int r = 0;

	/* oldest first */
	for (size_t i = 0; i < most && l->unnamed && r >= 0; i++) {
		assert(l->unnamed <= l->first_socket);
		r = take_version(l, d, l->pending[l->unnamed - 1]);
		l->unnamed -= r >= 0;
	}
	if (r < 0 || l->unnamed)
		return r < 0 ? r : 1;
	if (l->renamed)
		r = share_anew(l, d);
	if (r < 0)
		return r;
	r = find_same(l, d);
	if (r < 0)
		return r;
	l->named_clock = l->pending_clock;
	return r;
}

static int connect_pending(struct file_lines *l, const struct dims *d, size_t most)
{
	int r = 0;

	for (size_t i = 0; i < most && l->pending_count > l->first_socket && r >= 0; i++) {
		r = take_socket_version(l, d, l->pending[l->pending_count - 1]);
		l->pending_count -= r >= 0;
	}
	if (r >= 0)
		r = connect_coming(l, d);
	if (r < 0 || l->pending_count > l->first_socket)
		return r < 0 ? r : 1;
	if (l->connected)
		find_members(l);
	free(l->pending);
	l->pending = NULL;
	l->pending_cap = 0;
	l->clock = l->pending_clock;
	return 0;
}

int file_lines_step(struct file_lines *l, const struct dims *d, enum file_lines_part part,
		    size_t most)
{
	uint64_t clock = dims_clock(d, TABLE_FILE);
	int r = 0;

	assert(most > 0);
	if (l->clock == clock || (part == FILE_LINES_FILES && l->named_clock == clock))
		return 0;
	if (l->clock == l->pending_clock)
		r = find_pending(l, d);
	if (r >= 0 && l->named_clock != l->pending_clock)
		r = name_pending(l, d, most);
	else if (r >= 0)
		r = connect_pending(l, d, most);
	return r < 0 ? r : 1;
}

int file_lines_update(struct file_lines *l, const struct dims *d)
{
	int r;

	do
		r = file_lines_step(l, d, FILE_LINES_ALL, SIZE_MAX);
	while (r > 0);
	return r;
}

/* ---- answers ---- */

int64_t file_lines_file(const struct file_lines *l, const struct dims *d, int64_t id)
{
	const uint32_t *e = id_array_at(&l->files, id);
	uint64_t other;
	int64_t file;

	if (e && *e != NONE)
		file = id_compose(*e & ~SHARES, id_recording(id));
	else
		file = names_inode(d, id);
	return l->same.count && map_get(&l->same, (uint64_t)file, &other) ? (int64_t)other : file;
}

bool file_lines_is_shared(const struct file_lines *l, int64_t file)
{
	const uint32_t *e = id_array_at(&l->files, file);

	return !e || *e == NONE || *e & SHARES || find_socket(l, file);
}

int64_t file_lines_line(const struct file_lines *l, const struct dims *d, int64_t id)
{
	int64_t file = file_lines_file(l, d, id);
	const struct address *a;
	uint64_t place, first;
	bool local;

	if (file < 0 || !file_lines_is_shared(l, file))
		return file;
	a = line_address(l, file, &local);
	if (a)
		return (int64_t)l->sockets[a->first].file;
	if (map_get(&l->shared, (uint64_t)file, &place) && map_get(&l->places, place, &first))
		return (int64_t)first;
	return file;
}

static bool next_other_id(const struct file_lines *l, struct file_lines_walk *w, int64_t *ret)
{
	uint64_t id, ignored;
	bool found = map_next(&l->versions, &w->versions, &id, &ignored);

	while (!found && map_next(&l->same, &w->same, &id, &ignored))
		found = !map_get(&l->versions, id, NULL);
	*ret = found ? (int64_t)id : -1;
	return found;
}

bool file_lines_next_other(const struct file_lines *l, const struct dims *d,
			   struct file_lines_walk *w, int64_t *ret_id, int64_t *ret_file)
{
	bool found = next_other_id(l, w, ret_id);

	if (found)
		*ret_file = file_lines_file(l, d, *ret_id);
	return found;
}

bool file_lines_next_line(const struct file_lines *l, const struct dims *d,
			  struct file_lines_walk *w, int64_t *ret_id, int64_t *ret_line)
{
	uint64_t file, ignored;
	bool found = next_other_id(l, w, ret_id);

	if (!found && map_next(&l->shared, &w->shared, &file, &ignored)) {
		*ret_id = (int64_t)file;
		found = true;
	}
	if (!found && w->sockets < l->socket_count) {
		*ret_id = (int64_t)l->sockets[w->sockets++].file;
		found = true;
	}
	if (found)
		*ret_line = file_lines_line(l, d, *ret_id);
	return found;
}

enum file_line_kind file_lines_kind(const struct file_lines *l, int64_t line)
{
	bool local;

	if (!line_address(l, line, &local))
		return FILE_LINE_FILES;
	return local ? FILE_LINE_CLIENTS : FILE_LINE_PEER;
}

int file_lines_name(const struct file_lines *l, const struct dims *d, int64_t line, struct buf *out)
{
	struct dims_file room;
	const struct dims_file *f =
		line < 0 ? NULL : dims_file(d, dims_latest_file(d, line), &room);
	struct bytes name;
	bool local;

	if (!f)
		return buf_printf(out, line < 0 ? "(no file)" : "(unknown file)");
	name = dims_file_name(d, line);
	if (f->name_only)
		name = names_trimmed(name);
	if (line_address(l, line, &local)) {
		name = local ? f->local : f->peer;
		buf_printf(out, local ? "clients, " : "to ");
	}
	return buf_append(out, name.data, name.len);
}

/* ---- life ---- */

int file_lines_new(struct file_lines **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void file_lines_free(struct file_lines *l)
{
	if (!l)
		return;
	id_array_free(&l->files);
	map_free(&l->versions);
	map_free(&l->owners);
	map_free(&l->alone);
	map_free(&l->asked);
	map_free(&l->same);
	map_free(&l->shared);
	map_free(&l->places);
	id_array_free(&l->socket_at);
	free(l->slots);
	free(l->pending);
	free(l->sockets);
	free(l->addresses);
	free(l);
}
