/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h: shared between the files of the kernel source. */
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
/* The plans of all calls for a selection, by this machine's call numbers: ret[WIRE_CALLS_MAX]. */
void plans_of(const struct select *s, struct wire_plan *ret);
/* The effect of a successful call on the names in its arguments path and path2: enum name_fate. */
void plan_fates(uint32_t code, uint8_t ret[2]);

/* ---- ring_reader.c: the thread that copies the rings ---- */

#define CHUNK_BYTES WIRE_LEAF_BYTES

/* Complete records of one CPU, in sequence, including WIRE_SKIP. */
struct chunk {
	struct chunk *next;
	uint8_t *data; /* [CHUNK_BYTES] */
	uint32_t cpu;  /* reader_options.count: the side ring */
	uint32_t len;
	uint32_t refs;		    /* references of the decoder */
	uint64_t next_number, came; /* of its CPU, at the end of this chunk: set by the decoder */
	bool last;		    /* of its round */
	int64_t horizon; /* in the last chunk of a round: every record of earlier calls was copied */
};

struct reader;
struct span_rings;

struct reader_options {
	int rings_fd; /* map of `count` rings; this and the next are borrowed */
	int bell_fd;
	int side_fd; /* the side ring */
	size_t side_bytes;
	size_t count;
	size_t ring_bytes;  /* per ring, a power of two */
	size_t backlog_max; /* bytes copied and not returned at which rounds wait for the decoder */
	int32_t command_pid;	   /* a child; its end triggers a round at once; 0: none */
	struct priority *priority; /* of the thread that takes the rounds, initialized; borrowed */
	struct wire_cpu *counters; /* [count], borrowed */
	bool lossless;		   /* programs wait for the reader, which then polls more often */
	struct span_rings *spans;  /* copied as well; borrowed */
};
int reader_new(struct reader **ret, const struct reader_options *opt, struct error *err);
void reader_free(struct reader *r);
DEFINE_CLEANUP(struct reader *, reader_free)
/*
 * Takes all finished rounds, waiting at most timeout_ms for one; NULL: none. *ret_horizon, on the monotonic clock:
 * everything that happened before it is in the rounds taken so far. It advances even if nothing happens, or the last
 * calls of an idle program would wait for its next ones.
 */
struct chunk *reader_take(struct reader *r, int timeout_ms, int64_t *ret_horizon);
/* Gives back a chunk. */
void reader_put(struct reader *r, struct chunk *c);
/* Copies the rest after the programs were detached, and ends the thread; reader_take() then returns the remaining
 * rounds. */
void reader_finish(struct reader *r);
/* Bytes copied so far. */
uint64_t reader_bytes(const struct reader *r);

/* ---- decode.c: records to rows ---- */

struct decode;

/*
 * Limits of the decoder's caches; all 0: enough for any program, within 64 MiB. Dropping an entry never causes a wrong
 * path: a dropped name gets another row. Only the map of keys to ids (enrich/keys.h) grows with the recording.
 */
struct decode_limits {
	size_t runs;   /* runs of file records in memory; older ones are read back from a file */
	size_t inodes; /* generations: a file not seen during this many others counts as a new one */
	size_t ended;  /* ended processes: for records that arrive after the end */
	size_t paths;  /* paths of known files; for other paths a row with only the name is made */
	size_t asked;  /* such rows; then the same name gets another one */
};

struct decode_options {
	int64_t clock_offset;
	bool raw_args;
	bool no_argv;
	bool phases;	    /* calls without phases in their records were on a CPU all the time */
	bool reads_counted; /* the kernel counts bytes that a task reads from devices */
	uint32_t mnt_ns;    /* of the recorder */
	uint64_t root;	    /* of the recorder, as in struct wire_name */
	struct wire_plan *plans;     /* [WIRE_CALLS_MAX], borrowed */
	const struct select *select; /* borrowed */
	struct cgroup_hierarchy cgroups;
	int kallsyms_fd; /* of /proc/kallsyms, opened with the privilege to see addresses; -1: none */
	const struct wire_shared *shared; /* reported by the programs, borrowed; NULL: nothing */
	bool little_memory;		  /* a quarter of the limits */
	bool block;			  /* records of block requests will come */
	struct decode_limits limits;
	const struct probe_spans *probe_spans; /* borrowed; NULL: none */
	struct loaded *loaded; /* the programs, informed of context publishers; NULL: none */
};

int decode_new(struct decode **ret, const struct decode_options *opt, struct error *err);
void decode_free(struct decode *d);
/* Sets which additional records will come, known once the programs are attached: phases, block requests. 0 or -ENOMEM. */
int decode_expect(struct decode *d, bool phases, bool block) _must_check_;
DEFINE_CLEANUP(struct decode *, decode_free)
/* Decodes one record (head included) of a CPU. Dimension rows are added to `out` at once. -EBADMSG: malformed. */
int decode_dimension(struct decode *d, const struct wire_head *h, struct batch_set *out);
/* Adds the rows of a side ring record. 1: a row of op, 0: other rows or none; -EBADMSG: malformed. */
int decode_side(struct decode *d, const struct wire_head *h, struct batch_set *out);
/* The same for consecutive records, as returned by an iterator; adds the number of malformed ones. 0 or -ENOMEM. */
int decode_side_all(struct decode *d, const struct buf *records, struct batch_set *out,
		    uint64_t *malformed);
