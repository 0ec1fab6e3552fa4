/* SPDX-License-Identifier: Apache-2.0 */
/* writer_file.c: how the file of a writer begins and ends, and how a recording continues in another. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/fd.h"
#include "store/file/write/writer.h"

int store_writer_fd(const struct store_writer *w)
{
	return w->fd;
}

const char *store_writer_path(const struct store_writer *w)
{
	return w->path;
}

void store_writer_place(const struct store_writer *w, struct store_place *ret)
{
	store_fd_place(w->fd, w->path, ret);
}

void writer_free(struct store_writer *w)
{
	if (!w)
		return;
	file_syncer_free(w->syncer);
	if (w->fd >= 0)
		close(w->fd);
	alive_free(w->alive);
	encoder_free(w->encoder);
	summarizer_free(w->summarizer);
	batch_free(w->summary);
	digester_free(w->digester);
	for (unsigned int i = 0; i < WAITING; i++)
		batch_free(w->waiting[i].rows);
	events_free(&w->events);
	buf_free(&w->out);
	buf_free(&w->index);
	free(w->path);
	making_free(w->making);
	free(w);
}

static int sync_file(struct store_writer *w)
{
	assert(w->fd >= 0);
	if (!w->dirty)
		return 0;
	if (fdatasync(w->fd) < 0)
		return -errno;
	w->dirty = false;
	return 0;
}

/* Writes the last index and the end mark, on a full disk into the space that reserve() kept. */
static int finish_file(struct store_writer *w)
{
	const struct buf nothing = {0};
	int failed, r;

	assert(!w->staged_count);
	file_syncer_free(TAKE_PTR(w->syncer));
	failed = writer_commit_loss(w, true);
	if (failed >= 0) {
		(void)writer_commit_index(w, true); /* without it readers walk the headers */
		failed = writer_commit_blob(w, BLOCK_END, &nothing, true);
	}
	/* Frees the reserve. */
	if (ftruncate(w->fd, (off_t)w->offset) < 0 && failed >= 0)
		failed = -errno;
	r = sync_file(w);
	return failed < 0 ? failed : r;
}

int store_close_stats(struct store_writer *w, struct store_stats *ret, struct error *err)
{
	_cleanup_(writer_freep) struct store_writer *mine = w;
	uint64_t lost;
	int code = writer_flush(w, true), failed = writer_report_failure(w, code, err), r;

	writer_give_up(w, code);
	store_writer_stats(w, ret);
	lost = ret->lost_rows;
	r = finish_file(w);
	failed = failed < 0 ? failed : r;
	if (failed < 0 && w->reopened) /* the end mark was already there */
		(void)!ftruncate(w->fd, (off_t)w->reopened);
	ret->changed = w->stats.changed;
	ret->changed_size = w->stats.changed_size;
	if (failed < 0)
		return error_errno(err, failed,
				   lost ? "cannot finish the trace %s (%llu rows lost)"
					: "cannot finish the trace %s",
				   mine->path, (unsigned long long)lost);
	return 0;
}

int store_close(struct store_writer *w, struct error *err)
{
	struct store_stats ignored;

	return store_close_stats(w, &ignored, err);
}

/* ---- create ---- */

/* Writes the header of the next file, and locks the file as growing. */
static int writer_write_head(const struct store_writer *w, int fd, struct file_header *h)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	/*
	 * The lock shows readers that the file still grows, and vanishes if the writer is killed. Not every file
	 * system has locks; readers then cannot know.
	 */
	(void)fcntl(fd, F_OFD_SETLK, &lock);
	if (w->opt.owner != (uid_t)-1 && w->opt.owner != geteuid() &&
	    fchown(fd, w->opt.owner, (gid_t)-1) < 0)
		return -errno;
	*h = (struct file_header){.version = STORE_VERSION,
				  .header_len = sizeof(*h),
				  .created = clock_realtime_ns(),
				  .recording = w->head.recording,
				  .part = w->stats.parts};
	if (getrandom(h->mark, sizeof(h->mark), 0) != (ssize_t)sizeof(h->mark))
		return -EIO;
	while (w->alive && !h->recording) {
		if (getrandom(&h->recording, sizeof(h->recording), 0) !=
		    (ssize_t)sizeof(h->recording))
			return -EIO;
	}
	memcpy(h->magic, STORE_MAGIC, sizeof(h->magic));
	h->checksum = XXH3_64bits(h, offsetof(struct file_header, checksum));
	return fd_write_at(fd, h, sizeof(*h), 0);
}

