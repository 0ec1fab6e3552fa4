/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spill.h: a private folder for temporary files: weir-spill-XXXXXX in $TMPDIR, or in /var/tmp, which is
 * on disk where /tmp is memory on many machines. The folder is locked (flock) for as long as its
 * owner lives. A folder that is not locked was left behind by a process that was killed, and is
 * removed when the next one is made.
 */
#pragma once

#include "base/error.h"

struct spill {
	char *path; /* NULL: there is none */
	int fd;	    /* of the folder; holds the lock */
};

#define SPILL_NONE ((struct spill){.fd = -1})

/*
 * Makes a folder that only this user can enter, after removing those of this user whose owners are
 * gone. *ret must be SPILL_NONE; any thread.
 */
int spill_make(struct spill *ret, struct error *err);
/* Removes the folders of this user whose owners are gone. */
void spill_sweep(void);
/* Removes the folder with all that is in it. May be called again, and while files are made in it. */
void spill_remove(const struct spill *s);
/* The same, and gives the lock up: *s is SPILL_NONE then. */
void spill_free(struct spill *s);
/* Bytes on disk of the files right below a folder. */
uint64_t spill_bytes(int folder);
