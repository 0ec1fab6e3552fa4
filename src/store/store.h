/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: the trace file: an append-only log of self-contained, checksummed, compressed column blocks.
 * docs/FORMAT.md has it byte by byte. May use batch (and hist, for summaries). Writer, reader, tail of a growing
 * file, recovery, several traces read as one.
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
	int64_t sync_ns; /* interval of fdatasync(), by a thread of its own; 0: only at close */
	void (*sync_thread)(
		void);	  /* called first by that thread, to drop privileges; may be NULL */
	bool no_summary;  /* leave the summary of each op block out (tests) */
	bool no_digest;	  /* and digests (tests) */
	int64_t block_ns; /* a block is cut at this age; 0: 500 ms */
	uid_t owner;	  /* who owns the file: SUDO_UID's user; (uid_t)-1: the caller */
	bool parts;	  /* the recording may go on in further files (store_rotate()) */
};

struct store_stats {
	uint64_t rows[TABLE_COUNT];
	uint64_t blocks;
	uint64_t bytes; /* bytes of the file so far; of several, of all */
	uint64_t part_bytes,
		part_began; /* of the file that is written: bytes, and those before its first event */
	uint64_t parts;	    /* files so far, those that are gone too */
	uint64_t lost_rows; /* rows that could not be written, by now counted in loss */
	/* Another program cut the file or wrote into it: what was there before may be lost. The writer goes on behind it. */
	bool changed;
	uint64_t changed_size; /* the least size that it was found to have */
};

/* What became of a file that is open. */
enum store_fate {
	STORE_KEPT,    /* it has its name, as far as can be known */
	STORE_MOVED,   /* it, or a folder above it, was renamed */
	STORE_DELETED, /* it has no name any more, and is gone once it is closed */
	STORE_HIDDEN,  /* its file system was unmounted, or something was mounted above it */
};

struct store_place {
	enum store_fate fate;
	bool replaced;	/* its name leads to another file */
	char now[4096]; /* MOVED: where it is */
};

/* Creates the file (mode 0600; an existing one is an error -EEXIST: the caller moves it away). */
int store_create(struct store_writer **ret, const char *path, const struct store_options *opt,
		 struct error *err);
/* Takes the rows; cuts and commits blocks as they fill. On a full disk it returns -ENOSPC once, counts what is lost,
 * and keeps trying. */
int store_append(struct store_writer *w, const struct batch *b, struct error *err);
/* Dimension tables first, then the rest. */
int store_append_set(struct store_writer *w, const struct batch_set *s, struct error *err);
/* Commits what is buffered and older than block_ns (or everything, with `all`). Call it every few 100 ms. */
int store_flush(struct store_writer *w, bool all, struct error *err);
/*
 * The source's counts of events so far, one element per CPU; `count` never changes. The next block of calls or marks has in
 * its header what was added since the one before. 0 or -ENOMEM.
 */
int store_note_events(struct store_writer *w, const struct event_count *cpus, size_t count);
/*
 * Every call that ended before `until` (ns since the epoch; never falls) was appended, or is counted in rows of loss.
 * Headers of blocks record up to when that holds for the file.
 */
void store_note_until(struct store_writer *w, int64_t until);
void store_writer_stats(const struct store_writer *w, struct store_stats *ret);
/* Counts rows that the caller lost to a lack of memory, as those that could not be written. */
void store_note_lost(struct store_writer *w, uint64_t rows);
/*
 * Continues in another file of the same recording, which begins with the dimension rows alive and can be read alone. The
 * old file has everything appended so far and is closed; read together they are one trace. If the new file cannot be
 * created, the recording continues in the old one. Needs the option `parts`.
 */
int store_rotate(struct store_writer *w, const char *path, struct error *err);
/* Removes a file of this recording, unless it is the one being written; leaves any other file alone. */
void store_remove_part(const struct store_writer *w, const char *path);
/* Where the file that is written was created. */
const char *store_writer_path(const struct store_writer *w);
/* The open file, until the writer is closed or goes on in another. */
int store_writer_fd(const struct store_writer *w);
/* Compares the file with what its name leads to: a few system calls. */
void store_writer_place(const struct store_writer *w, struct store_place *ret);
/* The same of any open file; of -1 nothing is known, and it counts as kept. */
void store_fd_place(int fd, const char *path, struct store_place *ret);
/* Flushes, writes the last index, fdatasync, closes. The writer is gone also on failure. */
int store_close(struct store_writer *w, struct error *err);
/* The same, with the final totals, in which rows that could not be written count as lost. */
int store_close_stats(struct store_writer *w, struct store_stats *ret, struct error *err);

/* ---- reading ---- */

