/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c: opens traces and reads them as one. */
#include "store/file/read/folders.h"
#include "store/file/read/recordings.h"
#include "store/made/clocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/saturate.h"

struct store_cursor {
	struct store *store;
	struct decoder *decoder;
	struct block *block; /* the block decoded last */
	uint64_t columns;    /* columns decoded of it */
	const struct batch *rows;
};

/* ---- blocks and damage ---- */

struct block *reader_block(const struct store *s, size_t i)
{
	assert(i < atomic_load(&s->count));
	return s->chunks[i / BLOCKS_PER_CHUNK][i % BLOCKS_PER_CHUNK];
}

void reader_damage(struct store *s, const struct store_damage *found, uint64_t seq, uint64_t offset,
		   const char *why)
{
	struct store_damage *d = &s->damage;

	assert(why);
	pthread_mutex_lock(&s->lock);
	if (!d->blocks)
		snprintf(d->first, sizeof(d->first), "block %llu at byte %llu: %s",
			 (unsigned long long)seq, (unsigned long long)offset, why);
	d->blocks += found->blocks;
	d->rows += found->rows;
	d->calls += found->calls;
	d->bytes += found->bytes;
	d->gaps |= found->gaps;
	pthread_mutex_unlock(&s->lock);
}

void reader_block_damaged(struct store *s, struct block *b, const char *why)
{
	if (atomic_exchange(&b->pub.damaged, true))
		return;
	reader_damage(s,
		      &(struct store_damage){
			      .blocks = 1,
			      .rows = b->pub.rows,
			      .calls = b->pub.table == TABLE_OP ? b->pub.rows : 0,
			      .bytes = b->pub.bytes,
		      },
		      b->pub.seq, b->pub.offset, why);
}

struct decode_source reader_source(const struct store *s, const struct block *b)
{
	const struct trace *t = reader_trace(s, b->pub.trace);

	return (struct decode_source){
		.fd = t->fd,
		.payload = b->pub.offset + b->view.head->header_len,
		.view = b->view,
		.table = b->pub.table,
		.def = b->pub.def,
		.to_ours = b->to_ours,
		.trace = b->pub.trace,
		.recording = b->pub.recording,
	};
}

/* ---- opening ---- */

int reader_check_head(const char *path, const struct file_header *h, ssize_t n, struct error *err)
{
	if (!n)
		return error_set(err, -EINVAL, "the trace %s is empty: no block of it was written",
				 path);
	if ((size_t)n < sizeof(h->magic) || memcmp(h->magic, STORE_MAGIC, sizeof(h->magic)))
		return error_set(err, -EINVAL, "%s is not a weir trace; weir record writes one",
				 path);
	if ((size_t)n < sizeof(*h))
		return error_set(
			err, -EINVAL,
			"the trace %s is truncated within its first %zu bytes: nothing can be read",
			path, sizeof(*h));
	if (h->version > STORE_VERSION)
		return error_set(err, -EPROTONOSUPPORT,
				 "the trace %s has format version %u, this weir reads up to %u: "
				 "use a newer weir",
				 path, h->version, STORE_VERSION);
	if (h->version != STORE_VERSION || h->header_len < sizeof(*h) ||
	    h->header_len > STORE_HEADER_MAX ||
	    XXH3_64bits(h, offsetof(struct file_header, checksum)) != h->checksum)
		return error_set(
			err, -EINVAL,
			"the trace %s is damaged in its first %zu bytes: nothing can be read", path,
			sizeof(*h));
	return 0;
}

void reader_trace_free(struct trace *t)
{
	while (t->names) {
		struct names *before = t->names->before;

		free(t->names);
		t->names = before;
	}
	if (t->fd >= 0)
		close(t->fd);
	free(t->path);
}

