// SPDX-License-Identifier: Apache-2.0
#include "server/sums/failures.h"

#include "server/sums/who.h"

#define OWN_BITS  32 /* of a file's id within its trace; a larger id counts as no file */
#define CODE_BITS 12 /* of an operation or an error */
#define NO_FILE	  ((1ull << OWN_BITS) - 1)

void failures_free(struct failures *f)
{
	map_free(&f->calls);
}

static uint64_t failures_make_key(int64_t op, int64_t err, int64_t file_id)
{
	uint64_t codes = ((uint64_t)op & ((1u << CODE_BITS) - 1)) << CODE_BITS |
			 ((uint64_t)err & ((1u << CODE_BITS) - 1));
	uint64_t own = id_own(file_id);
	uint64_t trace = id_recording(file_id);

	if (file_id < 0 || own >= NO_FILE || trace >= ID_RECORDINGS_MAX)
		return codes << (OWN_BITS + ID_RECORDING_BITS) | NO_FILE;
	return codes << (OWN_BITS + ID_RECORDING_BITS) | trace << OWN_BITS | own;
}

static int64_t key_file(uint64_t key)
{
	uint64_t own = key & NO_FILE, trace = key >> OWN_BITS & (ID_RECORDINGS_MAX - 1);

	return own == NO_FILE ? -1 : id_compose((int64_t)own, trace);
}

static int failures_add_key(struct failures *f, uint64_t key, uint64_t calls)
{
	uint64_t before = 0;

	if (!map_get(&f->calls, key, &before) && f->calls.count >= FAILURES_MAX) {
		f->too_many = true;
		return 0;
	}
	return map_set(&f->calls, key, before + calls);
}

int failures_add(struct failures *f, int64_t op, int64_t err, int64_t file_id, uint64_t calls)
{
	return failures_add_key(f, failures_make_key(op, err, file_id), calls);
}

int failures_merge(struct failures *f, const struct failures *other)
{
	uint64_t key, calls;
	size_t pos = 0;
	int r = 0;

	while (r >= 0 && map_next(&other->calls, &pos, &key, &calls))
		r = failures_add_key(f, key, calls);
	f->too_many |= other->too_many;
	return r;
}

/* Maps an operation and an error to an index in tops[]. */
static int index_tops(struct failure_top *tops, size_t count, struct map *ret)
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		tops[i].file = -1;
		tops[i].calls = tops[i].files = 0;
		r = map_set(ret,
			    failures_make_key(tops[i].op, tops[i].err, -1) >>
				    (OWN_BITS + ID_RECORDING_BITS),
			    i);
	}
	return r;
}

/* Merges the failures of a line's files, for the operations and errors in `index`. */
static int failures_by_line(const struct failures *f, const struct server *srv,
			    const struct map *index, struct failures *ret)
{
	uint64_t key, calls, ignored;
	size_t pos = 0;
	int r = 0;

	while (r >= 0 && map_next(&f->calls, &pos, &key, &calls)) {
		uint64_t codes = key >> (OWN_BITS + ID_RECORDING_BITS);

		if (key_file(key) >= 0 && map_get(index, codes, &ignored))
			r = failures_add(ret, (int64_t)(codes >> CODE_BITS),
					 (int64_t)(codes & ((1u << CODE_BITS) - 1)),
					 names_one_line(srv, key_file(key)), calls);
	}
	return r;
}

static void failures_offer(struct failure_top *t, int64_t file, uint64_t calls)
{
	t->files++;
	if (calls > t->calls || (calls == t->calls && file < t->file)) {
		t->calls = calls;
		t->file = file;
	}
}

/* Files of a line count as one. */
int failures_find(const struct failures *f, const struct server *srv, struct failure_top *tops,
		  size_t count)
{
	_cleanup_(failures_free) struct failures lines = {0};
	_cleanup_(map_free) struct map index = {0};
	uint64_t key, calls, at;
	size_t pos = 0;
	int r = index_tops(tops, count, &index);

	if (r < 0)
		return r;
	r = failures_by_line(f, srv, &index, &lines);
	if (r < 0)
		return r;
	while (map_next(&lines.calls, &pos, &key, &calls)) {
		if (map_get(&index, key >> (OWN_BITS + ID_RECORDING_BITS), &at))
			failures_offer(&tops[at], key_file(key), calls);
	}
	return f->too_many || lines.too_many;
}
