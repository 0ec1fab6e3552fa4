/* SPDX-License-Identifier: Apache-2.0 */
/* wire_content.h: what the content object sends about the bytes that a call moved; see bpf/content.bpf.c. */
#pragma once

#include "schema/wire.h"

#define CONTENT_ROOMS	    4	/* per CPU: programs nest when they are preempted */
#define WIRE_CONTENT_PIECES 256 /* hashes per record: 2 KiB, for a megabyte */
#define WIRE_CONTENT_NAMES  64	/* messages of a call whose address is recorded */

enum wire_content_form {
	WIRE_CONTENT_PIECE,   /* hashes of pieces of the file or stream, some of them partial */
	WIRE_CONTENT_BUFFER,  /* of pieces counted from the beginning of the call's bytes */
	WIRE_CONTENT_PAYLOAD, /* the bytes themselves, at most one piece */
	WIRE_CONTENT_ADDRESS, /* no bytes of the call, but the address of the messages that follow */
};

enum wire_content_flag {
	WIRE_CONTENT_OUT = 1 << 0,	 /* data goes from the program to the file */
	WIRE_CONTENT_CONTESTED = 1 << 1, /* the position may belong to another call */
	WIRE_CONTENT_SECOND = 1 << 2,	 /* about the call's second file */
	WIRE_CONTENT_COUNTS = 1 << 3,	 /* only this record counts the outcome of these bytes */
	WIRE_CONTENT_JOINED =
		1 << 4, /* `joined` is valid: all of the call's bytes are in one piece */
	WIRE_CONTENT_MORE = 1 << 5, /* the next record of this form continues it */
	WIRE_CONTENT_REQUEST =
		1
		<< 6, /* of an io_uring or libaio request, or a page fault: nr is kind << 8 | opcode, call is 0 */
	WIRE_CONTENT_ADDRESSED = 1 << 7, /* the message has the address sent last for the call */
};

enum wire_content_outcome {
	WIRE_CONTENT_HANDLED,
	WIRE_CONTENT_ABSENT,	/* could not be read */
	WIRE_CONTENT_DISCARDED, /* excluded by sampling */
};

/*
 * Bytes of a call; precedes the record of the call in the same ring; `pieces` hashes follow, or the payload or address,
 * padded to 8. Hashes are sums over whole blocks of eight words, in which words outside the call's bytes, or split, are 0; the
 * words' mix(key) is not subtracted (content_hash.h).
 */
struct wire_content {
	struct wire_head head; /* time: the end of the call */
	__u64 start;	       /* of the call */
	__u64 file, other;     /* other: the second file of a call with two; 0: none */
	__s64 pos;	       /* of the first byte; WIRE_NONE: unknown */
	__u64 at;	       /* offset in the call's bytes */
	__u64 bytes;	       /* number of bytes described */
	__u32 thread, call;
	__u16 nr;
	__u8 form, flags, outcome;
	__u8 head_len,
		tail_len; /* bytes of the words split by the beginning and the end of the call */
	__u8 pad;
	__u16 pieces;
	__u16 pad2[3];
	__u8 cut_head[8], cut_tail[8];
	__u64 joined; /* the hash of a record of form BUFFER with one piece, which is then not sent */
};
_Static_assert(sizeof(struct wire_content) == 112, "struct wire_content");

enum wire_content_mode {
	WIRE_CONTENT_NONE,
	WIRE_CONTENT_HASH,
	WIRE_CONTENT_BYTES,
	WIRE_CONTENT_CHUNKS, /* also payload, which the recorder divides into chunks */
};

/* What of the content is recorded; set before loading. */
struct wire_content_how {
	__u32 mode;  /* 1 of this many pieces is sampled; a power of two */
	__u32 parts; /* bytes of payload per call */
	__u64 limit; /* payload of one call, in bytes */
};

/* Where a call's bytes are: by call number. */
struct wire_content_plan {
	__u8 how; /* enum wire_content_source */
	__u8 arg;
	__u8 count; /* argument with the length of a vector */
	__u8 out;   /* 1: data goes from the program to the file */
};

enum wire_content_source {
	WIRE_CONTENT_OF_NOTHING, /* it moves none, or weir cannot see them */
	WIRE_CONTENT_OF_BUFFER,
	WIRE_CONTENT_OF_VECTOR,
	WIRE_CONTENT_OF_MESSAGE,
	WIRE_CONTENT_OF_MESSAGES,
	WIRE_CONTENT_OF_SYSV, /* struct msgbuf, whose bytes follow a number */
	WIRE_CONTENT_OF_FILES,
};

/* Where the kernel's array of struct page and its direct map are (bpf/lib/content/content_cache.h). */
struct wire_content_tables {
	__u64 pages, memory; /* struct page of the first frame, and its address; 0: unknown */
	__u64 probed[2];     /* the same from the kernel's variables; 0: not listed */
	__u64 word;	     /* the first word of the probe's file */
	__u32 read;	     /* 1: it could be read */
	__u32 probe_fd;	     /* a descriptor of the recorder */
};
