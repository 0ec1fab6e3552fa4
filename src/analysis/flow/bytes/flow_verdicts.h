/* SPDX-License-Identifier: Apache-2.0 */
/* flow_verdicts.h: verdicts at the end of the pass, and what their files share. */
#pragma once

#include "analysis/flow/flow.h"

/* Bytes of one spot that a process sent out at another. */
struct flow_range {
	int64_t process_id;
	uint32_t in_spot, out_spot;
	int64_t from, to; /* where they entered */
	int64_t out_pos;
	uint32_t in, out;
	bool differs, doubtful;
	bool pulled; /* on a stream that answers requests: data sent on it was not forwarded */
};

/* Sorted by process, spot and from. */
struct flow_ranges {
	struct flow_range *all;
	size_t count, cap;
};

struct flow_replicas;
struct flow_roles;

struct flow_verdicts {
	const struct flow_state *s;
	struct answer_list *rows, *evidence, *replication, *hops;
	struct batch *keep; /* rows of table verdict; NULL */
	int r;		    /* the first error in adding rows: later ones need not check for it */
	int64_t count;
	bool full;	     /* the last verdict was left out, and so is its evidence */
	uint64_t left_out;   /* verdicts beyond the limit */
	uint64_t uncompared; /* files in folders beyond FLOW_FOLDERS_MAX */
	struct flow_ranges stored, sent;
	uint32_t *by_out; /* links sorted by where they went */
	/* spot of a file -> the first entry of `stored` that came over a stream */
	struct map stored_from;
	struct flow_replicas *replicas;
	struct flow_roles *roles;
	struct buf said; /* text of the last verdict about replicas */
};

/* A call of a verdict, and the spot at which it moved the bytes. */
struct flow_seen {
	uint32_t node, spot; /* node FLOW_NONE: no call */
	enum flow_side side;
};
#define FLOW_UNSEEN ((struct flow_seen){.node = FLOW_NONE})

/* Whether a file is known to have right bytes in a range: the other files of its name are compared with it. */
enum flow_standing {
	FLOW_NOT_COMPARED,
	FLOW_RIGHT,
	FLOW_WRONG,
	FLOW_STORED_FIRST, /* it is not known which is right */
};
struct flow_reference {
	enum flow_standing standing;
	uint32_t object;  /* FLOW_NONE: not compared */
	int64_t from, to; /* to 0: in the range of the verdict */
};

struct flow_verdict {
	const char *what;
	uint32_t object; /* the file; FLOW_NONE */
	int64_t from, to;
	struct flow_seen first, second;
	struct flow_reference ref;
	const char *note;
	bool absence;		    /* inferred from the absence of a call */
	bool unsure;		    /* no single process is at fault for certain: none is named */
	const struct flow_node *by; /* the call at fault; NULL: the second call, or the first */
};

/* Where bytes of a stream are stored. */
struct flow_place {
	uint32_t object;
	int64_t pos;
	uint32_t node, spot;  /* the call that has them */
	uint32_t in, in_spot; /* where they entered */
};

/* Fills the tables. Call flow_verdicts_free() in either case. */
int flow_verdicts_make(struct flow_verdicts *v);
void flow_verdicts_free(struct flow_verdicts *v);

/* True at the limit: flow_verdict_put() only counts further ones. */
bool flow_verdicts_full(const struct flow_verdicts *v);
void flow_verdict_put(struct flow_verdicts *v, const struct flow_verdict *w);
/* Adds a line below the last verdict: about a call, or a text alone (FLOW_UNSEEN). */
void flow_verdict_evidence(struct flow_verdicts *v, const char *label, struct flow_seen of,
			   const char *text);
/* What is known of the replicas, as the last line below it. */
void flow_verdict_replicas(struct flow_verdicts *v);
/* Notes an error, unless there is one already. */
static inline void flow_verdict_failed(struct flow_verdicts *v, int r)
{
	if (r < 0 && v->r >= 0)
		v->r = r;
}
/* Index of the first range of a process and spot that begins at or after `from`, or of the first range after those. */
size_t flow_range_at(const struct flow_ranges *l, int64_t process_id, uint32_t in_spot,
		     int64_t from);
const struct flow_range *flow_range_in(const struct flow_ranges *l, int64_t process_id,
				       uint32_t in_spot, int64_t from, int64_t to);

/* Index in flow_verdicts.by_out of the first link at or after a position of a spot. */
size_t flow_out_at(const struct flow_verdicts *v, uint32_t spot, int64_t pos);
/* The end of the links that continue this one, on both sides. */
int64_t flow_out_end(const struct flow_verdicts *v, size_t i);

