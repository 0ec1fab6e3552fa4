/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: the trace file: an append-only log of self-contained, checksummed, compressed column blocks, specified byte
 * by byte in docs/FORMAT.md. Writer, reader, tail of a growing file, recovery, several traces read as one. May use
 * batch (and hist, for summaries).
 */
#pragma once

#include <stdatomic.h>

#include "base/error.h"
#include "batch/batch.h"
#include "batch/dims.h"
#include "batch/events.h"

/* ---- writing ---- */

struct store_writer;

struct store_options {
	int compression; /* 0: default (zstd 1 where it pays), -1: none */
	int64_t sync_ns; /* interval of fdatasync(), called by a separate thread; 0: only at close */
	void (*sync_thread)(
		void);	  /* called first by that thread, to drop privileges; may be NULL */
	bool no_summary;  /* omit the summary of each op block (tests) */
	int64_t block_ns; /* maximum age of a block before it is cut; 0: 500 ms */
	uid_t owner;	  /* owner of the file, SUDO_UID's user; (uid_t)-1: the caller */
	bool parts;	  /* the recording may continue in further files (store_rotate()) */
};

struct store_stats {
	uint64_t rows[TABLE_COUNT];
	uint64_t blocks;
	uint64_t bytes; /* bytes so far, of all files */
	uint64_t part_bytes,
		part_began; /* of the current file: bytes, and bytes before its first event */
	uint64_t parts;	    /* files so far, including deleted ones */
	uint64_t lost_rows; /* rows that could not be written, all counted in loss by now */
	/* Another program cut the file or wrote into it: earlier data may be lost. The writer continues after it. */
	bool changed;
	uint64_t changed_size; /* the smallest size seen */
};

/* What happened to an open file. */
enum store_fate {
	STORE_KEPT,    /* it has its name, as far as can be determined */
	STORE_MOVED,   /* it, or a folder above it, was renamed */
	STORE_DELETED, /* it has no name any more, and vanishes when it is closed */
	STORE_HIDDEN,  /* its file system was unmounted, or something was mounted above it */
};

struct store_place {
	enum store_fate fate;
	bool replaced;	/* its name refers to another file */
	char now[4096]; /* STORE_MOVED: its path now */
};

/* Creates the file with mode 0600. -EEXIST if it exists: the caller moves it away first. */
int store_create(struct store_writer **ret, const char *path, const struct store_options *opt,
		 struct error *err);
/*
 * Takes the rows; cuts and commits blocks as they fill. On a full disk it returns -ENOSPC once, counts lost rows, and
 * keeps trying.
 */
int store_append(struct store_writer *w, const struct batch *b, struct error *err);
/* Appends dimension tables first, then the others. */
int store_append_set(struct store_writer *w, const struct batch_set *s, struct error *err);
/* Commits buffered rows older than block_ns (or, with `all`, everything). Call it every few 100 ms. */
int store_flush(struct store_writer *w, bool all, struct error *err);
/*
 * The source's counts of events so far, one element per CPU; `count` never changes. The next block of calls or marks
 * records the increase since the one before. 0 or -ENOMEM.
 */
int store_note_events(struct store_writer *w, const struct event_count *cpus, size_t count);
/*
 * Promises that every call that ended before `until` (ns since the epoch; never decreases) was appended, or is
 * counted in rows of loss. Headers of blocks record up to when that holds for the file.
 */
void store_note_until(struct store_writer *w, int64_t until);
void store_writer_stats(const struct store_writer *w, struct store_stats *ret);
/* Counts rows that the caller lost for lack of memory as rows that could not be written. */
void store_note_lost(struct store_writer *w, uint64_t rows);
/*
 * Continues in another file of the same recording, which begins with the live dimension rows and can be read alone.
 * The old file has everything appended so far and is closed; read together they are one trace. If the new file cannot
 * be created, the recording continues in the old one. Needs the option `parts`.
 */
