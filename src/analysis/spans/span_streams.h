/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_streams.h: pipes, sockets and eventfds as streams of bytes from writers to readers, and children by their pids: what
 * span_joins.c looks calls up in. A stream is named by the end that reads it: a socket by its addresses or, of unix sockets, by
 * its inode; its writer by those of its peer. All eventfds have one inode: they are told apart by process and descriptor.
 */
#pragma once

#include "analysis/spans/spans.h"
#include "base/map.h"

#define STREAM_UNREAD_MAX 1024 /* writes that are not read yet, kept of a stream */

struct span_written {
	int64_t start, stop;
	uint32_t task, bytes;
};
struct span_stream {
	struct span_written *unread; /* the oldest first, from unread[first] on */
	size_t cap;
	uint32_t first, count;
	bool read;    /* there is a call that reads it */
	bool lost;    /* more were unread than are kept: nothing is known until it is empty */
	bool counter; /* an eventfd: a read takes all */
	bool message; /* a read takes one */
	/* of the end that reads: who wrote there last, and in which epoch of its own */
	uint32_t asked /* task + 1 */, epoch;
};

struct span_streams {
	const struct dims *dims;
	struct span_stream *all;
	size_t count, cap;
	struct map by_name; /* hash of what it is called -> stream */
	struct map by_file; /* version of a file -> 1 + struct stream_names */
	struct stream_names {
		uint64_t read, written; /* hashes; 0: not a stream, or its peer is not known */
		bool counter, message;
	} *names;
	size_t name_count, name_cap;
	struct span_child {
		int64_t pid, thread_id, started;
	} *children; /* by pid, then when they started */
	size_t child_count, child_cap;
};

int span_streams_new(struct span_streams *q, const struct dims *d);
void span_streams_free(struct span_streams *q);
/*
 * The stream that a call reads, or writes to, made where it is new; SPAN_NONE: its file is none. An eventfd takes the descriptor
 * and the thread, for its process. 0 or -ENOMEM.
 */
int span_streams_find(struct span_streams *q, int64_t file_id, int64_t fd, int64_t thread_id,
		      bool write, uint32_t *ret);
/* 1: span_streams_find() would find a stream, or make it; 0: it would not; or -ENOMEM. */
int span_streams_named(struct span_streams *q, int64_t file_id, int64_t fd, bool write);
/* 0 or -ENOMEM. */
int span_stream_wrote(struct span_stream *q, const struct span_written *w);
/* Takes bytes out, that were there before `stop`; if it waited from then on it was empty before. ret->task SPAN_NONE: not known. */
void span_stream_read(struct span_stream *q, int64_t waited_from, int64_t stop, uint32_t bytes,
		      struct span_written *ret);
/* The first thread of the child with this pid, as its parent calls it, that lived in a time; -1: not known. */
int64_t span_streams_child(const struct span_streams *q, int64_t parent_thread, int64_t pid,
			   int64_t start, int64_t stop);
