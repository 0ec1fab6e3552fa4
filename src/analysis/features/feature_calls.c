// SPDX-License-Identifier: Apache-2.0
#include "analysis/features/feature_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names/names.h"

/* Columns of op that are copied unchanged: their destination, and the value for null. */
static const struct {
	unsigned int column;
	size_t offset;
	int64_t null;
} values[] = {
	{OP_START, offsetof(struct feature_call, start), FEATURE_NULL},
	{OP_DUR, offsetof(struct feature_call, dur), 0},
	{OP_BYTES, offsetof(struct feature_call, bytes), 0},
	{OP_FLAGS, offsetof(struct feature_call, flags), 0},
	{OP_THREAD_ID, offsetof(struct feature_call, thread_id), FEATURE_NULL},
	{OP_FILE_ID, offsetof(struct feature_call, file_id), FEATURE_NULL},
	{OP_RET, offsetof(struct feature_call, ret), FEATURE_NULL},
	{OP_POS, offsetof(struct feature_call, pos), FEATURE_NULL},
	{OP_SIZE, offsetof(struct feature_call, size), FEATURE_NULL},
	{OP_FD, offsetof(struct feature_call, fd), FEATURE_NULL},
	{OP_FILE_SIZE, offsetof(struct feature_call, file_size), FEATURE_NULL},
};

/* The same for struct feature_rest. */
static const struct {
	unsigned int column;
	size_t offset;
} rests[] = {
	{OP_POS2, offsetof(struct feature_rest, pos2)},
	{OP_FD2, offsetof(struct feature_rest, fd2)},
	{OP_PEER_ID, offsetof(struct feature_rest, peer_id)},
	{OP_A0, offsetof(struct feature_rest, a0)},
	{OP_A1, offsetof(struct feature_rest, a1)},
	{OP_A2, offsetof(struct feature_rest, a2)},
	{OP_WAKER_ID, offsetof(struct feature_rest, waker_id)},
	{OP_RUNQ, offsetof(struct feature_rest, runq)},
};

static const struct feature_rest rest_blank = {
	FEATURE_NULL, FEATURE_NULL, FEATURE_NULL, FEATURE_NULL,
	FEATURE_NULL, FEATURE_NULL, FEATURE_NULL, FEATURE_NULL,
};

uint64_t feature_columns(void)
{
	uint64_t set = 1ull << OP_OP | 1ull << OP_CLASS | 1ull << OP_ERR | 1ull << OP_STATUS |
		       1ull << OP_FILE2_ID;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		set |= 1ull << values[i].column;
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++)
		set |= 1ull << rests[i].column;
	return set;
}

int feature_stretch_init(struct feature_stretch *s)
{
	s->calls =
		aligned_alloc(_Alignof(struct feature_call), FEATURE_CALLS_MAX * sizeof(*s->calls));
	s->rests =
		aligned_alloc(_Alignof(struct feature_rest), FEATURE_CALLS_MAX * sizeof(*s->rests));
	return s->calls && s->rests ? 0 : -ENOMEM;
}

static void feature_numbers_end(struct feature_numbers *n)
{
	free(n->dense);
	n->dense = NULL;
	n->dense_count = 0;
	map_free(&n->by_version);
}

static void feature_numbers_free(struct feature_numbers *n)
{
	feature_numbers_end(n);
	for (size_t i = 0; i < n->count; i += FEATURE_IDS)
		free(n->ids[i / FEATURE_IDS]);
	free((void *)n->ids);
}

void feature_stretch_free(struct feature_stretch *s)
{
	batch_free(TAKE_PTR(s->events));
	free(TAKE_PTR(s->calls));
	free(TAKE_PTR(s->rests));
}

void feature_numbering_end(struct feature_numbering *n)
{
	feature_numbers_end(&n->tasks);
	feature_numbers_end(&n->processes);
	feature_numbers_end(&n->files);
}

void feature_numbering_free(struct feature_numbering *n)
{
	feature_numbers_free(&n->tasks);
	feature_numbers_free(&n->processes);
	feature_numbers_free(&n->files);
	free(n->process_of);
}

int feature_grow_slow(void **items, size_t *cap, size_t want, size_t size)
{
	size_t next = MAX(*cap, (size_t)16);
	void *p;

	while (next < want)
		next += MIN(next, (size_t)FEATURE_IDS);
	p = reallocarray(*items, next, size);
	if (!p)
		return -ENOMEM;
	memset((char *)p + *cap * size, 0, (next - *cap) * size);
	*items = p;
	*cap = next;
	return 0;
}

