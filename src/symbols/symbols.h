/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols: the names of the functions on a stack. May use base, libdw. Never prints.
 *
 * Names are looked up after the stacks were taken, in a child process: a damaged or hostile program file then crashes
 * the child and not the recorder, its memory is returned, and a time limit can be enforced. Functions without a name
 * are shown by their address.
 *
 * Stacks are walked by frame pointers, and by what functions appear to pop before they return. Here the walk is checked
 * against the unwind tables (.eh_frame) of each module: for each address they define where the return address is, and
 * whether the frame pointer is the function's own. If it is not, functions may be missing, and the names contain [...]
 * there; the next frame must at least follow a call instruction. Frames that the tables refute are dropped, with all
 * frames beyond them. Full unwinding by those tables would require a copy of the whole stack for each call and is not
 * done.
 *
 * Without libdw at build time only the kernel's and just-in-time compiled functions get names.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"

#define SYMBOLS_NONE	     UINT32_MAX
#define SYMBOLS_BUILD_ID_MAX 32
#define SYMBOLS_GAP	     "[...]"

enum symbols_kind {
	SYMBOLS_FILE, /* an ELF file */
	SYMBOLS_JIT, /* memory of a process, with or without a map of its functions in /tmp/perf-PID.map */
	SYMBOLS_KERNEL, /* /proc/kallsyms */
};

struct symbols_module {
	enum symbols_kind kind;
	const char *path;	/* its name */
	int fd;			/* of the file, or of /proc/kallsyms; -1: none */
	int32_t pid, inner_pid; /* JIT: in the recorder's and its own pid namespace; 0: unknown */
	uint8_t build_id[SYMBOLS_BUILD_ID_MAX];
	uint32_t build_id_len; /* 0: none */
};

struct symbols_frame {
	uint64_t at;	 /* position in the module's file; for JIT, kernel and no module: address */
	uint32_t module; /* SYMBOLS_NONE: unknown */
	uint32_t words;	 /* see WIRE_FRAME_WORDS */
};

/* Bits of the column `cut` of table stack. */
enum symbols_cut {
	SYMBOLS_CUT_DEEP = 1 << 0,
	SYMBOLS_CUT_UNREAD = 1 << 1,
	SYMBOLS_CUT_GAP = 1 << 2,
	SYMBOLS_CUT_TOP = 1 << 3,
	SYMBOLS_CUT_UNSURE = 1 << 4,
};

struct symbols_stack {
	const struct symbols_frame *frames; /* innermost first; if `named`, outermost first */
	uint32_t count;
	uint32_t cut;	 /* known so far */
	bool has_bottom; /* the walk reached the thread's first frame */
	bool named;	 /* the frames were checked before: only names are wanted, ? if unknown */
	uint32_t word;
	uint32_t
		frame_word; /* the frame pointer at which the walk began; SYMBOLS_NONE: it was in its register */
};

struct symbols_request {
	const struct symbols_module *modules;
	const struct symbols_stack *stacks;
	size_t module_count, stack_count;
	int64_t limit_ns; /* no module is started after this time; the child is killed after twice as long */
	bool lines; /* append "file:line" to names where known: takes much longer */
};

/* The result for a stack: texts in the form of table stack's columns. */
struct symbols_names {
	struct bytes names, frames;
	uint32_t cut, depth;
};

/* Passes every stack's names to `take` in order. 0; -ETIME, or -ECHILD if the child died: some stacks were not passed. */
int symbols_resolve(const struct symbols_request *q,
		    int (*take)(void *arg, size_t stack, const struct symbols_names *n), void *arg);

/* A stack as in the columns of table stack. */
struct symbols_text {
	struct bytes names, frames, modules;
};

/*
 * Looks up the names of stacks again, with source lines, in files of this machine that have the modules' build-ids and
 * in their debug information, from this machine or, if DEBUGINFOD_URLS is set, from a server. Passes each stack's names
 * in order; names that are not found stay as they were. Returns like symbols_resolve().
 */
int symbols_look_up(const struct symbols_text *texts, size_t count, int64_t limit_ns,
		    int (*take)(void *arg, size_t stack, struct bytes names), void *arg);

/* Appends the frames of an unchecked stack in the form of column `frames`. 0 or -ENOMEM. */
int symbols_put_frames(const struct symbols_stack *s, struct buf *out);
/* The build-id of an ELF file. Returns its length, 0: none. */
size_t symbols_build_id(int fd, uint8_t ret[static SYMBOLS_BUILD_ID_MAX]);
