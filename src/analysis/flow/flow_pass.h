/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_pass.h: the state of the pass over the calls, and what the files of edges/ and bytes/ offer it (see flow.h). They
 * receive the calls ordered by their ends. None hands an error up: the first is noted in the graph, and the pass then ends.
 */
#pragma once

#include "analysis/analysis.h"
#include "analysis/flow/edges/flow_channel.h"
#include "analysis/flow/bytes/flow_content.h"
#include "analysis/flow/edges/flow_extents.h"
#include "base/idmap.h"

#define FLOW_LOSSES_MAX 64
#define FLOW_BYTES_MAX	(1ll << 38) /* of one call; larger values are invalid */

/* What an operation does, for the purpose of edges. */
enum flow_act {
	FLOW_NOTHING,
	FLOW_READ,
	FLOW_WRITE,
	FLOW_VMSPLICE,
	FLOW_COPY, /* within the kernel: sendfile, splice, copy_file_range */
	FLOW_FORK,
	FLOW_WAIT,
	FLOW_EXIT,
	FLOW_EXEC,
	FLOW_CONNECT,
	FLOW_ACCEPT,
	FLOW_PAIR, /* socketpair, pipe */
	FLOW_OPEN,
	FLOW_CLOSE,
	FLOW_RENAME,
	FLOW_FSYNC,
	FLOW_MSYNC,
	FLOW_TRUNCATE,
	FLOW_FUTEX,
	FLOW_FLOCK,
	FLOW_FCNTL,
	FLOW_DUP,
	FLOW_MAP,
	FLOW_UNMAP,
	FLOW_PROTECT,
	FLOW_REMAP,
	FLOW_EVENTFD,
	FLOW_KILL,
	FLOW_SIGNALLED,
	FLOW_ENTER,
	FLOW_ACTS,
};

/* A row of op. */
struct flow_call {
	int64_t row_id, start, end, thread_id, ret, bytes, size, file_id, file2_id, pos, pos2,
		waker_id, fd, peer_id;
	uint64_t flags, a[3], status;
	uint32_t task;	 /* index in flow_state.tasks */
	uint32_t number; /* task in the graph: a request has its own */
	uint32_t node;	 /* FLOW_NONE until created by flow_call_node() */
	uint16_t op, place;
	uint8_t act, kind;
	bool failed;
};

#define FLOW_WAKES	 4
#define FLOW_ENTERS	 4
#define FLOW_CHUNKS_OPEN 4 /* requests of a thread whose content may be recorded at the same time */

/* A call that waits, or is waited for, until a later call shows which of several it belongs to. */
struct flow_moment {
	uint32_t node;
	int64_t start, end;
	uint64_t at; /* of a futex: its address; of a signal: its number */
	bool any;    /* the end of a thread, which wakes at an address that is not recorded */
};
struct flow_moments {
	struct flow_moment *all;
	size_t count, cap;
};

/* A thread, over all of its versions. */
struct flow_task {
	uint32_t number;   /* task in the graph */
	int64_t thread_id; /* any version of it */
	int64_t process_id, tid, tid_ns, pid_ns, net_ns;
	uint64_t machine;
	uint32_t first;		    /* node of its first call; FLOW_NONE: none yet */
	uint32_t exec;		    /* node of an exec whose new program has not made a call yet */
	struct flow_operation last; /* its last call; row_id -1: none yet */
	uint32_t last_node;
	struct flow_moment wakes[FLOW_WAKES]; /* its last calls that woke from a futex, in a ring */
	unsigned int wake_count;
	/* futex waits that it ended, until its next call shows by which of its calls */
	struct flow_moments woken;
	/* for io_uring: the last calls that submit, requests whose submitting call has not ended, and completed requests */
	struct flow_moment enters[FLOW_ENTERS];
	unsigned int enter_count;
	struct flow_moments loose, done;
	struct flow_chunks chunks[FLOW_CHUNKS_OPEN];
	struct flow_moment killed; /* the last signal sent to it */
	bool streams;		   /* it has moved bytes of a stream */
	uint32_t heard;		   /* the object from which it last received; FLOW_NONE */
	uint32_t span;		   /* flow_contexts.c: its next span without a call; FLOW_NONE */
	uint32_t next_of_process;
	uint32_t by_tid; /* next task with the same tid and machine */
	uint16_t place;
};

