/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c: checks the frames of a stack against the unwind tables of their modules and turns them into names. */
#include "symbols/internal.h"

#include <errno.h>
#include <string.h>

#define ITEMS_MAX 512 /* frames of a stack and gaps */

/* A frame to show, or a gap. */
struct item {
	const struct symbols_frame *frame; /* NULL: a gap */
	bool inner;			   /* the thread's current position, not a return address */
};

struct chain {
	const struct chain_modules *m;
	struct item items[ITEMS_MAX];
	size_t count;
	uint32_t cut;
};

static const struct symbols_module *module_of(const struct chain_modules *m,
					      const struct symbols_frame *f)
{
	return f->module == SYMBOLS_NONE ? NULL : &m->modules[f->module];
}

static struct elf_module *file_of(const struct chain_modules *m, const struct symbols_frame *f)
{
	return f->module == SYMBOLS_NONE ? NULL : m->files[f->module];
}

/* A return address may already belong to the next function: the call precedes it. */
static uint64_t chain_place(const struct symbols_frame *f, bool inner)
{
	return f->at && !inner ? f->at - 1 : f->at;
}

static void chain_add(struct chain *c, const struct symbols_frame *f, bool inner)
{
	if (!f)
		c->cut |= SYMBOLS_CUT_GAP;
	if (!f && c->count && !c->items[c->count - 1].frame)
		return;
	if (c->count < ITEMS_MAX)
		c->items[c->count++] = (struct item){f, inner};
}

static struct unwind_rule rule_of(const struct chain *c, const struct symbols_frame *f, bool inner)
{
	struct elf_module *file = file_of(c->m, f);

	return file ? elf_module_rule(file, chain_place(f, inner))
		    : (struct unwind_rule){.kind = UNWIND_UNKNOWN};
}

/* Whether the tables of the callee confirm a frame found by what it pops. */
static bool popped_right(struct chain *c, struct unwind_rule rule, const struct symbols_frame *f)
{
	if (rule.kind == UNWIND_STACK)
		return rule.words == f->words - 1;
	c->cut |= SYMBOLS_CUT_UNSURE;
	return true;
}

/*
 * Whether a frame pointer led on from a function with this rule to the frame: -1 no, 0 yes with functions missing in
 * between, 1 yes. `first`: the walk used the frame pointer in the register.
 */
static int leads_on(const struct chain *c, struct unwind_rule rule, bool first,
		    const struct symbols_frame *f)
{
	struct elf_module *file = file_of(c->m, f);
	const struct listed *list = f->module == SYMBOLS_NONE ? NULL : c->m->lists[f->module];

	if (rule.kind == UNWIND_FRAME)
		return 1;
	if (rule.kind == UNWIND_UNKNOWN)
		return f->module != SYMBOLS_NONE ? 1 : -1;
	/* the register holds something else, and the caller's frame pointer is on the stack */
	if (first && rule.kind == UNWIND_STACK && rule.frame_word != SYMBOLS_NONE)
		return -1;
	/* the register may hold another function's frame or anything else: accepted if the address follows a call */
	return (file && elf_module_calls(file, f->at)) || (list && listed_name(list, f->at)) ? 0
											     : -1;
}

static void chain_walk(struct chain *c, const struct symbols_stack *s)
{
	struct unwind_rule rule = rule_of(c, &s->frames[0], true);
	bool first = true;

	chain_add(c, &s->frames[0], true);
	for (uint32_t i = 1; i < s->count; i++) {
		const struct symbols_frame *f = &s->frames[i];
		int on = f->words ? (popped_right(c, rule, f) ? 1 : -1)
				  : leads_on(c, rule, first, f);

		if (on < 0) {
			c->cut |= SYMBOLS_CUT_TOP | SYMBOLS_CUT_GAP;
			return;
		}
		if (!on)
			chain_add(c, NULL, false);
		chain_add(c, f, false);
		first = f->words;
		rule = rule_of(c, f, false);
	}
}

/* The kernel's stacks begin inside the program that took them. */
static bool takes_stacks(const char *name)
{
	return name && (!strncmp(name, "bpf_", 4) || !strncmp(name, "__bpf_", 6) ||
			!strncmp(name, "__traceiter_", 12));
}

