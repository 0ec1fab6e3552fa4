/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_trace.c: checks a trace from its first byte to its last. The walk follows the headers in the file, not the
 * index as readers of a closed file do, so that it also finds a damaged header of which the index has an intact copy.
 */
#include "store/file/check_trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/fd.h"
#include "store/file/read/block_scan.h"

#define CHECK_THREADS_MAX   16
#define CHECK_THREAD_BLOCKS 16 /* blocks per additional thread */

/* The ids of a dimension table seen so far. They are dense: almost all are below `below`. */
struct ids {
	uint64_t below; /* all of them were seen */
	struct map beyond;
	uint64_t missed;	  /* references to ids that were not seen */
	struct check_fault first; /* the block where the first one was found */
	uint64_t first_id;
};

struct checker {
	struct store *s;
	struct trace t; /* a copy: `next`, `next_seq` and `last_index` belong to this walk */
	uint64_t end;	/* end of the last block that readers know */
	const struct check_options *opt;
	struct check_result *ret;
	struct decoder *decoder;
	struct buf payload;
	size_t block;	       /* the next block of rows that readers know */
	XXH3_state_t *indexed; /* what the next index block must hold */
	uint64_t index_faults; /* faults before its first block */
	struct ids ids[TABLE_COUNT];
	bool rows_missing;	 /* readers miss blocks that may have held rows */
	int64_t calls_until;	 /* last end of a call in the blocks so far; INT64_MIN: none */
	struct check_fault open; /* a gap whose end in time the next block of calls gives */
};

static void checker_free(struct checker *v)
{
	decoder_free(v->decoder);
	buf_free(&v->payload);
	XXH3_freeState(v->indexed);
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		map_free(&v->ids[i].beyond);
}

static int checker_init(struct checker *v)
{
	int r = decoder_new(&v->decoder);

	if (r < 0)
		return r;
	v->indexed = XXH3_createState();
	return v->indexed && XXH3_64bits_reset(v->indexed) == XXH_OK ? 0 : -ENOMEM;
}

/* ---- faults ---- */

static const char *const kind_names[] = {
	[BLOCK_META] = "names",	   [BLOCK_INDEX] = "index",	[BLOCK_END] = "end",
	[BLOCK_DIGEST] = "digest", [BLOCK_MADE] = "made table", [BLOCK_MADE_ROWS] = "made table",
};

static const char *kind_name(const struct block_view *view, const struct block *b)
{
	if (b)
		return b->pub.def->name;
	return view->head->kind < ARRAY_SIZE(kind_names) && kind_names[view->head->kind]
		       ? kind_names[view->head->kind]
		       : "";
}

/* Reports a fault; a gap waits until the next block of calls shows when it ended. */
static void report(struct checker *v, const struct check_fault *f)
{
	struct check_result *ret = v->ret;

	ret->faults++;
	ret->bad_blocks += f->blocks;
	ret->bad_bytes += f->bytes;
	ret->rows_unknown |= f->rows_unknown;
	if (v->opt->found)
		v->opt->found(v->opt->arg, f);
}

static void close_gap(struct checker *v, int64_t until)
{
	if (!v->open.blocks)
		return;
	v->open.last = until;
	report(v, &v->open);
	v->open.blocks = 0;
}

/* Records that blocks are missing between the walk's position and `to`, or after the last block. */
static void gap(struct checker *v, uint64_t to, uint64_t next_seq, const char *why)
{
	uint64_t seq = v->t.next_seq;

	assert(to >= v->t.next);
	close_gap(v, INT64_MIN);
	v->open = (struct check_fault){.seq = seq,
				       .offset = v->t.next,
				       .bytes = to - v->t.next,
				       .blocks = next_seq > seq ? next_seq - seq : 1,
				       .kind = "",
				       .rows_unknown = v->rows_missing,
				       .first = v->calls_until};
	snprintf(v->open.what, sizeof(v->open.what), "%s", why);
}

/* Describes the current block: number, position and kind. The caller fills in what is wrong. */
static struct check_fault fault_of(const struct block_view *view, const struct block *b,
				   uint64_t offset)
{
	struct check_fault f = {.seq = view->head->seq,
				.offset = offset,
				.kind = kind_name(view, b),
				.first = INT64_MIN,
				.last = INT64_MIN};

	if (b && b->first <= b->last) {
		f.first = b->first;
		f.last = b->last;
	}
	return f;
}

