/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objstore.h: a replicated object store: a client puts objects on the first node, which forwards them to the second,
 * and so on down the chain. A node stores an object as a file (pwrite, fdatasync, rename); a pool of threads stores
 * it while the worker forwards it. Each put is one BlkKin trace over all processes: client.put, and on each node
 * node.receive, node.store, node.forward.
 *
 * The store is instrumented only with BlkKin's interface, like a program written for it. It can print what it did as
 * JSON (--truth): every call that moved bytes of an object, with the span in which it was made.
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

/* Precedes every message, in both directions, in this machine's byte order; BlkKin's ids in their own. */
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
	FAULT_ALTER_STORE,   /* stores altered bytes, forwards the right ones */
	FAULT_ALTER_FORWARD, /* stores the right bytes, forwards altered ones */
	FAULT_FLIP,	     /* flips one bit of the buffer before both */
	FAULT_DROP,	     /* acknowledges and forwards, but does not store */
	FAULT_KEEP,	     /* stores and acknowledges, but never forwards */
	FAULT_DUPLICATE,     /* forwards twice */
	FAULT_REORDER	     /* forwards after the next one of the same connection */
};

struct fault {
	enum fault_kind kind;
	uint64_t object, pos, bytes; /* for FLIP, bytes is the number of the bit */
};

struct config {
	const char *name, *dir, *source, *truth;
	struct sockaddr_in listen, next, gets[GETS_MAX];
	bool has_next, sendfile;
	unsigned int gets_count, threads, storers, depth, sizes_count, limit_s, seconds, pace_us;
	uint64_t objects, sizes[SIZES_MAX];
	size_t cut_recv, cut_send, cut_store; /* maximum bytes per call */
	enum send_how how;
	struct fault fault;
	struct blkin_endpoint endpoint;
};
extern struct config config;

int run_node(void);
int run_client(void);
int run_make(void); /* files for --source */

/* Prints what failed, with errno, and ends the process. */
void die(const char *what) __attribute__((noreturn));

/* CPU time of the process so far, in seconds. */
double cpu_s(void);

/* ---- wire.c ---- */

/* The current action, for the truth. */
struct doing {
	const char *what;
	uint64_t object;
	const struct blkin_trace *span; /* NULL: none */
};

int wire_connect(const struct sockaddr_in *to);
/* Reads the next head from a connection; false at its end. */
bool wire_head(int fd, const struct doing *d, struct head *ret);
void wire_receive(int fd, const struct doing *d, uint8_t *data, size_t size);
/* Sends a head and the data after it, cut as configured. */
void wire_send(int fd, const struct doing *d, const struct head *h, const uint8_t *data);
/* Sends only a head; more: an object follows by other means. */
void wire_reply(int fd, const struct doing *d, const struct head *to, int status, uint64_t size,
		bool more);

/* ---- truth.c ---- */

/* Notes a call: its bytes are those of the object, at pos. */
void truth_call(const struct doing *d, const char *call, int64_t pos, int64_t bytes, int64_t ret);
/* Notes that the thread's last call read a head sent by this span. */
void truth_sender(const struct blkin_trace_info *sender);
void truth_span(const struct blkin_trace *t);
/* Notes the result of a get: whether it is what was put. */
void truth_got(uint64_t object, unsigned int node, int status, bool same);
/* Writes everything to the file of --truth, starting with role and counts. */
void truth_write(const char *role, uint64_t done, double seconds);

/* Begins a span of BlkKin: its first annotation begins it, its last ends it. parent NULL: in a new trace. */
void span_first(struct blkin_trace *t, const struct blkin_trace_info *parent, const char *name,
		const char *event);
void span_last(const struct blkin_trace *t, const char *event);
