/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.c: writes a growing trace. Rows wait per table until a block is full or old, then go to disk in one pwrite:
 * dimension tables first, an op block followed by its summary. A block is committed once pwrite returns. Only a
 * writer killed during that call leaves a block without its summary; readers then sum the rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fd.h"
#include "schema/vocab.h"
#include "store/file/write/fit.h"
#include "store/file/write/writer.h"

#define BLOCK_AGE_NS (500 * NSEC_PER_MSEC)
#define DIMS_ROWS    16384 /* dimension rows per block: larger blocks compress no better */
/* Space kept allocated after the last block, so that loss, index and end mark still fit on a full disk. */
#define RESERVE_BYTES (128u << 10)

/* Allocates `len` bytes and the reserve, on file systems that support it. */
static int reserve(struct store_writer *w, size_t len)
{
	if (file_beyond_limit(w->offset + len + RESERVE_BYTES))
		return -EFBIG;
	if (fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->offset, (off_t)(len + RESERVE_BYTES)) ==
	    0)
		return 0;
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? -errno : 0;
}

/*
 * Cuts off the remains of a failed write; if that fails too, the next block overwrites them. On ext4 this also frees
 * the reserve, which is then allocated again.
 */
static void cut_torn(struct store_writer *w)
{
	w->torn = ftruncate(w->fd, (off_t)w->offset) < 0;
	(void)!reserve(w, 0);
}

/*
 * Another program may cut the file or write into it. Nothing is overwritten: the hole reads as damage, and without
 * the head nothing could be read.
 */
static void watch_file(struct store_writer *w)
{
	struct stat st;

	if (fstat(w->fd, &st) < 0)
		return;
	w->torn &= (uint64_t)st.st_size != w->offset;
	if (w->torn || (uint64_t)st.st_size == w->offset)
		return;
	w->stats.changed_size = w->stats.changed ? MIN(w->stats.changed_size, (uint64_t)st.st_size)
						 : (uint64_t)st.st_size;
	w->stats.changed = true;
	if ((size_t)st.st_size < sizeof(w->head))
		(void)!fd_write_at(w->fd, &w->head, sizeof(w->head), 0);
}

int writer_index_note(struct store_writer *w, const uint8_t *block, uint64_t offset)
{
	struct block_header h;

	buf_append(&w->index, &offset, sizeof(offset));
	memcpy(&h, block, sizeof(h)); /* a staged block may be unaligned */
	assert(h.header_len >= sizeof(h) && h.kind != BLOCK_INDEX);
	return buf_append(&w->index, block, h.header_len);
}

/* Appends a block to those that the next writer_commit() writes. */
static int writer_stage(struct store_writer *w, struct buf *block)
{
	struct staged *s = &w->staged[w->staged_count];
	int r;

	assert(w->staged_count < ARRAY_SIZE(w->staged));
	assert(!w->staged_count == !w->out.len);
	block_seal(block, w->head.mark, w->seq + w->staged_count, w->last_index);
	s->at = w->out.len;
	r = buf_append(&w->out, block->data, block->len);
	w->staged_count += r >= 0;
	return r;
}

static void unstage(struct store_writer *w)
{
	buf_clear(&w->out);
	w->staged_count = 0;
}

static int write_staged(struct store_writer *w, bool last_resort)
{
	int r = last_resort ? 0 : reserve(w, w->out.len);

	assert(w->staged_count && w->out.len);
	watch_file(w);
	if (r < 0)
		return r;
	if (file_beyond_limit(w->offset + w->out.len))
		return -EFBIG;
	r = fd_write_at(w->fd, w->out.data, w->out.len, w->offset);
	if (r < 0)
		cut_torn(w);
	return r;
}

int writer_commit(struct store_writer *w, bool last_resort)
{
	int r = write_staged(w, last_resort);

	if (r < 0) {
		unstage(w);
		return r;
	}
	for (unsigned int i = 0; i < w->staged_count; i++) {
		const uint8_t *block = w->out.data + w->staged[i].at;
		uint64_t offset = w->offset + w->staged[i].at;

		if (block[offsetof(struct block_header, kind)] == BLOCK_INDEX)
			w->last_index = offset;
		else if (writer_index_note(w, block, offset) < 0)
			w->index_broken = true;
		else
			w->index_count++;
		if (block_is_recorded(block[offsetof(struct block_header, kind)]))
			w->recorded = w->offset + w->out.len;
	}
	w->offset += w->out.len;
	w->seq += w->staged_count;
	w->stats.blocks += w->staged_count;
	w->stats.bytes = w->before + w->offset;
	w->stats.part_bytes = w->offset;
	w->dirty = true;
	if (w->syncer)
		file_syncer_note(w->syncer);
	unstage(w);
	return 0;
}

