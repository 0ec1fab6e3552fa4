/* SPDX-License-Identifier: Apache-2.0 */
/* made_write.c: appends made tables to a trace: to a closed one, after its end mark, or to one being recorded. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "store/file/read/block_scan.h"
#include "store/file/write/fit.h"
#include "store/file/write/writer.h"
#include "store/made/clocks.h"

#define MADE_ROWS_AT_ONCE \
	8192u /* rows that store_made_row() collects before they go into a block */

struct making {
	struct buf head; /* written with the first block of rows */
	bool headed;
	struct batch *rows; /* for the next block */
	struct batch *in;   /* collects the rows of store_made_row(); NULL: none so far */
};

void making_free(struct making *m)
{
	if (!m)
		return;
	buf_free(&m->head);
	batch_free(m->rows);
	batch_free(m->in);
	free(m);
}

/* ---- a closed trace ---- */

/* Locks the file as its recorder did. -EBUSY if another process has it locked, or it changed since it was read. */
static int reopen_file(int fd, const struct trace *t, struct error *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	struct stat here, read;

	if (fcntl(fd, F_OFD_SETLK, &lock) < 0 && (errno == EAGAIN || errno == EACCES))
		return error_set(err, -EBUSY, "the trace %s is being written: try again later",
				 t->path);
	if (fstat(fd, &here) < 0 || fstat(t->fd, &read) < 0)
		return error_errno(err, -errno, "cannot read the trace %s", t->path);
	if (here.st_dev != read.st_dev || here.st_ino != read.st_ino ||
	    (uint64_t)here.st_size != t->size)
		return error_set(err, -EBUSY, "the trace %s has changed in the meantime: try again",
				 t->path);
	if (!t->ended)
		return error_set(
			err, -EINVAL,
			"the trace %s is not closed: it is being recorded, its recorder was "
			"killed, or it is truncated; tables can only be appended to closed traces",
			t->path);
	return 0;
}

/* Adds the blocks after the last index to the next one. */
static int reopen_index(struct store_writer *w, const struct trace *t)
{
	uint64_t at = t->last_index ? t->last_index : w->head.header_len;

	while (at < t->next && !w->index_broken) {
		struct found_block c = {0};
		int r = scan_look_at(t, at, &c);

		w->index_broken =
			r != FOUND_BLOCK; /* damage on the way: readers walk the headers */
		if (r == FOUND_BLOCK) {
			if (c.view.head->kind != BLOCK_INDEX) {
				r = writer_index_note(w, c.header, at);
				w->index_count++;
			}
			at += c.view.head->header_len + (uint64_t)c.view.head->payload_len;
		}
		free(c.header);
		if (r < 0)
			return r;
	}
	return 0;
}

int store_reopen(struct store_writer **ret, const struct store *s, struct error *err)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	const struct trace *t = &s->traces[0];
	_cleanup_(writer_freep) struct store_writer *w = NULL;
	int r = writer_new(&w, t->path, &opt);

	assert(s->trace_count == 1);
	if (r < 0)
		return error_errno(err, r, "cannot write the trace %s", t->path);
	w->fd = open(t->path, O_RDWR | O_CLOEXEC);
	if (w->fd < 0)
		return error_errno(err, -errno, "cannot write the trace %s", t->path);
	r = reopen_file(w->fd, t, err);
	if (r < 0)
		return r;
	if (fd_read_at(w->fd, &w->head, sizeof(w->head), 0) != sizeof(w->head))
		return error_errno(err, -EIO, "cannot read the trace %s", t->path);
	w->offset = w->reopened = t->next;
	w->seq = t->next_seq;
	w->last_index = t->last_index;
	w->recorded = t->recorded;
	w->made_heads = t->heads;
	w->ahead = t->clock.ahead;
	r = reopen_index(w, t);
	/* removes the partial block of an interrupted append */
	if (r >= 0 && t->size > t->next && ftruncate(w->fd, (off_t)t->next) < 0)
		r = -errno;
	if (r < 0)
		return error_errno(err, r, "cannot write the trace %s", t->path);
	*ret = TAKE_PTR(w);
	return 0;
}

void store_abandon(struct store_writer *w)
{
	if (!w)
		return;
	assert(w->reopened);
	/* if this fails too, readers ignore the generation, as it has no last block */
	(void)!ftruncate(w->fd, (off_t)w->reopened);
	writer_free(w);
}

/* ---- a generation ---- */

static int made_put_text(struct buf *b, const char *text)
{
	size_t len = strlen(text);

	buf_varint(b, len);
	return buf_append(b, text, len);
}

static int made_check_columns(const struct table_def *t, struct error *err)
{
	if (t->column_count > SCHEMA_COLUMNS_MAX)
		return error_set(err, -EINVAL, "%u columns; the limit for a table is %u",
				 t->column_count, SCHEMA_COLUMNS_MAX);
	for (unsigned int i = 0; i < t->column_count; i++) {
		size_t len = strlen(t->columns[i].name);

		if (!len || len > MADE_COLUMN_MAX)
			return error_set(err, -EINVAL,
					 "the name of column %u has %zu bytes, not 1 to %u: rename "
					 "it with AS",
					 i + 1, len, MADE_COLUMN_MAX);
		for (unsigned int k = 0; k < i; k++) {
			if (!strcasecmp(t->columns[i].name, t->columns[k].name))
				return error_set(
					err, -EINVAL,
					"two columns are called %s: rename one of them with AS",
					t->columns[i].name);
		}
	}
	return 0;
}

