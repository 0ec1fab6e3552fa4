/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vocab.h: the fixed vocabularies of CODE columns. Codes are stored on disk: append only, never reuse.
 */
#pragma once

#include "base/util.h"

/* V(CODE, code, "word") */
/* clang-format off */
#define VOCAB_KIND(V) \
	V(KIND, SYSCALL, "syscall") V(KIND, IO_URING, "io_uring") V(KIND, LIBAIO, "libaio") \
	V(KIND, FAULT, "fault") \
	V(KIND, READ, "read") V(KIND, WRITE, "write") V(KIND, FLUSH, "flush") V(KIND, DISCARD, "discard")
/* Of requests to block devices: how an owner is known, and what a part is (schema/wire_block.h); of calls: why one
 * belongs to a span, or was caused by another (schema/flow_tables.h). */
#define VOCAB_VIA(V) \
	V(VIA, UNKNOWN, "unknown") V(VIA, CURRENT, "current") V(VIA, DIRTIED, "dirtied") \
	V(VIA, WAITER, "waiter") V(VIA, UPPER, "upper") V(VIA, RANGE, "range") \
	V(VIA, FIRST_WRITER, "first_writer") V(VIA, KERNEL, "kernel") V(VIA, FLUSH, "flush") \
	V(VIA, CONTEXT, "context") V(VIA, THREAD, "thread") V(VIA, WORK, "work") V(VIA, WAIT, "wait") \
	V(VIA, TIME, "time") \
	V(VIA, FORK, "fork") V(VIA, JOIN, "join") V(VIA, EXEC, "exec") V(VIA, CONNECT, "connect") \
	V(VIA, STREAM, "stream") V(VIA, DATAGRAM, "datagram") V(VIA, PIPE, "pipe") \
	V(VIA, EVENTFD, "eventfd") V(VIA, SIGNAL, "signal") V(VIA, FUTEX, "futex") V(VIA, LOCK, "lock") \
	V(VIA, STORAGE, "storage") V(VIA, PUBLISH, "publish") V(VIA, SYNC, "sync") V(VIA, URING, "uring")
#define VOCAB_ORIGIN(V) \
	V(ORIGIN, UNKNOWN, "unknown") V(ORIGIN, FILE, "file") V(ORIGIN, DEVICE, "device") \
	V(ORIGIN, METADATA, "metadata") V(ORIGIN, JOURNAL, "journal") V(ORIGIN, SWAP, "swap") \
	V(ORIGIN, DISCARD, "discard") V(ORIGIN, FLUSH, "flush") \
	V(ORIGIN, PREFLUSH, "preflush")
#define VOCAB_CLASS(V) \
	V(CLASS, DATA, "data") V(CLASS, META, "meta") V(CLASS, SYNC, "sync") \
	V(CLASS, NET, "net") V(CLASS, PROCESS, "process") V(CLASS, WAIT, "wait") \
	V(CLASS, OTHER, "other")
#define VOCAB_FILE_TYPE(V) \
	V(FILE_TYPE, UNKNOWN, "unknown") V(FILE_TYPE, REGULAR, "regular") V(FILE_TYPE, DIRECTORY, "directory") \
	V(FILE_TYPE, SYMLINK, "symlink") V(FILE_TYPE, CHAR, "char") V(FILE_TYPE, BLOCK, "block") \
	V(FILE_TYPE, PIPE, "pipe") V(FILE_TYPE, SOCKET, "socket") V(FILE_TYPE, ANON, "anon")
/* The causes of loss. Each loss is counted where it happened, and shown by every report that it can affect. */
#define VOCAB_CAUSE(V) \
	V(CAUSE, RING_FULL, "ring_full") V(CAUSE, RECURSION, "recursion") V(CAUSE, COMPAT, "compat") \
	V(CAUSE, UNPAIRED, "unpaired") V(CAUSE, STORAGE_FULL, "storage_full") V(CAUSE, PATH_CUT, "path_cut") \
	V(CAUSE, ARG_UNREAD, "argument_unread") V(CAUSE, NO_FILE, "no_file") V(CAUSE, THREAD_GAP, "thread_gap") \
	V(CAUSE, DISK_FULL, "disk_full") V(CAUSE, TORN, "torn") V(CAUSE, CORRUPT, "corrupt") \
	V(CAUSE, STOPPED, "stopped") V(CAUSE, HOLD_LIMIT, "hold_limit") V(CAUSE, DECODE, "decode") \
	V(CAUSE, WRITE_FAILED, "write_failed") V(CAUSE, RUNNING_UNREAD, "running_unread") \
	V(CAUSE, UNSENT, "unsent") V(CAUSE, SIDE_FULL, "side_full") \
	V(CAUSE, CPU_ONLINE, "cpu_online") V(CAUSE, STACK, "stack") V(CAUSE, SIDE_SKIPPED, "side_skipped") \
	V(CAUSE, SIDE_UNSEEN, "side_unseen") V(CAUSE, SIDE_STORAGE, "side_storage") \
	V(CAUSE, SIDE_UNREAD, "side_unread") V(CAUSE, CONTEXT, "context") \
	V(CAUSE, SPAN_FULL, "span_full") V(CAUSE, SPAN_UNREAD, "span_unread")