enum flow_object_kind {
	FLOW_IS_OTHER,
	FLOW_IS_FILE,
	FLOW_IS_PIPE,
	FLOW_IS_TCP,
	FLOW_IS_UNIX,
	FLOW_IS_EVENTFD,
	FLOW_IS_DATAGRAM, /* over IP */
};

/* A file, socket or pipe: one generation. */
struct flow_object {
	int64_t file_id;
	uint8_t kind;
	bool opened;	 /* for a socket: its peer has been looked up */
	bool from_start; /* for a socket: created during recording */
	bool by_connect;
	uint16_t place;
	uint32_t channels[2]; /* by side; FLOW_NONE */
	uint32_t twin;	      /* its peer; FLOW_NONE */
	uint32_t waiting;     /* the next object with the same addresses that waits for its peer */
	uint32_t origin;      /* node of the connect or accept */
	uint32_t file;	      /* FLOW_IS_FILE: index in flow_state.files */
	/* of a socket that was never bound: the address from which its datagrams were received; empty: unknown */
	struct bytes local;
};

struct flow_reader {
	uint32_t node;
	int64_t from, to, start, end;
};

/* State of a regular file. */
struct flow_file {
	struct flow_extents written;
	uint32_t published;   /* node of the last rename or link; FLOW_NONE */
	int64_t renamed;      /* file row with the last name it got; -1 */
	struct map pieces;    /* index of a written piece -> index in flow_state.pieces */
	uint32_t first, last; /* nodes of writes; FLOW_NONE */
	int64_t size;	      /* end of the last byte written */
	int64_t process_id;   /* first writer; -1: none */
	/* mixed: there are other writers; rewritten: bytes were written twice */
	bool mixed, rewritten;
	uint32_t maps;	 /* its last shared mapping; FLOW_NONE */
	uint32_t unkept; /* number of writers since the last fsync that did not fit in `writers` */
	uint32_t writers[4]; /* last write of each of up to four tasks since the last fsync */
};

/* A shared mapping of a file (flow_mapped.c). */
struct flow_map {
	int64_t process_id, pos, len;
	int64_t seen_to;       /* bytes of the file up to here were read afterwards */
	uint64_t at, left[2];  /* address of pos; addresses still mapped */
	uint32_t object, node; /* the file; its mmap */
	/* the one before it of the same file, and of the process; FLOW_NONE */
	uint32_t next, next_of_process;
	bool writable;
	bool inherited; /* child processes have it, too */
};

/* A fork or wait that identifies a thread by its number. */
struct flow_named {
	uint32_t node, task;
	int64_t tid, start, end;
};
struct flow_names {
	struct flow_named *all;
	size_t count, cap;
};

/* Calls of this recording are missing between these times. */
struct flow_loss {
	int64_t from, to;
	uint16_t place;
};

/* An inconsistency found in content, in order of discovery. */
enum flow_suspicion {
	FLOW_EXPLAINED,
	FLOW_ALTERED_BETWEEN, /* between the two ends of a stream */
	FLOW_READ_BACK,	      /* a read returned other bytes than were written */
	/* datagrams (flow_messages.c) */
	FLOW_NEVER_RECEIVED,
	FLOW_RECEIVED_TWICE,
	FLOW_RECEIVED_LATE, /* after one that was sent later */
	FLOW_RECEIVED_CUT,  /* the buffer was too small for all of it */
	/* messages that a process sends on (flow_relays.c) */
	FLOW_FORWARDED_OTHER,
	FLOW_FORWARDED_NEVER,
	FLOW_FORWARDED_TWICE,
	FLOW_FORWARDED_LATE,
};