static int made_put_head(struct buf *b, const struct store_making *what, const struct table_def *t,
			 uint64_t covered)
{
	made_put_text(b, t->name);
	made_put_text(b, what->origin);
	buf_varint(b, what->version);
	made_put_text(b, what->options ? what->options : "");
	buf_varint(b, covered);
	buf_varint(b, t->column_count);
	for (unsigned int i = 0; i < t->column_count; i++) {
		made_put_text(b, column_type_name(t->columns[i].type));
		made_put_text(b, t->columns[i].unit);
		made_put_text(b, t->columns[i].name);
	}
	return buf_status(b);
}

static int made_result(struct store_writer *w, int r, struct error *err)
{
	if (r >= 0)
		return 0;
	making_free(TAKE_PTR(w->making));
	return error_errno(err, r, "cannot write the trace %s%s", w->path,
			   w->reopened ? ", which is unchanged" : "");
}

int store_made_begin(struct store_writer *w, const struct store_making *what, struct error *err)
{
	const struct table_def *t =
		what->table == TABLE_OWN ? what->own : schema_table(what->table);
	_cleanup_(making_freep) struct making *m = calloc(1, sizeof(*m));
	int r;

	assert(!w->making && t->kind == TABLE_IS_MADE);
	if (!made_name_ok(t->name, strlen(t->name)))
		return error_set(err, -EINVAL,
				 "invalid table name '%.80s': use a letter or _, then letters, "
				 "digits and _, up to %u characters",
				 t->name, MADE_NAME_MAX);
	r = made_check_columns(t, err);
	if (r < 0)
		return r;
	r = m ? batch_new_of(&m->rows, what->table, t) : -ENOMEM;
	if (r >= 0)
		r = made_put_head(&m->head, what, t, what->covered ? what->covered : w->recorded);
	if (r >= 0 && made_check_head(buf_bytes(&m->head)) == -EBADMSG)
		return error_set(err, -EINVAL,
				 "the table %s cannot be written: its texts are not UTF-8, or too "
				 "long",
				 t->name);
	if (r >= 0 && w->made_heads > made_heads_max(w->offset))
		return error_set(err, -EFBIG,
				 "the trace %s has too many computed tables to add another one",
				 w->path);
	if (r >= 0) {
		w->made_heads += MADE_HEAD_COST + m->head.len;
		w->making = TAKE_PTR(m);
	}
	return made_result(w, r, err);
}

/* Writes the waiting rows, the first time together with the head. */
static int made_cut(struct store_writer *w, uint8_t flags)
{
	static const struct block_facts nothing_more = {.until = UNTIL_UNKNOWN};
	struct making *m = w->making;
	bool alone = !m->rows->rows;
	int r = 0;

	clocks_shift(m->rows, ~0ull, -w->ahead);
	if (!m->headed)
		r = writer_stage_blob(w, BLOCK_MADE, alone ? flags : 0, buf_bytes(&m->head));
	if (r >= 0 && !alone)
		r = writer_stage_rows(w, m->rows, flags, &nothing_more);
	if (r >= 0)
		r = writer_commit(w, false);
	if (r < 0)
		return r;
	m->headed = true;
	batch_clear(m->rows);
	return 0;
}

static int made_append(struct store_writer *w, const struct batch *b)
{
	struct making *m = w->making;
	size_t from = 0;
	int r = 0;

	assert(m && b->def == m->rows->def);
	while (from < b->rows && r >= 0) {
		size_t n = fit_rows(m->rows, b, from, b->rows);

		if (n)
			r = batch_append(m->rows, b, from, from + n);
		else
			r = m->rows->rows ? made_cut(w, 0) : -EMSGSIZE;
		from += n;
	}
	return r;
}

int store_made_rows(struct store_writer *w, const struct batch *b, struct error *err)
{
	return made_result(w, made_append(w, b), err);
}

/* Appends the rows that store_made_row() collected. */
static int made_append_in(struct store_writer *w)
{
	struct batch *in = w->making->in;
	int r = in ? made_append(w, in) : 0;

	if (in)
		batch_clear(in);
	return r;
}

struct batch_row store_made_row(struct store_writer *w, struct error *err)
{
	struct making *m = w->making;
	struct batch_row row = {0};

	if (!m->in)
		row.r = batch_new_of(&m->in, m->rows->table, m->rows->def);
	else if (m->in->rows == MADE_ROWS_AT_ONCE)
		row.r = made_append_in(w);
	if (row.r >= 0)
		row = batch_row(m->in);
	row.r = made_result(w, row.r, err);
	return row;
}

int store_made_end(struct store_writer *w, bool partial, struct error *err)
{
	_cleanup_(making_freep) struct making *m = w->making;
	uint8_t flags = BLOCK_MADE_LAST | (partial ? BLOCK_MADE_PARTIAL : 0);
	int r = made_append_in(w);

	assert(r < 0 || m->rows->rows || !m->headed); /* rows are left for the last block */
	/* the rows must be durable before the block that puts them in force */
	if (r >= 0 && m->headed && fdatasync(w->fd) < 0)
		r = -errno;
	if (r >= 0)
		r = made_cut(w, flags);
	w->making = NULL;
	if (r < 0)
		return made_result(w, r, err);
	if (w->index_count >= STORE_INDEX_EVERY)
		(void)!writer_commit_index(
			w, false); /* the table is in force; a later commit tries again */
	return 0;
}