/* What happens on the wire: net.event. */
#define VOCAB_EVENT(V) \
	V(NET_EVENT, RETRANSMIT, "retransmit") V(NET_EVENT, RESET_SENT, "reset_sent") \
	V(NET_EVENT, RESET_RECEIVED, "reset_received") V(NET_EVENT, DROP, "drop") \
	V(NET_EVENT, LISTEN_DROP, "listen_drop") V(NET_EVENT, ZERO_WINDOW, "zero_window")
/* Why a thread left its CPU, and what woke it up: sched.why, sched.woken_by. */
#define VOCAB_WHY(V) \
	V(WHY, SLEEP, "sleep") V(WHY, IO, "io") V(WHY, PREEMPTED, "preempted") V(WHY, YIELD, "yield")
#define VOCAB_WOKEN_BY(V) \
	V(WOKEN_BY, THREAD, "thread") V(WOKEN_BY, SOFTIRQ, "softirq") V(WOKEN_BY, INTERRUPT, "interrupt")
#define VOCAB_IRQ_KIND(V) \
	V(IRQ_KIND, HARD, "hard") V(IRQ_KIND, SOFT, "soft")
/* The kernel's numbers, as in /proc/net/tcp; 0 is none. */
#define VOCAB_TCP_STATE(V) \
	V(TCP_STATE, NONE, "none") V(TCP_STATE, ESTABLISHED, "established") V(TCP_STATE, SYN_SENT, "syn_sent") \
	V(TCP_STATE, SYN_RECV, "syn_recv") V(TCP_STATE, FIN_WAIT1, "fin_wait1") V(TCP_STATE, FIN_WAIT2, "fin_wait2") \
	V(TCP_STATE, TIME_WAIT, "time_wait") V(TCP_STATE, CLOSE, "close") V(TCP_STATE, CLOSE_WAIT, "close_wait") \
	V(TCP_STATE, LAST_ACK, "last_ack") V(TCP_STATE, LISTEN, "listen") V(TCP_STATE, CLOSING, "closing") \
	V(TCP_STATE, NEW_SYN_RECV, "new_syn_recv")
/* Of spans: schema/span_tables.h. The first five kinds are in OpenTelemetry's order. */
#define VOCAB_SPAN_KIND(V) \
	V(SPAN_KIND, INTERNAL, "internal") V(SPAN_KIND, SERVER, "server") V(SPAN_KIND, CLIENT, "client") \
	V(SPAN_KIND, PRODUCER, "producer") V(SPAN_KIND, CONSUMER, "consumer")
#define VOCAB_SPAN_STATUS(V) \
	V(SPAN_STATUS, UNSET, "unset") V(SPAN_STATUS, OK, "ok") V(SPAN_STATUS, ERROR, "error") \
	V(SPAN_STATUS, RUNNING, "running") V(SPAN_STATUS, CUT, "cut")
#define VOCAB_SPAN_SOURCE(V) \
	V(SPAN_SOURCE, WEIR, "weir") V(SPAN_SOURCE, BLKIN, "blkin") V(SPAN_SOURCE, OTEL, "otel") \
	V(SPAN_SOURCE, MARKER, "marker") V(SPAN_SOURCE, PROBE, "probe") V(SPAN_SOURCE, IMPORT, "import") \
	V(SPAN_SOURCE, PERIOD, "period") V(SPAN_SOURCE, OBI, "obi")
/* Of content and causality: schema/flow_tables.h. */
#define VOCAB_WAY(V) V(WAY, IN, "in") V(WAY, OUT, "out")
#define VOCAB_FORM(V) \
	V(FORM, PIECE, "piece") V(FORM, PART, "part") V(FORM, BUFFER, "buffer") V(FORM, CUT, "cut") \
	V(FORM, PAYLOAD, "payload")
#define VOCAB_OUTCOME(V) \
	V(OUTCOME, HANDLED, "handled") V(OUTCOME, INCOMPLETE, "incomplete") V(OUTCOME, TRUNCATED, "truncated") \
	V(OUTCOME, LOST, "lost") V(OUTCOME, DISCARDED, "discarded") V(OUTCOME, ABSENT, "absent")
#define VOCAB_CERTAINTY(V) V(CERTAINTY, CERTAIN, "certain") V(CERTAINTY, CONTESTED, "contested")
/* clang-format on */

