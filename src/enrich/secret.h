/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.h: passwords, tokens and keys in program arguments, as far as their form reveals them: names of options and
 * variables, headers, URLs with a user, known token formats, short options of known programs. A secret that is a bare
 * word is not recognized.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "batch/batch.h"

#define SECRET_MASK "***"

#define SECRETS_KNOWN 65536 /* distinct arguments; one not seen for half as many is counted again */

/* The number of distinct arguments with secrets: a command's arguments recur in every process that it forks. */
struct secret_count {
	uint64_t count;
	struct recent seen; /* hashes of the unmasked arguments; its max is SECRETS_KNOWN */
};

/*
 * Appends an argument vector (arguments separated by NUL) with secrets replaced by SECRET_MASK. Returns how many
 * arguments contain one; 0: none, and nothing was appended; or -ENOMEM. The number of those not seen before is added to
 * *different, which may be NULL.
 */
ssize_t secret_mask(struct bytes argv, struct buf *to, struct secret_count *different);
