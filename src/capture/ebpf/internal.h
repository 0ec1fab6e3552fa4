/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: what the files of the kernel source share. */
#pragma once

#include <pthread.h>

#include "base/buf.h"
#include "base/map.h"
#include "capture/ebpf/named/cgroup.h"
#include "capture/ebpf/ebpf.h"
#include "capture/ebpf/ring/priority.h"
#include "schema/vocab.h"
#include "schema/wire.h"

/* ---- plan.c ---- */

/* The plan of an operation; one without a definition is recorded raw. */
void plan_of_op(uint32_t code, bool record, struct wire_plan *ret);
/* The plans of all calls by this machine's numbers, ret[WIRE_CALLS_MAX], for a selection. */
void plans_of(const struct select *s, struct wire_plan *ret);
/* What a call that succeeds does to the names that its arguments path and path2 are: enum name_fate. */
void plan_fates(uint32_t code, uint8_t ret[2]);

/* ---- ring_reader.c: the thread that copies the rings ---- */

#define CHUNK_BYTES WIRE_LEAF_BYTES

/* Whole records of one CPU, one behind the other, WIRE_SKIP among them. */
struct chunk {
	struct chunk *next;
	uint8_t *data; /* [CHUNK_BYTES] */
	uint32_t cpu;  /* reader_options.count: of the side ring */
	uint32_t len;
	uint32_t refs;		    /* of the decoder */
	uint64_t next_number, came; /* behind its records, of its CPU: filled by the decoder */
	bool last;		    /* of its round */
	int64_t horizon; /* in the last chunk of a round: every record that ended before was copied */
};

struct reader;
struct span_rings;

struct reader_options {
	int rings_fd; /* of `count` rings; this and the next borrowed */
	int bell_fd;
	int side_fd; /* the side ring */
	size_t side_bytes;
	size_t count;
	size_t ring_bytes; /* of each, a power of two */
	size_t backlog_max; /* bytes copied and not given back, at which rounds wait for the decoder */
	int32_t command_pid;	   /* a child at whose end a round is made at once; 0: none */
	struct priority *priority; /* of the thread that takes the rounds, begun; borrowed */
	struct wire_cpu *counters; /* [count], borrowed */
	bool lossless;		   /* programs wait for the reader: it looks more often */
	struct span_rings *spans;  /* copied as well; borrowed */
};
int reader_new(struct reader **ret, const struct reader_options *opt, struct error *err);
void reader_free(struct reader *r);
DEFINE_CLEANUP(struct reader *, reader_free)
/*
 * Takes all finished rounds, waiting at most timeout_ms for one; NULL: none. *ret_horizon, of the monotonic clock: what
 * happened before it is in what was taken until now. It moves on while nothing happens, else the last calls of a program
 * that rests would wait for its next.
 */
struct chunk *reader_take(struct reader *r, int timeout_ms, int64_t *ret_horizon);
/* Gives a chunk back. */
void reader_put(struct reader *r, struct chunk *c);
/* Copies what is left after the programs were detached, and ends the thread; then reader_take() gives the rest. */
void reader_finish(struct reader *r);
/* Bytes copied so far. */
uint64_t reader_bytes(const struct reader *r);

/* ---- decode.c: records to rows ---- */

struct decode;

/*
 * How much is remembered; all 0: enough for any program, within 64 MiB. What is forgotten never leads to a wrong path: a name
 * that was forgotten gets another row. Only the map of keys to ids (enrich/keys.h) grows with the recording.
 */
struct decode_limits {
	size_t runs;   /* of records of files in memory; older ones are read back from a file */
	size_t inodes; /* generations: a file not seen during so many others counts as another one */
	size_t ended;  /* processes: for records that come after their end */
	size_t paths;  /* that lead to a file which is known; others get a row for the name alone */
	size_t asked;  /* such rows, after which the same name gets another */
};

struct decode_options {
	int64_t clock_offset;
	bool raw_args;
	bool no_argv;
	bool phases; /* calls whose records say nothing of their phases were on a CPU throughout */
	bool reads_counted;	     /* the kernel counts what a task reads from devices */
	uint32_t mnt_ns;	     /* of the recorder */
	uint64_t root;		     /* the same, as in struct wire_name */
	struct wire_plan *plans;     /* [WIRE_CALLS_MAX], borrowed */
	const struct select *select; /* borrowed */
	struct cgroup_hierarchy cgroups;
	int kallsyms_fd; /* of /proc/kallsyms, opened with the right to see addresses; -1: none */
	const struct wire_shared *shared; /* what the programs report, borrowed; NULL: nothing */
	bool little_memory;		  /* a quarter of the limits */
	bool block;			  /* requests to block devices come */
	struct decode_limits limits;
	const struct probe_spans *probe_spans; /* borrowed; NULL: none */
	struct loaded *loaded; /* the programs, which are told who publishes contexts; NULL: none */
};

