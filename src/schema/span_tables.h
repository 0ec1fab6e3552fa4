/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_tables.h: the tables of requests: spans that a program marks, their notes, the contexts that threads carry,
 * matches of periods (analysis/periods/), and the calls that belong to them (analysis/spans/). Declared like those of
 * tables.h.
 *
 * Ids of traces and spans are text as in W3C's traceparent: 32 and 16 lower-case hexadecimal digits.
 */
#pragma once

#define SCHEMA_SPAN_TABLES(TABLE)                                                \
	TABLE(SPAN, span, EVENTS, SPAN_START, SPAN_DUR, NO_COLUMN,               \
	      "an interval marked by the program")                               \
	TABLE(NOTE, note, EVENTS, NOTE_START, NO_COLUMN, NO_COLUMN,              \
	      "a point in time or a value that a program recorded in a span")    \
	TABLE(CONTEXT, context, EVENTS, CONTEXT_START, CONTEXT_DUR, NO_COLUMN,   \
	      "a period during which a thread carried the context of a span")    \
	TABLE(PERIOD, period, MADE, PERIOD_START, PERIOD_DUR, NO_COLUMN,         \
	      "a match of a period definition: a span that no program marked")   \
	TABLE(SPAN_OP, span_op, MADE, SPAN_OP_START, SPAN_OP_DUR, NO_COLUMN,     \
	      "a call that belongs to a span, and why")                          \
	TABLE(SPAN_SUM, span_sum, MADE, SPAN_SUM_START, SPAN_SUM_DUR, NO_COLUMN, \
	      "how the time of a span was spent, including the spans below it")

/* Columns of span, and of period, whose rows are spans found after recording. */
#define SCHEMA_SPAN_COLUMNS(C, T, t)                                                              \
	C(T, t, START, start, TIME, "ns", "start")                                                \
	C(T, t, DUR, dur, DUR, "ns",                                                              \
	  "duration, excluding the end itself; null: it was still running when recording ended")  \
	C(T, t, NUMBER, number, INT, "",                                                          \
	  "its number, referenced by span_op and note; for a match, stable when recomputed")      \
	C(T, t, PARENT, parent, INT, "",                                                          \
	  "the number of its parent; null: no parent, or not in this trace")                      \
	C(T, t, TRACE_ID, trace_id, BYTES, "", "the trace it is part of: 32 digits, or null")     \
	C(T, t, SPAN_ID, span_id, BYTES, "", "its id in that trace: 16 digits, or null")          \
	C(T, t, PARENT_ID, parent_id, BYTES, "", "the id of its parent: 16 digits, or null")      \
	C(T, t, NAME, name, BYTES, "", "its name, as given by the program or definition")         \
	C(T, t, SERVICE, service, BYTES, "", "the service, if it names itself; else null")        \
	C(T, t, SPAN_KIND, span_kind, CODE, "", "internal, server, client, producer, consumer")   \
	C(T, t, SPAN_STATUS, span_status, CODE, "",                                               \
	  "unset, ok, error, running (recording ended before it did), cut (by its parent's end, " \
	  "by loss, by the end of its process)")                                                  \
	C(T, t, SOURCE, source, CODE, "", "weir, blkin, otel, marker, probe, import, period")     \
	C(T, t, THREAD_ID, thread_id, ID, ">thread", "the thread that began it; null: unknown")   \
	C(T, t, ATTRIBUTES, attributes, BYTES, "", "its attributes: one JSON object; null: none")

#define SCHEMA_SPAN(C)	 SCHEMA_SPAN_COLUMNS(C, SPAN, span)
#define SCHEMA_PERIOD(C) SCHEMA_SPAN_COLUMNS(C, PERIOD, period)

#define SCHEMA_NOTE(C)                                                                    \
	C(NOTE, note, START, start, TIME, "ns", "when")                                   \
	C(NOTE, note, NUMBER, number, INT, "", "the number of its span; null: unknown")   \
	C(NOTE, note, TRACE_ID, trace_id, BYTES, "", "as of its span")                    \
	C(NOTE, note, SPAN_ID, span_id, BYTES, "", "as of its span")                      \
	C(NOTE, note, THREAD_ID, thread_id, ID, ">thread", "the thread that recorded it") \
	C(NOTE, note, NAME, name, BYTES, "", "the key, or the event")                     \
	C(NOTE, note, TEXT, text, BYTES, "", "the value; null: a point in time without a value")