/*
 * Each clips a range of a stream to the part in a single file; `apart` is added to its positions for those of the spot.
 * False: none; the range is then as it was.
 */
/* Where a process stores what it receives from the stream. */
bool flow_stored_by(const struct flow_verdicts *v, int64_t process_id, uint32_t spot, int64_t apart,
		    int64_t range[2], struct flow_place *ret);
/* Where processes store it that receive it from the stream, directly or through another one. */
bool flow_stored_behind(const struct flow_verdicts *v, uint32_t spot, int64_t apart,
			int64_t range[2], struct flow_place *ret);
/* Where processes store it that sent it, directly or through another one; or the file from which it was read. */
bool flow_stored_before(const struct flow_verdicts *v, uint32_t spot, int64_t range[2],
			struct flow_place *ret);
/* The same for another process and bytes that entered with a link: one that sent them to the stream, or got them through it. */
bool flow_stored_of(const struct flow_verdicts *v, const struct flow_link *k, int64_t process_id,
		    int64_t range[2], struct flow_place *ret);
/* True if the writer of the file stores what it receives, in this file or in others; otherwise it is the source of the bytes. */
bool flow_stores_received(const struct flow_verdicts *v, uint32_t object);
/* A position in the file where bytes continue those received, but differ from what was received next. NULL: none. */
const struct flow_link *flow_difference_in(const struct flow_verdicts *v, uint32_t object,
					   const int64_t range[2]);
/* True if another file has in this range exactly the bytes that were received there. */
bool flow_difference_undone(const struct flow_verdicts *v, const struct flow_link *d,
			    uint32_t object, const int64_t range[2]);
/* A position relative to the first byte of a stream; unchanged for a file. */
int64_t flow_stream_pos(const struct flow_verdicts *v, uint32_t spot, int64_t pos);

int flow_roles_make(struct flow_verdicts *v) _must_check_;
void flow_roles_free(struct flow_verdicts *v);
/* True if a spot has messages: the positions at its two ends cannot be compared. */
static inline bool flow_spot_messages(const struct flow_verdicts *v, uint32_t spot)
{
	return !(spot & FLOW_SPOT_FILE) && v->s->channels[spot].messages;
}
/* True if a spot is a file or a pipe, which programs of one machine share. */
bool flow_spot_local(const struct flow_verdicts *v, uint32_t spot);
/*
 * True if a process wrote the file itself, from what it had received over a stream: the file is then a log, not an
 * input chosen by anyone.
 */
bool flow_spot_log(const struct flow_verdicts *v, int64_t process_id, uint32_t spot);
/* True if the process forwards nearly all input of the kind in the difference unchanged. */
bool flow_role_passes(const struct flow_verdicts *v, const struct flow_link *d);

/* True if the process stores what it receives through mappings, and not all of these files were read. */
bool flow_stores_unseen(const struct flow_verdicts *v, int64_t process_id);
void flow_deliveries_verdicts(struct flow_verdicts *v);

int flow_replicas_make(struct flow_verdicts *v);
void flow_replicas_free(struct flow_verdicts *v);
/* Sets v->said: what other replicas of the verdict's reference have in its range; empty: there are none. */
void flow_replicas_say(struct flow_verdicts *v, const struct flow_verdict *w);
/* True if another file of the name has these bytes as received over a socket, as they were here. */
bool flow_replicas_received(const struct flow_verdicts *v, const struct flow_link *d);
/* The file with the same name that a process wrote last; FLOW_NONE: none. */
uint32_t flow_replica_of(const struct flow_verdicts *v, uint32_t object, int64_t process_id);
/*
 * The first range after range[0] in which the file differs from another, and the call that wrote it. False: none up to
 * range[1], or nothing was written there.
 */
bool flow_replicas_stretch(const struct flow_verdicts *v, uint32_t object, uint32_t other,
			   int64_t range[2], uint32_t *ret_node);
void flow_replicas_verdicts(struct flow_verdicts *v);
int flow_replicas_put(struct flow_verdicts *v);

/*
 * flow_from.c: the expression for the calls that --of selects: a sentence, "client wrote /data/file" (or sent, read, received;
 * without a path: anywhere), or the text itself. 0 or -ENOMEM.
 */
int flow_from_calls(const char *text, struct buf *to);
/* The tree of locations for the calls of --of. */
int flow_from_put(struct flow_verdicts *v, struct answer_list *rows, uint64_t *ret_left_out);