void feature_acts(const struct feature_ops *table, size_t count, uint8_t of[static OP_CODE_MAX])
{
	for (size_t i = 0; i < count; i++) {
		for (const char *at = table[i].names; *at;) {
			size_t len = strcspn(at, " ");
			char name[32] = {0};
			int code;

			assert(len < sizeof(name));
			memcpy(name, at, len);
			code = op_find(name);
			assert(code >= 0 && code < OP_CODE_MAX);
			of[code] = table[i].act;
			at += len + (at[len] == ' ');
		}
	}
}

/* ---- numbers ---- */

#define DENSE_MIN   4096
#define DENSE_SPARE 16 /* slots per known id: recorders assign ids consecutively */

/* True if `dense` has or may get a slot for the version: large ids in a damaged trace must not take memory. */
static bool number_is_dense(const struct feature_numbers *n, int64_t version)
{
	uint64_t at = (uint64_t)version;

	return at < n->dense_count ||
	       (id_recording(version) == 0 && at < MAX(n->count * DENSE_SPARE, (size_t)DENSE_MIN));
}

static int number_note(struct feature_numbers *n, int64_t version, uint32_t number)
{
	size_t at = (size_t)version, cap = MAX(n->dense_count, (size_t)1024);
	uint32_t *p;

	if (!number_is_dense(n, version))
		return map_set(&n->by_version, (uint64_t)version, number);
	if (at >= n->dense_count) {
		while (cap <= at)
			cap *= 2;
		p = reallocarray(n->dense, cap, sizeof(*p));
		if (!p)
			return -ENOMEM;
		memset(p + n->dense_count, 0, (cap - n->dense_count) * sizeof(*p));
		n->dense = p;
		n->dense_count = cap;
	}
	n->dense[at] = number + 1;
	return 0;
}

/* Makes room for another id; existing ids do not move. */
static int number_room(struct feature_numbers *n)
{
	size_t at = n->count / FEATURE_IDS;

	if (n->count % FEATURE_IDS)
		return 0;
	if (!n->ids)
		n->ids = calloc(FEATURE_NONE / FEATURE_IDS + 1, sizeof(*n->ids));
	if (!n->ids)
		return -ENOMEM;
	n->ids[at] = malloc(FEATURE_IDS * sizeof(**n->ids));
	return n->ids[at] ? 0 : -ENOMEM;
}

/* True if the version already has a number. If it was assigned before there was a slot, it is in the map. */
static inline bool number_known(const struct feature_numbers *n, int64_t version, uint32_t *ret)
{
	uint64_t known;

	if (likely((uint64_t)version < n->dense_count && n->dense[version])) {
		*ret = n->dense[version] - 1;
		return true;
	}
	if (!n->by_version.count || !map_get(&n->by_version, (uint64_t)version, &known))
		return false;
	*ret = (uint32_t)known;
	return true;
}

/* Finds the number of the thing with version `version`, whose first version is `id`; 1 if the number is new. */
static int number_add(struct feature_numbers *n, int64_t version, int64_t id, uint32_t *ret)
{
	int r;

	if (number_known(n, id, ret))
		return number_note(n, version, *ret);
	if (n->count == FEATURE_NONE)
		return -ENOMEM;
	r = number_room(n);
	if (r < 0)
		return r;
	*ret = (uint32_t)n->count;
	n->ids[n->count / FEATURE_IDS][n->count % FEATURE_IDS] = version;
	n->count++;
	r = number_note(n, id, *ret);
	if (r >= 0 && id != version)
		r = number_note(n, version, *ret);
	return r < 0 ? r : 1;
}

static int number_of_process(struct feature_numbering *s, int64_t thread, uint32_t *ret)
{
	int64_t process = names_process_of(s->world.dims, thread);

	if (process < 0) {
		*ret = FEATURE_NONE;
		return 0;
	}
	process = dims_same(s->world.dims, TABLE_PROCESS, process);
	if (number_known(&s->processes, process, ret))
		return 0;
	return number_add(&s->processes, process, process, ret);
}

static int number_of_task(struct feature_numbering *s, int64_t thread, uint32_t *ret)
{
	int r;

	if (number_known(&s->tasks, thread, ret))
		return 0;
	r = number_add(&s->tasks, thread, names_task(s->world.dims, thread), ret);
	if (r <= 0)
		return r;
	r = grow((void **)&s->process_of, &s->process_of_cap, s->tasks.count,
		 sizeof(*s->process_of));
	return r < 0 ? r : number_of_process(s, thread, &s->process_of[*ret]);
}

