/* SPDX-License-Identifier: Apache-2.0 */
/* wire_memory.h: where the bytes of a request of io_uring or libaio are; see bpf/lib/content/content_request.h. */
#pragma once

#include <linux/types.h>

/* What is known of where the bytes are that a request moves (record --content). */
enum wire_memory_state {
	WIRE_MEMORY_UNSEEN, /* nothing */
	WIRE_MEMORY_BUFFER, /* `at` is the first byte */
	WIRE_MEMORY_VECTOR, /* `at` is a struct iovec[], */
	WIRE_MEMORY_MESSAGE, /* or a struct msghdr, which the program may change once the request is submitted */
	WIRE_MEMORY_SAVED, /* a copy of the vector was made */
	WIRE_MEMORY_GIVEN, /* in one of the buffers that the program provided: the kernel says in which when it has chosen */
	/* The bytes are not read, as */
	WIRE_MEMORY_LONG, /* the vector has too many parts to copy, or no memory is left for the copy */
	WIRE_MEMORY_CHOSEN, /* the kernel chose among such buffers, and which is not to be seen: several, or with a header */
	WIRE_MEMORY_FOREIGN, /* the request ended where the program's memory is not to be seen */
	WIRE_MEMORY_TAKEN,   /* They were read: what no record has found no room in the ring. */
};

struct wire_memory {
	__u64 at, count; /* count: of the elements of a vector */
	__u64 mm;	 /* the kernel's description of the memory */
	__u64 sample;	 /* inode number of the file; 0: not known */
	__u64 tcp;	 /* the file where it is a socket of TCP, else 0, */
	__u32 in, out;	 /* and its sequence numbers when the request was submitted */
	__u64 hashed;	 /* as in struct wire_request */
};
