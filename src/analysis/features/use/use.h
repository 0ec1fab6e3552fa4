/* SPDX-License-Identifier: Apache-2.0 */
/*
 * use.h: shared by the parts of the feature `use` (use*.c): what each process did with each file.
 *   use.c        applies the calls; state by task, process and file
 *   use_data.c   reads and writes of a process: sizes, order, ranges
 *   use_file.c   what all processes did to one file: its size, writers, and what was read
 *   use_life.c   descriptors, names, syncs
 *   use_watch.c  what a thread did after a short or failed write
 *   use_fold.c   folds uses into one per folder if there are too many
 *   use_rows.c   the rows
 *
 * A use is found by (process, file) in a map, usually the last one of its task. It is small; parts that only some files
 * need (reads, writes, the rest) are allocated on first use. When memory exceeds USE_MEMORY, uses that have ended are
 * folded.
 *
 * Names: a call with a path that the recorder did not recognize has a file row with only the name. The file that a name
 * denotes is tracked here (opens, renames, links, removals), so that such a call counts for the file.
 */
#pragma once

#include "analysis/features/feature.h"
#include "analysis/features/use/ranges.h"
#include "hist/sparse.h"

#define USE_CHUNK      1024
#define USE_NONE       UINT32_MAX
#define USE_MEMORY     ((size_t)128 << 20) /* at this size uses are folded */
#define USE_FOLD_CALLS 1024		   /* calls between checks whether to fold uses */
#define USE_RANGES     ((size_t)24 << 20)  /* part of it for sets of ranges */
#define USE_FDS_MAX    65536		   /* highest descriptor followed */
#define USE_NAMES_MAX  (1u << 19)	   /* names tracked; at this number all are dropped */
#define USE_MAPS_MAX   256		   /* shared mappings of a process tracked for msync() */
#define USE_TASKS_MAX  (1u << 18) /* (use, task) pairs other than the first task of a use */
/* smaller reads and writes are counted as small; also the unit of direct I/O */
#define USE_SMALL    4096
#define USE_TINY     16
#define USE_FILE_LOG 16 /* recent writes that readers of a file may not have processed yet */
#define USE_SPENT    4
#define USE_WATCHES  2 /* calls of a task whose following calls are observed */
/* including its entry in the map */
#define USE_COST (sizeof(struct use) + 3 * sizeof(uint64_t))

/* Classes of calls. */
enum use_act {
	ACT_NONE, /* counts only as a call on its file */
	ACT_READ,
	ACT_WRITE,
	ACT_COPY, /* from one file to another */
	ACT_OPEN,
	ACT_CLOSE,
	ACT_SHUT,
	ACT_STAT,
	ACT_SYNC,
	ACT_SYNC_RANGE, /* sync_file_range: starts or awaits writeback, without guarantees */
	ACT_SYNC_FS,	/* sync, syncfs */
	ACT_MSYNC,
	ACT_MAP,
	ACT_UNMAP,
	ACT_DUP,
	ACT_FCNTL,
	ACT_CLOSE_RANGE,
	ACT_CUT,
	ACT_ALLOCATE,
	ACT_RENAME,
	ACT_UNLINK,
	ACT_LINK,
	ACT_MAKE, /* mkdir, mknod, symlink */
	ACT_LIST,
	ACT_EXEC,
	ACT_EXIT,
};

/* Operations that need to be distinguished from others of their class. */
enum use_op {
	USE_OP_ACCEPT = 43,
	USE_OP_ACCEPT4 = 288,
	USE_OP_CREAT = 85,
	USE_OP_MEMFD = 319,
	USE_OP_PIPE = 22,
	USE_OP_PIPE2 = 293,
	USE_OP_PWRITEV2 = 328,
	USE_OP_SOCKET = 41,
	USE_OP_SOCKETPAIR = 53,
};

/* Reads. `next` and `back` compare positions within a use, and of the task within it. */
struct use_read {
	struct ranges fresh; /* read, and not written since by any process */
	struct ranges stale; /* read, and written since */
	struct hist hist;
	int64_t bytes, time, reread, first, stop;
	int64_t from, to;	  /* previous read */
	int64_t skipped, covered; /* covered: of folded uses */
	uint32_t reads, small, tiny, ends, past, next, back, torn;
	uint32_t seen;	       /* number of writes in file.log already applied to `fresh` */
	uint32_t writer;       /* process that wrote before the first read */
	uint32_t next_skipper; /* next use of the same file that also skipped bytes */
	bool any;	       /* there was a read with a position */
	bool missed;	       /* `fresh` was cleared, because too many writes preceded a read */
};

