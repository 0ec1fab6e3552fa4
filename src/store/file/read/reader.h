/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h: the inside of struct store, shared by reader.c (the public interface) and block_scan.c (finding blocks). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "store/codec/decode_block.h"
#include "store/file/meta.h"
#include "store/made/made.h"
#include "store/store.h"

#define BLOCKS_PER_CHUNK 1024u
#define CHUNKS_MAX	 16384u /* 16 Mi blocks */
#define NAMES_MAX \
	256u /* different ones in one file: each segment has those of the version that wrote it */

/* A block of names; the blocks after it point into it. */
struct names {
	struct meta meta;
	struct names *before;
	unsigned int number; /* its index in the file */
};

struct trace {
	char *path;
	int fd;
	dev_t dev;
	ino_t ino;
	uint32_t number;
	uint32_t recording; /* index of the recording among those opened: composed into ids */
	uint64_t recording_key, part; /* struct file_header */
	int64_t created;
	struct store_clock clock; /* subtracted from its times */
	uint8_t mark[STORE_MARK_LEN];
	struct names *names; /* the last block of names */
	uint64_t next;	     /* where the next block is expected */
	uint64_t next_seq;
	bool ended;	       /* an end mark was seen */
	int64_t until;	       /* EXTRA_UNTIL of its blocks */
	uint64_t last_index;   /* offset of the last index block; 0: none */
	struct digest *digest; /* the last one; NULL: none */
	struct made *coming;   /* a generation whose last block has not come yet */
	uint64_t heads;	   /* bytes of heads of made tables, unpacked, plus MADE_HEAD_COST each */
	uint64_t recorded; /* end of the last recorded block; made tables do not count */
	uint64_t checked;  /* bytes read for candidates that are not headers */
	uint64_t size;	   /* of the file when last looked at */
	uint64_t tail; /* bytes after `next` that are not a block; 0 while the writer is alive */
	struct timespec changed; /* st_ctim when last looked at */
	bool growing;		 /* at that time */
	atomic_uint state; /* version of its bytes: 1, incremented whenever they may have changed */
};

struct block {
	struct store_block pub;
	struct block_view view;
	const uint8_t *to_ours; /* meta.column of this table */
	int64_t first, last;	/* EXTRA_RANGE; INT64_MAX, INT64_MIN: none */
	uint8_t *header;
	int64_t *stats;			 /* min, max, nulls of all columns */
	_Atomic(struct digest *) digest; /* of op: its digest; NULL: none */
	atomic_uint
		verified; /* value of trace.state in which its checksums held; 0: not verified */
};

/* A digest whose first part was found. */
struct digest {
	struct store_digest pub;
	struct block *times;
	uint64_t seconds;	       /* calls that are counted twice in this part: */
	_Atomic(struct block *) files; /* NULL: not found, or none */
	struct digest *before;	       /* the one found before, in any trace */
	size_t blocks[];
};

/* A generation of a table; kept after it is replaced, as another thread may be reading it. */
struct made {
	struct store_made pub;
	struct made *before;  /* the one found before, in any trace */
	struct table_def own; /* TABLE_OWN */
	char renamed[MADE_NAME_MAX + 2];
	char *texts;		    /* all strings of the head */
	uint8_t to_ours[256];	    /* our column for each column of the file; 0xff: unknown */
	uint64_t offset;	    /* offset of its head */
	uint64_t last_at, last_sum; /* its last block so far: offset, checksum of its header */
	struct block **coming;	    /* its blocks, until the last one has come */
	size_t coming_count, coming_cap;
};

/* The made tables; protected by store.lock. */
struct made_tables {
	struct made_slot {
		const struct made *now; /* in force; one without columns hides the table */
	} *slots;
	size_t count, cap;
	struct made *last; /* the last one found */
	uint64_t changes;
	struct trace *aside;	     /* a nameless file for store_made_aside(); NULL: none */
	struct store_writer *writer; /* writes it */
};

struct store {
	struct trace *traces; /* never moved once blocks were found */
	size_t trace_count, trace_room;
	struct folder {
		char *path;
		char *base; /* only files named base.1, base.2, ...; NULL: all */
	} *folders;	    /* the folders given by the caller */
	size_t folder_count, folders_cap;
	int64_t looked;			   /* when they were last examined, s since the epoch */
	struct block **chunks[CHUNKS_MAX]; /* blocks never move: cursors run while more are found */
	atomic_size_t count;
	size_t recordings;
	bool united; /* several recordings, now or later: see dims_unite() */
	struct dims *dims;
	pthread_mutex_t files_lock; /* for adding rows of files to dims */
	atomic_bool files_loaded;
	size_t files_next;	 /* blocks before it were checked for rows of files */
	struct decoder *decoder; /* for the opening thread: dimension rows, names, indexes */
	pthread_mutex_t lock;	 /* for damage */
	struct store_damage damage;
	struct made_tables made;
	_Atomic(struct digest *) digests; /* the last one found */
};