/*
 * One or several traces, read as one. Several threads may decode blocks, each with a cursor of its own, also while one
 * thread calls store_refresh(); store_dims() must not be in use meanwhile.
 */
struct store;

/*
 * Opens traces: files or directories of them. Ids of several recordings are composed (batch/ids.h), and what their
 * kernels know as one machine, control group or process has one id (docs/FORMAT.md, "Reading several files as one"). A
 * file that still grows is read as far as it is committed. A file that is named
 * twice is read once. Not a trace, newer version, unreadable: one clear error; in a folder with
 * others such a trace is left out and counts as damage.
 */
int store_open(struct store **ret, const char *const *paths, size_t count, struct error *err);
/*
 * The same, with the times of recordings corrected by what their tables `clock` say: for callers that show or compare times,
 * also of one trace, so that they are those of the same trace among others. Tables that come while the store is open are not
 * looked at. What is written by store_reopen() is put back on the recording's own clock.
 */
int store_open_corrected(struct store **ret, const char *const *paths, size_t count,
			 struct error *err);
void store_free(struct store *s);
DEFINE_CLEANUP(struct store *, store_free)

/* What is taken from the times of a recording (schema/flow_tables.h, clock). */
struct store_clock {
	bool known;	      /* there is such a table, and it is applied */
	bool several;	      /* of a host in several recordings: of others another */
	int64_t ahead, bound; /* ns */
};
/* Takes `ahead` from the times of the only recording of a store, in place of what its table says. 0 or negative. */
int store_correct(struct store *s, int64_t ahead) _must_check_;
struct store_clock store_recording_clock(const struct store *s, size_t recording);
/* The same of a host, also where its rows came from a store into which they were loaded corrected (MADE_CLOCKS_APPLIED). */
struct store_clock store_host_clock(struct store *s, size_t recording, struct bytes host);
/* Which of the recordings a file is of. */
size_t store_trace_recording(const struct store *s, size_t trace);
/*
 * Looks for blocks that were committed since; the number of new ones, or negative. They come behind those known, so that
 * a block keeps its number. If a file that is not being recorded was changed in place, blocks that are gone count as
 * damage from now on, and the others are verified again before they are used.
 */
ssize_t store_refresh(struct store *s, struct error *err);
/*
 * Opens traces that came into the folders which store_open() was given, up to 256 of them and while there are
 * less than `max` in all; how many. No cursor is used meanwhile; store_refresh() then finds their blocks.
 */
size_t store_look_again(struct store *s, size_t max);
/* True where store_look_again() may find traces: a folder was given, or a recording in several files. */
bool store_has_folders(const struct store *s);
/* True where some file has no end mark yet: it is growing, or its recorder was killed. */
bool store_is_open_ended(const struct store *s);

/*
 * A time before which every call, wait and loss of a file that grows has been read, though rows of other tables may still come:
 * INT64_MAX where it has ended, INT64_MIN where nothing is known.
 */
int64_t store_trace_settled(const struct store *s, size_t trace);

/* Traces that were not closed: the recorder was killed, or the file was cut. Their last calls are missing and not counted. */
struct store_unclosed {
	size_t traces; /* how many of them; 0: all were closed, or grow */
	int64_t until; /* every call that ended before is there or counted as lost, in each of them; INT64_MIN: not known */
	const char *path; /* of the one with the earliest `until` */
};
void store_unclosed(const struct store *s, struct store_unclosed *ret);

/* True if a writer has one of the files open: more will come. */
bool store_is_growing(const struct store *s);
/* The same of an open file, trace or not. */
bool store_fd_is_written(int fd);
/* True if an open file begins as a trace does, whatever follows. */
bool store_fd_is_trace(int fd);

#define SUMMARY_WINDOW_NS 100000000ll /* of the rows of a summary */

/* The number of the file that holds made tables aside (store/made/made.h), which is none of the traces. */
#define TRACE_ASIDE 4096u

struct store_block {
	enum table_id table; /* TABLE_OWN: none of the schema's */
	const struct table_def *def;
	uint32_t trace;	    /* which of the files, or TRACE_ASIDE */
	uint32_t recording; /* which recording it belongs to: what id_recording() says of its ids */
	uint64_t seq;	    /* number within its file */
	uint64_t offset;    /* in the file */
	uint32_t rows;
	uint32_t bytes; /* on disk, header included */
	atomic_bool
		damaged; /* found by any cursor: skipped by readers, counted in store_damage() */
	atomic_bool replaced; /* of a table that was made anew since: skipped by readers */
	bool long_calls;      /* holds calls over 100 ms only */
	/* of op: the block of its summary, once that was found; of summary: the block of op; SIZE_MAX: none */
	atomic_size_t pair;
	/* per column of its table, composed ids applied; min > max where all null */
	const int64_t *min, *max;
	const uint32_t *nulls;
};

