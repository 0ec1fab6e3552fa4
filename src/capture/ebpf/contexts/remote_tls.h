/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_tls.h: the memory of another process, and where a thread-local variable lies in it. Everything is read from that
 * memory, no file is opened: it also works for files that were deleted, and for those of containers. What stands there is
 * the other program's and may be anything: each read and each loop is bounded, and each number is checked.
 *
 * A read may wait for as long as the program likes, where its memory is a file of its own file system: whoever must not wait
 * reads in a thread of its own (otel_process.c).
 */
#pragma once

#include "base/util.h"

/* Reads memory of a process. 0 where all of it could be read, else negative. */
int remote_read(int32_t pid, uint64_t at, void *to, size_t size);
/*
 * The first mapping of a process that has a name: of a memfd, or given by prctl(PR_SET_VMA) where the kernel keeps those.
 * False: none.
 */
bool remote_mapping(int32_t pid, const char *name, uint64_t *ret_start, uint64_t *ret_end);

struct remote_tls {
	uint32_t
		module; /* whose block of thread-local variables it is in; 0: at an offset of the thread's base */
	int64_t offset; /* in that block, or from the thread's base */
	bool several;	/* another module has one of that name, which is another variable */
};

/*
 * Finds a variable that the program or a library of it exports; of several the first, as a linker would. -ENOENT: there is
 * none; -EAGAIN: there is, and nothing refers to it yet by which it could be found; -ENOTSUP: not on this machine.
 */
int remote_tls_find(int32_t pid, const char *symbol, struct remote_tls *ret);
