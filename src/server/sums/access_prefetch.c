// SPDX-License-Identifier: Apache-2.0
/*
 * access_prefetch.c: where in the files with most time calls read and wrote, before anybody asks: one pass over the
 * blocks that name them, in pieces, while no question is answered.
 */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "server/sums/catalog.h"
#include "server/sums/file_sums.h"
#include "server/sums/who.h"
#include "server/sums/access_map.h"

#define FILES_MAX  16u
#define LOOKED_AT  100u			/* of all files, those with most time */
#define CALLS_MIN  20000u		/* of a file: the picture of less is soon read */
#define BYTES_MAX  (48u << 20)		/* of all of them */
#define CALL_BYTES 9u			/* that one takes, nearly always less */
#define PIECE_NS   (50 * NSEC_PER_MSEC) /* of work, between which questions come first */
#define NICE	   10

struct ahead {
	struct question q; /* of nobody: it lasts until the server stops */
	int64_t files[FILES_MAX];
	size_t count;
	struct map index; /* file_id, of any version -> number of the file */
	struct access_map *access_map[FILES_MAX];
	size_t *blocks, block_count, read;
	size_t known; /* blocks of the store at the beginning */
};

static void ahead_free(struct ahead *a)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		access_map_free(a->access_map[i]);
	map_free(&a->index);
	free(a->blocks);
	buf_free(&a->q.loss);
}

/* ---- which files ---- */

static bool has_positions(const struct dims *d, int64_t file)
{
	struct dims_file room;
	const struct dims_file *f = dims_file(d, file, &room);

	return f && !f->name_only && f->type != FILE_TYPE_SOCKET && f->type != FILE_TYPE_PIPE &&
	       f->type != FILE_TYPE_ANON;
}

/* Those with most time first, as lists show them, as long as there is room for them. */
static void access_prefetch_choose(struct ahead *a, struct sums_file *files, size_t count)
{
	const struct dims *d = store_dims(a->q.server->store);
	size_t top = file_sums_top(files, count, LOOKED_AT);
	uint64_t sum = 0;

	for (size_t i = 0; i < top && a->count < FILES_MAX; i++) {
		int64_t id = files[i].id;

		if (files[i].all < CALLS_MIN || (sum + files[i].all) * CALL_BYTES > BYTES_MAX ||
		    names_inode(d, id) != id || !has_positions(d, id))
			continue;
		sum += files[i].all;
		a->files[a->count++] = id;
	}
}

static int access_prefetch_find_files(struct ahead *a)
{
	const struct sums_want want = {.files = true};
	_cleanup_(sums_freep) struct sums *s = NULL;
	_cleanup_free_ struct sums_file *files = NULL;
	_cleanup_pass_filter_ struct pass_filter all = {0};
	size_t count;
	int r = pass_filter_make(&a->q, NULL, &all);

	if (r >= 0)
		r = sums_run(&a->q, &all, &want, &s);
	if (r >= 0)
		r = file_sums_merge(a->q.server, s, &files, &count);
	if (r >= 0)
		access_prefetch_choose(a, files, count);
	memory_budget_give(&a->q);
	return r;
}

/* Every version of the chosen files leads to its number. */
static int find_versions(struct ahead *a)
{
	const struct dims *d = store_dims(a->q.server->store);
	struct catalog_walk w = {0};
	int64_t id, file;
	int r = 0;

	for (size_t i = 0; i < a->count && r >= 0; i++)
		r = map_set(&a->index, (uint64_t)a->files[i], i);
	while (r >= 0 && names_next_other(a->q.server, &w, &id, &file)) {
		for (size_t i = 0; i < a->count && r >= 0; i++) {
			if (names_inode(d, id) == a->files[i])
				r = map_set(&a->index, (uint64_t)id, i);
		}
	}
	return r;
}

static bool access_prefetch_names_any(const struct ahead *a, size_t block)
{
	uint64_t id, ignored;
	size_t pos = 0;

	if (store_block_has_seconds(a->q.server->store, block))
		return true;
	while (map_next(&a->index, &pos, &id, &ignored)) {
		if (store_block_has_id(a->q.server->store, block, OP_FILE_ID, (int64_t)id))
			return true;
	}
	return false;
}

static int find_blocks(struct ahead *a)
{
	const struct store *s = a->q.server->store;

	a->known = store_block_count(s);
	a->blocks = calloc(a->known + 1, sizeof(*a->blocks));
	if (!a->blocks)
		return -ENOMEM;
	for (size_t i = 0; i < a->known && !question_stopped(&a->q); i++) {
		if (pass_block_can(&a->q, NULL, INT64_MIN, INT64_MAX, i) &&
		    access_prefetch_names_any(a, i))
			a->blocks[a->block_count++] = i;
	}
	return 0;
}