int store_rotate(struct store_writer *w, const char *path, struct error *err);
/* Removes a file of this recording, unless it is the one being written; leaves any other file alone. */
void store_remove_part(const struct store_writer *w, const char *path);
/* The path at which the current file was created. */
const char *store_writer_path(const struct store_writer *w);
/* The current file's descriptor, valid until the writer is closed or continues in another file. */
int store_writer_fd(const struct store_writer *w);
/* Compares the file with the one under its name now: a few system calls. */
void store_writer_place(const struct store_writer *w, struct store_place *ret);
/* The same for any open file. For -1 nothing is known, and it counts as kept. */
void store_fd_place(int fd, const char *path, struct store_place *ret);
/* Flushes, writes the last index, calls fdatasync, closes. The writer is freed even on failure. */
int store_close(struct store_writer *w, struct error *err);
/* The same, and returns the final totals, in which rows that could not be written count as lost. */
int store_close_stats(struct store_writer *w, struct store_stats *ret, struct error *err);

/* ---- reading ---- */

/*
 * One or several traces, read as one. Several threads may decode blocks, each with its own cursor, even while one
 * thread calls store_refresh(); no thread may use store_dims() meanwhile.
 */
struct store;

/*
 * Opens traces: files or directories of them. Ids of several recordings are composed (batch/ids.h); a machine,
 * control group or process that is the same in several recordings has one id (docs/FORMAT.md, "Reading several files
 * as one"). A growing file is read as far as it is committed. A file named twice is read once. If a file is not a
 * trace, of a newer version, or unreadable, the error says so; in a folder with other traces it is left out and
 * counts as damage.
 */
int store_open(struct store **ret, const char *const *paths, size_t count, struct error *err);
/*
 * The same, with the times of recordings corrected by their tables `clock`: for callers that show or compare times,
 * even of one trace, so that they match the times of that trace opened among others. Tables that are added while the
 * store is open are ignored. A writer from store_reopen() converts times back to the recording's own clock.
 */
int store_open_corrected(struct store **ret, const char *const *paths, size_t count,
			 struct error *err);
void store_free(struct store *s);
DEFINE_CLEANUP(struct store *, store_free)

/* The correction subtracted from the times of a recording (schema/flow_tables.h, clock). */
struct store_clock {
	bool known;	      /* a table exists, and is applied */
	bool several;	      /* for a host in several recordings: their corrections differ */
	int64_t ahead, bound; /* ns */
};
/* Subtracts `ahead` from the times of a store's only recording, in place of the shift in its table. 0 or negative. */
int store_correct(struct store *s, int64_t ahead) _must_check_;
struct store_clock store_recording_clock(const struct store *s, size_t recording);
/*
 * The same for a host, even if its rows were corrected before they were loaded into this store (MADE_CLOCKS_APPLIED).
 */
struct store_clock store_host_clock(struct store *s, size_t recording, struct bytes host);
/* The recording that a file belongs to. */
size_t store_trace_recording(const struct store *s, size_t trace);
/*
 * Finds blocks committed since. Returns the number of new ones, or negative. They are appended to the known ones, so
 * that a block keeps its number. If a file that is not being recorded was changed in place, blocks that are gone
 * count as damage from now on, and the others are verified again before they are used.
 */
ssize_t store_refresh(struct store *s, struct error *err);
/*
 * Opens traces that appeared in the folders given to store_open(), up to 256 and while there are fewer than `max` in
 * all. Returns how many. No cursor may be in use meanwhile; store_refresh() then finds their blocks.
 */
size_t store_look_again(struct store *s, size_t max);
/* True if store_look_again() may find traces: a folder was given, or a recording in several files. */
bool store_has_folders(const struct store *s);
/* True if some file has no end mark yet: it is growing, or its recorder was killed. */
bool store_is_open_ended(const struct store *s);

/*
 * Every call, wait and loss of a growing file before this time has been read, though rows of other tables may still
 * come. INT64_MAX: the file has ended; INT64_MIN: unknown.
 */
int64_t store_trace_settled(const struct store *s, size_t trace);

/*
 * Traces that were not closed, as the recorder was killed or the file was cut. Their last calls are missing and not
 * counted.
 */
