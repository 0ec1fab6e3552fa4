// SPDX-License-Identifier: Apache-2.0
/* alike_calls.c: reads calls that moved bytes, in the order of their ends, and the hashes of what they moved. */
#include <errno.h>
#include <string.h>

#include "analysis/alike/alike.h"
#include "base/array.h"
#include "schema/content_hash.h"
#include "schema/ops.h"

#define CALL_COLUMNS                                                                  \
	(1ull << OP_START | 1ull << OP_DUR | 1ull << OP_THREAD_ID | 1ull << OP_KIND | \
	 1ull << OP_OP | 1ull << OP_BYTES | 1ull << OP_FILE_ID | 1ull << OP_POS)
#define PART_COLUMNS                                                                             \
	(1ull << CHUNK_START | 1ull << CHUNK_THREAD_ID | 1ull << CHUNK_WAY | 1ull << CHUNK_POS | \
	 1ull << CHUNK_CALL_POS | 1ull << CHUNK_SIZE | 1ull << CHUNK_FORM | 1ull << CHUNK_HASH | \
	 1ull << CHUNK_OUTCOME | 1ull << CHUNK_HEAD | 1ull << CHUNK_TAIL)

#define CUT_BYTES_MOST	 32768
#define CALL_BYTES_LIMIT (1ll << 38) /* larger values are invalid */
#define BYTES_MASK	 ((1ull << 39) - 1)
#define DUR_LIMIT	 ((1ll << 57) - 1)

/* The key by which rows of chunk refer to their call. One pair of calls in 10^13 collides. */
static uint64_t start_key(int64_t thread_id, int64_t start)
{
	return hash_u64(hash_u64((uint64_t)thread_id) ^ (uint64_t)start);
}

/* ---- calls ---- */

static uint64_t call_start_key(const struct alike *a, uint32_t call)
{
	return start_key(alike_thread_id(a, &a->calls[call]), a->calls[call].start);
}

static int alike_call_add(void *arg, const struct batch *b, uint32_t row, int64_t end)
{
	struct alike *a = arg;
	int64_t op = batch_get(b, OP_OP, row, -1), bytes = batch_get(b, OP_BYTES, row, 0),
		start = batch_get(b, OP_START, row, INT64_MIN),
		thread_id = batch_get(b, OP_THREAD_ID, row, -1),
		file_id = batch_get(b, OP_FILE_ID, row, -1),
		kind = batch_get(b, OP_KIND, row, KIND_SYSCALL), dur = 0, thread, file;
	struct alike_call c = {.row_id = batch_row_id(b, row),
			       .start = start,
			       .pos = batch_get(b, OP_POS, row, -1),
			       .before = ALIKE_NONE};
	uint64_t key, before;
	int r;

	if (bytes <= 0 || thread_id < 0 || start == INT64_MIN ||
	    (kind != KIND_SYSCALL && kind != KIND_IO_URING && kind != KIND_LIBAIO))
		return 0;
	if (a->call_count >= ALIKE_CALLS_MAX) {
		a->calls_left_out++;
		return 0;
	}
	thread = alike_ids_number(&a->threads, thread_id);
	file = alike_ids_number(&a->files, file_id);
	if (thread < 0 || file < 0)
		return -ENOMEM;
	if (__builtin_sub_overflow(end, start, &dur) || dur < 0)
		dur = 0;
	dur = MIN(dur, DUR_LIMIT);
	c.dur_high = (uint64_t)dur >> 32 & 0x1ffffff;
	c.dur_low = (uint32_t)dur;
	c.thread = (uint32_t)thread;
	c.file = (uint32_t)file;
	c.bytes = (uint64_t)MIN(bytes, CALL_BYTES_LIMIT) & BYTES_MASK;
	c.op = (op >= 0 && op < OP_CODE_MAX ? op : OP_CODE_NUMBERED) & 0xfff;
	c.copies = op_copy(c.op) != OP_COPY_NONE;
	c.way = op_way(c.op) == OP_WAY_OUT ? WAY_OUT : WAY_IN;
	key = hash_u64((uint64_t)file_id) ^ c.way;
	if (file_id >= 0 && map_get(&a->last, key, &before))
		c.before = (uint32_t)before;
	if (grow((void **)&a->calls, &a->call_cap, a->call_count + 1, sizeof(*a->calls)) < 0)
		return -ENOMEM;
	a->calls[a->call_count] = c;
	r = alike_index_add(a, &a->by_start, (uint32_t)a->call_count);
	if (r >= 0 && file_id >= 0)
		r = map_set(&a->last, key, a->call_count);
	a->call_count++;
	return r;
}

