/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * block_walk.h: the contents of a bio: every page, folio by folio, with its file, position and owner. In direct I/O the
 * pages are the program's memory, which may be mapped from another file: the function that ends the bio identifies this
 * case.
 */
#pragma once

#include "bpf/lib/block/block_inode.h"
#include "bpf/lib/block/block_writers.h"

#define WALK_SLOTS 4
#define CHAIN_MAX  4	 /* ancestors of a piece of a bio */
#define WALK_MAX   65536 /* folios, or pages, per bio */

/* The origin of a bio, apart from its pages. */
struct bio_source {
	__u64 bio; /* as submitted by its creator: differs for a piece of a bio */
	__u64 end, private;
	__u64 left;	/* its bytes from the start of the piece on */
	__u64 inode;	/* if known without the pages; 0 */
	__u64 pos;	/* in that inode */
	__u64 upper_rq; /* the loop device request it is for; 0 */
	__u64 waiter;	/* task waiting for it; 0 */
	__u32 direct;	/* the pages belong to no file, whatever they indicate */
	__u32 origin;	/* of the entire bio, enum wire_block_origin; 0: depends on the page */
};

/* In a map: the verifier treats values read from one as unknown, which loops need. */
struct walk {
	__u64 vec, done; /* current element, and bytes done in it */
	__u64 left;
	__u64 inode;		    /* of the previous folio */
	__u32 inode_number, origin; /* of that inode */
	__u32 owner, via;	    /* if not stored by frame */
	__u32 writes;		    /* write-back: owners are stored by frame */
	__u32 other;		    /* bytes of pages that belong to no file */
	__u32 device;		    /* enum wire_block_origin of the device's own pages */
	__u32 busy;
	struct writers writers; /* of the folio's file */
};

/* Several per CPU: since Linux 6.16 programs may preempt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_SLOTS);
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

static __always_inline struct walk *walk_get(void)
{
	for (__u32 i = 0; i < WALK_SLOTS; i++) {
		__u32 at = i;
		struct walk *w = bpf_map_lookup_elem(&walks, &at);

		if (w && __sync_val_compare_and_swap(&w->busy, 0, 1) == 0)
			return w;
	}
	return NULL;
}

struct walk_bio {
	struct wire_block_state *e;
	struct walk *w;
};

/* Sends a part that does not fit into its request. */
static noinline void part_spill(struct wire_block_state *e, struct wire_block_part *p)
{
	struct wire_block_more *r;

	if (!e || !p)
		return;
	r = side_take(WIRE_BLOCK_MORE, sizeof(*r), bpf_ktime_get_ns());
	if (!r)
		return;
	r->id = e->b.id;
	r->of = 0;
	r->part = *p;
	side_commit(r);
	e->b.flags |= WIRE_BLOCK_SPILLED;
}

static __always_inline bool part_joins(struct wire_block_part *p, struct wire_block_part *n)
{
	if (p->inode != n->inode || p->owner != n->owner || p->via != n->via ||
	    p->origin != n->origin)
		return false;
	if (n->pos < p->pos)
		p->pos = n->pos;
	p->bytes += n->bytes;
	return true;
}

/* Adds a part, or extends one of the same file and owner. */
verified_alone int part_add(struct wire_block_state *e, struct wire_block_part *n)
{
	if (!e || !n)
		return 0;
	for (int i = 0; i < WIRE_BLOCK_PARTS; i++) {
		if (i < e->b.parts && part_joins(&e->parts[i], n))
			return 0;
	}
	for (int i = 0; i < WIRE_BLOCK_PARTS; i++) {
		if (i == e->b.parts) {
			e->parts[i] = *n;
			e->b.parts = i + 1;
			return 0;
		}
	}
	part_spill(e, n);
	return 0;
}

