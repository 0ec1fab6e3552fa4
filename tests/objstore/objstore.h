/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objstore.h: a replicated object store: a client puts objects on the first node, which sends them on to the second, and so on down
 * the chain. A node keeps an object as a file (pwrite, fdatasync, rename), a pool of threads stores while the worker sends on. Each
 * put is one trace of BlkKin's over all processes: client.put, and on each node node.receive, node.store, node.forward.
 *
 * The store is instrumented with BlkKin's interface alone, as a program written for it is. What it did it can print as JSON
 * (--truth): every call that moved bytes of an object, with the span in which it was made.
 */
#pragma once

#include <blkin/zipkin_c.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_MAGIC   0x4f424a53u
#define OBJECT_MAX   (64u << 20) /* bytes of an object */
#define GETS_MAX     8
#define SIZES_MAX    32
#define BYTES_OF(at) ((at) > sizeof(struct head) ? (at) - sizeof(struct head) : 0)

enum head_kind { KIND_PUT = 1, KIND_GET, KIND_REPLY, KIND_STOP };

/* Precedes everything, in both directions, in the order of this machine's bytes; BlkKin's ids in their own. */
struct head {
	uint32_t magic, kind;
	uint64_t object, size, request;
	int32_t status; /* of a reply: 0 or a negative errno */
	uint32_t pad;
	struct blkin_trace_info_packed trace;
};
_Static_assert(sizeof(struct head) == 64, "as it travels");

enum send_how { SEND_PLAIN, SEND_WRITEV, SEND_MSG };

enum fault_kind {
	FAULT_NONE,
	FAULT_ALTER_STORE,   /* stores other bytes than it received, sends on the right ones */
	FAULT_ALTER_FORWARD, /* the reverse */
	FAULT_FLIP,	     /* one bit of the buffer, before both */
	FAULT_DROP,	     /* acknowledged and sent on, but not stored */
	FAULT_KEEP,	     /* stored and acknowledged, but never sent on */
	FAULT_DUPLICATE,     /* sent on twice */
	FAULT_REORDER	     /* sent on behind the next one of the same connection */
};

struct fault {
	enum fault_kind kind;
	uint64_t object, pos, bytes; /* of FLIP, bytes is the number of the bit */
};

struct config {
	const char *name, *dir, *source, *truth;
	struct sockaddr_in listen, next, gets[GETS_MAX];
	bool has_next, sendfile;
	unsigned int gets_count, threads, storers, depth, sizes_count, limit_s, seconds, pace_us;
	uint64_t objects, sizes[SIZES_MAX];
	size_t cut_recv, cut_send, cut_store; /* bytes that one call moves at most */
	enum send_how how;
	struct fault fault;
	struct blkin_endpoint endpoint;
};
extern struct config config;

int run_node(void);
int run_client(void);
int run_make(void); /* files for --source */

/* Prints what failed with errno, and ends the process. */
void die(const char *what) __attribute__((noreturn));

/* CPU that the process took until now, in seconds. */
double cpu_s(void);

/* ---- wire.c ---- */

/* What is being done: for the truth. */
struct doing {
	const char *what;
	uint64_t object;
	const struct blkin_trace *span; /* NULL: none */
};

int wire_connect(const struct sockaddr_in *to);
/* The next head of a connection; false at its end. */
bool wire_head(int fd, const struct doing *d, struct head *ret);
void wire_receive(int fd, const struct doing *d, uint8_t *data, size_t size);
/* A head and what follows it, cut as the configuration has it. */
void wire_send(int fd, const struct doing *d, const struct head *h, const uint8_t *data);
/* A head alone; more: an object follows, by other means. */
void wire_reply(int fd, const struct doing *d, const struct head *to, int status, uint64_t size,
		bool more);

/* ---- truth.c ---- */

/* A call that was made: its bytes are those of the object, at pos. */
void truth_call(const struct doing *d, const char *call, int64_t pos, int64_t bytes, int64_t ret);
/* The last call of the thread read a head that this span sent. */
void truth_sender(const struct blkin_trace_info *sender);
void truth_span(const struct blkin_trace *t);
/* What a get brought: whether it is what was put. */
void truth_got(uint64_t object, unsigned int node, int status, bool same);
/* Writes it all where --truth says; role and counts at its head. */
void truth_write(const char *role, uint64_t done, double seconds);

/* A span of BlkKin: begun by its first annotation, ended by its last. parent NULL: a trace of its own. */
void span_first(struct blkin_trace *t, const struct blkin_trace_info *parent, const char *name,
		const char *event);
void span_last(const struct blkin_trace *t, const char *event);