int writer_stage_blob(struct store_writer *w, enum block_kind kind, uint8_t flags,
		      struct bytes data)
{
	struct buf *block;
	int r = encode_blob(w->encoder, kind, flags, data, &block);

	assert(!w->staged_count);
	if (r >= 0)
		r = writer_stage(w, block);
	if (r < 0)
		unstage(w);
	return r;
}

int writer_stage_rows(struct store_writer *w, struct batch *b, uint8_t flags,
		      const struct block_facts *facts)
{
	struct buf *block;
	int r = encode_rows(w->encoder, b, flags, facts, &block);

	if (r >= 0)
		r = writer_stage(w, block);
	if (r < 0)
		unstage(w);
	return r;
}

int writer_commit_blob(struct store_writer *w, enum block_kind kind, const struct buf *data,
		       bool last_resort)
{
	int r = writer_stage_blob(w, kind, 0, buf_bytes(data));

	return r < 0 ? r : writer_commit(w, last_resort);
}

/* Without memory for all headers the index would name only some blocks, so none is written. */
int writer_commit_index(struct store_writer *w, bool last_resort)
{
	int r = 0;

	assert(w->index_broken || !w->index_count == !w->index.len);
	if (!w->index_broken && w->index_count)
		r = writer_commit_blob(w, BLOCK_INDEX, &w->index, last_resort);
	if (r < 0)
		return r;
	buf_clear(&w->index);
	w->index_count = 0;
	return 0;
}

/* ---- loss ---- */

static bool is_full(int code)
{
	return code == -ENOSPC || code == -EDQUOT || code == -EFBIG;
}

static void count_loss(struct store_writer *w, uint64_t rows, int code)
{
	struct lost *l = &w->lost[is_full(code) ? LOST_FULL : LOST_FAILED];
	int64_t now = clock_realtime_ns();

	assert(rows && code < 0);
	if (!l->rows)
		l->from = now;
	l->to = now;
	l->rows += rows;
}

void store_note_lost(struct store_writer *w, uint64_t rows)
{
	if (rows)
		count_loss(w, rows, -ENOMEM);
}

/* Counts the waiting rows of a slot as lost. Frees their memory, which the end of the trace may need. */
static void note_loss(struct store_writer *w, struct waiting *q, int code)
{
	count_loss(w, q->rows->rows, code);
	if (is_full(code)) {
		batch_clear(q->rows);
	} else {
		batch_free(q->rows);
		q->rows = NULL;
	}
}

static uint64_t lost_unwritten(const struct store_writer *w)
{
	return w->lost[LOST_FULL].rows + w->lost[LOST_FAILED].rows;
}

static const struct block_facts nothing_more = {.until = UNTIL_UNKNOWN};

static int writer_add_loss(struct batch *b, const struct lost *l, enum loss_cause cause)
{
	struct batch_row row = batch_row(b);

	row_set(&row, LOSS_START, l->from);
	row_set(&row, LOSS_STOP, l->to);
	row_set(&row, LOSS_CAUSE, cause);
	row_set(&row, LOSS_EVENTS, (int64_t)l->rows);
	return row.r;
}

static int stage_loss(struct store_writer *w, struct batch *b)
{
	int r = 0;

	if (w->lost[LOST_FULL].rows)
		r = writer_add_loss(b, &w->lost[LOST_FULL], CAUSE_DISK_FULL);
	if (r < 0)
		return r;
	if (w->lost[LOST_FAILED].rows)
		r = writer_add_loss(b, &w->lost[LOST_FAILED], CAUSE_WRITE_FAILED);
	return r < 0 ? r : writer_stage_rows(w, b, 0, &nothing_more);
}

