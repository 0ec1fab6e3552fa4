/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_scan.c: finds the blocks of a file, header by header. At an invalid header it searches forward for the next
 * place that has the file's mark and a valid header; what is between counts as damage and is named.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "store/file/read/recordings.h"
#include "store/file/read/block_scan.h"
#include "store/made/clocks.h"

#define SEARCH_BYTES (1u << 20) /* searched at a time */
#define SEARCH_EFFORT \
	16 /* limit, in multiples of the file's size, of bytes read for candidates that are not headers */

#define PAIR_BLOCKS_MAX 16u /* a summary is searched for among this many blocks after its own */

int scan_look_at(const struct trace *t, uint64_t offset, struct found_block *ret)
{
	struct block_header h;
	ssize_t n = fd_read_at(t->fd, &h, sizeof(h), offset);
	int r;

	ret->header = NULL;
	ret->checked = 0;
	ret->why = "no block where one is expected";
	if (n < 0)
		return (int)n;
	if ((size_t)n < sizeof(h))
		return FOUND_END_OF_FILE;
	if (memcmp(h.mark, t->mark, sizeof(h.mark)))
		return FOUND_DAMAGE;
	ret->why = "header length";
	if (h.header_len < sizeof(h) || h.header_len > STORE_HEADER_MAX || h.header_len % 8)
		return FOUND_DAMAGE;
	ret->header = malloc(h.header_len);
	if (!ret->header)
		return -ENOMEM;
	n = fd_read_at(t->fd, ret->header, h.header_len, offset);
	ret->checked = h.header_len;
	if (n < 0)
		return (int)n;
	if ((size_t)n < h.header_len)
		return FOUND_END_OF_FILE;
	r = block_view(ret->header, h.header_len, &ret->view, &ret->why);
	if (r < 0)
		return FOUND_DAMAGE;
	ret->why = "the file ends within it";
	if (offset + h.header_len + ret->view.head->payload_len > t->size)
		return FOUND_END_OF_FILE;
	return FOUND_BLOCK;
}

/* A search for marks. The buffer is kept between calls: a file may be full of marks. */
struct search {
	uint8_t *buf;
	uint64_t from; /* offset in the file of the buffer's first byte */
	size_t len;
};

static void block_scan_search_free(struct search *s)
{
	free(s->buf);
}

/* The next position at or after `at` with the mark; the file's size if there is none. */
static int64_t search(struct search *s, const struct trace *t, uint64_t at)
{
	if (!s->buf)
		s->buf = malloc(SEARCH_BYTES);
	if (!s->buf)
		return -ENOMEM;
	while (at + STORE_MARK_LEN <= t->size) {
		const uint8_t *hit = NULL;
		ssize_t n;

		assert(s->len <= SEARCH_BYTES);
		if (at >= s->from && at - s->from < s->len)
			hit = memmem(s->buf + (at - s->from), s->len - (at - s->from), t->mark,
				     STORE_MARK_LEN);
		if (hit)
			return (int64_t)(s->from + (uint64_t)(hit - s->buf));
		/* A mark may straddle the end of the buffer. */
		if (at >= s->from && s->len >= STORE_MARK_LEN)
			at = MAX(at, s->from + s->len - STORE_MARK_LEN + 1);
		n = fd_read_at(t->fd, s->buf, SEARCH_BYTES, at);
		if (n < 0)
			return n;
		s->from = at;
		s->len = (size_t)n;
		if (s->len < STORE_MARK_LEN)
			break;
	}
	return (int64_t)t->size;
}

/* ---- a block found ---- */

static int64_t block_scan_compose(const struct block *b, unsigned int column, int64_t v)
{
	return id_compose(v, column_composes(b->pub.def, column, b->pub.trace, b->pub.recording));
}

/* Fills min, max and nulls, indexed by our columns. */
static int fill_stats(const struct store *s, struct block *b)
{
	unsigned int n = b->pub.def->column_count;
	int64_t *min, *max;
	uint32_t *nulls;

	assert(n <= SCHEMA_COLUMNS_MAX);
	b->stats = malloc(n * (2 * sizeof(*min) + sizeof(*nulls)));
	if (!b->stats)
		return -ENOMEM;
	min = b->stats;
	max = min + n;
	nulls = (uint32_t *)(max + n);
	for (unsigned int i = 0; i < n; i++) {
		min[i] = INT64_MAX;
		max[i] = INT64_MIN;
		nulls[i] = b->pub.rows;
	}
	for (unsigned int i = 0; i < b->view.head->entries; i++) {
		const struct block_entry *e = &b->view.entries[i];
		unsigned int ours = b->to_ours[e->column];

		if (e->kind != ENTRY_COLUMN || ours == 0xff)
			continue;
		assert(ours < n && e->nulls <= b->pub.rows);
		nulls[ours] = e->nulls;
		if (e->min > e->max || e->nulls == b->pub.rows)
			continue;
		if (recordings_replace(s, b->pub.def, ours)) { /* may be any id */
			min[ours] = 0;
			max[ours] = INT64_MAX;
			continue;
		}
		min[ours] = block_scan_compose(b, ours, e->min);
		max[ours] = block_scan_compose(b, ours, e->max);
	}
	b->pub.min = min;
	b->pub.max = max;
	b->pub.nulls = nulls;
	return 0;
}

