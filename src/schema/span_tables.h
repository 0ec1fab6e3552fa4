/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_tables.h: the tables of requests: spans that a program marks, their notes, the contexts that threads carry, matches of
 * periods (analysis/periods/), and which calls belong to them (analysis/spans/). Declared as those of tables.h are.
 *
 * Ids of traces and spans are text as W3C's traceparent has them: 32 and 16 hexadecimal digits, lower case.
 */
#pragma once

#define SCHEMA_SPAN_TABLES(TABLE)                                                 \
	TABLE(SPAN, span, EVENTS, SPAN_START, SPAN_DUR, NO_COLUMN,                \
	      "an interval that means something to the program, which marked it") \
	TABLE(NOTE, note, EVENTS, NOTE_START, NO_COLUMN, NO_COLUMN,               \
	      "a point in time or a value that a program noted in a span")        \
	TABLE(CONTEXT, context, EVENTS, CONTEXT_START, CONTEXT_DUR, NO_COLUMN,    \
	      "a time for which a thread carried the context of a span")          \
	TABLE(PERIOD, period, MADE, PERIOD_START, PERIOD_DUR, NO_COLUMN,          \
	      "a match of a period's definition: a span that no program marked")  \
	TABLE(SPAN_OP, span_op, MADE, SPAN_OP_START, SPAN_OP_DUR, NO_COLUMN,      \
	      "a call that belongs to a span, and why")                           \
	TABLE(SPAN_SUM, span_sum, MADE, SPAN_SUM_START, SPAN_SUM_DUR, NO_COLUMN,  \
	      "where the time of a span went, with all that is below it")

/* Of table span, and of period, whose rows are spans that were found afterwards. */
#define SCHEMA_SPAN_COLUMNS(C, T, t)                                                               \
	C(T, t, START, start, TIME, "ns", "when it began")                                         \
	C(T, t, DUR, dur, DUR, "ns",                                                               \
	  "how long it took, up to but without its end; null: it was still running when "          \
	  "recording ended")                                                                       \
	C(T, t, NUMBER, number, INT, "",                                                           \
	  "its number: span_op and note refer to it; of a match the same whenever it is made "     \
	  "again")                                                                                 \
	C(T, t, PARENT, parent, INT, "",                                                           \
	  "the number of its parent; null: it has none, or the parent is not in this trace")       \
	C(T, t, TRACE_ID, trace_id, BYTES, "", "the trace that it is part of: 32 digits, or null") \
	C(T, t, SPAN_ID, span_id, BYTES, "", "its id in that trace: 16 digits, or null")           \
	C(T, t, PARENT_ID, parent_id, BYTES, "", "the id of its parent: 16 digits, or null")       \
	C(T, t, NAME, name, BYTES, "", "what it is: the name that the program or definition gave") \
	C(T, t, SERVICE, service, BYTES, "", "the service, as it names itself; else null")         \
	C(T, t, SPAN_KIND, span_kind, CODE, "", "internal, server, client, producer, consumer")    \
	C(T, t, SPAN_STATUS, span_status, CODE, "",                                                \
	  "unset, ok, error, running (recording ended before it did), cut (by its parent's end, "  \
	  "by loss, by the end of its process)")                                                   \
	C(T, t, SOURCE, source, CODE, "", "weir, blkin, otel, marker, probe, import, period")      \
	C(T, t, THREAD_ID, thread_id, ID, ">thread", "the thread that began it; null: not known")  \
	C(T, t, ATTRIBUTES, attributes, BYTES, "",                                                 \
	  "what it was given as key and value: one JSON object; null: nothing")

#define SCHEMA_SPAN(C)	 SCHEMA_SPAN_COLUMNS(C, SPAN, span)
#define SCHEMA_PERIOD(C) SCHEMA_SPAN_COLUMNS(C, PERIOD, period)

#define SCHEMA_NOTE(C)                                                                    \
	C(NOTE, note, START, start, TIME, "ns", "when")                                   \
	C(NOTE, note, NUMBER, number, INT, "", "the number of its span; null: not known") \
	C(NOTE, note, TRACE_ID, trace_id, BYTES, "", "as of its span")                    \
	C(NOTE, note, SPAN_ID, span_id, BYTES, "", "as of its span")                      \
	C(NOTE, note, THREAD_ID, thread_id, ID, ">thread", "the thread that noted it")    \
	C(NOTE, note, NAME, name, BYTES, "", "the key, or the event")                     \
	C(NOTE, note, TEXT, text, BYTES, "", "the value; null: it is a point in time alone")