struct use_write {
	struct ranges covered_ranges;
	struct hist hist;
	int64_t bytes, time, first, stop, to, covered;
	int64_t dirty, dirty_at; /* bytes since the last sync, and the time of the last write */
	int64_t synced_stop;	 /* `stop` at the last sync; 0: none since it was truncated */
	uint32_t dirty_epoch;
	uint32_t writes, small, next, appends;
	/* calls of the thread after a write, and after a successful sync (use_watch.c) */
	uint32_t after[2];
	bool any;
};

struct use_rest {
	struct ranges mapped_read, mapped_write;
	int64_t sync_time, synced_at, named_at, entries;
	/* key of the name of the folder in which it was created or renamed; 0: neither */
	uint64_t folder;
	uint32_t syncs, renamed, unsynced, truncated, direct, misaligned, shorts, ignored;
	uint32_t created, removed; /* 0 or 1; number of uses if folded */
	uint32_t folder_unsynced;  /* if folded: number of uses */
};

struct use {
	uint32_t index; /* for use_at() */
	uint32_t process, file;
	uint32_t task; /* first task, and its time */
	uint32_t threads;
	int64_t task_time;
	int64_t first, last, bytes, time, open_time, stat_time;
	uint32_t calls, errors, opens, missing, stats;
	uint32_t open_now, open_most;
	uint32_t files;	 /* 1, or the number of files folded into it */
	uint32_t folder; /* of a folded use: index in s->fold_names */
	uint8_t type;	 /* of its file */
	bool positions;	 /* positions are meaningful: not a pipe, socket or character device */
	bool folded, inexact;
	/* NULL: not used */
	struct use_read *read;
	struct use_write *write;
	struct use_rest *rest;
};

/* A write that readers of the file may not have processed yet. */
struct use_wrote {
	int64_t from, to;
};

/* State over all processes of a file that was read or written. */
struct use_file {
	struct ranges unread; /* written and not read since; owner: the use that wrote it */
	int64_t size;	      /* as far as known */
	int64_t read_stop;    /* highest position read */
	int64_t dev;
	uint32_t number;
	/* its size when another process than its writer began to read it; UINT32_MAX: that or more */
	uint32_t early;
	/* uses: the last writer, and the last different one before it */
	uint32_t writer, writer_before;
	uint32_t skippers;
	uint32_t epoch; /* incremented by each sync */
	struct use_wrote *log;
	uint32_t logged; /* total number of writes put into the log */
	/* A read that reached the end while a process was rewriting the file */
	int64_t end_pos, end_stop;
	uint32_t end_use, end_task;
	uint32_t session; /* the use that rewrites it, from truncation to close */
	bool size_exact, end_closed, end_more, end_whole;
};

/* State of a file, by its number. */
struct use_file_state {
	struct use_file *data; /* NULL: not read or written */
	uint32_t users;	       /* number of uses, past and present */
	uint32_t live;	       /* number of uses not folded */
	uint32_t recent;       /* the use found last; USE_NONE: none yet */
	uint8_t type;
	uint8_t known : 1;     /* `type` and `name_only` are valid */
	uint8_t name_only : 1; /* its hash is in name_hashes */
	uint8_t opened : 1, created : 1;
};

/* A shared mapping. */
struct use_map {
	uint64_t at, len;
	uint32_t process, file;
};

#define USE_FD_APPEND 1
#define USE_FD_DIRECT 2
#define USE_FD_SYNC   4
#define USE_FD_EXEC   8 /* closed by exec */

struct use_fd {
	uint32_t use; /* USE_NONE: not known to be open */
	uint32_t flags;
};

struct use_process {
	struct use_fd *fds;
	struct use_map *maps;
	uint32_t fd_cap, map_count, map_cap;
};

/* A call after which the thread's next calls are observed (use_watch.c). */
struct use_watch {
	uint32_t use;	   /* USE_NONE: none */
	uint32_t followed; /* bits for the calls so far */
	int64_t pos, size;
	uint16_t op;
	uint8_t kind, steps;
	bool failed;
};