static int number_of_file(struct feature_numbering *s, int64_t file, uint32_t *ret)
{
	if (number_known(&s->files, file, ret))
		return 0;
	return MIN(number_add(&s->files, file, names_inode(s->world.dims, file), ret), 0);
}

/* FEATURE_NONE if it has no number yet. */
static uint32_t number_find_file(const struct feature_numbering *s, int64_t file)
{
	uint32_t number;

	if (file >= 0 && (number_known(&s->files, file, &number) ||
			  number_known(&s->files, names_inode(s->world.dims, file), &number)))
		return number;
	return FEATURE_NONE;
}

/* ---- batches ---- */

/* Rows for one word of null bits, or fewer. */
struct stretch_rows {
	const uint32_t *rows;
	size_t count;
	bool follow; /* are consecutive */
};

static inline int64_t *stretch_cell(struct feature_call *c, size_t offset)
{
	return (int64_t *)((char *)c + offset);
}

/* The null bits of the rows. */
static uint64_t stretch_nulls(const struct column *c, const struct stretch_rows *r)
{
	const uint64_t all = ~0ull >> (64 - r->count);
	size_t word = r->rows[0] / 64, shift = r->rows[0] % 64;
	uint64_t bits = 0;

	if (!c->val)
		return all;
	if (!c->nulls)
		return 0;
	if (!r->follow) {
		for (size_t i = 0; i < r->count; i++)
			bits |= (c->nulls[r->rows[i] / 64] >> (r->rows[i] % 64) & 1) << i;
		return bits;
	}
	bits = c->nulls[word] >> shift;
	if (shift + r->count > 64)
		bits |= c->nulls[word + 1] << (64 - shift);
	return bits & all;
}

/* Copies a column to calls[].offset. */
static void stretch_gather(const struct column *c, const struct stretch_rows *r, int64_t null,
			   size_t offset, struct feature_call *calls)
{
	uint64_t nulls = stretch_nulls(c, r);

	if (nulls == ~0ull >> (64 - r->count)) {
		for (size_t i = 0; i < r->count; i++)
			*stretch_cell(&calls[i], offset) = null;
		return;
	}
	if (r->follow) {
		const int64_t *from = c->val + r->rows[0];

		/* prefetch the next part: with this many columns the hardware prefetcher does not */
		for (size_t i = 0; i < STRETCH_PART; i += 8)
			__builtin_prefetch(&from[STRETCH_PART + i]);
		for (size_t i = 0; i < r->count; i++)
			*stretch_cell(&calls[i], offset) = from[i];
	} else {
		for (size_t i = 0; i < r->count; i++)
			*stretch_cell(&calls[i], offset) = c->val[r->rows[i]];
	}
	for (; nulls; nulls &= nulls - 1)
		*stretch_cell(&calls[__builtin_ctzll(nulls)], offset) = null;
}

/* Copies codes below `end`; `otherwise` for null, and for values that only a damaged trace can have. */
static void stretch_codes(const struct column *c, const struct stretch_rows *r, uint64_t end,
			  uint16_t otherwise, uint16_t to[static STRETCH_PART])
{
	uint64_t nulls = stretch_nulls(c, r);

	for (size_t i = 0; i < r->count; i++) {
		uint64_t code = c->val ? (uint64_t)c->val[r->rows[i]] : 0;

		to[i] = code < end ? (uint16_t)code : otherwise;
	}
	for (; nulls; nulls &= nulls - 1)
		to[__builtin_ctzll(nulls)] = otherwise;
}

/* Copies the values that few calls have. */
static void stretch_rests(struct feature_stretch *s, const struct batch *b,
			  const struct stretch_rows *r, struct feature_call *calls)
{
	uint64_t nulls[ARRAY_SIZE(rests)], some = 0;

	for (size_t k = 0; k < ARRAY_SIZE(rests); k++) {
		nulls[k] = stretch_nulls(&b->columns[rests[k].column], r);
		some |= ~nulls[k];
	}
	some &= ~0ull >> (64 - r->count);
	for (size_t i = 0; i < r->count; i++)
		calls[i].rest = &rest_blank;
	for (; some; some &= some - 1) {
		size_t i = (size_t)__builtin_ctzll(some);
		struct feature_rest *to = &s->rests[s->rest_count++];

		for (size_t k = 0; k < ARRAY_SIZE(rests); k++)
			*(int64_t *)((char *)to + rests[k].offset) =
				nulls[k] >> i & 1 ? FEATURE_NULL
						  : b->columns[rests[k].column].val[r->rows[i]];
		calls[i].rest = to;
	}
}

