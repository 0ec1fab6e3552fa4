/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_tables.h: the tables of content and causality: the bytes that calls moved (record --content), and which events
 * caused which (analysis/flow/). Declared like those of tables.h.
 */
#pragma once

#define SCHEMA_FLOW_TABLES(TABLE)                                             \
	TABLE(CHUNK, chunk, EVENTS, CHUNK_START, CHUNK_DUR, NO_COLUMN,        \
	      "the fingerprint of one piece of data that a call moved")       \
	TABLE(EDGE, edge, MADE, EDGE_START, EDGE_DUR, NO_COLUMN,              \
	      "one operation that happened because of, or after, another")    \
	TABLE(VERDICT, verdict, MADE, VERDICT_START, VERDICT_DUR, NO_COLUMN,  \
	      "a data error found by weir flow")                              \
	TABLE(DETAIL, detail, EVENTS, DETAIL_START, DETAIL_DUR, NO_COLUMN,    \
	      "a piece of memory that an argument of a call points to")       \
	TABLE(SIGNAL, signal, EVENTS, SIGNAL_AT, NO_COLUMN, NO_COLUMN,        \
	      "a signal that a thread received, or that its process ignored") \
	TABLE(CLOCK, clock, MADE, CLOCK_SINCE, NO_COLUMN, CLOCK_UNTIL,        \
	      "how far the clock of one recording is ahead of another's")

#define SCHEMA_CHUNK(C)                                                                            \
	C(CHUNK, chunk, START, start, TIME, "ns",                                                  \
	  "end of the call; with thread_id it identifies the call's row")                          \
	C(CHUNK, chunk, DUR, dur, DUR, "ns", "of the call")                                        \
	C(CHUNK, chunk, THREAD_ID, thread_id, ID, ">thread", "the thread's version")               \
	C(CHUNK, chunk, OP, op, CODE, "", "the operation: read, sendto, splice, ...")              \
	C(CHUNK, chunk, FILE_ID, file_id, ID, ">file", "the file, socket or pipe on this side")    \
	C(CHUNK, chunk, WAY, way, CODE, "",                                                        \
	  "in (from the file to the program) or out; copies within the kernel have both")          \
	C(CHUNK, chunk, POS, pos, INT, "bytes",                                                    \
	  "position in the file or stream; for TCP by sequence numbers; null: unknown")            \
	C(CHUNK, chunk, CALL_POS, call_pos, INT, "bytes",                                          \
	  "offset in the bytes that the call moved")                                               \
	C(CHUNK, chunk, SIZE, size, SIZE, "bytes", "its length")                                   \
	C(CHUNK, chunk, FORM, form, CODE, "",                                                      \
	  "piece (4 KiB of the file or stream, whole), part (of such a piece: parts add up), "     \
	  "buffer (from the start of the call's bytes, where pos is not aligned), cut (bounds by " \
	  "content), payload (the bytes themselves)")                                              \
	C(CHUNK, chunk, HASH, hash, UINT, "", "its hash; null if it was not read")                 \
	C(CHUNK, chunk, OUTCOME, outcome, CODE, "",                                                \
	  "handled, incomplete (edge bytes are missing), truncated, lost, discarded (sampled "     \
	  "out), absent (not in memory)")                                                          \
	C(CHUNK, chunk, CONTESTED, contested, INT, "",                                             \
	  "1: pos may belong to another call that moved bytes of the stream at the same time")     \
	C(CHUNK, chunk, HEAD, head, BYTES, "",                                                     \
	  "of a part: the bytes before its first whole word, which no hash covers")                \
	C(CHUNK, chunk, TAIL, tail, BYTES, "", "of a part: the bytes after its last whole word")   \
	C(CHUNK, chunk, CONTENT, content, BYTES, "", "the bytes (--content=bytes)")                \
	C(CHUNK, chunk, PEER_ID, peer_id, ID, ">file",                                             \
	  "the address of a message of sendmmsg or recvmmsg; null: it has none, or it is unknown")

/* The address is in an argument of the call (a0 to a5), or in another detail row of the call. */
#define SCHEMA_DETAIL(C)                                                                          \
	C(DETAIL, detail, START, start, TIME, "ns",                                               \
	  "end of the call; with thread_id it identifies the call's row")                         \
	C(DETAIL, detail, DUR, dur, DUR, "ns", "of the call")                                     \
	C(DETAIL, detail, THREAD_ID, thread_id, ID, ">thread", "the thread's version")            \
	C(DETAIL, detail, OP, op, CODE, "", "the operation: newfstatat, poll, sendmsg, ...")      \
	C(DETAIL, detail, ADDRESS, address, UINT, "", "address in the program's memory")          \
	C(DETAIL, detail, WAS, was, INT, "",                                                      \
	  "for a length that the call changed: the value passed in; for a set of descriptors 1: " \
	  "the set passed in; else null")                                                         \
	C(DETAIL, detail, CONTENT, content, BYTES, "", "the bytes, as left by the call")