static void take_until(struct trace *t, const struct block *b)
{
	const struct block_extra *x = NULL;
	int64_t until;

	while ((x = block_extra(&b->view, x))) {
		if (x->kind != EXTRA_UNTIL || x->len != sizeof(until))
			continue;
		memcpy(&until, x + 1, sizeof(until));
		t->until = MAX(t->until, until);
	}
}

static void fill_range(struct block *b)
{
	const struct block_extra *x = NULL;

	b->first = INT64_MAX;
	b->last = INT64_MIN;
	while ((x = block_extra(&b->view, x))) {
		if (x->kind != EXTRA_RANGE || x->len != 2 * sizeof(int64_t))
			continue;
		memcpy(&b->first, x + 1, sizeof(b->first));
		memcpy(&b->last, (const uint8_t *)(x + 1) + sizeof(b->first), sizeof(b->last));
	}
}

/*
 * Finds the block of op that a summary, block i, sums. It is shortly before the summary, as one write has both. A
 * summary of several blocks is ignored, and so is a second summary of the same block: its calls would count twice.
 */
static size_t find_pair(const struct store *s, const struct store_block *summary, size_t i)
{
	size_t least = i > PAIR_BLOCKS_MAX ? i - PAIR_BLOCKS_MAX : 0;

	if (summary->table != TABLE_SUMMARY ||
	    summary->min[SUMMARY_BLOCK] != summary->max[SUMMARY_BLOCK])
		return SIZE_MAX;
	while (i-- > least) {
		const struct store_block *op = store_block(s, i);

		if (op->table == TABLE_OP && op->trace == summary->trace &&
		    (int64_t)op->seq == summary->min[SUMMARY_BLOCK])
			return op->pair == SIZE_MAX ? i : SIZE_MAX;
	}
	return SIZE_MAX;
}

struct block *scan_new_block(const struct store *s, struct trace *t, uint64_t offset,
			     const struct block_of *of, struct found_block *c)
{
	const struct block_header *h = c->view.head;
	struct block *b = calloc(1, sizeof(*b));

	assert(of->table <= TABLE_OWN && c->header);
	assert(h->rows > 0 && h->rows <= STORE_ROWS_MAX);
	if (!b)
		return NULL;
	b->view = c->view;
	b->to_ours = of->to_ours;
	b->pub = (struct store_block){.table = of->table,
				      .def = of->def,
				      .trace = t->number,
				      .recording = t->recording,
				      .seq = h->seq,
				      .offset = offset,
				      .rows = h->rows,
				      .bytes = h->header_len + h->payload_len,
				      .long_calls = (h->flags & BLOCK_LONG_CALLS) != 0,
				      .ended = (h->flags & BLOCK_ENDED) != 0,
				      .pair = SIZE_MAX};
	fill_range(b);
	if (fill_stats(s, b) < 0) {
		free(b);
		return NULL;
	}
	clocks_shift_block(b, t->clock.ahead);
	b->header = TAKE_PTR(c->header);
	return b;
}

struct block *scan_named_block(const struct store *s, struct trace *t, uint64_t offset,
			       struct found_block *c)
{
	const struct meta *names = &t->names->meta;
	enum table_id table = (enum table_id)names->table[c->view.head->table];

	return scan_new_block(s, t, offset,
			      &(struct block_of){table, schema_table(table), names->column[table]},
			      c);
}

int scan_list(struct store *s, struct block *b)
{
	size_t i = atomic_load(&s->count), pair;
	struct block **chunk = NULL;

	if (i < (size_t)CHUNKS_MAX * BLOCKS_PER_CHUNK) {
		chunk = s->chunks[i / BLOCKS_PER_CHUNK];
		if (!chunk)
			chunk = calloc(BLOCKS_PER_CHUNK, sizeof(struct block *));
		s->chunks[i / BLOCKS_PER_CHUNK] = chunk;
	}
	if (!chunk) {
		reader_block_free(b);
		return i < (size_t)CHUNKS_MAX * BLOCKS_PER_CHUNK ? -ENOMEM : -EFBIG;
	}
	assert(!chunk[i % BLOCKS_PER_CHUNK]);
	chunk[i % BLOCKS_PER_CHUNK] = b;
	pair = find_pair(s, &b->pub, i);
	b->pub.pair = pair;
	atomic_store(&s->count, i + 1);
	if (pair != SIZE_MAX)
		reader_block(s, pair)->pub.pair = i;
	return 0;
}

