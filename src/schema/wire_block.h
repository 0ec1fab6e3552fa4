/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_block.h: records of requests to block devices, in the side ring (src/bpf/block.bpf.c). Times are of the kernel's
 * monotonic clock in ns, 0: did not happen, or was not seen.
 *
 * A request is one record, sent when it completes, with what it is made of: a part for each file and owner. Parts that find
 * no place there come before it in records of their own. Files and owners are named by numbers of this recording, whose
 * records come before the first part that has them.
 */
#pragma once

#include "schema/wire.h"

#define WIRE_BLOCK_PARTS 4    /* in the record of a request */
#define WIRE_BLOCK_NAMES 4096 /* bytes of a file's names */
#define WIRE_OWNER_THREADS \
	(1u                \
	 << 31) /* numbers of threads that were met as owners alone, beside those of struct wire_op */

/* What the programs are given before they are loaded: the section .rodata.block. */
struct wire_block_constants {
	__u32 frame_mask; /* of the array of page frames; 0: there is none */
	__u32 page_shift;
};

/* How the owner of a part is known: codes of the vocabulary `via`. */
enum wire_block_via {
	WIRE_VIA_UNKNOWN,
	WIRE_VIA_CURRENT,      /* it submitted the request */
	WIRE_VIA_DIRTIED,      /* it made the pages dirty that were written back */
	WIRE_VIA_WAITER,       /* it waits for the direct I/O that another thread submitted */
	WIRE_VIA_UPPER,	       /* of the request to the device above */
	WIRE_VIA_RANGE,	       /* its write calls cover the range */
	WIRE_VIA_FIRST_WRITER, /* it made the folio dirty; others may have written into it later */
	WIRE_VIA_KERNEL,       /* a thread of the kernel, on behalf of nobody that is known */
	WIRE_VIA_FLUSH,	       /* the last one that requested a flush of the device's cache */
};

/* What a part is: codes of the vocabulary `origin`. */
enum wire_block_origin {
	WIRE_ORIGIN_UNKNOWN,
	WIRE_ORIGIN_FILE,     /* a file's content */
	WIRE_ORIGIN_DEVICE,   /* the content of a block device that was opened as a file */
	WIRE_ORIGIN_METADATA, /* of a file system */
	WIRE_ORIGIN_JOURNAL,
	WIRE_ORIGIN_SWAP,
	WIRE_ORIGIN_DISCARD,
	WIRE_ORIGIN_FLUSH,    /* of the device's cache */
	WIRE_ORIGIN_PREFLUSH, /* nothing: a write without data, which waits for such a flush */
};

struct wire_block_part {
	__u64 pos;   /* in the file or device, of the first byte */
	__u32 inode; /* 0: none */
	__u32 owner; /* 0: not known */
	__u32 bytes;
	__u8 via;    /* enum wire_block_via */
	__u8 origin; /* enum wire_block_origin */
	__u16 pad;
};
_Static_assert(sizeof(struct wire_block_part) == 24, "parts keep 8-byte order");

enum wire_block_flag {
	WIRE_BLOCK_BIO = 1 << 0, /* of a device without requests: a bio */
	WIRE_BLOCK_BEFORE =
		1 << 1, /* it was under way when recording began: nothing else is known */
	WIRE_BLOCK_UNCOUNTED = 1 << 2, /* the device's statistics leave it out */
	WIRE_BLOCK_OF_KERNEL = 1 << 3, /* a thread of the kernel submitted it */
	WIRE_BLOCK_SPILLED = 1 << 4,   /* it has records of type WIRE_BLOCK_MORE */
	WIRE_BLOCK_MOVED = 1 << 5,     /* its bio is also that of the request to the device above */
};

/* A request; struct wire_block_part[parts] follow. Its end is head.time. */
struct wire_block {
	struct wire_head head;
	__u64 id;    /* counts from 1; bios that were merged have one, too */
	__u64 upper; /* id of the request to the device above; 0: none */
	__u64 queued, got, inserted,
		issued; /* bio queued, request taken, given to the scheduler, given to the driver */
	__u64 sector;	/* on the whole disk */
	__u64 op_start; /* with op_thread: the call in which it was submitted; 0: none */
	__u32 op_thread; /* a version of a thread */
	__u32 dev;	 /* of the whole disk, the kernel's dev_t */
	__u32 bytes;	 /* completed */
	__u32 size;	 /* of the first bio as it was queued */
	__u32 opf;	 /* REQ_OP_ and REQ_ flags of the kernel */
	__u16 bios;	 /* merged ones included */
	__u16 requeues;
	__u8 error; /* blk_status_t */
	__u8 parts;
	__u8 flags; /* enum wire_block_flag */
	__u8 pad[5];
};
_Static_assert(sizeof(struct wire_block) == 112, "struct wire_block");

/* While it is under way: the value of the map `bios`. */
struct wire_block_state {
	struct wire_block b;
	struct wire_block_part parts[WIRE_BLOCK_PARTS];
};

/* A part that found no place in its request's record. */
struct wire_block_more {
	struct wire_head head;
	__u64 id;
	__u64 of; /* != 0: no part; what was sent for `id` is of the request `of`, which took its bio */
	struct wire_block_part part;
};

/* A file, when a request for it is met first. The names of its path in the file system follow, the last first, each with a NUL. */
struct wire_block_inode {
	struct wire_head head;
	__u64 ino;
	__u64 file; /* struct wire_file.file that is known to have this content (of overlayfs); 0: none */
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

/* Who is behind requests. `thread.thread` is the recorded version, or WIRE_OWNER_THREADS | owner where it is not recorded. */
struct wire_block_owner {
	struct wire_thread thread;
	__u32 owner; /* from 1 */
	__u32 pad;
};
