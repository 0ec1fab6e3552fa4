/* SPDX-License-Identifier: Apache-2.0 */
/* wire_memory.h: where the bytes of an io_uring or libaio request are; see bpf/lib/content/content_request.h. */
#pragma once

#include <linux/types.h>

/* What is known about the location of the bytes that a request moves (record --content). */
enum wire_memory_state {
	WIRE_MEMORY_UNSEEN,  /* nothing */
	WIRE_MEMORY_BUFFER,  /* `at` is the first byte */
	WIRE_MEMORY_VECTOR,  /* `at` is a struct iovec[], */
	WIRE_MEMORY_MESSAGE, /* or a struct msghdr, which the program may change after submission */
	WIRE_MEMORY_SAVED,   /* the vector was copied */
	WIRE_MEMORY_GIVEN, /* in a buffer that the program provided: known once the kernel has chosen one */
	/* The bytes are not read, because */
	WIRE_MEMORY_LONG, /* the vector has too many parts to copy, or there is no memory for the copy */
	WIRE_MEMORY_CHOSEN, /* the kernel's choice of provided buffers is not visible: several, or with a header */
	WIRE_MEMORY_FOREIGN, /* the request ended in a context without access to the program's memory */
	WIRE_MEMORY_TAKEN, /* They were read: bytes without a record found no room in the ring. */
};

struct wire_memory {
	__u64 at, count; /* count: elements of a vector */
	__u64 mm;	 /* the kernel's description of the memory */
	__u64 sample;	 /* inode number of the file; 0: unknown */
	__u64 tcp;	 /* the file if it is a TCP socket, else 0, */
	__u32 in, out;	 /* and its sequence numbers when the request was submitted */
	__u64 hashed;	 /* as in struct wire_request */
};
