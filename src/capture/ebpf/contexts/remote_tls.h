/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote_tls.h: the memory of another process, and the location of a thread-local variable in it. Everything is read
 * from that memory and no file is opened, so this also works for deleted files, and for those of containers. The memory
 * belongs to the other program and may contain anything: each read and each loop is bounded, and each number is
 * checked.
 *
 * A program can block a read indefinitely if its memory is a file of its own file system: callers that must not block
 * read in a separate thread (otel_process.c).
 */
#pragma once

#include "base/util.h"

/* Reads memory of a process. 0 if all of it could be read, else negative. */
int remote_read(int32_t pid, uint64_t at, void *to, size_t size);
/*
 * The first mapping of a process with this name: that of a memfd, or one set by prctl(PR_SET_VMA) if the kernel stores
 * those. False: none.
 */
bool remote_mapping(int32_t pid, const char *name, uint64_t *ret_start, uint64_t *ret_end);

struct remote_tls {
	uint32_t
		module; /* the module whose TLS block contains it; 0: at an offset from the thread's base */
	int64_t offset; /* in that block, or from the thread's base */
	bool several;	/* other modules have a different variable of the same name */
};

/*
 * Finds a variable exported by the program or one of its libraries; of several the first, like a linker. -ENOENT: there
 * is none; -EAGAIN: it exists, but no reference reveals its location yet; -ENOTSUP: not on this machine.
 */
int remote_tls_find(int32_t pid, const char *symbol, struct remote_tls *ret);
