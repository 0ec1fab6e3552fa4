/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret.h: passwords, tokens and keys in the arguments of programs, as far as their form gives them
 * away: names of options and variables, headers, addresses with a user, known forms of tokens, short
 * options of known programs. A secret that is a bare word among others is not recognized.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "batch/batch.h"

#define SECRET_MASK "***"

#define SECRETS_KNOWN \
	65536 /* different arguments; one that was not seen for half as many counts again */

/* How many different arguments had secrets: a command's are seen in every process that it forks. */
struct secret_count {
	uint64_t count;
	struct recent seen; /* hashes of the arguments as they were; its max is SECRETS_KNOWN */
};

/*
 * Appends an argument vector (arguments separated by NUL) with SECRET_MASK in the place of secrets.
 * How many arguments have one; 0: none, and nothing was appended; or -ENOMEM. Those that were not
 * seen before are added to *different, which may be NULL.
 */
ssize_t secret_mask(struct bytes argv, struct buf *to, struct secret_count *different);