struct store_unclosed {
	size_t traces; /* their number; 0: all were closed, or still grow */
	int64_t until; /* in each of them every call that ended before this is present or counted as lost; INT64_MIN: unknown */
	const char *path; /* the one with the earliest `until` */
};
void store_unclosed(const struct store *s, struct store_unclosed *ret);

/* True while a writer has one of the files open: more rows will come. */
bool store_is_growing(const struct store *s);
/* The same for an open file, whether it is a trace or not. */
bool store_fd_is_written(int fd);
/* True if an open file begins like a trace, whatever follows. */
bool store_fd_is_trace(int fd);
/*
 * True if the path is a regular file that begins like a trace. Other files are not opened, because opening a pipe could
 * block or wake the process that writes to it.
 */
bool store_path_is_trace(const char *path);

#define SUMMARY_WINDOW_NS 100000000ll /* of a summary's rows */

/* The number of the file that holds made tables aside (store/made/made.h), distinct from those of traces. */
#define TRACE_ASIDE 4096u

struct store_block {
	enum table_id table; /* TABLE_OWN: not in the schema */
	const struct table_def *def;
	uint32_t trace;	    /* number of the file, or TRACE_ASIDE */
	uint32_t recording; /* the recording that it belongs to: id_recording() of its ids */
	uint64_t seq;	    /* number within its file */
	uint64_t offset;    /* in the file */
	uint32_t rows;
	uint32_t bytes; /* on disk, header included */
	atomic_bool
		damaged; /* found by any cursor; readers skip it, and store_damage() counts it */
	atomic_bool replaced; /* part of a made table that was replaced since; readers skip it */
	bool long_calls;      /* holds only calls over 100 ms */
	bool ended; /* of op: each call returned, or ended without a return value; not known in older traces */
	/* for op: its summary block, once found; for summary: its op block; SIZE_MAX: none */
	atomic_size_t pair;
	/* per column of its table, ids composed; min > max if all rows are null */
	const int64_t *min, *max;
	const uint32_t *nulls;
};

/* False if readers skip the block. */
static inline bool store_block_counts(const struct store_block *b)
{
	return !b->damaged && !b->replaced;
}

/* True if a call of the block of op may have been unfinished when the recording stopped. */
static inline bool store_block_may_run(const struct store_block *b)
{
	return b->nulls[OP_RET] && !b->ended;
}

/* Blocks in file order, one trace after another, followed by those that store_refresh() found. */
size_t store_block_count(const struct store *s);
const struct store_block *store_block(const struct store *s, size_t i);
/* The rows of a table in all blocks, by their headers: of a dimension table, no fewer than it has entities. */
uint64_t store_table_rows(const struct store *s, enum table_id table);
/*
 * True if the block may hold a row with this id in OP_FILE_ID or OP_THREAD_ID. Uses the sorted id sets, without
 * decoding.
 */
bool store_block_has_id(const struct store *s, size_t i, unsigned int column, int64_t id);

/*
 * The summary block of an op block; SIZE_MAX if there is none, or it is damaged. Once it is decoded,
 * store_summary_counts() decides whether it can stand for the calls.
 */
size_t store_summary_of(const struct store *s, size_t block);
/* True if the windows of the block's sums are aligned to whole windows of the clock in which its times are read. */
bool store_block_on_grid(const struct store *s, size_t block);
/*
 * False if the header shows that no call of an op block moves bytes between two files, so that batch_seconds() would
 * find none.
 */
bool store_block_has_seconds(const struct store *s, size_t block);

/*
 * A digest: the sum of the summaries of several op blocks. Both parts are rows of summary; sums saturate at
 * INT64_MAX.
 */
enum store_digest_part {
	/* By window, op, thread, err and class. */
	STORE_DIGEST_TIMES,
	/*
	 * By file, class and err. Failed calls have their op and second file. Successful calls that move bytes
	 * between two files are counted under each of them (store_digest_seconds()). Files that occur in many of the
	 * blocks have rows with op, thread and histogram; others have neither thread nor histogram.
	 */
	STORE_DIGEST_FILES,
};