/* Reports a fault that costs nothing: the block, or its rows, can still be read. */
static void _printf_(5, 6) flaw(struct checker *v, const struct block_view *view,
				const struct block *b, uint64_t offset, const char *fmt, ...)
{
	struct check_fault f = fault_of(view, b, offset);
	va_list args;

	va_start(args, fmt);
	vsnprintf(f.what, sizeof(f.what), fmt, args);
	va_end(args);
	report(v, &f);
}

/* Reports a block that cannot be read. */
static void lose(struct checker *v, const struct block_view *view, struct block *b, uint64_t offset,
		 const char *why)
{
	struct check_fault f = fault_of(view, b, offset);

	f.bytes = view->head->header_len + (uint64_t)view->head->payload_len;
	f.blocks = 1;
	f.rows = view->head->rows;
	snprintf(f.what, sizeof(f.what), "%s", why);
	if (b) {
		v->ret->bad_rows[b->pub.table] += b->pub.rows;
		reader_block_damaged(v->s, b, why);
	}
	report(v, &f);
}

/* ---- references ---- */

static int ids_add(struct ids *s, int64_t id)
{
	if ((uint64_t)id > s->below)
		return map_set(&s->beyond, (uint64_t)id, 0);
	if ((uint64_t)id < s->below)
		return 0;
	do
		s->below++;
	while (map_del(&s->beyond, s->below));
	return 0;
}

static bool ids_has(const struct ids *s, int64_t id)
{
	return (uint64_t)id < s->below || map_get(&s->beyond, (uint64_t)id, NULL);
}

/* Counts rows of a column whose id has no row in its table so far. */
static void count_missed(const struct batch *rows, unsigned int column, struct ids *to,
			 const struct check_fault *here)
{
	assert(column < rows->def->column_count);
	for (size_t i = 0; i < rows->rows; i++) {
		int64_t id = batch_get(rows, column, i, -1);

		if (batch_is_null(rows, column, i) || (id >= 0 && ids_has(to, id)))
			continue;
		if (!to->missed++) {
			to->first = *here;
			to->first_id = (uint64_t)id;
		}
	}
}

/* Returns the table that the ids of an entry refer to, and our column; -1: none. */
static int entry_refers_to(const struct block *b, const struct block_entry *e, unsigned int *ret)
{
	const struct table_def *t = b->pub.def;
	int to;

	*ret = e->kind == ENTRY_COLUMN ? b->to_ours[e->column] : 0xff;
	/* sums refer to what their rows refer to; a user's table may hold any number */
	if (t->kind == TABLE_IS_SUMS || b->pub.table == TABLE_OWN || *ret >= t->column_count ||
	    e->min > e->max)
		return -1;
	to = schema_refers(t, *ret);
	return to == TABLE_OP ? -1 : to;
}

/* Nearly always the header suffices: ids come in order, and each has its row. */
static bool check_trace_is_known(const struct checker *v, int table, const struct block_entry *e)
{
	return table < 0 || (e->min >= 0 && (uint64_t)e->max < v->ids[table].below);
}

static bool refers_only_to_known(const struct checker *v, const struct block *b)
{
	bool known = true;

	for (unsigned int i = 0; i < b->view.head->entries && known; i++) {
		const struct block_entry *e = &b->view.entries[i];
		unsigned int column;

		known = check_trace_is_known(v, entry_refers_to(b, e, &column), e);
	}
	return known;
}

/*
 * True for blocks of which there are many, and of which the walk needs only the ids: they are unpacked afterwards, in
 * parallel.
 */
static bool is_bulk(const struct block *b)
{
	return b->pub.def->kind != TABLE_IS_DIMENSION;
}

static int check_references(struct checker *v, const struct block *b, const struct batch *rows)
{
	const struct check_fault here = fault_of(&b->view, b, b->pub.offset);
	int r = 0;

	assert(rows->table == b->pub.table && rows->rows == b->pub.rows);
	for (size_t i = 0; !is_bulk(b) && i < rows->rows && r >= 0; i++)
		r = ids_add(&v->ids[b->pub.table], batch_get(rows, 0, i, INT64_MAX));
	for (unsigned int i = 0; i < b->view.head->entries && r >= 0; i++) {
		const struct block_entry *e = &b->view.entries[i];
		unsigned int column;
		int table = entry_refers_to(b, e, &column);

		assert(table < TABLE_COUNT);
		if (!check_trace_is_known(v, table, e))
			count_missed(rows, column, &v->ids[table], &here);
	}
	return r;
}

