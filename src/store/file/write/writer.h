/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h: the inside of a writer, shared by writer.c (rows and blocks) and writer_file.c (the files that they go to). */
#pragma once

#include "store/file/write/alive.h"
#include "store/file/block.h"
#include "store/file/block_events.h"
#include "store/file/write/file.h"
#include "store/file/meta.h"
#include "store/store.h"
#include "store/summary/digest.h"
#include "store/summary/summary.h"

#define WAITING	     (TABLE_COUNT + 1) /* the tables, and long calls */
#define WAITING_LONG TABLE_COUNT
/* An op block and its summary, the parts of a digest, or the head of a made table and rows. */
#define STAGED_MAX 2

/* Why rows were lost. */
enum lost_kind {
	LOST_FULL,
	LOST_FAILED, /* an I/O error, or no memory */
	LOST_KINDS,
};

struct waiting {
	struct batch *rows;
	int64_t since; /* monotonic time of its first row */
	int64_t until; /* store_writer.until before its first row */
};

struct store_writer {
	int fd;
	char *path;
	struct store_options opt;
	struct file_header head;
	uint64_t offset, seq, last_index;
	uint64_t recorded;     /* end of the last recorded block */
	uint64_t reopened;     /* size of the file when it was reopened; 0: it was created */
	struct making *making; /* the table being made; NULL: none */
	uint64_t made_heads;   /* like trace.heads */
	int64_t ahead;	       /* subtracted from the times of the reopened trace */
	struct encoder *encoder;
	struct summarizer *summarizer;
	struct batch *summary;
	struct digester *digester;
	struct waiting waiting[WAITING];
	struct buf out; /* blocks that the next writer_commit() writes */
	struct staged {
		size_t at; /* offset in `out` */
	} staged[STAGED_MAX];
	unsigned int staged_count;
	struct event_notes events;
	int64_t until;	  /* store_note_until() */
	struct buf index; /* headers since the last index, each preceded by its offset */
	unsigned int index_count;
	bool index_broken, dirty;
	bool torn;		    /* the remains of a failed write could not be cut off */
	struct file_syncer *syncer; /* NULL: none */
	struct alive *alive;	    /* NULL: the recording stays in one file */
	uint64_t before;	    /* bytes of the files before */
	struct store_stats stats;
	bool failing; /* the last write failed, and that was reported */
	struct lost {
		uint64_t rows; /* not counted in the loss table yet */
		int64_t from, to;
	} lost[LOST_KINDS];
};

/* Commits waiting rows, all or those old enough. 0, or the last failure. */
int writer_flush(struct store_writer *w, bool all);
/* Reports a failure, once. */
int writer_report_failure(struct store_writer *w, int code, struct error *err);
/* Takes rows [from, to) into the slot of a table; rows that cannot be taken are lost, and counted. */
int writer_take(struct store_writer *w, unsigned int i, const struct batch *b, size_t from,
		size_t to);
/* Counts all waiting rows as lost. */
void writer_give_up(struct store_writer *w, int code);
/* Writes a row of loss for rows that could not be written; `last_resort`: in the reserve. */
int writer_commit_loss(struct store_writer *w, bool last_resort);
int writer_commit_index(struct store_writer *w, bool last_resort);
int writer_commit_blob(struct store_writer *w, enum block_kind kind, const struct buf *data,
		       bool last_resort);
/* Remembers a header for the next index. */
int writer_index_note(struct store_writer *w, const uint8_t *block, uint64_t offset) _must_check_;
/* Appends a block to those that the next commit writes; on failure all staged blocks are dropped. */
int writer_stage_blob(struct store_writer *w, enum block_kind kind, uint8_t flags,
		      struct bytes data) _must_check_;
int writer_stage_rows(struct store_writer *w, struct batch *b, uint8_t flags,
		      const struct block_facts *tells) _must_check_;
/* Writes the staged blocks, all or nothing: on failure the file keeps its length. */
int writer_commit(struct store_writer *w, bool last_resort) _must_check_;
/* A writer without a file. */
int writer_new(struct store_writer **ret, const char *path,
	       const struct store_options *opt) _must_check_;
void writer_free(struct store_writer *w);
DEFINE_CLEANUP(struct store_writer *, writer_free)
/* made_write.c */
void making_free(struct making *m);
DEFINE_CLEANUP(struct making *, making_free)