/* False where readers skip the block. */
static inline bool store_block_counts(const struct store_block *b)
{
	return !b->damaged && !b->replaced;
}

/* Blocks in file order, traces one after another; then, by store_refresh(), what came since. */
size_t store_block_count(const struct store *s);
const struct store_block *store_block(const struct store *s, size_t i);
/* True where the block can hold a row with this id in OP_FILE_ID or OP_THREAD_ID (sorted id sets); no decoding. */
bool store_block_has_id(const struct store *s, size_t i, unsigned int column, int64_t id);

/*
 * The block with the summary of a block of op; SIZE_MAX if there is none, or it is damaged. store_summary_counts() decides,
 * once it is decoded, whether it can stand for the calls.
 */
size_t store_summary_of(const struct store *s, size_t block);
/* True where windows of sums of a block begin at whole windows of the clock by which its times are read. */
bool store_block_on_grid(const struct store *s, size_t block);
/* False if, by the headers, no call of a block of op moves bytes between two files: batch_seconds() would find none. */
bool store_block_has_seconds(const struct store *s, size_t block);

/*
 * A digest: the summaries of several blocks of op, added up. Both parts are rows of summary; sums stop at INT64_MAX.
 */
enum store_digest_part {
	/* By window, op, thread, err and class. */
	STORE_DIGEST_TIMES,
	/*
	 * By file, class and err. Failed calls have their op and second file. Successful ones that move bytes between two files
	 * are there for each of them (store_digest_seconds()). Rows of files that many of the blocks name have op, thread and
	 * histogram; others have no thread and no histogram.
	 */
	STORE_DIGEST_FILES,
};

struct store_digest {
	const size_t *blocks;  /* of op, ascending: not all between the first and the last */
	const int64_t *io_max; /* the longest call of I/O of each, ns; -1: none */
	size_t count;	       /* of both */
	uint64_t calls;
};

/* The digest that a block of op is in; NULL where there is none, or it or one of its blocks was found damaged. */
const struct store_digest *store_digest_of(const struct store *s, size_t block);
/* False where it has no part by file: it would not be smaller than the summaries. */
bool store_digest_has_files(const struct store_digest *d);
/* Calls that are in the part by file, which is there, twice. */
uint64_t store_digest_seconds(const struct store_digest *d);

/* Scratch memory of one reading thread. */
struct store_cursor;
int store_cursor_new(struct store_cursor **ret, const struct store *s) _must_check_;
void store_cursor_free(struct store_cursor *c);
DEFINE_CLEANUP(struct store_cursor *, store_cursor_free)
/*
 * Decodes the columns of the set (bit i: column i; ~0: all) of block i. The batch belongs to the cursor and is
 * valid until its next use. -EBADMSG: the block is corrupt (it is then counted as damage; go on with the next).
 */
int store_decode(struct store_cursor *c, size_t i, uint64_t columns, const struct batch **ret,
		 struct error *err);

/* Decodes further columns of the block that store_decode() gave last, into the same batch: look at
 * the few that a filter reads first. Errors as store_decode()'s; the batch is gone then. */
int store_decode_more(struct store_cursor *c, uint64_t columns, struct error *err);

/*
 * As store_decode(), for a part of a digest that exists; SUMMARY_CALLS is always decoded. -EBADMSG: the part or one of its
 * blocks is corrupt, or it does not count their calls: read the blocks one by one.
 */
int store_decode_digest(struct store_cursor *c, const struct store_digest *d,
			enum store_digest_part part, uint64_t columns, const struct batch **ret,
			struct error *err);

/*
 * True if a decoded summary can stand for the calls of its block: it counts all `rows` of them (calls that had not ended are
 * in no summary), and with `hists` every histogram can be read and counts the calls of its row. Else the rows are read.
 */
bool store_summary_counts(const struct batch *summary, uint64_t rows, bool hists);
/* Checks the histogram of one row, for callers that need few of them. */
bool store_summary_row_counts(const struct batch *summary, size_t row);

/*
 * All dimension rows so far (kept up by store_refresh). Never NULL. Rows of files, of which there
 * may be millions, are read from the trace by the first call; those that cannot be read count as
 * damage.
 */
const struct dims *store_dims(const struct store *s);
/* The same without reading rows of files, for callers that need only threads, processes, groups and hosts. */
const struct dims *store_dims_few(const struct store *s);
/* Reads the rows of files unless that was done, so that store_dims() is quick. 0, -EINTR as soon as
 * *stop (may be NULL) is true, or another error. */
int store_load_files(const struct store *s, const atomic_bool *stop, struct error *err);