/* Handles a change of the file between folios. */
verified_alone int walk_file(struct walk *w, __u64 inode)
{
	__u64 sb, magic;

	if (!w)
		return 0;
	w->inode = inode;
	w->origin = WIRE_ORIGIN_FILE;
	w->inode_number = 0;
	w->writers.shared = 0;
	w->writers.seen = 0;
	if (w->writes)
		writers_of(inode, &w->writers);
	sb = knum(struct inode, inode, i_sb);
	magic = kread(struct super_block, sb, s_magic);
	if (magic == MAGIC_BDEV)
		w->origin = w->device;
	else if (magic == MAGIC_BTRFS && kread(struct inode, inode, i_ino) == BTRFS_BTREE_INO)
		w->origin = WIRE_ORIGIN_METADATA;
	if (w->origin == WIRE_ORIGIN_FILE || w->origin == WIRE_ORIGIN_DEVICE)
		w->inode_number = inode_number(inode);
	return 0;
}

/* The size of a folio in bytes. */
static __always_inline __u64 folio_bytes(__u64 folio)
{
	__u64 head = 1ull << (bpf_core_enum_value(enum pageflags, PG_head) & 63), pages = 1;

	if (kread_ptr(folio) & head) { /* the flags: first member, and a struct since 6.17 */
		if (bpf_core_field_exists(struct folio, _nr_pages))
			pages = kread(struct folio, folio, _nr_pages);
		else if (bpf_core_field_exists(struct folio, _folio_nr_pages))
			pages = kread(struct folio, folio, _folio_nr_pages);
	}
	return pages << constants.page_shift;
}

/* The owner of a part of a file's folio: in write-back the writer, else the submitter. */
static __always_inline void part_owner(struct walk *w, struct wire_block_part *p, __u64 folio,
				       __u64 inode)
{
	if (w->writes && w->writers.shared) {
		p->owner = page_writer(w->writers.shared, p->pos);
		p->via = WIRE_VIA_RANGE;
	}
	if (w->writes && !p->owner) {
		p->owner = frame_owner(folio, inode);
		p->via = w->writers.seen ? WIRE_VIA_DIRTIED : WIRE_VIA_FIRST_WRITER;
	}
	if (p->owner)
		return;
	p->owner = w->owner;
	p->via = w->via;
	/* the kernel writes back pages that were dirtied before recording began */
	if (w->writes && w->via == WIRE_VIA_KERNEL && p->origin == WIRE_ORIGIN_FILE) {
		p->owner = 0;
		p->via = WIRE_VIA_UNKNOWN;
	}
}

/* bpf_loop: the part of a folio within one bio_vec. */
static long walk_step(__u32 i, struct walk_bio *b)
{
	struct walk *w = b->w;
	__u64 vec = w->vec, page, folio, mapping, inode, len, at, n, within;
	struct wire_block_part p = {};

	if (!w->left)
		return 1;
	len = kread(struct bio_vec, vec, bv_len);
	at = kread(struct bio_vec, vec, bv_offset) + w->done;
	page = knum(struct bio_vec, vec, bv_page) + (at >> constants.page_shift) * PAGE_STRUCT;
	at &= (1ull << constants.page_shift) - 1;
	folio = knum(struct page, page, compound_head);
	folio = folio & 1 ? folio - 1 : page;
	at += (page - folio) / PAGE_STRUCT << constants.page_shift;
	n = folio_bytes(folio) - at;
	mapping = knum(struct folio, folio, mapping);
	inode = mapping && !(mapping & MAPPING_FLAGS) ? knum(struct address_space, mapping, host)
						      : 0;
	if (inode && inode != w->inode)
		walk_file(w, inode);
	within = ((1ull << constants.page_shift) - 1) & at;
	if (inode && w->writers.shared && n > (1ull << constants.page_shift) - within)
		n = (1ull << constants.page_shift) - within;
	if (n > len - w->done)
		n = len - w->done;
	if (n > w->left)
		n = w->left;
	if (!n) /* impossible, but the loop would not end */
		return 1;
	w->left -= n;
	w->done += n;
	if (w->done >= len) {
		w->vec = vec + bpf_core_type_size(struct bio_vec);
		w->done = 0;
	}
	if (!inode) {
		w->other += n;
		return 0;
	}
	p.inode = w->inode_number;
	p.origin = w->origin;
	p.pos = ((__u64)kread(struct folio, folio, index) << constants.page_shift) + at;
	p.bytes = n;
	part_owner(w, &p, folio, inode);
	part_add(b->e, &p);
	return 0;
}