int reader_open_file(struct trace *t, uint32_t number, const char *path, int fd,
		     const struct stat *st, struct error *err)
{
	struct file_header h;
	ssize_t n = pread(fd, &h, sizeof(h), 0);
	int r;

	if (n < 0)
		return error_errno(err, -errno, "cannot read %s", path);
	r = reader_check_head(path, &h, n, err);
	if (r < 0)
		return r;
	*t = (struct trace){.fd = -1,
			    .dev = st->st_dev,
			    .ino = st->st_ino,
			    .number = number,
			    .recording_key = h.recording,
			    .part = h.part,
			    .created = h.created,
			    .next = h.header_len,
			    .until = UNTIL_UNKNOWN,
			    .changed = st->st_ctim,
			    .state = 1};
	memcpy(t->mark, h.mark, sizeof(t->mark));
	t->path = strdup(path);
	t->names = calloc(1, sizeof(*t->names));
	r = t->path && t->names ? 0 : -ENOMEM;
	if (r >= 0) {
		meta_default(&t->names->meta);
		t->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		r = t->fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		reader_trace_free(t);
		return error_errno(err, r, "cannot open %s", path);
	}
	return 0;
}

int reader_make_room(struct store *s, size_t more)
{
	void *p;

	if (s->trace_count + more <= s->trace_room)
		return 0;
	assert(!atomic_load(&s->count)); /* blocks and other threads point to traces */
	p = reallocarray(s->traces, s->trace_count + more, sizeof(*s->traces));
	if (!p)
		return -ENOMEM;
	s->traces = p;
	s->trace_room = s->trace_count + more;
	return 0;
}

bool reader_is_known(const struct store *s, const struct stat *file)
{
	for (size_t i = 0; i < s->trace_count; i++) {
		if (s->traces[i].dev == file->st_dev && s->traces[i].ino == file->st_ino)
			return true;
	}
	return false;
}

int reader_add_trace(struct store *s, const char *path, bool only_traces, struct error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, -errno, "cannot open the trace %s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "%s is neither a trace nor a folder of traces",
				 path);
	if (only_traces && !store_fd_is_trace(fd))
		return 0;
	if (reader_is_known(s, &st)) /* named twice: its calls count once */
		return 1;
	if (s->trace_count == STORE_TRACES_MAX)
		return error_set(err, -EMFILE, "more than %u traces at once: %s exceeds the limit",
				 STORE_TRACES_MAX, path);
	r = reader_make_room(s, 1);
	if (r < 0)
		return error_errno(err, r, "cannot open %s", path);
	assert(s->trace_count < s->trace_room);
	r = reader_open_file(&s->traces[s->trace_count], (uint32_t)s->trace_count, path, fd, &st,
			     err);
	if (r < 0)
		return r;
	s->trace_count++;
	return 1;
}

int store_open(struct store **ret, const char *const *paths, size_t count, struct error *err)
{
	_cleanup_(store_freep) struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!count)
		return error_set(err, -EINVAL, "no trace given");
	if (!s)
		return error_errno(err, -ENOMEM, "cannot open the trace %s", paths[0]);
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->files_lock, NULL);
	r = decoder_new(&s->decoder);
	if (r >= 0)
		r = dims_new(&s->dims);
	if (r < 0)
		return error_errno(err, r, "cannot open the trace %s", paths[0]);
	r = folders_open(s, paths, count, err);
	if (r < 0)
		return r;
	r = recordings_order(s);
	if (r < 0)
		return error_errno(err, r, "cannot open the trace %s", paths[0]);
	r = (int)store_refresh(s, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

void reader_block_free(struct block *b)
{
	if (!b)
		return;
	free(b->header);
	free(b->stats);
	free(b);
}

static void blocks_free(struct store *s)
{
	for (size_t i = 0; i < atomic_load(&s->count); i++)
		reader_block_free(reader_block(s, i));
	for (size_t i = 0; i < CHUNKS_MAX; i++)
		free(s->chunks[i]);
}

void store_free(struct store *s)
{
	if (!s)
		return;
	blocks_free(s);
	digests_free(s);
	for (size_t i = 0; i < s->trace_count; i++)
		reader_trace_free(&s->traces[i]);
	free(s->traces);
	folders_free(s);
	decoder_free(s->decoder);
	made_free(s);
	dims_free(s->dims);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->files_lock);
	free(s);
}