/* Time of a task in a use whose first task is another one; not yet added to s->others. */
struct use_spent {
	uint32_t use; /* USE_NONE: free */
	int64_t time;
};

struct use_task {
	uint32_t file, use; /* last used; file is the call's number */
	int64_t time;	    /* time of calls on it, not yet added */
	uint64_t space; /* namespace of names: machine and mount namespace, of the version below */
	int64_t version;
	/* previous read of this task */
	uint32_t read_use;
	int64_t read_to;
	/* a short write that has not been continued yet */
	uint32_t short_use;
	int64_t short_size, short_left, short_to;
	struct use_watch watches[USE_WATCHES];
	struct use_spent spent[USE_SPENT];
	uint32_t after_close; /* calls after its last successful close */
	uint32_t watching;
};

struct use_state {
	const struct feature_world *world;
	uint8_t acts[OP_CODE_MAX];
	struct use **chunks; /* [chunk]: USE_CHUNK uses each; they do not move */
	size_t use_count, chunk_cap;
	uint32_t *free_uses;
	size_t free_count, free_cap;
	struct map by_key; /* process << 32 | file -> use */
	struct use_file_state *files;
	size_t file_cap;
	struct use_process *processes;
	size_t process_cap;
	struct use_task *tasks;
	size_t task_cap;
	struct map others; /* use << 32 | task -> time, except of the first task of a use */
	/* key of a name -> NAME_GONE, NAME_THERE or NAME_FILE + number of the file */
	struct map names;
	struct map name_hashes; /* number of a file that has only a name -> hash of the path */
	struct map folders;	/* key of a folder's name -> time of its last sync */
	struct map devices;	/* dev -> time of the last sync of its file system */
	struct map by_pid;	/* pid -> process */
	struct map folds;	/* (process, folder) -> use into which others were folded */
	struct intern fold_names;
	int64_t synced_all; /* start of the last sync() */
	struct ranges_room room, scratch;
	size_t memory;	   /* of uses and their parts */
	size_t memory_max; /* limit, above which uses are folded */
	size_t fold_at;	   /* size at which to fold next */
	size_t since_look; /* calls since the last check */
};

enum { NAME_GONE, NAME_THERE, NAME_FILE };

static inline enum use_act use_act_of(const struct use_state *s, const struct feature_call *c)
{
	return (enum use_act)s->acts[c->op];
}

/* True if it ended successfully. */
static inline bool use_ok(const struct feature_call *c)
{
	return c->ret >= 0;
}

/* ---- use.c ---- */

static inline struct use *use_at(const struct use_state *s, uint32_t i)
{
	assert(i < s->use_count);
	return &s->chunks[i / USE_CHUNK][i % USE_CHUNK];
}
/* A new, empty use; NULL: no memory. */
struct use *use_new(struct use_state *s);
/* The use of a file by a process; NULL: no memory. */
struct use *use_of(struct use_state *s, uint32_t process, uint32_t file);
/* Adds a call to the sums of the use, and its time to that of the task. */
void use_add_call(struct use *u, struct use_task *t, const struct feature_call *c,
		  enum use_act act);
/* The parts of a use, allocated on first use; NULL: no memory. */
struct use_read *use_reads(struct use_state *s, struct use *u);
struct use_write *use_writes(struct use_state *s, struct use *u);
struct use_rest *use_rests(struct use_state *s, struct use *u);
int use_file_state_slow(struct use_state *s, uint32_t file,
			struct use_file_state **ret) _must_check_;
static inline _must_check_ int use_file_state(struct use_state *s, uint32_t file,
					      struct use_file_state **ret)
{
	if (likely(file < s->file_cap && s->files[file].known)) {
		*ret = &s->files[file];
		return 0;
	}
	return use_file_state_slow(s, file, ret);
}
/* The same, and settles everything else stored with the task. */
int use_task_finish(struct use_state *s, struct use_task *t, uint32_t task) _must_check_;

/* ---- use_data.c: fd_flags as returned by use_fd_flags(); pos may be FEATURE_NULL ---- */

int use_data_read(struct use_state *s, struct use_task *t, struct use *u,
		  const struct feature_call *c, int64_t pos, uint32_t fd_flags) _must_check_;
int use_data_write(struct use_state *s, struct use_task *t, struct use *u,
		   const struct feature_call *c, int64_t pos, uint32_t fd_flags) _must_check_;
