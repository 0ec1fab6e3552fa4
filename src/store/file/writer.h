/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h: the inside of a writer, shared by writer.c (rows and blocks) and writer_file.c (the files that they go to). */
#pragma once

#include "store/file/alive.h"
#include "store/file/block.h"
#include "store/file/block_events.h"
#include "store/file/file.h"
#include "store/file/meta.h"
#include "store/store.h"
#include "store/summary/digest.h"
#include "store/summary/summary.h"

#define WAITING	     (TABLE_COUNT + 1) /* the tables, and long calls */
#define WAITING_LONG TABLE_COUNT
/* A block of op and its summary, the parts of a digest, the head of a made table and rows. */
#define STAGED_MAX 2

/* Why rows were lost. */
enum lost_kind {
	LOST_FULL,
	LOST_FAILED, /* an I/O error, no memory */
	LOST_KINDS,
};

struct waiting {
	struct batch *rows;
	int64_t since; /* monotonic, of its first row */
	int64_t until; /* store_writer.until before its first row came */
};

struct store_writer {
	int fd;
	char *path;
	struct store_options opt;
	struct file_header head;
	uint64_t offset, seq, last_index;
	uint64_t recorded; /* where the last block ends that was recorded */
	uint64_t reopened; /* where the file ended when it was opened again; 0: it was created */
	struct making *making; /* the table that is made; NULL: none */
	uint64_t made_heads;   /* as trace.heads */
	int64_t ahead; /* what was taken from the times of the trace that was opened again */
	struct encoder *encoder;
	struct summarizer *summarizer;
	struct batch *summary;
	struct digester *digester;
	struct waiting waiting[WAITING];
	struct buf out; /* blocks that the next commit() writes */
	struct staged {
		size_t at; /* in `out` */
	} staged[STAGED_MAX];
	unsigned int staged_count;
	struct event_notes events;
	int64_t until;	  /* store_note_until() */
	struct buf index; /* headers since the last index, each behind its offset */
	unsigned int index_count;
	bool index_broken, dirty;
	bool torn;		    /* what a failed write left could not be cut off */
	struct file_syncer *syncer; /* NULL: none */
	struct alive *alive;	    /* NULL: there will be one file */
	uint64_t before;	    /* bytes of the files before */
	struct store_stats stats;
	bool failing; /* the last write failed, which was reported */
	struct lost {
		uint64_t rows; /* not yet in the table of loss */
		int64_t from, to;
	} lost[LOST_KINDS];
};

/* Commits what waits, all or what is old enough. 0, or the last failure. */
int writer_flush(struct store_writer *w, bool all);
/* Reports a failure, once. */
int writer_report_failure(struct store_writer *w, int code, struct error *err);
/* Takes rows [from, to) into the place of a table; what cannot be taken is lost, and counted. */
int writer_take(struct store_writer *w, unsigned int i, const struct batch *b, size_t from,
		size_t to);
/* What still waits is lost. */
void writer_give_up(struct store_writer *w, int code);
/* A row of loss for what could not be written; `last_resort`: in the room that is kept for it. */
int writer_commit_loss(struct store_writer *w, bool last_resort);
int writer_commit_index(struct store_writer *w, bool last_resort);
int writer_commit_blob(struct store_writer *w, enum block_kind kind, const struct buf *data,
		       bool last_resort);
/* Remembers a header for the next index. */
int writer_index_note(struct store_writer *w, const uint8_t *block, uint64_t offset);
/* Puts a block behind those that the next commit writes; all is dropped on failure. */
int writer_stage_blob(struct store_writer *w, enum block_kind kind, uint8_t flags,
		      struct bytes data) _must_check_;
int writer_stage_rows(struct store_writer *w, struct batch *b, uint8_t flags,
		      const struct block_facts *tells) _must_check_;
/* Writes what is staged, all or nothing: on failure the file ends where it ended. */
int writer_commit(struct store_writer *w, bool last_resort) _must_check_;
/* A writer without a file. */
int writer_new(struct store_writer **ret, const char *path,
	       const struct store_options *opt) _must_check_;
void writer_free(struct store_writer *w);
DEFINE_CLEANUP(struct store_writer *, writer_free)
/* made_write.c */
void making_free(struct making *m);
DEFINE_CLEANUP(struct making *, making_free)