struct flow_suspect {
	enum flow_suspicion what;
	uint32_t first, second, spot;
	uint32_t out_spot; /* where a process sent on what it had received from the spot */
	uint32_t beside;   /* a third call; FLOW_NONE */
	bool unsure;	   /* several processes may have done it */
	uint32_t object;   /* FLOW_NONE: that of the spot, if it is a file */
	int64_t from, to;
	int64_t place; /* of `from` in the spot, for messages that a process sent on; -1: they are several */
};

#define FLOW_MESSAGES_MAX	  (1u << 20)  /* messages with content: 56 MiB */
#define FLOW_MESSAGES_PAYLOAD_MAX (32u << 20) /* bytes of those that have not arrived yet */

/* A message, at one of its ends. */
struct flow_message {
	uint64_t hash;
	int64_t pos;	  /* among the bytes of its sequence */
	int64_t place;	  /* of its bytes in the spot (flow_links_in) */
	uint8_t *payload; /* NULL: not recorded, or not needed */
	uint32_t node, size;
	uint32_t other; /* its number at the other end; FLOW_NONE: none with this content */
	bool cut;	/* it filled the buffer, or may have: the rest may have been dropped */
	bool common; /* several of the sequence are equal: it is not known which of them arrived */
};

/* Where it is kept. */
struct flow_message_at {
	uint32_t sequence, at; /* FLOW_NONE: not kept */
	int64_t place;
};

/* A message that a call moved; `at`: where it is in the call's bytes. */
struct flow_moved {
	uint32_t object, node;
	enum flow_side side;
	bool hashed; /* its content is known */
	uint64_t hash;
	size_t at;
	int64_t bytes;
	struct bytes address; /* of the other end; empty: not known, or there is none */
};

/* For --of and --past: a call to start from, and what it moved. */
struct flow_root {
	uint32_t node;
	int64_t file_id, pos, bytes; /* pos -1: not known */
};

/* For --of: a read returned bytes that a write stored, even if others have since written to the range. */
struct flow_taking {
	uint32_t writer, reader, bytes;
	bool contested;
	int64_t file_id, pos;
};

/* For --of: a thread put out the same bytes twice, which is evidence only: it may have made them twice. */
struct flow_again {
	uint32_t first, second, spot; /* calls; where the second one put them */
	int64_t pos, bytes;
};

#define FLOW_TAKINGS_MAX (4u << 20) /* 128 MiB */

struct flow_clocks;

/* What the files of the mechanisms keep; the elements are theirs. */
struct flow_locks {
	struct flow_lock *all;
	size_t count, cap;
	struct map by_object;
	struct lock_user *users;
	size_t user_count, user_cap;
	struct map by_process; /* -> last of its lock_user entries */
};
struct flow_descriptors {
	struct flow_descriptor *all;
	size_t count, cap;
	struct map by_fd;
	int64_t last; /* highest descriptor */
};
struct flow_counters {
	struct flow_counter *all;
	size_t count, cap;
	struct map by_fd;
};
/* Ports and names to which datagrams are sent. */
struct flow_ports {
	struct flow_port *all;
	size_t count, cap;
	struct map of; /* port -> index */
};
struct flow_contexts {
	struct flow_span *all; /* sorted by task and start */
	size_t count, cap;
};
struct flow_messages {
	struct flow_sequence *all;
	size_t count, cap;
	struct map of;	  /* flow_sequence_key() -> sequence */
	struct map kinds; /* socket and side -> which sequences it has, at the end */
	/*
	 * flow_message_key() of those that have borders, of processes that also move streams: without the others, 300,000 messages
	 * took 1.47 s of CPU time instead of 1.59 (medians of 11 pairs, less in each); also FLOW_MOVES_MESSAGES and
	 * FLOW_MOVES_STREAMS of a process -> 1
	 */
	struct map known;
	size_t messages, frames; /* frames: in streams */
	uint64_t payload;
};