ssize_t store_refresh(struct store *s, struct error *err)
{
	ssize_t found = 0;

	for (size_t i = 0; i < s->trace_count; i++) {
		ssize_t n = scan_trace(s, &s->traces[i], err);

		if (n < 0)
			return n;
		found += n;
	}
	if (s->made.aside) {
		ssize_t n = scan_trace(s, s->made.aside, err);

		if (n < 0)
			return n;
		found += n;
	}
	return found;
}

/* ---- what is there ---- */

bool store_is_open_ended(const struct store *s)
{
	for (size_t i = 0; i < s->trace_count; i++) {
		if (!s->traces[i].ended)
			return true;
	}
	return false;
}

/* Up to where an unclosed trace is complete, by the corrected clock; UNTIL_UNKNOWN if it has no block. */
static int64_t reader_until(const struct trace *t)
{
	return t->until == UNTIL_UNKNOWN ? UNTIL_UNKNOWN : t->until - t->clock.ahead;
}

int64_t store_trace_settled(const struct store *s, size_t trace)
{
	const struct trace *t = reader_trace(s, (uint32_t)trace);

	return t->ended ? INT64_MAX : reader_until(t);
}

void store_unclosed(const struct store *s, struct store_unclosed *ret)
{
	*ret = (struct store_unclosed){.until = INT64_MAX};
	for (size_t i = 0; i < s->trace_count; i++) {
		const struct trace *t = &s->traces[i];

		if (t->ended || scan_is_growing(t))
			continue;
		ret->traces++;
		if (!ret->path || reader_until(t) < ret->until) {
			ret->until = reader_until(t);
			ret->path = t->path;
		}
	}
}

bool store_is_growing(const struct store *s)
{
	for (size_t i = 0; i < s->trace_count; i++) {
		if (!s->traces[i].ended && scan_is_growing(&s->traces[i]))
			return true;
	}
	return false;
}

size_t store_block_count(const struct store *s)
{
	return atomic_load(&s->count);
}

const struct store_block *store_block(const struct store *s, size_t i)
{
	return &reader_block(s, i)->pub;
}

/* False for a summary of an earlier weir, which does not count calls under their second file. */
static bool knows_seconds(const struct store *s, const struct store_block *op, size_t summary)
{
	assert(op->table == TABLE_OP && store_block(s, summary)->table == TABLE_SUMMARY);
	return op->nulls[OP_FILE2_ID] == op->rows ||
	       memchr(reader_block(s, summary)->to_ours, SUMMARY_FILE2_ID, UINT8_MAX);
}

size_t store_summary_of(const struct store *s, size_t block)
{
	const struct store_block *b = store_block(s, block);
	size_t pair = b->table == TABLE_OP ? atomic_load(&b->pair) : SIZE_MAX;

	return pair == SIZE_MAX || b->damaged || store_block(s, pair)->damaged ||
			       !knows_seconds(s, b, pair)
		       ? SIZE_MAX
		       : pair;
}

bool store_block_on_grid(const struct store *s, size_t block)
{
	return reader_trace(s, store_block(s, block)->trace)->clock.ahead % SUMMARY_WINDOW_NS == 0;
}

bool store_block_has_seconds(const struct store *s, size_t block)
{
	const struct store_block *b = store_block(s, block);
	size_t summary;

	if (b->table != TABLE_OP || b->nulls[OP_FILE2_ID] == b->rows)
		return false;
	summary = store_summary_of(s, block);
	return summary == SIZE_MAX ||
	       store_block(s, summary)->nulls[SUMMARY_FILE2_ID] < store_block(s, summary)->rows;
}

bool store_block_has_id(const struct store *s, size_t i, unsigned int column, int64_t id)
{
	const struct block *b = reader_block(s, i);
	const struct block_extra *x = NULL;

	assert(column < b->pub.def->column_count);
	if (id < b->pub.min[column] || id > b->pub.max[column])
		return false;
	while ((x = block_extra(&b->view, x))) {
		if (x->kind == EXTRA_ID_SET && b->to_ours[x->column] == column)
			return block_set_has(x, id_own(id));
	}
	return true;
}

/* ---- names ---- */

