/* SPDX-License-Identifier: Apache-2.0 */
/* wire_content.h: what the object of content sends of the bytes that a call moved; see bpf/content.bpf.c. */
#pragma once

#include "schema/wire.h"

#define CONTENT_ROOMS	    4	/* per CPU: programs nest when they are preempted */
#define WIRE_CONTENT_PIECES 256 /* hashes of one record: 2 KiB, of a megabyte */

enum wire_content_form {
	WIRE_CONTENT_PIECE,   /* hashes of pieces of the file or stream, parts among them */
	WIRE_CONTENT_BUFFER,  /* of pieces from the beginning of the call's bytes */
	WIRE_CONTENT_PAYLOAD, /* the bytes themselves, at most one piece */
};

enum wire_content_flag {
	WIRE_CONTENT_OUT = 1 << 0,	 /* from the program to the file */
	WIRE_CONTENT_CONTESTED = 1 << 1, /* the position may be another call's */
	WIRE_CONTENT_SECOND = 1 << 2,	 /* of the call's second file */
	WIRE_CONTENT_COUNTS = 1 << 3,	 /* no other record says what became of these bytes */
	WIRE_CONTENT_JOINED =
		1 << 4, /* `joined` is there: all of the call's bytes lie in one piece */
	WIRE_CONTENT_MORE = 1 << 5, /* the next record of this form goes on */
	WIRE_CONTENT_REQUEST =
		1
		<< 6, /* of a request of io_uring or libaio: `nr` is its kind << 8 | opcode, `call` is 0 */
};

enum wire_content_outcome {
	WIRE_CONTENT_HANDLED,
	WIRE_CONTENT_ABSENT,	/* could not be read */
	WIRE_CONTENT_DISCARDED, /* left out by sampling */
};

/*
 * Bytes of a call, before the record of the call in the same ring; `pieces` hashes follow, or the payload, padded to 8. Hashes are
 * sums over whole blocks of eight words, in which words that are not the call's, or cut, are 0; the constant of the words is
 * not taken off (content_hash.h).
 */
struct wire_content {
	struct wire_head head; /* time: the end of the call */
	__u64 start;	       /* of the call */
	__u64 file, other;     /* other: of a call with two files the second one; 0: none */
	__s64 pos;	       /* of the first byte; WIRE_NONE: not known */
	__u64 at;	       /* where in the call's bytes it is */
	__u64 bytes;	       /* that are covered */
	__u32 thread, call;
	__u16 nr;
	__u8 form, flags, outcome;
	__u8 head_len,
		tail_len; /* of the words that are cut, by the beginning and the end of the call */
	__u8 pad;
	__u16 pieces;
	__u16 pad2[3];
	__u8 cut_head[8], cut_tail[8];
	__u64 joined; /* the hash of a record of form BUFFER with one piece, which then need not be sent */
};
_Static_assert(sizeof(struct wire_content) == 112, "struct wire_content");

enum wire_content_mode {
	WIRE_CONTENT_NONE,
	WIRE_CONTENT_HASH,
	WIRE_CONTENT_BYTES,
	WIRE_CONTENT_CHUNKS, /* payload too, of which the recorder makes cuts */
};

/* What of the content is recorded; set before loading. */
struct wire_content_how {
	__u32 mode;  /* enum wire_content_mode */
	__u32 parts; /* one piece of so many; a power of two */
	__u64 limit; /* payload of one call, in bytes */
};

/* Where a call has its bytes: by number of the call. */
struct wire_content_plan {
	__u8 how; /* enum wire_content_source */
	__u8 arg;
	__u8 count; /* argument with the number of elements of a vector */
	__u8 out;   /* 1: from the program to the file */
};

enum wire_content_source {
	WIRE_CONTENT_OF_NOTHING, /* the call moves none, or weir cannot see them */
	WIRE_CONTENT_OF_BUFFER,
	WIRE_CONTENT_OF_VECTOR,
	WIRE_CONTENT_OF_MESSAGE,
	WIRE_CONTENT_OF_MESSAGES,
	WIRE_CONTENT_OF_SYSV, /* struct msgbuf, whose bytes are behind a number */
	WIRE_CONTENT_OF_FILES,
};

/* Where the kernel has its tables of pages (bpf/lib/content/content_cache.h). */
struct wire_content_tables {
	__u64 pages, memory; /* struct page of the first frame, and its address; 0: not known */
	__u64 probed[2];     /* the same from the kernel's variables; 0: they are not listed */
	__u64 word;	     /* the first of the probe's file, */
	__u32 read;	     /* 1: which could be read */
	__u32 probe_fd;	     /* of the recorder */
};