struct flow_state {
	const struct analysis_input *in;
	const struct analysis_run *run;
	const struct dims *dims;
	struct flow_graph graph;
	struct flow_channels streams;

	struct flow_task *tasks;
	size_t task_count, task_cap;
	struct map task_of;	      /* thread_id of a task -> index */
	struct idmap task_of_version; /* thread_id -> index */
	struct map by_process, by_tid;
	/* signals to threads whose first call has not been read: machine and tid -> index */
	struct flow_moment *early;
	size_t early_count, early_cap;
	struct map early_of;

	struct flow_object *objects;
	size_t object_count, object_cap;
	struct idmap object_of_version; /* file_id -> index */
	struct map object_of;		/* generation -> index */
	struct flow_channel *channels;
	size_t channel_count, channel_cap, logged; /* logged: calls in their logs */
	struct map waiting; /* hash of addresses -> object waiting for its peer */

	struct flow_file *files;
	size_t file_count, file_cap;
	struct flow_extents_room room;

	struct flow_map *maps;
	size_t map_count, map_cap;
	struct map map_of;	/* process -> its last mapping */
	uint64_t mapped_unsure; /* bytes stored through mappings of several processes */
	struct flow_names forks, waits;
	struct flow_locks locks;
	struct flow_descriptors descriptors;
	struct flow_counters counters;
	struct flow_ports ports;
	struct flow_messages messages;
	struct flow_contexts contexts;
	struct flow_content_sums content_sums;
	struct flow_pieces pieces;
	struct flow_links links;
	struct map unseen; /* processes that sent or stored bytes whose content is not known -> 1 */
	struct flow_suspect *suspects;
	size_t suspect_count, suspect_cap;
	struct flow_clocks *clocks;

	struct flow_loss *losses;
	size_t loss_count, loss_cap;
	int64_t *loss_from; /* of each recording: flow_loss_from() */
	size_t loss_place_count;

	uint64_t calls;
	/* receives that ended before their send began, by the same clock */
	uint64_t contradictions;
	struct map from;	 /* rows of the calls that --of or --past selects */
	struct flow_root *roots; /* in the order in which they ended */
	size_t root_count, root_cap;
	struct flow_taking *takings;
	size_t taking_count, taking_cap;
	struct flow_again *agains;
	size_t again_count, again_cap;
	struct map put;		/* task and content -> the last call that put it out */
	struct map sent_places; /* edge of one of several messages of a call -> its place */
	uint64_t from_left_out;
	uint64_t unfollowed; /* calls that moved datagrams whose other end was not found */
	/* messages that were altered or dropped, or not sent on, where content does not show which */
	uint64_t unfollowed_messages;
	/* streams of processes that also move messages: their hashes alone do not show which messages are in them */
	uint64_t undivided;
	uint64_t unplaced;  /* calls on streams that began before recording */
	uint64_t alone;	    /* calls on streams whose other end was not recorded */
	uint64_t forgotten; /* ranges of files beyond the limit */
	uint8_t *acts;	    /* by call code */
};

/* Processes the run's rows with positions in [from, to); parts must be consecutive. Call flow_state_free() in either case. */
int flow_pass_take(struct flow_state *s, const struct analysis_input *in,
		   const struct analysis_run *run, int64_t from, int64_t to, struct error *err);
/* Call after the last part: settles what is only known then, and numbers operations. */
int flow_pass_end(struct flow_state *s, struct error *err);
void flow_state_free(struct flow_state *s);

/* When calls of a recording may be missing for the first time; INT64_MAX: never. */
static inline int64_t flow_loss_from(const struct flow_state *s, uint32_t place)
{
	return place < s->loss_place_count ? s->loss_from[place] : INT64_MIN;
}

