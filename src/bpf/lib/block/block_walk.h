/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * block_walk.h: what a bio is made of: every page of it, folio by folio, with its file, its place there and its owner. Of
 * direct I/O the pages are the program's memory, which may be mapped from another file: what ends the bio says so.
 */
#pragma once

#include "bpf/lib/block/block_inode.h"
#include "bpf/lib/block/block_writers.h"

#define WALK_SLOTS 4
#define CHAIN_MAX  4	 /* parents of a piece of a bio */
#define WALK_MAX   65536 /* folios of a bio, or pages of them */

/* What makes up a bio, beside its pages. */
struct bio_source {
	__u64 bio; /* that its maker submitted: of a piece of it another one */
	__u64 end, private;
	__u64 left;	/* bytes of it from the piece's first on */
	__u64 inode;	/* known without the pages; 0 */
	__u64 pos;	/* there */
	__u64 upper_rq; /* the request of a loop device that this is for; 0 */
	__u64 waiter;	/* task that waits for it; 0 */
	__u32 direct;	/* the pages are no file's, whatever they say */
	__u32 origin;	/* of all of it, enum wire_block_origin; 0: the pages say it */
};

/* In a map: what the verifier reads from one is unknown to it, which a loop needs. */
struct walk {
	__u64 vec, done; /* where it stands, and within it */
	__u64 left;
	__u64 inode;		    /* of the folio before */
	__u32 inode_number, origin; /* of it */
	__u32 owner, via;	    /* where no frame says it */
	__u32 writes;		    /* pages are written back: frames say it */
	__u32 other;		    /* bytes of pages that are no file's */
	__u32 device; /* what the pages of the device itself are, enum wire_block_origin */
	__u32 busy;
	struct writers writers; /* of the folio's file */
};

/* Several for each CPU: since Linux 6.16 a program may be preempted by another one. */
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

/* Sends a part that finds no place in its request. */
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

/* Adds a part, to one of the same file and owner where there is one. */
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

/* Another file than that of the folio before. */
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

/* Of a folio: how many bytes it has. */
static __always_inline __u64 folio_bytes(__u64 folio)
{
	__u64 head = 1ull << (bpf_core_enum_value(enum pageflags, PG_head) & 63), pages = 1;

	if (kread_ptr(folio) & head) { /* the flags: first of all, and a struct since 6.17 */
		if (bpf_core_field_exists(struct folio, _nr_pages))
			pages = kread(struct folio, folio, _nr_pages);
		else if (bpf_core_field_exists(struct folio, _folio_nr_pages))
			pages = kread(struct folio, folio, _folio_nr_pages);
	}
	return pages << constants.page_shift;
}

/* Whose a part of a folio of a file is: of what is written back who wrote it, else who submits it. */
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
	/* the kernel writes back what was made dirty before recording began */
	if (w->writes && w->via == WIRE_VIA_KERNEL && p->origin == WIRE_ORIGIN_FILE) {
		p->owner = 0;
		p->via = WIRE_VIA_UNKNOWN;
	}
}

/* bpf_loop: a folio, as far as it is in one bio_vec. */
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
	if (!n) /* cannot be: it would not end */
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

/* The bio whose maker is known, and how much of it there is from here on. */
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
	s->pos = (__s64)knum(struct btrfs_bio, b, file_offset); /* maybe of a module: fs.h */
	if (is_symbol(knum(struct btrfs_bio, b, end_io), btrfs_dio_end_io))
		s->direct = 1;
}

/* The inode of a device that is open as a file. */
static __always_inline __u64 device_inode(__u64 bdev)
{
	if (bpf_core_field_exists(struct block_device, bd_mapping))
		return knum(struct address_space, knum(struct block_device, bdev, bd_mapping),
			    host);
	return knum(struct block_device, bdev, bd_inode);
}

/* Direct I/O to a block device that is opened as a file. */
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

/* What ends a bio says what made it. */
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
