// SPDX-License-Identifier: Apache-2.0
#include "analysis/features/file_patterns.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "names/names.h"

#define ACCEPTED    (1u << 31)
#define PORT_CHOSEN 32768 /* first ephemeral port of clients in Linux (ip_local_port_range) */

static_assert(FILE_PATTERNS_MAX + FILE_PATTERNS_MORE < ACCEPTED, "a number and a bit share a word");

int file_patterns_init(struct file_patterns *p, const struct feature_world *w)
{
	uint32_t any;
	int r;

	*p = (struct file_patterns){.world = w};
	r = intern_add(&p->texts, "*", 1, &any);
	assert(r < 0 || any == FILE_PATTERN_ANY);
	return r;
}

void file_patterns_forget(struct file_patterns *p)
{
	free(TAKE_PTR(p->of_file));
	p->cap = 0;
}

void file_patterns_free(struct file_patterns *p)
{
	file_patterns_forget(p);
	intern_free(&p->texts);
	buf_free(&p->room);
}

static int file_patterns_need(struct file_patterns *p, uint32_t file)
{
	assert(file != FEATURE_NONE);
	return feature_grow((void **)&p->of_file, &p->cap, (size_t)file + 1, sizeof(*p->of_file));
}

int file_patterns_accepted(struct file_patterns *p, uint32_t file)
{
	int r = file_patterns_need(p, file);

	if (r < 0)
		return r;
	p->of_file[file] |= ACCEPTED;
	return r;
}

/* ---- texts ---- */

/* The arrow in "A->B"; NULL if the name has none. */
static const uint8_t *pattern_arrow(struct bytes name)
{
	return name.len ? memmem(name.data, name.len, "->", 2) : NULL;
}

/* "tcp A->B" with # for the end whose port the kernel chose. */
static int pattern_connection(struct bytes name, bool accepted, struct buf *out)
{
	const uint8_t *arrow = pattern_arrow(name), *end = name.data + name.len,
		      *space = memchr(name.data, ' ', name.len);

	if (accepted) {
		buf_append(out, name.data, (size_t)(arrow + 2 - name.data));
		return buf_append(out, "#", 1);
	}
	if (space && space < arrow)
		buf_append(out, name.data, (size_t)(space + 1 - name.data));
	buf_append(out, "#", 1);
	return buf_append(out, arrow, (size_t)(end - arrow));
}

/* "pipe" for "pipe:[4711]", which has nothing else to identify it. */
static int pattern_nameless(struct bytes name, struct buf *out)
{
	const uint8_t *colon = memmem(name.data, name.len, ":[", 2);

	return buf_append(out, name.data, colon ? (size_t)(colon - name.data) : name.len);
}

/* "udp 0.0.0.0:41234" with # for a port that the kernel chose. */
static int pattern_bound(struct bytes name, struct buf *out)
{
	const uint8_t *colon = memrchr(name.data, ':', name.len);
	unsigned int port = 0;

	for (const uint8_t *c = colon + 1; c < name.data + name.len && port < PORT_CHOSEN; c++)
		port = port * 10 + (*c - '0');
	if (port < PORT_CHOSEN)
		return buf_append(out, name.data, name.len);
	buf_append(out, name.data, (size_t)(colon + 1 - name.data));
	return buf_append(out, "#", 1);
}

static int pattern_socket(struct bytes name, const struct dims_file *f, bool accepted,
			  struct buf *out)
{
	bool changed;

	if (pattern_arrow(name))
		return pattern_connection(name, accepted, out);
	if (name.len && name.data[name.len - 1] == ']' && memmem(name.data, name.len, ":[", 2))
		return pattern_nameless(name, out);
	if (f->family != AF_UNIX && name.len && isdigit(name.data[name.len - 1]) &&
	    memchr(name.data, ':', name.len))
		return pattern_bound(name, out);
	return names_pattern(name, out, &changed);
}

static int pattern_write(struct file_patterns *p, int64_t id, bool accepted)
{
	struct bytes name = dims_file_name(p->world->dims, id);
	struct dims_file room;
	const struct dims_file *f = dims_file(p->world->dims, id, &room);
	bool changed;

	buf_clear(&p->room);
	if (f && f->type == FILE_TYPE_SOCKET)
		return pattern_socket(name, f, accepted, &p->room);
	if (f && f->type == FILE_TYPE_PIPE && name.len && name.data[0] != '/')
		return pattern_nameless(name, &p->room);
	return names_pattern(name, &p->room, &changed);
}

/* Length of the folder of a pattern with its slash; 0 if it has none. */
static size_t pattern_folder(struct bytes text)
{
	const uint8_t *slash = text.len ? memrchr(text.data, '/', text.len) : NULL;

	return slash ? (size_t)(slash + 1 - text.data) : 0;
}