/* Writes the rows of loss as soon as writing is possible again. */
int writer_commit_loss(struct store_writer *w, bool last_resort)
{
	_cleanup_(batch_freep) struct batch *b = NULL;
	int r;

	assert(!w->staged_count);
	if (!lost_unwritten(w))
		return 0;
	r = batch_new(&b, TABLE_LOSS);
	if (r < 0)
		return r;
	r = stage_loss(w, b);
	if (r >= 0)
		r = writer_commit(w, last_resort);
	if (r < 0)
		return r;
	w->stats.rows[TABLE_LOSS] += b->rows;
	w->stats.lost_rows += lost_unwritten(w);
	memset(w->lost, 0, sizeof(w->lost));
	return 0;
}

/* ---- blocks of rows ---- */

static int stage_summary(struct store_writer *w, const struct batch *ops)
{
	int r;

	assert(ops->table == TABLE_OP && w->staged_count == 1);
	if (w->opt.no_summary)
		return 0;
	batch_clear(w->summary);
	r = summarize(w->summarizer, ops, w->seq, w->summary);
	return r < 0 || !w->summary->rows ? r : writer_stage_rows(w, w->summary, 0, &nothing_more);
}

/* The time up to which all calls, their waits and losses are in the file once the rows of slot `i` are. */
static int64_t settled_until(const struct store_writer *w, unsigned int i)
{
	static const unsigned int places[] = {TABLE_OP, WAITING_LONG, TABLE_LOSS, TABLE_POLL};
	int64_t until = w->until;

	for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
		const struct waiting *q = &w->waiting[places[k]];

		if (places[k] != i && q->rows && q->rows->rows)
			until = MIN(until, q->until);
	}
	return lost_unwritten(w) ? UNTIL_UNKNOWN : until;
}

/* ---- digests ---- */

static int stage_digest_part(struct store_writer *w, struct batch *b, enum store_digest_part part)
{
	_cleanup_buf_ struct buf extra = {0};
	struct block_facts facts = nothing_more;
	int r = digest_put_extra(w->digester, part, &extra);

	assert(b->table == TABLE_SUMMARY);
	facts.digest = buf_bytes(&extra);
	return r < 0 ? r : writer_stage_rows(w, b, 0, &facts);
}

static int stage_digest(struct store_writer *w)
{
	struct batch *times, *files;
	int r = digest_make(w->digester, &times, &files);

	assert(!w->staged_count && (times || !files));
	if (r < 0 || !times)
		return r;
	r = stage_digest_part(w, times, STORE_DIGEST_TIMES);
	return r < 0 || !files ? r : stage_digest_part(w, files, STORE_DIGEST_FILES);
}

/* Readers do not need digests: a failure here is ignored. */
static void commit_digest(struct store_writer *w)
{
	if (stage_digest(w) < 0)
		unstage(w);
	if (w->staged_count)
		(void)!writer_commit(w, false);
	digest_clear(w->digester);
}

/* Adds the summary of the op block committed as number `block`. */
static void note_digest(struct store_writer *w, uint64_t block, size_t calls)
{
	if (digest_is_due(w->digester, w->summary->rows))
		commit_digest(w);
	if (digest_add(w->digester, w->summary, block, calls) < 0)
		digest_clear(w->digester);
}

/* ---- one slot ---- */

/* True if each call of op returned, or ended without a return value, as exit does. */
static bool writer_all_ended(const struct batch *b)
{
	for (size_t i = 0; i < b->rows; i++) {
		if (batch_get(b, OP_STATUS, i, 0) & STATUS_UNFINISHED ||
		    (batch_is_null(b, OP_RET, i) && batch_is_null(b, OP_DUR, i)))
			return false;
	}
	return true;
}

static int stage_one(struct store_writer *w, unsigned int i, bool numbers)
{
	struct batch *b = w->waiting[i].rows;
	struct block_facts facts = nothing_more;
	uint8_t flags = i == WAITING_LONG ? BLOCK_LONG_CALLS : 0;
	int r = numbers ? events_text(&w->events, &facts.events) : 0;

	if (r < 0)
		return r;
	if (b->table == TABLE_OP && writer_all_ended(b))
		flags |= BLOCK_ENDED;
	if (!schema_is_dimension(b->table))
		facts.until = settled_until(w, i);
	r = writer_stage_rows(w, b, flags, &facts);
	return r < 0 || b->table != TABLE_OP ? r : stage_summary(w, b);
}