/* The process of a call; -1: unknown. */
int64_t flow_node_process(const struct flow_state *s, uint32_t node);
/* The process that uses an end of a channel; -1: unknown, or several. */
int64_t flow_end_process(const struct flow_state *s, uint32_t channel, enum flow_side side);
/* When a call began and ended, by the first recording's clock. */
int64_t flow_time_start(const struct flow_state *s, uint32_t node);
int64_t flow_time_end(const struct flow_state *s, uint32_t node);
/* Notes an error, unless there is one already: the pass ends with it after the call. */
static inline void flow_failed(struct flow_state *s, int r)
{
	flow_graph_failed(&s->graph, r);
}
/* The call as what it is in the graph, and as a moment of it. */
static inline struct flow_operation flow_call_operation(const struct flow_call *c)
{
	return (struct flow_operation){c->row_id,    c->start,	c->end - c->start,
				       c->thread_id, c->number, c->op};
}
static inline struct flow_moment flow_call_moment(const struct flow_call *c)
{
	return (struct flow_moment){.node = c->node, .start = c->start, .end = c->end};
}
/* The node of this call, created on first use. FLOW_NONE at the limit. */
uint32_t flow_call_node(struct flow_state *s, struct flow_call *c);
/* The object of a file; FLOW_NONE if there is none. */
uint32_t flow_object(struct flow_state *s, int64_t file_id);
/* The state of a regular file; NULL if it is not one. */
struct flow_file *flow_file(struct flow_state *s, int64_t file_id);
/* True if calls may be missing in [from, to]. */
bool flow_is_lost(const struct flow_state *s, int64_t from, int64_t to);
/* A new channel; FLOW_NONE after an error. */
uint32_t flow_channel_new(struct flow_state *s, enum block_via via);
static inline void flow_edge(struct flow_state *s, const struct flow_edge *e)
{
	(void)flow_graph_edge(&s->graph, e);
}
/* An edge between whole calls, without bytes; file_id -1: none. */
void flow_edge_of_calls(struct flow_state *s, enum block_via via, uint32_t from, uint32_t to,
			int64_t file_id, bool certain);

/* flow_tasks.c */
/* The index of the task of a thread version; FLOW_NONE after an error. */
uint32_t flow_task_of(struct flow_state *s, int64_t thread_id);
/* For every call, before its effects. */
void flow_tasks_any(struct flow_state *s, struct flow_call *c);
/* After everything else: notes the task's last call. */
void flow_tasks_last(struct flow_state *s, const struct flow_call *c);
/* The calls of each kind, failed ones too. */
void flow_tasks_fork(struct flow_state *s, struct flow_call *c);
void flow_tasks_wait(struct flow_state *s, struct flow_call *c);
void flow_tasks_exec(struct flow_state *s, struct flow_call *c);
void flow_tasks_futex(struct flow_state *s, struct flow_call *c);
void flow_tasks_kill(struct flow_state *s, struct flow_call *c);
void flow_tasks_signalled(struct flow_state *s, struct flow_call *c);
void flow_tasks_end(struct flow_state *s);
/* The task's last call as a node; FLOW_NONE: no call. */
uint32_t flow_task_last(struct flow_state *s, struct flow_task *t);
/* The time it ended, INT64_MIN: still alive. */
int64_t flow_task_stopped(const struct flow_state *s, const struct flow_task *t);
/* The process that forked a process; -1: unknown. */
int64_t flow_task_parent(const struct flow_state *s, int64_t process_id);
void flow_tasks_free(struct flow_state *s);

/* flow_sockets.c */
/* True of an address of the loopback device, such as "127.0.0.1:80". */
bool flow_is_loopback(struct bytes address);
/* How many messages the call moved, if its socket preserves their boundaries. */
int64_t flow_call_messages(const struct flow_call *c);
void flow_sockets_take(struct flow_state *s, struct flow_call *c);
/* It is not known which end of the pipe the call used: all edges of the pipe are contested from now on. */
void flow_sockets_doubt(struct flow_state *s, const struct flow_call *c);
void flow_sockets_move(struct flow_state *s, struct flow_call *c, uint32_t object,
		       enum flow_side side);