/* Computes values that are not columns of op. */
static void stretch_derive(const struct batch *b, const struct stretch_rows *r, const int64_t *ends,
			   struct feature_call *calls)
{
	uint64_t no_bytes = stretch_nulls(&b->columns[OP_BYTES], r);
	uint16_t ops[STRETCH_PART], errs[STRETCH_PART], classes[STRETCH_PART], status[STRETCH_PART];

	stretch_codes(&b->columns[OP_OP], r, OP_CODE_MAX, OP_CODE_NUMBERED, ops);
	stretch_codes(&b->columns[OP_ERR], r, UINT16_MAX + 1, 0, errs);
	stretch_codes(&b->columns[OP_CLASS], r, CLASS_COUNT, CLASS_OTHER, classes);
	stretch_codes(&b->columns[OP_STATUS], r, UINT16_MAX + 1, 0, status);
	for (size_t i = 0; i < r->count; i++) {
		struct feature_call *c = &calls[i];

		c->stop = ends[r->rows[i]];
		c->op = ops[i];
		c->err = errs[i];
		c->class = (uint8_t)classes[i];
		c->status = status[i];
		c->dur = MAX(c->dur, 0);
		c->no_bytes = no_bytes >> i & 1;
		c->bytes = MAX(c->bytes, 0);
	}
}

static int stretch_number(struct feature_numbering *n, const struct batch *b, const uint32_t *rows,
			  size_t count, struct feature_call *to)
{
	bool seconds = batch_has(b, OP_FILE2_ID);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		int64_t second = seconds ? batch_get(b, OP_FILE2_ID, rows[i], -1) : -1;
		struct feature_call *c = &to[i];

		c->task = c->process = c->file = c->file2 = FEATURE_NONE;
		if (c->thread_id >= 0) {
			r = number_of_task(n, c->thread_id, &c->task);
			if (r >= 0)
				c->process = n->process_of[c->task];
		}
		if (r >= 0 && c->file_id >= 0)
			r = number_of_file(n, c->file_id, &c->file);
		if (r >= 0 && second >= 0)
			r = number_of_file(n, second, &c->file2);
	}
	return MIN(r, 0);
}

void feature_stretch_look(struct feature_stretch *s, const struct feature_numbering *n)
{
	s->world = n->world;
	s->world.tasks = n->tasks.ids;
	s->world.processes = n->processes.ids;
	s->world.files = n->files.ids;
	s->world.task_count = n->tasks.count;
	s->world.process_count = n->processes.count;
	s->world.file_count = n->files.count;
}

void feature_stretch_clear(struct feature_stretch *s)
{
	s->count = s->rest_count = 0;
	if (s->events)
		batch_clear(s->events);
}

int feature_stretch_take(struct feature_stretch *s, struct feature_numbering *n,
			 const struct batch *b, const uint32_t *rows, const int64_t *ends,
			 size_t count)
{
	int r = 0;

	assert(count > 0 && s->count + count <= FEATURE_CALLS_MAX);
	for (size_t from = 0; from < count && r >= 0; from += STRETCH_PART) {
		struct stretch_rows part = {.rows = rows + from,
					    .count = MIN(count - from, (size_t)STRETCH_PART)};

		struct feature_call *calls = s->calls + s->count;

		part.follow = part.rows[part.count - 1] - part.rows[0] == part.count - 1;
		for (size_t i = 0; i < ARRAY_SIZE(values); i++)
			stretch_gather(&b->columns[values[i].column], &part, values[i].null,
				       values[i].offset, calls);
		stretch_rests(s, b, &part, calls);
		stretch_derive(b, &part, ends, calls);
		r = stretch_number(n, b, part.rows, part.count, calls);
		s->count += part.count;
	}
	return r;
}

bool feature_stretch_fits(const struct feature_stretch *s, enum table_id table, size_t count)
{
	size_t had = s->events ? s->events->rows : 0;

	return had + count <= FEATURE_CALLS_MAX && (had == 0 || s->events->table == table);
}

int feature_stretch_events(struct feature_stretch *s, const struct feature_numbering *n,
			   const struct batch *b, const uint32_t *rows, size_t count)
{
	int r = 0;

	assert(feature_stretch_fits(s, b->table, count));
	if (s->events && s->events->def != b->def) {
		batch_free(s->events);
		s->events = NULL;
	}
	if (!s->events)
		r = batch_new(&s->events, b->table);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		s->before[s->events->rows + i] = (uint32_t)s->count;
		s->files[s->events->rows + i] = number_find_file(
			n, b->table == TABLE_POLL ? batch_get(b, POLL_FILE_ID, rows[i], -1) : -1);
	}
	return batch_append_rows(s->events, b, rows, count);
}