static void report_missed(struct checker *v)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		struct ids *to = &v->ids[i];

		if (!to->missed)
			continue;
		snprintf(to->first.what, sizeof(to->first.what),
			 "%llu row%s from here on refer to a missing %s, the first one to %s %lld",
			 (unsigned long long)to->missed, to->missed == 1 ? "" : "s",
			 schema_table(i)->name, schema_table(i)->name, (long long)to->first_id);
		report(v, &to->first);
	}
}

/* ---- one block ---- */

/*
 * Reads the payload and checks every section. Returns what is wrong, or NULL. A negative errno in *ret_code ends the
 * check.
 */
static const char *check_sections(struct checker *v, const struct block_view *view,
				  const struct block *b, uint64_t offset, char text[static 96],
				  int *ret_code)
{
	const struct block_header *h = view->head;
	uint64_t covered = 0;
	ssize_t n;

	buf_clear(&v->payload);
	*ret_code = buf_reserve(&v->payload, h->payload_len + 1);
	if (*ret_code < 0)
		return NULL;
	n = fd_read_at(v->t.fd, v->payload.data, h->payload_len, offset + h->header_len);
	if (n < 0)
		return strerror((int)-n);
	if ((size_t)n < h->payload_len)
		return "the file ends within it";
	for (unsigned int i = 0; i < h->entries; i++) {
		const struct block_entry *e = &view->entries[i];
		unsigned int column = b && e->kind == ENTRY_COLUMN ? b->to_ours[e->column] : 0xff;

		assert((uint64_t)e->offset + e->len <=
		       h->payload_len); /* checked by block_view() */
		covered += e->len;
		if (XXH3_64bits(v->payload.data + e->offset, e->len) == e->checksum)
			continue;
		if (column == 0xff)
			return e->kind == ENTRY_NULLS ? "checksum of a null map"
						      : "payload checksum";
		snprintf(text, 96, "checksum of column %s", b->pub.def->columns[column].name);
		return text;
	}
	return covered == h->payload_len ? NULL : "bytes of the payload belong to no section";
}

/* Unpacks the rows of a block. Returns the damage found, or NULL. */
static const char *check_trace_unpack(const struct checker *v, struct decoder *decoder,
				      const struct block *b, const struct batch **ret,
				      int *ret_code)
{
	struct decode_source src = reader_source(v->s, b);
	const char *why = NULL;

	src.recording = src.trace = 0; /* ids as the file has them */
	*ret_code = decode_columns(decoder, &src, ~0ull, ret, &why);
	if (*ret_code == -EIO)
		why = strerror(EIO);
	else if (*ret_code != -EBADMSG)
		return NULL;
	*ret_code = 0;
	return why;
}

static int check_rows(struct checker *v, struct block *b)
{
	const struct batch *rows = NULL;
	const char *why = NULL;
	int r = 0;

	if (!is_bulk(b) || !refers_only_to_known(v, b))
		why = check_trace_unpack(v, v->decoder, b, &rows, &r);
	if (why)
		lose(v, &b->view, b, b->pub.offset, why);
	if (why || r < 0)
		return r;
	v->ret->rows[b->pub.table] += b->pub.replaced ? 0 : b->pub.rows;
	if (b->pub.table == TABLE_OP && b->first <= b->last) {
		v->ret->first =
			v->ret->first == INT64_MIN ? b->first : MIN(v->ret->first, b->first);
		v->ret->last = MAX(v->ret->last, b->last);
	}
	if (b->pub.table == TABLE_SUMMARY && b->pub.pair == SIZE_MAX)
		flaw(v, &b->view, b, b->pub.offset,
		     "it summarizes block %lld, which is missing: readers ignore it",
		     (long long)b->pub.min[SUMMARY_BLOCK]);
	return rows ? check_references(v, b, rows) : 0;
}

/*
 * Checks the single blob of a block of names, an index, or the head of a made table. An index must name the blocks
 * between it and the index before it.
 */