#define VOCAB_ENUM(P, N, s) P##_##N,
enum call_kind { VOCAB_KIND(VOCAB_ENUM) KIND_COUNT };
enum op_class { VOCAB_CLASS(VOCAB_ENUM) CLASS_COUNT };
enum file_type { VOCAB_FILE_TYPE(VOCAB_ENUM) FILE_TYPE_COUNT };
enum loss_cause { VOCAB_CAUSE(VOCAB_ENUM) CAUSE_COUNT };
enum block_via { VOCAB_VIA(VOCAB_ENUM) VIA_COUNT };
enum block_origin { VOCAB_ORIGIN(VOCAB_ENUM) ORIGIN_COUNT };
enum net_event { VOCAB_EVENT(VOCAB_ENUM) NET_EVENT_COUNT };
enum sched_why { VOCAB_WHY(VOCAB_ENUM) WHY_COUNT };
enum woken_by { VOCAB_WOKEN_BY(VOCAB_ENUM) WOKEN_BY_COUNT };
enum irq_kind { VOCAB_IRQ_KIND(VOCAB_ENUM) IRQ_KIND_COUNT };
enum tcp_state { VOCAB_TCP_STATE(VOCAB_ENUM) TCP_STATE_COUNT };
enum span_kind { VOCAB_SPAN_KIND(VOCAB_ENUM) SPAN_KIND_COUNT };
enum span_status { VOCAB_SPAN_STATUS(VOCAB_ENUM) SPAN_STATUS_COUNT };
enum span_source { VOCAB_SPAN_SOURCE(VOCAB_ENUM) SPAN_SOURCE_COUNT };
enum chunk_way { VOCAB_WAY(VOCAB_ENUM) WAY_COUNT };
enum chunk_form { VOCAB_FORM(VOCAB_ENUM) FORM_COUNT };
enum chunk_outcome { VOCAB_OUTCOME(VOCAB_ENUM) OUTCOME_COUNT };
enum edge_certainty { VOCAB_CERTAINTY(VOCAB_ENUM) CERTAINTY_COUNT };
#undef VOCAB_ENUM

/* True for reads, writes, metadata, sync and sockets, which count as I/O; processes, waits and the like do not. */
static inline bool class_is_io(int64_t class)
{
	return class >= CLASS_DATA && class <= CLASS_NET;
}

/* Rows of tables other than op are missing, but no calls. */
static inline bool cause_is_beside(enum loss_cause cause)
{
	return cause == CAUSE_SIDE_FULL || cause == CAUSE_SIDE_SKIPPED ||
	       cause == CAUSE_SIDE_UNSEEN || cause == CAUSE_SIDE_STORAGE ||
	       cause == CAUSE_SIDE_UNREAD || cause == CAUSE_CONTEXT || cause == CAUSE_SPAN_FULL ||
	       cause == CAUSE_SPAN_UNREAD;
}

/* Bits of op.status. */
enum op_status {
	STATUS_UNFINISHED = 1 << 0,  /* still running when recording stopped: ret is null */
	STATUS_INTERRUPTED = 1 << 1, /* -512 ... -516: will be restarted, ret as in the kernel */
	STATUS_DENIED = 1 << 2, /* seccomp or ptrace denied it: the kernel never entered the call */
	STATUS_CONTESTED = 1 << 3, /* pos may belong to another user of the same open file */
	STATUS_APPEND = 1 << 4,	   /* O_APPEND or RWF_APPEND: pos is i_size after - ret */
	STATUS_HELD = 1 << 5,	   /* weir delayed the program meanwhile, see held */
	STATUS_NO_START = 1 << 6,  /* entered before recording began */
	STATUS_NORETURN = 1 << 7,  /* exit, exit_group, or the thread died in it */
	STATUS_BY_PATH =
		1 << 8, /* the file was identified by its path after the call, not by the kernel */
	STATUS_ARG_UNREAD = 1 << 9, /* a path or structure argument could not be read completely */
	STATUS_SLEPT = 1 << 10,	    /* the thread slept in the call (gave up its CPU voluntarily) */
	/* Of requests of io_uring and libaio. */
	STATUS_NO_END = 1 << 16, /* it ended, unknown when and how: dur and ret are null */
	STATUS_SHOT = 1 << 17,	 /* one of several completions of a request (multishot) */
	STATUS_POLLED =
		1 << 18, /* a kernel thread took it from the ring: its submitter is unknown */
	STATUS_REAPED = 1 << 19,   /* its end is the time when a thread fetched the result */
	STATUS_OVERFLOW = 1 << 20, /* its completion did not fit into the program's ring */
	STATUS_UNSURE = 1 << 21,   /* it may be another request with the same user_data */
};

/* The word of a code in the vocabulary of `column`, or NULL if unknown. Covers kind, op, class, err, type, family,
 * cause, event, tcp_state, why, woken_by, irq_kind, span_kind, span_status, source, way, form, outcome, certainty. */
const char *vocab_word(const char *column, int64_t code);
/* The code of a word, or -1. */
int64_t vocab_code(const char *column, const char *word);
/* The i-th known code, or -1: enumerates the codes, which need not be dense, to build ENUM types. */
int64_t vocab_at(const char *column, size_t i);
