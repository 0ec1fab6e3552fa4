/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: what the files of symbols/ share. */
#pragma once

#include "symbols/symbols.h"

/* ---- elf_module.c: one program file ---- */

struct elf_module;

/* Whose frame pointer a place has in its register. */
struct unwind_rule {
	enum {
		UNWIND_UNKNOWN, /* the module has no tables */
		UNWIND_NONE,	/* or none for this place, or one that is neither of the next two */
		UNWIND_FRAME,	/* the function's own */
		UNWIND_STACK, /* somebody else's; the return address lies `words` above the stack pointer */
	} kind;
	uint64_t words;
	uint64_t
		frame_word; /* of UNWIND_STACK: where the caller's frame pointer lies; SYMBOLS_NONE: in its register */
};

/* NULL: it cannot be read, or is another file than the build-id names. */
struct elf_module *elf_module_open(const struct symbols_module *m);
void elf_module_free(struct elf_module *m);
DEFINE_CLEANUP(struct elf_module *, elf_module_free)
/* The function at a place of the file, NULL: not known. Valid as long as the module. */
const char *elf_module_name(struct elf_module *m, uint64_t at);
/* Its line of source, as text behind the name; appends nothing where it is not known. 0 or -ENOMEM. */
int elf_module_line(struct elf_module *m, uint64_t at, struct buf *out);
struct unwind_rule elf_module_rule(struct elf_module *m, uint64_t at);
/* Whether the instruction before the place is a call; true where that cannot be said. */
bool elf_module_calls(const struct elf_module *m, uint64_t at);

/* ---- listed.c: functions listed in a text, of the kernel or of a just-in-time compiler ---- */

struct listed;

/* NULL: there is no list. */
struct listed *listed_open(const struct symbols_module *m);
void listed_free(struct listed *l);
DEFINE_CLEANUP(struct listed *, listed_free)
const char *listed_name(const struct listed *l, uint64_t address);

/* ---- chain.c: frames to names ---- */

struct chain_modules {
	const struct symbols_module *modules;
	struct elf_module **files; /* by module, NULL: not open */
	struct listed **lists;	   /* same */
	bool lines;
};

/* The texts of a stack, appended to names and frames. 0 or -ENOMEM. */
int chain_put(const struct chain_modules *m, const struct symbols_stack *s, struct buf *names,
	      struct buf *frames, struct symbols_names *ret);
