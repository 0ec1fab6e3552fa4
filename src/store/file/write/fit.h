/* SPDX-License-Identifier: Apache-2.0 */
/* fit.h: when a block of rows is full. Inside store/ only. */
#pragma once

#include "batch/batch.h"

/* Returns how many rows of b[from .. end) fit after those of `to`: by count, and by bytes in byte columns. */
size_t fit_rows(const struct batch *to, const struct batch *b, size_t from, size_t end);
