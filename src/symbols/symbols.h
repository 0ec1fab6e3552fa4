/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols: the names of the functions on a stack. May use base, libdw. Never prints.
 *
 * Names are looked up after the stacks were taken, in a child process: a damaged or hostile program file then ends the
 * child and not the recorder, its memory goes back, and a time limit can be kept. What has no name is called by its place.
 *
 * Stacks come from a walk by frame pointers, and by what functions seem to pop before they return. Here the unwind tables
 * (.eh_frame) of each module are compared with it: they say at each place where the return address lies, and whether the
 * frame pointer is the function's own. Where it is not, functions may be missing, and the names have [...] there; what
 * follows must at least come right after a call instruction. What the tables refute is left out, with all that is beyond it.
 * Full unwinding by those tables would take a copy of the whole stack for each call and is not done.
 *
 * Without libdw at build time nothing but the kernel's and just-in-time compiled functions get names.
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
	SYMBOLS_JIT, /* memory of a process, with a map of its functions in /tmp/perf-PID.map or without */
	SYMBOLS_KERNEL, /* /proc/kallsyms */
};

struct symbols_module {
	enum symbols_kind kind;
	const char *path;	/* what it is called */
	int fd;			/* of the file, or of /proc/kallsyms; -1: none */
	int32_t pid, inner_pid; /* JIT: as the recorder and as the process counts; 0: not known */
	uint8_t build_id[SYMBOLS_BUILD_ID_MAX];
	uint32_t build_id_len; /* 0: none */
};

struct symbols_frame {
	uint64_t at;	 /* place in the module's file; JIT, kernel and without a module: address */
	uint32_t module; /* SYMBOLS_NONE: not known */
	uint32_t words;	 /* as WIRE_FRAME_WORDS has it */
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
	const struct symbols_frame *frames; /* innermost first; where `named` outermost first */
	uint32_t count;
	uint32_t cut;	 /* what is known by now */
	bool has_bottom; /* the walk came to the thread's first frame */
	bool named; /* its frames were compared before: only names are wanted, ? where there is none */
	uint32_t word;
	uint32_t
		frame_word; /* the frame pointer with which the walk began; SYMBOLS_NONE: it was in its register */
};

struct symbols_request {
	const struct symbols_module *modules;
	const struct symbols_stack *stacks;
	size_t module_count, stack_count;
	int64_t limit_ns; /* no module is begun after it; the child is ended after twice as long */
	bool lines; /* names have "file:line" behind them where it is known: takes much longer */
};

/* What is known of a stack: texts as the columns of table stack hold them. */
struct symbols_names {
	struct bytes names, frames;
	uint32_t cut, depth;
};

/* Gives every stack's names in order. 0; -ETIME, or -ECHILD where the child died: some were not given. */
int symbols_resolve(const struct symbols_request *q,
		    int (*take)(void *arg, size_t stack, const struct symbols_names *n), void *arg);

/* A stack as the columns of table stack have it. */
struct symbols_text {
	struct bytes names, frames, modules;
};

/*
 * Looks the names of stacks up again, with lines of source behind them, in the files of this machine that have the modules'
 * build-ids and in their debug information: that on this machine or, where DEBUGINFOD_URLS is set, of a server. Gives each
 * stack's names in order; what is not found keeps the name that it had. Returns as symbols_resolve().
 */
int symbols_look_up(const struct symbols_text *texts, size_t count, int64_t limit_ns,
		    int (*take)(void *arg, size_t stack, struct bytes names), void *arg);

/* The frames of a stack that was not compared with anything, as the column `frames` has them. 0 or -ENOMEM. */
int symbols_put_frames(const struct symbols_stack *s, struct buf *out);
/* The build-id of an ELF file; its length, 0: it has none. */
size_t symbols_build_id(int fd, uint8_t ret[static SYMBOLS_BUILD_ID_MAX]);