/* ---- parts ---- */

static int alike_part_add(struct alike *a, uint32_t call, uint64_t hash)
{
	if (!a->sets)
		return 0;
	if (a->part_count >= ALIKE_PARTS_MAX ||
	    a->call_count * sizeof(*a->calls) +
			    a->part_count * (sizeof(*a->parts) + sizeof(*a->elements)) >=
		    ALIKE_BYTES_MAX) {
		a->parts_left_out++;
		return 0;
	}
	return array_add(a->parts, a->part_count, a->part_cap, (struct alike_part){hash, call});
}

/* A chunk belongs to each call that moved a part of it: the one that ended it, and those before, back to its beginning. */
static int alike_cut(struct alike *a, uint32_t call, int64_t call_pos, uint64_t hash)
{
	int r = alike_part_add(a, call, hash);

	if (call_pos < -CUT_BYTES_MOST) /* no chunk is that long */
		return r;
	for (uint32_t c = a->calls[call].before; call_pos < 0 && c != ALIKE_NONE && r >= 0;
	     c = a->calls[c].before) {
		r = alike_part_add(a, c, hash);
		call_pos += (int64_t)a->calls[c].bytes;
		if (a->parts_left_out)
			break;
	}
	return r;
}

/* The hash of a piece, or of part of one: from its bytes and their position in the piece. */
static uint64_t part_hash(uint64_t hash, int64_t size, int64_t pos, struct bytes head,
			  struct bytes tail)
{
	uint64_t x = hash_u64(hash) + (uint64_t)size;

	if (size == CONTENT_PIECE)
		return x;
	x = hash_u64(x) + (uint64_t)pos % CONTENT_PIECE;
	if (head.len)
		x = hash_u64(x) ^ hash_bytes(head.data, head.len);
	return tail.len ? hash_u64(x + 1) ^ hash_bytes(tail.data, tail.len) : x;
}

/* Extends the hash of the call's bytes if its pieces begin at its first byte; otherwise the hash of its parts. */
static void call_join(struct alike_call *c, uint64_t part, uint64_t hash, int64_t size, int64_t pos,
		      int64_t call_pos, struct bytes head, struct bytes tail)
{
	uint64_t word = 0;

	if (c->odd || pos % CONTENT_PIECE || call_pos != (int64_t)c->done || head.len) {
		c->odd = true;
		c->joined = hash_u64(c->joined + part);
		return;
	}
	if (tail.len) {
		memcpy(&word, tail.data, MIN(tail.len, sizeof(word)));
		hash += content_hash_word(word, (uint32_t)(size / 8));
	}
	c->joined = content_hash_join(c->joined, hash, c->done / CONTENT_PIECE);
}

static int alike_piece(struct alike *a, uint32_t call, const struct batch *b, uint32_t row,
		       uint64_t hash, int64_t size)
{
	struct alike_call *c = &a->calls[call];
	struct bytes head = batch_get_bytes(b, CHUNK_HEAD, row),
		     tail = batch_get_bytes(b, CHUNK_TAIL, row);
	int64_t pos = batch_get(b, CHUNK_POS, row, -1);
	uint64_t part;

	if (pos < 0 || size > CONTENT_PIECE)
		return 0;
	part = part_hash(hash, size, pos, head, tail);
	if (!c->whole)
		call_join(c, part, hash, size, pos, batch_get(b, CHUNK_CALL_POS, row, -1), head,
			  tail);
	c->done = MIN(c->done + (uint64_t)size, BYTES_MASK) & BYTES_MASK;
	return a->cuts ? 0 : alike_part_add(a, call, part);
}

/*
 * A hash of a call's bytes from the first one. A read of a file from within a piece has no others of the pieces that it
 * does not contain as a whole: if it contains none, its bytes are a part.
 */