static int write_meta(struct store_writer *w)
{
	_cleanup_buf_ struct buf text = {0};
	int r = meta_write(&text);

	return r < 0 ? r : writer_commit_blob(w, BLOCK_META, &text, false);
}

/* Writes dimension rows again, as the new file does not have them. */
static int take_alive(void *arg, const struct batch *rows)
{
	return writer_take(arg, rows->table, rows, 0, rows->rows);
}

int writer_new(struct store_writer **ret, const char *path, const struct store_options *opt)
{
	_cleanup_(writer_freep) struct store_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->fd = -1;
	w->until = UNTIL_UNKNOWN;
	w->opt = *opt;
	r = encoder_new(&w->encoder, opt->compression >= 0);
	if (r < 0)
		return r;
	r = summarizer_new(&w->summarizer);
	if (r < 0)
		return r;
	r = batch_new(&w->summary, TABLE_SUMMARY);
	if (r < 0)
		return r;
	r = digester_new(&w->digester);
	if (r < 0)
		return r;
	w->path = strdup(path);
	if (!w->path)
		return -ENOMEM;
	if (opt->parts)
		r = alive_new(&w->alive, &(struct alive_sink){take_alive, w});
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

/* Writes what follows the header. */
static int begin_file(struct store_writer *w)
{
	int r;

	assert(!w->seq && !w->index_count && !w->syncer);
	w->offset = sizeof(w->head);
	w->stats.parts++;
	r = write_meta(w);
	w->stats.part_began = w->offset;
	return r < 0 || !w->opt.sync_ns ? r : file_syncer_new(&w->syncer, w->fd, w->path, &w->opt);
}

static int create_file(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

int store_create(struct store_writer **ret, const char *path, const struct store_options *opt,
		 struct error *err)
{
	const struct store_options none = {.owner = (uid_t)-1};
	_cleanup_(writer_freep) struct store_writer *w = NULL;
	int r = writer_new(&w, path, opt ? opt : &none);

	if (r < 0)
		return error_errno(err, r, "cannot create the trace %s", path);
	w->fd = create_file(path);
	if (w->fd < 0)
		return error_errno(err, w->fd, "cannot create the trace %s", path);
	r = writer_write_head(w, w->fd, &w->head);
	if (r >= 0)
		r = begin_file(w);
	if (r < 0) {
		(void)unlink(path);
		return error_errno(err, r, "cannot write the trace %s", path);
	}
	*ret = TAKE_PTR(w);
	return 0;
}

/* ---- the next file ---- */

/* Resets the state that belongs to one file. */
static void begin_again(struct store_writer *w, int fd, char *path)
{
	assert(fd >= 0 && path && !w->staged_count);
	close(w->fd);
	free(w->path);
	w->fd = fd;
	w->path = path;
	w->before += w->offset;
	w->offset = w->seq = w->last_index = w->recorded = w->made_heads = 0;
	digest_clear(w->digester); /* it refers to blocks by their numbers in the file */
	buf_clear(&w->index);
	w->index_count = 0;
	w->index_broken = w->dirty = w->torn = false;
}

int store_rotate(struct store_writer *w, const char *path, struct error *err)
{
	_cleanup_free_ char *name = strdup(path);
	_cleanup_close_ int fd = name ? create_file(path) : -ENOMEM;
	struct file_header head;
	int failed, r;

	assert(w->alive && !w->making);
	if (fd < 0)
		return error_errno(err, fd, "cannot create the trace %s", path);
	/* Before the old file ends, so that a recorder killed here leaves a file without an end. */
	r = writer_write_head(w, fd, &head);
	if (r < 0) {
		(void)unlink(path);
		return error_errno(err, r, "cannot write the trace %s", path);
	}
	/* rows that cannot be written now wait, or are counted, and go into the next file */
	failed = writer_flush(w, true);
	r = finish_file(w);
	failed = failed < 0 ? failed : r;
	begin_again(w, TAKE_FD(fd), TAKE_PTR(name));
	w->head = head;
	r = begin_file(w);
	if (r >= 0)
		r = alive_begin(w->alive);
	if (r >= 0)
		r = writer_flush(w, true);
	w->stats.part_began = w->offset;
	return writer_report_failure(w, r < 0 ? r : failed, err);
}

void store_remove_part(const struct store_writer *w, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct file_header h;

	if (fd >= 0 && pread(fd, &h, sizeof(h), 0) == sizeof(h) &&
	    !memcmp(h.magic, STORE_MAGIC, sizeof(h.magic)) && h.recording &&
	    h.recording == w->head.recording && h.part != w->head.part)
		(void)unlink(path);
}