/* A write that was still running: its bytes may be among those received. */
void flow_sockets_unfinished(struct flow_state *s, const struct flow_call *c);

/* flow_anchors.c */
/* True if the calls of a channel whose positions are counted are to be collected, and joined at the end: some are missing. */
bool flow_anchors_defer(const struct flow_state *s, struct flow_channel *c);
/* Collects a call. Sets the item's position among the bytes of its own end. */
void flow_anchors_take(struct flow_state *s, const struct flow_call *call, struct flow_channel *c,
		       enum flow_side side, struct flow_item *item);
/* Does the same for a send that did not end. */
void flow_anchors_break(struct flow_state *s, struct flow_channel *c, int64_t start);
/* Joins what was collected; `anchored`: this is every call, so that it is known which contents occur only once. */
void flow_anchors_join(struct flow_state *s, struct flow_channel *c, bool anchored);

/* flow_datagrams.c */
/* True of a unix socket whose datagrams are joined by content, as several may send to its peer or to it. */
bool flow_datagrams_named(const struct flow_state *s, uint32_t object);
void flow_datagrams_move(struct flow_state *s, struct flow_call *c, uint32_t object,
			 enum flow_side side);
/* flow_mapped.c */
/* Calls that create, change, remove and inherit mappings. */
void flow_mapped_take(struct flow_state *s, struct flow_call *c);
/* A read of a file that is or was mapped. */
void flow_mapped_read(struct flow_state *s, struct flow_call *c, uint32_t object,
		      const struct flow_chunks *all);
/* True if the process, or any (-1), may have stored bytes through a mapping that nobody read afterwards. */
bool flow_mapped_unseen(const struct flow_state *s, int64_t process_id);
/* flow_messages.c */
/*
 * Adds a message to those that a socket sent to or received from an address, and to the bytes that its process moved through
 * the spot. `joins`: flow_messages_match() is called when its other end is found.
 */
struct flow_message_at flow_message_moved(struct flow_state *s, const struct flow_call *c,
					  uint32_t spot, bool joins, const struct flow_moved *at);
/* Two of them are one datagram. `task`: who sent and received it. */
void flow_messages_match(struct flow_state *s, struct flow_message_at send,
			 struct flow_message_at receive, const uint32_t task[2]);
/* Judges what did not match, and frees all. */
void flow_messages_end(struct flow_state *s);
void flow_messages_free(struct flow_state *s);
/* flow_frames.c: adds the messages in the bytes that a call moved at `pos` of a stream; -1: unknown. */
void flow_frames_moved(struct flow_state *s, const struct flow_call *c, uint32_t object,
		       enum flow_side side, int64_t pos);
/* Counts those still waiting as not followed. */
void flow_datagrams_free(struct flow_state *s);

/* flow_files.c */
/* The last name of a file, or of any other object. */
int64_t flow_object_file(const struct flow_state *s, uint32_t object);
struct bytes flow_object_name(const struct flow_state *s, uint32_t object);
void flow_files_take(struct flow_state *s, struct flow_call *c);
/* `file_id`: the version of the object that the call used. */
void flow_files_move(struct flow_state *s, struct flow_call *c, uint32_t object, int64_t file_id,
		     int64_t pos, enum flow_side side);

/* flow_content.c */
/* A row of table chunk. */
void flow_content_row(struct flow_state *s, const struct batch *b, uint32_t row);
/* True of a piece of a file or stream, or a part of one, that a call moved in this direction. */
bool flow_chunk_is_piece(const struct flow_chunk *k, enum flow_side side);
/* The position in its stream at which the call's bytes begin, -1: unknown; *ret_sure: no other call can have that position. */
int64_t flow_content_pos(struct flow_state *s, const struct flow_call *c, enum flow_side side,
			 bool *ret_sure);
/* The hash of all bytes that the call moved; false: unknown. */
bool flow_content_hash(struct flow_state *s, const struct flow_call *c, enum flow_side side,
		       uint64_t *ret);
