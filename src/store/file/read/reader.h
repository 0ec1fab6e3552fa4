/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h: the inside of struct store, shared by reader.c (what callers see) and block_scan.c (finding blocks). */
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
	256u /* that differ, in one file: a segment's are those of the version that wrote it */

/* A block of names; the blocks behind it point into it. */
struct names {
	struct meta meta;
	struct names *before;
	unsigned int number; /* of those before it */
};

struct trace {
	char *path;
	int fd;
	dev_t dev;
	ino_t ino;
	uint32_t number;
	uint32_t recording;	      /* which of those that are read: composed into ids */
	uint64_t recording_key, part; /* struct file_header */
	int64_t created;
	struct store_clock clock; /* taken from its times */
	uint8_t mark[STORE_MARK_LEN];
	struct names *names; /* the last */
	uint64_t next;	     /* where the next block is expected */
	uint64_t next_seq;
	bool ended;	     /* an end mark was seen */
	int64_t until;	     /* EXTRA_UNTIL of its blocks */
	uint64_t last_index; /* where the last index block is; 0: none */
	struct {
		int fd; /* a file in memory; -1: none */
		uint64_t len, seq;
		struct names *names;
	} aside;	       /* digests that are not in the file: digest_aside.h */
	struct digest *digest; /* the last; NULL: none */
	struct made *coming;   /* a generation whose last block is still to come */
	uint64_t heads;	   /* bytes of heads of made tables, unpacked, and MADE_HEAD_COST each */
	uint64_t recorded; /* where the last block ends that was recorded, and not made since */
	uint64_t checked;  /* bytes read for headers that proved to be none */
	uint64_t size;	   /* of the file when last looked at */
	uint64_t tail;	   /* bytes behind `next` that are no block; 0 while the writer is alive */
	struct timespec changed; /* st_ctim when last looked at */
	bool growing;		 /* by then */
	atomic_uint state; /* of its bytes: 1, then one more each time that they may be others */
};

struct block {
	struct store_block pub;
	struct block_view view;
	const uint8_t *to_ours; /* meta.column of this table */
	int64_t first, last;	/* EXTRA_RANGE; INT64_MAX, INT64_MIN: none */
	uint8_t *header;
	bool aside;			 /* not in the file, but in trace.aside */
	int64_t *stats;			 /* min, max, nulls of all columns */
	_Atomic(struct digest *) digest; /* of op: that it is in; NULL: none */
	atomic_uint
		verified; /* the state of its trace in which its checksums held; 0: not verified */
};

/* A digest, once its first part was found. */
struct digest {
	struct store_digest pub;
	struct block *times;
	uint64_t seconds;	       /* calls that are twice in this: */
	_Atomic(struct block *) files; /* NULL: not found, or there is none */
	struct digest *before;	       /* that was found before, of any trace */
	size_t blocks[];
};

/* A generation of a table; kept also when it was replaced, as somebody may be reading it. */
struct made {
	struct store_made pub;
	struct made *before;  /* that was found before, of any trace */
	struct table_def own; /* TABLE_OWN */
	char renamed[MADE_NAME_MAX + 2];
	char *texts;		    /* all of the head */
	uint8_t to_ours[256];	    /* column of a column in the file; 0xff: unknown */
	uint64_t offset;	    /* of its head */
	uint64_t last_at, last_sum; /* its last block so far: offset, checksum of its header */
	struct block **coming;	    /* its blocks, until the last is there */
	size_t coming_count, coming_cap;
};

/* The tables that were made; under store.lock. */
struct made_tables {
	struct made_slot {
		const struct made *now; /* whose name it is; one without columns hides the table */
	} *slots;
	size_t count, cap;
	struct made *last; /* that was found */
	uint64_t changes;
	struct trace *aside;	     /* a file without a name: store_made_aside(); NULL: none */
	struct store_writer *writer; /* that writes it */
};

struct store {
	struct trace *traces; /* never moved once blocks were found */
	size_t trace_count, trace_room;
	struct folder {
		char *path;
		char *base; /* only files called base.1, base.2, ... in it; NULL: all */
	} *folders;	    /* that were given */
	size_t folder_count, folders_cap;
	int64_t looked; /* into them last, s since the epoch */
	struct block *
		*chunks[CHUNKS_MAX]; /* blocks never move: cursors run while others are found */
	atomic_size_t count;
	size_t recordings;
	bool united; /* several recordings, now or later: dims_unite() */
	struct dims *dims;
	pthread_mutex_t files_lock; /* rows come into dims */
	atomic_bool files_loaded;
	size_t files_next;	 /* blocks below were looked at for rows of files */
	struct decoder *decoder; /* the opener's: dimension rows, names, indexes */
	pthread_mutex_t lock;	 /* damage */
	struct store_damage damage;
	struct made_tables made;
	_Atomic(struct digest *) digests; /* the last that was found */
};

