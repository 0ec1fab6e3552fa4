/* SPDX-License-Identifier: Apache-2.0 */
/* spans_write.h: writes imported spans into a trace of their own. */
#pragma once

#include "exchange/spans_in.h"
#include "store/store.h"

/* Writes the first row of a new trace: this machine. 0 or negative. */
int spans_write_begin(struct store_writer *w, struct error *err);
/*
 * Appends all rows, and at the start of the first span a mark with this text (empty: none). Call spans_in_finish()
 * before. 0 or negative.
 */
int spans_write(struct store_writer *w, struct spans_in *s, const char *text, struct error *err);