/* The call moved its bytes at `pos` of the spot (flow_content.h). */
void flow_content_moved(struct flow_state *s, struct flow_call *c, uint32_t spot,
			enum flow_side side, int64_t pos);
/* Adds bytes of the call, or only their hash (bytes NULL), to those that entered or left its process at `pos` of the spot. */
void flow_content_link(struct flow_state *s, const struct flow_call *c, uint32_t spot,
		       enum flow_side side, int64_t pos, const uint8_t *bytes, size_t size,
		       const uint64_t *hash);
/* The next datagram of a call that moved several; *at is 0 for the first one. NULL: there is none. */
const struct flow_chunk *flow_content_message(struct flow_state *s, const struct flow_call *c,
					      enum flow_side side, size_t *at);
/* The direction of the call's content. False: none was recorded. */
bool flow_content_side(struct flow_state *s, const struct flow_call *c, enum flow_side *ret);
/* True if the content of each of them is known. */
bool flow_content_messages(struct flow_state *s, const struct flow_call *c, enum flow_side side);
/* The call's bytes from the first on, as far as recorded; NULL: none. */
const uint8_t *flow_content_payload(struct flow_state *s, const struct flow_call *c,
				    enum flow_side side, size_t *ret_size);
/* Compares what a read returned with what calls wrote. `by`: the mmap of who stored it, if known; unsure: one of several. */
void flow_content_read_back(struct flow_state *s, struct flow_call *c, uint32_t object,
			    const struct flow_chunk *k, uint32_t by, bool unsure);
void flow_content_suspect(struct flow_state *s, const struct flow_suspect *what);
void flow_content_free(struct flow_state *s);

/* flow_requests.c */
void flow_requests_take(struct flow_state *s, struct flow_call *c);
void flow_requests_enter(struct flow_state *s, struct flow_call *c);

/* flow_contexts.c */
/* Call before the pass: reads the spans of the traces. */
int flow_contexts_load(struct flow_state *s, struct error *err);
void flow_contexts_call(struct flow_state *s, struct flow_call *c);
void flow_contexts_end(struct flow_state *s);
void flow_contexts_free(struct flow_state *s);

/* flow_opened.c */
struct flow_opened {
	uint64_t number; /* of the open file description, shared by its descriptors */
	uint32_t object;
	/* the origin of the descriptor is unknown, so other descriptors may share it */
	bool unknown;
};
uint64_t flow_fd_key(const struct flow_state *s, uint32_t task, int64_t fd);
/* A call returned a descriptor: of a new description, or a duplicate of c->fd. */
void flow_opened_new(struct flow_state *s, const struct flow_call *c);
void flow_opened_same(struct flow_state *s, const struct flow_call *c);
/* A descriptor was closed. */
void flow_opened_end(struct flow_state *s, const struct flow_call *c, int64_t fd);
/* The description of a descriptor of c->file_id. False: it is of no known file. */
bool flow_opened_find(struct flow_state *s, const struct flow_call *c, int64_t fd,
		      struct flow_opened *ret);
/* The same at the end of a process, which may have inherited it. False: it does not have it, or nothing is known. */
bool flow_opened_has(struct flow_state *s, int64_t process_id, int64_t fd, struct flow_opened *ret);
void flow_opened_free(struct flow_state *s);

/* flow_locks.c */
/* Calls that may lock or unlock, including failed ones. */
void flow_locks_take(struct flow_state *s, struct flow_call *c);
/* The process executes another program, or ends. */
void flow_locks_left(struct flow_state *s, struct flow_call *c);
void flow_locks_free(struct flow_state *s);

/* flow_eventfd.c */
void flow_eventfd_made(struct flow_state *s, struct flow_call *c);
void flow_eventfd_move(struct flow_state *s, struct flow_call *c, enum flow_side side);
void flow_eventfds_free(struct flow_state *s);