struct store_damage {
	uint64_t blocks; /* corrupt or torn, skipped; each of `traces` counts as one */
	uint64_t traces; /* whole files of a folder of which nothing can be read */
	uint64_t rows;	 /* rows they held, where the header still says */
	uint64_t calls;	 /* of them rows of op */
	uint64_t bytes;	 /* bytes not readable */
	bool gaps;	 /* blocks are missing that do not say what they held */
	bool torn;	 /* the last block is cut off, likewise */
	char first[256]; /* "block 17 at byte 123456: payload checksum" */
};
void store_damage(const struct store *s, struct store_damage *ret);

/* What can happen to a trace's file while it is open. Rows that were read, or still can be, stay valid. */
#define STORE_FILE_DELETED  1u /* it has no name any more: it is gone once it is closed */
#define STORE_FILE_MOVED    2u /* nothing has the name under which it was opened */
#define STORE_FILE_REPLACED 4u /* another file has that name (device, inode) */
#define STORE_FILE_CUT	    8u /* it is shorter than what was read of it */
/* "deleted", "moved", ...: what each bit is called, NULL past the last. */
const char *store_file_change_word(size_t i, unsigned int *ret_what);
struct store_file_changes {
	size_t traces;		/* to which any of it happened; 0: none */
	unsigned int what;	/* all that happened to any of them */
	const char *path;	/* of the first; of one that has its name no more, where one is */
	unsigned int path_what; /* that happened to this one */
};
/* Looks at the files now: two system calls for each trace. */
void store_file_changes(const struct store *s, struct store_file_changes *ret);

/* The numbers of events in the headers of blocks (store_note_events()), summed over all CPUs. */
struct store_events {
	uint64_t numbers;  /* that were given to events */
	uint64_t missing;  /* of them that never arrived */
	uint64_t filtered; /* calls that the selection left out */
	uint64_t
		gaps; /* places where a header does not continue the one before: blocks are missing */
	bool told;    /* false: the headers have none (synthetic, or from an older weir) */
};
void store_events(const struct store *s, struct store_events *ret);
/* Times before (year 1933) and after (2189) are none that was recorded. */
#define STORE_TIME_MIN (-(INT64_MAX / 8))
#define STORE_TIME_MAX (INT64_MAX / 8 * 6)
/* t brought within these, whatever a trace or a client says: the time between two such fits, with room to round. */
int64_t store_time_near(int64_t t);
/* Times of the first and last row of all tables of events but loss, as store_time_near() has them; INT64_MIN: there is none. */
void store_range(const struct store *s, int64_t *ret_first, int64_t *ret_last);
uint64_t store_bytes(const struct store *s);
size_t store_trace_count(const struct store *s);
/* When its recording began, ns since the epoch; of two rows about one process that of the later recording holds. */
int64_t store_trace_began(const struct store *s, size_t trace);
/*
 * What tells a trace from every other one: the key of its recording, the same in all its files, and the number of the file in
 * that. A recording that is in one file has what that alone has.
 */
void store_trace_identity(const struct store *s, size_t trace, uint64_t *ret_key,
			  uint64_t *ret_part);
/* How many recordings the files are of: one may be in several (store_rotate()). */
size_t store_recording_count(const struct store *s);
const char *store_trace_path(const struct store *s, size_t trace);
/* Bytes of the file that was opened, when it was last looked at. */
uint64_t store_trace_bytes(const struct store *s, size_t trace);

/* ---- copying ---- */

/*
 * The committed bytes of a trace, also while it grows, for programs that copy it. The pieces, one behind the other, are a trace
 * at any time (docs/FORMAT.md), byte for byte those of the file. Damaged blocks are left out; the copy shows them as
 * missing.
 */
struct store_committed;
/* `offset`: 0, or store_committed_offset() of an earlier copy, to continue it; -EINVAL if no block begins there. */
int store_committed_open(struct store_committed **ret, const char *path, uint64_t offset,
			 struct error *err);
void store_committed_free(struct store_committed *c);
DEFINE_CLEANUP(struct store_committed *, store_committed_free)
/*
 * Returns what was committed since the last call, in whole blocks, up to the first that reaches `max` bytes; the first call
 * returns the head of the file. Empty: there is no new block yet. The bytes are valid until the next call. -ESTALE: the
 * file is shorter than what was returned before.
 */
int store_committed_next(struct store_committed *c, size_t max, struct bytes *ret,
			 struct error *err);
/* Where in the file the next bytes begin, for a later copy that continues this one. */
uint64_t store_committed_offset(const struct store_committed *c);
/* True if everything was returned and the trace was closed. */
bool store_committed_ended(const struct store_committed *c);