static int reader_do_apply(struct store *s, struct decoder *decoder, struct block *b,
			   const char **ret_why)
{
	struct decode_source src = reader_source(s, b);
	const struct batch *rows;
	int r = reader_verify(s, decoder, b, ret_why);

	assert(schema_is_dimension(b->pub.table));
	assert_locked(&s->files_lock);
	if (r < 0)
		return r;
	r = decode_columns(decoder, &src, ~0ull, &rows, ret_why);
	return r < 0 ? r : dims_apply(s->dims, rows);
}

int reader_apply_rows(struct store *s, struct decoder *decoder, struct block *b)
{
	const char *why = "";
	int r = reader_do_apply(s, decoder, b, &why);

	if (r == -EBADMSG) {
		reader_block_damaged(s, b, why);
		return 0;
	}
	return r;
}

int reader_apply_again(struct store *s)
{
	struct dims *before = s->dims;
	int r = dims_new(&s->dims);

	assert(!atomic_load(&s->files_loaded));
	if (r < 0) {
		s->dims = before;
		return r;
	}
	dims_free(before);
	if (s->united)
		dims_unite(s->dims);
	for (size_t i = s->trace_count; i-- > 0 && r >= 0;) { /* the first file's start counts */
		const struct trace *t = &s->traces[i];

		r = dims_recording(s->dims, t->recording, t->created);
		if (r >= 0)
			r = dims_shift(s->dims, t->recording, t->clock.ahead);
	}
	pthread_mutex_lock(&s->files_lock);
	for (size_t i = 0; i < store_block_count(s) && r >= 0; i++) {
		struct block *b = reader_block(s, i);

		if (b->pub.def->kind == TABLE_IS_DIMENSION && b->pub.table != TABLE_FILE &&
		    !b->pub.damaged)
			r = reader_apply_rows(s, s->decoder, b);
	}
	pthread_mutex_unlock(&s->files_lock);
	return r;
}

/* Applies the blocks of file rows from files_next on. */
static int load_files(struct store *s, struct decoder *decoder, const atomic_bool *stop, bool skip)
{
	assert_locked(&s->files_lock);
	for (; s->files_next < store_block_count(s); s->files_next++) {
		struct block *b = reader_block(s, s->files_next);
		int r;

		if (b->pub.table != TABLE_FILE || b->pub.damaged)
			continue;
		if (stop && atomic_load(stop))
			return -EINTR;
		r = reader_apply_rows(s, decoder, b);
		if (r < 0 && !skip)
			return r;
		if (r < 0)
			reader_block_damaged(s, b, strerror(-r));
	}
	return 0;
}

/* With `skip`, blocks whose rows cannot be read count as damaged. */
static int need_files(struct store *s, const atomic_bool *stop, bool skip)
{
	struct decoder *decoder = NULL;
	int r = 0;

	if (atomic_load(&s->files_loaded))
		return 0;
	pthread_mutex_lock(&s->files_lock);
	if (!atomic_load(&s->files_loaded)) {
		r = decoder_new(&decoder);
		if (r >= 0)
			r = load_files(s, decoder, stop, skip);
		decoder_free(decoder);
		if (r >= 0)
			atomic_store(&s->files_loaded, true);
	}
	pthread_mutex_unlock(&s->files_lock);
	return r;
}

int store_load_files(const struct store *store, const atomic_bool *stop, struct error *err)
{
	/* logically const: the rows are the same before and after */
	int r = need_files((struct store *)store, stop, false);

	return r < 0 ? error_errno(err, r, "cannot read the names of files") : 0;
}

const struct dims *store_dims(const struct store *s)
{
	/* without memory for a decoder, returns the rows known so far; the next call tries again */
	(void)need_files((struct store *)s, NULL, true);
	return s->dims;
}

const struct dims *store_dims_few(const struct store *s)
{
	return s->dims;
}