int decode_new(struct decode **ret, const struct decode_options *opt, struct error *err);
void decode_free(struct decode *d);
/* What comes beside calls, known once the programs are attached: phases, requests to block devices. 0 or -ENOMEM. */
int decode_expect(struct decode *d, bool phases, bool block) _must_check_;
DEFINE_CLEANUP(struct decode *, decode_free)
/* Decodes one record (head and all) of a CPU. Dimension rows go to `out` at once. -EBADMSG: malformed. */
int decode_dimension(struct decode *d, const struct wire_head *h, struct batch_set *out);
/* Adds what a record of the side ring says. 1: a row of op, 0: others or none; -EBADMSG: malformed. */
int decode_side(struct decode *d, const struct wire_head *h, struct batch_set *out);
/* The same for records one behind the other, as an iterator gives them; adds how many are malformed. 0 or -ENOMEM. */
int decode_side_all(struct decode *d, const struct buf *records, struct batch_set *out,
		    uint64_t *malformed);
struct objects;
/* What is missing beside calls so far: records of the side ring, and events at which a program was running already. */
size_t side_missing(const volatile uint64_t lost[WIRE_SIDE_LOSSES][WIRE_SIDE_TYPES],
		    const struct objects *o, struct source_beside list[SOURCE_BESIDE_MAX]);
/* Adds what beside calls found no room in the rings of calls: content, details. */
void side_unroomed(const struct wire_shared *s, struct source_beside list[SOURCE_BESIDE_MAX],
		   size_t *count);
/* A file's record, decoded before, has its turn: what happened before it ended was given. 0 or -ENOMEM. */
int decode_file_turn(struct decode *d, const struct wire_file *w);
/* Adds the row of a call. 1: added, 0: the selection left it out. */
int decode_op(struct decode *d, const struct wire_op *w, uint32_t cpu, struct batch_set *out);
/* The rows that say where we are: host. */
int decode_begin(struct decode *d, struct batch_set *out);
/* The row of the host again, with the clock's offset as recording ends. */
int decode_end(struct decode *d, struct batch_set *out);

/* ---- path.c: the path in a record of a file ---- */

struct file_paths {
	char path[WIRE_WALK_MAX + 256], host[WIRE_WALK_MAX + 256];
	size_t len, host_len; /* 0: the recorder, in this mount namespace, has no name for it */
};
/* Of names as the kernel sends them, the last first, each with a NUL. Returns the length. */
size_t path_of_names(const uint8_t *names, size_t len, char *buf, size_t size);
void file_paths(const struct wire_file *w, uint32_t mnt_ns, struct file_paths *ret);
/* Its path within the file system, ended by NUL, where the mount is of another namespace. Returns its length; 0: not known. */
size_t file_inside(const struct wire_file *w, char *buf, size_t size);

/* ---- names.c: paths, and the rows of files known by name alone ---- */

/* Keys that are not file numbers of the kernel. */
#define KEY_NAME_BASE  (1ll << 40)
#define KEY_PEER_BASE  (1ll << 41)
#define KEY_SOCK_BASE  (1ll << 42)
#define KEY_BLOCK_BASE (1ll << 43)

struct names;
struct records;

/* Both are borrowed: the selection and limits of the options, and the records of files. */
int names_new(struct names **ret, const struct decode_options *opt, struct records *files);
void names_free(struct names *n);
DEFINE_CLEANUP(struct names *, names_free)
/* Asks the selection about a file's path and that which the recorder has for it (NULL: unknown). */
int names_set(struct names *n, uint64_t file, const void *path, size_t len, const void *hostpath,
	      size_t host_len) _must_check_;
/* The path of a file number leads to this file from now on: it was just found there, or opened by it. */
int names_found(struct names *n, uint64_t file) _must_check_;
/* Any path may lead elsewhere from now on. */
void names_forget(struct names *n);
/* The path of a file number, {NULL, 0} where unknown. Valid until the next call of names_*(). */
struct bytes names_get(struct names *n, uint64_t file);
/* The file was deleted: its path leads elsewhere from now on. */
int names_gone(struct names *n, uint64_t file) _must_check_;
/* Whether the path of a file number passes the selection; without a path (0 too) it does not, without a record it does. */
bool names_selected(const struct names *n, uint64_t file);

/* What a call that succeeded does to a name. */
enum name_fate {
	NAME_STAYS,
	NAME_ENDS,   /* unlink, rmdir */
	NAME_MOVES,  /* rename: with all that lies below */
	NAME_NEW,    /* mkdir, link, ...: what had it before is not meant */
	NAME_COVERS, /* mount, umount: any name may lead elsewhere */
};

struct name_query {
	uint64_t base; /* file number of the folder that a relative path starts from, 0: none */
	uint64_t root; /* what paths start below; a name is known below the same root only */
	enum name_fate fate;
	const uint8_t *text; /* the argument */
	size_t len;
	int64_t now;
	bool may_know; /* the call succeeded: a file whose path is known may be meant */
	bool failed;
	bool target;   /* the text of a symbolic link: what it says is the path */
	bool whole;    /* not an argument but the name that /proc gives to an open file, */
	uint32_t mode; /* of this st_mode; 0: unknown */
};

struct name_answer {
	int64_t key;
	bool known;    /* of a file whose path is known, by that path */
	bool selected; /* the path passes the selection */
};

/* The enum file_type of an st_mode. */
int file_type_of(uint32_t mode);
/* What a call did to a name, if no row needs the file that it led to. 0 or -ENOMEM. */
int names_change(struct names *n, const struct name_query *q) _must_check_;
/*
 * What an argument leads to: a file whose path is known, or a row for the name alone, which is added to `out` when it
 * is new. 0 or negative.
 */
int names_resolve(struct names *n, const struct name_query *q, struct batch_set *out,
		  struct name_answer *ret) _must_check_;
