/* SPDX-License-Identifier: Apache-2.0 */
/* user_write.h: a user's table as it goes to the file. Inside store/ only. */
#pragma once

#include "store/file/block.h"
#include "store/user/user.h"

struct user_writer {
	struct buf head; /* name and columns, as in each block */
	size_t column_count, column;
	uint64_t rows; /* whole ones */
	struct user_column_data {
		enum user_type type;
		bool has_nulls;
		struct buf nulls, values, bytes;
	} columns[USER_COLUMNS_MAX];
	uint32_t block_rows;
	size_t block_bytes;
	struct encoder *encoder;
	struct buf blocks; /* not sealed; `ends` says where each ends */
	size_t *ends;
	size_t block_count, cap;
};

/* Makes the last block, which may be without rows. */
int user_writer_finish(struct user_writer *w) _must_check_;
