/* SPDX-License-Identifier: Apache-2.0 */
/* probe_tables.h: a table of events that no code knows: what weir does with it follows from this declaration alone. */
#pragma once

#define SCHEMA_EXTRA_TABLES(TABLE) \
	TABLE(PROBE, probe, EVENTS, PROBE_BEGAN, PROBE_TOOK, NO_COLUMN, "something that a test made up")

#define SCHEMA_PROBE(C)                                                                   \
	C(PROBE, probe, BEGAN, began, TIME, "ns", "when it began")                        \
	C(PROBE, probe, TOOK, took, DUR, "ns", "how long it took")                        \
	C(PROBE, probe, THREAD_ID, thread_id, ID, ">thread", "who did it")                \
	C(PROBE, probe, FILE_ID, file_id, ID, ">file", "to which file")                   \
	C(PROBE, probe, AMOUNT, amount, SIZE, "bytes", "how much")                        \
	C(PROBE, probe, LEVEL, level, INT, "", "a small number")                          \
	C(PROBE, probe, WORD, word, BYTES, "", "a text")