/* Commits the rows of one slot, an op block together with its summary. On failure the rows stay. */
static int cut_one(struct store_writer *w, unsigned int i)
{
	struct batch *b = w->waiting[i].rows;
	bool numbers = i == TABLE_OP || i == TABLE_MARK; /* marks end a recording */
	uint64_t seq;
	int r;

	if (!b || !b->rows)
		return 0;
	assert(b->table == (i == WAITING_LONG ? TABLE_OP : (enum table_id)i));
	assert(!w->making); /* its blocks must be consecutive */
	r = writer_commit_loss(w, false);
	if (r < 0)
		return r;
	seq = w->seq;
	r = stage_one(w, i, numbers);
	if (r < 0) {
		unstage(w);
		return r;
	}
	r = writer_commit(w, false);
	if (r < 0)
		return r;
	if (numbers)
		events_committed(&w->events);
	w->stats.rows[b->table] += b->rows;
	if (b->table == TABLE_OP && !w->opt.no_summary)
		w->stats.rows[TABLE_SUMMARY] += w->summary->rows;
	if (i == TABLE_OP && !w->opt.no_summary)
		note_digest(w, seq, b->rows);
	batch_clear(b);
	return w->index_count >= STORE_INDEX_EVERY ? writer_commit_index(w, false) : 0;
}

