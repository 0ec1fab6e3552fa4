/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_streams.h: pipes, sockets and eventfds as byte streams from writers to readers, and children by their pids, for
 * lookups by span_joins.c. A stream is named by the end that reads it: a socket by its addresses or, for unix sockets,
 * its inode; its writer finds it by those of its peer. All eventfds share one inode: they are distinguished by process
 * and descriptor.
 */
#pragma once

#include "analysis/spans/spans.h"
#include "base/map.h"

#define STREAM_UNREAD_MAX 1024 /* unread writes kept per stream */

struct span_written {
	int64_t start, stop;
	uint32_t task, bytes;
};
struct span_stream {
	struct span_written *unread; /* oldest first, starting at unread[first] */
	size_t cap;
	uint32_t first, count;
	bool read;    /* some call reads it */
	bool lost;    /* there were more unread writes than are kept: unknown until it is empty */
	bool counter; /* an eventfd: a read takes everything */
	bool message; /* a read takes a single message */
	/* for the reading end: its last writer, and that writer's epoch */
	uint32_t asked /* task + 1 */, epoch;
};

struct span_streams {
	const struct dims *dims;
	struct span_stream *all;
	size_t count, cap;
	struct map by_name; /* hash of its name -> stream */
	struct map by_file; /* version of a file -> index of struct stream_names + 1 */
	struct stream_names {
		uint64_t read, written; /* hashes; 0: not a stream, or its peer is unknown */
		bool counter, message;
	} *names;
	size_t name_count, name_cap;
	struct span_child {
		int64_t pid, thread_id, started;
	} *children; /* sorted by pid, then by start */
	size_t child_count, child_cap;
};

int span_streams_new(struct span_streams *q, const struct dims *d);
void span_streams_free(struct span_streams *q);
/*
 * The stream that a call reads or writes, created if it is new; SPAN_NONE: its file is not a stream. For an eventfd the
 * descriptor and the thread, which gives the process, are used. 0 or -ENOMEM.
 */
int span_streams_find(struct span_streams *q, int64_t file_id, int64_t fd, int64_t thread_id,
		      bool write, uint32_t *ret);
/* 1: span_streams_find() would find or create a stream; 0: it would not; or -ENOMEM. */
int span_streams_named(struct span_streams *q, int64_t file_id, int64_t fd, bool write);
/* 0 or -ENOMEM. */
int span_stream_wrote(struct span_stream *q, const struct span_written *w);
/*
 * Removes bytes written before `stop`; if the reader waited from `waited_from` on, the stream was empty then. ret->task
 * SPAN_NONE: unknown.
 */
void span_stream_read(struct span_stream *q, int64_t waited_from, int64_t stop, uint32_t bytes,
		      struct span_written *ret);
/* The first thread of the child with this pid, as seen by its parent, that lived within a time; -1: unknown. */
int64_t span_streams_child(const struct span_streams *q, int64_t parent_thread, int64_t pid,
			   int64_t start, int64_t stop);