static int access_prefetch_begin(struct ahead *a)
{
	int r = names_prepare(a->q.server);

	if (r >= 0)
		r = access_prefetch_find_files(a);
	if (r >= 0)
		r = find_versions(a);
	if (r >= 0 && a->count)
		r = find_blocks(a);
	for (size_t i = 0; i < a->count && r >= 0; i++) {
		struct access_map **t = &a->access_map[i];

		r = access_map_new(t);
		if (r < 0)
			break;
		(*t)->file = a->files[i];
		(*t)->from = INT64_MIN;
		(*t)->to = INT64_MAX;
		(*t)->filter = strdup("");
		r = (*t)->filter ? 0 : -ENOMEM;
	}
	return r;
}

/* ---- reading ---- */

/* What one worker found of each file. */
struct piece {
	const struct ahead *ahead;
	struct access_map *access_map[FILES_MAX];
	uint8_t number[BATCH_ROWS_MAX]; /* of the row's file; FILES_MAX: none */
	uint32_t rows[BATCH_ROWS_MAX];
};

/* Tells which file each row is about; ret[] how many rows each file has. */
static void number_rows(struct piece *p, const struct pass_rows *rows, size_t ret[static FILES_MAX])
{
	for (size_t k = 0; k < rows->count; k++) {
		int64_t id = batch_get(rows->batch, OP_FILE_ID, rows->rows[k], -1);
		uint64_t at = FILES_MAX;

		if (id >= 0)
			map_get(&p->ahead->index, (uint64_t)id, &at);
		p->number[k] = (uint8_t)at;
		if (at < FILES_MAX)
			ret[at]++;
	}
}

static int access_prefetch_take(void *state, const struct pass_rows *rows)
{
	struct piece *p = state;
	size_t counts[FILES_MAX] = {0};
	int r = 0;

	number_rows(p, rows, counts);
	for (size_t i = 0; i < p->ahead->count && r >= 0; i++) {
		struct pass_rows of = *rows;

		of.rows = p->rows;
		of.count = 0;
		for (size_t k = 0; k < rows->count && of.count < counts[i]; k++) {
			p->rows[of.count] = rows->rows[k];
			of.count += p->number[k] == i;
		}
		r = access_map_add(p->access_map[i], &of);
	}
	return r;
}

static void access_prefetch_piece_free(struct piece *p)
{
	for (size_t i = 0; p && i < FILES_MAX; i++)
		access_map_free(p->access_map[i]);
	free(p);
}

static int piece_new(const struct ahead *a, void **ret)
{
	struct piece *p = calloc(1, sizeof(*p));
	int r = p ? 0 : -ENOMEM;

	*ret = p;
	for (size_t i = 0; i < a->count && r >= 0; i++)
		r = access_map_new(&p->access_map[i]);
	if (r >= 0)
		p->ahead = a;
	return r;
}

static int access_prefetch_read_piece(struct ahead *a)
{
	struct pass p = {
		.q = &a->q,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.columns = access_map_columns() | 1ull << OP_FILE_ID,
		.seconds = true,
		.only = a->blocks + a->read,
		.only_count = a->block_count - a->read,
		.until = clock_monotonic_ns() + PIECE_NS,
		.take = access_prefetch_take,
		.workers = pass_workers(&a->q),
	};
	int r = 0;

	for (unsigned int i = 0; i < p.workers && r >= 0; i++)
		r = piece_new(a, &p.states[i]);
	if (r >= 0)
		r = pass_run(&p);
	for (unsigned int i = 0; i < p.workers; i++) {
		struct piece *found = p.states[i];

		for (size_t k = 0; k < a->count && r >= 0; k++)
			r = access_map_merge(a->access_map[k], found->access_map[k]);
		access_prefetch_piece_free(found);
	}
	a->read += p.taken;
	return r;
}

/* ---- when ---- */

/* With the trace locked for reading. 1 where there is more to do, 0, or negative: it is not worth it. */
static int access_prefetch_go_on(struct ahead *a)
{
	uint64_t version = a->q.version;
	int r = loss_take(&a->q);

	/* a trace that grows is read by who asks, again and again */
	if (a->q.server->live || (version && a->q.version != version))
		return -EAGAIN;
	if (r >= 0 && !a->blocks)
		r = access_prefetch_begin(a);
	else if (r >= 0 && a->read < a->block_count)
		r = access_prefetch_read_piece(a);
	return r < 0 ? r : a->blocks && a->read < a->block_count;
}

void access_prefetch(struct server *s)
{
	_cleanup_(ahead_free) struct ahead a = {
		.q = {.server = s, .from = INT64_MIN, .to = INT64_MAX}};
	int more = 1;

	/* threads that a pass starts inherit it; where it is refused, the machine has less to give */
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	while (more > 0 && admission_idle(s)) {
		pthread_rwlock_rdlock(&s->lock);
		more = access_prefetch_go_on(&a);
		pthread_rwlock_unlock(&s->lock);
	}
	for (size_t i = 0; more == 0 && i < a.count; i++) {
		struct access_map *t = TAKE_PTR(a.access_map[i]);

		t->version = a.q.version;
		t->damaged = a.q.known.blocks;
		t->blocks = a.known;
		access_list_trim(&t->calls);
		access_map_keep(s->access_map, t);
	}
}
