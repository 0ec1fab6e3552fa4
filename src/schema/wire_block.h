/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_block.h: records of requests to block devices, in the side ring (src/bpf/block.bpf.c). Times are in ns of the
 * kernel's monotonic clock, 0: did not happen, or was not seen.
 *
 * A request is one record, sent when it completes, with a part for each file and owner. Parts that do not fit precede
 * it in records of their own. Files and owners are identified by numbers of this recording, whose records precede the
 * first part that refers to them.
 */
#pragma once

#include "schema/wire.h"

#define WIRE_BLOCK_PARTS 4    /* in the record of a request */
#define WIRE_BLOCK_NAMES 4096 /* bytes of a file's names */
#define WIRE_OWNER_THREADS \
	(1u                \
	 << 31) /* numbers of threads seen only as owners, distinct from those of struct wire_op */

/* What the programs are given before they are loaded: the section .rodata.block. */
struct wire_block_constants {
	__u32 frame_mask; /* of the page frame array; 0: there is none */
	__u32 page_shift;
};

/* How the owner of a part is known: codes of the vocabulary `via`. */
enum wire_block_via {
	WIRE_VIA_UNKNOWN,
	WIRE_VIA_CURRENT,      /* it submitted the request */
	WIRE_VIA_DIRTIED,      /* it dirtied the pages that were written back */
	WIRE_VIA_WAITER,       /* it waits for direct I/O that another thread submitted */
	WIRE_VIA_UPPER,	       /* from the request to the device above */
	WIRE_VIA_RANGE,	       /* its write calls cover the range */
	WIRE_VIA_FIRST_WRITER, /* it dirtied the folio; others may have written to it later */
	WIRE_VIA_KERNEL,       /* a kernel thread, not known to act for anyone */
	WIRE_VIA_FLUSH,	       /* the last one that requested a cache flush of the device */
};

/* What a part is: codes of the vocabulary `origin`. */
enum wire_block_origin {
	WIRE_ORIGIN_UNKNOWN,
	WIRE_ORIGIN_FILE,     /* a file's content */
	WIRE_ORIGIN_DEVICE,   /* the content of a block device that was opened as a file */
	WIRE_ORIGIN_METADATA, /* of the file system */
	WIRE_ORIGIN_JOURNAL,
	WIRE_ORIGIN_SWAP,
	WIRE_ORIGIN_DISCARD,
	WIRE_ORIGIN_FLUSH,    /* of the device's cache */
	WIRE_ORIGIN_PREFLUSH, /* no data: a write without data that waits for such a flush */
};

struct wire_block_part {
	__u64 pos;   /* of the first byte, in the file or device */
	__u32 inode; /* 0: none */
	__u32 owner; /* 0: unknown */
	__u32 bytes;
	__u8 via;    /* enum wire_block_via */
	__u8 origin; /* enum wire_block_origin */
	__u16 pad;
};
_Static_assert(sizeof(struct wire_block_part) == 24, "parts keep 8-byte order");

enum wire_block_flag {
	WIRE_BLOCK_BIO = 1 << 0,       /* a bio of a device without requests */
	WIRE_BLOCK_BEFORE = 1 << 1,    /* in flight when recording began: nothing else is known */
	WIRE_BLOCK_UNCOUNTED = 1 << 2, /* missing in the device's statistics */
	WIRE_BLOCK_OF_KERNEL = 1 << 3, /* submitted by a kernel thread */
	WIRE_BLOCK_SPILLED = 1 << 4,   /* WIRE_BLOCK_MORE records precede it */
	WIRE_BLOCK_MOVED = 1 << 5,     /* the request to the device above uses the same bio */
};

/* A request; struct wire_block_part[parts] follow. Its end is head.time. */
struct wire_block {
	struct wire_head head;
	__u64 id;    /* counts from 1; merged bios have one, too */
	__u64 upper; /* id of the request to the device above; 0: none */
	__u64 queued, got, inserted,
		issued; /* when the bio was queued, the request allocated, passed to the scheduler, passed to the driver */
	__u64 sector;	 /* on the whole disk */
	__u64 op_start;	 /* with op_thread: the call that submitted it; 0: none */
	__u32 op_thread; /* a version of a thread */
	__u32 dev;	 /* of the whole disk, the kernel's dev_t */
	__u32 bytes;	 /* completed */
	__u32 size;	 /* of the first bio when it was queued */
	__u32 opf;	 /* REQ_OP_ and REQ_ flags of the kernel */
	__u16 bios;	 /* merged ones included */
	__u16 requeues;
	__u8 error; /* blk_status_t */
	__u8 parts;
	__u8 flags; /* enum wire_block_flag */
	__u8 pad[5];
};
_Static_assert(sizeof(struct wire_block) == 112, "struct wire_block");

/* A request in flight: the value of the map `bios`. */
struct wire_block_state {
	struct wire_block b;
	struct wire_block_part parts[WIRE_BLOCK_PARTS];
};

/* A part that did not fit into its request's record. */
struct wire_block_more {
	struct wire_head head;
	__u64 id;
	__u64 of; /* nonzero: no part, but what was sent for `id` belongs to the request `of`, which took its bio */
	struct wire_block_part part;
};

/* A file, sent with the first request for it. The components of its path in the file system follow, the last one first,
 * each with a NUL. */
struct wire_block_inode {
	struct wire_head head;
	__u64 ino;
	__u64 file; /* number of the struct wire_file known to have this content (overlayfs); 0: none */
	__u64 size;
	__u32 inode; /* its number, from 1 */
	__u32 dev;   /* as in struct wire_file */
	__u32 generation;
	__u32 mode;
	__u32 fs_dev;
	__u32 rdev;  /* of a block device */
	__u32 flags; /* enum wire_file_flag */
	__u32 names_len;
	char fs[16];
};
_Static_assert(sizeof(struct wire_block_inode) == 88, "struct wire_block_inode");

/* An owner of requests. `thread.thread` is the recorded version, or WIRE_OWNER_THREADS | owner if it is not recorded. */
struct wire_block_owner {
	struct wire_thread thread;
	__u32 owner; /* from 1 */
	__u32 pad;
};