void store_damage(const struct store *s, struct store_damage *ret)
{
	const char *behind = NULL;
	uint64_t missing;

	pthread_mutex_lock(reader_lock(s));
	*ret = s->damage;
	pthread_mutex_unlock(reader_lock(s));
	missing = recordings_gaps(s, &behind);
	if (missing && !ret->blocks)
		snprintf(ret->first, sizeof(ret->first), "%llu file%s missing before %.200s",
			 (unsigned long long)missing, missing == 1 ? "" : "s", behind);
	ret->blocks += missing;
	ret->gaps |= missing != 0;
	for (size_t i = 0; i < s->trace_count; i++) {
		const struct trace *t = &s->traces[i];

		if (!t->tail)
			continue;
		if (!ret->blocks)
			snprintf(ret->first, sizeof(ret->first),
				 "block %llu at byte %llu: cut at the end of the file",
				 (unsigned long long)t->next_seq, (unsigned long long)t->next);
		ret->blocks++;
		ret->bytes += t->tail;
		ret->torn |= !t->ended; /* nothing was recorded after the end mark */
	}
}

int64_t store_time_near(int64_t t)
{
	t = MIN(t, STORE_TIME_MAX);
	return MAX(t, STORE_TIME_MIN);
}

/* An upper bound for the end of the block's last event; the block has some that began. */
static int64_t block_last(const struct store_block *b)
{
	const struct table_def *t = b->def;
	int64_t last = b->max[t->start];

	assert(t->start < t->column_count);
	if (t->stop != NO_COLUMN && b->min[t->stop] <= b->max[t->stop])
		return MAX(last, b->max[t->stop]);
	if (t->dur != NO_COLUMN && b->min[t->dur] <= b->max[t->dur])
		return add_sat_signed(last, MAX(b->max[t->dur], (int64_t)0));
	return last;
}

void store_range(const struct store *s, int64_t *ret_first, int64_t *ret_last)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct block *b = reader_block(s, i);
		const struct table_def *t = b->pub.def;

		/* events were lost within the recording: rows of loss do not extend it */
		if (t->kind != TABLE_IS_EVENTS || b->pub.table == TABLE_LOSS)
			continue;
		if (b->first <= b->last) { /* when the first began, when the last ended */
			first = MIN(first, b->first);
			last = MAX(last, b->last);
		} else if (t->start != NO_COLUMN && b->pub.min[t->start] <= b->pub.max[t->start]) {
			first = MIN(first, b->pub.min[t->start]);
			last = MAX(last, block_last(&b->pub));
		}
	}
	*ret_first = first > last ? INT64_MIN : store_time_near(first);
	*ret_last = first > last ? INT64_MIN : store_time_near(last);
}

uint64_t store_bytes(const struct store *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->trace_count; i++)
		sum += s->traces[i].size;
	return sum;
}

size_t store_trace_count(const struct store *s)
{
	return s->trace_count;
}

uint64_t store_trace_bytes(const struct store *s, size_t trace)
{
	assert(trace < s->trace_count);
	return s->traces[trace].size;
}

const char *store_trace_path(const struct store *s, size_t trace)
{
	assert(trace < s->trace_count);
	return s->traces[trace].path;
}

/* ---- cursors ---- */

int store_cursor_new(struct store_cursor **ret, const struct store *s)
{
	_cleanup_free_ struct store_cursor *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	r = decoder_new(&c->decoder);
	if (r < 0)
		return r;
	c->store = (struct store *)s; /* damage is counted there, under its lock */
	*ret = TAKE_PTR(c);
	return 0;
}

void store_cursor_free(struct store_cursor *c)
{
	if (!c)
		return;
	decoder_free(c->decoder);
	free(c);
}

static int left_out(const struct store_cursor *c, const struct block *b, const char *why,
		    struct error *err)
{
	return error_set(err, -EBADMSG, "block %llu of %s is damaged (%s); its rows are skipped",
			 (unsigned long long)b->pub.seq, reader_trace(c->store, b->pub.trace)->path,
			 why);
}

static int decode_failed(struct store_cursor *c, struct block *b, int r, const char *why,
			 struct error *err)
{
	if (r == -EBADMSG) {
		reader_block_damaged(c->store, b, why);
		return left_out(c, b, why, err);
	}
	return r < 0 ? error_errno(err, r, "cannot read %s",
				   reader_trace(c->store, b->pub.trace)->path)
		     : 0;
}