/* The original bio whose creator is known, and the bytes left in it from here on. */
static __always_inline void source_chain(struct bio_source *s)
{
	for (int i = 0; i < CHAIN_MAX && is_symbol(s->end, bio_chain_endio); i++) {
		s->bio = s->private;
		s->left += kread(struct bio, s->bio, bi_iter.bi_size);
		s->end = knum(struct bio, s->bio, bi_end_io);
		s->private = knum(struct bio, s->bio, bi_private);
	}
}

static __always_inline void source_iocb(struct bio_source *s, __u64 iocb)
{
	__u64 file = knum(struct kiocb, iocb, ki_filp), end = knum(struct kiocb, iocb, ki_complete);

	if (file)
		s->inode = knum(struct file, file, f_inode);
	if (is_symbol(end, lo_rw_aio_complete) && bpf_core_field_exists(struct loop_cmd, iocb))
		s->upper_rq = iocb - bpf_core_field_offset(struct loop_cmd, iocb) -
			      bpf_core_type_size(struct request);
}

static __always_inline void source_iomap(struct bio_source *s)
{
	__u64 d = s->private, iocb = knum(struct iomap_dio, d, iocb);

	s->direct = 1;
	source_iocb(s, iocb);
	s->pos = kread(struct kiocb, iocb, ki_pos) + kread(struct iomap_dio, d, size) - s->left;
	if (kread(struct iomap_dio, d, wait_for_completion))
		s->waiter = knum(struct iomap_dio, d, submit.waiter);
}

static __always_inline void source_btrfs(struct bio_source *s)
{
	__u64 b = s->bio - bpf_core_field_offset(struct btrfs_bio, bio), inode;

	inode = knum(struct btrfs_bio, b, inode);
	if (!inode)
		return;
	s->inode = inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode);
	s->pos = (__s64)knum(struct btrfs_bio, b, file_offset); /* may be in a module: see fs.h */
	if (is_symbol(knum(struct btrfs_bio, b, end_io), btrfs_dio_end_io))
		s->direct = 1;
}

/* The inode of a device opened as a file. */
static __always_inline __u64 device_inode(__u64 bdev)
{
	if (bpf_core_field_exists(struct block_device, bd_mapping))
		return knum(struct address_space, knum(struct block_device, bdev, bd_mapping),
			    host);
	return knum(struct block_device, bdev, bd_inode);
}

/* Direct I/O to a block device opened as a file. */
static __always_inline void source_device(struct bio_source *s, __u64 bio)
{
	__u64 bdev = knum(struct bio, bio, bi_bdev);

	s->inode = device_inode(bdev);
	s->pos = (kread(struct bio, bio, bi_iter.bi_sector) -
		  kread(struct block_device, bdev, bd_start_sect))
		 << SECTOR_SHIFT;
	s->direct = 1;
	s->origin = WIRE_ORIGIN_DEVICE;
}

/* The function that ends a bio identifies its creator. */
verified_alone int source_look(struct bio_source *s, __u64 bio)
{
	if (!s)
		return 0;
	s->bio = bio;
	s->end = knum(struct bio, bio, bi_end_io);
	s->private = knum(struct bio, bio, bi_private);
	s->left = kread(struct bio, bio, bi_iter.bi_size);
	source_chain(s);
	if (is_symbol(s->end, iomap_dio_bio_end_io))
		source_iomap(s);
	else if (is_symbol(s->end, blkdev_bio_end_io) || is_symbol(s->end, blkdev_bio_end_io_async))
		source_device(s, bio);
	else if (is_symbol(s->end, end_swap_bio_read) || is_symbol(s->end, end_swap_bio_write))
		s->origin = WIRE_ORIGIN_SWAP;
	else if (is_symbol(s->end, xlog_bio_end_io))
		s->origin = WIRE_ORIGIN_JOURNAL;
	else if (is_symbol(s->end, xfs_buf_bio_end_io) || is_symbol(s->end, btrfs_end_super_write))
		s->origin = WIRE_ORIGIN_METADATA;
	else if (bpf_core_field_exists(struct btrfs_bio, inode) &&
		 (is_symbol(s->end, btrfs_simple_end_io) ||
		  is_symbol(s->end, btrfs_orig_write_end_io)))
		source_btrfs(s);
	return 0;
}