#define SCHEMA_SIGNAL(C)                                                                       \
	C(SIGNAL, signal, AT, time, TIME, "ns", "when it was received or ignored")             \
	C(SIGNAL, signal, THREAD_ID, thread_id, ID, ">thread", "the thread's version")         \
	C(SIGNAL, signal, NUMBER, number, INT, "", "signal number: 17 is SIGCHLD")             \
	C(SIGNAL, signal, CODE, code, INT, "", "si_code: SI_USER, CLD_EXITED, SEGV_MAPERR")    \
	C(SIGNAL, signal, ERROR, error, INT, "", "si_errno, if not 0")                         \
	C(SIGNAL, signal, PID, pid, INT, "",                                                   \
	  "the sending process, or for SIGCHLD the child, in the pid namespace of the thread") \
	C(SIGNAL, signal, UID, uid, INT, "", "the user of that process")                       \
	C(SIGNAL, signal, STATUS, status, INT, "", "SIGCHLD: exit status or signal")           \
	C(SIGNAL, signal, UTIME, utime, INT, "", "SIGCHLD: the child's user time, in ticks")   \
	C(SIGNAL, signal, STIME, stime, INT, "", "SIGCHLD: the child's system time, in ticks") \
	C(SIGNAL, signal, ADDRESS, address, UINT, "", "faults: the address")                   \
	C(SIGNAL, signal, IGNORED, ignored, INT, "", "1: the process ignores it")

/* Operations are identified by row_id, as in span_op: that of calls in the traces read together. */
#define SCHEMA_EDGE(C)                                                                             \
	C(EDGE, edge, START, start, TIME, "ns", "start of the first call")                         \
	C(EDGE, edge, DUR, dur, DUR, "ns", "from there to the end of the second call")             \
	C(EDGE, edge, FROM, from_op, INT, ">op", "the call that came first")                       \
	C(EDGE, edge, TO, to_op, INT, ">op", "the call that followed from it")                     \
	C(EDGE, edge, FROM_THREAD, from_thread_id, ID, ">thread", "the thread of the first")       \
	C(EDGE, edge, TO_THREAD, to_thread_id, ID, ">thread", "the thread of the second")          \
	C(EDGE, edge, VIA, via, CODE, "",                                                          \
	  "fork, join, exec, connect, stream, datagram, pipe, eventfd, signal, futex, lock, "      \
	  "storage, publish, sync, uring, context")                                                \
	C(EDGE, edge, CERTAINTY, certainty, CODE, "",                                              \
	  "certain, or contested: it may have been another call")                                  \
	C(EDGE, edge, FILE_ID, file_id, ID, ">file", "the file or stream that joins them, if any") \
	C(EDGE, edge, POS, pos, INT, "bytes", "position in it of the bytes that both moved")       \
	C(EDGE, edge, BYTES, bytes, SIZE, "bytes", "number of these bytes")

#define SCHEMA_VERDICT(C)                                                                        \
	C(VERDICT, verdict, START, start, TIME, "ns", "start of the first of the two calls")     \
	C(VERDICT, verdict, DUR, dur, DUR, "ns", "from there to the end of the second")          \
	C(VERDICT, verdict, VERDICT, verdict, BYTES, "",                                         \
	  "altered, altered-between, misplaced, sent-never-stored, stored-never-sent, "          \
	  "never-stored, never-sent, replicas-differ, sent-twice, re-ordered, "                  \
	  "never-received, received-twice, received-late or read-back-differs")                  \
	C(VERDICT, verdict, PROCESS_ID, process_id, ID, ">process",                              \
	  "the process at fault; null: it may be one of several, or none")                       \
	C(VERDICT, verdict, THREAD_ID, thread_id, ID, ">thread", "its thread")                   \
	C(VERDICT, verdict, FILE_ID, file_id, ID, ">file", "the file of the bytes")              \
	C(VERDICT, verdict, POS, pos, SIZE, "bytes", "start of the bytes in the file")           \
	C(VERDICT, verdict, STOP_POS, stop_pos, SIZE, "bytes", "end of the bytes in the file")   \
	C(VERDICT, verdict, FIRST, first_op, INT, ">op",                                         \
	  "the first call; null: there is only one")                                             \
	C(VERDICT, verdict, SECOND, second_op, INT, ">op", "the second")                         \
	C(VERDICT, verdict, FIRST_CALL, first_call, BYTES, "", "the first call and its peer")    \
	C(VERDICT, verdict, SECOND_CALL, second_call, BYTES, "", "the second call and its peer") \
	C(VERDICT, verdict, SEEN, seen, BYTES, "",                                               \
	  "a second observation: the contents of replicas")                                      \
	C(VERDICT, verdict, NOTE, note, BYTES, "", "what else may explain it")

/* One row for each recording whose times are corrected: `ahead` is subtracted from all of them, so that intervals
 * within the recording do not change. */
#define SCHEMA_CLOCK(C)                                                                       \
	C(CLOCK, clock, SINCE, since, TIME, "ns",                                             \
	  "time of the first bytes that the bounds are derived from")                         \
	C(CLOCK, clock, UNTIL, until, TIME, "ns", "time of the last ones")                    \
	C(CLOCK, clock, OF_HOST, of_host, BYTES, "", "its host")                              \
	C(CLOCK, clock, OF_RECORDING, of_recording, UINT, "", "key of the recording")         \
	C(CLOCK, clock, AGAINST, against, BYTES, "", "the host of the reference clock")       \
	C(CLOCK, clock, AHEAD, ahead, DUR, "ns",                                              \
	  "offset subtracted from every time of the recording")                               \
	C(CLOCK, clock, BOUND, bound, DUR, "ns",                                              \
	  "maximum error of a corrected time, from since to until")                           \
	C(CLOCK, clock, DRIFT_LOW, drift_low, INT, "ppb",                                     \
	  "bounds of its drift relative to the other; null: it was set or slewed in between") \
	C(CLOCK, clock, DRIFT_HIGH, drift_high, INT, "ppb", "likewise")                       \
	C(CLOCK, clock, PAIRS, pairs, INT, "",                                                \
	  "sends and receives that the bounds are derived from")