/* The number of the pattern in `room`; a more general one if there are too many patterns. */
static int pattern_number(struct file_patterns *p, uint32_t *ret)
{
	struct bytes text = {p->room.data, p->room.len};
	int r;

	if (intern_find(&p->texts, text.data, text.len, ret))
		return 0;
	if (p->texts.count < FILE_PATTERNS_MAX)
		return intern_add(&p->texts, text.data, text.len, ret);
	p->room.len = pattern_folder(text);
	r = buf_append(&p->room, "*", 1);
	if (r < 0 || intern_find(&p->texts, p->room.data, p->room.len, ret))
		return r;
	if (p->texts.count < FILE_PATTERNS_MAX + FILE_PATTERNS_MORE)
		return intern_add(&p->texts, p->room.data, p->room.len, ret);
	*ret = FILE_PATTERN_ANY;
	return 0;
}

int file_patterns_of(struct file_patterns *p, uint32_t file, uint32_t *ret)
{
	uint32_t known;
	int r = file_patterns_need(p, file);

	if (r < 0)
		return r;
	known = p->of_file[file] & ~ACCEPTED;
	if (known) {
		*ret = known - 1;
		return 0;
	}
	assert(file < p->world->file_count);
	r = pattern_write(p, feature_id(p->world->files, file), p->of_file[file] & ACCEPTED);
	if (r >= 0)
		r = pattern_number(p, ret);
	if (r >= 0)
		p->of_file[file] |= *ret + 1;
	return MIN(r, 0);
}

int file_patterns_connected(struct file_patterns *p, uint32_t file, int64_t peer_id)
{
	struct dims_file room;
	const struct dims_file *f = peer_id < 0 ? NULL : dims_file(p->world->dims, peer_id, &room);
	struct bytes peer, name;
	uint32_t number;
	int r = file_patterns_need(p, file);

	if (r < 0 || !f || p->of_file[file])
		return r;
	peer = dims_peer(f);
	name = dims_file_name(p->world->dims, feature_id(p->world->files, file));
	/* uses the name itself */
	if (!peer.len || f->family == AF_UNIX || pattern_arrow(name))
		return 0;
	buf_clear(&p->room);
	r = pattern_nameless(name, &p->room);
	for (size_t i = 0; r >= 0 && i < p->room.len; i++) {
		if (p->room.data[i] == ' ') /* "tcp 10.0.0.7:41234", bound but not connected */
			p->room.len = i;
	}
	if (r >= 0)
		r = buf_append(&p->room, " #->", 4);
	if (r >= 0)
		r = buf_append(&p->room, peer.data, peer.len);
	if (r >= 0)
		r = pattern_number(p, &number);
	if (r >= 0)
		p->of_file[file] = number + 1;
	return MIN(r, 0);
}

struct bytes file_patterns_text(const struct file_patterns *p, uint32_t pattern)
{
	return intern_get(&p->texts, pattern);
}

/* ---- common patterns ---- */

/* True if `text` is matched by "folder/X" with * for the start of X. */
static bool pattern_covers(struct bytes wide, struct bytes text)
{
	const uint8_t *star = memrchr(wide.data, '*', wide.len);
	size_t before, behind;

	if (!star)
		return false;
	before = (size_t)(star - wide.data);
	behind = wide.len - before - 1;
	return text.len >= before + behind && !memcmp(text.data, wide.data, before) &&
	       !memcmp(text.data + text.len - behind, star + 1, behind);
}

/* The extension of a name from its last dot on; empty if there is none, or if it has a *. */
static struct bytes pattern_ending(struct bytes text)
{
	size_t folder = pattern_folder(text);
	const uint8_t *dot =
		text.len > folder ? memrchr(text.data + folder, '.', text.len - folder) : NULL;

	if (!dot || memchr(dot, '*', (size_t)(text.data + text.len - dot)))
		return (struct bytes){NULL, 0};
	return (struct bytes){dot, (size_t)(text.data + text.len - dot)};
}

static int patterns_join(struct file_patterns *p, uint32_t a, uint32_t b, uint32_t *ret)
{
	struct bytes x = file_patterns_text(p, a), y = file_patterns_text(p, b), end_x, end_y;
	size_t same = 0, cut;
	int r;

	*ret = a;
	if (a == b || pattern_covers(x, y))
		return 0;
	while (same < MIN(x.len, y.len) && x.data[same] == y.data[same])
		same++;
	cut = pattern_folder((struct bytes){x.data, same});
	end_x = pattern_ending(x);
	end_y = pattern_ending(y);
	buf_clear(&p->room);
	buf_append(&p->room, x.data, cut);
	buf_append(&p->room, "*", 1);
	if (end_x.len && !bytes_compare(end_x, end_y))
		buf_append(&p->room, end_x.data, end_x.len);
	r = buf_status(&p->room);
	return r < 0 ? r : pattern_number(p, ret);
}

int file_patterns_common(struct file_patterns *p, uint32_t a, uint32_t b, uint32_t *ret)
{
	struct file_patterns_pair *known = &p->pairs[(a * 31 + b) % FILE_PATTERNS_PAIRS];
	int r;

	if (known->a == a + 1 && known->b == b) {
		*ret = known->common;
		return 0;
	}
	r = patterns_join(p, a, b, ret);
	if (r < 0)
		return r;
	*known = (struct file_patterns_pair){a + 1, b, *ret};
	return r;
}
