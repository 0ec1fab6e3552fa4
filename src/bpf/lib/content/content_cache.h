/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * content_cache.h: the bytes of a file in the page cache, for calls that move them within the kernel (sendfile, splice,
 * copy_file_range). A tracing program walks the tree of the file's pages without its lock: each page is checked again
 * after copying, and counts as absent if it changed.
 *
 * The address of a page is computed from its struct page and the addresses of two tables. These are fixed unless the
 * kernel's layout is randomized, in which case two kernel variables hold them, if they are listed. The recorder tries
 * the addresses on a page with known content (weir_content_probe()); if none fits, nothing is read here.
 */
#pragma once

#include "bpf/lib/file/fs.h"
#include "bpf/lib/state.h"
#include "schema/wire_content.h"

#define PAGE_BYTES   4096
#define PAGE_STRUCT  64
#define XA_SLOTS     64
#define XA_LEVELS    11	  /* 64 bits, six per level */
#define NODE_LEAST   4096 /* smaller entries are marks, not addresses */
#define SIBLING_LAST (63 << 2)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct xarray {
	void *xa_head;
};

struct address_space___cache {
	struct xarray i_pages;
};

struct xa_node {
	unsigned char shift;
	void *slots[XA_SLOTS];
};

struct folio___cache {
	struct address_space *mapping;
	unsigned long index;
};

struct file___cache {
	struct address_space *f_mapping;
};

struct inode___cache {
	struct address_space *i_mapping;
};

#pragma clang attribute pop

/* Addresses verified by the recorder; `read` and `word` are set by the probe. */
struct wire_content_tables content_tables SEC(".data.content");

/* A file and a range of it. */
struct cache_range {
	__u64 mapping, pos;
};

/* The page's folio in the tree; 0: absent. */
static __always_inline __u64 cache_folio(__u64 mapping, __u64 index)
{
	__u64 entry =
		kread_ptr(mapping + bpf_core_field_offset(struct address_space___cache, i_pages) +
			  bpf_core_field_offset(struct xarray, xa_head));
	bool first = true;

	for (int i = 0; i < XA_LEVELS; i++) {
		__u64 node = entry - 2, at;
		__u8 shift;

		if ((entry & 3) != 2 || entry <= NODE_LEAST)
			break;
		shift = kread(struct xa_node, node, shift) & 63;
		at = index >> shift;
		if (first && at >= XA_SLOTS)
			return 0;
		first = false;
		at &= XA_SLOTS - 1;
		node += bpf_core_field_offset(struct xa_node, slots);
		entry = kread_ptr(node + 8 * at);
		if ((entry & 3) == 2 && entry < SIBLING_LAST) /* part of an earlier folio */
			entry = kread_ptr(node + 8 * (entry >> 2 & (XA_SLOTS - 1)));
	}
	/* a single entry is the first page; others are marks of evicted pages */
	return entry & 3 || (first && index) ? 0 : entry;
}

/* Copies bytes of one page. Nonzero: absent. */
static __always_inline int cache_read(void *to, __u64 size, __u64 mapping, __u64 pos)
{
	__u64 index = pos / PAGE_BYTES, folio, begins, at;

	if (!content_tables.memory)
		return 1;
	folio = cache_folio(mapping, index);
	if (!folio || folio < content_tables.pages)
		return 1;
	begins = knum(struct folio___cache, folio, index);
	if (begins > index)
		return 1;
	at = content_tables.memory + (folio - content_tables.pages) / PAGE_STRUCT * PAGE_BYTES +
	     (index - begins) * PAGE_BYTES + pos % PAGE_BYTES;
	barrier_var(at);
	barrier_var(size); /* check and use must be adjacent for 6.1's verifier */
	if (size > PAGE_BYTES || bpf_probe_read_kernel(to, size, (void *)at))
		return 1;
	return knum(struct folio___cache, folio, mapping) != mapping ||
	       knum(struct folio___cache, folio, index) != begins;
}

/* The page cache of an open file; for overlayfs that of the file in a layer. 0: none. */
static __always_inline __u64 cache_of(__u64 file)
{
	__u64 inode = (__u64)kread(struct file, file, f_inode), real;

	if (kread(struct super_block, kread(struct inode, inode, i_sb), s_magic) == MAGIC_OVERLAY) {
		real = overlay_real(inode);
		return real ? knum(struct inode___cache, real, i_mapping) : 0;
	}
	return knum(struct file___cache, file, f_mapping);
}
