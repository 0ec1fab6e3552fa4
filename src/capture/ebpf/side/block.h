/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block.h: turns records of block requests (schema/wire_block.h) into rows of block and block_part, and of files and
 * threads that no recorded call referred to.
 */
#pragma once

#include <bpf/libbpf.h>

#include "base/map.h"
#include "base/records.h"
#include "batch/batch.h"
#include "schema/wire_block.h"

struct decode;
struct decode_limits;
struct ebpf_options;
struct objects;
struct block;

int block_new(struct block **ret, const struct decode_limits *limits) _must_check_;
void block_free(struct block *b);
/* Sets up the object before it is loaded: the array of page frames. 0 or negative. */
int block_prepare(struct bpf_object *bpf, const struct ebpf_options *opt);
/* Sets the addresses by which the loaded object tells who created a bio; without them its origin is unknown. */
void block_find_symbols(const struct objects *o);

/* A version of a file was sent: decode_inode_hash() of its inode, and its number. 0 or -ENOMEM. */
int block_file(struct block *b, uint64_t hash, uint64_t file) _must_check_;

/* Decode records: 0, -EBADMSG or -ENOMEM. */
int block_decode(struct decode *d, const struct wire_head *h, struct batch_set *out);
int block_decode_more(struct decode *d, const struct wire_head *h, struct batch_set *out);
int block_decode_inode(struct decode *d, const struct wire_head *h, struct batch_set *out);
int block_decode_owner(struct decode *d, const struct wire_head *h, struct batch_set *out);
/* Adds rows for requests still in flight at the end of recording: those in the map `bios`. */
int block_rest(struct decode *d, int bios_fd, struct batch_set *out);

/* ---- block_names.c ---- */

#define OWNER_IS_KERNEL (1ull << 32)

/* A part in the form of its row. */
struct block_part {
	int64_t file, thread; /* keys; -1: none */
	uint64_t pos, bytes;
	uint8_t via, origin;
};

struct block {
	struct records inodes; /* by number: struct wire_block_inode with its names */
	struct recent own;     /* numbers of inodes that have a row of their own */
	struct recent latest;  /* decode_inode_hash() -> file number of its last version */
	struct records owners; /* by number: uint64_t, key of a thread, | OWNER_IS_KERNEL */
	struct map more;       /* request -> struct block_list of its parts sent separately */
	struct map disks;      /* dev -> id in disk_names */
	struct intern disk_names;
};

/* The key of the file of an inode; adds a row if it has none. -1: not a file. */
int block_file_key(struct decode *d, uint32_t inode, uint64_t time, struct batch_set *out,
		   int64_t *ret);
/* The name of a disk; valid until the next call. */
int block_disk(struct block *b, uint32_t dev, struct bytes *ret);