#define SCHEMA_CONTEXT(C)                                                                    \
	C(CONTEXT, context, START, start, TIME, "ns", "from the first call that carried it") \
	C(CONTEXT, context, DUR, dur, DUR, "ns",                                             \
	  "until the end of the last call that did before another context, or none")         \
	C(CONTEXT, context, THREAD_ID, thread_id, ID, ">thread", "the thread's version")     \
	C(CONTEXT, context, TRACE_ID, trace_id, BYTES, "", "32 digits")                      \
	C(CONTEXT, context, SPAN_ID, span_id, BYTES, "", "16 digits")                        \
	C(CONTEXT, context, SERVICE, service, BYTES, "", "of the process; null: not known")  \
	C(CONTEXT, context, SOURCE, source, CODE, "", "who published it: otel, obi")         \
	C(CONTEXT, context, UNSURE, unsure, INT, "",                                         \
	  "1: another request's perhaps: the thread runs a loop, or was forked with it")

#define SCHEMA_SPAN_OP(C)                                                                        \
	C(SPAN_OP, span_op, START, start, TIME, "ns", "start of the call")                       \
	C(SPAN_OP, span_op, DUR, dur, DUR, "ns", "the part of the call that lies in the span")   \
	C(SPAN_OP, span_op, NUMBER, number, INT, "", "the number of the span")                   \
	C(SPAN_OP, span_op, ROW_ID, op_id, INT, ">op", "the call")                               \
	C(SPAN_OP, span_op, THREAD_ID, thread_id, ID, ">thread", "of the call")                  \
	C(SPAN_OP, span_op, VIA, via, CODE, "",                                                  \
	  "why it belongs: context (the thread carried the span's id), thread (the innermost "   \
	  "span open on it), work (carried on by another), wait (the span waited for it), time " \
	  "(it overlaps: nothing more is known)")

/* The parts of the time, from program to other, add up to dur. */
#define SCHEMA_SPAN_SUM(C)                                                                        \
	C(SPAN_SUM, span_sum, START, start, TIME, "ns", "when it began")                          \
	C(SPAN_SUM, span_sum, DUR, dur, DUR, "ns",                                                \
	  "how long it took; so far, where it was still running")                                 \
	C(SPAN_SUM, span_sum, NUMBER, number, INT, "", "the number of the span")                  \
	C(SPAN_SUM, span_sum, PARENT, parent, INT, "",                                            \
	  "the number of its parent; null: it has none in this trace")                            \
	C(SPAN_SUM, span_sum, NAME, name, BYTES, "", "its name")                                  \
	C(SPAN_SUM, span_sum, SPAN_STATUS, span_status, CODE, "", "as of its span")               \
	C(SPAN_SUM, span_sum, THREAD_ID, thread_id, ID, ">thread", "the thread that began it")    \
	C(SPAN_SUM, span_sum, SELF, self, DUR, "ns", "its time without the spans directly below") \
	C(SPAN_SUM, span_sum, CALLS, calls, INT, "", "its calls")                                 \
	C(SPAN_SUM, span_sum, ERRORS, errors, INT, "", "of them failed")                          \
	C(SPAN_SUM, span_sum, BYTES, bytes, SIZE, "bytes", "that they moved")                     \
	C(SPAN_SUM, span_sum, PROGRAM, program, DUR, "ns", "part of its time in no call")         \
	C(SPAN_SUM, span_sum, STALLED, stalled, DUR, "ns",                                        \
	  "in no call and without a CPU (record --with sched)")                                   \
	C(SPAN_SUM, span_sum, DATA, data, DUR, "ns", "in calls of that class")                    \
	C(SPAN_SUM, span_sum, META, meta, DUR, "ns", "likewise")                                  \
	C(SPAN_SUM, span_sum, SYNC, sync, DUR, "ns", "likewise")                                  \
	C(SPAN_SUM, span_sum, NET, net, DUR, "ns", "likewise")                                    \
	C(SPAN_SUM, span_sum, LOCK, lock, DUR, "ns", "in futexes, while no other call of it ran") \
	C(SPAN_SUM, span_sum, WAIT, wait, DUR, "ns", "in other calls that wait, likewise")        \
	C(SPAN_SUM, span_sum, OTHER, other, DUR, "ns", "in other calls")                          \
	C(SPAN_SUM, span_sum, WAITED, waited, DUR, "ns",                                          \
	  "of calls of other threads that it waited for; in no other column")                     \
	C(SPAN_SUM, span_sum, PEER_ID, peer_id, ID, ">file",                                      \
	  "the socket of the peer for whose answers it waited longest")                           \
	C(SPAN_SUM, span_sum, TURNS, turns, INT, "",                                              \
	  "how often it wrote to that peer and then read from it")                                \
	C(SPAN_SUM, span_sum, TURN_TIME, turn_time, DUR, "ns",                                    \
	  "from the ends of these writes to the ends of the first reads behind them")             \
	C(SPAN_SUM, span_sum, TURN_LONGEST, turn_longest, DUR, "ns", "the longest of them")