#define SCHEMA_CONTEXT(C)                                                                      \
	C(CONTEXT, context, START, start, TIME, "ns", "from the first call that carried it")   \
	C(CONTEXT, context, DUR, dur, DUR, "ns", "until the end of the last call with it")     \
	C(CONTEXT, context, THREAD_ID, thread_id, ID, ">thread", "the thread's version")       \
	C(CONTEXT, context, TRACE_ID, trace_id, BYTES, "", "32 digits")                        \
	C(CONTEXT, context, SPAN_ID, span_id, BYTES, "", "16 digits")                          \
	C(CONTEXT, context, SERVICE, service, BYTES, "", "of the process; null: unknown")      \
	C(CONTEXT, context, SOURCE, source, CODE, "", "its publisher: otel, obi")              \
	C(CONTEXT, context, UNSURE, unsure, INT, "",                                           \
	  "1: it may belong to another request: the thread runs an event loop, or was forked " \
	  "with it")

#define SCHEMA_SPAN_OP(C)                                                                         \
	C(SPAN_OP, span_op, START, start, TIME, "ns", "start of the call")                        \
	C(SPAN_OP, span_op, DUR, dur, DUR, "ns", "the part of the call within the span")          \
	C(SPAN_OP, span_op, NUMBER, number, INT, "", "the number of the span")                    \
	C(SPAN_OP, span_op, ROW_ID, op_id, INT, ">op", "the call")                                \
	C(SPAN_OP, span_op, THREAD_ID, thread_id, ID, ">thread", "of the call")                   \
	C(SPAN_OP, span_op, VIA, via, CODE, "",                                                   \
	  "why it belongs: context (the thread carried the span's id), thread (the innermost "    \
	  "span open on it), work (continued by another thread), wait (the span waited for it), " \
	  "time (it overlaps in time; nothing else is known)")

/* The columns from program to other are parts of dur and add up to it. */
#define SCHEMA_SPAN_SUM(C)                                                                        \
	C(SPAN_SUM, span_sum, START, start, TIME, "ns", "start")                                  \
	C(SPAN_SUM, span_sum, DUR, dur, DUR, "ns", "duration; so far, if it was still running")   \
	C(SPAN_SUM, span_sum, NUMBER, number, INT, "", "the number of the span")                  \
	C(SPAN_SUM, span_sum, PARENT, parent, INT, "",                                            \
	  "the number of its parent; null: none in this trace")                                   \
	C(SPAN_SUM, span_sum, NAME, name, BYTES, "", "its name")                                  \
	C(SPAN_SUM, span_sum, SPAN_STATUS, span_status, CODE, "", "as of its span")               \
	C(SPAN_SUM, span_sum, THREAD_ID, thread_id, ID, ">thread", "the thread that began it")    \
	C(SPAN_SUM, span_sum, SELF, self, DUR, "ns", "its time without its direct child spans")   \
	C(SPAN_SUM, span_sum, CALLS, calls, INT, "", "its calls")                                 \
	C(SPAN_SUM, span_sum, ERRORS, errors, INT, "", "failed calls")                            \
	C(SPAN_SUM, span_sum, BYTES, bytes, SIZE, "bytes", "bytes moved by them")                 \
	C(SPAN_SUM, span_sum, PROGRAM, program, DUR, "ns", "part of its time outside calls")      \
	C(SPAN_SUM, span_sum, STALLED, stalled, DUR, "ns",                                        \
	  "outside calls and without a CPU (record --with sched)")                                \
	C(SPAN_SUM, span_sum, DATA, data, DUR, "ns", "in calls of that class")                    \
	C(SPAN_SUM, span_sum, META, meta, DUR, "ns", "likewise")                                  \
	C(SPAN_SUM, span_sum, SYNC, sync, DUR, "ns", "likewise")                                  \
	C(SPAN_SUM, span_sum, NET, net, DUR, "ns", "likewise")                                    \
	C(SPAN_SUM, span_sum, LOCK, lock, DUR, "ns", "in futexes, while no other call of it ran") \
	C(SPAN_SUM, span_sum, WAIT, wait, DUR, "ns",                                              \
	  "in other waiting calls, while no other call of it ran")                                \
	C(SPAN_SUM, span_sum, OTHER, other, DUR, "ns", "in other calls")                          \
	C(SPAN_SUM, span_sum, WAITED, waited, DUR, "ns",                                          \
	  "time of calls of other threads that it waited for; in no other column")                \
	C(SPAN_SUM, span_sum, PEER_ID, peer_id, ID, ">file",                                      \
	  "the socket of the peer that it waited for longest")                                    \
	C(SPAN_SUM, span_sum, TURNS, turns, INT, "",                                              \
	  "number of writes to that peer followed by a read from it")                             \
	C(SPAN_SUM, span_sum, TURN_TIME, turn_time, DUR, "ns",                                    \
	  "total time from the end of these writes to the end of the first reads after them")     \
	C(SPAN_SUM, span_sum, TURN_LONGEST, turn_longest, DUR, "ns", "the longest of them")