uint64_t store_table_rows(const struct store *s, enum table_id table)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_block *b = store_block(s, i);

		rows += b->table == table ? b->rows : 0;
	}
	return rows;
}

/* Adds names after the known ones if they differ; blocks found before keep pointing to theirs. */
static int add_names(struct trace *t, struct bytes text, const char **ret_why)
{
	_cleanup_free_ struct names *n = calloc(1, sizeof(*n));
	int r = n ? meta_read(&n->meta, text) : -ENOMEM;

	if (r < 0 || !memcmp(&n->meta, &t->names->meta, sizeof(n->meta)))
		return r;
	assert(t->names->number < NAMES_MAX);
	*ret_why = "its names differ from the previous ones too many times";
	if (t->names->number + 1 >= NAMES_MAX)
		return -EBADMSG;
	n->number = t->names->number + 1;
	n->before = t->names;
	t->names = TAKE_PTR(n);
	return 0;
}

/* Takes the names that apply to the blocks that follow. */
static int take_names(struct store *s, struct trace *t, uint64_t offset,
		      const struct found_block *c)
{
	struct decode_source src = {
		.fd = t->fd, .payload = offset + c->view.head->header_len, .view = c->view};
	const char *why = "the names of its tables cannot be read";
	struct bytes text;
	int r = decode_blob(s->decoder, &src, &text, &why);

	if (r >= 0)
		r = add_names(t, text, &why);
	if (r == -EBADMSG) {
		reader_damage(
			s, &(struct store_damage){.blocks = 1, .bytes = c->view.head->payload_len},
			c->view.head->seq, offset, why);
		return 0; /* numbers never change: the known ones still apply */
	}
	return r;
}

static int block_scan_take_rows(struct store *s, struct trace *t, uint64_t offset,
				struct found_block *c)
{
	uint8_t table = t->names->meta.table[c->view.head->table];
	struct block *b;
	int r;

	if (table == 0xff || !c->view.head->rows ||
	    schema_table((enum table_id)table)->kind == TABLE_IS_MADE)
		return 0;
	b = scan_named_block(s, t, offset, c);
	if (!b)
		return -ENOMEM;
	take_until(t, b);
	r = scan_list(s, b);
	if (r < 0)
		return r;
	if (!schema_is_dimension(b->pub.table))
		return 1;
	/* rows of files are loaded on first use; after that they are applied at once */
	pthread_mutex_lock(&s->files_lock);
	if (b->pub.table != TABLE_FILE || atomic_load(&s->files_loaded))
		r = reader_apply_rows(s, s->decoder, b);
	pthread_mutex_unlock(&s->files_lock);
	return r < 0 ? r : 1;
}

/*
 * After the end mark there are only tables made since then, and no rows of the recording, so none can be missing
 * before `next`.
 */
static bool scan_may_miss_rows(const struct trace *t, const struct block_header *next)
{
	return !t->ended || !(block_is_appended(next->kind) || next->kind == BLOCK_END);
}

int scan_take(struct store *s, struct trace *t, uint64_t offset, struct found_block *c)
{
	const struct block_header *h = c->view.head;
	int r = 0;

	assert(offset >= t->next);
	if (h->seq > t->next_seq)
		reader_damage(s,
			      &(struct store_damage){.blocks = h->seq - t->next_seq,
						     .gaps = scan_may_miss_rows(t, h)},
			      t->next_seq, offset, "missing before this position");
	t->next_seq = h->seq + 1;
	t->next = offset + h->header_len + h->payload_len;
	if (!block_is_appended(h->kind))
		t->ended = false;
	if (block_is_recorded(h->kind))
		t->recorded = t->next;
	switch (h->kind) {
	case BLOCK_META:
		r = take_names(s, t, offset, c);
		break;
	case BLOCK_ROWS:
		r = block_scan_take_rows(s, t, offset, c);
		break;
	case BLOCK_END:
		t->ended = true;
		break;
	case BLOCK_INDEX:
		t->last_index = offset;
		break;
	case BLOCK_DIGEST:
		r = digest_take(s, t, offset, c);
		break;
	case BLOCK_MADE:
	case BLOCK_MADE_ROWS:
		r = made_take(s, t, offset, c);
		break;
	default:
		break;
	}
	return r;
}

/* ---- the walk ---- */

