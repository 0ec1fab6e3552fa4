/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * site.h: where a function that makes a system call will find its return address, and its caller's frame pointer. The C
 * library's functions have no frame pointer, and some use the register for other data; the walk would begin one
 * function too far out, or nowhere. So the code after the system call is followed to the function's end, counting what
 * it pops:
 *
 *	syscall; cmp $-4096,%rax; ja ...; ret					read(), while there is one thread
 *	syscall; cmp ...; ja ...; ...; add $104,%rsp; pop %rbx; pop %rbp; ret	open()
 *
 * This is done once for each process and address. The recorder verifies the result against the module's unwind tables
 * (symbols/chain.c).
 */
#pragma once

#include "bpf/lib/state.h"

#define SITE_CODE_AT 3328 /* in struct scratch's data */
#define SITE_WALK_AT 3584
#define SITE_CODE    128 /* bytes of code read at once; a power of two */
#define SITE_LONGEST 16	 /* at least the longest instruction, in bytes */
#define SITE_STEPS   64	 /* instructions followed */
#define SITE_READS   5
#define SITE_WORDS   64	   /* stack words of a function, at most */
#define SITE_NONE    0xffu /* unknown, for either value */
#define SITE_UNKNOWN (SITE_NONE | SITE_NONE << 8)
#define SITE_FRAME   0x10000u /* the function has its own frame pointer */

/* Word index of the return address; above 8 bits that of the frame pointer, SITE_NONE: it is in its register. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u32);
} stack_sites SEC(".maps");

/* In map memory, which is unknown to the verifier. */
struct site_walk {
	__u64 base;	/* address of the code read */
	__u32 at, next; /* offsets of the current and the next instruction */
	__u32 words, fp;
	__u32 reads, pad;
};

enum site_step { SITE_ON, SITE_END, SITE_OWN_FRAME, SITE_STRANGE };

static __always_inline __u8 site_byte(struct scratch *s, __u32 i)
{
	return s->data[SITE_CODE_AT + (i & (SITE_CODE - 1))];
}

static __always_inline __s32 site_number(struct scratch *s, __u32 i)
{
	return site_byte(s, i) | site_byte(s, i + 1) << 8 | site_byte(s, i + 2) << 16 |
	       (__u32)site_byte(s, i + 3) << 24;
}

static __always_inline volatile struct site_walk *site_walk(struct scratch *s)
{
	return (volatile struct site_walk *)(s->data + SITE_WALK_AT);
}

/* Continues at an address. */
static __always_inline enum site_step site_read(struct scratch *s, volatile struct site_walk *w,
						__u64 at)
{
	w->base = at;
	w->next = 0;
	if (++w->reads > SITE_READS ||
	    bpf_probe_read_user(s->data + SITE_CODE_AT, SITE_CODE, (void *)at))
		return SITE_STRANGE;
	return SITE_ON;
}

/* The operand bytes of an instruction, whose first is at a given offset. */
static __always_inline __u32 site_operand(struct scratch *s, __u32 i)
{
	__u8 m = site_byte(s, i), mode = m >> 6, base = m & 7;
	__u32 len = 1;

	if (mode == 3)
		return len;
	if (base == 4) {
		len++;
		base = site_byte(s, i + 1) & 7;
	}
	return len + (mode == 1 ? 1 : mode == 2 || base == 5 ? 4 : 0);
}

/* Two-byte instructions, which begin with 0x0f. */
static __always_inline enum site_step site_two(struct scratch *s, volatile struct site_walk *w,
					       __u32 i)
{
	__u8 b = site_byte(s, i + 1), kind = b >> 4;

	if (kind == 8) /* a conditional jump, assumed not taken */
		w->next = i + 6;
	else if (b == 0x05)
		w->next = i + 2;
	else if (kind == 4 || kind == 9 || kind == 1 || b == 0xb6 || b == 0xb7)
		w->next = i + 2 + site_operand(s, i + 2);
	else
		return SITE_STRANGE;
	return SITE_ON;
}

