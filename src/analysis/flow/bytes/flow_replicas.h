/* SPDX-License-Identifier: Apache-2.0 */
/* flow_replicas.h: files with the same name in several folders, to find errors in them and the order in which they arrived. */
#pragma once

#include "analysis/flow/bytes/flow_verdicts.h"

#define FLOW_FOLDERS_MAX 16
/* A folder of one recording in which files were written. */
struct flow_folder {
	uint64_t key;
	uint16_t place;
	struct bytes path;
	int64_t process_id; /* writer of its first file; -1: none yet */
	uint32_t last;	    /* last call that wrote to it; FLOW_NONE */
	bool mixed;	    /* it has other writers */
};

struct flow_replica {
	uint64_t name; /* hash of the last part of the path */
	uint32_t object, folder;
	bool last; /* the last of its name in this folder */
};

struct flow_replicas {
	struct flow_replica *all; /* sorted by name, folder, time */
	size_t count, cap;
	struct flow_folder folders[FLOW_FOLDERS_MAX];
	size_t folder_count;
	uint64_t common[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX],
		equal[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX];
	/* for files with the same name that are not completely equal: pieces that both have, and those that are equal */
	uint64_t pieces[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX],
		pieces_equal[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX];
	/* [a][b]: start of the last common file in b; INT64_MIN: never */
	int64_t newest[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX];
	struct map named; /* names that have a verdict */
};

const struct flow_file *flow_replica_file(const struct flow_verdicts *v, uint32_t object);
/* Copies the replicas of a name from index `from` on, one per folder, to an array of FLOW_FOLDERS_MAX; returns their number. */
size_t flow_replicas_group(const struct flow_replicas *p, size_t from,
			   const struct flow_replica **to, size_t *ret_next);
/* True if most files of two folders are equal, or most of one that is modified in place. */
bool flow_are_replicas(const struct flow_replicas *p, size_t a, size_t b);
/* Appends the host if its recording has only one such folder, else the folder. */
int flow_replica_put_folder(const struct flow_verdicts *v, size_t folder, struct buf *to);
/* The group to which a file belongs. */
size_t flow_replicas_named(const struct flow_verdicts *v, uint32_t object,
			   const struct flow_replica **to);
/* The first piece at or after `index` in which two files differ; false: none. */
bool flow_replicas_differ(const struct flow_verdicts *v, uint32_t a, uint32_t b, uint64_t index,
			  uint64_t *ret);
bool flow_replicas_differ_within(const struct flow_verdicts *v, uint32_t a, uint32_t b,
				 int64_t from, int64_t to);
/* The file that most others are equal to; n: no majority. */
size_t flow_replicas_majority(const struct flow_verdicts *v, const struct flow_replica *const *g,
			      size_t n, int64_t from, int64_t to);
/*
 * True if a difference from another file of its name indicates an error: one process wrote the file, either once or, if
 * more than once, then with bytes from a stream. Files modified by several processes, as in databases, begin as copies
 * and then diverge.
 */
bool flow_replica_steady(const struct flow_verdicts *v, uint32_t object);
