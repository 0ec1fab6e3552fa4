/* SPDX-License-Identifier: Apache-2.0 */
/* flow_replicas.h: files of one name in several folders, for what is wrong with them and for the order in which they came there. */
#pragma once

#include "analysis/flow/flow_verdicts.h"

#define FLOW_FOLDERS_MAX 16
/* A folder of one recording in which files were written. */
struct flow_folder {
	uint64_t key;
	uint16_t place;
	struct bytes path;
	int64_t process_id; /* who wrote its first file; -1: nobody yet */
	uint32_t last;	    /* the call that wrote there last; FLOW_NONE */
	bool mixed;	    /* others wrote in it too */
};

struct flow_replica {
	uint64_t name; /* hash of the last part of the path */
	uint32_t object, folder;
	bool last; /* the last of its name in this folder */
};

struct flow_replicas {
	struct flow_replica *all; /* by name, folder, time */
	size_t count, cap;
	struct flow_folder folders[FLOW_FOLDERS_MAX];
	size_t folder_count;
	uint64_t common[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX],
		equal[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX];
	/* pieces of files of one name: of those that both have, those that are equal; of a file that is not equal as a whole */
	uint64_t pieces[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX],
		pieces_equal[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX];
	/* [a][b]: when the last of the files that both have was begun in b; INT64_MIN: never */
	int64_t newest[FLOW_FOLDERS_MAX][FLOW_FOLDERS_MAX];
	uint64_t left_out;
	struct map named; /* names that a verdict is about */
	struct buf said;  /* text of flow_replicas_say() */
};

const struct flow_file *flow_replica_file(const struct flow_verdicts *v, uint32_t object);
/* The replicas of a name from `from` on, one of each folder, into FLOW_FOLDERS_MAX places: how many. */
size_t flow_replicas_group(const struct flow_replicas *p, size_t from,
			   const struct flow_replica **to, size_t *ret_next);
/* Whether most files of two folders are equal, or most of one that is written in place. */
bool flow_are_replicas(const struct flow_replicas *p, size_t a, size_t b);
/* The host where its recording has one such folder, else the folder. */
int flow_replica_put_folder(const struct flow_verdicts *v, size_t folder, struct buf *to);
/* Of the file's name. */
size_t flow_replicas_named(const struct flow_verdicts *v, uint32_t object,
			   const struct flow_replica **to);
/* The first piece at or behind `index` in which two files differ; false: there is none. */
bool flow_replicas_differ(const struct flow_verdicts *v, uint32_t a, uint32_t b, uint64_t index,
			  uint64_t *ret);
bool flow_replicas_differ_within(const struct flow_verdicts *v, uint32_t a, uint32_t b,
				 int64_t from, int64_t to);
/* The one that most are equal to; n: none has a majority. */
size_t flow_replicas_majority(const struct flow_verdicts *v, const struct flow_replica *const *g,
			      size_t n, int64_t from, int64_t to);
/*
 * Whether a file that differs from another of its name shows that something is wrong: one process wrote it, once; or more than
 * once, but what came over a stream. Files that several processes change, as databases do, begin as copies and then part.
 */
bool flow_replica_steady(const struct flow_verdicts *v, uint32_t object);
