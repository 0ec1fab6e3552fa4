/* SPDX-License-Identifier: Apache-2.0 */
/* host_row.h: the row of table host for the machine on which this runs. */
#pragma once

#include "batch/batch.h"

/* Adds it to the set with this id (or source's key); further columns are the caller's. */
struct batch_row batch_set_host(struct batch_set *s, int64_t id);
