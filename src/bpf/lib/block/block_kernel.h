/* SPDX-License-Identifier: GPL-2.0-only */
/* block_kernel.h: the kernel structures that block.bpf.c reads, declared as in kernel.h. */
#pragma once

#include "bpf/lib/file/fs.h"

#define REQ_OP_MASK	    0xff
#define REQ_OP_FLUSH	    2
#define REQ_OP_DISCARD	    3
#define REQ_OP_SECURE_ERASE 5
#define REQ_OP_DRV_IN	    34
#define REQ_FUA		    (1u << 17)
#define REQ_PREFLUSH	    (1u << 18)
#define MAGIC_BDEV	    0x62646576
#define BTRFS_BTREE_INO	    1
#define PAGE_STRUCT	    64 /* sizeof(struct page) on all 64-bit machines */
#define MAPPING_FLAGS	    3  /* in page.mapping: not a file's page */
#define SECTOR_SHIFT	    9

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size, bi_idx, bi_bvec_done;
};

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len, bv_offset;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_end_io;
	void *bi_private;
	struct bio_vec *bi_io_vec;
};

struct block_device_operations {
	void *submit_bio;
};

struct gendisk {
	struct block_device *part0;
	const struct block_device_operations *fops;
};

struct block_device {
	__u64 bd_start_sect;
	struct gendisk *bd_disk;
	__u32 bd_dev;
	void *bd_holder;
	struct address_space *bd_mapping; /* since 6.10 */
	struct inode *bd_inode;		  /* before */
};

struct request_queue {
	struct gendisk *disk;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags, rq_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio, *biotail;
	__u64 start_time_ns;
};

/* Bits of rq_flags since 6.11; before they were no enum. */
enum rqf_flags {
	__RQF_FLUSH_SEQ = 1,
	__RQF_IO_STAT = 8,
};

struct address_space {
	struct inode *host;
};

struct page {
	unsigned long compound_head;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	unsigned int _nr_pages;	      /* since 6.15 */
	unsigned int _folio_nr_pages; /* before */
};

enum pageflags {
	PG_head = 6,
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct inode___names {
	struct hlist_head i_dentry;
	unsigned int i_rdev;
};

union dentry_alias {
	struct hlist_node d_alias;
};

struct dentry___names {
	union dentry_alias d_u;
};

struct kiocb {
	struct file *ki_filp;
	long long ki_pos;
	void *ki_complete;
};

struct iov_iter {
	unsigned long count;
};

struct dio_submit {
	struct task_struct *waiter;
};

struct iomap_dio {
	struct kiocb *iocb;
	unsigned long size;
	bool wait_for_completion;
	struct dio_submit submit;
};

struct blkdev_dio {
	struct kiocb *iocb;
	struct bio bio;
};

struct loop_cmd {
	struct kiocb iocb;
};

struct btrfs_bio { /* inode and file_offset: since 6.3 */
	struct btrfs_inode *inode;
	__u64 file_offset;
	void *end_io;
	struct bio bio;
};

struct task_struct___block {
	void *bio_list;
};

#pragma clang attribute pop

/* The functions that end bios identify their origin. 0 if the kernel has none, or its module is not loaded. */
#define SYMBOLS(x)                                                                                 \
	x(bio_chain_endio) x(iomap_dio_bio_end_io) x(blkdev_bio_end_io) x(blkdev_bio_end_io_async) \
		x(submit_bio_wait_endio) x(end_swap_bio_read) x(end_swap_bio_write)                \
			x(xlog_bio_end_io) x(xfs_buf_bio_end_io) x(btrfs_simple_end_io)            \
				x(btrfs_orig_write_end_io) x(btrfs_dio_end_io)                     \
					x(btrfs_end_super_write) x(lo_rw_aio_complete)
#define SYMBOL_FIELD(name) __u64 name;

struct {
	SYMBOLS(SYMBOL_FIELD)
} symbols SEC(".data.symbols"); /* set by weir_block_symbols */

#define is_symbol(at, symbol) ((at) && (at) == symbols.symbol)

/* Whether this is a step of a request with a flush before or after it: its own end comes later. */
static __always_inline bool rq_in_flush(__u32 rq_flags)
{
	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		return rq_flags & 1u << bpf_core_enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
	return rq_flags & 1u << 4;
}

/* Whether the statistics of its device include it. */
static __always_inline bool rq_is_counted(__u32 rq_flags)
{
	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_IO_STAT))
		return rq_flags & 1u << bpf_core_enum_value(enum rqf_flags, __RQF_IO_STAT);
	return rq_flags & 1u << 13;
}

static __always_inline __u32 disk_dev(struct gendisk *disk)
{
	struct block_device *whole = kread(struct gendisk, disk, part0);

	return whole ? kread(struct block_device, whole, bd_dev) : 0;
}

static __always_inline bool op_is_discard(__u32 opf)
{
	__u32 op = opf & REQ_OP_MASK;

	return op == REQ_OP_DISCARD || op == REQ_OP_SECURE_ERASE;
}

static __always_inline __u64 disk_of(__u64 bio)
{
	__u64 bdev = knum(struct bio, bio, bi_bdev);

	return bdev ? knum(struct block_device, bdev, bd_disk) : 0;
}