struct store_digest {
	const size_t *blocks;  /* of op, ascending, with gaps */
	const int64_t *io_max; /* the longest I/O call of each, ns; -1: none */
	size_t count;	       /* of both arrays */
	uint64_t calls;
};

/* The digest that contains an op block; NULL if there is none, or the digest or one of its blocks was found damaged. */
const struct store_digest *store_digest_of(const struct store *s, size_t block);
/* False if it has no part by file, because that would not be smaller than the summaries. */
bool store_digest_has_files(const struct store_digest *d);
/* The number of calls that the part by file, which must exist, counts twice. */
uint64_t store_digest_seconds(const struct store_digest *d);

/* Scratch memory of one reading thread. */
struct store_cursor;
int store_cursor_new(struct store_cursor **ret, const struct store *s) _must_check_;
void store_cursor_free(struct store_cursor *c);
DEFINE_CLEANUP(struct store_cursor *, store_cursor_free)
/*
 * Decodes the columns of the set (bit i: column i; ~0: all) of block i. The batch belongs to the cursor and is valid
 * until its next use. -EBADMSG: the block is corrupt, and is counted as damage; continue with the next.
 */
int store_decode(struct store_cursor *c, size_t i, uint64_t columns, const struct batch **ret,
		 struct error *err);

/*
 * Passes the columns of each block of the tables (bits: 1ull << TABLE_...) to `take`, in file order; the batch is valid
 * until it returns. Corrupt blocks are counted as damage and left out. 0, or what `take` returned; negative with a
 * message if a block cannot be read.
 */
typedef int store_each_fn(void *arg, const struct store_block *block, const struct batch *b);
int store_each(const struct store *s, uint64_t tables, uint64_t columns, store_each_fn *take,
	       void *arg, struct error *err);

/*
 * Decodes further columns of the block that store_decode() decoded last, into the same batch, so that callers can
 * read the columns of a filter first. Errors as for store_decode(), which invalidate the batch.
 */
int store_decode_more(struct store_cursor *c, uint64_t columns, struct error *err);

/*
 * As store_decode(), for a part of a digest that exists; SUMMARY_CALLS is always decoded. -EBADMSG: the part or one
 * of its blocks is corrupt, or it does not match their calls; read the blocks one by one.
 */
int store_decode_digest(struct store_cursor *c, const struct store_digest *d,
			enum store_digest_part part, uint64_t columns, const struct batch **ret,
			struct error *err);

/*
 * True if a decoded summary can stand for the calls of its block: it counts all `rows` of them (unfinished calls are
 * in no summary) and, with `hists`, every histogram is valid and counts the calls of its row. Otherwise read the
 * rows.
 */
bool store_summary_counts(const struct batch *summary, uint64_t rows, bool hists);
/* Checks the histogram of one row, for callers that need only a few. */
bool store_summary_row_counts(const struct batch *summary, size_t row);

/*
 * All dimension rows so far (updated by store_refresh()). Never NULL. Rows of files, of which there may be millions,
 * are read from the trace on the first call; unreadable ones count as damage.
 */
const struct dims *store_dims(const struct store *s);
/* The same without rows of files, for callers that need only threads, processes, groups and hosts. */
const struct dims *store_dims_few(const struct store *s);
/*
 * Reads the rows of files in advance, so that store_dims() returns at once. 0, -EINTR as soon as *stop (may be NULL)
 * is true, or another error.
 */
int store_load_files(const struct store *s, const atomic_bool *stop, struct error *err);

struct store_damage {
	uint64_t blocks; /* corrupt or torn, skipped; each of `traces` counts as one */
	uint64_t traces; /* files of a folder that cannot be read at all */
	uint64_t rows;	 /* rows in them, if the header still counts them */
	uint64_t calls;	 /* of these, rows of op */
	uint64_t bytes;	 /* unreadable bytes */
	bool gaps;	 /* blocks of unknown content are missing */
	bool torn;	 /* the last block is cut off, its content unknown */
	char first[256]; /* "block 17 at byte 123456: payload checksum" */
};
void store_damage(const struct store *s, struct store_damage *ret);

