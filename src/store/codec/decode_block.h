/* SPDX-License-Identifier: Apache-2.0 */
/* decode_block.h: decodes a block's columns into a batch. Inside store/ only. */
#pragma once

#include "batch/ids.h"
#include "store/file/block.h"

struct decoder;

int decoder_new(struct decoder **ret) _must_check_;
void decoder_free(struct decoder *d);
DEFINE_CLEANUP(struct decoder *, decoder_free)

/* Where a block is, and how its file numbers columns. */
struct decode_source {
	int fd;
	uint64_t payload; /* offset in the file */
	struct block_view view;
	enum table_id table;
	const struct table_def *def;
	const uint8_t *to_ours; /* [256]: our column for each column of the file; 0xff: unknown */
	uint64_t trace;		/* composed into row numbers of op */
	uint64_t recording;	/* composed into ids */
};

/*
 * Reads the whole block and verifies the checksum of each section. 0, -ENOMEM, an errno of pread, or -EBADMSG with
 * the reason in *ret_why. Invalidates the batch decoded before.
 */
int decode_verify(struct decoder *d, const struct decode_source *s,
		  const char **ret_why) _must_check_;
/*
 * Decodes a set of columns (our numbers). The batch belongs to the decoder and is valid until its next use. 0,
 * -ENOMEM, an errno of pread, or -EBADMSG with the reason in *ret_why.
 */
int decode_columns(struct decoder *d, const struct decode_source *s, uint64_t columns,
		   const struct batch **ret, const char **ret_why) _must_check_;
/*
 * Decodes further columns of the block that decode_columns() decoded last, into the same batch: for callers that test
 * some columns before they need the rest.
 */
int decode_more(struct decoder *d, uint64_t columns, const char **ret_why) _must_check_;
/* Unpacks the blob of a block; it belongs to the decoder and is valid until its next use. */
int decode_blob(struct decoder *d, const struct decode_source *s, struct bytes *ret,
		const char **ret_why) _must_check_;
/*
 * Returns what is composed into the values of a column (batch/ids.h): the recording for ids, the trace for row
 * numbers of calls, 0 for neither.
 */
uint64_t column_composes(const struct table_def *t, unsigned int column, uint64_t trace,
			 uint64_t recording);