static int alike_buffer(struct alike *a, uint32_t call, const struct batch *b, uint32_t row,
			uint64_t hash, int64_t size)
{
	struct alike_call *c = &a->calls[call];
	int64_t pos = batch_get(b, CHUNK_POS, row, -1);

	if (batch_get(b, CHUNK_CALL_POS, row, 0) || size != (int64_t)c->bytes)
		return 0;
	c->whole = true;
	c->joined = hash;
	if (a->cuts || pos < 0 || batch_is_null(b, CHUNK_OUTCOME, row) ||
	    size - (-pos & (CONTENT_PIECE - 1)) >= CONTENT_PIECE)
		return 0;
	return alike_part_add(a, call, hash_u64(hash_u64(hash)) + (uint64_t)size);
}

static int alike_part_row(void *arg, const struct batch *b, uint32_t row, int64_t end _unused_)
{
	struct alike *a = arg;
	int64_t thread_id = batch_get(b, CHUNK_THREAD_ID, row, -1),
		size = batch_get(b, CHUNK_SIZE, row, 0),
		call_pos = batch_get(b, CHUNK_CALL_POS, row, 0),
		way = batch_get(b, CHUNK_WAY, row, WAY_COUNT);
	uint64_t hash = (uint64_t)batch_get(b, CHUNK_HASH, row, 0);
	uint32_t at = alike_index_find(
		a, &a->by_start, start_key(thread_id, batch_get(b, CHUNK_START, row, INT64_MIN)));
	struct alike_call *c;

	if (at == ALIKE_NONE)
		return 0; /* belongs to a call that was not selected */
	c = &a->calls[at];
	if (size <= 0 || (c->copies && way == WAY_OUT)) /* a copy has rows for both files */
		return 0;
	if (batch_is_null(b, CHUNK_HASH, row)) {
		c->missing = true;
		return 0;
	}
	switch ((enum chunk_form)batch_get(b, CHUNK_FORM, row, FORM_COUNT)) {
	case FORM_PIECE:
	case FORM_PART:
		return alike_piece(a, at, b, row, hash, size);
	case FORM_BUFFER:
		return alike_buffer(a, at, b, row, hash, size);
	case FORM_CUT:
		return a->cuts ? alike_cut(a, at, call_pos, hash_u64(hash) + (uint64_t)size) : 0;
	default:
		return 0;
	}
}

/* ---- the passes ---- */

/* Tests whether the trace has content-defined chunks, which then are the parts. */
static int alike_look_for_cut(void *arg, const struct batch *b, uint32_t row, int64_t end _unused_)
{
	struct alike *a = arg;

	a->cuts = batch_get(b, CHUNK_FORM, row, FORM_COUNT) == FORM_CUT;
	return a->cuts ? -ECANCELED : 0; /* one is enough */
}

static int alike_look_for_cuts(struct alike *a, struct error *err)
{
	const struct scan_request q = {.table = TABLE_CHUNK,
				       .columns = 1ull << CHUNK_FORM,
				       .from = a->run->from,
				       .to = a->run->to};
	int r = analysis_scan(NULL, a->run, &q, alike_look_for_cut, a, err);

	return a->cuts ? 0 : r;
}

int alike_read_calls(struct alike *a, struct error *err)
{
	const struct scan_request q[] = {
		{.table = TABLE_OP,
		 .columns = CALL_COLUMNS,
		 .from = a->run->from,
		 .to = a->run->to,
		 .filter = a->run->where},
		/* a chunk that a call began may end in a call after the range */
		{.table = TABLE_CHUNK,
		 .columns = PART_COLUMNS,
		 .from = a->run->from,
		 .to = INT64_MAX},
	};
	int r = alike_look_for_cuts(a, err);

	a->by_start.key = call_start_key;
	for (size_t i = 0; i < ARRAY_SIZE(q) && r >= 0; i++) {
		r = analysis_scan(a->in, a->run, &q[i], i ? alike_part_row : alike_call_add, a,
				  err);
		map_free(&a->last);
	}
	alike_index_free(&a->by_start);
	return r;
}