/* Which generations are one file is known only after all rows of files are read. */
static int cursor_replace(struct store_cursor *c, const struct batch *b)
{
	assert(c->store->united);
	if (b->table == TABLE_FILE && c->columns >> FILE_INODE & 1) {
		int r = need_files(c->store, NULL, true);

		if (r < 0)
			return r;
	}
	recordings_apply(c->store, b, c->columns);
	return 0;
}

/* True if decoding more of the block must start over, because columns are predicted from ids as the file has them. */
static bool cursor_replaces(const struct store_cursor *c, uint64_t columns)
{
	const struct table_def *t = c->block->pub.def;

	assert(c->store->united);
	for (unsigned int i = 0; i < t->column_count; i++) {
		if (columns >> i & 1 && recordings_replace(c->store, t, i))
			return true;
	}
	return false;
}

static int64_t cursor_shift(const struct store_cursor *c, const struct block *b)
{
	return reader_trace(c->store, b->pub.trace)->clock.ahead;
}

/* Decodes a block whose verification returned r. */
static int decode_verified(struct store_cursor *c, struct block *b, int r, const char *why,
			   uint64_t columns, const struct batch **ret, struct error *err)
{
	struct decode_source src = reader_source(c->store, b);

	c->block = NULL;
	c->columns = columns;
	/* for sums, the damage may be in the block that they stand for, and is counted there */
	if (r == -EBADMSG)
		return left_out(c, b, why, err);
	if (r >= 0)
		r = decode_columns(c->decoder, &src, columns, ret, &why);
	if (r < 0)
		return decode_failed(c, b, r, why, err);
	clocks_shift(*ret, columns, cursor_shift(c, b));
	if (c->store->united)
		r = cursor_replace(c, *ret);
	c->block = r < 0 ? NULL : b;
	c->rows = *ret;
	return decode_failed(c, b, r, why, err);
}

int store_decode(struct store_cursor *c, size_t i, uint64_t columns, const struct batch **ret,
		 struct error *err)
{
	struct block *b = reader_block(c->store, i);
	const char *why = "";
	int r = reader_verify_for_use(c->store, c->decoder, b, &why);

	return decode_verified(c, b, r, why, columns, ret, err);
}

int store_decode_digest(struct store_cursor *c, const struct store_digest *d,
			enum store_digest_part part, uint64_t columns, const struct batch **ret,
			struct error *err)
{
	struct block *b = digest_part(d, part);
	const char *why = "";
	uint64_t calls;
	int r = reader_verify(c->store, c->decoder, b, &why);

	for (size_t i = 0; i < d->count && r >= 0; i++)
		r = reader_verify(c->store, c->decoder, reader_block(c->store, d->blocks[i]), &why);
	r = decode_verified(c, b, r, why, columns | 1ull << SUMMARY_CALLS, ret, err);
	calls = d->calls + (part == STORE_DIGEST_FILES ? store_digest_seconds(d) : 0);
	return r < 0 || store_summary_counts(*ret, calls, false)
		       ? r
		       : left_out(c, b, "it does not count the calls that it summarizes", err);
}

int store_decode_more(struct store_cursor *c, uint64_t columns, struct error *err)
{
	const struct batch *rows = NULL;
	const char *why = "";
	bool again = false;
	int64_t shift;
	int r;

	assert(c->block);
	shift = cursor_shift(c, c->block);
	if (c->store->united && cursor_replaces(c, c->columns | columns)) {
		struct decode_source src = reader_source(c->store, c->block);

		r = decode_columns(c->decoder, &src, c->columns | columns, &rows, &why);
		again = true;
	} else {
		/* predictions use times as the file has them */
		clocks_shift(c->rows, c->columns, -shift);
		r = decode_more(c->decoder, columns, &why);
		rows = c->rows;
	}
	c->columns |= columns;
	if (r >= 0)
		clocks_shift(rows, c->columns, shift);
	if (r >= 0 && again)
		r = cursor_replace(c, rows);
	return decode_failed(c, c->block, r, why, err);
}
