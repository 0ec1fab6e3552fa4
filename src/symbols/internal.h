/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of symbols/. */
#pragma once

#include "symbols/symbols.h"

/* ---- elf_module.c: one program file ---- */

struct elf_module;

/* What the frame pointer register holds at an address. */
struct unwind_rule {
	enum {
		UNWIND_UNKNOWN, /* the module has no tables */
		UNWIND_NONE,	/* none for this address, or neither of the next two */
		UNWIND_FRAME,	/* this function's frame */
		UNWIND_STACK, /* anything else; the return address is `words` above the stack pointer */
	} kind;
	uint64_t words;
	uint64_t
		frame_word; /* with UNWIND_STACK: where the caller's frame pointer is; SYMBOLS_NONE: in its register */
};

/* NULL: the file cannot be read, or has another build-id. */
struct elf_module *elf_module_open(const struct symbols_module *m);
void elf_module_free(struct elf_module *m);
DEFINE_CLEANUP(struct elf_module *, elf_module_free)
/* The function at a file position, NULL: unknown. Valid as long as the module. */
const char *elf_module_name(struct elf_module *m, uint64_t at);
/* Appends its source line as text; nothing if it is unknown. 0 or -ENOMEM. */
int elf_module_line(struct elf_module *m, uint64_t at, struct buf *out);
struct unwind_rule elf_module_rule(struct elf_module *m, uint64_t at);
/* Whether the instruction before the position is a call; true if that cannot be determined. */
bool elf_module_calls(const struct elf_module *m, uint64_t at);

/* ---- listed.c: function lists in text form, of the kernel or of a just-in-time compiler ---- */

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

/* Appends the texts of a stack to names and frames. 0 or -ENOMEM. */
int chain_put(const struct chain_modules *m, const struct symbols_stack *s, struct buf *names,
	      struct buf *frames, struct symbols_names *ret);
