/* SPDX-License-Identifier: Apache-2.0 */
/* spans_write.h: spans that were read, into a trace of their own. */
#pragma once

#include "exchange/spans_in.h"
#include "store/store.h"

/* What a new trace begins with: the row of this machine. 0 or negative. */
int spans_write_begin(struct store_writer *w, struct error *err);
/*
 * Appends a mark with this text (empty: none), where the first span began, and all rows; spans_in_finish() was called. 0 or
 * negative.
 */
int spans_write(struct store_writer *w, struct spans_in *s, const char *text, struct error *err);
