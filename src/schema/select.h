/* SPDX-License-Identifier: Apache-2.0 */
/*
 * select.h: the selection of calls to record, which the kernel programs can evaluate before any other work. All given
 * conditions must hold (and); the entries of one list are alternatives (or). An empty selection selects everything.
 */
#pragma once

#include "base/error.h"
#include "base/util.h"
#include "schema/ops.h"

#define SELECT_LIST_MAX 64  /* entries per list that the kernel programs hold */
#define SELECT_PATH_MAX 256 /* bytes of the literal prefix that the kernel tests */
#define SELECT_COMM_MAX 16
#define GLOB_MAX	4096 /* bytes of a glob: as long as a path */

struct select_path {
	char *glob; /* as given: a path, a folder or a glob (** crosses folders) */
	char prefix[SELECT_PATH_MAX]; /* its literal prefix, which the kernel tests: a superset */
	bool exact; /* the prefix is the whole path: matches if equal, or continued with '/' */
};

struct select {
	int32_t pids[SELECT_LIST_MAX]; /* processes, with all their threads */
	size_t pid_count;
	int32_t tids[SELECT_LIST_MAX];
	size_t tid_count;
	bool follow; /* also their child processes (the tree) */
	char comms[SELECT_LIST_MAX][SELECT_COMM_MAX];
	size_t comm_count;
	char *cgroups
		[SELECT_LIST_MAX]; /* recording: folders with their subtrees, to which units and containers are
				    * resolved; for stored traces see cli/options/conditions.h */
	size_t cgroup_count;
	uint32_t uids[SELECT_LIST_MAX];
	size_t uid_count;
	bool ops_given;
	uint64_t ops[OP_CODE_CALLS / 64]; /* bit set: record the call */
	bool waits;			  /* calls that wait were selected by name, or by %wait */
	struct select_path paths[SELECT_LIST_MAX];
	size_t path_count;
	bool failed_only;
	int64_t min_dur_ns;
	bool everything;  /* -a: the whole host */
	bool own_traffic; /* also record the recorder itself */
};

void select_free(struct select *s);

/*
 * Adds a set of operations in strace's notation: "openat,%file", "!%desc", "trace=read,write", "all", "/regex".
 * Successive calls of this function add to the selection; a text with '!' removes from the current selection (from
 * everything, if there is none). weir's own sets are the classes: %data %meta %sync %wait %other. Errors name the word
 * and suggest the nearest one.
 */
int select_ops(struct select *s, const char *text, struct error *err);
/* The i-th word that select_ops() accepts, sets first; NULL past the last. */
const char *select_op_word(size_t i);
/*
 * Adds a path, a folder or a glob. Relative paths are resolved from the working directory, but a glob that begins with
 * a star matches in every folder ("*.c": in the whole tree). If a path contains symbolic links, its resolved name is
 * added as well, as in strace.
 */
int select_path_add(struct select *s, const char *text, struct error *err);

static inline bool select_op(const struct select *s, uint32_t code)
{
	return !s->ops_given || (code < OP_CODE_CALLS && (s->ops[code / 64] >> (code % 64) & 1));
}
/* True if the path (of `len` bytes) matches one of the globs, or if there are none. */
bool select_path_match(const struct select *s, const char *path, size_t len);
/*
 * Glob match: * within a folder, ** across folders, ?, [a-z], \x; a folder matches everything below it. At most
 * GLOB_MAX x len steps whatever the pattern; a longer glob matches nothing.
 */
bool glob_match(const char *glob, const char *text, size_t len);