/* What can happen to a trace's file while it is open. Rows read before stay valid, and the others can still be read. */
#define STORE_FILE_DELETED  1u /* it has no name any more, and vanishes when it is closed */
#define STORE_FILE_MOVED    2u /* nothing exists under the name with which it was opened */
#define STORE_FILE_REPLACED 4u /* another file has that name (by device and inode) */
#define STORE_FILE_CUT	    8u /* it is shorter than the part already read */
/* The word for each bit: "deleted", "moved", ...; NULL past the last. */
const char *store_file_change_word(size_t i, unsigned int *ret_what);
struct store_file_changes {
	size_t traces;		/* number of traces affected; 0: none */
	unsigned int what;	/* all changes of any of them */
	const char *path;	/* the first one, preferably one that lost its name */
	unsigned int path_what; /* the changes of this one */
};
/* Examines the files now: two system calls per trace. */
void store_file_changes(const struct store *s, struct store_file_changes *ret);

/* Event numbers from the headers of blocks (store_note_events()), summed over all CPUs. */
struct store_events {
	uint64_t numbers;  /* numbers given to events */
	uint64_t missing;  /* of these, events that never arrived */
	uint64_t filtered; /* calls excluded by the selection */
	uint64_t
		gaps; /* places where a header does not continue the previous one: blocks are missing */
	bool told; /* false: the headers have no event numbers (synthetic, or from an older weir) */
};
void store_events(const struct store *s, struct store_events *ret);
/* Times before (year 1933) and after (2189) were never recorded. */
#define STORE_TIME_MIN (-(INT64_MAX / 8))
#define STORE_TIME_MAX (INT64_MAX / 8 * 6)
/*
 * Clamps a time from a trace or client to these, so that the difference of two such times fits, with margin for
 * rounding.
 */
int64_t store_time_near(int64_t t);
/* Times of the first and last row over all event tables but loss, clamped by store_time_near(); INT64_MIN: none. */
void store_range(const struct store *s, int64_t *ret_first, int64_t *ret_last);
uint64_t store_bytes(const struct store *s);
size_t store_trace_count(const struct store *s);
/*
 * When its recording began, ns since the epoch. Of two rows about one process, the one from the later recording wins.
 */
int64_t store_trace_began(const struct store *s, size_t trace);
/*
 * The identity of a trace: the key of its recording, the same in all its files, and the number of the file within it.
 * A recording in a single file has values derived from that file.
 */
void store_trace_identity(const struct store *s, size_t trace, uint64_t *ret_key,
			  uint64_t *ret_part);
/* The number of recordings; one may be in several files (store_rotate()). */
size_t store_recording_count(const struct store *s);
const char *store_trace_path(const struct store *s, size_t trace);
/* Size of the file when it was last examined. */
uint64_t store_trace_bytes(const struct store *s, size_t trace);

/* ---- copying ---- */

/*
 * The committed bytes of a trace, also while it grows, for programs that copy it. The pieces, concatenated, are a
 * valid trace at any time (docs/FORMAT.md), byte for byte as in the file. Damaged blocks are left out, and are
 * missing from the copy.
 */
struct store_committed;
/* `offset`: 0, or store_committed_offset() of an earlier copy, to continue it; -EINVAL if no block begins there. */
int store_committed_open(struct store_committed **ret, const char *path, uint64_t offset,
			 struct error *err);
void store_committed_free(struct store_committed *c);
DEFINE_CLEANUP(struct store_committed *, store_committed_free)
/*
 * Returns whole blocks committed since the last call, up to the first that reaches `max` bytes; the first call
 * returns the head of the file. Empty: there is no new block yet. The bytes are valid until the next call. -ESTALE:
 * the file is shorter than what was returned before.
 */
int store_committed_next(struct store_committed *c, size_t max, struct bytes *ret,
			 struct error *err);
/* The offset of the next bytes in the file, for a later copy that continues this one. */
uint64_t store_committed_offset(const struct store_committed *c);
/* True if everything was returned and the trace was closed. */
bool store_committed_ended(const struct store_committed *c);