int use_data_map(struct use_state *s, struct use *u, const struct feature_call *c) _must_check_;

/* ---- use_file.c ---- */

/* The file's state over all processes, created on first use; NULL: no memory. */
struct use_file *use_file(struct use_state *s, uint32_t file);
/* The same; NULL if the file has not been read or written yet. */
struct use_file *use_file_known(const struct use_state *s, uint32_t file);
void use_file_free(struct use_state *s, struct use_file_state *state);
/* Number of syncs of the file. */
uint32_t use_file_epoch(const struct use_state *s, uint32_t file);
/* Start of the last sync of its whole file system; INT64_MIN: none. */
int64_t use_system_synced(const struct use_state *s, uint32_t file);
/* Bytes written by the use that no process has synced. */
int64_t use_dirty(const struct use_state *s, const struct use *u);
void use_file_read(struct use_state *s, struct use_file *f, struct use *u,
		   const struct feature_call *c, int64_t pos, int64_t want);
/* A process has read [from, to). */
void use_file_taken(struct use_state *s, struct use_file *f, int64_t from, int64_t to);
int use_file_wrote(struct use_state *s, struct use_file *f, struct use *u,
		   const struct feature_call *c, int64_t pos) _must_check_;
int use_file_cut(struct use_state *s, struct use_file *f, struct use *u, int64_t size) _must_check_;
/* The process has no descriptor of the file any more. */
void use_file_closed(struct use_state *s, struct use *u);
/* Moves ranges written since the last call from fresh to stale. */
void use_file_catch_up(struct use_state *s, const struct use_file *f, struct use_read *r);

/* ---- use_life.c ---- */

int use_life_call(struct use_state *s, struct use_task *t, struct use *u,
		  const struct feature_call *c) _must_check_;
/* A call without a file. */
int use_life_other(struct use_state *s, const struct feature_call *c) _must_check_;
/* A call on a name that no file has. */
int use_life_missing(struct use_state *s, const struct use_task *t, struct use *u,
		     const struct feature_call *c) _must_check_;
/* The task has a new version. */
int use_life_task(struct use_state *s, struct use_task *t,
		  const struct feature_call *c) _must_check_;
/* The flags of a descriptor; an unknown one was opened before recording. */
int use_fd_flags(struct use_state *s, struct use *u, uint32_t process, int64_t fd,
		 uint32_t *ret) _must_check_;
/* The number of the file that a call uses, also if it is only known by name. */
int use_named_file(struct use_state *s, const struct use_task *t, const struct feature_call *c,
		   uint32_t *ret) _must_check_;
/* Adds a shared mapping, to which msync() may refer. */
int use_map_add(struct use_state *s, struct use *u, const struct feature_call *c) _must_check_;
void use_process_free(struct use_state *s, struct use_process *p);
/* Hash of the path of a file's version, 0: none. */
uint64_t use_name_hash(const struct use_state *s, int64_t version);
/* True if the process synced a file that it created or renamed, and no process synced its folder. */
bool use_folder_unsynced(const struct use_state *s, const struct use *u);

/* ---- use_watch.c ---- */

/* Call before a call is counted: judges earlier calls by it. */
void use_watch_next(struct use_state *s, struct use_task *t, const struct feature_call *c);
/* Call after a write, sync or close. */
void use_watch_begin(struct use_task *t, const struct use *u, const struct feature_call *c,
		     enum use_act act);
/* Processes a write that succeeded. */
int use_watch_short(struct use_state *s, struct use_task *t, const struct use *u,
		    const struct feature_call *c, int64_t pos) _must_check_;
/* Processes a write that failed. */
void use_watch_short_failed(const struct use_state *s, struct use_task *t, const struct use *u,
			    const struct feature_call *c);
/* Processes any other call of a thread whose last write was short. */
int use_watch_short_other(struct use_state *s, struct use_task *t,
			  const struct feature_call *c) _must_check_;
/* The thread will not continue its short write, if it is one of this use (USE_NONE: any). */
int use_watch_short_end(struct use_state *s, struct use_task *t, uint32_t use) _must_check_;

/* ---- use_fold.c ---- */

/* Folds uses that have ended. */
int use_fold(struct use_state *s) _must_check_;
void use_free_parts(struct use_state *s, struct use *u);

/* ---- use_rows.c ---- */

int use_rows(struct use_state *s, struct feature_rows *out) _must_check_;
