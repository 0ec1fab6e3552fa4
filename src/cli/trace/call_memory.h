/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_memory.h: the memory that arguments of a call point to, if it was recorded (--with details, trace -s,
 * --content=bytes), as strace prints it; only for call_text.c.
 */
#pragma once

#include <string.h>

#include "cli/trace/call_names.h"

/* The memory at an address after the call; {NULL, 0}: not recorded. */
struct bytes call_memory(const struct call_writer *w, uint64_t address);
/* The memory before the call, for a set of descriptors. *ret_was: the previous value, if it is not a set. */
struct bytes call_memory_was(const struct call_writer *w, uint64_t address, int64_t *ret_was);
/* True if details of calls were recorded: an address without memory was then not read, or filled, by the call. */
bool call_memory_recorded(const struct call_writer *w);
/* The content that the call moved, from its first byte on; possibly only a part. */
struct bytes call_memory_content(const struct call_writer *w);
/* The address in argument `i`; 0: NULL or not recorded. */
uint64_t call_memory_address(const struct call_writer *w, unsigned int i);

/* Prints argument `i` as the structure that it points to. False: its memory is unknown, and nothing was printed. */
bool call_put_struct(struct call_writer *w, unsigned int i);
/*
 * Prints a path as the program gave it, followed by the opened file if that has another path: "link" -> "/a/file".
 * False: the given path is unknown.
 */
bool call_put_path_given(struct call_writer *w, unsigned int i, int64_t file_id);
/* "abc", followed by ... if it is less than `whole` bytes. */
void call_put_content(struct call_writer *w, struct bytes text, uint64_t whole);
/* The values that a call returns through its arguments, after the result: " ([{fd=3, revents=POLLIN}])". */
void call_put_result_struct(struct call_writer *w);
/* "{si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=5, ...}" for a row of the table signal. */
void call_put_siginfo(struct call_writer *w, const struct batch *signal, size_t row);

/* ---- call_message.c ---- */

void call_put_vector(struct call_writer *w, uint64_t address, uint64_t count, uint64_t moved);
void call_put_message(struct call_writer *w, uint64_t address, uint64_t moved);
void call_put_messages(struct call_writer *w, uint64_t address);

static inline uint64_t memory_u64(struct bytes b, size_t at)
{
	uint64_t v = 0;

	if (at + sizeof(v) <= b.len)
		memcpy(&v, b.data + at, sizeof(v));
	return v;
}

static inline uint32_t memory_u32(struct bytes b, size_t at)
{
	uint32_t v = 0;

	if (at + sizeof(v) <= b.len)
		memcpy(&v, b.data + at, sizeof(v));
	return v;
}

static inline uint16_t memory_u16(struct bytes b, size_t at)
{
	uint16_t v = 0;

	if (at + sizeof(v) <= b.len)
		memcpy(&v, b.data + at, sizeof(v));
	return v;
}