static int check_blob(struct checker *v, const struct block_view *view, uint64_t offset)
{
	struct decode_source src = {
		.fd = v->t.fd, .payload = offset + view->head->header_len, .view = *view};
	bool index = view->head->kind == BLOCK_INDEX;
	struct meta names;
	struct bytes text;
	const char *why = "";
	int r = decode_blob(v->decoder, &src, &text, &why);

	if (r >= 0 && view->head->kind == BLOCK_MADE) {
		why = "it does not name its table";
		r = made_check_head(text);
	} else if (r >= 0 && !index) {
		why = "the names of its tables cannot be read";
		r = meta_read(&names, text);
	} else if (r >= 0 && XXH3_64bits(text.data, text.len) != XXH3_64bits_digest(v->indexed) &&
		   v->index_faults == v->ret->faults && !v->open.blocks) {
		flaw(v, view, NULL, offset, "its list of the preceding blocks is wrong");
	}
	if (r == -EBADMSG) {
		lose(v, view, NULL, offset, why);
		r = 0;
	}
	return r;
}

/* Checks a part of a digest: it must equal the sum of the summaries of its blocks. */
static int check_digest(struct checker *v, const struct block_view *view, uint64_t offset)
{
	const struct digest *d;
	struct block *b = digest_at(v->s, &v->t, offset, &d);
	const char *why = NULL;
	bool same = false;
	int r;

	assert(view->head->kind == BLOCK_DIGEST);
	if (!b) {
		flaw(v, view, NULL, offset, "it does not list its blocks: readers ignore it");
		return 0;
	}
	r = digest_compare(v->s, v->decoder, d, b, &same, &why);
	if (r == -EBADMSG) {
		lose(v, view, NULL, offset, why);
		reader_block_damaged(v->s, b, why);
		return 0;
	}
	if (r >= 0 && !same)
		flaw(v, view, NULL, offset, "it does not match the sums of its blocks");
	return r;
}

static void check_number(struct checker *v, const struct block_view *view, const struct block *b,
			 uint64_t offset)
{
	if (view->head->seq > v->t.next_seq)
		gap(v, offset, view->head->seq, "missing before this position");
	else if (view->head->seq < v->t.next_seq)
		flaw(v, view, b, offset, "its number is %llu where %llu is expected",
		     (unsigned long long)view->head->seq, (unsigned long long)v->t.next_seq);
	if (view->head->last_index != v->t.last_index && v->index_faults == v->ret->faults &&
	    !v->open.blocks)
		flaw(v, view, b, offset,
		     "it places the previous index at byte %llu, but it is at %llu",
		     (unsigned long long)view->head->last_index,
		     (unsigned long long)v->t.last_index);
}

/* Adds the header to the hash that the next index is compared with. */
static void note_header(struct checker *v, const struct block_view *view, uint64_t offset)
{
	if (view->head->kind == BLOCK_INDEX) {
		v->t.last_index = offset;
		XXH3_64bits_reset(v->indexed);
		v->index_faults = v->ret->faults + (v->open.blocks > 0);
		return;
	}
	XXH3_64bits_update(v->indexed, &offset, sizeof(offset));
	XXH3_64bits_update(v->indexed, view->head, view->head->header_len);
}

/* Checks a block whose header is intact, or, if only the index has it (b), is known from there. */
static int check_block(struct checker *v, const struct block_view *view, struct block *b,
		       uint64_t offset)
{
	char text[96];
	const char *why;
	int r;

	assert(offset == v->t.next && (!b || b->pub.offset == offset));
	check_number(v, view, b, offset);
	if (b && b->pub.table == TABLE_OP && b->first <= b->last) {
		close_gap(v, b->first);
		v->calls_until = MAX(v->calls_until, b->last);
	}
	v->ret->blocks++;
	why = check_sections(v, view, b, offset, text, &r);
	if (why)
		lose(v, view, b, offset, why);
	else if (r >= 0 && b)
		r = check_rows(v, b);
	else if (r >= 0 && (view->head->kind == BLOCK_META || view->head->kind == BLOCK_INDEX ||
			    view->head->kind == BLOCK_MADE))
		r = check_blob(v, view, offset);
	else if (r >= 0 && view->head->kind == BLOCK_DIGEST)
		r = check_digest(v, view, offset);
	note_header(v, view, offset);
	v->t.next_seq = view->head->seq + 1;
	v->t.next = offset + view->head->header_len + view->head->payload_len;
	return r;
}