/* store.lock, for callers with a const store. */
static inline pthread_mutex_t *reader_lock(const struct store *s)
{
	return (pthread_mutex_t *)&s->lock;
}

struct found_block;

struct block *reader_block(const struct store *s, size_t i);
/* The file with a number, for a block or a made table. */
static inline struct trace *reader_trace(const struct store *s, uint32_t number)
{
	assert(number == TRACE_ASIDE ? !!s->made.aside : number < s->trace_count);
	return number == TRACE_ASIDE ? s->made.aside : &s->traces[number];
}
/* Initializes *t from an open file. 0, or negative with nothing to free. */
int reader_open_file(struct trace *t, uint32_t number, const char *path, int fd,
		     const struct stat *st, struct error *err);
void reader_trace_free(struct trace *t);
/* Counts damage (ignores found->first). The first place is described: "block N at byte M: why". */
void reader_damage(struct store *s, const struct store_damage *found, uint64_t seq, uint64_t offset,
		   const char *why);
void reader_block_free(struct block *b);
/* Rebuilds the dimension rows from the blocks found; those of files on first use. 0 or negative. */
int reader_apply_again(struct store *s) _must_check_;
/* Where a decoder finds a block. */
struct decode_source reader_source(const struct store *s, const struct block *b);
/* Adds the rows of a dimension block to dims; a damaged block is counted. 0 or negative. */
int reader_apply_rows(struct store *s, struct decoder *decoder, struct block *b);
/* Checks that the first `n` bytes of a file begin a readable trace. 0, or negative with the reason in the error. */
int reader_check_head(const char *path, const struct file_header *h, ssize_t n, struct error *err);
/* 1: it is a trace, possibly one already open; 0: it is not a trace; else negative. */
int reader_add_trace(struct store *s, const char *path, bool only_traces, struct error *err);
/* True if the file is open. */
bool reader_is_known(const struct store *s, const struct stat *file);
int reader_make_room(struct store *s, size_t more) _must_check_;
/* Marks a block damaged, once. */
void reader_block_damaged(struct store *s, struct block *b, const char *why);

/*
 * verify.c: verifies the checksums of a block, unless that was done in this state of its file. 0, -EBADMSG (then
 * counted as damage) with the reason in *ret_why, or another error.
 */
int reader_verify(struct store *s, struct decoder *decoder, struct block *b,
		  const char **ret_why) _must_check_;
/* The same, and for a summary also those of the block that it stands for. */
int reader_verify_for_use(struct store *s, struct decoder *decoder, struct block *b,
			  const char **ret_why) _must_check_;

/*
 * changes.c: compares what is known of a file that changed in place with a fresh open of it. Blocks that are gone
 * count as damage, the others are verified again. 0 or negative.
 */
int changes_recheck(struct store *s, struct trace *t, struct error *err);

/* True while the writer holds its lock. */
bool scan_is_growing(const struct trace *t);
/* Finds the blocks after t->next. Returns their number, or negative. */
ssize_t scan_trace(struct store *s, struct trace *t, struct error *err);

/* digest_blocks.c: takes a part of a digest. 0 or negative. */
int digest_take(struct store *s, struct trace *t, uint64_t offset, struct found_block *c);
void digests_free(struct store *s);
/* A part that exists. */
struct block *digest_part(const struct store_digest *d, enum store_digest_part part);
/* The part of a digest at `offset`; NULL: readers know of none. */
struct block *digest_at(const struct store *s, const struct trace *t, uint64_t offset,
			const struct digest **ret);

/*
 * Sums the summaries of the digest's blocks again and compares part b. 0; -EBADMSG, with the reason, if b cannot be
 * read; or another error. *ret_same is also true if a summary is missing or damaged, so that nothing is known.
 */
int digest_compare(struct store *s, struct decoder *decoder, const struct digest *d,
		   struct block *b, bool *ret_same, const char **ret_why);

/* made_read.c: takes a block of a made table. 1 if that put rows in force, 0, or negative. */
int made_take(struct store *s, struct trace *t, uint64_t offset, struct found_block *c);
/* -EBADMSG if the blob of a BLOCK_MADE is malformed. */
int made_check_head(struct bytes head) _must_check_;
/*
 * Goes back to the start of an unfinished generation if its blocks are gone: it was abandoned (store_abandon()), and
 * another table may have been written there. 0 or negative.
 */
int made_look_back(struct trace *t) _must_check_;
void made_free(struct store *s);
