/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alike.h: finds equal and similar data, and the order in which data is reread, from the hashes of a recording with
 * --content.
 *   alike_calls.c   calls that moved bytes, and the hashes of their parts (table chunk)
 *   alike_kinds.c   calls with equal bytes are one kind; each kind, or each file, has a set of parts
 *   alike_links.c   pairs of similar sets
 *   alike_order.c   reads by epoch, and the similarity of their order in two epochs
 *   alike_rows.c    tables
 * Sets of parts are compared: content-defined chunks (record --content=chunks), otherwise pieces of 4 KiB by position.
 * Similarity is Jaccard's: the number of parts in both sets, divided by the number in either; each part counts once,
 * whatever its size. It is estimated by MinHash (Broder, "On the resemblance and containment of documents", 1997) with
 * 256 hash functions, whose standard error is sqrt(J (1 - J) / 256), 3.1 % at most; candidate pairs are found by bands
 * of four of them (locality-sensitive hashing: Indyk and Motwani, 1998). Displayed values are exact: the sets of a pair
 * are compared.
 */
#pragma once

#include "analysis/analysis.h"
#include "base/idmap.h"

#define ALIKE_NONE	UINT32_MAX
#define ALIKE_CALLS_MAX (10u << 20) /* calls with content: 640 MiB */
#define ALIKE_PARTS_MAX (20u << 20) /* total number of parts; fewer if there are many calls: */
/* memory for calls, and for parts while collected and as elements of sets */
#define ALIKE_BYTES_MAX	 (820u << 20)
#define ALIKE_KINDS_MAX	 (4u << 20) /* distinct data: 152 MiB */
#define ALIKE_SIGNED_MAX (1u << 18) /* sets with at least two parts: 128 MiB */
#define ALIKE_LINKS_MAX	 (1u << 20) /* more than a forest of signed sets has */
/* earlier signatures in one bucket of a band with which each is compared */
#define ALIKE_NEAR_MAX 64

#define ALIKE_HASHES 256
#define ALIKE_BAND   4
#define ALIKE_BANDS  (ALIKE_HASHES / ALIKE_BAND)
/* pairs below it are not searched for; at it 1.6 % are missed, at 0.6 0.014 % */
#define ALIKE_LEAST 0.5
/* four standard errors: pairs estimated further below than this are not compared */
#define ALIKE_MARGIN 0.125

/* The unit of comparison: the data of a call, or all data written to or read from a file. */
enum alike_unit { ALIKE_CALLS, ALIKE_FILES };

/* 64 bytes; there may be ten million. */
struct alike_call {
	int64_t row_id, start, pos;
	/* hash of its bytes from the first one up to `done`; with `odd`: of its parts in order */
	uint64_t joined;
	uint64_t bytes : 39, op : 12, way : 2, /* enum chunk_way */
		copies : 1, whole : 1, odd : 1, missing : 1;
	uint64_t done : 39, /* number of bytes hashed */
		dur_high : 25;
	uint32_t dur_low;
	uint32_t thread, file; /* indexes in alike.threads and .files; ALIKE_NONE: no file */
	union {
		/* while parts are read: the previous call on the same file in the same direction */
		uint32_t before;
		uint32_t kind; /* afterwards; ALIKE_NONE likewise */
	};
};
_Static_assert(sizeof(struct alike_call) == 64, "ten million of them");

static inline int64_t alike_call_end(const struct alike_call *c)
{
	return c->start + (int64_t)((uint64_t)c->dur_high << 32 | c->dur_low);
}

/* A part of a call, until sets are made. */
struct __attribute__((packed)) alike_part {
	uint64_t hash;
	uint32_t call;
};

struct alike_kind {
	int64_t bytes;	       /* of one of its calls; for a file: of all */
	uint32_t at;	       /* offset of its set in `elements` */
	uint32_t len : 31,     /* size of the set */
		zeros : 1;     /* all bytes are 0 */
	uint32_t first, calls; /* its first call, and the number of calls */
	uint32_t group;	       /* ALIKE_NONE: alone */
	uint32_t signature;    /* ALIKE_NONE: none */
};
_Static_assert(sizeof(struct alike_kind) == 32, "millions of them");

/*
 * A hash table from keys to numbers, where each key can be computed from its number: 4 bytes per slot. Initialized with
 * `key` only.
 */
struct alike;
struct alike_index {
	uint64_t (*key)(const struct alike *a, uint32_t number);
	uint32_t *slots; /* number + 1, and bits of the key; 0: free */
	size_t cap, count;
};

/* Maps ids to dense numbers. */
struct alike_ids {
	int64_t *all;
	size_t count, cap;
	struct idmap numbers;
};

/* Two kinds whose sets are similar. */
struct alike_link {
	uint32_t a, b;
	float exact, estimate;
};

struct alike_group {
	uint32_t kinds;
	uint64_t calls, bytes;
	uint32_t first; /* its first kind */
	float least;	/* lowest similarity of the links that connect it */
};