/* ---- the walk ---- */

/* Returns the block of rows at the walk's position, as readers know it; NULL if there is none. */
static struct block *known_here(struct checker *v)
{
	for (; v->block < store_block_count(v->s); v->block++) {
		struct block *b = reader_block(v->s, v->block);

		if (b->pub.trace == v->t.number && b->pub.offset >= v->t.next)
			return b->pub.offset == v->t.next ? b : NULL;
	}
	return NULL;
}

/* Finds where the walk can continue after damage, and the number of the block there. */
static int behind_damage(struct checker *v, struct found_block *c, uint64_t *ret_at,
			 uint64_t *ret_seq)
{
	const struct block *b =
		v->block < store_block_count(v->s) ? reader_block(v->s, v->block) : NULL;
	int r = scan_skip(&v->t, c, ret_at);

	if (r < 0)
		return r;
	*ret_seq = r == FOUND_BLOCK ? c->view.head->seq : v->t.next_seq + 1;
	if (r != FOUND_BLOCK || *ret_at > v->end)
		*ret_at = v->end;
	if (b && b->pub.trace == v->t.number && b->pub.offset < *ret_at) {
		*ret_at = b->pub.offset;
		*ret_seq = b->pub.seq;
	}
	assert(*ret_at > v->t.next && *ret_at <= v->end);
	return 0;
}

static int check_trace_step(struct checker *v)
{
	struct block *b = known_here(v);
	uint64_t offset = v->t.next, to, seq;
	_cleanup_found_ struct found_block c = {0};
	const char *why;
	int r = scan_look_at(&v->t, offset, &c);

	why = c.why;
	if (r < 0)
		return r;
	if (r == FOUND_BLOCK)
		return check_block(v, &c.view, b, offset);
	if (b) {
		flaw(v, &b->view, b, offset, "%s; the index has a valid copy of the header", why);
		return check_block(v, &b->view, b, offset);
	}
	r = behind_damage(v, &c, &to, &seq);
	if (r < 0)
		return r;
	gap(v, to, seq, why);
	v->t.next = to;
	v->t.next_seq = seq;
	return 0;
}

static void check_tail(struct checker *v)
{
	if (v->ret->growing || v->end >= v->t.size)
		return;
	v->t.next = v->end;
	gap(v, v->t.size, v->t.next_seq + 1, "cut at the end of the file");
}

/* Reports a made table that does not end: its writer was killed, or the file was cut. */
static void check_coming(struct checker *v)
{
	const struct made *m = v->t.coming;
	struct check_fault f = {
		.kind = kind_names[BLOCK_MADE], .first = INT64_MIN, .last = INT64_MIN};

	if (!m)
		return;
	f.seq = m->pub.seq;
	f.offset = m->offset;
	snprintf(f.what, sizeof(f.what),
		 "the table %s, which begins here, is incomplete: readers use the previous one, if "
		 "any",
		 m->pub.name);
	report(v, &f);
}

static void check_events(struct checker *v)
{
	struct check_fault f = {.kind = "", .first = INT64_MIN, .last = INT64_MIN};
	struct store_events events;

	store_events(v->s, &events);
	if (!events.gaps || v->ret->faults)
		return;
	snprintf(f.what, sizeof(f.what), "the event numbers are not consecutive in %llu places",
		 (unsigned long long)events.gaps);
	report(v, &f);
}

static int progress(struct checker *v, uint64_t done)
{
	/* both passes read the file */
	uint64_t all = v->opt->quick ? v->t.size : 2 * v->t.size;

	return v->opt->progress && v->opt->progress(v->opt->arg, MIN(done, all), all) ? -EINTR : 0;
}

static int check_trace_walk(struct checker *v)
{
	int r = 0;

	while (v->t.next < v->end) {
		r = check_trace_step(v);
		if (r < 0)
			return r;
		r = progress(v, v->t.next);
		if (r < 0)
			return r;
	}
	check_tail(v);
	check_coming(v);
	close_gap(v, INT64_MIN);
	report_missed(v);
	check_events(v);
	return 0;
}