/* store.lock, which callers that only read take too. */
static inline pthread_mutex_t *reader_lock(const struct store *s)
{
	return (pthread_mutex_t *)&s->lock;
}

struct found_block;

struct block *reader_block(const struct store *s, size_t i);
/* The file of a number: that of a block, or of a made table. */
static inline struct trace *reader_trace(const struct store *s, uint32_t number)
{
	assert(number == TRACE_ASIDE ? !!s->made.aside : number < s->trace_count);
	return number == TRACE_ASIDE ? s->made.aside : &s->traces[number];
}
/* Makes *t of an open file. 0, or negative with nothing to free. */
int reader_open_file(struct trace *t, uint32_t number, const char *path, int fd,
		     const struct stat *st, struct error *err);
void reader_trace_free(struct trace *t);
/* Counts damage (`first` is not read); the first place is described: "block N at byte M: why". */
void reader_damage(struct store *s, const struct store_damage *found, uint64_t seq, uint64_t offset,
		   const char *why);
void reader_block_free(struct block *b);
/* Builds the dimension rows anew from the blocks that were found; those of files when somebody needs them. 0 or negative. */
int reader_apply_again(struct store *s) _must_check_;
/* The source of a block for a decoder. */
struct decode_source reader_source(const struct store *s, const struct block *b);
/* Takes the rows of a dimension block into dims; a damaged one is counted. 0 or negative. */
int reader_apply_rows(struct store *s, struct decoder *decoder, struct block *b);
/* The first `n` bytes of a file are those of a trace that can be read: 0, or the error says why not. */
int reader_check_head(const char *path, const struct file_header *h, ssize_t n, struct error *err);
/* 1: there is a trace, which may be one of those open; 0: it is none; else negative. */
int reader_add_trace(struct store *s, const char *path, bool only_traces, struct error *err);
/* True where the file is open. */
bool reader_is_known(const struct store *s, const struct stat *file);
int reader_make_room(struct store *s, size_t more) _must_check_;
/* Marks a block damaged, once. */
void reader_block_damaged(struct store *s, struct block *b, const char *why);

/* verify.c: compares the checksums of a block, unless that was done in this state of its file. 0, -EBADMSG (which is then
 * counted as damage) with the reason in *ret_why, or another error. */
int reader_verify(struct store *s, struct decoder *decoder, struct block *b,
		  const char **ret_why) _must_check_;
/* The same, and of a summary also those of the block that it stands for. */
int reader_verify_for_use(struct store *s, struct decoder *decoder, struct block *b,
			  const char **ret_why) _must_check_;

/* changes.c: what is known of a file that changed in place is compared with what would be found if it were opened now;
 * blocks that are not there any more are counted as damage, the others are verified again. 0 or negative. */
int changes_recheck(struct store *s, struct trace *t, struct error *err);

/* True while the writer holds its lock. */
bool scan_is_growing(const struct trace *t);
/* Finds the blocks behind t->next; how many, or negative. */
ssize_t scan_trace(struct store *s, struct trace *t, struct error *err);

/* digest_blocks.c: takes a part of a digest. 0 or negative. */
int digest_take(struct store *s, struct trace *t, uint64_t offset, struct found_block *c);
/* The same of one in trace.aside, of blocks before block `end` of the store. */
int digest_take_aside(struct store *s, struct trace *t, uint64_t offset, size_t end,
		      struct found_block *c);
void digests_free(struct store *s);
/* A part that is there. */
struct block *digest_part(const struct store_digest *d, enum store_digest_part part);
/* The part of a digest that lies at `offset`; NULL: readers know of none. */
struct block *digest_at(const struct store *s, const struct trace *t, uint64_t offset,
			const struct digest **ret);

/*
 * Makes the digest again of the summaries of its blocks, and compares the part b. 0; -EBADMSG, with the reason, where b cannot be
 * read; another error. *ret_same is true also where a summary is missing or damaged, so that nothing is known.
 */
int digest_compare(struct store *s, struct decoder *decoder, const struct digest *d,
		   struct block *b, bool *ret_same, const char **ret_why);

/* made_read.c: takes a block of a made table; 1 where that made rows count, 0, or negative. */
int made_take(struct store *s, struct trace *t, uint64_t offset, struct found_block *c);
/* -EBADMSG where the blob of a BLOCK_MADE is none. */
int made_check_head(struct bytes head) _must_check_;
/*
 * Goes back to where a generation began whose last block is still to come, if its blocks are not there any more: it was
 * given up (store_abandon()), and another table may stand there. 0 or negative.
 */
int made_look_back(struct trace *t) _must_check_;
void made_free(struct store *s);
