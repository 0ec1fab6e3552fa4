/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_tables.h: a table of events, and one that is made after recording (tally.c), unknown to all code: weir
 * handles them by these declarations alone.
 */
#pragma once

#define SCHEMA_EXTRA_TABLES(TABLE)                                      \
	TABLE(PROBE, probe, EVENTS, PROBE_BEGAN, PROBE_TOOK, NO_COLUMN, \
	      "something that a test made up")                          \
	TABLE(TALLY, tally, MADE, TALLY_BEGAN, TALLY_TOOK, NO_COLUMN,   \
	      "what a test worked out of a call")

#define SCHEMA_PROBE(C)                                                    \
	C(PROBE, probe, BEGAN, began, TIME, "ns", "when it began")         \
	C(PROBE, probe, TOOK, took, DUR, "ns", "how long it took")         \
	C(PROBE, probe, THREAD_ID, thread_id, ID, ">thread", "who did it") \
	C(PROBE, probe, FILE_ID, file_id, ID, ">file", "to which file")    \
	C(PROBE, probe, AMOUNT, amount, SIZE, "bytes", "how much")         \
	C(PROBE, probe, LEVEL, level, INT, "", "a small number")           \
	C(PROBE, probe, WORD, word, BYTES, "", "a text")

#define SCHEMA_TALLY(C)                                                              \
	C(TALLY, tally, CALL_ID, call_id, ID, ">op", "the call")                     \
	C(TALLY, tally, BEGAN, began, TIME, "ns", "when it began")                   \
	C(TALLY, tally, TOOK, took, DUR, "ns", "how long it took")                   \
	C(TALLY, tally, THREAD_ID, thread_id, ID, ">thread", "who did it")           \
	C(TALLY, tally, FILE_ID, file_id, ID, ">file", "to which file")              \
	C(TALLY, tally, OP, op, CODE, "", "the operation")                           \
	C(TALLY, tally, PART, part, INT, "", "0 to 3")                               \
	C(TALLY, tally, MADE_BY, made_by, INT, "", "the version of the computation") \
	C(TALLY, tally, WORD, word, BYTES, "", "a text")