/* ---- unpacking ---- */

struct unpacking {
	struct checker *v;
	size_t count;	      /* of blocks */
	atomic_size_t next;   /* the next block to take */
	atomic_ullong bytes;  /* bytes done */
	atomic_int failed;    /* the first errno */
	pthread_mutex_t lock; /* faults */
};

/* Reports a block whose checksums match but whose rows cannot be decoded. */
static void lose_late(struct unpacking *u, struct block *b, const char *why)
{
	struct check_result *ret = u->v->ret;

	pthread_mutex_lock(&u->lock);
	ret->rows[b->pub.table] -= b->pub.replaced ? 0 : b->pub.rows;
	lose(u->v, &b->view, b, b->pub.offset, why);
	pthread_mutex_unlock(&u->lock);
}

static void fail(struct unpacking *u, int code)
{
	int none = 0;

	if (code < 0)
		atomic_compare_exchange_strong(&u->failed, &none, code);
}

/* Takes blocks until none is left. The caller's own thread reports the progress of all threads. */
static void unpack_some(struct unpacking *u, bool reports)
{
	_cleanup_(decoder_freep) struct decoder *decoder = NULL;
	size_t i;

	fail(u, decoder_new(&decoder));
	while (!atomic_load(&u->failed) && (i = atomic_fetch_add(&u->next, 1)) < u->count) {
		struct block *b = reader_block(u->v->s, i);
		const struct batch *rows;
		const char *why = NULL;
		int r = 0;

		if (b->pub.trace != u->v->t.number || !is_bulk(b) || b->pub.damaged)
			continue;
		why = check_trace_unpack(u->v, decoder, b, &rows, &r);
		if (why)
			lose_late(u, b, why);
		fail(u, r);
		atomic_fetch_add(&u->bytes, b->pub.bytes);
		if (reports)
			fail(u, progress(u->v, u->v->t.size + atomic_load(&u->bytes)));
	}
}

static void *unpack_aside(void *arg)
{
	unpack_some(arg, false);
	return NULL;
}

/* Unpacks the blocks that the walk left out, one thread per CPU. */
static int unpack_all(struct checker *v)
{
	struct unpacking u = {.v = v, .count = store_block_count(v->s)};
	pthread_t others[CHECK_THREADS_MAX - 1];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t started = 0;

	pthread_mutex_init(&u.lock, NULL);
	while (started < ARRAY_SIZE(others) && (long)started + 1 < cpus &&
	       started < u.count / CHECK_THREAD_BLOCKS &&
	       !pthread_create(&others[started], NULL, unpack_aside, &u))
		started++;
	unpack_some(&u, true);
	while (started > 0)
		pthread_join(others[--started], NULL);
	pthread_mutex_destroy(&u.lock);
	assert(atomic_load(&u.failed) || atomic_load(&u.next) >= u.count);
	return atomic_load(&u.failed);
}

static int check_all(struct checker *v)
{
	uint32_t head_len;
	int r = checker_init(v);

	if (r < 0)
		return r;
	if (fd_read_at(v->t.fd, &head_len, sizeof(head_len),
		       offsetof(struct file_header, header_len)) != sizeof(head_len))
		return -EIO;
	v->t.next = head_len;
	r = check_trace_walk(v);
	return r < 0 || v->opt->quick ? r : unpack_all(v);
}

int store_check(struct store *s, size_t trace, const struct check_options *opt,
		struct check_result *ret, struct error *err)
{
	const struct trace *t = &s->traces[trace];
	_cleanup_(checker_free) struct checker v = {
		.s = s, .t = *t, .end = t->next, .opt = opt, .ret = ret, .calls_until = INT64_MIN};
	struct store_damage damage;
	int r;

	assert(trace < s->trace_count);
	*ret = (struct check_result){.bytes = t->size,
				     .first = INT64_MIN,
				     .last = INT64_MIN,
				     .closed = t->ended,
				     .growing = !t->ended && scan_is_growing(t),
				     .until = t->until};
	v.t.next_seq = v.t.last_index = v.t.checked = 0;
	store_damage(s, &damage);
	v.rows_missing = damage.gaps || damage.torn;
	r = check_all(&v);
	return r < 0 ? error_errno(err, r, "cannot check the trace %s", t->path) : 0;
}