/* The reads of an epoch, and their order compared with the epoch before. */
struct alike_epoch {
	uint64_t reads, bytes;
	int64_t from, to;
	size_t first;		/* index of its first read */
	uint32_t common;	/* kinds read once in both */
	double tau, neighbours; /* NAN: fewer than two kinds in common */
	const char *order;	/* NULL likewise */
};

struct alike {
	const struct analysis_input *in;
	const struct analysis_run *run;
	const struct dims *dims;
	enum alike_unit unit;
	bool cuts; /* parts are content-defined chunks */
	bool sets; /* similarity is wanted, not only equality */

	struct alike_call *calls;
	size_t call_count, call_cap;
	struct alike_ids threads, files;
	struct alike_index by_start; /* calls by thread and start */
	struct map last;	     /* file and direction -> call, while calls are read */
	struct alike_part *parts;
	size_t part_count, part_cap;

	uint64_t *elements;
	struct alike_kind *kinds;
	size_t kind_count, kind_cap;
	uint16_t *signatures; /* [ALIKE_HASHES] each */
	size_t signature_count;
	struct alike_link *links; /* a subset that connects the same kinds at any threshold */
	size_t link_count, link_cap;
	struct alike_group *groups;
	uint32_t *ranked; /* indexes of groups, largest first */
	size_t group_count;

	uint32_t *reads; /* calls by epoch, in order */
	size_t read_count;
	struct alike_epoch *epochs;
	size_t epoch_count;
	uint64_t once; /* reads of data that is not read again */

	/* counters */
	uint64_t content;	 /* calls with content */
	uint64_t unknown;	 /* calls with bytes that were not hashed */
	uint64_t calls_left_out; /* beyond the limits */
	uint64_t parts_left_out, sets_left_out, pairs_left_out, rows_left_out;
	uint64_t compared; /* pairs compared exactly */
};

/* What to compute; part of the options of `weir flow`. */
struct alike_options {
	const char *similar; /* an expression, or the row of a call; NULL */
	const char *by;	     /* "call", "file"; NULL: call */
	bool groups, order, list;
	int64_t least, most;
};
static inline bool alike_wanted(const struct alike_options *o)
{
	return o->similar || o->groups || o->order;
}

/* -EINVAL with a message for invalid combinations of options. */
int alike_check(const struct alike_options *o, struct error *err);
/* Runs the analysis and adds its tables to the result. The caller frees *ret in either case. 0 or negative with a message. */
int alike_run(struct alike **ret, const struct analysis_input *in, const struct alike_options *o,
	      struct analysis_result *out, struct error *err);
void alike_free(struct alike *a);
/* Appends the members of the document. */
int alike_members(const struct alike *a, struct buf *to);

/* ---- internal ---- */

/* alike_index.c. The number with this key; ALIKE_NONE: none. */
uint32_t alike_index_find(const struct alike *a, const struct alike_index *x, uint64_t key);
/* Adds the next number, starting with 0; it replaces an earlier one with the same key. 0 or -ENOMEM. */
int alike_index_add(const struct alike *a, struct alike_index *x, uint32_t number) _must_check_;
void alike_index_free(struct alike_index *x);
/* The number of an id, ALIKE_NONE if it is negative, or -ENOMEM. */
int64_t alike_ids_number(struct alike_ids *x, int64_t id) _must_check_;
void alike_ids_free(struct alike_ids *x);
static inline int64_t alike_thread_id(const struct alike *a, const struct alike_call *c)
{
	return a->threads.all[c->thread];
}
static inline int64_t alike_file_id(const struct alike *a, const struct alike_call *c)
{
	return c->file == ALIKE_NONE ? -1 : a->files.all[c->file];
}

/* Reads calls, then their parts. */
int alike_read_calls(struct alike *a, struct error *err);
/* Makes kinds, their sets and signatures from what was read. 0 or -ENOMEM. */
int alike_make_kinds(struct alike *a);
/* The similarity of two kinds, estimated and exact; the estimate is -1 if one has no signature. */
double alike_estimate(const struct alike *a, uint32_t x, uint32_t y);
double alike_exact(const struct alike *a, uint32_t x, uint32_t y);
/* True if sets of these sizes can be that similar. */
static inline bool alike_can(const struct alike *a, uint32_t x, uint32_t y, double least)
{
	uint32_t p = a->kinds[x].len, q = a->kinds[y].len;

	return (double)MIN(p, q) >= least * (double)MAX(p, q);
}
/* Finds links; and groups with at least that similarity. 0, -ENOMEM, or -EINTR. */
int alike_link_kinds(struct alike *a);
int alike_make_groups(struct alike *a, double least);
/* Assigns reads to epochs and compares their orders. 0 or -ENOMEM. */
int alike_make_order(struct alike *a);

/* alike_rows.c: the tables. -ENODATA: the calls in `of` have no content; -E2BIG: they have too many distinct data. */
int alike_put_similar(struct alike *a, const struct map *of, double least,
		      struct analysis_result *out);
int alike_put_groups(struct alike *a, const struct alike_options *o, struct analysis_result *out);
int alike_put_order(struct alike *a, const struct alike_options *o, struct analysis_result *out);
