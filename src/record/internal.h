/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of record/. */
#pragma once

#include "record/record.h"

/* command.c: lets the child exec and says whether that worked. */
int record_child_go(struct record_child *c, struct error *err);
