/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: records a child that makes known calls, and keeps every row. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <cmocka.h>

#include "capture/ebpf/ebpf.h"
#include "schema/vocab.h"
#include "schema/wire.h"

struct session {
	struct source *source;
	struct batch_set rows; /* everything that the source returned */
	struct source_stats stats;
	bool counting; /* there are millions of calls: only counts them, by operation */
	uint64_t counts[WIRE_CALLS_MAX];
	int go; /* write end of the gate at which children wait */
	int gate;
};

/* Starts a child that waits at the gate, then runs `work` and exits with its result. */
int session_child(struct session *s, int (*work)(void *arg), void *arg);
/* Loads and starts; the gate opens with session_go(). */
void session_start(struct session *s, const struct select *select, struct ebpf_options opt);
void session_go(struct session *s, int children);
/* Reads once and keeps the rows; enum source_result. */
int session_read(struct session *s, int timeout_ms);
/* Stops and reads everything. */
void session_end(struct session *s);
void session_free(struct session *s);

/* Number of rows of op that are `op` by `tid` (0: any). *ret_row: the last one. When counting: by any thread. */
size_t session_count(const struct session *s, const char *op, int tid, size_t *ret_row);
int64_t session_op(const struct session *s, size_t row, unsigned int column);
/* The path of the file of an op, "" if unknown. */
const char *session_path(const struct session *s, size_t row, unsigned int column);
/* Number of events with a cause in loss. */
int64_t session_loss(const struct session *s, enum loss_cause cause);
/*
 * Checks that the rows have one process and one thread: this child, with the program, arguments, parent and user of
 * this process.
 */
void session_check_child(const struct session *s, int pid);
