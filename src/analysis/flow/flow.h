/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h: `weir flow`: causes of operations, and the path of bytes, across processes and hosts.
 *
 * One pass over the calls of all traces, ordered by their ends, adds nodes and edges to a graph, and keeps what bytes the calls
 * moved. At its end the edges are numbered, the clocks solved, and verdicts made of the bytes:
 *
 *   flow_pass.c        reads calls, finds their task and files, and passes each on by its kind
 *   flow_graph.c       operations, edges, Lamport numbers, the past of an operation
 *   flow_clocks.c      offsets between the clocks of recordings, from messages between them
 *   flow.c             options, and the tables of the result; flow_past.c: --past; flow_keep.c, flow_keep_clocks.c: --keep;
 *                      flow_follow.c: traces that grow
 *
 *   edges/: what orders two operations
 *   flow_tasks.c       fork, join, exec, futex, signals
 *   flow_files.c       storage, publication, sync; flow_extents.c: the last writer of each byte of a file
 *   flow_sockets.c     which two ends belong together; flow_channel.c: joins what they send and receive, by position
 *   flow_anchors.c     joins them by content where calls are missing
 *   flow_datagrams.c   datagrams over IP, and of unix sockets with a name, which are joined by content
 *   flow_opened.c      descriptors that share an open file description; flow_locks.c: flock and fcntl
 *   flow_eventfd.c, flow_requests.c (io_uring), flow_contexts.c (spans whose parents are in another process)
 *
 *   bytes/: what happened to the data
 *   flow_content.c     rows of chunk, by call; flow_pieces.c: the hash of each 4 KiB of a file or stream; flow_mapped.c: bytes
 *                      stored through mappings; flow_links.c: which bytes that left a process are bytes that had entered it
 *   flow_messages.c    datagrams dropped, doubled, altered or re-ordered on their way; flow_relays.c: by a process;
 *                      flow_frames.c: messages in streams
 *   flow_verdicts.c    the list of verdicts; bytes altered by a process (flow_roles.c: whose purpose it is not)
 *   flow_deliveries.c  bytes stored but not sent, sent but not stored, sent twice, or in another order
 *   flow_places.c      the file in which bytes of a stream are stored
 *   flow_replicas.c    files of the same name in several folders; flow_differ.c: those that differ or are missing;
 *                      flow_replication.c: the order in which they arrived
 *   flow_from.c        --of: every later place of bytes; flow_table.c: table verdict
 */
#pragma once

#include "analysis/alike/alike.h"
#include "analysis/analysis.h"
#include "analysis/flow/flow_clocks.h"
#include "analysis/flow/flow_pass.h"

struct flow_options {
	bool keep, list;
	int64_t most;		 /* limit of list; 0: all */
	const char *from, *past; /* expressions, or a call number; NULL */
	const char *as; /* format in which to output the graph for another tool; NULL: none */
	struct alike_options alike;
};

/* Tables of the result, and the columns that the screen reads. */
enum flow_table {
	FLOW_VERDICTS,
	FLOW_EVIDENCE,
	FLOW_REPLICATION,
	FLOW_EDGES,
	FLOW_CLOCKS,
	FLOW_HOPS,
	FLOW_MORE, /* with --of, --past or --list: the tree, the past, all edges */
};
enum flow_verdict_column {
	FLOW_VERDICT_NUMBER,
	FLOW_VERDICT_WHAT,
	FLOW_VERDICT_FILE,
	FLOW_VERDICT_FROM,
	FLOW_VERDICT_TO,
	FLOW_VERDICT_NOTE = 16,
};
#define FLOW_TREE_DEPTH_MAX 64 /* rows of the tree are less deep */
enum flow_tree_column {
	FLOW_TREE_DEPTH,
	FLOW_TREE_HOST,
	FLOW_TREE_WHO,
	FLOW_TREE_CALL,
	FLOW_TREE_FILE,
	FLOW_TREE_AT,
	FLOW_TREE_DELAY,
	FLOW_TREE_POS,
	FLOW_TREE_BYTES,
	FLOW_TREE_VIA,
	FLOW_TREE_OP,
};
enum flow_past_column {
	FLOW_PAST_BEFORE,
	FLOW_PAST_HOST, /* followed by process, tid, call */
	FLOW_PAST_VIA = 7,
	FLOW_PAST_CERTAINTY,
	FLOW_PAST_FILE,
	FLOW_PAST_TO_HOST, /* followed by process, tid, call */
};
enum flow_evidence_column {
	FLOW_EVIDENCE_VERDICT,
	FLOW_EVIDENCE_LABEL,
	FLOW_EVIDENCE_WHO,
	FLOW_EVIDENCE_WHAT,
	FLOW_EVIDENCE_AT,
	FLOW_EVIDENCE_TEXT,
};

struct flow_verdicts;
struct flow_result {
	struct flow_state state;
	uint64_t tree_left_out, verdicts_left_out;
	uint64_t
		uncompared; /* files whose replicas were not searched for: they are in too many folders */
	size_t clocks_kept;  /* number stored by --keep */
	struct alike *alike; /* result if only equal data was requested; NULL */
};

/* Reads the part [from, to) of the stream (flow_pass_take()), and notes the calls that --of selects. */
int flow_take(struct flow_state *s, const struct analysis_input *in, const struct analysis_run *run,
	      int64_t from, int64_t to, struct error *err);
/* flow_follow.c: analysis.take_in and free_taken. */
int flow_take_in(const struct analysis_input *in, void **taken, struct error *err);
void flow_taken_free(void *taken);
/* Moves the state of take_in() to *ret; returns the time up to which it is complete. */
int64_t flow_taken_use(void *taken, struct flow_state *ret);
/* Fills all tables of the result. `keep`: rows of table verdict are also added there; NULL. 0 or negative. */
int flow_tables(const struct analysis_input *in, const struct analysis_run *run,
		const struct flow_options *o, struct analysis_result *out, struct batch *keep,
		struct error *err);
/* flow_keep.c: stores the edges in table `edge` of the trace. */
int flow_keep(struct store *s, const struct flow_state *f, bool part, struct error *err);
/* flow_keep_clocks.c: stores the known clocks in table `clock` of their traces, and their number in *ret_count. */
int flow_keep_clocks(const struct flow_state *f, size_t *ret_count, struct error *err);
/* The correction already applied to times of a recording, relative to that of the first recording. */
int64_t flow_clock_applied(const struct flow_state *s, size_t place);
/* The name of a recording: its host, or its file name if several recordings are of one host. */
int flow_place_name(const struct flow_state *s, size_t place, struct buf *out);
/* "n2 store 9921": a process, with the name of its recording if there are several. */
int flow_put_process(const struct flow_state *s, size_t place, int64_t process_id, struct buf *out);
/* Number of calls, edges, ranges, bytes and verdicts beyond the limits of memory. */
uint64_t flow_left_out(const struct flow_result *f);
/* Number of machines. */
size_t flow_hosts(const struct flow_state *s);
/* flow_past.c: --past: the first sets the call in s->from, before the pass; the second adds the rows. */
int flow_past_read(struct flow_state *s, const struct analysis_input *in, const char *text,
		   struct error *err);
int flow_past_put(const struct flow_state *s, struct analysis_result *out, struct error *err);
/* Adds the name of a file; null if there is none (-1). */
void flow_put_file(struct answer_list *t, const struct flow_state *s, int64_t file_id);
/* Adds the columns host, process, tid, call, time and op for one end of an edge. */
int flow_put_end(struct answer_list *t, const struct flow_state *s, const struct flow_node *n,
		 struct bytes host, bool end);