/* True while the writer holds its lock: then any bytes after the last block are a write in progress. */
bool scan_is_growing(const struct trace *t)
{
	return store_fd_is_written(t->fd);
}

bool store_fd_is_trace(int fd)
{
	uint8_t magic[sizeof(STORE_MAGIC) - 1];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, STORE_MAGIC, sizeof(magic));
}

bool store_path_is_trace(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && store_fd_is_trace(fd);
}

bool store_fd_is_written(int fd)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/*
 * Headers that lie about their length can make every mark cost STORE_HEADER_MAX bytes of checking. No genuine file
 * comes near SEARCH_EFFORT; past it the search ends, and the rest counts as damage.
 */
int scan_skip(struct trace *t, struct found_block *c, uint64_t *ret_offset)
{
	_cleanup_(block_scan_search_free) struct search s = {0};
	uint64_t at = t->next;

	while (t->checked / SEARCH_EFFORT <= t->size + STORE_HEADER_MAX) {
		int64_t hit = search(&s, t, at + 1);
		int r;

		if (hit < 0)
			return (int)hit;
		at = (uint64_t)hit;
		if (at >= t->size)
			break;
		free(c->header);
		r = scan_look_at(t, at, c);
		/* a lower number means a copy of a header: in an index, or in a user's table */
		if (r < 0 || (r == FOUND_BLOCK && c->view.head->seq >= t->next_seq)) {
			assert(at > t->next);
			*ret_offset = at;
			return r;
		}
		t->checked += c->checked;
	}
	return FOUND_END_OF_FILE;
}

/* Takes the block at t->next: 1 if it holds rows, 0 if not, -ENODATA at the end. */
static int block_scan_step(struct store *s, struct trace *t)
{
	_cleanup_found_ struct found_block c = {0};
	uint64_t offset = t->next;
	const char *why;
	int r = scan_look_at(t, offset, &c);

	why = c.why;
	if (r == FOUND_DAMAGE || (r == FOUND_END_OF_FILE && t->size > t->next)) {
		r = scan_skip(t, &c, &offset);
		if (r == FOUND_BLOCK) {
			uint64_t seq = t->next_seq, lost = c.view.head->seq - seq;
			struct store_damage gap = {.blocks = MAX(lost, (uint64_t)1),
						   .bytes = offset - t->next,
						   .gaps = scan_may_miss_rows(t, c.view.head)};

			assert(c.view.head->seq >= seq && offset > t->next);
			reader_damage(s, &gap, seq, t->next, why);
			t->next_seq = c.view.head->seq;
		}
	}
	if (r == FOUND_BLOCK)
		return scan_take(s, t, offset, &c);
	return r == FOUND_END_OF_FILE ? -ENODATA : r;
}

/* Notes the file's state. 1 if it is unchanged since the last scan, 0 if not, or negative. */
static int scan_note_state(struct store *s, struct trace *t, struct error *err)
{
	bool growing = scan_is_growing(t), same;
	struct stat st;
	int r = 0;

	if (fstat(t->fd, &st) < 0)
		return error_errno(err, -errno, "cannot read the trace %s", t->path);
	same = st.st_ctim.tv_sec == t->changed.tv_sec && st.st_ctim.tv_nsec == t->changed.tv_nsec;
	if (t->next_seq && same && growing == t->growing && (uint64_t)st.st_size == t->size)
		return 1;
	r = made_look_back(t);
	if (r < 0)
		return error_errno(err, r, "cannot read the trace %s", t->path);
	/* a writer only appends, but its last write may have come after the last look */
	if (t->next_seq && !same && (!growing || (uint64_t)st.st_size < t->next))
		r = changes_recheck(s, t, err);
	if (r < 0)
		return r;
	t->changed = st.st_ctim;
	t->growing = growing;
	t->size = (uint64_t)st.st_size;
	return 0;
}

ssize_t scan_trace(struct store *s, struct trace *t, struct error *err)
{
	ssize_t found = 0;
	int r = scan_note_state(s, t, err);

	if (r)
		return MIN(r, 0);
	if (t->next_seq == 0 && t->next < t->size) {
		found = index_load(s, t);
		r = found < 0 ? (int)found : 0;
	}
	while (r >= 0 && t->next < t->size) {
		r = block_scan_step(s, t);
		found += r > 0;
	}
	if (r == -EFBIG)
		return error_set(err, r, "cannot read the trace %s: more than %u blocks in total",
				 t->path, CHUNKS_MAX * BLOCKS_PER_CHUNK);
	t->tail = r == -ENODATA && !t->growing ? t->size - t->next : 0;
	if (r < 0 && r != -ENODATA)
		return error_errno(err, r, "cannot read the trace %s", t->path);
	return found;
}