struct objects;
/* What is missing in tables other than op so far: records of the side ring, and events at which a program was already
 * running. */
size_t side_missing(const volatile uint64_t lost[WIRE_SIDE_LOSSES][WIRE_SIDE_TYPES],
		    const struct objects *o, struct source_beside list[SOURCE_BESIDE_MAX]);
/* Adds rows lost by a cause; does nothing if there are none. */
void side_add(struct source_beside list[SOURCE_BESIDE_MAX], size_t *count, enum loss_cause cause,
	      enum table_id table, uint64_t n);
/* Adds data other than calls that found no room in the rings of calls: content, details. */
void side_unroomed(const struct wire_shared *s, struct source_beside list[SOURCE_BESIDE_MAX],
		   size_t *count);
/* Processes a file record, decoded before, in its turn: all earlier events were delivered. 0 or -ENOMEM. */
int decode_file_turn(struct decode *d, const struct wire_file *w);
/* Adds the row of a call. 1: added, 0: rejected by the selection. */
int decode_op(struct decode *d, const struct wire_op *w, uint32_t cpu, struct batch_set *out);
/* The initial rows: host. */
int decode_begin(struct decode *d, struct batch_set *out);
/* The row of the host again, with the clock's offset at the end of recording. */
int decode_end(struct decode *d, struct batch_set *out);

/* ---- path.c: the path in a record of a file ---- */

struct file_paths {
	char path[WIRE_WALK_MAX + 256], host[WIRE_WALK_MAX + 256];
	size_t len, host_len; /* 0: no path is visible to the recorder in this mount namespace */
};
/* Builds a path from names as sent by the kernel: the last first, each with a NUL. Returns the length. */
size_t path_of_names(const uint8_t *names, size_t len, char *buf, size_t size);
void file_paths(const struct wire_file *w, uint32_t mnt_ns, struct file_paths *ret);
/* Its path within the file system, NUL-terminated, if the mount is in another namespace. Returns the length; 0:
 * unknown. */
size_t file_inside(const struct wire_file *w, char *buf, size_t size);

/* ---- names.c: paths, and the rows of files known by name alone ---- */

/* Keys that are not file numbers of the kernel. */
#define KEY_NAME_BASE  (1ll << 40)
#define KEY_PEER_BASE  (1ll << 41)
#define KEY_SOCK_BASE  (1ll << 42)
#define KEY_BLOCK_BASE (1ll << 43)

struct names;
struct records;

/* Borrows both: the selection and limits in the options, and the records of files. */
int names_new(struct names **ret, const struct decode_options *opt, struct records *files);
void names_free(struct names *n);
DEFINE_CLEANUP(struct names *, names_free)
/* Tests the selection with a file's path and the recorder's path for it (NULL: unknown). */
int names_set(struct names *n, uint64_t file, const void *path, size_t len, const void *hostpath,
	      size_t host_len) _must_check_;
/* From now on the path of a file number leads to this file, which was just found there, or opened by it. */
int names_found(struct names *n, uint64_t file) _must_check_;
/* From now on any path may lead elsewhere. */
void names_forget(struct names *n);
/* The path of a file number, {NULL, 0} if unknown. Valid until the next call of names_*(). */
struct bytes names_get(struct names *n, uint64_t file);
/* The file was deleted: from now on its path leads elsewhere. */
int names_gone(struct names *n, uint64_t file) _must_check_;
/* Whether the path of a file number passes the selection; without a path (also 0) it does not, without a record it
 * does. */
bool names_selected(const struct names *n, uint64_t file);

/* The effect of a successful call on a name. */
enum name_fate {
	NAME_STAYS,
	NAME_ENDS,   /* unlink, rmdir */
	NAME_MOVES,  /* rename: with everything below it */
	NAME_NEW,    /* mkdir, link, ...: replaces whatever had the name */
	NAME_COVERS, /* mount, umount: any name may lead elsewhere */
};

struct name_query {
	uint64_t base; /* file number of the folder at which a relative path starts, 0: none */
	uint64_t root; /* root of the paths; a name is only known below the same root */
	enum name_fate fate;
	const uint8_t *text; /* the argument */
	size_t len;
	int64_t now;
	bool may_know; /* the call succeeded: the path of a known file may be meant */
	bool failed;
	bool target;   /* the text of a symbolic link: the path is its content */
	bool whole;    /* not an argument but the name of an open file in /proc, */
	uint32_t mode; /* with this st_mode; 0: unknown */
};

struct name_answer {
	int64_t key;
	bool known;    /* the row is that of a file with this known path */
	bool selected; /* the path passes the selection */
};

/* The enum file_type of an st_mode. */
int file_type_of(uint32_t mode);
/* Applies the effect of a call to a name, if no row needs the file it led to. 0 or -ENOMEM. */
int names_change(struct names *n, const struct name_query *q) _must_check_;
/*
 * Resolves an argument: to a file whose path is known, or to a row with only the name, which is added to `out` if new.
 * 0 or negative.
 */
int names_resolve(struct names *n, const struct name_query *q, struct batch_set *out,
		  struct name_answer *ret) _must_check_;