/* ---- texts ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int put_place(const struct chain_modules *m, const struct symbols_frame *f, struct buf *out)
{
	const struct symbols_module *of = module_of(m, f);

	if (!of)
		return buf_printf(out, "0x%llx", (unsigned long long)f->at);
	return buf_printf(out, "%s+0x%llx", base_name(of->path), (unsigned long long)f->at);
}

static const char *name_of(const struct chain_modules *m, const struct item *i)
{
	uint64_t at = chain_place(i->frame, i->inner);
	uint32_t module = i->frame->module;

	if (module == SYMBOLS_NONE)
		return NULL;
	if (m->files[module])
		return elf_module_name(m->files[module], at);
	return m->lists[module] ? listed_name(m->lists[module], at) : NULL;
}

static int chain_put_name(struct buf *out, const char *name)
{
	size_t from = out->len;

	/* strip the version: "read@@GLIBC_2.2.5" */

	buf_append(out, name, strlen(name));
	for (size_t i = from + 1; i < out->len; i++) {
		if (out->data[i] == '@')
			out->len = i;
	}
	return buf_status(out);
}

/* Semicolons separate functions and newlines separate lines: replace both in names. */
static void chain_keep_separators(struct buf *out, size_t from)
{
	for (size_t i = from; i < out->len; i++) {
		if (out->data[i] == ';' || out->data[i] == '\n')
			out->data[i] = ':';
	}
}

static int put_item(const struct chain_modules *m, const struct item *i, struct buf *out)
{
	const char *name;
	size_t from = out->len;
	int r;

	if (!i->frame)
		return buf_printf(out, "%s", SYMBOLS_GAP);
	name = name_of(m, i);
	if (!name)
		return put_place(m, i->frame, out);
	r = chain_put_name(out, name);
	if (r >= 0 && m->lines && m->files[i->frame->module])
		r = elf_module_line(m->files[i->frame->module], chain_place(i->frame, i->inner),
				    out);
	if (r < 0)
		return r;
	chain_keep_separators(out, from);
	return r;
}

static int put_frame(const struct symbols_frame *f, struct buf *out)
{
	if (!f)
		return buf_printf(out, "%s\n", SYMBOLS_GAP);
	if (f->module == SYMBOLS_NONE)
		return buf_printf(out, "0x%llx\n", (unsigned long long)f->at);
	return buf_printf(out, "%u+0x%llx\n", f->module, (unsigned long long)f->at);
}

int symbols_put_frames(const struct symbols_stack *s, struct buf *out)
{
	for (uint32_t i = s->count; i-- > 0;)
		put_frame(&s->frames[i], out);
	return buf_status(out);
}

/* The first functions of a thread or process, in the C libraries and in Go. */
static bool begins_thread(const char *name)
{
	static const char *const names[] = {"_start",
					    "__libc_start_main",
					    "__libc_start_call_main",
					    "__libc_start_main_impl",
					    "start_thread",
					    "clone3",
					    "__clone3",
					    "__clone",
					    "clone",
					    "runtime.goexit",
					    "runtime.goexit.abi0",
					    "runtime.rt0_go.abi0",
					    "_dl_start_user"};

	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++) {
		if (!strncmp(name, names[i], strlen(names[i])) &&
		    (!name[strlen(names[i])] || name[strlen(names[i])] == '@' ||
		     name[strlen(names[i])] == '.'))
			return true;
	}
	return false;
}

/* Appends only names, in the order of the frames. */
static int chain_put_named(const struct chain_modules *m, const struct symbols_stack *s,
			   struct buf *names)
{
	int r = 0;

	for (uint32_t i = 0; i < s->count && r >= 0; i++) {
		const struct item item = {&s->frames[i], i + 1 == s->count};

		r = name_of(m, &item) ? put_item(m, &item, names) : buf_append(names, "?", 1);
		if (r >= 0 && i + 1 < s->count)
			r = buf_append(names, ";", 1);
	}
	return r;
}

int chain_put(const struct chain_modules *m, const struct symbols_stack *s, struct buf *names,
	      struct buf *frames, struct symbols_names *ret)
{
	struct chain c = {.m = m, .cut = s->cut};
	const struct symbols_module *first = s->count ? module_of(m, &s->frames[0]) : NULL;
	bool kernel = first && first->kind == SYMBOLS_KERNEL;
	size_t own = 0;
	int r = 0;

	if (s->named)
		return chain_put_named(m, s, names);
	if (s->count)
		chain_walk(&c, s);
	for (size_t i = 0; kernel && i < c.count && takes_stacks(name_of(m, &c.items[i])); i++)
		own++;
	if (c.count && !kernel && !s->has_bottom &&
	    !begins_thread(name_of(m, &c.items[c.count - 1])))
		c.cut |= SYMBOLS_CUT_TOP;
	ret->depth = 0;
	for (size_t i = c.count; i-- > own && r >= 0;) {
		ret->depth += c.items[i].frame != NULL;
		r = put_item(m, &c.items[i], names);
		if (r >= 0 && i > own)
			r = buf_append(names, ";", 1);
		if (r >= 0)
			r = put_frame(c.items[i].frame, frames);
	}
	ret->cut = c.cut;
	return r;
}
