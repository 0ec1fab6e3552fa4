/* SPDX-License-Identifier: Apache-2.0 */
/* decode_block.h: a block's columns back to a batch. Inside store/ only. */
#pragma once

#include "batch/ids.h"
#include "store/file/block.h"

struct decoder;

int decoder_new(struct decoder **ret) _must_check_;
void decoder_free(struct decoder *d);
DEFINE_CLEANUP(struct decoder *, decoder_free)

/* Where a block lies and what its file calls things. */
struct decode_source {
	int fd;
	uint64_t payload; /* offset in the file */
	struct block_view view;
	enum table_id table;
	const struct table_def *def;
	const uint8_t *to_ours; /* [256]: our column of a column in the file, 0xff: unknown */
	uint64_t trace;		/* composed into the numbers of rows of op */
	uint64_t recording;	/* composed into ids */
};

/*
 * Reads the whole block and compares the checksum of each of its sections. 0, -ENOMEM, an errno of pread, or -EBADMSG
 * with the reason in *ret_why. What was decoded before is gone.
 */
int decode_verify(struct decoder *d, const struct decode_source *s,
		  const char **ret_why) _must_check_;
/*
 * Decodes the columns of the set (ours). The batch belongs to the decoder until its next use. 0, -ENOMEM, an errno
 * of pread, or -EBADMSG with the reason in *ret_why.
 */
int decode_columns(struct decoder *d, const struct decode_source *s, uint64_t columns,
		   const struct batch **ret, const char **ret_why) _must_check_;
/*
 * Decodes further columns of the block that decode_columns() decoded last, into the same batch: for callers that
 * look at some columns before they need the others.
 */
int decode_more(struct decoder *d, uint64_t columns, const char **ret_why) _must_check_;
/* Unpacks the blob of a block; it belongs to the decoder until its next use. */
int decode_blob(struct decoder *d, const struct decode_source *s, struct bytes *ret,
		const char **ret_why) _must_check_;
/* What is composed into the values of a column (batch/ids.h): of ids the recording, of rows of calls the trace; 0: nothing. */
uint64_t column_composes(const struct table_def *t, unsigned int column, uint64_t trace,
			 uint64_t recording);
