/* SPDX-License-Identifier: Apache-2.0 */
/* host_row.h: the row of table host for this machine. */
#pragma once

#include "batch/batch.h"

/* Adds the row to the set under this id (or source's key); the caller sets further columns. */
struct batch_row batch_set_host(struct batch_set *s, int64_t id);
