/* SPDX-License-Identifier: Apache-2.0 */
/* codec_impl.h: the inside of struct codec, shared by blob.c, ints.c and transform.c. */
#pragma once

#include <zstd.h>

#include "store/codec/codec.h"

#define CODEC_SLOTS  4096 /* keys with separate state; further keys share slots by their low bits */
#define CODEC_VALUES 4

struct codec {
	ZSTD_CCtx *cctx; /* NULL: no compression */
	ZSTD_DCtx *dctx;
	struct buf packed;	       /* zstd's output */
	uint8_t *planes;	       /* [8 * STORE_ROWS_MAX] */
	int64_t *values[CODEC_VALUES]; /* [STORE_ROWS_MAX] each */
	int64_t last[CODEC_SLOTS];
	uint8_t copies[CODEC_SLOTS];
};