/* Instructions with a register or memory operand. */
static __always_inline enum site_step site_one(struct scratch *s, volatile struct site_walk *w,
					       __u32 i, __u8 b)
{
	__u32 more = 0;

	if (b == 0x83 || b == 0xc0 || b == 0xc1 || b == 0x6b || b == 0xc6)
		more = 1;
	else if (b == 0x81 || b == 0xc7 || b == 0x69)
		more = 4;
	else if ((b == 0xf6 || b == 0xf7) && !(site_byte(s, i + 1) & 0x30))
		more = b == 0xf6 ? 1 : 4;
	else if (!(b < 0x40 && (b & 7) < 4) && b != 0x63 && !(b >= 0x84 && b <= 0x8d) &&
		 b != 0xf6 && b != 0xf7 && b != 0xff && b != 0xd1 && b != 0xd3)
		return SITE_STRANGE;
	w->next = i + 1 + site_operand(s, i + 1) + more;
	return SITE_ON;
}

/* Decodes one instruction. */
verified_alone int site_step(struct scratch *s)
{
	volatile struct site_walk *w;
	__u8 b, rex = 0;
	__u32 i;

	if (!s)
		return SITE_STRANGE;
	w = site_walk(s);
	i = w->at;
	b = site_byte(s, i);
	if (b == 0x64) /* %fs: */
		b = site_byte(s, ++i);
	if (b >> 4 == 4) {
		rex = b;
		b = site_byte(s, ++i);
	}
	if (b == 0xc3)
		return SITE_END;
	if (b == 0xc9 || (b == 0x8d && (site_byte(s, i + 1) & 0x38) == 0x20 && !(rex & 4)) ||
	    (b == 0x89 && site_byte(s, i + 1) == 0xec)) /* leave, or the stack pointer from %rbp */
		return SITE_OWN_FRAME;
	if (b >> 3 == 0x58 >> 3) {
		if (b == 0x5d && !(rex & 1))
			w->fp = w->words;
		w->words++;
		w->next = i + 1;
	} else if ((b == 0x83 || b == 0x81) && site_byte(s, i + 1) == 0xc4) {
		w->words += (b == 0x83 ? site_byte(s, i + 2) : (__u32)site_number(s, i + 2)) / 8;
		w->next = i + (b == 0x83 ? 3 : 6);
	} else if (b >> 3 == 0xb8 >> 3) {
		w->next = i + (rex & 8 ? 9 : 5);
	} else if (b == 0xe8 || (b < 0x40 && (b & 7) == 5)) {
		w->next = i + 5;
	} else if (b >> 4 == 7 || (b < 0x40 && (b & 7) == 4)) {
		w->next = i + 2;
	} else if (b == 0xe9) {
		return site_read(s, w, w->base + i + 5 + (__s64)site_number(s, i + 1));
	} else if (b == 0xeb) {
		return site_read(s, w, w->base + i + 2 + (__s64)(__s8)site_byte(s, i + 1));
	} else if (b == 0x90) {
		w->next = i + 1;
	} else if (b == 0x0f) {
		return site_two(s, w, i);
	} else {
		return site_one(s, w, i, b);
	}
	return SITE_ON;
}

/* Computes the site of the code at an address. */
verified_alone __u32 site_look(struct scratch *s, __u64 ip)
{
	volatile struct site_walk *w;
	int step;

	if (!s)
		return SITE_UNKNOWN;
	w = site_walk(s);
	w->reads = w->words = 0;
	w->fp = SITE_NONE;
	step = site_read(s, w, ip);
	for (__u32 n = 0; n < SITE_STEPS && step == SITE_ON; n++) {
		w->at = w->next;
		if (w->at > SITE_CODE - SITE_LONGEST) {
			step = site_read(s, w, w->base + w->at);
			w->at = 0;
		}
		if (step == SITE_ON)
			step = site_step(s);
	}
	if (step == SITE_OWN_FRAME)
		return SITE_FRAME;
	if (step != SITE_END || w->words >= SITE_WORDS)
		return SITE_UNKNOWN;
	return w->words | w->fp << 8;
}

/* The same, cached by a hash of the process's image. */
static __always_inline __u32 site_of(struct scratch *s, __u64 image, __u64 ip)
{
	__u64 key = image ^ ip;
	__u32 *known = bpf_map_lookup_elem(&stack_sites, &key), site;

	if (likely(known))
		return *known;
#if defined(__TARGET_ARCH_x86)
	site = site_look(s, ip);
#else
	site = SITE_UNKNOWN;
#endif
	bpf_map_update_elem(&stack_sites, &key, &site, BPF_ANY);
	return site;
}