static int cut_dims(struct store_writer *w)
{
	for (size_t i = 0; i < SCHEMA_DIMENSION_COUNT; i++) {
		int r = cut_one(w, schema_dimensions[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Commits the waiting rows of one slot, after the dimension rows. On failure dimension rows keep waiting, as later
 * calls refer to them; other rows are lost, and counted.
 */
static int writer_cut(struct store_writer *w, unsigned int i)
{
	struct batch *b = w->waiting[i].rows;
	int r;

	if (!b || !b->rows)
		return 0;
	r = schema_is_dimension(b->table) ? 0 : cut_dims(w);
	if (r >= 0)
		r = cut_one(w, i);
	if (r >= 0) {
		assert(!b->rows);
		w->failing = false;
		return 0;
	}
	if (!schema_is_dimension(b->table) && b->rows)
		note_loss(w, &w->waiting[i], r);
	return r;
}

/* Reports a failure once; while it lasts, further loss is only counted, in the row of loss. */
int writer_report_failure(struct store_writer *w, int code, struct error *err)
{
	bool known = w->failing;

	if (code >= 0)
		return 0;
	w->failing = true;
	if (known)
		return 0;
	error_errno(err, code,
		    "cannot write the trace %s; rows that do not fit are counted as lost", w->path);
	return is_full(code) ? -ENOSPC : code;
}

/* ---- incoming rows ---- */

static int waiting_batch(struct store_writer *w, unsigned int i, enum table_id table)
{
	struct waiting *q = &w->waiting[i];

	assert(!q->rows || q->rows->table == table);
	if (!q->rows) {
		int r = batch_new(&q->rows, table);

		if (r < 0)
			return r;
	}
	if (!q->rows->rows) {
		q->since = clock_monotonic_ns();
		q->until = w->until;
	}
	return 0;
}

/* Takes rows [from, to), cutting blocks as they fill; *from advances past the rows taken. */
static int take_some(struct store_writer *w, unsigned int i, const struct batch *b, size_t *from,
		     size_t to)
{
	struct waiting *q = &w->waiting[i];
	int r = waiting_batch(w, i, b->table), failed = 0;

	assert(i < WAITING && *from <= to && to <= b->rows);
	while (r >= 0 && *from < to) {
		size_t n = fit_rows(q->rows, b, *from, to);
		bool full;

		if (n == 0 && !q->rows->rows)
			return -EMSGSIZE;
		if (n) {
			r = batch_append(q->rows, b, *from, *from + n);
			if (r < 0)
				return r;
			*from += n;
		}
		full = !n || q->rows->rows == STORE_ROWS_MAX;
		if (!full &&
		    q->rows->rows < (schema_is_dimension(b->table) ? DIMS_ROWS : STORE_ROWS_MAX))
			continue;
		r = writer_cut(w, i);
		failed = r < 0 ? r : failed;
		if (q->rows && q->rows->rows &&
		    full) /* dimension rows that cannot be written fill the slot */
			note_loss(w, q, r);
		r = waiting_batch(w, i, b->table);
	}
	return r < 0 ? r : failed;
}

/* The same, but rows that cannot be taken are lost. */
int writer_take(struct store_writer *w, unsigned int i, const struct batch *b, size_t from,
		size_t to)
{
	int r = take_some(w, i, b, &from, to);

	if (from < to)
		count_loss(w, to - from, r);
	return r;
}

static bool writer_is_long(const struct batch *b, size_t row)
{
	return batch_get(b, OP_DUR, row, 0) > STORE_LONG_CALL_NS;
}

/* Separates calls over 100 ms from the others, so that the others' blocks cover a short time. */
static int take_ops(struct store_writer *w, const struct batch *b)
{
	int failed = 0;

	assert(b->table == TABLE_OP);
	for (size_t from = 0, to; from < b->rows; from = to) {
		bool far = writer_is_long(b, from);
		int r;

		for (to = from + 1; to < b->rows && writer_is_long(b, to) == far;)
			to++;
		r = writer_take(w, far ? WAITING_LONG : TABLE_OP, b, from, to);
		failed = r < 0 ? r : failed;
	}
	return failed;
}

int store_append(struct store_writer *w, const struct batch *b, struct error *err)
{
	int r = 0;

	assert(!w->making && !w->reopened && b->def->kind != TABLE_IS_MADE);
	if (!b->rows)
		return 0;
	if (w->alive && schema_is_dimension(b->table))
		r = alive_take(w->alive, b);
	if (w->alive && r >= 0)
		r = alive_need(w->alive, b);
	if (r < 0)
		return error_errno(err, r, "cannot keep the names of the trace %s", w->path);
	r = b->table == TABLE_OP && batch_has(b, OP_DUR) ? take_ops(w, b)
							 : writer_take(w, b->table, b, 0, b->rows);
	if (r == -ENOMEM || r == -EMSGSIZE)
		return error_errno(err, r, "cannot keep %zu rows of table %s for the trace %s",
				   b->rows, b->def->name, w->path);
	return writer_report_failure(w, r, err);
}

int store_append_set(struct store_writer *w, const struct batch_set *s, struct error *err)
{
	int failed = 0;

	for (unsigned int dims = 0; dims < 2; dims++) {
		for (unsigned int i = 0; i < TABLE_COUNT; i++) {
			int r;

			if (!s->tables[i] || schema_is_dimension((enum table_id)i) != (dims == 0))
				continue;
			assert(s->tables[i]->table == (enum table_id)i);
			r = store_append(w, s->tables[i], err);
			failed = r < 0 ? r : failed;
		}
	}
	return failed;
}

int store_note_events(struct store_writer *w, const struct event_count *cpus, size_t count)
{
	return events_note(&w->events, cpus, count);
}

void store_note_until(struct store_writer *w, int64_t until)
{
	assert(until >= w->until); /* never decreases */
	w->until = until;
}

/* ---- flush, close ---- */

int writer_flush(struct store_writer *w, bool all)
{
	int64_t age = w->opt.block_ns ? w->opt.block_ns : BLOCK_AGE_NS, now = clock_monotonic_ns();
	int failed = 0, r;

	for (unsigned int i = 0; i < WAITING; i++) {
		struct waiting *q = &w->waiting[i];

		if (!q->rows || !q->rows->rows || (!all && now - q->since < age))
			continue;
		r = schema_is_dimension(q->rows->table) ? cut_dims(w) : writer_cut(w, i);
		failed = r < 0 ? r : failed;
	}
	if (w->syncer) {
		r = file_syncer_error(w->syncer);
		failed = r < 0 ? r : failed;
	}
	return failed;
}

int store_flush(struct store_writer *w, bool all, struct error *err)
{
	return writer_report_failure(w, writer_flush(w, all), err);
}

void store_writer_stats(const struct store_writer *w, struct store_stats *ret)
{
	*ret = w->stats;
	ret->lost_rows += lost_unwritten(w);
}

/* Counts waiting rows that cannot be written as lost too. */
void writer_give_up(struct store_writer *w, int code)
{
	for (unsigned int i = 0; i < WAITING; i++) {
		if (w->waiting[i].rows && w->waiting[i].rows->rows)
			note_loss(w, &w->waiting[i], code);
	}
}
