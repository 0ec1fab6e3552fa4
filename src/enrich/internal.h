/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of enrich/. */
#pragma once

#include "enrich/enrich.h"
#include "enrich/keys.h"
#include "enrich/secret.h"
#include "schema/ops.h"
#include "schema/vocab.h"

/* The facts that enrich needs of a definition, in a few bytes per code, so that a call costs one load. */
struct op_facts {
	uint8_t class;
	bool moves_bytes;     /* ret is bytes moved */
	bool counts_messages; /* ret counts messages */
	bool has_msg_flags;   /* MSG_PEEK, MSG_TRUNC: ret may not be bytes moved */
	bool receives;	      /* takes data from a descriptor: waits if a pipe or socket is empty */
	bool completes; /* io_uring_enter: waits if it requests completions before there are any */
};

#define FILE_FACT_TYPE	0x7f
#define FILE_FACT_NAMES 0x80 /* the generation has the same source key as this version */
static_assert(FILE_TYPE_COUNT <= FILE_FACT_TYPE, "a type fits beside the flag");

struct enrich {
	struct op_facts ops[OP_CODE_MAX];
	struct keys hosts, cgroups, processes, threads, files, stacks;
	struct idmap tasks,
		inodes; /* a source's key of a task or generation -> the id of its first version;
			 * generations only without FILE_FACT_NAMES */
	uint8_t *file_facts; /* by dense id of a file: enum file_type and FILE_FACT_* */
	size_t file_facts_cap;
	struct dims *dims;
	uint32_t keep_dims; /* a bit for each enum table_id */
	bool keep_secrets;
	struct secret_count masked;
};

/* derived.c: appends the calls of `in` to `out`, with ids, class, err and bytes. Unresolved references become rows of
 * loss. */
int enrich_ops(struct enrich *e, const struct batch *in, struct batch_set *out);
/* derived.c: fills `facts` from the table of operations. */
void enrich_facts(struct op_facts facts[static OP_CODE_MAX]);
/* dimensions.c: copies the dimension rows of `in`, in the order host, cgroup, process, thread,
 * file. */
int enrich_dimensions(struct enrich *e, const struct batch_set *in, struct batch_set *out);

/* Counts of references that could not be resolved, with the start and end of the rows that contain them. */
struct missing {
	uint64_t files, others;
	int64_t from, to;
};
#define MISSING_NONE                               \
	{                                          \
		.from = INT64_MIN, .to = INT64_MIN \
	}
/* references.c: replaces the source's keys by ids in all columns that refer to a dimension, in the rows from `first`
 * on. An unknown key becomes null and is counted in *m. */
void enrich_references(struct enrich *e, struct batch *b, size_t first, struct missing *m);
/* Adds a row of loss for each kind of unresolved reference. */
int enrich_missing(struct batch_set *out, const struct missing *m) _must_check_;
