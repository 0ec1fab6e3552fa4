/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_verdicts.h: verdicts at the end of the pass.
 *
 *   flow_verdicts.c     bytes that a process or what lies between two altered
 *   flow_roles.c        which processes pass on what they receive, so that a difference is a fault
 *   flow_deliveries.c   bytes that were stored and not sent, sent and not stored, sent twice, or in another order
 *   flow_places.c       in which file bytes of a stream are stored
 *   flow_replicas.c     files of one name in several places: which folders are replicas
 *   flow_differ.c       files that differ from their replicas, or are missing
 *   flow_replication.c  in which order they were written
 */
#pragma once

#include "analysis/flow/flow.h"

/* Bytes of one spot that a process gave away at another. */
struct flow_range {
	int64_t process_id;
	uint32_t in_spot, out_spot;
	int64_t from, to; /* where they came in */
	int64_t out_pos;
	uint32_t in, out;
	bool differs, doubtful;
	bool pulled; /* on a stream that answers requests: what is sent on it is not forwarded data */
};

/* By process, spot and from. */
struct flow_ranges {
	struct flow_range *all;
	size_t count, cap;
};

struct flow_replicas;
struct flow_roles;

struct flow_verdicts {
	const struct flow_state *s;
	struct answer_list *rows, *evidence, *replication;
	struct batch *keep; /* of table verdict; NULL */
	int64_t count;
	uint64_t left_out;
	struct flow_ranges stored, sent;
	uint32_t *by_out; /* links by where they went */
	struct map
		stored_from; /* spot of a file -> the first of `stored` that came over a stream */
	struct flow_replicas *replicas;
	struct flow_roles *roles;
};

struct flow_verdict {
	const char *what;
	uint32_t object; /* the file; FLOW_NONE */
	int64_t from, to, bytes;
	uint32_t first, second; /* calls; FLOW_NONE: none */
	uint32_t first_spot, second_spot;
	enum flow_side first_side, second_side;
	const char *second_observation, *note;
	bool absence; /* it is from a call that was not found */
	const struct flow_node
		*by; /* of who is at fault; NULL: of who made the second call, or the first */
};

/* Where bytes of a stream are stored. */
struct flow_place {
	uint32_t object;
	int64_t pos;
	uint32_t node, spot;  /* the call that has them */
	uint32_t in, in_spot; /* where they came in */
};

/* Fills the tables. flow_verdicts_free() in either case. */
int flow_verdicts_make(struct flow_verdicts *v);
void flow_verdicts_free(struct flow_verdicts *v);

/* When a call began, by the clock of the first trace. */
int64_t flow_verdict_time(const struct flow_verdicts *v, uint32_t node);
bool flow_verdicts_full(struct flow_verdicts *v);
int flow_verdict_put(struct flow_verdicts *v, const struct flow_verdict *w);
/* A line below the verdict that was put last. */
int flow_verdict_evidence(struct flow_verdicts *v, const char *label, uint32_t node, uint32_t spot,
			  enum flow_side mine, const char *text);
/* The first range of a process and spot that begins at or behind `from`, or of those behind them. */
size_t flow_range_at(const struct flow_ranges *l, int64_t process_id, uint32_t in_spot,
		     int64_t from);
const struct flow_range *flow_range_in(const struct flow_ranges *l, int64_t process_id,
				       uint32_t in_spot, int64_t from, int64_t to);

/* The first link of flow_verdicts.by_out at or behind a position of a spot. */
size_t flow_out_at(const struct flow_verdicts *v, uint32_t spot, int64_t pos);
/* Where the links end that continue this one, on both sides. */
int64_t flow_out_end(const struct flow_verdicts *v, size_t i);

/* Each cuts a range of a stream to what lies in one file. False: there is none, and the range may be cut. */
/* Where a process stores what it takes from the stream. */
bool flow_stored_by(const struct flow_verdicts *v, int64_t process_id, uint32_t spot,
		    int64_t range[2], struct flow_place *ret);
/* The same of who takes them from it, or from where that one sends them on. */
bool flow_stored_behind(const struct flow_verdicts *v, uint32_t spot, int64_t range[2],
			struct flow_place *ret);
/* The same of who sent them, or of who had sent them there; or the file that they were read from. */
bool flow_stored_before(const struct flow_verdicts *v, uint32_t spot, int64_t range[2],
			struct flow_place *ret);
/* The same of another process, for bytes that came in with a link: of who sent them to the stream, or got them on from it. */
bool flow_stored_of(const struct flow_verdicts *v, const struct flow_link *k, int64_t process_id,
		    int64_t range[2], struct flow_place *ret);
/* A position of a stream from its first byte on; of a file as it is. */
int64_t flow_stream_pos(const struct flow_verdicts *v, uint32_t spot, int64_t pos);

int flow_roles_make(struct flow_verdicts *v) _must_check_;
void flow_roles_free(struct flow_verdicts *v);
/* Whether a spot is a file or a pipe, which programs of one machine share. */
bool flow_spot_local(const struct flow_verdicts *v, uint32_t spot);
/*
 * Whether a process wrote the file itself, of what it had received over a stream: it is no input of somebody's choice then,
 * but a log.
 */
bool flow_spot_log(const struct flow_verdicts *v, int64_t process_id, uint32_t spot);
/* Whether the process passes on what it receives as in the difference, but for few of them. */
bool flow_role_passes(const struct flow_verdicts *v, const struct flow_difference *d);

int flow_deliveries_verdicts(struct flow_verdicts *v);

int flow_replicas_make(struct flow_verdicts *v);
void flow_replicas_free(struct flow_verdicts *v);
/* A verdict is about the file: the replicas need not say the same again. */
void flow_replicas_name(struct flow_verdicts *v, uint32_t object);
/* A file of which is known whether the bytes at hand are wrong. */
struct flow_reference {
	uint32_t object;
	bool wrong;
};
/* What other replicas say of these bytes of the file, as text that lives until the next is made; NULL: there are none. */
const char *flow_replicas_say(struct flow_verdicts *v, const struct flow_reference *ref,
			      int64_t from, int64_t to);
int flow_replicas_evidence(struct flow_verdicts *v, const struct flow_reference *ref, int64_t from,
			   int64_t to);
/* Whether another file of the name has these bytes as they came over a socket, as they did here. */
bool flow_replicas_received(const struct flow_verdicts *v, const struct flow_difference *d);
/* The file of the same name that a process wrote last; FLOW_NONE: there is none. */
uint32_t flow_replica_of(const struct flow_verdicts *v, uint32_t object, int64_t process_id);
/*
 * The first stretch behind range[0] in which the file differs from another, and the call that wrote it there. False: there is
 * none up to range[1], or nothing was written there.
 */
bool flow_replicas_stretch(const struct flow_verdicts *v, uint32_t object, uint32_t other,
			   int64_t range[2], uint32_t *ret_node);
int flow_replicas_verdicts(struct flow_verdicts *v);
int flow_replicas_put(struct flow_verdicts *v);

/* flow_from.c: the tree of places behind the calls of --of. */
int flow_from_put(struct flow_verdicts *v, struct answer_list *rows, uint64_t *ret_left_out);
