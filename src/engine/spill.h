/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spill.h: a private folder for temporary files: weir-spill-XXXXXX in $TMPDIR, or in /var/tmp, which is on disk while
 * /tmp is in memory on many machines. The folder is locked (flock) while its owner lives. An unlocked folder was left
 * behind by a process that was killed, and is removed when the next one is made.
 */
#pragma once

#include "base/error.h"

struct spill {
	char *path; /* NULL: none */
	int fd;	    /* of the folder, with the lock */
};

#define SPILL_NONE ((struct spill){.fd = -1})

/*
 * Makes a folder that only this user can enter, after removing this user's folders whose owners are gone. *ret must be
 * SPILL_NONE. Thread-safe.
 */
int spill_make(struct spill *ret, struct error *err);
/* Removes this user's folders whose owners are gone. */
void spill_sweep(void);
/* Removes the folder with its contents. May be called repeatedly, even while files are being created in it. */
void spill_remove(const struct spill *s);
/* The same, and releases the lock; *s becomes SPILL_NONE. */
void spill_free(struct spill *s);
/* Disk space in bytes of the files directly in a folder. */
uint64_t spill_bytes(int folder);
